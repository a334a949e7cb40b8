"""Why nothing over time is feasible: the period or level without a deployment, or a change that breaks a limit on downtime."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from edrp.core.budget import now
from edrp.core.clash_search import WHOLE
from edrp.core.methods import Options, get_method, run_method
from edrp.core.solution import Answer, Infeasibility
from edrp.core.solve import solve
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metric_values import Limits
from edrp.placement.policy import EdrpPolicyProblem
from edrp.placement.sequence import EdrpSequence

ANY = 1e9
"""Gap at which any feasible decision will do."""


def explain_sequence_infeasibility(problem: EdrpSequence, units: float) -> Infeasibility:
    """Name the first period without a feasible deployment and what clashes there, or the first change that cannot be made.

    Parameters
    ----------
    units
        Units of work for all periods together.

    Returns
    -------
    Infeasibility
        One sentence per demand, each with its period; a sentence about a change where every period by itself is feasible; empty
        where nothing was found out. Remedies are about that period by itself.
    """
    end, loads, known = now() + units, [], set()
    for number, period in enumerate(problem.periods):
        load = period.model_dump_json(exclude={"duration"})
        before = problem.initial if number == 0 else None
        if load not in known or before is not None:
            loads.append((f"periods[{number}]", problem.period(number, before).problem))
        known.add(load)
    found = clashes_of_one_load(problem.clashes(), loads, units, "period")
    return found if found.clashes else Infeasibility(_impossible_change(problem, max(0.0, end - now())))


def clashes_of_one_load(
    clashes: Sequence[str], loads: Sequence[tuple[str, EdrpProblem]], units: float, what: str
) -> Infeasibility:
    """Say what clashes under the first load that has no feasible deployment.

    Parameters
    ----------
    clashes
        Sentences that are known without solving, which begin with the name of their load.
    loads
        Names and problems of loads, with what runs before where that matters.
    units
        Units of work for all of them.
    what
        What a load belongs to: remedies are about that one, and say so where others were not looked at.
    """
    if clashes:
        first = clashes[0].partition(":")[0]
        return Infeasibility(tuple(clash for clash in clashes if clash.startswith(f"{first}:")))
    end = now() + units
    for number, (name, loaded) in enumerate(loads):
        share = max(0.0, end - now()) / (len(loads) - number)
        alone = solve(loaded, work_limit=share, gap=ANY)
        if alone.status == "infeasible":
            single = f"the {what} by itself"
            others = f" (other {what}s, which were not looked at, may need more)" if number < len(loads) - 1 else ""
            helped = (text.replace(f"{WHOLE} is feasible", f"{single} is feasible{others}") for text in alone.remedies)
            remedies = (text.replace(WHOLE, single) for text in helped)
            sentences = alone.clashes or ("has no feasible deployment",)
            return Infeasibility(tuple(f"{name}: {text}" for text in sentences), tuple(f"{name}: {text}" for text in remedies))
    return Infeasibility()


def _impossible_change(problem: EdrpSequence, units: float) -> tuple[str, ...]:
    """The first period that no course reaches within the limits on downtime, by halving the number of periods."""
    low, high = 1, len(problem.periods)  # a course of `low` periods exists: the first one is feasible as a change
    share = units / (2 + high.bit_length())
    if high == 1 or not _is_infeasible(problem, high, share):
        return ()
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_infeasible(problem, middle, share) else (middle, high)
    number = high - 1
    period = problem.periods[number]
    limits: Limits = period.limits or problem.limits
    freed = [*problem.periods[:number], period.replace(limits=limits.replace(downtime=None))]
    if _answer(problem.replace(periods=freed), share).decision is None:
        return ()
    limit = (problem.periods[number].limits or problem.limits).downtime
    what = f"limits.downtime of {limit:g} s rules out every change that is needed from what is feasible before"
    return (f"periods[{number}]: {what}; without it there, all periods up to this one are feasible",)


def _is_infeasible(problem: EdrpSequence, periods: int, units: float) -> bool:
    """Whether the first periods are proven to be infeasible."""
    return _answer(problem.replace(periods=problem.periods[:periods]), units).status == "infeasible"


def _answer(problem: EdrpSequence, units: float) -> Answer:
    """The answer of the default method or of the whole program, without the explanations that `solve` adds to infeasibility."""
    answer = Answer("none", "finished")
    for method in (get_method(name, problem.kind) for name in ("auto", "highs")):
        if method.refusal(problem) is None:
            answer = run_method(method.resolve(problem), problem, Options(work_limit=units, gap=ANY))
            if answer.status != "none":
                break
    return answer


def explain_policy_infeasibility(problem: EdrpPolicyProblem, units: float) -> Infeasibility:
    """Name the first level that can come up without a feasible deployment and what clashes there, or limits on downtime.

    Levels have nothing in common but the changes between them, so that limits on downtime are what is left.

    Parameters
    ----------
    units
        Units of work for everything together.

    Returns
    -------
    Infeasibility
        One sentence per demand, each with its level; empty where nothing was found out. Remedies are about that level by itself.
    """
    end, now_at = now() + units, problem.level_numbers[problem.level]
    loads = [
        (_named(problem, level), problem.at_level(level, problem.current if level == now_at else None).problem)
        for level in problem.reachable_levels
    ]
    found = clashes_of_one_load(problem.clashes(), loads, units / 2, "level")
    if found.clashes:
        return found
    timed = [level for level in problem.reachable_levels if _limits(problem, level).downtime is not None]
    tried = [[level] for level in timed] + ([timed] if len(timed) > 1 else [])
    freed = next((levels for levels in tried if _has_policy(problem, levels, (end - now()) / len(tried))), [])
    without = "without it there is a policy" if len(freed) == 1 else "without all of these there is a policy"
    sentences = (
        f"{_named(problem, level)}: limits.downtime of {_limits(problem, level).downtime:g} s rules out a change that is needed; "
        + without
        for level in freed
    )
    return Infeasibility(tuple(sentences))


def _has_policy(problem: EdrpPolicyProblem, freed: Collection[int], units: float) -> bool:
    """Whether a policy is found without the limits on downtime of some levels."""
    levels = [
        level if index not in freed else level.replace(limits=_limits(problem, index).replace(downtime=None))
        for index, level in enumerate(problem.levels)
    ]
    relaxed = problem.replace(levels=tuple(levels))
    method = get_method("auto", problem.kind).resolve(relaxed)
    return run_method(method, relaxed, Options(work_limit=max(0.0, units), gap=ANY)).decision is not None


def _named(problem: EdrpPolicyProblem, level: int) -> str:
    return f"level '{problem.levels[level].name}'"


def _limits(problem: EdrpPolicyProblem, level: int) -> Limits:
    return problem.levels[level].limits or problem.limits
