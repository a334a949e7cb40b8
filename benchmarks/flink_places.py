"""Placements of a job over three sites against a real cluster: `python benchmarks/flink_places.py run ROWS`, then `show ROWS`.

A chain of four operators runs on three TaskManagers with proxied delays between them, two slots each, placed exactly by named
external resources. The job is captured once where it starts; from that capture, a network with the true delays, and one
measurement of a placement that crosses sites, which says what a delay adds to the latency (`delay_factor` of the goals), the
model of the engine predicts the mean latency of placements that are drawn at random without knowing more. Each is applied by a
savepoint and a new start, and measured at the writer. The placement that `edrp.solve` proves best for the same document is
applied among them.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from common import add_row
from flink_measures import show

from edrp.core.solve import solve
from edrp.engines.errors import EngineError
from edrp.engines.fit import JobFit, fit_job
from edrp.engines.flink.capturing import CaptureSettings, capture_job
from edrp.engines.flink.local import LocalFlink, LocalNode
from edrp.engines.flink.local.jobs import now_ms
from edrp.engines.flink.reading import read_observation
from edrp.engines.goals import Goals
from edrp.engines.model import placement_problem
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.network import Network
from edrp.validation.flink.lab.job import LabRun, LabSettings

SLOTS = 2
"""Slots of each site."""

DELAYS = {("a", "b"): 0.010, ("b", "c"): 0.025, ("a", "c"): 0.045}
"""Seconds one way between sites."""

SETTINGS = LabSettings("chain", rate=60.0, service={"parser": 0.004, "counter": 0.006}, exponential=True, pinned=True)
OPERATORS = {"reader": "Source: reader", "parser": "parser", "counter": "counter", "writer": "writer: Writer"}
"""Operators of the lab's chain, and their names in Flink."""

FIRST, CROSSING = ("b", "b", "c", "c"), ("a", "c", "a", "c")
"""Placement that is captured, and the one whose latency says what a delay adds."""

SECONDS_TO_SETTLE, SECONDS, EVERY = 8.0, 15.0, 5.0

Placement = tuple[str, ...]
"""Site of each operator."""


def placements() -> list[Placement]:
    """All placements that slots allow."""
    sites = sorted({site for pair in DELAYS for site in pair})
    return [p for p in itertools.product(sites, repeat=len(OPERATORS)) if max(Counter(p).values()) <= SLOTS]


def resources(placement: Placement) -> dict[str, str]:
    """The resource that each operator demands."""
    return {name: f"at-{site}" for name, site in zip(OPERATORS, placement, strict=True)}


def deployment(placement: Placement) -> Deployment:
    """The placement by the names of operators in Flink."""
    return Deployment({name: (site,) for name, site in zip(OPERATORS.values(), placement, strict=True)})


def document(fit: JobFit, factor: float) -> EdrpProblem:
    """The model of the job on the sites: one replica of each operator, the shortest response time."""
    links = [{"source": first, "target": second, "delay": delay} for (first, second), delay in DELAYS.items()]
    network = Network(nodes=[{"name": site} for site in sorted({site for pair in DELAYS for site in pair})], links=links)
    single: Mapping[str, Any] = {"min_replicas": 1, "max_replicas": 1}
    goals = Goals(response_time_weight=1.0, delay_factor=factor, operators=dict.fromkeys(OPERATORS.values(), single))
    return placement_problem(fit, goals, network)


def response_time(fit: JobFit, placement: Placement, factor: float) -> float:
    """Mean latency in seconds by the model, without what tuples wait in buffers."""
    return float(document(fit, factor).evaluate(deployment(placement)).metrics["response_time"])


def measured_latency(run: LabRun, seconds: float = SECONDS) -> float:
    """Mean latency in seconds at the writer over a while from now on."""
    begin = now_ms()
    time.sleep(seconds)
    buckets = run.buckets(begin)
    return sum(bucket.tuples * bucket.mean for bucket in buckets) / sum(bucket.tuples for bucket in buckets) / 1000


def apply(run: LabRun, placement: Placement) -> None:
    """Redeploy the job, check where it runs, and let it catch up."""
    run.redeploy(replace(run.settings, places=resources(placement)))
    places = {name: tuple(nodes) for name, nodes in run.job.places().items()}
    if places != {name: (site,) for name, site in zip(OPERATORS.values(), placement, strict=True)}:
        raise EngineError("job", f"runs at {places} instead of {placement}")
    time.sleep(SECONDS_TO_SETTLE)


def calibrated(fit: JobFit, first: float, crossing: float) -> tuple[float, float]:
    """Delay factor and what the model leaves out at any placement, by the measured latencies of two placements.

    The response time by the model is linear in the factor; both unknowns follow from two measurements.
    """
    once, twice = ([response_time(fit, placement, factor) for placement in (FIRST, CROSSING)] for factor in (1.0, 2.0))
    delays = [double - single for single, double in zip(once, twice, strict=True)]
    base = [single - delay for single, delay in zip(once, delays, strict=True)]
    factor = (crossing - first - base[1] + base[0]) / (delays[1] - delays[0])
    return factor, first - base[0] - factor * delays[0]


def rows_of_sites(flink: LocalFlink, count: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Calibrate, draw placements, and measure each and the proven optimum, in random order."""
    run = LabRun(flink, replace(SETTINGS, places=resources(FIRST)))
    time.sleep(SECONDS_TO_SETTLE)
    fit = fit_job(read_observation(capture_job(flink.address, CaptureSettings(seconds=SECONDS, every=EVERY))))
    first = measured_latency(run)
    apply(run, CROSSING)
    crossing = measured_latency(run)
    factor, rest = calibrated(fit, first, crossing)
    solution = solve(document(fit, factor), "highs")
    best = tuple(solution.deployment[name][0] for name in OPERATORS.values())
    calibration = {"first": first, "crossing": crossing, "delay_factor": factor, "rest": rest, "status": solution.status}
    yield {"kind": "calibration", "load": os.getloadavg()[0], "placements": len(placements()), **calibration}
    drawn = rng.sample([p for p in placements() if p not in (FIRST, CROSSING, best)], count)
    order = [best, *drawn]
    rng.shuffle(order)
    for placement in order:
        apply(run, placement)
        yield {
            "kind": "placement",
            "placement": dict(zip(OPERATORS, placement, strict=True)),
            "optimum": placement == best,
            "predicted": rest + response_time(fit, placement, factor),
            "predicted_plain": response_time(fit, placement, 1.0),
            "measured": measured_latency(run),
            "load": os.getloadavg()[0],
        }


def run_all(file: Path, count: int, seed: int) -> None:
    """Run everything on one cluster and append the rows."""
    nodes = {site: LocalNode(SLOTS, {f"at-{site}": SLOTS}) for site in sorted({site for pair in DELAYS for site in pair})}
    with LocalFlink(nodes, scheduler="default", delays=DELAYS) as flink:
        for row in rows_of_sites(flink, count, random.Random(seed)):
            add_row(file, {"seed": seed, **row})


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("rows", type=Path)
    parser.add_argument("--placements", type=int, default=20, help="that are drawn; the optimum and two to calibrate come on top")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.what == "run":
        try:
            run_all(arguments.rows, arguments.placements, arguments.seed)
        except EngineError as error:
            sys.exit(str(error))
    show(arguments.rows)


if __name__ == "__main__":
    main()
