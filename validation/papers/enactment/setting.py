"""The one setting behind all runs, constant by constant, with where each comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from edrp.core.document import named_resources
from edrp.core.methods import read_parameters
from edrp.enactment.scenario import EnactmentScenario
from edrp.heuristics.enactment import POLICIES
from edrp.report.formatting import COLUMNS, OURS, PAPER, constant_rows, value_text
from edrp.report.tables import Table
from edrp.validation.papers.enactment.printed_values import PATTERNS, UNITS
from edrp.validation.papers.enactment.runs import Setting

FITTED_ON = ("stepwise", "two-level")
FITTED = f"fitted on {' and '.join(FITTED_ON)}"
FITTED_ON_ALL = "fitted on all four, seeds 1 to 3"

ORIGINS = {
    "emission_interval": PAPER,
    "bursts": FITTED,
    "arrivals": OURS,
    "service": OURS,
    "variation": FITTED,
    "monitoring_interval": PAPER,
    "provisioning_interval": PAPER,
    "instance_start_up": PAPER,
    "image_bandwidth": OURS,
    "initial_instances": FITTED,
    "penalty": PAPER,
    "compliance_levels": PAPER,
    "stall_interval": FITTED_ON_ALL,
    "stall_duration": FITTED_ON_ALL,
}
"""Origins of the constants of the world."""


def setting_tables(setting: Setting, policies: Sequence[str]) -> tuple[Table, ...]:
    """Every constant of the world, of the operators and of the policies.

    >>> [table.caption for table in setting_tables(Setting(), ["btu"])]
    ['The world', 'Operators (Table 2)', 'Policy btu']
    """
    scenario = setting.scenario(PATTERNS[0], UNITS[0], 0)
    return (_world(setting, scenario), _operators(scenario), *(_policy(setting, policy) for policy in policies))


def _world(setting: Setting, scenario: EnactmentScenario) -> Table:
    share = "share of a processing duration that occupies an instance"
    rows: list[tuple[str, ...]] = [("occupancy", value_text(setting.occupancy), "", share, FITTED)]
    rows += constant_rows(EnactmentScenario, ORIGINS, scenario)
    host = scenario.host_types[0]
    size = ", ".join(f"{name} {amount:g}" for name, amount in host.capacity.items())
    prices = ", ".join(f"{unit} min: {unit / 10:g}" for unit in UNITS)
    rows += [
        ("host", size, "shares, bytes", "four cores and 7 GB", PAPER),
        ("host start-up", value_text(host.start_up), "s", "least and most time from lease to readiness", PAPER),
        ("units and prices", prices, "money", "billing time units (BTU)", PAPER),
    ]
    return Table("The world", COLUMNS, tuple(rows), open=True)


def _operators(scenario: EnactmentScenario) -> Table:
    rows = []
    for operator in scenario.application.operators:
        needs = named_resources(operator.resources)
        numbers = [1e3 * operator.processing_duration, 1e3 * operator.occupied, needs["cpu"]]
        numbers += [needs["memory"] / 1e6, operator.code_size / 1e6]
        rows.append((operator.name, *(f"{number:g}" for number in numbers), f"{operator.selectivity:.4g}"))
    columns = ("operator", "duration [ms]", "occupied [ms]", "CPU shares", "memory [MB]", "image [MB]", "items out per item in")
    return Table("Operators (Table 2)", columns, tuple(rows), columns[1:], open=True)


def _policy(setting: Setting, policy: str) -> Table:
    """The constants of a policy, defaults included."""
    described: Any = POLICIES[policy][1]
    parameters = read_parameters(described, setting.arguments.get(policy, {}), policy)
    rows = tuple((field.name, value_text(getattr(parameters, field.name))) for field in fields(described))
    return Table(f"Policy {policy}", ("constant", "value"), rows, open=True)
