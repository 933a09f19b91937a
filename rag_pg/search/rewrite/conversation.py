"""conversation: a follow-up becomes a question that stands alone."""

from __future__ import annotations

from collections.abc import Sequence

from rag_pg.search.rewrite.follow_up import complete_question, needs_history, without_shift
from rag_pg.search.rewrite.helper import Helper, tidy
from rag_pg.text import content_words, is_among
from rag_pg.types import Message

TURNS = 6  # that the model reads, the latest
TURN_LENGTH = 1000  # characters of each
KNOWN = 1 / 3  # of the rewritten question's words, at least, are the conversation's

RULES = """\
You rewrite the last question of a conversation, so that it can be understood without the
conversation.
- Replace pronouns and references by what they stand for, and add what was left out.
- Add nothing else. Do not answer. Keep the language, the names and the words of the question.
- A question that can be understood alone, or that begins a new topic, stays as it is."""
SCHEMA = {
    "type": "object",
    "properties": {"question": {"type": "string", "minLength": 1}},
    "required": ["question"],
    "additionalProperties": False,
}


def stand_alone(question: str, history: Sequence[Message], helper: Helper) -> str:
    """Return the question as it would be asked without the conversation before it.

    A cheap gate decides whether it needs the history at all. Then a language model rewrites it;
    without one, or while it fails, rules add what the conversation is about.
    """
    if not history:
        return question
    if not needs_history(question):
        plain = without_shift(question)
        helper.tell("conversation", by="gate", question=plain)
        return plain
    completed = complete_question(question, history)
    if helper.llm is not None:
        parsed = helper.ask(
            "conversation",
            RULES,
            {**_turns(history), "last question": question},
            SCHEMA,
            otherwise="rules completed the question",
            max_tokens=256,
        )
        if parsed is not None:
            rewritten = tidy(parsed["question"])
            if _is_about(rewritten, question, history):
                helper.tell("conversation", by="model", question=rewritten)
                return rewritten
            helper.notes.append(
                "conversation: the model's question has little to do with the conversation; "
                "rules completed the question"
            )
    helper.tell("conversation", by="rules", question=completed)
    return completed


def _turns(history: Sequence[Message]) -> dict[str, str]:
    """The latest turns, each by a name of its own."""
    return {
        f"turn {number} of the conversation, by the {turn.role}": turn.content.strip()[:TURN_LENGTH]
        for number, turn in enumerate(history[-TURNS:], 1)
    }


def _is_about(rewritten: str, question: str, history: Sequence[Message]) -> bool:
    """Whether a rewritten question keeps to the words of what was talked about."""
    meaning = content_words(rewritten)
    known = content_words(" ".join([question, *(turn.content for turn in history)]))
    told = sum(is_among(word, known) for word in meaning)
    return bool(meaning) and told >= KNOWN * len(meaning)
