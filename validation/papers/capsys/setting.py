"""Assumptions where CAPSys's data say nothing, and the limits of our model."""

from __future__ import annotations

from edrp.datasets.placement.capsys import BANDWIDTH, DELAY, PROFILE_RATE, SLOTS, SPEEDUP, UNITS, WORKERS
from edrp.placement.edrp import EdrpProblem
from edrp.report.tables import Table, facts_table
from edrp.validation.papers.capsys.inference import target_rate

UNKNOWN = (
    f"The rate at which the queries were measured is not in the data. For Q3 it is taken to be {PROFILE_RATE:g} records/s, as in "
    "CAPSys's artifact; the bytes per record agree with it.",
    "Q3 was measured on m5d.2xlarge, the plans ran on c5d.4xlarge. One number, the ratio of their clocks, stands for all "
    "differences between them (`--speedup`); caches, memory bandwidth and the image library may scale otherwise.",
    "A task is taken to be one thread that serves a record in the measured compute per record. Compute includes what other "
    "threads do (windows of Q2 use 1.8 cores each, inference 1.05), so that service rates of such tasks are not known; a window "
    "that stores state in RocksDB may wait for its disk as well.",
    "Two hardware threads of a core are one core here (`--cores`). Garbage collection, network buffers, skewed keys and limits "
    "of the disk are in no number that we have.",
    "Latency is that of M/M/1 queues at the full rate plus a delay between workers. CAPSys's latencies were measured with "
    "backpressure, where records wait in network buffers: numbers cannot be compared, only their order.",
    "The file's plan of CAPSys has ten tasks on each of two workers with eight slots, 27 in all, where the paper has 26 slots. "
    "Our plans keep to eight.",
    "Which of ODRP's plans is called by which name differs: the artifact calls the plan of 26 slots ODRP-Weighted, that of 32 "
    "ODRP-Latency. Rows carry the names in the file.",
)
"""Sentences on the limits of the comparison."""


def unknown_table() -> Table:
    """The limits of the comparison."""
    return Table("What the model cannot know", ("",), tuple((sentence,) for sentence in UNKNOWN), open=True)


def setting_table(problem: EdrpProblem) -> Table:
    """The numbers that the inference problem rests on."""
    capacity = problem.network.nodes[0].capacity
    facts = {
        "workers, slots of each": f"{WORKERS}, {SLOTS}",
        "target": f"{target_rate(problem):g} records/s",
        "rate of the measurement": f"{PROFILE_RATE:g} records/s",
        "workers against those of the measurement": f"{SPEEDUP:g} times as fast, unless told otherwise",
        "compute of a worker": f"{capacity['compute']:g} {UNITS['compute']}",
        "network of a worker": f"{BANDWIDTH:g} {UNITS['network']}",
        "delay between workers": f"{1e3 * DELAY:g} ms",
    }
    for operator in problem.application.operators:
        rate = operator.latency.true_rate(1) if operator.latency is not None else 0.0
        facts[f"a task of {operator.name} serves"] = f"{rate:,.1f} records/s"
    return facts_table("Numbers of the model of Q3", facts)
