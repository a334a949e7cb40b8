"""Another solver, with models of its own, never beats a closed row and never goes below a bound of the library."""

import json
import math
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import edrp
from edrp.core.errors import EdrpError

pytestmark = pytest.mark.skipif(find_spec("ortools") is None, reason="OR-Tools is not installed")

AGREEMENT = 1e-6
"""Relative difference of values that count as equal: judges count in steps."""

QUICK = (
    "edrp/capsys-q1", "edrp/diamond-ans-5-0", "edrp/replicated-zoo-8-0", "enactment/containers-diamond-5-0",
    "latency-aware/t-m1-40", "leasing/manufacturing-4-0", "link-allocation/platform-12-0", "mapping/grid-6-0",
    "migration/departures-0.2-0", "migration-sequence/zipf-16-0", "rescale/zipf-tasks-50-6-0",
)  # fmt: skip


def judged(folder, seconds, *rows):
    """Verdicts of a process of its own, which does not import the package."""
    out = folder / "verdicts.jsonl"
    script = Path(__file__).parent / "judges"
    subprocess.run([sys.executable, script, "--out", out, "--seconds", str(seconds), *rows], check=True, capture_output=True)
    return [json.loads(line) for line in out.read_text().splitlines()]


def contradictions(verdict):
    """What a verdict and the record of a row cannot both be right about."""
    row = edrp.library[verdict["row"]]
    best, bound = row.record.best.value, row.record.bound.value if row.record.bound else -math.inf
    room, value, proven = AGREEMENT * max(1, abs(best)), verdict["value"], verdict["bound"]
    if verdict["status"] == "infeasible" or (value is not None and value < bound - room):
        yield f"the bound is {bound!r}"
    if proven is not None and proven > best + room:
        yield f"a decision is worth {best!r}"
    if verdict["decision"] is not None:
        try:
            evaluation = row.problem.evaluate(row.problem.read_decision(verdict["decision"]))
        except EdrpError as error:
            yield str(error)
            return
        yield from evaluation.broken
        if abs(evaluation.objective - value) > room:
            yield f"the judge's decision is worth {evaluation.objective!r}"


def test_judges_agree_with_small_rows(tmp_path):
    verdicts = judged(tmp_path, 60, *QUICK)
    assert {verdict["row"]: verdict["status"] for verdict in verdicts} == dict.fromkeys(QUICK, "optimal")
    for verdict in verdicts:
        assert verdict["value"] == pytest.approx(edrp.library[verdict["row"]].record.best.value, rel=AGREEMENT, abs=AGREEMENT)
        assert list(contradictions(verdict)) == [], verdict


@pytest.mark.slow
def test_judges_contradict_no_row(tmp_path):
    verdicts = judged(tmp_path, 2)
    assert len(verdicts) == len(edrp.library)
    assert {verdict["row"]: found for verdict in verdicts if (found := list(contradictions(verdict)))} == {}
    assert sum(verdict["status"] == "optimal" for verdict in verdicts) > 100
