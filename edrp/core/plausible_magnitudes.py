"""Usual magnitudes: beyond them, a number was probably meant in another unit, and users are asked (docs/reference/units.md).

They are far from what real systems have, so that the question is rarely wrong; nothing else depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edrp.core.errors import Fault

MAX_USUAL_DELAY = 2.0
"""Seconds one way between nodes: seven times the way to a geostationary satellite and back."""

MAX_USUAL_RESPONSE_TIME = 60.0
"""Seconds of a limit on the response time of a stream application."""

MAX_USUAL_DOWNTIME = 3600.0
"""Seconds of a limit on the downtime of a reconfiguration."""

MAX_USUAL_PREPARATION = 600.0
"""Seconds to synchronise an application, or to start a replica: ten times the start of a virtual machine."""

MIN_USUAL_BANDWIDTH = 1000.0
"""Bytes/s at which state is moved: less than a modem's rate."""

MAX_USUAL_TRANSFER = 3600.0
"""Seconds that an operator's state takes at a rate below `MIN_USUAL_BANDWIDTH` before the rate is doubted."""

MIN_USUAL_STATE = 1000.0
"""Bytes of the largest state of all operators, where it moves at `MAX_DOUBTED_BANDWIDTH` or faster."""

MAX_DOUBTED_BANDWIDTH = 1e6
"""Bytes/s from which on a rate is certainly in bytes, so that a tiny state next to it is doubted."""


def long_times(place: str, times: Sequence[float | None], usual: float, what: str) -> Iterator[Fault]:
    """Ask whether times are in milliseconds, once, at the longest of them if that is longer than usual.

    Parameters
    ----------
    place
        Place of each time; `{}` stands for its position.
    times
        Seconds; None where none is given.
    usual
        Seconds up to which times are not doubted.
    what
        What they are, in the plural.

    Examples
    --------
    >>> [fault.sentence for fault in long_times("network.links[{}].delay", [0.1, 20.0, 30.0], MAX_USUAL_DELAY, "delays")]
    ['network.links[2].delay is 30 s, and 1 more is above 2 s; delays are in seconds: is 0.03 meant?']
    """
    long = [seconds for seconds in times if seconds and seconds > usual]
    if long:
        longest, others = max(long), len(long) - 1
        more = f", and {others} more {'is' if others == 1 else 'are'} above {usual:g} s" if others else ""
        why = f"is {longest:g} s{more}; {what} are in seconds: is {longest / 1000:g} meant?"
        yield Fault(place.format(times.index(longest)), f"{longest:g}", why)


def odd_transfer(size: float, size_place: str, rate: float, rate_place: str) -> Iterator[Fault]:
    """Ask whether a size, in bytes, or the rate at which it is moved, in bytes/s, is in another unit.

    Nothing is asked where both are small: megabytes at megabytes per second take the same time as bytes at bytes per second.

    Examples
    --------
    >>> [fault.sentence for fault in odd_transfer(5e8, "tasks.state_size", 100.0, "store.bandwidth")]
    ['store.bandwidth is 100 bytes/s, at which 5e+08 bytes of state take 5e+06 s; rates are in bytes/s: is 1e+08 meant?']
    >>> [fault.sentence for fault in odd_transfer(500, "tasks.state_size", 1e8, "store.bandwidth")]
    ['tasks.state_size is 500 bytes, the largest state, at 1e+08 bytes/s; sizes are in bytes: is 5e+08 meant?']
    """
    if rate < MIN_USUAL_BANDWIDTH and size > MAX_USUAL_TRANSFER * rate:
        slow = f"at which {size:g} bytes of state take {size / rate:g} s"
        yield Fault(rate_place, f"{rate:g}", f"is {rate:g} bytes/s, {slow}; rates are in bytes/s: is {rate * 1e6:g} meant?")
    elif size < MIN_USUAL_STATE and rate >= MAX_DOUBTED_BANDWIDTH:
        what = f"is {size:g} bytes, the largest state, at {rate:g} bytes/s"
        yield Fault(size_place, f"{size:g}", f"{what}; sizes are in bytes: is {size * 1e6:g} meant?")
