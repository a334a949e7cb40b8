"""Certificates that are none, or too much: refused in one line, within the memory and time that the checker states."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import edrp
from edrp.certificates import checker

LIMIT = 2**30
"""Bytes that the checker may map."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """An instance, its solution and its certificate."""
    folder = tmp_path_factory.mktemp("certified")
    problem = edrp.MigrationProblem(work=[1] * 8, state_size=[3, 1, 4, 1, 5, 9, 2, 6], intervals=[[0, 8]], nodes=3, tolerance=0.3)
    solution = edrp.solve(problem, "highs", certify=True)
    edrp.save(problem, folder / "instance.json")
    solution.save(folder / "solution.json")
    (folder / "good").write_text(solution.certificate)
    return folder


def judged(folder, certificate, instance="instance.json", solution="solution.json"):
    """Exit code and the one line that the checker prints, in a process with little memory."""
    words = [sys.executable, "-I", str(Path(checker.__file__).parent), instance, solution, certificate]
    limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))}
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=300, **limits)
    assert (done.stderr, done.stdout.count("\n")) == ("", 1)
    return done.returncode, done.stdout.rstrip()


def test_the_certificate_is_good_to_begin_with(files):
    assert judged(files, "good")[0] == 0


def edited(files, change):
    header, *tree = (files / "good").read_text().splitlines()
    (files / "edited").write_text("\n".join([json.dumps({**json.loads(header), **change}), *tree]) + "\n")
    return judged(files, "edited")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"instance": "0" * 64}, "not proven: the certificate is of another instance"),
        ({"version": 2}, "not proven: version 2; version 1 is read"),
        ({"format": "magic"}, "not proven: format 'magic' is none of "),
        ({"program": "0" * 64}, "not proven: "),
        ({"claim": "infeasible"}, "not proven: the certificate claims infeasible, the solution optimal"),
        ({"bound": "1/0"}, "not proven: '1/0' is no number"),
        ({"bound": "9" * 10_000}, "not proven: "),
        ({"bound": float("nan")}, "not proven: NaN is no number"),
        ({"bound": None}, "not proven: 'None' is no number"),
    ],
)
def test_headers_of_something_else(files, change, why):
    code, said = edited(files, change)
    assert (code, said.startswith(why), len(said) < 300) == (2, True, True), said


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('["B", [0, NaN]]', "not proven: NaN is no number"),
        ('["B", [0, 1' + "0" * 10_000 + "]]", "not proven: a number of 10001 digits; 400 are read"),
        ('["B", [0, 1e999999999]]', "not proven: the number 1e999999999; exponents to 400 are read"),
        ('["B", [0', "not proven: no JSON: "),
        ("[" * 100_000, "not proven: "),
        ("null", "not proven: the tree ends before all of it is closed"),
        ('["S", 0, 0]', "not proven: the tree ends before all of it is closed"),
        ('["S", 10000000, 0]', "not proven: something is malformed"),
        ('["B", ["a", 1]]', "not proven: something is malformed"),
        ('["B", [0, 1, 0, 1]]', "not proven: leaf 1 has a row twice"),
        ('["B", [0]]', "not proven: leaf 1 has a row twice, or one without multiplier"),
        ('["S", 0, 0]\n' * (checker.MAX_OPEN + 2), "not proven: a tree with more than 10000 open nodes"),
        ("[" * 900 + "]" * 900, "not proven: "),
        ("", "not proven: no JSON: "),
    ],
)
def test_lines_that_are_none(files, line, why):
    header = (files / "good").read_text().splitlines()[0]
    (files / "edited").write_text(f"{header}\n{line}\n")
    code, said = judged(files, "edited")
    assert (code, said.startswith(why), len(said) < 300) == (2, True, True), said


def test_a_certificate_of_a_gigabyte_is_refused_unread(files):
    with (files / "huge").open("wb") as file:
        file.truncate(2**30)
    assert judged(files, "huge") == (2, f"not proven: huge: more than {checker.MAX_CERTIFICATE} bytes")
    (files / "huge").unlink()


def test_a_line_without_end_is_refused(files):
    (files / "long").write_text((files / "good").read_text().splitlines()[0] + "\n[" + "1," * checker.MAX_LINE)
    assert judged(files, "long") == (2, f"not proven: a line of more than {checker.MAX_LINE} characters")


def test_files_that_are_not_there_or_no_text(files):
    assert judged(files, "nowhere")[1] == "not proven: [Errno 2] No such file or directory: 'nowhere'"
    (files / "binary").write_bytes(bytes(range(256)))
    assert judged(files, "binary")[0] == 2
    assert judged(files, "good", instance="binary")[1] == "not proven: binary: no text in UTF-8"
    assert judged(files, "good", solution="good")[1].startswith("not proven: good: no JSON: ")


def test_documents_nested_too_deeply_are_refused(files):
    (files / "nested.json").write_text('{"kind": "migration", "work": ' + "[" * 100_000 + "]" * 100_000 + "}")
    code, said = judged(files, "good", instance="nested.json")
    assert (code, said.startswith("not proven: nested.json: no JSON: maximum recursion depth exceeded")) == (2, True), said


def test_a_pipe_without_end_is_refused(files):
    words = [sys.executable, "-I", str(Path(checker.__file__).parent), "/dev/zero", "solution.json", "good"]
    done = subprocess.run(words, cwd=files, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (2, f"not proven: /dev/zero: more than {checker.MAX_DOCUMENT} bytes\n")
