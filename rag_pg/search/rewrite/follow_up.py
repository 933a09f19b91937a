"""A follow-up question made to stand alone by rules: pronouns, ellipsis, and what was talked about.
Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_pg.search.rewrite.words import (
    FILLER,
    IMPERATIVES,
    OPENERS,
    POSSESSIVES,
    PRONOUNS,
)
from rag_pg.text import FUNCTION_WORDS, content_words
from rag_pg.types import Message

SHORT = 2  # content words; a question of so few rarely stands alone
LONG = 9  # content words; a pronoun in so long a question mostly means something in it
NAMED = 3  # content words before a possessive; one of them is whose it is
TOPICS = 3  # earlier questions that a follow-up is completed with
TOPIC_LENGTH = 160  # characters of each
FRAGMENT_WORDS = 9
HAPPENS = frozenset(["happen", "happens", "happened", "passiert", "geschieht"])
ENDING = HAPPENS | {"do", "does", "mean", "work", "works"}
SKIPPED = FUNCTION_WORDS | PRONOUNS | OPENERS | HAPPENS  # at the beginning of a topic

_TOKENS = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_OTHER_SCRIPTS = re.compile(r"[\u0590-\u1dff\u2e80-\uffef]")  # whose question words are not known
_SENTENCE = re.compile(r"[^.!?。！？]*[.!?。！？]?")

_THAT = re.compile(  # "that" and "this" without a clause of their own; "there" but not "is there a"
    r"""\b(?:that|this)\b(?=\s*(?:[?.!,;:]|$|\b(?:too|also|then|yet|still|either|off|up|out|way)\b))
    |\b(?:of|for|with|like|about|than|from|after|before|without|in|to|on|by|via|do|does|did|is|are|was|were|can|
        could|should|would|will|if|when|why|how|turn|switch|use|change|disable|configure|set)\s+(?:that|this)\b
    |^(?:that|this)\b
    |(?<!\bis\s)(?<!\bare\s)(?<!\bwas\s)(?<!\bif\s)(?<!\bwere\s)(?<!\bwill\s)\bthere\b
    |^\W*(?:the\s+)?same\b|\bthe\s+same\s+(?:apply|applies|go|goes|hold|true|work)\b
    |\b(?:another|the\s+same)(?=\s*(?:[?.!,;:]|$))""",
    re.VERBOSE | re.IGNORECASE,
)
_EXPLETIVE = re.compile(
    r"\b(?:is|was|be|does|would|will|can|could|should|might|take)\s+it\s+"
    r"(?:possible|necessary|safe|better|best|allowed|okay|ok|worth|make\s+sense|take|a\s+good\s+idea"
    r"|mean\s+to|true\s+that)\b"
    r"|\bsuch\s+as\b|\binstead\s+of\b|\bhow\s+long\s+does\s+it\s+take\b|\b(?:both)\b(?=\s+\w+\s+and\b)|\bone\s+of\s+(?:two|several|many)\b",
    re.IGNORECASE,
)
_CONNECTIVE = re.compile(
    r"(?:and|or|but|also|then|so|plus|ok(?:ay)?|well|hmm|what\s+(?:about|if|else)|how\s+(?:about|come|so)|why\s+not"
    r"|und|oder|aber|auch|et|ou|mais|aussi|y|o|pero|e|ed|oppure|а|и|но|или)\b[\s,:]*",
    re.IGNORECASE,
)
_NEW_TOPIC = re.compile(
    r"^\W*(?:(?:now\s+)?(?:another|a\s+different|new|next|unrelated|different)\s+(?:question|topic|subject)\b|"
    r"(?:now\s+)?something\s+(?:else|different)\b|by\s+the\s+way\b|changing\s+(?:the\s+)?(?:topic|subject)\b|"
    r"andere\s+frage\b|themenwechsel\b|autre\s+question\b|otra\s+pregunta\b)\W*",
    re.IGNORECASE,
)
_DEFINITE = re.compile(r"\W*what(?:'s|\s+(?:is|are|was|were|does|do))\s+the\s", re.IGNORECASE)
_HOW_LONG = re.compile(r"^\W*(?:how|wie)\s+(?:long|often|far|soon|lange|oft|weit)\s", re.IGNORECASE)
_DEFINITION = re.compile(
    r"^\W*(?:what(?:'s|\s+is|\s+are|\s+does)|who\s+is|was\s+(?:ist|sind)|qu'est-ce\s+que?|qué\s+(?:es|son)|что\s+такое)\s+",
    re.IGNORECASE,
)


def needs_history(question: str) -> bool:
    """Whether a question seems to speak of something named before: a pronoun, a fragment, few
    words.

    Rules of English, some of other larger European languages; of the others only that it is short.
    """
    question = question.strip()
    if _NEW_TOPIC.match(question):
        return False
    if _CONNECTIVE.match(question):
        return True
    meaning = content_words(question)
    if len(meaning) >= LONG:
        return False
    plain = _EXPLETIVE.sub(" ", question)
    tokens = _tokens(plain)
    if any(_speaks_of_before(tokens, position) for position in range(len(tokens))) or _THAT.search(
        plain
    ):
        return True
    if _is_fragment(question, _tokens(question)):
        return True
    if _DEFINITE.match(question):
        return len([word for word in meaning if word != "mean"]) < SHORT
    return len(meaning) <= SHORT and not _DEFINITION.match(question)


def _speaks_of_before(tokens: Sequence[str], position: int) -> bool:
    """Whether a pronoun's noun is not in the question: a possessive late in it has one there."""
    if tokens[position] in POSSESSIVES:
        named = [token for token in tokens[:position] if token not in FUNCTION_WORDS]
        return len(named) < NAMED
    return tokens[position] in PRONOUNS


def _is_fragment(question: str, tokens: Sequence[str]) -> bool:
    """Whether it asks without a verb: "With several workers?", "Why burgers?"."""
    if not question.endswith("?") or not tokens or _OTHER_SCRIPTS.search(question):
        return False
    if tokens[0] in ("why", "warum", "pourquoi") and len(tokens) <= 4:
        return True
    asks = tokens[0] in IMPERATIVES or any(token in OPENERS for token in tokens[:3])
    return not asks and len(tokens) <= FRAGMENT_WORDS


def complete_question(question: str, history: Sequence[Message]) -> str:
    """Return a follow-up with what the conversation is about in brackets behind it.

    "Can I use them in tests?" after "How do I declare dependencies?" becomes "Can I use them in
    tests? (declare dependencies)". The question as it is where the history names nothing.
    """
    topics = _topics([m.content for m in history if m.role == "user"])
    own = set(content_words(question))
    told = [topic for topic in topics if not own.issuperset(content_words(topic))]
    return f"{question.strip()} ({', '.join(told)})" if told else question.strip()


def without_shift(question: str) -> str:
    """Return the question without words that only announce a new topic."""
    return _NEW_TOPIC.sub("", question, count=1).strip() or question.strip()


def _topics(questions: Sequence[str]) -> list[str]:
    """What the last question is about, then what those before it are, as far back as it needs
    them."""
    topics: list[str] = []
    for question in reversed(questions):
        topic = _topic(question)
        if topic and topic not in topics:
            topics.append(topic)
        if len(topics) == TOPICS or (topic and not needs_history(_asked(question))):
            break
    return topics


def _asked(turn: str) -> str:
    """Return the last sentence of a turn that asks, else its first one."""
    sentences = [s.strip() for s in _SENTENCE.findall(turn) if _TOKENS.search(s)]
    asking = [s for s in sentences if s.endswith(("?", "？"))]
    found: str = (asking[-1:] or sentences[:1] or [""])[0]
    return found


def _topic(turn: str) -> str:
    """Return what a question asks about: itself without the words that only ask."""
    parts = _HOW_LONG.sub("", without_shift(_asked(turn))).strip(" ?.!¿¡？。").split()
    while parts and (_bare(parts[0]) in SKIPPED or parts[0] in FILLER):  # Go, but not go, is a name
        parts = parts[1:]
    while len(parts) > 1 and _bare(parts[-1]) in SKIPPED | FILLER | ENDING:
        parts = parts[:-1]
    topic = " ".join(parts).strip(",;:")
    if len(topic) > TOPIC_LENGTH:
        topic = topic[:TOPIC_LENGTH].rsplit(" ", 1)[0]
    return topic


def _tokens(text: str) -> list[str]:
    return [token.casefold().replace("’", "'") for token in _TOKENS.findall(text)]


def _bare(word: str) -> str:
    return word.casefold().strip(",;:'’\"()")
