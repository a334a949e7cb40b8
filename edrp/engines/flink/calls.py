"""Calls of Flink's REST API that carry out a plan, as a script for a shell, and patches for Kubernetes.

They are written down; nothing here sends them.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from edrp.core.errors import visible
from edrp.engines.observation import Observation
from edrp.placement.deployment import Deployment

SCRIPT = "calls.sh"
"""Name of the script's file, by which its messages call it."""

OVERRIDES = "pipeline.jobvertex-parallelism-overrides"
"""Setting of Flink: the replicas of each vertex of a job graph, as KEY:REPLICAS,KEY:REPLICAS."""

ASKING = r"""
set -eu
pause=${PAUSE:-1} patience=${PATIENCE:-600}  # seconds between questions, and their number until something has to be done
hint='nothing was changed'
newline='
'
fail() { printf 'calls.sh: %.900s; %s\n' "$1" "$hint" >&2; exit 1; }
ask() {  # METHOD ADDRESS [BODY]; what came is in $answer, and where it is no HTTP 2xx, why in $trouble
  status=000
  [ $# = 2 ] || set -- "$1" "$2" -H 'Content-Type: application/json' -d "$3"
  answer=$(curl -sS -g --max-time 60 -w '\n%{http_code}' -X "$@") || { trouble="$1 $2: no answer"; return 1; }
  status=${answer##*"$newline"} answer=${answer%"$newline"*}
  case $status in 2??) ;; *) trouble="$1 $2: HTTP $status $answer"; return 1 ;; esac
}
must() { ask "$@" || fail "$trouble"; }
send() {  # HINT METHOD ADDRESS BODY: a request that changes something, after which the hint is true
  later=$1; shift
  ask "$@" || { [ "$status" != 000 ] || hint=$later; fail "$trouble"; }
  hint=$later
}
field() { value=${answer#*"\"$1\":\""} value=${value%%'"'*}; }  # NAME; the text of a field of the answer
tick() { left=$((left - 1)); [ "$left" -gt 0 ] || return 1; sleep "$pause"; }
succeeds() {  # ADDRESS, where the request that was answered runs in the background
  field request-id; operation=$1/$value
  while ask GET "$operation"; do
    case $answer in
      *'"failure-cause":{'* | *'"failureCause":{'* | *'"id":"FAILED"'*) trouble="$operation failed: $answer"; return 1 ;;
      *'"id":"COMPLETED"'*) return 0 ;;
    esac
    tick || { trouble="$operation is not done after $patience questions"; return 1; }
  done
  return 1
}
shows() {  # KEY REPLICAS ...: whether Flink shows these numbers; $starting says whether replicas do not run yet
  starting=
  while [ $# -gt 0 ]; do
    must GET "$job/vertices/$1"
    case $answer in *'"parallelism":'"$2",*) ;; *) return 1 ;; esac
    case $answer in *'"status":"'[CSDI]* | *'"status":"FAILED"'*) starting=yes ;; esac
    shift 2
  done
}
run() {  # KEY REPLICAS ...: wait until these run
  until shows "$@" && [ -z "$starting" ]; do tick || fail "the job does not run with these numbers of replicas"; done
}
expect() { shows "$@" || fail 'the job has other numbers of replicas than in the capture; capture it again'; }
"""
"""Functions that both ways to change a job share.

They run in any POSIX shell with a curl of any age; curl's `--fail` would drop the reason that Flink gives."""

RESCALING = r"""rescale() {  # REQUIREMENTS KEY REPLICAS ...
  send "'sh $0 undo' asks for the numbers before" PUT "$job/resource-requirements" "$1"
  shift
  # Flink rescales right after the next complete checkpoint, or after max-delay, and then replays all since the last one.
  # One that is triggered before slots are there does not count, and the rescale itself may end one.
  left=$patience attempts=0 failures=0
  until shows "$@"; do
    attempts=$((attempts + 1))
    [ $attempts -le $((patience / 10)) ] || fail "the job is not rescaled after $((patience / 10)) checkpoints; are there slots?"
    sleep "$pause"
    if ask POST "$job/checkpoints" '{}' && succeeds "$job/checkpoints"; then failures=0; else failures=$((failures + 1)); fi
    [ $failures -lt 10 ] || fail "10 checkpoints in a row failed: $trouble"
  done
  run "$@"
}
"""

REDEPLOYING = r"""redeploy() {  # SETTINGS KEY REPLICAS ...
  must GET "$address/jars"
  case $answer in *"\"id\":\"${JAR:-?}\""*) ;; *) fail "JAR=${JAR-} has to be the id of a program in $address/jars" ;; esac
  [ "${ARGUMENTS-}" ] || fail "ARGUMENTS has to be the arguments of the program as a list in JSON, [] where it has none"
  if [ -z "${SAVEPOINT-}" ]; then
    folder=${SAVEPOINTS:+,\"targetDirectory\":\"$SAVEPOINTS\"}
    send 'look whether the job runs' POST "$job/stop" "{\"drain\":false$folder}"
    left=$patience
    succeeds "$job/savepoints" || fail "$trouble"
    field location; SAVEPOINT=$value
  fi
  hint="the job is stopped; 'SAVEPOINT=$SAVEPOINT sh $0 undo', with JAR and ARGUMENTS, starts it as before"
  entry=${ENTRY_CLASS:+\"entryClass\":\"$ENTRY_CLASS\",}
  body="{$entry\"programArgsList\":$ARGUMENTS,\"savepointPath\":\"$SAVEPOINT\",\"flinkConfiguration\":$1}"
  shift
  send "it was to be started from savepoint $SAVEPOINT: look whether it runs" POST "$address/jars/$JAR/run" "$body"
  field jobid; job=$address/jobs/$value left=$patience
  run "$@"
  echo "calls.sh: job $value; JOB=$value is needed to undo this"
}
"""


CHOICE = """\
case ${1-change} in
change | undo) "${1-change}" ;;
*) fail 'give no argument, or undo' ;;
esac
echo 'calls.sh: done; the job runs with these numbers of replicas'
"""

PATCH, UNDO = "flinkdeployment.yaml", "flinkdeployment-undo.yaml"
"""Names of the two files."""

KUBECTL = "kubectl patch flinkdeployment NAME --type merge --patch-file"


def plan_calls(observation: Observation, plan: Deployment, address: str) -> list[str]:
    """Lines of a script: a rescale where the adaptive scheduler runs the job, else a savepoint and a new start.

    Without an argument the script carries out the plan, with `undo` it restores what was observed. Names, whatever they hold,
    are words of a command or stand in a comment. A script that can do nothing says why and fails.
    """
    if not changed_operators(observation, plan):
        return _refusing("the advice is to keep what runs")
    if observation.follows_slots:
        return _refusing(*_change_slots(observation, plan))
    calls = _rescale(observation, plan, address) if observation.live else _redeploy(observation, plan, address)
    title = _comment(f"Job {observation.job}: {change_sentence(observation, plan)}.")
    use = "# `sh calls.sh` makes the change, `sh calls.sh undo` takes it back. Errors are printed, and the exit code is then 1."
    functions = ASKING + (RESCALING if observation.live else REDEPLOYING) + CHOICE
    return ["#!/bin/sh", title, use, *calls, *functions.rstrip().split("\n")]


def changed_operators(observation: Observation, plan: Deployment) -> list[str]:
    """Operators of which a plan changes the number of replicas or, where these can be chosen, the places."""
    operators = [operator for operator in observation.operators if operator.name in plan]
    if observation.live or observation.follows_slots:
        return [operator.name for operator in operators if plan.degree(operator.name) != operator.parallelism]
    return [operator.name for operator in operators if sorted(plan[operator.name]) != sorted(operator.nodes)]


def change_sentence(observation: Observation, plan: Deployment) -> str:
    """The numbers of replicas that change, or that only places do."""
    counts = ((operator.name, operator.parallelism, plan.degree(operator.name)) for operator in observation.operators)
    return ", ".join(f"{name} {now} → {then}" for name, now, then in counts if now != then) or "other places"


def needed_slots(observation: Observation, plan: Deployment) -> int:
    """Slots that a plan needs: of each slot-sharing group as many as its largest operator."""
    groups: dict[str, int] = {}
    for operator in observation.operators:
        groups[operator.slot_group] = max(groups.get(operator.slot_group, 0), plan.degree(operator.name))
    return sum(groups.values())


def reactive_slots(observation: Observation, plan: Deployment) -> int:
    """Slots with which reactive mode, which gives all operators the same number of replicas, runs at least those of a plan."""
    groups = {operator.slot_group for operator in observation.operators}
    return len(groups) * max((plan.degree(name) for name in plan), default=1)


def _rescale(observation: Observation, plan: Deployment, address: str) -> Iterator[str]:
    """The requirements first, then checkpoints: Flink rescales right after the next complete one."""
    yield f"job={shlex.quote(f'{address}/jobs/{observation.key}')}"
    if observation.checkpoints.completed_at is None:
        yield "# no complete checkpoint is known, without which the job would begin with nothing: wait for one before this"
    names = set(changed_operators(observation, plan))
    changed = [operator for operator in observation.operators if operator.name in names]
    before = " ".join(f"{shlex.quote(operator.key)} {operator.parallelism}" for operator in changed)
    after = " ".join(f"{shlex.quote(operator.key)} {plan.degree(operator.name)}" for operator in changed)
    finished = {key: _requirement(*bounds) for key, bounds in observation.finished.items()}  # all are asked for, or none
    old, new = dict(finished), dict(finished)
    for operator in observation.operators:
        replicas = plan.degree(operator.name)
        bounds = operator.bounds or (operator.parallelism, operator.parallelism)
        old[operator.key] = _requirement(*bounds)
        new[operator.key] = _requirement(min(bounds[0], replicas), replicas)
    yield f"change() {{ expect {before}; rescale {_quoted(new)} {after}; }}"
    yield f"undo() {{ rescale {_quoted(old)} {before}; }}"


def _change_slots(observation: Observation, plan: Deployment) -> Iterator[str]:
    """Advice for reactive mode, in which slots are shared out evenly among the slot-sharing groups."""
    needed = reactive_slots(observation, plan)
    yield "reactive mode: every operator has as many replicas as there are slots for its slot-sharing group; Flink refuses"
    yield "(HTTP 500) to be asked for other numbers. To have as many as the busiest operator needs, start or stop TaskManagers"
    yield f"until the job has {needed} slots; it has {sum(observation.own_slots.values())}"


def _redeploy(observation: Observation, plan: Deployment, address: str) -> Iterator[str]:
    yield "# Set before: JAR, the id of the program (GET /jars); ARGUMENTS, its arguments as a list in JSON (from Flink 2.0"
    yield "# on they have to give the replicas); ENTRY_CLASS and SAVEPOINTS, a folder, where the jar and the cluster name none."
    yield "# Where: the slot-sharing group of each operator demands a resource that only its TaskManagers advertise."
    for operator in observation.operators:
        nodes = ", ".join(f"{count} on {node}" for node, count in sorted(plan.replicas(operator.name).items()))
        yield _comment(f"  {operator.name}: {nodes}")
    running = observation.deployment
    before, after = (_numbers(observation, deployment) for deployment in (running, plan))
    old, new = (_quoted(overridden(observation, deployment)) for deployment in (running, plan))
    yield f"address={shlex.quote(address)} key={shlex.quote(observation.key)}"
    yield "job=$address/jobs/${JOB:-$key}"
    yield f"change() {{ expect {before}; redeploy {new} {after}; }}"
    yield f"undo() {{ redeploy {old} {before}; }}"


def _numbers(observation: Observation, plan: Deployment) -> str:
    return " ".join(f"{shlex.quote(operator.key)} {plan.degree(operator.name)}" for operator in observation.operators)


def _refusing(*why: str) -> list[str]:
    """A script that does nothing, says why, and fails: nobody who runs it takes it for done."""
    sentence = shlex.quote(f"calls.sh: nothing was changed: {' '.join(why)}")
    return ["#!/bin/sh", *map(_comment, why), f"echo {sentence} >&2", "exit 1"]


def _requirement(lowest: int, most: int) -> dict[str, dict[str, int]]:
    return {"parallelism": {"lowerBound": lowest, "upperBound": most}}


def overridden(observation: Observation, plan: Deployment) -> dict[str, str]:
    """The setting that gives a job the replicas of a plan, of all operators, those included that have finished."""
    replicas = {key: most for key, (_, most) in observation.finished.items()}
    replicas |= {operator.key: plan.degree(operator.name) for operator in observation.operators}
    return {OVERRIDES: ",".join(f"{key}:{count}" for key, count in replicas.items())}


def takes_overrides(observation: Observation) -> bool:
    """Whether Flink applies `OVERRIDES` to a job that starts.

    From 2.0 on it runs a program as a graph of streams, to which it does not apply them (seen in the classes of 2.3, and tried).
    """
    return observation.version.startswith("1.")


def curl(method: str, url: str, body: object) -> str:
    """A request as a line for a shell; brackets and braces in the address stand for themselves."""
    return f"curl -sS -X {method} -g -H 'Content-Type: application/json' -d {_quoted(body)} {shlex.quote(url)}"


def _quoted(body: object) -> str:
    return shlex.quote(json.dumps(body, separators=(",", ":")))


def _comment(text: str) -> str:
    """A comment of one line: a line that a name breaks would be a command."""
    return f"# {visible(text)}"


def deployment_patches(observation: Observation, plan: Deployment) -> dict[str, list[str]]:
    """Lines of two merge patches in YAML, the second of which undoes the first, by name of file.

    They contain no other setting: with any other the operator would restart the job instead of rescaling it in place. Where
    no patch carries out the plan, the files hold comments only, which `kubectl` refuses.
    """
    why = _no_patch(observation, plan)
    if why is not None:
        return {name: [f"# There is no patch: {why}."] for name in (PATCH, UNDO)}
    sentence = visible(change_sentence(observation, plan))
    head = [f"# Job {visible(observation.job)}, {sentence}: {KUBECTL} {PATCH}", f"# To undo it: {KUBECTL} {UNDO}"]
    head += [f"# {line}" for line in _conditions(observation, plan)]
    undo = [f"# Undoes {PATCH} ({sentence}): {KUBECTL} {UNDO}"]
    return {PATCH: [*head, *_patch(observation, plan)], UNDO: [*undo, *_patch(observation, observation.deployment)]}


def _no_patch(observation: Observation, plan: Deployment) -> str | None:
    """Why no patch carries out a plan; None where one does."""
    if not changed_operators(observation, plan):
        return "the advice is to keep what runs"
    if observation.live or observation.follows_slots or takes_overrides(observation):
        return None
    remedy = "give the program the numbers by spec.job.args, or run it with jobmanager.scheduler: adaptive and capture it again"
    return f"from 2.0 on Flink applies no overrides of the parallelism to a job that starts (FLINK-38770); {remedy}"


def _patch(observation: Observation, plan: Deployment) -> list[str]:
    """A merge patch in YAML, in which strings may be written as in JSON.

    It names all vertices: if the number of one were removed, the operator would restart the job.
    """
    if observation.follows_slots:
        slots = min(node.slots for node in observation.nodes)
        return ["spec:", "  taskManager:", f"    replicas: {-(-reactive_slots(observation, plan) // slots)}"]
    return ["spec:", "  flinkConfiguration:", f"    {OVERRIDES}: {json.dumps(overridden(observation, plan)[OVERRIDES])}"]


def _conditions(observation: Observation, plan: Deployment) -> list[str]:
    """Conditions under which a patch has its effect."""
    if observation.follows_slots:
        return ["Reactive mode needs spec.mode: standalone, in which the operator starts and stops TaskManagers."]
    needed, largest = needed_slots(observation, plan), max(node.slots for node in observation.nodes)
    how = "rescales the job in place" if observation.live else "stops the job and starts it again as spec.job.upgradeMode says"
    lines = [
        f"In native mode, the default, the operator {how}, and Flink starts the TaskManagers that are missing.",
        f"Slots: the job needs {needed}; where spec.taskManager.replicas is set, it has to be at least {-(-needed // largest)}.",
        "State: spec.job.upgradeMode must not be stateless, its default, or the state is lost if the operator restarts the job.",
        'Autoscaler: it has to be off (job.autoscaler.enabled: "false"), or it replaces these numbers by its own.',
        "Vertices keep their identifiers as long as the program is the same or its operators have a uid.",
    ]
    if observation.live and not takes_overrides(observation):
        again = "the operator ignores a patch that changes nothing, so apply the patch that undoes it, and this one again"
        lines.append(f"From 2.0 on Flink ignores these numbers where the job starts again (FLINK-38770): {again}.")
    return lines
