# Everything runs in .venv and node_modules of this folder; nothing else on the machine is changed, but for Debian
# packages that some tests need, and those only where make runs as root.

PYTHON ?= python3
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help install demo test test-hosts test-frameworks check lint types imports model-tests format synth bench clean

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: .venv/installed ## Install everything that demo and deployment need into .venv and node_modules

demo: .venv/installed ## Deploy a cluster into an AWS on localhost and run the smoke test on it
	@$(BIN)/python -m mnp.local_aws.demo examples/demo.yaml

test: check ## Run everything that CI runs
	@tools/install-host-test-packages.sh
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-hosts: .venv/installed-dev ## Run the node code on several hosts: SSH, Open MPI, and every way to fail
	@tools/install-host-test-packages.sh
	@MNP_TEST_HOSTS=1 $(BIN)/python -m pytest tests/hosts

test-frameworks: .venv/installed-dev .venv-frameworks/installed ## Run every launcher with its framework, on up to 8 hosts
	@FRAMEWORKS_PYTHON=$(CURDIR)/.venv-frameworks/bin/python $(BIN)/python -m pytest tests/hosts/test_launcher_matrix.py

check: .venv/installed-dev ## Lint, types, import rules and the tests that need no process but their own
	@$(MAKE) --no-print-directory lint types imports model-tests

lint: .venv/installed-dev
	@ruff check .
	@ruff format --check .
	@shellcheck launch_templates/boot/*.sh launch_templates/bake/*.sh tools/*.sh .ci/run

types: .venv/installed-dev
	@mypy

imports: .venv/installed-dev
	@lint-imports

model-tests: .venv/installed-dev
	@$(BIN)/python -m pytest -q tests/cluster tests/launch_templates -n 2

format: .venv/installed-dev ## Format the code and mend what the linter can mend
	@ruff check --fix .
	@ruff format .

synth: .venv/installed ## Write the templates of FILE (default examples/p5.yaml) to cdk.out
	@node_modules/.bin/cdk synth --quiet -c cluster=$(or $(FILE),examples/p5.yaml)

bench: .venv/installed-dev ## Compare our synth and rendezvous with what else does the same
	@$(BIN)/python benchmarks/synth.py
	@$(BIN)/python benchmarks/rendezvous.py

clean: ## Remove what make has made
	rm -rf .venv .venv-frameworks node_modules cdk.out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/installed: requirements.txt package-lock.json pyproject.toml tools/install.sh
	@PYTHON=$(PYTHON) tools/install.sh requirements.txt $@

.venv/installed-dev: requirements-dev.txt package-lock.json pyproject.toml tools/install.sh
	@PYTHON=$(PYTHON) tools/install.sh requirements-dev.txt $@
	@touch .venv/installed

.venv-frameworks/installed: requirements-frameworks.txt tools/install-frameworks.sh | .venv/installed-dev
	@tools/install-frameworks.sh requirements-frameworks.txt $@
