"""Pages of the explorer as a reader sees them: every kind, in a browser that has no network."""

import itertools
import json
import pickle
import re
from importlib.resources import files
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp.core.kinds import kinds
from edrp.core.solution import Answer
from edrp.core.solve import Seconds, checked_solution
from edrp.datasets.families.mapping.platforms import bimodal_scenario
from edrp.explorer.layout import Item, Room, by_distance, chips_of, fitted, in_columns, rooms
from edrp.explorer.page import explore, explorer_page, table_view
from edrp.explorer.routes import routed
from edrp.explorer.view import Arrangement, Box, Edge, Graph, Rows, State
from edrp.placement.edrp import EdrpProblem
from edrp.report.tables import Table

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
METHODS = {
    "day": "myopic",
    "enactment_scenario": "static-peak-policy",
    "bimodal": "public-hops-links-mapping",
    "mapping": "highs",
}
NAMES = (
    "word_count",
    "reconfigure",
    "contention",
    "infeasible",
    "edge_to_cloud",
    "day",
    "levels",
    "migration",
    "migration_sequence",
    "migration_policy",
    "rescale",
    "enactment",
    "leasing",
    "enactment_scenario",
    "mapping",
    "link_allocation",
    "bimodal",
)
HOSTILE = "<script>alert(1)</script>"
ATTACKS = (HOSTILE, '"><img src=x onerror=alert(2)>', "${alert(3)}", "</script><svg onload=alert(4)>", "javascript:alert(5)//`")

SLIDE = "share => {const s = document.querySelector('input'); s.value = s.max * share; s.dispatchEvent(new Event('input'))}"

DRAWN = """() => ({
    panels: [...document.querySelectorAll('.panel')].map(panel => panel.querySelectorAll('rect, path, td').length),
    items: document.querySelectorAll('.item').length,
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    cropped: [...document.querySelectorAll(
        '.scroll.graph, .panel.rows .scroll, .panel.series .scroll, .panel.table .scroll, .gauges, .bar, .legend')]
        .filter(one => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)
        .map(one => one.className),
    crossed: [...document.querySelectorAll('.labels text')].filter(label => {
        const box = label.getBoundingClientRect();
        return [...label.ownerSVGElement.querySelectorAll('.edge.stream path.line')].some(line => {
            const matrix = line.getScreenCTM(), length = line.getTotalLength();
            return Array.from({length: 200}, (_, at) => line.getPointAtLength(length * at / 199).matrixTransform(matrix)).some(
                at => at.x > box.left + 1 && at.x < box.right - 1 && at.y > box.top + 2 && at.y < box.bottom - 2);
        });
    }).map(label => label.textContent),
    small: [...document.querySelectorAll('button, input')].filter(one => one.getBoundingClientRect().height < 24).length,
    says_click: document.querySelector('aside').textContent.includes('Click on'),
    theme: document.documentElement.dataset.theme,
    injected: document.querySelectorAll('img, iframe, script').length,
})"""


def problem_named(name: str):
    """A small problem by the name of its example."""
    if name == "bimodal":
        return bimodal_scenario(servers=5, links=5, tasks=6, seed=1)
    problem = edrp.load(EXAMPLES / f"{name}.json")
    return problem.replace(load=problem.load[:2]) if name == "enactment_scenario" else problem


@pytest.fixture(scope="module")
def solved():
    """Every problem with its solution, solved when it is first asked for."""
    known: dict[str, tuple] = {}

    def get(name: str):
        if name not in known:
            problem = problem_named(name)
            known[name] = (problem, edrp.solve(problem, METHODS.get(name, "auto")))
        return known[name]

    return get


class Opened:
    """A page in the browser, with all that it says and asks for."""

    def __init__(self, browser, path: Path, width: int = 1280, height: int = 800, scheme: str = "light") -> None:
        self.page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.messages.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-drawn=yes]")

    def drawn(self) -> dict:
        found = self.page.evaluate(DRAWN)
        assert self.messages == []
        assert [url for url in self.requests if not url.startswith(("file:", "data:"))] == []
        return found


def test_every_kind_has_a_view(solved):
    viewed = {problem_named(name).kind for name in NAMES}
    assert {kind.name for kind in kinds().values() if kind.problem.__module__.startswith("edrp.")} <= viewed
    without = {name for name in viewed if kinds()[name].view is None}
    assert without == {"edrp-policy", "enactment", "mapping", "link-allocation"}, "tables of a terminal are all that they need"


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_is_drawn_without_a_network(solved, browser, tmp_path, name):
    problem, solution = solved(name)
    text = explorer_page(problem, solution, name)
    assert len(text.encode()) <= 400_000
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    opened = Opened(browser, path)
    found = opened.drawn()
    assert found["panels"]
    assert all(found["panels"]), "a panel is empty"
    assert found["overflow"] == 0
    assert found["crossed"] == []
    assert found["injected"] == 0, "what is embedded is gone once it is drawn"
    assert found["says_click"] == (found["items"] > 0)
    if opened.page.locator("input[type=range]").count():
        opened.page.keyboard.press(".")
        opened.page.evaluate(
            "() => {const s = document.querySelector('input'); s.value = s.max / 2; s.dispatchEvent(new Event('input'))}"
        )
    opened.page.set_viewport_size({"width": 390, "height": 844})
    opened.page.keyboard.press("d")
    opened.page.wait_for_timeout(400)  # the page is drawn again once its size has settled
    found = opened.drawn()
    assert found["overflow"] <= 0
    assert (found["cropped"], found["crossed"], found["small"]) == ([], [], 0)
    assert found["theme"] == "dark"
    opened.page.close()


@pytest.mark.parametrize("name", ["edge_to_cloud", "contention", "migration", "rescale"])
def test_numbers_have_few_digits_and_prefixes_instead_of_exponents(solved, browser, tmp_path, name):
    explore(*solved(name), tmp_path / "page.html")
    opened = Opened(browser, tmp_path / "page.html")
    cells = opened.page.locator(".right, .gauges .number, .box text").all_text_contents()
    assert cells
    assert [cell for cell in cells if re.search(r"e\+|\de\d|0{5}|[1-9]\d*\.\d{4}|0\.0*[1-9]\d{4}", cell)] == []
    opened.page.close()


@pytest.mark.parametrize("name", ["enactment", "mapping", "link_allocation", "leasing", "bimodal"])
def test_tables_are_those_of_the_terminal(solved, name):
    problem, solution = solved(name)
    kind = kinds()[problem.kind]
    view = (kind.view or table_view)(problem, solution)
    shown = [part for part in kind.display(problem, solution) if isinstance(part, Table) and part.columns[0] != "metric"]
    assert [panel for panel in view.panels if isinstance(panel, Table)] == shown


def along(path: str) -> np.ndarray:
    """Points along an SVG path of lines and curves, shape (n, 2)."""
    shares, parts = np.linspace(0.0, 1.0, 61)[:, None], [np.zeros((1, 2))]
    for command, numbers in re.findall(r"([MLQC])([^MLQC]*)", path):
        ends = [np.array([pair.split(",")], float) for pair in numbers.split()]
        control = ends if command == "M" else [parts[-1][-1:], *ends]
        while len(control) > 1:  # de Casteljau
            control = [u + shares * (v - u) for u, v in itertools.pairwise(control)]
        parts.append(control[0])
    return np.concatenate(parts[1:])


def inside(points: np.ndarray, left: float, upper: float, width: float, height: float, by: float = 0.5) -> bool:
    """Whether any point lies in a rectangle, by more than `by` pixels."""
    low, high = np.array([left, upper]) + by, np.array([left + width, upper + height]) - by
    return bool(((points > low) & (points < high)).all(axis=1).any())


def drawing_faults(graph: Graph, place: Arrangement, state: State, routes) -> list[str]:
    """What lines of a state run through, and which labels something covers."""
    boxes = {box.id: (*at, box.width, box.height) for box, at in zip(graph.boxes, place.places, strict=True)}
    chips = {c.id: (boxes[c.box][0] + c.x, boxes[c.box][1] + c.y, c.width, 20.0) for c in state.chips}
    home = {chip.id: chip.box for chip in state.chips} | {name: name for name in boxes}
    edges = [*state.edges, *state.other]
    lines = [along(route.path) for route in routes if route is not None]
    faults = [f"{edge} is not drawn" for edge, route in zip(edges, routes, strict=True) if route is None]
    labels = []
    for edge, route in zip(edges, routes, strict=True):
        points, ends = along(route.path), (edge.source, edge.target)
        others = {**boxes, **chips}
        for end in ends:
            others.pop(end, None)
            others.pop(home[end], None)
        faults += [f"{ends} runs through {name}" for name, rectangle in others.items() if inside(points, *rectangle)]
        if points.min() < 0 or points[:, 0].max() > place.width or points[:, 1].max() > place.height:
            faults.append(f"{ends} is cut off")
        if route.label is not None:
            width = 6.4 * len(edge.label)
            labels.append((edge.label, (route.label[0] - width / 2, route.label[1] - 9.0, width, 10.0)))
    for label, rectangle in labels:
        faults += [f"a line runs through {label}" for line in lines if inside(line, *rectangle)]
        left, upper, width, height = rectangle
        middles = np.array([(left + share * width, upper + height / 2) for share in np.linspace(0, 1, 9)])
        faults += [f"{label} lies on {name}" for name, box in boxes.items() if inside(middles, *box)]
        faults += [f"{label} lies on {other}" for other, where in labels if where != rectangle and inside(middles, *where)]
    overlaps = [f"{u} and {v} overlap" for (u, a), (v, b) in itertools.combinations(boxes.items(), 2) if overlap(a, b)]
    return faults + overlaps


def overlap(one, other) -> bool:
    return all(one[i] < other[i] + other[i + 2] and other[i] < one[i] + one[i + 2] for i in (0, 1))


def graph_faults(graph: Graph) -> list[str]:
    """Faults of all states in all arrangements, those of narrow screens among them."""
    places = [one for place in graph.arrangements for one in (place, place.narrow) if one is not None]
    return [
        fault
        for place in places
        for state, routes in zip(graph.states, place.streams, strict=True)
        for fault in drawing_faults(graph, place, state, routes)
    ]


@pytest.mark.parametrize("name", ["word_count", "edge_to_cloud", "day", "contention", "migration", "rescale"])
def test_streams_go_around_boxes_and_labels(solved, name):
    problem, solution = solved(name)
    graphs = [panel for panel in kinds()[problem.kind].view(problem, solution).panels if isinstance(panel, Graph)]
    assert any(state.edges for graph in graphs for state in graph.states)
    assert [fault for graph in graphs for fault in graph_faults(graph)] == []


@st.composite
def graphs(draw) -> Graph:
    """Boxes with chips in random columns or at random distances, and streams between chips."""
    count = draw(st.integers(2, 9))
    chips = draw(st.lists(st.integers(0, count - 1), min_size=2, max_size=24))
    content: dict[str, list[Item]] = {}
    for index, box in enumerate(chips):
        content.setdefault(f"n{box}", []).append(Item(f"c{index}", f"operator {index}", index))
    needed = rooms([content])
    boxes = [fitted(Box(f"n{n}", f"node {n}", 118.0, 44.0), needed.get(f"n{n}", Room())) for n in range(count)]
    ends = st.integers(0, len(chips) - 1)
    pairs = draw(st.lists(st.tuples(ends, ends).filter(lambda pair: pair[0] != pair[1]), max_size=20))
    edges = [Edge(f"c{u}", f"c{v}", 1.0 + 6.0 * (n % 3) / 2, label=f"{n}00/s") for n, (u, v) in enumerate(pairs)]
    sizes = [(box.width, box.height) for box in boxes]
    ranks = draw(st.lists(st.none() | st.integers(0, 3).map(float), min_size=count, max_size=count))
    distances = np.array(draw(st.lists(st.integers(0, 9), min_size=count**2, max_size=count**2)), float).reshape(count, count)
    places = [in_columns("by stream", sizes, ranks), by_distance("by delay", sizes, distances)]
    return routed(Graph("", boxes, places, [State(0.0, chips_of(content, needed), edges)]))


@given(graphs())
@settings(max_examples=12)
def test_streams_of_any_graph_go_around_boxes_and_labels(graph):
    assert not graph.under
    assert graph_faults(graph) == []


def test_where_nothing_moves_there_is_a_sentence_and_no_chart(solved):
    problem, solution = solved("migration")
    held = problem.replace(intervals=solution.intervals, nodes=len(solution.intervals))
    view = kinds()["migration"].view(held, edrp.solve(held))
    assert view.timeline is None
    assert "Nothing moves: every node keeps its tasks." in view.lines
    assert [panel.title for panel in view.panels if isinstance(panel, Rows)] == ["Tasks"]
    problem, solution = solved("word_count")
    problem = problem.replace(current=solution.deployment)
    answer = Answer("feasible", "finished", problem.current, problem.evaluate(problem.current).objective)
    view = kinds()["edrp"].view(problem, checked_solution(problem, "given", answer, Seconds(0.0)))
    assert view.timeline is None
    assert any("Nothing changes" in line for line in view.lines)


def test_a_click_shows_details_and_keys_go_from_box_to_box(solved, browser, tmp_path):
    problem, solution = solved("word_count")
    explore(problem, solution, tmp_path / "page.html", title="word count")
    opened = Opened(browser, tmp_path / "page.html", scheme="dark")
    page = opened.page
    assert page.title() == "word count"
    assert opened.drawn()["theme"] == "dark"
    page.locator(".chip.item", has_text="splitter").first.click()
    assert page.locator("aside h2").text_content() == "splitter"
    page.keyboard.press("Escape")
    assert page.locator("aside h2").text_content() == "Details"
    page.locator(".panel.graph svg .item[tabindex='0']").first.focus()
    seen = set()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
        page.keyboard.press("Enter")
        seen.add(page.locator("aside h2").text_content())
        page.keyboard.press("Escape")
    assert len(seen) >= 2
    page.get_by_role("button", name="second best").click()
    assert page.locator(".chip.other").first.is_visible()
    page.get_by_role("button", name="by delay").click()
    page.emulate_media(media="print")
    assert not page.get_by_role("button", name="print").is_visible()
    opened.drawn()
    page.close()


def test_a_reconfiguration_runs_over_its_downtime(solved, browser, tmp_path):
    problem, solution = solved("rescale")
    explore(problem, solution, tmp_path / "page.html")
    opened = Opened(browser, tmp_path / "page.html")
    opened.page.evaluate(SLIDE, 0.5)
    assert opened.page.locator(".token").count() == len(solution.moves)
    assert opened.page.locator(".chip.gone").count() > 0
    opened.page.evaluate(SLIDE, 1.0)
    opened.page.locator(".chip.new").first.wait_for()
    assert opened.page.locator(".token").count() == 0
    opened.drawn()
    opened.page.close()


def test_a_day_is_drawn_beside_its_load_and_a_period_shows_what_runs_then(solved, browser, tmp_path):
    problem, solution = solved("day")
    view = kinds()["edrp-sequence"].view(problem, solution)
    graph, _, replicas, load, costs = view.panels[:5]
    assert [state.time for state in graph.states] == [0, 21600, 32400, 43200, 57600, 72000]
    count = next(line for line in replicas.lines if line.name == "count")
    assert [value for _, value in count.points] == [len(solution.decision[t]["count"]) for t in (0, 1, 2, 4, 5)]
    assert load.lines[0].points == [(0, 60), (21600, 170), (32400, 120), (43200, 150), (57600, 200), (72000, 80)]
    total = sum(  # areas below the two stacked lines are costs in seconds
        (stop - start) / 3600 * value
        for (start, value), stop in zip(costs.lines[0].points, [at for at, _ in costs.lines[0].points[1:]] + [86400], strict=True)
    )
    assert total == pytest.approx(solution.objective)
    explore(problem, solution, tmp_path / "page.html")
    opened = Opened(browser, tmp_path / "page.html")
    opened.page.locator(".panel.rows .item[data-detail=t1]").first.dispatch_event("click")
    assert opened.page.locator("aside h2").text_content() == "Period 1, 06:00–09:00"
    assert "count: cloud ×3" in opened.page.locator("aside p").all_text_contents()
    assert opened.page.locator(".panel.rows title", has_text="Period 1, 06:00–09:00: cloud ×3").count() == 1
    opened.page.evaluate(SLIDE, 0.3)
    opened.page.locator(".chip", has_text="count ×3").wait_for()
    opened.drawn()
    opened.page.close()


@pytest.mark.slow
def test_a_day_of_many_periods_fits_on_a_page_and_an_infeasible_one_shows_its_load(solved):
    problem, _ = solved("day")
    long = problem.replace(periods=[period.replace(duration=60.0) for period in problem.periods] * 67)
    page = explorer_page(long, edrp.solve(long, "static-deployment"))
    assert len(page) <= 400_000
    assert "The first 400 of 402 periods have a bar." in page
    overloaded = problem.replace(periods=[*problem.periods, {"duration": 60.0, "external_rates": {"source": 1e4}}])
    view = kinds()["edrp-sequence"].view(overloaded, edrp.solve(overloaded, "myopic"))
    assert [panel.title for panel in view.panels] == ["Deployment on the network", "Application", "Load"]


def renamed(text: str) -> str:
    """The text of an instance with a script in every name that it defines."""
    for attack, name in zip(cycle(ATTACKS), dict.fromkeys(re.findall(r'"name": "([^"]+)"', text)), strict=False):
        text = re.sub(rf'"{name}"(?!: ")', json.dumps(f"{attack}{name}").replace("\\", r"\\"), text)  # fields of streams stay
    return text


@pytest.mark.parametrize("name", ["reconfigure", "day", "rescale", "leasing", "mapping", "link_allocation"])
def test_hostile_names_are_text(browser, tmp_path, name):
    problem = edrp.loads(renamed((EXAMPLES / f"{name}.json").read_text()))
    solution = edrp.solve(problem, METHODS.get(name, "auto"))
    explore(problem, solution, tmp_path / "page.html", title=HOSTILE)
    opened = Opened(browser, tmp_path / "page.html")
    assert HOSTILE in opened.page.locator("h1").text_content()
    texts = set(opened.page.locator("td").all_text_contents())
    for item in opened.page.locator(".item").all()[:24]:
        item.dispatch_event("click")
        texts.add(opened.page.locator("aside h2").text_content())
    assert any(attack in text for attack in ATTACKS for text in texts)
    assert opened.drawn()["injected"] == 0
    opened.page.close()


def test_nodes_with_coordinates_stand_as_on_a_map(solved):
    problem, solution = solved("word_count")
    nodes = [node.replace(coordinates=(10.0 * index, 40.0 + index % 2)) for index, node in enumerate(problem.network.nodes)]
    located = problem.replace(network=problem.network.replace(nodes=nodes))
    graph = kinds()[problem.kind].view(located, solution).panels[0]
    assert graph.arrangements[0].name == "map"
    xs = [x for x, _ in graph.arrangements[0].places]
    assert xs == sorted(xs), "west is left"
    (_, first), (_, second) = graph.arrangements[0].places[:2]
    assert second < first, "north is up"


def test_thousands_of_nodes_share_boxes():
    problem = EdrpProblem(
        application={"operators": [{"name": "read"}, {"name": "write"}], "streams": [{"source": "read", "target": "write"}]},
        network={
            "nodes": [{"name": f"host{n}", "zone": f"rack{n % 40}"} for n in range(2000)],
            "between_zones": {"delay": 0.1},
            "within_zone": {"delay": 0.01},
        },
        limits={"response_time": 1.0},
        weights={"response_time": 1.0},
    )
    deployment = problem.read_decision({"read": ["host7"], "write": ["host1999"]})
    answer = Answer("feasible", "finished", deployment, problem.evaluate(deployment).objective)
    solution = checked_solution(problem, "given", answer, Seconds(0.0))
    view = kinds()["edrp"].view(problem, solution)
    assert [box.label for box in view.panels[0].boxes[:3]] == ["host7", "host1999", "rack0"]
    assert len(view.panels[0].boxes) == 42
    assert len(explorer_page(problem, solution)) <= 400_000


def test_page_allows_no_script_but_its_own(solved):
    page = explorer_page(*solved("migration"), title=f"{HOSTILE}\u2028</script>")
    assert "default-src 'none'" in page
    assert HOSTILE not in page
    assert page.count("<script") == 2
    assert len(files("edrp.explorer").joinpath("explorer.js").read_bytes()) <= 60_000


def test_solution_knows_its_problem(solved, tmp_path):
    _, solution = solved("migration")
    assert solution.explore(tmp_path / "page.html").stat().st_size > 10_000
    read = type(solution).model_validate(solution.to_document())
    assert read == solution
    assert pickle.loads(pickle.dumps(solution)) == solution
    with pytest.raises(edrp.errors.EdrpError, match="does not know its problem"):
        read.explore(tmp_path / "other.html")


def test_command_writes_a_page(solved, tmp_path, capsys):
    from edrp.cli import main

    solved("migration")[1].save(tmp_path / "solution.json")
    words = ["explore", str(EXAMPLES / "migration.json"), str(tmp_path / "solution.json"), "-o", str(tmp_path / "page.html")]
    for expected in (0, 2):  # what is there is not replaced
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert int(ended.value.code or 0) == expected
    assert "migration.json" in (tmp_path / "page.html").read_text()


def test_kind_without_a_view_shows_its_metrics(solved, monkeypatch):
    record = kinds()["migration"]
    monkeypatch.setitem(record.__dict__, "view", None)
    page = explorer_page(*solved("migration"))
    assert "moved state" in page
    assert "receives (B)" in page
    assert "Transfer schedule" not in page
