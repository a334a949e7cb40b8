#!/usr/bin/env bash
# One would guess: a feasible start can only help a solver; the optimum that it reports does not depend on it.
# Versions: highspy 1.15.1, numpy 2.4.6. The program of nine columns that it was reduced from fails alike with 1.7.2 to 1.15.0.
# Behaviour: a program of eight columns has the optimum -0.3, which HiGHS finds without a start. Given the feasible start 0, it
#   returns that start as "Optimal", with 0 as the dual bound. With the costs times ten it is right with the start, too.
# Why, by the source: presolve leaves an objective without columns, which then counts as a multiple of 1; only points that are
#   better than the start by a whole step remain, and there are none.
# Seen:
#   costs -0.3, no start: Optimal -0.3, bound -0.3
#   costs -0.3, start 0: Optimal 0.0, bound 0.0
#   costs -3.0, start 0: Optimal -3.0, bound -3.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q 'highspy==1.15.1' 'numpy==2.4.6'
cat > "$work/try.py" <<'PYTHON'
import highspy
import numpy as np

# Flow of one unit over three nodes, if it is taken (column 0), or column 1 instead; at most one of them counts.
ROWS = [
    ({0: 1, 4: -1, 6: -1}, 0, 0),
    ({0: -1, 2: 1, 3: 1}, 0, 0),
    ({2: -1, 4: 1, 5: 1, 7: -1}, 0, 0),
    ({0: -6, 2: 0.5, 3: 0.5, 4: 0.5, 5: 0.5, 6: 0.5, 7: 0.5}, -highspy.kHighsInf, 0),
    ({0: 1, 1: 0.5}, -highspy.kHighsInf, 1),
]


def solved(cost, start):
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    for column in range(8):
        highs.addVar(0, 1)
        highs.changeColCost(column, cost if column < 2 else 0)
        if column != 1:
            highs.changeColIntegrality(column, highspy.HighsVarType.kInteger)
    for row, lower, upper in ROWS:
        highs.addRow(lower, upper, len(row), np.array(list(row), np.int32), np.array(list(row.values()), float))
    if start:
        point = highspy.HighsSolution()
        point.col_value = [0.0] * 8
        highs.setSolution(point)
    highs.run()
    info, status = highs.getInfo(), highs.modelStatusToString(highs.getModelStatus())
    value, bound = round(info.objective_function_value, 6) + 0.0, round(info.mip_dual_bound, 6) + 0.0
    print(f"costs {cost}, {'start 0' if start else 'no start'}: {status} {value}, bound {bound}")
    return status, value, bound


runs = [solved(-0.3, False), solved(-0.3, True), solved(-3.0, True)]
if runs != [("Optimal", -0.3, -0.3), ("Optimal", 0.0, 0.0), ("Optimal", -3.0, -3.0)]:
    raise SystemExit("the behaviour has changed")
PYTHON
"$work/venv/bin/python" "$work/try.py"
