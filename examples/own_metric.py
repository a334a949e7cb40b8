"""A metric of your own in Python: the share of nodes that run anything, which weights, limits and priorities take by its name."""

import edrp
import edrp.testing
from edrp.core.expressions import Expression
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.placement.debs2015 import debs2015


class NodesInUse:
    """Nodes in use over nodes of the network."""

    name, unit = "nodes_in_use", "1"

    def evaluate(self, problem: edrp.EdrpProblem, deployment: edrp.Deployment) -> float:
        return len({node for name in deployment for node in deployment[name]}) / len(problem.network.nodes)

    def linearise(self, model: edrp.MetricModel) -> Expression:
        in_use = model.any(model.on, axis=0)  # of each node, whether any operator runs there
        return in_use.sum() / len(model.problem.network.nodes)


edrp.register_metric(NodesInUse)

free = debs2015(rate=100.0, network=geometric(6, seed=2, resources=3.0), max_replicas=2)
weighted = free.replace(weights={"response_time": 0.3, "nodes_in_use": 0.7})

# The contract: both faces say the same of random deployments, and the metric travels to the workers of a batch.
edrp.testing.check_metric(NodesInUse, free)

optimum = edrp.solve(weighted, "highs")
print(f"optimum {optimum.objective:.4f}: {optimum.metrics['nodes_in_use']:.3f} of the nodes are in use")

# Searches know the metric too.
found = edrp.solve(weighted, "iterated-local-search", kicks=20)
print(f"by a search {found.objective:.4f}")
assert found.objective >= optimum.objective - 1e-9

# With a limit, or first of all.
limited = edrp.solve(free.replace(limits=free.limits.replace(nodes_in_use=0.5)), "highs")
print(f"within a limit of a half: {limited.metrics['nodes_in_use']:.3f}")
assert limited.metrics["nodes_in_use"] <= 0.5

first = edrp.solve(free.replace(priorities=[{"metric": "nodes_in_use"}, {"metric": "response_time"}]), "highs")
print(f"as few as possible: {first.metrics['nodes_in_use']:.3f}")
assert first.metrics["nodes_in_use"] <= limited.metrics["nodes_in_use"]
