"""Families of small problems on which proofs are compared: with all decisions, or backend with backend."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from edrp.core.budget import running
from edrp.core.instances import loads
from edrp.core.kinds import get_kind, kinds
from edrp.datasets.families.migration.rescale import random_rescale
from edrp.datasets.families.placement.random_clusters import random_cluster
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.datasets.families.placement.random_sequence import random_sequence
from edrp.datasets.families.placement.rules import with_gaps, with_rules
from edrp.formulations.methods import formulate
from edrp.validation.fuzzing.features import base_document
from edrp.validation.fuzzing.mutations import field_names, places, set_value

SIZES = {
    "edrp": 4,
    "latency-aware": 4,
    "migration": 12,
    "enactment": 3,
    "leasing": 3,
    "mapping": 3,
    "link-allocation": 4,
    "rescale": 5,
}
"""Largest size of a small program by kind, in what its families count."""

MAX_DECISIONS = 1500.0
"""Number of decisions of a tiny problem with rules, about."""

MAX_OPEN = 500
"""Columns up to which a program that its solver finishes must end with a proof."""

FORMULATION_WORK = 3.0
"""Units of work within which a small program is built."""

SHARE_UNCHANGED = 0.25
"""Share of the problems whose magnitudes stay as drawn."""


def keyed_ranges(kind: str, seed: int) -> Any:
    """A rescaling of one to three operators with tasks, one in four with load scenarios."""
    shapes: tuple[dict[str, Any], ...] = (
        {"keyed": (1, 2), "tasks": (3, 6), "nodes": (2, 3)},
        {"keyed": (2, 2), "tasks": (6, 8), "nodes": (3, 4)},
        {"keyed": (3, 3), "tasks": (6, 6), "nodes": (3, 3)},
    )
    return random_rescale(seed, scenarios=seed % 4 == 3, **shapes[seed % len(shapes)])


def several_rules(kind: str, seed: int) -> Any:
    """A placement with one to four random rules."""
    if kind == "rescale":
        problem: Any = random_rescale(seed, keyed=(1, 2), tasks=(2, 3), nodes=(2, 3))
    else:
        draw: Any = random_problem if kind == "edrp" else random_latency_aware_problem
        problem = draw(seed, operators=(2, 3), nodes=(3, 4), combinations_limit=MAX_DECISIONS)
    return with_gaps(with_rules(problem, seed), seed)


def small_problem(kind: str, size: int, random: np.random.Generator) -> Any:
    """A problem of one of the families of a kind, at most of a size."""
    families = [family for family in get_kind(kind).families if family.kind == kind and not family.packages]
    family = families[int(random.integers(len(families)))]
    return family.make(int(random.integers(family.least_size, max(family.least_size, size) + 1)), random)


def other_magnitudes(kind: str, seed: int) -> Any:
    """A problem whose program is small; most have another magnitude of one of their fields, some priorities or load scenarios.

    Raises
    ------
    EdrpError
        Where the problem that was drawn has no program.
    ValueError
        Where its program is not small.
    """
    random = np.random.default_rng([seed, 36])
    if seed % 10:
        problem = small_problem(kind, SIZES[kind], random)
    else:
        problems: Any = get_kind(kind).check_problems
        checks = problems()
        known = [*checks.feasible().values(), *checks.infeasible().values(), *checks.degenerate().values()]
        problem = known[int(random.integers(len(known)))]
    for change in (_rescaled, _in_turn, _under_loads):
        problem = change(problem, random)
    with running(work_limit=FORMULATION_WORK):
        columns = formulate(problem, None).program.columns
    if columns > MAX_OPEN:
        raise ValueError(f"{columns} columns are not small")
    return problem


def _rescaled(problem: Any, random: np.random.Generator) -> Any:
    """The problem with all numbers of one field at another magnitude; the same where it is refused then."""
    document = problem.model_dump(mode="json")
    by_field: dict[tuple[str, ...], list[Any]] = {}
    for place, value in places(document):
        if isinstance(value, float) and value:
            by_field.setdefault(field_names(place), []).append((place, value))
    if not by_field or random.random() < SHARE_UNCHANGED:
        return problem
    names = sorted(by_field)
    chosen, factor = names[int(random.integers(len(names)))], 10.0 ** random.uniform(-6, 6)
    for place, value in by_field[chosen]:
        set_value(document, place, value * factor)
    return _read_or(problem, document)


def _in_turn(problem: Any, random: np.random.Generator) -> Any:
    """The problem with one to three priorities, one time in three, where its kind has them."""
    if "priorities" not in type(problem).model_fields or random.random() < 2 / 3:
        return problem
    names = random.permutation(sorted(problem.metrics))[: int(random.integers(1, 4))]
    chosen = [{"metric": str(name), "slack": float(random.choice([0.0, 0.01, 0.2]))} for name in names]
    return _read_or(problem, problem.model_dump(mode="json") | {"priorities": chosen})


def _under_loads(problem: Any, random: np.random.Generator) -> Any:
    """The problem with two or three load scenarios, one time in three, where its kind has them."""
    if "scenarios" not in type(problem).model_fields or random.random() < 2 / 3:
        return problem
    weights = random.integers(1, 5, int(random.integers(2, 4)))
    loads = [(float(random.choice([0.01, 0.5, 0.9, 1.05])), weight / weights.sum()) for weight in weights]
    chosen = [{"factor": factor, "probability": float(share)} for factor, share in loads]
    return _read_or(problem, problem.model_dump(mode="json") | {"scenarios": chosen})


def _read_or(problem: Any, document: Any) -> Any:
    try:
        return type(problem).model_validate(document)
    except ValueError:
        return problem


FAMILIES: dict[str, tuple[Callable[[str, int], Any], tuple[str, ...]]] = {
    "plain": (lambda kind, seed: loads(json.dumps(base_document(kind, seed))), tuple(kinds())),
    "keyed ranges": (keyed_ranges, ("rescale",)),
    "equal nodes": (lambda kind, seed: random_cluster(seed, running=seed % 3 == 2), ("edrp",)),
    "longer sequences": (lambda kind, seed: random_sequence(seed, combinations=60), ("edrp-sequence",)),
    "several rules": (several_rules, ("edrp", "latency-aware", "rescale")),
    "other magnitudes": (other_magnitudes, tuple(SIZES)),
}
"""Families with the kinds that they have problems of; plain ones are those that features are written into."""

UNLISTED = ("other magnitudes",)
"""Families of which not all decisions are listed."""
