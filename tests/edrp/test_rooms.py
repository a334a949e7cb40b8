"""A path is ROOM / TOPIC / SUBJECT, and nothing imports from a floor above its own.

The floors are those of `benchmarks/house_sources.py`. The product: core; backends, batches and reports, which need the core only;
topics; formulations, heuristics, migration over time, datasets and replanning; the front door. The laboratory on top of it:
simulation; oracles; papers, benchmark and Flink. Then the command line, which opens both, and what runs its commands.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))
from house_sources import FLOORS, FRONT_DOOR, ROOMS, TOPICS, House  # noqa: E402 - no module of a package

pytestmark = pytest.mark.xdist_group("rooms")  # sources are read once

SHARED = {(f"edrp/{topic}", "edrp/placement") for topic in ("enactment", "mapping", "migration")}
"""Topics whose documents are built on those of placement: operators and nodes."""


FOLDERS = {
    "formulations": set(TOPICS),
    "heuristics": set(TOPICS),
    "datasets": {*TOPICS, "families", "traces"},
    "datasets/families": set(TOPICS),
    "mdp": {"placement", "single_step", "sequence", "policy", "fitted", "chain", "transfer"},
    "validation": {"simulation", "oracles", "papers", "benchmark", "flink", "fuzzing"},
    "validation/simulation": set(TOPICS),
    "validation/oracles": set(TOPICS),
    "edrp/check_problems": set(TOPICS),
    "edrp": {
        *TOPICS,
        "auto",
        "core",
        "backends",
        "batch",
        "certificates",
        "check_problems",
        "engines",
        "explanations",
        "explorer",
        "replanning",
        "report",
        "cli",
    },
}
"""Folders that there may be in each room."""

MAX_LOOSE = 6
"""Files at the top of a room whose subject is the whole room."""


@pytest.fixture(scope="module")
def house() -> House:
    """All sources of the checkout."""
    return House(ROOT)


def test_nothing_imports_from_a_higher_floor(house):
    wrong = [
        f"{importing.path}:{line} imports {imported.module} (floor {imported.floor}, not {importing.floor} or below)"
        for importing, line, imported in house.imports
        if imported.floor > importing.floor
    ]
    assert not wrong, "\n".join(wrong)


def test_rooms_of_one_floor_do_not_import_one_another(house):
    wrong = [
        f"{importing.path}:{line} imports {imported.module}"
        for importing, line, imported in house.imports
        if imported.floor == importing.floor != FRONT_DOOR
        and imported.folder != importing.folder
        and (importing.folder, imported.folder) not in SHARED
    ]
    assert not wrong, "\n".join(wrong)


LABORATORY = "edrp.validation"
REGISTRY = "edrp/method_modules.py"
"""The file that names simulated policies."""
NAMES = "edrp/__init__.py"
"""The list of public names, one of which is `edrp.benchmark`; it is imported when it is used."""
OPENING = {REGISTRY, NAMES, *(f"edrp/cli/{name}.py" for name in ("reproduce", "benchmark", "demo"))}
"""Files of the product that may name the laboratory, next to the commands that simulate."""


def test_the_product_does_not_need_the_laboratory(house):
    """Imports inside functions and for type checkers count, and names in strings that are imported when they are needed."""
    named = {
        f"{source.path}:{line} names {name}": source.path
        for source in house.product
        if source.path.parts[0] != "validation"
        for line, name in source.named_modules()
        if name.split(".")[:2] == LABORATORY.split(".")
    }
    opening = {str(path) for path in named.values()}
    wrong = [text for text, path in named.items() if str(path) not in OPENING and not path.match("edrp/cli/simulate*.py")]
    assert not wrong, "\n".join(wrong)
    assert opening >= OPENING


def test_there_are_no_import_circles(house):
    """Annotations and imports inside functions count."""
    assert not house.circles, "\n".join(", ".join(sorted(circle)) for circle in house.circles)


@pytest.mark.parametrize("above", [(), ("tests",)], ids=["rooms", "tests mirror them"])
@pytest.mark.parametrize("room", FOLDERS)
def test_folders_of_a_room_are_topics(house, room, above):
    parts = (*above, *Path(room).parts)
    inside = {source.path.parts[len(parts)] for source in house.sources if source.path.parts[: len(parts)] == parts}
    assert {name for name in inside if not name.endswith(".py")} <= FOLDERS[room]


@pytest.mark.parametrize("room", ROOMS)
def test_hardly_any_file_lies_loose_in_a_room(house, room):
    loose = [s.path.name for s in house.product if s.path.parts[:-1] == (room,) and not s.path.name.startswith("__")]
    assert len(loose) <= MAX_LOOSE, loose


def test_every_floor_has_files(house):
    assert {source.folder for source in house.product} == set(FLOORS)


def test_a_python_that_is_started_in_a_checkout_finds_its_rooms_without_an_editable_install():
    """As after `pip install .`, when the folder `edrp` of the current directory comes before the package that was installed."""
    code = "from importlib.util import find_spec; print(find_spec('edrp.mdp').origin)"
    found = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, env={}, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()) == ROOT / "mdp" / "__init__.py"


def is_positive(length: ast.expr) -> bool:
    """Whether an axis has a length that is written down: a number or a constant."""
    name = getattr(length, "id", getattr(length, "attr", ""))
    return isinstance(length, ast.Constant) or bool(name and name.isupper())


def test_reshape_is_not_asked_for_a_length_that_it_cannot_know(house):
    """Where another axis may have length 0, as that of a block without deployments has, `reshape` with -1 raises ValueError."""
    places = []
    for source in house.product:
        for call in source.nodes if ".reshape(" in source.text else ():
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "reshape":
                lengths = call.args[0].elts if isinstance(call.args[0], ast.Tuple) else call.args
                free = [length for length in lengths if isinstance(length, ast.UnaryOp)]
                if free and not all(is_positive(length) for length in lengths if length not in free):
                    places.append(f"{source.path}:{call.lineno}: use edrp.core.arrays.flattened, or give the length")
    assert not places, "\n".join(places)
