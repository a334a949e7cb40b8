"""PMC on Spark: partitions of the state space are tasks, γ·C travels to them before each sweep (state migration, Fig. 6).

The driver keeps C, the model and the iteration; a sweep is one Spark job that answers for all states with the very
function that the threads of one machine run (`sweep_rows`). Workers derive the tables of the model from its
parameters once, and keep them from sweep to sweep. Nothing has to be shared but the job itself: no file system, no
broadcast through the Spark context, so that Spark Connect serves as well.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pyarrow

from edrp.errors import BackendUnavailableError
from edrp.mdp.policy.model import PolicyModel
from edrp.mdp.policy.parameters import fingerprint, parameters_of
from edrp.mdp.policy.pmc import CHUNK, ByClass, Integers, Sweep, empty_sweep, look_aheads, sweep_rows
from edrp.mdp.trie import Lookahead
from edrp.spark import cancelled_with_us

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOBS = pyarrow.schema([("source", pyarrow.int32()), ("first", pyarrow.int64()), ("before", pyarrow.large_binary())])
"""What a task is asked: the states from `first` on in the search order of a class, and their replies so far, if any."""

ANSWERS = pyarrow.schema(
    [("source", pyarrow.int32()), ("first", pyarrow.int64()), ("costs", pyarrow.binary()), ("replies", pyarrow.binary())]
)
ANSWER_COLUMNS = "source int, first long, costs binary, replies binary"
Search = Callable[[Iterable[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]
REPLY = np.int32
COLLECTED_AT_ONCE = 2**28
"""Bytes of answers that one job brings to the driver; Spark refuses results above its limit, 1 GiB by default."""

LEAST_STATES = 2048
"""In a task: starting one takes tens of milliseconds."""


@dataclass(frozen=True, slots=True)
class Spark:
    """The engine of a Spark cluster, on a session that is given and left as it is.

    Attributes
    ----------
    session
        Workers need this package, and memory for the tables of the model (`PolicyModel.size`).
    tasks
        Of a sweep; several times as many as there are cores, since searches take unequal times. By default twice
        the session's `spark.sql.shuffle.partitions`, the one number that says how wide its jobs are to be.

    Examples
    --------
    >>> from edrp.mdp.policy.pmc import iterate
    >>> found = iterate(model, Spark(session))  # doctest: +SKIP
    """

    session: SparkSession
    tasks: int | None = None

    def sweep(self, model: PolicyModel, values: ByClass, replies: list[Integers] | None) -> Sweep:
        """One job for all states; several in a row where the answers are too many to collect at once.

        Raises
        ------
        BackendUnavailableError
            When the job fails, as it does where workers lack this package or memory; the last checkpoint stays.
        """
        search = _search(model, values, uuid4().hex)
        found = empty_sweep(model)
        rounds = -(-model.size.pairs * 12 // COLLECTED_AT_ONCE)
        tasks = self._tasks(sum(model.size.states) // rounds)
        # Classes are dealt out alternately: the searches of one class take longer than those of another.
        chunks = sorted(_chunks(model), key=lambda chunk: (chunk[1], chunk[0]))
        with cancelled_with_us(self.session):
            for turn in range(rounds):
                jobs = pyarrow.Table.from_pylist([_job(model, *chunk, replies) for chunk in chunks[turn::rounds]], JOBS)
                for answer in self._answers(jobs, tasks, search).to_pylist():
                    _enter(model, answer, found)
        return found

    def _answers(self, jobs: pyarrow.Table, tasks: int, search: Search) -> pyarrow.Table:
        from pyspark.errors import PySparkException

        try:
            return self.session.createDataFrame(jobs).repartition(tasks).mapInArrow(search, ANSWER_COLUMNS).toArrow()
        except PySparkException as error:
            lines = [line.strip() for line in str(error).splitlines() if "Error" in line]
            raise BackendUnavailableError(f"a sweep failed on Spark: {lines[-1] if lines else error}") from error

    def _tasks(self, states: int) -> int:
        if self.tasks is not None:
            return self.tasks
        wide = 2 * int(self.session.conf.get("spark.sql.shuffle.partitions") or 200)
        return max(1, min(wide, states // LEAST_STATES))


def _chunks(model: PolicyModel) -> Iterator[tuple[int, int, int]]:
    """Class, first and end of runs of states in the search order of their class."""
    for source, count in enumerate(model.size.states):
        for first in range(0, count, CHUNK):
            yield source, first, min(first + CHUNK, count)


def _job(model: PolicyModel, source: int, first: int, end: int, replies: list[Integers] | None) -> dict[str, Any]:
    rows = model.orders[source][first:end]
    before = np.full((rows.size, model.followers(source).size), -1, REPLY) if replies is None else replies[source][rows]
    return {"source": source, "first": first, "before": before.astype(REPLY).tobytes()}


def _enter(model: PolicyModel, answer: dict[str, Any], found: Sweep) -> None:
    source, first = answer["source"], answer["first"]
    width = model.followers(source).size
    costs = np.frombuffer(answer["costs"]).reshape(-1, width)
    rows = model.orders[source][first : first + len(costs)]
    found.costs[source][rows] = costs
    found.replies[source][rows] = np.frombuffer(answer["replies"], REPLY).reshape(-1, width)


def _search(model: PolicyModel, values: ByClass, sweep: str) -> Search:
    """The function that workers run; it takes the model's parameters and C along."""

    def search(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        from edrp.mdp.policy import spark

        for batch in batches:
            for job in batch.to_pylist():
                yield spark.answer_of(model, values, sweep, job)

    return search


def answer_of(model: PolicyModel, values: ByClass, sweep: str, job: dict[str, Any]) -> pyarrow.RecordBatch:
    """Search the states of one job; runs in the workers.

    Parameters
    ----------
    model, values
        As they came along with the job; tables that this process has derived from equal ones before are used again.
    sweep
        Names the sweep, and so the values.
    job
        A row of `JOBS`.

    Returns
    -------
    pyarrow.RecordBatch
        One row of `ANSWERS`.
    """
    model, ahead = _prepared(model, values, sweep)
    source, first = job["source"], job["first"]
    count, width = model.size.states[source], model.followers(source).size
    known = np.frombuffer(job["before"], REPLY).reshape(-1, width)
    rows = model.orders[source][first : first + len(known)]
    before, replies = np.empty((count, width), np.int64), np.empty((count, width), np.int64)
    costs = np.empty((count, width))
    before[rows] = known
    sweep_rows(model, ahead, source, rows, before, costs, replies)
    found = [[source], [first], [costs[rows].tobytes()], [replies[rows].astype(REPLY).tobytes()]]
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


def _prepared(model: PolicyModel, values: ByClass, sweep: str) -> tuple[PolicyModel, Sequence[Lookahead]]:
    if _kept.sweep != sweep:
        parameters = fingerprint(parameters_of(model))
        if _kept.parameters != parameters:
            _kept.parameters, _kept.model = parameters, model
            gc.freeze()  # Spark collects garbage after every task, and would look at all modules again each time
        _kept.sweep, _kept.ahead = sweep, look_aheads(_kept.model or model, values)
    return _kept.model or model, _kept.ahead
