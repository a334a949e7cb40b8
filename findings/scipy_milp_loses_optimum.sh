#!/usr/bin/env bash
# One would guess: what scipy.optimize.milp calls optimal on a tiny program with small, clean numbers is optimal.
# Versions: scipy 1.17.1 (with the HiGHS that it brings), numpy 2.4.6.
# Behaviour: 24 columns between 0 and 1, three of them whole, and 20 rows. With its defaults milp returns 1100 as optimal, with
#   1100 as the bound. The point below meets all rows and is worth 1000, which milp finds without presolve. It was reduced from a
#   program of 268 columns, where the value was 0.8 % too high. highspy 1.15.1 does the same with its defaults, and finds 1000
#   where it may not restart (mip_allow_restart).
# Seen:
#   defaults: Optimal, 1100, bound 1100
#   without presolve: Optimal, 1000, bound 1000
#   a point that meets all rows: 1000
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q 'scipy==1.17.1' 'numpy==2.4.6'
cat > "$work/try.py" <<'PYTHON'
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

INF = np.inf
COSTS = {3: 1000, 5: 500, 6: 900, 7: 500, 21: 10000}
WHOLE = [3, 4, 6]
ROWS = [
    (0, {5: -1, 7: 1}, 0),
    (-INF, {0: -1, 8: 1}, 0),
    (-INF, {1: -1, 9: 1}, 0),
    (-INF, {2: -1, 10: 1}, 0),
    (1, {8: 1, 9: 1, 10: 1}, INF),
    (1, {11: 1, 12: 1, 13: 1}, 1),
    (0, {3: -1, 14: 1, 15: 1}, 0),
    (0, {7: -0.5, 11: 1}, 0),
    (0.35, {4: -1, 12: 1, 14: 1}, 0.35),
    (0, {5: -0.15, 6: -0.65, 13: 1, 15: 1}, 0),
    (-INF, {7: -1, 18: 1}, 0),
    (-INF, {16: 1, 18: -1}, 0),
    (0, {0: -0.03, 17: 1}, INF),
    (0, {1: -1, 19: 1}, INF),
    (0, {2: -0.03, 17: 1}, INF),
    (0, {16: 1, 17: -1}, INF),
    (0, {19: -0.01, 20: 1}, INF),
    (0, {21: 1, 23: -1}, INF),
    (0, {20: -1, 22: 1}, INF),
    (0, {22: -1, 23: 1}, INF),
]
POINT = {0: 1, 5: 1, 7: 1, 8: 1, 11: 0.5, 12: 0.35, 13: 0.15, 16: 0.03, 17: 0.03, 18: 1}


def dense(entries):
    row = np.zeros(24)
    row[list(entries)] = list(entries.values())
    return row


costs, matrix, point = dense(COSTS), np.array([dense(row) for _, row, _ in ROWS]), dense(POINT)
lower, upper = np.array([low for low, _, _ in ROWS]), np.array([high for _, _, high in ROWS])
integrality = np.isin(np.arange(24), WHOLE).astype(int)


def solved(what, **options):
    rows = LinearConstraint(matrix, lower, upper)
    result = milp(costs, integrality=integrality, bounds=Bounds(0, 1), constraints=rows, options=options)
    found = (result.status, round(result.fun), round(result.mip_dual_bound))
    print(f"{what}: {'Optimal' if result.status == 0 else result.message}, {found[1]}, bound {found[2]}")
    return found


seen = [solved("defaults"), solved("without presolve", presolve=False)]
activity = matrix @ point
assert (activity >= lower - 1e-12).all() and (activity <= upper + 1e-12).all() and (point[WHOLE] % 1 == 0).all()
print(f"a point that meets all rows: {costs @ point:.0f}")
if seen != [(0, 1100, 1100), (0, 1000, 1000)] or costs @ point != 1000:
    raise SystemExit("the behaviour has changed")
PYTHON
"$work/venv/bin/python" "$work/try.py"
