# Every target sets itself up: the first call makes .venv and installs, later ones are quick.
#
# PyPI's torch for Linux carries GPU libraries of several GB. Where there is no GPU, set
# PIP_EXTRA_INDEX_URL to PyTorch's index of CPU builds before the first call; pip prefers those.

PYTHON ?= python3
PORT ?= 8000
# Two processes or more: most tests wait for files, sockets and children.
PYTEST_ARGS ?= -n auto --dist loadfile
# What uses the database runs a second time, on PostgreSQL and Redis.
POSTGRES_ARGS ?= -n auto --dist loadfile tests/accounts tests/apiv1 tests/portal tests/test_who_may_change.py \
	tests/coordination $(addprefix --ignore=tests/coordination/,aggregation store test_known_answers.py)

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install
PEERS_PIP := $(VENV)/bench/bin/python -m pip --disable-pip-version-check install
OUTCOMES := benchmarks/results/experiments/scratch/outcomes
CATALOGUES := $(wildcard locale/*/LC_MESSAGES/*.po)

# What `check --deploy` judges; nothing listens at these addresses.
PRODUCTION = MODELEN_SECRET_KEY="$$($(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(50))')" \
	MODELEN_ALLOWED_HOSTS=modelen.example.org MODELEN_DEBUG=0 \
	DATABASE_URL=postgres://modelen@localhost/modelen REDIS_URL=redis://localhost/0

.DEFAULT_GOAL := help
.PHONY: help install install-dev messages demo run test test-postgres check format bench bench-scratch \
	bench-scratch-quick clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "Python 3.11, 3.12 or 3.13 is needed; name one with make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: requirements.txt worker_client/requirements.txt | $(BIN)/python
	$(PIP) -r requirements.txt
	@touch $@

$(VENV)/installed-dev: requirements-dev.txt $(VENV)/installed
	$(PIP) -r requirements-dev.txt
	@touch $@

$(VENV)/messages: $(CATALOGUES) $(VENV)/installed
	@if command -v msgfmt >/dev/null; then $(BIN)/python manage.py compilemessages -v 0 -i $(VENV); \
		else echo "No msgfmt, so pages stay English; apt-get install gettext brings it."; fi
	@touch $@

# Whom the merging rules are measured against. Optional: what cannot be installed is NOT MEASURED.
# byzfl demands a GPU build of torch; what is used of it works with any.
$(VENV)/bench/installed: requirements-bench.txt | $(BIN)/python
	$(PYTHON) -m venv $(VENV)/bench
	@$(PEERS_PIP) -r requirements-bench.txt && $(PEERS_PIP) --no-deps byzfl==0.0.11 && touch $@ || \
		echo "Without them the benchmarks do without Flower and ByzFL." >&2

install: $(VENV)/installed $(VENV)/messages ## Install what the server and the worker need

install-dev: install $(VENV)/installed-dev ## Install what tests and checks need as well

messages: $(VENV)/messages ## Compile the translations

demo: install ## Train a real model on this machine: server, two volunteers, three rounds
	$(BIN)/python -m modelen_site.demo --port $(PORT)

run: install ## Serve on http://127.0.0.1:8000 (PORT=)
	$(BIN)/python manage.py serve --port $(PORT)

test: install-dev ## Run every test (PYTEST_ARGS=), then test-postgres
	$(BIN)/python -m pytest $(PYTEST_ARGS)
	@$(MAKE) --no-print-directory test-postgres

test-postgres: install-dev ## Run what uses the database on PostgreSQL and Redis (POSTGRES_ARGS=)
	$(BIN)/python -m tests.on_postgres $(POSTGRES_ARGS)

check: install-dev ## Lint, format, types, import contracts, migrations, deployment settings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(PRODUCTION) $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/mypy

format: install-dev ## Rewrite the code as `check` wants it
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install-dev $(VENV)/bench/installed ## Measure memory, merge time and rounds; prints tables
	$(BIN)/python -m benchmarks

bench-scratch: install-dev ## Train a small model from scratch in every way: over half a day, resumes
	$(BIN)/python -m benchmarks.scratch_text
	$(BIN)/python -m benchmarks.corpus
	$(BIN)/python -m benchmarks.sizes
	$(BIN)/python manage.py experiment benchmarks/experiments/scratch.toml --outcomes $(OUTCOMES)

bench-scratch-quick: install-dev ## The same with the tiny model and little text, in two minutes
	$(BIN)/python manage.py experiment benchmarks/experiments/quick.toml

clean: ## Remove the virtual environment and all state of this checkout
	rm -rf $(VENV) var staticfiles
