"""The table of production topologies, and the bounds that it compares with."""

import json
from io import StringIO
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from topologies import component, topology

from edrp.datasets.placement.production import TOPOLOGIES_FILE
from edrp.placement.compilation import compile_problem
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.validation.papers.latency_aware.production_report import (
    CONTENDERS,
    ProductionPlacement,
    TopologyRow,
    min_cut,
    min_nodes,
    production_rows,
    production_statements,
    run,
    several,
)

pytestmark = pytest.mark.xdist_group("counts")  # results are computed once

SEARCHES = ("hill climbing", "iterated local search", "resource-aware")


def sized(kind: str, executors: int, cpu: float, *sources: str) -> dict[str, Any]:
    return component(kind, executors, *sources, cpu_pcore=cpu, onheap_mb=100.0, tasks=executors)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that needs three of the third cluster's hosts of 11 cores, one with a cycle, one that is empty, one too large."""
    wide = {"spout": sized("spout", 13, 200.0), "bolt": sized("bolt", 1, 100.0, "spout")}
    cycle = {"spout": sized("spout", 1, 10.0), "a": sized("bolt", 2, 10.0, "spout", "b"), "b": sized("bolt", 2, 10.0, "a")}
    topologies = {"wide": wide, "cycle": cycle, "empty": {}, "large": {"spout": sized("spout", 81, 1000.0)}}
    made = tmp_path_factory.mktemp("production")
    listed = [topology(f"largeCluster03/{name}", **components) for name, components in topologies.items()]
    (made / TOPOLOGIES_FILE).write_text(json.dumps(listed))
    return made


@pytest.fixture(scope="module")
def rows(folder: Path) -> dict[str, TopologyRow]:
    return {row.name.removeprefix("largeCluster03/"): row for row in production_rows(folder, time_limit=inf, contenders=SEARCHES)}


@pytest.mark.slow
def test_nodes_beside_the_bound(rows: dict[str, TopologyRow]) -> None:
    """A host of 10.45 usable cores gives five executors two each: 13 need three hosts, and the bolt fits there too."""
    outcomes = rows["wide"].outcomes or {}
    assert rows["wide"].bound == 3
    assert [outcomes[name].nodes for name in SEARCHES] == [3, 3, 3]
    assert rows["wide"].instances == 14
    # Beside the bolt of one core four executors fit: 9 of 13 pairs stay apart, whatever is done.
    assert rows["wide"].least == pytest.approx(9 / 13)
    assert outcomes["iterated local search"].cut == pytest.approx(9 / 13)


@pytest.mark.slow
def test_cycles_are_placed_and_what_is_empty_is_refused_with_the_reason(rows: dict[str, TopologyRow]) -> None:
    assert rows["cycle"].cyclic
    assert not rows["wide"].cyclic
    assert all(outcome.nodes == 1 for outcome in (rows["cycle"].outcomes or {}).values())
    assert rows["empty"].outcomes is None
    assert "application.operators: must hold at least 1" in rows["empty"].refused


def test_what_has_no_room_is_said_of_each_contender(rows: dict[str, TopologyRow]) -> None:
    """81 executors of which each takes a host, on 80 hosts."""
    assert rows["large"].bound == 81
    for outcome in (rows["large"].outcomes or {}).values():
        assert outcome.nodes is None
        assert outcome.why


def test_only_topologies_that_need_several_nodes_are_compared(rows: dict[str, TopologyRow]) -> None:
    assert [row.name for row in several(list(rows.values()))] == ["largeCluster03/wide"]


@pytest.mark.slow
def test_the_table_says_what_was_refused_and_what_holds(folder: Path) -> None:
    console = Console(width=400, file=(printed := StringIO()))
    found = run(console, data=folder, time_limit=inf)
    assert list(found[0].outcomes or {}) == list(CONTENDERS)
    text = printed.getvalue()
    assert "largeCluster03/empty is refused: application.operators" in text
    assert "largeCluster03/large: resource-aware holds nothing: at most 80 of 81 executors find room" in text
    assert "03/wide" in text
    assert "69.2∗" in text
    assert "03/cycle" not in text.split("Nodes in use")[0]


def test_claims_count_what_could_be_less() -> None:
    """Less on one, the same on one where nothing can be less, more on one: one of two that leave something to gain."""

    def row(ours: float, theirs: float, least: float) -> TopologyRow:
        cuts = {"hill climbing": ours, "iterated local search": ours, "resource-aware": theirs}
        return TopologyRow(
            "x", bound=2, least=least, outcomes={name: ProductionPlacement(2, cut, 0.01) for name, cut in cuts.items()}
        )

    rows = [row(0.2, 0.4, 0.1), row(0.5, 0.5, 0.5), row(0.7, 0.6, 0.1)]
    statement = production_statements(rows)[-1]
    assert not statement.holds
    assert statement.reason.startswith("below on 1 of 3, the same on 1 (on 1 of them nothing can be below), above on 1")
    assert production_statements(rows[:2])[-1].holds


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000))
def test_nothing_is_below_the_bounds(seed: int) -> None:
    random = np.random.default_rng(seed)
    count, nodes = int(random.integers(1, 4)), int(random.integers(1, 5))
    operators = [
        {"name": f"o{i}", "instances": int(random.integers(1, 5)), "resources": {"cpu": float(random.integers(0, 5))}}
        for i in range(count)
    ]
    streams = [
        {"source": f"o{i}", "target": f"o{j}", "rate": float(random.integers(0, 5))}
        for i in range(count)
        for j in range(count)
        if random.random() < 0.5
    ]
    hosts = [{"name": f"n{u}", "resources": {"cpu": float(random.integers(4, 12))}} for u in range(nodes)]
    problem = LatencyAwareProblem(
        application={"operators": operators, "streams": streams},
        network={"nodes": hosts, "between_zones": {"delay": 0.001}},
        utilisation={"cpu": 1.0},
    )
    compiled = compile_problem(problem)
    for _ in range(20):
        counts = np.array([random.multinomial(many, np.full(nodes, 1 / nodes)) for many in compiled.max_replicas])
        found = problem.evaluate(compiled.deployment(counts))
        if found.feasible:
            assert (counts.sum(axis=0) > 0).sum() >= min_nodes(compiled)
            assert found.metrics["events"] >= min_cut(compiled) - 1e-9
