"""Which programs there are for each kind of problem, and `formulate`, which builds one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, overload

from edrp.core.errors import EdrpError, UnsupportedProblemError
from edrp.enactment.leasing import LeasingProblem
from edrp.enactment.snapshot import EnactmentProblem
from edrp.formulations.enactment.leasing import LeasingFormulation, formulate_leasing
from edrp.formulations.enactment.snapshot import EnactmentFormulation, formulate_enactment
from edrp.formulations.formulation import Formulation
from edrp.formulations.mapping.costs import refusal as mapping_refusal
from edrp.formulations.mapping.link_allocation import LinkAllocationFormulation, formulate_link_allocation
from edrp.formulations.mapping.path_mapping import MappingFormulation, formulate_mapping
from edrp.formulations.migration.intervals import MigrationFormulation, formulate_migration
from edrp.formulations.placement.formulation import PLACEMENT_BUILDERS, PlacementFormulation, formulate_placement
from edrp.mapping.link_allocation import LinkAllocationProblem
from edrp.mapping.path_mapping import MappingProblem
from edrp.migration.single_step import MigrationProblem
from edrp.placement.problem import PlacementProblem

PROGRAMS: dict[str, Mapping[str, Callable[[Any, str], Formulation]]] = {
    "edrp": dict.fromkeys(PLACEMENT_BUILDERS, formulate_placement),
    "latency-aware": {"compact": formulate_placement},
    "migration": {"intervals": formulate_migration},
    "enactment": {"hosts": formulate_enactment},
    "leasing": {"leases": formulate_leasing},
    "mapping": {"walks": formulate_mapping},
    "link-allocation": {"paths": formulate_link_allocation},
}
"""By kind of problem, what formulates each program; the first program is the default."""

REFUSALS: dict[str, Callable[[Any], str | None]] = {"mapping": mapping_refusal}
"""By kind of problem, what says why no program can express it; kinds that are left out have a program for every problem."""


@overload
def formulate(problem: PlacementProblem, program: str | None = None) -> PlacementFormulation: ...
@overload
def formulate(problem: MigrationProblem, program: str | None = None) -> MigrationFormulation: ...
@overload
def formulate(problem: EnactmentProblem, program: str | None = None) -> EnactmentFormulation: ...
@overload
def formulate(problem: LeasingProblem, program: str | None = None) -> LeasingFormulation: ...
@overload
def formulate(problem: MappingProblem, program: str | None = None) -> MappingFormulation: ...
@overload
def formulate(problem: LinkAllocationProblem, program: str | None = None) -> LinkAllocationFormulation: ...
@overload
def formulate(problem: Any, program: str | None = None) -> Formulation: ...
def formulate(problem: Any, program: str | None = None) -> Formulation:
    """Formulate a problem as a program.

    Parameters
    ----------
    problem
        What to decide.
    program
        For deployments "compact" (small, any problem), "literal" (EDRP, eqs. 13–23) or "restricted" (rEDRP,
        section 7.2); for migrations "intervals", for snapshots of enactment "hosts", for leases over time "leases", for
        tasks on servers and links "walks", for flows on links "paths"; None for the first that there is for the kind.

    Raises
    ------
    EdrpError
        For another name.
    UnsupportedProblemError, ProblemTooLargeError
        When this program cannot express the problem, or would not fit in memory.
    """
    known = PROGRAMS.get(problem.kind)
    if known is None:
        raise UnsupportedProblemError(f"there is no program for problems of kind {problem.kind!r}")
    name = next(iter(known)) if program is None else program
    if name not in known:
        raise EdrpError(f"no program {name!r} for problems of kind {problem.kind!r}; there are {', '.join(known)}")
    return known[name](problem, name)
