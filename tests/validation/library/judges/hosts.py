"""Judges of leased hosts: kinds `enactment` and `leasing`."""

import math
from itertools import pairwise, product

from common import STEPS, Judgement, NotJudgedError, rates_of, steps
from ortools.sat.python import cp_model


def _pack(model, document, room_of):
    """Counts of instances of each operator by slot; `room_of` has the open slots, as pairs of a type and a literal."""
    types = {host["name"]: host["resources"] for host in document["host_types"]}
    count = {}
    for operator in document["application"]["operators"]:
        for slot, (kind, _) in enumerate(room_of):
            allowed = operator["candidates"] is None or kind in operator["candidates"]
            fits = min(int(types[kind][r] / need) for r, need in operator["resources"].items() if need)
            count[operator["name"], slot] = model.new_int_var(0, fits if allowed else 0, "")
    for slot, (kind, opened) in enumerate(room_of):
        for resource, free in types[kind].items():
            scale = 1000 if free < 10**6 else 1
            needs = [
                math.ceil(o["resources"].get(resource, 0) * scale * (1 - 1e-12)) * count[o["name"], slot]
                for o in document["application"]["operators"]
            ]
            model.add(sum(needs) <= math.floor(free * scale * (1 + 1e-12)) * opened)
    return count


def _fewest(document, operator, load):
    occupied = operator["processing_duration"] * operator["occupancy"]
    fewest = 0 if document["utilisation"] is None else math.ceil(load * occupied / document["utilisation"] * (1 - 1e-9))
    return max(operator["min_instances"], fewest), occupied


def judge_enactment(document, best):
    if document.get("rules") or document.get("changes") or set(document["weights"].values()) != {1.0}:
        raise NotJudgedError("rules, prices of changes, or other weights")
    model, scale, types = cp_model.CpModel(), 10 * STEPS, document["host_types"]
    room = [
        (t["name"], model.new_bool_var("")) for t in types for _ in range(min(t["limit"] or 99, int(best / t["price"] + 1e-6)))
    ]
    for kind in {kind for kind, _ in room}:
        for one, other in pairwise([x for name, x in room if name == kind]):
            model.add_implication(other, one)
    count, (load, _) = _pack(model, document, room), rates_of(document["application"])
    price = {t["name"]: steps(t["price"], scale) for t in types}
    objective, totals = sum(price[kind] * x for kind, x in room), {}
    for o in document["application"]["operators"]:
        name, (fewest, occupied) = o["name"], _fewest(document, o, load[o["name"]])
        totals[name] = sum(count[name, slot] for slot in range(len(room)))
        model.add_linear_constraint(totals[name], fewest, o["max_instances"] or 10**5)
        item, horizon = document["penalty"] * scale, document["horizon"]
        late = model.new_int_var(0, 10**6 * scale, "")
        arriving = document["queues"].get(name, 0) + load[name] * horizon
        model.add(late >= round(arriving * item) - round(horizon / occupied * item) * totals[name])
        objective += late
    free = {r: model.new_int_var(0, scale, r) for r in types[0]["resources"]}
    numbers = [range(sum(kind == t["name"] for kind, _ in room) + 1) for t in types]
    chosen = []
    for hosts in product(*numbers):
        if not 0 < sum(n * t["price"] for n, t in zip(hosts, types, strict=True)) <= best + 1e-6:
            continue
        chosen.append(model.new_bool_var(""))
        for n, t in zip(hosts, types, strict=True):
            model.add(sum(x for kind, x in room if kind == t["name"]) == n).only_enforce_if(chosen[-1])
        for r, value in free.items():
            offered = sum(n * t["resources"][r] for n, t in zip(hosts, types, strict=True))
            used = sum(
                round(scale * o["resources"][r] / offered) * totals[o["name"]] for o in document["application"]["operators"]
            )
            model.add(value >= scale - used).only_enforce_if(chosen[-1])
    model.add_exactly_one(chosen)

    def read(value):
        hosts = [(k, {o: value(x) for (o, s), x in count.items() if s == slot}) for slot, (k, x) in enumerate(room) if value(x)]
        return [{"name": f"h{i}", "type": kind, "instances": held} for i, (kind, held) in enumerate(hosts)]

    return Judgement(model, [objective + sum(free.values())], scale, read)


def judge_leasing(document, best):
    """Units of leases, of which those that cover a period are slots for its instances."""
    model, scale, forecast, period = cp_model.CpModel(), 10 * STEPS, document["forecast"], document["period"]
    types, (load, _) = {t["name"]: t for t in document["host_types"]}, rates_of(document["application"])
    bought, objective, waiting, counts, rooms = {}, 0, {}, [], []
    for name, t in types.items():
        length = round(t["billing_time"] / period)
        for begin in range(len(forecast)):
            beyond = max(0, begin + length - len(forecast)) / length if document["prorate"] else 0
            price = t["price"] * (1 - beyond)
            bought[name, begin] = model.new_int_var(0, int(best / price + 1e-6), "")
            objective += steps(price, scale) * bought[name, begin]
    for now, factor in enumerate(forecast):
        room = []
        for name, t in types.items():
            paid = sum(host["type"] == name and host["paid_periods"] > now for host in document["leased"])
            length = round(t["billing_time"] / period)
            active = paid + sum(x for (kind, begin), x in bought.items() if kind == name and begin <= now < begin + length)
            most = min(t["limit"] or 99, paid + int(best / t["price"] * length + 1e-6), 12)
            slots = [model.new_bool_var("") for _ in range(most)]
            model.add(sum(slots) == active)
            for one, other in pairwise(slots):
                model.add_implication(other, one)
            room += [(name, x) for x in slots]
        count = _pack(model, document, room)
        for o in document["application"]["operators"]:
            name, (fewest, occupied) = o["name"], _fewest(document, o, factor * load[o["name"]])
            total, item = sum(count[name, slot] for slot in range(len(room))), document["penalty"] * scale
            model.add_linear_constraint(total, fewest, o["max_instances"] or 10**5)
            before = waiting.get(name, round(document["queues"].get(name, 0) * item))
            waiting[name] = model.new_int_var(0, 10**6 * scale, "")
            arriving = round(factor * load[name] * period * item)
            model.add(waiting[name] >= before + arriving - round(period / occupied * item) * total)
            objective += waiting[name]
        counts.append(count)
        rooms.append(room)

    def read(value):
        hosts = [
            {"name": h["name"], "type": h["type"], "until": h["paid_periods"], "begin": 0, "units": 0} for h in document["leased"]
        ]
        for (kind, begin), x in bought.items():
            until = begin + round(types[kind]["billing_time"] / period)
            hosts += [
                {"name": f"{kind}.{begin}.{i}", "type": kind, "begin": begin, "until": until, "units": 1} for i in range(value(x))
            ]
        for host in hosts:
            host["instances"] = [{} for _ in forecast]
        for now, (count, room) in enumerate(zip(counts, rooms, strict=True)):
            for kind in types:
                here = [host for host in hosts if host["type"] == kind and host["begin"] <= now < host["until"]]
                slots = [slot for slot, (name, x) in enumerate(room) if name == kind and value(x)]
                for host, slot in zip(here, slots, strict=True):
                    host["instances"][now] = {o: value(x) for (o, s), x in count.items() if s == slot}
        return [{"first": h["begin"], **{k: h[k] for k in ("name", "type", "units", "instances")}} for h in hosts]

    return Judgement(model, [objective], scale, read)
