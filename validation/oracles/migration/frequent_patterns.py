"""The maximal frequent patterns of a sliding window by counting everything: a reference for the job `FrequentPatternJob.java`."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import accumulate, chain, combinations, count

SCALE = 20
MASK = (1 << 64) - 1

Pattern = tuple[int, ...]
"""Words in ascending order."""


def tweet_words(number: int, vocabulary: int, size: int) -> Pattern:
    """The words of a tweet, drawn by Zipf's law as `TweetGenerator.java` says.

    >>> tweet_words(0, 1000, 4)
    (0, 4, 486, 564)
    """
    sums = _sums(vocabulary)
    drawn: set[int] = set()
    for draw in count():
        drawn.add(bisect_right(sums, _mix((number << SCALE) + draw) % sums[-1]))
        if len(drawn) == size:
            return tuple(sorted(drawn))
    raise AssertionError


@cache
def _sums(vocabulary: int) -> list[int]:
    return list(accumulate((1 << SCALE) // rank for rank in range(1, vocabulary + 1)))


def _mix(value: int) -> int:
    """The finaliser of SplitMix64."""
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def tweets_in_window(events: int, window: int) -> range:
    """Numbers of the tweets in a window of size `window` after `events`: arrivals, then arrivals and departures in turn.

    >>> tweets_in_window(3, 5), tweets_in_window(8, 5), tweets_in_window(9, 5)
    (range(0, 3), range(1, 7), range(2, 7))
    """
    turns = max(0, events - window)
    return range(turns // 2, min(events, window) + (turns + 1) // 2)


def maximal_patterns(tweets: Iterable[Pattern], threshold: int, size: int) -> set[Pattern]:
    """The patterns of at most `size` words in more than `threshold` tweets, without those that another of them contains.

    >>> maximal_patterns([(0, 1), (0, 1), (0, 2)], threshold=1, size=2)
    {(0, 1)}
    """
    counts = Counter(chain.from_iterable(_patterns(words, size) for words in tweets))
    frequent = {pattern for pattern, tweets_with_it in counts.items() if tweets_with_it > threshold}
    contained = {subset for pattern in frequent for subset in _patterns(pattern, len(pattern) - 1)}
    return frequent - contained


def _patterns(words: Pattern, size: int) -> Iterable[Pattern]:
    return chain.from_iterable(combinations(words, length) for length in range(1, size + 1))
