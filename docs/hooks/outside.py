"""Brings into the site what lies outside `docs/`: the README, pages for developers, changelog, licence, examples and findings.

In the checkout all pages link to one another as files do. Here they get the addresses that they have in the site.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path

from properdocs.config.defaults import ProperDocsConfig
from properdocs.structure.files import File, Files
from properdocs.structure.pages import Page

from edrp.core.kinds import kinds

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "explanation/architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages of the checkout that lie outside `docs/`, and where they are in the site."""

EXAMPLES = "examples/index.md"
"""The page that lists the examples."""

DESCRIPTIONS = {
    ".ipynb": "a notebook",
    ".java": "a job of Flink",
    ".json": "a problem",
    ".py": "a script",
    ".toml": "settings of the template package",
    ".zip": "a capture of a running Flink job",
}
"""Descriptions of examples by their suffix."""

LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: ProperDocsConfig) -> Files:
    """Add the pages, the examples, the scripts of findings, and the licence and citation, to which the README links."""
    for path, place in PAGES.items():
        files.append(File.generated(config, place, content=(ROOT / path).read_text(encoding="utf-8")))
    scripts = sorted((ROOT / "findings").glob("*.sh"))
    for path in (*(ROOT / name for name in ("LICENSE", "CITATION.cff")), *examples(), *scripts):
        files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    files.append(File.generated(config, EXAMPLES, content=example_page()))
    return files


def on_page_markdown(markdown: str, page: Page, config: ProperDocsConfig, files: Files) -> str:
    """Give links to other files of the checkout the addresses that these have in the site; code is left as it is."""
    parts = CODE.split(markdown)
    place = page.file.src_uri
    parts[::2] = [LINK.sub(lambda match: match[1] + address(match[2], place) + match[3], part) for part in parts[::2]]
    return "".join(parts)


def address(target: str, place: str) -> str:
    """Target of a link of the page `place`, relative to that page in the site."""
    if re.match(r"[a-z]+:", target):
        return target
    outside = {site: path for path, site in PAGES.items()}
    own = outside.get(place) or (place if place == EXAMPLES else f"docs/{place}")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(own), target))
    if path == "examples":
        path = EXAMPLES
    inside = PAGES.get(path, path.removeprefix("docs/"))
    return posixpath.relpath(inside, posixpath.dirname(place) or ".")


def examples() -> list[Path]:
    """Files of `examples/`, those of the template package included."""
    return sorted(path for path in (ROOT / "examples").rglob("*") if path.suffix in DESCRIPTIONS)


def example_page() -> str:
    """A table of the examples, with the kind of each document or the first sentence of each script."""
    names = [(path.relative_to(ROOT / "examples").as_posix(), path) for path in examples()]
    rows = [f"| [{name}]({name}) | {described(path)} |" for name, path in names]
    return "\n".join(
        ["# Examples", "", "The files that pages of this site use.", "", "| file | what it is |", "|---|---|", *rows, ""]
    )


def described(path: Path) -> str:
    """Description of a file of the examples, in a few words."""
    if path.suffix == ".json":
        kind = json.loads(path.read_text(encoding="utf-8"))["kind"]
        return f"a problem of kind [`{kind}`](../reference/kinds/{kind}.md)" if kind in kinds() else f"a problem of kind `{kind}`"
    if path.suffix == ".py":
        found = re.match(r'"""(.*?)(?:"""|\n\n)', path.read_text(encoding="utf-8"), re.DOTALL)
        return " ".join(found[1].split()) if found else DESCRIPTIONS[".py"]
    return DESCRIPTIONS[path.suffix]
