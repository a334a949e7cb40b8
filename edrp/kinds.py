"""The kinds of problems of this package, one record each; `edrp` registers them."""

from typing import Any

from edrp.auto.portfolio import HelpedOut
from edrp.core.kinds import Kind
from edrp.core.methods import FirstOf

LACKING: dict[str, Any] = {"formulations": {}} | dict.fromkeys(
    ("refuse_formulation", "find_directly", "view", "explain", "explain_infeasibility")
)
"""Parts that a kind does not have where they are not named below."""

PLACEMENT_PROGRAM = "edrp.formulations.placement.formulation:formulate_placement"


def _kind(name: str, problem: str, **parts: Any) -> Kind:
    """A kind whose solutions stand next to its problems under a like name, and whose parts are these."""
    return Kind(name=name, problem=problem, solution=f"{problem.removesuffix('Problem')}Solution", **(LACKING | parts))


KINDS = (
    _kind(
        "edrp",
        problem="edrp.placement.edrp:EdrpProblem",
        formulations=dict.fromkeys(("compact", "literal", "restricted"), PLACEMENT_PROGRAM),
        choose="edrp.auto.choices:choose_for_edrp",
        display="edrp.cli.display.placement:deployment_parts",
        view="edrp.explorer.placement:placement_view",
        explain="edrp.cli.display.explanation:explanation_parts",
        explain_infeasibility="edrp.explanations.placement:explain_infeasibility",
        families="edrp.datasets.families.placement.edrp:FAMILIES",
        check_problems="edrp.check_problems.placement.problems:EdrpCheckProblems",
    ),
    _kind(
        "edrp-sequence",
        problem="edrp.placement.sequence:EdrpSequence",
        formulations={"periods": "edrp.formulations.placement.sequence_program:formulate_sequence"},
        refuse_formulation="edrp.formulations.placement.sequence_program:refusal",
        choose="edrp.auto.choices:choose_for_sequence",
        display="edrp.cli.display.placement:sequence_parts",
        view="edrp.explorer.timelines:sequence_view",
        explain="edrp.cli.display.explanation:explanation_parts",
        explain_infeasibility="edrp.explanations.sequence_infeasibility:explain_sequence_infeasibility",
        families="edrp.datasets.families.placement.sequence:FAMILIES",
        check_problems="edrp.check_problems.placement.over_time:EdrpSequenceCheckProblems",
    ),
    _kind(
        "edrp-policy",
        problem="edrp.placement.policy:EdrpPolicyProblem",
        choose=FirstOf(("pool-policy",)),
        display="edrp.cli.display.placement:policy_parts",
        explain_infeasibility="edrp.explanations.sequence_infeasibility:explain_policy_infeasibility",
        families="edrp.datasets.families.placement.policy:FAMILIES",
        check_problems="edrp.check_problems.placement.over_time:EdrpPolicyCheckProblems",
    ),
    _kind(
        "latency-aware",
        problem="edrp.placement.latency_aware:LatencyAwareProblem",
        formulations={"compact": PLACEMENT_PROGRAM},
        choose="edrp.auto.choices:choose_for_latency_aware",
        display="edrp.cli.display.placement:deployment_parts",
        view="edrp.explorer.placement:placement_view",
        explain="edrp.cli.display.explanation:explanation_parts",
        explain_infeasibility="edrp.explanations.placement:explain_latency_aware_infeasibility",
        families="edrp.datasets.families.placement.latency_aware:FAMILIES",
        check_problems="edrp.check_problems.placement.problems:LatencyAwareCheckProblems",
    ),
    _kind(
        "migration",
        problem="edrp.migration.single_step:MigrationProblem",
        formulations={"intervals": "edrp.formulations.migration.intervals:formulate_migration"},
        choose=HelpedOut(("ssm", "highs")),
        display="edrp.cli.display.migration:migration_parts",
        view="edrp.explorer.migration:migration_view",
        explain_infeasibility="edrp.formulations.rule_clashes:explain_clashing_rules",
        families="edrp.datasets.families.migration.migration_families:FAMILIES",
        check_problems="edrp.check_problems.migration.problems:MigrationCheckProblems",
    ),
    _kind(
        "migration-sequence",
        problem="edrp.migration.sequence:MigrationSequence",
        choose=FirstOf(("oms",)),
        display="edrp.cli.display.migration:sequence_parts",
        view="edrp.explorer.migration:sequence_view",
        families="edrp.datasets.families.migration.migration_families:FAMILIES",
        check_problems="edrp.check_problems.migration.problems:SequenceCheckProblems",
    ),
    _kind(
        "migration-policy",
        problem="edrp.migration.policy:MigrationPolicyProblem",
        choose=FirstOf(("pmc",)),
        display="edrp.cli.display.migration:migration_parts",
        view="edrp.explorer.migration:migration_view",
        families="edrp.datasets.families.migration.migration_families:FAMILIES",
        check_problems="edrp.check_problems.migration.problems:PolicyCheckProblems",
    ),
    _kind(
        "rescale",
        problem="edrp.migration.rescale.problem:RescaleProblem",
        formulations={"ranges": "edrp.formulations.migration.rescale.formulation:formulate_rescale"},
        choose="edrp.auto.choices:choose_for_rescale",
        display="edrp.cli.display.migration:rescale_parts",
        view="edrp.explorer.migration:rescale_view",
        explain="edrp.cli.display.explanation:explanation_parts",
        explain_infeasibility="edrp.formulations.migration.rescale.formulation:explain_infeasibility",
        families="edrp.datasets.families.migration.rescale:FAMILIES",
        check_problems="edrp.check_problems.migration.problems:RescaleCheckProblems",
    ),
    _kind(
        "enactment",
        problem="edrp.enactment.snapshot:EnactmentProblem",
        formulations={"hosts": "edrp.formulations.enactment.snapshot:formulate_enactment"},
        find_directly="edrp.formulations.enactment.snapshot:bound_and_hosts",
        choose="edrp.auto.choices:choose_for_snapshot",
        display="edrp.cli.display.enactment:snapshot_parts",
        explain_infeasibility="edrp.formulations.rule_clashes:explain_clashing_rules",
        families="edrp.datasets.families.enactment.enactment_families:FAMILIES",
        check_problems="edrp.check_problems.enactment.problems:EnactmentCheckProblems",
    ),
    _kind(
        "leasing",
        problem="edrp.enactment.leasing:LeasingProblem",
        formulations={"leases": "edrp.formulations.enactment.leasing:formulate_leasing"},
        find_directly="edrp.formulations.enactment.leasing:bound_and_leases",
        choose="edrp.auto.choices:choose_for_leasing",
        display="edrp.cli.display.enactment:leasing_parts",
        view="edrp.explorer.timelines:leasing_view",
        families="edrp.datasets.families.enactment.enactment_families:FAMILIES",
        check_problems="edrp.check_problems.enactment.problems:LeasingCheckProblems",
    ),
    _kind(
        "enactment-scenario",
        problem="edrp.enactment.scenario:EnactmentScenario",
        choose="edrp.auto.choices:choose_for_run",
        display="edrp.cli.display.enactment:run_parts",
        view="edrp.explorer.timelines:run_view",
        families="edrp.datasets.families.enactment.enactment_families:FAMILIES",
        check_problems="edrp.check_problems.enactment.problems:ScenarioCheckProblems",
    ),
    _kind(
        "mapping",
        problem="edrp.mapping.path_mapping:MappingProblem",
        formulations={"walks": "edrp.formulations.mapping.path_mapping:formulate_mapping"},
        refuse_formulation="edrp.formulations.mapping.layered_graph:refusal",
        choose=HelpedOut(("label-setting", "highs", "least-cost-map")),
        display="edrp.cli.display.mapping:map_parts",
        explain_infeasibility="edrp.formulations.rule_clashes:explain_clashing_maps",
        families="edrp.datasets.families.mapping.path_mapping:FAMILIES",
        check_problems="edrp.check_problems.mapping.problems:MappingCheckProblems",
    ),
    _kind(
        "link-allocation",
        problem="edrp.mapping.link_allocation:LinkAllocationProblem",
        formulations={"paths": "edrp.formulations.mapping.link_allocation:formulate_link_allocation"},
        choose="edrp.auto.choices:choose_for_flows",
        display="edrp.cli.display.mapping:allocation_parts",
        families="edrp.datasets.families.mapping.link_allocation:FAMILIES",
        check_problems="edrp.check_problems.mapping.problems:LinkAllocationCheckProblems",
    ),
    _kind(
        "bimodal-scenario",
        problem="edrp.mapping.bimodal_scenario:BimodalScenario",
        choose="edrp.auto.choices:choose_for_run",
        display="edrp.cli.display.mapping:bimodal_parts",
        view="edrp.explorer.timelines:bimodal_view",
        families="edrp.datasets.families.mapping.platforms:FAMILIES",
        check_problems="edrp.check_problems.mapping.problems:BimodalScenarioCheckProblems",
    ),
)
