# Everything runs in .venv, which the first target that needs it makes and the others reuse.
PYTHON ?= python3
BIN = .venv/bin

.PHONY: demo test test-slow test-all faults lint lock docs bench clean

demo: .venv/installed
	mkdir -p build
	$(BIN)/coombs demo --report build/demo.html

test: .venv/installed-dev
	$(BIN)/python -m pytest

# What `make test` leaves out: slow tests, and those that need Chromium. Many of them wait for others.
# SLOW='tests/web tests/study' runs those of some folders.
test-slow: .venv/installed-dev
	$(BIN)/python -m pytest -n 3 -m '(slow or browser) and not long' $(SLOW)

test-all: .venv/installed-dev
	$(BIN)/python -m pytest -m ''

# What CI does a little of, in full: tests/faults/README.md says what.
faults: .venv/installed-dev
	COOMBS_FAULTS=full $(BIN)/python -m pytest -m '' -rP tests/faults

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit -q -c pyproject.toml -r coombs

# The versions that are installed here, once the tests have passed with them.
lock: .venv/installed-dev .venv/installed-docs
	$(BIN)/python .ci/lock.py > constraints.txt

# DOCS='-D plot_gallery=0' leaves out running the gallery.
docs: .venv/installed-docs
	MPLBACKEND=agg $(BIN)/sphinx-build -q -W --keep-going $(DOCS) docs build/docs
	@echo "The site: build/docs/index.html"

bench: .venv/installed-dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("coombs needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plots]'
	touch $@

.venv/installed-dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ .venv/installed

.venv/installed-docs: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@
