"""What of a statement no source can have meant, whatever else they say of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise, takewhile

from rag_pg.answer.attribution.aligned import Unlike, is_altered
from rag_pg.answer.attribution.crossed import crosses
from rag_pg.answer.attribution.excepted import is_excepted
from rag_pg.answer.attribution.exchanged import is_exchanged, widens
from rag_pg.answer.attribution.near_copy import (
    adds_only,
    adds_part,
    leaves_out_condition,
    lifts_only,
)
from rag_pg.answer.reading.comparisons import is_reckoned_wrongly
from rag_pg.answer.reading.figures import counted_figures, figures_of, is_number
from rag_pg.answer.reading.measures import foreign_measures, is_measured_otherwise, is_unit
from rag_pg.answer.reading.negation import CLAUSE, contradicts, is_negated
from rag_pg.answer.reading.order import (
    is_done_by_another,
    is_done_to,
    misorders,
    swaps,
    turns_cause,
)
from rag_pg.answer.reading.passage import read_source
from rag_pg.answer.reading.rows import is_not_the_most, is_of_another_row
from rag_pg.answer.reading.strange import is_known, says_how
from rag_pg.answer.reading.talk import is_of_speech
from rag_pg.text import (
    LONGEST,
    content_words,
    has_word,
    is_among,
    is_function_word,
    same_word,
    split_sentences,
    words,
)

_TOKEN = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_START = re.compile(r"(?:^|[.!?:;|•\n\"“„«(*]\s*|\s[-–—]\s*)[\"“„«(*_]*$")
_NOUNS = 0.15  # of a text's words with a capital letter inside sentences: all nouns have it there
_TITLE = re.compile(r"\b(?:Herrn?|Frau|Familie|Dr\.|Prof\.)\s+$")
_GERMAN = frozenset(words("der die das und ist nicht ein eine den dem im zu von mit für auf des"))
_BEFORE = 12  # characters before a word, in which what makes it a name or none stands
_EQUAL = 0.1  # of a statement's words, by which sentences are equally near
_HALF = 0.5  # of the words of a claim that the nearest source has
_LEAST = 3  # content words of a statement that is told to be about something else by words alone
_COPY = 0.9  # of a clause's words without its figures, that a sentence says it by
_FEW = 1 / 3  # of the words of a statement that cites nothing, which its sources have
_LONGEST = 8  # letters of initials
_INITIALS = r"\w+(?:\s+[a-z]{1,3})?[\s-]+"  # of United States, US
_YEAR = re.compile(r"1\d{3}|20\d\d")
_MEMBER = 60  # characters of a member of a list that is no sentence
_PAIR = re.compile(r"[^:;.]{1,40}: [^:;]{1,60}(?::\d\d[^:;]{0,20})?(?<![.!?])")
_NO = re.compile(r"\W*(?:\w+:\s+)?(?:no|nein|non)\b\s*[,.;!–—]", re.IGNORECASE)  # Ben: No, …
_BACK = re.compile(  # what means a sentence before
    r"\b(?:this|that|these|those|its|their|they|them|ones?|dies\w*|deren|dessen|davon|dabei|dadurch"
    r"|ces?|cette|cela|leurs?|est[aeo]s?|eso)\b",
    re.IGNORECASE,
)


def find_veto(
    claim: str,
    sources: Sequence[str],
    question: str,
    known: Collection[str],
    results: Sequence[str] = (),
    unlike: Unlike | None = None,
) -> str:
    """Return why no source says a claim; "" where that cannot be told.

    It has a figure or a name that none of them has, or the sentences that are nearest to it say the
    opposite. What a question brings up may be denied.

    Args:
        known: words of the question and of all that the model was shown. results: of tools.
        unlike: see `is_altered`.
    """
    claim = " ".join(claim.split())
    if (
        len(claim) > 2 * LONGEST
    ):  # in parts: the time of comparing grows faster than what is compared
        parts = (part.text for part in split_sentences(claim))
        found = (find_veto(part, sources, question, known, results, unlike) for part in parts)
        return next(filter(None, found), "")
    asked = [question] if is_negated(claim) else []
    if figures := foreign_measures(
        claim, "\n\n".join(_about(claim, sources)), "\n\n".join([*results, *asked])
    ):
        return f"no such figure there: {', '.join(figures[:5])}"
    if names := foreign_names(claim, "\n\n".join(_about(claim, sources)), known):
        return f"no such name there: {', '.join(names[:5])}"
    if not results and adds_part(claim, _about(claim, sources), question):
        return "a part of it is not there"
    near = [(" ".join(one.split()), before) for one, before in _nearest(claim, sources)]
    denied = set() if is_negated(claim) else _denied_questions(sources)
    if near and all(
        contradicts(claim, sentence, before) or sentence in denied for sentence, before in near
    ):
        return "the source says the opposite"
    if any(is_excepted(claim, [text for text, _ in _told(one)]) for one in sources):
        return "the source says the opposite"
    is_else = bool(near) and all(
        (not results and is_measured_otherwise(claim, sentence))
        or is_exchanged(claim, sentence)
        or swaps(claim, sentence)
        or misorders(claim, sentence)
        or turns_cause(claim, sentence)
        or is_done_to(claim, sentence)
        or is_done_by_another(claim, sentence)
        or crosses(claim, sentence, before)
        or leaves_out_condition(claim, sentence, before, question)
        or widens(claim, sentence, question)
        or lifts_only(claim, sentence)
        or adds_only(claim, sentence)
        for sentence, before in near
    )
    if not is_else:
        copied = _nearest(claim, sources, alone=True)
        told = (is_altered(claim, *one, known, question, unlike) for one in copied)
        altered = [*takewhile(lambda one: one is not False, told)]
        is_else = len(altered) == len(copied) and True in altered
    if not results:
        is_else = is_else or any(
            is_of_another_row(claim, one) or is_not_the_most(claim, one)
            for one in _about(claim, sources)
        )
        is_else = is_else or is_reckoned_wrongly(claim, _about(claim, sources))
        is_else = is_else or any(_has_figure_of_another(c, sources) for c in CLAUSE.split(claim))
    return "the source says it of something else" if is_else else ""


def is_about_else(
    claim: str, sources: Sequence[str], known: Collection[str], *, is_cited: bool = True
) -> bool:
    """Whether a claim in the language of its sources has none of their words; or few, and neither a
    citation nor a word that means the sentence before."""
    stated = [word for word in content_words(claim) if not is_function_word(word)]
    if is_cited or _BACK.search(claim):
        is_else = not any(is_among(word, known) for word in stated)
    else:
        stated = [word for word in stated if is_among(word, known) or not is_of_speech(word)]
        shared = (
            sum(is_known(word, own) or says_how(word) or is_negated(word) for word in stated)
            for own in map(words, sources)
        )
        is_else = max(shared, default=0) < len(stated) * _FEW
    if len(stated) < _LEAST or not is_else:
        return False
    particles = {word for word in words(claim) if is_function_word(word)}
    same = (particles & set(words(source)) for source in sources)
    return max(map(len, same), default=0) * 2 >= max(2, len(particles))


def foreign_names(claim: str, nearest: str, known: Collection[str]) -> list[str]:
    """The names in a claim that nothing has: in capital letters, or with one within a sentence
    where not every noun has it."""
    are_nouns = (
        max(_share_of_capitals(claim) / 2, _share_of_capitals(nearest)) > _NOUNS
        and len(_GERMAN.intersection(words(f"{claim} {nearest}"))) > 1
    )
    first = "".join(word[0] for word in words(claim))
    found: list[str] = []
    for match in _TOKEN.finditer(claim):
        token = match[0]
        inside = not _stands_before(_START, claim, match.start())
        is_person = _stands_before(_TITLE, claim, match.start())
        is_name = any(sum(c.isupper() for c in part) > 1 for part in token.split("-")) or (
            token[0].isupper() and inside and (is_person or not are_nouns)
        )
        parts = words(token)
        is_name = is_name and not is_unit(token.casefold())
        is_name = is_name and token.casefold() not in first  # point-in-time recovery (PITR)
        bare = token.removesuffix("'s").removesuffix("’s")
        is_short = bare.isupper() and (
            any(word.startswith(bare.casefold()) for word in known)
            or (
                bare.isalpha()
                and len(bare) < _LONGEST
                and bool(re.search(rf"\b{_INITIALS.join(bare)}", nearest))
            )
        )
        if is_name and parts and not is_short and not any(is_among(part, known) for part in parts):
            found.append(token)
    return found


def _share_of_capitals(text: str) -> float:
    """The share of words with a capital letter among those inside sentences."""
    inside = [m[0] for m in _TOKEN.finditer(text) if not _stands_before(_START, text, m.start())]
    return sum(token[0].isupper() for token in inside) / len(inside) if inside else 0.0


def _stands_before(pattern: re.Pattern[str], text: str, at: int) -> bool:
    return pattern.search(text, max(0, at - _BEFORE), at) is not None


def _about(claim: str, sources: Sequence[str]) -> list[str]:
    """The sources that have enough of a claim's words for its figures to come from them."""
    stated = [w for w in content_words(claim) if not is_function_word(w) and not is_number(w)]
    shares = [sum(has_word(source, word) for word in stated) for source in sources]
    least = max(shares, default=0) * _HALF
    return [source for source, share in zip(sources, shares, strict=True) if share >= least]


def _nearest(claim: str, sources: Sequence[str], *, alone: bool = False) -> list[tuple[str, str]]:
    """The sentences that have most of a claim's words, with the one before each.

    alone: without what stands above and before them."""
    stated = [word for word in content_words(claim) if not is_function_word(word)]
    found: list[tuple[float, str, str]] = []
    for source in sources:
        before = ""
        for text, heading in _told(source):
            missing = [word for word in stated if not has_word(text, word)]
            own = len(stated) - len(missing)
            more = 0 if alone else sum(has_word(f"{heading} {before}", w) for w in missing)
            found.append(((own + more / 2) / max(1, len(stated)), text, before))
            before = text
    most = max((share for share, _, _ in found), default=0.0)
    return [(one, before) for share, one, before in found if share and share >= most - _EQUAL]


def _told(source: str) -> Iterator[tuple[str, str]]:
    """The sentences of a source with the headings above them; short members of a list with what
    leads to it as one, and lines of names and values ("Rent: 640 euros") as a row."""
    read = read_source(source)
    joined: list[str] = []
    stop, is_record = 0, False
    for sentence, text, heading in zip(read.sentences, read.told, read.headings, strict=True):
        is_member = sentence.kind == "item" and len(text) < _MEMBER and text[-1] not in ".!?:"
        is_pair = sentence.kind == "prose" and bool(_PAIR.fullmatch(text))
        goes_on = is_pair and source[stop : sentence.start] == "\n" if is_record else is_member
        if joined and (not goes_on or sum(map(len, joined)) > LONGEST):
            yield from _one(joined, heading)
            joined = []
        if joined:
            joined.append(text)
        elif sentence.kind == "prose" and (is_pair or text.endswith(":")):
            joined, is_record = [text], is_pair
        stop = sentence.stop
        yield text, heading
    yield from _one(joined, "")


def _one(joined: Sequence[str], heading: str) -> Iterator[tuple[str, str]]:
    if len(joined) > 1:
        first, *rest = joined
        yield f"{first[:-1]} {', '.join(rest)}" if first[-1] == ":" else "; ".join(joined), heading


def _has_figure_of_another(clause: str, sources: Sequence[str]) -> bool:
    """Whether all that says most of a clause has other figures of its units, and not its own."""
    told = {figure for source in sources for figure in figures_of(source)}
    counted = [one for one in _counted(clause) if one[2] and one[1] in told]
    plain = clause
    for written, _, _ in counted:
        plain = plain.replace(written, " ", 1)
    stated = [word for word in content_words(plain) if not is_function_word(word)]
    if not counted or len(stated) < _LEAST:
        return False
    near = [
        part
        for sentence, _ in _nearest(plain, sources)
        if _says(sentence, stated)
        for part in _narrowed(sentence, clause, stated, counted)
    ]
    return bool(near) and any(
        all(
            value not in figures_of(sentence)
            and any(of and same_word(unit, of) for _, _, of in _counted(sentence))
            for sentence in near
        )
        for _, value, unit in counted
    )


def _counted(text: str) -> Sequence[tuple[str, Decimal, str]]:
    """The figures of a text with their units, of a year that word."""
    return [
        (written, value, "year" if not unit and _YEAR.fullmatch(written) else unit)
        for written, value, unit in counted_figures(text)
    ]


def _denied_questions(sources: Sequence[str]) -> set[str]:
    """What sources ask and answer with no."""
    return {
        " ".join(asked.text.split())
        for source in sources
        for asked, told in pairwise(read_source(source).sentences)
        if asked.text.endswith("?") and _NO.match(told.text)
    }


def _says(text: str, stated: Sequence[str]) -> bool:
    return sum(has_word(text, word) for word in stated) >= len(stated) * _COPY


def _narrowed(
    sentence: str, clause: str, stated: Sequence[str], counted: Sequence[tuple[str, Decimal, str]]
) -> Sequence[str]:
    """The parts of a sentence that say what a clause says, where all parts with the figures that
    they lack speak of something else too; else the sentence."""
    parts = CLAUSE.split(sentence)
    saying = [part for part in parts if _says(part, stated)]
    lacking = {value for _, value, _ in counted} - {v for part in saying for v in figures_of(part)}
    own = words(clause)
    others = [
        any(not (is_function_word(w) or is_number(w) or is_among(w, own)) for w in words(part))
        for part in parts
        if not lacking.isdisjoint(figures_of(part))
    ]
    return saying if saying and all(others) else [sentence]
