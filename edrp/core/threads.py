"""Ending Python code that runs in another thread, by an exception that is raised there.

Python raises it wherever the thread is then. Inside a callback of a weak reference or in `__del__` that is reported on standard
error and forgotten: the thread would go on. So as long as a thread is to be ended, such an exception is raised in it again, by
another thread: where it was forgotten it would be forgotten again.
"""

from __future__ import annotations

import ctypes
import sys
from queue import Empty, SimpleQueue
from threading import Lock, Thread, get_ident
from typing import Any, NamedTuple

PATIENCE = 1.0
"""Seconds after which an exception that has not come out is raised again, whatever became of it."""


class _Ending(NamedTuple):
    """A thread that is to be ended: the exception, and whether to raise it again, each time that it was forgotten."""

    error: type[BaseException]
    again: SimpleQueue[bool]


_lock = Lock()
_ending: dict[int, _Ending] = {}
_report_before: Any = None


def end_thread(thread: int, error: type[BaseException]) -> None:
    """Have an exception raised in a thread, until it comes out of what the thread does or `spare_thread` is called.

    Parameters
    ----------
    thread
        Identifier of a thread of this process, as `threading.get_ident` gives it.
    error
        Class of the exception, which is made without arguments. The thread must not catch it by itself.

    Examples
    --------
    >>> from threading import Event, Thread
    >>> ready, seen = Event(), []
    >>> def work():
    ...     try:
    ...         while True:
    ...             ready.set()
    ...     except KeyError:
    ...         seen.append("ended")
    ...     finally:
    ...         spare_thread(get_ident())
    >>> thread = Thread(target=work)
    >>> thread.start()
    >>> _ = ready.wait()
    >>> end_thread(thread.ident, KeyError)
    >>> thread.join()
    >>> seen
    ['ended']
    """
    global _report_before
    with _lock:
        if not _ending:
            _report_before, sys.unraisablehook = sys.unraisablehook, _report
        _ending[thread] = ending = _Ending(error, SimpleQueue())
        _raise_in(thread, error)
    Thread(target=_insist, args=(thread, ending), daemon=True).start()


def spare_thread(thread: int) -> None:
    """Take an exception back that has not been raised yet; every thread that is ended, or no longer need be, calls this."""
    with _lock:
        ending = _ending.pop(thread, None)
        if ending is None:
            return
        ending.again.put(False)
        if not _ending and sys.unraisablehook is _report:
            sys.unraisablehook = _report_before
    _raise_in(thread, None)


def _insist(thread: int, ending: _Ending) -> None:
    """Raise the exception again when it was forgotten, and where that was not noticed, after some time."""
    while _wanted_again(ending):
        with _lock:
            if _ending.get(thread) is not ending:
                return
            reached = _raise_in(thread, ending.error)
        if not reached:
            spare_thread(thread)  # it is no more


def _wanted_again(ending: _Ending) -> bool:
    try:
        return ending.again.get(timeout=PATIENCE)
    except Empty:
        return True


def _report(unraisable: Any) -> None:
    """Called by Python, in the thread that an exception could not come out of; a queue is all that is safe to use there."""
    ending = _ending.get(get_ident())
    if ending is not None and unraisable.exc_type is ending.error:
        ending.again.put(True)
    else:
        _report_before(unraisable)


def _raise_in(thread: int, error: type[BaseException] | None) -> bool:
    """Whether there is such a thread."""
    raised = None if error is None else ctypes.py_object(error)
    return bool(ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised))
