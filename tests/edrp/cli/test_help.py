"""Help of commands: what the source says of an argument or option is what a user reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from edrp.cli.app import COMMANDS, load_command


def leaves(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Commands that do something, with the words that call them."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
    else:
        for name, part in inner.items():
            yield from leaves((*words, name), part)


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_of_a_help_text_is_lost(name, run, monkeypatch):
    """Square brackets are markup where help is drawn: a default in them was not shown."""
    monkeypatch.setenv("COLUMNS", "400")
    for words, command in leaves((name,), load_command(name)):
        shown = " ".join(run(*words, "--help").out.split())
        for parameter in command.params:
            if parameter.name != "help":
                assert parameter.help, f"{words}: {parameter.name} has no help"
                assert " ".join(parameter.help.split()) in shown, f"{words}: {parameter.name}"
