"""Problems with priorities: answers to one instance are compared in the first stage in which they differ."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from edrp.core.tolerances import RECHECKED_VALUE

Stages = Sequence[dict[str, Any]]
"""Outcomes of the stages of one answer, as its document has them."""

WITH_STAGES = re.compile(r'"stages":\s*\[\s*\{')
"""Part of the documents of solutions of problems with priorities."""


def in_decisive_stages(rows: pa.Table) -> pa.Table:
    """Result rows whose objective and bound are those of their instance's decisive stage.

    An answer that is worse in an earlier stage may have any value in a later one, so that the values of the last stage alone
    compare nothing. Rows of problems without priorities stay as they are.
    """
    documents = zip(rows["id"].to_pylist(), rows["solution"].to_pylist(), strict=True)
    stages = {i: json.loads(text)["stages"] for i, (_, text) in enumerate(documents) if text and WITH_STAGES.search(text)}
    if not stages:
        return rows
    by_id: dict[str, list[int]] = {}
    for i in stages:
        by_id.setdefault(rows["id"][i].as_py(), []).append(i)
    values = {name: rows[name].to_pylist() for name in ("objective", "bound")}
    for answers in by_id.values():
        k = decisive_stage([stages[i] for i in answers])
        for i in answers:
            values["objective"][i], values["bound"][i] = stages[i][k]["value"], stages[i][k]["bound"]
    for name, column in values.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(column, pa.float64()))
    return rows


def decisive_stage(answers: Sequence[Stages]) -> int:
    """Index of the first stage in which an answer is worse than another one allows, or better than its bound; else the last.

    >>> best = [{"value": 1.0, "bound": 1.0, "limit": 1.1}, {"value": 5.0, "bound": None, "limit": None}]
    >>> decisive_stage([best, [{"value": 1.1, "bound": None, "limit": 1.2}, {"value": 4.0, "bound": None, "limit": None}]])
    1
    >>> decisive_stage([best, [{"value": 2.0, "bound": None, "limit": 2.2}, {"value": 0.0, "bound": None, "limit": None}]])
    0
    """
    last = min(map(len, answers)) - 1
    for k in range(last):
        values, limit = [stages[k]["value"] for stages in answers], min(stages[k]["limit"] for stages in answers)
        bound = max((stages[k]["bound"] for stages in answers if stages[k]["bound"] is not None), default=-math.inf)
        slack = RECHECKED_VALUE * max(map(abs, values))
        if max(values) > limit + slack or min(values) < bound - slack:
            return k
    return last
