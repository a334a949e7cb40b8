"""Watching a running job: observe, compare with what was predicted, advise, and apply what no guard objects to.

Guards are limits that the user sets, and what speaks against applying a plan now.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from edrp.core.wording import suggestion
from edrp.engines.advice import Advice
from edrp.engines.applying import PlannedChange
from edrp.engines.clock import Clock
from edrp.engines.day_control import DaySettings, chosen_goals, decide_for_day, decision_fields, observed_seconds, offered_load
from edrp.engines.errors import EngineError, JobGoneError
from edrp.engines.fit import JobFit, fit_job
from edrp.engines.goals import Goals, ReplicaBounds
from edrp.engines.observation import Observation
from edrp.engines.predictions import Prediction, is_waiting, judge, next_width, predict, throughput
from edrp.engines.protocol import WatchedJob
from edrp.engines.watch_journal import MAX_MISSES, Entry, WatchJournal, WatchState, deployment_fields
from edrp.placement.deployment import Deployment
from edrp.placement.network import Network

MAX_BELOW = 2
"""Observations in a row with a throughput below its interval, after which a change is rolled back."""

CHANGE_PATIENCE = 60.0
"""Least seconds to wait until a change runs, after those that the engine may wait by itself."""

Mode = Literal["rescale", "redeploy", "live"]

CLOCK_TOLERANCE = 1.0
"""Seconds by which a clock may be set back."""


@dataclass(frozen=True, slots=True)
class WatchAims:
    """Aims of a watch: goals, the network, limits of what is applied, and how to decide for the day; None: each time anew."""

    goals: Goals
    network: Network | None
    limits: ChangeLimits
    day: DaySettings | None = None


class Watcher:
    """Watches a job; all that it knows is in its journal.

    Parameters
    ----------
    journal
        Its journal; one that holds lines goes on from them.
    tell
        Called with every line of the journal.
    """

    def __init__(
        self, job: WatchedJob, journal: WatchJournal, aims: WatchAims, clock: Clock, tell: Callable[[Entry], object]
    ) -> None:
        self._job, self._journal, self._aims, self._clock, self._tell = job, journal, aims, clock, tell
        self.state = WatchState()
        for entry in journal.entries:
            self.state.take(entry)

    def run(self, every: float, rounds: int | None = None) -> int:
        """Watch until a stop is asked for, or for `rounds` observations; returns how many were made.

        Raises
        ------
        EngineError
            The first observation fails, the job is gone, or the journal is of another job.
        """
        now, last = self._clock.time(), self.state.last_at
        if last is not None and now < last - CLOCK_TOLERANCE:
            why = f"its last line is {last - now:.0f} s ahead of this clock, so that cooldowns cannot be told; set the clock"
            raise EngineError("--journal", why)
        done = 0
        while done != rounds and self._clock.stopping is None:
            try:
                fit = fit_job(self._observe(first=done == 0))
                if self._clock.stopping is not None:
                    break
                if done == 0:
                    bounded_goals(self._aims.goals, self._aims.limits, fit)  # refuses limits that do not fit the job
                self._round(fit)
            except EngineError as error:
                if self._clock.stopping is not None:
                    break
                self._write("error", why=str(error))
                if done == 0 or isinstance(error, JobGoneError):
                    raise
                self._clock.sleep(every)
            done += 1
        self._write("stop", why=self._clock.stopping or "done", rounds=done)
        return done

    def _observe(self, *, first: bool) -> Observation:
        """Observe the job; the first time, say what is watched."""
        if not first:
            return self._job.observe(self.state.key)
        try:
            observation = self._job.observe(self._job.wanted or self.state.job)
        except JobGoneError:
            self._refuse_stopped_job()
            raise
        if self.state.job not in (None, observation.job):
            why = f"the journal is of job {self.state.job!r}, and this is {observation.job!r}; name another journal"
            raise EngineError(self._job.address, why)
        facts = {name: getattr(observation, name) for name in ("engine", "version", "job", "key", "live")}
        if observation.follows_slots:
            facts["follows_slots"] = True
        self._write("start", **facts, limits=asdict(self._aims.limits))
        if self.state.unfinished:
            nodes_of = {operator.name: list(operator.nodes) for operator in observation.operators}
            self._write("action", step="failed", rollback=False, why="the watch ended in between", deployment=nodes_of)
        return observation

    def _refuse_stopped_job(self) -> None:
        """Raise an error that says how to start the job again, where it was stopped and not started."""
        entry = self.state.stopped
        if entry is None:
            return
        why = f"was being stopped with a savepoint; look into {entry.get('folder')}, and start it from there"
        if "location" in entry:
            why = f"was stopped with savepoint {entry['location']} and not started again; start it: {entry['again']}"
        raise JobGoneError(self._job.address, f"job {self.state.job!r} {why}")

    def _round(self, fit: JobFit) -> None:
        current = fit.observation.deployment
        self._write(
            "observation",
            round=self.state.round + 1,
            throughput=throughput(fit),
            waiting=is_waiting(fit),
            operators={operator.name: _operator_fields(operator, current) for operator in fit.operators},
        )
        self._judge(fit, current)
        changed = False
        if self.state.probation is not None and self.state.below >= MAX_BELOW:
            changed = self._roll_back(fit)
        else:
            try:
                changed = self._advise(fit)
            except EngineError as error:
                self._write("error", why=str(error))
                if isinstance(error, JobGoneError):
                    raise
        if not changed:
            self._predict(predict(fit, current, self.state.widths))

    def _judge(self, fit: JobFit, current: Deployment) -> None:
        """Compare the observation with what was predicted of it."""
        prediction, probation = self.state.prediction, self.state.probation
        if prediction is None:
            return
        comparable = all(current.degree(name) == count for name, count in prediction.replicas.items() if name in current)
        if not comparable or prediction.replicas.keys() != set(current):
            self._write("outcome", comparable=False, covered=False, widths={}, below=False, judgements=[])
            return
        downtime = None if probation is None or prediction.downtime is None else _measured_downtime(fit, probation)
        judgements = list(judge(prediction, fit, downtime))
        rate = throughput(fit)
        below = probation is not None and rate < probation["throughput_low"] and (is_waiting(fit) or rate == 0.0)
        self._write(
            "outcome",
            comparable=True,
            covered=all(judgement.covered for judgement in judgements) and not below,
            below=below,
            widths={judged.quantity: next_width(self.state.widths.get(judged.quantity, 1.0), judged) for judged in judgements},
            judgements=[{**asdict(judgement), "error": judgement.error} for judgement in judgements],
        )

    def _decide(self, fit: JobFit, goals: Goals, settings: DaySettings) -> Goals | None:
        """Decide for the day: the goals that fix what was decided, or None where nothing is to be changed."""
        offered = offered_load(fit)
        self._write("offered", **asdict(offered), seconds=observed_seconds(fit))
        mode = self._aims.limits.mode or "rescale"
        decision = decide_for_day(fit, goals, settings, self.state, mode, self._clock.time())
        self._write("decision", **decision_fields(decision))
        return chosen_goals(goals, decision.outlook.replicas) if decision.outlook.change else None

    def _advise(self, fit: JobFit) -> bool:
        """Advise, and apply what nothing speaks against; whether anything was changed."""
        aims = self._aims
        goals = bounded_goals(aims.goals, aims.limits, fit)
        if aims.day is not None:
            decided = self._decide(fit, goals, aims.day)
            if decided is None:
                return False
            goals = decided
        advice = self._job.advise(fit, goals, aims.network)
        prediction = predict(advice.fit, advice.plan, self.state.widths, advice.downtime.silence if advice.changes else None)
        change = PlannedChange(fit.observation, advice.plan, max(CHANGE_PATIENCE, aims.limits.max_downtime or 0.0))
        blocked = list(objections(advice, prediction, aims.limits, self.state, self._clock.time())) if advice.recommended else []
        if advice.recommended and aims.limits.mode is not None:
            blocked += self._job.objections(change)
        self._write("advice", **_advice_fields(advice, prediction), wanted=advice.recommended, blocked=blocked)
        if not advice.recommended or blocked or not self._apply(change, throughput_low=prediction.throughput.low):
            return False
        self._predict(prediction)
        self._clock.sleep(min(self._aims.goals.policy.horizon, advice.downtime.catch_up.high, CHANGE_PATIENCE))
        return True

    def _roll_back(self, fit: JobFit) -> bool:
        """Go back to what ran before the last change, once; whether anything was changed."""
        probation = self.state.probation
        assert probation is not None
        before = Deployment(probation["before"])
        if not self._apply(PlannedChange(fit.observation, before, CHANGE_PATIENCE, back=True), throughput_low=0.0):
            return False
        self._predict(predict(fit, before, self.state.widths))
        return True

    def _apply(self, change: PlannedChange, throughput_low: float) -> bool:
        """Carry out a change; False where it failed, which the journal says."""

        def note(step: str, **facts: Any) -> None:
            self._write("action", step=step, rollback=change.back, **facts)

        before, after = deployment_fields(change.observation.deployment), deployment_fields(change.plan)
        note("begin", mode=self._aims.limits.mode, before=before, after=after)
        try:
            applied = self._job.apply(change, note)
        except EngineError as error:
            note("failed", why=str(error))
            if isinstance(error, JobGoneError):
                raise
            return False
        note(
            "done",
            key=applied.key,
            seconds=applied.seconds,
            downtime=applied.downtime,
            before=before,
            after=deployment_fields(applied.deployment),
            throughput_low=throughput_low,
        )
        return True

    def _predict(self, prediction: Prediction) -> None:
        self._write("prediction", **asdict(prediction))

    def _write(self, kind: str, **facts: Any) -> None:
        entry: Entry = {"at": round(self._clock.time(), 3), "kind": kind, **facts}
        self._journal.write(entry)
        self.state.take(entry)
        self._tell(entry)


def _operator_fields(operator: Any, current: Deployment) -> dict[str, Any]:
    return {"replicas": operator.replicas, "nodes": list(current[operator.name]), "rate": operator.rate, "busy": operator.busy}


def _advice_fields(advice: Advice, prediction: Prediction) -> dict[str, Any]:
    """Verdict, and what of it changes."""
    return {
        "verdict": advice.verdict,
        "broken": list(advice.broken),
        "changes": {
            operator.name: [operator.replicas, operator.proposed]
            for operator in advice.operators
            if operator.proposed != operator.replicas
        },
        "plan": deployment_fields(advice.plan),
        **({"moved_tasks": dict(advice.moved_tasks)} if advice.moved_tasks else {}),
        "busy": {name: asdict(estimate) for name, estimate in prediction.busy.items()},
        "downtime": None if prediction.downtime is None else asdict(prediction.downtime),
    }


def _measured_downtime(fit: JobFit, done: Mapping[str, Any]) -> float | None:
    """Seconds without processing of the last change: as it was measured then, or as the engine remembers it now."""
    if done["downtime"] is not None:
        return float(done["downtime"])
    observation = fit.observation
    newest = next(iter(observation.rescales), None)
    if newest is None or newest.stopped is None:
        return None
    after = {operator.key: operator.parallelism for operator in observation.operators}
    if any(after.get(key) != count for key, count in newest.after.items()):
        return None
    return newest.stopped + max(sum(operator.start_seconds) for operator in observation.operators)


@dataclass(frozen=True, slots=True)
class ChangeLimits:
    """Limits of what is applied.

    Attributes
    ----------
    mode : how changes are made; None for a dry run.
    max_downtime : most seconds without processing that a change may take, by the upper end of its interval.
    cooldown : seconds after a change, made or tried, in which there is no other.
    bounds : floor and ceiling of the replicas of each operator; "" stands for all operators that have none of their own.
    """

    mode: Mode | None = None
    max_downtime: float | None = None
    cooldown: float | None = None
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def bounded_goals(goals: Goals, limits: ChangeLimits, fit: JobFit) -> Goals:
    """The goals with the floors and ceilings of the limits.

    "" bounds those operators only whose service rate is known: no others can be given a number of replicas by their load. Where
    tasks move while the job runs, an operator has at most as many replicas as workers, and operators without keep theirs.

    Raises
    ------
    EngineError
        The limits name an operator that the job does not have, or an operator that may change has no bounds and is to be
        changed.
    """
    names = [operator.name for operator in fit.operators]
    unknown = next((name for name in limits.bounds if name and name not in names), None)
    if unknown is not None:
        raise EngineError(f"--replicas {unknown}", f"is no operator of the job{suggestion(unknown, names)}")
    operators = dict(goals.operators)
    for operator, observed in zip(fit.operators, fit.observation.operators, strict=True):
        if limits.mode == "live" and observed.workers is None:
            operators[operator.name] = ReplicaBounds(min_replicas=operator.replicas, max_replicas=operator.replicas)
            continue
        everywhere = limits.bounds.get("") if operator.service is not None and operator.name not in operators else None
        bounds = limits.bounds.get(operator.name, everywhere)
        if bounds is not None:
            most = observed.workers or bounds[1]
            operators[operator.name] = ReplicaBounds(min_replicas=min(bounds[0], most), max_replicas=min(bounds[1], most))
        own_bounds = operators.get(operator.name)
        if limits.mode is not None and operator.service is not None and (own_bounds is None or own_bounds.max_replicas is None):
            why = "has no floor and ceiling, which --apply needs"
            remedy = f"give --replicas {shlex.quote(f'{operator.name}=1:4')}, or --replicas 1:4 for all"
            raise EngineError(f"operator {operator.name}", f"{why}; {remedy}")
    return goals.replace(operators=operators)


def objections(advice: Advice, prediction: Prediction, limits: ChangeLimits, state: WatchState, now: float) -> Iterator[str]:
    """Reasons against applying the plan now, in sentences."""
    if limits.mode is None:
        yield "dry run"
        return
    if state.last_at is not None and now < state.last_at - CLOCK_TOLERANCE:
        yield f"the clock is {state.last_at - now:.0f} s behind the journal; set it"
    if state.misses >= MAX_MISSES:
        yield f"{state.misses} predictions in a row missed (at most {MAX_MISSES - 1} may); nothing is applied until one fits"
    seconds_left = 0.0 if state.acted_at is None or limits.cooldown is None else state.acted_at + limits.cooldown - now
    if seconds_left > 0:
        yield f"cooldown: {seconds_left:.0f} s are left"
    if state.probation is not None:
        yield "the last change has not been judged yet"
    if dict(prediction.replicas) in state.rolled_back:
        yield "these numbers of replicas were rolled back before; name a new journal to try them again"
    downtime = prediction.downtime
    if downtime is not None and limits.max_downtime is not None and downtime.high > limits.max_downtime:
        yield f"downtime: up to {downtime.high:.3g} s, above --max-downtime {limits.max_downtime:g}"
    live = advice.fit.observation.live
    if limits.mode == "rescale" and not live:
        yield "the scheduler of this job cannot rescale it live; use --apply redeploy"
    if limits.mode == "redeploy" and live and not advice.fit.observation.follows_slots:
        yield "the adaptive scheduler ignores demands for places; use --apply rescale, or run the job with the default scheduler"
    # Replicas are taken away only where even the upper end of the interval leaves something to spare.
    for operator in advice.operators:
        busy = prediction.busy.get(operator.name)
        if operator.proposed < operator.replicas and busy is not None and busy.high >= 1.0:
            yield f"{operator.name} with {operator.proposed} could be {busy.high:.0%} busy, by the upper end of its interval"
