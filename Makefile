# Two commands: `make train` sets up what is missing and runs the quickstart; `make test` sets up and runs all tests.
# Each step says what it does and skips what is done already.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help train test setup setup-tests build assets assets-tests checks up doctor

JOURNEYMAN := target/release/journeyman
MODEL := qwen2-5-coder-0-5b-instruct
TEST_MODEL := smollm2-135m-instruct

help:
	@echo "make train    set up what is missing, then train a 0.5B model on a real task (configs/quickstart.toml)"
	@echo "make test     set up what is missing, then run all checks and tests"
	@echo "make up       start NATS, Redis and all services on this machine; Ctrl-C stops them"
	@echo "make doctor   say what this machine lacks"

train: assets
	$(JOURNEYMAN) train configs/quickstart.toml

up: assets
	$(JOURNEYMAN) up

doctor: build
	$(JOURNEYMAN) doctor

test: setup-tests assets-tests checks
	@echo "== tests"
	@mkdir -p target
	cargo test --release --workspace --lib --bins --tests --no-fail-fast 2>&1 | tee target/test.log
	@awk '/^test result:/ { passed += $$4; failed += $$6 } END { print passed " passed, " failed " failed" }' target/test.log

setup:
	@echo "== set-up"
	@cargo xtask setup

setup-tests:
	@echo "== set-up"
	@cargo xtask setup --tests

build: setup
	@echo "== build (burn takes minutes the first time)"
	cargo build --release --workspace --bins

assets: build
	@echo "== model and task"
	@$(JOURNEYMAN) models pull $(MODEL)
	@$(JOURNEYMAN) tasks prepare mlc-churn

assets-tests: setup-tests
	@echo "== build (burn takes minutes the first time)"
	cargo build --release --workspace --bins
	@echo "== models and tasks"
	@$(JOURNEYMAN) models pull $(MODEL)
	@$(JOURNEYMAN) models pull $(TEST_MODEL)
	@$(JOURNEYMAN) tasks prepare --all

checks:
	@echo "== formatting, lints, and the CUDA build that needs no GPU"
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	cargo check --release -p journeyman-inference -p journeyman-trainer --features cuda
