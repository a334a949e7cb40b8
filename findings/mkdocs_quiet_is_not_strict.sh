#!/usr/bin/env bash
# One would guess: --quiet changes what a build prints, and --strict still turns warnings, such as broken links, into a failure.
# Versions: mkdocs 1.6.1; ProperDocs 1.6.7, its fork, does the same.
# Behaviour: with --quiet before the command, a strict build of a site with a broken link ends with exit code 0, since warnings
#   below the level of the log are not counted. A check of links in continuous integration that is quiet checks nothing.
# Seen:
#   mkdocs build --strict: exit code 1
#   mkdocs --quiet build --strict: exit code 0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q 'mkdocs==1.6.1'
mkdir "$work/docs"
echo 'site_name: example' > "$work/mkdocs.yml"
echo '[a page that does not exist](gone.md)' > "$work/docs/index.md"
cd "$work"

build() {
    local code=0
    "$work/venv/bin/mkdocs" "$@" > "$work/log" 2>&1 || code=$?
    echo "mkdocs $*: exit code $code"
}

{ build build --strict; build --quiet build --strict; } | tee "$work/seen"
printf '%s\n' 'mkdocs build --strict: exit code 1' 'mkdocs --quiet build --strict: exit code 0' > "$work/expected"
cmp -s "$work/expected" "$work/seen" || { echo "the behaviour has changed"; cat "$work/log"; exit 1; }
