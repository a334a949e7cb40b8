"""Own rows in the program: parser and filter never on one node, and at least two availability zones."""

import edrp
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.placement.debs2015 import debs2015

# The taxi application on eight nodes in three zones.
network = geometric(8, seed=1, resources=4.0)
zones = {node.name: f"zone {index % 3}" for index, node in enumerate(network.nodes)}
network = network.replace(nodes=tuple(node.replace(zone=zones[node.name]) for node in network.nodes))
problem = debs2015(rate=100.0, network=network, max_replicas=2)

plain = edrp.solve(problem, "highs")
print(f"as it is {plain.objective:.4f}:", plain.deployment["parser"], plain.deployment["filterByCoordinates"])
assert set(plain.deployment["parser"]) & set(plain.deployment["filterByCoordinates"])

# One row for every node: `on` is 1 where an operator has a replica.
model = edrp.formulate(problem, "compact")
model.add(model.on["parser"] + model.on["filterByCoordinates"] <= 1, name="apart")
apart = edrp.solve_formulation(model, "highs")
print(f"apart {apart.objective:.4f}:", apart.deployment["parser"], apart.deployment["filterByCoordinates"])
assert not set(apart.deployment["parser"]) & set(apart.deployment["filterByCoordinates"])
assert apart.objective > plain.objective + 1e-6

# A zone is in use if the window counter has a replica on any of its nodes; two zones must be.
model = edrp.formulate(problem, "compact")
by_zone = [[node for node in zones if zones[node] == zone] for zone in sorted(set(zones.values()))]
in_use = [model.any(model.on["countByWindow", nodes]) for nodes in by_zone]
model.add(sum(in_use) >= 2, name="two zones")
spread = edrp.solve_formulation(model, "highs")
print(f"two zones {spread.objective:.4f}:", spread.deployment["countByWindow"])
assert len({zones[node] for node in plain.deployment["countByWindow"]}) == 1
assert len({zones[node] for node in spread.deployment["countByWindow"]}) == 2
assert spread.objective > plain.objective + 1e-6
