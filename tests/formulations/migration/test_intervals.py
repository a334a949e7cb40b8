"""The single migration as a mixed-integer program agrees with SSM, through every backend."""

import numpy as np
import pytest

import edrp
from edrp.core.program import Linear
from edrp.formulations.methods import solve_formulation
from edrp.formulations.migration.intervals import NOBODY, OPEN, formulate_migration
from edrp.mdp.partitions import OldNodes, Tasks
from edrp.mdp.single_step.ssm import best_migration
from edrp.migration.intervals import moves_between
from edrp.migration.single_step import MigrationProblem


def random_migration(seed: int, tasks: int = 60) -> MigrationProblem:
    """Real sizes, tasks without work or state, idle and shuffled nodes; about one in ten infeasible."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(2, tasks + 1)), int(rng.integers(1, 9))
    cuts = [0, *np.sort(rng.integers(0, m + 1, n - 1)).tolist(), m]
    return MigrationProblem(
        work=tuple((rng.uniform(0.5, 1.5, m) * (rng.random(m) < 0.95)).tolist()),
        state_size=tuple((rng.exponential(1e6, m) * (rng.random(m) < 0.9)).tolist()),
        intervals=tuple((cuts[i], cuts[i + 1]) for i in rng.permutation(n).tolist()),
        nodes=int(rng.integers(1, 11)),
        tolerance=float(rng.choice([0.1, 0.2, 0.2, 0.5, 0.5, 1.2])),
        allow_empty=bool(seed % 2),
    )


def least_cost(problem: MigrationProblem) -> float | None:
    tasks, old = Tasks.of(problem.work, problem.state_size), OldNodes.of(problem.intervals)
    sizes = problem.nodes, problem.tolerance, problem.allow_empty
    found = best_migration(tasks, old, len(problem.intervals), *sizes)
    return None if found is None else sum(problem.state_size) - found[0]


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 400), marks=pytest.mark.slow)], ids=["40", "360"])
def test_ssm_is_the_program_on_random_instances(seeds: range) -> None:
    """Up to 60 tasks, both semantics of empty intervals; statuses agree too."""
    infeasible = 0
    for seed in seeds:
        problem = random_migration(seed)
        best = least_cost(problem)
        solution = solve_formulation(formulate_migration(problem))
        if best is None:
            infeasible += 1
            assert solution.status == "infeasible", seed
        else:
            assert solution.status == "optimal", seed
            assert solution.objective == pytest.approx(best, rel=1e-9, abs=1e-3), seed
    assert len(seeds) / 60 < infeasible < len(seeds) / 2


def test_a_known_assignment_is_a_point_of_the_program() -> None:
    """Written as columns and read back; what the program does not know is refused."""
    known = 0
    for seed in range(40):
        problem = random_migration(seed, 25)
        tasks, old = Tasks.of(problem.work, problem.state_size), OldNodes.of(problem.intervals)
        sizes = problem.nodes, problem.tolerance, problem.allow_empty
        found = best_migration(tasks, old, len(problem.intervals), *sizes)
        if found is None:
            continue
        known += 1
        formulation = formulate_migration(problem)
        start = formulation.encode(found[1])
        assert start is not None
        assert formulation.decode(np.nan_to_num(start)) == found[1]
        assert formulation.program.objective.value(np.nan_to_num(start)) == pytest.approx(
            sum(problem.state_size) - found[0], rel=1e-9, abs=1e-3
        )
        moves = moves_between(problem.intervals, found[1], problem.state_size)
        assert formulation.tie_breaks()[0].value(np.nan_to_num(start)) == len(moves)
        solution = solve_formulation(formulation, start=found[1])
        assert solution.objective == pytest.approx(sum(problem.state_size) - found[0], rel=1e-9, abs=1e-3)
    assert known > 20
    crowded = MigrationProblem(work=[1] * 4, state_size=[1] * 4, intervals=[[0, 4]], nodes=2, tolerance=0.0)
    assert formulate_migration(crowded).encode(((0, 3), (3, 4))) is None


def test_rows_of_a_user_keep_the_answer_whole() -> None:
    """Half of each of two paths would satisfy a row on boundaries; the integer columns forbid it."""
    problem = MigrationProblem(work=[1] * 12, state_size=range(1, 13), intervals=[[0, 7], [7, 12]], nodes=3, tolerance=0.5)
    formulation = formulate_migration(problem)
    ends = formulation.program["interval"]
    odd = ends[formulation.arcs.end % 2 == 1]
    formulation.program.add_row("no odd boundary", Linear.of(odd), upper=0.0)
    solution = solve_formulation(formulation)
    assert all(end % 2 == 0 for interval in solution.intervals for end in interval)
    free = solve_formulation(formulate_migration(problem))
    assert solution.objective > free.objective


def test_ties_are_broken_by_moves() -> None:
    """SSM lowers the maximal load first, so the program may do with fewer moves, never with more."""
    compared = 0
    for seed in range(12):
        drawn = random_migration(seed, 12)
        problem = drawn.replace(state_size=np.random.default_rng(seed).integers(0, 3, len(drawn.work)))
        solution = edrp.solve(problem, "highs", tie_break=True)
        other = edrp.solve(problem, "ssm")
        assert solution.status == other.status
        if solution.status == "optimal":
            assert solution.objective == pytest.approx(other.objective)
            assert len(solution.moves) <= len(other.moves)
            compared += 1
    assert compared > 6


def test_an_incumbent_that_leaves_intervals_to_nobody_claims_what_its_decision_costs():
    """Solvers that stop early may return such points; the nodes that get the intervals hold parts of them."""
    problem = MigrationProblem(work=[1] * 20, state_size=[1] * 20, intervals=[[0, 13], [13, 20]], nodes=3, tolerance=0.4)
    formulation = formulate_migration(problem)
    arcs, values = formulation.arcs, np.zeros(formulation.program.columns)
    for place, (first, end) in enumerate([(0, 9), (9, 13), (13, 20)]):
        chosen = (arcs.place == place) & (arcs.first == first) & (arcs.end == end) & (arcs.node == NOBODY) & (arcs.enters == OPEN)
        values[formulation.program["interval"][chosen]] = 1.0
    decision = formulation.decode(values)
    evaluated = problem.evaluate(decision)
    assert evaluated.feasible
    assert formulation.objective_at(values, decision) == evaluated.objective < formulation.model_objective.value(values)
