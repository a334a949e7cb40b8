"""Records of the library: what is known of each instance, who found it, and on what evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import Field
from pydantic.json_schema import GenerateJsonSchema

from edrp.core.document import Name, NonNegative, Outcome, unit
from edrp.core.solution import resolution

Evidence = Literal["full proof", "stated program", "claimed", "refuted"]
Status = Literal["full proof", "stated program", "claimed", "open", "no decision"]
Size = Literal["second", "minute", "hour", "open"]
SIZE_NAMES: tuple[Size, ...] = get_args(Size)

CERTIFIED = ("full proof", "stated program")
"""Evidence that closes a row: a certificate that the checker accepts about the instance, or about a program that it states."""

SIZES: dict[Size, float] = {"second": 1.0, "minute": 60.0}
"""Units of work within which a row of a size was closed; others that are closed count as "hour"."""

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class StoredFile(Outcome):
    """A compressed file of the library."""

    path: Name = Field(description="relative to the folder of the library")
    sha256: Sha256 = Field(description="of its bytes, compressed")


class Found(Outcome):
    """A decision or a bound: who found it, and how."""

    value: float = Field(description="objective of the decision, or what no decision is better than", **unit("1"))
    method: Name = Field(description="method of `edrp`, or what else found it, in the words of whoever submitted it")
    seed: int | None = Field(None, description="seed of the random number generator; null: none, or not known")
    work_limit: NonNegative | None = Field(None, description="units of work it was limited to; null: not known")
    versions: dict[Name, str] = Field({}, description="versions of the packages that it depends on")
    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")] = Field(description="day on which it was checked")
    file: StoredFile | None = Field(None, description="solution document or certificate; null: replaced by a better one, or none")


class KnownDecision(Found):
    """A decision that was feasible when it was checked."""


class KnownBound(Found):
    """A lower bound on the objective."""

    evidence: Evidence = Field(
        description="certificate about the instance, or about a program that it states; a claim without; or one that a better "
        "decision has refuted"
    )
    format: str = Field("", description="format of the certificate; empty without")


class InstanceRecord(Outcome):
    """Where an instance comes from."""

    file: StoredFile = Field(description="instance file")
    hash: Sha256 = Field(description="of the document, as certificates state it: the order of fields does not matter")
    version: Annotated[int, Field(ge=1)] = Field(1, description="grows whenever the instance changes")
    earlier: tuple[Sha256, ...] = Field((), description="hashes of earlier versions, oldest first")
    origin: Name = Field(description="paper, data or family")
    licence: Name = Field(description="of the data in it")
    generator: str = Field("", description="call in `validation/library/plan.py` that makes it again; empty: none")


class Row(Outcome):
    """What is known of an instance, newest and best first."""

    instance: InstanceRecord
    decisions: tuple[KnownDecision, ...] = ()
    bounds: tuple[KnownBound, ...] = ()

    @property
    def best(self) -> KnownDecision | None:
        """The best decision that is known, or None."""
        return next(iter(self.decisions), None)

    @property
    def bound(self) -> KnownBound | None:
        """The bound that counts: a certified one, else the highest claim that stands, else None."""
        standing = [bound for bound in self.bounds if bound.evidence != "refuted"]
        return max(standing, key=lambda bound: (bound.evidence in CERTIFIED, bound.value), default=None)

    @property
    def status(self) -> Status:
        """What is proven: the evidence of a bound that the best decision reaches, or "open"."""
        best, bound = self.best, self.bound
        if best is None:
            return "no decision"
        if bound is None or bound.evidence == "refuted" or best.value - bound.value > resolution(best.value):
            return "open"
        return bound.evidence

    @property
    def closed(self) -> bool:
        """Whether a certificate proves the best decision optimal."""
        return self.status in CERTIFIED

    @property
    def size(self) -> Size:
        """How much work closed it; "open" for what is not closed."""
        if not self.closed or self.bound is None:
            return "open"
        work = self.bound.work_limit
        return next((size for size, limit in SIZES.items() if work is not None and work <= limit), "hour")

    @property
    def files(self) -> tuple[StoredFile, ...]:
        """All files of the row."""
        found = (self.instance.file, *(entry.file for entry in (*self.decisions, *self.bounds)))
        return tuple(file for file in found if file is not None)


class BestKnown(Outcome):
    """All records of a library (`bks.json`), by id: the kind, and a name that is unique in it."""

    kind: Literal["edrp-library"] = "edrp-library"
    format: Literal[1] = Field(1, description="version of this form")
    rows: dict[Name, Row] = Field({}, description="records by id")


def records_schema() -> Mapping[str, Any]:
    """JSON Schema of `bks.json`, which is shipped next to it."""
    return {"$schema": GenerateJsonSchema.schema_dialect, **BestKnown.model_json_schema()}
