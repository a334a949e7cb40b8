#!/usr/bin/env bash
# One would guess: grimp, which import-linter asks who imports whom, leaves an extension module of the package out of its graph, as
#   it leaves out packages of others, or has it as a module without imports.
# Versions: grimp 3.20.
# Behaviour: it reads Python files alone, and takes `from app import _fast` for an import of `app` itself, because there is no
#   file of that name. What `app/__init__.py` imports is then reached from every module that calls the extension: layers are
#   broken and there are circles, where the program has neither.
# Seen:
#   modules: app, app.high, app.low
#   app.low imports: app
#   app.low reaches app.high: app.low, app, app.high
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q grimp==3.20
mkdir "$work/app"
echo 'from app.high import answer' > "$work/app/__init__.py"
printf 'from app.low import number\n\n\ndef answer():\n    return number()\n' > "$work/app/high.py"
printf 'from app import _fast\n\n\ndef number():\n    return _fast.number()\n' > "$work/app/low.py"
suffix=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
: > "$work/app/_fast$suffix" # grimp looks at names only
cd "$work"
"$work/venv/bin/python" - > seen <<'PY'
import grimp

graph = grimp.build_graph("app", cache_dir=None)
print("modules:", ", ".join(sorted(graph.modules)))
print("app.low imports:", ", ".join(sorted(graph.find_modules_directly_imported_by("app.low"))))
print("app.low reaches app.high:", ", ".join(graph.find_shortest_chain("app.low", "app.high")))
PY
printf '%s\n' 'modules: app, app.high, app.low' 'app.low imports: app' 'app.low reaches app.high: app.low, app, app.high' > expected
cmp -s expected seen || { echo "the behaviour has changed"; cat seen; exit 1; }
cat seen
