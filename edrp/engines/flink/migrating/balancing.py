"""A watched job whose changes are moves of tasks between the workers of its live operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from edrp.core.errors import numbered
from edrp.engines.advice import Advice, Verdict, advise
from edrp.engines.applying import Applied, Migration, Note, PlannedChange, WatchSettings
from edrp.engines.clock import Clock
from edrp.engines.downtime import NOTHING, DowntimeParts
from edrp.engines.errors import EngineError
from edrp.engines.estimates import Estimate
from edrp.engines.fit import JobFit
from edrp.engines.flink.migrating.control_log import ControlLog, control_path, read_log_file
from edrp.engines.flink.migrating.discovery import LiveJob, LiveOperator, LiveReader, with_work_between
from edrp.engines.flink.migrating.driver import REVERSE, Transfer, carry_out, refuse_large_tasks, refuse_unsafe, unfinished_plan
from edrp.engines.flink.migrating.moves import Steps, TaskMove, forecasts, reversed_steps, tables_after, task_moves
from edrp.engines.flink.migrating.planning import PlanMethod, PlanWish, plan_from_loads
from edrp.engines.flink.running import FlinkJob
from edrp.engines.goals import Goals
from edrp.engines.observation import Observation, OperatorObservation
from edrp.placement.deployment import Deployment
from edrp.placement.network import Network

TOLERANCE = 0.2
"""Work of the busiest worker over the mean, less 1, up to which tasks stay where they are."""

PLANNED_TOLERANCE = 0.5 * TOLERANCE
"""That of plans, where there is one: a balance at the edge of `TOLERANCE` would not last."""

MIN_GAIN = 0.05
"""Least share by which the busiest worker must have less to do, for tasks to move between as many workers."""

SILENCE_SPREAD = 3.0
"""Upper end of the interval of the longest wait, as a multiple of what is expected."""

MICROSECONDS_PER_SECOND = 1_000_000

ORIGIN = "watch"
"""Stands in the control log for who made a plan."""

METHODS: tuple[tuple[PlanMethod, float], ...] = (
    ("ssm", PLANNED_TOLERANCE),
    ("ssm", TOLERANCE),
    ("rescale", TOLERANCE),
)
"""Methods with their tolerances in the order in which they are tried; the last takes any table."""


@dataclass(frozen=True, slots=True)
class _Proposal:
    """Moves of tasks.

    Attributes
    ----------
    unplanned : why there is no plan, by operator.
    objections : what speaks against moving anything, in sentences: an operator that needs other workers has no plan.
    """

    steps: Steps = ()
    unplanned: Mapping[str, str] = field(default_factory=dict)
    objections: tuple[str, ...] = ()


class LiveFlinkJob(FlinkJob):
    """The job at an address, whose live operators have the workers with tasks as replicas."""

    def __init__(self, address: str, settings: WatchSettings, clock: Clock) -> None:
        super().__init__(address, settings, clock)
        self._migration = settings.migration or Migration()
        self._reader = LiveReader(self.address, settings.job, clock)
        self._live: LiveJob | None = None
        self._proposal = _Proposal()

    def observe(self, job: str | None) -> Observation:
        """Observe a job and the work of each task meanwhile, by GET requests only."""
        before, began = self._reader.discover(), self._clock.time()
        seen = super().observe(job)
        live = with_work_between(before, self._reader.discover(), self._clock.time() - began)
        self._live = live
        # The observation without workers that have no tasks, whose slots count as free: tasks can move there.
        operators = tuple(_used(operator, live) for operator in seen.operators)
        used = replace(seen, operators=operators, live=True, follows_slots=False)
        freed = {node: slots - used.own_slots.get(node, 0) for node, slots in seen.own_slots.items()}
        nodes = tuple(replace(node, free_slots=node.free_slots + freed.get(node.name, 0)) for node in seen.nodes)
        return replace(used, nodes=nodes)

    def advise(self, fit: JobFit, goals: Goals, network: Network | None) -> Advice:
        """Advise on numbers of workers with tasks, as if these were balanced, and move tasks where they are not."""
        assert self._live is not None
        # The live operators by the names of their chains.
        pairs = ((operator.name, _live_operator(operator, self._live)) for operator in fit.observation.operators)
        live = {name: operator for name, operator in pairs if operator is not None}
        balanced = replace(
            fit,
            operators=tuple(replace(o, skew=min(o.skew, 1 + TOLERANCE)) if o.name in live else o for o in fit.operators),
        )
        advice = advise(balanced, goals, network)
        uneven = {name: why for name in live for why in _faults(name, live[name], self._live.uptime, goals.busy_limit)}
        if not advice.recommended:
            assert advice.problem.current is not None
            advice = replace(advice, plan=advice.problem.current)
        counts = {name: advice.plan.degree(name) for name in live}
        changed = {name: n for name, n in counts.items() if n != len(set(live[name].workers)) or name in uneven}
        self._proposal = _proposal({name: (live[name], n) for name, n in changed.items()}, self._live, self._migration.pace)
        steps = self._proposal.steps
        verdict: Verdict = advice.verdict
        if not advice.recommended and uneven:
            limited = any(why.startswith("busy_limit") for why in uneven.values())
            verdict = ("repair" if limited else "move") if steps else "stuck" if limited else verdict
        # A tuple waits for its task as long as the longest step at most, if nothing is in its way.
        longest = max((step.seconds for step in forecasts(steps, self._live, self._migration.pace)), default=0.0)
        silence = Estimate(longest, 0.0, SILENCE_SPREAD * longest)
        return replace(
            advice,
            verdict=verdict,
            broken=(*advice.broken, *uneven.values(), *self._proposal.unplanned.values()),
            moved_tasks=Counter(move.operator for step in steps for move in step),
            downtime=DowntimeParts(NOTHING, silence, NOTHING, NOTHING, NOTHING, live=True),
        )

    def objections(self, change: PlannedChange) -> list[str]:
        """Reasons against moving tasks now: no plan, checkpoints that would not carry it, or another plan under way."""
        found = list(self._proposal.objections)
        assert self._live is not None
        try:
            refuse_unsafe(self._live, self.address)
            refuse_large_tasks(self._proposal.steps, self._live, self._migration.pace)
            path = control_path(self._live.control, self._migration.control)
            unfinished_plan(read_log_file(path), self._live, None, str(path))
        except EngineError as error:
            found.append(error.why)
        return found

    def apply(self, change: PlannedChange, note: Note) -> Applied:
        """Move the tasks, or those of the last plan back, and read back where they are."""
        began, waits = self._clock.time(), [0.0]

        def told(kind: str, **facts: Any) -> None:
            waits.append(facts.get("wait", 0.0))
            numbers = {"number": facts.pop("step")} if "step" in facts else {}
            note("migration", what=kind, **numbers, **facts)

        live = self._reader.discover()
        refuse_unsafe(live, self.address)
        path = control_path(live.control, self._migration.control)
        with ControlLog(path) as control:
            unfinished_plan(control.log, live, None, str(path))
            steps, origin = self._proposal.steps, ORIGIN
            if change.back:
                last = control.log.plans[-1]
                if last.origin != ORIGIN:
                    raise EngineError(str(path), "somebody else has moved tasks since the last change, which is not taken back")
                tables = {name: operator.table for name, operator in live.operators.items()}
                steps, origin = reversed_steps(last.steps, tables), REVERSE + last.key
            carry_out(self._reader, control, live, steps, origin, Transfer(self._migration.pace), told)
        after = self._reader.discover()
        deployment = Deployment(
            {operator.name: _nodes(operator, after) or operator.nodes for operator in change.observation.operators}
        )
        return Applied(after.key, deployment, self._clock.time() - began, max(waits))


def _live_operator(observed: OperatorObservation, live: LiveJob) -> LiveOperator | None:
    return next((live.operators[name] for name in (observed.name, *observed.names) if name in live.operators), None)


def _nodes(observed: OperatorObservation, live: LiveJob) -> tuple[str, ...]:
    """Nodes of the workers with tasks; none of an operator that is not live."""
    operator = _live_operator(observed, live)
    return () if operator is None else tuple(operator.nodes[worker] for worker in sorted(set(operator.workers)))


def _used(observed: OperatorObservation, live: LiveJob) -> OperatorObservation:
    operator = _live_operator(observed, live)
    if operator is None:
        return observed
    held = sorted(set(operator.workers))
    whole = [window for window in observed.windows if window.parallelism == operator.parallelism]
    if operator.parallelism != observed.parallelism or not whole:
        raise EngineError(f"operator {observed.name}", "has been given other workers while it was observed; observe it again")
    return replace(
        observed,
        nodes=_nodes(observed, live),
        windows=tuple(replace(window, subtasks=tuple(window.subtasks[worker] for worker in held)) for window in whole),
        state_sizes=tuple(observed.state_sizes[worker] for worker in held if worker < len(observed.state_sizes)),
        workers=operator.parallelism,
    )


def _work(live: LiveOperator, table: Iterable[int], seconds: float) -> list[float]:
    """Share of time that each worker with tasks would be busy with a table."""
    work: dict[int, float] = {}
    for task, group in enumerate(table):
        busy = live.loads[task].busy if task in live.loads else 0
        work[live.worker(group)] = work.get(live.worker(group), 0.0) + busy / MICROSECONDS_PER_SECOND / max(seconds, 1e-3)
    return list(work.values())


def _faults(name: str, live: LiveOperator, seconds: float, busy_limit: float) -> Iterator[str]:
    """Faults in the places of the tasks of an operator."""
    work = _work(live, live.table, seconds)
    busiest, mean = max(work), sum(work) / len(work)
    if busiest > (1 + TOLERANCE) * mean:
        more = f"{busiest / mean - 1:.0%} more to do than the mean"
        yield f"tolerance: the busiest worker of {name} has {more}, against {TOLERANCE:.0%}"
    if busiest > busy_limit:
        yield f"busy_limit: the busiest worker of {name} is {busiest:.0%} busy against {busy_limit:.0%}"


def _proposal(changed: Mapping[str, tuple[LiveOperator, int]], job: LiveJob, pace: int) -> _Proposal:
    """Moves of each changed operator to its new number of workers, one operator after another."""
    steps: list[tuple[TaskMove, ...]] = []
    unplanned: dict[str, str] = {}
    for name, (live, workers) in changed.items():
        try:
            steps.extend(_steps(live, workers, job, pace))
        except EngineError as error:
            unplanned[name] = f"{name} on {numbered(workers, 'worker')}: {error.why}"
    resized = {name for name, (live, workers) in changed.items() if workers != len(set(live.workers))}
    return _Proposal(tuple(steps), unplanned, tuple(why for name, why in unplanned.items() if name in resized))


def _steps(live: LiveOperator, workers: int, job: LiveJob, pace: int) -> Steps:
    """Moves to `workers` workers by the first method that has a plan; none where they would hardly help."""
    refused: EngineError | None = None
    for method, tolerance in METHODS:
        wish = PlanWish(method, {live.name: workers}, tolerance=tolerance)
        try:
            made = plan_from_loads(job, wish, live.name, float(pace), f"--method {method}")
        except EngineError as error:
            refused = refused or error
            continue
        steps = task_moves(made.steps, job, live.name, f"--method {method}")
        before = _work(live, live.table, job.uptime)
        after = _work(live, tables_after({live.name: live.table}, steps)[live.name], job.uptime)
        helps = max(after) <= (1 - MIN_GAIN) * max(before)
        return steps if helps or workers != len(set(live.workers)) else ()
    assert refused is not None
    raise refused
