"""Instance files: one JSON document per problem, read and written without loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema

from edrp.core.document import Document
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import read_whole, write_whole
from edrp.core.json_syntax import Scan
from edrp.core.plugins import added
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.core.wording import invalid, shown, suggestion
from edrp.enactment.leasing import LeasingProblem, LeasingSolution
from edrp.enactment.scenario import EnactmentScenario, EnactmentScenarioSolution
from edrp.enactment.snapshot import EnactmentProblem, EnactmentSolution
from edrp.mapping.bimodal_scenario import BimodalScenario, BimodalScenarioSolution
from edrp.mapping.link_allocation import LinkAllocationProblem, LinkAllocationSolution
from edrp.mapping.path_mapping import MappingProblem, MappingSolution
from edrp.migration.policy import MigrationPolicyProblem, MigrationPolicySolution
from edrp.migration.sequence import MigrationSequence, MigrationSequenceSolution
from edrp.migration.single_step import MigrationProblem, MigrationSolution
from edrp.placement.edrp import EdrpProblem, EdrpSolution
from edrp.placement.latency_aware import LatencyAwareProblem, LatencyAwareSolution

KINDS: dict[str, type[Problem]] = {
    "edrp": EdrpProblem,
    "latency-aware": LatencyAwareProblem,
    "migration": MigrationProblem,
    "migration-sequence": MigrationSequence,
    "migration-policy": MigrationPolicyProblem,
    "enactment": EnactmentProblem,
    "leasing": LeasingProblem,
    "enactment-scenario": EnactmentScenario,
    "mapping": MappingProblem,
    "link-allocation": LinkAllocationProblem,
    "bimodal-scenario": BimodalScenario,
}
"""Problems that a file can hold, by the `kind` it names. Further kinds are added here."""

SOLUTION_KINDS: dict[str, type[Solution]] = {
    "edrp-solution": EdrpSolution,
    "latency-aware-solution": LatencyAwareSolution,
    "migration-solution": MigrationSolution,
    "migration-sequence-solution": MigrationSequenceSolution,
    "migration-policy-solution": MigrationPolicySolution,
    "enactment-solution": EnactmentSolution,
    "leasing-solution": LeasingSolution,
    "enactment-scenario-solution": EnactmentScenarioSolution,
    "mapping-solution": MappingSolution,
    "link-allocation-solution": LinkAllocationSolution,
    "bimodal-scenario-solution": BimodalScenarioSolution,
}
"""Solution documents by `kind`."""


def add_kinds() -> None:
    """Add the kinds of other packages (entry point `edrp.kinds`); what is known already stays."""
    for problem, solution in added("edrp.kinds"):
        KINDS.setdefault(problem.model_fields["kind"].default, problem)
        SOLUTION_KINDS.setdefault(solution.model_fields["kind"].default, solution)


def load(path: str | Path) -> Any:
    """Read an instance file.

    Raises
    ------
    InvalidInstanceError
        Every fault of the file with its place, its value and what would be right.
    """
    return loads(read_whole(path), str(path))


def loads(text: str, source: str = "") -> Any:
    """Read an instance from JSON text; `source` is named in errors.

    Raises
    ------
    InvalidInstanceError
        Every fault of the text.

    Examples
    --------
    >>> loads('{"kind": "edrp", "network": {"nodes": [{"name": "a", "speed": 2}]}}')
    Traceback (most recent call last):
    edrp.core.errors.InvalidInstanceError: 2 faults in the input
      application: missing; this field is required
      network.nodes[0].speed: unknown field; did you mean 'speedup'? (got 2)
    """
    return _read(text, source, KINDS)


def save(problem: Problem, path: str | Path) -> None:
    """Write an instance file, every field spelled out; it appears whole or not at all."""
    write_whole(path, problem.model_dump_json(indent=2) + "\n")


def load_solution(path: str | Path) -> Any:
    """Read a solution document.

    Raises
    ------
    InvalidInstanceError
        Every fault of the file.
    """
    return _read(read_whole(path), str(path), SOLUTION_KINDS)


def schema(kind: str) -> dict[str, Any]:
    """JSON Schema of a kind of document, with the unit of every number.

    Raises
    ------
    InvalidInstanceError
        When there is no such kind.

    Examples
    --------
    >>> schema("edrp")["properties"]["synchronisation_time"]["unit"]
    's'
    """
    add_kinds()
    kinds = {**KINDS, **SOLUTION_KINDS}
    if kind not in kinds:
        raise InvalidInstanceError([_unknown_kind(kind, kinds)])
    document = kinds[kind].model_json_schema()
    for described in [document, *document.get("$defs", {}).values()]:
        # Of a class docstring the schema needs what the document is, not its Python examples.
        if "description" in described:
            described["description"] = described["description"].split("\n\n")[0].replace("\n", " ")
        # In a file `kind` and `model` are never left out: they say how to read the rest.
        tags = [name for name, field in described.get("properties", {}).items() if "const" in field]
        if tags:
            described["required"] = [*tags, *(name for name in described.get("required", []) if name not in tags)]
    return {"$schema": GenerateJsonSchema.schema_dialect, **document}


def _read(text: str, source: str, kinds: dict[str, Any]) -> Document:
    add_kinds()
    scan = Scan(text)
    if scan.faults:
        raise InvalidInstanceError(scan.faults, source)
    document = kinds[_kind(scan, source, kinds)]
    try:
        # Strict: a number in quotes is refused, not read as a number.
        read: Document = document.__pydantic_validator__.validate_json(text, strict=True)
    except ValidationError as error:
        raise invalid(error, document, source) from None
    return read


def _kind(scan: Scan, source: str, kinds: dict[str, Any]) -> str:
    if scan.top is None:
        raise InvalidInstanceError([Fault("document", "", "must be a JSON object")], source)
    kind = scan.top.get("kind")
    if kind not in kinds:
        raise InvalidInstanceError([_unknown_kind(kind, kinds)], source)
    return str(kind)


def _unknown_kind(kind: object, kinds: dict[str, Any]) -> Fault:
    if kind is None:
        return Fault("kind", "", f"missing; it must be one of {', '.join(map(repr, kinds))}")
    if kind in SOLUTION_KINDS:
        return Fault("kind", shown(kind), "is a solution; give the instance that it solves")
    if kind in KINDS:
        return Fault("kind", shown(kind), "is an instance; give the solution that a method wrote for it")
    return Fault("kind", shown(kind), "is no kind of document" + suggestion(kind, kinds))
