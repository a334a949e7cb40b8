"""The benchmark: what is compared with what, what is loud, what the report says when there is little to say."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import edrp
from edrp.batch import RESULT_SCHEMA
from edrp.batch import rows as results
from edrp.batch.rows import solve_task
from edrp.batch.tasks import Instance, Task, read_choices
from edrp.cli import benchmark as command
from edrp.core.errors import BackendUnavailableError, InvalidInstanceError, ProblemTooLargeError
from edrp.core.kinds import kinds
from edrp.core.methods import methods
from edrp.core.solution import Answer, relative_gap
from edrp.datasets.families.migration.migration_families import random_migration
from edrp.datasets.families.placement.layered import layered
from edrp.heuristics.placement.greedy import Greedy
from edrp.report import page
from edrp.report.estimates import bootstrap_mean
from edrp.validation.benchmark import suites as registry
from edrp.validation.benchmark.curves import gap_over_time, objective_profiles, performance_profiles, time_profiles
from edrp.validation.benchmark.measures import BEST, BOUND, OPTIMUM, compare_runs, summarise
from edrp.validation.benchmark.recheck import find_alarms, unchecked_kinds
from edrp.validation.benchmark.report import reason_tables
from edrp.validation.benchmark.statistics import holm, paired_tests
from edrp.validation.benchmark.suite_run import WRITTEN, run_benchmark, write_benchmark
from edrp.validation.benchmark.suites import SUITES, Suite

NAMES = ("layered-1", "layered-2", "layered-3", "migration-1")
METHODS = ("eliminate", "greedy", "random", "ssm", "balanced")
SUITE = Suite("test", "small problems of two kinds", lambda data: [], METHODS)


def as_table(rows: list[dict]) -> pa.Table:
    return pa.Table.from_pylist([{name: row.get(name) for name in RESULT_SCHEMA.names} for row in rows], RESULT_SCHEMA)


def application(seed: int) -> edrp.EdrpProblem:
    """Six operators with room to spare, so that every method has an answer."""
    problem = layered(6, seed, nodes=6, resources=4.0)
    return problem.replace(limits=edrp.Limits(response_time=1.0, cost=60.0))


@pytest.fixture(scope="module")
def instances(infeasible) -> dict[str, str]:
    """Three applications, a migration, and an application whose limits clash."""
    problems = {f"layered-{seed}": application(seed) for seed in (1, 2, 3)}
    problems |= {"migration-1": random_migration(2), "clashing": infeasible}
    return {name: problem.model_dump_json() for name, problem in problems.items()}


@pytest.fixture(scope="module")
def solved(instances) -> list[dict]:
    """Every method on every instance, two seeds, as the batch layer writes it."""
    choices = read_choices(METHODS, work_limit=300.0, gap=1e-9)
    each = [(Instance(name, text), choice, seed) for name, text in instances.items() for choice in choices for seed in (0, 1)]
    return [solve_task(Task(*which)) for which in each]


@pytest.fixture
def rows(solved) -> list[dict]:
    return [dict(row) for row in solved]


def only(rows: list[dict], **wanted: object) -> list[dict]:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


class Text(HTMLParser):
    """The text that a reader sees, and the addresses that the page would fetch."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen, self.links, self._hidden = "", [], 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self._hidden += tag in ("script", "style")
        self.links += [value for name, value in attributes if name in ("src", "href", "srcset", "action")]

    def handle_endtag(self, tag):
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data):
        self.seen += "" if self._hidden else data


def words_of(page: Path) -> str:
    """The text of a report, checked for what must never be shown."""
    text = Text(page.read_text(encoding="utf-8"))
    assert not re.search(r"\b(nan|NaN|None|inf|NaT)\b", text.seen)
    assert all(link.startswith(("#", "data:,")) for link in text.links)
    return re.sub(r"\s+", " ", text.seen)


# What is compared with what


def test_gaps_are_to_the_proven_optimum(rows):
    runs = compare_runs(as_table(rows))
    for name in NAMES:
        own = runs[runs["id"] == name]
        optimum = own.loc[own["proven"], "objective"].min()
        assert (own["reference_is"] == OPTIMUM).all()
        for run in own[own["solved"]].itertuples():
            assert run.gap == pytest.approx(relative_gap(run.objective, optimum), abs=1e-12)
    assert (runs[runs["method"] == "greedy"]["gap"] > 0.001).any()


def test_without_a_proof_the_best_bound_of_any_method_counts_then_the_best_answer(rows):
    for row in rows:
        row["status"], row["bound"] = ("feasible" if row["status"] == "optimal" else row["status"]), None
    only(rows, id="layered-1", method="random")[0]["bound"] = 0.05
    only(rows, id="layered-1", method="greedy")[0]["bound"] = 0.1
    runs = compare_runs(as_table(rows)).set_index(["id", "method", "run_seed"])
    bounded, open_ended = runs.loc[("layered-1", "greedy", 0)], runs.loc["layered-2"]
    assert bounded["reference_is"] == BOUND
    assert bounded["gap"] == pytest.approx(1 - 0.1 / bounded["objective"])
    assert (open_ended["reference_is"] == BEST).all()
    assert open_ended["gap"].min() == 0


def test_methods_of_other_kinds_are_left_out_and_infeasible_instances_count_against_nobody(rows):
    runs = compare_runs(as_table(rows))
    assert set(runs.loc[runs["kind"] == "migration", "method"]) == {"ssm", "balanced"}
    assert set(runs.loc[runs["infeasible"].astype(bool), "id"]) == {"clashing"}
    summary = summarise(runs[runs["kind"] == "edrp"])
    assert (summary["instances"] == 3).all()
    assert summary.loc["eliminate", ["solved", "proven", "optimal", "infeasible_proven"]].tolist() == [1, 1, 1, 1]
    assert (summary["nothing_found"] == 0).all()


def test_shares_and_times_of_the_summary_are_those_of_the_rows(rows):
    for row in only(rows, method="greedy", id="layered-1"):
        row |= {"outcome": "nothing found", "status": "none", "objective": None, "solution": None, "error_type": "NothingFound"}
    summary = summarise(compare_runs(as_table(rows)).query("kind == 'edrp'"))
    assert summary.loc["greedy", "solved"] == pytest.approx(2 / 3)
    assert summary.loc["greedy", "nothing_found"] == 2
    assert summary.loc["greedy", "answered"] == 2
    random = [row for row in only(rows, method="random") if row["id"].startswith("layered")]
    seconds = pd.Series({(row["id"], row["run_seed"]): row["build_seconds"] + row["solve_seconds"] for row in random})
    assert summary.loc["random", "median_seconds"] == pytest.approx(seconds.groupby(level=0).mean().median())
    assert summary.index[0] == "eliminate"


# Statistics


def test_paired_test_is_scipys_corrected_by_holm_with_ties_left_out():
    random = np.random.default_rng(3)
    base = {str(i): float(gap) for i, gap in enumerate(random.random(30))}
    worse = {name: gap + 0.1 * random.random() - 0.02 for name, gap in base.items()}
    half = {name: gap + (0.05 if int(name) < 5 else 0.0) for name, gap in base.items() if int(name) < 20}
    tests = {(test.first, test.second): test for test in paired_tests({"base": base, "worse": worse, "half": half})}
    difference = np.array([base[name] - worse[name] for name in base])
    raw = [
        stats.wilcoxon(difference).pvalue,
        stats.wilcoxon(np.full(5, -0.05)).pvalue,
        stats.wilcoxon([worse[name] - half[name] for name in half]).pvalue,
    ]
    assert [test.p_value for test in tests.values()] == pytest.approx(holm(raw))
    tied = tests["base", "half"]
    assert (tied.common, tied.ties, tied.first_better, tied.effect) == (20, 15, 5, 1.0)
    assert tests["base", "worse"].effect > 0.5


def test_methods_that_never_differ_have_no_p_value():
    (test,) = paired_tests({"a": {"i": 0.1, "j": 0.2}, "b": {"i": 0.1, "j": 0.2 + 1e-12}})
    assert (test.p_value, test.effect, test.ties) == (None, None, 2)
    (apart,) = paired_tests({"a": {"i": 0.1}, "b": {"j": 0.2}})
    assert (apart.common, apart.p_value, apart.median_difference) == (0, None, None)


def test_confidence_interval_covers_the_mean_as_often_as_it_says():
    random = np.random.default_rng(0)
    intervals = [bootstrap_mean(random.exponential(1.0, 40)) for _ in range(60)]
    covered = np.mean([estimate.low <= 1.0 <= estimate.high for estimate in intervals])
    assert 0.85 <= covered <= 1.0
    assert bootstrap_mean([0.5]).low is None


# Curves


def test_performance_profile_of_a_worked_example():
    costs = pd.DataFrame({"a": [1.0, 2.0, 9.0, np.nan], "b": [2.0, 1.0, 3.0, np.nan]}, index=list("ijkl"))
    curves = performance_profiles(costs)
    assert [curves["a"].at(factor) for factor in (1.0, 1.99, 2.0, 3.0)] == [0.25, 0.25, 0.5, 0.75]
    assert [curves["b"].at(factor) for factor in (1.0, 2.0, 100.0)] == [0.5, 0.75, 0.75]


def test_profile_of_objectives_knows_that_nothing_is_better_than_nothing():
    runs = pd.DataFrame(
        {
            "id": ["i", "i", "j", "j"],
            "method": ["a", "b", "a", "b"],
            "objective": [0.0, 5.0, 0.0, 0.0],
            "solved": True,
            "infeasible": False,
        }
    )
    curves = objective_profiles(runs)
    assert (curves["a"].at(1.0), curves["b"].at(1.0), curves["b"].at(1e9)) == (1.0, 0.5, 0.5)


def test_time_profile_counts_good_answers_only(rows):
    runs = compare_runs(as_table(rows)).query("kind == 'edrp'")
    curves = time_profiles(runs)
    near = runs[~runs["infeasible"].astype(bool)].groupby(["method", "id"])["excess"].max() <= 0.01
    for method in ("greedy", "random"):
        assert curves[method].at(1e12) == pytest.approx(near[method].mean())
    assert curves["eliminate"].at(1e12) == 1.0


def test_gap_over_time_is_the_median_of_what_runs_hold(rows):
    reports = {"layered-1": [(0.1, 4.0)], "layered-2": [(0.2, 2.0), (0.6, 1.25)], "layered-3": []}
    for row in only(rows, method="random"):
        steps = [{"seconds": seconds, "objective": factor, "bound": None} for seconds, factor in reports.get(row["id"], [])]
        row |= {"trace": steps, "build_seconds": 0.0, "solve_seconds": 1.0, "objective": 1.0, "bound": None}
    for row in rows:
        row |= {"status": "feasible", "objective": 1.0, "bound": 1.0} if row["outcome"] == "solved" else {}
        row |= {} if row["method"] == "random" else {"trace": []}
    curves = gap_over_time(compare_runs(as_table(rows)).query("kind == 'edrp'"))
    assert list(curves) == ["random"]
    found = [curves["random"].at(seconds) for seconds in (0.11, 0.25, 0.7, 1.0)]
    assert found == pytest.approx([1.0, 0.75, 0.75, 0.0])


# What is loud


def wrong_objective(row: dict) -> None:
    row["objective"] *= 0.5
    row["bound"] = None


def wrong_bound(row: dict) -> None:
    row |= {"status": "optimal", "bound": row["objective"]}


def wrong_decision(row: dict) -> None:
    document = json.loads(row["solution"])
    source = document["deployment"]["o0"]
    document["deployment"]["o0"] = ["n0" if source != ["n0"] else "n1"]
    row["solution"] = json.dumps(document)


def wrong_infeasible(row: dict) -> None:
    row |= {"outcome": "infeasible", "status": "infeasible", "objective": None, "solution": None}


def disagreement(row: dict) -> None:
    row |= {"outcome": "failed", "status": "none", "objective": None, "solution": None, "bound": None}
    row |= {"error_type": "VerificationError", "error_message": "claimed 1, evaluated 2"}


@pytest.mark.parametrize(
    ("doctor", "says"),
    [
        (wrong_objective, "evaluated once more"),
        (wrong_bound, "beaten: eliminate"),
        (wrong_decision, "evaluated once more it breaks candidates of o0"),
        (wrong_infeasible, "called infeasible, but eliminate"),
        (disagreement, "solver and evaluator disagree: claimed 1, evaluated 2"),
    ],
)
def test_claim_that_does_not_hold_is_loud(doctor, says, rows, instances, tmp_path):
    doctored = max(only(rows, method="greedy", run_seed=0), key=lambda row: row.get("objective") or 0)
    assert doctored["objective"] > only(rows, method="eliminate", id=doctored["id"])[0]["objective"] * 1.001
    doctor(doctored)
    found = write_benchmark(as_table(rows), instances, tmp_path, SUITE, {}, "edrp benchmark")
    assert any(says in alarm.what for alarm in found.alarms)
    assert {alarm.id for alarm in found.alarms} == {doctored["id"]}
    assert "greedy" in {alarm.method for alarm in found.alarms}
    assert command.exit_code(found) == 1
    text = words_of(found.report)
    assert text.index("Defect:") < text.index("Kind edrp:")
    assert says in text


def test_answers_that_hold_raise_no_alarm(rows, instances):
    assert find_alarms(as_table(rows), instances) == []


def test_rows_of_other_instances_are_refused(rows, instances):
    with pytest.raises(InvalidInstanceError, match="are not of the instance") as refused:
        find_alarms(as_table(rows), {**instances, "layered-1": instances["layered-2"]})
    assert len(refused.value.faults) == 1


def test_problem_too_large_for_a_method_is_refused_not_failed(rows, instances, tmp_path):
    too_large = {"objective": None, **results.failed(ProblemTooLargeError("would take about 58 GiB"))}
    for row in only(rows, method="random"):
        row |= too_large
    found = write_benchmark(as_table(rows), instances, tmp_path, SUITE, {}, "")
    assert command.exit_code(found) == 0
    assert "would take about 58 GiB" in words_of(found.report)
    assert found.summaries["edrp"].loc["random", ["refused", "failed"]].tolist() == [8, 0]


def test_broken_instance_is_a_failure_and_named(rows, instances, tmp_path):
    broken = {**instances, "broken": '{"kind": '}
    rows += [solve_task(Task(Instance("broken", broken["broken"]), choice, 0)) for choice in read_choices(METHODS)]
    found = write_benchmark(as_table(rows), broken, tmp_path, SUITE, {}, "edrp benchmark")
    assert not found.alarms
    assert command.exit_code(found) == 2
    (failure,) = reason_tables(found.runs)[0].rows
    assert failure[0] == "every method"
    assert failure[1] == "InvalidInstanceError"
    assert failure[3:] == ("5", "broken")
    assert failure[2] in words_of(found.report)


# The report


def test_report_says_what_the_figures_say(rows, instances, tmp_path):
    found = write_benchmark(as_table(rows), instances, tmp_path, SUITE, {"suite": "test"}, "edrp benchmark --suite test")
    text = words_of(found.report)
    assert command.exit_code(found) == 0
    assert "eliminate is within 1 % of the proven optimum on 100 % of 3 instances" in text
    assert "The optimum is proven for all 3 instances." in text
    assert "Kind edrp: 4 instances, 1 of them proven infeasible" in text
    for heading in ("Time", "Performance profile of the time", "Gap over time", "Paired comparison", "Machine", "Versions"):
        assert heading in text
    assert "edrp benchmark --suite test" in text
    assert "There are none: every method answered" in text
    assert found.report.read_text(encoding="utf-8").count("plotly.js v") == 1


def test_tables_are_written_twice_and_agree(rows, instances, tmp_path):
    found = write_benchmark(as_table(rows), instances, tmp_path, SUITE, {}, "")
    for name, keys in {"runs": "id", "summary": "method", "pairs": "first"}.items():
        parquet, csv = pd.read_parquet(tmp_path / f"{name}.parquet"), pd.read_csv(tmp_path / f"{name}.csv")
        assert list(parquet.columns) == list(csv.columns)
        assert parquet[keys].tolist() == csv[keys].tolist()
    summary = pd.read_parquet(tmp_path / "summary.parquet").query("kind == 'edrp'").set_index("method")
    assert summary["mean_gap"].equals(found.summaries["edrp"]["mean_gap"])


@pytest.mark.parametrize(
    "evil", ["<script>document.title='x'</script>", "</script><img src=x onerror=document.title='x'>", "<b>${1}"]
)
def test_names_are_shown_not_run(rows, instances, tmp_path, browser, evil):
    for row in rows:
        row |= {"error_message": evil, "outcome": "failed", "objective": None} if row["method"] == "random" else {}
        row["id"] = evil if row["id"] == "layered-1" else row["id"]
    named = {evil if name == "layered-1" else name: text for name, text in instances.items()}
    page = write_benchmark(as_table(rows), named, tmp_path, SUITE, {"suite": evil}, evil).report
    assert evil not in page.read_text(encoding="utf-8")
    assert evil in words_of(page)
    opened = browser.new_page()
    opened.goto(page.as_uri())
    opened.wait_for_selector(".plotly-graph-div svg.main-svg")
    assert opened.title() != "x"
    assert opened.locator("main img").count() == 0
    opened.close()


def nothing_found(rows: list[dict]) -> list[dict]:
    empty = {"outcome": "nothing found", "status": "none", "stopped_because": "time_limit", "objective": None, "bound": None}
    return [row | empty | {"solution": None, "trace": []} for row in rows if row["id"] != "clashing"]


def failed(rows: list[dict]) -> list[dict]:
    return [row | {"build_seconds": None, "solve_seconds": None, "outcome": "failed"} for row in nothing_found(rows)]


@pytest.mark.parametrize(
    ("left", "says"),
    [
        (lambda rows: only(rows, method="greedy", id="layered-1", run_seed=0), "greedy is within 1 % of"),
        (lambda rows: only(rows, id="layered-1"), "The optimum is proven for the instance."),
        (lambda rows: only(rows, method="eliminate"), "There is one method only, so nothing is compared."),
        (nothing_found, "No method found an answer."),
        (failed, "No run came to an end, so there are no times."),
        (lambda rows: only(rows, id="clashing"), "Kind edrp: 1 instance, 1 of them proven infeasible"),
        (lambda rows: only(rows, id="clashing", method="random"), "No method found an answer."),
        (lambda rows: [], "0 instances, 0 methods"),
    ],
)
def test_report_is_right_where_there_is_little_to_say(left, says, rows, instances, tmp_path):
    found = write_benchmark(as_table(left(rows)), instances, tmp_path, SUITE, {}, "")
    assert says in words_of(found.report)
    assert not found.alarms


# Suites and the command


def test_suites_hold_readable_instances_and_registered_methods():
    known = methods()
    for suite in SUITES:
        assert not {method.partition(":")[0] for method in suite.methods} - set(known), suite.name
        if suite.needs_data:
            continue
        made = list(suite.instances(None))
        assert len(dict(made)) == len(made) > 10, suite.name
        kinds = {problem.kind for _, problem in made}
        assert all(any(kind in known[method.partition(":")[0]].kinds for method in suite.methods) for kind in kinds)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--suite", "placements"], "did you mean 'placement'"),
        (["--suite", "production"], "needs a folder of data"),
        (["--suite", "smoke", "--method", "gready"], "did you mean 'greedy'"),
        (["--suite", "smoke", "--jobs", "2", "--spark", "local[2]"], "--jobs"),
    ],
)
def test_bad_input_is_refused_before_any_work(arguments, says, run, tmp_path):
    assert says in run("benchmark", *arguments, "--out", tmp_path / "out").ended(2).err
    assert not (tmp_path / "out").exists()


def test_missing_package_of_the_tables_is_named_before_any_work(monkeypatch, run, tmp_path):
    monkeypatch.setattr(page, "find_spec", lambda name: None if name == "pandas" else object())
    result = run("benchmark", "--suite", "smoke", "--out", tmp_path / "out").ended(2)
    assert 'pip install "edrp[report]"' in result.err
    assert not (tmp_path / "out").exists()
    with pytest.raises(BackendUnavailableError):
        write_benchmark(as_table([]), {}, tmp_path / "out", SUITE, {}, "")


@pytest.mark.parametrize("package", ["jinja2", "plotly"])
def test_without_a_package_of_the_page_all_but_the_page_is_there(package, monkeypatch, capsys, rows, instances, tmp_path):
    monkeypatch.setattr(page, "find_spec", lambda name: None if name == package else object())
    monkeypatch.setitem(sys.modules, package, None)
    for module in ("charts", "sections", "report"):  # which may draw, and have been imported
        monkeypatch.delitem(sys.modules, f"edrp.validation.benchmark.{module}", raising=False)
    found = write_benchmark(as_table(rows), instances, tmp_path / "out", SUITE, {}, "")
    assert {file.name for file in (tmp_path / "out").glob("[!.]*")} == set(WRITTEN) - {"report.html"}
    command._print(found)
    printed = " ".join(capsys.readouterr().out.split())
    assert "eliminate 100 % 100 % 0 %" in printed.replace("\N{NO-BREAK SPACE}", " ")
    assert f'no page: the report needs the package {package}: pip install "edrp[report]"; then the same command' in printed
    with pytest.warns(UserWarning, match=f"needs the package {package}.*has no report"), pytest.raises(InvalidInstanceError):
        edrp.benchmark([], ["greedy"])  # which would run nothing


def test_only_what_was_asked_for_is_compared_though_the_folder_holds_more(tmp_path):
    suite = Suite(
        "two", "two applications", lambda data: [(f"layered-{i}", application(i)) for i in (0, 1)], ("greedy", "first-fit")
    )
    assert len(run_benchmark(suite, tmp_path, n_jobs=1).runs) == 4
    again = run_benchmark(suite, tmp_path, n_jobs=1, methods=["greedy"], seeds=2, work_limit=3.0)
    assert again.runs.groupby(["method", "run_seed"]).size().to_dict() == {("greedy", 0): 2, ("greedy", 1): 2}
    other = Suite("two", "others", lambda data: [("layered-9", layered(5, 9))], ("greedy",))
    with pytest.raises(InvalidInstanceError, match="other instances"):
        run_benchmark(other, tmp_path, n_jobs=1)


class Liar(Greedy):
    """Calls whatever it finds proven."""

    name, exact = "liar", True

    def run(self, problem, options):
        answer = super().run(problem, options)
        return Answer("optimal", "finished", answer.decision, answer.objective, answer.objective)


def test_command_ends_with_1_when_a_proven_optimum_is_beaten(monkeypatch, run, tmp_path):
    monkeypatch.setitem(edrp.methods.__globals__["_registry"](), "liar", Liar())
    problems = {f"layered-{seed}": application(seed) for seed in (1, 2)}
    suite = Suite("lies", "two applications", lambda data: problems.items(), ("liar", "highs"))
    monkeypatch.setattr(registry, "SUITES", (suite,))
    result = run("benchmark", "--suite", "lies", "--jobs", 1, "--out", tmp_path).ended(1)
    assert "defect: liar on layered-" in result.err
    assert "is beaten: highs" in result.err
    assert "Defect:" in words_of(tmp_path / "report.html")


PLUGIN = """
from edrp.datasets import layered
from edrp.heuristics.placement.greedy import Greedy
from edrp.validation.benchmark.suites import Suite

class Lazy(Greedy):
    name, summary = "lazy", "greedy by another name"

LAZY = Lazy()
INSTANCES = [("layered-1", layered(6, 1)), ("coin-1", '{"kind": "coin", "side": "heads"}')]
TOYS = Suite("toys", "an application and a coin", lambda data: INSTANCES, ("greedy", "lazy", "throw"))
"""


def test_kinds_that_do_not_say_what_was_decided_are_named():
    assert unchecked_kinds([*kinds(), "strange"]) == ["strange"]


def test_other_packages_add_a_suite_a_method_and_a_kind(coins, tmp_path):
    site = tmp_path / "site"
    information = site / "toys-1.0.dist-info"
    information.mkdir(parents=True)
    (site / "toys.py").write_text(PLUGIN)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[edrp.suites]\ntoys = toys:TOYS\n[edrp.methods]\nlazy = toys:LAZY\n")
    arguments = ["benchmark", "--suite", "toys", "--jobs", "1", "--out", str(tmp_path / "out")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(coins)])}
    command = [sys.executable, "-m", "edrp", *arguments]
    result = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    text = words_of(tmp_path / "out" / "report.html")
    assert "Kind coin: 1 instance" in text
    assert re.search("evaluated once more ?all answers(?! but)", text)
    summary = pd.read_csv(tmp_path / "out" / "summary.csv").set_index(["kind", "method"])
    assert set(summary.index) == {("edrp", "greedy"), ("edrp", "lazy"), ("coin", "throw")}
    assert summary["solved"].tolist() == [1, 1, 1]
