"""Facts about the layout and the wording of the code, of one checkout or of several side by side; needs no installed package.

    python benchmarks/house.py                      # a Markdown table for this checkout
    python benchmarks/house.py ../before .          # before and after
    python benchmarks/house.py --list circles       # the places behind one row, by its key

Only tracked files count, and they are read, never imported. "Product" is the six rooms; `a + b` is product + everything else
(tests, benchmarks, examples; also Markdown for archaic words, without the change log). This command is in no row about words.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

from house_sources import FRONT_DOOR, ROOMS, House, Row, is_command
from house_words import LOOP_NAMES, archaic, bounds, endings, loops, openings, sentences, words

MAX_LINES, MAX_FUNCTION, MAX_PARAMETERS = 400, 60, 8
ROLES = {"__init__", "__main__", "problem", "solution", "kind", "method", "methods", "metrics", "claims", "report"}
"""Basenames that say the same in every topic and every paper."""


def size(house: House, *folders: str) -> Row:
    """Lines and files of folders, and the lines of each file."""
    lines = {source: source.lines for source in house.sources if source.path.parts[0] in folders}
    return f"{sum(lines.values()):,} in {len(lines)} files", [source.at(1, count) for source, count in lines.items()]


def plain(places: list[str]) -> Row:
    """A row that counts its places."""
    return str(len(places)), places


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
    several = {name: paths for name, paths in where.items() if len(paths) > 1}
    return plain([f"{name}: {' '.join(paths)}" for name, paths in sorted(several.items())])


def long_functions(house: House, documented: bool) -> Row:
    """Functions above the ceiling, with or without the lines of their docstring."""
    rows = []
    for source in house.product:
        for node in source.functions:
            doc = node.body[0] if ast.get_docstring(node) is not None else None
            lines = node.end_lineno - node.lineno + 1 - (doc.end_lineno - doc.lineno + 1 if doc and not documented else 0)
            if lines > MAX_FUNCTION:
                rows.append((lines, source.at(node.lineno, f"{node.name} {lines}")))
    return plain([place for _, place in sorted(rows, reverse=True)])


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


def circles(house: House) -> Row:
    """Import circles, and the imports within them."""
    places = []
    for number, circle in enumerate(house.circles, 1):
        inner = [(a, line, b) for a, line, b in house.imports if {a.module, b.module} <= circle]
        places += [f"circle {number}: {a.at(line, f'→ {b.module}')}" for a, line, b in inner]
    return f"{len(house.circles)} of {sum(map(len, house.circles))} modules", places


def crossing(house: House, way: str) -> Row:
    """Imports `up` to a higher floor, from the `front door`, or `across` between rooms of one floor; in the new layout only."""
    if not any(source.path.is_relative_to("edrp/core") for source in house.product):
        return "–", []
    rows = {"up": [], "front door": [], "across": []}
    for importing, line, imported in house.imports:
        place = importing.at(line, f"→ {imported.module}")
        if imported.floor > importing.floor:
            rows["front door" if imported.floor == FRONT_DOOR else "up"].append(place)
        elif imported.floor == importing.floor and imported.folder != importing.folder:
            rows["across"].append(place)
    return plain(rows[way])


def document(house: House, name: str) -> Row:
    """Bytes of a document."""
    path = house.checkout / name
    return f"{path.stat().st_size:,}" if path.exists() else "–", [name]


def facts(house: House) -> list[tuple[str, str, Row]]:
    """Key, title and row of everything that is counted."""
    return [
        ("product", "product, lines", size(house, *ROOMS)),
        ("with-benchmarks", "product and benchmarks, lines", size(house, *ROOMS, "benchmarks")),
        ("tests", "tests, lines", size(house, "tests")),
        ("median", "median lines of a product file", (f"{median(s.lines for s in house.product):.0f}", [])),
        ("long-files", f"files above {MAX_LINES} lines", plain([s.at(1, s.lines) for s in house.product if s.lines > MAX_LINES])),
        ("loose", "loose files at the top of rooms", loose(house)),
        ("basenames", "basenames that stand for different things", basenames(house)),
        ("classes", "names of classes that stand in several files", classes(house)),
        ("long-code", f"functions above {MAX_FUNCTION} lines without docstring", long_functions(house, documented=False)),
        ("long-functions", f"functions above {MAX_FUNCTION} lines with docstring", long_functions(house, documented=True)),
        ("parameters", f"functions above {MAX_PARAMETERS} parameters", parameters(house)),
        ("circles", "import circles, annotations and functions included", circles(house)),
        ("up", "imports from a higher floor", crossing(house, "up")),
        ("front-door", "imports from the front door", crossing(house, "front door")),
        ("across", "imports between rooms of one floor", crossing(house, "across")),
        ("bounds", "constants MOST_, LEAST_, LARGEST_, LONGEST_, SHORTEST_", bounds(house)),
        ("of", "functions named ..._of", endings(house)),
        ("each", "loop variables `each`", loops(house, ("each",))),
        ("loops", f"loop variables {', '.join(LOOP_NAMES[1:])}", loops(house, LOOP_NAMES[1:])),
        *words(house),
        ("archaic", "anew, dear(er), beside, whoever … in texts", archaic(house)),
        *((f"docs-{w}", f"docstrings that begin with {w}", openings(house, w, helps=False)) for w in ("Of", "What")),
        *((f"helps-{w}", f"help texts that begin with {w}", openings(house, w, helps=True)) for w in ("Of", "What")),
        ("sentences", "later sentences of docstrings that begin with Of or What", sentences(house)),
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
