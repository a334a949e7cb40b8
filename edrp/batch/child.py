"""The process that solves: it may be killed, run out of memory or never end without taking the batch along."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path

from edrp.batch.additions import unpack_additions
from edrp.batch.solving import solve_task
from edrp.batch.worker import READY

LOOK_INTERVAL = 0.5
"""Seconds between two looks whether the parent still lives."""


def serve(connection: Connection) -> None:
    """Solve the tasks that arrive until the connection closes."""
    # `python -m edrp.batch.child` has imported `edrp`, which registers our own methods; these are the others.
    unpack_additions(connection.recv_bytes())
    connection.send(READY)
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        connection.send(solve_task(task))


def main() -> None:
    """Serve the socket whose number is the first argument, for as long as the parent (the second) lives."""
    descriptor, parent = int(sys.argv[1]), int(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _be_first_out_of_memory()
    try:
        serve(Connection(descriptor))
    except (BrokenPipeError, ConnectionResetError):
        return


def _end_with(parent: int) -> None:
    """End at once when the parent has: what is being solved has nobody left to give it to."""
    while os.getppid() == parent:
        time.sleep(LOOK_INTERVAL)
    os._exit(1)


def _be_first_out_of_memory() -> None:
    """Ask the kernel to end this process first when memory runs out, rather than the one that keeps the results."""
    score = Path("/proc/self/oom_score_adj")
    if score.exists():
        score.write_text("500")


if __name__ == "__main__":
    main()
