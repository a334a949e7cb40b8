"""Table IV: how large the programs are, and how long they take, next to the paper's figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

from rich.console import Console

from edrp.backends.solving import solve_program
from edrp.core.methods import Options, get_method
from edrp.core.solve import solve
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.placement.debs2015 import debs2015
from edrp.formulations.methods import formulate
from edrp.formulations.placement.formulation import PlacementFormulation
from edrp.formulations.placement.literal import literal_blocks
from edrp.placement.application import Operator, Stream
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.report.formatting import NONE
from edrp.report.progress import Tell, working
from edrp.report.tables import Table, print_tables

NODES = (8, 12, 16, 20, 24)
MAX_REPLICAS = (2, 3, 4)

PAPER_COLUMNS: dict[tuple[int, int], float] = {
    **{(8, 2): 9.4, (12, 2): 37.3, (16, 2): 103.2, (20, 2): 231.6, (24, 2): 453.3},
    **{(8, 3): 113.7, (12, 3): 848.7, (8, 4): 994.5},
}
"""Thousands of variables of EDRP by nodes and most replicas; the paper could not generate the others."""

PAPER_RESTRICTED_COLUMNS: dict[tuple[int, int], float] = {
    **{(8, 2): 1.6, (12, 2): 2.8, (16, 2): 5.5, (20, 2): 8.8, (24, 2): 12.7},
    **{(8, 3): 1.8, (12, 3): 3.3, (16, 3): 6.1, (20, 3): 10.0, (24, 3): 13.8},
    **{(8, 4): 1.8, (12, 4): 3.4, (16, 4): 6.3, (20, 4): 9.7, (24, 4): 13.9},
}
"""Thousands of variables of rEDRP."""

PAPER_SECONDS: dict[tuple[int, int], float] = {
    **{(8, 2): 3.7, (12, 2): 30.5, (16, 2): 122.6, (20, 2): 415.2, (24, 2): 593.7, (8, 3): 298.0},
}
"""Resolution time of EDRP (CPLEX 12.6.3, four virtual CPUs), where the paper solved it."""

PAPER_RESTRICTED_SECONDS: dict[tuple[int, int], float] = {
    **{(8, 2): 0.8, (12, 2): 0.6, (16, 2): 1.1, (20, 2): 1.6, (24, 2): 3.1},
    **{(8, 3): 0.7, (12, 3): 0.9, (16, 3): 1.2, (20, 3): 1.9, (24, 3): 3.9},
    **{(8, 4): 1.0, (12, 4): 0.8, (16, 4): 1.2, (20, 4): 2.5, (24, 4): 4.2},
}
"""Resolution time of rEDRP."""

PROGRAM_RATE = 145.0
"""Tuples/s at which the programs are solved, the middle of the paper's 70 to 220."""

EARLIER_RATE = 70.0
"""Tuples/s at which the deployment that rEDRP starts from is the best one."""

TABLE_NETWORK_SEED = 1
TIME_LIMIT = 60.0


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that a method took, and whether it proved its answer in that time."""

    seconds: float
    proven: bool

    def __str__(self) -> str:
        return f"{self.seconds:.2f}" if self.proven else f">{self.seconds:.0f}"


@dataclass(frozen=True, slots=True)
class ProgramSize:
    """One cell of Table IV: columns as counted, seconds by method ("literal", "compact", "eliminate", "restricted")."""

    nodes: int
    max_replicas: int
    columns: int
    restricted_columns: int
    timings: dict[str, Timing] = field(default_factory=dict)

    @property
    def paper_columns(self) -> float | None:
        """The paper's thousands of variables."""
        return PAPER_COLUMNS.get((self.nodes, self.max_replicas))

    @property
    def agrees(self) -> bool | None:
        """Whether the count cut to a tenth of a thousand is the paper's; None where the paper has none."""
        return None if self.paper_columns is None else self.columns // 100 == round(10 * self.paper_columns)


def application_of_table_iv(nodes: int, max_replicas: int, rate: float = PROGRAM_RATE) -> tuple[EdrpProblem, dict[str, str]]:
    """The problem whose literal program has the paper's number of columns, and where its pinned operators go.

    The reference application with one more vertex that cannot be replicated after globalRank (the message
    queue); every vertex has all nodes as candidates, and the pinned ones are pinned by a row of the program.

    >>> problem, pins = application_of_table_iv(8, 2)
    >>> len(problem.application.operators), sorted(pins)
    (9, ['globalRank', 'messageQueue', 'source'])
    """
    problem = debs2015(rate, geometric(nodes, TABLE_NETWORK_SEED), max_replicas=max_replicas)
    application = problem.application
    pins = {o.name: o.candidates[0] for o in application.operators if o.candidates is not None}
    queue = Operator(name="messageQueue", resources=0.0)
    operators = (*(operator.replace(candidates=None) for operator in application.operators), queue)
    streams = (*application.streams, Stream(source="globalRank", target="messageQueue", rate=rate))
    pins["messageQueue"] = pins["globalRank"]
    return problem.replace(application=application.replace(operators=operators, streams=streams)), pins


def count_columns(problem: EdrpProblem) -> int:
    """Columns of the literal program, by the code that sizes its blocks; nothing is built."""
    return sum(block.columns for block in literal_blocks(compile_problem(problem)))


def table_iv(
    time_limit: float | None = TIME_LIMIT,
    literal: bool = False,
    progress: Tell = str,
    nodes: tuple[int, ...] = NODES,
    max_replicas: tuple[int, ...] = MAX_REPLICAS,
) -> list[ProgramSize]:
    """Count and time every cell of Table IV, each solution within a time limit (s).

    "compact" and "eliminate" place the application from scratch at 145 tuples/s with equal weights of response time
    and cost, as does "literal" (which takes minutes) where the paper solved it. "restricted" reconfigures the best deployment
    for 70 tuples/s at 145, with the paper's balanced weights.
    """
    return [_cell(n, k, time_limit, literal, progress) for k in max_replicas for n in nodes]


def _cell(nodes: int, max_replicas: int, time_limit: float | None, literal: bool, tell: Tell) -> ProgramSize:
    problem, pins = application_of_table_iv(nodes, max_replicas)
    ordinary = debs2015(PROGRAM_RATE, geometric(nodes, TABLE_NETWORK_SEED), max_replicas=max_replicas)
    earlier = debs2015(EARLIER_RATE, geometric(nodes, TABLE_NETWORK_SEED), max_replicas=max_replicas)
    timings: dict[str, Timing] = {}

    def about(what: str) -> None:
        tell(f"{nodes} nodes, at most {max_replicas} replicas: {what}")

    if literal and (nodes, max_replicas) in PAPER_SECONDS:
        about("literal program")
        timings["literal"] = _pinned(formulate(problem, "literal"), pins, time_limit)
    about("compact program")
    timings["compact"] = _timed(ordinary, "highs", time_limit)
    about("elimination")
    timings["eliminate"] = _timed(ordinary, "eliminate", time_limit)
    about("restricted program")
    current = solve(earlier, "eliminate", time_limit=time_limit).deployment
    balanced = {"response_time": 0.3, "cost": 0.3, "downtime": 0.4}
    assert current is not None
    placed = Deployment({**current, "messageQueue": (pins["messageQueue"],)})
    moved = problem.replace(current=placed, weights=balanced)
    restricted = formulate(moved, "restricted")
    timings["restricted"] = _pinned(restricted, pins, time_limit)
    return ProgramSize(nodes, max_replicas, count_columns(problem), restricted.program.columns, timings)


def _pinned(formulation: PlacementFormulation, pins: dict[str, str], time_limit: float | None) -> Timing:
    """Pin by rows and solve with HiGHS, build included."""
    for operator, node in pins.items():
        formulation.add(formulation.on[operator, node] >= 1, f"pin {operator}")
    result = solve_program(formulation.program, "highs", time_limit=time_limit)
    return Timing(formulation.build_seconds + result.seconds, result.status == "optimal")


def _timed(problem: EdrpProblem, method: str, time_limit: float | None) -> Timing:
    started = perf_counter()
    answer = get_method(method, problem.kind).run(problem, Options(time_limit=time_limit))
    return Timing(perf_counter() - started, answer.status == "optimal")


def size_table(cells: list[ProgramSize]) -> Table:
    """Counts and seconds next to the paper's; a time that was not enough is shown as ">60"."""
    counted = ("nodes", "k", "columns", "p (10³)", "equal", "rEDRP columns", "p (10³)")
    columns = (*counted, "literal (s)", "p (s)", "compact (s)", "eliminate (s)", "rEDRP (s)", "p (s)")
    caption = "Table IV: columns of the programs and seconds to solve them (p: the paper's)"
    return Table(caption, columns, tuple(map(_row, cells)), columns)


def _row(cell: ProgramSize) -> tuple[str, ...]:
    key = (cell.nodes, cell.max_replicas)
    literal, *timings = (_shown(cell.timings.get(name)) for name in ("literal", "compact", "eliminate", "restricted"))
    return (
        str(cell.nodes),
        str(cell.max_replicas),
        f"{cell.columns:,}",
        _shown(PAPER_COLUMNS.get(key)),
        {None: NONE, True: "yes", False: "NO"}[cell.agrees],
        f"{cell.restricted_columns:,}",
        _shown(PAPER_RESTRICTED_COLUMNS.get(key)),
        literal,
        _shown(PAPER_SECONDS.get(key)),
        *timings,
        _shown(PAPER_RESTRICTED_SECONDS.get(key)),
    )


def _shown(value: object) -> str:
    return NONE if value is None else str(value)


def run(console: Console, time_limit: float | None = TIME_LIMIT, literal: bool = False) -> list[ProgramSize]:
    """Reproduce Table IV and print it."""
    with working(console, "Table IV") as tell:
        cells = table_iv(time_limit, literal, tell)
    print_tables(console, size_table(cells))
    return cells
