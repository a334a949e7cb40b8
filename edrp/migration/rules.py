"""Rules about migrations: tasks that must, or must not, be on some of the current nodes afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from edrp.core.document import Faults, unit
from edrp.core.errors import numbered
from edrp.core.rules import HardRule
from edrp.core.wording import enumerated
from edrp.migration.intervals import Index, Interval, task_numbers


class TaskRule(HardRule):
    """Tasks that may be on none of some current nodes ("forbidden"), or on these alone ("required").

    Nodes that join are not named: they are alike, and may take whatever no rule requires to be on a current node.

    Examples
    --------
    >>> rule = TaskRule(rule="forbidden", name="drain", tasks=[(0, 3), (5, 6)], nodes=[1])
    >>> rule.sentence, rule.misplaced([(0, 2), (2, 6)])
    ('tasks 0–2 and 5 may not be on node 1', 2)
    """

    rule: Literal["forbidden", "required"] = Field(description="whether the tasks may be on none of the nodes, or on these alone")
    tasks: Annotated[tuple[Interval, ...], Field(min_length=1)] = Field(
        description="ranges of tasks, [first, end) each", **unit("1")
    )
    nodes: Annotated[tuple[Index, ...], Field(min_length=1)] = Field(
        description="current nodes, by their place in `intervals`", **unit("1")
    )

    @property
    def sentence(self) -> str:
        """Demand of the rule in words."""
        several = len(self.tasks) > 1 or self.tasks[0][1] - self.tasks[0][0] > 1
        tasks = f"task{'s' * several} {enumerated([task_numbers(*interval) for interval in self.tasks])}"
        nodes = f"node{'s' * (len(self.nodes) > 1)} {enumerated([str(node) for node in self.nodes])}"
        return f"{tasks} {'may not be on' if self.rule == 'forbidden' else 'must be on'} {nodes}"

    def misplaced(self, held: Sequence[Interval | None]) -> int:
        """Number of tasks that the rule does not want where they are, given the interval of each node."""
        named = {task for first, end in self.tasks for task in range(first, end)}
        there = {task for node, interval in enumerate(held) if interval and node in self.nodes for task in range(*interval)}
        return len(named & there if self.rule == "forbidden" else named - there)


def check_task_rules(rules: Sequence[TaskRule], tasks: int, nodes: int, faults: Faults) -> None:
    """Add the faults of rules that share a name, and of tasks and current nodes that do not exist."""
    faults.add_repeated_names("rules", [rule.name for rule in rules])
    for index, rule in enumerate(rules):
        for position, (first, end) in enumerate(rule.tasks):
            if not first < end <= tasks:
                why = f"is no range of the {numbered(tasks, 'task')}; give [first task, end), from 0 to {tasks}"
                faults.add(("rules", index, "tasks", position), (first, end), why)
        for position, node in enumerate(rule.nodes):
            if node >= nodes:
                why = f"is no current node; `intervals` has {numbered(nodes, 'node')}, numbered from 0"
                faults.add(("rules", index, "nodes", position), node, why)
