"""Judges of state that moves: kinds `migration`, `migration-sequence` and `rescale`."""

from itertools import product

from common import STEPS, Judgement, NotJudgedError, in_steps, links_of, rates_of, steps, topological
from ortools.sat.python import cp_model


def scaled_sizes(rows):
    """Sizes as whole numbers, and their scale."""
    scale = next(s for s in (1, 10, 100, 1000) if all(abs(x * s - round(x * s)) < 1e-6 for row in rows for x in row))
    return [[round(x * scale) for x in row] for row in rows], scale


def judge_migration(document, best):
    """Cut the tasks into intervals; each keeps what it shares with one old node, which no two keep."""
    model, work, tasks = cp_model.CpModel(), document["work"], len(document["work"])
    ((size,), scale), old = scaled_sizes([document["state_size"]]), document["intervals"]
    if document.get("rules") or not document["allow_empty"]:
        raise NotJudgedError("rules, or nodes that may not be empty")
    limit = (1 + document["tolerance"]) * sum(work) / document["nodes"] * (1 + 1e-9)
    leaving, arriving = [[] for _ in range(tasks + 1)], [[] for _ in range(tasks + 1)]
    arcs, keeps, kept = {}, {node: [] for node in range(len(old))}, 0
    for a in range(tasks):
        load = 0.0
        for b in range(a + 1, tasks + 1):
            load += work[b - 1]
            if load > limit:
                break
            arc = arcs[a, b] = model.new_bool_var("")
            leaving[a].append(arc)
            arriving[b].append(arc)
            mine = []
            for node, (first, end) in enumerate(old):
                if max(a, first) < min(b, end):
                    mine.append(model.new_bool_var(""))
                    keeps[node].append(((a, b), mine[-1]))
                    kept += sum(size[max(a, first) : min(b, end)]) * mine[-1]
            model.add(sum(mine) <= arc)
    for point in range(1, tasks):
        model.add(sum(leaving[point]) == sum(arriving[point]))
    model.add(sum(leaving[0]) == 1)
    model.add(sum(arcs.values()) <= document["nodes"])
    for taken in keeps.values():
        model.add(sum(x for _, x in taken) <= 1)

    def read(value):
        chosen = {arc for arc, x in arcs.items() if value(x)}
        held = {node: arc for node, taken in keeps.items() for arc, x in taken if value(x)}
        others = sorted(chosen - set(held.values()))
        after = [held.get(node) for node in range(len(old))]
        free = [node for node in range(len(old)) if node not in held]
        extra = document["nodes"] - len(held)
        for node in free[:extra]:
            after[node] = others.pop() if others else (0, 0)
        after += [others.pop() if others else (0, 0) for _ in range(extra - len(free[:extra]))]
        return [None if interval is None else [*interval] for interval in after]

    return Judgement(model, [sum(size) - kept], scale, read)


def judge_migration_sequence(document, best):
    """Which of as many labels as there are nodes at most holds each task after each step."""
    model, counts, old = cp_model.CpModel(), document["nodes"], document["intervals"]
    per_step = [row if isinstance(row[0], list) else [row] * len(counts) for row in (document["work"], document["state_size"])]
    work, (sizes, scale) = per_step[0], scaled_sizes(per_step[1])
    if not document["allow_empty"]:
        raise NotJudgedError("nodes that may not be empty")
    tasks, labels, moved = max(end for _, end in old), range(max(*counts, len(old))), 0
    held = [[[int(k < len(old) and old[k][0] <= t < old[k][1]) for k in labels] for t in range(tasks)]]
    for step, nodes in enumerate(counts):
        now = [[model.new_bool_var("") for _ in labels] for _ in range(tasks)]
        present = [model.new_bool_var("") for _ in labels]
        limit = (1 + document["tolerance"][step]) * sum(work[step]) / nodes * (1 + 1e-9)
        for t in range(tasks):
            model.add_exactly_one(now[t])
            moves = model.new_bool_var("")
            for before, after in zip(held[-1][t], now[t], strict=True):
                model.add(moves >= after - before)
            moved += sizes[step][t] * moves
        for k in labels:
            begins = [model.new_bool_var("") for _ in range(tasks)]
            model.add(begins[0] >= now[0][k])
            for t in range(1, tasks):
                model.add(begins[t] >= now[t][k] - now[t - 1][k])
            model.add(sum(begins) <= present[k])
            model.add(sum(steps(w, 1000) * now[t][k] for t, w in enumerate(work[step])) <= int(limit * 1000))
        model.add(sum(present) <= nodes)
        held.append(now)
    return Judgement(model, [moved], scale, lambda value: None, linearization=1)


def judge_rescale(document, best):
    """Each operator is a chain of pieces, a range of tasks on a node; its first piece begins with the first task."""
    if document.get("rules") or document["scenarios"] or document["tolerance"] or document["transfer"] != "direct":
        raise NotJudgedError("rules, scenarios, a tolerance, or state by way of the store")
    model, weights, limits = cp_model.CpModel(), document["weights"], document["limits"]
    application, nodes = document["application"], {node["name"]: node for node in document["network"]["nodes"]}
    operators = {o["name"]: o for o in application["operators"]}
    load, rate = rates_of(application)
    link, fine = links_of(document["network"]), 10**6
    pieces = {name: _pieces(model, operator, load[name], nodes) for name, operator in operators.items()}
    used = {(name, n): model.new_bool_var("") for name, n in product(operators, nodes)}
    share = {(name, n): sum(steps(part, fine) * x for node, _, part, x in pieces[name] if node == n) for name, n in used}
    for name, n in used:
        here = [x for node, _, _, x in pieces[name] if node == n]
        model.add_max_equality(used[name, n], here) if here else model.add(used[name, n] == 0)
    for n, node in nodes.items():
        needs = [round(1000 * operators[o]["resources"]) * x for o in operators for m, _, _, x in pieces[o] if m == n]
        model.add(sum(needs) <= round(1000 * node["resources"]))
    cost = sum(steps(o["cost"] * o["resources"] / limits["cost"]) * x for k, o in operators.items() for *_, x in pieces[k])
    for (u, v), flow in rate.items():
        for (n, m), (_, price) in link.items():
            both = model.new_int_var(0, fine, "")
            _product(model, both, (u, n), (v, m), share, used, operators, fine)
            cost += in_steps(model, flow * price / limits["cost"] / fine, both)
    response = _rescale_response(model, document, operators, nodes, load, rate, link, pieces, used)
    moved, downtime = _rescale_moves(model, document, operators, nodes, pieces)
    total = {"response_time": response, "cost": cost, "moved_state": moved, "downtime": downtime}
    for value in total.values():
        model.add(value <= STEPS + 10)
    objective = sum(steps(weights[name], 1000) * value for name, value in total.items())

    def read(value):
        chosen = {o: [(n, r) for n, r, _, x in pieces[o] if value(x)] for o in operators}
        return {o: [n if r is None else {"node": n, "tasks": [*r]} for n, r in c] for o, c in chosen.items()}

    return Judgement(model, [objective], 1000 * STEPS, read)


def _pieces(model, operator, load, nodes):
    """Node, range, share of the load and literal of each replica that is not overloaded."""
    mu, tasks, pieces = operator["latency"]["service_rate"], operator["tasks"], []
    if tasks is None:
        if operator["max_replicas"] > 1 or operator["state_size"]:
            raise NotJudgedError("several replicas, or state, without tasks")
        pieces = [(n, None, 1.0, model.new_bool_var("")) for n in nodes]
        model.add_exactly_one(x for *_, x in pieces)
        return pieces
    work, last = tasks["work"], len(tasks["work"])
    ends = {point: ([], []) for point in range(last + 1)}
    for a in range(last):
        for b in range(a + 1, last + 1):
            part = sum(work[a:b]) / sum(work)
            for n, node in nodes.items():
                if load * part < mu * min(1, node["speedup"]):
                    pieces.append((n, (a, b), part, model.new_bool_var("")))
                    ends[a][0].append(pieces[-1][-1])
                    ends[b][1].append(pieces[-1][-1])
    for point, (leaving, arriving) in ends.items():
        model.add(sum(leaving) - sum(arriving) == (point == 0) - (point == last))
    model.add_linear_constraint(sum(x for *_, x in pieces), operator["min_replicas"], operator["max_replicas"])
    return pieces


def _product(model, both, ours, theirs, share, used, operators, fine):
    """At least the product of two shares: that of one with a literal, or of two."""
    if operators[ours[0]]["tasks"] is None:
        model.add(both >= share[theirs]).only_enforce_if(used[ours])
        return
    left, right = model.new_int_var(0, fine, ""), model.new_int_var(0, fine, "")
    model.add(left == share[ours])
    model.add(right == share[theirs])
    exact = model.new_int_var(0, fine * fine, "")
    model.add_multiplication_equality(exact, [left, right])
    model.add(fine * both >= exact)


def _rescale_response(model, document, operators, nodes, load, rate, link, pieces, used):
    limit, finish = document["limits"]["response_time"], {}
    if document["operator_latency"] != "slowest":
        raise NotJudgedError("mean latencies")
    for name in topological(operators, rate):
        latency, finish[name] = (model.new_int_var(0, 10**4 * STEPS, "") for _ in range(2))
        for n, _, part, x in pieces[name]:
            seconds = 1 / (operators[name]["latency"]["service_rate"] - load[name] * part) / nodes[n]["speedup"]
            model.add(latency >= steps(seconds / limit)).only_enforce_if(x)
        model.add(finish[name] >= latency)
        for u in (u for u, v in rate if v == name):
            model.add(finish[name] >= finish[u] + latency)
            for (n, m), (delay, _) in link.items():
                later = finish[u] + latency + steps(delay / limit)
                model.add(finish[name] >= later).only_enforce_if(used[u, n], used[name, m])
    response = model.new_int_var(0, 10**4 * STEPS, "")
    for value in finish.values():
        model.add(response >= value)
    return response


def _rescale_moves(model, document, operators, nodes, pieces):
    """State that arrives anywhere, and the seconds of the change, in steps of their limits."""
    limits, current, store = document["limits"], document["current"], document["network"]["store"]
    pause, down = document["synchronisation_time"], limits["downtime"]
    downtime, transfer, code, spawn = (model.new_int_var(0, 10**4 * STEPS, "") for _ in range(4))
    leaving, arriving = dict.fromkeys(nodes, 0), dict.fromkeys(nodes, 0)
    for name, operator in operators.items():
        same = model.new_bool_var("")
        before = [(r, None) if isinstance(r, str) else (r["node"], tuple(r["tasks"])) for r in current[name]]
        model.add(sum(x for n, r, _, x in pieces[name] if (n, r) in before) >= len(before) * same)
        for slower in (transfer, code):
            model.add(downtime >= steps(pause / down) + spawn + slower).only_enforce_if(same.Not())
        for n, node in nodes.items():
            here, was, more = [x for m, *_, x in pieces[name] if m == n], sum(m == n for m, _ in before), model.new_bool_var("")
            model.add(sum(here) <= was + 10**4 * more)
            model.add(spawn >= steps(node["spawn_time"] / down)).only_enforce_if(more)
            if not was:
                seconds = 2 * store["delay"] + (operator["code_size"] / store["bandwidth"] if store["bandwidth"] else 0)
                model.add(code >= steps(seconds / down)).only_enforce_if(more)
        for n, tasks, _, x in pieces[name] if operator["tasks"] else ():
            for task in range(*tasks):
                owner = next(m for m, (a, b) in before if a <= task < b)
                if owner != n:
                    arriving[n] += round(operator["tasks"]["state_size"][task]) * x
                    leaving[owner] += round(operator["tasks"]["state_size"][task]) * x
    for n, node in nodes.items():
        for amount, width in ((leaving[n], node["up_rate"]), (arriving[n], node["down_rate"])):
            model.add(transfer >= in_steps(model, 1 / width / down, amount))
    return in_steps(model, 1 / limits["moved_state"], sum(arriving.values())), downtime
