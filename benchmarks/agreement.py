"""Agreement of proofs on many tiny problems: with brute force, and with older kinds of which a problem is a special case.

    python benchmarks/agreement.py rescale --count 300    # program, decomposition and search against brute force
    python benchmarks/agreement.py special --count 300    # rescalings without tasks against EDRP, of one operator against SSM
    python benchmarks/agreement.py judges --count 500     # leased hosts, maps, shared links: all methods against judges
    python benchmarks/agreement.py clusters --count 1000  # proofs on clusters of equal nodes against brute force: two minutes
    python benchmarks/agreement.py sequences --count 300  # deployments over periods: all methods against enumeration
    python benchmarks/agreement.py rules --count 500      # all methods on problems with rules of all types, against enumeration

Exit code 1 if a single answer differs.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from typing import Annotated

import typer
from common import PROVEN, SAME, agrees, is_proven, objective
from rich.console import Console
from ruled_answers import ruled_answers, tiny_ruled_problem

import edrp
from edrp.check_problems.migration.rescale_brute_force import brute_force_rescale
from edrp.check_problems.placement.edrp_brute_force import brute_force
from edrp.check_problems.placement.sequence_brute_force import brute_force_sequence
from edrp.core.errors import ProblemWarning
from edrp.datasets.families.migration.migration_families import random_migration
from edrp.datasets.families.migration.rescale import random_rescale
from edrp.datasets.families.placement.random_clusters import random_cluster
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_sequence import random_sequence
from edrp.validation.fuzzing.mutations import methods_for
from edrp.validation.oracles.judges import JUDGES, disagreements, tiny_problems
from edrp.validation.oracles.migration.rescale_special_cases import as_one_operator, without_tasks

SHAPES = (
    {"keyed": (1, 2), "tasks": (3, 6), "nodes": (2, 3)},
    {"keyed": (2, 2), "tasks": (6, 8), "nodes": (3, 4)},
    {"keyed": (3, 3), "tasks": (6, 6), "nodes": (3, 3)},
)
"""Sizes of tiny rescalings, in turn."""

application = typer.Typer(help=__doc__, add_completion=False)
console = Console(width=130)

Count = Annotated[int, typer.Option(help="Number of problems.")]
First = Annotated[int, typer.Option(help="Seed of the first one.")]


@application.command()
def rescale(
    count: Count = 300,
    first: First = 0,
    scenarios: Annotated[bool, typer.Option(help="With load scenarios, which the decomposition does not take.")] = False,
) -> None:
    """Brute force, the program in HiGHS, the decomposition and the search on the same tiny problems."""
    statuses, missed, wrong = Counter[str](), 0, 0
    for seed in range(first, first + count):
        problem = random_rescale(seed, scenarios=scenarios, **SHAPES[seed % len(SHAPES)])
        optimum, _ = brute_force_rescale(problem)
        for method in ("highs",) if scenarios else ("highs", "range-decomposition"):
            answer = edrp.solve(problem, method)
            statuses[f"{method}: {answer.status}"] += 1
            if answer.status not in PROVEN or not agrees(answer, optimum):
                wrong += 1
                console.print(f"seed {seed}: brute force {optimum}, {method} {answer.status} {answer.objective}, {answer.bound}")
        missed += optimum is not None and objective(edrp.solve(problem, "range-annealing", runs=3)) > optimum + SAME
    console.print(f"{count} problems: {dict(sorted(statuses.items()))}; {wrong} answers differ from brute force")
    console.print(f"the search misses {missed} optima")
    sys.exit(wrong > 0)


@application.command()
def judges(
    count: Count = 500, first: First = 0, kind: Annotated[list[str] | None, typer.Option(help="Default: all.")] = None
) -> None:
    """All methods on tiny problems with numbers from 1e-6 to 1e6, against judges that know nothing but the documents."""
    wrong = 0
    for name in kind or JUDGES:
        for seed, text in tiny_problems(name, first, count):
            for what in disagreements(text, tuple(edrp.methods(name))):
                wrong += 1
                console.print(f"{name}, seed {seed}: {what}")
        console.print(f"{name}: {count} problems, {wrong} answers so far that a judge refuses")
    sys.exit(wrong > 0)


@application.command()
def rules(
    count: Count = 500,
    first: First = 0,
    kind: Annotated[list[str] | None, typer.Option(help="Default: edrp, latency-aware and rescale, in turn.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Default: all that need no parameters, and auto.")] = None,
) -> None:
    """All methods on tiny problems with one to four rules, against all decisions; each of a kind refuses, or is right."""
    said, wrong, kinds = Counter[tuple[str, str, str]](), 0, kind or ["edrp", "latency-aware", "rescale"]
    for seed in range(first, first + count):
        name = kinds[seed % len(kinds)]
        methods = tuple(method or ("auto", *methods_for(name)))
        for one, status, fault in ruled_answers(tiny_ruled_problem(name, seed), methods):
            said[name, one, status] += 1
            if fault:
                wrong += 1
                console.print(f"{name}, seed {seed}, {one}: {fault}")
    for (name, one, status), number in sorted(said.items()):
        console.print(f"{name}, {one}: {number} {status}")
    console.print(f"{count} problems, {wrong} answers are wrong")
    sys.exit(wrong > 0)


@application.command()
def sequences(count: Count = 300, first: First = 0) -> None:
    """All methods on tiny sequences of deployments with all prices of changes; exact ones prove what enumeration finds."""
    warnings.simplefilter("ignore", ProblemWarning)
    said, wrong = Counter[tuple[str, str]](), 0
    for seed in range(first, first + count):
        problem = random_sequence(seed, combinations=60)
        optimum = brute_force_sequence(problem)
        for name, method in edrp.methods(problem.kind).items():
            if method.refusal(problem) is not None:
                said[name, "refused"] += 1
                continue
            solution = edrp.solve(problem, name)
            said[name, solution.status] += 1
            above = solution.bound is not None and (optimum is None or solution.bound > optimum + SAME * max(1.0, abs(optimum)))
            if above or (method.exact and not is_proven(solution)) or (is_proven(solution) and not agrees(solution, optimum)):
                wrong += 1
                console.print(f"seed {seed}, {name}: {solution.status}, {solution.bound} to {solution.objective}, not {optimum}")
    for (name, status), number in sorted(said.items()):
        console.print(f"{name}: {number} {status}")
    console.print(f"{count} problems, {wrong} answers are wrong or not proven")
    sys.exit(wrong > 0)


@application.command()
def special(count: Count = 300, first: First = 0) -> None:
    """Placements without tasks against kind `edrp`, one operator on equal nodes against SSM."""
    wrong, compared = 0, Counter[str]()
    for seed in range(first, first + count):
        problem, plain = without_tasks(random_problem(seed, operators=(3, 4), nodes=(3, 4), combinations_limit=2e3))
        pairs = [("edrp", objective(edrp.solve(problem, "highs")), objective(edrp.solve(plain, "highs")))]
        migration = random_migration(seed).replace(allow_empty=False)
        if migration.nodes <= len(migration.work) and sum(migration.work) and sum(migration.state_size):
            ours, ssm = edrp.solve(as_one_operator(migration), "highs"), edrp.solve(migration, "ssm")
            pairs.append(("migration", objective(ours), objective(ssm) / sum(migration.state_size)))
        for kind, mine, other in pairs:
            compared[kind] += 1
            if mine != other and not abs(mine - other) <= SAME * max(1.0, abs(other)):
                wrong += 1
                console.print(f"{kind}, seed {seed}: {mine} as a rescaling, {other}")
    console.print(", ".join(f"{number} of kind {name}" for name, number in compared.items()) + f"; {wrong} differ")
    sys.exit(wrong > 0)


@application.command()
def clusters(count: Count = 1000, first: First = 0) -> None:
    """Agreement with brute force; every third application already runs."""
    differences = infeasible = still_open = 0
    for seed in range(first, first + count):
        problem = random_cluster(seed, running=seed % 3 == 2)
        best, _ = brute_force(problem)
        solution = edrp.solve(problem, "equal-nodes")
        infeasible += best is None
        still_open += not is_proven(solution)
        if not agrees(solution, best):
            differences += 1
            console.print(f"seed {seed}: {solution.status} {solution.objective}, bound {solution.bound}, brute force {best}")
    console.print(f"{count} problems ({infeasible} infeasible), {still_open} not proven, {differences} differences")
    sys.exit(differences > 0)


if __name__ == "__main__":
    application()
