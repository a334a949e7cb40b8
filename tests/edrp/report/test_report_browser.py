"""The smoke suite and its report as a reader sees it: in a browser that has no network."""

from pathlib import Path

import pytest

WIDTH = 1280

DRAWN = """charts => charts.map(chart => {
    const box = chart.querySelector("svg.main-svg").getBoundingClientRect();
    const shapes = chart.querySelectorAll("path.js-line, path.box, path.point");
    const inside = [...chart.querySelectorAll(".legend text, .xtick text, .ytick text, .xtitle, .ytitle")].every(text => {
        const own = text.getBoundingClientRect();
        return own.left >= box.left - 1 && own.right <= box.right + 1 && own.top >= box.top - 1 && own.bottom <= box.bottom + 1;
    });
    const ticks = [...chart.querySelectorAll(".xtick text")].map(tick => tick.getBoundingClientRect());
    ticks.sort((one, other) => one.left - other.left);
    return {
        width: box.width,
        height: box.height,
        shapes: [...shapes].filter(shape => (shape.getAttribute("d") || "").length > 5).length,
        inside: inside,
        apart: ticks.every((tick, index) => index === 0 || tick.left > ticks[index - 1].right),
        titles: [...chart.querySelectorAll(".xtitle")].map(title => title.textContent),
    };
})"""


@pytest.fixture(scope="module")
def smoke(tmp_path_factory) -> tuple[Path, int]:
    """Folder and exit code of `edrp benchmark --suite smoke`, one seed."""
    from edrp.cli import main

    out = tmp_path_factory.mktemp("smoke")
    with pytest.raises(SystemExit) as ended:
        main(["benchmark", "--suite", "smoke", "--jobs", "1", "--seeds", "1", "--out", str(out)])
    return out, int(ended.value.code or 0)


@pytest.mark.slow
def test_smoke_suite_finds_no_defect(smoke):
    out, code = smoke
    assert code == 0
    assert {path.name for path in out.iterdir()} >= {"rows", "report.html", "runs.parquet", "summary.csv", "pairs.csv"}


def test_report_draws_its_charts_without_a_network(smoke, browser):
    problems: list[str] = []
    requests: list[str] = []
    page = browser.new_page(viewport={"width": WIDTH, "height": 900})
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((smoke[0] / "report.html").as_uri())
    page.wait_for_function("document.querySelectorAll('.plotly-graph-div').length > 0")
    page.wait_for_function(
        "[...document.querySelectorAll('.plotly-graph-div')].every(chart => chart.querySelector('svg.main-svg'))"
    )
    charts = page.eval_on_selector_all(".plotly-graph-div", DRAWN)
    captions = page.eval_on_selector_all("figure", "figures => figures.map(figure => figure.getAttribute('aria-label'))")
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    picture = page.screenshot(full_page=True)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(500)
    narrow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    legends = page.eval_on_selector_all(
        "g.legend", "all => all.map(legend => legend.closest('svg').getBoundingClientRect().width)"
    )
    page.close()
    assert problems == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert len(charts) == len(captions) >= 11
    assert all(captions)
    assert overflow == narrow == 0
    assert min(legends) >= 600, "on narrow screens charts with a legend scroll and keep their size"
    assert len(picture) > 50_000
    for caption, chart in zip(captions, charts, strict=True):
        assert chart["width"] > 900, caption
        assert chart["shapes"] > 0, caption
        assert chart["inside"], f"cut off: {caption}"
        assert chart["apart"], f"overlapping ticks: {caption}"
        assert chart["titles"][0], caption
