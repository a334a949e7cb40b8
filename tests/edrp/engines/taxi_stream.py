"""A small taxi stream for tests: the same file, of fewer days."""

from pathlib import Path

from edrp.datasets.traces.source_rates import TAXI_FILE


def write_taxi_stream(folder: Path, days: int) -> None:
    """Write days whose trips rise until noon and fall until midnight, each day to another peak."""
    counts = [(100 + 10 * day) * (720 - abs(minute - 720)) // 720 + 5 for day in range(days) for minute in range(1440)]
    (folder / TAXI_FILE).write_text("\n".join(map(str, counts)) + "\n", encoding="ascii")
