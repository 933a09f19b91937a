"""A statement and its sources -> the sentence that supports it best, and whether it does.

By words, figures, negation and meaning; no language model. It tells a statement of something else,
with another number or the opposite, not one that reads its source wrongly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rag_pg.answer.reading.figures import is_number
from rag_pg.answer.reading.measures import amounts_of, foreign_measures, is_unit
from rag_pg.answer.reading.negation import contradicts
from rag_pg.answer.reading.passage import read_source
from rag_pg.answer.reading.talk import is_of_speech
from rag_pg.answer.reading.term_match import BY_WORDS, compare_meaning
from rag_pg.errors import ModelUnavailable, ProviderError
from rag_pg.protocols import Embedder
from rag_pg.text import (
    Sentence,
    content_words,
    has_word,
    is_function_word,
    word_set,
    words,
)

ENOUGH_WORDS = 0.5  # of a statement's content words, in the best sentences of a source
ENOUGH_MEANING = 0.5  # see `compare_meaning`
LEAST_WORDS = 2  # content words; a shorter statement ("Yes.") is not judged
SENTENCES = 3  # of a source, that support a statement together
LEAST_QUOTE = 12  # characters; rag.check_citation proves no shorter quote
BESIDE = 0.3  # share of words from which on a further sentence supports a statement too
LANGUAGE_WORDS = 20  # of a passage, from which on its language can be told
PARTICLES = 3  # of a claim, of which a text in its language has more than one
FIGURES = 0.5  # x the share of a statement's figures that a sentence has, in its score


@dataclass(frozen=True, kw_only=True, slots=True)
class Support:
    """What a source says of a statement. quote: its best sentence, untouched, a short one with its
    neighbour; "": none has anything of it.
    words: the share of the statement's content words, 0 to 1, in its best sentences; is_supported:
    None where it cannot be told: the statement says too little, or is in another language than the
    source."""

    quote: str
    words: float
    is_supported: bool | None


def find_support(
    claim: str,
    sources: Sequence[tuple[str, str]],
    embedder: Callable[[], Embedder | None] | None,
    *,
    each: bool = False,
    note: Callable[[str], object] = str,
) -> list[Support]:
    """Return what each source says of a claim.

    Args:
        sources: the passage of each, and what stands above it (title and headings), which supports
            too. embedder: is opened where words alone do not decide.
        each: each source is judged; else it is enough that the words of one support the claim, and
            the others are left open. note: is told why words alone decide where a provider fails.
    """
    asked = _asked(claim, sources)
    ranked = [_ranked(claim, asked, passage) for passage, _ in sources]
    sources = [
        (text, " ".join([above, *_beside(claim, text, best)]))
        for best, (text, above) in zip(ranked, sources, strict=True)
    ]
    shares = [
        _share(asked, " ".join([above, *(s.text for s in best)]))
        for best, (_, above) in zip(ranked, sources, strict=True)
    ]
    near: list[float | None] = [None] * len(sources)
    told = True
    open_ones = [n for n, share in enumerate(shares) if share < ENOUGH_WORDS]
    if not each and len(open_ones) < len(sources):
        open_ones = []
    if len(asked) >= LEAST_WORDS and open_ones and embedder is not None:
        values, told = _meaning(claim, [ranked[n] for n in open_ones], embedder, note)
        for n, value in zip(open_ones, values, strict=True):
            near[n] = value
    alike = [_is_one_language(claim, passage) for passage, _ in sources]
    if not each and any(alike):
        alike = [True] * len(sources)
    return [
        Support(
            quote=_quote(passage, best[0]) if best and (share or meaning) else "",
            words=share,
            is_supported=_judge(
                claim, asked, best, above, share, meaning, told and can_tell, passage
            ),
        )
        for best, share, meaning, (passage, above), can_tell in zip(
            ranked, shares, near, sources, alike, strict=True
        )
    ]


def _asked(claim: str, sources: Sequence[tuple[str, str]]) -> list[str]:
    """Return the words of a claim that its sources should have: not its numbers and units, which
    are compared as such, and words about answers only where the sources speak of that."""
    stated = [word for word in content_words(claim) if not is_function_word(word)]
    known = {word for source in sources for text in source for word in word_set(text)}
    asked = [w for w in stated if not is_number(w) and (w in known or not is_of_speech(w))]
    asked = asked if len(asked) >= min(LEAST_WORDS, len(stated)) else stated
    return [word for word in asked if not is_unit(word)]


def _judge(
    claim: str,
    asked: Sequence[str],
    best: Sequence[Sentence],
    above: str,
    share: float,
    meaning: float | None,
    told: bool,
    whole: str,
) -> bool | None:
    passage = " ".join([above, *(s.text for s in best)])
    if foreign_measures(claim, passage, whole=whole) or (best and contradicts(claim, best[0].text)):
        return False
    if len(asked) < LEAST_WORDS:  # it says too little
        return True if share == 1 and asked else None
    if share >= ENOUGH_WORDS or (meaning is not None and meaning >= ENOUGH_MEANING):
        return True
    return None if meaning is None or not told else False  # in other words, another language


def _ranked(claim: str, asked: Sequence[str], passage: str) -> list[Sentence]:
    """Return the sentences of a passage that have most of a claim's words and figures, under their
    headings, rows of tables with the names of their columns."""
    read = read_source(passage)
    sentences = [replace(s, text=told) for s, told in zip(read.sentences, read.told, strict=True)]
    above = {s.start: heading for s, heading in zip(sentences, read.headings, strict=True)}
    figures = [*amounts_of(claim)]

    def score(sentence: Sentence) -> float:
        text = f"{above[sentence.start]}: {sentence.text}"
        share = _share(asked, text)
        if not figures:
            return share
        has = amounts_of(text)
        return share + FIGURES * sum(one in has for one in figures) / len(figures)

    scores = {s.start: score(s) for s in sentences}
    ranked = sorted(sentences, key=lambda s: (-scores[s.start], s.start))
    most = scores[ranked[0].start] if ranked else 0.0
    equal = [s for s in ranked[:SENTENCES] if scores[s.start] == most >= BESIDE]
    if len(equal) > 1:
        best = next((s for s in equal if not contradicts(claim, s.text)), equal[0])
        ranked.remove(best)
        ranked.insert(0, best)
    chosen = ranked[:1]
    for sentence in ranked[1:]:
        together = " ".join(s.text for s in chosen)
        alone = _share(asked, sentence.text)
        more = _share(asked, f"{together} {sentence.text}") - _share(asked, together)
        further = amounts_of(sentence.text).intersection(figures) - amounts_of(together)
        known = alone or any(isinstance(one, tuple) for one in further)
        if alone >= BESIDE or more * len(asked) >= LEAST_WORDS or (known and further):
            chosen.append(sentence)
        if len(chosen) == SENTENCES:
            break
    return chosen


def _beside(claim: str, passage: str, best: Sequence[Sentence]) -> list[str]:
    """The headings of a passage above its best sentences; for a claim that is a row of a table all
    rows, for it may have cells of several."""
    read = read_source(passage)
    chosen = {sentence.start for sentence in best}
    found = zip(read.sentences, read.headings, strict=True)
    headings = dict.fromkeys(heading for s, heading in found if s.start in chosen)
    is_row = claim.lstrip().startswith("|")
    return [*headings, *(s.text for s in read.sentences if is_row and s.kind == "row")]


def _is_one_language(claim: str, passage: str) -> bool:
    """Whether a passage that is long enough to tell has words of the claim that say nothing, as
    texts in its language do."""
    particles = {word for word in words(claim) if is_function_word(word)}
    shared = len(particles & word_set(passage))
    return len(particles) < PARTICLES * (shared + 1) or len(words(passage)) < LANGUAGE_WORDS


def _quote(passage: str, sentence: Sentence) -> str:
    """Return a sentence, one that is too short to prove anything with the next or the last."""
    if sentence.stop - sentence.start > LEAST_QUOTE:
        return passage[sentence.start : sentence.stop]
    beside = read_source(passage).sentences
    stop = next((s.stop for s in beside if s.start >= sentence.stop), sentence.stop)
    start = sentence.start
    if stop == sentence.stop:
        start = max((s.start for s in beside if s.stop <= start), default=start)
    return passage[start:stop]


def _share(asked: Sequence[str], text: str) -> float:
    if not asked:
        return 0.0
    return sum(has_word(text, word) for word in asked) / len(asked)


def _meaning(
    claim: str,
    ranked: Sequence[Sequence[Sentence]],
    embedder: Callable[[], Embedder | None],
    note: Callable[[str], object],
) -> tuple[list[float | None], bool]:
    texts = [s.text for best in ranked for s in best]
    if not texts:
        return [None] * len(ranked), True
    try:
        opened = embedder()
        found = None if opened is None else compare_meaning(claim, texts, opened)
    except (ProviderError, ModelUnavailable) as exc:
        note(f"{BY_WORDS}: {exc}")
        found = None
    if found is None or found.notes:
        for text in found.notes if found else ():
            note(text)
        return [None] * len(ranked), True
    near: list[float | None] = []
    at = 0
    for best in ranked:
        near.append(max(map(float, found.near[at : at + len(best)]), default=0.0))
        at += len(best)
    return near, found.trusted
