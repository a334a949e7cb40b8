"""Writes the page of all commands from the commands themselves."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

from properdocs.config.defaults import ProperDocsConfig
from properdocs.structure.files import Files
from properdocs.structure.pages import Page

from edrp.cli.app import COMMANDS, load_command

PAGE = "reference/commands.md"


def on_page_markdown(markdown: str, page: Page, config: ProperDocsConfig, files: Files) -> str:
    """Add all commands to their page, in alphabetical order, those of groups behind their group."""
    if page.file.src_uri != PAGE:
        return markdown
    return "\n".join(
        [markdown, *(part for name in sorted(COMMANDS) for part in described(f"edrp {name}", load_command(name), 2))]
    )


def described(name: str, command: Any, level: int) -> Iterator[str]:
    """Help of a command, its usage, and a table of its options and arguments."""
    yield f"{'#' * level} `{name}`\n\n{text(command.help)}\n"
    inner = getattr(command, "commands", None)
    if inner is not None:
        for part, found in inner.items():
            yield from described(f"{name} {part}", found, level + 1)
        return
    context = command.context_class(command, info_name=name)
    yield f"```\n{' '.join([name, *command.collect_usage_pieces(context)])}\n```\n"
    records = [parameter.get_help_record(context) for parameter in command.params if "--help" not in parameter.opts]
    if rows := [
        f"| `{names.replace(chr(124), chr(92) + chr(124))}` | {cell(meaning)} |" for names, meaning in filter(None, records)
    ]:
        yield "\n".join(["| argument or option | meaning |", "|---|---|", *rows, ""])


def cell(meaning: str) -> str:
    """The help of an argument or option, in a table."""
    return text(meaning).replace("\n", " ").replace("|", "\\|")


def text(help_text: str | None) -> str:
    """Help of a command or option as Markdown: nothing in it is HTML, and lines that belong together are one."""
    paragraphs = html.escape(help_text or "", quote=False).replace("\b", "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
