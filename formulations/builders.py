"""`formulate`: a problem of any kind as one of the programs that its kind has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from edrp.core.errors import EdrpError, UnsupportedProblemError
from edrp.core.kinds import find_kind
from edrp.core.wording import suggestion
from edrp.formulations.formulation import Formulation

if TYPE_CHECKING:
    from edrp.enactment.leasing import LeasingProblem
    from edrp.enactment.snapshot import EnactmentProblem
    from edrp.formulations.enactment.leasing import LeasingFormulation
    from edrp.formulations.enactment.snapshot import EnactmentFormulation
    from edrp.formulations.mapping.link_allocation import LinkAllocationFormulation
    from edrp.formulations.mapping.path_mapping import MappingFormulation
    from edrp.formulations.migration.intervals import MigrationFormulation
    from edrp.formulations.placement.formulation import PlacementFormulation
    from edrp.mapping.link_allocation import LinkAllocationProblem
    from edrp.mapping.path_mapping import MappingProblem
    from edrp.migration.single_step import MigrationProblem
    from edrp.placement.problem import PlacementProblem


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
        The problem to formulate.
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
    kind = find_kind(problem.kind)
    if kind is None or not kind.formulations:
        raise UnsupportedProblemError(f"there is no program for problems of kind {problem.kind!r}")
    name = next(iter(kind.formulations)) if program is None else program
    if name not in kind.formulations:
        raise EdrpError(f"no program {name!r} for problems of kind {problem.kind!r}{suggestion(name, kind.formulations)}")
    formulation: Formulation = kind.builder(name)(problem, name)
    return formulation
