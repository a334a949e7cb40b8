"""Errors of engines: one line that says what is wrong and what would be right."""

from __future__ import annotations

from edrp.core.errors import EdrpError, visible


class EngineError(EdrpError):
    """An engine, its job or a capture of it cannot be used.

    >>> print(EngineError("http://localhost:8081", "nothing answers; start the cluster"))
    http://localhost:8081: nothing answers; start the cluster
    """

    def __init__(self, place: str, why: str) -> None:
        self.place = place
        self.why = why
        super().__init__(visible(f"{place}: {why}"))


class JobGoneError(EngineError):
    """The job has ended or is unknown to its engine: there is nothing left to watch."""


class StoppedError(EngineError):
    """A change was given up because a stop was asked for, before anything was changed."""


class NoAnswerError(EngineError):
    """A request was sent and no answer came, so that nobody knows whether it arrived."""
