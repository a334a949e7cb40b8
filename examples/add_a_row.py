"""Own rows in the program: parser and filter never on one node, and at least two availability zones."""

import edrp
from edrp.core.program import Linear
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

# A row over what the program already knows: `placed` is 1 where an operator has a replica.
formulation = edrp.formulate(problem, "compact")
for node in network.by_name:
    together = formulation.placed("parser", node) + formulation.placed("filterByCoordinates", node)
    formulation.program.add_row(f"apart on {node}", together, upper=1)
apart = edrp.solve_formulation(formulation, "highs")
print(f"apart {apart.objective:.4f}:", apart.deployment["parser"], apart.deployment["filterByCoordinates"])
assert not set(apart.deployment["parser"]) & set(apart.deployment["filterByCoordinates"])
assert apart.objective > plain.objective + 1e-6

# Own columns: a zone counts as used only if the window counter has a replica in it; two zones must be.
formulation = edrp.formulate(problem, "compact")
names = sorted(set(zones.values()))
used = formulation.program.add_columns("zone used", len(names), upper=1, integer=True)
for name, column in zip(names, used, strict=True):
    inside = sum((formulation.placed("countByWindow", n) for n in network.by_name if zones[n] == name), start=Linear.zero())
    formulation.program.add_row(f"used {name}", inside - Linear.of(column), lower=0)
formulation.program.add_row("two zones", Linear.of(used), lower=2)
spread = edrp.solve_formulation(formulation, "highs")
print(f"two zones {spread.objective:.4f}:", spread.deployment["countByWindow"])
assert len({zones[node] for node in plain.deployment["countByWindow"]}) == 1
assert len({zones[node] for node in spread.deployment["countByWindow"]}) == 2
assert spread.objective > plain.objective + 1e-6
