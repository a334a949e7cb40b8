"""Where the methods of this package are: a module is imported when one of its methods is first needed."""

from edrp.backends import OWN_BACKENDS

METHOD_MODULES = {
    "edrp.auto.choices": ("auto",),
    "edrp.auto.column_generation": ("column-generation",),
    "edrp.auto.elimination": ("eliminate",),
    "edrp.auto.proofs_over_time": ("range-decomposition", "priced-course", "pool-policy"),
    "edrp.formulations.methods": tuple(OWN_BACKENDS),
    "edrp.formulations.placement.equal_nodes.method": ("equal-nodes",),
    "edrp.formulations.placement.fixed_tasks.method": ("fixed-tasks",),
    "edrp.formulations.mapping.label_setting": ("label-setting",),
    "edrp.formulations.mapping.route_selection": ("route-selection",),
    "edrp.heuristics.enactment.methods": ("first-fit-decreasing", "host-selection", "first-fit-leases"),
    "edrp.heuristics.mapping.methods": ("process-map", "least-cost-map", "annealed-least-cost-map", "random-neighbor"),
    "edrp.heuristics.mapping.reallocation": ("greedy-reallocation",),
    "edrp.heuristics.migration.methods": ("consistent-hashing", "even-split", "balanced"),
    "edrp.heuristics.migration.rescale.methods": (
        "range-annealing",
        "keep",
        "repair-ranges",
        "edrp-then-ssm",
        "ds2-even-ranges",
        "even-ranges",
        "sticky-ranges",
    ),
    "edrp.heuristics.placement.annealing": ("annealing",),
    "edrp.heuristics.placement.caps": ("caps",),
    "edrp.heuristics.placement.ds2": ("ds2",),
    "edrp.heuristics.placement.greedy": ("greedy", "random"),
    "edrp.heuristics.placement.resource_aware": ("resource-aware",),
    "edrp.heuristics.placement.search.methods": ("hill-climbing", "ant-system", "hybrid", "iterated-local-search"),
    "edrp.heuristics.placement.sequence_baselines": ("myopic", "static-deployment"),
    "edrp.heuristics.placement.simple_rules": ("first-fit", "largest-node", "even"),
    "edrp.mdp.fitted.method": ("fitted",),
    "edrp.mdp.placement.vector_method": ("replica-vectors",),
    "edrp.mdp.policy.methods": ("pmc", "stored-policy"),
    "edrp.mdp.sequence.method": ("oms",),
    "edrp.mdp.single_step.ssm": ("ssm",),
    "edrp.validation.simulation.enactment.simulator": (
        "btu-policy",
        "ds2-policy",
        "predictive-policy",
        "static-peak-policy",
        "threshold-policy",
    ),
    "edrp.validation.simulation.mapping.bimodal_simulator": (
        "load-balance-mapping",
        "public-hops-mapping",
        "public-hops-links-mapping",
    ),
}
"""Names of methods by the module that holds them in its `METHODS`."""
