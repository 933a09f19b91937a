"""How a question is best answered: without documents, by hits alone, by metadata, by all documents,
by some."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from rag_pg.protocols import LLM
from rag_pg.search.rewrite.conditions import conditions_by_model
from rag_pg.search.rewrite.dates import find_period
from rag_pg.search.rewrite.fields import Condition, Field
from rag_pg.search.rewrite.filters import combine
from rag_pg.search.rewrite.helper import Helper, tidy
from rag_pg.search.rewrite.mentions import conditions_by_words, is_form
from rag_pg.search.rewrite.words import (
    DOCUMENTS,
    EXPLAINED,
    IMPERATIVES,
    MODALS,
    OPENERS,
    RESTRICTING,
)
from rag_pg.text import FUNCTION_WORDS, words
from rag_pg.types import MetadataQuery, Route

WHOLE_TOKENS = 8000  # a collection of at most so many is shown to the model as it is
LISTED = 10  # documents of a list, where the question names no number
MOST_LISTED = 100
REASON_LENGTH = 200  # characters
_KINDS = {"count": "a count", "list": "a list of documents", "values": "a field's values"}
KEYWORDS = 5  # words of a look-up, at most

_SMALL_TALK = re.compile(
    r"""(?:hi|hello|hey|hallo|hola|salut|bonjour|good\s+(?:morning|afternoon|evening)
    |guten\s+(?:tag|morgen|abend)|thanks?(?:\s+you)?(?:\s+(?:very|so)\s+much|\s+a\s+lot)?|thx
    |danke(?:\s+schön)?|merci|gracias|ok(?:ay)?|great|perfect|cool|nice|bye|goodbye|see\s+you|tschüss
    |how\s+are\s+you|(?:who|what)\s+are\s+you|what\s+can\s+you\s+do|(?:can\s+you\s+)?help(?:\s+me)?
    |what(?:\s+is|'s)\s+your\s+name)(?:\s+(?:there|everyone|all|again|today|please))?""",
    re.VERBOSE | re.IGNORECASE,
)
_COUNT = re.compile(
    r"\W*(?:how\s+many|(?:what\s+is\s+)?the\s+(?:total\s+)?number\s+of|count(?:\s+(?:all|the))*|"
    r"wie\s*viele|combien\s+de|cuánt[oa]s)\s+",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"\W*(?:please\s+)?(?:list|show(?:\s+me)?|give\s+me|name|which|(?:what|which)\s+are|"
    r"what(?:\s+is|['’]s)\s+the(?=\s+(?:latest|newest|most\s+recent|oldest|earliest)\b)|"
    r"what(?=\s+(?:documents|files|pages|articles)\b))\s+",
    re.IGNORECASE,
)
_CODED = re.compile(r"\w[_./]\w|\d|^[^\w\"“„«]*+[\"“„«].+[\"”“»][^\w\"”“»]*+$")
_ORDER = re.compile(
    r"\b(?:(?P<latest>latest|newest|most\s+recent)|(?P<oldest>oldest|earliest))\b", re.IGNORECASE
)
_OF_WHAT = re.compile(r"\b(?:about|for|like|of|in|on)\W*$", re.IGNORECASE)  # it asks what is said
_UNSURE = re.compile(
    r"\b(?:how\s+many|count|number\s+of|list|all|latest|newest|oldest|most\s+recent)\b",
    re.IGNORECASE,
)
RULES = """\
You decide how a question to a collection of documents is answered:
- none: it is small talk, or about the assistant; no document is needed.
- count: it asks how many documents there are, in all or with some metadata.
- list: it asks which documents there are, in all or with some metadata.
- retrieval: it asks for something that is written in documents. Choose it whenever in doubt."""
SCHEMA = {
    "type": "object",
    "properties": {
        "route": {"type": "string", "enum": ["none", "count", "list", "retrieval"]},
        "reason": {"type": "string"},
    },
    "required": ["route", "reason"],
    "additionalProperties": False,
}


def choose_route(
    question: str,
    *,
    fields: Callable[[], Sequence[Field]],
    now: datetime,
    helper_llm: LLM | None = None,
    tokens: int | None = None,
    reads: int | None = None,
) -> Route:
    """Return how a question is best answered, and why. Rules first; a model is asked only where
    they see a count or a list that they cannot read.

    Args:
        fields: the declared fields; read only for what may be a count or a list. tokens: of the
        whole collection, at most; None: not known. reads: how many of them the
            answering model may be shown; None: there is none, or it does not say.
    """
    text = question.strip()
    if _SMALL_TALK.fullmatch(text.strip(" .!?,")):
        return Route(name="none", reason="it is small talk")
    counts = _COUNT.match(text) or _LIST.match(text)
    query = metadata_query(text, fields(), now) if counts else None
    if query is not None:
        reason = f"the metadata answers it, by {_KINDS[query.kind]}"
        return Route(name="metadata", reason=reason, query=query)
    helper = Helper(helper_llm)
    route = None
    if helper_llm is not None and _UNSURE.search(text):
        route = _by_model(text, fields(), now, helper)
    return replace(
        route or _by_shape(text, tokens, reads), usage=helper.usage, notes=tuple(helper.notes)
    )


def _by_shape(question: str, tokens: int | None, reads: int | None) -> Route:
    """The route of a question that is about what documents say."""
    if is_lookup(question):
        return Route(name="search", reason="it looks up a code or a phrase")
    if tokens is not None and reads is not None and tokens <= min(reads, WHOLE_TOKENS):
        reason = f"the whole collection has at most {tokens} tokens"
        return Route(name="full_context", reason=reason)
    return Route(name="retrieval", reason="it asks for something that documents say")


def _by_model(
    question: str, fields: Sequence[Field], now: datetime, helper: Helper
) -> Route | None:
    """The route that a model chooses; None for retrieval, and when it fails."""
    otherwise = "rules chose the route"
    data = {"question": question}
    parsed = helper.ask("routing", RULES, data, SCHEMA, otherwise=otherwise, max_tokens=200)
    if parsed is None or parsed["route"] == "retrieval":
        return None
    reason = tidy(parsed["reason"], REASON_LENGTH)
    if parsed["route"] == "none":
        return Route(name="none", reason=reason, by="model")
    found = conditions_by_model(question, fields, now, helper)
    if found is None or found[1]:  # a condition that cannot be kept would make the count wrong
        return None
    query = MetadataQuery(
        kind=parsed["route"],
        filter=combine(*(condition.filter for condition in found[0])),
        limit=LISTED,
    )
    return Route(name="metadata", reason=reason, by="model", query=query)


def is_lookup(question: str) -> bool:
    """Whether a text looks something up, as in a search box: few words that ask nothing, and one of
    them a code, a name of a program's or a quoted phrase."""
    tokens = question.split()
    asks = any(token.casefold().strip(",:;") in OPENERS | IMPERATIVES for token in tokens)
    joined = any(token.casefold() in FUNCTION_WORDS for token in tokens)
    coded = _CODED.search(question) is not None
    ends = question.endswith(("?", ".", "!"))
    return len(tokens) <= KEYWORDS and coded and not (asks or joined or ends)


def metadata_query(question: str, fields: Sequence[Field], now: datetime) -> MetadataQuery | None:
    """Return what a question asks of the metadata; None where it asks for more than that.

    Every word of the question has to be explained by a field, a value, a date or the asking itself:
    "How many contracts of 2024 are there?" is a count, "How many pages does a contract need?" is
    not.
    """
    counted, listed = _COUNT.match(question), _LIST.match(question)
    asked = counted or listed
    if asked is None or _OF_WHAT.search(question):
        return None
    rest = words(question[asked.end() :])
    for field in fields:
        if (
            rest
            and all(map(is_form, rest, field.name_words))
            and _explained(rest, [], field.name_words)
        ):
            return MetadataQuery(kind="values", values_of=field.name)
    conditions, notes = conditions_by_words(question, fields, now)
    nouns = [t for t in rest if not (t in FUNCTION_WORDS or t in EXPLAINED or t.isdigit())]
    numbers = {name for f in fields if f.type == "numeric" for name in f.name_words}
    about = nouns[:1] and (
        nouns[0] in DOCUMENTS - numbers or any(_begins(c, nouns) for c in conditions)
    )
    period = find_period(question, now)
    if notes or not about or not MODALS.isdisjoint(rest) or (period and period.gaps):
        return None
    asked_for = {condition.field for condition in conditions}
    names = [name for field in fields if field.name in asked_for for name in field.name_words]
    limits = [token for token in rest[:3] if listed and token.isdigit()]
    if not _explained(rest, conditions, [*names, *limits]):
        return None
    filter_ = combine(*(condition.filter for condition in conditions))
    if counted:
        return MetadataQuery(kind="count", filter=filter_)
    order = _ORDER.search(question)
    one = order is not None and not any(noun.endswith("s") for noun in nouns)
    number = int(limits[0]) if limits else 1 if one else LISTED
    dated = [field.name for field in fields if field.type == "timestamptz"]
    return MetadataQuery(
        kind="list",
        filter=filter_,
        order_by="uri" if order is None else dated[0] if len(dated) == 1 else "updated_at",
        descending=order is not None and order["latest"] is not None,
        limit=max(1, min(number, MOST_LISTED)),
    )


def _begins(condition: Condition, nouns: Sequence[str]) -> bool:
    """Whether a value is what is counted: "how many contracts …"."""
    value = words(condition.source)
    return bool(value) and any(is_form(noun, value[-1]) for noun in nouns[: len(value) + 1])


def _explained(rest: Sequence[str], conditions: Sequence[Condition], names: Sequence[str]) -> bool:
    told = [word for condition in conditions for word in words(condition.source)]
    return all(
        ((token in FUNCTION_WORDS or token in EXPLAINED) and token not in RESTRICTING)
        or token in DOCUMENTS
        or any(is_form(token, word) for word in [*told, *names])
        for token in rest
    )
