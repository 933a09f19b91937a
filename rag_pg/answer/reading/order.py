"""Two things that a claim has exchanged: "Leyton beat Marsh" where Marsh beat Leyton."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from rag_pg.text import common_start, is_among, is_function_word, same_word, told_words, words

_TOKEN = re.compile(r"\w+(?:[.,:]\d+|['’-]\w+)*")
_ARTICLES = frozenset(words("the a an le la les l un une el los las"))
_MODALS = frozenset(
    words("peut peuvent doit doivent kann können darf dürfen muss müssen puede pueden debe deben")
)
_THEN = frozenset(words("then afterwards dann danach ensuite puis luego después"))
MOST_WORDS = 60  # of a claim and a sentence, of which things are looked for that changed places
_SEQUENCE = re.compile(
    r"\b(?:first(?=\s*(?:[,;.:]|$)|\s+(?:\w+\s+)?(?:the|an?)\b)|then|afterwards|finally|zuerst|dann|danach|zuletzt|d['’]abord|ensuite|puis|enfin"
    r"|primero|luego|después)\b",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"[,;.]\s+(?:(?:and|und|et|y)\s+)?|(?<!\s)\s+(?:(?:and|und|et|y)\s+|(?=(?:then|ensuite|puis)\b))",
    re.IGNORECASE,
)
_PASSIVE = re.compile(
    r"(?i)\b(?:be|been|being|is|are|was|were)\s+(?:\w+ly\s+)?(\w+(?:ed|en|[dt]))\b"
    r"[^,;:]{0,99}?\sby\s(?:the\s|an?\s)?(\w+)"
)
_AGENT = re.compile(  # opened by the council
    r"\b([a-z]+(?:ed|en|[dt]))\s(?:[^,;:.()]{0,60}?\s)?by\s"
    r"(?:the|an?|its|his|her|their)\s((?:[\w'’-]+\s?){1,3})"
)
GERMAN = frozenset(words("der die das den dem ein einen einem und ist im am nicht aber"))
_BECAUSE = re.compile(
    r"(?i)\b(?:because(?: of)?|due to|owing to|weil|wegen|aufgrund|parce qu|à cause de|porque"
    r"|debido a)\b"
)
_SO = re.compile(
    r"(?i)[,;]\s(?:and |und |et |y )?(?:so|therefore|deshalb|daher|darum|deswegen|donc|por eso)\s"
)
_WHEN = frozenset(words("when where while if as because since after before although that which"))
_AND = frozenset(words("and or und oder et ou y o as well"))
# What two things are to each other in either direction.
MUTUAL = frozenset(
    words("same equal equals equivalent similar different differ differs resemble married marry")
    + words("meet meets met border borders adjacent neighbour near between with plus together")
    + words(
        "match matches gleich ähnlich verheiratet grenzt neben zwischen mit même égal semblable"
    )
    + words("entre avec igual similar con")
)


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    is_listed: bool  # a comma or an "and" stands before it

    def is_same(self, other: _Word) -> bool:
        return self.text == other.text or (
            not self.text.isdigit()
            and not other.text.isdigit()
            and same_word(self.text, other.text)
        )

    @property
    def tells(self) -> bool:
        return self.text in _THEN or not (is_function_word(self.text) or self.text in _AND)


def swaps(claim: str, sentence: str) -> bool:
    """Whether a claim has two things in each other's place: what stands before and behind the same
    words of a sentence stands behind and before them in the claim.

    Members of a list may change places, and what is mutual; in German the subject may stand behind
    its verb, so that there articles have to stay where they were. Texts of more than MOST_WORDS
    words each are not compared.
    """
    mine, there = _read(claim), _read(sentence)
    if len(mine) * len(there) > MOST_WORDS**2:
        return False
    is_german = not GERMAN.isdisjoint(w.text for w in there)
    for start in range(1, len(mine)):
        for begin in range(1, len(there)):
            size = common_start(mine[start:], there[begin:], _Word.is_same)
            for length in range(size, 0, -1):
                middle = mine[start : start + length]
                if not _links(middle, is_german=is_german):
                    break
                if _are_exchanged(mine, there, start, begin, length):
                    return True
    return False


def is_done_to(claim: str, sentence: str) -> bool:
    """Whether a claim says that a thing was done by what it is done to in a sentence: "The owner is
    paid by the tenant" where the owner pays the tenant."""
    done = _PASSIVE.search(claim)
    if done is None or _PASSIVE.search(sentence):
        return False
    verb, actor = (next(iter(words(part)), "") for part in done.groups())
    told = words(sentence)
    at = [n for n, word in enumerate(told) if same_word(verb, word)]
    if not actor or len(at) != 1:
        return False
    before, behind = told[: at[0]], [*takewhile(lambda w: w not in _WHEN, told[at[0] :])]
    if "by" in behind or is_among(actor, before) or not is_among(actor, behind):
        return False
    return any(
        is_among(word, before) and not is_among(word, behind)
        for word in told_words(claim[: done.start()])
    )


def is_done_by_another(claim: str, sentence: str) -> bool:
    """Whether a claim names another one by whom a thing is done: "opened by the government" for
    "opened in May by the council"."""
    mine, there = told_words(claim), told_words(sentence)
    return any(
        same_word(verb.lower(), done.lower())
        and not any(is_among(word, there) for word in actors)
        and not any(is_among(word, mine) for word in others)
        for verb, actor in _AGENT.findall(claim)
        for done, other in _AGENT.findall(sentence)
        if (actors := _who(actor)) and (others := _who(other))
    )


def _who(phrase: str) -> list[str]:
    """The words that a phrase begins with that say something."""
    return [*takewhile(lambda word: not is_function_word(word), words(phrase))]


def misorders(claim: str, sentence: str) -> bool:
    """Whether a claim has two steps in the other order than a sentence: "Knead, then add flour"
    where the flour is added first."""
    if not (_SEQUENCE.search(claim) and _SEQUENCE.search(sentence)):
        return False
    steps = [_step(part) for part in _STEP.split(sentence)]
    positions = [
        position for part in _STEP.split(claim) if (position := _position(_step(part), steps)) >= 0
    ]
    return any(later < earlier for earlier, later in pairwise(positions))


def turns_cause(claim: str, sentence: str) -> bool:
    """Whether a claim has as the cause what a sentence has as its effect, and the reverse."""
    mine, there = _effect_and_cause(claim), _effect_and_cause(sentence)
    if mine is None or there is None:
        return False
    more = 0
    for side, own, other in zip(mine, there, reversed(there), strict=True):
        here = [word for word in side if is_among(word, own)]
        far = [word for word in side if is_among(word, other)]
        if not far or len(far) < len(here):
            return False
        more += len(far) - len(here)
    return more > 0


def _effect_and_cause(text: str) -> tuple[Sequence[str], Sequence[str]] | None:
    found = [*_BECAUSE.finditer(text), *_SO.finditer(text)]
    if len(found) != 1:
        return None
    effect, cause = text[: found[0].start()], text[found[0].end() :]
    if found[0].re is _SO:
        effect, cause = cause, effect
    elif not effect.strip():
        cause, _, effect = cause.partition(",")
    return told_words(effect), told_words(cause)


def _step(text: str) -> list[str]:
    return [word for word in told_words(_SEQUENCE.sub(" ", text)) if word not in _THEN]


def _position(step: Sequence[str], steps: Sequence[Sequence[str]]) -> int:
    """Which of some steps has most of the words of a step; -1: none, or two of them have."""
    shares = [sum(is_among(a, own) for a in step) for own in steps]
    most = max(shares, default=0)
    return (
        shares.index(most) if step and most * 5 > len(step) * 3 and shares.count(most) == 1 else -1
    )


def _are_exchanged(
    mine: Sequence[_Word], there: Sequence[_Word], start: int, begin: int, length: int
) -> bool:
    stop, end = start + length, begin + length
    if stop == len(mine) or end == len(there):
        return False
    if mine[start].is_listed and mine[stop].is_listed:
        return False
    if mine[stop - 1].text in _AND and all(w.tells or w.text in _AND for w in mine[start:stop]):
        return False
    first = _moved(mine[:start], there[end:])
    second = _moved(there[:begin], mine[stop:])
    whole = [*first, *mine[start:stop], *second]
    return (
        any(w.tells for w in first)
        and any(w.tells for w in second)
        and not any(  # it has the claim's order too
            common_start(whole, there[at:], _Word.is_same) == len(whole)
            for at in range(len(there) - len(whole) + 1)
        )
    )


def _moved(before: Sequence[_Word], behind: Sequence[_Word]) -> Sequence[_Word]:
    """The longest end of some words that others begin with."""
    for size in range(min(len(before), len(behind)), 0, -1):
        if all(a.is_same(b) for a, b in zip(before[-size:], behind[:size], strict=True)):
            return before[-size:]
    return []


def _links(middle: Sequence[_Word], *, is_german: bool) -> bool:
    told = [word for word in middle if word.tells]
    if not told or any(word.text in MUTUAL for word in middle):
        return False
    return not is_german or len(told) < len(middle)


def _read(text: str) -> list[_Word]:
    found: list[_Word] = []
    stop, listed = 0, False
    for match in _TOKEN.finditer(text):
        listed = listed or "," in text[stop : match.start()]
        stop = match.end()
        for word in words(match[0]):
            if word in _ARTICLES or word in _MODALS:
                continue
            found.append(_Word(word, listed or bool(found and found[-1].text in _AND)))
            listed = False
    return found
