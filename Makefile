# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test static unit contract rules browser pairs bench zoo clean pages traces

demo: $(STAMP)
	$(BIN)/feedwatch demo

test: static $(STAMP) browser
	$(BIN)/python -m pytest -m "not bench"

static: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/render_rule_pages.py --check

# The parts of the test command, for working on one of them.
unit: $(STAMP)
	$(BIN)/python -m pytest tests/unit tests/faults -m "not slow"
contract: $(STAMP)
	$(BIN)/python -m pytest tests/contract
rules: $(STAMP)
	$(BIN)/python -m pytest tests/rules -m "not bench"

# Debian's chromium for the browser tests, where it may be installed; elsewhere those tests skip and say so.
browser:
	@command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium) \
	  || echo "chromium could not be installed: the browser tests will be skipped"

# Measuring wants a quiet machine; none of these is part of the test command.
pairs: $(STAMP)
	$(BIN)/python -m pytest tests/rules/test_executed_pairs.py -m bench

bench: $(STAMP)
	$(BIN)/python -m benchmarks

zoo: $(STAMP)
	$(BIN)/python -m benchmarks.zoo

pages: $(STAMP)
	$(BIN)/python tools/render_rule_pages.py

# The small traces in tests/data, recorded again: when a profiler's format changes.
traces: $(STAMP)
	$(BIN)/python tools/record_traces.py

# torch first and pinned: an unpinned one would bring gigabytes of CUDA.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[all]" --group dev
	touch $(STAMP)

clean:
	rm -rf $(VENV) runs test-output .mypy_cache .ruff_cache .pytest_cache
