# Every target describes itself; `make` prints them. A fresh machine needs git, make and Python 3.11 or newer.

PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(shell command -v $(name) 2>/dev/null)))
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.made-from-pyproject

.DEFAULT_GOAL := help
.PHONY: help env run install uninstall demo test again fast check bench mutants torture live snapshots pictures docs

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: $(STAMP) ## make the environment in .venv (again when pyproject.toml changes)

$(STAMP): pyproject.toml
	$(if $(PYTHON),,$(error no Python 3.11 or newer was found; name one: make PYTHON=...))
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

run: $(STAMP) ## open the dashboard on the comm home (SOT_COMM_HOME, else ~/.sot-comm)
	@$(BIN)/sot-tui

install: $(STAMP) ## link sot-tui and sotd into ~/.local/bin (ARGS=/another/folder); never over what is not ours
	@$(BIN)/python tools/links.py install $(ARGS)

uninstall: $(STAMP) ## remove exactly these links
	@$(BIN)/python tools/links.py uninstall $(ARGS)

demo: $(STAMP) ## open the dashboard on eight sessions at work, in a folder of its own (ARGS="--headless 60")
	@$(BIN)/python tools/demo.py $(ARGS)

test: $(STAMP) ## run every test but the torture ones, on all cores (minutes)
	$(BIN)/python -m pytest -n auto --dist worksteal

again: $(STAMP) ## run the tests that failed last, one after the other
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none --snapshot-warn-unused

fast: $(STAMP) ## run what one runs between edits: no stress, no end-to-end
	$(BIN)/python -m pytest -n auto --dist worksteal -q --snapshot-warn-unused -m "not (stress or e2e or torture or live)"

check: $(STAMP) ## lint, format, types, arrows, weight, clauses, dependencies
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/test_imports.py
	$(BIN)/python tools/clauses.py
	$(BIN)/deptry .

bench: $(STAMP) ## take the figures, each beside a bare loop; a person reads them
	@$(BIN)/python -m bench --write

mutants: $(STAMP) ## weaken every guard of comm, wake and the claims, and say which test notices (an hour)
	$(BIN)/python -m tools.mutants --write

torture: $(STAMP) ## run the long forms of the stress tests (many minutes)
	$(BIN)/python -m pytest -m torture

live: $(STAMP) ## drive Claude Code and Codex, where they are installed, against a stand-in for their API
	$(BIN)/python -m pytest -m live -rs tests/live

snapshots: $(STAMP) ## write the screens' snapshots anew; look at each before it is committed
	$(BIN)/python -m pytest tests/screens --snapshot-update

pictures: $(STAMP) ## take the pictures in docs/pictures/ anew; look at each before it is committed
	$(BIN)/python -m tools.pictures

docs: $(STAMP) ## write docs/config.md anew from the table of settings, docs/scale.md from its simulation
	$(BIN)/python tools/config_doc.py
	$(BIN)/python -m tools.scale --write > /dev/null
