"""PMC on Spark: parts of the state space are tasks, and γ·C is sent to them before each sweep (state migration, Fig. 6).

The driver keeps C, the model and the iteration; a sweep is one Spark job that searches from all states with the same
function that the threads of one machine run (`sweep_rows`). Workers derive the tables of the model from its
parameters once, and keep them from sweep to sweep. C and the actions so far are part of the function that the workers
run, which Spark broadcasts by itself: this needs no shared file system and no Spark context, so that Spark Connect
works as well.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow

from edrp.core.arrays import Ints, Ints32
from edrp.core.budget import look, spend
from edrp.core.spark import cancelled_with_us, map_in_arrow, translated_errors
from edrp.mdp.policy.pmc import STATES_PER_CALL, ByNodeCount, Sweep, allocate_sweep, discounted_values, sweep_rows, sweep_work
from edrp.mdp.policy.process import PolicyModel, fingerprint, model_parameters
from edrp.mdp.trie import PreparedValues

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ACTION_TYPE = np.int32
ANSWER_SCHEMA = pyarrow.schema(
    [("source", pyarrow.int32()), ("first", pyarrow.int64()), ("costs", pyarrow.binary()), ("actions", pyarrow.binary())]
)
ANSWER_COLUMNS = "source int, first long, costs binary, actions binary"
WorkerFunction = Callable[[Iterable[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]

MAX_COLLECTED_BYTES = 2**28
"""Bytes of answers that one job brings to the driver; Spark refuses results above its limit, 1 GiB by default."""

ANSWER_BYTES = 8 + np.dtype(ACTION_TYPE).itemsize
"""Bytes of the answer for one state and one node count that may follow: a cost and an action."""

MIN_STATES_PER_TASK = 2048
"""Fewer would not be worth a task, which takes about a tenth of a second to start."""


class StateChunk(NamedTuple):
    """Neighbouring states in the search order of one node count, searched from together.

    Attributes
    ----------
    source : index of their node count.
    first : position of the first state in `model.orders[source]`.
    before : shape (states, successors), actions of the sweep before, −1 where there are none.
    """

    source: int
    first: int
    before: Ints32


class SweepJob(NamedTuple):
    """A Spark job as it is sent to the workers.

    Attributes
    ----------
    model, values : the process, of which only the parameters are sent, and C.
    sweep : name of the sweep, and so of the values.
    chunks : all chunks of the job; task t of n solves the chunks t, t + n, t + 2·n, …
    """

    model: PolicyModel
    values: ByNodeCount
    sweep: str
    chunks: Sequence[StateChunk]


@dataclass(frozen=True, slots=True)
class Spark:
    """The engine of a Spark cluster, on a session that stays as it is.

    Attributes
    ----------
    session : workers need this package, and memory for the tables of the model (`PolicyModel.size`).
    tasks : number of tasks of a sweep; a few times the number of cores. By default the session's `spark.sql.shuffle.partitions`.

    Examples
    --------
    >>> from edrp.mdp.policy.pmc import iterate
    >>> iteration = iterate(model, Spark(session))  # doctest: +SKIP
    """

    session: SparkSession
    tasks: int | None = None

    def sweep(self, model: PolicyModel, values: ByNodeCount, actions: list[Ints] | None) -> Sweep:
        """Run one job for all states, or several in a row where the answers are too many to collect at once.

        Raises
        ------
        BackendUnavailableError
            When the job fails, as it does where workers lack this package or memory; the last checkpoint stays.
        """
        spend(sweep_work(model))
        look("the first sweep")
        result, name = allocate_sweep(model), uuid4().hex
        rounds = -(-model.size.pairs * ANSWER_BYTES // MAX_COLLECTED_BYTES)
        tasks = self._tasks(sum(model.size.states) // rounds)
        # Node counts alternate: the searches of one take longer than those of another.
        ranges = sorted(_chunks(model), key=lambda chunk: (chunk[1], chunk[0]))
        with translated_errors("a sweep"), cancelled_with_us(self.session):
            for turn in range(rounds):
                chunks = [_chunk(model, *states, actions) for states in ranges[turn::rounds]]
                for answer in self._answers(SweepJob(model, values, name, chunks), tasks).to_pylist():
                    source, first = answer["source"], answer["first"]
                    width = model.successors(source).size
                    costs = np.frombuffer(answer["costs"])
                    rows = model.orders[source][first : first + costs.size // width]
                    result.costs[source][rows] = costs.reshape(rows.size, width)
                    result.actions[source][rows] = np.frombuffer(answer["actions"], ACTION_TYPE).reshape(rows.size, width)
        return result

    def _answers(self, job: SweepJob, tasks: int) -> pyarrow.Table:
        numbers = self.session.range(0, tasks, 1, tasks)
        return map_in_arrow(numbers, _search(job, tasks), ANSWER_COLUMNS).toArrow()

    def _tasks(self, states: int) -> int:
        if self.tasks is not None:
            return self.tasks
        wide = int(self.session.conf.get("spark.sql.shuffle.partitions") or 200)
        return max(1, min(wide, states // MIN_STATES_PER_TASK))


def _chunks(model: PolicyModel) -> Iterator[tuple[int, int, int]]:
    """Yield chunks of states: index of the node count, first and end in its search order."""
    for source, count in enumerate(model.size.states):
        for first in range(0, count, STATES_PER_CALL):
            yield source, first, min(first + STATES_PER_CALL, count)


def _chunk(model: PolicyModel, source: int, first: int, end: int, actions: list[Ints] | None) -> StateChunk:
    rows = model.orders[source][first:end]
    if actions is None:
        return StateChunk(source, first, np.full((rows.size, model.successors(source).size), -1, ACTION_TYPE))
    return StateChunk(source, first, actions[source][rows].astype(ACTION_TYPE))


def _search(job: SweepJob, tasks: int) -> WorkerFunction:
    """Build the function that workers run; each gets the number of its task."""

    def search(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        from edrp.mdp.policy.spark_engine import solve_chunk

        for batch in batches:
            for task in batch.column(0).to_pylist():
                for chunk in job.chunks[task::tasks]:
                    yield solve_chunk(job, chunk)

    return search


def solve_chunk(job: SweepJob, chunk: StateChunk) -> pyarrow.RecordBatch:
    """Search from the states of one chunk, in a worker.

    Returns
    -------
    pyarrow.RecordBatch
        One row of `ANSWER_SCHEMA`.
    """
    model, discounted = _prepared(job)
    shape = (model.size.states[chunk.source], chunk.before.shape[1])
    rows = model.orders[chunk.source][chunk.first : chunk.first + len(chunk.before)]
    before, actions, costs = np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape)
    before[rows] = chunk.before
    sweep_rows(model, discounted, chunk.source, rows, before, costs, actions)
    columns = [[chunk.source], [chunk.first], [costs[rows].tobytes()], [actions[rows].astype(ACTION_TYPE).tobytes()]]
    arrays = [pyarrow.array(column, field.type) for column, field in zip(columns, ANSWER_SCHEMA, strict=True)]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=ANSWER_SCHEMA)


@dataclass
class _WorkerCache:
    """Tables that a worker process keeps from task to task."""

    parameters: str = ""
    model: PolicyModel | None = None
    sweep: str = ""
    discounted: Sequence[PreparedValues] = ()


_cache = _WorkerCache()


def _prepared(job: SweepJob) -> tuple[PolicyModel, Sequence[PreparedValues]]:
    if _cache.sweep != job.sweep:
        parameters = fingerprint(model_parameters(job.model))
        if _cache.parameters != parameters:
            _cache.parameters, _cache.model = parameters, job.model
            gc.freeze()  # Spark collects garbage after every task, and would look at all modules again each time
        _cache.sweep, _cache.discounted = job.sweep, discounted_values(_cache.model or job.model, job.values)
    return _cache.model or job.model, _cache.discounted
