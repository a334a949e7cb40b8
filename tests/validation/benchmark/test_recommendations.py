"""Which method a benchmark recommends when: what follows from its rows, what is tied, and what is too little to say."""

import pyarrow as pa
import pytest

from edrp.batch.rows import RESULT_SCHEMA
from edrp.validation.benchmark.measures import compare_runs, summarise
from edrp.validation.benchmark.recommendations import compare_kind, recommend
from edrp.validation.benchmark.report import kind_section

ANSWERED = {"kind": "edrp", "run_seed": 0, "outcome": "solved", "build_seconds": 0.0, "wall_seconds": 1.0}


def answers(method: str, objectives: list[float], seconds: float, status: str = "feasible") -> list[dict]:
    return [
        ANSWERED | {"id": f"i-{i}", "method": method, "status": status, "objective": objective, "solve_seconds": seconds}
        for i, objective in enumerate(objectives)
    ]


def recommended(*rows: list[dict]) -> list[str]:
    table = [{name: row.get(name) for name in RESULT_SCHEMA.names} for own in rows for row in own]
    runs = compare_runs(pa.Table.from_pylist(table, RESULT_SCHEMA))
    return [sentence.replace("\N{NO-BREAK SPACE}", " ") for sentence in recommend("edrp", runs, summarise(runs))]


OPTIMA = [1.0 + i for i in range(10)]
EXACT = answers("eliminate", OPTIMA, 1.5, "optimal")
QUICK = answers("greedy", [1.25 * objective for objective in OPTIMA], 0.01)


def test_each_need_has_its_method_with_its_evidence():
    exact, quick = recommended(EXACT, QUICK)
    assert exact == (
        "Kind edrp: use `eliminate` when a proof is needed or the best answer counts: 10 of 10 instances answered, median gap to "
        "the proven optimum 0 % (mean 0 %, 95 % interval 0 % to 0 %), median time 1.5 s, 10 proven optimal (100 %, 95 % interval "
        "72.2 % to 100 %)."
    )
    assert quick.startswith("Kind edrp: use `greedy` when time is short: 10 of 10 instances answered, median gap to the proven")
    assert "20 % (mean 20 %" in quick
    assert quick.endswith("median time 10 ms, none proven optimal.")


def test_the_rows_decide_not_the_names():
    slow = answers("eliminate", OPTIMA, 9.0, "optimal")
    best = recommended(slow, answers("greedy", OPTIMA, 0.1))
    assert best[1].startswith("Kind edrp: use `greedy` when the best answer counts or time is short")
    assert best[1].endswith("not told apart from it on these instances: `eliminate` 9.0 s.")


def test_a_quick_method_with_fewer_answers_is_named_with_how_many():
    fewer = QUICK[:8] + [row | {"outcome": "nothing found", "status": "none", "objective": None} for row in QUICK[8:]]
    exact, quick = recommended(EXACT, fewer)
    assert exact.startswith(
        "Kind edrp: use `eliminate` when a proof is needed, the best answer counts or time is short: 10 of 10"
    )
    assert quick.startswith(
        "Kind edrp: use `greedy` when time is short and 8 of 10 answers are enough: 8 of 10 instances answered"
    )


def test_a_difference_on_one_instance_is_not_told_apart():
    nearly = answers("annealing", [*OPTIMA[:9], 1.2 * OPTIMA[9]], 3.0)
    assert recommended(EXACT, nearly, QUICK)[0].endswith("not told apart from it on these instances: `annealing` 3.0 s.")


def test_without_a_proof_that_is_said():
    unproven = recommended(answers("greedy", OPTIMA, 0.1), answers("annealing", OPTIMA, 2.0))
    assert unproven[-1] == "Kind edrp: no method proved an optimum."


@pytest.mark.parametrize(("instances", "named"), [(3, False), (10, True)])
def test_no_method_wins_on_few_instances_anywhere_on_the_page(instances, named):
    rows = [{name: row.get(name) for name in RESULT_SCHEMA.names} for row in (*EXACT[:instances], *QUICK[:instances])]
    runs = compare_runs(pa.Table.from_pylist(rows, RESULT_SCHEMA))
    comparison = compare_kind("edrp", runs)
    assert any("use `eliminate`" in sentence for sentence in comparison.recommendations) == named
    verdicts = kind_section(comparison, runs).verdicts
    assert any(sentence.startswith(("Proof:", "Search:", "Speed:")) for sentence in verdicts) == named


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([EXACT[:3], QUICK[:3]], "3 instances are too few to recommend a method (8 at least)."),
        ([EXACT], "only `eliminate` has answers, so nothing is compared: 10 of 10 instances answered"),
        ([[row | {"outcome": "nothing found", "objective": None} for row in QUICK]], "no method found an answer"),
    ],
)
def test_what_cannot_be_recommended_is_said(rows, said):
    (sentence,) = recommended(*rows)
    assert said in sentence
