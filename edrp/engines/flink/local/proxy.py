"""Delays between nodes: a proxy in front of the data port of each TaskManager, in a thread of this process.

One TaskManager opens one connection to another, for all that it reads from there; credits travel the other way on it. The
proxy sees by the port that a connection comes from which process has opened it, and thus between which two nodes it is.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from edrp.engines.errors import EngineError
from edrp.engines.flink.local.processes import LOOPBACK

Answer = TypeVar("Answer")

BYTES_PER_READ = 1 << 16


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
