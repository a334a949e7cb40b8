"""Every type of rule, of every kind of problem that has rules, keeps the contract of rules.

Plain code, rows and the checker of certificates say the same of any deployment, files keep rules, and each method of the kind
proves the optimum of an enumeration, never returns what breaks a rule, or refuses in words.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pytest
from contention import random_contended_cluster, random_contention
from given_tasks import tasks
from hypothesis import given, settings
from hypothesis import strategies as st
from ruled_clusters import placed, violations

import edrp
from edrp.backends import OWN_BACKENDS
from edrp.check_problems.enactment.problems import brute_force_enactment
from edrp.check_problems.mapping.problems import brute_force_mapping
from edrp.check_problems.migration.problems import assignments
from edrp.check_problems.placement.enumeration import brute_force, feasible_deployments
from edrp.core.errors import UnsupportedProblemError
from edrp.core.kinds import kinds
from edrp.core.methods import methods
from edrp.datasets.families.enactment.enactment_families import random_enactment_problem
from edrp.datasets.families.mapping.path_mapping import random_mapping_problem
from edrp.datasets.families.migration.migration_families import random_migration
from edrp.datasets.families.migration.rescale import random_rescale
from edrp.datasets.families.placement.random_clusters import random_cluster
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.datasets.families.placement.rules import with_rules
from edrp.enactment.containers import Host
from edrp.formulations.methods import formulate
from edrp.placement.compiled import count_configurations

# Rules of placement: three faces

NAMES = ("reader", "parser", "counter")
MAX_NODES = 5

per = st.sampled_from(["node", "zone", "tenant"])
some = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)
several = st.lists(st.sampled_from(NAMES), min_size=2, max_size=3, unique=True)
choices = st.one_of(
    st.just({"nodes": ["n0"]}),
    st.just({"zones": ["A"]}),
    st.sampled_from([["acme"], []]).map(lambda values: {"labels": {"tenant": values}}),
    st.just({"zones": ["A"], "labels": {"tenant": ["acme"]}}),
)
terms = st.builds(
    lambda operator, coefficient, count, chosen: {"operator": operator, "coefficient": coefficient, "count": count, **chosen},
    st.sampled_from(NAMES),
    st.sampled_from([-2.0, 0.5, 1.0]),
    st.sampled_from(["replicas", "nodes"]),
    choices | st.just({}),
)

RULES = {
    "apart": st.fixed_dictionaries({"operators": some, "per": per}),
    "apart operators": st.fixed_dictionaries({"operators": several, "per": per, "between": st.just("operators")}),
    "together": st.fixed_dictionaries({"operators": several, "per": per}),
    "together beside": st.fixed_dictionaries({"operators": some, "per": per, "beside": some}),
    "spread most": st.fixed_dictionaries({"operators": some, "per": per, "most": st.integers(1, 3)}),
    "spread share": st.fixed_dictionaries({"operators": some, "per": per, "share": st.sampled_from([0.3, 0.5, 1.0])}),
    "spread max_skew": st.fixed_dictionaries(
        {"operators": some, "per": per, "max_skew": st.integers(1, 2), "min_domains": st.integers(1, 4)}
    ),
    "at_least_zones": st.fixed_dictionaries({"operators": some, "per": per, "zones": st.integers(1, 2)}),
    "forbidden": st.builds(lambda operators, chosen: {"operators": operators, **chosen}, some | st.just([]), choices),
    "required": st.builds(lambda operators, chosen: {"operators": operators, **chosen}, some | st.just([]), choices),
    "linear": st.fixed_dictionaries({"terms": st.lists(terms, min_size=1, max_size=3), "upper": st.integers(0, 3)}),
    "linear lower": st.fixed_dictionaries({"terms": st.lists(terms, min_size=1, max_size=3), "lower": st.integers(-1, 3)}),
    "linear equal": st.builds(
        lambda listed, total: {"terms": listed, "lower": total, "upper": total},
        st.lists(terms, min_size=1, max_size=3),
        st.integers(0, 3),
    ),
}


@st.composite
def clusters(draw):
    """Nodes of which some have no zone or no label, besides two that have both."""
    others = st.fixed_dictionaries({}, optional={"zone": st.sampled_from("AB"), "labels": st.just({"tenant": "acme"})})
    both = [{"zone": zone, "labels": {"tenant": tenant}} for zone, tenant in (("A", "acme"), ("B", "globex"))]
    drawn = [*both, *draw(st.lists(others, max_size=MAX_NODES - len(both)))]
    return [{"name": f"n{number}", **fields} for number, fields in enumerate(drawn)]


@st.composite
def operators_with_nodes(draw, nodes):
    """Candidates of each operator, and the nodes of its replicas among them."""
    names = [node["name"] for node in nodes]
    candidates = {name: draw(st.none() | st.lists(st.sampled_from(names), min_size=1, unique=True)) for name in NAMES}
    return candidates, {
        name: draw(st.lists(st.sampled_from(own or names), min_size=1, max_size=4)) for name, own in candidates.items()
    }


@pytest.mark.parametrize("examples", [20, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", RULES)
def test_plain_code_rows_and_checker_give_the_same_violation(form, examples):
    @settings(max_examples=examples)
    @given(data=st.data(), nodes=clusters())
    def agree(data, nodes):
        rule = {"rule": form.split()[0], **data.draw(RULES[form])}
        candidates, deployment = data.draw(operators_with_nodes(nodes))
        problem = placed(nodes, [rule], {name: {"candidates": own} for name, own in candidates.items()})
        assert edrp.loads(problem.model_dump_json()) == problem
        seen.update(violations(problem, deployment))

    seen: set[float] = set()
    agree()
    assert len(seen) > 1, "deployments that were drawn meet the rule, or violate it, all alike"


NODES = [
    {"name": "a1", "zone": "A", "labels": {"tenant": "acme"}},
    {"name": "a2", "zone": "A"},
    {"name": "b1", "zone": "B", "labels": {"tenant": "globex"}},
    {"name": "c1"},
    {"name": "d1"},
]
"""Two zones, and two nodes without one."""

DEPLOYMENT = {"reader": ["a1", "a2"], "parser": ["a1", "a1", "a2", "b1"], "counter": ["c1", "c1", "d1"]}
ALL = list(NAMES)
PAIR = ["reader", "parser"]


def rule(kind, operators, **fields):
    return {"rule": kind, "operators": operators, **fields}


def linear(*terms, **bounds):
    return {"rule": "linear", "terms": list(terms), **bounds}


IN_ZONE_A = {"operator": "parser", "zones": ["A"]}
NODES_OF_PARSER = {"operator": "parser", "count": "nodes", "coefficient": 2}


@pytest.mark.parametrize(
    ("stated", "violation"),
    [
        (rule("apart", ["parser"]), 1),
        (rule("apart", PAIR), 2 + 1),
        (rule("apart", ["parser"], per="zone"), 2),
        (rule("apart", ["counter"], per="zone"), 1),
        (rule("apart", ALL, between="operators"), 1 + 1),
        (rule("apart", ALL, between="operators", per="zone"), 1),
        (rule("together", PAIR), 1),
        (rule("together", PAIR, per="zone"), 1),
        (rule("together", ["reader"], beside=["parser", "counter"]), 2),
        (rule("together", ["counter"], beside=PAIR, per="zone"), 2 + 2),
        (rule("spread", ["parser"], most=1), 1),
        (rule("spread", PAIR, most=2, per="zone"), 3),
        (rule("spread", ["counter"], most=1, per="zone"), 1),
        (rule("spread", ["parser"], share=0.3, per="zone"), 1.8),
        (rule("spread", ["counter"], share=0.5, per="zone"), 0.5),
        (rule("spread", ["parser"], max_skew=1, per="zone"), 1),
        (rule("spread", ["parser"], max_skew=1, per="zone", min_domains=3), 2),
        (rule("spread", ["counter"], max_skew=1, per="zone"), 3),
        (rule("at_least_zones", ["reader"], zones=2), 1),
        (rule("at_least_zones", ["counter"], zones=2), 2),
        (rule("at_least_zones", ["reader", "counter"], zones=2), 1),
        (rule("at_least_zones", ["parser"], zones=2, per="tenant"), 0),
        (rule("forbidden", [], zones=["A"]), 2 + 3),
        (rule("forbidden", ["parser"], zones=["A"], labels={"tenant": []}), 2),
        (rule("required", ["parser"], zones=["A"]), 1),
        (rule("required", ["counter"], labels={"tenant": []}), 3),
        (linear(IN_ZONE_A, upper=1), 2),
        (linear(IN_ZONE_A, lower=4), 1),
        (linear(IN_ZONE_A, NODES_OF_PARSER, lower=2, upper=8), 1),
    ],
    ids=str,
)
def test_violation_of_each_type(stated, violation):
    problem = placed(NODES, [stated], {name: {} for name in NAMES})
    assert violations(problem, DEPLOYMENT) == pytest.approx([violation])


@pytest.mark.parametrize("zone", ["lone", "lone, alone"])
def test_a_node_without_a_zone_is_no_part_of_a_zone_whatever_its_name(zone):
    nodes = [{"name": "lone"}, {"name": "other", "zone": zone}]
    problem = placed(nodes, [rule("apart", ["parser"], per="zone")], {name: {} for name in NAMES})
    assert violations(problem, {name: ["lone", "other"] for name in NAMES}) == [0.0]


# Rules of all kinds: every method


def drawn_rules(seed: int, names: list[str], types: tuple[str, ...], field: str) -> list[dict[str, Any]]:
    """One or two rules about two or more of the names."""
    generator = np.random.default_rng(seed)
    return [
        {
            "rule": str(generator.choice(types)),
            "name": f"rule {number}",
            field: generator.permutation(names)[: generator.integers(2, len(names) + 1)].tolist(),
        }
        for number in range(1 + seed % 2)
    ]


def enactment(seed: int) -> edrp.EnactmentProblem:
    """Two or three operators, some of which may not share a host, as every other time all do now."""
    problem = random_enactment_problem(seed, operators=(2, 3))
    names = list(problem.application.by_name)
    mixed = Host(name="mixed", type=problem.host_types[0].name, instances=dict.fromkeys(names, 1))
    rules = drawn_rules(seed, names, ("apart",), "operators")
    return problem.replace(rules=rules, current=[mixed] if seed % 2 else problem.current)


def least_price(problem: edrp.EnactmentProblem) -> float | None:
    try:
        return brute_force_enactment(problem)[0]
    except ValueError:  # no optimum: hosts without price and limit
        return math.nan


def mapping(seed: int) -> edrp.MappingProblem:
    """Two or three components (one alone has no rules) on up to four servers; every third time protocols may map them."""
    fields = {"cost": "load-balance"} if seed % 3 == 2 else {}
    problem = random_mapping_problem(seed, max_servers=4, max_components=3, **fields)
    names = [component.name for component in problem.task.components]
    rules = drawn_rules(seed, names, ("apart", "together"), "components") if len(names) > 1 else []
    return problem.replace(rules=rules)


def migration(seed: int) -> edrp.MigrationProblem:
    """One to three rules of one or two ranges of tasks and nodes each."""
    problem, generator = random_migration(seed), np.random.default_rng(seed)
    count, nodes, rules = len(problem.work), len(problem.intervals), []
    for number in range(generator.integers(1, 4)):
        starts = generator.integers(0, count, generator.integers(1, 3)).tolist()
        rules.append(
            {
                "rule": str(generator.choice(["forbidden", "required"])),
                "name": f"rule {number}",
                "tasks": [(start, min(count, start + int(generator.integers(1, 3)))) for start in starts],
                "nodes": generator.integers(0, nodes, generator.integers(1, 3)).tolist(),
            }
        )
    return problem.replace(rules=rules)


def least_moved(problem: edrp.MigrationProblem) -> float | None:
    """Least state that moves; the rules are judged here by what they say, node by node."""
    best = math.inf
    for decision in assignments(problem):
        node_of_task = {task: node for node, held in enumerate(decision) if held for task in range(*held)}
        for rule in problem.rules:
            named = [node_of_task[task] in rule.nodes for first, end in rule.tasks for task in range(first, end)]
            if any(named) if rule.rule == "forbidden" else not all(named):
                break
        else:
            evaluation = problem.replace(rules=()).evaluate(decision)
            best = min(best, evaluation.objective if evaluation.feasible else math.inf)
    return None if math.isinf(best) else best


MAX_DEPLOYMENTS = 1_000


def zoned(problem: edrp.EdrpProblem) -> edrp.EdrpProblem:
    """Two zones whose nodes are joined as those of different zones, so that giving nodes a zone cuts nothing."""
    network = problem.network
    nodes = tuple(node.replace(zone=node.zone or f"zone {u % 2}") for u, node in enumerate(network.nodes))
    return problem.replace(network=network.replace(nodes=nodes, within_zone=network.within_zone or network.between_zones))


def weighted_tasks(seed: int) -> edrp.EdrpProblem:
    """Given tasks on equal nodes, whose most important peak load has all the weight."""
    problem = tasks(seed, 2 + seed % 2, 3)
    return zoned(problem.replace(priorities=(), weights={"peak_loads": {problem.priorities[0].metric.partition(".")[2]: 1.0}}))


PLACEMENTS: tuple[Callable[[int], Any], ...] = (
    lambda seed: random_problem(seed, operators=(2, 4), nodes=(2, 4), combinations_limit=MAX_DEPLOYMENTS),
    lambda seed: random_cluster(seed, max_combinations=MAX_DEPLOYMENTS),
    lambda seed: random_cluster(seed, max_combinations=MAX_DEPLOYMENTS, running=True),
    weighted_tasks,
    lambda seed: zoned(random_contention(seed)),
    random_contended_cluster,
)


def least_objective(problem: Any) -> float | None:
    """Least objective of all deployments; NaN where they are too many."""
    operators, nodes = problem.application.operators, len(problem.network.nodes)
    sizes = (count_configurations(len(operator.candidates or ()) or nodes, operator.max_replicas) for operator in operators)
    if prod(sizes) > 3 * MAX_DEPLOYMENTS:
        return math.nan
    return min((entry.evaluation.objective for entry in feasible_deployments(problem)), default=None)


class Ruled(NamedTuple):
    """Problems with rules of one kind by seed, the optimum by enumeration (NaN for unknown), and which seeds are drawn."""

    draw: Callable[[int], Any]
    optimum: Callable[[Any], float | None]
    quick: range
    slow: range


KINDS = {
    "edrp": Ruled(lambda seed: with_rules(PLACEMENTS[seed % 6](seed), seed), least_objective, range(1, 4), range(4, 639)),
    "latency-aware": Ruled(
        lambda seed: with_rules(random_latency_aware_problem(seed, operators=(2, 4), nodes=(2, 4), combinations_limit=1e3), seed),
        least_objective,
        range(3),
        range(3, 108),
    ),
    "rescale": Ruled(
        lambda seed: with_rules(random_rescale(seed, tasks=(3, 5)), seed),
        lambda problem: brute_force(problem)[0],
        range(9, 11),
        range(11, 106),
    ),
    "migration": Ruled(migration, least_moved, range(6), range(6, 400)),
    "enactment": Ruled(enactment, least_price, range(8), range(8, 110)),
    "mapping": Ruled(mapping, lambda problem: brute_force_mapping(problem)[0], range(10), range(10, 200)),
}

BLIND = {
    "edrp": {"caps", "greedy-pipeline", "ordered-flow"},
    "latency-aware": set(),
    "rescale": set(),
    "migration": {"ssm"},
    "enactment": set(),
    "mapping": {"label-setting"},
}
"""Methods that refuse every problem drawn here: for the rules, or, `caps`, for numbers of replicas that are not given."""

SHORT: dict[str, dict[str, Any]] = {
    "annealing": {"anneals": 2, "steps": 200},
    "ant-system": {"ants": 10, "iterations": 10},
    "hybrid": {"ants": 10, "iterations": 10},
    "iterated-local-search": {"kicks": 30},
    "random": {"samples": 10},
    "range-annealing": {"runs": 4, "steps": 2000, "seed": 3},
}
"""Parameters with which searches take milliseconds."""

FINDS = "iterated-local-search"
"""The search that misses no optimum that small."""


def asked(kind: str, seed: int) -> Iterator[Any]:
    """Exact methods of a kind, of the backends one after the other, and those that search, but not for all of many problems."""
    backend, searches = list(OWN_BACKENDS)[seed % len(OWN_BACKENDS)], seed in KINDS[kind].quick
    for name, method in methods(kind).items():
        if name == backend or (name not in OWN_BACKENDS and (method.exact or searches)):
            yield method


def solved(problem: Any, method: Any, best: float | None) -> Any:
    """The verified answer of a method, which is that of the enumeration, as far as it claims anything."""
    slack = 1e-6 * max(1.0, abs(best or 0.0))

    def told(_: float, incumbent: float | None, bound: float | None) -> None:
        assert incumbent is None or (best is not None and incumbent >= best - slack)
        assert bound is None or best is None or bound <= best + slack

    solution = edrp.solve(problem, method.name, progress=told, **SHORT.get(method.name, {}))
    if method.exact and (method.name, getattr(problem, "cost", "")) != ("auto", "load-balance"):  # which it leaves to a protocol
        assert solution.status == ("infeasible" if best is None else "optimal")
        assert solution.objective == (None if best is None else pytest.approx(best, abs=slack))
        assert bool(solution.clashes) == (best is None)
    else:
        assert solution.status in ("feasible", "optimal", "none") or best is None
        assert solution.objective is None or (best is not None and solution.objective >= best - slack)
        assert solution.objective is not None or solution.notes or solution.clashes
    return solution


def check_kind(kind: str, seeds: range) -> None:
    """Ask all methods for all problems; together these are neither all easy nor all infeasible, and rules matter."""
    statuses: defaultdict[str, Counter[str]] = defaultdict(Counter)
    matter, again = 0, set()
    for seed in seeds:
        problem = KINDS[kind].draw(seed)
        assert problem.kind == kind
        assert edrp.loads(problem.model_dump_json()) == problem
        best = KINDS[kind].optimum(problem)
        if not problem.rules or (best is not None and math.isnan(best)):
            continue
        for method in asked(kind, seed):
            refusal = method.refusal(problem)
            if refusal is not None:
                with pytest.raises(UnsupportedProblemError, match=rf"{re.escape(refusal)}.*; use "):
                    edrp.solve(problem, method.name)
                continue
            solution = solved(problem, method, best)
            statuses[method.name][solution.status] += 1
            if solution.decision is not None and method.name not in again:
                again.add(method.name)
                assert solved(problem, method, best).decision == solution.decision
            if method.name == FINDS:
                assert solution.objective == (None if best is None else pytest.approx(best, abs=1e-9)), seed
            if solution.status == "optimal" and method.name in OWN_BACKENDS:
                assert formulate(problem).encode(solution.decision) is not None
        free = KINDS[kind].optimum(problem.replace(rules=()))
        matter += best is None or free is None or best > free + 1e-9
    assert seeds != KINDS[kind].quick or set(statuses) | BLIND[kind] | set(OWN_BACKENDS) == set(methods(kind))
    assert not set(statuses) & BLIND[kind]
    assert matter, "no rule mattered"
    assert {*statuses["auto"]} >= {"infeasible", "optimal"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_method_is_right_under_rules_or_refuses(kind):
    check_kind(kind, KINDS[kind].quick)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "seeds"),
    [(kind, part) for kind, ruled in KINDS.items() for part in (ruled.slow[k::4] for k in range(4))],
)
def test_every_method_is_right_under_many_rules(kind, seeds):
    check_kind(kind, seeds)


@pytest.mark.parametrize("method", ["highs", "scipy", "cvxpy", "pyomo"])
def test_an_optimum_that_presolve_of_highs_loses_before_a_search_is_found(method):
    problem = KINDS["latency-aware"].draw(32)
    assert edrp.solve(problem, method).objective == pytest.approx(least_objective(problem))


def test_every_kind_with_rules_is_here():
    ruled = {name for name, kind in kinds().items() if "rules" in kind.problem.model_fields}
    assert ruled - {"edrp-sequence", "edrp-policy"} == set(KINDS)  # those are sequences of `edrp`
