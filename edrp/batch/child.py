"""The process that solves: it may be killed, run out of memory or never end without taking the batch along."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Any

from edrp.batch.journal import RollingJournal
from edrp.batch.rows import Row, solve_task
from edrp.batch.tasks import unpack_additions
from edrp.batch.worker import DONE, READY
from edrp.core.errors import EdrpError

LOOK_INTERVAL = 0.5
"""Seconds between two looks whether the parent still lives."""

ANSWER_INTERVAL = 0.05
"""Seconds after which answers are sent although tasks of the same chunk are left."""


def serve(connection: Connection, parent: int) -> None:
    """Solve the tasks that arrive, until an empty chunk says that there are no more.

    Where the parent names a folder, rows are written there and their outcomes are the answers; else the rows themselves are.
    """
    # `python -m edrp.batch.child` has imported `edrp`, which registers our own methods; these are the others.
    additions, place = connection.recv()
    unpack_additions(additions)
    journal = None if place is None else RollingJournal(*place)

    def kept(row: Row) -> Any:
        if journal is None:
            return row
        if os.getppid() != parent:  # another batch may be at work in the folder by now
            os._exit(1)
        journal.write(row)
        return row["outcome"]

    connection.send(READY)
    while chunk := connection.recv():
        answers, since = [], perf_counter()
        for task in chunk:
            answers.append(kept(solve_task(task)))
            if perf_counter() - since > ANSWER_INTERVAL:
                connection.send(answers)
                answers, since = [], perf_counter()
        if answers:
            connection.send(answers)
    if journal is not None:
        journal.close()
    connection.send(DONE)


def main() -> None:
    """Serve the socket whose number is the first argument, for as long as the parent (the second) lives."""
    descriptor, parent = int(sys.argv[1]), int(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    score = Path("/proc/self/oom_score_adj")
    if score.exists():  # when memory runs out, the kernel ends this process first, rather than the one that keeps the results
        score.write_text("500")
    connection = Connection(descriptor)
    try:
        serve(connection, parent)
    except EdrpError as error:  # the disk is full: the batch cannot go on
        connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _end_with(parent: int) -> None:
    """End at once when the parent has: what is being solved has nobody left to give it to."""
    while os.getppid() == parent:
        time.sleep(LOOK_INTERVAL)
    os._exit(1)


if __name__ == "__main__":
    main()
