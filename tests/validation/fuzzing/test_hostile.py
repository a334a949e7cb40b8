"""Inputs that broke the package once, found by mutation: each gets an answer or a clear refusal, by every method of its kind."""

import json
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest

from edrp.backends import OWN_BACKENDS
from edrp.cli.app import ExitCode
from edrp.core.instances import loads
from edrp.datasets.families.registry import all_families
from edrp.errors import InvalidInstanceError
from edrp.validation.fuzzing.campaign import known_finds
from edrp.validation.fuzzing.mutations import methods_for
from edrp.validation.fuzzing.oracle import Case, Find, judge

HOSTILE = Path(__file__).parent / "hostile"

REFUSED = {
    "load-migration-07f482d1": "document: is not JSON: number out of range at line 6 column 4306",
    "num-200869fe": "weights.events: must be 0, or at least 1e-09 (got 1e-12)",
    "OFF-bimodal-scenario-3947f35d": "tasks[0].arrival: must be at most 1e+09 s (got 21964200000.0)",
    "OFF-edrp-39dbf577": "network.nodes[5].spawn_time: must be at most 1e+09 s (got 1000000000000000000000000000000)",
    "OFF-enactment-8d561a4d": (
        "application.operators[6].external_rate: must be at most 1e+12 tuples/s (got 9223372036854775807)"
    ),
    "OFF-enactment-scenario-60bf59a7": "monitoring_interval: must be at least 1e-09 s (got 8.781757178219795e-196)",
    "OFF-enactment-scenario-ffcd914f": (
        "application.operators[0].selectivity: must be at most 1e+15 (got 5.6158736523146494e+141)"
    ),
    "OFF-latency-aware-67aa31e2": "weights.latency: must be 0, or at least 1e-09 1/ms (got 1e-12)",
    "OFF-leasing-083f282e": "application.operators[2].occupancy: must be at least 1e-09 (got 5e-324)",
    "OFF-leasing-515a5bcf": "application.operators[7].external_rate: must be at most 1e+12 tuples/s (got 1000000000000000000)",
    "OFF-leasing-e5c24ef3": ("application.operators[0].processing_duration: must be at most 1e+09 s (got 1000000000000000000)"),
    "OFF-migration-23a65c48": "nodes: must be at most 10000 (got a whole number of about 101 digits)",
    "OFF-migration-a9859d9c": "state_size[38]: must be at most 1e+15 B (got 3.2649e+106)",
}
"""Those beyond the range of numbers, each with a fault that names the place."""

SOLVED = {"ena5", "min-small-nodes", "min-util", "num-b075bf71", "OFF-latency-aware-3a21b205"}


def text_of(name: str) -> str:
    return (HOSTILE / f"{name}.json").read_text()


EXACT = {"auto", "column-generation", *OWN_BACKENDS}


def judged_by_all_methods(text: str, patient: Collection[str] = ()) -> dict[str, ExitCode]:
    """The exit code of each method, patient ones without a limit that counts; nothing may be wrong with any of them."""
    codes = {}
    for method in ("auto", *methods_for(json.loads(text)["kind"])):
        verdict = judge(Case(text, (method,), work_limit=60.0 if method in patient else 1.0))
        assert not verdict.finds, f"{method}: {verdict.finds[0].reason}"
        (codes[method],) = verdict.codes
    return codes


def test_every_hostile_file_is_looked_at():
    assert {file.stem for file in HOSTILE.glob("*.json")} == SOLVED | REFUSED.keys()


@pytest.mark.parametrize("name", REFUSED)
def test_a_number_out_of_range_is_refused_with_its_place(name):
    with pytest.raises(InvalidInstanceError) as refused:
        loads(text_of(name))
    assert REFUSED[name] in [str(fault) for fault in refused.value.faults]


def test_the_command_line_ends_with_the_exit_code_of_what_happened(run):
    refused = run("solve", *(HOSTILE / f"{name}.json" for name in REFUSED))
    assert refused.code == ExitCode.BAD_INPUT
    assert "Traceback" not in refused.err
    assert all(f"{name}.json: " in refused.err for name in REFUSED)
    infeasible = run("solve", HOSTILE / "ena5.json", HOSTILE / "min-util.json", "--work-limit", "1")
    assert infeasible.code == ExitCode.INFEASIBLE
    assert "These cannot hold together" in infeasible.out


@pytest.mark.parametrize(
    "name",
    [
        "ena5",
        "min-util",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("min-small-nodes", "OFF-latency-aware-3a21b205")),
    ],
)
def test_infeasible_is_an_answer_of_every_method(name):
    codes = judged_by_all_methods(text_of(name), patient=EXACT)
    assert {codes[method] for method in EXACT & codes.keys()} == {ExitCode.INFEASIBLE}
    assert set(codes.values()) <= {ExitCode.INFEASIBLE, ExitCode.NOTHING_FOUND, ExitCode.BAD_INPUT}  # which: a kind refused


@pytest.mark.slow
def test_small_beside_large_is_moved_without_disagreement():
    """Sizes from 0.05 B to 1e15 B: what moves is not a difference of sums over all state."""
    codes = judged_by_all_methods(text_of("num-b075bf71"))
    assert codes["auto"] == codes["ssm"] == ExitCode.SOLVED


def test_many_operators_keep_a_limit_of_work():
    family = all_families()["enactment"]["containers-layered"]
    problem = family.make(50, np.random.default_rng(2)).replace(utilisation=None)
    judged_by_all_methods(problem.model_dump_json())


@pytest.mark.parametrize("file", known_finds(Path(__file__).parent / "finds"), ids=lambda file: file.stem)
def test_what_the_fuzzer_found_is_gone(file):
    find = Find.from_json(file.read_text())
    assert [again.reason for again in judge(find.case).finds] == []
