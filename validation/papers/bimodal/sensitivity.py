"""What each constant that the paper does not print, or prints without saying why, does to Fig. 9 at its default point."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from edrp.datasets.families.mapping.platforms import INSTANCES_PER_SERVICE, SHRINKAGE, bimodal_scenario
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.validation.papers.bimodal.plan import CHOSEN, NETWORKS, RATE, SPANNING, Extent, Group
from edrp.validation.papers.bimodal.runs import Samples, run_group

DOCUMENTED = "as documented"

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    DOCUMENTED: {},
    "flow: its expectation": {"flow": "expected"},
    "variation: base e": {"variation_base": math.e},
    "buffer: 1 s": {"buffer": 1.0},
    "window: 1 s": {"window": 1.0},
    "window: 60 s": {"window": 60.0},
    "no empty hop": {"max_empty_hops": 0},
    "2 empty hops": {"max_empty_hops": 2},
    "3 empty hops": {"max_empty_hops": 3},
    "re-allocation: every second": {"reallocation_interval": 1.0},
    "re-allocation: every minute": {"reallocation_interval": 60.0},
    "re-allocation: never": {"reallocation_interval": 0.0},
    "k = 1": {"instances_per_service": 1.0},
    "k = 3": {"instances_per_service": 3.0},
    "no shrinkage": {"shrinkage": 1.0},
}
"""Settings by what is different in them."""


def varied_scenario(
    *, instances_per_service: float = INSTANCES_PER_SERVICE, shrinkage: float = SHRINKAGE, **fields: Any
) -> BimodalScenario:
    """A `bimodal_scenario` with other constants of its platform.

    Parameters
    ----------
    instances_per_service
        The paper's k, to which capacities are proportional.
    shrinkage
        Bytes out per byte in of every service.
    fields
        Of `bimodal_scenario`.

    Examples
    --------
    >>> one, two = (varied_scenario(instances_per_service=k, servers=5, links=4, tasks=1) for k in (1, 2))
    >>> [node.capacity for node in two.network.nodes] == [2 * node.capacity for node in one.network.nodes]
    True
    """
    scenario = bimodal_scenario(**fields)
    factor = instances_per_service / INSTANCES_PER_SERVICE
    nodes = tuple(node.replace(capacity=factor * node.capacity) for node in scenario.network.nodes)
    services = tuple(service.replace(shrinkage=shrinkage) for service in scenario.services)
    return scenario.replace(network=scenario.network.replace(nodes=nodes), services=services)


def sensitivity(
    extent: Extent, variants: Mapping[str, Mapping[str, Any]] = VARIANTS, *, out: Path | None = None, **how: Any
) -> dict[str, Samples]:
    """Samples of each setting at the default point, for both networks and each alone.

    Parameters
    ----------
    extent
        As of the figures; `sensitive` says on how many networks.
    variants
        Changed fields by name.
    out, how
        As of `batch_rows`.
    """
    few = replace(extent, networks=extent.sensitive)
    found: dict[str, Samples] = {}
    for name, fields in variants.items() if extent.sensitive else ():
        folder = "-".join("".join(each if each.isalnum() else " " for each in name).split())
        group = Group(folder, NETWORKS, RATE, SPANNING, (CHOSEN,))
        where = None if out is None else out / few.folder / "sensitivity" / folder
        found[name] = run_group(group, few, make=varied_scenario, given=fields, out=where, **how)
    return found
