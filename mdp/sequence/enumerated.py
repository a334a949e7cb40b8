"""Optimal migration sequence over all partitions of every step but the last, where these can be listed.

State migration, Fig. 5, as a dynamic program instead of a recursion.
"""

from __future__ import annotations

from collections.abc import Callable

from edrp.core.memory import refuse_beyond_memory
from edrp.mdp.partitions import partition_bytes
from edrp.mdp.sequence.course import Course, Path
from edrp.mdp.sequence.program import LastStep, Stage, best_path, search_seconds


def enumeration_needs(course: Course) -> tuple[float, int]:
    """Rough seconds on one core, and bytes, that `enumerate_path` takes; counted, not enumerated.

    Examples
    --------
    >>> import numpy as np
    >>> from edrp.mdp.tasks import Tasks
    >>> course = Course.constant(Tasks.of([1] * 6, [1] * 6), np.array([0, 3, 6]), (3, 2), (0.5, 0.5), allow_empty=False)
    >>> seconds, memory = enumeration_needs(course)
    >>> seconds < 1e-4, memory
    (True, 420)
    """
    listed = [step.members for step in course.steps[:-1]]
    counts = [min(members.count, 10**30) for members in listed]  # an int may exceed every float
    # A partition, its order, three values and a residue for each of two prefixes; a reply for each step.
    tables = sum(
        partition_bytes(members.work_before.size - 1, members.nodes, count) + 48 * count
        for members, count in {id(members): (members, count) for members, count in zip(listed, counts, strict=True)}.values()
    )
    return search_seconds(counts), tables + 4 * sum(counts)


def enumerate_path(course: Course, *, threads: int = 1, out_of_time: Callable[[], bool] = lambda: False) -> tuple[float, Path]:
    """The optimal path of a course, exactly; `enumeration_needs` says beforehand what it takes.

    Parameters
    ----------
    course
        Feasible at every step.
    threads, out_of_time
        As for `best_path`.

    Returns
    -------
    tuple
        Cost in bytes, and the partition after each step.

    Raises
    ------
    OutOfTimeError
        When `out_of_time` says so.
    ProblemTooLargeError
        When the partitions do not fit into memory.

    Examples
    --------
    The sequence of Table 3 moves 6 tasks at least:

    >>> import numpy as np
    >>> from edrp.mdp.tasks import Tasks
    >>> course = Course.constant(Tasks.of([1] * 20, [1] * 20), np.array([0, 13, 20]), (3, 4), (0.4, 0.4), allow_empty=True)
    >>> cost, path = enumerate_path(course)
    >>> cost, [boundaries.tolist() for boundaries in path]
    (6.0, [[0, 4, 13, 20], [0, 4, 6, 13, 20]])
    """
    what = f"all partitions of {len(course.steps) - 1} steps"
    refuse_beyond_memory(enumeration_needs(course)[1], what, "prove by prices instead (way='prices')")
    stages = [
        Stage(step.state_before, step.members.trie, step.members.partitions, step.members.order) for step in course.steps[:-1]
    ]
    last = LastStep(course.steps[-1].state_before, course.steps[-1].members.graph)
    return best_path(course.start, stages, last, threads=threads, out_of_time=out_of_time)
