# Every command a contributor or CI needs; `make setup` is the only one that touches the network.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup demo test test-live check eval bench

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	touch $@

demo: setup
	$(BIN)/specwatch demo

test: setup check
	$(BIN)/python -m pytest

test-live: setup
	tests/live/run.sh

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

eval: setup
	@echo "Evaluates the crossover estimator on 2,000 simulated sweeps a shape and on measured ones: 3 to 4 minutes, one core; the tables follow."
	$(BIN)/python -m benchmarks.crossover

bench: setup
	$(BIN)/python -m benchmarks
