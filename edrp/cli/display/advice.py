"""Advice on a running job as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from edrp.cli.display.placement import counted
from edrp.cli.display.solution import STOPS
from edrp.cli.display.watch import ways_to_change
from edrp.cli.terminal import table
from edrp.core.solution import Solution
from edrp.engines.advice import Advice
from edrp.engines.downtime import DowntimeParts
from edrp.engines.estimates import Estimate
from edrp.engines.model import slot_clashes
from edrp.report.tables import Table

OPERATORS = ("operator", "replicas", "proposed", "busy now", "predicted", "where", "autoscaler")
RIGHT = ("replicas", "proposed", "busy now", "predicted", "autoscaler")
DOWNTIME = ("downtime", "seconds (90 % interval)")


def advice_parts(advice: Advice, rule: Mapping[str, int], rule_name: str, calls: Sequence[str]) -> Iterator[Table | Text | str]:
    """The replicas that run and those proposed, the costs of the change, the verdict, and the calls that carry it out.

    Parameters
    ----------
    rule, rule_name
        Number of replicas of each operator by what scales the engine's jobs today, and its name.
    """
    yield job_sentence(advice)
    yield table(OPERATORS, operator_rows(advice, rule), right=RIGHT)
    if advice.changes:
        yield table(DOWNTIME, downtime_rows(advice.downtime))
    yield verdict_sentence(advice)
    yield proof_sentence(advice)
    yield rule_sentence(advice, rule, rule_name)
    yield from free_sentences(advice)
    yield from (f"• {remark}" for remark in advice.fit.remarks)
    if advice.changes and advice.verdict in ("move", "repair"):
        yield "The calls that carry it out:"
        yield from (Text(f"  {line}", no_wrap=True) for line in calls)  # which are copied as they are


def job_sentence(advice: Advice) -> str:
    """The job, the engine, and how changes are made."""
    seen = advice.fit.observation
    how = ways_to_change({"live": seen.live, "follows_slots": seen.follows_slots})
    return f"Job {seen.job} on {seen.engine} {seen.version}: {how}"


def operator_rows(advice: Advice, rule: Mapping[str, int]) -> list[tuple[str, ...]]:
    """A row per operator, as `OPERATORS` names its cells."""
    live = advice.fit.observation.live
    rows: list[tuple[str, ...]] = []
    for operator in advice.operators:
        now = "" if operator.busy is None else f"{operator.busy:.0%}"
        then = "" if operator.predicted_busy is None else _percent(operator.predicted_busy)
        where = counted(operator.nodes if live else operator.proposed_nodes)
        where = "the scheduler chooses" if live and operator.proposed != operator.replicas else where
        rows.append((operator.name, str(operator.replicas), str(operator.proposed), now, then, where, str(rule[operator.name])))
    return rows


def downtime_rows(downtime: DowntimeParts) -> list[tuple[str, str]]:
    """A row per part of the downtime."""
    waiting = "waiting for a checkpoint (the job goes on)" if downtime.live else "stopping with a savepoint"
    return [
        (waiting, _seconds(downtime.checkpoint_wait)),
        ("stopping and deploying", _seconds(downtime.restart)),
        ("restoring state", _seconds(downtime.restore)),
        ("without processing, in all", _seconds(downtime.silence)),
        ("input that is replayed", _seconds(downtime.replay)),
        ("catching up", _seconds(downtime.catch_up)),
    ]


def verdict_sentence(advice: Advice) -> str:
    """The verdict and its reasons."""
    seconds = advice.downtime.silence.value
    if advice.verdict == "stuck":
        clashes = slot_clashes(advice.fit.observation, advice.problem, advice.solution.clashes)
        because = "; ".join(clashes) or f"{advice.solution.method} found none"
        return f"stuck: what runs breaks {'; '.join(advice.broken)}, and there is no plan: {because}"
    if advice.verdict == "repair":
        return f"repair: what runs breaks {'; '.join(advice.broken)}; {seconds:.3g} s of downtime"
    if advice.gain is None or not advice.changes:
        return "keep: no better plan was found"
    return f"{advice.verdict}: a gain of {advice.gain:.4g} at a price of {advice.price:.4g} for {seconds:.3g} s of downtime"


def proof_sentence(advice: Advice) -> str:
    """Whether the plan is proven."""
    method = advice.solution.method.removeprefix("auto: ")
    if advice.solution.status == "optimal":
        return f"The plan is the best of the model, as {method} has proven."
    return f"The plan is the best that {method} found; {_how_far(advice.solution)}."


def _how_far(solution: Solution) -> str:
    """How much better another plan may be, where the best is not proven, and why."""
    why = f" ({STOPS[solution.stopped_because]} came first)" if solution.stopped_because in STOPS else ""
    if solution.gap is None:
        return f"it keeps all limits, but a better one may exist{why}"
    return f"another one may be better in the objective by {100 * solution.gap:.2g} %, not by more{why}"


def rule_sentence(advice: Advice, rule: Mapping[str, int], name: str) -> str:
    """How the plan differs from what scales the engine's jobs today."""
    ours, theirs = sum(operator.proposed for operator in advice.operators), sum(rule.values())
    differing = ", ".join(
        f"{operator.name} {operator.proposed} against {rule[operator.name]}"
        for operator in advice.operators
        if rule[operator.name] != operator.proposed
    )
    if not differing:
        return f"The rule of {name} gives the same numbers of replicas."
    return f"The rule of {name} differs: {differing}; {ours} replicas in all against {theirs}."


def free_sentences(advice: Advice) -> Iterator[str]:
    """The fewest replicas if ranges of key groups were free; nothing where key groups are not known."""
    if not advice.fewest:
        return
    gains = [f"{name} would do with {free} instead of {even}" for name, (even, free) in advice.fewest.items() if free < even]
    said = ", ".join(gains) or "every operator would need as many"
    engine = advice.fit.observation.engine.capitalize()
    yield f"Fewest replicas, if ranges of key groups were free, which {engine} cannot run: {said}."


def _percent(estimate: Estimate) -> str:
    return f"{estimate.value:.0%} ({estimate.low:.0%}–{estimate.high:.0%})"


def _seconds(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} ({estimate.low:.2f}–{estimate.high:.2f})"
