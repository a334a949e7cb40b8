"""Rows of `house.py` about words: private or archaic words, and sentences that begin with Of or What."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict

from house_sources import LOOPS, House, Row, Source, name_words

PRIVATE_WORDS = (
    *("crowd", "ledger", "draft", "accounts", "forage", "march", "taste", "tally", "quiet", "eye", "reply", "follower"),
    *("anew", "dear", "dearer", "dearest", "beside", "whoever", "asked", "said", "told", "given"),
)
"""Parts of identifiers and of file names; plurals count too."""
EXACT_NAMES = ("empty_sweep", "Spot", "found")
MODULE_NAMES = ("words", "report_words")
LOOP_NAMES = ("each", "place", "most", "least", "told", "said", "given", "asked")
BOUND = re.compile(r"_?(MOST|LEAST|LARGEST|LONGEST|SHORTEST)_")
ARCHAIC = re.compile(r"\b(anew|dear(?:er|est|ly)?|beside|whoever|its alone|no thought at all)\b", re.IGNORECASE)
SENTENCE = re.compile(r"(?:^[ \t]*|[.!?][ \t\n]+)(Of|What)\b", re.MULTILINE)
TEXT_TOKENS = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def both(places: list[tuple[Source, str]]) -> Row:
    """A row that counts places in the product and elsewhere."""
    return f"{sum(s.product for s, _ in places)} + {sum(not s.product for s, _ in places)}", [place for _, place in places]


def bounds(house: House) -> Row:
    """Constants whose names say most, least, largest … instead of max and min."""
    stored = [(s, n) for s in house.worded for n in s.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return both([(s, s.at(n.lineno, n.id)) for s, n in stored if BOUND.match(n.id)])


def endings(house: House) -> Row:
    """Functions named ..._of."""
    return both([(s, s.at(n.lineno, n.name)) for s in house.worded for n in s.functions if n.name.endswith("_of")])


def loops(house: House, names: tuple[str, ...]) -> Row:
    """Loop variables that do not name their element."""
    rows = []
    for source in house.worded:
        targets = [name for node in source.nodes if isinstance(node, LOOPS) for name in ast.walk(node.target)]
        rows += [(source, source.at(t.lineno, t.id)) for t in targets if isinstance(t, ast.Name) and t.id in names]
    return both(rows)


def words(house: House) -> list[tuple[str, str, Row]]:
    """One row per private word: places in identifiers, each name once per line, and files named by it."""
    rows = defaultdict(list)
    for source in house.worded:
        named = dict.fromkeys([(1, source.path.stem), *source.identifiers()])
        for line, name in named:
            for word in name_words(name) & set(PRIVATE_WORDS) | {name} & set(EXACT_NAMES):
                rows[word].append((source, source.at(line, name)))
        if source.path.stem in MODULE_NAMES:
            rows["modules"].append((source, str(source.path)))
    places = [(word, f"identifiers with `{word}`") for word in (*PRIVATE_WORDS, *EXACT_NAMES)]
    return [(f"word-{key}", title, both(rows[key])) for key, title in [*places, ("modules", "modules named words, report_words")]]


def archaic(house: House) -> Row:
    """Archaic words in docstrings, other strings, comments and Markdown."""
    rows = []
    for source in house.worded:
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
            text, line = (token.string, token.start[0]) if token.type in TEXT_TOKENS else ("", 0)
            rows += [(source, source.at(line + text[: m.start()].count("\n"), m[0])) for m in ARCHAIC.finditer(text)]
    for path in house.tracked:
        if path.suffix == ".md" and path.name != "CHANGELOG.md":
            source = Source(path, (house.checkout / path).read_text())
            rows += [(source, source.at(source.text[: m.start()].count("\n") + 1, m[0])) for m in ARCHAIC.finditer(source.text)]
    return both(rows)


def openings(house: House, word: str, helps: bool) -> Row:
    """Docstrings or help texts that begin with a word."""
    texts = [(s, line, text) for s in house.worded for line, text in (s.helps() if helps else s.docstrings())]
    return both([(s, s.at(line, text.splitlines()[0])) for s, line, text in texts if re.match(rf"{word}\b", text)])


def sentences(house: House) -> Row:
    """Later sentences and items of docstrings that begin with Of or What."""
    rows = []
    for source in house.worded:
        for line, text in source.docstrings():
            for match in SENTENCE.finditer(text, 1):
                place = line + text[: match.start(1)].count("\n")
                rows.append((source, source.at(place, text[match.start(1) :].splitlines()[0])))
    return both(rows)
