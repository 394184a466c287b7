# What a developer types. Needs make and Python 3.11 or newer with pip and venv; everything else comes into .venv.
#
#   make run [ARGS='-p "hello"']    the program, from this checkout
#   make test [TESTS=tests/unit]    the tests
#   make check                      format, lint, types, import walls
#   make bench [ARGS=…]             the measurements
#   make test-external              tests that start programs from outside
#   make format                     what `make check` can repair by itself
#   make constraints                take newer versions into constraints.txt
#   make clean                      remove what was built here

VENV ?= .venv
WORKERS ?= auto
TESTS ?= tests
ARGS ?=
# Which Python makes the venv; by default the first of these that is new enough.
PYTHON ?= python3 python3.13 python3.12 python3.11 python3.14 python

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
CONFIG := $(if $(wildcard config.yaml),--config config.yaml)
SOURCES := reactagent_tui skills themes tests
BENCHES := $(filter-out tests/bench/__init__.py,$(wildcard tests/bench/bench.py tests/bench/start.py tests/bench/*_cost.py tests/bench/*_overhead.py))

.PHONY: install run test test-external check format bench constraints clean
.DEFAULT_GOAL := run

install: $(INSTALLED)

# Again only when what is to be installed changed, or when the venv's Python is gone.
$(INSTALLED): pyproject.toml constraints.txt
	@if ! $(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	  for python in $(PYTHON); do \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	    python=; \
	  done; \
	  if [ -z "$$python" ]; then \
	    echo 'No Python 3.11 or newer found (looked for: $(PYTHON)). Name one: make $(MAKECMDGOALS) PYTHON=/path/to/python3' >&2; \
	    exit 1; \
	  fi; \
	  echo "making $(VENV) with $$("$$python" --version)"; \
	  "$$python" -m venv --clear $(VENV) || { \
	    echo "$$python cannot make a venv; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }; \
	fi
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt -e '.[dev,memory]'
	@touch $@

run: $(INSTALLED)
	@exec $(BIN)/reactagent $(CONFIG) $(ARGS)

test: $(INSTALLED)
	$(BIN)/python -m pytest -n $(WORKERS) -m 'not external' $(ARGS) $(TESTS)

# pytest's 5 says that it found no test: this version has none of that kind.
test-external: $(INSTALLED)
	$(BIN)/python -m pytest -m external -rs $(ARGS) $(TESTS) || [ $$? -eq 5 ]

check: $(INSTALLED)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(INSTALLED)
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

bench: $(INSTALLED)
	@set -e; for bench in $(BENCHES); do echo "== $$bench"; $(BIN)/python $$bench $(ARGS); done

# One resolution for all Pythons and systems, and what builds the package.
constraints:
	@python3 -m venv --clear build/uv && build/uv/bin/python -m pip install --disable-pip-version-check --quiet uv
	@{ sed -n '/^#/p' constraints.txt; \
	  echo hatchling | build/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --upgrade --extra dev --extra memory \
	    --no-header --no-annotate --no-emit-index-url --no-emit-find-links pyproject.toml - | grep -v "== 'emscripten'"; \
	} > build/constraints.txt && mv build/constraints.txt constraints.txt && rm -r build/uv

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis snapshot_report.html
	find reactagent_tui tests skills -name __pycache__ -type d -prune -exec rm -rf {} +
