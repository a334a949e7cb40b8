"""The parameters that projected costs depend on: written down, read, and compared."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from edrp.mdp.policy.model import PolicyModel
from edrp.mdp.tasks import Tasks


def model_parameters(model: PolicyModel) -> dict[str, Any]:
    """All that the projected costs of a model depend on, as JSON can hold it.

    Examples
    --------
    >>> from edrp.mdp.tasks import Tasks
    >>> model = PolicyModel(Tasks.of([1, 1], [5, 5]), (1, 2), 0.5, True, np.array([[0.0, 1.0], [1.0, 0.0]]), 0.8)
    >>> model_parameters(model)["node_counts"]
    [1, 2]
    """
    return {
        "work": model.tasks.work.tolist(),
        "state_size": model.tasks.state_size.tolist(),
        "node_counts": list(model.counts),
        "transitions": model.transitions.tolist(),
        "discount": float(model.discount),
        "tolerance": float(model.tolerance),
        "allow_empty": bool(model.allow_empty),
    }


def build_model(parameters: dict[str, Any]) -> PolicyModel:
    """The model with these parameters, the inverse of `model_parameters`."""
    return PolicyModel(
        tasks=Tasks.of(parameters["work"], parameters["state_size"]),
        counts=tuple(int(count) for count in parameters["node_counts"]),
        tolerance=float(parameters["tolerance"]),
        allow_empty=bool(parameters["allow_empty"]),
        transitions=np.array(parameters["transitions"], dtype=np.float64),
        discount=float(parameters["discount"]),
    )


def fingerprint(parameters: dict[str, Any]) -> str:
    """SHA-256 of parameters, the same for equal ones wherever they are computed.

    >>> fingerprint({"discount": 0.8, "tolerance": 0.2}) == fingerprint({"tolerance": 0.2, "discount": 0.8})
    True
    """
    return hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()


def differences(stored: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Names of the parameters that differ."""
    return sorted(name for name in {*stored, *wanted} if stored.get(name) != wanted.get(name))
