"""The benchmark of answers, bounds and proofs of rescalings goes on where it was stopped, and shows medians."""

from __future__ import annotations

import json

from rescale_gaps import cluster, few_keyed, run, show


def test_only_what_is_missing_is_solved(tmp_path, capsys):
    """Rows that are there are not solved again."""
    rows = tmp_path / "rows.jsonl"
    held = {"family": "zipf-tasks-50", "index": 0, "set": 3, "method": "range-annealing", "limit": 0.5}
    held |= {"status": "feasible", "objective": 0.5, "bound": None}
    rows.write_text(json.dumps(held) + "\n", encoding="utf-8")
    run(rows, count=1, limits="0.5", method=["range-annealing"], family=["zipf-tasks-50"])
    assert rows.read_text(encoding="utf-8").count("\n") == 1
    assert "| zipf-tasks-50 | range-annealing | 0.5 | 0.00 (0.00) | inf (inf) | 0 of 1 |" in capsys.readouterr().out


def test_gaps_and_proofs_are_shown(tmp_path, capsys):
    """The table has median and worst gaps, and how many rows are proven."""
    rows = tmp_path / "rows.jsonl"
    base = {"family": "cluster", "set": 3, "method": "range-decomposition", "limit": 2.0}
    answers = [("optimal", 0.5, 0.5), ("feasible", 1.0, 0.9)]
    lines = [
        {**base, "index": i, "status": status, "objective": held, "bound": bound}
        for i, (status, held, bound) in enumerate(answers)
    ]
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    show(rows)
    assert "| cluster | range-decomposition | 2 | 0.00 (0.00) | 5.00 (10.00) | 1 of 2 |" in capsys.readouterr().out


def test_instances_are_as_large_as_they_say():
    """Families have the operators, tasks and nodes that their names promise."""
    assert 2 <= len(few_keyed(3, 1).application.operators) - 1 <= 3
    large = cluster(3, 0)
    assert [operator.tasks.count for operator in large.application.operators] == [512] * 10
    assert len({node.resources for node in large.network.nodes}) == 1
