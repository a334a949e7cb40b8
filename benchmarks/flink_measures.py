"""Parts that the benchmarks on Flink share: predictions of latency and moved state, the rule of DS2, and how rows are shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlparse

from edrp.core.errors import InvalidInstanceError
from edrp.engines.estimates import Estimate
from edrp.engines.fit import JobFit, OperatorFit
from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.metadata import read_key_groups, states_by_operator
from edrp.engines.goals import Goals
from edrp.engines.key_groups import group_sizes, held_groups
from edrp.engines.model import placement_problem, shortages
from edrp.engines.observation import OperatorObservation
from edrp.placement.deployment import Deployment
from edrp.report.tables import markdown_table
from edrp.validation.flink.lab.job import LabRun
from edrp.validation.papers.flink.report import report
from edrp.validation.papers.flink.rows import load_text, read_rows

GOALS = Goals(busy_limit=0.999)
"""With which every plan that keeps up is a plan of the model."""

ATTEMPTS = 5
"""Readings of a checkpoint, which the next one may remove meanwhile."""


def predicted_latency(fit: JobFit, plan: Deployment, buffer_timeout: float = 0.0) -> Estimate | None:
    """Mean latency in seconds of all tuples by the operators' latencies in the model `edrp` of the job; None where it grows.

    The capture tells neither how arrivals vary, nor the buffer timeout of the program: the value takes arrivals for random, as
    the model does, the low end for evenly spaced, with which tuples wait half as long; and a tuple waits in a buffer that is not
    full for half the timeout on the mean at each stream. Both ends take those of the service rates.
    """
    waiting = _longest_path(fit) * buffer_timeout / 2
    ends = (("value", 1.0), ("high", 0.5), ("low", 1.0))
    estimate = Estimate(*(waiting + _mean_latency(fit, plan, end, share) for end, share in ends))
    return estimate if math.isfinite(estimate.value) else None


def _mean_latency(fit: JobFit, plan: Deployment, end: str, share: float) -> float:
    """Mean over all tuples at sinks if replicas serve as much as one end of their intervals says, and tuples wait that share."""
    served = replace(fit, operators=tuple(_served(op, end) for op in fit.operators))
    if shortages(served, GOALS):
        return math.inf
    problem = placement_problem(served, GOALS)
    arrived = dict.fromkeys(problem.application.topological_order, 0.0)
    for name in arrived:
        inputs = [stream for stream in fit.streams if stream.target == name]
        if inputs:
            weighted = sum(stream.rate * arrived[stream.source] for stream in inputs)
            arrived[name] = weighted / sum(stream.rate for stream in inputs)
        model = problem.application.by_name[name].latency
        if model is not None:
            replicas = plan.degree(name)
            serving = 1.0 / model.true_rate(replicas)
            arrived[name] += serving + share * (model.at(problem.application.load(name) / replicas, replicas) - serving)
    sources = {stream.source for stream in fit.streams}
    sinks = [operator for operator in fit.operators if operator.name not in sources]
    return sum(operator.rate * arrived[operator.name] for operator in sinks) / sum(operator.rate for operator in sinks)


def _served(operator: OperatorFit, end: str) -> OperatorFit:
    """An operator that serves at one end of the interval of its service rate."""
    if operator.service is None:
        return operator
    factor = getattr(operator.service, end) / operator.service.value
    capacities = tuple((replicas, capacity * factor) for replicas, capacity in operator.capacities)
    return replace(operator, service=operator.service.scaled(factor), capacities=capacities)


def _longest_path(fit: JobFit) -> int:
    """Streams on the longest path from a source."""
    depth = {operator.name: 0 for operator in fit.operators}
    for _ in fit.operators:
        for stream in fit.streams:
            depth[stream.target] = max(depth[stream.target], depth[stream.source] + 1)
    return max(depth.values())


def ds2_shares(fit: JobFit, plan: Deployment) -> dict[str, float]:
    """Share of all time that the replicas of each operator have to do, by the rule of DS2: true rates add up over replicas."""
    shares = {}
    for operator, seen in zip(fit.operators, fit.observation.operators, strict=True):
        if operator.service is not None and not operator.source:
            subtasks = [s for window in seen.windows for s in window.subtasks if window.parallelism == seen.parallelism]
            true_rate = sum(s.records_in for s in subtasks) / sum(s.busy or 0.0 for s in subtasks)
            shares[operator.name] = operator.rate / (plan.degree(operator.name) * true_rate)
    return shares


def group_states(flink: LocalFlink, run: LabRun, fit: JobFit) -> dict[str, tuple[int, ...]]:
    """Bytes by key group of each operator with keyed state, by the metadata of the newest checkpoint on the disk.

    The folder is that of a checkpoint that Flink tells of; what it tells is kept for seconds, and may be removed by then.
    """
    latest = flink.rest.get(f"/jobs/{run.job.key}/checkpoints")["latest"]["completed"]
    folder = Path(unquote(urlparse(latest["external_path"]).path)).parent
    for attempt in range(ATTEMPTS):
        try:
            newest = max(folder.glob("chk-*/_metadata"), key=lambda path: int(path.parent.name.removeprefix("chk-")))
            states = read_key_groups(newest)
            break
        except (ValueError, InvalidInstanceError):  # none is there, or it has just gone
            if attempt == ATTEMPTS - 1:
                raise
            run.job.checkpoint()
    return states_by_operator(states, fit.observation)


def predicted_moved_bytes(seen: OperatorObservation, replicas: int) -> float:
    """Bytes of key groups that change their replica, by a capture alone: those of a replica are split evenly."""
    if not seen.state_sizes:
        return 0.0
    return moved_bytes(group_sizes(seen.state_sizes, seen.max_parallelism), seen.parallelism, replicas)


def moved_bytes(
    sizes: Sequence[float], before: int, after: int, nodes: tuple[Sequence[str], Sequence[str]] | None = None
) -> float:
    """Bytes of key groups that change their replica, or their node where the nodes of replicas before and after are given.

    Examples
    --------
    >>> moved_bytes([1.0, 2.0, 4.0, 8.0], 1, 2), moved_bytes([1.0, 2.0, 4.0, 8.0], 1, 2, (["a"], ["a", "a"]))
    (12.0, 0)
    """
    old, new = _owners(before, len(sizes)), _owners(after, len(sizes))
    if nodes is not None:
        return sum(size for size, a, b in zip(sizes, old, new, strict=True) if nodes[0][a] != nodes[1][b])
    return sum(size for size, a, b in zip(sizes, old, new, strict=True) if a != b)


def _owners(replicas: int, groups: int) -> list[int]:
    """The replica of every key group."""
    return [replica for replica in range(replicas) for _ in range(*held_groups(replica, replicas, groups))]


def show(file: Path) -> None:
    """Print tables and statements on a file of rows, as `edrp reproduce flink` reports them."""
    rows = read_rows([file])
    print(f"load of the machine {load_text([*rows.predictions, *rows.control, *rows.placements])}\n")
    found = report(rows)
    print(*map(markdown_table, found.documented), sep="\n")
    for statement in found.statements:
        print(f"{statement.verdict}: {statement.sentence} ({statement.reason})")
