"""Shared parts of the commands under `edrp simulate`: method and parameters, file of the scenario, folder of the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from edrp.cli.terminal import errors, output, say
from edrp.core.errors import BackendUnavailableError, Fault, InvalidInstanceError
from edrp.core.folders import filling
from edrp.core.instances import load, save
from edrp.core.methods import find_method, get_method, methods, read_parameters
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.core.wording import suggestion

Scenario = TypeVar("Scenario", bound=Problem)


def refuse_unknown_method(kind: str, name: str, suffix: str, option: str, what: str) -> None:
    """Refuse a name that is no method of the kind once it ends in the suffix.

    Parameters
    ----------
    kind
        Kind of the scenario.
    name, suffix
        The method is called name + suffix.
    option, what
        Option that named the method, and the word for the method, for the message.
    """
    method = find_method(name + suffix)
    if method is None or kind not in method.kinds:
        known = [method.removesuffix(suffix) for method in methods(kind) if method.endswith(suffix)]
        raise InvalidInstanceError([Fault(option, repr(name), f"is no {what}{suggestion(name, known)}")])


def read_assignments(words: Sequence[str]) -> dict[str, Any]:
    """Read parameters from words like `name=value`; no name may be given twice."""
    faults: list[Fault] = []
    parameters: dict[str, Any] = {}
    for word in words:
        name, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not name:
            faults.append(Fault("--param", repr(word), "must be name=value"))
        elif name in parameters:
            faults.append(Fault("--param", repr(word), f"gives {name} a second time"))
        parameters[name] = value
    if faults:
        raise InvalidInstanceError(faults)
    return parameters


def refuse_parameters(kind: str, method: str, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that the method does not take, before anything is simulated."""
    read_parameters(get_method(method, kind).parameters, parameters, method)


def refuse_with_scenario(options: Mapping[str, Any]) -> None:
    """Refuse options whose values the file of the scenario already fixes; an option that is None was not used."""
    faults = [
        Fault(name, f"{value:g}" if isinstance(value, float) else str(value), "goes without --scenario, whose file says it")
        for name, value in options.items()
        if value is not None
    ]
    if faults:
        raise InvalidInstanceError(faults)


def read_scenario(file: Path, kind: type[Scenario]) -> Scenario:
    """A scenario of one kind from its file."""
    problem = load(file)
    if not isinstance(problem, kind):
        wanted = kind.model_fields["kind"].default
        raise InvalidInstanceError([Fault("kind", problem.kind, f"must be {wanted}")], str(file))
    return problem


RUN_FILES = ("scenario.json", "run.json", "timeline.csv", "timeline.png")
"""Files that a run is written to."""


def save_run(
    out: Path,
    force: bool,
    scenario: Problem,
    solution: Solution,
    save_timeline: Callable[[Path], None],
    draw: Callable[[Path], None],
) -> None:
    """Write scenario.json, run.json, timeline.csv and timeline.png; the figure only where matplotlib is installed."""
    with filling(out, force=force) as folder:
        save(scenario, folder / "scenario.json")
        solution.save(folder / "run.json")
        save_timeline(folder / "timeline.csv")
        try:
            draw(folder / "timeline.png")
        except BackendUnavailableError as error:
            say(errors(), f"timeline.png is left out: {error}")
    say(output(), f"written to {out}")
