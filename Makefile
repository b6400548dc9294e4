# make demo    set up and run the main job on local Spark, with something to look at
# make test    set up and run everything that must hold
#
# Everything is installed into .venv, from requirements.lock, once. PYTHON=python3.12 chooses the interpreter it is made with.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$p; break; fi; done)
SPARK ?= 1

VENV := .venv
BIN := $(VENV)/bin
VENV43 := $(VENV)/spark43
BIN43 := $(VENV43)/bin
PIP := -m pip --disable-pip-version-check --quiet install

BUILD_FILES := pyproject.toml setup.py $(wildcard build_tools/*.py build_tools/*.pxi)
KERNEL_FILES := $(BUILD_FILES) $(wildcard src/varquet/kernels/source/*.py)
KERNEL_TESTS := $(wildcard tests/property tests/unit/columns tests/unit/layouts tests/conformance)

ifeq ($(SPARK),0)
NO_SPARK := -m "not spark"
else
DOCTOR_ARGS := --spark
endif

.PHONY: help demo test check lint format bench fuzz smoke-spark43 lock clean doctor-spark
.DELETE_ON_ERROR:

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile
	@echo "Also: check (lint, types, import contracts), format, bench, fuzz, smoke-spark43 (a short run on Spark 4.3), lock, clean."

demo: doctor-spark $(VENV)/compiled
	@$(BIN)/python scripts/demo.py $(DEMO_ARGS)

test: doctor-spark $(VENV)/compiled $(VENV)/checked
	@$(MAKE) --no-print-directory check
	$(BIN)/python -m pytest $(NO_SPARK) $(PYTEST_ARGS)
	VARQUET_KERNELS=checked $(BIN)/python -m pytest $(NO_SPARK) $(PYTEST_ARGS) $(KERNEL_TESTS)

check: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/compiled
	$(BIN)/python bench/columns.py $(BENCH_ARGS)
	$(BIN)/python bench/files.py $(BENCH_ARGS)
	$(BIN)/python bench/convert.py $(BENCH_ARGS)
	$(BIN)/python bench/profiling.py $(BENCH_ARGS)
	$(BIN)/python bench/queries.py $(BENCH_ARGS)
	$(BIN)/python bench/pipeline.py $(BENCH_ARGS)
	$(BIN)/python bench/delta.py $(BENCH_ARGS)
	$(BIN)/python bench/maps.py $(BENCH_ARGS)

fuzz: $(VENV)/checked
	$(BIN)/python fuzz/run.py $(FUZZ_ARGS)

smoke-spark43: doctor-spark $(VENV)/compiled $(VENV43)/installed
	$(BIN43)/python -m pytest -m smoke tests/spark $(PYTEST_ARGS)

# Nobody sets Python up wrongly without being told what is missing: the doctor comes first.
$(VENV)/installed: requirements.lock $(BUILD_FILES)
	@if [ -z "$(PYTHON)" ]; then \
		echo "missing: Python 3.11 or later is needed, and none is on the PATH." >&2; \
		echo "         Debian, Ubuntu: apt install python3 python3-venv python3-dev; macOS: brew install python; or python.org" >&2; exit 2; fi
	@$(PYTHON) build_tools/doctor.py
	@echo "varquet: setting up $(VENV) with $(PYTHON)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(PIP) -r requirements.lock
	@zig="$$($(BIN)/python build_tools/build.py --needs)"; if [ -n "$$zig" ]; then $(BIN)/python $(PIP) "$$zig"; fi
	@VARQUET_BUILD=none $(BIN)/python $(PIP) --no-build-isolation --no-deps --editable .
	@touch $@

# Where nothing compiles, the demo runs the interpreted kernels, which warn; the tests insist on compiled ones.
$(VENV)/compiled: $(VENV)/installed $(KERNEL_FILES)
	@$(BIN)/python build_tools/build.py --mode compiled && touch $@ || test "$(MAKECMDGOALS)" = demo

$(VENV)/checked: $(VENV)/installed $(KERNEL_FILES)
	@$(BIN)/python build_tools/build.py --mode checked
	@touch $@

$(VENV43)/installed: requirements-spark43.lock $(BUILD_FILES)
	@echo "varquet: setting up $(VENV43) with $(PYTHON)"
	@test -x $(BIN43)/python || $(PYTHON) -m venv $(VENV43)
	@$(BIN43)/python $(PIP) -r requirements-spark43.lock
	@VARQUET_BUILD=none $(BIN43)/python $(PIP) --no-build-isolation --no-deps --editable .
	@touch $@

ifeq ($(SPARK),0)
doctor-spark:
else
doctor-spark:
	@if [ -n "$(PYTHON)" ]; then $(PYTHON) build_tools/doctor.py --spark; fi
endif

# Needs uv (pip install uv). Only names and versions: where packages come from is for whoever installs to say.
lock:
	uv pip compile --universal --python-version 3.11 --no-header --all-extras --group dev pyproject.toml -o requirements.lock
	uv pip compile --universal --python-version 3.11 --no-header --group spark43 pyproject.toml -o requirements-spark43.lock

clean:
	rm -rf $(VENV) build dist demo src/*.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	rm -f src/varquet/kernels/compiled/*.so src/varquet/kernels/checked/*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
