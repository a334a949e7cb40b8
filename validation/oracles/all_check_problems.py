"""Problems of every kind on which the contract of methods is checked, with their proven optima."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_latency_aware import random_score_problem
from edrp.datasets.placement.latency_aware_test_bed import random_problem as continuum_problem
from edrp.migration.policy import MigrationPolicyProblem, PolicyDecision
from edrp.migration.sequence import MigrationSequence
from edrp.migration.single_step import MigrationProblem
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency_aware import LatencyAwareProblem, ScoreWeights
from edrp.validation.oracles.check_problems import ContractProblems
from edrp.validation.oracles.enactment.check_problems import EnactmentProblems, LeasingProblems
from edrp.validation.oracles.enactment.scenario_check_problems import ScenarioProblems
from edrp.validation.oracles.mapping.link_allocation_check_problems import LinkAllocationProblems
from edrp.validation.oracles.mapping.mapping_check_problems import MappingProblems
from edrp.validation.oracles.mapping.scenario_check_problems import BimodalScenarioProblems
from edrp.validation.oracles.migration.policy_brute_force import PolicyBruteForce
from edrp.validation.oracles.migration.sequence_brute_force import brute_force_sequence
from edrp.validation.oracles.migration.single_step_brute_force import brute_force_migration
from edrp.validation.oracles.placement.edrp_brute_force import brute_force
from edrp.validation.oracles.placement.latency_aware_brute_force import brute_force_score


class DeploymentProblems(ContractProblems):
    """Kind `edrp`."""

    def feasible(self) -> dict[str, Any]:
        """Random problems."""
        return {f"seed {seed}": _deployment(seed) for seed in (0, 1, 2, 4, 6, 9, 11, 13, 18, 20, 22)}

    def infeasible(self) -> dict[str, Any]:
        """Random problems."""
        return {f"seed {seed}": _deployment(seed) for seed in (3, 7, 10, 19)}

    def degenerate(self) -> dict[str, Any]:
        """One node, one operator, no traffic, equal costs, no room."""
        queue = {"model": "mm1", "service_rate": 10.0}
        work = {"name": "work", "latency": queue, "external_rate": 8.0, "cost": 1.0, "max_replicas": 2}
        sink = {"name": "sink", "latency": queue, "cost": 1.0, "max_replicas": 2}
        link = {"source": "a", "target": "b", "delay": 0.1, "cost": 0.01}
        one, two = {"nodes": [{"name": "a"}]}, {"nodes": [{"name": "a"}, {"name": "b"}], "links": [link]}
        pair = {"operators": [work, sink], "streams": [{"source": "work", "target": "sink"}]}
        quiet = {"source": "work", "target": "sink", "rate": 0.0}
        silent = {"operators": [{**work, "external_rate": 0.0}, sink], "streams": [quiet]}
        limits, cheap = {"response_time": 2.0, "cost": 10.0}, {"cost": 1.0}
        equal, full = {"nodes": [{"name": name} for name in "abc"]}, {"nodes": [{"name": "a", "resources": 2}]}
        alone = {"operators": [work]}
        return {
            "one node": EdrpProblem(application=pair, network=one, limits=limits),
            "one operator": EdrpProblem(application=alone, network=two, limits=limits),
            "no traffic": EdrpProblem(application=silent, network=two, limits=limits),
            "equal costs": EdrpProblem(application=alone, network=equal, weights=cheap, limits=limits),
            "no room to spare": EdrpProblem(application=pair, network=full, weights=cheap, limits={"cost": 2.0}),
        }

    def large(self) -> Any:
        """Fifteen operators."""
        return layered(15, 0)

    def optimum(self, problem: EdrpProblem) -> float | None:
        """Least objective over all deployments."""
        return _best_deployment(problem)[0]

    def start(self, problem: EdrpProblem) -> Any:
        """One replica of each operator of an optimum."""
        return Deployment({name: nodes[:1] for name, nodes in _best_deployment(problem)[1][0].root.items()})


class ScoreProblems(ContractProblems):
    """Kind `latency-aware`."""

    def feasible(self) -> dict[str, Any]:
        """Random problems, some with cycles, candidates, several instances of an operator."""
        drawn = {f"seed {seed}": _score_problem(seed) for seed in range(16)}
        return {label: problem for label, problem in drawn.items() if self.optimum(problem) is not None}

    def infeasible(self) -> dict[str, Any]:
        """An instance that is too large, instances that are too many, a packing that does not work out."""
        return {
            "large": _scores([{"cpu": 2.0}], [1.0, 1.0]),
            "many": _scores([{"cpu": 0.5}] * 5, [1.0, 1.0]),
            "packing": _scores([{"cpu": 0.6}] * 3, [1.0, 1.0]),
        }

    def degenerate(self) -> dict[str, Any]:
        """One node, one operator, no streams, no needs, no weights, an operator that sends to itself."""
        need = {"cpu": 0.3}
        itself = [{"source": "o0", "target": "o0", "rate": 2.0}]
        return {
            "one node": _scores([need, need], [1.0], [{"source": "o0", "target": "o1", "rate": 1.0}]),
            "one operator": _scores([need], [1.0, 2.0]),
            "no streams": _scores([need, need], [0.4, 0.4]),
            "no needs": _scores([{}, {}], [1.0, 1.0], [{"source": "o0", "target": "o1", "rate": 0.0}]),
            "no weights": _scores([need, need], [1.0, 1.0], weights=dict.fromkeys(ScoreWeights.model_fields, 0.0)),
            "to itself": _scores([need], [0.7, 0.7], itself, instances=3),
        }

    def large(self) -> Any:
        """Eighty instances on the test bed of the paper."""
        return continuum_problem(3, operations=41, load=0.7)

    def optimum(self, problem: LatencyAwareProblem) -> float | None:
        """Least score over all deployments."""
        return _best_score(problem.model_dump_json())

    def start(self, problem: LatencyAwareProblem) -> Any:
        """Everything on the first node that is allowed."""
        nodes = tuple(problem.network.by_name)
        return Deployment({o.name: (o.candidates or nodes)[:1] * o.instances for o in problem.application.operators})


class MigrationProblems(ContractProblems):
    """Kind `migration`."""

    def feasible(self) -> dict[str, Any]:
        """Random problems with and without empty intervals."""
        drawn = {f"seed {seed}": random_migration(seed) for seed in range(30)}
        return {label: problem for label, problem in drawn.items() if self.optimum(problem) is not None}

    def infeasible(self) -> dict[str, Any]:
        """A task that is too heavy, tasks that are too few, tasks that do not split."""
        return {
            "heavy": MigrationProblem(work=[1, 9], state_size=[1, 1], intervals=[(0, 2)], nodes=2, tolerance=0.2),
            "few": MigrationProblem(work=[1, 1], state_size=[1, 1], intervals=[(0, 2)], nodes=3, tolerance=9, allow_empty=False),
            "lumpy": MigrationProblem(work=[2, 2, 2], state_size=[1] * 3, intervals=[(0, 3)], nodes=2, tolerance=0.2),
        }

    def degenerate(self) -> dict[str, Any]:
        """One task, no state, no work, nothing to do, more nodes than tasks."""
        return {
            "one task": MigrationProblem(work=[1], state_size=[1], intervals=[(0, 1)], nodes=1, tolerance=0),
            "no state": MigrationProblem(work=[1, 1], state_size=[0, 0], intervals=[(0, 2)], nodes=2, tolerance=0),
            "no work": MigrationProblem(work=[0, 0], state_size=[1, 2], intervals=[(0, 2)], nodes=2, tolerance=0),
            "nothing to do": MigrationProblem(work=[1, 1], state_size=[1, 1], intervals=[(1, 2), (0, 1)], nodes=2, tolerance=0),
            "idle nodes": MigrationProblem(work=[1, 1], state_size=[1, 1], intervals=[(0, 2), (2, 2)], nodes=4, tolerance=3),
        }

    def large(self) -> Any:
        """As many tasks as a program can be built for in a moment."""
        return random_migration(0, tasks=80, nodes=10)

    def optimum(self, problem: MigrationProblem) -> float | None:
        """Least state that moves."""
        best = brute_force_migration(problem)
        return None if best is None else best.cost


class SequenceProblems(ContractProblems):
    """Kind `migration-sequence`."""

    def feasible(self) -> dict[str, Any]:
        """Random problems, some with loads that change from step to step."""
        drawn = {f"seed {seed}": random_sequence(seed) for seed in range(14)}
        return {label: problem for label, problem in drawn.items() if self.optimum(problem) is not None}

    def infeasible(self) -> dict[str, Any]:
        """The second step cannot be done."""
        return {
            "second step": MigrationSequence(
                work=[1, 9], state_size=[1, 1], intervals=[(0, 2)], nodes=[1, 2], tolerance=[0.2, 0.2]
            )
        }

    def degenerate(self) -> dict[str, Any]:
        """One step, nothing to do."""
        return {
            "one step": MigrationSequence(work=[1, 1], state_size=[1, 2], intervals=[(0, 2)], nodes=[2], tolerance=[0]),
            "no state": MigrationSequence(
                work=[1, 1, 1], state_size=[0, 0, 0], intervals=[(0, 3)], nodes=[2, 3], tolerance=[0.5, 0]
            ),
        }

    def large(self) -> Any:
        """Ten migrations of 64 tasks with a loose tolerance."""
        return random_sequence(0, tasks=64, nodes=(8, 16), steps=10, tolerance=0.5)

    def optimum(self, problem: MigrationSequence) -> float | None:
        """Least state that moves in all steps."""
        return _best_sequence(problem)


class PolicyProblems(ContractProblems):
    """Kind `migration-policy`."""

    def feasible(self) -> dict[str, Any]:
        """Random problems."""
        drawn = {f"seed {seed}": random_policy_problem(seed) for seed in range(8)}
        return {label: problem for label, problem in drawn.items() if self.optimum(problem) is not None}

    def infeasible(self) -> dict[str, Any]:
        """What may follow cannot be done."""
        return {
            "later": MigrationPolicyProblem(
                work=[1, 9], state_size=[1, 1], intervals=[(0, 2)], nodes=1, tolerance=0.2,
                node_counts=[1, 2], transitions=[[0, 1], [1, 0]], discount=0.5,
            )
        }  # fmt: skip

    def degenerate(self) -> dict[str, Any]:
        """One count only, no discount."""
        tasks = {"work": [1, 1, 1], "state_size": [1, 2, 3], "intervals": [(0, 2), (2, 3)], "tolerance": 0.5}
        return {
            "one count": MigrationPolicyProblem(**tasks, nodes=2, node_counts=[2], transitions=[[1]], discount=0.9),
            "no future": MigrationPolicyProblem(**tasks, nodes=2, node_counts=[2, 3], transitions=[[0, 1], [1, 0]], discount=0.0),
        }

    def large(self) -> Any:
        """Sixty-four tasks on eight to ten nodes."""
        return random_policy_problem(0, tasks=64, counts=(8, 9, 10), tolerance=0.2)

    def optimum(self, problem: MigrationPolicyProblem) -> float | None:
        """Least c + γ·C."""
        return _brute_force_policy(problem).best()

    def value(self, problem: MigrationPolicyProblem, decision: PolicyDecision) -> float:
        """c + γ·C with the exact C of the partition chosen, also where the method only estimates it."""
        held = sorted(each for each in decision.intervals if each is not None and each[0] < each[1])
        rest = problem.nodes - len(held)
        return _brute_force_policy(problem).objective((0, *(end for _, end in held), *[len(problem.work)] * rest))


CONTRACT_PROBLEMS: dict[str, ContractProblems] = {
    "edrp": DeploymentProblems(),
    "latency-aware": ScoreProblems(),
    "migration": MigrationProblems(),
    "migration-sequence": SequenceProblems(),
    "migration-policy": PolicyProblems(),
    "enactment": EnactmentProblems(),
    "leasing": LeasingProblems(),
    "enactment-scenario": ScenarioProblems(),
    "mapping": MappingProblems(),
    "link-allocation": LinkAllocationProblems(),
    "bimodal-scenario": BimodalScenarioProblems(),
}
"""By kind."""


def random_migration(seed: int, *, tasks: int | None = None, nodes: int | None = None) -> MigrationProblem:
    """A migration of few tasks (whole sizes, some zero) between few nodes, unless said otherwise."""
    generator = np.random.default_rng(seed)
    fields = _random_tasks(generator, tasks)
    count = int(generator.integers(1, 5)) if nodes is None else nodes
    loose = float(generator.choice([0.2, 0.5, 1.0]))
    return MigrationProblem(**fields, nodes=count, tolerance=loose, allow_empty=bool(generator.random() < 0.5))


def random_sequence(
    seed: int, *, tasks: int | None = None, nodes: tuple[int, int] = (1, 4), steps: int = 3, tolerance: float | None = None
) -> MigrationSequence:
    """A sequence of migrations; every third seed has loads that change from step to step."""
    generator = np.random.default_rng(seed)
    fields = _random_tasks(generator, tasks)
    counts = generator.integers(nodes[0], nodes[1] + 1, steps).tolist()
    loose = generator.choice([0.5, 1.0], steps).tolist() if tolerance is None else [tolerance] * steps
    if seed % 3 == 2:
        for name in ("work", "state_size"):
            fields[name] = [generator.permutation(fields[name]).tolist() for _ in range(steps)]
    empty = tasks is None and bool(generator.random() < 0.5)
    return MigrationSequence(**fields, nodes=counts, tolerance=loose, allow_empty=empty)


def random_policy_problem(
    seed: int, *, tasks: int | None = None, counts: tuple[int, ...] = (1, 2, 3), tolerance: float | None = None
) -> MigrationPolicyProblem:
    """A migration with a random future."""
    generator = np.random.default_rng(seed)
    fields = _random_tasks(generator, tasks)
    transitions = generator.random((len(counts), len(counts)))
    transitions /= transitions.sum(axis=1, keepdims=True)
    return MigrationPolicyProblem(
        **fields,
        nodes=int(generator.choice(counts)),
        tolerance=float(generator.choice([0.5, 1.0])) if tolerance is None else tolerance,
        allow_empty=tasks is None and bool(generator.random() < 0.5),
        node_counts=counts,
        transitions=transitions.tolist(),
        discount=0.8,
    )


def _random_tasks(generator: np.random.Generator, tasks: int | None) -> dict[str, Any]:
    count = int(generator.integers(4, 8)) if tasks is None else tasks
    least = 0 if tasks is None else 6
    old = np.sort(generator.integers(0, count + 1, int(generator.integers(0, 4)))).tolist()
    intervals = list(pairwise([0, *old, count]))
    generator.shuffle(intervals)
    return {
        "work": generator.integers(least, 10, count).astype(float).tolist(),
        "state_size": generator.integers(0, 10, count).astype(float).tolist(),
        "intervals": [(int(a), int(b)) for a, b in intervals],
    }


def _scores(
    needs: list[dict[str, float]],
    capacities: list[float],
    streams: list[dict[str, Any]] | None = None,
    *,
    weights: dict[str, float] | None = None,
    instances: int = 1,
) -> LatencyAwareProblem:
    nodes = [{"name": f"n{u}", "resources": {"cpu": capacity}} for u, capacity in enumerate(capacities)]
    return LatencyAwareProblem(
        application={
            "operators": [{"name": f"o{i}", "resources": need, "instances": instances} for i, need in enumerate(needs)],
            "streams": streams or [],
        },
        network={"nodes": nodes, "between_zones": {"delay": 0.002}},
        weights=weights or {},
    )


def _score_problem(seed: int) -> LatencyAwareProblem:
    """Every third one with a placement that is there already, whether it fits or not."""
    problem = random_score_problem(seed, operators=(2, 5), nodes=(2, 4))
    if seed % 3:
        return problem
    nodes = tuple(problem.network.by_name)
    first = {o.name: (o.candidates or nodes)[-1:] * o.instances for o in problem.application.operators}
    return problem.replace(current=Deployment(first))


@cache
def _best_score(problem: str) -> float | None:
    """By text, since a problem with named resources has no hash."""
    return brute_force_score(LatencyAwareProblem.model_validate_json(problem))[0]


@cache
def _deployment(seed: int) -> EdrpProblem:
    return random_problem(seed, operators=(3, 4), nodes=(3, 4), combinations_limit=2e4)


def _best_deployment(problem: EdrpProblem) -> tuple[float | None, tuple[Deployment, ...]]:
    return brute_force(problem)


@cache
def _best_sequence(problem: MigrationSequence) -> float | None:
    return brute_force_sequence(problem)


@cache
def _brute_force_policy(problem: MigrationPolicyProblem) -> PolicyBruteForce:
    return PolicyBruteForce(problem)
