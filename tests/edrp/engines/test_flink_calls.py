"""The files that carry out a plan, used as they are: a script that a shell runs, and patches that are merged."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
import yaml
from fake_engine import JAR, FakeEngine
from fake_flink import HANG_UP, JOB, FakeFlink, serving
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_flink_fit import fitted

from edrp.engines.advice import advise
from edrp.engines.flink.calls import PATCH, UNDO, curl, deployment_patches, plan_calls
from edrp.placement.deployment import Deployment

ADDRESS = "http://jobmanager:8081"

OVERRIDES = "pipeline.jobvertex-parallelism-overrides"

SHELLS = sorted({os.path.realpath(shell) for shell in map(shutil.which, ("sh", "bash", "dash")) if shell})


@cache
def observed(scheduler="Adaptive"):
    """A job whose counter is 90 % busy."""
    return fitted(FakeFlink(rates=(180.0,), scheduler=scheduler)).observation


def with_counters(observation, count, node="tm-a"):
    """A plan with `count` counters; all else stays."""
    nodes = {operator.name: operator.nodes for operator in observation.operators}
    return Deployment({**nodes, observation.operators[2].name: (node,) * count})


@dataclass
class Passing(FakeEngine):
    """The cluster, in which half a second passes with each request."""

    def respond(self, method: str, path: str, body: Any) -> Any:
        self.elapse(0.5)
        return super().respond(method, path, body)


@pytest.fixture
def script(tmp_path):
    """Run the script that two counters need, against a cluster."""
    if shutil.which("curl") is None:
        pytest.skip("needs curl")

    def run(flink, *arguments, shell="sh", scheduler="Adaptive", **given):
        with serving(flink) as address:
            lines = plan_calls(observed(scheduler), with_counters(observed(scheduler), 2), given.pop("address", address))
            (tmp_path / "calls.sh").write_text("\n".join(lines) + "\n", encoding="utf-8")
            environment = {"PATH": os.environ["PATH"], "PAUSE": "0", "PATIENCE": "20", **given}
            words = [shell, "calls.sh", *arguments]
            done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
        if done.returncode:
            assert (done.returncode, done.stdout) == (1, ""), done.stderr
            assert done.stderr.splitlines()[-1].startswith("calls.sh: ")
        return done

    return run


def requests(flink):
    return [(method, path.removeprefix(f"/jobs/{JOB}/")) for method, path, _ in flink.sent]


RESCALE, CHECKPOINT = ("PUT", "resource-requirements"), ("POST", "checkpoints")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_rescale_is_asked_for_first_waited_for_and_taken_back(script, shell):
    """A checkpoint before the request would not count: Flink rescales after the next; the first comes before slots do."""
    flink = Passing(slots_after=3.0, silence=2.0)
    done = script(flink, shell=shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert requests(flink) == [RESCALE, CHECKPOINT, CHECKPOINT]
    assert flink.sent[0][2][flink.key("counter")] == {"parallelism": {"lowerBound": 1, "upperBound": 2}}
    assert (flink.named("counter").replicas, flink.stands_still) == (2, 0.0)  # they run, and are not only asked for
    polled = [path for method, path in flink.asked if path.endswith("/checkpoints/c1")]
    assert len(polled) == 2 * flink.checkpoint_polls
    flink.sent.clear()
    assert script(flink, "undo", shell=shell).returncode == 0
    assert requests(flink)[0] == RESCALE
    assert flink.bounds == {operator.name: operator.bounds for operator in observed().operators}
    assert flink.named("counter").replicas == 1


@pytest.mark.parametrize(
    ("flink", "said", "sent"),
    [
        (lambda: Passing(state="FAILED", job_id="other"), ("HTTP 404", "; nothing was changed"), []),
        (lambda: Passing(before={RESCALE: lambda: 404}), ("HTTP 404", "; nothing was changed"), []),
        (lambda: Passing(before={RESCALE: lambda: HANG_UP}), ("no answer; 'sh calls.sh undo' asks",), []),
        (lambda: Passing(failing=True, max_delay=1e6), ("failed", "CheckpointException", "'sh calls.sh undo' asks"), None),
        (lambda: Passing(checkpoint_polls=10**6, max_delay=1e6), ("not rescaled after 2 checkpoints", "are there slots?"), None),
        (lambda: Passing(obeys=lambda count: 1), ("not rescaled after 2 checkpoints", "'sh calls.sh undo' asks"), None),
    ],
    ids=["no job", "refused", "no answer", "failing", "never complete", "no slots"],
)
def test_every_error_ends_the_script_with_a_sentence(script, flink, said, sent):
    flink = flink()
    done = script(flink, PATIENCE="200" if flink.failing else "20")
    assert done.returncode == 1
    assert all(word in done.stderr.splitlines()[-1] for word in said), done.stderr
    assert sent is None or requests(flink) == sent


def test_a_job_that_has_changed_since_its_capture_is_left_alone(script):
    flink = Passing()
    flink.rescale({operator.name: 3 for operator in flink.operators})
    assert "other numbers of replicas than in the capture; capture it again; nothing was changed" in script(flink).stderr
    assert "give no argument, or undo; nothing was changed" in script(flink, "undoo").stderr
    assert flink.sent == []


def test_a_cluster_that_does_not_answer_is_said(script):
    assert "no answer; nothing was changed" in script(Passing(), address="http://127.0.0.1:9").stderr


REDEPLOY = {"scheduler": "Default", "JAR": JAR, "ARGUMENTS": '["--a", "b c"]', "SAVEPOINTS": "file:///points"}


def redeployable(**changes):
    return Passing(scheduler="Default", version="1.20.0", **changes)


def test_a_restart_continues_from_its_savepoint_and_so_does_its_undoing(script):
    flink = redeployable(checkpoint_polls=3)
    done = script(flink, **REDEPLOY, ENTRY_CLASS="org.Words")
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.rpartition("/")[2] for _, path, _ in flink.sent] == ["stop", "run"]
    body = flink.sent[1][2]
    assert (body["savepointPath"], body["programArgsList"]) == ("file:///points/savepoint-1", ["--a", "b c"])
    assert body["entryClass"] == "org.Words"
    assert flink.named("counter").replicas == 2
    assert f"JOB={flink.job_id} is needed to undo this" in done.stdout
    assert "; nothing was changed" in script(flink, "undo", **REDEPLOY).stderr  # the job of the capture has ended
    assert script(flink, "undo", **REDEPLOY, JOB=flink.job_id).returncode == 0
    assert flink.named("counter").replicas == 1


def test_a_job_that_was_stopped_and_does_not_start_is_started_as_before(script):
    flink = redeployable(before={("POST", "/run"): lambda: 400})
    done = script(flink, **REDEPLOY)
    assert "HTTP 400" in done.stderr
    assert "the job is stopped; 'SAVEPOINT=file:///points/savepoint-1 sh calls.sh undo'" in done.stderr
    flink.sent.clear()
    assert script(flink, "undo", **REDEPLOY, SAVEPOINT="file:///points/savepoint-1").returncode == 0
    assert [path.rpartition("/")[2] for _, path, _ in flink.sent] == ["run"]
    assert flink.named("counter").replicas == 1


@pytest.mark.parametrize(("missing", "said"), [("JAR", "JAR= has to be the id"), ("ARGUMENTS", "ARGUMENTS has to be")])
def test_nothing_is_stopped_before_all_is_known_that_starts_it(script, missing, said):
    flink = redeployable()
    done = script(flink, **{**REDEPLOY, missing: ""})
    assert (said in done.stderr, "nothing was changed" in done.stderr, flink.sent) == (True, True, [])


def test_a_savepoint_that_fails_is_said(script):
    flink = redeployable(
        instead={f"/jobs/{JOB}/savepoints/s1": {"status": {"id": "COMPLETED"}, "operation": {"failure-cause": {}}}}
    )
    assert "look whether the job runs" in script(flink, **REDEPLOY).stderr
    assert [path.rpartition("/")[2] for _, path, _ in flink.sent] == ["stop"]


def test_a_job_that_never_had_a_checkpoint_is_said_to_need_one_first():
    plan = with_counters(observed(), 2)
    young = replace(observed(), checkpoints=replace(observed().checkpoints, completed_at=None))
    assert "no complete checkpoint" in "\n".join(plan_calls(young, plan, ADDRESS))
    assert "no complete checkpoint" not in "\n".join(plan_calls(observed(), plan, ADDRESS))


def test_in_reactive_mode_nothing_is_asked_for_and_the_script_fails(tmp_path):
    """Two operators of the one slot-sharing group need two slots; the operator starts TaskManagers for them."""
    reactive = replace(observed(), follows_slots=True)
    lines = plan_calls(reactive, advise(fitted(FakeFlink(rates=(180.0,)))).plan, ADDRESS)
    done = subprocess.run(["sh"], input="\n".join(lines), capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, "nothing was changed" in done.stderr) == (1, "", True)
    assert "until the job has 2 slots; it has 1" in " ".join(lines)
    patches = deployment_patches(reactive, with_counters(reactive, 9))
    replicas = [yaml.safe_load("\n".join(patches[name]))["spec"]["taskManager"]["replicas"] for name in (PATCH, UNDO)]
    assert replicas == [2, 1]  # of eight slots each


def flink_map(text):
    """A map as Flink reads it from a setting: pairs between commas, key and value between a colon."""
    pairs = [part.split(":") for part in text.split(",")]
    assert all(len(pair) == 2 for pair in pairs)
    return {key: int(value) for key, value in pairs}


def test_a_patch_gives_all_vertices_their_replicas_and_nothing_besides():
    """With another setting the operator would stop the job; without a vertex that it knew, too."""
    seen = replace(observed(), finished={"f" * 32: (1, 3)})
    patches = {name: yaml.safe_load("\n".join(lines)) for name, lines in deployment_patches(seen, with_counters(seen, 2)).items()}
    maps = {}
    for name, patch in patches.items():
        given = patch["spec"]["flinkConfiguration"][OVERRIDES]
        assert patch == {"spec": {"flinkConfiguration": {OVERRIDES: given}}}
        maps[name] = flink_map(given)
    now = {operator.key: operator.parallelism for operator in seen.operators} | {"f" * 32: 3}
    assert maps == {PATCH: {**now, seen.operators[2].key: 2}, UNDO: now}


def test_a_patch_says_what_has_to_hold():
    text = "\n".join(deployment_patches(observed(), with_counters(observed(), 9))[PATCH])
    assert 'job.autoscaler.enabled: "false"' in text
    assert "the job needs 9; where spec.taskManager.replicas is set, it has to be at least 2" in text
    assert "spec.job.upgradeMode must not be stateless" in text
    assert "apply the patch that undoes it, and this one again" in text
    old = replace(observed(), version="1.20.0")
    assert "FLINK-38770" not in "\n".join(deployment_patches(old, with_counters(old, 9))[PATCH])


def test_flink_2_starts_no_job_with_the_numbers_of_a_patch():
    seen = observed("Default")
    patches = deployment_patches(seen, with_counters(seen, 2))
    assert all(line.startswith("#") for lines in patches.values() for line in lines)
    assert "FLINK-38770" in patches[PATCH][0]
    old = replace(seen, version="1.20.0")
    assert "spec:" in deployment_patches(old, with_counters(old, 2))[PATCH]


def test_what_is_to_be_kept_has_no_calls(tmp_path):
    kept = with_counters(observed(), 1)
    done = subprocess.run(
        ["sh"], input="\n".join(plan_calls(observed(), kept, ADDRESS)), text=True, capture_output=True, cwd=tmp_path
    )
    assert done.returncode == 1
    assert deployment_patches(observed(), kept)[PATCH] == ["# There is no patch: the advice is to keep what runs."]


CURL = """#!/bin/sh
for word in "$@"; do printf '%s\\0' "$word" >> {folder}/log; done
printf '\\0' >> {folder}/log
case "$*" in
*/vertices/0*) printf '{{"parallelism":1,"maxParallelism":128}}' ;;
*/vertices/*)
  shown=1; [ ! -e {folder}/posted ] || shown=2
  printf '{{"name":"\\"parallelism\\":2,","parallelism":%s,"maxParallelism":128}}' $shown ;;
*/jars) printf '{{"files":[{{"id":"x.jar"}}]}}' ;;
*) printf '{{"request-id":"c1","jobid":"j2","location":"s1","status":{{"id":"COMPLETED"}}}}' ;;
esac
case "$*" in *'-X POST'*) : > {folder}/posted ;; esac
printf '\\n200'
"""
"""Notes its arguments, and after a request by POST shows two counters."""


@pytest.fixture
def shell(tmp_path):
    """Run lines where there are no other commands than the two that they may use; the arguments of every `curl`."""
    programs, log = tmp_path / "bin", tmp_path / "log"
    programs.mkdir()
    for name, text in (("curl", CURL.format(folder=tmp_path)), ("sleep", "#!/bin/sh\n")):
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    sh = shutil.which("sh")

    def run(lines):
        script = tmp_path / "calls.sh"
        script.write_bytes(("\n".join(lines) + "\n").encode())
        for leftover in (log, tmp_path / "posted"):
            leftover.unlink(missing_ok=True)
        environment = {"PATH": str(programs), "JAR": "x.jar", "ARGUMENTS": "[]"}
        done = subprocess.run([sh, script], capture_output=True, env=environment, cwd=tmp_path)
        assert (done.stderr, done.returncode) == (b"", 0)
        assert {path.name for path in tmp_path.iterdir()} <= {"bin", "log", "calls.sh", "posted"}
        calls = os.fsdecode(log.read_bytes()).split("\0\0")[:-1]
        return [call.split("\0") for call in calls]

    return run


NASTY = st.text(st.sampled_from("a'\"$`\\;&|<>(){}[]*?!#~=% \t\n\r\x0b\x0c\x1b\x85\u2028\u202e\ufeffé"), min_size=1) | st.text(
    st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1
)
"""Names in which all that a shell or a terminal obeys is likely."""

FOUND = "count\ntouch INJECTED; :"
"""A name that was found, whose second line was a command."""


@pytest.mark.parametrize("scheduler", ["Adaptive", "Default"])
@given(name=NASTY, node=NASTY, host=NASTY)
@example(name=FOUND, node="tm-a", host="jobmanager")
@example(name="a", node=FOUND, host=FOUND)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_names_hold_only_curl_runs_with_the_arguments_that_are_meant(shell, scheduler, name, node, host):
    observation = observed(scheduler)
    counter = replace(observation.operators[2], name=name, key=f"3{node}")
    operators = (*observation.operators[:2], counter, observation.operators[3])
    observation = replace(observation, operators=operators, job=name, key=f"j{node}")
    plan = Deployment({operator.name: (node,) * (1 + (operator is counter)) for operator in observation.operators})
    address = f"http://{host}:8081"
    calls = shell(plan_calls(observation, plan, address))
    asked = [call[call.index("-X") + 2] for call in calls]
    assert all(url.startswith(f"{address}/j") for url in asked)
    bodies = [json.loads(call[-1]) for call in calls if "-d" in call]
    if scheduler == "Adaptive":
        assert bodies[0][counter.key] == {"parallelism": {"lowerBound": 1, "upperBound": 2}}
        assert asked[-1] == f"{address}/jobs/{observation.key}/vertices/{counter.key}"
    else:
        assert f",{counter.key}:2," in bodies[1]["flinkConfiguration"][OVERRIDES]
        assert f"{address}/jobs/j2/vertices/{counter.key}" in asked
    patches = deployment_patches(replace(observation, version="1.20.0"), plan)
    given = yaml.safe_load("\n".join(patches[PATCH]))
    assert {key: list(fields) for key, fields in given["spec"].items()} == {"flinkConfiguration": [OVERRIDES]}


@given(path=NASTY, value=NASTY)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_request_to_start_a_job_again_arrives_as_it_is(shell, path, value):
    """It is printed in the worst moment: when a job is down."""
    ((*words, body, url),) = shell([curl("POST", f"{ADDRESS}/jars/{path}/run", {"savepointPath": value})])
    assert words == ["-sS", "-X", "POST", "-g", "-H", "Content-Type: application/json", "-d"]
    assert (json.loads(body), url) == ({"savepointPath": value}, f"{ADDRESS}/jars/{path}/run")
