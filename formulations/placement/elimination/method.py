"""`eliminate`: proven optima by bounds, elimination, label search and branching, for any acyclic application."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edrp.core.arrays import Bools, Ints
from edrp.core.budget import amount
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer, StoppedBecause
from edrp.core.tolerances import LIMIT_SLACK, OPTIMALITY_GAP
from edrp.formulations.placement.elimination.box import Box, BoxPrices
from edrp.formulations.placement.elimination.model import EliminationModel, build_model
from edrp.formulations.placement.elimination.seats import possible_seats
from edrp.formulations.placement.elimination.tree import BoxTree, EliminationParameters, best_known, counts_of, improve
from edrp.formulations.placement.handover import answer_with_bound, finish_by_program, nothing_found
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled, count_configurations
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import IN_USE, PEAKS, SEARCHED
from edrp.placement.problem import PlacementProblem
from edrp.placement.reconfiguration import downtime_floor

MAX_CONFIGURATIONS = 10**12
"""Configurations of one operator beyond which the method is refused."""

MAX_SEATS = 50_000_000
"""Entries of a table over operators, nodes and numbers of replicas beyond which it is refused."""

TAKEN_OVER = "labels that rules tell apart were too many; the program took over"


class Eliminate(Method):
    """Exact method for response time, cost, downtime and network usage; any DAG, capacities, limits."""

    name = "eliminate"
    kinds = ("edrp", "latency-aware")
    takes = SEARCHED - {IN_USE, PEAKS}  # nodes count once for all operators, or add them up, which the bound does not model
    exact = True
    summary = "bound and eliminate, label search, branch and bound; the fastest proof"
    parameters = EliminationParameters

    def __init__(self, heuristic: Method | None = None) -> None:
        self.heuristic = heuristic

    def obstacle(self, problem: PlacementProblem) -> str | None:
        """Configurations are listed once elimination has left few enough of them; beyond all bounds it never does."""
        everywhere = len(problem.network.nodes)
        operators = problem.application.by_name.values()
        for operator in operators:
            nodes = everywhere if operator.candidates is None else len(operator.candidates)
            count = count_configurations(nodes, operator.max_replicas)
            if operator.min_replicas > 1:
                count -= count_configurations(nodes, operator.min_replicas - 1)
            if count > MAX_CONFIGURATIONS:
                return f"{operator.name} has {amount(count)} configurations, too many for eliminate"
        seats = len(operators) * everywhere * (1 + max(operator.max_replicas for operator in operators))
        if seats > MAX_SEATS:
            return f"operators, nodes and numbers of replicas have {seats:,} combinations, too many for eliminate"
        if problem.application.feedback:
            return "eliminate takes no cycles"
        return None

    def run(self, problem: PlacementProblem, options: Options) -> Answer:
        """Prove the optimum, or return incumbent, bound and gap when time runs out."""
        parameters = self.read_parameters(options)
        compiled = compile_problem(problem)
        if not np.isfinite(compiled.latency).any(axis=1).all():
            return Answer("infeasible", "finished")
        model = build_model(compiled)
        build_seconds = options.seconds
        start = best_known(model, [_counts(compiled, known) for known in (options.start, problem.current)])
        search = BoxTree(
            model=model,
            parameters=parameters,
            incumbent=start,
            gap=0.5 * options.gap,  # leaves the other half to rounding
            out_of_time=lambda: options.remaining <= 0,
            report=options.tell,
            ties=options.gap <= OPTIMALITY_GAP,
        )
        interrupted = False
        try:
            if parameters.annealing and self.heuristic is not None:
                improve(model, start, _counts(compiled, self._anneal(problem, model, options)))
            bound = search.run(roots(model))
            if start.members is not None and bound >= search.cutoff and (search.tied or not search.ties):
                search.break_ties(search.tied if search.ties else roots(model))
        except KeyboardInterrupt:
            interrupted, bound = True, search.bound if search.boxes else -np.inf
        size = {"boxes": search.boxes, "labels": search.widest, "configurations": search.configurations}
        out_of_time = options.remaining <= 0 and bound < start.objective
        stopped: StoppedBecause = "interrupted" if interrupted else "time_limit" if out_of_time else "finished"
        if start.members is None:
            answer = nothing_found(stopped, bound, size, build_seconds, start.objective)
        else:
            # Bounds include the tie terms, which are below anything that counts.
            gap, deployment = start.objective - bound, compiled.deployment(counts_of(model, start.members))
            answer = answer_with_bound(problem, deployment, gap, options.gap, stopped, size, build_seconds)
        return finish_by_program(problem, answer, options, self.name, TAKEN_OVER) if len(model.rules.shared) else answer

    def _anneal(self, problem: PlacementProblem, model: EliminationModel, options: Options) -> Deployment | None:
        """The best deployment of a short annealing."""
        assert self.heuristic is not None
        # Steps, not seconds, so that runs repeat; the time limit is shared fairly where there is one.
        # A current deployment that is expensive to leave is an excellent start already.
        anneals = 1 if problem.current is not None and model.compiled.weight["downtime"] > 0 else 3
        steps = {"anneals": anneals, "steps": 150_000 + 20_000 * model.operators}
        sub = replace(options.within(0.5 * options.remaining), parameters=steps)
        decision: Deployment | None = self.heuristic.run(problem, sub).decision
        return decision


def _counts(compiled: Compiled, deployment: Deployment | None) -> Ints | None:
    """Replicas per operator and node; None without a deployment, or where it uses what no feasible one can."""
    try:
        return None if deployment is None else compiled.counts(deployment)
    except KeyError:
        return None


def roots(model: EliminationModel) -> list[Box]:
    """One box per range of downtime: nothing changes, only in place, some replica starts on a new node."""
    prices = BoxPrices(np.zeros(model.source.size), np.zeros_like(model.capacity))

    def box(alive: Bools, least: float, most: float) -> Box:
        return Box(alive.copy(), possible_seats(model, alive), model.latency, least, most, -np.inf, prices)

    compiled, limit = model.compiled, float(model.limits[2]) * (1 + LIMIT_SLACK)
    if compiled.current is None:
        return [box(model.candidate, 0.0, limit)]
    running = (compiled.current > 0)[model.order]
    elsewhere = model.downtime_least[model.candidate & ~running]
    first = max(compiled.synchronisation_time, downtime_floor(compiled))
    moving = max(first, float(elsewhere.min())) if elsewhere.size else np.inf
    ranges = ((running, 0.0, 0.0), (running, first, limit), (True, moving, limit))
    # Where nothing can change, no downtime is long enough: there is no deployment in such a range.
    return [box(where & model.candidate, least, most) for where, least, most in ranges if least <= most and least < np.inf]
