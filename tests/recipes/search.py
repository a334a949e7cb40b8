"""Climbing from random placements: a search of the recipe, which controls an engine."""

from typing import Any

from edrp.core.solution import StoppedBecause
from edrp.heuristics.placement.search.methods import SearchMethod, SearchRun


class RandomRestarts(SearchMethod):
    """Climbs again from random placements while the limit lasts."""

    name, summary = "random-restarts", "hill climbing, again from random placements while the limit lasts"

    def search(self, run: SearchRun, parameters: Any) -> StoppedBecause:
        """Climb, then restart."""
        stopped = run.drive(run.engine.climb("repaired"), run.options.remaining)
        return run.restart(lambda seed: run.engine.climb("repaired"), stopped)


METHODS = (RandomRestarts(),)
