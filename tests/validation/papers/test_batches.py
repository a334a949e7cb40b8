import pytest

from edrp.core.errors import EdrpError
from edrp.validation.papers.batches import require_solved


def test_a_run_without_an_answer_is_named():
    row = {"method": "greedy", "id": "7", "outcome": "failed", "error_message": "no room"}
    with pytest.raises(EdrpError, match="greedy on 7: failed: no room"):
        require_solved(row)
    assert require_solved({**row, "outcome": "solved"})["id"] == "7"
