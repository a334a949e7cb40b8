"""Methods in turn: each goes on from the best decision and bound before it, and the answer is never worse than any of theirs."""

import math
from pathlib import Path
from typing import ClassVar

import pytest

import edrp
from edrp.auto.choices import choose
from edrp.auto.portfolio import Portfolio, PortfolioStage
from edrp.core.budget import LOOK, running, spend
from edrp.core.errors import OutOfTimeError, ProblemTooLargeError
from edrp.core.kinds import get_kind
from edrp.core.methods import Method, Options, methods
from edrp.core.problem import EVERYTHING
from edrp.core.solution import Answer
from edrp.datasets.families.mapping.platforms import mapping_problem
from edrp.datasets.families.placement.layered import layered


class Scripted(Method):
    """Gives one answer and remembers how it was asked."""

    takes = EVERYTHING
    kinds, summary = ("edrp",), "for tests"

    def __init__(self, name, *fields, error=None, takes=0.0, **more):
        self.name, self.answer, self.error, self.takes = name, Answer(*fields, **more) if fields else None, error, takes
        self.asked = []

    def run(self, problem, options):
        self.asked.append(options)
        if options.progress is not None:
            options.progress(options.seconds, None, None)
        if self.error:
            raise self.error
        return self.answer


def feasible(name, objective, bound=None):
    return Scripted(name, "feasible", "time_limit", decision=name, objective=objective, bound=bound)


def stages(*methods):
    return [PortfolioStage(method, 0.5, 10.0) for method in methods]


def test_the_best_decision_is_kept_and_handed_on():
    first, second, third = feasible("first", 5.0), feasible("second", 3.0), feasible("third", 4.0)
    answer = Portfolio(stages(first, second, third)).run(None, Options(start="begin"))
    assert (answer.decision, answer.objective, answer.method) == ("second", 3.0, "second")
    assert [method.asked[0].start for method in (first, second, third)] == ["begin", "first", "second"]


def test_the_best_bound_is_kept_and_proves_what_another_method_found():
    portfolio = Portfolio(stages(feasible("search", 2.0), feasible("proof", 3.0, bound=2.0)))
    answer = portfolio.run(None, Options())
    assert (answer.status, answer.decision, answer.objective, answer.bound) == ("optimal", "search", 2.0, 2.0)


def test_further_methods_are_asked_for_when_the_first_ones_have_not_ended_the_run():
    made = []

    def further():
        made.append(True)
        return tuple(stages(feasible("second", 4.0), feasible("third", 3.0)))

    proven = Scripted("first", "optimal", "finished", decision="first", objective=5.0, bound=5.0)
    assert Portfolio(stages(proven), further=further).run(None, Options()).decision == "first"
    assert not made
    portfolio = Portfolio(stages(feasible("first", 5.0)), further=further)
    assert portfolio.run(None, Options()).decision == "third"
    assert [stage.method.name for stage in portfolio.stages] == ["first", "second", "third"]


@pytest.mark.parametrize("status", ["optimal", "infeasible"])
def test_a_proof_ends_it(status):
    after = feasible("after", 1.0)
    proof = Scripted("proof", status, "finished", objective=2.0 if status == "optimal" else None)
    assert Portfolio(stages(proof, after)).run(None, Options()).status == status
    assert after.asked == []


def test_ctrl_c_ends_it_with_what_is_held():
    stopped = Scripted("stopped", "none", "interrupted")
    after = feasible("after", 1.0)
    answer = Portfolio(stages(feasible("first", 5.0), stopped, after)).run(None, Options())
    assert (answer.decision, answer.stopped_because) == ("first", "interrupted")
    assert after.asked == []


def test_it_stopped_for_the_reason_of_the_last_method():
    rule = Scripted("rule", "feasible", "finished", decision="rule", objective=5.0)
    late = Scripted("late", "none", "time_limit")
    answer = Portfolio(stages(rule, late)).run(None, Options())
    assert (answer.decision, answer.stopped_because) == ("rule", "time_limit"), "the rule alone finished"
    through = Scripted("through", "none", "finished")
    assert Portfolio(stages(feasible("first", 5.0), through)).run(None, Options()).stopped_because == "finished"
    failed = Scripted("failed", "none", "error")
    assert Portfolio(stages(feasible("first", 5.0), failed)).run(None, Options()).stopped_because == "time_limit"
    asked_at_last = Portfolio(stages(late), [rule]).run(Named(), Options(work_limit=100.0))
    assert (asked_at_last.decision, asked_at_last.stopped_because) == ("rule", "time_limit")
    for limit in (100.0, math.inf):
        alone = Portfolio(stages(through), [through]).run(Named(), Options(work_limit=limit))
        assert alone.stopped_because == "finished", "no limit was in its way"


def test_stages_share_the_work_and_the_last_one_has_the_rest():
    for limits in ({"work_limit": 1000.0}, {"time_limit": 1000.0}):
        first, last = feasible("first", 5.0), feasible("last", 4.0)
        with running(**limits):
            Portfolio(stages(first, last)).run(None, Options(**limits))
        assert first.asked[0].limit == pytest.approx(500.0, rel=0.01)
        assert last.asked[0].limit == pytest.approx(1000.0, rel=0.01)
    first, last = feasible("first", 5.0), feasible("last", 4.0)
    Portfolio(stages(first, last)).run(None, Options())
    assert (first.asked[0].limit, last.asked[0].limit) == (10.0, math.inf)


def test_progress_is_told_in_the_time_of_the_whole():
    seconds = []
    options = Options(progress=lambda elapsed, incumbent, bound: seconds.append(elapsed))
    Portfolio(stages(feasible("first", 5.0), feasible("last", 4.0))).run(None, options)
    assert seconds == sorted(seconds)
    assert all(0 <= elapsed < math.inf for elapsed in seconds)


def test_under_a_limit_a_rule_has_answered_before_anything_else_begins():
    """Whatever eats the time after it, a busy machine included, there is an answer."""
    rule, late = feasible("rule", 5.0), Scripted("late", "none", "time_limit", bound=2.0)
    answer = Portfolio(stages(late), [rule]).run(Named(), Options(work_limit=100.0))
    assert (answer.status, answer.decision, answer.method, answer.bound) == ("feasible", "rule", "rule", 2.0)
    assert late.asked[0].start is None, "others begin as they do without a limit"
    answer = Portfolio(stages(feasible("worse", 6.0, bound=2.0)), [rule]).run(Named(), Options(work_limit=100.0))
    assert (answer.decision, answer.method, answer.bound) == ("rule", "rule", 2.0)


def test_a_method_that_is_not_through_with_preparing_costs_nothing_that_is_held():
    late = Scripted("late", error=OutOfTimeError("the limit passed during the preparation of tables"))
    answer = Portfolio(stages(feasible("first", 5.0), late)).run(None, Options(work_limit=100.0))
    assert (answer.decision, answer.method, answer.notes) == ("first", "first", (str(late.error),))


def test_a_rule_is_not_asked_where_it_has_the_first_turn_or_there_is_no_hurry():
    rule, after = feasible("rule", 5.0), feasible("after", 4.0)
    Portfolio(stages(rule, after), [rule]).run(Named(), Options(work_limit=100.0))
    assert len(rule.asked) == 1
    Portfolio(stages(after), [rule]).run(Named(), Options())
    assert len(rule.asked) == 1


class Named:
    kind = "edrp"
    parts: ClassVar = {}


def test_without_a_limit_proofs_and_a_search_take_turns_where_programs_are_not_small(word_count):
    assert edrp.solve(word_count).method == "auto: highs (compact program)"
    stages = edrp.methods()["auto"].resolve(layered(6, 0)).stages
    assert [stage.method.name for stage in stages] == ["eliminate", "iterated-local-search", "highs", "eliminate"]


def test_under_a_limit_a_short_search_comes_before_elimination():
    """Elimination begun twice, or a program that takes as long to be built as it lasts, would be wasted time."""
    told = []
    problem = layered(12, 0)
    edrp.solve(problem, work_limit=0.5, progress=lambda seconds, incumbent, bound: told.append((incumbent, bound)))
    stages = [stage for stage in edrp.methods()["auto"].resolve(problem).stages if stage.share]
    assert [stage.method.name for stage in stages] == ["iterated-local-search", "eliminate"]
    first = next((incumbent, bound) for incumbent, bound in told if incumbent is not None)
    assert first[1] is None


def test_a_stage_without_a_share_has_what_others_leave_under_a_limit():
    """Such as methods that are done sooner than their share."""
    asked = []

    class Asked(Scripted):
        def run(self, problem, options):
            asked.append(self.name)
            spend(self.takes)
            return super().run(problem, options)

    for takes, order in ((0.0, ["second", "third", "first"]), (2.4, ["second", "third"])):
        methods = [Asked(name, "none", "finished", takes=takes) for name in ("first", "second", "third")]
        portfolio = Portfolio([PortfolioStage(methods[0], 0.0), *(PortfolioStage(method, 0.5) for method in methods[1:])])
        with running(work_limit=5.0):
            portfolio.run(None, Options(work_limit=5.0))
        assert asked == order
        asked.clear()
    Portfolio([PortfolioStage(methods[0], 0.0, 1.0)]).run(None, Options())
    assert asked == ["first"]


def test_a_small_program_has_the_first_turn():
    """A turn that is short under any limit; rules wait until it has found nothing."""
    first, rule, last = feasible("first", 5.0), feasible("rule", 6.0), feasible("last", 4.0)
    portfolio = Portfolio([PortfolioStage(first, 0.2, 1.0, 1.0), PortfolioStage(last, 1.0)], [rule], rule_first=False)
    with running(work_limit=100.0):
        assert portfolio.run(Named(), Options(work_limit=100.0)).decision == "last"
    assert (first.asked[0].limit, rule.asked) == (1.0, [])


def test_on_clusters_with_limits_on_peak_loads_classes_of_nodes_go_before_small_programs():
    """Two hundred columns, which take programs half a minute and classes of nodes a fraction of a second."""
    usage = {"cpu": {"per_tuple": 0.02}}
    about = {"usage": usage, "max_replicas": 4, "latency": {"model": "mm1", "service_rate": 60.0}}
    operators = [edrp.Operator(name=f"o{i}", external_rate=0.0 if i else 100.0, **about) for i in range(4)]
    streams = [edrp.Stream(source=f"o{i}", target=f"o{i + 1}") for i in range(3)]
    nodes = [edrp.Node(name=f"tm{u}", resources=8, capacity={"cpu": 4.0}) for u in range(4)]
    problem = edrp.EdrpProblem(
        application=edrp.Application(operators=operators, streams=streams),
        network=edrp.Network(nodes=nodes, between_zones={"delay": 5e-4}),
        limits=edrp.Limits(response_time=1.0, cost=60.0, peak_load=0.8),
        weights=edrp.Weights(response_time=0.5, cost=0.5),
    )
    program, classes, *_ = edrp.methods()["auto"].resolve(problem).stages
    assert (program.method.name, program.units, classes.method.name) == ("highs", 1.0, "equal-nodes")


@pytest.mark.slow
def test_on_thousands_of_nodes_a_simple_rule_goes_first():
    """Whatever others are at when time is up, something is held."""
    nodes = [edrp.Node(name=f"n{number}", zone="z", resources=4) for number in range(2_500)]
    network = edrp.Network(nodes=nodes, within_zone={"delay": 0.001})
    operators = [edrp.Operator(name="source", external_rate=10.0), edrp.Operator(name="sink", max_replicas=3)]
    application = edrp.Application(operators=operators, streams=[edrp.Stream(source="source", target="sink")])
    limits, weights = edrp.Limits(response_time=1.0), edrp.Weights(response_time=1.0)
    problem = edrp.EdrpProblem(application=application, network=network, limits=limits, weights=weights)
    names = [stage.method.name for stage in edrp.methods()["auto"].resolve(problem).stages]
    assert names[0] == "greedy"
    assert len(names) > 1


@pytest.mark.parametrize("kind", ["edrp", "latency-aware", "rescale", "enactment", "link-allocation"])
def test_a_rule_answers_where_a_small_program_has_no_time(kind):
    problem = next(iter(get_kind(kind).check_problems().feasible().values()))
    first, again = (edrp.solve(problem, work_limit=5 * LOOK) for _ in range(2))
    assert (first.status, first.decision) == ("feasible", again.decision)


def test_a_map_of_64_components_is_found_at_once():
    """Ten milliseconds of work; a bound alone is no answer."""
    problem = mapping_problem(64, components=64, seed=0)
    assert edrp.solve(problem, work_limit=0.02).status == "feasible"


def test_a_method_that_needs_too_much_memory_costs_nothing_that_is_held():
    large = Scripted("large", error=ProblemTooLargeError("64 GiB"))
    rule = feasible("rule", 5.0)
    answer = Portfolio(stages(rule, large)).run(None, Options())
    assert (answer.decision, answer.stopped_because, answer.notes) == ("rule", "time_limit", ("large: 64 GiB",))
    assert Portfolio(stages(large), [rule]).run(Named(), Options(work_limit=100.0)).decision == "rule"
    with pytest.raises(ProblemTooLargeError, match="64 GiB"):
        Portfolio(stages(large)).run(None, Options())


EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def test_a_run_is_that_of_the_policy_that_does_best():
    scenario = edrp.load(EXAMPLES / "enactment_scenario.json")
    scenario = scenario.replace(load=scenario.load[:4])
    others = {name: edrp.solve(scenario, name).objective for name in methods(scenario.kind) if name != "auto"}
    found = edrp.solve(scenario)
    assert found.objective == min(others.values()) < max(others.values())
    assert found.method == f"auto: {min(others, key=others.get)}"


@pytest.mark.parametrize(
    ("kind", "policy"), [("enactment-scenario", "predictive-policy"), ("bimodal-scenario", "public-hops-links-mapping")]
)
def test_the_policy_that_is_mostly_best_runs_first(kind, policy):
    """A limit may end the others' runs."""
    scenario = next(iter(get_kind(kind).check_problems().feasible().values()))
    chosen = choose(scenario)
    assert chosen.stages[0].method.name == policy
    assert {stage.method.name for stage in chosen.stages} == methods(kind).keys() - {"auto"}
