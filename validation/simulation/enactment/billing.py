"""One run billed by another billing time unit (BTU) than the one it was made with."""

from __future__ import annotations

from edrp.enactment.run import EnactmentRun
from edrp.enactment.run_metrics import units_paid
from edrp.enactment.scenario import EnactmentScenario


def billed(run: EnactmentRun, scenario: EnactmentScenario) -> EnactmentRun:
    """The run as the host types of `scenario` bill it; what happened stays as it is.

    Of use for policies that do not look at the unit, such as the threshold policy: they do the same under each, so that
    one run gives the costs of all.

    Parameters
    ----------
    run
        Of a scenario that differs from `scenario` in prices and units at most.
    scenario
        Whose `host_types` and `duration` (s) count; `scenario.evaluate` of the result settles the accounts.

    Raises
    ------
    KeyError
        When a host was leased of a type that `scenario` does not have.

    Examples
    --------
    >>> from edrp.datasets.enactment.manufacturing import manufacturing_scenario
    >>> lease = {"host": "a", "type": "docker-host", "start": 0.0, "ready": 40.0, "end": 700.0, "units": 2}
    >>> run = EnactmentRun(leases=[lease], instances=[], operators=[])
    >>> billed(run, manufacturing_scenario("stepwise", billing_time=3600.0)).leases[0].units
    1
    """
    units = {name: each.billing_time for name, each in scenario.types.items()}
    leases = tuple(
        lease.replace(units=units_paid(lease.start, scenario.duration if lease.end is None else lease.end, units[lease.type]))
        for lease in run.leases
    )
    return run.replace(leases=leases)
