"""Goals in order on small assignments: evenness, bytes, moves and wishes against enumeration; what is refused, and why."""

import json

import pytest
from assignments import assignment, assignment_document, enumerated_values, goals_of, random_assignment, seeds

import edrp
from edrp.check_problems.placement.enumeration import deployments
from edrp.core.errors import InvalidInstanceError, UnsupportedProblemError
from edrp.core.whole_numbers import common_step, round_up
from edrp.explanations.stages import stage_cost_table
from edrp.placement.metrics.own import OwnMetric


@seeds(6, 300)
@pytest.mark.parametrize("by", ["deviation", "max", "skew"])
def test_every_stage_is_that_of_an_enumeration_and_proven_exactly(seed, by):
    case = random_assignment(seed)
    expected = enumerated_values(case, by)
    solution = edrp.solve(assignment(case, by), "highs", work_limit=60)
    assert solution.status == "optimal"
    assert [outcome.metric for outcome in solution.stages] == goals_of(case)
    assert [outcome.value for outcome in solution.stages] == pytest.approx(expected, rel=1e-12, abs=1e-9)
    assert all(outcome.proven and outcome.bound == pytest.approx(outcome.value, rel=1e-9) for outcome in solution.stages)
    for outcome in solution.stages:
        assert solution.metrics[outcome.metric] == pytest.approx(outcome.value, rel=1e-12, abs=1e-9), "later stages keep it"


SERVERS = {"rack": [0, 1, 2, 0], "copies": 3, "leaders": False}
SIZES = ((11, [1, 0, 2]), (2, [2, 0, 1]), (6, [1, 0, 2]), (15, [1, 0, 2]))
CASE = {**SERVERS, "partitions": [{"bytes": size * 10**6, "load": 1, "current": now} for size, now in SIZES]}
"""Four partitions, three replicas each, on four servers in three racks; nothing is on the last server."""


@pytest.mark.parametrize(("by", "values"), [("max", [4, 0, 0]), ("skew", [2, 8e6, 2]), ("deviation", [4, 2e6, 1])])
def test_each_measure_of_evenness_has_other_later_goals(by, values):
    solution = edrp.solve(assignment(CASE, by))
    assert [outcome.value for outcome in solution.stages] == values
    assert [outcome.limit for outcome in solution.stages] == [*values[:2], None], "whole numbers, without any room"


def test_uneven_sums_of_many_replicas_are_proven_without_a_search():
    partitions = [{"bytes": 10**6 * (1 + p % 7), "load": 1, "current": [p % 5, (p + 1) % 5, 5]} for p in range(20)]
    case = {"rack": [0, 0, 1, 1, 2, 2, 3], "copies": 3, "leaders": False, "partitions": partitions}
    for by, value in (("skew", 1.0), ("deviation", 2 * 4 * 3 / 7), ("max", 9.0)):
        solution = edrp.solve(assignment(case, by, ["evenness.load"]), "highs", work_limit=5)
        assert (solution.status, solution.objective) == ("optimal", pytest.approx(value))


def test_a_stage_does_not_cheat_by_the_room_of_the_one_before():
    """Sizes of 1e9 bytes that differ by one byte: a relative room of 1e-9 would let one more stay."""
    partitions = [{"bytes": 10**9 + p, "load": 1, "current": [0, 1]} for p in range(3)]
    case = {"rack": [0, 1, 2, 2], "copies": 2, "leaders": False, "partitions": partitions}
    solution = edrp.solve(assignment(case), "highs")
    assert [outcome.value for outcome in solution.stages] == enumerated_values(case)


def variable(**fields):
    """A stateful operator of one to three replicas in a stream, and two without streams."""
    operators = [
        {"name": "read", "external_rate": 4.0, "usage": {"cpu": {"per_replica": 0.5, "per_tuple": 0.25}}},
        {"name": "work", "state_size": 12.0, "max_replicas": 3, "usage": {"cpu": {"per_tuple": 0.5}}},
    ]
    nodes = [{"name": name, "zone": zone, "capacity": {"cpu": 9.0}} for name, zone in (("a", "x"), ("b", "x"), ("c", "y"))]
    given = {
        "application": {"operators": operators, "streams": [{"source": "read", "target": "work"}]},
        "network": {"nodes": nodes, "within_zone": {"delay": 0.0}, "between_zones": {"delay": 0.01}},
        "current": {"read": ["a"], "work": ["a", "b"]},
        "evenness": {
            "cpu": {"of": "cpu", "per": "zone", "by": "skew"},
            "state": {"of": "state"},
            "replicas": {"operators": ["work"]},
            "fullest": {"of": "cpu", "by": "max"},
        },
    }
    return edrp.EdrpProblem.model_validate({**given, **fields})


NAMES = ("evenness.cpu", "evenness.state", "evenness.replicas", "evenness.fullest", "moves", "moved_state")


def test_both_faces_agree_where_numbers_of_replicas_vary():
    problem = variable(priorities=[{"metric": name} for name in NAMES])
    for deployment in deployments(problem):
        for name in NAMES:
            assert isinstance(problem.metrics[name], OwnMetric)
            assert not problem.metrics[name].contradiction(problem, deployment)


@pytest.mark.parametrize("name", NAMES)
def test_optima_with_weights_and_limits_where_numbers_of_replicas_vary(name):
    problem = variable(priorities=[{"metric": name}, {"metric": "moves" if name != "moves" else "moved_state"}])
    listed = [(problem.metrics[name].evaluate(problem, each), each) for each in deployments(problem)]
    least = min(value for value, _ in listed)
    second = problem.priorities[1].metric
    after = min(problem.metrics[second].evaluate(problem, each) for value, each in listed if value <= least + 1e-9)
    solution = edrp.solve(problem, "highs")
    assert [outcome.value for outcome in solution.stages] == pytest.approx([least, after], abs=1e-9)


def test_state_moves_by_the_share_of_replicas_and_not_to_where_it_is():
    problem = variable(priorities=[{"metric": "moved_state"}, {"metric": "moves"}])
    for nodes, moved, moves in (("ab", 0.0, 0.0), ("aaa", 0.0, 0.0), ("ac", 6.0, 1.0), ("abc", 4.0, 1.0), ("c", 12.0, 1.0)):
        metrics = problem.evaluate({"read": ["a"], "work": list(nodes)}).metrics
        assert (metrics["moved_state"], metrics["moves"]) == (moved, moves)


def test_searches_refuse_what_programs_alone_say():
    problem = variable(priorities=(), weights={"moved_state": 1.0})
    with pytest.raises(UnsupportedProblemError, match="annealing does not take moved_state into account; use highs"):
        edrp.solve(problem, "annealing")


def wishes(*priorities, penalties=(2.0, 3.0), **fields):
    """Three partitions that would rather stay on a server, which takes two."""
    case = {**SERVERS, "copies": 1, "partitions": [{"bytes": 10**6, "load": 1, "current": [0]} for _ in range(3)]}
    document = assignment_document(case, "max", list(priorities))
    cells = [{"operator": f"p{p}", "nodes": ["s0"]} for p in range(3)]
    wish = {"rule": "linear", "lower": 1}
    stay = [wish | {"name": f"stay {p}", "penalty": penalties[p % 2], "terms": [cells[p]]} for p in range(3)]
    two = {"rule": "linear", "name": "two", "upper": 2, "terms": cells}
    return edrp.EdrpProblem.model_validate({**document, "rules": [*stay, two], **fields})


def test_wishes_are_stages_one_by_one_or_together():
    together = edrp.solve(wishes("penalties", "evenness.load"), "highs")
    assert [outcome.value for outcome in together.stages] == [2.0, 2.0]
    assert together.objective == 2.0, "penalties that are a stage are no part of the objective"
    assert together.metrics["penalties"] == 2.0
    single = edrp.solve(wishes("penalty.stay 0", "penalty.stay 2", "evenness.load", "penalty.stay 1"), "highs")
    assert [outcome.value for outcome in single.stages] == [0.0, 0.0, 2.0, 3.0]
    plain = wishes("penalties").replace(priorities=(), weights={"evenness.load": 1.0})
    assert edrp.solve(plain, "highs").objective == 4.0, "without priorities they add to the objective"


def test_an_explanation_says_what_stages_cost_and_what_holds_others_back():
    problem = assignment(CASE, "skew")
    states = edrp.explain(problem, edrp.solve(problem, "highs")).stages
    assert [state.cost for state in states] == ["8e+06 of moved_state and 2 of moves", "nothing", ""]
    assert [state.held_by for state in states] == [(), ("evenness.load",), ("evenness.load",)]
    assert stage_cost_table(states).rows[1] == ("moved_state", "8e+06", "nothing", "evenness.load")


def test_more_replicas_than_racks_are_infeasible_and_named():
    document = assignment_document(CASE, "deviation", goals_of(CASE), current=None)
    document["application"]["operators"][0] |= {"min_replicas": 4, "max_replicas": 4}
    with pytest.warns(edrp.errors.ProblemWarning, match="`current` is not given"):
        solution = edrp.solve(edrp.EdrpProblem.model_validate(document))
    assert solution.status == "infeasible"
    assert any("rule 'racks of p0'" in clash for clash in solution.clashes)
    assert any("min_replicas of p0: 4" in clash for clash in solution.clashes)


def test_limits_on_goals_that_clash_are_named_with_what_would_do():
    limited = assignment(CASE, "max").replace(priorities=(), weights={"moves": 1.0}, limits={"evenness.load": 2.0})
    wished = wishes("penalties").replace(limits={"penalties": 1.0})
    for problem, named in ((limited, ["limits.evenness.load: 2"]), (wished, ["limits.penalties: 1", "rule 'two'"])):
        solution = edrp.solve(problem, "highs")
        assert solution.status == "infeasible"
        assert all(any(name in clash for clash in solution.clashes) for name in named)


LOAD = {"of": "load"}
HARD = "names a rule that must be met, which leaves nothing to minimise; give it a penalty, or leave this out"
BAD = [
    ({"priorities": ["evenness.load", "evenness.load"]}, r"priorities\[1\].metric: is the metric of priorities\[0\] already"),
    (
        {"evenness": {"load": LOAD, "same": LOAD}, "priorities": ["evenness.load", "evenness.same"]},
        r"priorities\[1\].metric: is the goal of priorities\[0\] already",
    ),
    ({"evenness": {"load": {"of": "disk"}}}, r"evenness.load.of: is neither .* that one of the operators uses; they use load"),
    ({"evenness": {"load": {**LOAD, "operators": ["p9"]}}}, r"evenness.load.operators\[0\]: is no operator of the application"),
    ({"evenness": {"load": {**LOAD, "per": "rack"}}}, "evenness.load.per: is no label of any node"),
    ({"evenness": {"load": {**LOAD, "by": "sum"}}}, "evenness.load.by: must be 'deviation', 'max' or 'skew'"),
    ({"priorities": ["penalties"]}, r"priorities\[0\].metric: needs a rule with a penalty; there is none"),
    ({"priorities": ["penalty.racks of p0"]}, rf"priorities\[0\].metric: {HARD}"),
    ({"priorities": ["evenness.laod"]}, r"priorities\[0\].metric: names no entry of `evenness`; did you mean 'load'\?"),
    ({"priorities": [], "weights": {"evenness.x": 1}}, "weights.evenness.x: is no entry of `evenness`"),
    ({"priorities": [], "limits": {"penalty.x": 1}}, "limits.penalty.x: is no rule with a penalty"),
]


@pytest.mark.parametrize(("fields", "said"), BAD)
def test_bad_goals_are_refused_at_their_place(fields, said):
    if "priorities" in fields:
        fields = {**fields, "priorities": [{"metric": name} for name in fields["priorities"]]}
    with pytest.raises(InvalidInstanceError, match=said):
        assignment(CASE, **fields)


@pytest.mark.parametrize(("owner", "said"), [("p9", "is no operator"), ("p0", "is the operator itself"), ("p1", "name 'p2'")])
def test_bad_owners_of_state_are_refused(owner, said):
    document = assignment_document(CASE, "max", goals_of(CASE))
    operators = document["application"]["operators"]
    operators[1]["state_of"], operators[0]["state_of"] = "p2", owner
    with pytest.raises(InvalidInstanceError, match=rf"application.operators\[0\].state_of: .*{said}"):
        edrp.loads(json.dumps(document))


def test_problems_over_time_refuse_goals_of_one_change():
    base = variable(weights={"moves": 1.0})
    fields = {name: getattr(base, name) for name in ("application", "network", "weights")}
    with pytest.raises(InvalidInstanceError, match=r"weights.moves: is taken by problems of kind edrp alone"):
        edrp.EdrpSequence(**fields, periods=[{"duration": 60.0}])


def test_steps_of_sums():
    assert [common_step(values) for values in ([], [0.0], [1e13, 1.0], [2**0.5, 1.0])] == [None] * 4
    assert float(common_step([1 / 3, 0.25]) or 0) == pytest.approx(1 / 12)
    assert [round_up(bound, 1.0) for bound in (182.9999984, 183.0000001, 183.3, 1e12 + 0.5)] == [183.0, 183.0, 184.0, 1e12 + 0.5]
