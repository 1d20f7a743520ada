# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo trials test static unit contract rules browser pairs bench device zoo cases clean pages traces mutations soak fuzz locked audit docs tour pictures wheel-test matrix

demo: $(STAMP)
	$(BIN)/feedwatch demo

# First what may have a neighbour, a file at a time on each of two cores; then, one after the other, what measures time.
# The second part runs whatever the first one says. A worker that dies ends the first part: pytest-xdist would wait for it.
test: static $(STAMP) browser
	@failed=0; \
	$(BIN)/python -m pytest -n 2 --dist loadfile --max-worker-restart=0 -m "not bench and not alone and not emulated" || failed=1; \
	$(BIN)/python -m pytest -m "not bench and (alone or emulated)" || failed=1; \
	exit $$failed

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

# A part or a portion of one, some minutes long: `make bench PART="overhead-lightning --portion tiny"`.
bench: $(STAMP)
	$(BIN)/python -m benchmarks $(if $(PART),--only $(PART))

# The device path on the emulated device: accuracy against its own log, cost of events, advice about copies followed.
device: $(STAMP)
	$(BIN)/python -m benchmarks.device

# What a trial measures against the script really changed and retrained, beside a drained loader.
trials: $(STAMP)
	$(BIN)/python -m benchmarks.trials

zoo: $(STAMP)
	$(BIN)/python -m benchmarks.zoo
	@$(MAKE) --no-print-directory cases

# Acceptance cases that live outside of the project: scripts with known truth, each retrained with every change.
CASES ?= ../shared/cases
cases: $(STAMP)
	@test -d $(CASES) || echo "no acceptance cases in $(CASES): left out"
	@for part in keras lightning; do test ! -d $(CASES)/$$part || FW_PY=$(CURDIR)/$(BIN)/python FW_BIN=$(CURDIR)/$(BIN)/feedwatch \
	  $(BIN)/python $(CASES)/$$part/score.py; done

# Proof that the tests can fail: one line after the other is broken, and a named test must notice.
mutations: $(STAMP)
	$(BIN)/python tools/mutations.py

# Short fits under faults thrown at random: `make soak MINUTES=3`.
soak: $(STAMP)
	$(BIN)/python tools/soak.py $(or $(MINUTES),30)

# Every reader against damage, so many seconds each: `make fuzz SECONDS=600`.
fuzz: $(STAMP)
	FEEDWATCH_FUZZ_SECONDS=$(or $(SECONDS),60) $(BIN)/python -m pytest tests/faults/test_fuzz.py \
	  tests/faults/test_trace_fuzz.py -s --timeout=0

pages: $(STAMP)
	$(BIN)/python tools/render_rule_pages.py

# The site, into build/site: strict, without a network, search included.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

# What the tour prints, and the pictures: real runs on this machine, made again. Both want a quiet machine.
tour: $(STAMP)
	PYTHONPATH=. $(BIN)/python tools/record_tour.py
pictures: $(STAMP) browser
	PYTHONPATH=. $(BIN)/python tools/take_pictures.py

# The wheel in empty environments, one per framework, and README's quick start in each. Takes minutes and gigabytes.
wheel-test: $(STAMP)
	$(BIN)/python tools/wheel_test.py

# Real trainings with the oldest allowed, the newest and the versions between, each in a fresh environment. An hour.
# One cell: `make matrix CELL="Lightning 2.1.4"`.
matrix: $(STAMP)
	$(BIN)/python tools/matrix.py $(if $(CELL),"$(CELL)")

# The small traces in tests/data, recorded again: when a profiler's format changes.
traces: $(STAMP)
	$(BIN)/python tools/record_traces.py

# torch first and pinned: an unpinned one would bring gigabytes of CUDA. What pip has to say is shown when it fails.
PIP = $(BIN)/python tools/quiet.py $(BIN)/python -m pip install --quiet --constraint constraints.txt
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV): some minutes the first time"
	@$(PIP) --upgrade pip
	@$(PIP) torch
	@$(PIP) --editable ".[all]" --group dev --group docs
	@# litdata asks for torchvision, which it does not need here and whose CPU build has another number.
	@$(PIP) boto3 obstore tifffile
	@$(PIP) --no-deps litdata
	touch $(STAMP)

# The same environment from hashes.txt: pip takes exactly the files whose hashes are written there, and no others.
# For Linux on x86-64 and Python 3.11. Then `make test` as usual.
locked:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps --requirement hashes.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(STAMP)

# Known vulnerabilities of what is pinned; asks a service on the network. `--disable-pip`: nothing is resolved or built.
audit:
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip install --quiet pip-audit
	build/audit/bin/pip-audit --require-hashes --disable-pip --requirement hashes.txt

clean:
	rm -rf $(VENV) build dist runs test-output .mypy_cache .ruff_cache .pytest_cache
