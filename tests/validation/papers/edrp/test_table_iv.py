"""Table IV: the paper's counts come out of the code that sizes the program's blocks."""

import io

import pytest
from rich.console import Console

from edrp.formulations.methods import formulate
from edrp.report.tables import console_table
from edrp.validation.papers.edrp.table_iv import (
    PAPER_COLUMNS,
    ProgramSize,
    Timing,
    application_of_table_iv,
    count_columns,
    run,
    size_table,
    table_iv,
)

EXACT = {
    (8, 2): 9470,
    (12, 2): 37364,
    (16, 2): 103226,
    (20, 2): 231632,
    (24, 2): 453302,
    (8, 3): 113750,
    (12, 3): 848720,
    (8, 4): 994520,
}


@pytest.mark.parametrize(("nodes", "replicas"), PAPER_COLUMNS)
def test_counts_are_the_papers(nodes, replicas):
    columns = count_columns(application_of_table_iv(nodes, replicas)[0])
    assert columns == EXACT[nodes, replicas]
    assert columns // 100 / 10 == PAPER_COLUMNS[nodes, replicas]


def test_counts_are_those_of_the_program_that_is_built():
    problem, _ = application_of_table_iv(8, 2)
    assert formulate(problem, "literal").program.columns == count_columns(problem)


@pytest.mark.slow
def test_a_cell_is_counted_and_timed():
    seen = []
    (cell,) = table_iv(time_limit=None, literal=False, progress=seen.append, nodes=(8,), max_replicas=(2,))
    assert cell.agrees
    assert set(cell.timings) == {"compact", "eliminate", "restricted"}
    assert all(timing.proven and timing.seconds > 0 for timing in cell.timings.values())
    assert 1000 < cell.restricted_columns < 3000
    assert len(seen) == 3


def test_the_table_shows_what_is_not_known_as_such():
    cells = [ProgramSize(24, 4, 1_678_807_252, 14_738, {"compact": Timing(60.2, False)}), ProgramSize(8, 2, 9_480, 1_714)]
    out = io.StringIO()
    Console(file=out, width=200).print(console_table(size_table(cells)))
    assert "1,678,807,252" in out.getvalue()
    assert ">60" in out.getvalue()
    assert "yes" in out.getvalue()


def test_a_count_that_is_not_the_papers_is_told():
    assert ProgramSize(8, 2, 9_570, 0).agrees is False
    assert ProgramSize(24, 4, 1, 0).agrees is None


def test_running_prints_the_table(monkeypatch):
    monkeypatch.setattr("edrp.validation.papers.edrp.table_iv.table_iv", lambda *_: [ProgramSize(8, 2, 9_470, 1_714)])
    out = io.StringIO()
    assert run(Console(file=out, width=200))[0].columns == 9_470
    assert "9,470" in out.getvalue()
