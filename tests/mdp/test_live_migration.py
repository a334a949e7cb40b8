"""Moves of one task between workers while tuples flow: as state migration, section 5.2, prints them, and by markers.

As printed, tuples are lost and reordered; by the protocol of live operators they are not. In this small event model,
routers r0, r1, … send tuples to the owner of the task in their table: worker A, B or C. What goes from one place to
another arrives in order; everything else may happen in any order, which a schedule decides. The state of the task is the
list of the tuples that it has processed, so it shows what was lost, doubled or reordered. For each tuple, the sink
receives its key and the number of tuples of the key so far.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import pairwise, product
from random import Random
from typing import Any, NamedTuple

import pytest

BARRIER = "|"


class Item(NamedTuple):
    """A tuple of the stream: the router that sends it, its place among all tuples of the router, and its key."""

    router: str
    place: int
    key: str


class Job:
    """Routers and workers that share a task, and the channels between them.

    Each router sends one tuple of every key in `keys`, in this order. `log` names the owners of the task, from the first
    on, and barriers of checkpoints. Readers follow it, each when the schedule says so; a move can be read when the one
    before it is complete. The version of a move is the number of owners up to it; `installed` is the last complete one.
    """

    def __init__(self, routers: int, keys: str, log: str, variant: str = "") -> None:
        self.routers = [f"r{router}" for router in range(routers)]
        self.workers = sorted(set(log) - {BARRIER})
        self.log, self.variant = log, variant
        self.unsent = {router: [Item(router, *numbered) for numbered in enumerate(keys)] for router in self.routers}
        self.expected = [item for unsent in self.unsent.values() for item in unsent]
        self.sent: dict[str, list[Item]] = {router: [] for router in self.routers}
        self.channels: dict[tuple[str, str], deque[Any]] = {
            line: deque() for line in product([*self.routers, *self.workers], [*self.workers, "sink"])
        }
        self.read = dict.fromkeys(self.readers(), 1)
        self.states: dict[str, list[Item]] = {log[0]: []}
        self.installed = 1
        self.held: dict[str, list[Item]] = {}
        self.sink: list[tuple[str, int]] = []
        self.snapshots: list[list[Item]] = [[] for _ in range(log.count(BARRIER))]
        self.cuts: list[list[Item]] = [[] for _ in self.snapshots]

    def readers(self) -> list[str]:
        return self.routers

    def owners(self, reader: str) -> str:
        """All owners that a reader knows; the last is the present one."""
        return self.log[: self.read[reader]].replace(BARRIER, "")

    def events(self) -> list[str]:
        """All that can happen next."""
        return [
            *(f"{router} sends" for router, unsent in self.unsent.items() if unsent),
            *(f"{reader} reads" for reader in self.read if self.may_read(reader)),
            *(
                f"{sender} → {receiver}"
                for (sender, receiver), line in self.channels.items()
                if line and self.ready(sender, receiver)
            ),
        ]

    def may_read(self, reader: str) -> bool:
        entry = self.log[self.read[reader] :][:1]
        return entry == BARRIER or (entry != "" and len(self.owners(reader)) <= self.installed)

    def ready(self, sender: str, receiver: str) -> bool:
        raise NotImplementedError

    def happen(self, event: str) -> None:
        node, verb, *receiver = event.split()
        if verb == "sends":
            self.sent[node].append(self.unsent[node].pop(0))
            self.channels[node, self.owners(node)[-1]].append(self.sent[node][-1])
        elif verb == "reads":
            self.read[node] += 1
            self.follow(node, self.log[self.read[node] - 1])
        elif receiver == ["sink"]:
            self.sink.append(self.channels[node, "sink"].popleft())
        else:
            self.receive(node, *receiver, self.channels[node, *receiver].popleft())

    def follow(self, reader: str, entry: str) -> None:
        raise NotImplementedError

    def receive(self, sender: str, worker: str, message: Any) -> None:
        raise NotImplementedError

    def process(self, worker: str, item: Item) -> None:
        """The task's function; a worker that has no state of the task starts an empty one."""
        state = self.states.setdefault(worker, [])
        state.append(item)
        self.channels[worker, "sink"].append((item.key, sum(other.key == item.key for other in state)))

    def install(self, worker: str, version: int, state: list[Item]) -> None:
        self.states[worker] = state
        self.installed = version
        for item in self.held.pop(worker, []):
            self.process(worker, item)


class Forwarder(Job):
    """Section 5.2 as printed. Workers learn of a move at times of their own, as routers do.

    To its advantage, a state and the tuples forwarded after it share one channel, and tuples take no time to process.
    In the variant "repair", a worker holds the tuples of a task that it has never had, as far as it knows.
    """

    def readers(self) -> list[str]:
        return [*self.routers, *self.workers]

    def ready(self, sender: str, receiver: str) -> bool:
        """The retriever of a worker fetches a state that the worker knows to be its own."""
        message = self.channels[sender, receiver][0]
        return receiver == "sink" or isinstance(message, Item) or len(self.owners(receiver)) >= message[0]

    def follow(self, reader: str, entry: str) -> None:
        *_, before, now = self.owners(reader)
        if reader == before:
            self.channels[reader, now].append((len(self.owners(reader)), self.states.pop(reader)))
        elif reader == now:
            self.held.setdefault(reader, [])

    def receive(self, sender: str, worker: str, message: Any) -> None:
        *earlier, owner = self.owners(worker)
        if not isinstance(message, Item):
            self.install(worker, *message)
        elif worker in self.held:
            self.held[worker].append(message)
        elif worker in earlier and worker != owner:
            self.channels[worker, owner].append(message)
        elif worker != owner and self.variant == "repair":
            self.held[worker] = [message]
        else:  # "it simply processes the tuple as usual"
            self.process(worker, message)


class Markers(Job):
    """The protocol of live operators. Routers alone read the log; OUT and IN markers tell workers, in line with the tuples."""

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self.outs: Counter[int] = Counter()
        self.begun = dict.fromkeys(self.workers, 1)
        self.early: dict[int, list[Item]] = {}
        self.blocked: dict[str, set[str]] = {worker: set() for worker in self.workers}
        self.aligned = dict.fromkeys(self.workers, 0)

    def ready(self, sender: str, receiver: str) -> bool:
        """Barriers are aligned: what a router has sent after its barrier waits for the barriers of the others."""
        return sender not in self.blocked.get(receiver, ())

    def follow(self, reader: str, entry: str) -> None:
        if entry == BARRIER:
            self.cuts[self.log[: self.read[reader] - 1].count(BARRIER)] += self.sent[reader]
            for worker in self.workers:
                self.channels[reader, worker].append(BARRIER)
            return
        *_, before, now = owners = self.owners(reader)
        line = self.channels[reader, before]
        line.insert(0 if self.variant == "markers overtake tuples" else len(line), ("OUT", len(owners), now))
        self.channels[reader, now].append(("IN", len(owners), None))

    def receive(self, sender: str, worker: str, message: Any) -> None:
        if message == BARRIER:
            self.blocked[worker].add(sender)
        elif not isinstance(message, Item):
            self.hand_over(worker, *message)
        elif worker in self.held:
            self.held[worker].append(message)
        else:
            self.process(worker, message)
        waits = worker in self.held and self.variant != "the barrier does not wait"
        if len(self.blocked[worker]) == len(self.routers) and not waits:
            self.snapshots[self.aligned[worker]] += self.states.get(worker, [])
            self.aligned[worker] += 1
            self.blocked[worker].clear()

    def hand_over(self, worker: str, kind: str, version: int, content: Any) -> None:
        if kind == "OUT":
            self.outs[version] += 1
            if self.outs[version] == (1 if self.variant == "the first OUT suffices" else len(self.routers)):
                self.channels[worker, content].append(("state", version, self.states.pop(worker, [])))
        elif kind == "IN" and version > self.begun[worker]:
            self.begun[worker] = version
            if version in self.early:
                self.install(worker, version, self.early.pop(version))
            elif self.installed < version and self.variant != "tuples are not held":
                self.held[worker] = []
        elif kind == "state":
            if version <= self.begun[worker] or self.variant == "installed before the first IN":
                self.install(worker, version, content)
            else:
                self.early[version] = content


Schedule = Callable[[list[str]], str]


def at_random(seed: int) -> Schedule:
    """Of all that can happen next, anything; some events of a schedule are much more likely than others."""
    rng = Random(seed)
    weights: dict[str, float] = defaultdict(lambda: rng.random() ** 4 + 1e-3)
    return lambda events: rng.choices(events, [weights[event] for event in events])[0]


def written(*events: str) -> Schedule:
    rest = iter(events)
    return lambda _: next(rest)


def run(job: Job, schedule: Schedule) -> Job:
    while events := job.events():
        event = schedule(events)
        assert event in events, event
        job.happen(event)
    return job


def every_end(job: Job) -> Iterator[Job]:
    """The ends of all schedules. What reaches the sink does so at once, since it has no effect on anything else."""
    pending, seen = [job], set()
    while pending:
        job = pending.pop()
        events = job.events()
        if not events:
            yield job
        for event in [event for event in events if event.endswith("sink")][:1] or events:
            later = deepcopy(job)
            later.happen(event)
            text = repr(vars(later))
            if text not in seen:
                seen.add(text)
                pending.append(later)


def out_of_order(state: list[Item]) -> bool:
    """Whether tuples of one key from one router stand in another order than they were sent in."""
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for item in state:
        places[item.router, item.key].append(item.place)
    return any(earlier > later for line in places.values() for earlier, later in pairwise(line))


def faults(job: Job) -> set[str]:
    """What has gone wrong, by the final state, the sink and the snapshots alone."""
    state = job.states.get(job.log.strip(BARRIER)[-1], [])
    times = Counter(state)
    numbers = [
        (key, number) for key, count in Counter(item.key for item in job.expected).items() for number in range(1, count + 1)
    ]
    checkpoints = list(zip(job.snapshots, job.cuts, strict=True))
    wrong = {
        "lost": any(times[item] == 0 for item in job.expected),
        "doubled": any(times[item] > 1 for item in job.expected),
        "reordered": out_of_order(state),
        "sink": sorted(job.sink) != sorted(numbers),
        "snapshot": any(out_of_order(snapshot) or sorted(snapshot) != sorted(cut) for snapshot, cut in checkpoints),
    }
    return {name for name, fault in wrong.items() if fault}


def test_a_forwarded_tuple_is_overtaken_by_one_that_was_sent_under_the_new_table() -> None:
    """Even with one router, one key, two tuples and one move."""
    job = run(
        Forwarder(1, "xx", "AB"),
        written(
            "r0 sends", "A reads", "B reads", "A → B", "r0 reads", "r0 sends",
            "r0 → B", "r0 → A", "A → B", "B → sink", "B → sink",
        ),
    )  # fmt: skip
    assert [item.place for item in job.states["B"]] == [1, 0]
    assert faults(job) == {"reordered"}


def test_a_new_owner_that_does_not_know_of_the_move_loses_what_it_processes_as_usual() -> None:
    """It has no state of the task yet. The result of the tuple is wrong, and the state that comes does not contain it."""
    job = run(
        Forwarder(1, "xx", "AB"),
        written(
            "r0 sends", "r0 → A", "r0 reads", "r0 sends", "r0 → B", "A reads", "B reads", "A → B",
            "A → sink", "B → sink",
        ),
    )  # fmt: skip
    assert job.sink == [("x", 1), ("x", 1)]
    assert faults(job) == {"lost", "sink"}


def test_an_old_owner_that_does_not_know_of_the_move_processes_tuples_as_usual_without_harm() -> None:
    job = run(
        Forwarder(1, "xx", "AB"),
        written("r0 sends", "r0 → A", "r0 sends", "r0 → A", "A reads", "r0 reads", "B reads", "A → B", "A → sink", "A → sink"),
    )
    assert faults(job) == set()


SEEDS = range(300)
KEYS, OWNERS, LOG = "xyxxyx", "ABCA", "A|B|C|A|"


@pytest.mark.parametrize("routers", [1, 2, 3])
def test_random_schedules_break_the_forwarder_and_never_the_markers(routers: int) -> None:
    printed = [faults(run(Forwarder(routers, KEYS, OWNERS), at_random(seed))) for seed in SEEDS]
    assert set().union(*printed) == {"lost", "reordered", "sink"}
    repaired = [faults(run(Forwarder(routers, KEYS, OWNERS, "repair"), at_random(seed))) for seed in SEEDS]
    assert set().union(*repaired) == {"reordered"}
    assert [seed for seed in SEEDS if faults(run(Markers(routers, KEYS, LOG), at_random(seed)))] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("routers", "keys", "log"),
    [
        (1, "xx", "A|B|"),
        (2, "x", "A|B"),
        pytest.param(2, "xx", "AB", marks=pytest.mark.slow),
        pytest.param(2, "xy", "ABA", marks=pytest.mark.slow),
        pytest.param(2, "x", "A|B|", marks=pytest.mark.slow),
    ],
)
def test_no_schedule_of_a_small_job_breaks_the_markers(routers: int, keys: str, log: str) -> None:
    ends = [faults(end) for end in every_end(Markers(routers, keys, log))]
    assert ends
    assert set().union(*ends) == set()


@pytest.mark.parametrize(
    ("mutant", "shown"),
    [
        ("the first OUT suffices", "lost"),
        ("tuples are not held", "lost"),
        ("markers overtake tuples", "lost"),
        ("the barrier does not wait", "snapshot"),
        ("installed before the first IN", "snapshot"),
    ],
)
def test_random_schedules_show_what_every_part_of_the_protocol_is_for(mutant: str, shown: str) -> None:
    found = [faults(run(Markers(2, KEYS, LOG, mutant), at_random(seed))) for seed in SEEDS]
    assert shown in set().union(*found)


def test_a_sink_may_see_the_outputs_of_the_new_owner_before_those_of_the_old_one() -> None:
    """The state of a key is in order, and each output comes once; in which order two workers deliver theirs is open."""
    job = run(
        Markers(1, "xx", "AB"),
        written(
            "r0 sends", "r0 → A", "r0 reads", "r0 → A", "r0 → B", "A → B", "r0 sends", "r0 → B", "B → sink", "A → sink",
        ),
    )  # fmt: skip
    assert [item.place for item in job.states["B"]] == [0, 1]
    assert job.sink == [("x", 2), ("x", 1)]
    assert faults(job) == set()
