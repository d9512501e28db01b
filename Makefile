# Every target does its own set-up in .venv, so any of them can be the first command.
# It needs Python 3.11 or newer, git and make; PYTHON=/path/to/python3.12 names another one.
# With uv instead: uv venv && uv pip install -e '.[dev,mcp,judges]'

PYTHON ?= python3
ARGS ?=

# Bytecode is compiled once, at set-up; without it every process that a test starts compiles
# two hundred modules again.
unexport PYTHONDONTWRITEBYTECODE

COMMA := ,
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
# By file, since tests of a file share what they set up; two workers more than cores, since many
# tests wait for processes; 8 at most, since each takes up to 700 MB.
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
PARALLEL := -n $(shell expr \( $(CORES) \< 6 \) \* \( $(CORES) + 2 \) \| 8) --dist loadfile
PYTEST := $(BIN)/python -m pytest $(PARALLEL)
LINKS := $(addprefix .package/sprintlog/,engine projections cli)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo quick test test-long test-oldest check lint mutants bench bench-compare accept site

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s%s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.installed ## show sprintlog at work
	@$(BIN)/sprintlog demo $(ARGS)

quick: $(VENV)/.compiled ## the tests to run while editing, in less than a minute
	@$(PYTEST) tests/spec tests/golden tests/store $(ARGS)

test: $(VENV)/.compiled ## run the tests; ARGS='tests/store -k key' runs some of them
	@$(PYTEST) $(ARGS)

test-long: $(VENV)/.compiled ## the long forms, which `make test` leaves out
	@$(PYTEST) --only-long $(ARGS)

# What asks most of click, msgspec, pydantic, sqlite-utils and structlog: options, help and
# completion, each form of a file, the questions, the log itself. The rules are the same.
OF_COMMANDS := back/test_adopt.py back/test_snapshots.py look/test_blame.py look/test_diff.py \
	look/test_reading.py look/test_report_page.py look/output/test_fields.py \
	look/output/test_output_options.py plan/test_compile.py plan/gates/test_gate.py \
	plan/imports/test_import_aiwg.py plan/imports/test_import_orchestrator.py \
	plan/imports/test_recognising.py plan/queue/test_queue.py plumbing/test_answers.py \
	plumbing/test_append.py plumbing/test_json_reader.py plumbing/test_own_projections.py \
	plumbing/test_projection_runner.py plumbing/sessions/test_sessions.py record/test_recording.py \
	record/test_spoken_times.py record/loops/test_prompt_file.py setup/test_settings.py \
	setup/help/test_completion.py setup/help/test_help.py setup/help/test_suggestions.py \
	setup/store/test_exchange.py trust/test_audit.py trust/test_heads.py trust/test_verify.py
WITH_OLDEST := $(addprefix tests/cli/,$(OF_COMMANDS)) tests/store/test_[!eq]*.py \
	$(addprefix tests/architecture/test_,commands.py front_door.py oldest.py startup.py)

test-oldest: $(OLDEST)/.installed ## the commands, with the oldest dependencies we allow
	@$(OLDEST)/bin/python -m pytest $(PARALLEL) -p no:cacheprovider $(WITH_OLDEST) $(ARGS)

check: lint test test-long test-oldest ## all that a change must pass: format, lint, types, every test

lint: $(VENV)/.installed-dev ## the fast half of check: all but the tests
	@echo "format"  && $(BIN)/python -m ruff format --check .
	@echo "lint"    && $(BIN)/python -m ruff check .
	@echo "imports" && $(BIN)/lint-imports --no-logo
	@echo "types"   && $(BIN)/python -m mypy
	@echo "workflows" && $(BIN)/zizmor --offline --quiet --no-progress .github

mutants: $(VENV)/.compiled ## change the program in 84 places: does a test fail each time?
	@$(BIN)/python -m tests.mutants $(ARGS)

bench: $(VENV)/.installed-bench ## measure the core, as ratios to something run beside it; ARGS=all: every row
	@$(BIN)/python tests/benchmarks/run.py $(ARGS)

bench-compare: $(VENV)/.installed-bench ## HEAD against BASE=COMMIT, by processor time; ARGS='-k append'
	@$(BIN)/python tests/benchmarks/compare.py $(ARGS) -- '$(BASE)'

accept: $(VENV)/.installed-dev ## the long form of every check: kills, faults, large logs
	@$(BIN)/python -m tests.acceptance.run $(ARGS)

site: $(VENV)/.installed-dev ## the documentation as a site in .site/, ready to be published
	@$(BIN)/python -m sphinx -q -W --keep-going -c docs . .site $(ARGS) && echo ".site/index.html"

# --- Set-up: once, and again when pyproject.toml changes -----------------------------

# An interpreter that went away takes what was installed for it along.
$(foreach venv,$(VENV) $(OLDEST),\
	$(shell test -x $(venv)/bin/python || rm -f $(venv)/.installed* $(venv)/.compiled))

# pip is missing from a .venv that uv made.
define install
	@echo "setting up $(@D) (once, and again when pyproject.toml changes) ..." >&2
	@$(@D)/bin/python -m pip --version >/dev/null 2>&1 \
		|| $(@D)/bin/python -m ensurepip >/dev/null
	@$(@D)/bin/python -m pip install -qq --disable-pip-version-check -e $(1) || { \
		echo "error: installing into $(@D) failed; the lines above say why" >&2; \
		echo "hint: this step needs a package index; 'rm -r $(@D)' starts afresh" >&2; \
		exit 1; }
	@touch $(2)
endef

define compile
	@$(@D)/bin/python -m compileall -q engine projections cli .package/sprintlog/*.py
	@$(@D)/bin/python -m pytest -q --collect-only >$@.log 2>&1 || { cat $@.log; exit 1; }
	@mv $@.log $@
endef

$(VENV)/.installed: pyproject.toml | $(BIN)/python $(LINKS)
	$(call install,.,$@)

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python $(LINKS)
	$(call install,'.[dev$(COMMA)mcp$(COMMA)judges]',$@ $(VENV)/.installed)

# Collecting the tests compiles them, too: pytest rewrites their assertions.
$(VENV)/.compiled: $(VENV)/.installed-dev
	$(call compile)

$(VENV)/.installed-bench: pyproject.toml | $(BIN)/python $(LINKS)
	$(call install,'.[bench]',$@ $(VENV)/.installed)

$(OLDEST)/.installed: pyproject.toml .ci/oldest.txt | $(OLDEST)/bin/python $(LINKS)
	$(call install,'.[dev]' -c .ci/oldest.txt,$@)

$(BIN)/python $(OLDEST)/bin/python:
	@command -v $(firstword $(PYTHON)) >/dev/null 2>&1 || { \
		echo "error: $(PYTHON) was not found; sprintlog needs Python 3.11 or newer" >&2; \
		echo "hint: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "error: $(PYTHON) is $$($(PYTHON) --version 2>&1); sprintlog needs 3.11 or newer" >&2; \
		echo "hint: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "error: $(PYTHON) cannot make virtual environments: its venv module is missing" >&2; \
		echo "hint: on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(@:/bin/python=) || { rm -rf $(@:/bin/python=); exit 1; }

# Archives do not carry the links that a git checkout has.
$(LINKS):
	@ln -s ../../$(@F) $@
