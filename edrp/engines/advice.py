"""Advice on a running job: what to change, what that brings and costs, and whether it is worth it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from edrp.core.solve import solve
from edrp.engines import model as job_model
from edrp.engines.downtime import DowntimeParts, predict_downtime
from edrp.engines.estimates import Estimate
from edrp.engines.fit import JobFit
from edrp.engines.goals import Goals
from edrp.migration.rescale.documents import KeyedDeployment, possible_replicas
from edrp.migration.rescale.problem import RescaleProblem, RescaleSolution
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem, EdrpSolution
from edrp.placement.network import Network
from edrp.replanning.plans import exchanged_nodes, relabelled
from edrp.replanning.replanner import PlanOption, choose_option

Verdict = Literal["keep", "move", "repair", "stuck", "unknown"]

ADVICE_WORK = 2.0
"""Units of work for a plan; the answer says whether it is proven."""


@dataclass(frozen=True, slots=True)
class OperatorAdvice:
    """One operator: replicas and where, now and proposed, and how busy the busiest replica is and would be.

    Attributes
    ----------
    judged : whether its busy time is to be judged: not that of a source chained with nothing, whose waiting counts as busy.
    at_least : whether it may be busier than predicted, since more may be offered to it than is known.
    """

    name: str
    replicas: int
    proposed: int
    nodes: tuple[str, ...]
    proposed_nodes: tuple[str, ...]
    busy: float | None
    predicted_busy: Estimate | None
    judged: bool
    at_least: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """Advice on a job.

    Attributes
    ----------
    keyed : the model with key groups, whose ranges are even as engines run them, which decides then; None where the fit knows
        the key groups of no operator.
    solution : what was found for the model that decides.
    fewest : replicas with which no replica of an operator is too busy, with even and with free ranges of its key groups, by
        operator; of operators whose key groups are known.
    plan : the best deployment; what runs where nothing was found.
    verdict : "keep", "move" (it pays), "repair" (what runs breaks a goal), "stuck" (it does, and no plan was found), or "unknown"
        (of no operator it is known how busy it is).
    score, plan_score : of what runs and of the plan, price left out; None where it breaks a goal.
    price : of the downtime, as a score.
    broken : what is wrong with what runs, in words.
    short : why operators stay busier than the goal whatever is done, by operator; `broken` says it, too.
    remarks : what limits the use of the fit and of the plan, in sentences.
    moved_tasks : number of tasks that the plan moves while the job runs, by operator, with or without another number of replicas.
    """

    fit: JobFit
    problem: EdrpProblem
    keyed: RescaleProblem | None
    solution: EdrpSolution | RescaleSolution
    fewest: Mapping[str, tuple[int, int]]
    plan: Deployment
    verdict: Verdict
    operators: tuple[OperatorAdvice, ...]
    downtime: DowntimeParts
    score: float | None
    plan_score: float | None
    price: float
    broken: tuple[str, ...]
    short: Mapping[str, str]
    remarks: tuple[str, ...]
    moved_tasks: Mapping[str, int] = field(default_factory=dict)

    @property
    def changes(self) -> bool:
        """Whether the plan is another than what runs."""
        return self.plan != self.problem.current or bool(self.moved_tasks)

    @property
    def recommended(self) -> bool:
        """Whether the advice is to make the change."""
        return self.changes and self.verdict in ("move", "repair")

    @property
    def gain(self) -> float | None:
        """Score of what runs less that of the plan; None where either is missing."""
        return None if self.score is None or self.plan_score is None else self.score - self.plan_score


def advise(fit: JobFit, goals: Goals | None = None, network: Network | None = None) -> Advice:
    """Advise on a job: a plan by the model, kept or taken by the rule of `edrp.replanning`.

    Parameters
    ----------
    goals
        The goals; by default no replica is busier than 80 %.
    network
        Delays between the nodes; without it none are known.

    Raises
    ------
    InvalidInstanceError
        Goals or network do not fit the job.
    """
    goals = goals or Goals()
    if goals.added_nodes:
        fit = replace(fit, observation=job_model.with_added_nodes(fit.observation, goals.added_nodes))
    model = _solved(fit, goals, network)
    base, keyed, solution, short = model.base, model.keyed, model.solution, model.short
    problem = base if keyed is None else keyed
    assert base.current is not None
    current = base.current
    running = problem.evaluate(problem.current)
    plans = [] if solution.deployment is None else list(_plans(solution.deployment, problem, current))
    if fit.observation.live:  # places cannot be chosen: a plan that changes no number of replicas is none
        plans = [plan for plan in plans if any(plan.degree(name) != current.degree(name) for name in plan)]
    options = [_option(problem, fit, goals, plan) for plan in dict.fromkeys(plans) if problem.evaluate(plan).feasible]
    keep = PlanOption(current, running.objective, 0.0, 0.0, 0) if running.feasible else None
    chosen = choose_option([*options, *([keep] if keep else [])], goals.policy.hysteresis) if options or keep else None
    best = choose_option(options, goals.policy.hysteresis) if options else keep
    plan = current if best is None else best.plan
    return Advice(
        fit=fit,
        problem=base,
        keyed=keyed,
        solution=solution,
        fewest={} if keyed is None else dict(_fewest(base, keyed)),
        plan=plan,
        verdict=_verdict(fit, None if chosen is None else chosen.plan, current, feasible=running.feasible, short=bool(short)),
        operators=tuple(_operators(fit, current, plan, goals)),
        downtime=predict_downtime(fit, plan, goals),
        score=keep.score if keep else None,
        plan_score=best.score if best else None,
        price=best.price if best else 0.0,
        broken=tuple(_broken_goals(problem, fit, goals, short)) if short or not running.feasible else (),
        short=short,
        remarks=(*fit.remarks, *_plan_remarks(fit, plan, goals)),
    )


@dataclass(frozen=True, slots=True)
class _Model:
    """The model of a job, what was found for it, and operators that stay too busy."""

    base: EdrpProblem
    keyed: RescaleProblem | None
    solution: EdrpSolution | RescaleSolution
    short: Mapping[str, str]


def _solved(fit: JobFit, goals: Goals, network: Network | None) -> _Model:
    """The model and its solution; where not all have room to grow, without the growth of those that would grow most."""
    short = job_model.shortages(fit, goals)
    model = first = _solve(fit, goals, network, short, ())
    held_operators: list[str] = []
    while model.solution.status == "infeasible":
        clashes = job_model.slot_clashes(fit.observation, model.base, model.solution.clashes)
        slots = next((clash for clash in clashes if clash.startswith("slots")), None)
        growth = {
            operator.name: model.base.application.by_name[operator.name].min_replicas - operator.replicas
            for operator in fit.operators
        }
        fastest_growing = max(growth, key=growth.__getitem__)
        if slots is None or growth[fastest_growing] <= 0:
            return first  # growth is not what there is no room for
        held_operators.append(fastest_growing)
        needed = first.base.application.by_name[fastest_growing].min_replicas
        room = "no room beside those of the others; add slots, or give added_nodes in the goals if they can be started"
        short = {**short, fastest_growing: f"{needed} replicas have {room} ({slots})"}
        model = _solve(fit, goals, network, short, held_operators)
    return model


def _solve(fit: JobFit, goals: Goals, network: Network | None, short: Mapping[str, str], held_operators: Sequence[str]) -> _Model:
    base = job_model.placement_problem(fit, goals, network, held_operators)
    keyed = (
        job_model.rescale_problem(base, fit, goals) if any(operator.groups is not None for operator in fit.operators) else None
    )
    solution = solve(base, work_limit=ADVICE_WORK) if keyed is None else solve(keyed, work_limit=ADVICE_WORK)
    return _Model(base, keyed, solution, short)


def _verdict(fit: JobFit, chosen: Deployment | None, current: Deployment, *, feasible: bool, short: bool) -> Verdict:
    """The verdict on what was chosen; None where there is nothing to choose."""
    if chosen is None or (chosen == current and short):
        return "stuck"
    if chosen != current:
        return "move" if feasible else "repair"
    return "unknown" if all(operator.service is None for operator in fit.operators) else "keep"


def _plan_remarks(fit: JobFit, plan: Deployment, goals: Goals) -> Iterator[str]:
    for operator, observed in zip(fit.operators, fit.observation.operators, strict=True):
        asked, most = goals.operators.get(operator.name), job_model.replica_ceiling(operator, observed, fit, goals)
        if asked is not None and asked.min_replicas > most:
            yield f"{operator.name} cannot have the {asked.min_replicas} replicas of min_replicas: engine and slots allow {most}"
        fewest = job_model.cautious_replicas(operator, goals)
        if operator.service is None or fewest == 1 or plan.degree(operator.name) != fewest:
            continue
        if job_model.busy_share(operator, fewest - 1, goals.rate_factor, operator.service.value) > goals.busy_limit:
            continue
        if operator.unbounded:
            yield f"{operator.name} keeps its replicas, since more may be offered to the job than is known"
        elif fewest < operator.replicas:
            hardly = f"{operator.busy or 0:.0%} busy does not tell what limits it, which may be answers that it waits for"
            remark = f"a replica was seen to take {operator.highest:.4g} tuples/s at most"
            yield f"{operator.name} gets no fewer than {fewest} in one step: {hardly}; {remark}; capture again after the step"


def _plans(
    decision: Deployment | KeyedDeployment, problem: EdrpProblem | RescaleProblem, current: Deployment
) -> Iterator[Deployment | KeyedDeployment]:
    """The decision that was found, and the same with equal nodes exchanged so that more stays in place."""
    if isinstance(problem, EdrpProblem):
        assert isinstance(decision, Deployment)
        yield from (decision, relabelled(decision, problem, current))
        return
    assert isinstance(decision, KeyedDeployment)
    yield from (decision, job_model.renamed(decision, exchanged_nodes(decision.places, problem, current)))


def _places(plan: Deployment | KeyedDeployment) -> Deployment:
    return plan if isinstance(plan, Deployment) else plan.places


def _fewest(base: EdrpProblem, keyed: RescaleProblem) -> Iterator[tuple[str, tuple[int, int]]]:
    free = keyed.replace(ranges="free")
    for operator in free.application.operators:
        even = base.application.by_name[operator.name].min_replicas
        if operator.tasks is not None and operator.latency is not None:
            yield operator.name, (even, min([even, *possible_replicas(free, operator)]))


def _broken_goals(problem: EdrpProblem | RescaleProblem, fit: JobFit, goals: Goals, short: Mapping[str, str]) -> Iterator[str]:
    """Faults of the deployment that runs, in terms of the goals: too busy, too few replicas, or other limits of the model."""
    reported = set()
    for operator in fit.operators:
        busy = None
        if operator.service is not None:
            busy = job_model.busy_share(operator, operator.replicas, goals.rate_factor, operator.service.value)
        if busy is not None and busy > goals.busy_limit:
            reported.add(operator.name)
            stays = f", and stays too busy: {short[operator.name]}" if operator.name in short else ""
            yield f"busy_limit: {operator.name} is {busy:.0%} busy against {goals.busy_limit:.0%}{stays}"
    for sentence in problem.evaluate(problem.current).broken:
        follows = sentence.startswith("limits.response_time") and goals.response_time is None
        follows |= any(sentence.startswith((f"min_replicas of {name}:", f"{name} is overloaded")) for name in reported)
        if not follows:
            yield sentence


def _option(
    problem: EdrpProblem | RescaleProblem, fit: JobFit, goals: Goals, decision: Deployment | KeyedDeployment
) -> PlanOption:
    """A plan with its price; where only numbers of replicas can be chosen, places count for nothing."""
    assert problem.current is not None
    current, plan = _places(problem.current), _places(decision)
    if fit.observation.live:
        moves = sum(abs(plan.degree(name) - current.degree(name)) for name in plan)
    else:
        moves = sum(action.moved_replicas for action in current.actions_to(plan))
    downtime = predict_downtime(fit, plan, goals).silence.value if moves else 0.0
    return PlanOption(plan, problem.evaluate(decision).objective, downtime, goals.policy.price(downtime), moves)


def _operators(fit: JobFit, current: Deployment, plan: Deployment, goals: Goals) -> Iterator[OperatorAdvice]:
    for fitted, observed in zip(fit.operators, fit.observation.operators, strict=True):
        name, replicas = fitted.name, plan.degree(fitted.name)
        yield OperatorAdvice(
            name=name,
            replicas=current.degree(name),
            proposed=replicas,
            nodes=current[name],
            proposed_nodes=plan[name],
            busy=fitted.busy,
            predicted_busy=None if fitted.service is None else job_model.busy_estimate(fitted, replicas, goals.rate_factor),
            judged=not fitted.source or observed.chained > 1,
            at_least=fitted.unbounded,
        )
