#!/usr/bin/env bash
# One would guess: a tighter feasibility tolerance may exclude points that are off by a little, but none that meets all rows.
# Versions: highspy 1.15.1, numpy 2.4.6.
# Behaviour: a program of three rows and five whole columns has the point (10, -28, -33, -24, 36), which meets every row exactly
#   in decimals. With mip_feasibility_tolerance 1e-9 and small_matrix_value 1e-12 together, both within their ranges, HiGHS calls
#   it infeasible after its search; with either alone it finds the optimum -718. small_matrix_value also serves as the rounding
#   error that cuts allow for.
# Seen:
#   defaults: Optimal -718
#   mip_feasibility_tolerance 1e-09: Optimal -718
#   small_matrix_value 1e-12: Optimal -718
#   mip_feasibility_tolerance 1e-09, small_matrix_value 1e-12: Infeasible
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q 'highspy==1.15.1' 'numpy==2.4.6'
cat > "$work/try.py" <<'PYTHON'
from fractions import Fraction

import highspy
import numpy as np

COSTS = [5, 12, -12, 3, -21]
ROWS = [
    (["89.2", "-98.55", "-62.84", "-36.8", "6.79"], "6852.76", "6852.76"),
    (["0", "0", "80.53", "53.73", "-36.29"], "-inf", "-5253.45"),
    (["-78.89", "90.81", "-55.01", "34.55", "0"], "-2345.45", "-2345.45"),
]
POINT = [10, -28, -33, -24, 36]

for row, lower, upper in ROWS:
    value = sum(Fraction(weight) * number for weight, number in zip(row, POINT))
    assert value <= Fraction(upper) and (lower == "-inf" or value >= Fraction(lower))


def status(**options):
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    for name, value in options.items():
        highs.setOptionValue(name, value)
    for column, cost in enumerate(COSTS):
        highs.addVar(-100, 100)
        highs.changeColCost(column, cost)
        highs.changeColIntegrality(column, highspy.HighsVarType.kInteger)
    for row, lower, upper in ROWS:
        nonzeros = [column for column in range(5) if row[column] != "0"]
        weights = np.array([float(row[column]) for column in nonzeros])
        highs.addRow(float(lower), float(upper), len(nonzeros), np.array(nonzeros, np.int32), weights)
    highs.run()
    text = highs.modelStatusToString(highs.getModelStatus())
    text += f" {highs.getObjectiveValue():.0f}" if text == "Optimal" else ""
    print(f"{', '.join(f'{name} {value}' for name, value in options.items()) or 'defaults'}: {text}")
    return text


tolerance, rounding = {"mip_feasibility_tolerance": 1e-9}, {"small_matrix_value": 1e-12}
seen = [status(), status(**tolerance), status(**rounding), status(**tolerance, **rounding)]
if seen != ["Optimal -718"] * 3 + ["Infeasible"]:
    raise SystemExit("the behaviour has changed")
PYTHON
"$work/venv/bin/python" "$work/try.py"
