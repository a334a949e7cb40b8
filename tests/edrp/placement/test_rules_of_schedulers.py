"""Rules have the semantics of what schedulers call constraints: those of Kubernetes and of Storm's resource-aware scheduler.

Facts about topology spread constraints, inter-pod (anti-)affinity and node affinity of Kubernetes are from
https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/ and
https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/. Kubernetes judges each incoming pod by the pods that
are there; a rule is a condition on the finished deployment. The last test shows when the two are the same: as long as no pod
leaves, the scheduler reaches exactly the deployments that meet the rule. Where a rule differs on purpose, the id says "unlike".

Facts about Storm (`ConstraintSolverStrategy`) are from https://storm.apache.org/releases/2.7.1/javadocs/org/apache/storm/Config.html
(`TOPOLOGY_RAS_CONSTRAINTS` and `TOPOLOGY_SPREAD_COMPONENTS`). Incompatible components share no worker, whatever node it is on;
`maxNodeCoLocationCnt` bounds the executors of one component on a node, in all of its workers. A node of a problem is therefore a
worker here, and its label `supervisor` names the node of Storm. Storm judges one executor after the other, a rule judges the
finished deployment; these constraints only ever forbid more, so that both allow the same.
"""

from itertools import product
from typing import Any

import numpy as np
import pytest
from ruled_clusters import is_allowed, placed, violations

TWO_ZONES = [
    {"name": f"node{number}", "zone": zone, "labels": {"site": zone}} for number, zone in zip("1234", "AABB", strict=True)
]
THREE_ZONES = [*TWO_ZONES, {"name": "node5", "zone": "C", "labels": {"site": "C"}}]
THREE_NODES = [{"name": "node1", "zone": "A"}, {"name": "node2", "zone": "A"}, {"name": "node3", "zone": "B"}]
KEY_MISSING = [*TWO_ZONES, {"name": "node5", "labels": {"site-typo": "C"}}]


def case(shown: str, rules: list[dict[str, Any]], allowed: bool, /, cluster=TWO_ZONES, within="", **pods: str) -> Any:
    """What a case shows, and its parts: pods are given by their nodes, and so are candidates of all (`within`)."""
    candidates = {"candidates": _nodes(within)} if within else {}
    return pytest.param(cluster, rules, candidates, {name: _nodes(numbers) for name, numbers in pods.items()}, allowed, id=shown)


def _nodes(named: str) -> list[str]:
    """Nodes by their numbers ("113"), or by name ("a1 b2")."""
    return named.split() if named[:1].isalpha() else [f"node{number}" for number in named]


def spread(max_skew: int = 1, per: str = "zone", operators: tuple[str, ...] = ("web",), **fields: Any) -> dict[str, Any]:
    return {"rule": "spread", "operators": operators, "max_skew": max_skew, "per": per, **fields}


SPREAD = [
    case("the incoming pod on the empty node of zone B", [spread()], True, web="1234"),
    case("the incoming pod beside the one in zone B", [spread()], True, web="1233"),
    case("the incoming pod in zone A makes the skew 2", [spread()], False, web="1123"),
    case("maxSkew 2 takes the pod in zone A, too", [spread(2)], True, web="1123"),
    case("topologyKey of nodes: node4 was empty", [spread(per="node")], True, web="1234"),
    case("topologyKey of nodes: node3 had one already", [spread(per="node")], False, web="1233"),
    case("topologyKey of another label", [spread(per="site")], False, web="1123"),
    case("two constraints leave node4", [spread(), spread(per="node")], True, web="1234"),
    case("two constraints: node3 breaks that of nodes", [spread(), spread(per="node")], False, web="1233"),
    case("conflict: zone A is full", [spread(), spread(per="node")], False, THREE_NODES, web="112233"),
    case("conflict: in zone B, node3 is full", [spread(), spread(per="node")], False, THREE_NODES, web="112333"),
    case("conflict resolved by maxSkew 2", [spread(2), spread(per="node")], True, THREE_NODES, web="112233"),
    case("2, 2 and 1: the global minimum is 1", [spread()], True, THREE_ZONES, web="12345"),
    case("3, 1 and 1", [spread()], False, THREE_ZONES, web="11235"),
    case("an empty zone is the global minimum", [spread()], False, THREE_ZONES, web="1234"),
    case("node affinity excludes zone C, which does not count", [spread()], True, THREE_ZONES, within="1234", web="1234"),
    case(
        "nodeAffinityPolicy Ignore: another rule excludes zone C, which counts",
        [spread(), {"rule": "required", "operators": ["web"], "zones": ["A", "B"]}],
        False,
        THREE_ZONES,
        web="1234",
    ),
    case("minDomains above the number of domains: minimum 0", [spread(min_domains=3)], False, web="1234"),
    case("minDomains above the number of domains: maxSkew pods in each", [spread(min_domains=3)], True, web="13"),
    case("minDomains that is reached has no effect", [spread(min_domains=2)], True, web="1234"),
    case("minDomains counts eligible domains", [spread(min_domains=3)], False, THREE_ZONES, within="1234", web="1234"),
    case("maxSkew 2 with minDomains: two in each", [spread(2, min_domains=3)], True, web="1234"),
    case("no pod on a node without the key", [spread()], False, KEY_MISSING, web="135"),
    case("a node without the key is no empty domain", [spread()], True, KEY_MISSING, web="1234"),
    case("a mistyped label is no domain", [spread(per="site")], False, KEY_MISSING, web="12345"),
    case("a selector that matches two workloads counts both", [spread(operators=("web", "api"))], False, web="1", api="2"),
    case("a selector that matches one workload ignores the other", [spread()], True, web="1", api="22"),
    case("ScheduleAnyway schedules at any skew", [spread(penalty=0.1)], True, web="1123"),
]


def apart(per: str = "node", operators: tuple[str, ...] = ("web",), **fields: Any) -> dict[str, Any]:
    return {"rule": "apart", "operators": operators, "per": per, **fields}


def away(*operators: str, per: str = "node") -> dict[str, Any]:
    return apart(per, operators, between="operators")


def beside(*others: str, per: str = "node", **fields: Any) -> dict[str, Any]:
    return {"rule": "together", "operators": ["web"], "beside": others, "per": per, **fields}


TOGETHER = {"rule": "together", "operators": ["web", "store"], "per": "zone"}
IN_ANY_SITE = {"rule": "required", "operators": ["web"], "labels": {"site": []}}

INTER_POD = [
    case("anti-affinity to itself: one per node", [apart()], True, web="123"),
    case("anti-affinity to itself: two on a node", [apart()], False, web="113"),
    case("anti-affinity by zone: one in each", [apart("zone")], True, web="13"),
    case("anti-affinity by zone: two nodes of a zone", [apart("zone")], False, web="12"),
    case("anti-affinity by zone: more pods than zones", [apart("zone")], False, THREE_NODES, web="123"),
    case("preferred anti-affinity gives way", [apart("zone", penalty=0.1)], True, web="12"),
    case("anti-affinity to another workload: same node", [away("web", "db")], False, web="12", db="2"),
    case("anti-affinity to another workload: own pods may share", [away("web", "db")], True, web="11", db="22"),
    case("anti-affinity to another workload by zone", [away("web", "db", per="zone")], False, web="1", db="2"),
    case("anti-affinity is symmetric", [away("db", "web", per="zone")], False, web="1", db="2"),
    case("two terms: the others may share", [away("web", "db"), away("web", "api")], True, web="1", db="2", api="2"),
    case("two terms: each must hold", [away("web", "db"), away("web", "api")], False, web="1", db="2", api="1"),
    case("a selector that matches both workloads", [apart(operators=("web", "api"))], False, web="1", api="1"),
    case("affinity: web servers with their caches", [apart(), beside("store")], True, web="123", store="123"),
    case("affinity: a web server without a cache", [apart(), beside("store")], False, web="124", store="123"),
    case("affinity has one direction: a cache alone", [beside("store")], True, web="12", store="123"),
    case("affinity by zone: another node of the zone", [beside("store", per="zone")], True, web="12", store="1"),
    case("affinity by zone: another zone", [beside("store", per="zone")], False, web="13", store="1"),
    case("two terms of affinity, one unmet", [beside("store", "db", per="zone")], False, web="1", store="2", db="3"),
    case("affinity in both directions", [TOGETHER], True, web="13", store="24"),
    case("affinity in both directions: a store alone", [TOGETHER], False, web="1", store="24"),
    case("preferred affinity gives way", [beside("store", per="zone", penalty=0.1)], True, web="13", store="1"),
    case("unlike: affinity on a node without the key", [beside("store", per="site")], True, KEY_MISSING, web="5", store="5"),
    case(
        "affinity with the key required, as Kubernetes has it",
        [beside("store", per="site"), IN_ANY_SITE],
        False,
        KEY_MISSING,
        web="5",
        store="5",
    ),
    case("unlike: anti-affinity on a node without the key", [apart("site")], False, KEY_MISSING, web="155"),
]


def on(rule: str = "required", **labels: list[str]) -> dict[str, Any]:
    return {"rule": rule, "operators": ["web"], "labels": labels}


DISKS = [
    {"name": "node1", "labels": {"disk": "ssd", "arch": "amd64"}},
    {"name": "node2", "labels": {"disk": "nvme", "arch": "arm64"}},
    {"name": "node3", "labels": {"disk": "hdd", "arch": "amd64"}},
    {"name": "node4", "labels": {"arch": "amd64"}},
]

NODE_AFFINITY = [
    case("nodeSelector", [on(disk=["ssd"])], True, DISKS, web="11"),
    case("nodeSelector refuses another value", [on(disk=["ssd"])], False, DISKS, web="12"),
    case("In takes each of its values", [on(disk=["ssd", "nvme"])], True, DISKS, web="12"),
    case("In refuses other values", [on(disk=["ssd", "nvme"])], False, DISKS, web="123"),
    case("In refuses a node without the key", [on(disk=["ssd", "nvme", "hdd"])], False, DISKS, web="4"),
    case("expressions of a term must all hold", [on(disk=["ssd", "nvme"], arch=["amd64"])], False, DISKS, web="12"),
    case("nodeSelector and affinity must both hold", [on(disk=["ssd", "nvme"]), on(arch=["amd64"])], False, DISKS, web="2"),
    case("NotIn refuses its values", [on("forbidden", disk=["hdd"])], False, DISKS, web="13"),
    case("NotIn takes a node without the key", [on("forbidden", disk=["hdd"])], True, DISKS, web="124"),
    case("Exists", [on(disk=[])], True, DISKS, web="123"),
    case("Exists refuses a node without the key", [on(disk=[])], False, DISKS, web="14"),
    case("DoesNotExist", [on("forbidden", disk=[])], True, DISKS, web="4"),
    case("DoesNotExist refuses any value", [on("forbidden", disk=[])], False, DISKS, web="34"),
    case("other workloads are free", [on(disk=["ssd"])], True, DISKS, web="1", api="4"),
    case("nodeName", [{"rule": "required", "operators": ["web"], "nodes": ["node2"]}], False, DISKS, web="23"),
    case("preferred node affinity gives way", [on(disk=["ssd"]) | {"penalty": 0.1}], True, DISKS, web="4"),
]


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


NEW = {
    "topology.ras.constraints": {
        "spout": {"maxNodeCoLocationCnt": 2, "incompatibleComponents": ["bolt", "sink"]},
        "bolt": {"incompatibleComponents": ["join"]},
    }
}
"""The example of the documentation, with other names for its components."""

OLD = {"topology.ras.constraints": [["spout", "bolt"], ["spout", "sink"], ["bolt", "join"]]}
ONE_EACH = {"topology.spread.components": ["spout"]}
ONE_EACH_OF_BOTH = {"topology.spread.components": ["spout", "bolt"]}
COUNT = {"topology.ras.constraints": {"spout": {"maxNodeCoLocationCnt": 2}}}
ONE = {"topology.ras.constraints": {"spout": {"maxNodeCoLocationCnt": 1}}}
SINGLE = {"topology.ras.constraints": {"spout": {"incompatibleComponents": "bolt"}}}


def storm(shown: str, config: dict[str, Any], allowed: bool, /, **executors: str) -> Any:
    """A case of Storm; `spout="a1 b2"` has an executor in worker 1 of supervisor a, and in worker 2 of b."""
    return case(shown, rules_of(config), allowed, WORKERS, **executors)


STORM = [
    storm("incompatible components in one worker", NEW, False, spout="a1", bolt="a1", sink="b1", join="b2"),
    storm("incompatible components in two workers of a node", NEW, True, spout="a1", bolt="a2", sink="a2", join="b1"),
    storm("incompatible components on two nodes", NEW, True, spout="a1", bolt="b1", sink="b2", join="a2"),
    storm("each of the listed components is incompatible", NEW, False, spout="a1", bolt="b1", sink="a1", join="b2"),
    storm("listed components may share a worker with each other", NEW, True, spout="a1", bolt="b1", sink="b1", join="a2"),
    storm("a constraint stated by another component", NEW, False, spout="a1", bolt="b1", sink="a2", join="b1"),
    storm("components without a constraint on each other", NEW, True, spout="a1", bolt="b1", sink="b1", join="a1"),
    storm("some executor of each is enough", NEW, False, spout="a1 b1", bolt="a2 b1", sink="b2", join="a1"),
    storm("executors of one component may share a worker", NEW, True, spout="a1 a1", bolt="b1 b1", sink="b2", join="a2"),
    storm("as many as maxNodeCoLocationCnt in the workers of a node", NEW, True, spout="a1 a2", bolt="b1", sink="b1", join="b2"),
    storm(
        "more than maxNodeCoLocationCnt in the workers of a node", NEW, False, spout="a1 a2 a2", bolt="b1", sink="b1", join="b2"
    ),
    storm("more than maxNodeCoLocationCnt in one worker", COUNT, False, spout="a1 a1 a1"),
    storm("maxNodeCoLocationCnt on each node", COUNT, True, spout="a1 a2 b1 b1"),
    storm("maxNodeCoLocationCnt is reached everywhere", COUNT, False, spout="a1 a2 b1 b2 b1"),
    storm("maxNodeCoLocationCnt leaves other components free", COUNT, True, spout="a1", bolt="a1 a1 a1"),
    storm("maxNodeCoLocationCnt 1: one per node", ONE, True, spout="a1 b2"),
    storm("maxNodeCoLocationCnt 1: two workers of a node", ONE, False, spout="a1 a2"),
    storm("old format: a pair in one worker", OLD, False, spout="a1", bolt="a1", sink="b1", join="b2"),
    storm("old format: the second of a pair stated first elsewhere", OLD, False, spout="a1", bolt="b1", sink="b2", join="b1"),
    storm("old format: no pair in one worker", OLD, True, spout="a1", bolt="a2", sink="a2", join="a1"),
    storm("old format: no bound on executors of a node", OLD, True, spout="a1 a1 a1", bolt="a2", sink="a2", join="b1"),
    storm("spread components: one per node", ONE_EACH, True, spout="a1 b1"),
    storm("spread components: two workers of a node", ONE_EACH, False, spout="a1 a2"),
    storm("spread components: each by itself", ONE_EACH_OF_BOTH, True, spout="a1 b1", bolt="a1 b1"),
    storm("spread components: each of them", ONE_EACH_OF_BOTH, False, spout="a1 b1", bolt="a1 a2"),
    storm("maxNodeCoLocationCnt comes before spread components", COUNT | ONE_EACH, True, spout="a1 a2"),
    storm("a single component without a list", SINGLE, False, spout="a1", bolt="a1"),
    storm("a single component without a list, in two workers", SINGLE, True, spout="a1", bolt="a2"),
]


@pytest.mark.parametrize(
    ("cluster", "rules", "candidates", "deployment", "allowed"), [*SPREAD, *INTER_POD, *NODE_AFFINITY, *STORM]
)
def test_a_deployment_is_allowed_as_the_scheduler_allows_it(cluster, rules, candidates, deployment, allowed):
    problem = placed(cluster, rules, dict.fromkeys(deployment, candidates))
    assert is_allowed(problem, deployment) == allowed


def test_what_kubernetes_only_prefers_costs_its_penalty_per_unit():
    problem = placed(TWO_ZONES, [spread(penalty=0.1), apart(penalty=0.2)], {"web": {}})
    assert violations(problem, {"web": _nodes("1123")}) == [1.0, 1.0]
    assert problem.evaluate({"web": _nodes("1123")}).metrics["penalties"] == pytest.approx(0.1 + 0.2)
    assert problem.evaluate({"web": _nodes("1234")}).metrics["penalties"] == 0.0


MAX_PODS = 5


@pytest.mark.parametrize(("max_skew", "min_domains", "eligible"), [*product((1, 2), (1, 2, 3, 4), ("135", "13"))])
def test_pod_by_pod_the_scheduler_reaches_exactly_the_deployments_that_meet_the_rule(max_skew, min_domains, eligible):
    nodes = _nodes(eligible)
    problem = placed(THREE_ZONES, [spread(max_skew, min_domains=min_domains)], {"web": {"candidates": nodes}})
    some = [pods for pods in product(range(MAX_PODS + 1), repeat=len(nodes)) if 0 < sum(pods) <= MAX_PODS]
    meets = {pods for pods in some if is_allowed(problem, {"web": np.repeat(nodes, pods).tolist()})}
    assert meets == _scheduled(len(nodes), max_skew, min_domains)


def _scheduled(domains: int, max_skew: int, min_domains: int) -> set[tuple[int, ...]]:
    """Numbers of pods by domain that a scheduler reaches, which puts each next pod wherever the constraint lets it."""
    reached: set[tuple[int, ...]] = set()
    level = {(0,) * domains}
    for _ in range(MAX_PODS):
        level = {
            (*pods[:domain], pods[domain] + 1, *pods[domain + 1 :])
            for pods in level
            for domain in range(domains)
            if pods[domain] + 1 - (min(pods) if domains >= min_domains else 0) <= max_skew
        }
        reached |= level
    return reached


def test_a_constraint_that_is_stated_from_both_sides_is_one():
    both = {"spout": {"incompatibleComponents": ["bolt"]}, "bolt": {"incompatibleComponents": ["spout"]}}
    problems = [
        placed(WORKERS, rules_of({"topology.ras.constraints": part}), {"spout": {}, "bolt": {}})
        for part in (both, {"spout": both["spout"]})
    ]
    for spout, bolt in product(("a1", "a2", "b1"), repeat=2):
        assert len({is_allowed(problem, {"spout": [spout], "bolt": [bolt]}) for problem in problems}) == 1
