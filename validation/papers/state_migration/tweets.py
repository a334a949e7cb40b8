"""Made-up tweets whose words change over time: Zipf words, and trends that come and go.

A tweet has six different words. Words are drawn by rank with a Zipf law over 10,000 words. Every hour a trend begins with
probability ¼: a phrase of three words, anywhere in the vocabulary, that 2 to 15 % of the tweets contain for 8 hours on average
(a geometric number); trends together are in at most half of the tweets. All is drawn from a seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import Fault, InvalidInstanceError

KEYS = 10_000
"""Number of words."""

TWEET_WORDS, PHRASE_WORDS = 6, 3
TREND_CHANCE, TREND_HOURS, TREND_SHARES, MAX_TREND_SHARE = 0.25, 8.0, (0.02, 0.15), 0.5


class Trend(NamedTuple):
    """A phrase that a share of the tweets contains from hour `begin` until before hour `end`."""

    begin: int
    end: int
    words: Ints
    share: float


@dataclass(frozen=True)
class Tweets:
    """Tweets of `hours` hours, with words by a Zipf law of the given exponent."""

    hours: int
    exponent: float
    seed: int = 1

    @cached_property
    def trends(self) -> tuple[Trend, ...]:
        """All trends, by their begin."""
        generator = np.random.default_rng(self.seed)
        begins = np.flatnonzero(generator.random(self.hours) < TREND_CHANCE).tolist()
        ends = begins + generator.geometric(1 / TREND_HOURS, len(begins))
        words = [generator.choice(KEYS, PHRASE_WORDS, replace=False) for _ in begins]
        shares = generator.uniform(*TREND_SHARES, len(begins)).tolist()
        return tuple(Trend(*trend) for trend in zip(begins, ends.tolist(), words, shares, strict=True))

    def trending(self, hour: int) -> tuple[tuple[Ints, float], ...]:
        """Phrases of an hour with the shares of tweets that contain them."""
        now = [trend for trend in self.trends if trend.begin <= hour < trend.end]
        scale = min(1.0, MAX_TREND_SHARE / max(sum(trend.share for trend in now), 1e-9))
        return tuple((trend.words, scale * trend.share) for trend in now)

    def popularity(self, hour: int) -> Floats:
        """Share of each word among all words of an hour, shape (words,), up to words that a tweet would hold twice.

        >>> float(Tweets(48, 0.8).popularity(20).sum().round(9))
        1.0
        """
        phrases = self.trending(hour)
        usual = 1 - sum(share for _, share in phrases) * PHRASE_WORDS / TWEET_WORDS
        popularity = usual * self._zipf
        for words, share in phrases:
            popularity[words] += share / TWEET_WORDS
        return popularity

    def drawn(self, hour: int, count: int) -> Ints:
        """Draw tweets of an hour: their words, all different, shape (count, 6)."""
        generator = np.random.default_rng((self.seed, hour))
        tweets = self._ranks(generator, (count, TWEET_WORDS))
        phrases = self.trending(hour)
        kind = generator.choice(len(phrases) + 1, count, p=[1 - sum(share for _, share in phrases), *(s for _, s in phrases)])
        for phrase, (words, _) in enumerate(phrases, start=1):
            tweets[kind == phrase, :PHRASE_WORDS] = words
        while True:
            ordered = np.argsort(tweets, axis=1, kind="stable")  # of equal words the later ones are drawn again
            sorted_tweets = np.take_along_axis(tweets, ordered, axis=1)
            row, position = np.nonzero(sorted_tweets[:, 1:] == sorted_tweets[:, :-1])
            if row.size == 0:
                return tweets
            tweets[row, ordered[row, position + 1]] = self._ranks(generator, (row.size,))

    @cached_property
    def _zipf(self) -> Floats:
        return zipf_work(self.exponent)

    def _ranks(self, generator: np.random.Generator, shape: tuple[int, ...]) -> Ints:
        return np.minimum(np.searchsorted(np.cumsum(self._zipf), generator.random(shape)), KEYS - 1)


def zipf_work(exponent: float, keys: int = KEYS) -> Floats:
    """Work of keys by rank, summing to 1, shape (keys,).

    >>> zipf_work(1.0, 3).round(3).tolist()
    [0.545, 0.273, 0.182]
    """
    if keys < 1 or not exponent >= 0:
        raise InvalidInstanceError([Fault("zipf", f"exponent {exponent}, {keys} keys", "needs a key, and no negative exponent")])
    weights = np.arange(1, keys + 1) ** -exponent
    return weights / weights.sum()
