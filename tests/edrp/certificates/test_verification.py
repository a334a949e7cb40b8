"""`edrp check` gives the package's word on what the checker takes for granted: a program that a certificate states."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import edrp
from edrp.certificates import checker
from edrp.core.kinds import get_kind


@pytest.fixture(scope="module")
def leased(tmp_path_factory):
    """A problem of a kind whose program the checker does not build: folder, solution document and certificate."""
    family = next(f for f in get_kind("enactment").families if f.name == "containers-diamond")
    problem = family.make(4, np.random.default_rng(3))
    solution = edrp.solve(problem, "highs", certify=True)
    folder = tmp_path_factory.mktemp("leased")
    edrp.save(problem, folder / "instance.json")
    return folder, solution.to_document(), solution.certificate


def judged(run, leased, solution, certificate):
    """What `edrp check` says, with its exit code, and what the checker says by itself."""
    folder = leased[0]
    (folder / "solution.json").write_text(json.dumps(solution))
    (folder / "certificate").write_text(certificate)
    files = [str(folder / name) for name in ("instance.json", "solution.json", "certificate")]
    ended = run("check", *files)
    return (ended.code, ended.out), checker.verdict(checker.check_files, *files)


def test_a_certificate_of_the_problems_own_program_is_accepted_by_both(run, leased):
    _, solution, certificate = leased
    (code, ours), alone = judged(run, leased, solution, certificate)
    assert (code, ours.startswith(alone)) == (4, True)
    assert ours.rstrip().endswith("edrp finds that this is the program of the instance, and the decision what the solution says")
    assert alone.startswith("proven about a stated program only: if it is that of the instance, the answer is optimal")


def test_a_program_of_ones_own_proves_nothing_of_the_problem(run, leased):
    _, solution, certificate = leased
    header = json.loads(certificate.splitlines()[0])
    program = [[0, 0, str(Fraction(solution["objective"]))]]
    header["program"] = checker.stated_program(iter(program))[1]
    forged = "\n".join(json.dumps(line) for line in (header, *program, ["B", []]))
    (code, ours), alone = judged(run, leased, solution, forged)
    assert code == 2
    assert alone.startswith("proven about a stated program only: if it is that of the instance, the answer is optimal")
    assert ours.startswith("not proven: the certificate proves another program than the one that this version of edrp makes")


@pytest.mark.parametrize(
    ("change", "why", "alone"),
    [
        ({"hosts": []}, "not proven: o0: 0 instances, where ", None),
        ({"hosts": None}, "not proven: hosts: 'None' is of another type or size", None),
        ({"objective": "1/2"}, "not proven: objective: '1/2' is no number", None),
        ({"hosts": {}}, "not proven: hosts: '{}' is of another type or size", None),
        ({"objective": 0.0}, "not proven: the decision is worth ", None),
        ({"colour": 1}, "solution.json: colour: unknown field", "proven about a stated program only: "),
    ],
)
def test_decisions_are_evaluated(run, leased, change, why, alone):
    _, solution, certificate = leased
    (code, ours), by_itself = judged(run, leased, {**solution, **change}, certificate)
    assert by_itself.startswith(alone or why)
    assert (code, ours.startswith("not proven: "), why in ours) == (2, True, True), ours


def test_a_decision_that_the_checker_does_not_evaluate_is_left_to_the_package(run, examples, tmp_path):
    problem = edrp.load(examples / "rescale.json")
    solution = edrp.solve(problem, "highs", certify=True)
    edrp.save(problem, tmp_path / "instance.json")
    document = solution.to_document()
    files = tmp_path, document, solution.certificate
    (code, ours), alone = judged(run, files, document, solution.certificate)
    assert alone.endswith("; that the decision is feasible and worth this was not checked")
    assert (code, checker.exit_code(alone)) == (4, 4)
    false = {**document, "deployment": None}
    (code, ours), _ = judged(run, files, false, solution.certificate)
    assert (code, ours) == (2, "not proven: the solution has no decision\n")


def test_a_verdict_is_one_line_without_what_a_terminal_obeys(tmp_path):
    (tmp_path / "instance.json").write_text('{"\\u001b[2J\\n\\ud800": 1, "\\u001b[2J\\n\\ud800": 2}')
    path = str(tmp_path / "instance.json")
    assert checker.verdict(checker.check_files, path, path, path) == rf"not proven: {path}: \x1b[2J\n\ud800 is given twice"


CASE = Path(__file__).parents[1] / "backends" / "wrong_optima" / "lnk41.json"


def test_solve_writes_what_check_accepts(run, tmp_path):
    answer, certificate, vipr = tmp_path / "answer.json", tmp_path / "answer.cert", tmp_path / "answer.vipr"
    assert run("solve", CASE, "-m", "highs", "--out", answer, "--certificate", certificate, "--vipr", vipr).code == 0
    assert json.loads(answer.read_text())["proof"] == "checked certificate"
    assert vipr.read_text().startswith("VER 1.0")
    checked = run("check", CASE, answer, certificate)
    assert (
        checked.code,
        checked.out.startswith("proven: the answer is optimal, its objective is 0: no decision is below 0.0"),
    ) == (0, True)


def test_check_says_the_first_thing_that_does_not_hold(run, tmp_path):
    answer, certificate, other = tmp_path / "answer.json", tmp_path / "answer.cert", tmp_path / "other.json"
    run("solve", CASE, "-m", "highs", "--out", answer, "--certificate", certificate)
    other.write_text(CASE.read_text().replace("0.5662819937840682", "0.6"))
    checked = run("check", other, answer, certificate)
    assert (checked.code, checked.out) == (2, "not proven: the certificate is of another instance\n")
