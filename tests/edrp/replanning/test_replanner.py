"""The replanner: moves when a plan pays, repairs what is broken, says why, and takes measurements as they come."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from edrp.core.errors import InvalidInstanceError
from edrp.datasets.placement.latency_aware_test_bed import paper_problem
from edrp.placement.delays import with_delays
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.metrics import EDRP_METRICS
from edrp.placement.network import Network
from edrp.replanning.measurements import with_measurements
from edrp.replanning.plans import patched, plans_near, reconfiguration, relabelled
from edrp.replanning.replanner import Replanner, ReplanningPolicy, decide
from edrp.report.tables import console_table
from edrp.validation.papers.latency_aware.replanning_report import outcome_table, replanning_statements
from edrp.validation.simulation.placement.replanning_day import (
    BROKEN,
    EVERY,
    NEVER,
    PAYING,
    daily_curve,
    moments,
    run_day,
    strategies,
)

STATE = 10e6
EXACT = ReplanningPolicy(method="highs", hysteresis=0.0, synchronisation_time=1.0)
"""Small problems, solved to the optimum, so that only the rule decides."""


def chain(**changes: Any) -> LatencyAwareProblem:
    """Read, work, write on three nodes; the store takes and gives 10 MB/s, a mover's state 10 MB each way."""
    operators = [
        {"name": "read", "resources": {"cpu": 0.3}, "state_size": 0.0},
        {"name": "work", "resources": {"cpu": 0.3}, "state_size": STATE, "instances": 2},
        {"name": "write", "resources": {"cpu": 0.3}, "state_size": 3 * STATE},
    ]
    streams = [{"source": "read", "target": "work", "rate": 90.0}, {"source": "work", "target": "write", "rate": 10.0}]
    nodes = [{"name": name, "resources": {"cpu": 1.0}} for name in "abc"]
    links = [{"source": u, "target": v, "delay": 0.01} for u, v in ("ab", "bc", "ac")]
    fields: dict[str, Any] = {
        "application": {"operators": operators, "streams": streams},
        "network": {"nodes": nodes, "links": links, "store": {"bandwidth": 10e6}},
    }
    return LatencyAwareProblem(**{**fields, **changes})


def apart() -> Deployment:
    """Feasible and bad: three nodes, and most tuples between them."""
    return Deployment({"read": ["a"], "work": ["b", "b"], "write": ["c"]})


def test_what_does_not_run_is_placed() -> None:
    decision = decide(chain(), None, EXACT)
    assert (decision.verdict, decision.moved, decision.downtime, decision.gain) == ("place", True, 0.0, None)
    assert decision.score == chain().evaluate(decision.deployment).objective
    assert str(decision).startswith("place: nothing ran; score")


def test_the_rule_weighs_gain_against_downtime() -> None:
    """Just above the horizon at which the gain is worth the downtime it moves, just below it keeps."""
    problem = chain()
    long = decide(problem, apart(), EXACT.replace(horizon=1e9))
    assert long.verdict == "move"
    assert long.downtime > 0
    assert long.gain == pytest.approx(problem.evaluate(apart()).objective - long.solution.objective)
    cheapest = min(
        EXACT.downtime_worth * option / gain
        for gain, option in _gains_and_downtimes(problem, apart(), long.solution.deployment)
        if gain > 0
    )
    assert decide(problem, apart(), EXACT.replace(horizon=1.001 * cheapest)).verdict == "move"
    kept = decide(problem, apart(), EXACT.replace(horizon=0.999 * cheapest))
    assert (kept.verdict, kept.deployment, kept.actions) == ("keep", apart(), ())
    assert kept.gain <= kept.price
    assert kept.score == problem.evaluate(apart()).objective


def _gains_and_downtimes(problem: LatencyAwareProblem, running: Deployment, plan: Deployment | None) -> list[tuple[float, float]]:
    change = reconfiguration(problem, running, {}, synchronisation_time=1.0, how="pause-and-resume")
    found = [(problem.evaluate(near), change.downtime(near)) for near in plans_near(plan, problem, change)]
    return [(problem.evaluate(running).objective - each.objective, time) for each, time in found if each.feasible]


def test_hysteresis_asks_for_more_than_the_price() -> None:
    free = EXACT.replace(downtime_worth=0.0)
    moved = decide(chain(), apart(), free)
    assert moved.verdict == "move"
    share = moved.gain / moved.score
    assert decide(chain(), apart(), free.replace(hysteresis=0.99 * share)).verdict == "move"
    kept = decide(chain(), apart(), free.replace(hysteresis=1.01 * share))
    assert kept.verdict == "keep"
    assert kept.margin > kept.gain > kept.price == 0.0
    assert str(kept) == f"keep: a gain of {kept.gain:.6g} at a price of 0 for {kept.downtime:.6g} s of downtime, " + (
        f"which leaves no more than {kept.margin:.6g}"
    )
    assert str(moved).startswith(f"move: a gain of {moved.gain:.6g} at a price of 0 for {moved.downtime:.6g} s of downtime: ")
    assert all(str(action) in str(moved) for action in moved.actions)


def test_downtime_is_that_of_the_edrp_metric() -> None:
    """A problem of kind `edrp` that moves the same states has the same downtime, under both kinds of reconfiguration."""
    target = Deployment({"read": ["a"], "work": ["a", "b"], "write": ["a"]})
    spawning = chain().network.replace(nodes=[{"name": name, "spawn_time": 0.5 + ord(name) % 3} for name in "abc"])
    problem = chain().replace(network=spawning)
    for how in ("pause-and-resume", "storm"):
        same = EdrpProblem(
            application={
                "operators": [
                    {"name": o.name, "state_size": o.state_size, "max_replicas": 2} for o in problem.application.operators
                ],
                "streams": problem.application.streams,
            },
            network=spawning,
            synchronisation_time=1.5,
            reconfiguration=how,
            weights={"cost": 1.0},
            limits={"cost": 1.0},
            current=apart(),
        )
        change = reconfiguration(problem, apart(), {}, synchronisation_time=1.5, how=how)
        assert change is not None
        assert change.downtime(target) == EDRP_METRICS["downtime"].evaluate(same, target) > 1.5
        assert change.downtime(apart()) == 0.0


def test_a_cheaper_part_of_the_plan_is_preferred() -> None:
    """Moving the small operator to the big one gains all that moving the big one does."""
    problem = chain(
        application={
            "operators": [
                {"name": "small", "resources": {"cpu": 0.1}, "state_size": 1e3},
                {"name": "big", "resources": {"cpu": 0.1}, "state_size": 1e9},
            ],
            "streams": [{"source": "small", "target": "big", "rate": 1.0}],
        }
    )
    running = Deployment({"small": ["a"], "big": ["b"]})
    decision = decide(problem, running, EXACT)
    assert decision.deployment == Deployment({"small": ["b"], "big": ["b"]})
    assert [action.operator for action in decision.actions] == ["small"]
    assert decision.downtime < 1.1


def test_equal_nodes_are_exchanged_rather_than_moved_to() -> None:
    """Which of equal nodes a method names means nothing; what can stay stays."""
    problem = chain()
    running = Deployment({"read": ["c"], "work": ["c", "a"], "write": ["a"]})
    plan = Deployment({"read": ["a"], "work": ["a", "b"], "write": ["b"]})
    assert relabelled(plan, problem, running) == running
    fast = problem.network.replace(
        nodes=[{"name": name, "resources": {"cpu": cpu}} for name, cpu in zip("abc", (1, 1, 2), strict=True)]
    )
    assert relabelled(plan, problem.replace(network=fast), running)["write"] == ("a",)
    assert "c" not in relabelled(plan, problem.replace(network=fast), running)["read"]


def test_overload_is_repaired_whatever_it_costs() -> None:
    best = decide(chain(), None, EXACT).deployment
    heavy = with_measurements(chain(), resources={"read": {"cpu": 0.8}})
    decision = decide(heavy, best, EXACT.replace(horizon=1e-3, downtime_worth=1e6))
    assert decision.verdict == "repair"
    assert heavy.evaluate(decision.deployment).feasible
    assert any(wrong.startswith("cpu of node") for wrong in decision.broken)
    assert decision.gain is None
    assert decision.actions == best.actions_to(decision.deployment)
    assert "what ran breaks cpu of node" in str(decision)


def test_a_repair_moves_what_is_cheapest_when_downtime_is_dear() -> None:
    """Either of two operators may leave the overloaded node: with dear downtime the one with less state does."""
    operators = [
        {"name": "small", "resources": {"cpu": 0.6}, "state_size": 1e3},
        {"name": "big", "resources": {"cpu": 0.6}, "state_size": 1e9},
    ]
    streams = [{"source": "small", "target": "big", "rate": 1.0}]
    problem = chain(application={"operators": operators, "streams": streams})
    decision = decide(problem, Deployment({"small": ["b"], "big": ["b"]}), EXACT)
    assert decision.verdict == "repair"
    assert decision.deployment["big"] == ("b",)


def test_of_plans_about_as_good_the_one_with_fewest_moves_is_taken() -> None:
    """A repair that moves one instance comes within the hysteresis of the optimum, which moves more."""
    problem = paper_problem("T-R3", 0.4)
    policy = ReplanningPolicy(synchronisation_time=0.0)
    running = decide(problem, None, policy).deployment
    free = next(node.name for node in problem.network.nodes if all(node.name not in running[name] for name in running))
    awry = Deployment({**running, "o5": (running["o5"][0], free)})
    gone = with_measurements(problem, vanished=[free])
    repaired = decide(gone, awry, policy.replace(hysteresis=1.0))
    assert repaired.verdict == "repair"
    assert sum(action.moved_replicas for action in repaired.actions) == 1
    optimal = decide(gone, awry, policy.replace(hysteresis=0.0))
    assert optimal.score <= repaired.score


def test_a_patch_moves_only_what_has_to() -> None:
    """Vanished, barred, overloading and missing instances go where there is room, beside their neighbours; others stay."""
    problem = chain()
    whole = Deployment({"read": ["a"], "work": ["a", "b"], "write": ["b"]})
    assert patched(problem, whole) == whole
    lost = Deployment({"read": ["a"], "work": ["a", "gone"], "write": ["b"], "former": ["c"]})
    assert patched(problem, lost) == Deployment({"read": ["a"], "work": ["a", "a"], "write": ["b"]})
    crowded = Deployment({"read": ["b"], "work": ["b", "b"], "write": ["b"]})
    settled = patched(problem, crowded)
    assert settled["write"] == settled["work"][:1] == ("b",)  # 0.3 each: three of four may stay, and the least state leaves
    assert settled["read"] != ("b",)
    fewer = chain(
        application=problem.application.replace(operators=[o.replace(instances=1) for o in problem.application.operators])
    )
    assert patched(fewer, whole) == Deployment({"read": ["a"], "work": ["a"], "write": ["b"]})
    assert patched(with_measurements(problem, resources={"work": {"cpu": 2.0}}), whole) is None


def test_what_the_method_does_not_find_a_patch_may() -> None:
    """Not all fits on the largest node, the only one that this method looks at."""
    tight = with_measurements(
        chain(), resources={name: {"cpu": 0.6} for name in ("read", "work", "write")}, capacities={"c": {"cpu": 2.0}}
    )
    running = Deployment({"read": ["a"], "work": ["c", "c"], "write": ["gone"]})
    decision = decide(tight, running, EXACT.replace(method="largest-node"))
    assert decision.verdict == "repair"
    assert decision.deployment["work"] == ("c", "c")


def test_a_vanished_node_is_left() -> None:
    replanner = Replanner(chain(), EXACT)
    first = replanner.decide().deployment
    gone = first["write"][0]
    decision = replanner.measure(vanished=[gone])
    assert decision.verdict == "repair"
    assert f"write on {gone}: there is no such node" in decision.broken
    assert all(gone not in decision.deployment[name] for name in decision.deployment)
    # Down with 30 MB, up with them: what was lost is restored from the store.
    assert decision.downtime == pytest.approx(1.0 + 3.0 + 3.0)
    assert replanner.running == decision.deployment
    assert gone not in replanner.problem.network.by_name


def test_infeasible_now_says_what_is_short_and_keeps_running() -> None:
    replanner = Replanner(chain(), EXACT)
    before = replanner.decide().deployment
    decision = replanner.measure(resources={"work": {"cpu": 1.5}})
    assert (decision.verdict, decision.deployment, decision.moved) == ("stuck", before, False)
    assert any("cpu of work: a replica needs 1.5" in clash for clash in decision.solution.clashes)
    assert "stuck: what runs breaks" in str(decision)
    assert "cpu of work: a replica needs 1.5" in str(decision)
    assert replanner.measure(resources={"work": {"cpu": 0.3}}).verdict == "keep"
    nothing = decide(with_measurements(chain(), resources={"work": {"cpu": 1.5}}), None, EXACT)
    assert (nothing.verdict, nothing.deployment) == ("stuck", None)
    assert str(nothing).startswith("stuck: there is no plan: cpu of work")


def test_changed_operators_and_instances() -> None:
    """An operator that has come is placed, one that has gone is forgotten, another number of instances is a repair."""
    running = Deployment({"read": ["a"], "work": ["a", "b"], "write": ["b"], "former": ["c"]})
    grown = chain().application
    more = grown.replace(operators=[o.replace(instances=3) if o.name == "work" else o for o in grown.operators])
    scaled = decide(chain(application=more), running, EXACT)
    assert scaled.verdict == "repair"
    assert any("min_replicas of work: 2 against 3" in wrong for wrong in scaled.broken)
    assert scaled.deployment.degree("work") == 3
    assert "former" not in scaled.deployment
    come = decide(chain(), Deployment({"read": ["a"], "work": ["a", "b"]}), EXACT)
    assert come.broken == ("write: does not run",)
    assert come.verdict == "repair"


def test_measurements_change_only_what_they_name() -> None:
    problem = chain()
    now = with_measurements(
        problem,
        rates={("read", "work"): 5.0},
        external_rates={"read": 7.0},
        resources={"work": {"cpu": 0.5, "memory": 1.0}},
        capacities={"b": {"cpu": 4.0}},
        delays={("b", "a"): 0.5},
    )
    assert (now.application.rate("read", "work"), now.application.rate("work", "write")) == (5.0, 10.0)
    assert now.application.by_name["read"].external_rate == 7.0
    assert now.application.by_name["work"].resources == {"cpu": 0.5, "memory": 1.0}
    assert now.application.by_name["write"] == problem.application.by_name["write"]
    assert [node.resources["cpu"] for node in now.network.nodes] == [1.0, 4.0, 1.0]
    assert (now.network.delay("a", "b"), now.network.delay("a", "c")) == (0.5, 0.01)
    assert (now.network.store, now.weights) == (problem.network.store, problem.weights)
    assert with_measurements(problem.replace(current=apart())) == problem


@pytest.mark.parametrize(
    ("measured", "message"),
    [
        ({"rates": {("work", "read"): 1.0}}, r"rates\[work → read\]: is the rate of no stream"),
        (
            {"rates": {("read", "work"): -1.0}},
            r"application.streams\[0\].rate: must be at least 0 tuples/s, or left out \(got -1.0\)",
        ),
        ({"external_rates": {"reed": 1.0}}, r"external_rates\[reed\]: is no operator of the application; did you mean 'read'"),
        ({"resources": {"work": {"cpu": -1.0}}}, r"application.operators\[1\].resources.cpu: must be at least 0"),
        ({"capacities": {"z": {"cpu": 1.0}}}, r"capacities\[z\]: is no node of the network"),
        ({"vanished": ["z"]}, r"vanished\[z\]: is no node of the network"),
        ({"vanished": ["a", "b", "c"]}, "vanished: no node is left"),
        ({"delays": {("a", "z"): 1.0}}, r"delays\[a → z\]: is no node of the network; there are a, b, c \(got z\)"),
        ({"delays": {("a", "b"): -1.0}}, r"delays\[a → b\]: must be finite seconds, at least 0 \(got -1.0\)"),
        ({"delays": {("a", "a"): 0.0}}, r"delays\[a → a\]: joins a node to itself"),
    ],
)
def test_bad_measurements_are_refused_with_their_place(measured: dict[str, Any], message: str) -> None:
    replanner = Replanner(chain(), EXACT)
    before = replanner.problem
    with pytest.raises(InvalidInstanceError, match=message):
        replanner.measure(**measured)
    assert replanner.problem is before


def test_an_operator_whose_candidates_have_all_vanished_is_named() -> None:
    application = chain().application
    pinned = [o.replace(candidates=("a", "b")) if o.name == "work" else o for o in application.operators]
    problem = chain(application=application.replace(operators=pinned))
    assert with_measurements(problem, vanished=["a"]).application.by_name["work"].candidates == ("b",)
    with pytest.raises(InvalidInstanceError, match=r"operators\[1\].candidates: all nodes that may run 'work' have vanished"):
        with_measurements(problem, vanished=["a", "b"])


@pytest.mark.parametrize(
    "wrong", [{"horizon": 0.0}, {"downtime_worth": -1.0}, {"hysteresis": -0.1}, {"reconfiguration": "magic"}, {"time_limit": 0.0}]
)
def test_policies_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInstanceError, match=next(iter(wrong))):
        ReplanningPolicy(**wrong)


def test_delays_by_pair_of_a_network_that_is_not_symmetric() -> None:
    one_way = chain().network.replace(
        links=[{"source": u, "target": v, "delay": 0.01, "cost": 2.0} for u in "abc" for v in "abc" if u != v], symmetric=False
    )
    measured = with_delays(one_way, {("a", "b"): 0.3})
    assert (measured.delay("a", "b"), measured.delay("b", "a"), measured.link_cost("a", "b")) == (0.3, 0.01, 2.0)
    both = with_delays(chain().network, {("a", "b"): 0.3, ("b", "a"): 0.1})
    assert both.delay("a", "b") == both.delay("b", "a") == 0.2
    racks = Network(nodes=[{"name": name, "zone": name} for name in "ab"], between_zones={"delay": 1.0, "cost": 3.0})
    listed = with_delays(racks, {("a", "b"): 2.0})
    assert (listed.delay("a", "b"), listed.link_cost("b", "a")) == (2.0, 3.0)


@pytest.mark.slow
def test_a_day_in_four_ways() -> None:
    """Planning when it pays is the best of the four, with a part of the moves and of the downtime of planning at every step."""
    policy = ReplanningPolicy(parameters={"kicks": 60})
    day = list(moments(daily_curve(1), 1))
    found = {name: run_day(day, strategy, policy) for name, strategy in strategies(policy, 1).items()}
    assert [statement.reason for statement in replanning_statements(found) if not statement.holds] == []
    paying, every, broken, never = (found[name] for name in (PAYING, EVERY, BROKEN, NEVER))
    assert never.moved == never.downtime == 0
    assert never.broken > 18  # at least while the server is away
    assert every.broken == broken.broken == 0
    assert 0 < broken.moved < paying.moved
    assert 0 < broken.downtime < paying.downtime
    assert every.score < paying.score < broken.score
    assert all(step.downtime >= policy.synchronisation_time for step in paying.steps if step.moved)
    spent = sum(step.score for step in paying.steps) / 145 + policy.downtime_worth * paying.downtime / (145 * 600)
    assert paying.total == pytest.approx(spent)
    printed = StringIO()
    Console(width=100, file=printed).print(console_table(outcome_table(found, policy)))
    assert f"{paying.total:.3f}" in printed.getvalue()
