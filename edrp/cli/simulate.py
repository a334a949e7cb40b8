"""`edrp simulate`: a whole run in a simulated world."""

from __future__ import annotations

import typer

from edrp.cli.simulate_enactment import simulate_enactment
from edrp.cli.simulate_mapping import simulate_bimodal

simulate = typer.Typer(
    help="Simulate a run of a policy or a choice of maps, or compare several of them.", no_args_is_help=True, add_completion=False
)
simulate.command("enactment")(simulate_enactment)
simulate.command("bimodal")(simulate_bimodal)
