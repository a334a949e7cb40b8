"""Policies of deployments as tables: what is to run now, and what at each level that may follow."""

from __future__ import annotations

from collections.abc import Iterator

from edrp.cli.display.solution import metric_table
from edrp.cli.terminal import first_rows, table
from edrp.placement.deployment import counted
from edrp.placement.policy import EdrpPolicyProblem, EdrpPolicySolution
from edrp.report.tables import Table

SHOWN_STATES = 40
"""Rows after which the rest are only counted; the solution document has them all."""


def policy_parts(problem: EdrpPolicyProblem, solution: EdrpPolicySolution) -> Iterator[Table | str]:
    """Deployments of the policy, what it does in each state, the metrics, and the actions that lead to what is to run now."""
    if solution.policy is None:
        return
    rows = []
    for index, deployment in enumerate(solution.policy.deployments):
        replicas = sum(len(nodes) for nodes in deployment.values())
        runs = "now" if index == 0 else "before" if deployment == problem.current else ""
        placed = "; ".join(f"{name}: {counted(nodes)}" for name, nodes in deployment.items())
        rows.append((str(index), runs, str(replicas), placed))
    yield table(("deployment", "runs", "replicas", "nodes"), rows, right=("deployment", "replicas"))
    steps = [
        (state.level, str(state.deployment), str(state.next) if state.next != state.deployment else "stays", f"{state.cost:.6g}")
        for state in solution.policy.states
    ]
    columns = ("when the load is", "while this runs", "run", "expected cost (s)")
    yield from first_rows(columns, steps, SHOWN_STATES, "states", columns[1:])
    yield metric_table(solution.metrics, solution.metric_units)
    yield from (f"• {action}" for action in solution.actions)
