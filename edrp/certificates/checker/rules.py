"""Rules about where replicas run: what they are violated by, for the value of a decision and as rows of a program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

from .program import ExactProgram
from .reading import SLACK, Unknown, fraction, need

Columns = dict[str, dict[Any, int]]
"""Columns of a program by operator and nodes of its replicas; of those of an operator one is 1, all others are 0."""


class Amount(NamedTuple):
    """A coefficient times the replicas of operators on nodes, or times 1 where there are any (`once`)."""

    coefficient: Any
    operators: Sequence[str]
    nodes: Sequence[str]
    once: bool = False

    def of(self, decision: dict[str, Any]) -> Any:
        """The amount in a deployment."""
        count = sum(decision[name].count(node) for name in self.operators for node in set(self.nodes))
        return self.coefficient * (min(count, 1) if self.once else count)

    def entries(self, program: ExactProgram, placed: Columns) -> list[tuple[int, Any]]:
        """The amount over columns: of several operators `once`, one that is at most it, which bounds amounts below 0."""
        choices = [
            (column, sum(node in self.nodes for node in nodes)) for o in self.operators for nodes, column in placed[o].items()
        ]
        held = [(column, 1 if self.once else count) for column, count in choices if count]
        if self.once and len(self.operators) > 1:
            need(self.coefficient < 0, "a rule counts operators upward")
            anything = program.column()
            program.row([(anything, 1), *((column, -1) for column, _ in held)], None, 0)
            held = [(anything, 1)]
        return [(column, self.coefficient * count) for column, count in held]

    def most(self, placed: Columns) -> Any:
        """A number that the amount does not exceed."""
        largest = 1 if self.once else sum(max(map(len, placed[name]), default=0) for name in self.operators)
        return max(0, self.coefficient * largest)


Excess = tuple[list[Amount], Any]
"""Amounts and the limit of their sum."""
Groups = Iterator[list[Excess]]
"""A rule is violated by the sum over groups, of each by the largest amount beyond a limit."""


class Rule:
    """A rule, and what it is violated by."""

    def __init__(self, problem: dict[str, Any], document: dict[str, Any]) -> None:
        if document["rule"] not in GROUPS:
            raise Unknown(f"the checker does not know what rules in Python say, such as {document['name']!r}")
        self.name, self.penalty = document["name"], document.get("penalty")
        self.groups = list(GROUPS[document["rule"]](problem, document))
        numbers = [document.get("lower") or 0, document.get("upper") or 0]
        numbers += [term.get("coefficient", 1) for term in document.get("terms", ())]
        self.rounding = (SLACK - 1) * max(1, *map(abs, numbers))

    def violation(self, decision: dict[str, Any]) -> Any:
        """By how much a deployment violates the rule."""
        values = ([sum(x.of(decision) for x in amounts) - limit for amounts, limit in group] for group in self.groups)
        return sum(max([0, *group]) for group in values)

    def add_to(self, program: ExactProgram, placed: Columns) -> None:
        """Add rows that all deployments keep to; where the rule has a penalty, columns for what violates it."""
        for group in self.groups:
            violation = []
            if self.penalty is not None:
                most = max(sum(x.most(placed) for x in amounts) - limit for amounts, limit in group)
                violation = [(program.column(self.penalty, 0, max(0, most)), -1)]
            for amounts, limit in group:
                entries = chain.from_iterable(x.entries(program, placed) for x in amounts)
                program.row([*entries, *violation], None, limit + self.rounding)


def read_rules(problem: dict[str, Any]) -> list[Rule]:
    """The rules of an instance; `Unknown` where there is one in Python."""
    return [Rule(problem, document) for document in problem.get("rules", ())]


def penalties(rules: Iterable[Rule], decision: dict[str, Any]) -> Fraction:
    """Addition of violated rules to the objective of a deployment; `Refused` where one that must be met is violated."""
    total = Fraction(0)
    for rule in rules:
        violation = rule.violation(decision)
        need(rule.penalty is not None or violation <= rule.rounding, f"rule {rule.name}: violated by {float(violation)!r}")
        total += fraction(rule.penalty or 0) * violation
    return total


def nodes_by_place(problem: dict[str, Any], per: str, loners: bool = True) -> list[list[str]]:
    """Nodes of each place: each of its own, or those of a zone or of a value of a label; `loners`: with nodes that have none."""
    by_place: dict[Any, list[str]] = {}
    for node in problem["network"]["nodes"]:
        place = node.get("zone") if per == "zone" else node.get("labels", {}).get(per)
        alone = per == "node" or place is None
        if per == "node" or loners or not alone:
            by_place.setdefault((alone, node["name"] if alone else place), []).append(node["name"])
    return list(by_place.values())


def chosen(problem: dict[str, Any], choice: dict[str, Any]) -> list[str]:
    """Nodes that are named, in one of the zones, and have each label, with one of its values as far as these are given."""
    return [
        node["name"]
        for node in problem["network"]["nodes"]
        if (not choice.get("nodes") or node["name"] in choice["nodes"])
        and (not choice.get("zones") or node.get("zone") in choice["zones"])
        and all(_labelled(node, key, values) for key, values in choice.get("labels", {}).items())
    ]


def _labelled(node: dict[str, Any], key: str, values: list[str]) -> bool:
    """Whether a node has a label, with one of these values where any are given."""
    labels = node.get("labels", {})
    return key in labels and (not values or labels[key] in values)


def _apart(problem: dict[str, Any], rule: dict[str, Any]) -> Groups:
    names, by_operator = rule["operators"], rule.get("between", "replicas") == "operators"
    for nodes in nodes_by_place(problem, rule.get("per", "node")):
        yield [([Amount(1, [name], nodes, by_operator) for name in names], 1)]


def _together(problem: dict[str, Any], rule: dict[str, Any]) -> Groups:
    for nodes in nodes_by_place(problem, rule.get("per", "node")):
        for needed in rule.get("beside") or rule["operators"]:
            yield [([Amount(1, [name], nodes, True), Amount(-1, [needed], nodes, True)], 0) for name in rule["operators"]]


def _spread(problem: dict[str, Any], rule: dict[str, Any]) -> Groups:
    names, per, skew = rule["operators"], rule.get("per", "node"), rule.get("max_skew")
    everywhere = [node["name"] for node in problem["network"]["nodes"]]
    if skew is None:
        total = [] if rule.get("share") is None else [Amount(-rule["share"], names, everywhere)]
        for nodes in nodes_by_place(problem, per):
            yield [([Amount(1, names, nodes), *total], rule.get("most") or 0)]
        return
    domains = nodes_by_place(problem, per, loners=False)
    yield [([Amount(1, names, sorted({*everywhere}.difference(*domains)))], 0)]
    pools = [op.get("candidates") or everywhere for op in problem["application"]["operators"] if op["name"] in names]
    eligible = [nodes for nodes in domains if not {*nodes}.isdisjoint(chain.from_iterable(pools))]
    emptiest = [[Amount(-1, names, nodes)] for nodes in eligible] if len(eligible) >= rule.get("min_domains", 1) else [[]]
    yield [([Amount(1, names, nodes), *least], skew) for nodes in domains for least in emptiest]


def _at_least_zones(problem: dict[str, Any], rule: dict[str, Any]) -> Groups:
    domains = nodes_by_place(problem, rule.get("per", "zone"), loners=False)
    yield [([Amount(-1, rule["operators"], nodes, True) for nodes in domains], -rule["zones"])]


def _forbidden(problem: dict[str, Any], rule: dict[str, Any]) -> Groups:
    names = rule.get("operators") or [operator["name"] for operator in problem["application"]["operators"]]
    right = [node["name"] for node in problem["network"]["nodes"]] if rule["rule"] == "required" else []
    yield [([Amount(1, names, sorted({*right}.symmetric_difference(chosen(problem, rule))))], 0)]


def _linear(problem: dict[str, Any], rule: dict[str, Any]) -> Groups:
    amounts, sides = list[Amount](), [(1, rule.get("upper")), (-1, rule.get("lower"))]
    for term in rule["terms"]:
        nodes, once = chosen(problem, term), term.get("count") == "nodes"
        for part in [[node] for node in nodes] if once else [nodes]:
            amounts.append(Amount(term.get("coefficient", 1), [term["operator"]], part, once))
    yield [([x._replace(coefficient=s * x.coefficient) for x in amounts], s * end) for s, end in sides if end is not None]


GROUPS = {
    "apart": _apart,
    "together": _together,
    "spread": _spread,
    "at_least_zones": _at_least_zones,
    "forbidden": _forbidden,
    "required": _forbidden,
    "linear": _linear,
}
"""Functions that give the violation of a rule, by type."""
