#!/usr/bin/env bash
# One would guess: a callback of HiGHS that may interrupt a mixed-integer search is told how many iterations of the simplex method
#   were made, by its field `simplex_iteration_count`, or by `getInfo()` of the solver, so that a limit on work can count them.
# Versions: highspy 1.15.1, numpy 2.4.6 (Linux, x86-64).
# Behaviour: until the search ends both say -1, while `mip_node_count` of the callback grows; the final count is in the hundreds.
#   Work inside of a search can be counted by nodes and by the calls of the callback only.
# Seen:
#   iterations told during the search: [-1]
#   nodes told during the search: several
#   iterations when it has ended: more than 100
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q 'highspy==1.15.1' 'numpy==2.4.6'
cat > "$work/try.py" <<'PYTHON'
import highspy
import numpy as np

random = np.random.default_rng(1)
solver = highspy.Highs()
solver.setOptionValue("output_flag", False)
solver.setOptionValue("threads", 1)
solver.setOptionValue("mip_max_nodes", 2000)
columns = [solver.addBinary(obj=-int(worth)) for worth in random.integers(10, 60, 60)]
for _ in range(8):
    weights = random.integers(5, 40, len(columns)).tolist()
    solver.addConstr(sum(weight * column for weight, column in zip(weights, columns)) <= sum(weights) // 3)
told, nodes = set(), set()


def look(event):
    told.update((event.data_out.simplex_iteration_count, solver.getInfo().simplex_iteration_count))
    nodes.add(event.data_out.mip_node_count)


solver.cbMipInterrupt += look
solver.run()
ended = solver.getInfo().simplex_iteration_count
print(f"iterations told during the search: {sorted(told)}")
print(f"nodes told during the search: {'several' if len(nodes) > 5 else sorted(nodes)}")
print(f"iterations when it has ended: {'more than 100' if ended > 100 else ended}")
if told != {-1} or len(nodes) <= 5 or ended <= 100:
    raise SystemExit("the behaviour has changed")
PYTHON
"$work/venv/bin/python" "$work/try.py"
