"""Why no policy of deployments keeps all limits: a level that has no deployment, or a change that takes too long."""

from __future__ import annotations

from collections.abc import Collection

from edrp.core.budget import now
from edrp.core.methods import Options, get_method, run_method
from edrp.core.solution import Infeasibility
from edrp.explanations.sequence_infeasibility import ANY, clashes_of_one_load
from edrp.placement.edrp import Limits
from edrp.placement.policy import EdrpPolicyProblem


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
    found = clashes_of_one_load(problem.clashes(), loads, units / 2, "the level")
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
