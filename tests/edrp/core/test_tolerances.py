"""A tolerance is a name in `edrp/core/tolerances.py`, and says there what it guards.

The checker of certificates stands alone on purpose and has its own.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from edrp.core import tolerances

ROOT = Path(__file__).resolve().parents[3]
HOME = Path(tolerances.__file__).resolve()
ROOMS = ("edrp", "formulations", "heuristics", "mdp", "datasets", "validation")
WORK = "Units of work"
"""Words in the docstring of what a step costs, which is no tolerance."""


def constants(text: str) -> Iterator[tuple[int, list[str], list[object], str]]:
    """Line, names, literal values and docstring of each assignment at the top of a module."""
    body = ast.parse(text).body
    for node, following in pairwise([*body, ast.Expr(ast.Constant(None))]):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        parts = value.elts if isinstance(value, ast.Tuple) and len(names) > 1 else [value]
        docstring = following.value.value if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant) else ""
        yield node.lineno, names, [part.value for part in parts if isinstance(part, ast.Constant)], str(docstring or "")


def test_no_other_module_has_a_tolerance():
    files = {path: path.read_text(encoding="utf-8") for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    checker = ROOT / "edrp" / "certificates" / "checker"
    wrong = [
        f"{path.relative_to(ROOT)}:{line} {', '.join(names)}"
        for path, text in files.items()
        if path != HOME and checker not in path.parents and re.search(r"\de-|\.0000", text)
        for line, names, values, docstring in constants(text)
        if WORK not in docstring and any(isinstance(value, float) and 1e-16 < value < 1e-5 for value in values)
    ]
    assert len(files) > 300
    assert not wrong, "\n".join(wrong)


def test_each_tolerance_has_a_docstring_and_a_use():
    names, uses = set(), set()
    for _, defined, values, docstring in constants(HOME.read_text(encoding="utf-8")):
        if defined and values:
            assert docstring, defined
            names.update(defined)
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if "tolerances" in text and path != HOME:
                uses |= {name for node in ast.walk(ast.parse(text)) for name in _from_home(node)}
    kernels = " ".join(path.read_text(encoding="utf-8") for path in (ROOT / "edrp/native").rglob("*.[hc]pp"))
    assert names - uses - set(re.findall(r"\w+", kernels)) == set()


def _from_home(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tolerances":
        return [node.attr]
    return (
        [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) and node.module == "edrp.core.tolerances" else []
    )


@pytest.mark.parametrize(
    ("finer", "coarser"),
    [
        ("LABEL_USE_SLACK", "MAP_USE_SLACK"),
        ("MAP_USE_SLACK", "MAP_LAYER_SLACK"),
        ("MAP_LAYER_SLACK", "LIMIT_SLACK"),
        ("COUNTED_LOAD_SLACK", "LIMIT_SLACK"),
        ("TIED_OBJECTIVE", "TIE_MOVE"),
        ("TIE_NODE", "TIE_MOVE"),
        ("TIE_MOVE", "TIE_COST"),
        ("TIE_COST", "OPTIMALITY_GAP"),
        ("SAME_VALUE", "CONTRADICTION"),
    ],
)
def test_tolerances_are_ordered_as_their_reasons_say(finer, coarser):
    assert getattr(tolerances, finer) < getattr(tolerances, coarser)
