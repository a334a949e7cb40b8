"""`edrp benchmark --instances`: a report on a user's own files; and methods that answer fewer instances than others."""

import json
import shutil

import pandas as pd
import pyarrow as pa
import pytest

import edrp
from edrp.batch import RESULT_SCHEMA
from edrp.core.errors import InvalidInstanceError, UnwritableError
from edrp.core.kinds import kinds
from edrp.core.methods import methods
from edrp.datasets.families.registry import generate
from edrp.validation.benchmark.measures import common_instances, compare_runs, summarise
from edrp.validation.benchmark.recheck import find_alarms
from edrp.validation.benchmark.recommendations import compare_kind
from edrp.validation.benchmark.report import kind_section
from edrp.validation.benchmark.sentences import common_sentence
from edrp.validation.benchmark.suites import KIND_METHODS, SUITES, own_suite
from edrp.validation.benchmark.tables import method_labels, quality_table, whole_table

# Own instances


def ids(suite):
    return [name for name, _ in suite.instances(None)]


def test_files_folders_and_tables_of_several_kinds_are_one_suite(examples, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copy(examples / "mapping.json", folder)
    lines = tmp_path / "more.jsonl"
    lines.write_text(json.dumps({"id": "a line", "instance": json.loads((examples / "migration.json").read_text())}) + "\n")
    suite = own_suite([examples / "word_count.json", folder, lines])
    assert ids(suite) == ["word_count", "mapping", "a line"]
    assert suite.methods[0] == "auto"
    assert {"eliminate", "label-setting", "ssm"} <= set(suite.methods)
    assert len(set(suite.methods)) == len(suite.methods)


def test_instances_of_one_name_are_told_apart_by_their_places(examples, tmp_path):
    for place in ("old", "new"):
        (tmp_path / place).mkdir()
        shutil.copy(examples / "word_count.json", tmp_path / place)
    found = ids(own_suite([tmp_path / "old", tmp_path / "new" / "word_count.json", examples / "mapping.json"]))
    assert found == ["old/word_count", "new/word_count", "mapping"]
    with pytest.raises(InvalidInstanceError, match="names several instances"):
        own_suite([examples / "mapping.json", examples / "mapping.json"])


def test_every_kind_has_methods_that_take_it():
    assert set(KIND_METHODS) == {name for name, kind in kinds().items() if kind.problem.__module__.startswith("edrp.")}
    for kind, names in KIND_METHODS.items():
        assert "auto" in names
        taking = [name for name in names if kind in methods()[name.partition(":")[0]].kinds]
        assert len(taking) >= 2, kind


def test_the_automatic_choice_is_among_the_methods_of_every_suite():
    assert all("auto" in suite.methods for suite in SUITES)


def test_the_command_reports_on_own_files(examples, run, tmp_path):
    files = [examples / "word_count.json", examples / "mapping.json"]
    chosen = ["--method", "auto", "--method", "highs", "--method", "random"]
    result = run("benchmark", "--instances", *files, *chosen, "--jobs", 1, "--out", tmp_path / "out").ended(0)
    assert "kind edrp" in result.out
    assert "kind mapping" in result.out
    summary = pd.read_csv(tmp_path / "out" / "summary.csv")
    assert set(summary["kind"]) == {"edrp", "mapping"}
    assert set(summary.loc[summary["kind"] == "edrp", "method"]) == {"auto", "highs", "random"}
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Benchmark own instances" in page
    assert "edrp benchmark --instances" in page


def test_a_session_compares_methods_and_writes_the_report_on_request(tmp_path):
    instances = dict(generate("migration", 2, size=8))
    result = edrp.benchmark(instances, ["ssm", "balanced"], work_limit=5.0, n_jobs=1)
    assert result.rows.schema.equals(RESULT_SCHEMA)
    assert sorted(zip(result.rows["id"].to_pylist(), result.rows["method"].to_pylist(), strict=True)) == sorted(
        (name, method) for name in instances for method in ("ssm", "balanced")
    )
    assert result.summaries["migration"].loc["ssm", "proven"] == 1
    assert result.alarms == ()
    shown = str(result)
    assert shown == repr(result)
    assert "kind migration" in shown
    assert [line.split()[:2] for line in shown.splitlines() if line.split()[:1] == ["ssm"]] == [["ssm", "100"]]
    assert "<td" in result._repr_html_()
    with pytest.raises(UnwritableError, match="name one"):
        result.report()
    page = result.report(tmp_path / "report")
    assert "Benchmark own instances" in page.read_text(encoding="utf-8")
    assert set(pd.read_csv(tmp_path / "report" / "summary.csv")["method"]) == {"ssm", "balanced"}


def test_a_session_names_the_file_that_is_missing():
    with pytest.raises(InvalidInstanceError, match="there is no such file"):
        edrp.benchmark("nowhere/problems.jsonl")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name a suite, or give your own files with --instances"),
        (["--suite", "smoke", "--instances", "mine"], "goes without --instances and files"),
        (["--suite", "smoke", "mine"], "goes without --instances and files"),
        (["--instances", "nothere"], "nothere"),
        (["--instances", "empty"], "holds no instance"),
        (["--instances", "notes.txt"], "ends with .json, .parquet or .jsonl"),
    ],
)
def test_what_cannot_be_benchmarked_is_refused_before_any_work(arguments, says, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("none")
    assert says in run("benchmark", *arguments, "--out", "out").ended(2).err
    assert not (tmp_path / "out").exists()


# Methods that answer fewer instances than others

OBJECTIVES = {
    "all": {"i": 1.0, "j": 1.0, "k": 4.0, "l": 1.0},
    "whole": {"i": 1.0, "j": 2.0, "k": 2.0, "l": 1.0},
    "few": {"i": 1.0, "j": 1.0},
    "other": {"j": 4.0, "k": 4.0},
    "none": {},
}


def runs_of(objectives, names="ijkl"):
    """Runs of made-up methods: what is missing was refused; the optimum is 1."""
    rows = []
    for method, own in objectives.items():
        for name in names:
            row = dict.fromkeys(RESULT_SCHEMA.names)
            row |= {"id": name, "kind": "edrp", "method": method, "run_seed": 0, "wall_seconds": 1.0, "trace": []}
            row |= {"build_seconds": 0.0, "solve_seconds": 1.0, "status": "feasible", "outcome": "solved"}
            row |= {"objective": own[name], "bound": 1.0} if name in own else {"outcome": "refused", "status": "none"}
            rows.append(row)
    return compare_runs(pa.Table.from_pylist(rows, RESULT_SCHEMA))


def test_gaps_are_compared_on_the_instances_that_all_answered():
    runs = runs_of(OBJECTIVES)
    assert common_instances(runs) == {"j"}
    summary = summarise(runs)
    assert list(summary.index) == ["all", "whole", "few", "other", "none"]
    assert summary["common_mean_gap"].dropna().to_dict() == {"all": 0.0, "few": 0.0, "whole": 0.5, "other": 0.75}
    assert summary["mean_gap"].dropna().to_dict() == {"all": 0.1875, "few": 0.0, "whole": 0.25, "other": 0.75}


def section_of(runs):
    return kind_section(compare_kind("edrp", runs), runs)


def test_gaps_of_which_none_is_seen_are_a_sentence_and_no_chart():
    same = dict.fromkeys("ijkl", 1.0)
    parts = section_of(runs_of({"one": same, "other": same})).parts
    assert parts[0].figure is None
    assert "No chart: no gap is above 0.001 %." in parts[0].notes
    assert [part.heading for part in parts if part.figure is not None] == ["Time", "Performance profile of the time"]
    drawn = section_of(runs_of(OBJECTIVES)).parts[0]
    assert drawn.figure is not None
    assert not any("No chart" in note for note in drawn.notes)


def test_methods_that_answered_fewer_are_marked_with_how_many():
    summary = summarise(runs_of(OBJECTIVES))
    assert method_labels(summary) == {
        "all": "all",
        "whole": "whole",
        "few": "few (2 of 4)",
        "other": "other (2 of 4)",
        "none": "none (0 of 4)",
    }
    note = common_sentence(summary)
    assert note.startswith("`few` (2 of 4), `other` (2 of 4) answered fewer instances than others: gaps of all methods are ")
    assert "compared on the 1 instance that all answered." in note
    assert note.endswith("`none` answered no instance and is not compared.")
    table = quality_table(summary)
    assert "gaps on the 1 that all methods answered" in table.caption
    gaps = {row[0]: row[7] for row in table.rows}
    assert gaps["few (2 of 4)"].startswith("0")
    assert gaps["whole"].startswith("50")
    whole = whole_table(summary)
    assert whole is not None
    assert [row[:2] for row in whole.rows] == [("all", "4"), ("whole", "4")]


def test_where_nothing_was_answered_by_all_no_gap_stands_beside_another():
    summary = summarise(runs_of({"a": {"i": 1.0, "j": 1.0}, "b": {"i": 2.0, "j": 2.0}, "c": {"k": 1.0}}))
    assert summary["common"].tolist() == [0, 0, 0]
    assert "no instance was answered by all, so gaps are compared in pairs only" in common_sentence(summary)
    assert {row[7] for row in quality_table(summary).rows} == {"–"}


def test_where_all_answered_the_same_nothing_is_marked():
    summary = summarise(runs_of({name: OBJECTIVES[name] for name in ("all", "whole")}))
    assert common_sentence(summary) == ""
    assert list(method_labels(summary).values()) == list(summary.index)
    assert whole_table(summary) is None
    assert summary["common_mean_gap"].equals(summary["mean_gap"])


def test_answers_with_priorities_are_compared_in_the_first_stage_in_which_they_differ(examples):
    """`first-fit` ends with less network traffic than the optimum, since it overloads the processors, which come first."""
    problem = edrp.load(examples / "contention.json")
    result = edrp.benchmark({"contention": problem}, ["highs", "first-fit"], work_limit=30, n_jobs=1)
    assert not result.alarms
    runs = result.runs.set_index("method")
    assert runs.loc["highs", "gap"] == 0
    least, other = (runs.loc[method, "objective"] for method in ("highs", "first-fit"))
    assert (least, other) == (problem.evaluate(edrp.solve(problem, "highs").deployment).metrics["peak_loads.cpu"], 1.8)
    assert runs.loc["first-fit", "gap"] == pytest.approx((other - least) / other)
    beaten = result.rows.to_pylist()
    for row in beaten:
        row["solution"] = row["solution"].replace('"value": 1.8', '"value": 0.1')
    alarms = find_alarms(pa.Table.from_pylist(beaten, RESULT_SCHEMA), {"contention": problem})
    assert ["the proven optimum" in alarm.what for alarm in alarms] == [True]
