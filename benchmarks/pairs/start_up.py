"""Until the first answer: whole commands, import and first solve in a notebook, and loading a large document.

All sides are whole processes whose bytecode is compiled, as at a second use. The script of CP-SAT
(`cp_sat_script.py`) does not price traffic, which makes its problem the easier one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from peer_pairs import Command, Pair, register

import edrp
from edrp.datasets.families.placement.clusters import cluster
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.placement.shapes import sequential

PEER_SCRIPT = Path(__file__).with_name("cp_sat_script.py")
SOLVE = "import edrp, sys; edrp.solve(edrp.load(sys.argv[1]))"
LOAD = "import edrp, sys; edrp.load(sys.argv[1])"
PARSE = "import json, sys; json.load(open(sys.argv[1]))"
NODES_OF_DOCUMENT = 812
"""Nodes of a complete network whose document has 40 MB."""


def on_24_nodes() -> edrp.EdrpProblem:
    """Ten operators in layers, proven by `eliminate`."""
    return layered(10, seed=0)


def on_cluster() -> edrp.EdrpProblem:
    """A chain of eight on a cluster of 8 × 8 slots, proven by `equal-nodes`."""
    weights = {"response_time": 0.5, "cost": 0.5}
    return cluster(8, np.random.default_rng(0), shape=sequential, size=(8, 8, 12), weights=weights)


def without_kernels() -> edrp.EdrpProblem:
    """Four operators on six nodes, a program that HiGHS proves."""
    return layered(4, seed=0, nodes=6)


def python(scratch: Path, *words: object) -> list[str]:
    """A command of Python that keeps its bytecode, whatever the surroundings say, in the scratch folder."""
    kept = ["-u", "PYTHONDONTWRITEBYTECODE", f"PYTHONPYCACHEPREFIX={scratch / 'bytecode'}"]
    return ["env", *kept, sys.executable, *map(str, words)]


def on_instance(make: Callable[[], edrp.EdrpProblem], words: Sequence[object], scratch: Path) -> list[str]:
    """A command of Python on the file of an instance."""
    file = scratch / "instance.json"
    edrp.save(make(), file, force=True)
    return python(scratch, *words, file)


def on_document(words: Sequence[object], scratch: Path) -> list[str]:
    """A command of Python on a document of 40 MB, most of it links."""
    random, names = np.random.default_rng(0), [f"n{u}" for u in range(NODES_OF_DOCUMENT)]
    pairs = [(u, v) for u in names for v in names if u < v]
    columns = zip(pairs, random.random((len(pairs), 3)).round(9).tolist(), strict=True)
    links = [{"source": u, "target": v, "delay": a, "bandwidth": 1.0 + b, "cost": c} for (u, v), (a, b, c) in columns]
    problem = json.loads(without_kernels().model_dump_json())
    network = {"nodes": [{"name": name} for name in names], "links": links}
    operators = [{**operator, "candidates": None} for operator in problem["application"]["operators"]]
    document = {**problem, "network": network, "application": {**problem["application"], "operators": operators}}
    file = scratch / "document.json"
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return python(scratch, *words, file)


for name, make, words, goal in (
    ("whole-command-24", on_24_nodes, ("-m", "edrp", "solve"), "1.5 × the script"),
    ("whole-command-8x8", on_cluster, ("-m", "edrp", "solve"), "1.5 × the script"),
    ("whole-command-no-kernels", without_kernels, ("-m", "edrp", "solve"), "below the script"),
    ("notebook-memory", on_cluster, ("-c", SOLVE), "150 MB"),
    ("notebook-memory-24", on_24_nodes, ("-c", SOLVE), "150 MB"),
):
    register(
        Pair(
            name=name,
            goal=goal,
            ours=Command("edrp", partial(on_instance, make, words)),
            peer=Command("CP-SAT script", partial(on_instance, make, (PEER_SCRIPT,))),
            needs=("ortools",),
        )
    )

register(
    Pair(
        name="document-40mb",
        goal="2.5 s, 300 MB",
        ours=Command("edrp.load", partial(on_document, ("-c", LOAD))),
        peer=Command("json.load", partial(on_document, ("-c", PARSE))),
    )
)
