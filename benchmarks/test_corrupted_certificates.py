"""A small version of the corruption of certificates."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from corrupted_certificates import run


def test_no_change_that_makes_a_claim_false_is_accepted():
    """Most of 300 corrupted certificates are rejected, and none is accepted whose claim became false."""
    outcomes = run(300, seed=1)
    assert sum(found["rejected"] for found in outcomes.values()) > 150
    assert not any(found["ACCEPTED THOUGH FALSE"] for found in outcomes.values()), outcomes
