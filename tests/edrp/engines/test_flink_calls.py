"""The calls that are printed to be run, run by a shell: in this order, with these arguments, and nothing else."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from functools import cache

import pytest
from fake_flink import FakeFlink
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_flink_fit import fitted

from edrp.engines.advice import advise
from edrp.engines.flink.calls import curl, plan_calls
from edrp.placement.deployment import Deployment

ADDRESS = "http://jobmanager:8081"

CURL = """#!/bin/sh
for word in "$@"; do printf '%s\\0' "$word" >> {log}; done
printf '\\0' >> {log}
case "$*" in *vertices*)
  printf x >> {folder}/asked
  shown=$(( $(wc -c < {folder}/asked) >= 2 ? 2 : 1 ))
  printf '{{"id":"3","name":"\\\\"parallelism\\\\":2,","parallelism":%s,"maxParallelism":128}}' $shown
esac
"""
"""Notes its arguments, and shows the new number of replicas from the second question on."""


@pytest.fixture
def shell(tmp_path):
    """Run lines where there are no other commands than the few that they may use; the arguments of every `curl`."""
    programs, log = tmp_path / "bin", tmp_path / "log"
    programs.mkdir()
    for name in ("seq", "grep", "wc"):
        (programs / name).symlink_to(shutil.which(name))
    for name, text in (("curl", CURL.format(log=log, folder=tmp_path)), ("sleep", f"#!/bin/sh\nprintf '%s\\0\\0' $1 >> {log}\n")):
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    sh = shutil.which("sh")

    def run(lines, rescaled=False):
        script = tmp_path / "calls.sh"
        script.write_bytes(("\n".join(lines) + "\n").encode())
        for leftover in (log, tmp_path / "asked"):
            leftover.unlink(missing_ok=True)
        if rescaled:
            (tmp_path / "asked").write_text("x", encoding="utf-8")
        assert subprocess.run([sh, "-n", script], capture_output=True).stderr == b""
        done = subprocess.run([sh, script], capture_output=True, env={"PATH": str(programs)}, cwd=tmp_path)
        assert (done.stderr, done.returncode) == (b"", 0)
        assert {path.name for path in tmp_path.iterdir()} <= {"bin", "log", "calls.sh", "asked"}
        calls = os.fsdecode(log.read_bytes()).split("\0\0")[:-1] if log.exists() else []
        return [call.split("\0") for call in calls]

    return run


def test_a_rescale_asks_first_and_then_triggers_checkpoints_until_it_is_there(shell):
    """A checkpoint before the request would not count: Flink rescales after the next."""
    fit = fitted(FakeFlink(rates=(180.0,)))
    observation = fit.observation
    calls = shell(plan_calls(observation, advise(fit).plan, ADDRESS))
    root, counter = f"{ADDRESS}/jobs/{observation.key}", observation.operators[2].key
    urls = [call[-1] for call in calls]
    again = ["0.3", f"{root}/checkpoints", "2", f"{root}/vertices/{counter}"]
    assert urls == [f"{root}/resource-requirements", *again, *again]
    assert calls[0][:3] == ["-s", "-X", "PUT"]
    assert json.loads(calls[0][-2])[counter] == {"parallelism": {"lowerBound": 1, "upperBound": 2}}


def test_a_job_that_never_had_a_checkpoint_is_said_to_need_one_first():
    observation = fitted(FakeFlink(rates=(180.0,))).observation
    plan = Deployment({operator.name: operator.nodes for operator in observation.operators})
    young = replace(observation, checkpoints=replace(observation.checkpoints, completed_at=None))
    assert "no complete checkpoint" in plan_calls(young, plan, ADDRESS)[0]
    assert "no complete checkpoint" not in plan_calls(observation, plan, ADDRESS)[0]


def test_in_reactive_mode_nothing_is_asked_for(shell):
    """Two operators of the one slot-sharing group need two slots."""
    fit = fitted(FakeFlink(rates=(180.0,)))
    lines = plan_calls(replace(fit.observation, follows_slots=True), advise(fit).plan, ADDRESS)
    assert shell(lines) == []
    assert "until the job has 2 slots; it has 1" in " ".join(lines)


NASTY = st.text(st.sampled_from("a'\"$`\\;&|<>(){}[]*?!#~=% \t\n\r\x0b\x0c\x1b\x85\u2028\u202e\ufeffé"), min_size=1) | st.text(
    st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1
)
"""Names in which all that a shell or a terminal obeys is likely."""

FOUND = "count\ntouch INJECTED; :"
"""A name that was found, whose second line was a command."""


@cache
def observed(scheduler):
    return fitted(FakeFlink(rates=(180.0,), scheduler=scheduler)).observation


@pytest.mark.parametrize("scheduler", ["Adaptive", "Default"])
@given(name=NASTY, node=NASTY, host=NASTY)
@example(name=FOUND, node="tm-a", host="jobmanager")
@example(name="a", node=FOUND, host=FOUND)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_names_hold_only_curl_runs_with_the_arguments_that_are_meant(shell, scheduler, name, node, host):
    observation = observed(scheduler)
    counter = replace(observation.operators[2], name=name, key=f"3{node}")
    observation = replace(observation, operators=(*observation.operators[:2], counter, observation.operators[3]))
    plan = Deployment({operator.name: (node,) * (1 + (operator is counter)) for operator in observation.operators})
    address = f"http://{host}:8081"
    calls = [call for call in shell(plan_calls(observation, plan, address), rescaled=True) if len(call) > 1]
    assert all(call[-1].startswith(f"{address}/j") for call in calls)
    bodies = [json.loads(call[-2]) for call in calls if "-d" in call]
    if scheduler == "Adaptive":
        assert bodies[0][counter.key] == {"parallelism": {"lowerBound": 1, "upperBound": 2}}
        assert calls[-1][-1] == f"{address}/jobs/{observation.key}/vertices/{counter.key}"
    else:
        assert f",{counter.key}:2," in bodies[1]["flinkConfiguration"]["pipeline.jobvertex-parallelism-overrides"]
        assert len(calls) == 3


@given(path=NASTY, value=NASTY)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_request_to_start_a_job_again_arrives_as_it_is(shell, path, value):
    """It is printed in the worst moment: when a job is down."""
    ((*words, body, url),) = shell([curl("POST", f"{ADDRESS}/jars/{path}/run", {"savepointPath": value})])
    assert words == ["-s", "-X", "POST", "-g", "-H", "Content-Type: application/json", "-d"]
    assert (json.loads(body), url) == ({"savepointPath": value}, f"{ADDRESS}/jars/{path}/run")
