"""A path is ROOM / TOPIC / SUBJECT. Who may import whom is written in `pyproject.toml`, and `make lint` checks it."""

import ast
import re
import subprocess
from pathlib import Path, PurePosixPath

import grimp
import networkx
import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("edrp", "formulations", "heuristics", "mdp", "datasets", "validation")
TRACKED = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
SOURCES = [PurePosixPath(name) for name in TRACKED if (ROOT / name).is_file()]

TOPICS = {"placement", "migration", "enactment", "mapping"}
FOLDERS = {
    "formulations": TOPICS,
    "heuristics": TOPICS,
    "datasets": {*TOPICS, "families", "traces"},
    "datasets/families": TOPICS,
    "mdp": {"placement", "single_step", "sequence", "policy", "fitted", "chain", "transfer"},
    "validation/simulation": TOPICS,
    "validation/oracles": TOPICS,
    "edrp/check_problems": TOPICS,
}
"""Folders that there may be in rooms; those of `edrp` and `validation` are the layers in `pyproject.toml`."""

MAX_LOOSE = 6
"""Files at the top of a room whose subject is the whole room."""


def folders(room: PurePosixPath) -> set[str]:
    """Folders in a folder of the checkout that have Python files."""
    below = [path.relative_to(room) for path in SOURCES if path.is_relative_to(room)]
    return {path.parts[0] for path in below if len(path.parts) > 1}


@pytest.mark.parametrize("room", FOLDERS)
def test_folders_of_a_room_are_topics(room):
    assert folders(PurePosixPath(room)) <= FOLDERS[room]


@pytest.mark.parametrize("room", [*FOLDERS, "edrp", "validation"])
def test_tests_mirror_the_rooms(room):
    assert folders(PurePosixPath("tests", room)) <= folders(PurePosixPath(room))


@pytest.mark.parametrize("room", ROOMS)
def test_hardly_any_file_lies_loose_in_a_room(room):
    loose = [path.name for path in SOURCES if path.parts[:-1] == (room,) and not path.name.startswith("__")]
    assert len(loose) <= MAX_LOOSE, loose


def test_there_are_no_import_circles():
    """Annotations and imports inside functions count."""
    graph = grimp.build_graph("edrp", cache_dir=None)
    imports = networkx.DiGraph([(one, other) for one in graph.modules for other in graph.find_modules_directly_imported_by(one)])
    for one in [*imports.predecessors("edrp")]:  # the extension is no module to grimp, which takes its name for one in `edrp`
        lines = {detail["line_contents"] for detail in graph.get_import_details(importer=one, imported="edrp")}
        if lines == {"from edrp import _native"}:
            imports.remove_edge(one, "edrp")
    circles = [circle for circle in networkx.strongly_connected_components(imports) if len(circle) > 1]
    assert len(imports) > 300
    assert not circles, "\n".join(", ".join(sorted(circle)) for circle in circles)


def test_only_the_registry_and_the_public_names_name_the_laboratory_in_strings():
    """Modules that are named in strings are imported when they are needed, which the linter of imports does not see."""
    product = [path for path in SOURCES if path.parts[0] in ROOMS and path.parts[0] != "validation"]
    named = {str(path) for path in product if re.search(r"[\"']edrp\.validation\b", (ROOT / path).read_text(encoding="utf-8"))}
    assert named == {"edrp/__init__.py", "edrp/method_modules.py"}


def is_positive(length: ast.expr) -> bool:
    """Whether an axis has a length that is written down: a number or a constant."""
    name = getattr(length, "id", getattr(length, "attr", ""))
    return isinstance(length, ast.Constant) or bool(name and name.isupper())


def test_reshape_is_not_asked_for_a_length_that_it_cannot_know():
    """Where another axis may have length 0, as that of a block without deployments has, `reshape` with -1 raises ValueError."""
    places = []
    for path in SOURCES:
        text = (ROOT / path).read_text(encoding="utf-8") if path.parts[0] in ROOMS else ""
        for call in ast.walk(ast.parse(text)) if ".reshape(" in text else ():
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "reshape":
                lengths = call.args[0].elts if isinstance(call.args[0], ast.Tuple) else call.args
                free = [length for length in lengths if isinstance(length, ast.UnaryOp)]
                if free and not all(is_positive(length) for length in lengths if length not in free):
                    places.append(f"{path}:{call.lineno}: use edrp.core.arrays.flattened, or give the length")
    assert not places, "\n".join(places)
