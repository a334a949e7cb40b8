"""Suites of the library: best known values are references, and what is better than them is said."""

from dataclasses import replace

import pytest

import edrp
from edrp.core.errors import EdrpError
from edrp.validation.benchmark.suite_run import run_benchmark
from edrp.validation.benchmark.suites import get_suite

NAME = "migration/departures-0.6-4"


@pytest.fixture
def suite():
    """One closed row of the library, under a method that proves nothing."""
    whole = get_suite("library/migration/second")
    row = edrp.library[NAME]
    return replace(whole, instances=lambda data: [(NAME, row.instance.text)], methods=("balanced",), known={NAME: row.record})


def raised(suite, closed):
    """The suite as if a worse decision were the best that is known; `closed`: with a certificate that says so."""
    record = suite.known[NAME]
    decision, bound = (found.replace(value=1e9) for found in (record.best, record.bound))
    return replace(suite, known={NAME: record.replace(decisions=(decision,), bounds=(bound,) if closed else ())})


def test_certified_values_are_references(suite, tmp_path):
    found = run_benchmark(suite, tmp_path, n_jobs=1)
    run = found.runs.iloc[0]
    assert (run["reference"], run["reference_is"]) == (edrp.library[NAME].record.best.value, "proven optimum")
    assert run["gap"] > 0
    assert (found.alarms, found.better) == ((), ())


def test_an_answer_that_is_better_is_offered_and_a_defect_where_a_certificate_says_otherwise(suite, tmp_path):
    better = run_benchmark(raised(suite, closed=False), tmp_path / "open", n_jobs=1)
    assert (len(better.better), better.alarms) == (1, ())
    assert "is better than 1000000000.0, which is known; `edrp library submit` records it" in better.better[0]
    defect = run_benchmark(raised(suite, closed=True), tmp_path / "closed", n_jobs=1)
    assert (len(defect.alarms), defect.better) == (1, ())


@pytest.mark.parametrize("name", ["library/migrations", "library/migration/seconds"])
def test_suites_without_rows_are_refused(name):
    with pytest.raises(EdrpError, match="did you mean"):
        get_suite(name)
