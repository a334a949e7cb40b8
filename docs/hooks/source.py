"""Shows mkdocstrings the package as it is installed: the rooms that lie next to `edrp/` are folders inside it.

Only sources that the pages of the API need are shown, because all of them are parsed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from properdocs.config.defaults import ProperDocsConfig
from properdocs.plugins import event_priority

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("formulations", "heuristics", "mdp", "datasets", "validation")
LEFT_OUT = (
    "edrp/auto", "edrp/cli", "edrp/report", "formulations/enactment", "formulations/mapping",
    "formulations/migration", "formulations/placement", "heuristics/mapping", "heuristics/migration", "heuristics/placement",
    "validation/fuzzing", "validation/papers", "validation/simulation",
)  # fmt: skip
"""Folders of which no page of the API shows anything."""

_TREES: list[tempfile.TemporaryDirectory[str]] = []


@event_priority(100)
def on_config(config: ProperDocsConfig) -> ProperDocsConfig:
    """Link the sources into a folder of their own and tell mkdocstrings of it, before it reads its settings."""
    tree = tempfile.TemporaryDirectory(prefix="edrp-api-")
    _TREES.append(tree)
    for source in sources():
        inside = source.relative_to(ROOT) if source.is_relative_to(ROOT / "edrp") else Path("edrp", source.relative_to(ROOT))
        link = Path(tree.name, inside)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(source)
    config.plugins["mkdocstrings"].config["handlers"]["python"]["paths"] = [tree.name]
    return config


def on_shutdown() -> None:
    """Remove the links."""
    while _TREES:
        _TREES.pop().cleanup()


def sources() -> list[Path]:
    """Files of the package that are shown."""
    every = [path for folder in ("edrp", *ROOMS) for path in (ROOT / folder).rglob("*.py")]
    return [path for path in every if not path.relative_to(ROOT).as_posix().startswith(tuple(f"{name}/" for name in LEFT_OUT))]
