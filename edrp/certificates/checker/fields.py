"""Fields of the instances and decisions that the checker reads by itself, by their place, with the form of each.

A place is a list of `field:form`, and a form is read from its end:

    X!              the field must be given
    X?              X or null
    X+  X*  X+100   a list of at least one X, of any number of them, of at least one and at most 100
    X^              two X
    X%              an object of X by name
    X~              a number X, or an object of such numbers by name
    *:X             as an entry: any other field, each of which holds an X
    text words flag text of 1 to 200 characters, text of any length, true or false
    =a|b            one of these words
    #1..9           a whole number from 1 to 9
    .               an object, whose fields are those of the place below
    .rule           the same, of the place below that its field `rule` names
    any             anything
    amount-or-units a number in the unit "1", or an object that holds a whole number of `units` from 1 to 1000000
    lonlat          longitude and latitude in degrees
    signed          a number from −10⁹ to 10⁹
    either-sign     a number of either sign whose magnitude is one of the unit "1"
    share below-1   a number from 0 to 1, or from 0 to less than 1
    s bytes/s …     a number of at least 0 in the unit: 0, or in the range that `RANGES` has for it
    >s >share …     the same without 0
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import Any

from .reading import need

RANGES = {
    "h": ("1e-6", "1e5"),
    "s": ("1e-9", "1e9"),
    "bytes": ("1e-6", "1e15"),
    "B": ("1e-6", "1e15"),
    "bytes/s": ("1e-6", "1e15"),
    "tuples": ("1e-9", "1e15"),
    "tuples/s": ("1e-9", "1e12"),
    "money": ("1e-12", "1e9"),
    "money/h": ("1e-18", "1e9"),
    "money/h-per-tuple/s": ("1e-15", "1e9"),
    "money/bytes": ("1e-18", "1e3"),
    "1": ("1e-9", "1e15"),
    "total": ("1e-9", "1e21"),
    "either-sign": ("1e-9", "1e15"),
    "units/s": ("1e-9", "1e15"),
    "units/tuple": ("1e-15", "1e12"),
    "needs": ("1e-9", "1e15"),
    "1/money": ("1e-9", "1e9"),
    "1/ms": ("1e-9", "1e9"),
    "s/bytes": ("1e-18", "1e6"),
    "share": ("0", "1"),
    ">share": ("1e-9", "1"),
    "below-1": ("1e-9", "1"),
    "amount": ("0", "1e308"),
}
"""Smallest number above 0 and largest number, by unit; by the form with its ">" where that is another."""

_OPERATOR = "name:text! state_size:bytes code_size:bytes resources:1~ candidates:text+? external_rate:tuples/s selectivity:1"
_ZONE = "delay:s! bandwidth:>bytes/s? cost:money/h-per-tuple/s availability:>share"
_GRAPH = {
    "application": "operators:.+! streams:.*",
    "application.streams": ("source:text! target:text! rate:tuples/s? partitioning:=forward|hash|rebalance usage:units/tuple%"),
}
_CHOICE = "nodes:text* zones:text* labels:text*%"
_RULE, _GROUPING = "name:text! reason:words penalty:1?", "operators:text+! per:text"
_RULES = {
    "rules.apart": f"rule:=apart! {_RULE} {_GROUPING} between:=replicas|operators",
    "rules.together": f"rule:=together! {_RULE} {_GROUPING} beside:text*",
    "rules.spread": (
        f"rule:=spread! {_RULE} {_GROUPING} most:#1..1000000? share:>share? max_skew:#1..1000000? min_domains:#1..1000000"
    ),
    "rules.at_least_zones": f"rule:=at_least_zones! {_RULE} {_GROUPING} zones:#1..1000000!",
    "rules.forbidden": f"rule:=forbidden! {_RULE} {_CHOICE} operators:text*",
    "rules.required": f"rule:=required! {_RULE} {_CHOICE} operators:text*",
    "rules.linear": f"rule:=linear! {_RULE} terms:.+! lower:either-sign? upper:either-sign?",
    "rules.linear.terms": f"operator:text! coefficient:either-sign count:=replicas|nodes {_CHOICE}",
    "rules.python": f"rule:=python! {_RULE} type:text! parameters:any%",
}
_PLACED = {
    **_GRAPH,
    **_RULES,
    "network": "nodes:.+! links:.* symmetric:flag routed:flag store:. within_zone:.? between_zones:.?",
    "network.nodes": (
        "name:text! coordinates:lonlat? resources:amount-or-units~? capacity:>units/s% speedup:>1 spawn_time:s "
        "availability:>share zone:text? labels:text% store_delay:s? store_bandwidth:>bytes/s?"
    ),
    "network.links": f"source:text! target:text! {_ZONE}",
    "network.within_zone": _ZONE,
    "network.between_zones": _ZONE,
    "network.store": "delay:s bandwidth:>bytes/s? local_bandwidth:>bytes/s?",
}
_SERVERS = {
    "network": "nodes:.+! links:.* symmetric:flag",
    "network.nodes": (
        "name:text! coordinates:lonlat? capacity:1! total_capacity:>1? services:text*? uplink:bytes/s downlink:bytes/s? "
        "access_delay:s"
    ),
    "network.links": "source:text! target:text! bandwidth:bytes/s! cost:money delay:s",
}
_CONTAINERS = {
    **_GRAPH,
    "application.operators": (
        f"{_OPERATOR} processing_duration:>s! occupancy:>share min_instances:#1..100000 max_instances:#1..100000?"
    ),
    "host_types": "name:text! resources:needs~! price:money! billing_time:>s! start_up:s^ limit:#0..1000000?",
}
_HARD_RULE = "name:text! reason:words"
_TASKS = "work:1+! state_size:B+! intervals:#0..1000000^+! nodes:#1..10000! tolerance:1! allow_empty:flag"
FIELDS: dict[str, dict[str, str]] = {
    "edrp": {
        **_PLACED,
        "": (
            "kind:=edrp! application:.! network:.! current:text+%? weights:. limits:. synchronisation_time:s "
            "reconfiguration:=pause-and-resume|storm priorities:.* rules:.rule* evenness:.%"
        ),
        "evenness": "of:text per:text by:=deviation|max|skew operators:text*",
        "application.operators": (
            f"{_OPERATOR} latency:.? cost:money/h~ max_replicas:#1..10000 min_replicas:#1..10000 usage:.% state_of:text?"
        ),
        "application.operators.latency": (
            "model:=mm1|capacity-curve|polynomial|table! service_rate:>tuples/s replicas:#1..10000+ capacities:>tuples/s+ "
            "coefficients:signed+ rates:tuples/s+ latencies:s+"
        ),
        "application.operators.usage": "per_replica:units/s per_tuple:units/tuple",
        "weights": (
            "response_time:share cost:share downtime:share network_usage:share availability:share peak_load:share "
            "peak_loads:share% *:share"
        ),
        "limits": (
            "response_time:>s? cost:>money/h? downtime:>s? network_usage:>tuples? availability:>below-1? peak_load:>1? "
            "peak_loads:>1% *:>total?"
        ),
        "priorities": "metric:text! slack:1",
    },
    "latency-aware": {
        **_PLACED,
        "": "kind:=latency-aware! application:.! network:.! current:text+%? weights:. utilisation:>share% rules:.rule*",
        "application.operators": f"{_OPERATOR} instances:#1..10000",
        "weights": "latency:1/ms supervisors:1 colocation:1 events:1",
    },
    "migration": {
        "": f"kind:=migration! {_TASKS} rules:.*",
        "rules": f"{_HARD_RULE} rule:=forbidden|required! tasks:#0..1000000^+! nodes:#0..1000000+!",
    },
    "migration-policy": {"": f"kind:=migration-policy! {_TASKS} node_counts:#..10000+! transitions:share*+! discount:below-1!"},
    "link-allocation": {
        **_SERVERS,
        "": (
            "kind:=link-allocation! network:.! flows:.+! max_links:#1..1000 forwarding_price:money/bytes public_share:>share "
            "keep:flag"
        ),
        "flows": "name:text! source:text! target:text! rate:>bytes/s! price:money/bytes! route:text*?",
    },
    "mapping": {
        **_SERVERS,
        "": (
            "kind:=mapping! network:.! task:.! max_empty_hops:#0..1000 empty_hops:=per_edge|total "
            "bandwidth:=cumulative|per_edge cost:=additive|load-balance|public-hops|public-hops-links public_cost:money rules:.*"
        ),
        "rules": f"{_HARD_RULE} rule:=apart|together! components:text+!",
        "task": "source:text! delivery:text! components:.*64! bandwidths:bytes/s*? rate:bytes/s? price:money/bytes",
        "task.components": "name:text! shrinkage:>1 capacity:1 cpu_factor:s/bytes service:text?",
    },
    "enactment": {
        **_CONTAINERS,
        "": (
            "kind:=enactment! application:.! host_types:.+! queues:1% horizon:>s utilisation:>share? penalty:money weights:. "
            "current:.* changes:.? rules:.*"
        ),
        "changes": "started_instance:money started_host:money hours:>h?",
        "rules": f"{_HARD_RULE} rule:=apart! operators:text+!",
        "weights": "host_cost:1/money free_resources:1 violations:1/money",
        "current": "name:text! type:text! instances:#0..1000000% images:text*",
    },
    "leasing": {
        **_CONTAINERS,
        "": (
            "kind:=leasing! application:.! host_types:.+! period:>s! forecast:1+100000! queues:1% utilisation:>share? "
            "penalty:money leased:.* prorate:flag"
        ),
        "leased": "name:text! type:text! paid_periods:#0..1000000!",
    },
}
"""Fields of instances by kind and place; a test compares them with the documents of the package."""

METRICS = tuple(entry.partition(":")[0] for entry in FIELDS["edrp"]["weights"].split() if entry[0] != "*")
"""Metrics of kind `edrp` that are no Python classes of a user's."""

_DEPLOYMENT, _INTERVALS = {"": "deployment:text+%!"}, {"": "intervals:#0..1000000^?+!"}
DECISIONS: dict[str, dict[str, str]] = {
    "edrp": _DEPLOYMENT,
    "latency-aware": _DEPLOYMENT,
    "migration": _INTERVALS,
    "migration-policy": _INTERVALS,
    "link-allocation": {"": "allocations:.*!", "allocations": "flow:text! route:text*? public_rate:amount"},
    "mapping": {"": "nodes:text*! routes:text+*! public:flag*?!"},
    "enactment": {"": "hosts:.*!", "hosts": FIELDS["enactment"]["current"]},
    "leasing": {
        "": "hosts:.*!",
        "hosts": "name:text! type:text! first:#0..1000000 units:#0..1000000! instances:#0..1000000%*!",
    },
}
"""Fields of decisions in solution documents, by kind and place."""


def check_fields(known: dict[str, str], value: Any, place: str = "") -> None:
    """An object of an instance has the fields that it must have, no others, and in each what it is to hold."""
    where, forms = f"{place}: " if place else "", _forms(known[place])
    need(isinstance(value, dict), f"{where}{_shown(value)} is no object")
    for name in value:
        need(name in forms or "*" in forms, f"{place or 'instance'}: has no field {name[:40]!r}")
    for name, form in {**dict.fromkeys(value.keys() - forms.keys(), forms.get("*", "")), **forms}.items():
        need(name in value or not form.endswith("!"), f"{where}{name} is missing")
        if name in value:
            _check(known, form.rstrip("!"), value[name], f"{place}.{name}".lstrip("."))


def _check(known: dict[str, str], form: str, value: Any, place: str) -> None:
    """Check that the value at a place is of a form."""
    inner, size, max_length = _parts(form)
    parts = [value]
    if size == "?" and value is None:
        parts = []
    elif size == "%" or (size == "~" and isinstance(value, dict)):
        _need(isinstance(value, dict) and all(map(_is_text, value)), value, place)
        parts = list(value.values())
    elif size in ("+", "*", "^"):
        _need(isinstance(value, list) and (size != "^" or len(value) == 2) and (size != "+" or value), value, place)
        _need(not max_length or len(value) <= int(max_length), value, place)
        parts = value
    for part in parts:
        if size:
            _check(known, inner, part, place)
        elif form[0] == ".":
            named = f"{place}.{part.get(form[1:])}" if form[1:] and isinstance(part, dict) else place
            need(named in known, f"{place}: {_shown(part)} is of none of the types that there are")
            check_fields(known, part, named)
        else:
            _need(_is_of(form, part), part, place)


def _need(holds: object, value: Any, place: str) -> None:
    need(holds, f"{place}: {_shown(value)} is of another type or size")


@cache
def _forms(line: str) -> dict[str, str]:
    """Forms by field."""
    return dict(entry.split(":", 1) for entry in line.split())


@cache
def _parts(form: str) -> tuple[str, str, str]:
    """Split a form into its base, the sign at its end and the number behind the sign; the last two are empty without a sign."""
    match = re.fullmatch(r"(.+)([?^%~+*])(\d*)", form)
    return (match[1], match[2], match[3]) if match else (form, "", "")


def _is_of(form: str, value: Any) -> bool:
    """Whether a value is of a form without a sign at its end."""
    if form == "lonlat":
        pair = isinstance(value, list) and len(value) == 2
        return pair and all(_is_number(degrees) and abs(degrees) <= most for degrees, most in zip(value, (180, 90), strict=True))
    if form in ("any", "words", "text", "flag"):
        return form == "any" or (_is_text(value) if form == "text" else isinstance(value, bool if form == "flag" else str))
    if form == "amount-or-units":
        units = value.get("units") if isinstance(value, dict) and value.keys() == {"units"} else None
        return _is_of("1", value) if units is None else _is_of("#1..1000000", units)
    if form[0] == "=":
        return isinstance(value, str) and value in form[1:].split("|")
    if not _is_number(value):
        return False
    if form[0] == "#":
        low, high = form[1:].split("..")
        return isinstance(value, int) and value <= int(high) and (not low or value >= int(low))
    if form == "signed":
        return bool(abs(value) <= 10**9)
    smallest, largest = _range(form)
    if form == "either-sign":
        value = abs(value)
    inside = value >= smallest and (value < largest if form.endswith("below-1") else value <= largest)
    return bool(inside or (value == 0 and form[0] != ">"))


@cache
def _range(form: str) -> tuple[Fraction, Fraction]:
    smallest, largest = RANGES.get(form) or RANGES[form.lstrip(">")]
    return Fraction(smallest), Fraction(largest)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= 200


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    return repr(str(value)[:40])
