"""The table of claims and their proofs in docs/explanation/certificates.md, row by row: `python benchmarks/evidence.py`.

A small problem of every row is solved by the methods that the row names, and certified. What the table says otherwise is
printed, and the exit code is 1.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import edrp
from edrp.core.certificates import CertificateRequest, with_certificate
from edrp.core.kinds import get_kind
from edrp.datasets.families.registry import all_families

HOME = Path(__file__).parents[1]
PAGE = (HOME / "docs/explanation/certificates.md").read_text(encoding="utf-8")
TABLE = re.findall(r"^\| (`[\w-]+` \| .+) \|$", PAGE.split("## Which claims")[1].split("\n## ")[0], re.MULTILINE)
ROWS = [[cell.strip() for cell in row.split("|")] for row in TABLE]


def example(name, **changes):
    """An example of the repository with some fields changed."""
    return edrp.load(HOME / f"examples/{name}.json").replace(**changes)


def forbidden(operator, node, **fields):
    """The rule that keeps an operator off a node."""
    return [{"rule": "forbidden", "name": "away", "operators": [operator], "nodes": [node], **fields}]


def latency_aware(family="continuum", size=3, **rule):
    """A latency-aware placement of a family, with a rule about its first two operators."""
    problem = all_families()["latency-aware"][family].make(size, np.random.default_rng(1))
    names = [operator.name for operator in problem.application.operators]
    return problem.replace(rules=[{"name": "one", "operators": names[:2], **rule}] if rule else [])


def with_availability():
    """The first example with nodes that fail, a weight and a limit of availability."""
    document = json.loads((HOME / "examples/word_count.json").read_text())
    for node in document["network"]["nodes"]:
        node["availability"] = 0.99
    document["weights"] = {"response_time": 0.5, "cost": 0.2, "availability": 0.3}
    document["limits"]["availability"] = 0.9
    return edrp.EdrpProblem(**document)


class OneNode:
    """Replicas of an operator run on one node."""

    def __init__(self, operator: str) -> None:
        self.operator, self.sentence = operator, f"{operator} runs on one node"

    def evaluate(self, problem: Any, deployment: Any) -> float:
        return len(set(deployment.replicas(self.operator))) - 1

    def linearise(self, model: Any) -> Any:
        return model.on[[self.operator]].sum() <= 1


def with_python_rule():
    """The first example with a rule in Python."""
    edrp.register_rule("one-node", OneNode, replace=True)
    rule = {"rule": "python", "name": "one", "type": "one-node", "parameters": {"operator": "splitter"}}
    return example("word_count", rules=[rule])


class Crowd:
    """Largest number of replicas of one operator on one node."""

    name, unit = "crowd", "1"

    def evaluate(self, problem, deployment):
        return max(max(deployment.replicas(operator).values()) for operator in deployment)

    def linearise(self, model):
        return model.replicas


class Twice:
    """Twice the response time."""

    name, unit = "twice", "s"

    def evaluate(self, problem, deployment):
        return 2 * problem.metrics["response_time"].evaluate(problem, deployment)

    def linearise(self, model):
        return 2 * model.response_time


def with_own_metric(metric):
    """The first example with half of the weight on a metric of one's own."""
    edrp.register_metric(metric, replace=True)
    return example("word_count", weights={"response_time": 0.5, metric.name: 0.5})


def rescaling(**fields):
    """A check problem of kind `rescale`, with a rule if it has fields."""
    problem = get_kind("rescale").check_problems().feasible()["seed 1"]
    operator, node = problem.application.operators[0].name, problem.network.nodes[0].name
    return problem.replace(rules=forbidden(operator, node, **fields) if fields else [])


APART = {"rule": "apart", "between": "operators"}
IN_FLIGHT = {"response_time": 0.2, "cost": 20.0, "network_usage": 1000.0}
PROBLEMS = {
    "edrp response time and cost": lambda: example("word_count"),
    "edrp a current deployment": lambda: example("reconfigure"),
    "edrp tuples in flight": lambda: example(
        "word_count", weights={"response_time": 0.5, "cost": 0.2, "network_usage": 0.3}, limits=IN_FLIGHT
    ),
    "edrp rules that must be met": lambda: example("word_count", rules=forbidden("counter", "cloud")),
    "edrp rules with penalties": lambda: example("word_count", rules=forbidden("counter", "cloud", penalty=5e-4)),
    "edrp limits that nothing meets": lambda: example("word_count", limits={"response_time": 0.001, "cost": 20.0}),
    "edrp rules that nothing meets": lambda: example(
        "word_count", rules=[{"name": "x", "operators": ["reader", "splitter", "counter", "writer"], **APART}]
    ),
    "edrp rules in Python": with_python_rule,
    "edrp metrics of your own": lambda: with_own_metric(Crowd),
    "edrp metrics of your own, over streams": lambda: with_own_metric(Twice),
    "edrp Storm's reconfiguration": lambda: example("reconfigure", reconfiguration="storm"),
    "edrp availability": with_availability,
    "edrp peak loads": lambda: get_kind("edrp").check_problems().feasible()["fixed tasks"],
    "edrp priorities": lambda: example("word_count", priorities=[{"metric": "cost"}, {"metric": "response_time"}]),
    "edrp-sequence periods": lambda: example("day"),
    "edrp-sequence rules that must be met": lambda: example("day", rules=forbidden("count", "edge")),
    "edrp-sequence rules with penalties": lambda: example("day", rules=forbidden("count", "cloud", penalty=0.01)),
    "edrp-policy levels of load": lambda: example("levels"),
    "latency-aware no cycles": latency_aware,
    "latency-aware cycles": lambda: latency_aware("continuum-cyclic", 4),
    "latency-aware rules that cost nothing": lambda: latency_aware(rule="spread", most=5, penalty=0.01),
    "latency-aware rules that change the optimum": lambda: latency_aware(**APART, penalty=0.01),
    "migration one step": lambda: example("migration"),
    "migration rules that must be met": lambda: example(
        "migration", rules=[{"rule": "forbidden", "name": "drain", "tasks": [(0, 1)], "nodes": [0]}]
    ),
    "migration-sequence steps": lambda: example("migration_sequence"),
    "migration-policy node counts": lambda: example("migration_policy"),
    "rescale key ranges": rescaling,
    "rescale rules with penalties": lambda: rescaling(penalty=0.01),
    "enactment a snapshot": lambda: example("enactment"),
    "leasing periods": lambda: example("leasing"),
    "mapping additive cost": lambda: example("mapping"),
    "mapping rules that must be met": lambda: apart_components(example("mapping")),
    "link-allocation flows": lambda: example("link_allocation"),
}


def apart_components(problem):
    """The problem with its first two components on different servers."""
    names = [component.name for component in problem.task.components]
    return problem.replace(rules=[{"rule": "apart", "name": "two", "components": names[:2]}])


def differences(row: list[str]) -> Iterator[str]:
    """Sentences on methods whose answer to the problem of a row has other evidence than the row says."""
    name = f"{row[0].strip('`')} {row[1]}"
    problem = PROBLEMS[name]()
    for stated, methods in zip(("full proof", "stated program", "no certificate"), row[2:], strict=True):
        for method in re.findall(r"`([\w-]+)`", methods):
            solution = edrp.solve(problem, method, work_limit=10.0)
            certified = with_certificate(problem, solution, CertificateRequest(), 20.0)
            about_program = any("a program that it states" in note for note in certified.notes)
            found = "stated program" if about_program else "full proof"
            found = "no certificate" if certified.certificate is None else found
            if found != stated or solution.status not in ("optimal", "infeasible"):
                yield f"{name}, {method}: {solution.status}, {found}, not {stated}: {'; '.join(certified.notes)}"


def main() -> int:
    """Check all rows; the exit code."""
    named = [f"{row[0].strip('`')} {row[1]}" for row in ROWS]
    wrong = [f"{name}: only in one of table and script" for name in sorted(set(named) ^ set(PROBLEMS))]
    for name, row in zip(named, ROWS, strict=True):
        if name in PROBLEMS:
            found = list(differences(row))
            wrong += found
            print("\n".join(found) or f"{name}: as stated")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
