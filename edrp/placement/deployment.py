"""Where every replica runs, and what changes between two deployments (EDRP, sections 3.3 and 4.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import ConfigDict, Field, RootModel, field_validator

from edrp.core.document import Name, Validated
from edrp.core.document_text import MAX_DECISION, short
from edrp.core.problem import read_as

ActionKind = Literal["migration", "scale-out", "scale-in"]

Replicas = TypeVar("Replicas", bound=tuple[Any, ...])

DeploymentLike = Mapping[str, Sequence[str]]
"""A deployment as it may be given: one, or any mapping of operators to nodes, such as a plain dict."""


@dataclass(frozen=True, slots=True)
class Action:
    """One operator's change between two deployments.

    `added` and `removed` name a node once per replica started or stopped there.

    >>> print(Action("scale-out", "splitter", ("dc1", "dc1", "dc1"), ("fog",)))
    splitter: moves from fog to dc1; +2 on dc1
    """

    kind: Annotated[ActionKind, Field(description="what happens")]
    operator: Annotated[Name, Field(description="to whose replicas")]
    added: Annotated[tuple[Name, ...], Field(description="nodes, once per replica that starts there")]
    removed: Annotated[tuple[Name, ...], Field(description="nodes, once per replica that stops there")]

    @property
    def moved_replicas(self) -> int:
        """Replicas that start, or stop, whichever are more."""
        return max(len(self.added), len(self.removed))

    def __str__(self) -> str:
        moved = min(len(self.added), len(self.removed))
        parts = [f"moves from {counted(self.removed[:moved])} to {counted(self.added[:moved])}"] if moved else []
        parts += [
            f"{sign}{count} on {node}"
            for sign, nodes in (("+", self.added), ("−", self.removed))
            for node, count in Counter(nodes[moved:]).items()
        ]
        return f"{self.operator}: {'; '.join(parts)}"


class ReplicasByOperator(Validated, RootModel[dict[Name, Replicas]], Generic[Replicas]):
    """What deployments have in common: each operator with its replicas, which cannot be changed."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    def __getitem__(self, operator: str) -> Replicas:
        return self.root[operator]

    def __contains__(self, operator: object) -> bool:
        return operator in self.root

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        return iter(self.root)

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.root.items())))

    def __repr__(self) -> str:
        return short(self, MAX_DECISION)

    def __repr_args__(self) -> Any:
        yield None, self.root  # not `root=`: so that it can be pasted into a program

    def degree(self, operator: str) -> int:
        """Number of replicas of the operator."""
        return len(self.root[operator])


class Deployment(  # type: ignore[misc]  # the iterators of a model and of a mapping differ; ours is the mapping's
    ReplicasByOperator[Annotated[tuple[Name, ...], Field(min_length=1)]], Mapping[str, tuple[str, ...]]
):
    """A mapping of each operator to a multiset of nodes: one entry per replica, kept in sorted order.

    It cannot be changed, and equals any mapping that says the same, whatever the order of nodes.

    Examples
    --------
    >>> before = Deployment({"parser": ["a"]})
    >>> after = Deployment({"parser": ["b", "a"]})
    >>> after["parser"], [str(action) for action in before.actions_to(after)]
    (('a', 'b'), ['parser: +1 on b'])
    >>> dict(after), after == {"parser": ["b", "a"]}
    ({'parser': ('a', 'b')}, True)
    """

    __hash__ = ReplicasByOperator.__hash__  # which a class with an `__eq__` of its own does not inherit

    @field_validator("root", mode="after")
    @classmethod
    def _sorted(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        return {operator: tuple(sorted(nodes)) for operator, nodes in value.items()}

    def __len__(self) -> int:
        return len(self.root)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Deployment):
            return self.root == other.root
        if not isinstance(other, Mapping):
            return NotImplemented
        return self.root.keys() == other.keys() and all(_same_nodes(self.root[name], other[name]) for name in self.root)

    def replicas(self, operator: str) -> Counter[str]:
        """Number of replicas on each node that runs the operator."""
        return Counter(self.root[operator])

    def actions_to(self, target: DeploymentLike) -> tuple[Action, ...]:
        """The reconfiguration from this deployment to `target`, one action per changed operator."""
        wanted = read_as(Deployment, target, "target")
        actions = []
        for operator in wanted:
            before = self.replicas(operator) if operator in self else Counter()
            after = wanted.replicas(operator)
            if before == after:
                continue
            added, removed = tuple((after - before).elements()), tuple((before - after).elements())
            grown = after.total() - before.total()
            kind: ActionKind = "scale-out" if grown > 0 else "scale-in" if grown < 0 else "migration"
            actions.append(Action(kind, operator, added, removed))
        return tuple(actions)


def counted(nodes: Sequence[str]) -> str:
    """Nodes with the number of replicas where it is not one.

    >>> counted(("a", "b", "b"))
    'a, b ×2'
    """
    return ", ".join(node if count == 1 else f"{node} ×{count}" for node, count in Counter(nodes).items())


def _same_nodes(nodes: tuple[str, ...], other: object) -> bool:
    """Whether a list or tuple names the same nodes, each as often; text is none, though it can be iterated over."""
    listed = isinstance(other, (list, tuple)) and all(isinstance(node, str) for node in other)
    return listed and Counter(nodes) == Counter(other)  # type: ignore[call-overload, no-any-return]
