"""Console blocks of documentation: their commands, and whether an output is the one that they show."""

import re
from pathlib import Path

OMITTED = "…"
"""A line that stands for lines that are left out; within a line, for what is left out of it."""

VARYING = re.compile(r"\b[0-9a-f]{12}\b|\bnode-[abc]\b|\b\d+(?:[.,:–]\d+)*(?:e[+-]?\d+)?")
"""What differs between two runs on a real cluster: identifiers of plans, which node it is, numbers and ranges."""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[tuple[str, list[str]]]:
    """Every command of a console block with the lines that are shown of its output."""
    shown: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            shown.append((line.removeprefix("$ "), []))
        else:
            shown[-1][1].append(line)
    return shown


def is_shown(lines: list[str], printed: str) -> bool:
    """Whether lines of documentation are all of an output, in its order, but for what is marked as left out."""
    parts = ["(?:.*\n)+" if line == OMITTED else re.escape(line).replace(OMITTED, ".*") + " *\n" for line in lines]
    return re.fullmatch("".join(parts), printed) is not None


def masked(text: str) -> str:
    """A text in which "#" stands for all that varies; plurals and the width of columns follow it."""
    hidden = VARYING.sub("#", text)
    return re.sub(r"(?<=\S) +", " ", re.sub(r"# (task|tuple|step|move)s?\b", r"# \1s", hidden))
