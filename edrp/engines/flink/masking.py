"""Captures that can be given away: names of hosts are replaced, each by the same word wherever it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from edrp.engines.capture import Capture

MASKED_ADDRESS = "http://jobmanager.invalid:8081"
"""Stands for the address of the cluster."""

LOCATIONS = ("external_path",)
"""Fields that say where files are, whose values are dropped."""


def mask_hosts(capture: Capture) -> Capture:
    """Replace identifiers of TaskManagers and names of hosts in all answers and paths, and drop where checkpoints are stored."""
    words: dict[str, str] = {}
    for answer in capture.answers:
        for name in _names(answer.answer):
            words.setdefault(name, f"node-{len(words) + 1}.invalid")
    host = urlsplit(capture.address).hostname
    if host:
        words.setdefault(host, "jobmanager.invalid")
    longest_first = sorted(words, key=len, reverse=True)
    alternatives = "|".join(map(re.escape, longest_first)) or "(?!)"
    pattern = re.compile(rf"(?<![\w-])(?:{alternatives})(?![\w-])")  # whole words: a host may be called "a"

    def masked(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(lambda found: words[found[0]], value)
        if isinstance(value, list):
            return [masked(item) for item in value]
        if isinstance(value, dict):
            return {masked(key): "masked" if key in LOCATIONS else masked(item) for key, item in value.items()}
        return value

    answers = tuple(replace(answer, path=masked(answer.path), answer=masked(answer.answer)) for answer in capture.answers)
    return replace(capture, address=MASKED_ADDRESS, answers=answers, source=MASKED_ADDRESS)


def _names(value: Any) -> Iterator[str]:
    """Identifiers of TaskManagers and names of hosts anywhere in an answer."""
    if isinstance(value, list):
        for item in value:
            yield from _names(item)
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key == "taskmanagers" and isinstance(item, list):
            yield from (str(manager["id"]) for manager in item if isinstance(manager, dict) and "id" in manager)
        if key == "taskmanager-id" and isinstance(item, str) and item != "(unassigned)":
            yield item
        if key in ("endpoint", "host") and isinstance(item, str) and item != "(unassigned)":
            yield item.rpartition(":")[0] or item
        if key == "path" and isinstance(item, str) and "@" in item:
            yield item.rpartition("@")[2].partition("/")[0].rpartition(":")[0]
        yield from _names(item)
