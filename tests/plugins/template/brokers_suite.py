"""A benchmark of another package, next to its kind and method in `examples/template`."""

import edrp
from edrp.validation.benchmark.suites import Suite

METHODS = ("highs", "branch-and-bound", "heaviest-first")
SUITE = Suite("brokers", "ten problems", lambda data: edrp.datasets.generate("brokers", 10), METHODS)
