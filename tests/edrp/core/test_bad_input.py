"""Every kind of bad input: the place, the value and the remedy are named, the exit code is 2, nothing is written."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import edrp
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.instances import load, loads
from edrp.engines.goals import Goals
from edrp.placement.metric_values import Limits, Weights


def operator(document: dict[str, Any], index: int = 1) -> dict[str, Any]:
    return document["application"]["operators"][index]


def change(document: dict[str, Any], place: str, value: object) -> None:
    """Set a place such as `network.nodes.0.speedup`."""
    *way, last = place.split(".")
    for part in way:
        document = document[int(part)] if part.isdigit() else document[part]
    document[last] = value


# Each: where in the word count, what is put there, the place named, the value shown, the remedy.
WRONG_VALUES = [
    ("network.nodes.0.speed", 2, "network.nodes[0].speed", "2", "did you mean 'speedup'?"),
    ("network.colour", "red", "network.colour", '"red"', "unknown field; there are nodes, links, symmetric, routed, store"),
    ("application.operators.1.cost", float("nan"), "application.operators[1].cost", "NaN", "must be a finite number"),
    ("application.operators.1.state_size", -1, "application.operators[1].state_size", "-1", "must be at least 0 bytes"),
    ("application.streams.0.rate", -3, "application.streams[0].rate", "-3", "must be at least 0 tuples/s, or left out"),
    ("application.streams.0.rate", "3", "application.streams[0].rate", '"3"', "must be a number"),
    ("application.operators.1.latency.service_rate", 0, "operators[1].latency.service_rate", "0", "must be above 0 tuples/s"),
    ("application.operators.1.latency.model", "md1", "operators[1].latency.model", '"md1"', "one of 'mm1', 'capacity-curve'"),
    ("application.operators.1.latency", 7, "operators[1].latency", "7", 'such as {"model": "mm1", "service_rate": 7}, or'),
    ("application.operators.1.max_replicas", 1.5, "operators[1].max_replicas", "1.5", "must be a whole number"),
    ("application.operators.1.resources", "two", "operators[1].resources", '"two"', "a number, or an object of numbers by name"),
    ("application.operators.1.resources", {"cpu": -1}, "operators[1].resources.cpu", "-1", "must be at least 0"),
    ("application.operators.1.resources", {"cpu": 1}, "operators[1].resources", '{"cpu": 1.0}', "use one form for all"),
    ("application.operators.1.name", "reader", "operators[1].name", '"reader"', "already the name of operators[0]"),
    ("network.nodes.1.name", "edge", "network.nodes[1].name", '"edge"', "already the name of nodes[0]"),
    ("application.operators.1.candidates", ["moon"], "operators[1].candidates[0]", '"moon"', "is no node of the network"),
    ("application.operators.1.candidates", ["fog", "fog"], "operators[1].candidates[1]", '"fog"', "name each once"),
    ("application.streams.2.target", "splitter", "application.streams", '"splitter → counter → splitter"', "form a cycle"),
    ("application.streams", "all", "application.streams", '"all"', 'must be a list, such as [{"source": "all", "target": "…"}]'),
    ("network.links", [], "network.links", "", "no link joins edge with fog, cloud, but stream reader → splitter may need one; "),
    ("network.links.0.target", "fogg", "network.links[0].target", '"fogg"', "is no node of this network; did you mean 'fog'?"),
    ("application.operators.1.candidates", ["clod"], "operators[1].candidates[0]", '"clod"', "did you mean 'cloud'?"),
    (
        "network.links",
        [{"source": "edge", "target": "fog", "delay": 0}, {"source": "fog", "target": "edge", "delay": 0}],
        "network.links[1]",
        '"fog→edge"',
        "repeats links[0]; with symmetric: true a link serves both directions",
    ),
    ("weights", {"response_time": 0.7, "cost": 0.7}, "weights", "1.4", "must sum to 1"),
    ("weights.response_time", 1.7, "weights.response_time", "1.7", "must be at most 1"),
    ("limits", {"cost": 20}, "limits.response_time", "", "needed because weights.response_time > 0"),
    ("application.streams.0.target", "spliter", "application.streams[0].target", '"spliter"', "did you mean 'splitter'?"),
    ("current", {"reader": ["edge"]}, "current.splitter", "", "name the nodes of every operator, or leave `current` out"),
    ("reconfiguration", "heron", "reconfiguration", '"heron"', "must be 'pause-and-resume' or 'storm'"),
    ("kind", "erdp", "kind", '"erdp"', "did you mean 'edrp'?"),
    ("kind", "edrp-solution", "kind", '"edrp-solution"', "is a solution; give the instance that it solves"),
]

CURRENT = {"reader": ["edge"], "splitter": ["cloud"], "counter": ["cloud"], "writer": ["cloud"]}


def refused(run: Callable[..., Any], path: Path, *expected: str) -> None:
    """The file is refused with a message that holds all of `expected`; nothing is written or printed elsewhere."""
    before = sorted(path.parent.iterdir())
    result = run("solve", path, "-o", path.parent / "solution.json").ended(2)
    for text in (str(path), *expected):
        assert text in result.err, f"{text!r} is not in\n{result.err}"
    assert result.out == ""
    assert sorted(path.parent.iterdir()) == before


@pytest.mark.parametrize(("at", "value", "place", "shown", "remedy"), WRONG_VALUES)
def test_wrong_value_is_refused_with_place_value_and_remedy(run, write, document, at, value, place, shown, remedy):
    change(document, at, value)
    refused(run, write(document), place, shown, remedy)


@pytest.mark.parametrize(
    ("text", "place", "remedy"),
    [
        ('{"kind": "edrp",\n "weights": }', "line 2, column 13", "is not JSON: expecting value"),
        ("kind = 'edrp'", "line 1, column 1", "is not JSON"),
        ("# a problem\nkind: edrp\n", "file", "is YAML, and JSON is read; convert it, for example with python -c"),
        ("name,rate\nread,5\n", "file", "is a table (CSV); a problem is one JSON document"),
        ("<edrp/>", "file", "is XML or HTML"),
        ("", "file", "is empty"),
        (" \n", "file", "is empty"),
        ("[1, 2]", "document", "must be a JSON object"),
        ("null", "document", "must be a JSON object"),
        ("[" * 100_000, "document", "is nested too deeply"),
        ('{"kind": "edrp", "x": "\\ud800"}', "document", "is not JSON"),
        ("{}", "kind", 'missing; it must be one of "edrp"'),
        ('{"kind": "edrp", "weights": {"cost": 0, "cost": 1}}', "weights.cost", "is given twice in one object; keep one"),
        ('{"kind": "edrp", "kind": "edrp"}', "kind", "is given twice in one object; keep one"),
        ('{"kind": "edrp", "synchronisation_time": 1e999}', "synchronisation_time", "must be a finite number"),
    ],
)
def test_text_that_is_no_instance_is_refused(run, write, text, place, remedy):
    refused(run, write(text), place, remedy)


@pytest.mark.parametrize(
    ("work", "place", "why"),
    [
        ([1, "x"], "work[1]", "must be a number"),
        ([[1, 2], [1, "x"]], "work[1][1]", "must be a number"),
        ([[1, 2], -1], "work[1]", "must be a list"),
    ],
)
def test_a_fault_in_numbers_or_in_rows_of_numbers_is_named_by_its_place(examples, work, place, why):
    sequence = json.loads((examples / "migration_sequence.json").read_text())
    with pytest.raises(InvalidInstanceError) as caught:
        loads(json.dumps({**sequence, "work": work}))
    assert [(fault.place, fault.why) for fault in caught.value.faults] == [(place, why)]


def test_missing_required_fields_are_all_named(run, write):
    refused(run, write({"kind": "edrp"}), "application", "network", "missing; this field is required", "2 faults")


def test_faults_of_different_parts_are_reported_together(write, run, document):
    change(document, "weights.cost", 0.9)
    change(document, "network.nodes.2.speedup", 0)
    change(document, "application.operators.3.name", "reader")
    change(document, "application.streams.2.target", "counter")
    refused(run, write(document), "weights", "network.nodes[2].speedup", "application.operators[3].name", "3 faults")


def test_every_pair_without_a_link_is_named_together_with_other_faults(run, write, document):
    """Pairs of one node with many, and of many with many, are one fault each stream; none is named twice."""
    names = [node["name"] for node in document["network"]["nodes"]]
    document["network"]["nodes"] += [{"name": f"far{u}"} for u in range(12)]
    document["network"]["links"] = [{"source": names[0], "target": name, "delay": 1.0} for name in names[1:]]
    document["application"]["operators"][0]["candidates"] = [names[0], "far0", "fra1"]
    with pytest.raises(InvalidInstanceError) as caught:
        loads(json.dumps(document))
    first, reader, others = caught.value.faults
    assert first.why == "is no node of the network; did you mean 'far1'?"
    assert f"joins {names[0]} with far0, far1, far2, far3, far4, far5, far6, far7 and 4 more; far0 with" in reader.why
    assert f"{names[1]} with {names[2]}, far1, far2, far3, far4, far5, far6, far7 and 4 more; " in others.why
    assert others.why.count(";") == 8
    assert " and 4 more, but stream splitter → counter may need one; add links" in others.why


@pytest.mark.parametrize(
    ("name", "content", "remedy"),
    [
        ("a.json.gz", b"\x1f\x8b\x08", "is compressed with gzip; unpack it"),
        ("a.xlsx", b"PK\x03\x04", "is an Excel workbook; a problem is one JSON document"),
        ("a.zip", b"PK\x03\x04", "is a zip archive"),
        ("a.yml", b"{kind: edrp}", "is YAML, and JSON is read; convert it, for example with python -c"),
        ("a.csv", b"name\nread\n", "is a table (CSV)"),
        ("a.json", "{}".encode("utf-16"), "is UTF-16 text; save the file as UTF-8"),
    ],
)
def test_files_of_other_formats_are_called_what_they_are(tmp_path, name, content, remedy):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInstanceError) as caught:
        load(tmp_path / name)
    assert [fault.why.startswith(remedy) for fault in caught.value.faults] == [True]
    assert ("yaml" not in remedy.lower()) or caught.value.faults[0].why.endswith(f"{name} > {tmp_path / 'a.json'}")


@pytest.mark.parametrize(
    ("example", "place", "value", "meant"),
    [
        ("edge_to_cloud", "application.operators.0.candidates", ["gatewy"], "gateway"),
        ("edge_to_cloud", "current", {"sensor": ["gateway"]}, "sensors"),
        ("rescale", "current.read", ["rack1a"], "rack1-a"),
        ("rescale", "current", {"raed": ["rack1-a"]}, "read"),
        ("mapping", "task.delivery", "disk", "desk"),
        ("mapping", "network.links.0.target", "hal", "hall"),
        ("link_allocation", "flows.0.source", "hal", "hall"),
        ("enactment", "queues", {"filter-avalability": 3.0}, "filter-availability"),
        ("enactment", "current", [{"name": "h", "type": "docker"}], "docker-host"),
        ("leasing", "leased", [{"name": "h", "type": "docker", "paid_periods": 1}], "docker-host"),
    ],
)
def test_mistyped_names_of_nodes_operators_and_hosts_are_answered_with_the_nearest(examples, example, place, value, meant):
    document = json.loads((examples / f"{example}.json").read_text())
    change(document, place, value)
    with pytest.raises(InvalidInstanceError, match=f"did you mean '{meant}'"):
        loads(json.dumps(document))


def test_weights_that_are_not_given_say_how_to_give_them():
    with pytest.raises(InvalidInstanceError, match=r"give at least one weight, for example Weights\(response_time=1.0\)"):
        Weights()


def test_current_deployment_on_a_node_that_is_no_candidate_is_refused(run, write, document):
    document["current"] = {**CURRENT, "reader": ["cloud"]}
    refused(run, write(document), "current.reader[0]", '"cloud"', "is not among the candidates of 'reader'")


def test_current_deployment_names_unknown_operators_and_nodes(run, write, document):
    document["current"] = {**CURRENT, "counter": ["moon"], "sorter": ["edge"]}
    refused(run, write(document), "current.sorter", "is no operator of the application", "current.counter[0]", '"moon"')


def test_current_deployment_over_capacity_is_legal_because_the_application_may_have_to_leave_it(run, write, document):
    document["network"]["nodes"][2]["resources"] = 4
    document["current"] = {**CURRENT, "splitter": ["cloud"] * 3, "counter": ["cloud"] * 2}
    document["limits"]["downtime"] = 100.0
    target = write("", "solution.json")
    run("solve", write(document), "-m", "annealing", "-o", target, "--force").ended(0)
    used = [node for nodes in json.loads(target.read_text())["deployment"].values() for node in nodes]
    assert used.count("cloud") <= 4


def test_file_that_cannot_be_read_is_named(run, tmp_path):
    refused(run, tmp_path / "missing.json", "missing.json: there is no such file")
    (tmp_path / "word_count.json").touch()
    refused(run, tmp_path / "wordcount.json", f"did you mean '{tmp_path / 'word_count.json'}'?")
    (tmp_path / "folder.json").mkdir()
    refused(run, tmp_path / "folder.json", f"is a folder; name its files, as in {tmp_path / 'folder.json'}/*.json")


def test_text_that_is_not_utf8_is_refused_with_the_byte(run, tmp_path):
    path = tmp_path / "latin.json"
    path.write_bytes(b'{"kind": "\xe9drp"}')
    refused(run, path, "byte 10", "0xe9", "save the file as UTF-8")


def test_negative_latency_within_the_load_is_refused(run, write, document):
    operator(document)["latency"] = {"model": "polynomial", "coefficients": [0.01, -1e-3]}
    refused(run, write(document), "application.operators[1].latency", "is negative at", "fit it over that load")


def test_many_faults_are_counted_and_the_first_shown(run, write, document):
    document["network"]["nodes"] += [{"name": f"n{i}", "speedup": -1} for i in range(200)]
    refused(run, write(document), "200 faults in the input", "network.nodes[3].speedup", "… and 150 more")


def test_an_error_shows_twenty_faults_and_counts_the_others():
    faults = [Fault(f"nodes[{index}]", "", "must be text") for index in range(25)]
    text = str(InvalidInstanceError(faults, "plan.json"))
    assert text.startswith("plan.json: 25 faults in the input\n  nodes[0]: must be text\n")
    assert text.endswith("  nodes[19]: must be text\n  … and 5 more")
    assert str(InvalidInstanceError(faults[:20])).endswith("  nodes[19]: must be text")


def test_ten_thousand_nodes_work_where_few_may_be_used(run, write, document):
    document["network"]["nodes"] += [{"name": f"n{i}"} for i in range(10_000)]
    for each in document["application"]["operators"]:
        each.setdefault("candidates", ["edge", "fog", "cloud"])
    assert run("solve", write(document), "-m", "annealing", "--work-limit", "1").code == 0


def test_too_many_usable_nodes_are_refused_with_the_memory_they_would_need(run, write):
    document = {
        "kind": "edrp",
        "application": {"operators": [{"name": "alone"}]},
        "network": {"nodes": [{"name": f"n{i}"} for i in range(30_000)]},
        "weights": {"cost": 1},
        "limits": {"cost": 1},
    }
    tried = run("solve", write(document), "-m", "eliminate").ended(2)
    assert "tables over the pairs of 30000 nodes need 20.1 GiB" in tried.err
    assert "narrow the operators' candidates, or use greedy" in tried.err
    assert run("solve", write(document)).code == 0, "auto falls back on a rule"


def test_unusable_options_are_refused(run, write, document):
    path = write(document)
    assert run("solve", path, "--method", "magic").code == 2
    assert "no method 'magic'" in run("solve", path, "--method", "magic").err
    for options in (["--gap", "nan"], ["--gap", "-1"], ["--time-limit", "inf"], ["--threads", "0"], ["--program", "tiny"]):
        assert run("solve", path, *options).code == 2, options
    assert run("solve").code == 2
    assert run("schema", "edpr").code == 2
    assert run("methods", "edpr").code == 2


def places(document: Any, way: tuple = ()) -> list[tuple]:
    below = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    return [way, *(place for key, value in below for place in places(value, (*way, key)))]


PYDANTIC_WORDS = re.compile(r"Input should|constrained|function-|dict\[|tuple\[|\.(str|float|int|bool)\b|lax-or|KeyRange")
ODD: list[Any] = [None, True, 3, -2.5, "x", "", [], {}, [3], {"node": "a"}, [[1]], [{"a": 1}], {"a": "x"}]


def one_of_each_shape(document: Any) -> list[tuple]:
    """Places that differ in more than the index of a list."""
    shapes = {tuple(0 if isinstance(key, int) else key for key in way): way for way in reversed(places(document)[1:])}
    return list(shapes.values())


def test_at_no_place_of_any_example_are_faults_told_in_words_of_the_library_that_finds_them(examples):
    """With every field replaced by values of other forms; names of union members would stand in the places of faults."""
    documents = [json.loads(file.read_text()) for file in sorted(examples.glob("*.json"))]
    kinds = [document for document in documents if isinstance(document, dict) and "kind" in document]
    assert len({document["kind"] for document in kinds}) >= 10
    for document in kinds:
        for *way, last in one_of_each_shape(document):
            for value in ODD:
                changed = json.loads(json.dumps(document))
                inner = changed
                for key in way:
                    inner = inner[key]
                inner[last] = value
                try:
                    loads(json.dumps(changed))
                except InvalidInstanceError as error:
                    told = [str(f) for f in error.faults if PYDANTIC_WORDS.search(str(f)) or not (f.place and f.why)]
                    assert told == []


def test_a_limit_that_default_weights_need_is_asked_for_with_these(run, write, document):
    del document["weights"]
    document["limits"] = {"response_time": 0.2}
    refused(run, write(document), "limits.cost", "without `weights` it is 0.5, so give these or the limit")


# Arguments of functions

WRONG_ARGUMENTS = [
    (lambda p: edrp.solve(p.model_dump()), "problem: is a dict; edrp.loads(json.dumps(problem)) makes a problem of it"),
    (lambda p: edrp.solve("mine.json"), "problem: is text; edrp.load('mine.json') reads the problem of a file"),
    (lambda p: edrp.solve(Path("mine.json")), "problem: is a path; edrp.load('mine.json')"),
    (lambda p: edrp.solve('{"kind": "edrp"}'), "problem: is JSON text; edrp.loads("),
    (lambda p: edrp.solve([p]), "problem: is a list; give one problem, or solve several with edrp.solve_batch"),
    (lambda p: edrp.solve({"a": p}), "problem: is a dict; give one problem, or solve several with edrp.solve_batch"),
    (lambda p: edrp.solve(p.application), "problem: is an Application, which is a part of a problem: edrp.EdrpProblem("),
    (lambda p: edrp.solve(edrp.solve(p, "greedy")), "problem: is an EdrpSolution; give the problem that it answers"),
    (lambda p: edrp.solve(edrp.formulate(p)), "problem: is a formulation; edrp.solve_formulation solves it"),
    (lambda p: edrp.solve(edrp.EdrpProblem), "problem: is the class EdrpProblem; edrp.load(path) reads one"),
    (lambda p: edrp.solve(p, ["highs"]), "method: is a list; name one method; edrp.solve_batch compares several"),
    (lambda p: edrp.solve(p, edrp.methods()["highs"]), "method: is a ProgramMethod; register it by edrp.register(method)"),
    (
        lambda p: edrp.solve(p, time_limit="30"),
        "time_limit: must be a number of seconds of at least 0, such as 0.5, or None for no limit; write it without",
    ),
    (lambda p: edrp.solve(p, work_limit=-1), "work_limit: must be a number of at least 0, or None for no limit (got -1)"),
    (lambda p: edrp.solve(p, seed=1.5), "seed: must be a whole number of at least 0 (got 1.5)"),
    (lambda p: edrp.solve(p, seed="1"), 'seed: must be a whole number of at least 0; write it without quotes (got "1")'),
    (lambda p: edrp.solve(p, threads=0), "threads: must be a whole number of at least 1 (got 0)"),
    (lambda p: edrp.solve(p, gap="1%"), "gap: must be a number of at least 0, such as 0.01 for 1 %"),
    (lambda p: edrp.solve(p, options={"seed": 1}), "options: give them one by one, as in edrp.solve(problem, time_limit=30)"),
    (lambda p: edrp.solve(p, progress=True), "progress: must be a function, or None"),
    (lambda p: edrp.solve_batch(p), "instances: is an EdrpProblem; edrp.solve solves one problem"),
    (lambda p: edrp.solve_batch(p.model_dump()), "instances: is the document of a single problem"),
    (lambda p: edrp.solve_batch(3), "instances: is an int; give a folder"),
    (lambda p: edrp.solve_batch([p], [edrp.methods()["greedy"]]), "method: is a Greedy; register it"),
    (lambda p: edrp.solve_batch([p], time_limit="30"), "time_limit: must be a number"),
    (lambda p: edrp.solve_batch([p], seed="12"), "seed: must be a whole number"),
    (lambda p: edrp.solve_batch([p], n_jobs="2"), "n_jobs: must be a number of processes"),
    (lambda p: edrp.solve_batch([p], spark="local[2]"), "spark: is text; give a SparkSession"),
    (lambda p: edrp.benchmark(p), "instances: is an EdrpProblem"),
    (lambda p: edrp.benchmark([p], seeds=[1]), "seeds: must be how many"),
    (lambda p: edrp.explain(p.model_dump(), {}), "problem: is a dict"),
    (lambda p: edrp.pareto_front(p, ["cost"], "downtime"), 'first: must be the name of a metric, such as "cost"'),
    (lambda p: edrp.pareto_front(p, "cost", "downtime", points=1), "points: must be a whole number of at least 2"),
    (lambda p: edrp.formulate("mine.json"), "problem: is text"),
    (
        lambda p: edrp.solve_formulation(p),
        "formulation: is an EdrpProblem; give a formulation: edrp.formulate(problem) makes one",
    ),
    (lambda p: edrp.solve_formulation(edrp.formulate(p), timelimit=3), "timelimit: is no option; did you mean 'time_limit'?"),
    (lambda p: edrp.predict_throughput([p], {}), "problem: is a list"),
    (lambda p: edrp.Replanner(p.model_dump()), "problem: is a dict"),
    (lambda p: edrp.load(p.model_dump()), "path: is a dict; give the path of a file"),
    (lambda p: edrp.load('{"kind": "edrp"}'), "path: is JSON text; edrp.loads(text) reads it"),
    (lambda p: edrp.loads("mine.json"), "text: is a path; edrp.load(path) reads a file"),
    (lambda p: edrp.save("mine.json", p), "document: is text; a problem or a solution comes first, then the path"),
    (lambda p: edrp.schema(edrp.EdrpProblem), "kind: is the class EdrpProblem; give the name of a kind: 'edrp'"),
    (lambda p: edrp.methods(p), "kind: is an EdrpProblem; give the name of a kind: 'edrp'"),
    (lambda p: edrp.register(type(edrp.methods()["greedy"])), "method: is the class Greedy; give an instance"),
    (lambda p: edrp.register_kind(edrp.EdrpProblem), "kind: is the class EdrpProblem; give a record, an edrp.Kind"),
    (lambda p: edrp.Operator("reader"), "Operator: fields are given by name, as in Operator(name=…)"),
    (lambda p: edrp.Application([p]), "Application: fields are given by name, as in Application(operators=…)"),
]


@pytest.mark.parametrize(("call", "says"), WRONG_ARGUMENTS, ids=[says.split(";")[0] for _, says in WRONG_ARGUMENTS])
def test_a_wrong_argument_is_named_with_what_would_be_right(word_count, call, says):
    with pytest.raises(edrp.errors.InvalidArgumentError) as caught:
        call(word_count)
    assert says in str(caught.value)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)


def test_all_wrong_arguments_are_named_at_once(word_count):
    with pytest.raises(InvalidInstanceError) as caught:
        edrp.solve(word_count, method=3, seed=-1, certify="yes")
    assert [fault.place for fault in caught.value.faults] == ["method", "seed", "certify"]
    assert str(caught.value).startswith("edrp.solve: 3 faults in the arguments\n")


NO_DECISIONS = [
    (lambda p, s: s.to_document(), "deployment: is the document of a solution; edrp.load_solution(path)"),
    (lambda p, s: "solution.json", "deployment: is the name of a file; edrp.load_solution(path)"),
    (lambda p, s: None, "deployment: is None"),
    (
        lambda p, s: edrp.solve(edrp.MigrationProblem(**MIGRATION)),
        "deployment: is a migration-solution; give a decision about this",
    ),
]
MIGRATION = {"work": [1, 1], "state_size": [5, 5], "intervals": [(0, 2)], "nodes": 2, "tolerance": 0.5}


@pytest.mark.parametrize(("given", "says"), NO_DECISIONS, ids=[says for _, says in NO_DECISIONS])
def test_what_is_taken_for_a_decision_is_named(word_count, given, says):
    solution = edrp.solve(word_count, "greedy")
    with pytest.raises(InvalidInstanceError, match=re.escape(says)):
        edrp.explain(word_count, given(word_count, solution))


def test_a_solution_is_taken_for_its_decision(word_count):
    solution = edrp.solve(word_count, "greedy")
    assert word_count.read_decision(solution) == solution.deployment


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: edrp.Network(nodes=["a"]), 'nodes[0]: must be an object with named fields, such as {"name": "a"} (got "a")'),
        (
            lambda: edrp.Network(nodes={"a": {"resources": 1}}),
            'nodes: must be a list, such as [{"name": "a"}] (got a nested object)',
        ),
        (
            lambda: edrp.Application(operators=[{"name": "a"}, {"name": "b"}], streams=[("a", "b")]),
            'streams[0]: must be an object with named fields, such as {"source": "a", "target": "b"} (got ["a", "b"])',
        ),
        (lambda: edrp.Application(operators={"name": "reader"}), 'operators: must be a list, such as [{"name": "reader"}] (got'),
        (lambda: edrp.Application(operators={"name": "a", "x": 1}), 'operators: must be a list, such as [{"name": "…"}] (got'),
        (lambda: Weights.model_validate(3), 'such as {"response_time": 1.0} (got 3)'),
        (lambda: Limits.model_validate(-5), 'such as {"response_time": 1.0} (got -5)'),
        (lambda: edrp.Network(nodes=["a"], links=[-5]), 'such as {"source": "…", "target": "…", "delay": 1.0} (got -5)'),
        (lambda: edrp.Stream(source="a", target="b", usage=math.inf), 'such as {"…": 1.0} (got Infinity)'),
        (lambda: Goals.model_validate([]), 'such as {"busy_limit": 0.5} (got [])'),
    ],
)
def test_a_shorthand_of_documents_is_answered_by_the_form_that_is_read(make, says):
    with pytest.raises(InvalidInstanceError, match=re.escape(says)):
        make()


@pytest.mark.parametrize(("name", "meant"), [("slove", "solve"), ("Problem", "EdrpProblem"), ("Deploymnt", "Deployment")])
def test_a_misspelt_name_of_the_package_is_answered_by_the_right_one(name, meant):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; did you mean '{meant}'"):
        getattr(edrp, name)


def test_problems_of_another_kind_are_refused_by_name():
    problem = edrp.MigrationProblem(**MIGRATION)
    for call in (lambda: edrp.pareto_front(problem, "cost", "downtime"), lambda: edrp.predict_throughput(problem, {})):
        with pytest.raises(
            edrp.errors.UnsupportedProblemError, match="takes problems of kind 'edrp'; this one is of kind 'migration'"
        ):
            call()
    with pytest.raises(edrp.errors.EdrpError, match="no method takes problems of kind 'edpr'; did you mean 'edrp'"):
        edrp.methods("edpr")


ALONE = [
    (
        lambda d: d["application"]["operators"][2].update(replicas_max=3),
        "operators[2].replicas_max: unknown field; did you mean 'max",
    ),
    (lambda d: d["application"]["operators"][2].update(name="splitter"), "operators[2].name: already the name of operators[1]"),
    (lambda d: d["network"]["nodes"][2].update(name="fog"), "network.nodes[2].name: already the name of nodes[1]"),
    (lambda d: d["application"]["operators"][0].update(candidates=["egde"]), "candidates[0]: is no node of the network; did you"),
    (lambda d: d["current"].update(writter=d["current"].pop("writer")), "current.writter: is no operator of the application"),
    (lambda d: d.update(priorities=["cost"]), 'priorities[0]: must be an object with named fields, such as {"metric": "cost"}'),
    (
        lambda d: d.update(application=1),
        'application: must be an object with named fields, such as {"operators": [{"name": "…"}]}',
    ),
    (lambda d: d.update(current="fog"), 'current: must be an object with named fields, such as {"…": ["fog"]}'),
    (lambda d: d.pop("kind"), 'kind: missing; the other fields are those of "edrp"'),
]


@pytest.mark.parametrize(("change", "says"), ALONE, ids=[says for _, says in ALONE])
def test_a_fault_is_named_alone_with_what_is_right(examples, change, says):
    """Neither what follows from it, nor a list of all that there is."""
    document = json.loads((examples / "reconfigure.json").read_text())
    change(document)
    with pytest.raises(InvalidInstanceError) as caught:
        edrp.loads(json.dumps(document))
    (fault,) = caught.value.faults
    assert says in str(fault)


def test_a_misspelt_name_is_said_besides_a_repeated_one():
    """Of two names that do not exist, one is what the second of two equal ones should be."""
    operators = [{"name": "a"}, {"name": "b"}, {"name": "b"}]
    streams = [{"source": "a", "target": "c"}, {"source": "a", "target": "bb"}, {"source": "b", "target": "c"}]
    with pytest.raises(InvalidInstanceError) as caught:
        edrp.Application(operators=operators, streams=streams)
    assert [fault.place for fault in caught.value.faults] == ["operators[2].name", "streams[1].target"]


@pytest.mark.parametrize("made", [edrp.EdrpProblem, edrp.Operator, edrp.Deployment, edrp.MigrationProblem])
def test_all_ways_to_make_a_document_raise_the_same(made):
    wrong = {"nmae": 7}
    texts = []
    for make in (lambda: made(**wrong), lambda: made.model_validate(wrong), lambda: made.model_validate_json(json.dumps(wrong))):
        with pytest.raises(InvalidInstanceError) as caught:
            make()
        texts.append(str(caught.value))
    assert len(set(texts)) == 1
