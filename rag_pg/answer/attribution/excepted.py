"""What a claim says of that which a source takes out: "Guide dogs need consent" where dogs do, and
"The rule does not apply to guide dogs" follows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_pg.answer.reading.negation import CLAUSE, ONLY, content_of, is_negated
from rag_pg.answer.reading.opposites import find_opposite
from rag_pg.text import is_among

_BACK = 3  # sentences before an exception, which it may be one to
_ALIKE = 0.6  # of a claim's other words, that the rule has
_SUBJECT = 1  # word of it that says something: this deadline
_NOT_FOR = re.compile(
    r"\b(?:(?:do|does|did|shall|will) not apply (?:to|for)"
    r"|(?:gilt|gelten|galt)\s(?:\w+\s){0,2}?nicht (?:für|bei)"
    r"|ne s['’]appliqu\w+ pas (?:à|aux?)|no se aplican? a)\s",
    re.IGNORECASE,
)
_EXCEPT = re.compile(
    r"\b(?:except(?:ing)?(?: for)?|(?:with the )?exception of|apart from|außer|mit ausnahme"
    r"|ausgenommen|sauf|excepto|salvo)\s",
    re.IGNORECASE,
)
_OTHERS = re.compile(r"\b(?:but|sonst|other|others|rest|übrig\w*|ander\w+)\b", re.IGNORECASE)


def is_excepted(claim: str, sentences: Sequence[str]) -> bool:
    """Whether a claim says a rule, which one of some sentences is, of what this sentence or one of
    the next takes out of it."""
    if any(one.search(claim) for one in (_NOT_FOR, _EXCEPT, _OTHERS, ONLY)):
        return False
    for at, sentence in enumerate(sentences):
        if match := _NOT_FOR.search(sentence):
            of = content_of(sentence[: match.start()])
            rules = sentences[max(0, at - _BACK) : at] if len(of) <= _SUBJECT else ()
            without = sentence[match.end() :]
        elif match := _EXCEPT.search(sentence):
            rules, without = [sentence[: match.start()]], sentence[match.end() :]
            if not rules[0].strip():
                without, _, rules[0] = without.partition(",")
        else:
            continue
        if any(_is_of(claim, rule, without) for rule in rules):
            return True
    return False


def _is_of(claim: str, rule: str, without: str) -> bool:
    mine, there = content_of(claim), content_of(rule)
    out = [word for word in content_of(without) if not is_among(word, there)]
    rest = [word for word in mine if not is_among(word, out)]
    return bool(
        out
        and all(is_among(word, mine) for word in out)
        and sum(is_among(word, there) for word in rest) >= max(1, len(rest) * _ALIKE)
        and is_negated(claim) == is_negated(rule)
        and find_opposite(claim, rule) is None
        and len(CLAUSE.split(claim)) <= len(CLAUSE.split(without)) + 1
    )
