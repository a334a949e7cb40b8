"""Instances with a rule, by kind, each with a decision that breaks that rule and no limit."""

TASKS = {"work": [1] * 4, "state_size": [1, 2, 3, 4], "intervals": [[0, 2], [2, 4]], "nodes": 2, "tolerance": 0.5}
TASK_RULE = {"name": "cold", "reason": "", "rule": "required", "tasks": [[0, 1]], "nodes": [1]}
OPERATORS = [{"name": name, "processing_duration": 1.0, "external_rate": 1.0, "resources": {"cpu": 1}} for name in ("f", "g")]
HOST = {"name": "small", "resources": {"cpu": 2}, "price": 1.0, "billing_time": 600.0}
NETWORK = {
    "nodes": [{"name": "a", "capacity": 9}, {"name": "b", "capacity": 9}],
    "links": [{"source": "a", "target": "b", "bandwidth": 9, "cost": 1}],
}
PARTS = [{"name": "f", "capacity": 1}, {"name": "g", "capacity": 1}]

CASES = {
    "migration": (
        {"kind": "migration", **TASKS, "rules": [TASK_RULE]},
        [[0, 2], [2, 4]],
    ),
    "enactment": (
        {
            "kind": "enactment",
            "application": {"operators": OPERATORS},
            "host_types": [HOST],
            "weights": {"free_resources": 0.0},
            "rules": [{"name": "tenants", "reason": "", "rule": "apart", "operators": ["f", "g"]}],
        },
        [{"name": "x", "type": "small", "instances": {"f": 1, "g": 1}}],
    ),
    "mapping": (
        {
            "kind": "mapping",
            "network": NETWORK,
            "task": {"source": "a", "delivery": "a", "bandwidths": [1, 1, 1], "components": PARTS},
            "rules": [{"name": "spare", "reason": "", "rule": "apart", "components": ["f", "g"]}],
        },
        {"nodes": ["a", "a"], "routes": [["a"], ["a"], ["a"]]},
    ),
}
"""By kind, an instance and a decision that breaks its rule alone."""
