"""Strategies of whole cases."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from edrp.core.kinds import kinds
from edrp.core.methods import methods
from edrp.validation.fuzzing.bases import base_documents
from edrp.validation.fuzzing.mutations import Draw, mutated, written
from edrp.validation.fuzzing.oracle import Case

WITHOUT_PARAMETERS = ("stored-policy",)
"""Methods that cannot run without parameters."""


@cache
def methods_for(kind: str) -> tuple[str, ...]:
    """Methods that take a kind of problem and need no parameters."""
    known = methods().items()
    return tuple(name for name, method in known if kind in method.kinds and name not in (*WITHOUT_PARAMETERS, "auto"))


@st.composite
def cases(draw: Draw, chosen: Sequence[str] = (), files: Sequence[Path] = (), work_limit: float = 0.2) -> Case:
    """A case of these kinds (default: all): a mutated document, solved by `auto` and by one other method."""
    document: dict[str, Any] = draw(mutated(base_documents(tuple(chosen) or tuple(kinds()), files)))
    method = draw(st.sampled_from(methods_for(document["kind"])))
    return Case(draw(written(st.just(document))), ("auto", method), work_limit, draw(st.integers(0, 3)))
