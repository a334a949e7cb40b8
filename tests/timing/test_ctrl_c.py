"""Ctrl-C on the command line keeps what was found."""

import json
import signal
import subprocess
import sys

import pytest

import edrp
from edrp.datasets.families.placement.layered import layered


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
def test_ctrl_c_ends_a_solve_with_the_incumbent(tmp_path):
    edrp.save(layered(10, 0), tmp_path / "large.json")
    code = """
import highspy
from edrp.cli import main

run = highspy.Highs.run
highspy.Highs.run = lambda solver: (print("solving", flush=True), run(solver))[1]
main()
"""
    command = [sys.executable, "-c", code, "solve", "large.json", "-m", "highs", "-o", "out.json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "solving\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert "Traceback" not in err
    if process.returncode == 0:
        assert json.loads((tmp_path / "out.json").read_text())["stopped_because"] == "interrupted"
        assert "interrupted" in out
    else:
        assert process.returncode == 130
        assert not (tmp_path / "out.json").exists() or json.loads((tmp_path / "out.json").read_text())["deployment"] is None
