"""Threads are ended for sure, also where Python would only report the exception, and others are left alone."""

from __future__ import annotations

import sys
import weakref
from threading import Event, Thread, get_ident
from time import perf_counter

import pytest

from edrp.backends.base import in_fresh_thread
from edrp.core.errors import OutOfTimeError
from edrp.core.kernels import InterpretationTooSlowError, Interpreter
from edrp.core.threads import end_thread, spare_thread


class StopError(Exception):
    """Ends a thread of these tests."""


class Item:
    """Something that can be referred to weakly."""


def busy(seconds: float) -> None:
    """Python code that lasts."""
    until = perf_counter() + seconds
    while perf_counter() < until:
        pass


def ready(begun: Event) -> None:
    """Say once that a thread is at work: an exception in the midst of saying it would leave a lock behind."""
    if not begun.is_set():
        begun.set()


def mostly_in_callbacks(begun: Event) -> None:
    """Spends most of its time where an exception cannot come out: in callbacks of weak references."""
    while True:
        item = Item()
        reference = weakref.ref(item, lambda _: busy(0.004))
        ready(begun)
        del item, reference
        busy(0.001)


def deletes(begun: Event) -> None:
    """The same with `__del__`."""

    class Slow:
        def __del__(self) -> None:
            busy(0.004)

    while True:
        Slow()
        ready(begun)
        busy(0.001)


@pytest.fixture
def reported(monkeypatch):
    """Exceptions that Python reports since they come out of nothing."""
    seen: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: seen.append(unraisable.exc_type))
    return seen


@pytest.mark.parametrize("function", [mostly_in_callbacks, deletes])
def test_a_thread_ends_though_it_is_mostly_where_exceptions_are_forgotten(function, reported):
    ended = []

    def work(begun: Event) -> None:
        try:
            function(begun)
        except StopError:
            ended.append(True)
        finally:
            spare_thread(get_ident())

    before = sys.unraisablehook
    for _ in range(5):
        begun = Event()
        thread = Thread(target=work, args=(begun,), daemon=True)
        thread.start()
        assert begun.wait(30)
        end_thread(thread.ident, StopError)
        thread.join(30)
        assert not thread.is_alive()
    assert (ended, reported) == ([True] * 5, [])
    assert sys.unraisablehook is before


def test_what_others_cannot_raise_is_reported_as_ever(reported):
    begun = Event()

    class Broken:
        def __del__(self) -> None:
            raise ValueError("mine")

    def work() -> None:
        try:
            while True:
                Broken()
                ready(begun)
        except StopError:
            pass
        finally:
            spare_thread(get_ident())

    thread = Thread(target=work, daemon=True)
    thread.start()
    assert begun.wait(30)
    end_thread(thread.ident, StopError)
    Broken()
    thread.join(30)
    assert not thread.is_alive()
    assert set(reported) == {ValueError}


def test_a_thread_that_is_spared_goes_on():
    begun, spared, seen = Event(), Event(), []

    def work() -> None:
        begun.set()
        spared.wait()
        busy(0.05)
        seen.append("through")

    thread = Thread(target=work)
    thread.start()
    begun.wait()
    end_thread(thread.ident, StopError)
    spare_thread(thread.ident)
    spare_thread(thread.ident)
    spared.set()
    thread.join()
    assert seen == ["through"]


def test_interpreting_and_modelling_are_given_up_in_callbacks_too(reported, monkeypatch):
    with pytest.raises(InterpretationTooSlowError):
        Interpreter(0.05).run(mostly_in_callbacks, (Event(),))
    monkeypatch.setattr("edrp.backends.base.PATIENCE", 0.05)
    gone = Event()

    def modelling() -> None:
        try:
            deletes(Event())
        finally:
            gone.set()

    with pytest.raises(OutOfTimeError, match="cannot be interrupted"):
        in_fresh_thread(modelling, seconds=0.05)
    assert gone.wait(30)  # it is left to itself, and would be reported to the tests that follow
    assert reported == []
