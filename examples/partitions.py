"""Partitions of topics on brokers: the JSON of a reassignment in, an even one and the phases that lead to it out.

`python examples/partitions.py [FILE.json]`: `partitions` as `kafka-reassign-partitions` writes and reads it, the first replica of
each being the leader; `brokers` says which rack each is in, `sizes` how many bytes a replica of a partition has.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import edrp
from edrp.mdp import PhaseLimits, plan_placement

given = [Path(name) for name in sys.argv[1:] if name.endswith(".json")]
path = given[0] if given else Path(__file__).with_suffix("") / "cluster.json"
cluster = json.loads(path.read_text())
topics = {f"{part['topic']}-{part['partition']}": part for part in cluster["partitions"]}

operators, rules, current = [], [], {}  # a leader and its followers have the same state, and no two of them are in one rack
for name, part in topics.items():
    leader, *followers = (str(broker) for broker in part["replicas"])
    operators.append({"name": name, "state_size": cluster["sizes"][name], "external_rate": 1, "resources": 0})
    current[name] = [leader]
    if followers:
        count = {"min_replicas": len(followers), "max_replicas": len(followers)}
        state = {"state_of": name, "external_rate": 1, "state_size": len(followers) * cluster["sizes"][name]}
        operators.append({"name": f"{name}/followers", "resources": 0, **count, **state})
        current[f"{name}/followers"] = followers
    members = [name, f"{name}/followers"] if followers else [name]
    rules.append({"rule": "apart", "name": f"racks of {name}", "operators": members, "per": "zone"})

problem = edrp.EdrpProblem(
    application={"operators": operators},
    network={"nodes": [{"name": broker, "zone": rack} for broker, rack in cluster["brokers"].items()]},
    current=current,
    rules=rules,
    evenness={"replicas": {"of": "replicas"}, "leaders": {"of": "replicas", "operators": list(topics)}},
    priorities=[{"metric": m} for m in ("evenness.replicas", "evenness.leaders", "moved_state", "moves")],
)
solution = edrp.solve(problem, "highs")
for stage in solution.stages:
    print(f"{stage.metric}: {problem.evaluate(current).metrics[stage.metric]:g} now, {stage.value:g} then")


def reassignment(deployment: edrp.Deployment, names: Iterable[str]) -> str:
    """The JSON of a reassignment of some partitions."""
    replicas = {name: [*deployment[name], *deployment.get(f"{name}/followers", ())] for name in names}
    parts = [topics[name] | {"replicas": [int(broker) for broker in brokers]} for name, brokers in replicas.items()]
    return json.dumps({"version": 1, "partitions": parts})


# Two partitions at a time from and to each broker, at 50 MB/s; a replica goes once its successor has caught up.
plan = plan_placement(problem, solution.deployment, uplink=50e6, limits={"node": PhaseLimits.same(None, 2)})
for number, phase in enumerate(plan.phases):
    changed = dict.fromkeys(action.operator.split("/")[0] for action in phase.actions)
    print(f"phase {number}: {len(phase.copies)} copies, {phase.schedule.total_seconds:.0f} s", *phase.broken)
    print(reassignment(phase.deployment, changed))
print(f"in all {plan.total_seconds:.0f} s")
print(reassignment(solution.deployment, topics))
