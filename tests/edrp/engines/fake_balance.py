"""A cluster whose live operator is as busy as the tasks that each of its workers holds."""

from dataclasses import dataclass

from fake_flink import START
from fake_live import FakeLive, FakeLiveOperator

SERVICE_RATE = 200.0
"""Tuples/s of a worker that is never idle."""


@dataclass
class FakeBalance(FakeLive):
    """The cluster; `weights` are shares of the tuples by task, and `rate` tuples/s."""

    weights: tuple[float, ...] = ()
    rate: float = 200.0
    managers: tuple[str, ...] = ("tm-a", "tm-b", "tm-c")
    slowed: float = 1.0
    """Share of the tuples that still get through."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _, router, self.counter, *_ = self.operators
        router.service_rate = 10_000.0
        self.counter.inputs, self.counter.service_rate = ((router.name, "HASH"),), SERVICE_RATE
        self.share()

    @property
    def now(self) -> int:
        return START + round(self.seconds * 1000)

    @property
    def count(self) -> FakeLiveOperator:
        return self.live[0]

    def share(self) -> None:
        """Give each worker the tuples of its tasks."""
        total = sum(self.weights)
        by_worker = [0.0] * len(self.count.nodes)
        for task, worker in enumerate(self.count.workers):
            by_worker[worker] += self.weights[task] / total
        self.counter.shares = tuple(by_worker)
        self.count.rates = {task: weight / total * self.rate / SERVICE_RATE * 1e6 for task, weight in enumerate(self.weights)}

    def elapse(self, seconds: float) -> None:
        super().elapse(seconds)
        self.share()
        fullest = max(self.counter.shares) * self.rate / SERVICE_RATE
        through = self.slowed / max(1.0, fullest)
        self.carry(self.rate * through, seconds, held=through < 1.0)

    def metrics(self) -> dict[str, dict[str, str]]:
        return {self.key(operator.name): {} for operator in self.operators} | super().metrics()
