"""How a question is answered is chosen by rules first, and by a model where they are not sure."""

import json
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from fakes import ScriptedLLM

from rag_pg import ProviderTimeout
from rag_pg.search.rewrite import Field, choose_route
from rag_pg.types import MetadataQuery, Route

NOW = datetime(2026, 11, 22, 18, 30, tzinfo=ZoneInfo("Europe/Zurich"))
FIELDS = [
    Field(name="kind", type="text", values=("contract", "policy")),
    Field(name="language", type="text", values=("english", "german")),
    Field(name="signed_at", type="timestamptz", values=("2024-01-05",)),
]
YEAR_2024 = {"$gte": "2024-01-01", "$lt": "2025-01-01"}


def route(question: str, llm: ScriptedLLM | None = None, **options: Any) -> Route:
    return choose_route(question, fields=lambda: FIELDS, now=NOW, helper_llm=llm, **options)


@pytest.mark.parametrize(
    "question",
    ["Hi!", "hello there", "Thank you very much.", "thanks", "What can you do?", "Danke"],
)
def test_small_talk_needs_no_document(question: str) -> None:
    assert route(question).name == "none"


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("How many documents are there?", MetadataQuery(kind="count")),
        (
            "How many contracts do we have?",
            MetadataQuery(kind="count", filter={"kind": "contract"}),
        ),
        ("Count the policies", MetadataQuery(kind="count", filter={"kind": "policy"})),
        (
            "How many contracts were signed in 2024?",
            MetadataQuery(kind="count", filter={"kind": "contract", "signed_at": YEAR_2024}),
        ),
        (
            "How many German contracts are there?",
            MetadataQuery(kind="count", filter={"kind": "contract", "language": "german"}),
        ),
        ("Which languages are there?", MetadataQuery(kind="values", values_of="language")),
        ("List all documents", MetadataQuery(kind="list", limit=10)),
        ("What documents do you have?", MetadataQuery(kind="list", limit=10)),
        (
            "Show me the 5 latest contracts",
            MetadataQuery(
                kind="list", filter={"kind": "contract"}, order_by="signed_at",
                descending=True, limit=5,
            ),
        ),
        (
            "Which contracts were signed in 2024?",
            MetadataQuery(
                kind="list", filter={"kind": "contract", "signed_at": YEAR_2024}, limit=10
            ),
        ),
    ],
)  # fmt: skip
def test_counts_and_lists_whose_every_word_is_explained_are_metadata(
    question: str, query: MetadataQuery
) -> None:
    chosen = route(question)
    assert (chosen.name, chosen.query, chosen.by) == ("metadata", query, "rules")


@pytest.mark.parametrize(
    ("question", "limit"),
    [
        ("What is the latest document?", 1), ("Show me the latest contract", 1),
        ("Which is the newest policy?", 1), ("What's the oldest contract?", 1),
        ("Show me the latest contracts", 10), ("Which are the newest documents?", 10),
    ],
)  # fmt: skip
def test_the_latest_of_all_is_one(question: str, limit: int) -> None:
    query = route(question).query
    assert query is not None and query.limit == limit
    assert (query.order_by, query.descending) == ("signed_at", "oldest" not in question)


@pytest.mark.parametrize(
    "question",
    [
        "How many workers should I run?",
        "How many pages may a contract have?",
        "How many contracts mention a deposit?",
        "How many contracts were signed in 2022 and 2024?",
        "How many contracts were signed on 1, 3 and 5 June 2024?",
        "How many contracts were signed before 2020 or in 2023?",
        "How many contracts were not signed in 2024?",
        "How many contracts were not signed?",
        "How many contracts are from the year before last?",
        "How many contracts per language are there?",
        "How many contracts of each year are there?",
        "How many contracts are there in German and how many in English?",
        "How many contracts have 20 documents?",
        "How many contracts were signed at 10:30 yesterday?",
        "Which contracts can be cancelled within a month?",
        "List the steps to reset a password",
        "Which languages does the parser support?",
        "What is a contract?",
        "What is the latest version?",
        "What is the latest contract about?",
        "Show me how to sign in",
        "How do I reset my password?",
        "reset my password",
        "password reset",
        "follow-up questions",
        "FastAPI cors credentials",
        "What does VPN-4711 mean?",
    ],
)
def test_questions_about_what_documents_say_are_retrieval(question: str) -> None:
    assert route(question).name == "retrieval"


@pytest.mark.parametrize(
    "question", ["error VPN-4711", "allow_origins", "tutorial/cors.md", '"exact words"']
)
def test_a_look_up_is_a_plain_search(question: str) -> None:
    assert route(question).name == "search"


def test_a_collection_that_fits_is_shown_whole() -> None:
    question = "How do I reset my password?"
    assert route(question, tokens=4000, reads=6000).name == "full_context"
    assert route(question, tokens=7000, reads=6000).name == "retrieval"
    assert route(question, tokens=20_000, reads=1_000_000).name == "retrieval"  # it would cost
    assert route(question, tokens=10, reads=None).name == "retrieval"


def reply(name: str) -> str:
    return json.dumps({"route": name, "reason": "because"})


def condition(kind: str) -> str:
    return json.dumps({"conditions": [{"field": "kind", "operator": "=", "values": [kind]}]})


def test_a_model_is_asked_only_where_rules_are_not_sure() -> None:
    llm = ScriptedLLM(reply("retrieval"))
    assert route("How many workers should I run?", llm).name == "retrieval"
    assert len(llm.calls) == 1
    assert route("How do I reset my password?", llm).name == "retrieval"
    assert route("How many documents are there?", llm).name == "metadata"
    assert len(llm.calls) == 1


def test_a_model_chooses_and_its_reason_is_told() -> None:
    llm = ScriptedLLM(reply("none"))
    chosen = route("List everything that you are able to do for me", llm)
    assert (chosen.name, chosen.by, chosen.reason) == ("none", "model", "because")
    assert chosen.usage.prompt_tokens == 9


def test_a_model_reads_the_filter_of_a_count() -> None:
    conditions = json.dumps(
        {"conditions": [{"field": "kind", "operator": "=", "values": ["policy"]}]}
    )
    chosen = route(
        "How many rules of conduct have we got?", ScriptedLLM(reply("count"), conditions)
    )
    assert (chosen.name, chosen.by) == ("metadata", "model")
    assert chosen.query == MetadataQuery(kind="count", filter={"kind": "policy"}, limit=10)


def test_a_count_whose_condition_cannot_be_kept_is_no_count() -> None:
    conditions = json.dumps(
        {"conditions": [{"field": "kind", "operator": "=", "values": ["memo"]}]}
    )
    chosen = route("How many memos have we got?", ScriptedLLM(reply("count"), conditions))
    assert chosen.name == "retrieval"


@pytest.mark.parametrize("answer", ["no JSON", ProviderTimeout("late")])
def test_a_model_that_fails_leaves_the_route_to_rules(answer: Any) -> None:
    chosen = route("How many workers should I run?", ScriptedLLM(answer))
    assert chosen.name == "retrieval"
    assert "rules chose the route" in chosen.notes[0]
