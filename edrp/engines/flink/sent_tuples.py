"""Tuples that a chain of operators sends, of which Flink counts some more than once.

Every operator of a chain that sends to others counts a tuple once, whatever the number of its edges, and `write-records` is the
sum over the chain (`BroadcastingOutputCollector`, Flink 1.20 to 2.3). A chain of one operator therefore counts each tuple once;
a chain that forks counts it once for each branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from edrp.engines.observation import OperatorObservation, OperatorWindow, StreamObservation, mean_rate


def count_once(
    operators: Sequence[OperatorObservation],
    streams: Sequence[StreamObservation],
    forks: Iterable[str],
    shares: Mapping[str, float],
) -> Iterator[tuple[OperatorObservation, str]]:
    """Each operator with what it sends counted once, and a remark where that is estimated, else an empty text.

    Parameters
    ----------
    forks
        Names of the operators whose chains fork: they send what their largest stream carries.
    shares
        What the first operator of a chain sends, as a share of what is counted, by name; where it is known, it decides.
    """
    by_name = {operator.name: operator for operator in operators}
    forks = set(forks)
    for operator in operators:
        outputs = [stream for stream in streams if stream.source == operator.name]
        counted = mean_rate(operator.windows, out=True)
        if operator.chained == 1 or sum(stream.edges for stream in outputs) < 2 or not counted:
            yield operator, ""
        elif operator.name in shares:
            yield _scaled(operator, shares[operator.name]), ""
        elif operator.name in forks:
            rates = [_carried(stream, by_name[stream.target]) for stream in outputs if _is_only_input(stream, streams)]
            largest = max(rates, default=counted / len(outputs))
            why = "its chain forks, where Flink counts a tuple once for each branch that sends it"
            yield (
                _scaled(operator, min(1.0, largest / counted)),
                f"{operator.name} is taken to send what its largest stream carries: {why}",
            )
        else:
            yield operator, ""


def _is_only_input(stream: StreamObservation, streams: Sequence[StreamObservation]) -> bool:
    return sum(other.target == stream.target for other in streams) == 1


def _carried(stream: StreamObservation, target: OperatorObservation) -> float:
    """Tuples/s of a stream that is its target's only input, each counted once."""
    copies = stream.edges * (target.parallelism if stream.partitioning == "broadcast" else 1)
    return mean_rate(target.windows, out=False) / copies


def _scaled(operator: OperatorObservation, share: float) -> OperatorObservation:
    """The operator with so large a share of the tuples that were counted as sent."""

    def scaled(window: OperatorWindow) -> OperatorWindow:
        subtasks = (replace(subtask, records_out=round(share * subtask.records_out)) for subtask in window.subtasks)
        return replace(window, subtasks=tuple(subtasks))

    return replace(operator, windows=tuple(map(scaled, operator.windows)))
