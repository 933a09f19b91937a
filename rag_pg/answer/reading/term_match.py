"""What speaks for a passage: the words and the meaning of its sentences and headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rag_pg.answer.reading.figures import MONTH, MONTHS
from rag_pg.answer.reading.head import find_names
from rag_pg.answer.reading.question_kind import says_kind
from rag_pg.answer.reading.strange import ordinary_words
from rag_pg.deadline import half_of_the_time
from rag_pg.errors import ModelUnavailable, ProviderError
from rag_pg.protocols import Embedder
from rag_pg.providers import embed_documents, embed_query
from rag_pg.text import content_words, is_among, is_function_word, same_word, told_words, words
from rag_pg.types import CosineSpread, TermMatch, Vectors

Numbers = NDArray[np.float64]
MatchTerms = Callable[[str, Sequence[str]], Sequence[TermMatch]]

BY_WORDS = "sentences were compared by their words alone"
LENGTH = 300  # characters of a sentence that are embedded
UNKNOWN_LANGUAGE = 0.25  # a question is so much nearer to any text in its language than to others
# Where the scale of a measured space begins, and how long it is, in spreads of its cosines.
BEGINS = 0.5  # from the middle between their mean and text about something else
RANGE = 6.0
SPREADS = 1.0  # above the mean, from which on words have something in common
MOST = 32  # words of a question whose meaning is weighed
SHORTEST_MENDED = 5  # letters of a word that may be a typing error
LEAST_PART = 5  # letters of a part of a compound
LONGEST = 1000  # characters of a question whose abbreviations are written out

_NUMBERED = re.compile(r"\b[A-Z]{2,}s?\b")
_DAY = re.compile(  # 9 December 2026, December 9
    rf"(?<![\d.])(?:(\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:de\s+)?({MONTH})"
    rf"|({MONTH})\s+(\d{{1,2}})(?:st|nd|rd|th)?)\b(?:,?\s+(?:de\s+)?(\d{{4}})\b)?",
    re.IGNORECASE,
)
_CAPITALS = re.compile(r"\b[A-Z]{2,6}\b")
_BETWEEN = r"\s+(?:[a-zà-ÿ]{1,3}\s+){0,2}"  # words of a name: of, and, the
_WRITTEN_OUT = re.compile(rf"\b[A-Z][^\W\d_]+(?:{_BETWEEN}[A-Z][^\W\d_]+){{1,5}}")

# A pair of characters that no text has is no unknown word: it may straddle two words.
_CHANCE = re.compile(
    ".|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+",
    re.DOTALL,
)

# Text about nothing that is asked, two sentences a language: the similarity a question has to such
# text is where an embedder's scale begins, which differs between models and between languages.
BACKGROUND = (
    (
        "The train to the coast leaves at half past nine.",
        "She painted the kitchen door pale green.",
    ),
    ("Der Zug an die Küste fährt um halb zehn ab.", "Sie hat die Küchentür hellgrün gestrichen."),
    ("El tren a la costa sale a las nueve y media.", "Ella pintó la puerta de verde claro."),
    ("Le train pour la côte part à neuf heures et demie.", "Elle a peint la porte en vert pâle."),
    ("Поезд на побережье отправляется в половине десятого.", "Она покрасила дверь в зелёный цвет."),
    ("开往海边的火车九点半出发。", "她把厨房的门漆成了浅绿色。"),
    ("海岸行きの列車は九時半に出発します。", "彼女は台所のドアを薄い緑色に塗った。"),
    ("يغادر القطار إلى الساحل في التاسعة والنصف.", "طلت باب المطبخ بلون أخضر فاتح."),
    ("तट की ओर जाने वाली ट्रेन साढ़े नौ बजे छूटती है।", "उसने दरवाज़ा हल्के हरे रंग से रंगा।"),
)
_seen: dict[str, Vectors] = {}  # by the embedder's fingerprint
SAME = (("begin", "start"), ("doctor", "physician"), ("movie", "film"), ("error", "mistake"))
_knowing: dict[str, bool] = {}
_ordinary: dict[str, Vectors] = {}


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """The words of a question in some texts. `has`: a row for each text, a column for each term;
    `weights`: of the terms, rare ones weigh more, together 1; `df`: chunks of the collection that
    have each; words: of which they are the terms; question: the words as they are meant."""

    has: NDArray[np.bool_]
    weights: Numbers
    df: Sequence[int]
    words: Sequence[str]
    question: str

    @property
    def unknown(self) -> float:
        """The share of the question's words, 0 to 1, that no chunk of the collection has."""
        return float(self.weights[np.array(self.df) == 0].sum())

    @property
    def different(self) -> Mapping[str, float]:
        """The different words of the question, with what their terms weigh."""
        found: dict[str, float] = {}
        for word, weight in zip(self.words, self.weights, strict=True):
            found[word] = found.get(word, 0.0) + float(weight)
        return found

    def is_known(self, word: str) -> bool:
        """Whether documents of the collection have a word, with all of its parts."""
        return all(df for other, df in zip(self.words, self.df, strict=True) if other == word)

    @property
    def left(self) -> list[str]:
        """What is left of the question without each of its different words; nothing where the
        collection has them all, or there are more than MOST."""
        if len(self.different) > MOST or all(self.is_known(word) for word in self.different):
            return []
        parts = self.question.split()
        return [
            " ".join(part for part in parts if not is_in(word, part)) or "?"
            for word in self.different
        ]

    def have(self, word: str, texts: Sequence[int]) -> bool:
        """Whether texts together have all parts of a word."""
        columns = [n for n, other in enumerate(self.words) if other == word]
        return bool(self.has[np.ix_(list(texts), columns)].any(axis=0).all())

    def coverage(self, *texts: int) -> float:
        """The share of the question's words, 0 to 1, in these texts together."""
        return float(self.has[list(texts)].any(axis=0) @ self.weights) if texts else 0.0


def find_words(question: str, texts: Sequence[str], match_terms: MatchTerms | None) -> Words:
    """Return which words of the question each text has, and how rare they are.

    A word weighs as in BM25: ln(1 + (N - df + 0.5) / (df + 0.5)) over all chunks of the collection,
    so one that the collection does not have weighs most. Such a word is taken for a word of the
    texts that is one slip away; it does not count where it says what kind of answer is wanted.

    Args:
        match_terms: rag.match_terms of the collection; None: words are compared here, and counted
    in `texts`."""
    match = match_terms or match_here
    terms = list(match(question, texts))
    mended = _mend(question, terms, texts)
    if mended != question:
        terms = list(match(mended, texts))
    meant = [t for t in terms if t.df or t.term.isdigit() or not _CHANCE.fullmatch(t.term)]
    meant = [t for t in meant if not is_function_word(t.word)] or terms
    meant = [t for t in meant if t.df or not says_kind(t.word)] or meant
    has = np.zeros((len(texts), len(meant)), dtype=np.bool_)
    for column, term in enumerate(meant):
        has[[number - 1 for number in term.found_in], column] = True
    df = [term.df for term in meant]
    total = max((term.chunk_count for term in meant), default=0)
    weights = np.log(1 + (np.maximum(total - np.array(df), 0) + 0.5) / (np.array(df) + 0.5))
    weights /= max(weights.sum(), 1e-9)
    return Words(has=has, weights=weights, df=df, words=[t.word for t in meant], question=mended)


def is_in(word: str, part: str) -> bool:
    """Whether a word is that which stands between two spaces of a question, or a part of it."""
    own = words(word)
    return word == part or (bool(own) and set(own) <= set(words(part)))


def match_here(question: str, texts: Sequence[str]) -> list[TermMatch]:
    """Return which texts have the words of a question, as rag.match_terms does of a collection."""
    found = []
    own = [frozenset(words(text)) for text in texts]
    for word in content_words(question):
        numbers = [number for number, has in enumerate(own, 1) if is_among(word, has)]
        found.append(
            TermMatch(
                word=word, term=word, df=len(numbers), chunk_count=len(texts), found_in=numbers
            )
        )
    return found


def _mend(question: str, terms: Sequence[TermMatch], texts: Sequence[str]) -> str:
    """Return the question with words that the collection does not have as the texts spell them; a
    name has no other forms, but may be abbreviated."""
    unknown = {t.word for t in terms if not says_kind(t.word)} - {t.word for t in terms if t.df}
    question = _spell_out(_date_as_written(question, texts), unknown, texts)
    unknown = {w for word in unknown for w in words(word) if len(w) >= SHORTEST_MENDED}
    if not unknown:
        return question
    names = {part for name in find_names(question) for part in words(name)}
    counts: dict[str, int] = {}
    for text in texts:
        for word in words(text):
            counts[word] = counts.get(word, 0) + 1
    for word in sorted(unknown):
        others = [w for w in counts if w != word]
        near = [w for w in others if w[0] == word[0] and is_one_slip(word, w)]
        near = near or [
            w
            for w in others
            if word not in names and (same_word(word, w) or _are_verb_and_noun(word, w))
        ]
        near = near or _parts_of_compound(word, counts)
        if near:
            meant = max(near, key=lambda other: (counts.get(other, 0), other))
            spelled = (w for text in texts for w in re.findall(r"\w+", text) if words(w) == [meant])
            meant = next(spelled, meant)  # with its accents
            own = [part for part in re.findall(r"\w+", question) if words(part) == [word]]
            for part in {*own}:
                question = re.sub(rf"\b{re.escape(part)}\b", meant, question)
    return question


def _parts_of_compound(word: str, others: Collection[str]) -> list[str]:
    """Return, as one text, the two of some words that a word is made of, with an s between them or
    without (nebenkosten abrechnung of nebenkostenabrechnung); [] for none."""
    for at in range(LEAST_PART, len(word) - LEAST_PART + 1):
        first, last = word[:at], word[at:]
        if last in others and (first in others or first.removesuffix("s") in others):
            return [f"{first} {last}"]
    return []


def _date_as_written(question: str, texts: Sequence[str]) -> str:
    """Return a question with its day of a month as texts write it that have it in figures alone:
    2026-12-09 for 9 December."""
    match = _DAY.search(question[:LONGEST])
    if match is None or any(match[0].casefold() in text.casefold() for text in texts):
        return question
    day, month = int(match[1] or match[4]), MONTHS[(match[2] or match[3]).casefold()]
    year = match[5] if match[5] else r"\d{4}"
    written = re.compile(
        rf"(?<!\d)(?:{year}-{month:02}-{day:02}|0?{day}\.0?{month}\.{year})(?![\d-])"
    )
    found = next(filter(None, map(written.search, texts)), None)
    return question.replace(match[0], found[0]) if found else question


def _spell_out(question: str, unknown: Collection[str], texts: Sequence[str]) -> str:
    """Return a question with its unknown abbreviations as the texts write them out, with a capital
    for each letter (UK: United Kingdom), or in their other number (DVDs), and with the abbreviation
    where texts have it instead."""
    if len(question) > LONGEST:
        return question
    parts = {w for word in unknown for w in words(word)}
    written = {name for text in texts for name in _NUMBERED.findall(text)}
    for name in {*_NUMBERED.findall(question)}:
        other = name.removesuffix("s") if name.endswith("s") else f"{name}s"
        if name.casefold() in parts and other in written:
            question = re.sub(rf"\b{name}\b", other, question)
    for name in {*_CAPITALS.findall(question)}:
        long = re.compile(_BETWEEN.join(rf"\b{letter}[^\W\d_]+" for letter in name))
        if name.casefold() in parts and (
            found := next(filter(None, map(long.search, texts)), None)
        ):
            question = re.sub(rf"\b{name}\b", found[0], question)
    short = {name for text in texts for name in _CAPITALS.findall(text)}
    for name in _WRITTEN_OUT.findall(question):
        own = told_words(name)
        initials = "".join(word[0] for word in own).upper()
        if initials in short and not parts.isdisjoint(own):
            question = question.replace(name, initials)
    return question


def _are_verb_and_noun(one: str, other: str) -> bool:
    """Whether of two words one is a German verb and the other its noun: geprüft, Prüfung."""
    return any(
        SHORTEST_MENDED <= len(stem) + 1 < len(noun)
        and re.fullmatch(rf"(?:ge)?{stem}(?:e?s?t|en?)", verb) is not None
        for noun, verb in ((one, other), (other, one))
        for stem in [noun.removesuffix("ung")]
    )


def is_one_slip(one: str, other: str) -> bool:
    """Whether two words differ by one letter added, dropped or changed, or two neighbours
    swapped."""
    if abs(len(one) - len(other)) > 1 or min(len(one), len(other)) < SHORTEST_MENDED - 1:
        return False
    at = 0
    while at < min(len(one), len(other)) and one[at] == other[at]:
        at += 1
    a, b = one[at:], other[at:]
    swapped = len(a) > 1 and a[:2] == b[1::-1] and a[2:] == b[2:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or swapped


@dataclass(frozen=True, kw_only=True, slots=True)
class Meaning:
    """The meaning of texts and of a question. near: how near each text is, 0: no nearer than text
    about something else, about 1: the same; trusted: whether that can be relied on; notes: what
    failed; is_foreign: the question is in another language than the texts; lost: how far the
    question is from what is left of it; brings: how much nearer the nearest text is to the whole
    question than to that."""

    near: Numbers
    trusted: bool = False
    notes: Sequence[str] = ()
    is_foreign: bool = False
    lost: Numbers
    brings: Numbers


def compare_meaning(
    question: str,
    texts: Sequence[str],
    embedder: Embedder | None,
    spread: CosineSpread | None = None,
    *,
    meant: str = "",
    left: Sequence[str] = (),
) -> Meaning:
    """Return how near each text is in meaning to a question, and what its parts mean to it.

    Not to be relied on: zeros because there is no embedder or its provider fails, and a language in
    which the model finds everything alike, as it does not know it.

    Args:
        spread: of the cosines of the space, on whose scale texts are compared; None: it is not
            measured, and the scale ends at the same text.
        meant: the question as it is meant; left: what is left of it without some of its words.
    """
    nothing = Meaning(
        near=np.zeros(len(texts)), lost=np.zeros(len(left)), brings=np.zeros(len(left))
    )
    if embedder is None:
        return nothing
    try:
        with half_of_the_time():
            query = embed_query(embedder, question)
            shown = [text[:LENGTH] for text in texts]
            parts = [meant or question, *left] if left else []
            vectors = embed_documents(embedder, [*shown, *parts])
            background = _background(embedder)
    except (ProviderError, ModelUnavailable) as exc:
        return replace(nothing, notes=[f"{BY_WORDS}: {exc}"])
    of_texts, of_parts = vectors[: len(texts)], vectors[len(texts) :]
    by_language, of_their = _by_language(background, query), _by_language(background, *of_texts)
    trusted = float(by_language.max() - by_language.min()) < UNKNOWN_LANGUAGE
    further = float(by_language.max() - by_language[of_their.argmax()])
    is_foreign = spread is not None and trusted and further > 0
    is_foreign = is_foreign and _is_unlike(meant or question, texts)
    # What is said in another language is further away by as much as text about something else is.
    further *= is_foreign
    unrelated = float(by_language.max())
    floor = min(unrelated - further, 0.99)
    unit = 1 - floor
    if spread is not None:
        begins = (spread.mean + unrelated) / 2 + BEGINS * spread.spread - further
        floor, unit = max(floor, begins), RANGE * spread.spread
    nearest = (of_texts @ of_parts.T).max(axis=0) if left and texts else np.zeros(len(parts))
    return Meaning(
        near=np.maximum((of_texts @ query - floor) / unit, 0.0).astype(np.float64),
        trusted=trusted,
        is_foreign=is_foreign,
        lost=np.maximum(1 - of_parts[1:] @ of_parts[0], 0.0) if left else nothing.lost,
        brings=nearest[0] - nearest[1:] if left else nothing.brings,
    )


def are_unlike(
    one: str,
    other: str,
    text: str,
    embedder: Callable[[], Embedder | None],
    note: Callable[[str], object] = str,
) -> bool | None:
    """Return whether two words of English that stand in a text ("the {} of") have nothing in
    common: alone and there they are no nearer to each other than any words are, within one spread.

    None: it cannot be told, without an embedder that answers, which is noted, and in a space that
    knows no words.
    """
    try:
        with half_of_the_time():
            opened = embedder()
            if opened is None or not _knows_words(opened):
                return None
            return not any(_are_near(one, other, where, opened) for where in ("{}", text))
    except (ProviderError, ModelUnavailable) as exc:
        note(f"{BY_WORDS}: {exc}")
        return None


def near_words(
    some: Sequence[str],
    others: Sequence[str],
    embedder: Callable[[], Embedder | None],
    note: Callable[[str], object] = str,
) -> set[str]:
    """Return those of some words of English that mean about what one of others means: by two
    spreads, as of many words one is by chance nearer than any; none where it cannot be told."""
    try:
        with half_of_the_time():
            opened = embedder()
            if not some or not others or opened is None or not _knows_words(opened):
                return set()
            vectors = embed_documents(opened, [*some, *others])
    except (ProviderError, ModelUnavailable) as exc:
        note(f"{BY_WORDS}: {exc}")
        return set()
    theirs = vectors[len(some) :]
    any_word = theirs @ _ordinary[opened.fingerprint].T
    least = any_word.mean(axis=1) + 2 * SPREADS * any_word.std(axis=1)
    is_near = (vectors[: len(some)] @ theirs.T > least).any(axis=1)
    return {word for word, near in zip(some, is_near, strict=True) if near}


def _are_near(one: str, other: str, text: str, embedder: Embedder) -> bool:
    """Whether two words are nearer to each other in a text than most words are to the second."""
    texts = [text.format(word) for word in (one, other, *ordinary_words())]
    if text != "{}":
        vectors = embed_documents(embedder, texts)
    else:
        if embedder.fingerprint not in _ordinary:
            _ordinary[embedder.fingerprint] = embed_documents(embedder, texts[2:])
        vectors = np.vstack([embed_documents(embedder, texts[:2]), _ordinary[embedder.fingerprint]])
    near = vectors[2:] @ vectors[1]
    return bool(vectors[0] @ vectors[1] > near.mean() + SPREADS * near.std())


def _knows_words(embedder: Embedder) -> bool:
    """Whether a space has words near to each other that mean the same in English."""
    if embedder.fingerprint not in _knowing:
        _knowing[embedder.fingerprint] = all(_are_near(*pair, "{}", embedder) for pair in SAME)
    return _knowing[embedder.fingerprint]


def _by_language(background: Vectors, *texts: Vectors) -> Vectors:
    """How near texts are together to the background in each language."""
    total = background @ np.sum(texts, axis=0) if texts else np.zeros(len(background))
    found: Vectors = total.reshape(len(BACKGROUND), -1).mean(axis=1)
    return found


def _is_unlike(question: str, texts: Sequence[str]) -> bool:
    """Whether texts lack half of the function words of a question; where it has none, all of its
    words."""
    asked, own = set(words(question)), {word for text in texts for word in words(text)}
    particles = {word for word in asked if is_function_word(word)}
    return 2 * len(own & particles) <= len(particles) if particles else asked.isdisjoint(own)


def _background(embedder: Embedder) -> Vectors:
    if embedder.fingerprint not in _seen:
        flat = [sentence for language in BACKGROUND for sentence in language]
        _seen[embedder.fingerprint] = embed_documents(embedder, flat)
    return _seen[embedder.fingerprint]
