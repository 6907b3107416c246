# The entry point. `make` or `make help` lists the targets.

SHELL := /bin/sh
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60

release := build/release
caisson := $(release)/caisson

# Only the release preset builds the guest and the worker; the others use those in build/release.
configure = cmake --preset $(1) $(if $(wildcard build/$(1)/build.ninja),>/dev/null)
compile = cmake --build build/$(1) --parallel $(JOBS)
# One job more than there are cores: many tests wait for limits, restarts and each other.
run_tests = tools/run-tests $(1) --retry-alone --label-exclude "matrix|containers|soak|fairness" --parallel $$(($(JOBS) + 1))
# cmake/sanitizers.cmake writes the tests that tests/sanitizers.txt excludes into the build folder.
run_sanitized = $(call run_tests,$(1)) --exclude-regex "$$(cat build/$(1)/never_sanitized)"
run_gate = $(call run_tests,$(1)) --label-regex '^(unit|integration)$$' --exclude-regex "$$(cat build/$(1)/not_gated)"

.PHONY: help run programs build check test bench asan tsan asan-gate tsan-gate fuzz format lint install clean

help: ## list these targets
	@echo "Caisson: runs Python that a model wrote, in a jail."
	@echo
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18
	@echo
	@echo "First time here: make run"

run: programs ## install packages, build the programs, run two examples
	@tools/first-run $(caisson)

# The programs that `make run` needs, without the tests, which are half of the code to compile.
programs: build/.packages
	@$(call configure,release)
	@$(call compile,release) --target programs

build: build/.packages ## build everything, optimised, into build/release
	@$(call configure,release)
	@$(call compile,release)

check: build ## build, then run the unit tests
	$(call run_tests,release) --label-regex '^unit$$'

test: build ## build, then run every test
	$(call run_tests,release)

bench: build ## measure speed and memory here, compare with peers, write docs/benchmarks.md
	python3 tests/bench/run_benchmarks.py --program $(caisson) --micro $(release)/micro_bench --work build/bench --docs docs

asan: build ## build with address and undefined-behaviour sanitizers, run every test
	@$(call configure,asan)
	@$(call compile,asan)
	$(call run_sanitized,asan)

tsan: build ## build with the thread sanitizer, run every test
	@$(call configure,tsan)
	@$(call compile,tsan)
	$(call run_sanitized,tsan)

# The sanitizer steps that .ci/run requires of a change; tests/sanitizers.txt lists the excluded
# tests.
asan-gate tsan-gate: %-gate: build
	@$(call configure,$*)
	@$(call compile,$*) --target gate
	$(call run_gate,$*)

fuzz: build ## run each fuzz target for FUZZ_SECONDS (60)
	@$(call configure,fuzz)
	@$(call compile,fuzz)
	tools/run-fuzz build/fuzz $(FUZZ_SECONDS)

format: build/.packages ## rewrite the sources in the house format
	tools/lint --format

lint: build ## check format, layers, headers and clang-tidy (LINT=changed: only files that differ from HEAD)
	tools/lint $(if $(filter changed,$(LINT)),--changed)

install: build ## install into PREFIX (/usr/local), below DESTDIR if set
	DESTDIR="$(DESTDIR)" cmake --install $(release) --prefix "$(PREFIX)"

clean: ## remove what was built
	rm -rf build

# Asks dpkg again only when the list of packages changes.
build/.packages: tools/install-packages
	@tools/install-packages
	@mkdir -p build
	@touch $@
