"""What a near copy of a sentence leaves out, or has in the place of something else: "Pets are
allowed" where they are if the owner agrees, "Children pay" where adults do."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import dropwhile

from rag_pg.answer.reading.figures import number_in_word
from rag_pg.answer.reading.measures import is_unit
from rag_pg.answer.reading.negation import CLAUSE, ONLY, is_negated
from rag_pg.answer.reading.strange import is_common, is_known, says_how
from rag_pg.answer.reading.talk import is_of_speech
from rag_pg.text import is_function_word, told_words, words

_NEAR = 0.75  # of the words of each, that the other has
_HINT = 1 / 3  # of a condition's words, from which on it is told; twice that in a question
_SAME = 4  # words
_MOST = 2  # words in another's place
_IF = re.compile(
    r"(?<!or )(?<!oder )(?<!even )(?<!auch )(?<!selbst )(?<!sogar )(?<!même )(?<!incluso )"
    r"(?<!as )\b(?:if|unless|when"
    r"|provided|(?:as|so) long as|except|once(?! (?:an?|per|every|in|or)\b)|quand|lorsque|cuando"
    r"|wenn|falls|sofern|solange|es sei denn|außer|vorausgesetzt|sauf|à condition|à moins|tant que"
    r"|s['’]il|in (?:the )?(?:case|event) of|im fall\w*|en caso? de"
    r"|only (?:with|after|by|for|from|at|on|in)|nur (?:mit|nach|bei|für|an|auf|in)|si"
    r"|siempre que|a menos que|salvo|excepto|previ[oa])\b",
    re.IGNORECASE,
)
_INVERTED = re.compile(  # Should it fail, …; Zahlt der Mieter nicht, …
    r"^(?:Should|Were|Had)\s(?=[^,?]+,[^?]+$)"
    r"|^(?!(?:Dami|Sei|Mi|Lau|Stat|Sam)t)(?:\w+[^\Wa]t|Ist|Sind|Kann|Muss|Darf|Wird|Werden|Haben)"
    r"\s(?=(?:der|die|das|ein\w*|er|sie|es|man)\s[^,?]+,"
    r"\s(?:so\s|dann\s)?[a-zäöü]\w*(?:t|en|nn|ss|rf|rd|nd)\s[^?]+$)"
)
_PART = re.compile(  # what can be added to a sentence
    r"[,;]?\s(?:because(?: of)?|since|due to|owing to|in order to"
    r"|to (?:prevent|avoid|protect|ensure|save)|if|unless|except(?: for)?|apart from"
    r"|provided(?: that)?|including|such as|along with|as well as|weil|wegen|aufgrund|damit|wenn"
    r"|falls|außer|einschließlich|sowie|parce que|afin de|sauf|y compris|porque|salvo"
    r"|incluid[oa]s?)\s(?P<part>[^,;:.()]+)"
    r"|,?\s(?:and|or|und|oder|et|ou|y|o)\s"
    r"(?P<last>(?:(?:an?|the|one|two|three|free|eine?n?|der|die|das|une?|les?|la)\s)?"
    r"[^\W\d_]+(?:\s[^\W\d_]+){0,2})(?=\s*(?:[.;:!?\[*]|$))",
    re.IGNORECASE,
)
_TAIL = re.compile(  # a second thing that is said
    r",?\s(?:and|und|et|y)\s(?P<part>[^,;:.()]+?)[\s.!?*]*$", re.IGNORECASE
)
_MEMBER = re.compile(  # a second thing that it is said of
    r"\w\s(?:and|und|et|y)\s(?:(?:the|its?|their|der|die|das|les?|la|l['’]|ses?|leurs?|los|las|sus?)"
    r"\s)?(?P<part>[^\W\d_]{4,})(?=\s\w)",
    re.IGNORECASE,
)
_LISTED = re.compile(  # the members of a list before its last one: tools, old books and games
    r"\b([^\W\d_]+),\s((?:[\w'’-]+\s){0,2}[\w'’-]+),?\s(?:and|or|und|oder|et|ou|y|o)\s",
    re.IGNORECASE,
)
_ALONE = re.compile(
    r"\b(?:only|solely|exclusively|nur|lediglich|ausschließlich|seulement|uniquement|solo|sólo)"
    r"\s+(\w+)",
    re.IGNORECASE,
)
_ALSO = re.compile(
    r"\b(?:any(?:one|body)?|all|every(?:one|body)?|each|both|also|too|as well|even|jede[rs]?"
    r"|alle[rn]?|beide|auch|sogar|tous|toutes|chaque|aussi|même|todos|todas|cada|también|incluso)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:must|needs?|requires?|limited|single|just|muss|müssen|braucht|doit|doivent|debe|deben)\b",
    re.IGNORECASE,
)
_REST = 0.8  # of the words of the other parts, that the sources have
_YES = re.compile(r"^\W*(?:yes|no|ja|nein|oui|non|sí)\b\W*", re.IGNORECASE)
_RELATIVE = re.compile(r"\b(?:that|which|who|qui|que)\s+\w+\s*$", re.IGNORECASE)  # tells which
_NOT_WITHOUT = re.compile(r"\b(?:without|ohne|sans|sin)\b", re.IGNORECASE)


def leaves_out_condition(claim: str, sentence: str, before: str, question: str) -> bool:
    """Whether a claim is what a sentence says under a condition, without it."""
    marker, given = _IF.search(sentence) or _INVERTED.search(sentence), _IF
    if marker is None and is_negated(sentence):
        marker, given = _NOT_WITHOUT.search(sentence), _NOT_WITHOUT
    if marker is None or any(p.search(claim) for p in (_IF, given, _INVERTED)):
        return False
    if _NOT_WITHOUT.match(claim):
        return False
    main, condition = sentence[: marker.start()], sentence[marker.end() :]
    if _RELATIVE.search(main):
        return False
    if not main.strip():
        condition, _, main = condition.partition(",")
    spoken, needed = told_words(main), told_words(condition)
    mine = told_words(_YES.sub("", claim))
    under = [told for clause in CLAUSE.split(main) if (told := told_words(clause))][-1:]
    return bool(
        needed
        and all(
            _share(told, mine) >= _NEAR
            for told in (under if under and len(under[0]) >= _MOST else (spoken, *under))
        )
        and _share(mine, [*spoken, *told_words(before)]) >= _NEAR
        and _share(needed, mine) <= _HINT
        and _share(needed, told_words(question)) < 2 * _HINT
    )


def adds_part(claim: str, sources: Sequence[str], question: str) -> bool:
    """Whether a claim has a reason, an exception, a condition or a member of a list of whose
    words its sources have hardly any, while they have the rest of it."""
    own = {word for text in (question, *sources) for word in words(text)}
    known = {word: is_known(word, own) for word in _new(claim)}
    told = sum(known.values())
    figures = sum(word.isdigit() and word in own for word in words(claim))
    for match in _PART.finditer(claim):
        if match["last"] and any(map(is_function_word, words(match["last"])[1:])):
            continue  # no member of a list: "and resume it later"
        part = _new(match["part"] or match["last"])
        shared = sum(known.get(word, False) for word in part)
        inside = _new(match[0])  # with the word that adds it
        rest = len(known) - len(inside)
        rest_told = told - sum(known[word] for word in inside)
        if 3 * shared <= len(part) > 0 and rest_told + figures >= max(2, rest * _REST):
            return True
    parts = [_new(member) for match in _LISTED.finditer(claim) for member in match.groups()]
    parts += (
        part
        for pattern, least in ((_TAIL, 2), (_MEMBER, 1))
        for match in pattern.finditer(claim)
        if len(part := [w for w in _new(match["part"]) if not is_unit(w)]) >= least
        and not all(map(is_common, part))
    )
    return any(
        part
        and not any(known.get(word, False) for word in part)
        and told >= max(2, (len(known) - len(part)) * _REST)
        for part in parts
    )


def adds_only(claim: str, sentence: str) -> bool:
    """Whether a claim says of one thing alone what a sentence says of it: "Only the owner may" for
    "The owner may"."""
    only = _ALONE.search(claim)
    if only is None or is_negated(f"{claim} {sentence}") or number_in_word(only[1].lower()):
        return False
    if ONLY.search(sentence) or _IF.search(sentence) or _ASKS.search(sentence):
        return False
    mine = told_words(claim[: only.start()] + only[1] + claim[only.end() :])
    return len(mine) >= _SAME and _share(mine, words(sentence)) == 1


def lifts_only(claim: str, sentence: str) -> bool:
    """Whether a claim says of all, or of others too, what a clause says of one thing alone: "Guests
    may vote as well" for "Only members may vote"."""
    if _ALONE.search(claim) or not _ALSO.search(claim) or is_negated(f"{claim} {sentence}"):
        return False
    mine = told_words(claim)
    for part in CLAUSE.split(sentence):
        if only := _ALONE.search(part):
            told = told_words(part[only.start(1) :])
            rest = [*dropwhile(lambda word: not is_known(word, mine), told)]
            if (
                len(rest) < len(told)
                and _share([*told_words(part[: only.start()]), *rest], mine) >= _NEAR
            ):
                return True
    return False


def _new(part: str) -> list[str]:
    """The words of a part of a claim that say something of its own."""
    return [
        word
        for word in dict.fromkeys(told_words(part))
        if not (word.isdigit() or is_of_speech(word) or says_how(word))
    ]


def _share(asked: Sequence[str], own: Collection[str]) -> float:
    return sum(is_known(word, own) for word in asked) / len(asked) if asked else 0.0
