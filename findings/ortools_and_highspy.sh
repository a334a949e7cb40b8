#!/usr/bin/env bash
# One would guess: two solvers from PyPI, each with its libraries in its own wheel, can be imported by one process.
# Versions: ortools 9.15.6755, highspy 1.15.1, numpy 2.4.6 (Linux, x86-64).
# Behaviour: each can be imported alone. Whichever is imported second ends with an ImportError about an undefined symbol of HiGHS,
#   in either order. To compare CP-SAT with HiGHS takes two processes.
# Why, by the symbols: both wheels bring a HiGHS of another version, and the second one finds the symbols of the first.
# Seen:
#   highspy: imported
#   ortools: imported
#   highspy, then ortools: ImportError, undefined symbol
#   ortools, then highspy: ImportError, undefined symbol
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q 'ortools==9.15.6755' 'highspy==1.15.1' 'numpy==2.4.6'
cat > "$work/try.py" <<'PYTHON'
import subprocess
import sys

MODULES = {"highspy": "highspy", "ortools": "ortools.sat.python.cp_model"}


def imported(*names):
    lines = "\n".join(f"import {MODULES[name]}" for name in names)
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1] if done.returncode else ""
    outcome = "ImportError, undefined symbol" if last.startswith("ImportError") and "undefined symbol" in last else last or "imported"
    print(f"{', then '.join(names)}: {outcome}")
    return outcome


seen = [imported(*names) for names in (("highspy",), ("ortools",), ("highspy", "ortools"), ("ortools", "highspy"))]
if seen != ["imported", "imported", "ImportError, undefined symbol", "ImportError, undefined symbol"]:
    raise SystemExit("the behaviour has changed")
PYTHON
"$work/venv/bin/python" "$work/try.py"
