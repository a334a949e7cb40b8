"""What a method returns: what we hold, why it stopped, and the decision as re-evaluated."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from edrp.documents import Action, Deployment
from edrp.files import write_whole
from edrp.problem import EdrpProblem, Evaluation

Status = Literal["optimal", "feasible", "infeasible", "unbounded", "none"]
StoppedBecause = Literal["finished", "time_limit", "iteration_limit", "interrupted", "error"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a method hands back before it is checked.

    Attributes
    ----------
    status, stopped_because
        What the method holds, and why it stopped.
    decision
        The deployment, or None.
    objective
        What the method believes it costs; compared with the independent evaluation.
    bound
        Proven lower bound on the objective, or None.
    size
        Columns, rows and nonzeros of the program, or other counts worth reporting.
    build_seconds
        Share of the time that went into tables and programs.
    method
        Full name of what ran, where it differs from the name asked for ("auto: eliminate").
    notes
        Sentences for the user.
    """

    status: Status
    stopped_because: StoppedBecause
    decision: Deployment | None = None
    objective: float | None = None
    bound: float | None = None
    size: dict[str, int] = field(default_factory=dict)
    build_seconds: float = 0.0
    method: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Solution:
    """A checked answer.

    `status` says what we hold, `stopped_because` why the method stopped. `bound` and `gap` are None where
    nothing was proven. `metrics` are those of the independent evaluation. `clashes` explains infeasibility.
    """

    kind: str
    status: Status
    stopped_because: StoppedBecause
    objective: float | None
    bound: float | None
    gap: float | None
    metrics: dict[str, float]
    broken: tuple[str, ...]
    deployment: Deployment | None
    actions: tuple[Action, ...]
    clashes: tuple[str, ...]
    method: str
    seconds: dict[str, float]
    size: dict[str, int]
    seed: int
    versions: dict[str, str]
    notes: tuple[str, ...] = ()

    def to_document(self) -> dict[str, Any]:
        """The solution document (JSON)."""
        return {
            "kind": f"{self.kind}-solution",
            "status": self.status,
            "stopped_because": self.stopped_because,
            "objective": self.objective,
            "bound": self.bound,
            "gap": self.gap,
            "metrics": self.metrics,
            "broken": list(self.broken),
            "deployment": None if self.deployment is None else {name: list(self.deployment[name]) for name in self.deployment},
            "actions": [
                {"kind": a.kind, "operator": a.operator, "added": list(a.added), "removed": list(a.removed)} for a in self.actions
            ],
            "clashes": list(self.clashes),
            "method": self.method,
            "seconds": self.seconds,
            "size": self.size,
            "seed": self.seed,
            "versions": self.versions,
            "notes": list(self.notes),
        }

    def save(self, path: str | Path) -> None:
        """Write the solution document; the file appears whole or not at all."""
        write_json(Path(path), self.to_document())


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a document as JSON; the file appears whole or not at all."""
    write_whole(path, json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def relative_gap(objective: float, bound: float) -> float:
    """(objective − bound) / |objective|, at least 0."""
    if objective <= bound:
        return 0.0
    return (objective - bound) / max(abs(objective), 1e-12)


def installed_versions(*packages: str) -> dict[str, str]:
    """Versions of `edrp` and of the packages that an answer depends on."""
    found = {}
    for package in ("edrp", *packages):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def checked(problem: EdrpProblem, answer: Answer) -> tuple[Evaluation | None, str]:
    """Evaluate an answer's decision independently and say what disagrees, or an empty string."""
    if answer.decision is None:
        return None, ""
    evaluation = problem.evaluate(answer.decision)
    if answer.objective is not None and not _close(answer.objective, evaluation.objective):
        return evaluation, f"claimed objective {answer.objective!r}, evaluated {evaluation.objective!r}"
    if answer.status in ("optimal", "feasible") and not evaluation.feasible:
        return evaluation, f"claimed {answer.status}, but breaks {'; '.join(evaluation.broken)}"
    if answer.bound is not None and answer.bound > evaluation.objective + 1e-9 * max(1.0, abs(evaluation.objective)):
        return evaluation, f"bound {answer.bound!r} above the evaluated objective {evaluation.objective!r}"
    return evaluation, ""


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))
