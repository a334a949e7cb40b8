#!/usr/bin/env bash
# One would guess: what SCIP calls optimal on a tiny program with small, clean numbers is optimal, whatever its presolve does.
# Versions: pyscipopt 6.3.0, which brings SCIP 10.0.
# Behaviour: 32 columns between 0 and 1, nine of them whole, and 40 rows. With its defaults SCIP returns 1 as optimal, with 1 as
#   the bound. The point below meets all rows and is worth 0, which SCIP finds without presolve, or where it may not reduce by
#   costs alone (misc/allowweakdualreds off). Reduced from a program of 97 columns, where the value was 7 % too high.
# Seen:
#   defaults: optimal, 1, bound 1
#   without weak dual reductions: optimal, 0, bound 0
#   without presolve: optimal, 0, bound 0
#   a point that meets all rows: 0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q 'pyscipopt==6.3.0'
cat > "$work/try.py" <<'PYTHON'
from pyscipopt import Model, quicksum

INF = float("inf")
COSTS = {22: 1, 26: 0.2}
WHOLE = [0, 1, 2, 3, 14, 15, 16, 17, 18]
ROWS = [
    (1, {0: 1, 1: 1}, 1),
    (1, {2: 1, 3: 1}, 1),
    (0, {1: -1, 6: 1}, 0),
    (0, {7: 1, 8: 1}, 0),
    (0, {9: 1, 10: 1, 11: 1}, 0),
    (-INF, {0: 0.2, 2: 1}, 1),
    (-INF, {1: 0.2, 3: 1}, 1),
    (-1, {0: -1}, INF),
    (1, {12: 1}, INF),
    (-1, {3: -1}, INF),
    (-1, {4: -1}, INF),
    (0, {5: -1}, INF),
    (0, {13: 1}, INF),
    (-1, {6: -1}, INF),
    (-1, {7: -1}, INF),
    (0, {8: -1}, INF),
    (1, {13: 1}, INF),
    (-1, {9: -1}, INF),
    (-1, {10: -1}, INF),
    (0, {11: -1}, INF),
    (-INF, {12: 0.3}, 0.5),
    (1, {14: 1, 15: 1}, 1),
    (1, {16: 1, 17: 1}, 1),
    (0, {14: -1, 19: 1, 20: 1}, 0),
    (0, {15: -1, 21: 1, 22: 1}, 0),
    (0, {17: -1, 20: 1, 22: 1}, 0),
    (0, {16: -1, 23: 1, 24: 1}, 0),
    (0, {17: -1, 25: 1, 26: 1}, 0),
    (0, {18: -1, 23: 1, 25: 1}, 0),
    (-INF, {16: 1, 18: 0.4}, 1),
    (0, {14: -1, 27: 1}, INF),
    (0, {16: -1, 27: 1}, INF),
    (0, {17: -1, 28: 1}, INF),
    (0, {28: 1}, INF),
    (0, {26: -1, 29: 1}, INF),
    (-INF, {27: 0.3, 28: 0.34, 29: 0.2}, 0.8),
    (0, {0: -1, 30: 1}, 0),
    (0, {14: -1, 30: 1}, 0),
    (0, {2: -1, 31: 1}, 0),
    (0, {18: -1, 31: 1}, 0),
]
POINT = {0: 1, 3: 1, 12: 1, 13: 1, 14: 1, 16: 1, 19: 1, 24: 1, 27: 1, 30: 1}


def solved(what, **settings):
    model = Model()
    model.hideOutput()
    columns = [model.addVar(lb=0, ub=1, vtype="I" if j in WHOLE else "C", obj=COSTS.get(j, 0)) for j in range(32)]
    for low, row, high in ROWS:
        total = quicksum(weight * columns[j] for j, weight in row.items())
        if low == high:
            model.addCons(total == low)
        else:
            model.addCons(total >= low if low > -INF else total <= high)
    for name, value in settings.items():
        model.setParam(name, value)
    model.optimize()
    found = (model.getStatus(), round(model.getObjVal(), 6), round(model.getDualbound(), 6))
    print(f"{what}: {found[0]}, {found[1]:g}, bound {found[2]:g}")
    return found


seen = [
    solved("defaults"),
    solved("without weak dual reductions", **{"misc/allowweakdualreds": False}),
    solved("without presolve", **{"presolving/maxrounds": 0}),
]
for low, row, high in ROWS:
    assert low - 1e-12 <= sum(weight * POINT.get(j, 0) for j, weight in row.items()) <= high + 1e-12
assert all(POINT.get(j, 0) in (0, 1) for j in WHOLE)
value = sum(cost * POINT.get(j, 0) for j, cost in COSTS.items())
print(f"a point that meets all rows: {value:g}")
if seen != [("optimal", 1.0, 1.0), ("optimal", 0.0, 0.0), ("optimal", 0.0, 0.0)] or value != 0:
    raise SystemExit("the behaviour has changed")
PYTHON
"$work/venv/bin/python" "$work/try.py"
