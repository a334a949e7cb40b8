"""Load of the busiest replica from key groups: state that grows with load tells it, and state never does worse than nothing."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from key_group_shares import share_errors


def test_state_that_grows_with_load_tells_the_busiest_replica():
    """State by tuples predicts the busiest share better than even shares or a skew that is carried over."""
    by_tuples = share_errors(500, 1.0, 30, 3, state_by_key=False)
    assert by_tuples.state < 0.04 < by_tuples.even < by_tuples.skew
    few_keys = share_errors(50, 1.0, 30, 3, state_by_key=True)
    assert few_keys.state < few_keys.even
