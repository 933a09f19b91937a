"""What speaks for a passage: the words and the meaning of its sentences and headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_pg.errors import ModelUnavailable, ProviderError
from rag_pg.protocols import Embedder
from rag_pg.text import content_words, is_function_word, same_word, words
from rag_pg.types import CosineSpread, TermMatch, Vectors

Numbers = NDArray[np.float64]
MatchTerms = Callable[[str, Sequence[str]], Sequence[TermMatch]]

LENGTH = 300  # characters of a sentence that are embedded
UNKNOWN_LANGUAGE = 0.25  # a question is so much nearer to any text in its language than to others
_MARKS = "?!.,;:¿¡？！。，、'\"“”„()[]«»"  # beside a word of a question
# Where the scale of a measured space begins, and how long it is, in spreads of its cosines.
BEGINS = -0.5  # from their mean
RANGE = 6.0
SHORTEST_MENDED = 5  # letters of a word that may be a typing error

# A pair of characters that no text has is no unknown word: it may straddle two words.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """The words of a question in some texts. `has`: a row for each text, a column for each word;
    `weights`: of the words, rare ones weigh more, together 1; `df`: chunks of the collection that
    have each; words: as the question has them."""

    has: NDArray[np.bool_]
    weights: Numbers
    df: Sequence[int]
    words: Sequence[str]

    @property
    def unknown(self) -> float:
        """The share of the question's words, 0 to 1, that no chunk of the collection has."""
        return float(self.weights[np.array(self.df) == 0].sum())

    @property
    def missing(self) -> Sequence[str]:
        """The words of the question that no text has, the rarest first."""
        found = {self.words[int(n)] for n in np.flatnonzero(self.has.any(axis=0))}
        rarest = [self.words[int(n)] for n in np.argsort(-self.weights, kind="stable")]
        missing = [word.strip(_MARKS) for word in rarest if word not in found]
        return [word for word in dict.fromkeys(missing) if word]

    def coverage(self, *texts: int) -> float:
        """The share of the question's words, 0 to 1, in these texts together."""
        return float(self.has[list(texts)].any(axis=0) @ self.weights) if texts else 0.0


def find_words(question: str, texts: Sequence[str], match_terms: MatchTerms | None) -> Words:
    """Return which words of the question each text has, and how rare they are.

    A word weighs as in BM25: ln(1 + (N - df + 0.5) / (df + 0.5)) over all chunks of the collection,
    so one that the collection does not have weighs most. Such a word is taken for a word of the
    texts that is one slip away.

    Args:
        match_terms: rag.match_terms of the collection; None: words are compared here, and counted
    in `texts`."""
    match = match_terms or _match_here
    terms = list(match(question, texts))
    mended = _mend(question, terms, texts)
    if mended != question:
        terms = list(match(mended, texts))
    meant = [t for t in terms if t.df or not (_UNSPACED.fullmatch(t.term) or len(t.term) == 1)]
    meant = [t for t in meant if not is_function_word(t.word)] or terms
    has = np.zeros((len(texts), len(meant)), dtype=np.bool_)
    for column, term in enumerate(meant):
        has[[number - 1 for number in term.found_in], column] = True
    df = [term.df for term in meant]
    total = max((term.chunk_count for term in meant), default=0)
    weights = np.log(1 + (np.maximum(total - np.array(df), 0) + 0.5) / (np.array(df) + 0.5))
    names = [term.word for term in meant]
    return Words(has=has, weights=weights / max(weights.sum(), 1e-9), df=df, words=names)


def _match_here(question: str, texts: Sequence[str]) -> list[TermMatch]:
    found = []
    own = [frozenset(words(text)) for text in texts]
    for word in content_words(question):
        numbers = [
            number
            for number, has in enumerate(own, 1)
            if word in has or any(same_word(word, other) for other in has)
        ]
        found.append(
            TermMatch(
                word=word, term=word, df=len(numbers), chunk_count=len(texts), found_in=numbers
            )
        )
    return found


def _mend(question: str, terms: Sequence[TermMatch], texts: Sequence[str]) -> str:
    """Return the question with words that the collection does not have as the texts spell them."""
    unknown = {t.word for t in terms} - {t.word for t in terms if t.df}
    unknown = {w for word in unknown for w in words(word) if len(w) >= SHORTEST_MENDED}
    if not unknown:
        return question
    counts: dict[str, int] = {}
    for text in texts:
        for word in words(text):
            counts[word] = counts.get(word, 0) + 1
    for word in sorted(unknown):
        near = [w for w in counts if w != word and (is_one_slip(word, w) or same_word(word, w))]
        if near:
            meant = max(near, key=lambda other: (counts[other], other))
            question = _replace_word(question, word, meant)
    return question


def _replace_word(question: str, word: str, meant: str) -> str:
    return re.sub(rf"(?i)\b{re.escape(word)}\b", meant, question)


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


def similarity(
    question: str,
    texts: Sequence[str],
    embedder: Embedder | None,
    spread: CosineSpread | None = None,
) -> tuple[Numbers, bool, list[str]]:
    """Return how near each text is in meaning, whether that can be relied on, and what failed.

    0: no nearer than text about something else; about 1: the same. Not to be relied on: zeros
    because there is no embedder or its provider fails, and a language in which the model finds
    everything alike, as it does not know it.

    Args:
        spread: of the cosines of the space, on whose scale texts are compared; None: it is not
            measured, and the scale ends at the same text.
    """
    nothing = np.zeros(len(texts))
    if embedder is None:
        return nothing, False, []
    try:
        query = embedder.embed_query(question)
        vectors = embedder.embed_documents([text[:LENGTH] for text in texts])
        background = _background(embedder)
    except (ProviderError, ModelUnavailable) as exc:
        return nothing, False, [f"sentences were chosen by their words alone: {exc}"]
    by_language = (background @ query).reshape(len(BACKGROUND), -1).mean(axis=1)
    floor = min(float(by_language.max()), 0.99)
    unit = 1 - floor
    if spread is not None:
        floor, unit = max(floor, spread.mean + BEGINS * spread.spread), RANGE * spread.spread
    near: Numbers = np.maximum((vectors @ query - floor) / unit, 0.0).astype(np.float64)
    return near, float(by_language.max() - by_language.min()) < UNKNOWN_LANGUAGE, []


def _background(embedder: Embedder) -> Vectors:
    if embedder.fingerprint not in _seen:
        flat = [sentence for language in BACKGROUND for sentence in language]
        _seen[embedder.fingerprint] = embedder.embed_documents(flat)
    return _seen[embedder.fingerprint]
