"""Ends the processes of a cluster when the process that started them is gone, however it ended. Run as a program.

It reads lines "+PID" and "-PID" from its standard input, which the starter holds open, and nothing else does. When that
ends, it kills what has been added and not taken out. It imports nothing but the standard library, so that it starts at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def main() -> None:
    """Follow the input to its end, then kill what is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    running: set[int] = set()
    for line in sys.stdin:
        process = int(line[1:])
        running.add(process) if line[0] == "+" else running.discard(process)
    for process in running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    main()
