# What one needs to build, test and show tileopt, on a machine with nothing but Python 3.11 or later.
# `make demo` and `make test` make their own environment in .venv; `make PYTHON=python3.12 test` chooses another Python.

CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11 python
PYTHON ?= $(shell for p in $(CANDIDATES); do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
BIN := .venv/bin
# What is installed changes with these.
INPUTS := pyproject.toml Makefile

.PHONY: demo test lint bench test-gpu bench-gpu clean
.DEFAULT_GOAL := demo

demo: .venv/.demo
	$(BIN)/python examples/demo.py

# The goldens (lit and filecheck) run in process, as tests of pytest.
test: .venv/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal --ignore tests/device

lint: .venv/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

# PyTorch and Triton are for comparison only and large, so they stay in an environment of their own.
bench: .venv-bench/.done
	.venv-bench/bin/python -m benchmarks

.venv-bench/.done: $(INPUTS) | .venv/bin/python
	$(BIN)/python -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --editable '.[cuda,bench]'
	@touch $@

# On a machine with a GPU, in the environment that is active there: it brings the driver's libraries and PyTorch.
test-gpu:
	python -m pytest tests/device

bench-gpu:
	python -m benchmarks --gpu

clean:
	rm -rf .venv .venv-bench build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache src/*.egg-info

.venv/bin/python:
	@test -n "$(PYTHON)" || { \
		echo "tileopt needs Python 3.11 or later; none of these is: $(CANDIDATES)"; \
		echo "install one, or name one: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)"; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make environments: install its venv module (Debian: apt-get install python3-venv)"; exit 1; }
	"$(PYTHON)" -m venv .venv

# Each environment is the one before it and more, so that `make demo` need not wait for the tests' tools.
.venv/.demo: $(INPUTS) | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[cuda,demo]'
	@touch $@

.venv/.test: $(INPUTS) | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[cuda,demo,test]'
	@touch $@ .venv/.demo

.venv/.lint: $(INPUTS) | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[cuda,demo,test,lint]'
	@touch $@ .venv/.test .venv/.demo
