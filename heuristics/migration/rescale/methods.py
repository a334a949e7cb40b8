"""Methods for rescalings: annealing from several starts, and the rules that users follow today as its baselines."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Method, Options, get_method, run_method
from edrp.core.problem import derived_once
from edrp.core.solution import Answer
from edrp.heuristics.migration.rescale.annealed_ranges import RangeSearch
from edrp.heuristics.migration.rescale.range_arrays import RangeArrays, Replicas, range_arrays
from edrp.heuristics.migration.rescale.range_starts import (
    best_answer,
    evaluated_answer,
    meet_rules,
    packed_start,
    present_start,
    ranges_on,
    repaired_starts,
    sequential_starts,
)
from edrp.heuristics.note_wording import judged_answer
from edrp.heuristics.placement.ds2 import Ds2, Ds2Parameters
from edrp.heuristics.placement.filling import overload_answer
from edrp.migration.rescale.arrays import KeyedArrays, as_edrp, compile_rescale
from edrp.migration.rescale.documents import even_boundaries
from edrp.migration.rescale.metrics import RESCALE_PARTS
from edrp.migration.rescale.problem import RescaleProblem
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment

EVEN_STEPS = 20_000
"""Moves of the short search with even loads that provides one of the starts."""


@dataclass(frozen=True, slots=True)
class RangeAnnealingParameters:
    """Parameters of annealing over ranges.

    Attributes
    ----------
    runs : number of runs; every second one goes on from the best known. None for 10, and under a limit for as many as it allows.
    steps : moves tried per run; None for 20,000 per operator.
    hot, cold : temperatures at both ends, relative to the objective.
    """

    runs: int | None = None
    steps: int | None = None
    hot: float = 0.05
    cold: float = 2e-4

    def __post_init__(self) -> None:
        if (self.runs is not None and self.runs < 1) or (self.steps is not None and self.steps < 1):
            raise ValueError(f"runs and steps must be at least 1, got {self.runs} and {self.steps}")
        if not 0 < self.cold <= self.hot:
            raise ValueError(f"temperatures must satisfy 0 < cold <= hot, got cold={self.cold}, hot={self.hot}")


class RangeAnnealing(Method):
    """Annealing from the current deployment, from few and many replicas, and from EDRP with the fewest bytes."""

    name = "range-annealing"
    kinds = ("rescale",)
    takes = RESCALE_PARTS
    summary = "simulated annealing over replicas, key ranges and nodes together, never worse than keeping or EDRP then SSM"
    parameters = RangeAnnealingParameters

    def run(self, problem: RescaleProblem, options: Options) -> Answer:
        """Anneal until all runs are done or the limit is reached."""
        parameters: RangeAnnealingParameters = self.read_parameters(options)
        if clashes := problem.clashes():
            return Answer("none", "finished", notes=clashes)
        arrays = compile_rescale(problem)
        # Collect starts: the given deployment, the current one as it is and repaired, and few to many replicas. Those that
        # break rules are changed until they break none, as far as single replicas help.
        deployments = [present_start(arrays, deployment) for deployment in (options.start, arrays.problem.current)]
        filled = [packed_start(arrays, share) for share in (0.0, 0.3, 1.0)]
        starts: list[Replicas] = []
        ruled = [meet_rules(arrays, start) for start in (*deployments, *filled) if start is not None]
        for start in [*ruled, *repaired_starts(arrays)]:
            if start not in starts:
                starts.append(start)
        try:
            kernel_arrays = range_arrays(arrays)
            starts += sequential_starts(arrays, even_load_nodes(arrays, kernel_arrays, starts, options))
            search = RangeSearch(kernel_arrays, starts)
        except OutOfTimeError:
            best = best_answer(arrays, starts, "a start")
            return Answer("none", "time_limit") if best is None else replace(best, stopped_because="time_limit")
        steps = parameters.steps or 20_000 * len(arrays.tasks)
        stopped = search.anneal(options, parameters.runs, steps, (parameters.hot, parameters.cold))
        # Limits that hold up to rounding are judged by the evaluator; a start that it accepts is not lost.
        answer = evaluated_answer(arrays, search.replicas(), stopped, "the best deployment met")
        best_start = best_answer(arrays, starts, "a start") if answer.decision is None else None
        return (
            replace(best_start, stopped_because=stopped) if best_start is not None and best_start.decision is not None else answer
        )


def even_load_nodes(arrays: KeyedArrays, kernel_arrays: RangeArrays, starts: list[Replicas], options: Options) -> Deployment:
    """Choose nodes of all replicas by a short search in which load and state are split evenly, as in EDRP."""
    even = without_tasks(arrays, kernel_arrays)
    nodes = [[[(u, 0, 0) for u in sorted(u for u, _, _ in replicas)] for replicas in start] for start in starts]
    search = RangeSearch(even, nodes)
    search.anneal(replace(options, progress=None), 1, EVEN_STEPS, (0.05, 1e-3))
    names = arrays.compiled.nodes
    return Deployment(
        {
            name: [names[u] for u, _, _ in replicas]
            for name, replicas in zip(arrays.compiled.operators, search.replicas(), strict=True)
        }
    )


def without_tasks(arrays: KeyedArrays, kernel_arrays: RangeArrays) -> RangeArrays:
    """Return the arrays of the same problem with even loads instead of tasks."""
    size, nodes = kernel_arrays.candidate.shape
    return kernel_arrays._replace(
        tasks=np.zeros(size, np.int64),
        offset=np.arange(size),
        work=np.zeros(size),
        held_bytes=np.zeros((size, nodes)),
        missing_bytes=np.zeros((size, nodes)),
        state_size=np.array([arrays.operator(i).total_state for i in range(size)]),
    )


DEFAULT_EDRP_UNITS = 10.0
"""Units of work for EDRP where there is no limit."""

EDRP_LIMIT_SHARE = 0.6
"""Share of a limit that is spent on EDRP."""


class RescaleRule(Method):
    """Base of the baselines; no answer but a note where the rule breaks a limit."""

    kinds = ("rescale",)
    takes = RESCALE_PARTS

    def run(self, problem: RescaleProblem, options: Options) -> Answer:
        """Follow the rule."""
        self.read_parameters(options)
        return self.decide(compile_rescale(problem), options)

    @abstractmethod
    def decide(self, arrays: KeyedArrays, options: Options) -> Answer:
        """Return the answer of the rule."""


class KeepCurrent(RescaleRule):
    """Keeps the current deployment as it is."""

    name = "keep"
    summary = "changes nothing"

    def decide(self, arrays: KeyedArrays, options: Options) -> Answer:
        """Return the current deployment."""
        current = arrays.problem.current
        if current is None:
            return Answer("none", "finished", notes=("there is no current deployment to keep",))
        return judged_answer(arrays.problem, current, "the current deployment")


class RepairRanges(RescaleRule):
    """The current deployment, with overloaded ranges split, neighbours on a node joined, and replicas moved off overfull nodes.

    Repairs are made for three target utilisations, next to deployments from scratch; the best one is the answer. That takes
    milliseconds.
    """

    name = "repair-ranges"
    summary = "splits overloaded ranges, joins idle ones and relieves full nodes of what runs"

    def decide(self, arrays: KeyedArrays, options: Options) -> Answer:
        """Return the best of the repaired deployments and those from scratch."""
        if clashes := arrays.problem.clashes():
            return Answer("none", "finished", notes=clashes)
        best = best_answer(arrays, repaired_starts(arrays), "what runs as repaired")
        return Answer("none", "finished") if best is None else best


class EdrpThenSsm(RescaleRule):
    """EDRP decides replicas and nodes as if load and state were split evenly, then ranges are chosen that move the least.

    Of six tolerances for the ranges the best answer is taken.
    """

    name = "edrp-then-ssm"
    summary = "EDRP with even loads, then the key ranges that move the fewest bytes on its nodes, at the best of six tolerances"

    def decide(self, arrays: KeyedArrays, options: Options) -> Answer:
        """Solve EDRP first, then choose the ranges on its nodes."""
        edrp = as_edrp(arrays.problem)
        with derived_once(edrp):
            units = DEFAULT_EDRP_UNITS if options.limit == inf else EDRP_LIMIT_SHARE * options.remaining
            alone = replace(options.within(units), start=None, program=None, parameters={})
            first = run_method(get_method("auto", "edrp").resolve(edrp), edrp, alone)
        if first.decision is None:
            reason = f"EDRP with even loads is {first.status}" if first.status != "none" else "EDRP with even loads found nothing"
            return Answer("none", first.stopped_because, notes=(reason, *first.notes))
        best = best_answer(arrays, sequential_starts(arrays, first.decision), "the answer on the nodes of EDRP")
        if best is None:
            return Answer("none", "finished", notes=("no key ranges keep the replicas that EDRP chose stable",))
        return replace(best, stopped_because=first.stopped_because)


class Ds2EvenRanges(RescaleRule):
    """Replicas by the DS2 rule, even ranges as Flink's key groups, and the best nodes for them that a search finds."""

    name = "ds2-even-ranges"
    summary = "Flink's way: replicas by the DS2 rule for a utilisation of 0.7, even key ranges, the best nodes for them"
    parameters = Ds2Parameters

    def decide(self, arrays: KeyedArrays, options: Options) -> Answer:
        """Compute numbers of replicas first, then search for nodes."""
        deployment, notes = ds2_nodes(arrays, self.read_parameters(options))
        if deployment is None:
            return Answer("none", "finished", notes=notes)
        numbers = [len(deployment[name]) for name in arrays.compiled.operators]
        # Make even ranges on given nodes, in the order of the nodes.
        index = {name: u for u, name in enumerate(arrays.compiled.nodes)}
        start: Replicas = []
        for tasks, name in zip(arrays.tasks, arrays.compiled.operators, strict=True):
            nodes = [index[node] for node in deployment[name]]
            ends = even_boundaries(tasks.count, len(nodes))
            start.append([(u, a, b) for u, a, b in zip(nodes, ends, ends[1:], strict=False)])
        kernel_arrays = range_arrays(arrays)
        fixed = kernel_arrays._replace(
            even_ranges=True, min_replicas=np.array(numbers, np.int64), max_replicas=np.array(numbers, np.int64)
        )
        return _search_nodes(arrays, RangeSearch(fixed, [start]), options, self.name, notes)


class EvenRanges(RescaleRule):
    """Numbers of replicas and nodes decided together for even ranges, with the true share of each of them, by a search."""

    name = "even-ranges"
    summary = "even key ranges as Flink's, numbers of replicas and nodes decided together by a search"

    def decide(self, arrays: KeyedArrays, options: Options) -> Answer:
        """Search with even ranges only."""
        even = arrays.problem.replace(ranges="even")
        even_arrays = compile_rescale(even)
        if clashes := even.clashes():
            return Answer("none", "finished", notes=clashes)
        starts = [present_start(even_arrays, even.current), *(packed_start(even_arrays, share) for share in (0.0, 0.3, 1.0))]
        search = RangeSearch(range_arrays(even_arrays), [start for start in starts if start is not None])
        return _search_nodes(arrays, search, options, self.name, ())


class StickyRanges(RescaleRule):
    """Kafka Streams' way: every replica gets about the same number of tasks, and keeps as much of its state as that allows.

    Numbers of replicas and nodes are those of the DS2 rule. Ranges hold at most ⌈m/r⌉ tasks, whatever their work.
    """

    name = "sticky-ranges"
    summary = "Kafka Streams' way: replicas by the DS2 rule, equal numbers of tasks, as much state as possible stays where it is"
    parameters = Ds2Parameters

    def decide(self, arrays: KeyedArrays, options: Options) -> Answer:
        """Numbers and nodes first, then ranges of equal numbers of tasks."""
        deployment, notes = ds2_nodes(arrays, self.read_parameters(options))
        if deployment is None:
            return Answer("none", "finished", notes=notes)
        index = {name: u for u, name in enumerate(arrays.compiled.nodes)}
        replicas: Replicas = []
        for i, name in enumerate(arrays.compiled.operators):
            nodes = [index[node] for node in deployment[name]]
            ranges = ranges_on(arrays, i, nodes, 0.0, by_number=True)
            assert ranges is not None
            replicas.append(ranges)
        answer = evaluated_answer(arrays, replicas, "finished", self.name)
        return replace(answer, notes=(*notes, *answer.notes))


def ds2_nodes(arrays: KeyedArrays, parameters: Ds2Parameters) -> tuple[Deployment | None, tuple[str, ...]]:
    """Choose nodes by the DS2 rule with even loads, and notes; None where an operator gets no replica."""
    edrp = as_edrp(arrays.problem)
    with derived_once(edrp):
        compiled = compile_problem(edrp)
        if (hopeless := overload_answer(compiled)) is not None:
            return None, hopeless.notes
        filling = Ds2().fill(compiled, parameters)
    notes = tuple(filling.notes)
    return (compiled.deployment(filling.counts) if filling.counts.any(axis=1).all() else None), notes


def _search_nodes(arrays: KeyedArrays, search: RangeSearch, options: Options, name: str, notes: tuple[str, ...]) -> Answer:
    stopped = search.anneal(options, BASELINE_RUNS, BASELINE_STEPS * len(arrays.tasks), (0.05, 2e-4))
    answer = evaluated_answer(arrays, search.replicas(), stopped, name)
    return replace(answer, notes=(*notes, *answer.notes))


BASELINE_RUNS, BASELINE_STEPS = 4, 10_000
"""Runs of the search for nodes, and moves per operator in each."""

METHODS = (RangeAnnealing(), KeepCurrent(), RepairRanges(), EdrpThenSsm(), Ds2EvenRanges(), EvenRanges(), StickyRanges())
"""Methods for problems of kind `rescale`."""
