"""Nodes with names and links between them: what the networks of all topics have in common."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from edrp.core.document import Document, Faults, Name


class NamedNode(Document):
    """A node as far as links know it."""

    name: Name = Field(description="unique in the network")


class LinkEnds(Document):
    """Where a link goes."""

    source: Name = Field(description="node that sends")
    target: Name = Field(description="node that receives")


class LinkedNodes(Document):
    """Nodes with names, and links between them: the base of every network.

    Subclasses say what a node and a link are like.
    """

    nodes: tuple[NamedNode, ...]
    links: tuple[LinkEnds, ...]
    symmetric: bool = Field(True, description="every link serves both directions")

    @model_validator(mode="after")
    def _check_links(self) -> Self:
        faults = Faults("network")
        names = [node.name for node in self.nodes]
        faults.add_repeated_names("nodes", names)
        known = set(names)
        seen: dict[tuple[str, str], int] = {}
        for index, link in enumerate(self.links):
            for end in ("source", "target"):
                if getattr(link, end) not in known:
                    faults.add(("links", index, end), getattr(link, end), "is no node of this network")
            if link.source == link.target:
                faults.add(
                    ("links", index), link.source, "joins a node to itself; such links have no delay and no cost, remove it"
                )
            pair = (link.source, link.target)
            for key in (pair, pair[::-1]) if self.symmetric else (pair,):
                if key in seen:
                    hint = "; with symmetric: true a link serves both directions" if self.symmetric else ""
                    faults.add(("links", index), "→".join(pair), f"repeats links[{seen[key]}]{hint}")
                    break
            seen[pair] = index
        faults.raise_if_any()
        return self
