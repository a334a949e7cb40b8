"""Documents of many links, read part by part: all at once, text, what it says, and the documents would be in memory together."""

from __future__ import annotations

import gc
import re
from typing import Any

from pydantic import TypeAdapter, ValidationError

from edrp.core.document import Document, LinkedNodes

LONG = 2**20
"""Characters of a text that is read in parts, and of a part."""

LINKS = re.compile(r'"links"\s*:\s*\[')
BETWEEN = re.compile(r"\}\s*,\s*(?=\{)")


def read_in_parts(text: str, document: type[Document]) -> Document | None:
    """A document of one network, read with its links in parts; None where it has to be read as a whole, or is not valid.

    A cut at a wrong place, such as inside of a name, leaves parts that are no JSON.

    Parameters
    ----------
    text
        JSON without names that are given twice in an object.
    document
        Class of the document.
    """
    field = document.model_fields.get("network")
    network = field.annotation if field else None
    start = LINKS.search(text) if len(text) > LONG and text.count('"links"') == 1 else None
    if start is None or not (isinstance(network, type) and issubclass(network, LinkedNodes)):
        return None
    first, last = start.end(), text.find("]", start.end())
    kind: Any = network.model_fields["links"].annotation
    part: TypeAdapter[Any] = TypeAdapter(kind)
    links: list[Any] = []
    collecting = gc.isenabled()
    gc.disable()  # documents hold no cycles, and the search for some takes a tenth of the time
    try:
        for begin, end in _parts(text, first, last):
            links += part.validate_json(f"[{text[begin:end]}]", strict=True)
        context = {"links": tuple(links)}
        del links
        read: Document = document.__pydantic_validator__.validate_json(text[:first] + text[last:], strict=True, context=context)
    except ValidationError:
        return None
    finally:
        if collecting:
            gc.enable()
    return read


def _parts(text: str, first: int, last: int) -> list[tuple[int, int]]:
    """Where the parts of a list begin and end, each about as long as `LONG`, without the commas between them."""
    parts, begin = [], first
    while cut := BETWEEN.search(text, begin + LONG, last):
        parts.append((begin, cut.start() + 1))
        begin = cut.end()
    return [*parts, (begin, last)]
