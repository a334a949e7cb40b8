"""Placement of the six queries of CAPSys: `edrp` with its default method against a program of counts for CP-SAT.

`instances/capsys/queries_4x8.json` holds the queries as CAPSys (EuroSys 2025) measured them. Both sides begin with the document
of the problem. A row with a number of tasks draws one of the queries, what a task and a tuple of it use within 30 % of what was
measured, for that number of tasks, which take all slots.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from peer_pairs import Call, Outcome, Pair, register

import edrp
from edrp.datasets.placement.capsys import capsys_queries

DATA = Path(__file__).resolve().parents[1] / "instances"
UNIT = 1e-9
"""Share of a node's capacity that is a unit of CP-SAT, which knows integers only."""

SECONDS_PER_STAGE = 5.0
SPREAD = 0.3


def document(query: str) -> dict[str, Any]:
    """The problem of a query, as it was measured."""
    return capsys_queries(DATA)[query].model_dump(mode="json")


def drawn(tasks: int, nodes: int, seed: int) -> dict[str, Any]:
    """The problem of a drawn query with other numbers of tasks and nodes."""
    random = np.random.default_rng(seed)
    query = f"Q{random.integers(1, 7)}"
    given = sum(operator.max_replicas for operator in capsys_queries(DATA)[query].application.operators)
    content = capsys_queries(DATA, scale=tasks / given, workers=nodes, slots=tasks // nodes)[query].model_dump(mode="json")
    for use in (use for operator in content["application"]["operators"] for use in (operator.get("usage") or {}).values()):
        use["per_replica"] *= random.uniform(1 - SPREAD, 1 + SPREAD)
    for stream in content["application"]["streams"]:
        stream["usage"] = {name: use * random.uniform(1 - SPREAD, 1 + SPREAD) for name, use in (stream["usage"] or {}).items()}
    return content


def prepare_ours(make: Callable[..., dict[str, Any]], *seed: int) -> Any:
    """The default method; modules are imported before the first call."""
    content = make(*seed)

    def run() -> Outcome:
        solution = edrp.solve(edrp.EdrpProblem.model_validate(content))
        peaks = ", ".join(f"{stage.value:.6f}{'' if stage.proven else ' (open)'}" for stage in solution.stages)
        return Outcome(solution.stages[-1].value, solution.stages[-1].bound, f"{solution.status}: {peaks}")

    return run


class CountProgram:
    """Counts of tasks by node as integers, and the load of each node by resource; nodes are equal, so the first loads ascend."""

    def __init__(self, content: dict[str, Any]) -> None:
        from ortools.sat.python import cp_model

        self.cp, self.model = cp_model, cp_model.CpModel()
        self.operators, nodes = content["application"]["operators"], content["network"]["nodes"]
        self.total = {operator["name"]: operator["max_replicas"] for operator in self.operators}
        self.metrics = [priority["metric"].partition(".")[2] for priority in content["priorities"]]
        self.counts = [
            {name: self.model.new_int_var(0, total, f"{name}@{u}") for name, total in self.total.items()}
            for u in range(len(nodes))
        ]
        for name, total in self.total.items():
            self.model.add(sum(counts[name] for counts in self.counts) == total)
        for node, counts in zip(nodes, self.counts, strict=True):
            self.model.add(sum(counts.values()) <= int(node["resources"]))
        self.leaving = [[self._leaving(stream, counts) for stream in content["application"]["streams"]] for counts in self.counts]
        self.peaks = {
            metric: self._peak(metric, content["application"]["streams"], nodes[0]["capacity"]) for metric in self.metrics
        }

    def _leaving(self, stream: dict[str, Any], counts: dict[str, Any]) -> tuple[Any, float]:
        """What leaves a node of a stream: a variable, and the share of the stream that a unit of it stands for."""
        senders, receivers = self.total[stream["source"]], self.total[stream["target"]]
        sending, receiving = counts[stream["source"]], counts[stream["target"]]
        if stream["partitioning"] == "forward":
            left = self.model.new_int_var(0, senders, "")
            self.model.add_max_equality(left, [0, sending - receiving])
            return left, 1 / senders
        left = self.model.new_int_var(0, senders * receivers, "")
        self.model.add_multiplication_equality(left, [sending, receivers - receiving])
        return left, 1 / (senders * receivers)

    def _peak(self, metric: str, streams: list[dict[str, Any]], capacity: dict[str, float]) -> Any:
        """The largest load of a node, in units."""
        peak, loads = self.model.new_int_var(0, round(4 / UNIT), metric), []
        for counts, leaving in zip(self.counts, self.leaving, strict=True):
            terms = [
                round(use["per_replica"] / capacity[metric] / UNIT) * counts[operator["name"]]
                for operator in self.operators
                if (use := (operator.get("usage") or {}).get(metric))
            ]
            terms += [
                round(stream["rate"] * stream["usage"][metric] * share / capacity[metric] / UNIT) * left
                for stream, (left, share) in zip(streams, leaving, strict=True)
                if metric in (stream.get("usage") or {})
            ]
            loads.append(sum(terms))
            self.model.add(peak >= loads[-1])
        if metric == self.metrics[0]:
            for one, other in pairwise(loads):
                self.model.add(one <= other)
        return peak

    def run(self) -> Outcome:
        """One peak after the other, each within those before, from the placement that these left."""
        solver, words, bound = self.cp.CpSolver(), [], 0.0
        solver.parameters.num_workers, solver.parameters.max_time_in_seconds = 1, SECONDS_PER_STAGE
        for metric in self.metrics:
            self.model.minimize(self.peaks[metric])
            status = solver.solve(self.model)
            if status not in (self.cp.OPTIMAL, self.cp.FEASIBLE):
                return Outcome(note=f"{', '.join(words)}; {metric}: {solver.status_name(status)}")
            value, bound = solver.objective_value, solver.best_objective_bound
            words.append(f"{value * UNIT:.6f}{'' if status == self.cp.OPTIMAL else ' (open)'}")
            self.model.add(self.peaks[metric] <= round(value))
            self.model.clear_hints()
            for variable in (count for counts in self.counts for count in counts.values()):
                self.model.add_hint(variable, solver.value(variable))
        return Outcome(value * UNIT, bound * UNIT, ", ".join(words))


def prepare_peer(make: Callable[..., dict[str, Any]], *seed: int) -> Any:
    """A program that is built and solved in each call; without `highspy`, with which OR-Tools cannot be loaded."""
    content = make(*seed)
    return lambda: CountProgram(content).run()


def pair(name: str, goal: str, make: Callable[..., dict[str, Any]], *, is_drawn: bool) -> Pair:
    """A row of both sides on a problem, or on drawn ones."""
    ours, peer = (Call(title, partial(side, make)) for title, side in (("edrp", prepare_ours), ("CP-SAT", prepare_peer)))
    return Pair(name, goal, ours, peer, ("ortools",), is_drawn)


for number in range(1, 7):
    register(pair(f"capsys-q{number}", "0.03 s, proven", partial(document, f"Q{number}"), is_drawn=False))
for tasks, nodes in ((256, 4), (512, 4), (512, 8), (512, 16), (1024, 4)):
    goal = "proven or 0.1 % in 5 s" if tasks == 512 else "measured"
    register(pair(f"fixed-tasks-{tasks}-on-{nodes}", goal, partial(drawn, tasks, nodes), is_drawn=True))
