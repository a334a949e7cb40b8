"""The table of rescalings: goes on where it was stopped, counts what is infeasible, and says where nothing is gained."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parent))
from rescale_table import RULES, RUNS, cell, median_interval, remark, run

SMALL = {"count": 1, "seed": 1, "tasks": 4, "limit": 5.0, "family": ["hashed-keys-50"]}


def test_a_table_goes_on_where_it_was_stopped(tmp_path, capsys):
    """Rows that are there stay, and those that are missing come out the same."""
    rows = tmp_path / "rows.jsonl"
    run(rows, **SMALL, minutes=60.0)
    whole = rows.read_text().splitlines()
    assert [(json.loads(line)["method"], json.loads(line)["seed"]) for line in whole] == list(RUNS)
    rows.write_text("\n".join(whole[:-2]) + "\n")
    run(rows, **SMALL, minutes=60.0)
    again = rows.read_text().splitlines()
    assert again[:-2] == whole[:-2]
    assert [json.loads(line)["objective"] for line in again[-2:]] == [json.loads(line)["objective"] for line in whole[-2:]]
    shown = capsys.readouterr().out
    assert "| hashed-keys-50 | 0.0 |" in shown
    assert "gained over" in shown


def test_infeasible_answers_are_counted_and_never_the_best_rule():
    """They count as infinitely bad where rules are compared."""
    assert cell([np.inf, np.inf], 3) == "0 of 3"
    assert cell([2.0, np.inf, 2.0], 4) == "2.0; 2 of 4"
    gaps = {**dict.fromkeys(RULES, [np.inf] * 3), "keep": [0.0, 0.0, np.inf], "even-ranges": [1.0, 1.0, 1.0]}
    assert remark("a", 0, gaps) == "a: nothing is gained over keep, the best rule at the median"
    gaps["keep"] = [0.0, np.inf, np.inf]
    assert remark("a", 2, gaps) == "a: 1.0 % are gained over even-ranges, the best rule at the median, 2 that no method answers"
    assert remark("a", 0, {rule: [np.inf] for rule in RULES}) == "a: no rule answers half of the instances"


def test_the_interval_of_a_median_holds_it():
    """It is not wider than the values either."""
    values = np.random.default_rng(1).uniform(0, 10, 50).tolist()
    low, high = median_interval(values)
    assert 0 < low < np.median(values) < high < 10
