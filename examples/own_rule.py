"""A rule of your own in Python: a bound on the nodes that run the operators of a vendor, who sells licences per node."""

from collections.abc import Sequence

import edrp
import edrp.testing
from edrp.core.expressions import Rows
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.placement.debs2015 import debs2015


class Licences:
    """At most `nodes` nodes run any of `operators`; violated by the nodes beyond."""

    def __init__(self, operators: Sequence[str], nodes: int) -> None:
        self.operators, self.nodes = list(operators), nodes
        self.sentence = f"at most {nodes} nodes run {' or '.join(operators)}"

    def evaluate(self, problem: edrp.EdrpProblem, deployment: edrp.Deployment) -> float:
        used = {node for name in self.operators for node in deployment.replicas(name)}
        return max(0, len(used) - self.nodes)

    def linearise(self, model: edrp.RuleModel) -> Rows:
        in_use = model.any(model.on[self.operators], axis=0)  # of each node, whether any of the operators runs there
        return in_use.sum() <= self.nodes


edrp.register_rule("node-licences", Licences)

vendor = ["parser", "filterByCoordinates", "computeRouteID"]
free = debs2015(rate=100.0, network=geometric(8, seed=2, resources=3.0), max_replicas=2)
licensed = {"rule": "python", "name": "vendor", "type": "node-licences", "parameters": {"operators": vendor, "nodes": 1}}

# The contract: both faces say the same of random deployments, and the rule travels to the workers of a batch.
edrp.testing.check_rule(licensed, free)

plain = edrp.solve(free, "highs")
print(f"as it is {plain.objective:.4f}:", {name: plain.deployment[name] for name in vendor})

hard = edrp.solve(free.replace(rules=[licensed]), "highs")
print(f"one licence {hard.objective:.4f}:", {name: hard.deployment[name] for name in vendor})
assert len({node for name in vendor for node in hard.deployment[name]}) == 1
assert hard.objective > plain.objective

# Searches know the rule too.
found = edrp.solve(free.replace(rules=[licensed]), "iterated-local-search", kicks=20)
print(f"by a search {found.objective:.4f}: {found.objective / hard.objective - 1:.2%} from the optimum")
assert len({node for name in vendor for node in found.deployment[name]}) == 1
assert found.objective >= hard.objective - 1e-9

# At a price instead: every further licence adds 0.001 to the objective.
priced = edrp.solve(free.replace(rules=[{**licensed, "penalty": 0.001}]), "highs")
print(f"at a price {priced.objective:.4f}, of which penalties {priced.metrics['penalties']:.4f}")
assert plain.objective <= priced.objective <= hard.objective
