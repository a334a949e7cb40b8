"""Rules have the semantics of the constraints of Storm's resource-aware scheduler (`ConstraintSolverStrategy`).

Facts from https://storm.apache.org/releases/2.7.1/javadocs/org/apache/storm/Config.html (`TOPOLOGY_RAS_CONSTRAINTS` and
`TOPOLOGY_SPREAD_COMPONENTS`). Incompatible components share no worker, whatever node it is on; `maxNodeCoLocationCnt` bounds the
executors of one component on a node, in all of its workers. A node of a problem is therefore a worker here, and its label
`supervisor` names the node of Storm. Storm judges one executor after the other, a rule judges the finished deployment; these
constraints only ever forbid more, so that both allow the same.
"""

from itertools import product
from typing import Any

import pytest
from ruled_clusters import is_allowed, placed

WORKERS = [{"name": f"{supervisor}{slot}", "labels": {"supervisor": supervisor}} for supervisor in "ab" for slot in "12"]
"""Two supervisors, a and b, with two workers each."""


def rules_of(config: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules for a configuration of Storm, in both of its formats."""
    constraints = config.get("topology.ras.constraints", {})
    pairs, counts = constraints, {}
    if isinstance(constraints, dict):
        others = {name: own.get("incompatibleComponents", []) for name, own in constraints.items()}
        pairs = [[name, other] for name, own in others.items() for other in ([own] if isinstance(own, str) else own)]
        counts = {name: own["maxNodeCoLocationCnt"] for name, own in constraints.items() if "maxNodeCoLocationCnt" in own}
    counts = {**dict.fromkeys(config.get("topology.spread.components", []), 1), **counts}
    apart = [{"rule": "apart", "operators": pair, "between": "operators"} for pair in pairs]
    return apart + [{"rule": "spread", "operators": [name], "most": most, "per": "supervisor"} for name, most in counts.items()]


def case(shown: str, config: dict[str, Any], allowed: bool, /, **executors: str) -> Any:
    """What a case shows, and its parts; `spout="a1 b2"` has an executor in worker 1 of supervisor a, and in worker 2 of b."""
    return pytest.param(config, {name: workers.split() for name, workers in executors.items()}, allowed, id=shown)


NEW = {
    "topology.ras.constraints": {
        "spout": {"maxNodeCoLocationCnt": 2, "incompatibleComponents": ["bolt", "sink"]},
        "bolt": {"incompatibleComponents": ["join"]},
    }
}
"""The example of the documentation, with other names for its components."""

OLD = {"topology.ras.constraints": [["spout", "bolt"], ["spout", "sink"], ["bolt", "join"]]}
SPREAD = {"topology.spread.components": ["spout"]}
SPREAD_BOTH = {"topology.spread.components": ["spout", "bolt"]}
COUNT = {"topology.ras.constraints": {"spout": {"maxNodeCoLocationCnt": 2}}}
ONE = {"topology.ras.constraints": {"spout": {"maxNodeCoLocationCnt": 1}}}
SINGLE = {"topology.ras.constraints": {"spout": {"incompatibleComponents": "bolt"}}}

CASES = [
    case("incompatible components in one worker", NEW, False, spout="a1", bolt="a1", sink="b1", join="b2"),
    case("incompatible components in two workers of a node", NEW, True, spout="a1", bolt="a2", sink="a2", join="b1"),
    case("incompatible components on two nodes", NEW, True, spout="a1", bolt="b1", sink="b2", join="a2"),
    case("each of the listed components is incompatible", NEW, False, spout="a1", bolt="b1", sink="a1", join="b2"),
    case("listed components may share a worker with each other", NEW, True, spout="a1", bolt="b1", sink="b1", join="a2"),
    case("a constraint stated by another component", NEW, False, spout="a1", bolt="b1", sink="a2", join="b1"),
    case("components without a constraint on each other", NEW, True, spout="a1", bolt="b1", sink="b1", join="a1"),
    case("some executor of each is enough", NEW, False, spout="a1 b1", bolt="a2 b1", sink="b2", join="a1"),
    case("executors of one component may share a worker", NEW, True, spout="a1 a1", bolt="b1 b1", sink="b2", join="a2"),
    case("as many as maxNodeCoLocationCnt in the workers of a node", NEW, True, spout="a1 a2", bolt="b1", sink="b1", join="b2"),
    case(
        "more than maxNodeCoLocationCnt in the workers of a node", NEW, False, spout="a1 a2 a2", bolt="b1", sink="b1", join="b2"
    ),
    case("more than maxNodeCoLocationCnt in one worker", COUNT, False, spout="a1 a1 a1"),
    case("maxNodeCoLocationCnt on each node", COUNT, True, spout="a1 a2 b1 b1"),
    case("maxNodeCoLocationCnt is reached everywhere", COUNT, False, spout="a1 a2 b1 b2 b1"),
    case("maxNodeCoLocationCnt leaves other components free", COUNT, True, spout="a1", bolt="a1 a1 a1"),
    case("maxNodeCoLocationCnt 1: one per node", ONE, True, spout="a1 b2"),
    case("maxNodeCoLocationCnt 1: two workers of a node", ONE, False, spout="a1 a2"),
    case("old format: a pair in one worker", OLD, False, spout="a1", bolt="a1", sink="b1", join="b2"),
    case("old format: the second of a pair stated first elsewhere", OLD, False, spout="a1", bolt="b1", sink="b2", join="b1"),
    case("old format: no pair in one worker", OLD, True, spout="a1", bolt="a2", sink="a2", join="a1"),
    case("old format: no bound on executors of a node", OLD, True, spout="a1 a1 a1", bolt="a2", sink="a2", join="b1"),
    case("spread components: one per node", SPREAD, True, spout="a1 b1"),
    case("spread components: two workers of a node", SPREAD, False, spout="a1 a2"),
    case("spread components: each by itself", SPREAD_BOTH, True, spout="a1 b1", bolt="a1 b1"),
    case("spread components: each of them", SPREAD_BOTH, False, spout="a1 b1", bolt="a1 a2"),
    case("maxNodeCoLocationCnt comes before spread components", COUNT | SPREAD, True, spout="a1 a2"),
    case("a single component without a list", SINGLE, False, spout="a1", bolt="a1"),
    case("a single component without a list, in two workers", SINGLE, True, spout="a1", bolt="a2"),
]


@pytest.mark.parametrize(("config", "executors", "allowed"), CASES)
def test_a_deployment_is_allowed_as_storm_allows_it(config, executors, allowed):
    problem = placed(WORKERS, rules_of(config), {name: {} for name in executors})
    assert is_allowed(problem, executors) == allowed


def test_a_constraint_that_is_stated_from_both_sides_is_one():
    both = {"spout": {"incompatibleComponents": ["bolt"]}, "bolt": {"incompatibleComponents": ["spout"]}}
    problems = [
        placed(WORKERS, rules_of({"topology.ras.constraints": part}), {"spout": {}, "bolt": {}})
        for part in (both, {"spout": both["spout"]})
    ]
    for spout, bolt in product(("a1", "a2", "b1"), repeat=2):
        assert len({is_allowed(problem, {"spout": [spout], "bolt": [bolt]}) for problem in problems}) == 1
