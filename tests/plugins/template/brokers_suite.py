"""A benchmark of another package, next to its kind and method in `examples/template`."""

import edrp
from edrp.validation.benchmark.suites import Suite

SUITE = Suite("brokers", "ten problems", lambda data: edrp.datasets.generate("brokers", 10), ("highs", "branch-and-bound", "heaviest-first"))
