"""Files that commands write, and those that they leave alone: exit code 2 and one line wherever something cannot be written."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import edrp
from edrp.core.errors import UnwritableError
from edrp.datasets.enactment.manufacturing import manufacturing_scenario


@pytest.fixture
def instance(examples) -> Path:
    return examples / "word_count.json"


def commands(instance: Path) -> dict[str, list[object]]:
    """Commands that write one file."""
    return {
        "solve": ["solve", instance, "-m", "greedy", "-o"],
        "parquet": ["generate", "migration", "-n", 2, "--out"],
        "lines": ["generate", "migration", "-n", 2, "--out"],
    }


ENDINGS = {"solve": ".json", "parquet": ".parquet", "lines": ".jsonl"}


@pytest.mark.parametrize("command", ENDINGS)
def test_a_file_that_is_there_stays_unless_it_is_forced(run, instance, tmp_path, command):
    words, path = commands(instance)[command], tmp_path / f"out{ENDINGS[command]}"
    path.write_text("mine")
    refused = run(*words, path).ended(2)
    assert refused.err.splitlines() == [f"{path}: exists already; choose another name, or replace it with --force"]
    assert path.read_text() == "mine"
    assert run(*words, path, "--force").code == 0
    assert path.read_bytes() != b"mine"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("command", ENDINGS)
def test_pipes_folders_and_links_are_never_replaced(run, instance, tmp_path, command, force):
    words, ending = commands(instance)[command], ENDINGS[command]
    pipe, link, target = tmp_path / f"pipe{ending}", tmp_path / f"link{ending}", tmp_path / "target"
    os.mkfifo(pipe)
    link.symlink_to(target)
    system = Path(f"/sys/x{ending}")
    for path, why in ((pipe, "is a named pipe"), (link, "is a symbolic link"), (system, "cannot be written")):
        refused = run(*words, path, *force)
        assert (refused.code, why in refused.err, len(refused.err.splitlines())) == (2, True, 1), refused.err
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([pipe.name, link.name])


@pytest.mark.parametrize("words", [["generate", "migration", "-n", 2, "--out"], ["solve", "INSTANCE", "-m", "greedy", "-o"]])
@pytest.mark.parametrize("name", ["x" * 300 + ".jsonl", "x" * 5000])
def test_a_name_that_no_file_can_have_is_one_line(run, instance, tmp_path, words, name):
    refused = run(*[instance if word == "INSTANCE" else word for word in words], tmp_path / name)
    assert (refused.code, len(refused.err.splitlines()), "Traceback" in refused.err) == (2, 1, False), refused.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ["batch", "INSTANCE", "-m", "greedy", "-o"],
        ["policy", "precompute", "POLICY", "-o"],
        ["simulate", "SCENARIO", "-o"],
        ["reproduce", "capsys", "-o"],
        ["trace", "prepare", "flights", "-o"],
    ],
)
@pytest.mark.parametrize("place", ["long", "below a file"])
def test_a_folder_that_cannot_be_is_refused_before_any_work(run, instance, examples, tmp_path, words, place):
    named = {"INSTANCE": instance, "POLICY": examples / "migration_policy.json", "SCENARIO": examples / "enactment_scenario.json"}
    (tmp_path / "file").write_text("mine")
    out = {"long": tmp_path / ("x" * 300), "below a file": tmp_path / "file" / "out"}[place]
    refused = run(*[named.get(word, word) for word in words], out)
    assert (refused.code, len(refused.err.splitlines())) == (2, 1), refused.err
    assert str(out) in refused.err
    assert (tmp_path / "file").read_text() == "mine"


def test_several_solutions_leave_the_files_of_others_alone(run, instance, examples, tmp_path):
    other = examples / "reconfigure.json"
    (tmp_path / "reconfigure.json").write_text("mine")
    refused = run("solve", instance, other, "-m", "greedy", "-o", tmp_path)
    assert (refused.code, "reconfigure.json: exists already" in refused.err) == (2, True)
    assert [file.name for file in tmp_path.iterdir()] == ["reconfigure.json"]
    assert run("solve", instance, other, "-m", "greedy", "-o", tmp_path, "--force").code == 0
    assert (tmp_path / "reconfigure.json").read_text() != "mine"


@pytest.mark.parametrize("option", ["--certificate", "--vipr"])
def test_a_link_that_goes_round_in_circles_is_one_line(run, instance, tmp_path, option):
    (tmp_path / "loop").symlink_to("loop")
    refused = run("solve", instance, "-m", "highs", option, tmp_path / "loop", "--force")
    assert (refused.code, len(refused.err.splitlines()), "is a symbolic link" in refused.err) == (2, 1, True), refused.err


def test_two_outputs_of_a_command_have_two_places(run, instance, tmp_path):
    out = tmp_path / "out"
    refused = run("solve", instance, "-m", "highs", "--out", out, "--certificate", out, "--force")
    assert (refused.code, "--certificate" in refused.err, "would overwrite" in refused.err) == (2, True, True), refused.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (["solve", "word_count.json", "-m", "greedy", "-o", "out"], "out"),
        (["advise", "flink", "flink_words.zip", "-o", "out", "--html", "page.html"], "out/calls.sh"),
    ],
)
def test_a_pipe_that_nobody_reads_costs_no_file(examples, tmp_path, words, written):
    """As with `| head -1`."""
    given = [str(examples / word) if (examples / word).exists() else word for word in words]
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", "from edrp.cli import main; main()", *given]
    subprocess.run(command, cwd=tmp_path, stdout=write, check=False, timeout=300)
    os.close(write)
    assert (tmp_path / written).stat().st_size > 0


@pytest.mark.parametrize(
    "words",
    [
        ["solve", "word_count.json", "-m", "greedy", "-o"],
        ["explore", "word_count.json", "-m", "greedy", "-o"],
        ["plan", "migration.json", "-o"],
        ["advise", "flink", "flink_words.zip", "--html"],
    ],
)
def test_not_even_force_writes_over_an_input(run, examples, tmp_path, words):
    given = tmp_path / next(word for word in words if "." in word)
    given.write_bytes((examples / given.name).read_bytes())
    (tmp_path / "again").symlink_to(tmp_path)
    for out in (given, tmp_path / "again" / given.name):
        refused = run(*[given if word == given.name else word for word in words], out, "--force")
        assert (refused.code, "would overwrite" in refused.err) == (2, True), refused.err
    assert given.read_bytes() == (examples / given.name).read_bytes()


def test_a_certificate_that_cannot_be_written_does_not_cost_the_solution(run, instance, tmp_path, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise UnwritableError("answer.cert", "cannot be written: No space left on device")

    monkeypatch.setattr("edrp.cli.solve._write_certificate", refuse)
    done = run("solve", instance, "-o", tmp_path / "answer.json", "--certificate", tmp_path / "answer.cert")
    assert (done.code, done.err.splitlines()) == (2, ["answer.cert: cannot be written: No space left on device"])
    assert edrp.load_solution(tmp_path / "answer.json").status == "optimal"


def test_a_comparison_is_not_written_over_other_files(run, tmp_path):
    edrp.save(manufacturing_scenario("two-level", duration=150.0), tmp_path / "scenario.json")
    words = ["simulate", tmp_path / "scenario.json", "-m", "threshold-policy", "--seeds", 1, "-j", 1, "-o", tmp_path / "out"]
    assert run(*words, "--seed", 1).code == 0
    (tmp_path / "out" / "runs.csv").write_text("mine")
    refused = run(*words)
    assert (refused.code, "runs.csv: was not written by this command, or changed since" in refused.err) == (2, True)
    assert (tmp_path / "out" / "runs.csv").read_text() == "mine"


@pytest.mark.parametrize("name", [pytest.param("set.parquet", marks=pytest.mark.slow), "set"])
def test_on_a_full_disk_nothing_half_written_is_left(tmp_path, name):
    """A limit on the size of files, with which every write beyond it fails as on a full disk."""
    done = subprocess.run(
        [sys.executable, "-m", "edrp", "generate", "migration", "-n", "60", "--size", "500", "--out", tmp_path / name],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2, done.stderr
    line = done.stderr.splitlines()[-1]
    assert (line.startswith(str(tmp_path / name)), line.endswith("cannot be written: File too large")) == (True, True), line
    assert ".partial" not in line
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["methods"], ["solve", "INSTANCE", "-m", "greedy"]])
def test_a_full_disk_under_standard_output_is_one_line(instance, words):
    words = [str(instance) if word == "INSTANCE" else word for word in words]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "edrp", *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "No space left on device" in done.stderr
