"""The configuration of the processes of a local cluster: loopback only, little memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from edrp.engines.flink.local.processes import LOOPBACK

Scheduler = Literal["adaptive", "default"]

MEBIBYTE = 1 << 20

JOB_MANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
TASK_MANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"

JVM = [
    "-XX:+UseSerialGC",  # one thread for garbage and the quick compiler only: clusters share few cores
    "-XX:TieredStopAtLevel=1",
    "-Xss512k",
    "-XX:ReservedCodeCacheSize=64m",
    "-Djava.net.preferIPv4Stack=true",  # connections are looked for among those of IPv4
]

OPENED = ["java.lang", "java.net", "java.nio", "java.util", "java.util.concurrent"]
"""Packages of Java that Flink reads by reflection."""

FRAMEWORK_HEAP, DIRECT, METASPACE = 64, 72, 128
"""Mebibytes of a TaskManager besides the heap of its tasks."""

NETWORK = 40
"""Mebibytes of network buffers of a TaskManager, a part of `DIRECT`."""


@dataclass(frozen=True, slots=True)
class LocalNode:
    """A TaskManager.

    Attributes
    ----------
    slots : how many it has.
    resources : amounts of named external resources that it advertises, with which the default scheduler places exactly.
    heap : mebibytes for the state and the objects of its tasks.
    """

    slots: int = 4
    resources: Mapping[str, int] = field(default_factory=dict)
    heap: int = 96


def common_settings(folder: Path, rpc_port: int, rest_port: int, scheduler: Scheduler) -> dict[str, str]:
    """Settings of all processes."""
    return {
        "jobmanager.rpc.address": LOOPBACK,
        "jobmanager.rpc.port": str(rpc_port),
        "jobmanager.bind-host": LOOPBACK,
        "jobmanager.scheduler": scheduler,
        "jobmanager.adaptive-scheduler.submission.resource-stabilization-timeout": "500 ms",
        "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout": "500 ms",
        "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": "500 ms",
        "jobmanager.adaptive-scheduler.rescale-trigger.max-delay": "5 s",
        "web.adaptive-scheduler.rescale-history.size": "50",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1000",
        "restart-strategy.fixed-delay.delay": "500 ms",
        "rest.address": LOOPBACK,
        "rest.bind-address": LOOPBACK,
        "rest.port": str(rest_port),
        "rest.bind-port": str(rest_port),
        "web.upload.dir": str(folder / "tmp"),
        "metrics.fetcher.update-interval": "500",
        "taskmanager.host": LOOPBACK,
        "taskmanager.bind-host": LOOPBACK,
        "state.backend.type": "hashmap",
        "execution.checkpointing.storage": "filesystem",
        "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
        "execution.checkpointing.savepoint-dir": (folder / "checkpoints").as_uri(),
        "io.tmp.dirs": str(folder / "tmp"),
        "heartbeat.interval": "2000",
        "heartbeat.timeout": "20000",
    }


def node_settings(name: str, node: LocalNode, data_ports: tuple[int, int] | None) -> dict[str, str]:
    """Settings of a TaskManager; `data_ports` are the port that others are told and the one that it listens on."""
    settings = {
        "taskmanager.resource-id": name,
        "taskmanager.numberOfTaskSlots": str(node.slots),
        "taskmanager.cpu.cores": f"{node.slots}.0",
        "taskmanager.memory.task.heap.size": f"{node.heap}m",
        "taskmanager.memory.task.off-heap.size": "0m",
        "taskmanager.memory.framework.heap.size": f"{FRAMEWORK_HEAP}m",
        "taskmanager.memory.framework.off-heap.size": f"{DIRECT - NETWORK}m",
        "taskmanager.memory.network.min": f"{NETWORK}m",
        "taskmanager.memory.network.max": f"{NETWORK}m",
        "taskmanager.memory.managed.size": "0m",
        "taskmanager.memory.jvm-metaspace.size": f"{METASPACE}m",
        "taskmanager.memory.jvm-overhead.min": "64m",
        "taskmanager.memory.jvm-overhead.max": "64m",
    }
    if data_ports is not None:
        settings["taskmanager.data.port"], settings["taskmanager.data.bind-port"] = map(str, data_ports)
    if node.resources:
        settings["external-resources"] = ";".join(node.resources)
        for resource, amount in node.resources.items():
            settings[f"external-resource.{resource}.amount"] = str(amount)
    return settings


def java_options(node: LocalNode | None) -> list[str]:
    """Options of Java's virtual machine for a TaskManager, or for the JobManager where it is None."""
    heap, direct = (160, 64) if node is None else (node.heap + FRAMEWORK_HEAP, DIRECT)
    sizes = [f"-Xmx{heap}m", "-Xms32m", f"-XX:MaxDirectMemorySize={direct}m", f"-XX:MaxMetaspaceSize={METASPACE}m"]
    return [
        *sizes,
        *JVM,
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
    ]


def write_configuration(folder: Path, log: Path, settings: Mapping[str, str]) -> None:
    """Write what a process reads when it starts: its settings, as JSON, which is YAML, and where it logs."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(json.dumps(dict(settings), indent=1) + "\n", encoding="utf-8")
    logging = {
        "rootLogger.level": "INFO",
        "rootLogger.appenderRef.file.ref": "File",
        "appender.file.name": "File",
        "appender.file.type": "File",
        "appender.file.fileName": str(log),
        "appender.file.layout.type": "PatternLayout",
        "appender.file.layout.pattern": "%d{HH:mm:ss,SSS} %-5p %c{1} %m%n",
    }
    text = "".join(f"{name} = {value}\n" for name, value in logging.items())
    (folder / "log4j.properties").write_text(text, encoding="utf-8")
