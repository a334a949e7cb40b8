"""`edrp demo`: what it says is what its commands say again."""

import io
import re
import shlex

import pytest
from rich.console import Console

from edrp.core.errors import BackendUnavailableError
from edrp.validation.papers import mission

pytestmark = pytest.mark.xdist_group("mission")
"""One worker makes the page that all tests read."""


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The folder and the terminal of a run with few instances, without Spark."""

    def no_spark(master):
        raise BackendUnavailableError("no Java")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mission, "BATCH", 3)
        patch.setattr(mission, "require_spark", no_spark)
        folder, text = tmp_path_factory.mktemp("mission"), io.StringIO()
        mission.run_mission(Console(file=text, width=200), folder, "edrp demo")
    return folder, text.getvalue()


def test_every_station_has_a_sentence_a_figure_and_commands(shown):
    folder, text = shown
    assert sorted(path.name for path in folder.iterdir()) == sorted(mission.FILES)
    assert [line[0] for line in text.splitlines() if re.match(r"\d\. ", line)] == ["1", "2", "3", "4", "5", "6"]
    page = (folder / mission.PAGE).read_text()
    assert page.count("data:image/svg+xml") == 6
    assert "precomputed on threads of this process" in page
    assert "nan" not in text


@pytest.mark.slow
def test_the_optimum_and_what_heuristics_find_are_those_of_the_commands(shown, run, monkeypatch):
    folder, text = shown
    monkeypatch.chdir(folder)
    commands = [shlex.split(line.removeprefix("  $ edrp")) for line in text.splitlines() if line.startswith("  $ edrp")]
    assert len(commands) == 14
    for words in commands:
        if "--spark" not in words:
            assert run(*words).code == 0, words
    said = run("solve", "placement.json").out
    objective = float(re.search(r"objective ([\d.]+)", said)[1])
    assert f"{objective:.5f}" in text
    assert "optimal: nothing better exists" in said
