"""Methods under a time limit whose kernels may not be compiled yet: a child process compiles, this one keeps the limit.

A child whose time is up compiles on at low priority, no longer than this process lives. Without that, a limit shorter than it
takes to compile a kernel would have every call begin anew, and none would ever find it compiled.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

from edrp.core import budget
from edrp.core.budget import KernelNotCompiledError, compilation, compiled_kernels_only
from edrp.core.errors import OutOfTimeError
from edrp.core.kernels import interpreted_first
from edrp.core.methods import Method, Options
from edrp.core.problem import derived_once
from edrp.core.solution import Answer

STILL_COMPILING = "kernels were still being compiled when time was up; `edrp warm-up` compiles them, once and for all"

NOTHING = Answer("none", "time_limit")

FILLING = 1.0
"""Seconds, without those of the compiler, for which a method runs when its answer is too late, so that its kernels are met."""

LOW_PRIORITY = 10
"""Niceness of a process that goes on compiling when the answer has been given."""

INTERPRETED_SHARE = 0.3
"""Most of a time limit that goes into interpreting kernels before compiled ones are asked for."""


def run_method(method: Method, problem: Any, options: Options) -> Answer:
    """Run a method with kernels that are interpreted, compiled before, or compiled now; a time limit holds all the same.

    Parameters
    ----------
    method
        A method that takes the problem.
    """

    def run() -> Answer:
        if not method.interpreted_first:
            return method.run(problem, options)
        seconds = INTERPRETED_SHARE * options.remaining
        answer: Answer = interpreted_first(lambda: method.run(problem, options), seconds=seconds)
        return answer

    in_time = options.time_limit is not None and not compilation.patient
    try:
        with budget.deadline(budget.now() + options.remaining), compiled_kernels_only() if in_time else nullcontext():
            return run()
    except KernelNotCompiledError:
        return run_while_compiling(method, problem, options)
    except OutOfTimeError as error:  # while it was still preparing
        return Answer("none", "time_limit", notes=(str(error),))


_left: dict[str, subprocess.Popen[bytes]] = {}
"""Processes, by method, whose time was up before they had compiled: they go on, so that a later call finds the kernels."""


def run_while_compiling(method: Method, problem: Any, options: Options, known: Answer = NOTHING) -> Answer:
    """The answer of a child process if it comes in time, else the best of what it held and what the method has without kernels.

    Parameters
    ----------
    method
        A method that takes the problem, of which a kernel is not compiled yet.
    known
        What has been found without kernels before.
    """
    compilation.begin()
    if (earlier := _left.get(method.name)) is not None and earlier.poll() is None:
        return _run_after(earlier, method, problem, options, known)
    child = _started(method, problem, options)
    try:
        held = _without_kernels(method, problem, options, known)
        if _decided(held):
            return held
        try:
            found, complete = _received(child, options.remaining)
        except KeyboardInterrupt:
            return replace(held, stopped_because="interrupted")
        best = held if found is None else better_answer(found, held)
        if complete and found is not None and (found.decision is not None or found.stopped_because != "time_limit"):
            return best
        _leave(child, method)
        return _too_late(best)
    finally:
        if _left.get(method.name) is not child:
            _end(child)


def _run_after(earlier: subprocess.Popen[bytes], method: Method, problem: Any, options: Options, known: Answer) -> Answer:
    """The answer once the process of an earlier call has compiled, if that is in time, else what needs no kernel."""
    held = _without_kernels(method, problem, options, known)
    if _decided(held):
        return held
    try:
        earlier.wait(max(0.0, options.remaining))
        return better_answer(run_method(method, problem, options), held)
    except subprocess.TimeoutExpired:
        return _too_late(held)
    except KeyboardInterrupt:
        return replace(held, stopped_because="interrupted")


def _without_kernels(method: Method, problem: Any, options: Options, known: Answer) -> Answer:
    with budget.deadline(budget.now() + options.remaining), compiled_kernels_only():
        return better_answer(known, method.run_without_kernels(problem, options))


def _decided(held: Answer) -> bool:
    """Whether no other answer is to be waited for."""
    return held.status in ("optimal", "infeasible", "unbounded") or held.stopped_because == "interrupted"


def _too_late(held: Answer) -> Answer:
    return replace(held, stopped_because="time_limit", notes=(*held.notes, STILL_COMPILING))


def better_answer(first: Answer, second: Answer) -> Answer:
    """The answer that decides more: a proof, then the lower objective; it gets the better bound of the two.

    >>> one, other = Answer("feasible", "time_limit", objective=3.0, bound=1.0), Answer("none", "time_limit", bound=2.0)
    >>> better_answer(one, other).objective, better_answer(one, other).bound
    (3.0, 2.0)
    """
    for answer in (first, second):
        if answer.status in ("optimal", "infeasible", "unbounded"):
            return answer
    best = min((first, second), key=lambda answer: float("inf") if answer.objective is None else answer.objective)
    bounds = [answer.bound for answer in (first, second) if answer.bound is not None]
    return replace(best, bound=max(bounds, default=None))


def _started(method: Method, problem: Any, options: Options) -> subprocess.Popen[bytes]:
    """A process that runs the method and may compile; it ends with this one at the latest."""
    import cloudpickle

    deadline = time.time() + options.remaining
    task = cloudpickle.dumps((method, problem, replace(options, progress=None), deadline))
    words = [sys.executable, "-m", "edrp.core.compiling", str(os.getpid())]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdin is not None
    child.stdin.write(task)
    child.stdin.close()
    return child


def _leave(child: subprocess.Popen[bytes], method: Method) -> None:
    """Let a process compile on, behind everything else that is to be done."""
    if child.poll() is None:
        os.setpriority(os.PRIO_PROCESS, child.pid, LOW_PRIORITY)
        _left[method.name] = child


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    assert child.stdout is not None
    child.stdout.close()


def _received(child: subprocess.Popen[bytes], seconds: float) -> tuple[Answer | None, bool]:
    """The last answer of the child within some seconds, or None, and whether it is the one that ends its run."""
    answers: list[tuple[Answer, float, bool]] = []

    def read() -> None:
        assert child.stdout is not None
        with suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while not answers or not answers[-1][2]:
                answers.append(pickle.load(child.stdout))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(max(0.0, seconds))
    if not answers:
        return None, False
    answer, spent, complete = answers[-1]
    compilation.seconds += spent
    return answer, complete


def _end_with(parent: int) -> None:
    """End at once when the parent has: nobody is left to give the answer to."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def main() -> None:
    """Read a task from standard input, run it, and write answers with the seconds of compiling to standard output.

    Answers that the method goes on from come before the last one, which may be too late. Where it is, the method runs once more
    for as long as it takes to compile what it needs.
    """
    threading.Thread(target=_end_with, args=(int(sys.argv[1]),), daemon=True).start()
    compilation.counts = True  # the parent's clock goes on
    task = sys.stdin.buffer.read()
    answers, sys.stdout = sys.stdout.buffer, sys.stderr  # what a method prints is no part of the answer
    method, problem, options, deadline = pickle.loads(task)

    def write(answer: Answer, complete: bool = False) -> None:
        with suppress(BrokenPipeError):
            answers.write(pickle.dumps((answer, compilation.seconds, complete)))
            answers.flush()

    write(_run_for(deadline - time.time(), method, problem, replace(options, keep=write)), complete=True)
    if time.time() > deadline:
        compilation.counts = False
        _run_for(FILLING, method, problem, options)


def _run_for(seconds: float, method: Method, problem: Any, options: Options) -> Answer:
    with derived_once(problem):
        return method.run(problem, replace(options, time_limit=max(0.0, seconds), started=budget.now()))


if __name__ == "__main__":
    main()
