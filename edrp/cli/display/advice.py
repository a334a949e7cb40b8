"""Advice on a running job as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table

from edrp.cli.display.placement import counted
from edrp.cli.terminal import table
from edrp.engines.advice import Advice
from edrp.engines.downtime import DowntimeParts
from edrp.engines.estimates import Estimate


def advice_parts(advice: Advice, rule: Mapping[str, int], calls: Sequence[str]) -> Iterator[Table | str]:
    """What runs and what is proposed, what a change costs, the verdict, and the calls that carry it out.

    Parameters
    ----------
    advice
        What is shown.
    rule
        Number of replicas of each operator by the engine's own autoscaler.
    calls
        Lines for a shell.
    """
    seen = advice.fit.observation
    how = "replicas can change live" if seen.live else "changes need a restart"
    yield f"Job {seen.job} on {seen.engine} {seen.version}: {how}"
    yield _operator_table(advice, rule)
    changes = advice.plan != advice.problem.current
    if changes:
        yield _downtime_table(advice.downtime)
    yield _verdict(advice)
    yield _proof(advice)
    yield _beside_the_rule(advice, rule)
    yield from (f"• {remark}" for remark in advice.fit.remarks)
    if changes and advice.verdict in ("move", "repair"):
        yield "The calls that carry it out:"
        yield from (f"  {line}" for line in calls)


def _operator_table(advice: Advice, rule: Mapping[str, int]) -> Table:
    live = advice.fit.observation.live
    rows = []
    for operator in advice.operators:
        now = "" if operator.busy is None else f"{operator.busy:.0%}"
        then = "" if operator.predicted_busy is None else _percent(operator.predicted_busy)
        moved = operator.proposed_nodes != operator.nodes
        where = counted(operator.proposed_nodes) if moved and not live else counted(operator.nodes)
        where = "the scheduler chooses" if live and operator.proposed != operator.replicas else where
        rows.append((operator.name, str(operator.replicas), str(operator.proposed), now, then, where, str(rule[operator.name])))
    columns = ("operator", "replicas", "proposed", "busy now", "predicted", "where", "autoscaler")
    return table(columns, rows, right=("replicas", "proposed", "busy now", "predicted", "autoscaler"))


def _downtime_table(downtime: DowntimeParts) -> Table:
    waiting = "waiting for a checkpoint (the job goes on)" if downtime.live else "stopping with a savepoint"
    rows = [
        (waiting, _seconds(downtime.checkpoint_wait)),
        ("stopping and deploying", _seconds(downtime.restart)),
        ("restoring state", _seconds(downtime.restore)),
        ("without processing, in all", _seconds(downtime.silence)),
        ("input that is replayed", _seconds(downtime.replay)),
        ("catching up", _seconds(downtime.catch_up)),
    ]
    return table(("downtime", "seconds (90 % interval)"), rows)


def _verdict(advice: Advice) -> str:
    seconds = advice.downtime.silence.value
    if advice.verdict == "stuck":
        because = "; ".join(advice.solution.clashes) or f"{advice.solution.method} found none"
        return f"stuck: what runs breaks {'; '.join(advice.broken)}, and there is no plan: {because}"
    if advice.verdict == "repair":
        return f"repair: what runs breaks {'; '.join(advice.broken)}; {seconds:.3g} s of downtime"
    if advice.gain is None or advice.plan == advice.problem.current:
        return "keep: no better plan was found"
    return f"{advice.verdict}: a gain of {advice.gain:.4g} at a price of {advice.price:.4g} for {seconds:.3g} s of downtime"


def _proof(advice: Advice) -> str:
    if advice.solution.status == "optimal":
        return f"The plan is the best of the model, as {advice.solution.method} has proven."
    return f"The plan is the best that {advice.solution.method} found; it is not proven."


def _beside_the_rule(advice: Advice, rule: Mapping[str, int]) -> str:
    ours, theirs = sum(operator.proposed for operator in advice.operators), sum(rule.values())
    differing = ", ".join(
        f"{operator.name} {operator.proposed} against {rule[operator.name]}"
        for operator in advice.operators
        if rule[operator.name] != operator.proposed
    )
    if not differing:
        return "The rule of Flink's autoscaler gives the same numbers of replicas."
    return f"The rule of Flink's autoscaler differs: {differing}; {ours} replicas in all against {theirs}."


def _percent(estimate: Estimate) -> str:
    return f"{estimate.value:.0%} ({estimate.low:.0%}–{estimate.high:.0%})"


def _seconds(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} ({estimate.low:.2f}–{estimate.high:.2f})"
