#!/usr/bin/env bash
# One would guess: a session that was stopped leaves the process as it found it.
# Versions: pyspark 4.3.0; needs Java 17 or later.
# Behaviour: SparkSession.builder.getOrCreate() replaces the process's handler of SIGINT by one of its own, and stop() does not
#   bring back the old one. A program that finishes its work at Ctrl-C by a handler of its own loses that with its first session
#   of Spark, for good: the signal raises KeyboardInterrupt instead. The handler has to be kept and set again.
# Seen:
#   before: the program finishes its work
#   with a session that was stopped: KeyboardInterrupt
#   with the handler set again: the program finishes its work
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q 'pyspark==4.3.0'
cat > "$work/try.py" <<'PYTHON'
import signal

from pyspark.sql import SparkSession

finished = []


def finish(number, frame):
    finished.append(number)


def interrupted(when):
    finished.clear()
    try:
        signal.raise_signal(signal.SIGINT)
        what = "the program finishes its work" if finished else "nothing"
    except KeyboardInterrupt:
        what = "KeyboardInterrupt"
    print(f"{when}: {what}", flush=True)
    return what


signal.signal(signal.SIGINT, finish)
seen = [interrupted("before")]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
spark.stop()
seen.append(interrupted("with a session that was stopped"))
signal.signal(signal.SIGINT, finish)
seen.append(interrupted("with the handler set again"))
if seen != ["the program finishes its work", "KeyboardInterrupt", "the program finishes its work"]:
    raise SystemExit("the behaviour has changed")
PYTHON
"$work/venv/bin/python" "$work/try.py" 2> "$work/log" || { cat "$work/log" >&2; exit 1; }
