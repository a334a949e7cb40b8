"""Fixtures that tests of reports share."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser

import pytest


class PageLinks(HTMLParser):
    """Addresses that a page would fetch, and the number of its images that are inlined and described."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fetched, self.images = [], 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.fetched += [values[name] for name in ("src", "href") if values.get(name, "").startswith(("http", "//", "file"))]
        self.images += tag == "img" and values["src"].startswith("data:image/svg+xml") and bool(values["alt"])


@pytest.fixture
def links_of() -> Callable[[str], PageLinks]:
    """Reads the links of a page."""
    return PageLinks
