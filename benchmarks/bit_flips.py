"""Flips bits in results, journals, policies and checkpoints, and counts those that nobody notices.

    python benchmarks/bit_flips.py [FLIPS] [SEED]

A thousand take about a minute. Exit code 1 if a single one was silent, or took along more than its own file.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from edrp.validation.oracles.bit_flips import flip_bits


def main(count: int = 1000, seed: int = 1) -> int:
    """Print what noticed the flips; the exit code is 1 where one stayed silent."""
    begin, noticed, faults = perf_counter(), Counter(), []
    with TemporaryDirectory() as place:
        for flip in flip_bits(count, seed, Path(place)):
            if flip.fault:
                faults.append(flip)
            else:
                noticed[flip.what] += 1
    for what, number in noticed.items():
        print(f"{what}: {number} flips noticed, named and set aside")
    for flip in faults:
        print(f"{flip.what}: bit {flip.bit} of {flip.file} {flip.fault}")
    print(f"{len(faults)} of {count} flips were silent or did more harm than to their file; {perf_counter() - begin:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
