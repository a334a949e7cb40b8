"""The literal program built by edrp and by the modelling layers of Pyomo, CVXPY and linopy, side by side.

    python benchmarks/modelling.py                          # 24 nodes, 2 replicas: 437,752 columns
    python benchmarks/modelling.py --nodes 8 --solve        # and each solved by HiGHS through its own library

Each side runs in a process of its own, which imports nothing of the others: first a small program, so that everything is
imported, then the large one several times. Time is that of the processor, from documents (edrp) or finished tables (the
others) to the arrays that a solver is given; `model` is the part up to the library's own model. Memory is the peak of
the process after the first large program (Linux). All programs are compared entry by entry.
"""

from __future__ import annotations

import gc
import json
import pickle
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

app = typer.Typer(add_completion=False, help=__doc__)
console = Console(width=140)

SIDES: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "edrp": ("edrp", "edrp_model", {}, "blocks of arrays"),
    "Pyomo": ("pyomo", "pyomo_model", {}, "rules, quicksum; no templates"),
    "CVXPY": ("cvxpy", "cvxpy_model", {}, "vectorised; default backend"),
    "CVXPY, COO": ("cvxpy", "cvxpy_model", {"backend": "COO"}, "vectorised; its quickest backend here"),
    "linopy": ("linopy", "linopy_model", {}, "vectorised"),
}
"""By side: package, module of `rivals`, options of its `to_arrays`, and how the model is written."""
WARM = (4, 2)
"""Nodes and replicas of the small program."""
SOLVER = {"mip_rel_gap": 1e-9} | dict.fromkeys(
    ("mip_feasibility_tolerance", "primal_feasibility_tolerance", "dual_feasibility_tolerance"), 1e-9
)
SAME = 1e-12
"""Largest relative difference of an entry that is rounding."""
MEBIBYTE = 2.0**20


@app.callback(invoke_without_command=True)
def compare(
    context: typer.Context,
    nodes: int = 24,
    replicas: int = 2,
    repeats: int = 5,
    solve: Annotated[bool, typer.Option("--solve", help="each program too; two minutes a side at 24 nodes")] = False,
) -> None:
    """Build, compare, and print one table."""
    if context.invoked_subcommand is not None:
        return
    present = {name: side for name, side in SIDES.items() if find_spec(side[0]) is not None}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder, nodes, replicas)
        rows = {side: run_side(side, folder, repeats, solve) for side in track(present, "building", console=console)}
        differences = {side: _difference(folder, side) for side in rows}
    print_table(rows, differences, f"Literal program, {nodes} nodes, {replicas} replicas, {datetime.now(UTC):%Y-%m-%d}")
    if any(not apart < SAME for apart in differences.values()):
        console.print("[red]the programs differ[/red]")
        raise typer.Exit(1)


@app.command(hidden=True)
def side(name: str, folder: Path, repeats: int, solve: bool = False) -> None:
    """Measure one side in this process and print what was found as JSON."""
    package, module, options, _ = SIDES[name]
    rival = import_module(f"rivals.{module}")
    to_arrays = partial(rival.to_arrays, **options)
    small, large = (_read(folder / f"{size}.{'json' if name == 'edrp' else 'pickle'}") for size in ("small", "large"))
    to_arrays(rival.build(small))
    before = peak_memory()
    times = []
    for repeat in range(repeats):
        gc.collect()
        begin, clock = process_time(), perf_counter()
        model = rival.build(large)
        built = process_time()
        arrays = to_arrays(model)
        times.append((built - begin, process_time() - begin, perf_counter() - clock))
        if repeat == 0:
            peak = peak_memory()
    found = rival.canonical(model, arrays)
    with (folder / f"{name}.arrays").open("wb") as file:
        pickle.dump(found, file, pickle.HIGHEST_PROTOCOL)
    report = {"version": version(package), "times": times, "before": before, "peak": peak}
    report |= {"columns": found.objective.size, "rows": found.matrix.shape[0], "nonzeros": found.matrix.nnz}
    if solve:
        del arrays, found
        begin = perf_counter()
        report["optimum"] = rival.solve(model, SOLVER)
        report["solved"] = perf_counter() - begin
    sys.stdout.write("\n" + json.dumps(report))


def write_data(folder: Path, nodes: int, replicas: int) -> None:
    """Documents for edrp, tables for the others."""
    from rivals.common import tables_of

    from edrp.core.instances import save
    from edrp.datasets.families.placement.geometric import geometric
    from edrp.datasets.placement.debs2015 import debs2015

    for size, (n, k) in (("small", WARM), ("large", (nodes, replicas))):
        problem = debs2015(145.0, network=geometric(n, 0), max_replicas=k)
        save(problem, folder / f"{size}.json")
        (folder / f"{size}.pickle").write_bytes(pickle.dumps(tables_of(problem)))


def _read(path: Path) -> Any:
    """A problem as one side reads it: tables from a pickle, or an instance of edrp."""
    if path.suffix == ".pickle":
        return pickle.loads(path.read_bytes())
    from edrp.core.instances import load

    return load(path)


def run_side(name: str, folder: Path, repeats: int, solve: bool) -> dict[str, Any]:
    """Measure one side in a process of its own."""
    command = [sys.executable, __file__, "side", name, str(folder), str(repeats), *(["--solve"] if solve else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def peak_memory() -> float:
    """Bytes that this process has held at most since its program was loaded; a fork's own count starts at its parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return float(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024


def _difference(folder: Path, side: str) -> float:
    """Largest relative difference between the program of a side and that of edrp."""
    from rivals.common import difference

    ours, theirs = (pickle.loads((folder / f"{name}.arrays").read_bytes()) for name in ("edrp", side))
    return difference(ours, theirs)


def print_table(rows: dict[str, dict[str, Any]], differences: dict[str, float], title: str) -> None:
    """One row per side, in seconds and as multiples of ours."""
    size = rows["edrp"]
    console.print(f"{size['columns']:,} columns, {size['rows']:,} rows, {size['nonzeros']:,} nonzeros")
    columns = ["written", "model s", "to arrays s", "times ours", "first s", "peak MiB", "less imports", "program"]
    table = Table(Column("side", no_wrap=True), *columns, title=title)
    if "optimum" in size:
        table.add_column("optimum", no_wrap=True)
        table.add_column("solved s")
    ours = median(total for _, total, _ in size["times"])
    for name, row in rows.items():
        model, total, _ = (median(part) for part in zip(*row["times"], strict=True))
        cells = [f"{name} {row['version']}", SIDES[name][3], f"{model:.3f}", f"{total:.3f}", f"{total / ours:.1f}"]
        cells += [f"{row['times'][0][1]:.3f}", f"{row['peak'] / MEBIBYTE:.0f}", f"{(row['peak'] - row['before']) / MEBIBYTE:.0f}"]
        cells.append(f"{differences[name]:.0e}" if differences[name] else "same")
        if "optimum" in row:
            cells += [f"{row['optimum']:.9f}", f"{row['solved']:.1f}"]
        table.add_row(*cells)
    console.print(table)


if __name__ == "__main__":
    app()
