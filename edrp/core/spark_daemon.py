"""The daemon of Spark's Python workers, with modules loaded that each worker, a fork of it, would load again.

`edrp.core.spark.settings` names it for a local master, and what it loads.
"""

from __future__ import annotations

import gc
import os
from importlib import import_module

from pyspark.daemon import manager

from edrp.core.spark import PRELOADED


def main() -> None:
    """Load the modules and serve Spark."""
    for name in filter(None, os.environ.get(PRELOADED, "").split(",")):
        import_module(name)
    gc.collect()
    gc.freeze()  # Spark collects garbage after every task, and would look at all modules again each time
    manager()


if __name__ == "__main__":
    main()
