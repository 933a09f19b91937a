"""`rag-pg ask` with every strategy, over a real collection, by a model behind OpenAI's protocol."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import command_line
import pytest
from answering import ANSWER, AnsweringOpenAI

from rag_pg.answer.strategies import BUILT_IN

pytestmark = pytest.mark.libraries  # the openai SDK
PAGE = (
    "# Passwords\n\n## Reset my password\n\nTo reset your password, open the account page and"
    " choose Reset password. A link comes by mail.\n"
)
QUESTION = "How do I reset my password?"
Ask = Callable[..., CompletedProcess[str]]


@pytest.fixture(scope="module")
def model() -> Iterator[AnsweringOpenAI]:
    with AnsweringOpenAI() as fake:
        yield fake


@pytest.fixture(scope="module")
def ask(
    new_database: Callable[..., str],
    template: str,
    model: AnsweringOpenAI,
    home: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Ask:
    """Runs rag-pg in a folder whose page is in collection docs."""
    folder = tmp_path_factory.mktemp("ask")
    (folder / "passwords.md").write_text(PAGE)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("RAG_PG_", "OPENAI"))}
    environment |= {
        "RAG_PG_DSN": new_database(template),
        "RAG_PG_HOME": str(home),
        "RAG_PG_LLM": "openai:fake",
        "RAG_PG_OPENAI_BASE_URL": f"{model.url}/v1",
        "OPENAI_API_KEY": model.key,
    }

    def run(*arguments: str, **further: str) -> CompletedProcess[str]:
        return command_line.run(*arguments, environment=environment | further, cwd=folder)

    assert run("add", "passwords.md").returncode == 0
    return run


@pytest.mark.minutes
def test_every_strategy_answers_with_a_citation(ask: Ask, model: AnsweringOpenAI) -> None:
    for strategy in BUILT_IN:
        model.reset()
        done = ask("ask", QUESTION, "--strategy", strategy, "--json")
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        used = "single" if strategy == "auto" else strategy
        assert (answer["strategy"], answer["found"], answer["notes"]) == (used, True, []), strategy
        assert [c["uri"] for c in answer["citations"]] == ["passwords.md"], strategy
        calls = sum(step["kind"] == "llm" for step in answer["steps"])
        assert calls == len(model.requests) and (calls > 0) == (strategy != "extractive")


def test_a_conversation_and_a_check_go_with_a_strategy(ask: Ask) -> None:
    history = json.dumps([{"role": "user", "content": QUESTION}])
    done = ask(
        "ask", "And when I am locked out?", "--history", history, "--rewrite", "multi_query",
        "--verify", "once", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert {"rewrite", "check"} <= {step["kind"] for step in answer["steps"]}
    assert answer["text"] == ANSWER


def test_a_terminal_sees_the_answer_while_it_is_written(ask: Ask) -> None:
    done = ask("ask", QUESTION, "--strategy", "single", FORCE_COLOR="1", NO_COLOR="1")
    assert done.stdout.startswith(f"{ANSWER}\n\nSources\n[1] ")
    assert "passwords.md" in done.stdout and "strategy single" in done.stderr
    piped = ask("ask", QUESTION, "--strategy", "single")
    assert piped.stdout.startswith(f"{ANSWER}\n\n## Sources\n\n- [1] ")


def test_a_function_of_a_module_is_a_strategy(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "own_strategy.py").write_text(
        "from rag_pg import Answer\n\n"
        "def titles(question, context):\n"
        "    return Answer(text=context.search(question)[0].uri, found=True)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = ask("ask", QUESTION, "--strategy", "own_strategy:titles")
    assert done.stdout.strip() == "passwords.md", done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--strategy", "sngle"), "did you mean 'single'"),
        (("--strategy", "no_module:titles"), "cannot import the strategy"),
        (("--verify", "twice"), "use once or strict"),
        (("--max-steps", "0"), "max_steps 0 is out of range"),
        (("--history", "{}"), "cannot read the history"),
        (("--history", "[1]"), "turn 1 of the history"),
        (("--rewrite", "multi"), "there is no rewrite 'multi'"),
        (("--llm", "extractive", "--strategy", "verify"), "needs a language model"),
    ],
)
@pytest.mark.few(3)
def test_a_mistake_ends_in_one_line(ask: Ask, arguments: tuple[str, ...], message: str) -> None:
    done = ask("ask", QUESTION, *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("error: ") and message in done.stderr
