# `make run` starts the page, `make test` proves it. Every target sets up what it needs.
.DEFAULT_GOAL := help

# python3, or the newest other one where python3 is too old, too new or missing.
IN_RANGE := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
PYTHON := $(or $(PYTHON),$(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c '$(IN_RANGE)' 2>/dev/null && echo $$python && exit; done; echo python3))
VERSION = $$($(PYTHON) -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null || echo missing)

VENV := .venv
BIN := $(VENV)/bin
# Installs packages and compares what came with hashes.txt; where something else came, nothing stays.
PIP = @$(BIN)/pip install --quiet --disable-pip-version-check --only-binary :all: -c constraints.txt \
	--report $(VENV)/installed.json $(1) \
	&& { $(BIN)/python tools/packages.py $(VENV)/installed.json || { rm -rf $(VENV); exit 1; }; }
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)

RUNS ?= 5
# A worker a core of two; a file's tests stay on one worker, which makes their page or their model once. Files start
# in the order of tests/conftest.py, which keeps the browser's on one worker.
PYTEST := $(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder
# Those with a mark have commands of their own.
UNMARKED := -m 'not exact and not cluster'
STYLE := $(BIN)/ruff check . && $(BIN)/ruff format --check .

.PHONY: help run cluster test test-cluster test-exact soak test-browsers processors quick lint lint-js format tools browsers clean

help:
	@echo "make run      start the page on http://127.0.0.1:7860"
	@echo "make cluster  start it with its races on a Ray cluster of this machine; ARGS=--help: the options"
	@echo "make test     lint, then run the tests"
	@echo "make test-cluster  the tests that need a cluster"
	@echo "make test-exact  further variants: of decoders against their exact joint distributions, of models and films"
	@echo "make soak     run the browser's tests again and again on a slow page; RUNS=20: how often"
	@echo "make test-browsers  the page in Firefox and in WebKit"
	@echo "make processors  the numeric tests as other processors round, in some fifteen minutes"
	@echo "make quick    run the tests that take under a minute together"
	@echo "make lint     check style, format and types"
	@echo "make lint-js  check the board's JavaScript; needs npm"
	@echo "make format   format the Python code"
	@echo "make clean    remove the virtual environment, npm's packages and what a build left"

run: $(VENV)/.run
	$(BIN)/python app.py

cluster: $(VENV)/.cluster
	$(BIN)/python -m cluster $(ARGS)

# Types take a minute of one core: they are checked beside the tests, and what is found is printed after them.
test: $(VENV)/.test tools
	$(STYLE)
	@$(BIN)/mypy >$(VENV)/types.txt 2>&1 & types=$$!; trap "kill $$types" INT TERM; \
	$(PYTEST) $(UNMARKED) --durations=15; tests=$$?; \
	wait $$types; types=$$?; cat $(VENV)/types.txt; exit $$((tests | types))

test-cluster: $(VENV)/.test
	$(PYTEST) -m cluster

# Any worker takes any test: their fixtures are made in a moment.
test-exact: $(VENV)/.test
	$(PYTEST) --dist worksteal -m exact

# Outside `make test`: the file is not called test_*.py.
test-browsers: $(VENV)/.test browsers
	$(BIN)/python -m pytest -q tests/browser/engines.py

# Outside `make test`: the browser's tests again and again, beside busy processes and with late answers.
soak: $(VENV)/.test tools
	$(BIN)/python -m tests.browser.soak --runs $(RUNS)

# Outside `make test`: fifteen times the same tests, each time with other kernels or threads.
processors: $(VENV)/.test
	$(BIN)/python -m tests.processors

quick: $(VENV)/.test
	$(PYTEST) $(UNMARKED) --quick

lint: $(VENV)/.test
	$(STYLE)
	$(BIN)/mypy

lint-js: node_modules
	npm run --silent lint

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

node_modules: package.json package-lock.json
	npm ci --no-fund --no-audit
	@touch $@

$(VENV)/.made:
	@$(PYTHON) -c '$(IN_RANGE)' 2>/dev/null || { echo "Photo Finish needs Python 3.11 to 3.14; $(PYTHON) is $(VERSION)." \
		"Debian 12, Debian 13 and Ubuntu 24.04 have one: apt-get install python3 python3-venv." \
		"Elsewhere install one, such as python3.13, and name it: make PYTHON=python3.13 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "Making a virtual environment failed." \
		"On Debian or Ubuntu: apt-get install $(notdir $(PYTHON))-venv"; exit 1; }
	@touch $@

$(VENV)/.run: $(VENV)/.made requirements.txt constraints.txt
	@echo "Installing what the page needs, once: some minutes, and up to 3 GB (docs/hosting.md says how to take less)."
	$(call PIP,-r requirements.txt)
	@touch $@

$(VENV)/.cluster: $(VENV)/.made requirements.txt requirements-cluster.txt constraints.txt
	$(call PIP,-r requirements.txt -r requirements-cluster.txt)
	@touch $@ $(VENV)/.run

$(VENV)/.test: $(VENV)/.made requirements.txt requirements-cluster.txt requirements-dev.txt constraints.txt
	$(call PIP,-r requirements.txt -r requirements-cluster.txt -r requirements-dev.txt)
	@touch $@ $(VENV)/.run $(VENV)/.cluster

# What the tests need that pip does not have: a browser, a JavaScript engine, the emoji font. Chromium's headless shell
# takes a third less of a processor than the whole browser, which does where there is no package of it.
tools:
	@missing=""; \
	command -v chromium-headless-shell >/dev/null 2>&1 || { command -v chromium >/dev/null 2>&1 && \
		! apt-cache show chromium-headless-shell >/dev/null 2>&1; } || missing="$$missing chromium-headless-shell"; \
	command -v node >/dev/null 2>&1 || missing="$$missing nodejs"; \
	[ -f /usr/share/fonts/truetype/noto/NotoColorEmoji.ttf ] || missing="$$missing fonts-noto-color-emoji"; \
	$(INSTALL)

# Two more engines; WebKit's needs a display.
browsers:
	@missing=""; \
	command -v firefox-esr >/dev/null 2>&1 || missing="$$missing firefox-esr"; \
	command -v WebKitWebDriver >/dev/null 2>&1 || missing="$$missing webkit2gtk-driver"; \
	command -v Xvfb >/dev/null 2>&1 || missing="$$missing xvfb"; \
	$(INSTALL)

# Two that run at once wait for each other.
define INSTALL
[ -z "$$missing" ] || { echo "installing$$missing"; \
	  $(SUDO) flock /var/lib/apt sh -c "apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing >/dev/null" || \
	  { echo "The tests need$$missing. On Debian or Ubuntu: apt-get install$$missing"; exit 1; }; }
endef

clean:
	rm -rf $(VENV) node_modules build dist photo_finish.egg-info
