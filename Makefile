# Everything a person needs, through one virtual environment made on first use.
# `make` alone prints this list. Reruns do only what changed.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
# uv installs the lock files ten times as fast as pip does.
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes
# Libraries are built once, for program and tests: see .cargo/test.toml.
CARGO_TEST := cargo test --locked --quiet --release --config .cargo/test.toml --workspace
PYTEST := $(BIN)/python -m pytest -q -n logical --dist worksteal

DEMO_TRACE ?= traces/webvm-small.fiu.zst
DEMO_OUT ?= demo-out
# Its seven days last 120 s each, and its load is a tenth of the server's: a hundredfold
# clock makes queues build up on 64 chips. One hash lane drowns in it, sixteen do not: the report shows the knee.
DEMO_ARGS ?= --period 120s --speed 100 --set hash_lanes=16

# Tests of Python that are over in seconds: they look at results that are made up, or at the sources.
QUICK := tests/test_structure.py tests/test_advice.py tests/report/test_findings.py tests/test_results.py \
	tests/test_effects.py tests/causes

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find $(wildcard crates devices systems workloads) \
	-type f \( -name '*.rs' -o -name '*.toml' \) -not -path '*/tests/*' -not -path '*/benches/*')

.PHONY: help build demo extras check cross test test-slow planted mutants fuzz counts suites bench evidence lint deny format docs lock clean \
	tools

help: ## this list
	@echo "flashtwin: replay real block traces on SSDs that deduplicate, replicate and redirect"
	@echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

tools:
	@command -v cargo >/dev/null || { \
		echo "flashtwin: cargo not found; install Rust 1.89 or later from https://rustup.rs" >&2; exit 1; }
	@test -n "$(PYTHON)" || { \
		echo "flashtwin: no python3 of 3.11 or later found; install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }

$(VENV)/.made: requirements-uv.lock | tools
	@echo "making $(VENV)"
	@"$(PYTHON)" -m venv $(VENV) || { \
		echo "flashtwin: '$(PYTHON) -m venv' failed; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock
	@touch $@

$(VENV)/.runtime: requirements.lock $(VENV)/.made
	@echo "installing requirements.lock"
	@$(INSTALL) -r requirements.lock
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.runtime
	@echo "installing requirements-dev.lock"
	@$(INSTALL) -r requirements-dev.lock
	@touch $@

$(VENV)/.extras: requirements-extras.lock $(VENV)/.runtime
	@echo "installing requirements-extras.lock"
	@$(INSTALL) -r requirements-extras.lock
	@touch $@

# Editable install: Python files are read in place, only Rust needs building again.
$(VENV)/.core: $(RUST_SOURCES) pyproject.toml $(VENV)/.runtime
	@echo "building the core (cargo, release)"
	@VIRTUAL_ENV="$(CURDIR)/$(VENV)" PIP_QUIET=1 $(BIN)/maturin develop --release --locked
	@touch $@

build: $(VENV)/.core ## the program: .venv/bin/flashtwin

demo: build ## study the real trace that comes with flashtwin; writes demo-out/report.html
	@$(BIN)/flashtwin study $(DEMO_TRACE) $(DEMO_ARGS) --out $(DEMO_OUT)

extras: build $(VENV)/.extras ## what notebooks, clusters, searches and fits need: Polars, pandas, Jupyter, Dask, Optuna, SciPy

test: build $(VENV)/.dev ## all tests that take seconds, Rust and Python
	$(CARGO_TEST)
	$(PYTEST)

test-slow: build $(VENV)/.dev ## the tests that take minutes as well
	$(CARGO_TEST) -- --include-ignored
	PYTEST_TIMEOUT=3600 $(PYTEST) -m 'slow or not slow' --costs

planted: build $(VENV)/.dev ## build forty bugs into a copy of the sources, and list those that no test catches
	$(BIN)/python tests/planted.py

check: $(VENV)/.dev ## the inner loop: compiles, unit tests of ftl and sim, linters, the quick tests of Python
	cargo fmt --all --check
	cargo check --locked --quiet --release --config .cargo/test.toml --workspace --all-targets
	cargo test --locked --quiet --release --config .cargo/test.toml -p flashtwin-ftl -p flashtwin-sim --lib -- \
		--skip paging --skip write_amplification
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/python .ci/structure.py
	@ls python/flashtwin/_core*.so >/dev/null 2>&1 || $(MAKE) build
	$(BIN)/python -m pytest -q -n auto --dist loadfile $(QUICK)

cross: tools ## whether it compiles for the systems that wheels are made for: Linux on arm64, macOS, Windows
	@.ci/cross

# Against another commit: make mutants BASE=HEAD~3
BASE ?= origin/main
mutants: tools ## break each line of ftl and sim that differs from BASE (origin/main), and list what no test notices
	@command -v cargo-mutants >/dev/null || { \
		echo "flashtwin: cargo-mutants not found; install it: cargo install --locked cargo-mutants" >&2; exit 1; }
	@mkdir -p target && git diff $(BASE) -- crates/ftl crates/sim > target/mutants.diff
	cargo mutants --in-diff target/mutants.diff -p flashtwin-ftl -p flashtwin-sim

# Longer, and another one: make fuzz FUZZ=server SECONDS=3600
FUZZ ?= trace
SECONDS ?= 60
RUNS ?= -1
# What cargo-fuzz passes to the compiler so that libFuzzer sees branches and comparisons. The sanitizers would need a
# nightly compiler. With a target named, build scripts are built without.
COUNTED := --cfg fuzzing -Cdebug-assertions -Coverflow-checks -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
fuzz: tools ## feed a parser or a peer (FUZZ=trace, image, server, ...) with bytes that nobody thought of, for SECONDS (60)
	RUSTFLAGS="$(COUNTED)" cargo build --locked --quiet --release --target $(HOST) --target-dir target/fuzz \
		-p flashtwin-fuzz --features libfuzzer-sys
	@mkdir -p out/fuzz/$(FUZZ) out/fuzz/found
	FUZZ=$(FUZZ) target/fuzz/$(HOST)/release/fuzz out/fuzz/$(FUZZ) -max_total_time=$(SECONDS) -runs=$(RUNS) -rss_limit_mb=2048 \
		-malloc_limit_mb=512 -timeout=30 -max_len=65536 -artifact_prefix=out/fuzz/found/$(FUZZ)- -print_final_stats=1

# Those whose command has these words: make counts COUNTS='FUZZ=trace FUZZ=image'
COUNTS ?=
counts: build $(VENV)/.dev ## the swarms with 100,000 seeds each, all targets of make fuzz and the readers in Python, for hours; docs/evidence/long/counts.json
	$(BIN)/python -m evidence --counts $(COUNTS)

# One of them, or one case of it: make suites SUITES=fio ONLY='ca-ssd kills'
SUITES ?=
ONLY ?=
suites: build $(VENV)/.dev ## suites of others against served drives, for an hour: XFSTESTS=DIR, LIBNBD=DIR and NBD=DIR name built clones; docs/evidence/long/suites.json
	@XFSTESTS="$(XFSTESTS)" LIBNBD="$(LIBNBD)" NBD="$(NBD)" $(BIN)/python -m tests.suites $(SUITES) --only "$(ONLY)"

# For example: make new-policy KIND=victim NAME=oldest MODEL=fifo, or in Python: KIND=victim NAME=oldest FILE=oldest.py
KIND ?= replication
new-policy: ## a new policy as a copy of an existing one: KIND=victim NAME=oldest [MODEL=fifo] [FILE=oldest.py]
	@python3 docs/new_policy.py "$(KIND)" "$(NAME)" --model "$(MODEL)" --file "$(FILE)"
	@test -n "$(FILE)" || cargo fmt -p flashtwin-ftl

bench: build ## what is fast, and how we know
	cargo bench --locked -p flashtwin-trace --bench ingest
	cargo bench --locked -p flashtwin-trace --bench synthesize
	cargo bench --locked -p flashtwin-analysis --bench basics
	cargo bench --locked -p flashtwin-analysis --bench locality
	cargo bench --locked -p flashtwin-analysis --bench wa
	cargo bench --locked -p flashtwin-sim --bench engine
	@$(BIN)/python -m benches.whole
	@$(BIN)/python -m benches.peer_ftlsim
	@$(BIN)/python -m benches.peer_mqsim
	@$(BIN)/python -m benches.sweeps
	@$(BIN)/python -m benches.policies
	@$(BIN)/python -m benches.drive

evidence: build $(VENV)/.dev ## measure again what README and docs state; FLASHTWIN_CAPTURED=DIR and FLASHTWIN_SAMPLES=DIR name the recorded and the public traces
	$(BIN)/python -m evidence

lint: $(VENV)/.dev ## formatters in check mode, linters of both languages, and the structure: imports, circles, lengths
	cargo fmt --all --check
	cargo clippy --locked --quiet --release --config .cargo/test.toml --workspace --all-targets -- -D warnings
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/python .ci/structure.py

deny: tools ## licences, sources and known faults of all crates, by deny.toml
	@command -v cargo-deny >/dev/null || { \
		echo "flashtwin: cargo-deny not found; install it: cargo install --locked cargo-deny" >&2; exit 1; }
	cargo deny --locked check

format: $(VENV)/.dev ## format both languages in place
	cargo fmt --all
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .

docs: build $(VENV)/.dev ## the manual: write its generated pages again, and build it as a site, site/index.html
	$(BIN)/python docs/generate.py
	$(BIN)/python -m evidence --pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

UV = $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command "make lock"
lock: $(VENV)/.made ## resolve the lock files again
	echo 'uv==0.13.9' | $(UV) - -o requirements-uv.lock
	$(UV) --extra build pyproject.toml -o requirements.lock
	$(UV) --extra build --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	$(UV) --extra notebook --extra dask --extra search --extra fit \
		-c requirements.lock -c requirements-dev.lock pyproject.toml -o requirements-extras.lock

clean: ## remove everything that was made (target/, .venv/, demo-out/, site/)
	rm -rf target $(VENV) $(DEMO_OUT) site mutants.out* .pytest_cache .ruff_cache .mypy_cache python/flashtwin/_core*.so
