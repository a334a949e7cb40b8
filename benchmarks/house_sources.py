"""The tracked Python files of a checkout, as `house.py` counts them: names, docstrings, help texts, imports and their circles."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

ROOMS = ("edrp", "formulations", "heuristics", "mdp", "datasets", "validation")
TOPICS = ("placement", "migration", "enactment", "mapping")
FRONT_DOOR = 4
FLOORS = {
    **{"edrp/core": 0, "edrp/backends": 1, "edrp/batch": 1, "edrp/report": 1},
    **{f"edrp/{topic}": 2 for topic in TOPICS},
    **{"edrp/replanning": 3, "formulations": 3, "heuristics": 3, "mdp": 3, "datasets": 3},
    **{"validation/simulation": 5, "validation/oracles": 6, "validation/fuzzing": 9, "validation": 7},
    **{"edrp/cli": 8, "edrp/__init__.py": 9, "edrp/__main__.py": 9, "edrp/explorer/notebook.py": 9, "edrp": FRONT_DOOR},
}
"""Folders by height, the first that fits; rooms that are equally high share a floor, what else is in `edrp` is the front door.

The laboratory (`validation`) stands on the product, and the command line, which opens both, on the laboratory;
`edrp/__init__.py` is the list of public names, which are of all rooms.
"""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LAZY_NAME = re.compile(r"(edrp(?:\.\w+){2,})(?::\w+)?")
"""A module of ours in a string, perhaps with what is taken from it."""
Row = tuple[str, list[str]]
"""The cell of a row and the places behind it."""


@dataclass(frozen=True)
class Source:
    """A Python file: its path in the checkout, its text and its syntax tree."""

    path: PurePosixPath
    text: str

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the syntax tree, the module first."""
        return list(ast.walk(ast.parse(self.text)))

    @property
    def product(self) -> bool:
        """Whether the file is in one of the rooms."""
        return self.path.parts[0] in ROOMS

    @property
    def lines(self) -> int:
        """Number of lines."""
        return self.text.count("\n")

    @cached_property
    def module(self) -> str:
        """The name under which the file is imported; a package stands for its `__init__`."""
        parts = self.path.with_suffix("").parts
        return ".".join((() if parts[0] == "edrp" else ("edrp",)) + parts).removesuffix(".__init__")

    @property
    def package(self) -> str:
        """The package that the file is in."""
        return self.module if self.path.stem == "__init__" else self.module.rpartition(".")[0]

    @property
    def topic(self) -> str | None:
        """The topic of a path, from a folder or the file's own name; all papers count as one topic, and `mdp` as migration."""
        if self.path.parts[:2] == ("validation", "papers"):
            return "papers"
        if self.path.parts[0] == "mdp":
            return "migration"
        return next((part for part in self.path.with_suffix("").parts[1:] if part in TOPICS), None)

    @property
    def folder(self) -> str:
        """The folder among those of `FLOORS` that the file is in."""
        return next(folder for folder in FLOORS if self.path.is_relative_to(folder))

    @property
    def floor(self) -> int:
        """Height of that folder."""
        return FLOORS[self.folder]

    @cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """All functions and methods, inner ones included."""
        return [node for node in self.nodes if isinstance(node, FUNCTIONS)]

    def at(self, line: int, what: object) -> str:
        """A line of output: the place, and what is there."""
        return f"{self.path}:{line} {what}"

    def identifiers(self) -> Iterator[tuple[int, str]]:
        """Line and name of all that is defined, bound or used by name."""
        for node in self.nodes:
            for field in ("name", "asname", "id", "attr", "arg"):
                name = getattr(node, field, None)
                if isinstance(name, str):
                    yield getattr(node, "lineno", 1), name.split(".")[-1]

    def named_modules(self) -> Iterator[tuple[int, str]]:
        """Line and name of all that is imported, anywhere in the file, or named in a string to be imported when it is needed."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
            elif isinstance(node, ast.Constant) and (lazy := LAZY_NAME.fullmatch(str(node.value))):
                yield node.lineno, lazy[1]


def is_command(node: ast.AST) -> bool:
    """Whether a function is a command of a command line."""
    return any(
        isinstance(d, ast.Call) and isinstance(d.func, ast.Attribute) and d.func.attr in ("command", "callback")
        for d in getattr(node, "decorator_list", [])
    )


def name_words(name: str) -> set[str]:
    """The words of an identifier in small letters, plurals also without their s."""
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    return words | {word.removesuffix("s") for word in words}


class House:
    """The tracked Python files of a checkout."""

    def __init__(self, checkout: Path) -> None:
        self.checkout = checkout
        listed = subprocess.run(["git", "-C", str(checkout), "ls-files"], capture_output=True, text=True, check=True).stdout
        self.tracked = [PurePosixPath(line) for line in listed.splitlines() if (checkout / line).is_file()]
        paths = [path for path in self.tracked if path.suffix == ".py"]
        self.sources = [Source(path, (checkout / path).read_text()) for path in paths]
        self.product = [source for source in self.sources if source.product]
        self.worded = [source for source in self.sources if source.path.stem not in ("house", "house_sources")]

    @cached_property
    def imports(self) -> list[tuple[Source, int, Source]]:
        """Importing file, line and imported file, anywhere in a file; of a package only what its own `__init__` binds."""
        modules = {source.module: source for source in self.product}
        rows = []
        for source in self.product:
            for node in source.nodes:
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
                if isinstance(node, ast.ImportFrom):
                    base = f"{source.package}.{node.module}" if node.level else str(node.module)
                    names = [whole if (whole := f"{base}.{name}") in modules else base for name in names]
                rows += [(source, node.lineno, modules[name]) for name in dict.fromkeys(names) if name in modules]
        return [row for row in rows if row[0] is not row[2]]

    @cached_property
    def circles(self) -> list[set[str]]:
        """Sets of more than one module that all import one another, directly or through others."""
        forward, backward = defaultdict(set), defaultdict(set)
        for importing, _, imported in self.imports:
            forward[importing.module].add(imported.module)
            backward[imported.module].add(importing.module)
        rows: list[set[str]] = []
        left = set(forward) & set(backward)
        while left:
            start = min(left)
            rows.append(reachable(start, forward) & reachable(start, backward))
            left -= rows[-1]
        return [row for row in rows if len(row) > 1]


def reachable(start: str, edges: dict[str, set[str]]) -> set[str]:
    """The start and all that can be reached from it."""
    seen, waiting = {start}, [start]
    while waiting:
        new = edges.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return seen
