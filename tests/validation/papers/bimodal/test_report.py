"""Figs. 7 to 9 of bi-modal networks: statistics, verdicts, what is run, and the page."""

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from edrp.batch.journal import result_table
from edrp.batch.rows import solve_task
from edrp.batch.source import read_instances
from edrp.batch.tasks import Task, read_choices
from edrp.core.errors import EdrpError
from edrp.core.problem import Problem
from edrp.datasets.families.mapping.platforms import bimodal_scenario
from edrp.report.estimates import Estimate
from edrp.report.publication import MARKDOWN, PAGE
from edrp.validation.papers import batches
from edrp.validation.papers.bimodal import runs as bimodal_runs
from edrp.validation.papers.bimodal.claims import CLAIMS, MAPPING_CLAIMS, crossing, estimate_crossing, estimate_crossing_ratio
from edrp.validation.papers.bimodal.runs import (
    ANNEALED,
    CHOSEN,
    FIXED,
    HEURISTICS,
    LEAST,
    NETWORKS,
    PRINTED,
    PRINTED_FIXED,
    PRINTED_INSTANT,
    RANDOM_1,
    SPANNING,
    VARIANTS,
    WAYS,
    Cell,
    CellGroup,
    Extent,
    Mapped,
    SampleSweep,
    groups,
    quick_look,
    run_group,
    varied_scenario,
)
from edrp.validation.papers.claims import judged

TINY = Extent(networks=2, rates=(60.0,), links=(SPANNING,), tasks=6, sizes=(30,), instances=3, sensitive=1)


def in_this_process(instances, method, *, out=None, progress=None, n_jobs=None):
    """Stands in for `solve_batch`: the same rows without processes and folders."""
    tasks = [Task(instance, choice, 0) for instance in read_instances(instances) for choice in read_choices(method)]
    return result_table([solve_task(task) for task in tasks])


def as_the_paper_says(cell, networks=30):
    """Metrics of a cell that bear out every sentence, with a little noise that all cells of a network share."""
    noise = 1 + np.random.default_rng(7).normal(0, 1e-3, networks)
    load, mesh = cell.rate / 60, cell.links / 100
    accepted = {"both": 1 - 0.25 / (1 + mesh**4), "dedicated": mesh**4 / (mesh**4 + 3), "public": 0.3}[cell.networks]
    if cell.links == 200:
        accepted = 0.95
    extra = 0.4 * max(0.0, 2 - mesh) if cell.networks == "both" else 0.0
    late = 0.15 * 10 ** (-3.5 * (mesh - 0.99)) if mesh > 0.99 else 0.15 + 0.3 * (0.99 - mesh)
    deviation = {"both": late, "dedicated": 0.0, "public": 0.6}
    both = cell.networks == "both"
    values = {
        "throughput": 60 * load * accepted,
        "acceptance": accepted,
        "server_utilisation": {"both": 0.5, "dedicated": 0.2, "public": 0.2}[cell.networks] * load,
        "server_work": {"both": 0.45, "dedicated": 0.2, "public": 0.1}[cell.networks] * load,
        "link_utilisation": 0.3 / mesh + extra,
        "deviation": deviation[cell.networks],
        "elongation": {"both": 0.15, "dedicated": 0.0, "public": 2.5}[cell.networks],
        "public_share": 0.1 if both and cell.links < 200 else 0.0,
        "messages": 1000.0,
        "reallocations": 50.0,
        "seconds": 2.0,
    }
    if cell.way in (FIXED, PRINTED_FIXED):
        values |= {"throughput": 0.9 * values["throughput"], "acceptance": 0.9 * accepted, "deviation": 0.3}
        values["link_utilisation"] *= 0.8
    if cell.way in (PRINTED, PRINTED_FIXED, PRINTED_INSTANT):
        values["deviation"] = 0.55
    return {name: value * noise for name, value in values.items()}


def supporting_samples(extent):
    return {cell: as_the_paper_says(cell, extent.networks) for group in groups(extent) for cell, _ in group.cells}


def mapped_as_the_paper_says(extent, **how):
    generator = np.random.default_rng(3)
    found = {}
    for size in extent.sizes:
        optimum = generator.uniform(10, 20, 90)
        costs = {name: optimum * (1.01 + 0.001 * generator.random(90)) for name in HEURISTICS}
        messages = {
            name: (2.5 if name == ANNEALED else 1.0) * 37 * size * (1 + 0.1 * generator.random(90)) for name in HEURISTICS
        }
        costs[RANDOM_1] = np.where(np.arange(90) % 3 == 0, 2.0 * optimum, np.nan)
        messages[RANDOM_1] = messages[LEAST] / 9
        found[size] = Mapped(optimum, optimum / 1.2, costs, messages)
    return found


def test_a_curve_that_begins_above_a_level_crosses_at_its_first_point():
    assert crossing([25, 50, 75], [0.5, 0.3, 0.7], 0.5) == 25
    assert estimate_crossing({50: np.full(3, 0.2), 100: np.full(3, 0.8)}, 0.5) == Estimate(
        75.0, None, None
    )  # too few to resample


def test_a_ratio_of_crossings_is_that_of_the_same_networks():
    generator = np.random.default_rng(6)
    level = generator.normal(0, 0.1, 30)
    slow = {at: at / 200 * (1 + level) for at in (50, 100, 150, 200)}
    fast = {at: 2 * at / 200 * (1 + level) for at in (50, 100, 150, 200)}
    ratio = estimate_crossing_ratio(fast, slow, 0.6)
    assert ratio.mean == pytest.approx(0.5)
    assert ratio.low == pytest.approx(0.5) == ratio.high  # whatever networks are drawn, both curves move alike
    never = {at: np.full(30, 0.1) for at in slow}
    assert estimate_crossing_ratio(fast, never, 0.6).mean == 0
    assert estimate_crossing_ratio(never, never, 0.6).mean == math.inf


@pytest.mark.parametrize("extent", [Extent(), replace(quick_look(Extent()), networks=30)], ids=["all", "quick"])
def test_every_sentence_is_judged_on_what_is_run_and_can_hold(extent):
    found = judged(CLAIMS, SampleSweep(supporting_samples(extent)))
    assert [statement.sentence for statement in found] == [sentence for _, sentence, *_ in CLAIMS]
    assert {statement.sentence: statement.verdict for statement in found if statement.verdict != "holds"} == {}


def alone(cell):
    return cell.networks == "dedicated"


def public(cell):
    return cell.networks == "public"


CONTRADICTIONS = [
    ("re-allocation raises throughput", lambda cell: cell.way == CHOSEN and cell.rate == 120, "throughput", 0.5),
    ("dedicated links alone: more than 120 are needed to accept half of the tasks", alone, "acceptance", 2.0),
    ("server utilisation (work done) of both is above the sum of the two alone", public, "server_work", 4.0),
]


@pytest.mark.parametrize(
    ("sentence", "where", "metric", "factor"), CONTRADICTIONS, ids=[contradiction[0][:40] for contradiction in CONTRADICTIONS]
)
def test_a_sentence_does_not_hold_where_samples_contradict_it(sentence, where, metric, factor):
    samples = supporting_samples(Extent())
    for cell, metrics in samples.items():
        if where(cell):
            metrics[metric] = factor * metrics[metric]
    verdicts = {statement.sentence: statement.verdict for statement in judged(CLAIMS, SampleSweep(samples))}
    assert verdicts[sentence] == "does not hold"


def test_sentences_on_heuristics_hold_and_fail_by_their_numbers():
    found = mapped_as_the_paper_says(Extent())
    verdicts = {statement.sentence: statement.verdict for statement in judged(MAPPING_CLAIMS, found)}
    assert list(verdicts) == [sentence for _, sentence, *_ in MAPPING_CLAIMS]
    assert set(verdicts.values()) == {"holds"}
    dear = {size: mapped._replace(optimum=mapped.optimum / 1.1, bound=mapped.bound / 2) for size, mapped in found.items()}
    for mapped in dear.values():
        mapped.costs[LEAST][:10] = np.nan
        mapped.messages[RANDOM_1][:] = mapped.messages[ANNEALED]
    failed = [statement.sentence for statement in judged(MAPPING_CLAIMS, dear) if statement.verdict == "does not hold"]
    assert len(failed) == 6
    assert "LeastCostMap maps at least 98 % of what can be mapped" in failed
    assert "messages of LeastCostMap grow with an exponent of at most 1.3" not in failed


def test_every_point_is_run_once_and_folders_are_apart():
    for extent in (Extent(), quick_look(Extent())):
        made = list(groups(extent))
        assert len({group.name for group in made}) == len(made)
        cells = [cell for group in made for cell, _ in group.cells]
        assert len(set(cells)) == len(cells)
        points = [(rate, SPANNING) for rate in extent.rates] + [(60.0, links) for links in extent.links]
        assert {Cell(networks, *point) for networks in NETWORKS for point in points} <= set(cells)
        assert {Cell("both", rate, SPANNING, FIXED) for rate in extent.rates} <= set(cells)
        assert {Cell("both", way=way) for way in WAYS} <= set(cells)
    assert len({Extent(**{name: value}).folder for name, value in (("networks", 3), ("tasks", 9), ("flow", "expected"))}) == 3


def test_a_run_that_fails_is_named(monkeypatch):
    def broken(instances, method, **how):
        texts = {name: json.dumps({**problem.model_dump(mode="json"), "tasks": []}) for name, problem in instances.items()}
        return in_this_process(texts, method)

    monkeypatch.setattr(batches, "solve_batch", broken)
    with pytest.raises(EdrpError, match=r"public-hops-mapping on dedicated/1: failed: .*tasks"):
        run_group(CellGroup("one", ("dedicated",), 60.0, SPANNING, (CHOSEN,)), TINY)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_a_scenario(name):
    scenario = varied_scenario(servers=5, links=4, tasks=1, **VARIANTS[name])
    assert isinstance(scenario, Problem)
    assert (scenario == bimodal_scenario(servers=5, links=4, tasks=1)) == (name == "as documented")


def test_the_command_writes_a_report_that_holds_everything_and_fetches_nothing(tmp_path, monkeypatch, capsys, links_of):
    from edrp.cli import main

    asked = {}

    def observed(extent, **how):
        asked["extent"] = extent
        return supporting_samples(extent)

    monkeypatch.setattr(bimodal_runs, "observe", observed)
    monkeypatch.setattr(bimodal_runs, "map_all", mapped_as_the_paper_says)
    monkeypatch.setattr(
        bimodal_runs,
        "sensitivity",
        lambda extent, **how: {"k = 1": {Cell(network): as_the_paper_says(Cell(network)) for network in NETWORKS}},
    )
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "bimodal", "--networks", "4", "--quick", "--sensitivity", "--out", str(tmp_path)])
    assert not ended.value.code
    assert (asked["extent"].networks, asked["extent"].sensitive) == (3, 1)
    printed = capsys.readouterr().out
    assert "holds: re-allocation raises throughput" in printed
    assert "…" not in printed  # every table fits the terminal
    page = (tmp_path / PAGE).read_text(encoding="utf-8")
    links = links_of(page)
    assert (links.fetched, links.images) == ([], 3)
    command = (
        f"edrp reproduce bimodal --networks 4 --instances 100 --tasks 500 --flow drawn --out {tmp_path} --quick --sensitivity"
    )
    for words in (
        command,
        "RandomNeighbor, k = 2",
        "Choices of maps",
        "variation_base",
        "k = 1",
        "Alg. 4",
        "standard deviation",
        "2.0 s in the median",
    ):
        assert words in page
    with (tmp_path / "statements.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["verdict"] for row in rows} == {"holds", "undecided"}  # three networks say nothing of crossings
    document = json.loads((tmp_path / "tables.json").read_text(encoding="utf-8"))
    assert {row["statement"] for row in rows} == {statement["statement"] for statement in document["statements"]}
    assert len(document["statements"]) == len(rows)
    own = supporting_samples(asked["extent"])[Cell("both")]["deviation"]
    (record,) = [
        network
        for network in document["networks"]
        if (network["networks"], network["tasks_per_hour"], network["links"], network["way"]) == Cell("both")
        and network["metric"] == "deviation"
    ]
    assert record["mean"] == own.mean()
    assert "| as printed: load first | public hops, load |" in (tmp_path / MARKDOWN).read_text(encoding="utf-8")
