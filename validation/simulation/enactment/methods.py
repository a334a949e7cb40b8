"""Policies of enactment as methods: a scenario is solved by following a policy through it."""

from __future__ import annotations

from typing import Any

from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.enactment.scenario import EnactmentScenario
from edrp.heuristics.enactment import POLICIES
from edrp.validation.simulation.enactment.simulator import simulate

SUFFIX = "-policy"
"""Ending of the method's name, after the name of the policy."""


class PolicyMethod(Method):
    """A policy as a method: the simulator follows it through a scenario."""

    kinds = ("enactment-scenario",)
    interpreted_first = True

    def __init__(self, policy: str) -> None:
        policy_and_parameters: tuple[Any, type[Any]] = POLICIES[policy]
        self._policy, self.parameters = policy_and_parameters
        self.name = policy + SUFFIX
        first = (self._policy.__doc__ or "").strip().split("\n")[0].rstrip(".")
        self.summary = f"simulates a run: {first[:1].lower()}{first[1:]}"

    def run(self, problem: EnactmentScenario, options: Options) -> Answer:
        """Simulate once, with `options.seed`; if the limit comes before the end of the run, there is no decision."""
        parameters: Any = self.read_parameters(options)
        if hasattr(parameters, "knowing"):  # a policy for a load that is known: here it is
            parameters = parameters.knowing(problem.load)
        run = simulate(problem, self._policy(parameters), options.seed, until=options.started + options.limit)
        late = sum(record.completed - getattr(record, problem.objective_level) for record in run.operators)
        objective = sum(lease.units * problem.types[lease.type].price for lease in run.leases) + problem.penalty * late
        items = sum(record.arrived for record in run.operators)
        return Answer("feasible", "finished", decision=run, objective=objective, size={"items": items})


METHODS = tuple(PolicyMethod(name) for name in POLICIES)
"""Methods that this module adds to the registry."""
