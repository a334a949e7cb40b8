"""Estimates, findings and the verdicts that follow from them."""

import io
import math

import numpy as np
import pytest
from rich.console import Console

from edrp.report.comparison import PolicyComparison, Quantity
from edrp.report.estimates import Estimate, estimate_mean, estimate_share, percentile_estimate
from edrp.report.formatting import NUMBER, PERCENT_SAVED, SHARE, Unit
from edrp.report.statements import Finding, Statement, claim, finding_table, print_statements, statement_table

LINKS = Unit(1, ".0f", " links")


def test_a_share_of_all_is_not_certain():
    assert estimate_share(30, 30).low < 0.9 < estimate_share(700, 700).low
    assert estimate_share(0, 0).low is None


def test_intervals_cover_the_mean_as_often_as_they_say():
    random = np.random.default_rng(4)
    covered = [
        estimate.low <= 2.0 <= estimate.high for estimate in (estimate_mean(random.normal(2.0, 1.0, 8)) for _ in range(400))
    ]
    assert 0.92 <= np.mean(covered) <= 0.98


def test_percentiles_of_nothing_are_no_interval():
    assert percentile_estimate(3.0, np.zeros(0)) == Estimate(3.0, None, None)


@pytest.mark.parametrize(
    ("values", "limits", "verdict", "required"),
    [
        ([0.10, 0.12, 0.11], {"maximum": 0.2}, "holds", "at most 20.0 %"),
        ([0.30, 0.32, 0.31], {"maximum": 0.2}, "does not hold", "at most 20.0 %"),
        ([0.10, 0.32, 0.21], {"maximum": 0.2}, "undecided", "at most 20.0 %"),
        ([0.10], {"maximum": 0.2}, "undecided", "at most 20.0 %"),
        ([0.12, 0.13, 0.14], {"minimum": 0.1, "maximum": 0.2}, "holds", "10.0 % to 20.0 %"),
        ([0.05, 0.06, 0.04], {"minimum": 0.1, "maximum": 0.2}, "does not hold", "10.0 % to 20.0 %"),
        ([0.0, 0.0], {"minimum": 0.0, "strict": True}, "does not hold", "above 0.0 %"),
        ([0.0, 0.0], {"minimum": 0.0}, "holds", "at least 0.0 %"),
    ],
)
def test_a_finding_is_decided_by_its_whole_interval(values, limits, verdict, required):
    finding = Finding("", estimate_mean(np.array(values)), SHARE, **limits)
    assert (finding.verdict, finding.required) == (verdict, required)


def test_a_level_that_is_never_reached_is_more_than_any_number():
    never = Finding("", Estimate(math.inf, 180.0, math.inf), LINKS, minimum=120.0, strict=True)
    assert (never.verdict, never.text) == ("holds", "never (180 to never)")
    assert Finding("", Estimate(1.0, 0.9, 1.1), NUMBER, maximum=1.0).text == "1 (0.9 to 1.1)"


def margin(mean, reach, printed=None, where="here"):
    return Finding(where, Estimate(mean, mean - reach, mean + reach), PERCENT_SAVED, minimum=0.0, strict=True, printed=printed)


def test_a_statement_is_as_good_as_its_worst_finding():
    statement = Statement(
        "costs fall", "Table 1", (margin(0.3, 0.1), margin(-0.2, 0.1, -0.4), margin(-0.3, 0.1, 0.0, "there"), margin(0.1, 0.2))
    )
    assert statement.verdict == "does not hold"
    assert [statement.count(verdict) for verdict in ("holds", "does not hold", "undecided")] == [1, 2, 1]
    assert statement.decisive.where == "there"
    assert statement.paper_agrees == (1, 2)  # a printed 0 is rounded
    assert statement.reason == "1 of 4; the paper's tables 1 of 2; decided by there: −30.0 (−40.0 to −20.0)"


def test_claims_print_their_reason_whatever_signs_it_holds():
    text = io.StringIO()
    print_statements(Console(file=text, width=200), [claim("costs fall", False, "3, [bold]4")])
    assert text.getvalue().strip() == "does not hold: costs fall (3, [bold]4)"


def test_tables_show_the_papers_figures_only_where_there_are_some():
    with_figures, without = Statement("a", "§1", (margin(0.3, 0.1, 0.2),)), Statement("b", "§2", (margin(0.3, 0.1),))
    assert statement_table([without]).columns == (
        "statement",
        "where",
        "verdict",
        "hold",
        "undecided",
        "do not",
        "decided by (95 %)",
    )
    assert statement_table([with_figures, without]).rows[1][6] == "–"
    assert finding_table(with_figures).rows == (("here", "above 0.0", "+20.0", "+30.0 (20.0 to 40.0)", "holds"),)
    assert len(finding_table(without).columns) == 4


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


def test_a_quantity_that_is_0_in_every_run_is_a_sentence_and_no_panel():
    samples = {name: {"cost": NOISE, "refused": np.zeros(8)} for name in ("first", "second")}
    section = PolicyComparison([COST, Quantity("refused", "refused", Unit())], range(8), samples).sections()[0]
    assert section.figure.html.count("<svg") == 1
    assert section.notes[-1] == "0 in every run: refused."
    nothing = compared(first=np.zeros(8), second=np.zeros(8)).sections()[0]
    assert nothing.figure is None
    assert list(nothing.notes) == ["0 in every run: cost."]
