"""multi_query, decomposition, step_back and hyde: further wordings, each by one call of a language
model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rag_pg.search.rewrite.helper import Helper, tidy
from rag_pg.search.rewrite.rewritten import Variant

WORDINGS = 4  # of a question that one rewrite may add
PASSAGE_LENGTH = 2000  # characters
ALONE = "the question was searched for as it is"


# What a model is asked to do, by rewrite, with the key that it answers under: one wording, or an s
# at its end for several.
_RULES = {
    # The question in other words. Source: Rackauckas, RAG-Fusion, 2024.
    "multi_query": (
        "queries",
        f"""\
You help to search documents. Write {WORDINGS - 1} other wordings of the question, such as its
answer might use: synonyms, technical terms, a shorter and a longer form. Keep its meaning and its
language. Do not answer.""",
    ),
    # The parts of a question that asks for several things. Source: Press et al., 2023.
    "decomposition": (
        "questions",
        f"""\
You help to search documents. Split the question into the simple questions, at most {WORDINGS}, that
have to be answered first; each stands alone. A question that is simple already has none. Keep its
language. Do not answer.""",
    ),
    # The more general question behind this one. Source: Zheng et al., Step-Back Prompting, 2024.
    "step_back": (
        "question",
        """\
You help to search documents. Write the more general question that stands behind this one: the
concept, the rule or the procedure that it is a case of. Keep its language. Do not answer.""",
    ),
}


def hyde(question: str, helper: Helper) -> list[Variant]:
    """A passage that might answer, for the vector search; keywords stay the question's.
    Source: Gao et al., Precise Zero-Shot Dense Retrieval without Relevance Labels, 2023."""
    parsed = helper.ask(
        "hyde",
        """\
You help to search documents. Write the passage, 3 to 5 sentences, that would answer the question if
it stood in a manual. It is only compared with real passages, so it may be wrong. Keep the
question's language.""",
        {"question": question},
        _schema("passage", {"type": "string"}),
        otherwise=ALONE,
    )
    passage = tidy(parsed["passage"], PASSAGE_LENGTH) if parsed is not None else ""
    if parsed is not None and not passage:
        helper.notes.append(f"hyde gave no passage; {ALONE}")
    if not passage:
        return []
    helper.tell("hyde", passage=passage)
    return [Variant(query=question, passage=passage)]


def _wordings(rewrite: str, question: str, helper: Helper) -> list[Variant]:
    """Up to WORDINGS texts that a model answers with, without the question itself."""
    key, rules = _RULES[rewrite]
    one: dict[str, Any] = {"type": "string"}
    several = {"type": "array", "items": one}
    schema = _schema(key, several if key.endswith("s") else one)
    parsed = helper.ask(rewrite, rules, {"question": question}, schema, otherwise=ALONE)
    if parsed is None:
        return []
    given = parsed[key] if isinstance(parsed[key], list) else [parsed[key]]
    texts = _distinct([question, *map(tidy, given)])[1:]
    if len(texts) > WORDINGS:
        helper.notes.append(f"{rewrite} gave {len(texts)} wordings; {WORDINGS} were searched for")
    elif not texts and rewrite != "decomposition":
        helper.notes.append(f"{rewrite} gave no other wording; {ALONE}")
    helper.tell(rewrite, queries=texts[:WORDINGS])
    return [Variant(query=text) for text in texts[:WORDINGS]]


EXPANSIONS: dict[str, Callable[[str, Helper], list[Variant]]] = {
    **{rewrite: partial(_wordings, rewrite) for rewrite in _RULES},
    "hyde": hyde,
}


def _distinct(texts: Sequence[str]) -> list[str]:
    """The texts without those that an earlier one equals but for case, space and the mark at its
    end."""
    seen: dict[str, str] = {}
    for text in texts:
        seen.setdefault(" ".join(text.casefold().split()).rstrip(" ?.!"), text)
    return [text for key, text in seen.items() if key]


def _schema(key: str, value: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {key: value},
        "required": [key],
        "additionalProperties": False,
    }
