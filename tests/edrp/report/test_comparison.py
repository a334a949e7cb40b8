"""Policies compared by runs with the same seeds: what is called certain, and what is not."""

from __future__ import annotations

import numpy as np
import pytest

from edrp.report.comparison import PolicyComparison, Quantity
from edrp.report.formatting import Unit

COST = Quantity("cost", "cost", Unit(1, ".1f", " money"))
NOISE = np.array([3.0, -2.0, 1.0, -1.0, 2.0, -3.0, 4.0, -4.0])


def compared(**costs) -> PolicyComparison:
    samples = {name: {"cost": np.asarray(values, dtype=float)} for name, values in costs.items()}
    return PolicyComparison([COST], range(len(next(iter(costs.values())))), samples)


def test_a_difference_is_certain_seed_by_seed_though_intervals_overlap():
    found = compared(first=10 * NOISE + 1, second=10 * NOISE)
    means = [found.mean(name, COST) for name in ("first", "second")]
    assert means[0].low < means[1].high
    assert found.sentences()[1] == "`first` has more: +1.0 money (1.0 to 1.0) seed by seed, more in 8 of 8 runs."


def test_what_seeds_do_not_decide_is_said():
    found = compared(first=100 + NOISE, second=100.5 - NOISE)
    assert found.best == "first"
    assert "`second` cannot be told apart from it: +0.5 money" in found.sentences()[1]


def test_a_tie_is_said():
    assert compared(first=NOISE, second=NOISE).sentences()[1] == "`second` has the same cost in every run."


@pytest.mark.parametrize("names", [["only"], ["one", "other"]])
def test_too_few_seeds_have_no_intervals(names):
    found = compared(**{name: [1.0, 2.0 + len(name)] for name in names})
    assert found.means_table().rows[0][1:] == tuple(f"{found.mean(name, COST).mean:.1f}" for name in names)
    assert "Too few for intervals" in found.sentences()[-1]


def test_tables_and_figures_hold_every_policy_and_run():
    found = compared(first=NOISE, second=NOISE + 2)
    assert found.differences_table().rows == (("cost (money)", "+2.0\n2.0 to 2.0"),)
    assert len(found.runs_table().rows) == len(found.records()["runs"]) == 16
    assert found.sections()[0].figure.html.count('class="single"') == 16
