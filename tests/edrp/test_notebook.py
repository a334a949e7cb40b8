"""Problems, solutions and explanations in notebooks: tables of the page, in which names are text."""

import json
import re
from pathlib import Path

import pytest
from pages import Page
from rich.console import Console

import edrp
from edrp.report import progress as report_progress
from edrp.report.progress import progress_bar

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "examples" / "first_steps.ipynb"
TAGS = {"div", "p", "strong", "table", "caption", "thead", "tbody", "tr", "th", "td"}
HOSTILE = "<script>alert(1)</script>[bold]"


def example(name: str):
    """An example by its name."""
    return edrp.load(ROOT / "examples" / f"{name}.json")


def test_a_problem_is_shown_by_its_fields():
    cells = Page(example("word_count")._repr_html_()).cells
    assert cells[:2] == ["field", "value"]
    assert dict(zip(cells[::2], cells[1::2], strict=True))["limits"] == "response_time 0.2, cost 20"
    assert "operators (4)" in cells[cells.index("application") + 1]


def test_a_solution_is_shown_as_on_the_terminal():
    shown = edrp.solve(example("word_count"))._repr_html_()
    assert "optimal: nothing better exists" in shown
    cells = Page(shown).cells
    assert cells[cells.index("splitter") :][:3] == ["splitter", "2", "cloud ×2"]
    assert cells[cells.index("cost") :][:3] == ["cost", "5.27", "money/h"]


def test_an_explanation_is_shown_with_its_critical_path():
    problem = example("reconfigure")
    shown = edrp.explain(problem, edrp.solve(problem), runner_up=False)._repr_html_()
    assert "<caption>Critical path" in shown
    assert "decides the downtime" in shown


def test_names_are_text():
    problem = edrp.EdrpProblem(
        application={"operators": [{"name": HOSTILE, "cost": 1.0}]},
        network={"nodes": [{"name": HOSTILE}]},
        weights={"cost": 1.0},
        limits={"cost": 2.0},
    )
    solution = edrp.solve(problem, "greedy")
    for shown in (problem, solution, edrp.explain(problem, solution, runner_up=False)):
        assert set(Page(shown._repr_html_()).tags) <= TAGS
    assert HOSTILE in Page(solution._repr_html_()).cells


def test_a_notebook_without_widgets_gets_no_warning_but_lines(monkeypatch, capsys):
    monkeypatch.setattr(report_progress, "PAUSE", 0.0)
    with progress_bar("moving", console=Console(force_jupyter=True)) as progress:
        progress(12.0, 5.27, None)
    assert "moving: best 5.27" in capsys.readouterr().err


@pytest.fixture
def cells(monkeypatch):
    """The code cells of the notebook, to be run from the checkout."""
    monkeypatch.chdir(ROOT)
    return [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def test_the_example_notebook_runs_and_shows_what_it_says(cells):
    names: dict[str, object] = {}
    for cell in cells:
        *lines, last = "".join(cell["source"]).strip().splitlines()
        exec(compile("\n".join(lines), str(NOTEBOOK), "exec"), names)
        shown = eval(compile(last, str(NOTEBOOK), "eval"), names)
        assert re.match(r"<div>", shown._repr_html_())
