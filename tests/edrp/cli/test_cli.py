"""The command line: what it prints, writes and answers to the shell."""

import importlib
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import edrp
import edrp.report.progress as progress_module
from edrp.cli.app import COMMANDS, ExitCode, load_command
from edrp.cli.display.solution import verdict
from edrp.core.errors import BackendUnavailableError, VerificationError
from edrp.core.kinds import kinds
from edrp.core.methods import Method, methods
from edrp.core.problem import EVERYTHING
from edrp.core.solution import Answer
from edrp.core.solve import solve


@pytest.fixture
def fake_method(monkeypatch):
    """Register a method that answers with whatever `answer` does."""

    def register(answer, refusal=None):
        class Fake(Method):
            takes = EVERYTHING
            name, kinds, exact, summary = "fake", ("edrp",), False, "for tests"

            def refusal(self, problem):
                return refusal

            def run(self, problem, options):
                return answer(problem, options)

        methods()
        monkeypatch.setitem(sys.modules["edrp.core.methods"]._registry(), "fake", Fake())

    return register


def raising(error):
    def answer(problem, options):
        raise error

    return answer


def test_solve_prints_the_deployment_its_cost_and_the_proof(run, examples):
    result = run("solve", examples / "word_count.json").ended(0)
    for text in (
        "optimal: nothing better exists (the solver's word; a certificate makes it a proof)",
        "splitter",
        "cloud ×2",
        "0.163438889",
        "5.27",
        "money/h",
    ):
        assert text in result.out


def test_without_a_terminal_progress_is_told_in_lines(run, examples, tmp_path, monkeypatch):
    """Also of steps that no method reports, such as certificates and explanations."""
    monkeypatch.setattr(progress_module, "PAUSE", 0.0)
    monkeypatch.setattr(progress_module, "SHARE", 0.0)
    file = examples / "word_count.json"
    for command, step in (
        (["solve", file, "--certificate", tmp_path / "a.cert"], f"solving {file}: writing and checking a certificate"),
        (["solve", examples / "infeasible.json"], "looking for limits and rules that clash"),
        (["explain", file], f"explaining {file}"),
        (["explore", file, "-o", tmp_path / "page.html"], f"drawing {file}"),
    ):
        lines = run(*command).err.splitlines()
        assert any(step in line for line in lines)
        assert all(line.endswith(" s") for line in lines)


def test_infeasible_instance_exits_3_and_says_what_clashes(run, examples, tmp_path):
    result = run("solve", examples / "infeasible.json", "-o", tmp_path / "answer.json").ended(3)
    assert "These cannot hold together:" in result.out
    assert "limits.response_time" in result.out
    assert json.loads((tmp_path / "answer.json").read_text())["status"] == "infeasible"


def test_a_bad_file_does_not_stop_the_others_and_the_gravest_code_counts(run, examples, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    out = tmp_path / "out"
    result = run("solve", bad, examples / "infeasible.json", examples / "word_count.json", "-o", out).ended(2)
    assert f"{bad}: 1 fault in the input" in result.err
    assert sorted(path.name for path in out.iterdir()) == ["infeasible.json", "word_count.json"]
    assert run("solve", examples / "infeasible.json", examples / "word_count.json").code == 3


def test_all_files_are_read_before_the_first_is_solved(run, examples, tmp_path, fake_method):
    solved = []

    def note(problem, options):
        solved.append(problem)
        raise KeyboardInterrupt

    fake_method(note)
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    result = run("solve", examples / "word_count.json", bad, "-m", "fake")
    assert "bad.json: 1 fault" in result.err
    assert len(solved) == 1
    assert result.code == 130


def test_two_instances_that_would_be_written_to_one_file_are_refused(run, examples, tmp_path):
    (tmp_path / "a").mkdir()
    twin = tmp_path / "a" / "word_count.json"
    twin.write_text((examples / "word_count.json").read_text())
    result = run("solve", examples / "word_count.json", twin, "-o", tmp_path / "out").ended(2)
    assert "would overwrite" in result.err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_does_not_exist_is_said_before_solving(run, examples, tmp_path):
    result = run("solve", examples / "word_count.json", "-o", tmp_path / "no" / "answer.json").ended(2)
    assert "create it first" in result.err
    plain = tmp_path / "plain"
    plain.write_text("")
    result = run("solve", examples / "word_count.json", examples / "reconfigure.json", "-o", plain).ended(2)
    assert "must be a folder" in result.err


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer("none", "time_limit"), ExitCode.NOTHING_FOUND),
        (Answer("none", "finished"), ExitCode.NOTHING_FOUND),
        (Answer("none", "interrupted"), ExitCode.INTERRUPTED),
        (Answer("infeasible", "finished"), ExitCode.INFEASIBLE),
    ],
)
def test_exit_code_says_what_is_held(run, examples, fake_method, answer, code):
    fake_method(lambda problem, options: answer)
    assert run("solve", examples / "word_count.json", "-m", "fake").code == code


def test_an_interrupted_method_with_an_incumbent_exits_0(run, examples, fake_method):
    def half(problem, options):
        found = solve(problem, "greedy").deployment
        return Answer("feasible", "interrupted", found)

    fake_method(half)
    result = run("solve", examples / "word_count.json", "-m", "fake").ended(0)
    assert "stopped by an interrupt: the best found until then, better ones may exist" in result.out


@pytest.mark.parametrize(
    ("bound", "shown"), [(None, "no bound is known"), (0.1, "bound 0.1 (gap "), (0.0, "bound 0 (gap 100 %)")]
)
def test_an_answer_that_the_time_limit_stopped_does_not_read_like_success(run, examples, fake_method, bound, shown):
    fake_method(lambda problem, options: Answer("feasible", "time_limit", solve(problem, "greedy").deployment, bound=bound))
    out = " ".join(run("solve", examples / "word_count.json", "-m", "fake").out.split())
    assert "stopped by the time limit: the best found until then, better ones may exist objective " in out
    assert shown in out
    assert "nothing better" not in out
    assert "optimal" not in out


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"proof": "checked certificate"}, "optimal: nothing better exists (proven by a certificate that was checked)"),
        ({"proof": "solver's word"}, "optimal: nothing better exists (the solver's word; a certificate makes it a proof)"),
        (
            {"proof": "own algorithm, not certified"},
            "optimal: nothing better exists (by an exact algorithm of edrp, not certified)",
        ),
        ({"gap": 0.02}, "optimal within the gap asked for: nothing is better by more than 2 % (the solver's word"),
        ({"status": "infeasible", "gap": None}, "infeasible: nothing meets all limits (the solver's word; a certificate"),
        ({"status": "feasible"}, "feasible: within all limits; better ones may exist"),
        ({"status": "none", "proof": None}, "nothing found; there may be something all the same"),
    ],
)
def test_a_verdict_and_what_it_rests_on_are_one_sentence(word_count, fields, words):
    said = verdict(edrp.solve(word_count, "highs").model_copy(update=fields))
    assert said.startswith(words)
    assert ("proven" in said) == (fields.get("proof") == "checked certificate")


def test_a_rule_that_keeps_what_runs_does_not_say_that_it_looked_for_better(run, examples):
    out = run("solve", examples / "rescale.json", "-m", "keep").out
    assert "nothing better" not in out
    assert "Nothing changes: what runs now stays as it is" in out


def test_an_interrupt_leaves_the_remaining_files_unsolved(run, examples, fake_method):
    fake_method(lambda problem, options: Answer("feasible", "interrupted", solve(problem, "greedy").deployment))
    result = run("solve", examples / "word_count.json", examples / "reconfigure.json", "-m", "fake").ended(130)
    assert "word_count.json" in result.out
    assert "reconfigure.json: not solved, interrupted" in result.err


@pytest.mark.parametrize(("command", "work"), [("batch", "solve_batch"), ("benchmark", "run_benchmark")])
def test_an_interrupted_batch_says_that_the_same_command_goes_on(command, work, run, examples, tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"edrp.cli.{command}.{work}", stopped)
    instances = ["--instances"] if command == "benchmark" else []
    result = run(command, *instances, examples / "reconfigure.json", "--out", tmp_path / "rows").ended(130)
    assert "interrupted; what is solved is kept in" in result.err
    assert "the same command goes on from there" in result.err


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (BackendUnavailableError('run: pip install "edrp[cvxpy]"'), 2, 'pip install "edrp[cvxpy]"'),
        (VerificationError("claimed 1, evaluated 2"), 1, "claimed 1, evaluated 2"),
        (MemoryError(), 2, "not enough memory"),
        (KeyboardInterrupt(), 130, "interrupted before anything was found"),
    ],
)
def test_expected_errors_are_messages_without_traceback(run, examples, fake_method, error, code, text):
    fake_method(raising(error))
    result = run("solve", examples / "word_count.json", "-m", "fake")
    assert (result.code, result.out) == (code, "")
    assert text in result.err
    assert "Traceback" not in result.err


def test_a_refused_problem_exits_2_before_anything_runs(run, examples, fake_method):
    fake_method(raising(AssertionError("must not run")), refusal="fake cannot do that; highs can")
    result = run("solve", examples / "word_count.json", "-m", "fake").ended(2)
    assert "fake cannot do that; highs can" in result.err


def test_options_reach_the_method(run, examples, fake_method):
    seen = []

    def note(problem, options):
        seen.append((options.program, options.time_limit, options.gap, options.seed, options.threads))
        return Answer("none", "finished")

    fake_method(note)
    options = ["--time-limit", "7", "--gap", "0.1", "--seed", "5", "--threads", "2"]
    run("solve", examples / "word_count.json", "-m", "fake", *options)
    assert seen == [(None, 7.0, 0.1, 5, 2)]


@pytest.mark.parametrize("program", ["literal", "restricted", "compact"])
def test_a_program_is_solved_by_a_backend(run, examples, program):
    result = run("solve", examples / "reconfigure.json", "--program", program).ended(0)
    assert "highs" in result.out
    result = run("solve", examples / "reconfigure.json", "--program", program, "-m", "greedy").ended(2)
    assert "goes with a solver backend (highs, scipy, scip, gurobi, cvxpy, pyomo), not with method 'greedy'" in result.err


def test_names_with_brackets_are_printed_as_they_are(run, write, document):
    document["application"]["operators"][1]["name"] = "[bold]splitter[/bold]"
    document["application"]["streams"][0]["target"] = document["application"]["streams"][1]["source"] = "[bold]splitter[/bold]"
    assert "[bold]splitter[/bold]" in run("solve", write(document), "-m", "greedy").out


def test_explain_takes_the_solution_that_solve_wrote(run, examples, tmp_path):
    target = tmp_path / "answer.json"
    run("solve", examples / "reconfigure.json", "-o", target)
    result = run("explain", examples / "reconfigure.json", target).ended(0)
    for text in ("Critical path, 0.0237424 s", "reader → splitter", "Cost, 7.39 money/h", "decides the downtime", "98.0 %"):
        assert text in result.out
    assert "Second best: objective 0.155713636, +0.00125" in result.out


@pytest.mark.parametrize(
    ("reader", "said"),
    [("edge", "Not optimal: another deployment has objective 0.163438889, -"), ("cloud", "Best deployment within all limits: ")],
    ids=["within all limits", "breaks one"],
)
def test_explain_calls_nothing_better_second_best(run, examples, tmp_path, reader, said):
    target = tmp_path / "answer.json"
    run("solve", examples / "word_count.json", "-o", target)
    solution = json.loads(target.read_text())
    poor = {"reader": [reader], "splitter": ["fog", "fog"], "counter": ["cloud"], "writer": ["cloud"]}
    target.write_text(json.dumps({**solution, "deployment": poor}))
    result = run("explain", examples / "word_count.json", target)
    assert said in result.out
    assert "Second best" not in result.out


def test_a_solution_of_a_kind_without_an_explanation_of_its_own_is_explained(run, examples):
    told = run("explain", examples / "mapping.json").out
    assert "cost       4  100.0 %" in told
    assert "Used up: capacity of hall." in told


def test_schema_without_a_kind_lists_the_kinds_of_documents(run):
    result = run("schema").ended(0)
    assert {line.split(" ")[0] for line in result.out.splitlines()} >= set(kinds())
    assert "KIND-solution" in result.out


@pytest.mark.parametrize("words", [["methods"], ["methods", "latency-aware"], ["schema"]])
def test_lists_fit_100_columns_where_output_is_a_pipe_and_names_stay_whole(run, words):
    lines = run(*words).out.splitlines()
    assert max(map(len, lines)) <= 100
    names = kinds() if words == ["schema"] else methods(*words[1:])
    assert {line.split(" ")[0] for line in lines} >= set(names)


@pytest.mark.parametrize("word", ["version", "--version"])
def test_version_names_the_packages_that_answers_depend_on(run, word):
    out = run(word).out
    assert f"edrp {edrp.__version__}" in out
    assert "highspy 1." in out


@pytest.mark.parametrize(
    ("words", "called", "expected"),
    [
        (
            ["demo", "--day", "--data", "taxis", "-m", "highs"],
            "report.run_demo",
            {"data": Path("taxis"), "out": Path("out"), "method": "highs", "short": False, "hour": False, "day": True},
        ),
        (
            ["demo", "--hour", "--short"],
            "report.run_demo",
            {"data": None, "out": Path("out"), "method": "auto", "short": True, "hour": True, "day": False},
        ),
        (["reproduce", "storm", "--days", "4"], "report.run_storm", {"data": None, "out": None, "method": "auto", "days": 4}),
    ],
)
def test_reproductions_are_called_with_what_the_user_asked_for(run, monkeypatch, words, called, expected):
    name, _, function = called.partition(".")
    module = importlib.import_module(f"edrp.validation.papers.edrp.{name}")
    signature = inspect.signature(getattr(module, function))
    seen = []
    monkeypatch.setattr(module, function, lambda *given, **named: seen.append(signature.bind(*given, **named).arguments))
    assert run(*words).code == 0
    given = {name: value for name, value in seen[0].items() if name != "console"}
    if given.get("out"):  # a folder inside, whose files take their places when the command ends well
        given["out"] = given["out"].parent
    assert given == expected


def leaves(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Commands that do something, with the words that call them."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
    else:
        for name, part in inner.items():
            yield from leaves((*words, name), part)


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_of_a_help_text_is_lost(name, run, monkeypatch):
    """Square brackets are markup where help is drawn: a default in them was not shown."""
    monkeypatch.setenv("COLUMNS", "400")
    for words, command in leaves((name,), load_command(name)):
        shown = " ".join(run(*words, "--help").out.split())
        for parameter in command.params:
            if parameter.name != "help":
                assert parameter.help, f"{words}: {parameter.name} has no help"
                assert " ".join(parameter.help.split()) in shown, f"{words}: {parameter.name}"


def test_every_example_is_valid(run, examples):
    files = sorted(examples.glob("*.json"))
    result = run("validate", *files).ended(0)
    assert result.out.splitlines() == [f"{file}: valid ({edrp.load(file).kind})" for file in files]
    assert result.err == ""


def test_solutions_are_documents_too(run, examples, tmp_path):
    edrp.solve(edrp.load(examples / "migration.json"), "ssm").save(tmp_path / "solution.json")
    result = run("validate", tmp_path / "solution.json")
    assert (result.code, result.out) == (0, f"{tmp_path / 'solution.json'}: valid (migration-solution)\n")


def test_all_faults_of_invalid_files_are_listed_and_the_others_still_checked(run, examples, write, document):
    bad = write({**document, "colour": "red", "synchronisation_time": -1})
    result = run(
        "validate", bad, write("{", "broken.json"), write({"kind": "puzzle"}, "puzzle.json"), examples / "word_count.json"
    ).ended(2)
    assert result.out == f"{examples / 'word_count.json'}: valid (edrp)\n"
    for text in ("2 faults", "colour", "synchronisation_time", "broken.json", "is not JSON", "is no kind of document"):
        assert text in result.err
