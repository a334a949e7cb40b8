"""Files that users hand in beside instances, mutated: solution documents and certificates get an answer or a refusal."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import edrp
from edrp.cli.app import ExitCode
from edrp.core.instances import load
from edrp.validation.fuzzing.mutations import mutated, written
from edrp.validation.oracles.corruption import corrupt_all_formats

CASES = 60
"""Mutated files of each kind and command."""

ANSWERED = (ExitCode.SOLVED, ExitCode.INFEASIBLE, ExitCode.NOTHING_FOUND)


@pytest.fixture(scope="module")
def certified(examples):
    """Instance, solution document and certificate by name of the example."""
    found = {}
    for name, method in (("migration", "ssm"), ("link_allocation", "highs"), ("word_count", "eliminate")):
        file = examples / f"{name}.json"
        solution = edrp.solve(load(file), method, certify=True)
        found[name] = (file, solution.to_document(), solution.certificate)
    return found


def mutations(text):
    """The text as it may come: its lines mutated as documents, damaged, left out, or in another order."""
    lines = [json.loads(line) for line in text.splitlines()]

    @st.composite
    def draw_lines(draw):
        # Lists have no kind: they are mutated as a field of a document that has one.
        held = draw(mutated(st.just({"kind": "migration-solution", "lines": lines})))
        left = held.get("lines")
        left = left if isinstance(left, list) else [left]
        return "".join(f"{draw(written(st.just(line)))}\n" for line in left[:50])

    return draw_lines()


def fuzz(documents, command):
    """Give `command` each document that is drawn; what it ends with must be an answer or a refusal."""
    seen = set()

    @settings(max_examples=CASES, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(documents)
    def each(text):
        ended = command(text)
        seen.add(ended.code)
        assert ended.code in (*ANSWERED, ExitCode.BAD_INPUT), ended.err
        assert "Traceback" not in ended.err
        if ended.code == ExitCode.BAD_INPUT:
            assert (ended.err or ended.out).strip()

    each()
    return seen


@pytest.mark.parametrize("name", ["validate", pytest.param("explain", marks=pytest.mark.slow), "plan"])
def test_a_solution_document_is_taken_or_refused(name, run, certified, tmp_path):
    file, document, _ = certified["migration" if name == "plan" else "word_count"]

    def command(text):
        solution = tmp_path / "solution.json"
        solution.write_bytes(text.encode(errors="surrogatepass"))
        return run(name, solution) if name == "validate" else run(name, file, solution)

    seen = fuzz(mutated(st.just(document)).flatmap(lambda drawn: written(st.just(drawn))), command)
    assert {ExitCode.SOLVED, ExitCode.BAD_INPUT} <= seen


@pytest.mark.parametrize("name", ["migration", "link_allocation", "word_count"])
def test_a_certificate_is_accepted_or_refused(name, run, certified, tmp_path):
    file, document, text = certified[name]
    (solution := tmp_path / "solution.json").write_text(json.dumps(document))

    def command(changed):
        certificate = tmp_path / "certificate.txt"
        certificate.write_bytes(changed.encode(errors="surrogatepass"))
        return run("check", file, solution, certificate)

    assert ExitCode.BAD_INPUT in fuzz(mutations(text), command)


@pytest.mark.slow
def test_no_change_that_makes_a_claim_false_is_accepted():
    """Most of 300 corrupted certificates are rejected, and none is accepted whose claim became false."""
    outcomes = corrupt_all_formats(300, seed=1)
    assert sum(found.refused for found in outcomes.values()) > 150
    assert len(outcomes) == 6
