"""The commands and what ends them: every expected error becomes a message and an exit code."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from edrp.cli import batch, benchmark, explain, generate, plan, policy, reference, reproduce, simulate, solve, trace, validate
from edrp.cli.exit import EXIT_CODES, ExitCode, outcome_code
from edrp.cli.terminal import report
from edrp.core.errors import EdrpError

app = typer.Typer(
    name="edrp",
    help="Placement, replication, reconfiguration and state migration of data-stream applications.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("solve")(solve.solve_files)
app.command("explain")(explain.explain_file)
app.command("batch")(batch.solve_many)
app.command("benchmark")(benchmark.compare_methods)
app.command("plan")(plan.plan_file)
app.command("generate")(generate.generate_instances)
app.command("schema")(reference.print_schema)
app.command("methods")(reference.print_methods)
app.command("demo")(reproduce.run_demo)
app.command("validate")(validate.validate_files)
app.add_typer(reproduce.reproduce, name="reproduce")
app.add_typer(simulate.simulate, name="simulate")
app.add_typer(policy.policy, name="policy")
app.add_typer(trace.trace, name="trace")
app.command("version")(reference.print_version)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    Parameters
    ----------
    arguments
        Words after `edrp`; by default those of the process.

    Raises
    ------
    SystemExit
        Always, with one of the exit codes that `edrp --help` lists.
    """
    try:
        app(args=None if arguments is None else list(arguments), prog_name="edrp")
    except EdrpError as error:
        report(error)
        raise SystemExit(outcome_code(error)) from None
    except KeyboardInterrupt:
        raise SystemExit(ExitCode.INTERRUPTED) from None
