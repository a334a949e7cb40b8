"""Arrays of `advance_tasks` (edrp/native/validation/simulation/mapping/stream_kernel.cpp): running tasks between two events.

Progress is counted in seconds of a task's nominal rate. A task that sheds data on the way has another rate on each hop, but
what a hop passes is a fraction of its own rate, so that one number tells how far all hops are.
"""

from __future__ import annotations

from typing import NamedTuple

from edrp.core.arrays import Floats, Ints, UInts

START, TOTAL, SENT, DONE, GOT, WINDOWS, SHORTFALL = range(7)
"""Columns of `Streams.progress`: when the task began (s); how much it has, how much its source has sent, how much was delivered,
how much of that in the current window (nominal seconds); windows that are over, and the sum of their shortfalls."""


class Streams(NamedTuple):
    """Running tasks, one row each, in the order in which they came; the last row is for trials.

    Attributes
    ----------
    hops : shape (r,), how many hops lead over the public network.
    places : shape (r, h), which of the task's hops these are.
    keys : shape (r, h), the stream of draws of each of them.
    levels : shape (r, h), logarithm of the share of its rate that it gets in the mean.
    mean : shape (r,), fraction of the rate that gets through where nothing is drawn; negative: it is drawn.
    waiting : shape (r, h), what waits before each hop of the task, public or not, nominal seconds.
    progress : shape (r, 7), see `START`.
    """

    hops: Ints
    places: Ints
    keys: UInts
    levels: Floats
    mean: Floats
    waiting: Floats
    progress: Floats


class Physics(NamedTuple):
    """Parameters that are the same for all tasks.

    Attributes
    ----------
    interval : seconds from one draw to the next.
    scale : standard deviation of the logarithm of the rate.
    buffer : seconds of its rate that may wait before a hop.
    window : seconds in which the delivered rate is measured.
    """

    interval: float
    scale: float
    buffer: float
    window: float
