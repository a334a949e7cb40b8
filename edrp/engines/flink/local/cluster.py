"""A real cluster of Apache Flink on this machine: its processes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType
from typing import Any, Self

from edrp.core.wording import suggestion
from edrp.engines.errors import EngineError
from edrp.engines.flink.installation import flink_libraries, java
from edrp.engines.flink.local.configuration import (
    JOB_MANAGER,
    TASK_MANAGER,
    LocalNode,
    Scheduler,
    common_settings,
    java_options,
    node_settings,
    write_configuration,
)
from edrp.engines.flink.local.processes import ProcessGroup, free_ports
from edrp.engines.flink.local.proxy import DelayProxies
from edrp.engines.flink.local.rest import LocalRest, wait_until

MANAGER = "jobmanager"
"""Name of the JobManager's process, which no node may have."""


class LocalFlink:
    """A cluster of one JobManager and named TaskManagers, which all end with the `with` block or with this process.

    Parameters
    ----------
    nodes
        TaskManagers by name, each as a `LocalNode` or a number of slots.
    scheduler
        "adaptive", with which numbers of replicas change while a job runs, or "default", which places by resources of nodes.
    delays
        Seconds one way between two nodes, by pairs of names; pairs that are left out have none.
    settings
        Further settings of Flink, by their names in its documentation.
    port
        Of the REST API; by default a free one.
    folder
        Where logs and checkpoints go; by default a temporary folder that is removed in the end.
    seconds_to_start
        Seconds to wait for the cluster, and for a node that is started later.

    Raises
    ------
    EngineError
        There is no Java or no Flink, a name is not allowed, or the cluster does not start, with the last lines of its log.

    Examples
    --------
    >>> with LocalFlink({"site-a": 4, "site-b": 4}) as flink:  # doctest: +SKIP
    ...     print(flink.address)
    http://127.0.0.1:34567
    """

    def __init__(
        self,
        nodes: Mapping[str, LocalNode | int],
        *,
        scheduler: Scheduler = "adaptive",
        delays: Mapping[tuple[str, str], float] | None = None,
        settings: Mapping[str, str] | None = None,
        port: int | None = None,
        folder: str | Path | None = None,
        seconds_to_start: float = 90.0,
    ) -> None:
        self._nodes = dict(nodes)
        self._scheduler = scheduler
        self._delays = delays
        self._settings = dict(settings or {})
        self._port = port
        self._chosen_folder = folder
        self._seconds = seconds_to_start
        self._stack = ExitStack()
        for pair in delays or {}:
            for name in pair:
                if name not in self._nodes:
                    raise EngineError("delays", f"{name!r} is no node{suggestion(name, self._nodes)}")

    def __enter__(self) -> Self:
        self._java, self._libraries = java(), ":".join(map(str, flink_libraries()))
        with self._stack:
            self._start()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def start_node(self, name: str, node: LocalNode | int) -> None:
        """Start a TaskManager and wait until the JobManager knows it.

        Raises
        ------
        EngineError
            There is one of that name, or it does not start.
        """
        self._launch_node(name, node)
        self._wait_for_nodes()

    def stop_node(self, name: str) -> None:
        """Stop a TaskManager. What runs there starts on others from the last checkpoint.

        Raises
        ------
        EngineError
            There is none of that name.
        """
        self._refuse_unknown(name)
        self._processes.stop(name)
        del self._running[name]

    def kill_node(self, name: str) -> None:
        """Kill a TaskManager by SIGKILL. What ran there starts on others from the last checkpoint, or on it once it is started.

        Raises
        ------
        EngineError
            There is none of that name.
        """
        self._refuse_unknown(name)
        self._processes.kill(name)
        del self._running[name]

    def restart_manager(self) -> None:
        """Kill the JobManager by SIGKILL and start it again. It knows no jobs: submit them from `newest_checkpoint`.

        Raises
        ------
        EngineError
            It does not start, or nodes do not find it again.
        """
        self._processes.kill(MANAGER)
        self._launch(MANAGER, JOB_MANAGER, self._common, java_options(None))
        self._wait_for_nodes()

    def newest_checkpoint(self) -> str | None:
        """Folder of the last checkpoint or savepoint of any job that is complete; None where there is none.

        Those of a job that ended are left only where the setting "execution.checkpointing.externalized-checkpoint-retention" is
        RETAIN_ON_CANCELLATION, or its JobManager was killed.
        """
        complete = (self.folder / "checkpoints").glob("**/_metadata")
        newest = max(complete, key=lambda path: path.stat().st_mtime_ns, default=None)
        return None if newest is None else newest.parent.as_uri()

    @property
    def address(self) -> str:
        """Address of the REST API."""
        return self.rest.address

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the TaskManagers that run."""
        return tuple(self._running)

    def log(self, name: str) -> Path:
        """The log of a node, or of the JobManager."""
        return self.folder / "log" / f"{name}.log"

    def _refuse_unknown(self, name: str) -> None:
        if name not in self._running:
            raise EngineError(f"node {name!r}", f"does not run; these do: {', '.join(self._running) or 'none'}")

    def _start(self) -> None:
        """Start everything, and leave on the stack how to stop it."""
        if self._chosen_folder is None:
            self.folder = Path(mkdtemp(prefix="edrp-flink-"))
            self._stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        else:
            self.folder = Path(self._chosen_folder).absolute()
        for part in ("log", "tmp", "checkpoints", "plugins"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        self._processes = ProcessGroup()
        self._stack.callback(self._processes.close)
        self._proxies = None if self._delays is None else DelayProxies(self._delays, self._processes.identifier)
        if self._proxies is not None:
            self._stack.callback(self._proxies.close)
        rpc_port, rest_port = free_ports(2)
        self.rest = LocalRest(self._port or rest_port)
        if self.rest.reachable():
            raise EngineError(self.address, "is in use already; give another port, or stop what uses it")
        self._common = common_settings(self.folder, rpc_port, self._port or rest_port, self._scheduler) | self._settings
        self._running: dict[str, int] = {}
        self._launch(MANAGER, JOB_MANAGER, self._common, java_options(None))
        for name, node in self._nodes.items():
            self._launch_node(name, node)
        self._wait_for_nodes()

    def _launch_node(self, name: str, node: LocalNode | int) -> None:
        if name in self._running or name == MANAGER or not name.replace("-", "").replace("_", "").isalnum():
            raise EngineError(f"node {name!r}", "has a name that another has, or one of other than letters, digits, - and _")
        node = LocalNode(node) if isinstance(node, int) else node
        ports = None
        if self._proxies is not None:
            (port,) = free_ports(1)
            ports = self._proxies.listen(name, port), port
        self._launch(name, TASK_MANAGER, self._common | node_settings(name, node, ports) | self._settings, java_options(node))
        self._running[name] = node.slots

    def _launch(self, name: str, main: str, settings: Mapping[str, str], options: list[str]) -> None:
        configuration = self.folder / "conf" / name
        write_configuration(configuration, self.log(name), settings)
        logging = [f"-Dlog4j.configurationFile={(configuration / 'log4j.properties').as_uri()}", f"-Dlog.file={self.log(name)}"]
        command = [self._java, *options, *logging, "-cp", self._libraries, main, "--configDir", str(configuration)]
        environment = {**os.environ, "FLINK_PLUGINS_DIR": str(self.folder / "plugins"), "MALLOC_ARENA_MAX": "2"}
        self._processes.start(name, command, self.folder / "log" / f"{name}.out", environment)

    def _wait_for_nodes(self) -> None:
        """Wait until the JobManager knows exactly the nodes that are to run."""

        def look() -> bool | None:
            for name in self._processes.ended():
                raise EngineError(f"LocalFlink: {name}", f"ended while it started: {self._last_lines(name)}")
            if not self.rest.reachable():
                return None
            slots: Any = {row["id"]: row["slotsNumber"] for row in self.rest.get("/taskmanagers")["taskmanagers"]}
            return True if self._running.items() <= slots.items() else None

        try:
            wait_until(look, self._seconds, "is not ready", "LocalFlink")
        except EngineError as error:
            if error.place != "LocalFlink":
                raise
            raise EngineError("LocalFlink", f"{error.why} Log: {self._last_lines(MANAGER)}") from None

    def _last_lines(self, name: str, count: int = 3) -> str:
        """The end of a log, or of what went to the console where there is no log yet."""
        for path in (self.log(name), self.folder / "log" / f"{name}.out"):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
            if lines:
                return " | ".join(line.strip()[:200] for line in lines[-count:])
        return "(empty)"
