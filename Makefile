# Everything runs in .venv, which the first target that needs it makes. Nothing else has to be installed.
PYTHON ?= python3
BIN := .venv/bin
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run tour test coverage check fix deep mutants fuzz bench docs site dist clean

help: ## list all targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# Many tests wait for a socket, a disk or another process: three at a time on each core.
WORKERS := $(shell expr 3 \* $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# The first installation takes half a minute or more, so it shows its progress.
VERBOSE_PIP := $(BIN)/python -m pip --disable-pip-version-check install --no-compile --progress-bar off
SHOW_PROGRESS := $(PYTHON) scripts/pip_progress.py
# Node has its own certificates; those of the system are trusted as well.
CERTS := $(wildcard /etc/ssl/certs/ca-certificates.crt)
NPM := NODE_EXTRA_CA_CERTS="$${NODE_EXTRA_CA_CERTS:-$(CERTS)}" npm install --prefix tests/node --no-package-lock --no-audit --no-fund --loglevel error

.venv/ready: pyproject.toml
	@echo "setting up .venv (once, half a minute or more; needs a package index)"
	@set -o pipefail; { $(PYTHON) -m venv .venv && $(VERBOSE_PIP) -e '.[all]'; } | $(SHOW_PROGRESS) 'creating a virtual environment'
	@touch $@

.venv/tests: .venv/ready
	@echo "installing what the tests need: the official SDKs (once)"
	@$(PIP) --upgrade 'pip>=25.1'
	@set -o pipefail; $(VERBOSE_PIP) --group test --group official-sdks --group check | $(SHOW_PROGRESS)
	@touch $@

tests/node/node_modules: tests/node/package.json
	@if command -v npm >/dev/null; then $(NPM) && touch $@; else echo "no npm: the official packages of the wire ai-sdk will not run"; fi

PORT ?= 8080
TOOLS_PORT ?= 8765
run: .venv/ready ## start the gateway, a tool server and an offline model (PORT=8080 TOOLS_PORT=8765)
	@$(BIN)/toolwire up examples/tools.py --port $(PORT) --tools-port $(TOOLS_PORT)

tour: .venv/ready ## show a guided tour: a broken conversation, and the same conversation on three wires
	@$(BIN)/toolwire tour

test: .venv/tests tests/node/node_modules ## run every test, with small budgets for the laws (under five minutes on two cores)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# Programs that tests start are measured too, unless a test kills them.
SERVICES := src/toolwire/execution/*,src/toolwire/gateway/*,src/toolwire/agent/*
coverage: .venv/tests tests/node/node_modules ## run every test and list the lines that no test reaches
	@rm -rf .coverage && mkdir .coverage
	@$(BIN)/python -m coverage run -m pytest -n $(WORKERS) --dist worksteal
	@$(BIN)/python -m coverage combine --quiet
	@echo "lines that no test reaches in execution/, gateway/ and agent/:"
	@$(BIN)/python -m coverage report --include='$(SERVICES)'
	@echo "all packages:" && $(BIN)/python -m coverage report --include='src/toolwire/*' --format=total

check: .venv/tests ## check format, lint and types
	@$(BIN)/ruff format --check --quiet . || (echo "run: make fix"; exit 1)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy

fix: .venv/tests ## format the code and apply the linter's fixes
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

.venv/deep: .venv/tests .venv/release .venv/site
	@echo "installing what the longest tests need: a Temporal server and its SDK (once)"
	@$(PIP) --group temporal
	@touch $@

tests/browser/node_modules: tests/browser/package.json
	@if command -v npm >/dev/null; then $(subst tests/node,tests/browser,$(NPM)) && touch $@; else echo "no npm: the tests in a browser will not run"; fi

tests/mcp_conformance/node_modules: tests/mcp_conformance/package.json
	@if command -v npm >/dev/null; then $(subst tests/node,tests/mcp_conformance,$(NPM)) && touch $@; else echo "no npm: the conformance suite of MCP will not run"; fi

deep: .venv/deep tests/node/node_modules tests/browser/node_modules tests/mcp_conformance/node_modules ## run the laws with large budgets, and the fault injection tests (forty minutes)
	@TOOLWIRE_DEEP=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

mutants: .venv/tests ## change one line of the library at a time and check that a test fails (five minutes)
	@$(BIN)/python scripts/mutants.py

fuzz: .venv/tests ## search ten minutes for inputs that break a law or a server, and save them in tests/finds
	@$(BIN)/python scripts/fuzz.py --seconds 300; laws=$$?; $(BIN)/python scripts/fuzz_http.py --seconds 300 && exit $$laws

bench: .venv/tests ## measure speed, as ratios to the fastest possible code; writes docs/reference/bench.md
	@$(BIN)/python -m bench

.peers/litellm/ready:
	@echo "installing litellm's proxy into .peers (once; nothing else needs it)"
	@($(PYTHON) -m venv $(@D) && $(@D)/bin/python -m pip --disable-pip-version-check install --quiet 'litellm[proxy]' && touch $@) \
	  || echo "litellm cannot be installed: it will be left out"

# With a newer @hono/node-server its streams end in "TypeError: immutable": Portkey-AI/gateway, issue 1389.
PORTKEY := {"dependencies": {"@portkey-ai/gateway": "*"}, "overrides": {"@hono/node-server": "1.13.8"}}
.peers/portkey/ready:
	@echo "installing Portkey's gateway into .peers (once; nothing else needs it)"
	@(mkdir -p $(@D) && echo '$(PORTKEY)' > $(@D)/package.json && $(subst tests/node,$(@D),$(NPM)) && touch $@) \
	  || echo "Portkey's gateway cannot be installed: it will be left out"

# smg forwards its own wire, llm-rosetta translates, tensorzero is embedded in a Python process; granian is an ASGI server for bench/asgi_servers.py.
PYTHON_PEERS := .peers/smg/ready .peers/llm-rosetta/ready .peers/tensorzero/ready .peers/granian/ready
$(PYTHON_PEERS):
	@echo "installing $(notdir $(@D)) into .peers (once; nothing else needs it)"
	@($(PYTHON) -m venv $(@D) && $(@D)/bin/python -m pip --disable-pip-version-check install --quiet $(notdir $(@D)) $(if $(findstring granian,$@),uvloop) && touch $@) \
	  || echo "$(notdir $(@D)) cannot be installed: it will be left out"

.PHONY: bench-peers
bench-peers: .venv/tests .peers/litellm/ready .peers/portkey/ready $(PYTHON_PEERS) ## compare the gateway with other gateways; writes docs/reference/bench-peers.md
	@$(BIN)/python bench/peers.py

.PHONY: clients
clients: .venv/tests ## run agents and frameworks, each installed into .clients, through the gateway; writes docs/reference/clients.md
	@TOOLWIRE_DEEP=1 $(BIN)/python -m pytest -n 2 --dist worksteal -rs tests/clients_real; status=$$?; \
	  $(BIN)/python scripts/clients_page.py && exit $$status

docs: .venv/tests ## write the generated pages
	@$(BIN)/python scripts/gen.py
	@$(BIN)/python scripts/matrix.py
	@$(BIN)/python scripts/gateway_matrix.py

.venv/release: .venv/ready
	@echo "installing what builds and checks a release (once)"
	@$(PIP) --upgrade 'pip>=25.1'
	@$(PIP) --group release
	@touch $@

dist: .venv/release ## build the wheel and the source distribution in dist/, and check them
	@rm -rf dist && $(BIN)/python -m build && $(BIN)/python -m twine check --strict dist/*

.venv/site: .venv/ready
	@echo "installing what builds the documentation site (once)"
	@$(PIP) --upgrade 'pip>=25.1'
	@$(PIP) --group docs
	@touch $@

site: .venv/site ## build the documentation site in site/, and fail on a broken link
	@$(BIN)/zensical build --clean --strict

clean: ## remove .venv and caches
	@rm -rf .venv .peers .clients dist site .cache .coverage tests/node/node_modules tests/browser/node_modules tests/mcp_conformance/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
