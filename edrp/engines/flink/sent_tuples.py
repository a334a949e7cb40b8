"""Tuples that a chain of operators sends, of which Flink counts some more than once.

Every operator of a chain that sends to others counts a tuple once, whatever the number of its edges, and `write-records` is the
sum over the chain (`BroadcastingOutputCollector`, Flink 1.20 to 2.3): once for an operator that is chained with nothing, and once
for each branch of a chain that forks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from edrp.engines.observation import OperatorObservation, StreamObservation, mean_rate


def count_once(
    operators: Sequence[OperatorObservation],
    streams: Sequence[StreamObservation],
    forks: Collection[str],
    shares: Mapping[str, float],
) -> Iterator[tuple[OperatorObservation, tuple[str, ...]]]:
    """Each operator with what it sends counted once, and a remark where that is estimated.

    Parameters
    ----------
    forks
        Names of the operators whose chains fork: they are taken to send what their largest stream carries.
    shares
        What the first operator of a chain sends, as a share of what is counted, by name; where it is known, it decides.
    """
    carried = {}
    for target in operators:
        inputs = [stream for stream in streams if stream.target == target.name]
        if len(inputs) == 1:
            copies = inputs[0].edges * (target.parallelism if inputs[0].partitioning == "broadcast" else 1)
            carried[inputs[0]] = mean_rate(target.windows, out=False) / copies
    for operator in operators:
        outputs = [stream for stream in streams if stream.source == operator.name]
        share, counted = shares.get(operator.name, 1.0), mean_rate(operator.windows, out=True)
        remarks: tuple[str, ...] = ()
        if operator.name in forks and operator.name not in shares and sum(stream.edges for stream in outputs) > 1 and counted:
            rates = [carried[stream] for stream in outputs if stream in carried] or [counted / len(outputs)]
            share = min(1.0, max(rates) / counted)
            why = "its chain forks, where Flink counts a tuple once for each branch that sends it"
            remarks = (f"{operator.name} is taken to send what its largest stream carries: {why}",)
        yield (operator if share == 1.0 else _scaled(operator, share)), remarks


def _scaled(operator: OperatorObservation, share: float) -> OperatorObservation:
    """The operator with so large a share of the tuples that were counted as sent."""
    windows = (
        replace(window, subtasks=tuple(replace(one, records_out=round(share * one.records_out)) for one in window.subtasks))
        for window in operator.windows
    )
    return replace(operator, windows=tuple(windows))
