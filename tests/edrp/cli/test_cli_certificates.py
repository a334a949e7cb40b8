"""Certificates on the command line."""

from __future__ import annotations

import json
from pathlib import Path

CASE = Path(__file__).parents[1] / "backends" / "wrong_optima" / "lnk41.json"


def test_solve_writes_what_check_accepts(run, tmp_path):
    answer, certificate, vipr = tmp_path / "answer.json", tmp_path / "answer.cert", tmp_path / "answer.vipr"
    assert run("solve", CASE, "-m", "highs", "--out", answer, "--certificate", certificate, "--vipr", vipr).code == 0
    assert json.loads(answer.read_text())["proof"] == "checked certificate"
    assert vipr.read_text().startswith("VER 1.0")
    checked = run("check", CASE, answer, certificate)
    assert (checked.code, checked.out.startswith("proven: no decision is below 0.0")) == (0, True)


def test_check_says_the_first_thing_that_does_not_hold(run, tmp_path):
    answer, certificate, other = tmp_path / "answer.json", tmp_path / "answer.cert", tmp_path / "other.json"
    run("solve", CASE, "-m", "highs", "--out", answer, "--certificate", certificate)
    other.write_text(CASE.read_text().replace("0.5662819937840682", "0.6"))
    checked = run("check", other, answer, certificate)
    assert (checked.code, checked.out) == (2, "not proven: the certificate is of another instance\n")
