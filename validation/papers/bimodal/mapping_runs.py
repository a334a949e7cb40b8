"""Fig. 7 of bi-modal networks: three heuristics compared with the true optimum and the paper's relaxed bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from edrp.core.arrays import Bools, Floats
from edrp.core.errors import EdrpError
from edrp.datasets.families.mapping.platforms import mapping_problem
from edrp.formulations.mapping.lagrangian import relaxed_bound
from edrp.mapping.path_mapping import MappingProblem
from edrp.validation.papers.batches import batch_rows
from edrp.validation.papers.bimodal.extent import Extent
from edrp.validation.papers.bimodal.runs import COLUMNS

EXACT = "label-setting"
LEAST, ANNEALED, RANDOM_1, RANDOM_2 = "LeastCostMap", "AnnealedLeastCostMap", "RandomNeighbor, k = 1", "RandomNeighbor, k = 2"
MAX_MESSAGES = 50_000
"""Limit of RandomNeighbor with k = 2, which otherwise doubles its maps at every server."""

HEURISTICS: Mapping[str, str] = {
    LEAST: "least-cost-map",
    ANNEALED: "annealed-least-cost-map",
    RANDOM_1: "random-neighbor:neighbours=1",
    RANDOM_2: f"random-neighbor:neighbours=2,max_messages={MAX_MESSAGES}",
}
"""Heuristics by the paper's name, as names of this package with parameters."""

MESSAGES = "map_messages"
"""Count of an answer: the maps sent between servers, as in Fig. 7(b)."""


class Mapped(NamedTuple):
    """Tasks on networks of one size that can be mapped, in the order of their seeds.

    Proven least costs and the paper's bound, in which bandwidths do not matter; by heuristic its costs, NaN where it finds no
    map, and the maps that it sends.
    """

    optimum: Floats
    bound: Floats
    costs: Mapping[str, Floats]
    messages: Mapping[str, Floats]

    def ratio(self, heuristic: str, to: Floats) -> Floats:
        """Costs as multiples of others, where the heuristic found a map."""
        is_mapped = self.found(heuristic)
        return self.costs[heuristic][is_mapped] / to[is_mapped]

    def found(self, heuristic: str) -> Bools:
        """Return for each task whether the heuristic maps it."""
        return ~np.isnan(self.costs[heuristic])


MappedBySize = Mapping[int, Mapped]


def map_all(extent: Extent, *, out: Path | None = None, **how: Any) -> dict[int, Mapped]:
    """Map tasks of ten components on networks of every size, exactly and by every heuristic; arguments are those of `observe`.

    The first method that fails is named, and so is the first optimum that is not proven.
    """
    mapped = {}
    for servers in extent.sizes:
        problems = {str(seed): mapping_problem(servers, seed=seed) for seed in range(1, extent.instances + 1)}
        where = None if out is None else out / f"{extent.instances}-tasks-to-map" / f"{servers}-servers"
        rows = {
            (row["id"], row["method"]): row
            for row in batch_rows(problems, [EXACT, *HEURISTICS.values()], COLUMNS, out=where, **how)
        }
        for row in rows.values():
            # Finding nothing is an answer of a heuristic, and being infeasible one of the exact method.
            expected = {"optimal", "infeasible"} if row["method"] == EXACT else {"feasible", "optimal", "infeasible", "none"}
            if row["outcome"] in ("failed", "refused") or row["status"] not in expected:
                raise EdrpError(f"{row['method']} on {row['id']}: {row['outcome']}, {row['status']}: {row['error_message']}")
        mapped[servers] = _mapped(problems, rows, how.get("n_jobs"))
    return mapped


def _mapped(problems: Mapping[str, MappingProblem], rows: Mapping[tuple[str, str], Any], n_jobs: int | None) -> Mapped:
    feasible = [name for name in problems if rows[name, EXACT]["status"] == "optimal"]
    bounds = Parallel(n_jobs=-1 if n_jobs is None else n_jobs)(delayed(relaxed_bound)(problems[name]) for name in feasible)
    rows_of = {title: [rows[name, method] for name in feasible] for title, method in HEURISTICS.items()}
    return Mapped(
        optimum=_costs(rows[name, EXACT] for name in feasible),
        bound=np.array(bounds, dtype=np.float64),
        costs={name: _costs(answers) for name, answers in rows_of.items()},
        messages={
            name: np.array([dict(row["size"])[MESSAGES] for row in answers], np.float64) for name, answers in rows_of.items()
        },
    )


def _costs(rows: Iterable[Mapping[str, Any]]) -> Floats:
    return np.array([np.nan if row["objective"] is None else row["objective"] for row in rows], dtype=np.float64)
