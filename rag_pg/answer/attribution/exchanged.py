"""What a claim has exchanged of the sentence that it is a near copy of: a quantifier, a month, an
obligation, or what belongs to the other of two parallel things."""

from __future__ import annotations

import calendar
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import pairwise

from rag_pg.answer.reading.figures import ORDINALS, YEAR, counted_figures, in_digits, is_number
from rag_pg.answer.reading.measures import comparable_amounts, is_unit
from rag_pg.answer.reading.negation import is_negated, without_particle
from rag_pg.answer.reading.order import GERMAN
from rag_pg.answer.reading.relations import PRONOUNS, in_figures, is_same
from rag_pg.answer.reading.talk import AUXILIARIES
from rag_pg.text import common_start, is_among, is_function_word, same_word, words

_Ranked = tuple[int, list[str]]  # a quantity or a place in an order, and nouns that it may be of

# From all to none; what is said of more than a sentence says it of does not follow from it.
_QUANTIFIERS = """
all every each both any alle jeder jede jedes sämtliche beide tous toutes chaque todos todas cada
most majority half meisten mehrheit hälfte plupart majorité moitié mayoría mitad
many much viele viel beaucoup muchos muchas mucho mucha
some certain several einige manche mehrere certains certaines quelques plusieurs algunos algunas
few little wenige peu pocos pocas
no none neither kein keine keiner keinen aucun aucune ningún ninguna
"""
_ALL, _SOME, _FEW, _NONE = 0, 3, 4, 5
_NOUN = 3  # words behind a quantifier, of which one is what it counts
_ONE = re.compile(r"(?i)(?<!-)\b(?:one|a single|einer? einzigen?|une? seule?)\s+([^\W\d_]{4,})")
_SINGLE = re.compile(
    r"(?i)\b(?:an?|one|the|each|every|1|ein\w*|der|die|das|jede\w?|une?|la|le|chaque)"
    r"\s+(\w+(?:\s+\w+)?)"
)
_NOT = frozenset(words("not nicht pas no nie"))
_CALENDAR = """
monday mondays montag montags lundi lunes; tuesday tuesdays dienstag dienstags mardi martes; wednesday wednesdays mittwoch mittwochs mercredi miércoles; thursday thursdays donnerstag donnerstags jeudi jueves; friday fridays freitag freitags vendredi viernes; saturday saturdays samstag samstags sonnabend samedi sábado sábados; sunday sundays sonntag sonntags dimanche domingo domingos
spring frühling frühjahr printemps primavera; summer sommer été verano; autumn herbst automne otoño; winter hiver invierno
morning mornings morgens vormittag vormittags matin mañana; noon mittag mittags midi mediodía; afternoon afternoons nachmittag nachmittags tarde; evening evenings abend abends soir; midnight mitternacht minuit medianoche
"""  # noqa: E501
_SPAN = re.compile(r"\b(\w{3,})\s*(?:-|–|\b(?:to|through|bis|au|à|al?)\b)\s*(?:\w\w\s)?(\w{3,})")
_BUT = re.compile(r"(?i)\b(?:except(?: on)?|außer|sauf|excepto|salvo|tranne)\s(?:\w{1,3}\s)?\w+")
_ISO = re.compile(r"\b\d{4}-(0[1-9]|1[0-2])-\d\d\b")
_AMBIGUOUS = {"may": "May", "march": "March", "spring": "", "mars": "", "ete": "été"}
_OF = re.compile(  # what tells some of a kind from others
    r"\s+(?:of|within|in|from|for|with|without|under|over|below|above|aged|who|that|which|von|aus|mit|ohne|unter"
    r"|über|für|de|du|des|avec|sans|con|sin)\s+"
    r"(?:the\s+|an?\s+|de[rnm]\s+|die\s+|das\s+)?(\w+)",
    re.IGNORECASE,
)
_BOUNDS = frozenset(words("under over below above aged unter über"))  # what a number is behind
_VERBS = {  # what stands before a verb, by what it says of it
    kind: re.compile(rf"\b(?:{before})(\w+)", re.IGNORECASE)
    for kind, before in {
        "must": r"(?:must|have to|has to|need to|needs to|(?:is|are) (?:required|obliged) to"
        r"|müssen|muss|doit|doivent|debe|deben)\s+(?:be\s+|always\s+|\w+ly\s+)?"
        r"|(?:requires?|demands?|verlangt|exige)\s+(?:an?\s+|eine?n?\s+|une?\s+)?",
        "always": r"(?:always|immer|toujours|siempre)\s+",
        "may": r"(?:may|can|might|could|dürfen|darf|können|kann|peut|peuvent|puede|pueden)\s+"
        r"(?:be\s+|also\s+|\w+ly\s+)?",
        "will": r"(?:will|shall|wird|werden)\s+(?:be\s+|then\s+)?"
        r"|(?:due|expected|planned|scheduled|set|supposed|\b(?:aim|hope|intend|plan|want|wish)\w*)\s+to\s+"
        r"(?:be\s+)?",
        "should": r"(?:recommend|advis|suggest|empf[eo]hl|empfiehl|recommand|conseill|recomiend)\w*"
        r"\s+(?:that\s+|to\s+|an?\s+|zu\s+|eine?n?\s+|de\s+|une?\s+)*",
        "is": r"(?:is|are|ist|sind|est|sont|está|están)\s+(?:\w+ly\s+)?",
        "might": r"(?:may|might|could)\s+(?:be\s+)(?:\w+ly\s+)?",
        "free": r"(?:needs? not|needn['’]t|(?:do|does)(?: not|n['’]t) (?:have|need) to"
        r"|(?:muss|müssen|brauch\w*) nicht|no (?:tiene|tienen|hay) que)\s+(?:be\s+)?",
        "only": r"(?:only|nur|seulement|uniquement|sólo|solo)\s+",
        "done": r"(?:was|were|has|have|had|wurden?|hat|haben)\s+"
        r"(?:been\s+|already\s+|bereits\s+)*",
    }.items()
}
_VERBS["past"] = re.compile(  # a verb that has an object or a circumstance behind it
    r"(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bthe )(?<!\ban )(?<!\ba )\b(\w+ed)"
    r"(?=\s+(?:the|an?|its?|in|on|at|by|from|to|for|last)\b|[\s.!]*$)"
)
# A claim says the first of a verb of which its sentence says the second, and none of the third.
# Last: in how many of the two, the claim first, no word may limit it (_ONLY).
_MODALS = (
    ("done", ("will",), ("done",), 0),
    ("past", ("will",), ("past",), 0),
    ("is", ("might",), ("is",), 0),
    ("free", ("must", "only"), ("free",), 0),
    ("always", ("may",), ("must", "always"), 1),
    ("must", ("may", "should"), ("must", "always"), 2),
)
_ONLY = re.compile(r"\b(?:only|not|nur|nicht|seulement|que|pas|no|solo|sólo)\b", re.IGNORECASE)
_PERHAPS = re.compile(
    r"\b(?:(?-i:may)|might|could|can|possibl[ey]|perhaps|likely|maybe|would|should|allowed|permitted"
    r"|(?:expect|suggest|estimat)\w*|voraussichtlich|vermutlich|wahrscheinlich|vielleicht"
    r"|möglicherweise|könnten?|dürften?|probable\w*|peut-être|pourrai\w*|devrai\w*|quizás?)\b",
    re.IGNORECASE,
)
_SURE = re.compile(
    r"\b(?:prove[nsd]?|confirm(?:s|ed)?|guarantee[sd]?|certain(?:ly)?|definite(?:ly)?|surely|undoubtedly"
    r"|in any case|sicher|bestimmt|garantiert|bewies\w*|beweis\w*|bestätigt\w*|auf jeden fall"
    r"|certainement|sûrement|prouv\w*|confirm\w*|garanti\w*)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;]\s+(?:(?:and|while|whereas|but|und|während|et|tandis que|y|mientras que)\s+)?"
    r"|(?<!\s)\s+(?:and|but|while|whereas|und|aber|während|et|mais|tandis que|y|pero|mientras)\s+",
    re.IGNORECASE,
)
_CONDITION = re.compile(  # a clause that begins with it says when the other one holds
    r"\s*(?:if|unless|provided|wenn|falls|sofern|solange|vorausgesetzt|si|sauf si|à condition"
    r"|à moins|siempre que|salvo que|a menos que)\b",
    re.IGNORECASE,
)
_ONE_OF = re.compile(
    r"(?i)\b(?:(?:one|two|three|some|many|several) of|among|eine[rsm]? der|zu den|unter den"
    r"|une? des|parmi les|un[oa] de l[oa]s)\s((?:the\s)?(?:\w+\s){0,2}\w+)"
)
_SUPERLATIVE = re.compile(
    r"(?i)(?:^|\b(?:the|der|die|das|den|dem)\s)(?:most\s)?(\w{2,}e?st(?:en?|e[rs])?)\b"
)
_MOST_OF = 6  # letters that forms of a superlative have in common
_COMPARES = re.compile(r"(?i)\bthan\b|\w\wer als\b|\b(?:plus|moins|más|menos) \w+ que\b")
_WORD = re.compile(r"\w+")
_TO_VERB = re.compile(r"(?i)^.*\b(?:is|are|was|were|be|been|est|sont|été|ist|sind|wurden?)\b")
_MOST = 0.75  # of the words of what is said of another thing
_STEM = 4  # letters, which forms of one word have in common
_LEFT_OUT = PRONOUNS | {*words("only nur seulement solo also auch aussi")}
_AND = ("and", "und", "et", "y")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)(?<!\w)[A-ZÄÖÜÉ][\w'’]+")


_RANK = {
    word: rank
    for rank, line in enumerate(_QUANTIFIERS.strip().splitlines())
    for word in words(line)
}
_DATES = {
    word: (kind, at)
    for kind, line in enumerate([YEAR, *_CALENDAR.strip().splitlines()])
    for at, names in enumerate(line.split(";"))
    for word in words(names)
}


def is_exchanged(claim: str, sentence: str) -> bool:
    """Whether a claim differs from a sentence in what both say of the same."""
    return (
        _counts_otherwise(claim, sentence)
        or _dates_otherwise(claim, sentence)
        or _says_otherwise(claim, sentence)
        or _is_first_of_many(claim, sentence)
        or _ranks_otherwise(_ordinals(claim), _ordinals(sentence), operator.eq)
        or _mixes_parallels(claim, sentence)
        or _takes_predicate(claim, sentence)
    )


def widens(claim: str, sentence: str, question: str) -> bool:
    """Whether a claim says of all of a kind what a sentence says of some: "all employees" for those
    in an office, and "Patients take half", in its other words, for those with a weak liver."""
    mine = _tokens(claim)
    counted = {noun for _, nouns in _quantified(sentence) for noun in nouns}
    things = [
        (nouns[0], True)
        for rank, nouns in _quantified(without_particle(claim))
        if rank == _ALL and nouns and not is_among(nouns[0], counted)
    ]
    first = mine[:1]
    if first == words(claim)[:1] == words(sentence)[:1]:
        things += ((word, False) for word in first if word.endswith(("s", "n")))
    for thing, is_all in things:
        at = [m for m in _WORD.finditer(sentence) if same_word(thing, m[0].lower())]
        behind = _OF.match(sentence, at[0].end()) if len(at) == 1 else None
        kind = words(behind[1]) if behind else []
        if is_all and len(at) == 1:
            kind += words(sentence[: at[0].start()])[-1:]
        is_bound = behind is not None and words(behind[0])[0] in _BOUNDS
        kind = [
            w
            for w in kind
            if not (is_function_word(w) or (is_number(w) and not is_bound) or _has(mine, w))
        ]
        rest = [word for word in _tokens(sentence) if word not in kind]
        same = sum(_has(mine, word) for word in rest)
        is_copy = len(mine) > 1 and _has_all(rest, mine) and same >= len(rest) * _MOST
        if kind and (is_all or (is_copy and not _has(words(question), kind[0]))):
            return True
    return False


def _counts_otherwise(claim: str, sentence: str) -> bool:
    """All for some, no for most, one for three: of the same noun."""
    mine, there = _quantified(without_particle(claim)), _quantified(sentence)
    one = _ONE.search(claim)
    return _ranks_otherwise(mine, there, _follows) or bool(
        one
        and any(same_word(one[1].lower(), of) for _, _, of in counted_figures(sentence))
        and not any(is_among(one[1].lower(), words(of)) for of in _SINGLE.findall(sentence))
    )


def _ranks_otherwise(
    mine: Iterable[_Ranked], there: Iterable[_Ranked], follows: Callable[[int, int], bool]
) -> bool:
    """Whether a noun has a rank that follows from none which it has there, where it has one."""
    known = [*there]
    for rank, nouns in mine:
        ranks = [of for of, others in known if any(is_among(noun, others) for noun in nouns)]
        if ranks and not any(follows(rank, of) for of in ranks):
            return True
    return False


def _follows(rank: int, of: int) -> bool:
    """Whether what is said of so many follows from what is said of others."""
    if _NONE in (rank, of):
        return rank == of
    if _FEW in (rank, of):
        return rank == of or (rank == _SOME and of == _FEW)
    return rank == of if of == _ALL else rank >= of


def _quantified(text: str) -> Iterator[_Ranked]:
    found = words(text)
    for at, word in enumerate(found):
        rank = _RANK.get(word)
        before = found[at - 1] if at else ""
        is_pair = word == "both" and "and" in found[at:]
        if rank is None or is_pair or before in ("the", "at", "am"):
            continue  # the most common
        behind = [w for w in found[at + 1 : at + 2 + 2 * _NOUN] if not is_function_word(w)][:_NOUN]
        if rank == _NONE and behind and behind[0].endswith(("er", "less", "more")):
            continue  # no later than
        if before in _NOT:
            rank = _SOME if rank < _SOME else rank
        yield rank, behind


def _dates_otherwise(claim: str, sentence: str) -> bool:
    """A month, a weekday, a season or a time of day that is not there, where another is."""
    mine, there = _dates(_BUT.sub("", claim)), _dates(sentence)
    if not _within(claim):
        there |= _within(sentence)
    return any(
        date not in there and any(kind == date[0] for kind, _ in there - mine) for date in mine
    )


@lru_cache(1024)
def _dates(text: str) -> frozenset[tuple[int, int]]:
    found, text = set(), _named(text)
    for word in words(text):
        written = _AMBIGUOUS.get(word)
        if word in _DATES and (written is None or (written and re.search(rf"\b{written}\b", text))):
            found.add(_DATES[word])
    return frozenset(found)


def _named(text: str) -> str:
    """A text with the months of its dates in figures by their names: 2025-02-11."""
    return _ISO.sub(lambda match: f"{match[0]} {calendar.month_name[int(match[1])]}", text)


def _within(text: str) -> set[tuple[int, int]]:
    """The days and months that lie within the spans of a text."""
    spans = [(_dates(first), _dates(last)) for first, last in _SPAN.findall(text)]
    return {(kind, n) for one, other in spans for kind, begin in one for of, stop in other
            if kind == of for n in range(begin, stop)}  # fmt: skip


def _says_otherwise(claim: str, sentence: str) -> bool:
    """Must for may, was for will, is for may be, need not for only, of the same verb; certainly."""
    is_rough = bool(_PERHAPS.search(claim))
    if _SURE.search(claim) and not _SURE.search(sentence) and _PERHAPS.search(sentence):
        return not is_rough
    for stated, told, same, limited in _MODALS:
        if any(_ONLY.search(text) for text in (claim, sentence)[:limited]) or (
            is_rough if stated in ("is", "past") else stated == "free" and is_negated(sentence)
        ):
            continue
        others, own = _verbs(sentence, *told), _verbs(sentence, *same)
        verbs = _verbs(claim, stated)
        if any(is_among(verb, others) and not is_among(verb, own) for verb in verbs):
            return True
    return False


def _verbs(text: str, *kinds: str) -> list[str]:
    return words(" ".join(verb for kind in kinds for verb in _VERBS[kind].findall(text)))


def _is_first_of_many(claim: str, sentence: str) -> bool:
    """Whether a claim says "the oldest" of what a sentence says to be one of the oldest."""
    if _ONE_OF.search(claim):
        return False
    many = {
        most[:_MOST_OF]
        for found in _ONE_OF.findall(sentence)
        for most in _SUPERLATIVE.findall(found)
    }
    own, there = (
        {most[:_MOST_OF] for most in _SUPERLATIVE.findall(text)}
        for text in (claim, _ONE_OF.sub(" ", sentence))
    )
    return bool(own & many - there)


def _ordinals(text: str) -> Iterator[_Ranked]:
    """What is the first, the fourth and so on."""
    for word, noun in pairwise(words(text)):
        if word in ORDINALS and not is_function_word(noun):
            yield ORDINALS[word], [noun]


def _mixes_parallels(claim: str, sentence: str) -> bool:
    """Whether a clause has what belongs to one of two parallel things in a sentence, and what
    belongs to the other: "the front motors spin clockwise" where the rear ones do."""
    claim, sentence = in_digits(claim), in_digits(sentence)
    parts = [part for part in _CLAUSE.split(sentence) if part.strip()]
    tokens = [_tokens(part) for part in parts]
    pairs = [
        _slots(one, other, sentence)
        for one, other in pairwise(parts)
        if bool(_CONDITION.match(one)) == bool(_CONDITION.match(other))
    ]
    wholes = [_slots(one, other, sentence) for one, other in pairwise(sentence.split("; "))]
    if not is_negated(claim) and any(_is_mixed(claim, slots) for slots in wholes):
        return True
    if any(_takes_figure(mine, *pair) for _, mine in _stating(claim) for pair in pairwise(parts)):
        return True
    return _takes_cell(claim, sentence) or any(
        _is_mixed(clause, slots)
        for clause, mine in _stating(claim)
        if not any(_has_all(part, mine) for part in tokens)
        for slots in pairs
    )


def _takes_figure(mine: Sequence[str], one: str, other: str) -> bool:
    """Whether a clause, with its words, has the figures of one of two things that are measured
    alike, and names the other: "Trains run every 15 minutes at night" where that is by day, and at
    night every 30."""
    first, second = _tokens(one), _tokens(other)
    own, figures, others = ([w for w in side if w.isdigit()] for side in (mine, first, second))
    named = [w for w in second if not (w.isdigit() or is_unit(w) or _has(first, w))]
    if not (named and own and figures and others) or own not in (figures, others):
        return False
    stated = [w for w in mine if not w.isdigit()]
    if figures == others or not _has_all([*first, *second], stated) or not _are_alike(one, other):
        return False
    if own == figures:
        return _has_all(stated, named)
    return _has_all(first, stated) and not any(_has(stated, w) for w in named) and len(stated) > 1


def _are_alike(one: str, other: str) -> bool:
    """Whether the numbers of two clauses are of one unit or of units that can be compared."""
    kinds = ({kind for kind, _ in comparable_amounts(part)} for part in (one, other))
    if not set.isdisjoint(*kinds):
        return True
    units, theirs = ([of for _, _, of in counted_figures(part)] for part in (one, other))
    return any(
        (not of and bool(unit)) or same_word(unit, of) for unit in units for of in theirs if unit
    )


def _takes_cell(claim: str, sentence: str) -> bool:
    """Whether a claim names one column of a row ("Name: Ivy Barn; Rent: $640; Deposit: $90") and
    has nothing of its value, and all of that of another."""
    cells = [cell.partition(": ") for cell in sentence.split("; ")]
    if len(cells) < 3 or not all(value for _, _, value in cells):
        return False
    (_, row), *rest = [(_tokens(name), _tokens(value)) for name, _, value in cells]
    mine = [token for token in _tokens(claim) if not _has(row, token)]
    named = [(name, value) for name, value in rest if name and _has_all(mine, name)]
    left = [token for token in mine if not any(_has(name, token) for name, _ in named)]
    return len(named) == 1 and any(
        value and other and value != other and _has_all(left, other)
        and not any(_has(left, token) for token in value)
        for _, value in named for _, other in rest
    )  # fmt: skip


def _has_all(tokens: Sequence[str], some: Sequence[str]) -> bool:
    return all(_has(tokens, token) for token in some)


def _takes_predicate(claim: str, sentence: str) -> bool:
    """Whether a clause says of one of two things what a sentence says of the other: "The HR team
    approves leave" where it records it and managers approve it."""
    parts = [(part, tokens) for part in _CLAUSE.split(sentence) if (tokens := _tokens(part))]
    subjects: dict[str, list[tuple[Sequence[str], Sequence[str]]]] = {}
    has_subject = partial(_has_subject, is_german=not GERMAN.isdisjoint(words(sentence)))
    for (one, mine), (other, theirs) in pairwise(parts):
        if has_subject(one) and has_subject(other):
            subjects.setdefault(mine[0][:_STEM], []).append((mine, theirs))
            subjects.setdefault(theirs[0][:_STEM], []).append((theirs, mine))
    return any(
        _is_of_other(tokens, own, other)
        for clause, tokens in (_stating(claim) if subjects else ())
        if tokens and has_subject(clause)
        for own, other in subjects.get(tokens[0][:_STEM], ())
    )


def _stating(claim: str) -> Iterator[tuple[str, Sequence[str]]]:
    """The clauses that neither deny nor compare, with their words."""
    for clause in _CLAUSE.split(claim):
        if not (is_negated(clause) or _COMPARES.search(clause)):
            yield clause, _tokens(clause)


def _is_of_other(clause: Sequence[str], own: Sequence[str], other: Sequence[str]) -> bool:
    size = common_start(clause, own, same_word)
    stated, unsaid = clause[size:], own[size:]
    if not size or len(stated) < 2 or not unsaid or any(_has(clause, word) for word in unsaid):
        return False
    if _has(other, clause[0]) or _has(clause, other[0]):
        return False  # both are of it
    return sum(_has(other, word) for word in stated) >= len(stated) * _MOST and sum(
        _has(own, word) for word in stated
    ) <= len(stated) * (1 - _MOST)


def _has_subject(clause: str, *, is_german: bool) -> bool:
    """Whether a clause begins with what it speaks of: neither with a verb nor with a pronoun. In
    German a word in small letters that says something is no subject."""
    first = (clause.split() or [""])[0]
    if is_german and first.islower() and not is_function_word(first):
        return False
    first = first.lower()
    return first not in AUXILIARIES and PRONOUNS.isdisjoint(words(first))


def _is_mixed(clause: str, slots: Sequence[tuple[str, str]]) -> bool:
    mine = _tokens(clause)
    sides = ((_has(mine, one), _has(mine, other)) for one, other in slots)
    return len({first for first, second in sides if first != second}) == 2


def _slots(one: str, other: str, sentence: str) -> list[tuple[str, str]]:
    """Return what stands in the same place of two parallel clauses: their numbers and
    names in order, where they begin, and each word where both are built alike."""
    first, second = _tokens(one), _tokens(other)
    numbers = ([token for token in side if token.isdigit()] for side in (first, second))
    pairs = [*zip(*numbers, strict=False)]
    pairs += zip(_names(one), _names(other), strict=False)
    mine = [w for w in first if not _has(second, w)]
    others = [w for w in second if not _has(first, w)]
    pairs += _aligned(one, other)
    shared, same = [w in mine for w in first], [w in others for w in second]
    if shared == same and not all(shared):
        pairs += zip(mine, others, strict=True)
    elif pairs and mine and others and not _goes_on(other, sentence):
        pairs.append((mine[0], others[0]))
    elif len(mine) > 1 and len(others) > 1:  # is cleaned daily and replaced yearly
        done = _tokens(_TO_VERB.sub("", one))
        if done and done != first and done[0][-2:] == others[0][-2:]:
            pairs += [(done[0], others[0]), (mine[-1], others[-1]), (mine[-1], others[0])]
    return [(a, b) for a, b in dict.fromkeys(pairs) if not _has(second, a) and not _has(first, b)]


def _aligned(one: str, other: str) -> list[tuple[str, str]]:
    """What stands in the same places of the end of a clause and of another, whose other words are
    the same: optional for members, required for administrators."""
    theirs = words(other)
    while theirs and is_function_word(theirs[-1]):  # leiht … aus
        theirs.pop()
    mine = words(one)[-len(theirs) :]
    pairs = [*zip(mine, theirs, strict=False)]
    told = [(a, b) for a, b in pairs if not (is_function_word(a) and a == b)]
    is_alike = len(mine) == len(theirs) and not any(
        (is_function_word(w) or w in _LEFT_OUT) and not any(map(str.isdigit, pair))
        for pair in told
        for w in pair
    )
    return told if is_alike and 1 < len(told) < len(pairs) else []


def _goes_on(clause: str, sentence: str) -> bool:
    """Whether an "and" stands before a clause, so that it has the subject of the one before."""
    return sentence[: sentence.find(clause)].lower().split()[-1:] in ([word] for word in _AND)


def _tokens(text: str) -> list[str]:
    return [
        token
        for word in words(text)
        if (token := in_figures(word)).isdigit()
        or not (is_function_word(word) or word in _LEFT_OUT)
    ]


def _names(text: str) -> list[str]:
    return [word for match in _NAME.finditer(text) for word in words(match[0])[:1]]


def _has(tokens: Sequence[str], token: str) -> bool:
    return any(is_same(token, other) for other in tokens)
