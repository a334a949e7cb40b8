"""Table 4 of latency-aware placement: every method next to the paper's numbers, and claims that can fail."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from edrp.validation.papers.latency_aware import table_4


@pytest.mark.slow
def test_table_4_next_to_ours() -> None:
    """Every method is there with its time, the paper's and its gap; the recommended one is optimal on a small topology."""
    console = Console(file=StringIO(), width=160)
    cells = table_4.run(console, topologies=["T-R2"], loads=[0.4], seeds=2)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert {cell.method for cell in cells} == set(table_4.METHODS)
    assert all(f"({mean:g} ± {deviation:.2f})" in text for mean, deviation in table_4.TABLE_4["T-R2"].values())
    ours = next(cell for cell in cells if cell.method == table_4.RECOMMENDED)
    assert ours.optimal == 1.0
    assert "holds: hill climbing always ends feasible" in text
    assert all(gap >= -1e-9 for cell in cells for gap in cell.gaps)


def test_claims_of_table_4_can_fail() -> None:
    cells = [table_4.SearchRuns("T-R7", 42, 0.7, method, (100.0,), (np.inf,)) for method in table_4.METHODS]
    statements = table_4.statements_4(cells)
    assert len(statements) == 5
    assert not any(statement.holds for statement in statements)
    assert cells[0].quality == "none in 1 of 1"
