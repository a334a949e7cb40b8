"""A real cluster of Apache Flink on this machine: its processes, and delays between its nodes.

Delays are made by a proxy in front of the data port of each TaskManager, in a thread of this process. One TaskManager opens one
connection to another, for all that it reads from there; credits travel the other way on it. The proxy sees by the port that a
connection comes from which process has opened it, and thus between which two nodes it is.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType
from typing import Any, Self, TypeVar

from edrp.core.wording import suggestion
from edrp.engines.errors import EngineError
from edrp.engines.flink.jars import flink_libraries, java
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
from edrp.engines.flink.local.processes import LOOPBACK, ProcessGroup, free_ports
from edrp.engines.flink.local.rest import LocalRest, wait_until

MANAGER = "jobmanager"
"""Name of the JobManager's process, which no node may have."""

Answer = TypeVar("Answer")

BYTES_PER_READ = 1 << 16


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

    def _last_lines(self, name: str) -> str:
        """The end of a log, or of what went to the console where there is no log yet."""
        for path in (self.log(name), self.folder / "log" / f"{name}.out"):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
            if lines:
                return " | ".join(line.strip()[:200] for line in lines[-3:])
        return "(empty)"


class DelayProxies:
    """Listens in front of data ports and hands everything on after the delay between the two nodes, in either direction.

    Parameters
    ----------
    delays
        Seconds one way between two nodes, in whichever order; other pairs have none. Changes hold for what is sent later.
    process_of
        Identifier of the process of a node, or None.
    """

    def __init__(self, delays: Mapping[tuple[str, str], float], process_of: Callable[[str], int | None]) -> None:
        if not Path("/proc/net/tcp").exists():
            raise EngineError("delays", "need a Linux that says in /proc which process has a connection; leave them out")
        self.delays: dict[tuple[str, str], float] = dict(delays)
        self.nodes: set[str] = set()
        self._process_of = process_of
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []
        self._thread = threading.Thread(target=self._loop.run_forever, name="edrp-delays", daemon=True)
        self._thread.start()

    def delay(self, first: str, second: str) -> float:
        """Seconds one way between two nodes."""
        return self.delays.get((first, second), self.delays.get((second, first), 0.0))

    def listen(self, node: str, port: int) -> int:
        """Listen for a node whose data port is given, and return the port that others are to be told."""
        self.nodes.add(node)

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                await self._join(node, port, reader, writer)
            except asyncio.CancelledError:
                return  # by `close`; asyncio's streams would print it as an error
            finally:
                self._tasks.discard(task)

        server = self._run(asyncio.start_server(accept, LOOPBACK, 0))
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    def close(self) -> None:
        """Break all connections and stop."""

        async def cancel() -> None:
            for server in self._servers:
                server.close()
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self._run(cancel())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _join(self, node: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect what has come with the node, until either end closes."""
        other = self._node_behind(writer.get_extra_info("peername")[1])
        try:
            inner_reader, inner_writer = await asyncio.open_connection(LOOPBACK, port)
        except OSError:
            writer.close()
            return
        pipes = [
            asyncio.create_task(self._pipe(source, target, node, other))
            for source, target in ((reader, inner_writer), (inner_reader, writer))
        ]
        try:
            await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pipe in pipes:
                pipe.cancel()
            await asyncio.gather(*pipes, return_exceptions=True)
            for end in (writer, inner_writer):
                end.close()

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, node: str, other: str) -> None:
        """Read at once and write after the delay, so that the delay does not limit the rate."""
        sent: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def write() -> None:
            while True:
                at, content = await sent.get()
                await asyncio.sleep(max(0.0, at - self._loop.time()))
                if not content:
                    return
                writer.write(content)
                await writer.drain()

        writing = asyncio.create_task(write())
        try:
            while content := await reader.read(BYTES_PER_READ):
                sent.put_nowait((self._loop.time() + self.delay(node, other), content))
            sent.put_nowait((self._loop.time() + self.delay(node, other), b""))
            await writing
        except OSError:
            return
        finally:
            writing.cancel()

    def _node_behind(self, port: int) -> str:
        """Return the node whose process has opened the connection from a port; empty if it is no process of this cluster."""
        inode = _socket_inode(port)
        for node in self.nodes if inode else ():
            process = self._process_of(node)
            if process is not None and _holds_socket(process, inode):
                return node
        return ""


def _socket_inode(port: int) -> str:
    """Number of the socket that is bound to a port of the loopback address; empty if there is none."""
    ending = f":{port:04X}"
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        words = line.split()
        if words[1].endswith(ending) and words[3] == "01":  # established
            return words[9]
    return ""


def _holds_socket(process: int, inode: str) -> bool:
    link_target = f"socket:[{inode}]"
    try:
        return any(str(entry.readlink()) == link_target for entry in Path(f"/proc/{process}/fd").iterdir())
    except OSError:
        return False
