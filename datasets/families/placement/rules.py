"""Random rules for problems of placement: zones and labels on their nodes, and one to four rules of all types."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from edrp.core.errors import InvalidInstanceError
from edrp.core.problem import Problem
from edrp.datasets.families.family import Family
from edrp.placement.problem import StreamPlacement
from edrp.placement.rules.base import places

PlacementType = TypeVar("PlacementType", bound=StreamPlacement)

MAX_RULES = 4
RULE_ZONES = 3
"""Maximum number of zones that nodes without one are given."""

PRICED_SHARE = 0.35
"""Probability that a rule has a penalty."""

PENALTIES = (0.05, 0.5)
"""Objective per unit of violation."""

TENANTS = ("none", "none", "acme", "globex")
"""Values of the label `tenant`."""

GAPS = 0.25
"""Share of nodes that lose their zone, and of those that lose their label."""

RULED, RULED_KINDS = "-rules", ("edrp", "latency-aware", "rescale")
"""End of the names of families with rules, and the kinds that have them: one for each family."""


def with_gaps(problem: PlacementType, seed: int) -> PlacementType:
    """The problem without the zones and labels of some nodes, unless a rule refers to what is gone."""
    random = np.random.default_rng([seed, 38])
    network = problem.network
    lost: dict[str, Any] = {"zone": None, "labels": {}}
    nodes = [node.replace(**{name: lost[name] for name in lost if random.random() < GAPS}) for node in network.nodes]
    with suppress(InvalidInstanceError):
        return problem.replace(network=network.replace(nodes=tuple(nodes)))
    return problem


def ruled_family(family: Family) -> Family:
    """The family with random rules for each of its instances; its name ends in "-rules"."""
    summary = f"{family.summary.rstrip('.')}, with one to four random rules"
    make, *earlier = (partial(_ruled, maker) for maker in (family.make, *family.earlier))
    return replace(family, name=f"{family.name}{RULED}", summary=summary, make=make, earlier=tuple(earlier))


def _ruled(maker: Callable[[int, np.random.Generator], Problem], size: int, random: np.random.Generator) -> StreamPlacement:
    problem = maker(size, random)
    assert isinstance(problem, StreamPlacement), problem
    return with_rules(problem, int(random.integers(2**32)))


def with_rules(problem: PlacementType, seed: int, *, hard: bool = False) -> PlacementType:
    """The problem with zones and labels on its nodes, and with rules that most often leave something feasible.

    Parameters
    ----------
    hard
        Whether all rules must be met; a third has a penalty otherwise.

    Examples
    --------
    >>> from edrp.datasets.families.placement.random_edrp import random_problem
    >>> [rule.sentence for rule in with_rules(random_problem(5), seed=5).rules]
    ['no replicas of o0 on node n0', 'wherever o3 runs, o0 runs on the same node']
    """
    generator = np.random.default_rng(seed)
    zones = int(generator.integers(2, RULE_ZONES + 1))
    nodes = [
        node.replace(zone=node.zone or f"zone {generator.integers(zones)}", labels={"tenant": str(generator.choice(TENANTS))})
        for node in problem.network.nodes
    ]
    placed = problem.replace(network=problem.network.replace(nodes=tuple(nodes)))
    drawn = [_rule(placed, generator) for _ in range(int(generator.integers(1, MAX_RULES + 1)))]
    rules = []
    for number, rule in enumerate(drawn):
        priced = not hard and generator.random() < PRICED_SHARE and not getattr(problem, "priorities", ())
        penalty = round(float(generator.uniform(*PENALTIES)), 3) if priced else None
        rules.append({"name": f"rule {number}", **rule, "penalty": penalty})
    return placed.replace(rules=rules)


def _rule(problem: StreamPlacement, generator: np.random.Generator) -> dict[str, Any]:
    operators, nodes = list(problem.application.by_name), list(problem.network.by_name)
    per = str(generator.choice(["node", "zone", "tenant"]))
    some = _some(operators, generator, 1 + int(generator.random() < 0.6))
    zones = _values(problem, "zone")
    few = _some(nodes, generator, max(1, len(nodes) // 3))
    coefficients = generator.choice([-1.0, 1.0, 1.0, 2.0], 3)
    count = generator.choice(["replicas", "nodes"], 3)
    terms = [
        {"operator": name, "coefficient": float(c), "count": str(what), **({"nodes": few} if generator.random() < 0.5 else {})}
        for name, c, what in zip(some, coefficients, count, strict=False)
    ]
    spread: list[dict[str, Any]] = [
        {"most": int(generator.integers(1, 4))},
        {"share": float(generator.choice([0.5, 0.7]))},
        {"max_skew": int(generator.integers(1, 3)), "min_domains": int(generator.integers(1, 4))},
    ]
    choices: list[dict[str, Any]] = [
        {"rule": "apart", "operators": some, "per": per},
        {"rule": "apart", "operators": _some(operators, generator, 2), "per": per, "between": "operators"},
        {"rule": "together", "operators": _some(operators, generator, 2), "per": per},
        {"rule": "together", "operators": some[:1], "beside": _some(operators, generator, 1), "per": per},
        {"rule": "spread", "operators": some, "per": per, **spread[int(generator.integers(3))]},
        {"rule": "at_least_zones", "operators": some, "zones": int(generator.integers(1, len(zones) + 1))},
        {"rule": "forbidden", "operators": some, "labels": {"tenant": _some(_values(problem, "tenant"), generator, 1)}},
        {"rule": "forbidden", "operators": some[:1], "nodes": few},
        {"rule": "required", "operators": some, "zones": _some(zones, generator, 2)},
        {"rule": "linear", "terms": terms, "upper": float(generator.integers(1, 4))},
        {"rule": "linear", "terms": terms, "lower": float(generator.integers(0, 2)), "upper": float(generator.integers(2, 4))},
    ]
    if len(operators) < 2:
        choices = [rule for rule in choices if rule.get("between") != "operators" and rule["rule"] != "together"]
    return choices[int(generator.integers(len(choices)))]


def _some(names: list[str], generator: np.random.Generator, count: int) -> list[str]:
    return sorted(generator.choice(names, min(count, len(names)), replace=False).tolist())


def _values(problem: StreamPlacement, label: str) -> list[str]:
    return [value for _, value in places(problem.network, label, alone=False)]
