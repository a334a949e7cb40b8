"""Real clusters of Flink on this machine: how they start, what is asked of them, and that nothing of them is left."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edrp.engines.errors import EngineError
from edrp.engines.flink import jars
from edrp.engines.flink.live import LIBRARY
from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.local.cluster import DelayProxies
from edrp.engines.flink.local.processes import LOOPBACK
from edrp.engines.flink.local.rest import wait_until
from edrp.validation.flink.lab.build import LAB
from edrp.validation.flink.lab.job import LabSettings


def runs_here(process: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return False


def wait_for(look, seconds=300.0):
    """Wait until a condition holds, or for `seconds`; return whether it does."""
    end = time.monotonic() + seconds
    while not look() and time.monotonic() < end:
        time.sleep(0.05)
    return look()


def test_the_jars_were_made_from_the_sources():
    for program, module in ((LIBRARY, "edrp.engines.flink.live"), (LAB, "edrp.validation.flink.lab.build")):
        assert program.jar_hash() == program.sources_hash(), f"run: python -m {module}"


def test_a_machine_without_java_is_told_so(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EngineError, match="java: is not found; install Java 17"), LocalFlink({"a": 1}):
        pass


def test_an_environment_without_the_extra_is_told_so(monkeypatch):
    monkeypatch.setattr(jars, "find_spec", lambda name: None)
    monkeypatch.setattr("edrp.engines.flink.local.cluster.java", lambda: "java")
    with pytest.raises(EngineError, match=r"pip install 'edrp\[flink\]'"), LocalFlink({"a": 1}):
        pass


@pytest.fixture
def false_java(tmp_path, monkeypatch):
    """A Java that does what a script says, with libraries that are not needed for it."""

    def install(script: str) -> None:
        (tmp_path / "bin").mkdir()
        program = tmp_path / "bin" / "java"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        monkeypatch.setattr("edrp.engines.flink.local.cluster.flink_libraries", list)

    return install


def test_a_process_that_ends_at_once_is_named_with_what_it_said(false_java):
    false_java("echo there is no room; exit 1")
    with pytest.raises(EngineError, match=r"LocalFlink: \w+: ended while it started: there is no room"), LocalFlink({"a": 1}):
        pass


def test_a_cluster_that_does_not_get_ready_is_stopped_and_its_log_shown(false_java, tmp_path, monkeypatch):
    false_java(f"echo waiting for nothing; echo $$ >> {tmp_path}/started; exec sleep 600")
    started = tmp_path / "started"
    started.touch()

    def once_both_run(*asked):
        return wait_for(lambda: started.read_text().count("\n") == 2) and wait_until(*asked)

    monkeypatch.setattr("edrp.engines.flink.local.cluster.wait_until", once_both_run)
    with pytest.raises(EngineError, match=r"is not ready within 0.5 s.*waiting for nothing"):
        LocalFlink({"a": 1}, seconds_to_start=0.5).__enter__()
    assert not any(map(runs_here, map(int, started.read_text().split())))


STARTER = """
import signal
from pathlib import Path
from edrp.engines.flink.local.processes import ProcessGroup
group = ProcessGroup()
print(group.start("child", ["sleep", "600"], Path("child.out"), {"PATH": "/usr/bin:/bin"}), flush=True)
signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_processes_end_with_the_one_that_started_them(number, tmp_path):
    with subprocess.Popen([sys.executable, "-c", STARTER], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as starter:
        child = int(starter.stdout.readline())
        assert runs_here(child)
        starter.send_signal(number)
    assert wait_for(lambda: not runs_here(child))


def test_settings_of_unknown_operators_and_nodes_are_refused():
    with pytest.raises(EngineError, match="operator 'enricher': is none of the topology chain; they are reader, parser"):
        LabSettings(replicas={"enricher": 2})
    with pytest.raises(EngineError, match="operator 'sink': is none of the topology chain"):
        LabSettings(places={"sink": "at-a"})
    with pytest.raises(EngineError, match="'c' is no node; there are a, b"):
        LocalFlink({"a": 1, "b": 1}, delays={("a", "c"): 0.1})


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="delays need /proc")
@pytest.mark.parametrize("delay", [0.0, 0.15])
def test_what_goes_through_a_proxy_is_delayed_in_both_directions(delay):
    """This process is the node "b", which connects to a listener in front of node "a"."""
    with socket.create_server((LOOPBACK, 0)) as inner:
        proxies = DelayProxies({("a", "b"): delay}, {"b": os.getpid()}.get)
        try:
            port = proxies.listen("a", inner.getsockname()[1])
            proxies.nodes.add("b")
            with socket.create_connection((LOOPBACK, port)) as outer:
                accepted, _ = inner.accept()
                with accepted:
                    begin = time.monotonic()
                    outer.sendall(b"question")
                    assert accepted.recv(100) == b"question"
                    accepted.sendall(b"answer")
                    assert outer.recv(100) == b"answer"
                    assert time.monotonic() - begin >= 2 * delay
                outer.settimeout(300)
                assert outer.recv(100) == b""  # an end that closes is passed on
        finally:
            proxies.close()


@pytest.mark.slow
def test_the_example_of_a_live_operator_compiles_against_the_jar(tmp_path):
    example = Path(__file__).parents[3] / "examples" / "LiveWordCount.java"
    libraries = ":".join(map(str, [*jars.flink_libraries(), LIBRARY.jar]))
    command = ["javac", "--release", "17", "-Xlint:all,-serial,-try,-processing", "-Werror", "-cp", libraries]
    subprocess.run([*command, "-d", str(tmp_path), str(example)], check=True)
    assert (tmp_path / "LiveWordCount.class").exists()
