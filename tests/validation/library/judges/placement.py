"""Judges of deployments: kinds `edrp`, `edrp-sequence` and `latency-aware`."""

import math
from itertools import pairwise, product

from common import STEPS, Judgement, NotJudgedError, common, counts_of, links_of, rates_of, steps, topological
from ortools.sat.python import cp_model

MAX_PARTS = 144
"""Most parts of a stream of which pairs of replicas carry a whole number: those of up to four replicas on each side."""


class Deployment:
    """A deployment of kind `edrp` at one load: its variables, and its metrics in steps of their limits."""

    def __init__(self, model, document, external=None):
        self.model, self.document = model, document
        application, self.network = document["application"], document["network"]
        self.operators = {o["name"]: o for o in application["operators"]}
        self.streams = {(s["source"], s["target"]): s for s in application["streams"]}
        self.nodes = {node["name"]: node for node in self.network["nodes"]}
        self.load, self.rate = rates_of(application, external)
        self.link = links_of(self.network)
        self.total, self.count, self.values, self.used, self.share = {}, {}, {}, {}, {}
        named = {price for _, price in self.link.values()}
        self.price = max(named, default=0)
        if len(named) > 1:
            raise NotJudgedError("links of several prices")
        if document.get("rules") or document["reconfiguration"] != "pause-and-resume":
            raise NotJudgedError("rules, or Storm")
        for name, operator in self.operators.items():
            self._place(name, operator)
        for n, node in self.nodes.items():
            if node["resources"] is not None:
                model.add(
                    sum(steps(o["resources"], 1000) * self.count[name, n] for name, o in self.operators.items())
                    <= steps(node["resources"], 1000)
                )

    def _place(self, name, operator):
        """Numbers of replicas of an operator, in all and on each node, and shares of it on a node where traffic has a price."""
        model, numbers = self.model, range(operator["min_replicas"], operator["max_replicas"] + 1)
        self.total[name] = {r: model.new_bool_var(f"{name}*{r}") for r in numbers}
        model.add_exactly_one(self.total[name].values())
        for n, node in self.nodes.items():
            allowed = operator["candidates"] is None or n in operator["candidates"]
            room = numbers[-1] if node["resources"] is None else int(node["resources"] / max(operator["resources"], 1e-9))
            most = min(numbers[-1], room) if allowed else 0
            self.count[name, n], self.values[name, n], self.used[name, n] = counts_of(model, f"{name}@{n}", most)
            if self.price or "changes" in self.document:
                parts = {(k, r): model.new_bool_var("") for r in numbers for k in range(1, min(most, r) + 1)}
                model.add(sum(parts.values()) == self.used[name, n])
                model.add(sum(k * x for (k, _), x in parts.items()) == self.count[name, n])
                for r in numbers:
                    model.add(sum(x for (_, total), x in parts.items() if total == r) <= self.total[name][r])
                self.share[name, n] = {}
                for (k, r), x in parts.items():
                    self.share[name, n].setdefault(k / r, []).append(x)
        model.add(sum(self.count[name, n] for n in self.nodes) == sum(r * x for r, x in self.total[name].items()))

    def metric(self, name):
        """Expression of a metric, in steps of its limit, which holds."""
        single = name.startswith("peak_loads.")
        limit = self.document["limits"]["peak_loads"].get(name[11:]) if single else self.document["limits"][name]
        most = STEPS + 10 if limit is not None else 10**6 * STEPS
        value = self.model.new_int_var(0, most, name)
        if single:
            self._peak(value, name[11:], limit or 1)
        else:
            {"response_time": self._response, "cost": self._cost, "downtime": self._downtime}[name](value, limit or 1)
        return value

    def _response(self, value, limit):
        model, finish = self.model, {}
        for name in topological(self.operators, self.streams):
            finish[name] = model.new_int_var(0, 10**6 * STEPS, "")
            latency = model.new_int_var(0, 10**6 * STEPS, "")
            self._latency(latency, name, limit)
            model.add(finish[name] >= latency)
            for u, v in self.streams:
                if v == name:
                    self._delay(finish[u] + latency, finish[name], (u, v), limit)
            model.add(value >= finish[name])

    def _latency(self, latency, name, limit):
        """At least that of the slowest node in use; overloaded nodes are not used."""
        mu, model = (self.operators[name]["latency"] or {}).get("service_rate"), self.model
        if mu is None:
            return
        if self.operators[name]["latency"]["model"] != "mm1":
            raise NotJudgedError("a latency that is not of M/M/1")
        speeds = {n: node["speedup"] for n, node in self.nodes.items()}
        least = 0
        for r, chosen in self.total[name].items():
            rate = self.load[name] / r
            for speed in set(speeds.values()):
                here = [self.used[name, n] for n in self.nodes if speeds[n] == speed]
                if rate >= mu * min(1, speed):
                    for used in here:
                        model.add_bool_or(used.Not(), chosen.Not())
                    continue
                seconds = steps(1 / (mu - rate) / speed / limit)
                if speed == max(speeds.values()):
                    least += seconds * chosen
                for used in here:
                    model.add(latency >= seconds).only_enforce_if(chosen, used)
        model.add(latency >= least)

    def _delay(self, begin, end, stream, limit):
        """A stream ends when the slowest pair of nodes is done, and no sooner than the mean over pairs of replicas."""
        (u, v), model = stream, self.model
        model.add(end >= begin)
        for (n, m), (delay, _) in self.link.items():
            if delay:
                model.add(end >= begin + steps(delay / limit)).only_enforce_if(self.used[u, n], self.used[v, m])
        parts = math.lcm(*self.total[u], *self.total[v]) ** 2
        if self.share and parts <= MAX_PARTS:
            flow = {(n, m): model.new_int_var(0, parts, "") for n, m in product(self.nodes, self.nodes)}
            for n in self.nodes:
                for name, row in ((u, [flow[n, m] for m in self.nodes]), (v, [flow[m, n] for m in self.nodes])):
                    model.add(sum(row) == sum(round(parts * a) * x for a, lits in self.share[name, n].items() for x in lits))
            mean = sum(steps(delay / limit / parts) * flow[pair] for pair, (delay, _) in self.link.items())
            model.add(end >= begin + mean - parts)

    def _cost(self, value, limit):
        """Prices of replicas, and of tuples to other nodes: of all but those whose ends have a node in common."""
        total = sum(
            steps(o["cost"] * o["resources"] / limit) * self.count[name, n]
            for name, o in self.operators.items()
            for n in self.nodes
        )
        for (u, v), rate in self.rate.items() if self.price else ():
            at_most = steps(rate * self.price / limit)
            total += at_most
            for n in self.nodes:
                ours, theirs = ([(a, lit) for a, lits in self.share[name, n].items() for lit in lits] for name in (u, v))
                total -= sum(steps(rate * self.price / limit * x) * q for x, q in common(self.model, ours, theirs))
        self.model.add(value >= total)

    def _downtime(self, value, limit):
        """Pause and resume: the slowest upload to the store, then the slowest download (EDRP, eqs. 24–32)."""
        model, document = self.model, self.document
        for name, operator in self.operators.items() if document["current"] else ():
            before = {n: document["current"][name].count(n) for n in self.nodes}
            same = model.new_bool_var("")
            for n, k in before.items():
                if k < len(self.values[name, n]):
                    model.add_implication(same, self.values[name, n][k])
                else:
                    model.add(same == 0)
            model.add(value >= steps(document["synchronisation_time"] / limit)).only_enforce_if(same.Not())
            self._moves(value, limit, name, operator, before, same)

    def _moves(self, value, limit, name, operator, before, same):
        model, state, old = self.model, operator["state_size"], sum(before.values())
        pause = steps(self.document["synchronisation_time"] / limit)
        up, down = {}, {}
        for n, b in before.items():
            up[n], down[n] = (model.new_int_var(0, 10**6 * STEPS, "") for _ in range(2))
            for (r, chosen), (k, here) in product(self.total[name].items(), enumerate(self.values[name, n])):
                if k > r:
                    continue
                leaving = state * max(b - k, 0) / old + state * b * max(r - old, 0) / (old * r)
                arriving = state * max(k - b, 0) / r + state * min(b, k) * max(old - r, 0) / (old * r)
                if b:
                    model.add(up[n] >= steps(self.transfer(n, leaving) / limit)).only_enforce_if(chosen, here)
                if k:
                    start = self.nodes[n]["spawn_time"] if k > b else 0
                    model.add(down[n] >= steps((self.transfer(n, arriving) + start) / limit)).only_enforce_if(chosen, here)
        for u, v in product(before, before):
            if u != v and before[u]:
                code = 0 if before[v] else steps(self.transfer(v, operator["code_size"]) / limit)
                for first in (up[u], code):
                    model.add(value >= pause + first + down[v]).only_enforce_if(self.used[name, v], same.Not())

    def transfer(self, node, size):
        """Seconds between a node and the store."""
        store, own = self.network["store"], self.nodes[node]
        delay = store["delay"] if own["store_delay"] is None else own["store_delay"]
        width = store["bandwidth"] if own["store_bandwidth"] is None else own["store_bandwidth"]
        return 2 * delay + (size / width if width else 0)

    def _peak(self, value, resource, limit):
        """At least the share of its capacity that each node is asked for."""
        model = self.model
        for n, node in self.nodes.items():
            asked, per = [], STEPS / (node["capacity"].get(resource, math.inf) * limit)
            for name, operator in self.operators.items():
                usage = operator["usage"].get(resource)
                if usage:
                    asked.append(model.new_int_var(0, 10**6 * STEPS, ""))
                    for r, chosen in self.total[name].items():
                        each = usage["per_replica"] + usage["per_tuple"] * self.load[name] / r
                        model.add(asked[-1] >= round(each * per) * self.count[name, n]).only_enforce_if(chosen)
            for (u, v), stream in self.streams.items():
                if stream["usage"].get(resource):
                    asked.append(self._sent(n, u, v, stream, stream["usage"][resource] * self.rate[u, v] * per))
            model.add(value >= sum(asked))

    def _sent(self, n, u, v, stream, weight):
        """Steps of a node's capacity for tuples that a stream sends to other nodes."""
        model, sent = self.model, self.model.new_int_var(0, 10**6 * STEPS, "")
        both = model.new_int_var(0, 10**6, "")
        model.add_multiplication_equality(both, [self.count[u, n], self.count[v, n]])
        for (r, chosen), (q, theirs) in product(self.total[u].items(), self.total[v].items()):
            if stream["partitioning"] == "forward":
                most = round(weight / r) * (self.count[u, n] - self.count[v, n])
            else:
                most = round(weight / r) * self.count[u, n] - round(weight / r / q) * both
            model.add(sent >= most).only_enforce_if(chosen, theirs)
        return sent

    def weighted(self):
        """The weighted sum of the metrics, in thousandths of steps."""
        weights = {k: w for k, w in self.document["weights"].items() if k != "peak_loads" and w}
        weights |= {f"peak_loads.{k}": w for k, w in self.document["weights"]["peak_loads"].items() if w}
        limited = {k for k, limit in self.document["limits"].items() if k != "peak_loads" and limit is not None}
        metrics = {name: self.metric(name) for name in sorted(weights.keys() | limited)}
        return sum(steps(w, 1000) * metrics[name] for name, w in weights.items()), metrics

    def read(self, value):
        """The deployment, as solutions state it."""
        return {name: [n for n in self.nodes for _ in range(value(self.count[name, n]))] for name in self.operators}


def judge_edrp(document, best):
    model = cp_model.CpModel()
    deployment = Deployment(model, document)
    objective, metrics = deployment.weighted()
    stages = [p["metric"] for p in document.get("priorities") or []]
    slack = [steps(p["slack"]) for p in document.get("priorities") or []]
    values = [metrics[m] if m in metrics else deployment.metric(m) for m in stages]
    return Judgement(model, [*values, objective], 1000 * STEPS, deployment.read, [*slack, 0])


def judge_edrp_sequence(document, best):
    """A deployment for each period, and what each change starts and moves."""
    model, prices, objective = cp_model.CpModel(), document["changes"], 0
    if document["initial"] or prices["downtime"] or any(p["limits"] for p in document["periods"]):
        raise NotJudgedError("an initial deployment, a price of downtime, or limits of periods")
    days = [Deployment(model, document | {"current": None}, p["external_rates"]) for p in document["periods"]]
    for day, period in zip(days, document["periods"], strict=True):
        objective += round(period["duration"]) * day.weighted()[0]
    for before, after in pairwise(days):
        changed = model.new_bool_var("")
        objective += steps(prices["change"], 1000 * STEPS) * changed
        for name, operator in after.operators.items():
            for n in after.nodes:
                started = model.new_int_var(0, operator["max_replicas"], "")
                model.add(started >= after.count[name, n] - before.count[name, n])
                model.add(after.count[name, n] == before.count[name, n]).only_enforce_if(changed.Not())
                moved = model.new_int_var(0, STEPS, "")
                now, then = (
                    sum(steps(a, 10**6) * x for a, lits in day.share[name, n].items() for x in lits) for day in (after, before)
                )
                model.add(moved >= now - then)
                objective += steps(prices["started_replicas"], 1000 * STEPS) * started
                objective += steps(prices["moved_state"] * operator["state_size"], 1000 * STEPS / 10**6) * moved
    return Judgement(model, [objective], 1000 * STEPS, lambda value: [day.read(value) for day in days])


def judge_latency_aware(document, best):
    model, scale, weights = cp_model.CpModel(), 10 * STEPS, document["weights"]
    application, nodes = document["application"], {node["name"]: node for node in document["network"]["nodes"]}
    operators = {o["name"]: o for o in application["operators"]}
    _, rate = rates_of(application)
    link, order = links_of(document["network"]), topological(operators, rate)
    count, values, used = {}, {}, {}
    for name, n in product(operators, nodes):
        allowed = operators[name]["candidates"] is None or n in operators[name]["candidates"]
        most = operators[name]["instances"] if allowed else 0
        count[name, n], values[name, n], used[name, n] = counts_of(model, f"{name}@{n}", most)
    for name in operators:
        model.add(sum(count[name, n] for n in nodes) == operators[name]["instances"])
    on = {n: model.new_bool_var(n) for n in nodes}
    for n, node in nodes.items():
        for resource, free in (node["resources"] or {}).items():
            room = steps(free * document["utilisation"].get(resource, 1), 10**6 if free < 10**6 else 1)
            need = {name: steps(o["resources"].get(resource, 0), 10**6 if free < 10**6 else 1) for name, o in operators.items()}
            model.add(sum(need[name] * count[name, n] for name in operators) <= room * on[n])
        for name in operators:
            model.add_implication(used[name, n], on[n])
    objective = steps(weights["supervisors"] / len(nodes), scale) * sum(on.values())
    pairs = {(u, v): operators[u]["instances"] * operators[v]["instances"] for u, v in rate}
    for u, v in rate:
        cut = sum(w * x[u, v] / sum(x.values()) for w, x in ((weights["colocation"], pairs), (weights["events"], rate)))
        objective += steps(cut, scale)
        for n in nodes:
            parts = common(model, *([*enumerate(values[name, n])][1:] for name in (u, v)))
            objective -= sum(steps(cut * a / pairs[u, v], scale) * q for a, q in parts)
    second, latency = 1000 * weights["latency"] * scale, model.new_int_var(0, 100 * scale, "")
    arrival = {key: model.new_int_var(0, 100 * scale, "") for key in count}
    for name, n in product(order, nodes):
        model.add(latency >= arrival[name, n]).only_enforce_if(used[name, n])
        for u, v in rate:
            for m in nodes if v == name else ():
                delay = 0 if m == n else round(link[m, n][0] * second)
                model.add(arrival[name, n] >= arrival[u, m] + delay).only_enforce_if(used[u, m], used[name, n])
    read = lambda value: {o: [n for n in nodes for _ in range(value(count[o, n]))] for o in operators}  # noqa: E731
    return Judgement(model, [objective + latency], scale, read)
