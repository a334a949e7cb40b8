"""The largest rate as sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator

from edrp.carrying.bottleneck import Bottlenecks
from edrp.carrying.largest_rate import LargestRate
from edrp.cli.display.placement import placement_table
from edrp.cli.display.solution import STOPS, clash_parts
from edrp.report.tables import Table


def carry_verdict(largest: LargestRate) -> str:
    """The answer in a sentence."""
    if largest.status == "infeasible":
        return "infeasible: nothing meets all limits, not even without the load that grows"
    if largest.status == "unbounded":
        return "unbounded: nothing limits the rates"
    stopped = f", stopped by {STOPS[largest.stopped_because]}" if largest.stopped_because in STOPS else ""
    if largest.multiple is None:
        return f"nothing found{stopped}; there may be something all the same"
    how = "attained" if largest.attained else "approached"
    proof = "above it nothing is feasible" if largest.status == "optimal" else f"no more is proven{stopped}"
    return f"{largest.status}: {largest.multiple:.9g} times the rates, {how}; {proof}"


def carry_parts(largest: LargestRate, bottlenecks: Bottlenecks | None) -> Iterator[Table | str]:
    """Bound, bottleneck and rates of the sources, the deployment, what clashes, notes, and what one unit more carries."""
    if largest.bound is not None:
        gap = "" if largest.gap is None else f" (gap {100 * largest.gap:.3g} %)"
        yield f"Nothing carries more than {largest.bound:.9g} times the rates{gap}"
    if largest.binding:
        yield f"Bottleneck: {largest.binding}"
    if largest.rates:
        yield "At most: " + ", ".join(f"{name} {rate:.6g} tuples/s" for name, rate in largest.rates.items())
    if largest.deployment is not None:
        yield placement_table(largest.load.problem, largest.deployment, None)
    yield from clash_parts(largest)
    yield from largest.notes
    yield f"{largest.solves} programs by {largest.method}, {largest.seconds:.2f} s"
    if bottlenecks is not None:
        yield from map(bottlenecks.sentence, bottlenecks.helpful)
        yield from bottlenecks.summary()
