"""Whether a sentence says the opposite of another, by its negations and its opposites."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rag_pg.answer.reading.opposites import find_opposite
from rag_pg.answer.reading.relations import OF_SIDES, is_swapped, is_turned
from rag_pg.text import has_word, is_function_word, same_word, words

_NEGATION = re.compile(
    r"""(?<!\w)(?:not|no|never|none|nobody|niemand\w*|nadie|nothing|neither|nor|cannot|without|excluding
    |excluded\ from|free\ of|frei\ von|außer
    |except|all\ but|apart\ from|aside\ from
    |rather\ than|exempt(?:ed)?
    |hardly|barely|scarcely|kaum|(?:fail(?:s|ed)?|refuse[sd]?)\ to
    |with\ the\ exception|mit\ Ausnahme|à\ l['’]exception
    |\w+n['’]t|forbid\w*|prohibit\w*|prohibition|ban|bans|banned|verboten|untersagt|interdit\w*|prohibid\w*
    |nichts?|kein\w*|nie|niemals|ohne|ausgenommen|pas|jamais|rien|aucune?|sans|sauf|hormis|excepto|salvo|sin|nunca|nada|jamás|ningun\w*|ningún
    |не|нет|никогда|без|ni|non|niente|nulla|(?-i:mai)|senza|não|nenhum\w*|sem|niet|geen|nooit|zonder
    )(?!\w)|(?<=\w)-free(?!\w)|不|没有|ない|ません|ليس|لا(?=\s)|नहीं""",
    re.IGNORECASE | re.VERBOSE,
)
_NONE = re.compile(  # what looks like a negation and denies nothing, or not all
    r":\s(?:no|nein|non)(?=;|$)"  # a cell
    r"|\b(?:not only|nicht nur|pas seulement|no sólo|no solo|не только"
    r"|(?:costs?|koste\w*|coûte\w*|cuesta\w?|costan?) (?:nothing|nichts|rien|nada|niente)"
    r"|(?:no|not|nicht|pas|no)\s+(?:\w+er|more|less|mehr|plus|moins|más)(?=\s+(?:than|als|de|que)\b)"
    r"|(?:not?|never|cannot|nicht|nie|pas|jamais|nunca)\s+(?:exceed\w*|before|after|vor|nach|avant|après"
    r"|antes|después|(?:above|over|below|under|über|unter)(?!\s+(?:the|de[rmns]|die|das)\b))\b"
    r"|(?:not|nicht|pas|no)\s+(?:necessarily|always|all|every\w*|unbedingt|immer|jede\w*|alle\w*"
    r"|toujours|tous|toutes|siempre|todos|todas))\b",
    re.IGNORECASE,
)
_PARTICLE = re.compile(r"^\W*(?:no|nein|non|não|nee|нет)\s*[,.:;!–—-]+\s*", re.IGNORECASE)
ONLY = re.compile(
    r"\b(?:only|solely|exclusively|nur|lediglich|ausschließlich|seulement|uniquement|sólo|solo"
    r"|solamente|únicamente|только|unless|until|bis|jusqu\w*|alone|allein|other|others|another"
    r"|andere\w*|autres?|otr[oa]s?)\b",
    re.IGNORECASE,
)
CLAUSE = re.compile(
    r"[,;:()—–]\s+|(?<!\ball)(?<!\s)\s+(?:and|or|but|while|whereas|because|if|when|und|oder|aber|sondern|weil|wenn|et"
    r"|ou|mais|car|si|y|o|pero|sino|porque)\s+",
    re.IGNORECASE,
)
_IF = re.compile(r"\s*(?:if|when|wenn|falls|si|cuando|quand)\s", re.IGNORECASE)  # it denies nothing
_DIRECTIONS = frozenset(
    words("rise rises rising rose fall falls falling fell drop drops dropping increase increases")
    + words("decrease decreases steigt steigen sinkt sinken fällt fallen monte baisse sube baja")
)
_WITHOUT = re.compile(r"\b(?:without|ohne|sans|sin|senza)\s", re.IGNORECASE)
_ONLY_WITH = re.compile(
    r"\b(?:only (?:with|in)|require[sd]?|nur (?:mit|in)|erfordert|seulement avec|uniquement avec"
    r"|sólo con|solo con)\s",
    re.IGNORECASE,
)
_BY = re.compile(r"\b(?:by|par|por)\s", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|à|auprès de)\s", re.IGNORECASE)
_EVEN_WITHOUT = re.compile(
    r"\b(?:(?:even|also) without|(?:auch|selbst) ohne|même sans|(?:incluso|aun) sin)\s",
    re.IGNORECASE,
)
_EVEN = re.compile(
    r"\b(?:even|including|auch|selbst|sogar|einschließlich|inklusive|même|y compris|incluso)\s",
    re.IGNORECASE,
)
_INCLUDED = re.compile(
    r"\b(\w+),? (?:included|inklusive|inbegriffen|eingeschlossen|compris\w*|incluid\w+)\b",
    re.IGNORECASE,
)
_EXCLUDED = re.compile(
    r"\b(\w+),? (?:excluded|ausgenommen|ausgeschlossen|exclu\w*)\b", re.IGNORECASE
)
_EXCEPT = re.compile(
    r"\b(?:except(?: for)?|exception of|apart from|excluding|unless|außer|ausnahme|ausgenommen"
    r"|es sei denn|sauf|excepto|salvo)\s",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:if|provided(?: that)?|as long as|wenn|falls|sofern|solange|vorausgesetzt|si"
    r"|à condition (?:que|de)|siempre que)\s",
    re.IGNORECASE,
)
_UNLESS = re.compile(
    r"\b(?:unless|es sei denn,?(?: dass)?|außer wenn|sauf si|à moins que|salvo que|a menos que)"
    r"\s+([^,.;]+)",
    re.IGNORECASE,
)
_WHERE = re.compile(
    r"\b(?:(?:even|auch|selbst|même|incluso)\s+)?(?:if|when|where|wenn|falls|si|quand|cuando)\s+([^,.;]+)",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.,;:!?)]")
_AVOIDS = re.compile(r"(?i)\b(?:avoid|prevent|protect|vermeid|verhinder|schütz|[ée]vit)\w*")
_NEXT = 3  # words
_AHEAD = 200  # characters in which they are
_TIMES = frozenset(words("before prior after following avant après antes después vorher nachher"))
_MEMBER = 3  # words of a member of a list, at most
_STEM = 4  # letters
_ALIKE = 0.6  # of a clause's words, that the other has


def is_negated(text: str) -> bool:
    """Whether a text denies something, in the larger European languages and a few others."""
    return bool(_NEGATION.search(_NONE.sub(" ", text)))


def without_particle(text: str) -> str:
    """Return a text without the "No," that it begins with."""
    return _PARTICLE.sub("", text)


def contradicts(claim: str, sentence: str, before: str = "") -> bool:
    """Whether a sentence denies what a claim says in the same words, or says what it denies.

    One of them alone has a negation, of a word that the other has, or the opposite of a word of the
    other; not both. What only some may or do is no denial of what others do not.

    Args:
        before: what stands before the sentence, whose words it may mean by a pronoun.
    """
    claim, sentence, before = (" ".join(text.split()) for text in (claim, sentence, before))
    if _waives(claim, sentence):
        return True
    for one, other in ((claim, sentence), (sentence, claim)):
        if mains := _of_one_condition(one, other):
            return (_count(mains[0]) == _count(mains[1])) == (find_opposite(*mains) is None)
    clauses = _clauses(without_particle(claim))
    there, mine = _count(sentence), [word for one in clauses for word in content_of(one)]
    is_plain = not there and _count(claim) == 1 and not ONLY.search(sentence)
    same = max(
        _common(content_of(one), sentence) * (_count(one) == there > 0) for one in clauses
    )  # what says the same in another clause is not denied in this one
    return any(
        _denies(clause, sentence, before)
        if len(content_of(clause)) > 1
        else _denies_in_its_words(clause, sentence)
        or (_count(clause) == 1 and is_plain and _common(mine, sentence) == len(mine) > 2)
        for clause in clauses
        if not (_IF.match(clause) and _count(clause))
        and (not same or _count(clause) == there or _common(content_of(clause), sentence) > same)
    )


def _of_one_condition(one: str, other: str) -> tuple[str, str] | None:
    """Return what one says if something is so and the other unless it is; None: that is not so."""
    case, rest = _WHERE.search(one), _UNLESS.search(other)
    if case is None or rest is None or not _are_alike(case[1], rest[1]):
        return None
    mains = one.replace(case[0], " "), other.replace(rest[0], " ")
    mine = content_of(mains[0])
    alike = _common(mine, mains[1]) + bool(find_opposite(*mains))
    return mains if mine and alike >= _ALIKE * len(mine) else None


def _are_alike(one: str, other: str) -> bool:
    """Whether two conditions say the same, in forms of the same words."""
    mine, there = content_of(one), content_of(other)
    if not mine or _count(one) != _count(other):
        return sorted(words(one)) == sorted(words(other))
    return all(_has(there, word) for word in mine) and all(_has(mine, word) for word in there)


def _denies_in_its_words(clause: str, sentence: str) -> bool:
    """Whether a part of a sentence has all the words of a short clause ("they are encrypted"), with
    a negation in one of them alone."""
    return bool(content_of(clause)) and any(
        _affirmed(clause) == _affirmed(part) and _count(clause) + _count(part) == 1
        for part in _clauses(sentence)
    )


def _denies(clause: str, sentence: str, before: str) -> bool:
    """Whether a clause says the opposite of what a sentence says, turned an odd number of times."""
    mine = content_of(clause)
    shared = {part: _shared(mine, there) for part, there in _contents(sentence)}
    parts = [part for part in _clauses(sentence) if shared[part]]
    most = max(shared.values(), default=0)
    nearest = [part for part in parts if shared[part] == most]
    only = [{found.casefold() for found in ONLY.findall(part)} for part in (clause, *nearest)]
    is_only = any(only) and any(found != only[0] for found in only)
    here, others = _count(clause), sum(map(_count, parts))
    if here > 1 or others > 1 or bool(_AVOIDS.search(clause)) != bool(_AVOIDS.search(sentence)):
        return False
    around = [*content_of(sentence), *content_of(before)]
    opposites = [
        _opposite(clause, part, sentence) or _opposite(clause, _whole(part, sentence), sentence)
        for part in nearest
    ]
    opposite = opposites[0] if opposites and all(opposites) else None
    turned = is_turned(clause, sentence)
    same = sum(_has(around, word) for word in mine) + (bool(opposite) or turned)
    if same < _ALIKE * len(mine):
        return False
    if most == len(mine) and any(
        _count(part) == here and not (is_turned(clause, part) or find_opposite(clause, part))
        for part in nearest
    ):
        return False  # the part says it
    if _lacks(clause, sentence):
        return True
    is_same = turned and not is_swapped(clause, sentence)
    if opposite and is_same and not (OF_SIDES | _DIRECTIONS).isdisjoint(opposite):
        opposite = None  # the same, said twice
    if opposite and not turned and _is_converse(clause, sentence, opposite):
        opposite = None  # A sold it to B, B bought it from A; it was sold by A
    if is_only:  # what it implies of others is not read
        return turned and opposite is None and not here and not others
    there = [*content_of(sentence), *(opposite or ())[:1]]
    negates = any(_has(there, word) for word in _denied(clause))
    mine = [*mine, *(opposite or ())[1:]]
    free = content_of(", ".join(part for part in nearest if not _count(part)))
    negates = negates or any(_has(mine, w) and not _has(free, w) for w in _denied(sentence))
    negates = negates and not (here and others)
    if (
        opposite
        and not turned
        and _TIMES.issuperset(opposite)
        and not any(
            _has(_behind(sentence, opposite[1]), word) for word in _behind(clause, opposite[0])
        )
    ):
        opposite = None  # an hour after it is mixed, before salt is added
    return negates ^ (opposite is not None) ^ turned


def _lacks(clause: str, sentence: str) -> bool:
    """Whether a clause is without a thing that a sentence asks for."""
    return _is_in_both(_WITHOUT, clause, _ONLY_WITH, sentence)


def _waives(claim: str, sentence: str) -> bool:
    """Whether a claim says that what a sentence says under a condition is so without it."""
    mine = content_of(claim)
    claim = _INCLUDED.sub(r"including \1", claim)
    sentence = _EXCLUDED.sub(r"\g<0> except \1 ", sentence)
    return _common(mine, sentence) >= _ALIKE * len(mine) and any(
        _is_in_both(even, claim, asks, sentence)
        for even, asks in ((_EVEN_WITHOUT, _ASKS), (_EVEN_WITHOUT, _ONLY_WITH), (_EVEN, _EXCEPT))
    )


def _is_in_both(before: re.Pattern[str], text: str, behind: re.Pattern[str], sentence: str) -> bool:
    """Whether a text has behind one phrase a word that a sentence has behind another."""
    mine = _first_words(before, text)
    others = " ".join(_first_words(behind, sentence)) if mine else ""
    return any(has_word(others, word) for word in mine)


def _first_words(before: re.Pattern[str], text: str) -> list[str]:
    """The words among the next few behind a phrase that say something."""
    return [
        word
        for match in before.finditer(text)
        for word in words(_STOP.split(text[match.end() : match.end() + _AHEAD], 1)[0])[:_NEXT]
        if not is_function_word(word)
    ]


def _is_converse(clause: str, sentence: str, opposite: tuple[str, str]) -> bool:
    """Whether what stands before a word of a clause stands behind its opposite in a sentence, and
    what stands behind it before."""
    if _is_in_both(_BY, clause, _FROM, sentence) or _is_in_both(_FROM, clause, _BY, sentence):
        return True
    before, behind = _around(clause, opposite[0])
    first, second = _around(sentence, opposite[1])
    return all(
        any(_has(far, word) and not _has(near, word) for word in mine)
        for mine, near, far in ((before, first, second), (behind, second, first))
    )


def _behind(text: str, word: str) -> Sequence[str]:
    """The content words behind a word."""
    return _around(text, word)[1]


def _around(text: str, word: str) -> tuple[Sequence[str], Sequence[str]]:
    """The content words before a word, and those behind it."""
    before, _, behind = " ".join(words(text)).partition(f"{word} ")
    return content_of(before), content_of(behind)


def _whole(part: str, sentence: str) -> str:
    """A member of a list with what stands before it: "public holidays" in "closed on Sundays and
    public holidays"; another part as it is."""
    parts = _clauses(sentence)
    at = parts.index(part)
    if not at or len(words(part)) > _MEMBER or any(map(is_function_word, words(part))):
        return part
    return f"{parts[at - 1]} {part}"


def _common(mine: Sequence[str], part: str) -> int:
    return _shared(mine, content_of(part))


def _shared(mine: Sequence[str], there: Sequence[str]) -> int:
    return sum(_has(there, word) for word in mine)


def _opposite(clause: str, part: str, sentence: str) -> tuple[str, str] | None:
    """The word of a clause whose opposite the nearest part of a sentence has, and that; None where
    another part has the word of the same thing ("open it, and close it later")."""
    found = find_opposite(clause, part)
    if found is None or _NEGATION.search(" ".join(found)):
        return None
    for other, there in _contents(sentence):
        at = next((n for n, word in enumerate(there) if same_word(found[0], word)), None)
        if (
            other != part
            and at is not None
            and all(_has(content_of(clause), w) for w in there[:at])
        ):
            return None
    return found


@lru_cache(256)  # as each clause is compared with the same parts of a sentence
def _count(text: str) -> int:
    return len(_NEGATION.findall(_NONE.sub(" ", text)))


@lru_cache(256)
def _denied(text: str) -> Sequence[str]:
    """The words that the negations of a text stand before, in the last place behind."""
    found: list[str] = []
    for clause in _clauses(_NONE.sub(" ", text)):
        for negation in _NEGATION.finditer(clause):
            behind = [
                word for word in content_of(clause[negation.end() :]) if not word.endswith("ly")
            ]
            found += behind[:1] or content_of(clause[: negation.start()])[-1:]
    return found


@lru_cache(256)
def content_of(text: str) -> Sequence[str]:
    """The words of a text that say something, without its negations."""
    return tuple(word for word in _affirmed(text) if not is_function_word(word))


@lru_cache(256)
def _affirmed(text: str) -> Sequence[str]:
    """The words of a text without its negations."""
    return tuple(words(_NEGATION.sub(" ", text)))


@lru_cache(256)
def _clauses(text: str) -> Sequence[str]:
    return CLAUSE.split(text)


@lru_cache(256)
def _contents(text: str) -> Sequence[tuple[str, Sequence[str]]]:
    """The different clauses of a text, each with its words that say something."""
    return [(part, content_of(part)) for part in dict.fromkeys(_clauses(text))]


def _has(found: Sequence[str], word: str) -> bool:
    beginning = word[:_STEM]  # which forms of one word have in common
    return any(
        same_word(word, other) or _begins(word, other)
        for other in found
        if other[:_STEM] == beginning
    )


def _begins(one: str, other: str) -> bool:
    """Whether a word of some length is another with an ending: wait, waiting."""
    short, long = sorted((one, other), key=len)
    return len(short) >= _STEM and long.startswith(short)
