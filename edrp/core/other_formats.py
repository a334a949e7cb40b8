"""Files of other formats than JSON: what they are called, and what a user does with them."""

from __future__ import annotations

import re
from pathlib import Path

BINARY = {
    b"\x1f\x8b": "is compressed with gzip; unpack it with gunzip",
    b"\x28\xb5\x2f\xfd": "is compressed with Zstandard; unpack it with unzstd",
    b"PK\x03\x04": "is a zip archive; unpack it, and name the JSON file in it",
    b"PAR1": "is a Parquet table; `edrp batch` reads tables of instances",
    b"%PDF": "is a PDF; it must hold one JSON document",
    b"\xff\xfe": "is UTF-16 text; save the file as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save the file as UTF-8",
}
"""First bytes of files of other formats, and advice on them."""

WORKBOOK = "is an Excel workbook; a problem is one JSON document, whose fields `edrp schema KIND` lists"


def binary_format(content: bytes, source: str) -> str:
    """Name the format of a binary file by its first bytes, and say what to do; "" for text.

    >>> binary_format(b"PAR1...", "mine.parquet")
    'is a Parquet table; `edrp batch` reads tables of instances'
    """
    if content[:2] == b"PK" and source.lower().endswith(("xlsx", "xlsm")):
        return WORKBOOK
    return next((why for start, why in BINARY.items() if content.startswith(start)), "")


def text_format(text: str, source: str) -> str:
    r"""Name the format of a text that is no JSON, by the name of its file or its first line, and say what to do; "" if unknown.

    >>> text_format("operator,rate\nreader,900\n", "mine.csv")
    'is a table (CSV); a problem is one JSON document, whose fields `edrp schema KIND` lists'
    """
    lines = [line for line in text.split("\n", 50)[:50] if line.strip() and not line.startswith("#")]
    first, ending = lines[0] if lines else "", source.lower().rpartition(".")[2]
    if ending in ("yaml", "yml") or re.match(r"---\s*$|- |[\w-]+:(\s|$)", first):
        # PyYAML is no dependency of this package; most who write YAML have it.
        convert = "python -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)'"
        files = f" < {source} > {Path(source).with_suffix('.json')}" if ending in ("yaml", "yml") else ""
        return f"is YAML, and JSON is read; convert it, for example with {convert}{files}"
    if ending in ("csv", "tsv") or re.match(r"[^{}\[\]<=]+[,;\t][^{}\[\]<=]*$", first):
        return "is a table (CSV); a problem is one JSON document, whose fields `edrp schema KIND` lists"
    return "is XML or HTML, and JSON is read" if first.lstrip().startswith("<") else ""
