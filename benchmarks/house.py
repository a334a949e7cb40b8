"""Facts about the layout and the wording of the code, of one checkout or of several side by side; needs no installed package.

    python benchmarks/house.py                      # a Markdown table for this checkout
    python benchmarks/house.py ../before .          # before and after
    python benchmarks/house.py --list classes       # the places behind one row, by its key

Only tracked files count, and they are read, never imported. "Product" is the six rooms. Rows about words count the product and
everything else (tests, benchmarks, examples) together, without this command. Who imports whom, `make lint` checks.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path, PurePosixPath
from statistics import median

ROOMS = ("edrp", "formulations", "heuristics", "mdp", "datasets", "validation")
TOPICS = ("placement", "migration", "enactment", "mapping")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Row = tuple[str, list[str]]
"""The cell of a row and the places behind it."""
MAX_LINES, MAX_FUNCTION, MAX_PARAMETERS = 400, 60, 8
ROLES = {"__init__", "__main__", "problem", "solution", "kind", "method", "methods", "metrics", "claims", "report"}
"""Basenames that say the same in every topic and every paper."""

PLACEMENT = "heuristics/placement"
SMALL = 1e-3
"""Constants below this are tolerances."""

CLOCKS = ("perf_counter", "monotonic", "process_time", "time")
PRIVATE_WORDS = {
    *("crowd", "ledger", "draft", "accounts", "forage", "march", "taste", "tally", "quiet", "eye", "reply", "follower"),
    *("anew", "dear", "dearer", "dearest", "beside", "whoever", "asked", "said", "told", "given", "spot"),
}
"""Parts of identifiers and of file names that the field does not use; plurals count too."""


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

    @property
    def topic(self) -> str | None:
        """The topic of a path, from a folder or the file's own name; all papers count as one topic, and `mdp` as migration."""
        if self.path.parts[:2] == ("validation", "papers"):
            return "papers"
        if self.path.parts[0] == "mdp":
            return "migration"
        return next((part for part in self.path.with_suffix("").parts[1:] if part in TOPICS), None)

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
        self.worded = [source for source in self.sources if source.path.stem != "house"]


def size(house: House, *folders: str) -> Row:
    """Lines and files of folders, and the lines of each file."""
    lines = {source: source.lines for source in house.sources if source.path.parts[0] in folders}
    return f"{sum(lines.values()):,} in {len(lines)} files", [source.at(1, count) for source, count in lines.items()]


def plain(places: Iterable[str]) -> Row:
    """A row that counts its places."""
    listed = list(places)
    return f"{len(listed):,}", listed


def loose(house: House) -> Row:
    """Files at the top of a room."""
    files = [s for s in house.product if len(s.path.parts) == 2 and s.path.name != "__init__.py"]
    count = Counter(s.path.parts[0] for s in files)
    return f"{len(files)} ({', '.join(f'{room} {count[room]}' for room in ROOMS)})", [str(s.path) for s in files]


def basenames(house: House) -> Row:
    """Basenames that stand in different topics or in several folders without a topic."""
    files = defaultdict(list)
    for source in house.product:
        if source.path.stem not in ROLES:
            files[source.path.stem].append(source)
    several = [group for group in files.values() if len(group) > 1 and (len({s.topic for s in group}) > 1 or not group[0].topic)]
    places = [f"{group[0].path.stem}: {' '.join(str(s.path) for s in group)}" for group in several]
    return f"{len(several)} basenames, {sum(map(len, several))} files", sorted(places)


def classes(house: House) -> Row:
    """Names of classes at the top of several files."""
    where = defaultdict(list)
    for source in house.product:
        for node in source.nodes[0].body:
            if isinstance(node, ast.ClassDef):
                where[node.name].append(str(source.path))
    return plain(f"{name}: {' '.join(paths)}" for name, paths in sorted(where.items()) if len(paths) > 1)


def long_functions(house: House, documented: bool) -> Row:
    """Functions above the ceiling, with or without the lines of their docstring."""
    rows = []
    for source in house.product:
        for node in source.functions:
            doc = node.body[0] if ast.get_docstring(node) is not None else None
            lines = node.end_lineno - node.lineno + 1 - (doc.end_lineno - doc.lineno + 1 if doc and not documented else 0)
            if lines > MAX_FUNCTION:
                rows.append((lines, source.at(node.lineno, f"{node.name} {lines}")))
    return plain(place for _, place in sorted(rows, reverse=True))


def parameters(house: House) -> Row:
    """Functions with too many parameters, `self` and `cls` not counted."""
    rows = []
    for source in house.product:
        for node in source.functions:
            names = [arg.arg for arg in ast.iter_child_nodes(node.args) if isinstance(arg, ast.arg)]
            names = [name for name in names if name not in ("self", "cls")]
            if len(names) > MAX_PARAMETERS:
                rows.append((len(names), is_command(node), source.at(node.lineno, f"{node.name} {len(names)}")))
    return f"{len(rows)}, {sum(row[1] for row in rows)} of them commands", [row[2] for row in sorted(rows, reverse=True)]


def native(house: House) -> tuple[Row, Row]:
    """Lines of C++, and the kernels that Python calls."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(house.checkout.glob("edrp/native/**/*.[hc]pp"))}
    kernels = [name for text in texts.values() for name in re.findall(r'kernel<[^"]*>\("(\w+)"', text)]
    lines = sum(text.count("\n") for text in texts.values())
    return (f"{lines:,} in {len(texts)} files", [str(path.relative_to(house.checkout)) for path in texts]), plain(kernels)


def placement_classes(house: House, ending: str) -> Row:
    """Classes of the searches for placements by the end of their names."""
    found = ((s, n) for s in house.product if s.path.is_relative_to(PLACEMENT) for n in s.nodes if isinstance(n, ast.ClassDef))
    return plain(source.at(node.lineno, node.name) for source, node in found if re.search(ending, node.name))


def placement_functions(house: House, beginning: str) -> Row:
    """Functions of the searches for placements by the beginning of their names."""
    found = ((s, n) for s in house.product if s.path.is_relative_to(PLACEMENT) for n in s.functions)
    return plain(source.at(node.lineno, node.name) for source, node in found if re.match(beginning, node.name))


def composers(house: House) -> Row:
    """Functions outside the laboratory that return one of several answers or solutions, by a comparison of objectives."""
    rows = []
    for source in house.product:
        for node in source.functions if source.path.parts[0] != "validation" else ():
            returned = ast.unparse(node.returns) if node.returns else ""
            calls = [n for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
            chosen = [n for n in ast.walk(node) if isinstance(n, ast.Compare)]
            chosen += [call for call in calls if call.func.id in ("min", "max")]
            if re.search(r"Answer|Solution", returned) and any(_objectives(n) > 0 for n in chosen):
                rows.append(source.at(node.lineno, node.name))
    return plain(rows)


def _objectives(node: ast.AST) -> int:
    """Objectives of answers in an expression, without tests for None."""
    if isinstance(node, ast.Compare) and any(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops):
        return 0
    return sum(isinstance(part, ast.Attribute) and part.attr == "objective" for part in ast.walk(node))


def _constants(house: House, *, costs: bool = True) -> Iterator[tuple[Source, ast.Name, float]]:
    """Named numbers at the top of product files, with or without what steps cost in units of work."""
    for source in house.product:
        for node, following in pairwise([*source.nodes[0].body, ast.Pass()]):
            if not costs and isinstance(following, ast.Expr) and "nits of work" in ast.unparse(following):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
            for target in targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                for name, value in pairs:
                    number = getattr(value, "value", None)
                    if isinstance(name, ast.Name) and name.id.isupper() and type(number) in (int, float):
                        yield source, name, float(number)


def tolerances(house: House) -> Row:
    """Named constants between 0 and 0.001 that are no costs of work."""
    small = ((s, name, value) for s, name, value in _constants(house, costs=False) if 0 < value < SMALL)
    return plain(s.at(name.lineno, f"{name.id} {value:g}") for s, name, value in small)


def repeated_constants(house: House) -> Row:
    """Names of constants that have several values in several files."""
    where = defaultdict(list)
    for source, name, value in _constants(house):
        where[name.id].append((value, str(source.path)))
    several = {name: found for name, found in where.items() if len({value for value, _ in found}) > 1}
    return plain(f"{name}: {', '.join(f'{value:g} {path}' for value, path in found)}" for name, found in sorted(several.items()))


def clocks(house: House) -> Row:
    """Names of clocks in the product outside the laboratory."""
    return plain(
        source.at(node.lineno, node.attr if isinstance(node, ast.Attribute) else node.id)
        for source in house.product
        if source.path.parts[0] != "validation"
        for node in source.nodes
        if (isinstance(node, ast.Attribute) and ast.unparse(node.value) == "time" and node.attr in CLOCKS)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in CLOCKS[:-1])
    )


def document(house: House, name: str) -> Row:
    """Bytes of a document."""
    path = house.checkout / name
    return f"{path.stat().st_size:,}" if path.exists() else "–", [name]


def private_words(house: House) -> Row:
    """Identifiers with a word that the field does not use, each once per line."""
    return plain(
        source.at(line, name)
        for source in house.worded
        for line, name in dict.fromkeys([(1, source.path.stem), *source.identifiers()])
        if name_words(name) & PRIVATE_WORDS
    )


def facts(house: House) -> list[tuple[str, str, Row]]:
    """Key, title and row of everything that is counted."""
    return [
        *((room, f"{room}/, lines", size(house, room)) for room in (*ROOMS, "benchmarks", "examples")),
        ("product", "product, lines", size(house, *ROOMS)),
        ("with-benchmarks", "product and benchmarks, lines", size(house, *ROOMS, "benchmarks")),
        ("tests", "tests, lines", size(house, "tests")),
        ("median", "median lines of a product file", (f"{median(s.lines for s in house.product):.0f}", [])),
        ("long-files", f"files above {MAX_LINES} lines", plain(s.at(1, s.lines) for s in house.product if s.lines > MAX_LINES)),
        ("loose", "loose files at the top of rooms", loose(house)),
        ("basenames", "basenames that stand for different things", basenames(house)),
        ("classes", "names of classes that stand in several files", classes(house)),
        ("long-code", f"functions above {MAX_FUNCTION} lines without docstring", long_functions(house, documented=False)),
        ("long-functions", f"functions above {MAX_FUNCTION} lines with docstring", long_functions(house, documented=True)),
        ("parameters", f"functions above {MAX_PARAMETERS} parameters", parameters(house)),
        ("native", "edrp/native, lines of C++", native(house)[0]),
        ("kernels", "kernels", native(house)[1]),
        ("states", "search states of placements (classes …State, …Evaluation)", placement_classes(house, "(State|Evaluation)$")),
        ("annealers", "annealers of placements (functions anneal…)", placement_functions(house, r"anneal(_|$)")),
        ("climbers", "climbers of placements (functions climb…)", placement_functions(house, r"_?climb")),
        ("composers", "functions that return the better of several answers", composers(house)),
        ("tolerances", f"named constants between 0 and {SMALL:g} that are no costs of work", tolerances(house)),
        ("constants", "named numbers", plain(s.at(name.lineno, f"{name.id} {v:g}") for s, name, v in _constants(house))),
        ("repeated", "names of numbers with several values", repeated_constants(house)),
        ("clocks", "uses of a clock outside validation", clocks(house)),
        ("words", "identifiers with private words", private_words(house)),
        *((name, f"{name}, bytes", document(house, name)) for name in ("README.md", "ARCHITECTURE.md")),
    ]


def main() -> None:
    """Print the table, or the places behind one row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, help="folders of checkouts; default: the one of this file")
    parser.add_argument("--list", metavar="KEY", help="print the places behind this row instead")
    options = parser.parse_args()
    checkouts = options.checkouts or [Path(__file__).resolve().parents[1]]
    columns = [facts(House(checkout)) for checkout in checkouts]
    keys = [key for key, *_ in columns[0]]
    if options.list:
        if options.list not in keys:
            parser.error(f"no row {options.list}; rows: {', '.join(keys)}")
        print("\n".join(place for column in columns for place in column[keys.index(options.list)][2][1]))
        return
    print("| key | fact |", " | ".join(map(str, checkouts)), "|\n|---|---|" + "---|" * len(checkouts))
    for number, (key, title, _) in enumerate(columns[0]):
        print(f"| {key} | {title} |", " | ".join(column[number][2][0] for column in columns), "|")


if __name__ == "__main__":
    main()
