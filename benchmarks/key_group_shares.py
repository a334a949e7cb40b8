"""How well the load of the busiest replica is known at another number of replicas, from the loads at the present one.

    python benchmarks/key_group_shares.py

Keys by Zipf's law are hashed to 128 key groups, which 1 to 8 replicas hold in even ranges, and up to twice as many (or fewer)
are to hold. Known are the load of each replica now and, for `state`, the bytes of each key group: as many as it has keys, or
what its keys brought on another day (each key's frequency varies by a log-normal factor). `even` splits the load of a replica
evenly over its key groups; `skew` takes the busiest to receive as much more than the mean as now, and 1 from one replica.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import typer

from edrp.engines.key_groups import KeyGroups, group_work, held_groups

GROUPS = 128
"""Flink's default for small jobs."""

KEYS = ((50, 1.0), (500, 0.8), (500, 1.0), (5000, 0.6), (5000, 1.0), (50_000, 1.1))
"""Numbers of keys, and exponents of Zipf's law."""

TODAY, ANOTHER_DAY = 0.1, 0.3
"""Standard deviation of the logarithm of a key's frequency."""


class ShareErrors(NamedTuple):
    """Mean absolute relative errors of the busiest replica's load."""

    state: float
    even: float
    skew: float


def share_errors(keys: int, exponent: float, draws: int, seed: int, *, state_by_key: bool) -> ShareErrors:
    """Errors over so many draws of keys and numbers of replicas; with `state_by_key` every key has as much state."""
    random, often = np.random.default_rng(seed), 1.0 / np.arange(1, keys + 1) ** exponent
    errors = []
    for _ in range(draws):
        group = random.integers(0, GROUPS, keys)
        today, before = (np.bincount(group, often * random.lognormal(0.0, s, keys), GROUPS) for s in (TODAY, ANOTHER_DAY))
        sizes = np.bincount(group, minlength=GROUPS).astype(float) if state_by_key else before
        now = int(random.integers(1, 9))
        then = int(random.integers(1, 2 * now + 1))
        loads = [int(1e6 * today[slice(*held_groups(replica, now, GROUPS))].sum()) for replica in range(now)]
        truth = KeyGroups(tuple(today), ()).heaviest_share(then)
        by_state, by_number = (
            KeyGroups(tuple(group_work(loads, GROUPS, known)), ()).heaviest_share(then) for known in (sizes.tolist(), ())
        )
        by_skew = max(loads) * now / sum(loads) / then if then > 1 else 1.0
        errors.append([abs(share / truth - 1) for share in (by_state, by_number, by_skew)])
    return ShareErrors(*np.mean(errors, axis=0))


def main(draws: Annotated[int, typer.Option(help="Number of draws of each kind of keys.")] = 300, seed: int = 3) -> None:
    """Print a row for each kind of keys and of state."""
    print(f"{'keys':>6} {'exponent':>8} {'state of a key':<16} {'state':>6} {'even':>6} {'skew':>6}")
    for keys, exponent in KEYS:
        for kind in ("equal", "by its tuples"):
            state, even, skew = share_errors(keys, exponent, draws, seed, state_by_key=kind == "equal")
            print(f"{keys:>6} {exponent:>8} {kind:<16} {state:>6.1%} {even:>6.1%} {skew:>6.1%}")


if __name__ == "__main__":
    typer.run(main)
