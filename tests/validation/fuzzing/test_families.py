"""Families of small problems: proofs against all decisions, backends against one another, HiGHS against a second solver."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import edrp
from edrp.core.instances import loads
from edrp.core.kinds import get_kind
from edrp.validation.fuzzing.__main__ import app
from edrp.validation.fuzzing.campaign import PROGRAMS, alone, pair_case
from edrp.validation.fuzzing.families import FAMILIES
from edrp.validation.fuzzing.mutations import methods_for
from edrp.validation.fuzzing.oracle import Case, _left_open, _misjudged, judge

LINK = {"source": "a", "target": "b", "bandwidth": 4, "cost": 1}
SERVERS = [{"name": "a", "capacity": 0, "uplink": 3}, {"name": "b", "capacity": 5}]
TASK = {"source": "a", "delivery": "b", "components": [{"name": "c", "capacity": 5}], "bandwidths": [4, 1]}
FLOWS = [{"name": n, "source": "a", "target": "b", "rate": r, "price": p} for n, r, p in [("f", 4, 1), ("g", 3, 2)]]
HOSTED = {
    "application": {"operators": [{"name": "f", "processing_duration": 1, "external_rate": 3, "resources": 2}]},
    "host_types": [{"name": "x", "resources": 4, "price": 5, "billing_time": 60, "start_up": [0, 0], "limit": 2}],
}
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "word_count.json"
LINKED = {"network": {"nodes": SERVERS, "links": [LINK]}}


@pytest.mark.parametrize(
    ("document", "value"),
    [
        ({"kind": "mapping", **LINKED, "task": TASK}, 1),
        ({"kind": "mapping", **LINKED, "task": {**TASK, "bandwidths": [5, 1]}}, None),
        ({"kind": "link-allocation", **LINKED, "flows": FLOWS, "public_share": 0.5}, 2.5),
        ({"kind": "enactment", **HOSTED}, 10),
        ({"kind": "enactment", **HOSTED, "weights": {"host_cost": 0.1, "free_resources": 0}}, 1),
        ({"kind": "leasing", **HOSTED, "period": 60, "forecast": [1, 0]}, 15),
        ({"kind": "leasing", **HOSTED, "period": 60, "forecast": [1, 2]}, None),
    ],
)
def test_brute_force_knows_the_optima_of_problems_solved_by_hand(document, value):
    assert get_kind(document["kind"]).check_problems().optimum(loads(json.dumps(document))) == value


def finds(kind, family, numbers, methods=None):
    """What does not hold in cases of a family."""
    drawn = (pair_case(number, 1000, 0.3, ((kind, family),)) for number in numbers)
    cases = [case if methods is None else Case(case.text, methods, 0.3, pair=case.pair, listed=case.listed) for case in drawn]
    return [find.reason for case in cases for find in judge(case).finds]


@pytest.mark.parametrize("kind", ["mapping", "link-allocation", "enactment", "leasing"])
def test_all_methods_agree_with_all_decisions_and_the_checker_in_numbers_of_any_magnitude(kind):
    own = tuple(name for name in methods_for(kind) if name not in PROGRAMS)
    assert finds(kind, "plain", range(20), own) == []


@pytest.mark.parametrize(("kind", "family"), [pair for family in FAMILIES if family != "plain" for pair in alone(family)])
def test_a_case_of_every_family_holds(kind, family):
    methods = None if family == "other magnitudes" else methods_for(kind, exact=True)
    assert finds(kind, family, [0], methods) == []


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "family"), [pair for family in FAMILIES for pair in alone(family)])
def test_many_cases_of_every_family_hold(kind, family):
    """All exact methods, `auto`, and searches, which may not be better; `make fuzz` judges hundreds."""
    assert finds(kind, family, range(15)) == []


def test_an_answer_that_is_worth_something_else_or_left_open_is_found():
    problem = edrp.load(EXAMPLE)
    solution = edrp.solve(problem, "highs")
    assert (_left_open(problem, solution), _misjudged(problem, solution)) == ("", "")
    wrong = solution.model_copy(update={"objective": solution.objective + 1e6, "status": "feasible"})
    assert _left_open(problem, wrong) == "highs (compact program) finishes and says feasible: edrp"
    assert re.match(r"highs \(compact program\) says .*, the checker .*: edrp", _misjudged(problem, wrong))


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("programs --kind migration --count 4", "migration: 4 programs, 0 wrong, 2 with a start"),
        ("programs --kind enactment --count 4 --tiny --judge unpresolved", "0 with a start, 0 not proven, 0 unpresolved worse"),
        ("bits --count 4", "noticed: 1 results, 1 journal, 1 policy, 1 checkpoint"),
        ("repeatable --kind migration --method ssm --seeds 1", "again: 2 compared\nbusy: 2 compared\nn_jobs=2: 2 compared"),
    ],
)
def test_commands_of_campaigns(command, says):
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 0, result.output
    assert says in result.output
