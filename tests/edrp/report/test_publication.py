"""A report on a terminal, on a page and in files; figures; runs that go on."""

import csv
import io
import json

import numpy as np
import pytest
from rich.console import Console

from edrp.core.errors import BackendUnavailableError
from edrp.report import page
from edrp.report.estimates import Estimate
from edrp.report.figures import Panel, Style, draw, draw_panels, mean_curve
from edrp.report.page import Figure, Section, how_run, require_packages
from edrp.report.publication import JSON, MARKDOWN, Report
from edrp.report.statements import claim
from edrp.report.tables import Table, markdown_table, print_tables

COSTS = Table(
    "Costs [$]", ("policy", "ours\nmean", "paper"), (("a & b", "1.5\n1.0–2.0", "[2]"),), ("ours\nmean",), ("paper",), "Low."
)


def sections(drawings, command):
    path = drawings / "costs.svg"
    draw_panels(
        [Panel("costs", "τ", "$", {"a": {0.0: Estimate(1.0, 0.5, 1.5), 1.0: Estimate(2.0, None, None)}})], path, columns=1
    )
    yield Section("Results", ["`a` is <cheapest>."], figure=Figure("costs over τ", path), tables=[COSTS])
    yield Section("Words", terms={"Cost": "in money"}, parts=[Section("Deeper", notes=["small print"], label="unused")])
    yield how_run(command, {"seeds": "1"})


@pytest.fixture
def report():
    return Report(
        "Costs",
        "What policies cost.",
        verdicts=["One [1] holds."],
        statements=[claim("a is cheapest", True, "1.5 against 2")],
        shown=[COSTS],
        documented=[COSTS],
        sections=sections,
        records={"costs": [{"policy": "a", "mean": 1.5, "low": None}], "nothing": []},
        further=({"seeds": [1]}, {"error": 0.5}),
    )


def test_a_terminal_shows_tables_statements_and_results(report):
    text = io.StringIO()
    report.print(Console(file=text, width=80))
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    assert lines[0] == "Costs [$]"
    assert "Low." in lines
    assert lines[-2:] == ["holds: a is cheapest (1.5 against 2)", "One [1] holds."]


def test_files_hold_the_records_and_the_page_fetches_nothing(report, tmp_path, links_of):
    path = report.write(tmp_path / "out", "edrp reproduce costs")
    html = path.read_text(encoding="utf-8")
    links = links_of(html)
    assert (links.fetched, links.images) == ([], 1)
    for words in (
        "<code>a</code> is &lt;cheapest&gt;.",
        "edrp reproduce costs",
        "<dt>Cost</dt>",
        "small print",
        "1.0–2.0",
        "Low.",
    ):
        assert words in html
    with (path.parent / "costs.csv").open(encoding="utf-8") as file:
        assert list(csv.DictReader(file)) == [{"policy": "a", "mean": "1.5", "low": ""}]
    assert not (path.parent / "nothing.csv").exists()
    document = json.loads((path.parent / JSON).read_text(encoding="utf-8"))
    assert list(document) == ["seeds", "costs", "nothing", "error"]
    assert (path.parent / MARKDOWN).read_text(encoding="utf-8").startswith("One [1] holds.\n\nCosts [$]:")


def test_a_markdown_cell_is_one_line():
    assert "| a & b | 1.5 (1.0–2.0) | [2] |" in markdown_table(COSTS)


def test_only_quiet_columns_and_further_lines_are_dim():
    text = io.StringIO()
    print_tables(Console(file=text, width=80, force_terminal=True, color_system="standard"), COSTS)
    dim = [part.partition("\x1b[0m")[0].strip() for part in text.getvalue().split("\x1b[2m")[1:]]
    assert "1.0–2.0" in dim
    assert "[2]" in dim
    assert "1.5" not in dim


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr(page, "find_spec", lambda name: None if name == "matplotlib" else object())
    with pytest.raises(BackendUnavailableError, match=r"package matplotlib.*edrp\[plot\]"):
        require_packages(jinja2="report", matplotlib="plot")


def test_panels_draw_bands_and_bare_lines_side_by_side(tmp_path):
    random = np.random.default_rng(0)
    band = mean_curve({x: random.normal(x, 0.1, 9) for x in (1.0, 10.0, 100.0)}, scale=2.0)
    assert all(estimate.low < estimate.mean < estimate.high and abs(estimate.mean - 2 * x) < 0.2 for x, estimate in band.items())
    panels = [
        Panel(
            "a",
            "x",
            "y",
            {"band": band, "line": {1.0: Estimate(1.0, None, None), 100.0: Estimate(2.0, None, None)}},
            scales=("log", "log"),
        ),
        Panel("b", "x", "y", {"line": {1.0: Estimate(5.0, None, None)}}, floor=None, ceiling=9.0, ticks=(1.0, 5.0)),
        Panel("c", "x", "y", {}),
    ]
    draw_panels(panels, tmp_path / "panels.png", columns=2, title="three", styles={"line": Style("#000000", "--")})
    assert (tmp_path / "panels.png").read_bytes()[:4] == b"\x89PNG"


def test_figures_are_drawn_into_a_new_folder_or_not_at_all(tmp_path):
    text = io.StringIO()
    console = Console(file=text, width=300)
    draw(console, None, {"a.txt": lambda path: path.write_text("a")})
    draw(console, tmp_path / "new", {"a.txt": lambda path: path.write_text("a")})
    assert text.getvalue().strip() == "drawn: a.txt"
