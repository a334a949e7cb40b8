"""PMC on Spark: partitions of the state space are tasks, γ·C travels to them before each sweep (state migration, Fig. 6).

The driver keeps C, the model and the iteration; a sweep is one Spark job that answers for all states with the very
function that the threads of one machine run (`sweep_rows`). Workers derive the tables of the model from its
parameters once, and keep them from sweep to sweep. C and the replies so far travel in the function that the workers
run, which Spark broadcasts by itself: no shared file system, nothing of the Spark context, so that Spark Connect
serves as well.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow

from edrp.core.arrays import Ints, Ints32
from edrp.core.errors import BackendUnavailableError
from edrp.core.spark import cancelled_with_us
from edrp.mdp.policy.model import PolicyModel
from edrp.mdp.policy.parameters import fingerprint, parameters_of
from edrp.mdp.policy.pmc import CHUNK, ByClass, Sweep, empty_sweep, look_aheads, sweep_rows
from edrp.mdp.trie import Lookahead

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPLY = np.int32
ANSWERS = pyarrow.schema(
    [("source", pyarrow.int32()), ("first", pyarrow.int64()), ("costs", pyarrow.binary()), ("replies", pyarrow.binary())]
)
ANSWER_COLUMNS = "source int, first long, costs binary, replies binary"
Search = Callable[[Iterable[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]

COLLECTED_AT_ONCE = 2**28
"""Bytes of answers that one job brings to the driver; Spark refuses results above its limit, 1 GiB by default."""

ANSWER_BYTES = 8 + np.dtype(REPLY).itemsize
"""Of a state and a class that may follow: a cost and a reply."""

LEAST_STATES = 2048
"""In a task: starting one takes about a tenth of a second."""


class Run(NamedTuple):
    """Neighbouring states in the search order of a class, answered together.

    Attributes
    ----------
    source
        The class.
    first
        Place of the first state in `model.orders[source]`.
    before : shape (states, followers)
        Replies of the sweep before, −1 where there are none.
    """

    source: int
    first: int
    before: Ints32


class Order(NamedTuple):
    """What travels to the workers.

    Attributes
    ----------
    model, values
        The process, of which its parameters travel, and C.
    sweep
        Names the sweep, and so the values.
    runs
        All runs of the job; task t of n answers the runs t, t + n, t + 2·n, …
    """

    model: PolicyModel
    values: ByClass
    sweep: str
    runs: Sequence[Run]


@dataclass(frozen=True, slots=True)
class Spark:
    """The engine of a Spark cluster, on a session that is given and left as it is.

    Attributes
    ----------
    session
        Workers need this package, and memory for the tables of the model (`PolicyModel.size`).
    tasks
        Of a sweep; a few times as many as there are cores. By default the session's `spark.sql.shuffle.partitions`, the
        one number that says how wide its jobs are to be.

    Examples
    --------
    >>> from edrp.mdp.policy.pmc import iterate
    >>> found = iterate(model, Spark(session))  # doctest: +SKIP
    """

    session: SparkSession
    tasks: int | None = None

    def sweep(self, model: PolicyModel, values: ByClass, replies: list[Ints] | None) -> Sweep:
        """One job for all states; several in a row where the answers are too many to collect at once.

        Raises
        ------
        BackendUnavailableError
            When the job fails, as it does where workers lack this package or memory; the last checkpoint stays.
        """
        found, name = empty_sweep(model), uuid4().hex
        rounds = -(-model.size.pairs * ANSWER_BYTES // COLLECTED_AT_ONCE)
        tasks = self._tasks(sum(model.size.states) // rounds)
        # Classes are dealt out alternately: the searches of one class take longer than those of another.
        chunks = sorted(_chunks(model), key=lambda chunk: (chunk[1], chunk[0]))
        with cancelled_with_us(self.session):
            for turn in range(rounds):
                runs = [_run(model, *chunk, replies) for chunk in chunks[turn::rounds]]
                for answer in self._answers(Order(model, values, name, runs), tasks).to_pylist():
                    _enter(model, answer, found)
        return found

    def _answers(self, order: Order, tasks: int) -> pyarrow.Table:
        from pyspark.errors import PySparkException

        try:
            return self.session.range(0, tasks, 1, tasks).mapInArrow(_search(order, tasks), ANSWER_COLUMNS).toArrow()
        except PySparkException as error:
            lines = [line.strip() for line in str(error).splitlines() if "Error" in line]
            raise BackendUnavailableError(f"a sweep failed on Spark: {lines[-1] if lines else error}") from error

    def _tasks(self, states: int) -> int:
        if self.tasks is not None:
            return self.tasks
        wide = int(self.session.conf.get("spark.sql.shuffle.partitions") or 200)
        return max(1, min(wide, states // LEAST_STATES))


def _chunks(model: PolicyModel) -> Iterator[tuple[int, int, int]]:
    """Class, first and end of runs of states in the search order of their class."""
    for source, count in enumerate(model.size.states):
        for first in range(0, count, CHUNK):
            yield source, first, min(first + CHUNK, count)


def _run(model: PolicyModel, source: int, first: int, end: int, replies: list[Ints] | None) -> Run:
    rows = model.orders[source][first:end]
    if replies is None:
        return Run(source, first, np.full((rows.size, model.followers(source).size), -1, REPLY))
    return Run(source, first, replies[source][rows].astype(REPLY))


def _enter(model: PolicyModel, answer: dict[str, Any], found: Sweep) -> None:
    source, first = answer["source"], answer["first"]
    width = model.followers(source).size
    costs = np.frombuffer(answer["costs"]).reshape(-1, width)
    rows = model.orders[source][first : first + len(costs)]
    found.costs[source][rows] = costs
    found.replies[source][rows] = np.frombuffer(answer["replies"], REPLY).reshape(-1, width)


def _search(order: Order, tasks: int) -> Search:
    """The function that workers run; each gets the number of its task."""

    def search(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        from edrp.mdp.policy.spark import answer_of

        for batch in batches:
            for task in batch.column(0).to_pylist():
                for run in order.runs[task::tasks]:
                    yield answer_of(order, run)

    return search


def answer_of(order: Order, run: Run) -> pyarrow.RecordBatch:
    """Search the states of one run; called in the workers.

    Parameters
    ----------
    order
        As it has travelled; tables that this process derived from equal parameters before are used again.
    run
        One of its runs.

    Returns
    -------
    pyarrow.RecordBatch
        One row of `ANSWERS`.
    """
    model, ahead = _prepared(order)
    shape = (model.size.states[run.source], run.before.shape[1])
    rows = model.orders[run.source][run.first : run.first + len(run.before)]
    before, replies, costs = np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape)
    before[rows] = run.before
    sweep_rows(model, ahead, run.source, rows, before, costs, replies)
    found = [[run.source], [run.first], [costs[rows].tobytes()], [replies[rows].astype(REPLY).tobytes()]]
    arrays = [pyarrow.array(column, field.type) for column, field in zip(found, ANSWERS, strict=True)]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=ANSWERS)


@dataclass
class _Kept:
    """What a worker process keeps from task to task."""

    parameters: str = ""
    model: PolicyModel | None = None
    sweep: str = ""
    ahead: Sequence[Lookahead] = ()


_kept = _Kept()


def _prepared(order: Order) -> tuple[PolicyModel, Sequence[Lookahead]]:
    if _kept.sweep != order.sweep:
        parameters = fingerprint(parameters_of(order.model))
        if _kept.parameters != parameters:
            _kept.parameters, _kept.model = parameters, order.model
            gc.freeze()  # Spark collects garbage after every task, and would look at all modules again each time
        _kept.sweep, _kept.ahead = order.sweep, look_aheads(_kept.model or order.model, order.values)
    return _kept.model or order.model, _kept.ahead
