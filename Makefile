# Everything runs in .venv, which the first target that needs it makes. Nothing else has to be installed.
PYTHON ?= python3
BIN := .venv/bin
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run test check fix deep bench docs clean

help: ## show these targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

.venv/ready: pyproject.toml
	@echo "setting up .venv (once; needs a package index)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e . --group test --group judges --group check
	@touch $@

run: .venv/ready ## the guided tour: a broken conversation, and the same conversation on three wires
	@$(BIN)/toolwire tour

test: .venv/ready ## every test, with small budgets for the laws (under five minutes on two cores)
	@$(BIN)/python -m pytest -n auto

check: .venv/ready ## format, lint and types
	@$(BIN)/ruff format --check --quiet . || (echo "run: make fix"; exit 1)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy

fix: .venv/ready ## put the code in order: format, and mend what the linter can
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

deep: .venv/ready ## the laws with large budgets (many minutes)
	@TOOLWIRE_DEEP=1 $(BIN)/python -m pytest -n auto tests/laws

bench: .venv/ready ## speed as ratios to the floor, in one run; also written to docs/bench.md
	@$(BIN)/python -m bench

docs: .venv/ready ## write the generated pages anew
	@$(BIN)/python scripts/gen.py

clean: ## remove .venv and caches
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
