"""Optimal migration sequence over all partitions of every step but the last, where these can be listed.

State migration, Fig. 5, as a dynamic program instead of a recursion.
"""

from __future__ import annotations

from collections.abc import Callable

from edrp.mdp.partitions import partition_bytes
from edrp.mdp.sequence.course import Course, Path
from edrp.mdp.sequence.program import LastStep, Stage, best_path


def enumeration_size(course: Course) -> tuple[int, int]:
    """Inner minima that `enumerate_path` takes, and bytes of memory; counted, not enumerated.

    Examples
    --------
    >>> import numpy as np
    >>> from edrp.mdp.tasks import Tasks
    >>> course = Course.constant(Tasks.of([1] * 6, [1] * 6), np.array([0, 3, 6]), (3, 2), (0.5, 0.5), allow_empty=False)
    >>> enumeration_size(course)[0]
    8
    """
    classes = {id(step.members): step.members for step in course.steps[:-1]}.values()
    minima = 1 + sum(step.members.count for step in course.steps[:-1])
    # A partition, its order, three values and a residue for each of two prefixes; a reply for each step.
    tables = sum(partition_bytes(each.work_before.size - 1, each.nodes, each.count) + 48 * each.count for each in classes)
    return minima, tables + 4 * minima


def enumerate_path(
    course: Course, *, threads: int = 1, out_of_time: Callable[[], bool] = lambda: False
) -> tuple[float, Path]:
    """The optimal path of a course, exactly; `enumeration_size` says beforehand what it takes.

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

    Examples
    --------
    The sequence of Table 3 moves 6 tasks at least:

    >>> import numpy as np
    >>> from edrp.mdp.tasks import Tasks
    >>> course = Course.constant(Tasks.of([1] * 20, [1] * 20), np.array([0, 13, 20]), (3, 4), (0.4, 0.4), allow_empty=True)
    >>> cost, path = enumerate_path(course)
    >>> cost, [each.tolist() for each in path]
    (6.0, [[0, 4, 13, 20], [0, 4, 6, 13, 20]])
    """
    stages = [
        Stage(step.state_before, step.members.trie, step.members.partitions, step.members.order) for step in course.steps[:-1]
    ]
    last = LastStep(course.steps[-1].state_before, course.steps[-1].members.graph)
    return best_path(course.start, stages, last, threads=threads, out_of_time=out_of_time)
