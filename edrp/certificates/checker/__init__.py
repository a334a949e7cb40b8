"""The checker of certificates: a folder that trusts nobody and needs nothing but Python 3.11 or later.

    python checker INSTANCE SOLUTION CERTIFICATE

reads an instance file, a solution document of it and a certificate, and prints `proven: …` (exit code 0), `proven about a
stated program only: …` (exit code 4), where the certificate brings its own program, because the checker cannot build that of
the instance, or the first thing that does not hold (exit code 2). All arithmetic is exact: numbers are the rationals that the
files state. `checker` is this folder, wherever it lies, or the zip that `python -m zipapp checker` makes of it.

Limits
    An instance or solution of more than `MAX_DOCUMENT` bytes, a certificate of more than `MAX_CERTIFICATE`, a line of more
    than `MAX_LINE`, a number of more than `MAX_DIGITS` characters or with an exponent beyond `MAX_EXPONENT`, NaN and infinity
    are refused. A certificate is read line by line: memory stays below 50 times the largest line and document, and no line is
    read after `MAX_SECONDS`.

Header
    A certificate is a text of JSON lines. The first is an object:

    format    one of the keys of `FORMATS`, for a kind of problem that it is for
    version   1
    instance  hashes of the documents that state the instance, with and without what has a default (see `instance_hash`)
    claim     "optimal" or "infeasible", the `status` of the solution
    bound     of an optimal solution, as "p/q": no decision is better than this − 1e-6 (`TOLERANCE`)

    An instance of a kind in `FIELDS` must have those fields and no others, in each of them what it is to hold, no name twice,
    and what `relations` asks for. The checker evaluates the decision of the solution itself where `EVALUATE` knows the kind of
    problem, and all that is in it: it must keep to all limits, and its value must be the solution's objective and the bound, to
    1e-9 of the value (`SAME`). Where it does not, the verdict says so.
    The other lines are the format's: its function in `FORMATS` reads them all, raises `Refused` where something does not hold,
    and returns what has been proven, in words; its docstring says what they are.

Files
    `reading` reads documents and numbers, `verdicts` judges a certificate, `fields` and `relations` say what instances are, and
    `rules` by what deployments violate rules.
    Each format has a file of its name (`program_format`, `ssm`, `pmc`, `eliminate`, `column_generation`; `label-setting` is in
    `maps`), and each kind of problem one that evaluates its decisions. No file imports anything but its neighbours and the
    standard library.
"""

from .column_generation import Patterns, Window
from .deployment import IN_FLIGHT, evaluate_deployment, latency_at
from .eliminate import Placement, Prices
from .fields import FIELDS, RANGES
from .latency_aware import evaluate_latency_aware
from .link_allocation import link_allocation_program
from .maps import Maps
from .program import PLACES, SHIFT, ExactProgram, check_tree
from .program_format import PROGRAMS, Stated, is_built, stated_program
from .reading import (
    MALFORMED,
    MAX_CERTIFICATE,
    MAX_DOCUMENT,
    MAX_LINE,
    MAX_OPEN,
    SLACK,
    TOLERANCE,
    VERSION,
    Refused,
    Unknown,
    Unsupported,
    fraction,
    instance_hash,
    looking,
    need,
    parse,
    read_document,
    read_lines,
    read_text,
)
from .relations import check_instance
from .rules import penalties, read_rules
from .verdicts import DECISION, EVALUATE, FORMATS, KINDS, UNCHECKED, check, check_files, exit_code, verdict

__all__ = [
    "DECISION",
    "EVALUATE",
    "FIELDS",
    "FORMATS",
    "IN_FLIGHT",
    "KINDS",
    "MALFORMED",
    "MAX_CERTIFICATE",
    "MAX_DOCUMENT",
    "MAX_LINE",
    "MAX_OPEN",
    "PLACES",
    "PROGRAMS",
    "RANGES",
    "SHIFT",
    "SLACK",
    "TOLERANCE",
    "UNCHECKED",
    "VERSION",
    "ExactProgram",
    "Maps",
    "Patterns",
    "Placement",
    "Prices",
    "Refused",
    "Stated",
    "Unknown",
    "Unsupported",
    "Window",
    "check",
    "check_files",
    "check_instance",
    "check_tree",
    "evaluate_deployment",
    "evaluate_latency_aware",
    "exit_code",
    "fraction",
    "instance_hash",
    "is_built",
    "latency_at",
    "link_allocation_program",
    "looking",
    "need",
    "parse",
    "penalties",
    "read_document",
    "read_lines",
    "read_rules",
    "read_text",
    "stated_program",
    "verdict",
]
