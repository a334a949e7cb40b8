"""The snapshot problem of enactment as a program, exact for all of eq. 1: "hosts".

A binary column for each composition (hosts of each type) that may be optimal makes the ratios of eq. 1 linear:
used resources are split among the compositions, so that each divides by the capacity of its own hosts. Equal hosts are not
distinguished: solvers find that symmetry themselves, and rows that break it made the slowest proofs twice as slow (HiGHS).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from edrp.backends.conditioning import TINY
from edrp.core.arrays import Floats, Ints
from edrp.core.problem import derived
from edrp.core.program import Linear, Program
from edrp.core.tolerances import INCUMBENT_SLACK
from edrp.enactment.change_prices import named_as_running
from edrp.enactment.containers import Host
from edrp.enactment.snapshot import EnactmentArrays, EnactmentProblem
from edrp.formulations.enactment.aggregate import add_host_rows, late_items, sharpened
from edrp.formulations.enactment.host_patterns import packed_by_patterns
from edrp.formulations.enactment.packing import (
    Compositions,
    Contents,
    composition_objective,
    compositions,
    enactment_arrays,
)
from edrp.formulations.formulation import Formulation, best_feasible, best_rated


@dataclass(frozen=True, slots=True)
class EnactmentFormulation(Formulation):
    """A snapshot formulated as a program.

    Attributes
    ----------
    compositions : compositions that have a column, with the packing that a solver starts from.
    slots : shape (S,): type of each host that may be leased.

    Examples
    --------
    A snapshot with rows of one's own: no more than two instances on a host.

    >>> problem = EnactmentProblem(
    ...     application={"operators": [{"name": "filter", "processing_duration": 0.5, "external_rate": 6.0,
    ...         "resources": {"cpu": 1, "memory": 2}, "max_instances": 3}]},
    ...     host_types=[{"name": "small", "resources": {"cpu": 4, "memory": 6}, "price": 1.0, "billing_time": 600.0}],
    ...     weights={"free_resources": 0},
    ... )
    >>> formulation = formulate_enactment(problem, allowance=1.0)
    >>> for number, columns in enumerate(formulation.program["instances"]):
    ...     formulation.program.add_row(f"two on {number}", Linear.of(columns), upper=2)
    >>> from edrp.formulations.methods import solve_formulation
    >>> solve_formulation(formulation).objective
    2.0
    """

    arrays: EnactmentArrays
    compositions: Compositions
    slots: Ints

    @property
    def current(self) -> tuple[Host, ...] | None:
        """The better of the running hosts and of the packing found on the way, as far as they are feasible."""
        return _known(self.problem, self.arrays, self.compositions)[1]

    @property
    def limits(self) -> Mapping[str, str]:
        """Instances that the load needs, those that are allowed, resources, and rules."""
        needed = {"fewest": "instances that the load needs", "most": "max_instances"}
        return {**needed, "capacity": "resources of the hosts", "apart": "rules"}

    def decode(self, values: Floats) -> tuple[Host, ...]:
        """Leased hosts with their instances."""
        program = self.program
        hosts = self.compositions.counts[int(values[program["composition"]].argmax())]
        contents = np.rint(values[program["instances"]]).astype(np.int64)
        slots = [slot for kind, count in enumerate(hosts) for slot in np.flatnonzero(self.slots == kind)[:count]]
        if self.problem.changes is not None:
            slots = np.flatnonzero(values[program["open"]] > 0.5).tolist()
        return _named_hosts(self.problem, self.arrays, self.slots[slots].tolist(), contents[slots])

    def encode(self, decision: Sequence[Host]) -> Floats | None:
        """A starting point; None for a composition without a column."""
        sizes, program = self.arrays.sizes, self.program
        if self.problem.changes is not None:
            decision = named_as_running(self.problem.current, decision)
        kinds = np.array([sizes.type_names.index(host.type) for host in decision], np.int64)
        hosts = np.bincount(kinds, minlength=len(sizes.types))
        chosen = np.flatnonzero((self.compositions.counts == hosts).all(axis=1))
        if not chosen.size:
            return None
        contents = np.array([[host.instances.get(name, 0) for name in sizes.operator_names] for host in decision], np.int64)
        contents = contents.reshape(len(decision), len(sizes.operators))
        start = np.full(program.columns, np.nan)
        start[program["composition"]] = np.arange(self.compositions.counts.shape[0]) == chosen[0]
        start[program["count"]] = contents.sum(axis=0)
        start[program["instances"]] = 0.0
        for kind, host_type in enumerate(sizes.types):
            mine, slots = contents[kinds == kind], np.flatnonzero(self.slots == kind)
            if self.problem.changes is not None:
                running = [host.name for host in self.problem.current if host.type == host_type.name]
                names = [host.name for host in decision if host.type == host_type.name]
                further = iter(range(len(running), slots.size))
                slots = slots[[running.index(name) if name in running else next(further) for name in names]]
                start[program["open"][self.slots == kind]] = 0.0
                start[program["open"][slots]] = 1.0
            start[program["instances"][slots[: len(mine)]]] = mine
        return start

    @property
    def bound(self) -> float | None:
        """The least bound of all compositions."""
        return _known(self.problem, self.arrays, self.compositions)[0]

    def objective_at(self, values: Floats, decision: Sequence[Host]) -> float:
        """Objective (eq. 1) of the composition and the counts, without a solver's tolerance on the shares used."""
        if self.problem.changes is not None:
            return float(self.problem.evaluate(decision).objective)
        hosts = self.compositions.counts[int(values[self.program["composition"]].argmax())]
        return composition_objective(self.arrays, hosts, np.rint(values[self.program["count"]]))


def formulate_enactment(problem: EnactmentProblem, program: str = "hosts", *, allowance: float = 0.0) -> EnactmentFormulation:
    """Formulate a snapshot (cost-efficient enactment, eq. 1) as the program "hosts".

    Parameters
    ----------
    allowance
        By how much the objective may exceed that of the best packing found on the way. At 0 the program knows only hosts
        that can be part of an optimum; additional rows may need more expensive ones.

    Raises
    ------
    UnsupportedProblemError
        When hosts cost nothing and no limit keeps their number finite.
    ProblemTooLargeError
        When there are too many combinations of host types to look at.
    """
    started = perf_counter()
    arrays, useful = _composed(problem) if allowance == 0.0 else _composed_within(problem, allowance)
    built = Program()
    max_counts = useful.counts.max(axis=0, initial=0)
    if problem.changes is not None:
        running = np.array([sum(host.type == name for host in problem.current) for name in arrays.sizes.type_names])
        max_counts = np.where(max_counts > 0, np.maximum(max_counts, running), 0)
    slots = np.repeat(np.arange(len(max_counts)), max_counts)
    position = np.concatenate([np.arange(count) for count in max_counts])
    open_slot = useful.counts[:, slots] > position  # (C, S): whether a composition leases the host
    _add_columns(built, arrays, useful, slots)
    _add_count_rows(built, arrays)
    room = np.minimum(arrays.sizes.room[slots], arrays.max_counts)
    leasing, leased = built["composition"], open_slot.T.astype(float)
    if problem.changes is not None:
        leasing, leased = _add_open_columns(built, useful, slots), np.eye(slots.size)
    add_host_rows(built, arrays.sizes, slots, room, leasing, leased)
    _add_apart_rows(built, [[arrays.sizes.operator_names.index(name) for name in group] for group in problem.apart], room)
    objective = Linear.of(built["composition"], useful.counts @ arrays.price)
    late = late_items(built, arrays)
    free = _free_shares(built, arrays, useful)
    _add_bound_row(built, objective + free, late, arrays, useful)
    objective += late
    objective += free
    if problem.changes is not None:
        objective += _start_prices(built, problem, arrays, slots)
    built.minimise(objective)
    return EnactmentFormulation(problem, program, built, objective, perf_counter() - started, arrays, useful, slots)


def bound_and_hosts(problem: EnactmentProblem) -> tuple[float | None, tuple[Host, ...] | None]:
    """The least bound of all compositions, and the better of the running hosts and of the packing of one."""
    return _known(problem, *_composed(problem))


@derived
def _composed(problem: EnactmentProblem) -> tuple[EnactmentArrays, Compositions]:
    """The problem as arrays, and the compositions that may be optimal."""
    return _composed_within(problem, 0.0)


def _composed_within(problem: EnactmentProblem, allowance: float) -> tuple[EnactmentArrays, Compositions]:
    arrays = enactment_arrays(problem)
    if problem.changes is not None:
        return arrays, _compositions_with_changes(problem, arrays, allowance)
    return arrays, packed_by_patterns(arrays, sharpened(arrays, compositions(arrays, allowance), allowance), allowance)


def _known(
    problem: EnactmentProblem, arrays: EnactmentArrays, found: Compositions
) -> tuple[float | None, tuple[Host, ...] | None]:
    decisions = [problem.current] if problem.current else []
    if found.types is not None and found.contents is not None:
        decisions.append(_named_hosts(problem, arrays, found.types, found.contents))
    bound = float(found.bounds.min()) if found.bounds.size and found.contents is not None else None
    return bound, best_feasible(problem, decisions)


def _named_hosts(
    problem: EnactmentProblem, arrays: EnactmentArrays, types: Sequence[int], contents: Contents
) -> tuple[Host, ...]:
    """Hosts; where changes have prices, under the names with which the least starts."""
    hosts = _hosts(arrays, types, contents)
    return hosts if problem.changes is None else named_as_running(problem.current, hosts)


def _compositions_with_changes(problem: EnactmentProblem, arrays: EnactmentArrays, allowance: float) -> Compositions:
    """Compositions that may be optimal where changes have prices, which no bound contains: they exceed the bound by these."""
    found = compositions(arrays)
    if found.types is None or found.contents is None:  # the optimum has the fewest instances, on a host each, at worst
        objective = best_rated(problem, [problem.current] if problem.current else [])[0]
        extra = (arrays.start_instance + arrays.start_host) * float(arrays.min_counts.sum())
    else:
        packing = _named_hosts(problem, arrays, found.types, found.contents)
        objective = min(problem.evaluate(packing).objective, best_rated(problem, [problem.current or None])[0])
        extra = max(0.0, objective - found.objective)
    useful = compositions(arrays, allowance + extra)
    return replace(useful, objective=objective).that_may_be_optimal(allowance)


def _add_open_columns(program: Program, compositions: Compositions, slots: Ints) -> Ints:
    """Columns `open` (S,): whether a host is leased; the first of each type run now. Rows `open`: as many as are composed."""
    columns, composition = program.add_columns("open", slots.size, upper=1.0, integer=True), program["composition"]
    kinds = np.arange(compositions.counts.shape[1])
    entries = [(slots, columns, 1.0), (kinds[:, None], composition[None, :], -compositions.counts.T.astype(float))]
    program.add_rows("open", kinds.size, entries, lower=0.0, upper=0.0)
    return columns


def _start_prices(program: Program, problem: EnactmentProblem, arrays: EnactmentArrays, slots: Ints) -> Linear:
    """Weighted prices of what starts: columns and rows `started` (S, O) are instances beyond those that a host runs now."""
    sizes = arrays.sizes
    now, new = np.zeros((slots.size, len(sizes.operators))), np.ones(slots.size)
    for kind, name in enumerate(sizes.type_names):
        running = [host for host in problem.current if host.type == name]
        for slot, host in zip(np.flatnonzero(slots == kind), running, strict=False):
            now[slot], new[slot] = [host.instances.get(operator, 0) for operator in sizes.operator_names], 0.0
    prices = Linear.of(program["open"], arrays.start_host * new)
    if arrays.start_instance:
        started = program.add_columns("started", now.shape, upper=np.minimum(sizes.room[slots], arrays.max_counts))
        rows = np.arange(now.size).reshape(now.shape)
        entries = [(rows, started, 1.0), (rows, program["instances"], -1.0)]
        program.add_rows("started", now.size, entries, lower=-now.ravel())
        prices += Linear.of(started.ravel(), arrays.start_instance)
    return prices


def _hosts(arrays: EnactmentArrays, types: Sequence[int], contents: Contents) -> tuple[Host, ...]:
    names = arrays.sizes.operator_names
    return tuple(
        Host.model_construct(
            name=f"host-{number}",
            type=arrays.sizes.type_names[kind],
            instances={name: int(count) for name, count in zip(names, row, strict=True) if count},
            images=(),
        )
        for number, (kind, row) in enumerate(zip(types, contents, strict=True), start=1)
    )


def _add_columns(program: Program, arrays: EnactmentArrays, compositions: Compositions, slots: Ints) -> None:
    """Columns `composition` (C,), `instances` (S, O), `count` (O,), the instances on all hosts; row `choice`: one composition."""
    sizes = arrays.sizes
    choices = program.add_columns("composition", len(compositions.counts), upper=1.0, integer=True)
    room = np.minimum(sizes.room[slots], arrays.max_counts)
    program.add_columns("instances", room.shape, upper=room, integer=True)
    program.add_columns("count", len(sizes.operators), upper=room.sum(axis=0), integer=True)

    if not choices.size:  # solvers do not call a program without columns infeasible
        choices = program.add_columns("nothing", 1, upper=0.0)
    program.add_row("choice", Linear.of(choices), lower=1.0, upper=1.0)


def _add_count_rows(program: Program, arrays: EnactmentArrays) -> None:
    """Rows `total`: the count is the sum over the hosts; rows `fewest`, `most`: it serves the load and keeps to the limit."""
    instances, count = program["instances"], program["count"]
    operators = np.arange(count.size)
    program.add_rows("total", count.size, [(operators[:, None], instances.T, 1.0), (operators, count, -1.0)], lower=0, upper=0)
    program.add_rows("fewest", count.size, [(operators, count, 1.0)], lower=arrays.min_counts)
    program.add_rows("most", count.size, [(operators, count, 1.0)], upper=arrays.max_counts)


def _add_apart_rows(program: Program, groups: Sequence[Sequence[int]], room: Floats) -> None:
    """Rows `present`: a binary column for a host (S,) and an operator of a group says whether it has instances there.

    Rows `apart`: of each group one operator at most has instances on a host.
    """
    operators = sorted({operator for group in groups for operator in group})
    if not operators:
        return
    present = program.add_columns("present", (len(room), len(operators)), upper=1.0, integer=True)
    row = np.arange(present.size).reshape(present.shape)
    entries = [(row, program["instances"][:, operators], 1.0), (row, present, -room[:, operators])]
    program.add_rows("present", present.size, entries, upper=0.0)
    host = np.arange(len(room))[:, None]
    columns = [present[:, [operators.index(operator) for operator in group]] for group in groups]
    entries = [(host + rank * len(room), group, 1.0) for rank, group in enumerate(columns)]
    program.add_rows("apart", len(groups) * len(room), entries, upper=1.0)


def _free_shares(program: Program, arrays: EnactmentArrays, compositions: Compositions) -> Linear:
    """Weighted free shares (eq. 1): columns `used` (C, R) hold the use of each composition, in shares of its capacity.

    Rows `used`: the shares of the chosen one add up to the needs of all instances; rows `offered`: others use nothing.
    """
    sizes, composition, count = arrays.sizes, program["composition"], program["count"]
    offered = compositions.counts @ sizes.capacity
    if arrays.filling == 0 or not offered.any():
        return Linear.zero()
    used = program.add_columns("used", offered.shape, upper=offered > 0)
    largest = offered.max(axis=0)
    resources = np.flatnonzero(largest)
    rows = np.arange(resources.size)
    scale = largest[resources]
    entries = [
        (rows[:, None], count[None, :], -sizes.needs.T[resources] / scale[:, None]),
        (rows[:, None], used.T[resources], offered.T[resources] / scale[:, None]),
    ]
    program.add_rows("used", resources.size, entries, lower=0.0, upper=0.0)
    cells = np.arange(used.size).reshape(used.shape)
    program.add_rows("offered", used.size, [(cells, used, 1.0), (cells, composition[:, None], -1.0)], upper=0.0)
    share = (offered > 0).sum(axis=1).astype(float)
    return (Linear.of(composition, share) - Linear.of(used)) * arrays.filling


def _add_bound_row(program: Program, others: Linear, late: Linear, arrays: EnactmentArrays, compositions: Compositions) -> None:
    """Row `bound`: the objective is at least the bound of the composition by its resources in aggregate.

    Solvers drop tiny coefficients, and an optimum that meets its bound would break the row then. So tiny penalties count as
    the most that they can come to, a constant.
    """
    if np.isfinite(compositions.bounds).all() and compositions.bounds.size:
        scale = max(1.0, float(np.abs(compositions.bounds).max()))
        bound_terms = Linear.of(program["composition"], compositions.bounds - INCUMBENT_SLACK / 2 * scale)
        largest = float(np.abs(others.coefficients).max(initial=1.0))
        if arrays.late < TINY * largest:
            late = Linear.zero() + arrays.late * float(arrays.violations(arrays.min_counts).sum())
        program.add_row("bound", others + late - bound_terms, lower=0.0)
