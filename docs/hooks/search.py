"""Lets the search work where the site is opened as files: browsers load no JSON from files, but scripts."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority


@event_priority(-100)
def on_post_build(config: MkDocsConfig) -> None:
    """Write the index of the search as a script, too, under the name by which the theme asks for it."""
    folder = Path(config.site_dir, "search")
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index};\n", encoding="utf-8")
