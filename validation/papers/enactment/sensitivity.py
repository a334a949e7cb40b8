"""What each constant that the paper does not print does to the distance from its Tables 3 to 6: one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edrp.validation.papers.enactment.cells import SettingError, setting_error
from edrp.validation.papers.enactment.printed_tables import POLICIES
from edrp.validation.papers.enactment.runs import Setting, enact

DOCUMENTED = "as documented"

VARIANTS: Mapping[str, Setting] = {
    DOCUMENTED: Setting(),
    "occupancy 0.15": Setting(occupancy=0.15),
    "occupancy 0.25": Setting(occupancy=0.25),
    "variation 0.2": Setting({"variation": 0.2}),
    "variation 0.6": Setting({"variation": 0.6}),
    "exponential service": Setting({"service": "exponential"}),
    "1 burst a tick": Setting({"bursts": 1}),
    "16 bursts a tick": Setting({"bursts": 16}),
    "Poisson arrivals": Setting({"arrivals": "poisson"}),
    "1 initial instance": Setting({"initial_instances": 1}),
    "4 initial instances": Setting({"initial_instances": 4}),
    "no stalls": Setting({"stall_interval": 0.0}),
    "stalls of 5 s every 2 min": Setting({"stall_interval": 120.0, "stall_duration": 5.0}),
    "BTU: no cooldown": Setting(arguments={"btu": {"cooldown": 0}}),
    "BTU: cooldown for each operator": Setting(arguments={"btu": {"shared_cooldown": False}}),
    "threshold: no cooldown": Setting(arguments={"threshold": {"cooldown": 0}}),
    "BTU: cooldown 6 min": Setting(arguments={"btu": {"cooldown": 360}}),
    "BTU: never two at once": Setting(arguments={"btu": {"second_threshold": "null"}}),
    "BTU: release any share": Setting(arguments={"btu": {"release_share": 1}}),
}
"""Settings by what is different in them."""


def sensitivity(
    seeds: Sequence[int],
    variants: Mapping[str, Setting] = VARIANTS,
    **how: Any,
) -> dict[str, SettingError]:
    """The errors of each setting against the paper's tables.

    Parameters
    ----------
    seeds
        Few are enough: cells vary by a point between seeds, settings by more.
    variants
        By name.
    how
        Where to run, as of `enact`: `spark` or `n_jobs`, and `progress`.
    """
    return {name: setting_error(enact(POLICIES, seeds, setting=setting, **how)) for name, setting in variants.items()}
