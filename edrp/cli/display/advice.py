"""Advice on a running job as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from rich.text import Text

from edrp.cli.display.solution import STOPS
from edrp.cli.display.watch import ways_to_change
from edrp.cli.terminal import table
from edrp.core.solution import Solution
from edrp.engines.advice import Advice
from edrp.engines.downtime import DowntimeParts
from edrp.engines.estimates import Estimate
from edrp.engines.model import slot_clashes
from edrp.placement.deployment import counted
from edrp.report.tables import Table

OPERATORS = ("operator", "replicas", "proposed", "busy now", "predicted", "where")
"""Columns before that of what scales the engine's jobs today, which has its name."""

RIGHT = ("replicas", "proposed", "busy now", "predicted")
UNKNOWN = "unknown"

DOWNTIME = ("downtime", "seconds (90 % interval)")


def advice_parts(
    advice: Advice, rule: Mapping[str, int], rule_name: str, calls: Mapping[str, Sequence[str]]
) -> Iterator[Table | Text | str]:
    """The replicas that run and those proposed, the costs of the change, the verdict, and the calls that carry it out.

    Parameters
    ----------
    rule, rule_name
        Number of replicas by what scales the engine's jobs today, of each operator that it can judge; its name and version.
    calls
        Lines of the files that carry it out, by name, of which those above the first empty line are shown.
    """
    yield job_sentence(advice)
    yield table((*OPERATORS, rule_name), operator_rows(advice, rule), right=(*RIGHT, rule_name))
    if advice.changes:
        yield table(DOWNTIME, downtime_rows(advice.downtime))
    yield verdict_sentence(advice)
    yield proof_sentence(advice)
    yield rule_sentence(advice, rule, rule_name)
    yield from free_sentences(advice)
    yield from (f"• {remark}" for remark in advice.remarks)
    if calls and advice.recommended:
        yield "Files that --out writes to make the change:"
    for name, lines in calls.items() if advice.recommended else ():
        shown = list(takewhile(str.strip, lines))
        yield f"{name}:"
        yield from (Text(f"  {line}", no_wrap=True) for line in shown)  # which are copied as they are
        yield from ["  …"] if len(shown) < len(lines) else []


def job_sentence(advice: Advice) -> str:
    """The job, the engine, and how changes are made."""
    seen = advice.fit.observation
    how = ways_to_change({"live": seen.live, "follows_slots": seen.follows_slots})
    return f"Job {seen.job} on {seen.engine} {seen.version}: {how}"


def operator_rows(advice: Advice, rule: Mapping[str, int]) -> list[tuple[str, ...]]:
    """A row per operator, as `OPERATORS` names its cells; the last one is by the rule."""
    live = advice.fit.observation.live
    rows: list[tuple[str, ...]] = []
    for operator in advice.operators:
        unknown = UNKNOWN if operator.judged else ""
        now = unknown if operator.busy is None else f"{operator.busy:.0%}"
        then = unknown if operator.predicted_busy is None else _percent(operator.predicted_busy)
        then = f"≥ {then}" if operator.at_least and operator.predicted_busy is not None else then
        where = counted(operator.nodes if live else operator.proposed_nodes)
        where = "the scheduler chooses" if live and operator.proposed != operator.replicas else where
        replicas = str(operator.replicas), str(operator.proposed)
        rows.append((operator.name, *replicas, now, then, where, str(rule.get(operator.name, UNKNOWN))))
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
    unknown = [operator.name for operator in advice.operators if operator.judged and operator.predicted_busy is None]
    silent = f"; how busy {', '.join(unknown)} will be is not known" if unknown else ""
    if advice.verdict == "unknown":
        return "unknown: of no operator it is known how busy it is, so that none is advised on"
    if advice.verdict == "stuck":
        clashes = slot_clashes(advice.fit.observation, advice.problem, advice.solution.clashes)
        found = "" if advice.short else f"{advice.solution.method} found none"
        because = f": {'; '.join(clashes) or found}".removesuffix(": ")
        return f"stuck: what runs breaks {'; '.join(advice.broken)}, and there is no plan{because}{silent}"
    if advice.verdict == "repair":
        return f"repair: what runs breaks {'; '.join(advice.broken)}; {seconds:.3g} s of downtime{silent}"
    if advice.gain is None or not advice.changes:
        return f"keep: no better plan was found{silent}"
    price = f"{advice.price:.4g} for {seconds:.3g} s of downtime"
    return f"{advice.verdict}: a gain of {advice.gain:.4g} at a price of {price}{silent}"


def proof_sentence(advice: Advice) -> str:
    """Whether the plan is proven."""
    if advice.verdict == "unknown":
        return "Nothing is proven: the model knows no service rate."
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
    name = f"{advice.fit.observation.engine.capitalize()}'s {name}"
    judged = [operator for operator in advice.operators if operator.name in rule]
    if not any(operator.judged for operator in judged):
        return f"The rule of {name} needs busy times, too, and says nothing."
    ours, theirs = sum(operator.proposed for operator in judged), sum(rule.values())
    differing = ", ".join(
        f"{operator.name} {operator.proposed} against {rule[operator.name]}"
        for operator in judged
        if rule[operator.name] != operator.proposed
    )
    among = "" if len(judged) == len(advice.operators) else " where it can tell"
    if not differing:
        return f"The rule of {name} gives the same numbers of replicas{among}."
    return f"The rule of {name} differs: {differing}; {ours} replicas in all against {theirs}{among}."


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
