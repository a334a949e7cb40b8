"""Redeploying a job: it is stopped with a savepoint and run again from it, with other replicas and places.

Arguments tell the program of a plan: replicas, and the named external resources that lead to its places.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import uuid4

from edrp.core.errors import UnwritableError
from edrp.engines.applying import PLACES, REPLICAS, REPLICAS_OF, Applied, PlannedChange, RestartableProgram
from edrp.engines.errors import EngineError, JobGoneError, NoAnswerError
from edrp.engines.flink.calls import curl, needed_slots, overridden, takes_overrides
from edrp.engines.flink.capturing import ENDED
from edrp.engines.flink.steps import FlinkSteps
from edrp.placement.deployment import Deployment

SAVEPOINT_PATIENCE = 600.0
"""Most seconds to wait for a savepoint and for the end of the job."""

ANSWER_PATIENCE = 60.0
"""Most seconds to look for what a request without an answer has started."""


def redeploy(change: PlannedChange, steps: FlinkSteps, program: RestartableProgram) -> Applied:
    """Redeploy a job; from the request to stop it on, all is finished, whatever asks for a stop.

    A plan that Flink refuses, or that does not run in time, is given up, and what ran before is started again.

    Raises
    ------
    JobGoneError
        The job was stopped and does not run again; the message says how to start it.
    EngineError
        Something else went wrong: what, and what runs.
    """
    steps.stop_here()
    steps.refuse_changed(change.observation)
    bodies = _Runs(change, program)
    _refuse_missing_program(steps, program)
    steps.take_checkpoint()
    steps.refuse_changed(change.observation)  # again: the checkpoint may have taken a minute
    _refuse_few_slots(change, steps)
    steps.stop_here()
    began = steps.clock.time()
    location = _stop_with_savepoint(steps, program, bodies)
    steps, new = _run_again(steps, bodies, location, True, False)
    try:
        nodes = _wait_until_running(change, steps)
    except EngineError as error:
        raise (_gone_back(error, change, steps, bodies, location) if new else _waiting(error, steps, bodies, location)) from None
    seconds = steps.clock.time() - began
    downtime = max(0.0, seconds - steps.running_for)
    steps.note("read back", key=steps.key, nodes={name: list(places) for name, places in nodes.items()})
    deployment = Deployment(nodes)
    if not new:
        why = f"the new plan was refused; the job runs as before ({steps.key}), from savepoint {location}"
        raise EngineError(steps.client.address, why)
    _refuse_other_places(change, deployment, bodies.resources, steps)
    return Applied(steps.key, deployment, seconds, downtime)


class _Runs:
    """Requests that run a job again, by a plan and as before, and the resources that the plan demands."""

    def __init__(self, change: PlannedChange, program: RestartableProgram) -> None:
        self.path = f"/jars/{program.key}/run"
        self.resources = demanded_resources(change, program)
        self._program = program
        self._seen = change.observation
        self._requested = change.plan, self.resources
        try:
            as_before = demanded_resources(replace(change, plan=change.observation.deployment), program)
        except EngineError:  # it ran without demands, or by other ones
            as_before = None
        self._before = change.observation.deployment, as_before

    def body(self, location: str, key: str, *, new: bool) -> dict[str, Any]:
        """The body of the request; with a key of its own no job starts twice, however often it is asked for."""
        entry = {} if self._program.entry is None else {"entryClass": self._program.entry}
        plan, resources = self._requested if new else self._before
        return {
            **entry,
            "jobId": key,
            "programArgsList": program_arguments(self._program, plan, resources),
            "savepointPath": location,
            "allowNonRestoredState": False,
            "flinkConfiguration": overridden(self._seen, plan),
        }

    def again(self, steps: FlinkSteps, location: str) -> str:
        """The request that runs the job as before, as a line for a shell."""
        return curl("POST", steps.client.address + self.path, self.body(location, uuid4().hex, new=False))


def _refuse_missing_program(steps: FlinkSteps, program: RestartableProgram) -> None:
    """Refuse before anything is stopped where the program is not there to be started again."""
    jars = [str(file["id"]) for file in steps.get("/jars").get("files", ())]
    if program.key not in jars:
        these = f"; known are {', '.join(jars)}" if jars else ""
        raise EngineError(
            steps.client.address, f"has no program {program.key!r}{these}; upload the jar first; nothing was changed"
        )


def _refuse_few_slots(change: PlannedChange, steps: FlinkSteps) -> None:
    """Refuse before anything is stopped where the plan finds too few slots, since other jobs hold them by now."""
    needed, own_slots = needed_slots(change.observation, change.plan), sum(change.observation.own_slots.values())
    free = sum(int(manager["freeSlots"]) for manager in steps.get("/taskmanagers")["taskmanagers"])
    if needed > own_slots + free:
        why = (
            f"the plan needs {needed} slots; the job has {own_slots}, and {free} are free; start TaskManagers; "
            "nothing was changed"
        )
        raise EngineError(steps.client.address, why)


def _stop_with_savepoint(steps: FlinkSteps, program: RestartableProgram, bodies: _Runs) -> str:
    """Stop the job, and write down where its savepoint is before anything follows."""
    trigger = uuid4().hex
    path = f"{steps.root}/savepoints/{trigger}"
    steps.note("stopping", folder=program.savepoints, path=path)
    try:
        steps.send("POST", f"{steps.root}/stop", {"drain": False, "targetDirectory": program.savepoints, "triggerId": trigger})
    except NoAnswerError as error:
        if not _exists(steps, path, ANSWER_PATIENCE):
            raise EngineError(error.place, f"{error.why}; no savepoint was triggered, nothing was changed") from None
    location = str(steps.background(path, "the savepoint", SAVEPOINT_PATIENCE, finish=True)["location"])
    again = bodies.again(steps, location)
    try:
        steps.note("savepoint", location=location, again=again)
    except UnwritableError as error:
        raise JobGoneError(
            steps.client.address, f"was stopped with savepoint {location}, but {error}; start it: {again}"
        ) from None
    steps.wait("the end of the job", SAVEPOINT_PATIENCE, lambda: _state(steps) == "FINISHED", finish=True)
    return location


def _exists(steps: FlinkSteps, path: str, seconds: float) -> bool:
    """Whether something appears at a path within `seconds` of answers that say no."""
    try:
        steps.wait(path, seconds, lambda: steps.client.get(path).status == 200, finish=True)
    except EngineError:
        return False
    return True


def _state(steps: FlinkSteps) -> str:
    """State of the job by the one path whose answer is not kept for seconds."""
    answer = steps.client.get(f"{steps.root}/status").answer
    return str(answer["status"]) if isinstance(answer, dict) and "status" in answer else ""


def _run_again(steps: FlinkSteps, bodies: _Runs, location: str, *plans: bool) -> tuple[FlinkSteps, bool]:
    """Run the job by the plan (True) or as before, by the first that Flink takes; its steps, and whether it is the plan."""
    trouble = ""
    for new in plans:
        key = uuid4().hex
        body = bodies.body(location, key, new=new)
        steps.note("run", path=bodies.path, body=body)
        try:
            steps.send("POST", bodies.path, body)
        except EngineError as error:
            trouble = error.why
            unknown = isinstance(error, NoAnswerError)
            if not _exists(steps, f"/jobs/{key}", ANSWER_PATIENCE if unknown else 0.0):
                if unknown:
                    break  # it may still come: what runs as before next to it would be one job too many
                continue
        steps.note("started", key=key)
        return FlinkSteps(steps.client.address, key, steps.clock, steps.note), new
    again = bodies.again(steps, location)
    why = f"was stopped with savepoint {location} and does not start again ({trouble}); start it: {again}"
    raise JobGoneError(steps.client.address, why)


def _wait_until_running(change: PlannedChange, steps: FlinkSteps) -> dict[str, tuple[str, ...]]:
    """Nodes of all replicas once all run."""
    last: dict[str, tuple[str, ...]] = {}

    def done() -> bool:
        steps.job()
        last.update(steps.running_nodes(change.observation) or {})
        return bool(last)

    steps.wait("the start of the job", change.patience, done, finish=True)
    return last


def _gone_back(error: EngineError, change: PlannedChange, steps: FlinkSteps, bodies: _Runs, location: str) -> EngineError:
    """Cancel a plan that does not come to run, start the job as before, and say how that went."""
    key, again = steps.key, bodies.again(steps, location)
    steps.note("cancelling", key=key, why=error.why, location=location, again=again)

    def ended() -> bool:
        recorded = steps.client.get(f"{steps.root}/status")
        if recorded.status == 404 or (recorded.answer or {}).get("status") in ENDED:
            return True
        with suppress(EngineError):
            steps.send("PATCH", steps.root, {})
        return False

    try:
        steps.wait("its end", SAVEPOINT_PATIENCE, ended, finish=True)
    except EngineError as second:
        why = f"was stopped with savepoint {location}; the new plan, job {key}, does not run ({error.why}) and is not cancelled"
        return JobGoneError(steps.client.address, f"{why} ({second.why}); cancel it, and start the job as before: {again}")
    steps, _ = _run_again(steps, bodies, location, False)
    why = f"the new plan did not run ({error.why})"
    try:
        _wait_until_running(change, steps)
    except EngineError as second:
        return _waiting(type(second)(second.place, f"{why}; {second.why}"), steps, bodies, location)
    return EngineError(steps.client.address, f"{why}; the job runs as before ({steps.key}), from savepoint {location}")


def _waiting(error: EngineError, steps: FlinkSteps, bodies: _Runs, location: str) -> EngineError:
    """Say that what ran before was started again and does not run: it has ended, or waits for slots that others have taken."""
    ended = f"has ended; start it: {bodies.again(steps, location)}"
    how = ended if isinstance(error, JobGoneError) else "was started, and runs once its slots are free"
    return type(error)(error.place, f"{error.why}; the job as before ({steps.key}, from savepoint {location}) {how}")


def _refuse_other_places(
    change: PlannedChange, deployed: Deployment, resources: dict[str, str] | None, steps: FlinkSteps
) -> None:
    """Say where the job does not run as asked; places only where resources were demanded."""
    for operator in change.plan:
        planned, running = Counter(change.plan[operator]), Counter(deployed[operator])
        if planned.total() != running.total() or (resources is not None and planned != running):
            texts = [", ".join(f"{count} on {node}" for node, count in sorted(places.items())) for places in (planned, running)]
            why = f"operator {operator} was to run {texts[0]}, and runs {texts[1]}; it is left so"
            raise EngineError(steps.client.address, why)


def demanded_resources(change: PlannedChange, program: RestartableProgram) -> dict[str, str] | None:
    """The resource that each operator is to demand; None where no TaskManager advertises any, and the scheduler chooses.

    An operator runs where the plan says if TaskManagers advertise as much of its resource as replicas are to run there, and
    no others advertise it; or if its replicas are all to run on the only one that advertises it.

    Raises
    ------
    EngineError
        No resource leads to the places of an operator.
    """
    advertised: dict[str, dict[str, float]] = {}
    for node in change.observation.nodes:
        for resource, amount in node.resources.items():
            if amount > 0:
                advertised.setdefault(resource, {})[node.name] = amount
    if not advertised:
        return None
    remaining = {resource: sum(amounts.values()) for resource, amounts in advertised.items()}
    chosen: dict[str, str] = {}
    for operator in change.plan:
        replicas_on = Counter(change.plan[operator])
        fixed = program.demands.get(operator, operator)
        names = sorted(advertised) if program.takes_places else [fixed]
        fitting = [name for name in names if _places_exactly(replicas_on, advertised.get(name, {}), remaining.get(name, 0.0))]
        if not fitting:
            raise EngineError(f"operator {operator}", _remedy(fixed, replicas_on, program))
        resource = fitting[0]
        remaining[resource] -= replicas_on.total()
        chosen[operator] = resource
    return chosen


def _places_exactly(replicas_on: Counter[str], amounts: dict[str, float], remaining: float) -> bool:
    if replicas_on.total() > remaining:
        return False
    return dict(replicas_on) == amounts or (len(replicas_on) == 1 and replicas_on.keys() == amounts.keys())


def _remedy(resource: str, replicas_on: Counter[str], program: RestartableProgram) -> str:
    places = ", ".join(f"{count} on {node}" for node, count in sorted(replicas_on.items()))
    if program.takes_places:
        return f"no resource is advertised by exactly the TaskManagers of its places ({places}); start some that advertise it"
    why = f"no TaskManagers advertise resource {resource!r} for exactly its places ({places})"
    return f"{why}; start some that do, or name other resources by --demand or {{places}}"


def program_arguments(program: RestartableProgram, plan: Deployment, resources: dict[str, str] | None) -> list[str]:
    """Arguments of the program with replicas and resources of all operators in them."""
    places = ",".join(f"{operator}={resource}" for operator, resource in (resources or {}).items())
    replicas = ",".join(f"{operator}={plan.degree(operator)}" for operator in plan)
    arguments = [argument.replace(PLACES, places).replace(REPLICAS, replicas) for argument in program.arguments]
    for operator in plan:
        arguments = [argument.replace(f"{REPLICAS_OF}{operator}}}", str(plan.degree(operator))) for argument in arguments]
    return arguments


def ignored_replicas(change: PlannedChange, program: RestartableProgram) -> str | None:
    """An operator whose new number of replicas would be ignored, so that the program has to be told; None where there is none."""
    if takes_overrides(change.observation):
        return None
    current = change.observation.deployment
    changed = (name for name in change.plan if change.plan.degree(name) != current.degree(name))
    return next((name for name in changed if not program.takes_replicas(name)), None)
