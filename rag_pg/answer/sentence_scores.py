"""How well a sentence fits a question: by its words, and by its meaning. Scales from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag_pg.errors import ModelUnavailable, ProviderError
from rag_pg.protocols import Embedder
from rag_pg.text import content_words, same_word
from rag_pg.types import Vectors

Numbers = NDArray[np.float64]

LENGTH = 300  # characters of a sentence that are embedded
UNKNOWN_LANGUAGE = 0.25  # a question is so much nearer to any text in its language than to others

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


def coverage(
    question: str, sentences: Sequence[frozenset[str]], hits: Sequence[int]
) -> tuple[Numbers, float]:
    """Return the share of the question's words in each sentence, and the best share in one hit.

    A word counts the more, the fewer sentences have it.

    Args:
        sentences: the words of each, with those of the titles above it.
        hits: the number of the hit that each sentence is from.
    """
    asked = content_words(question)
    if not asked or not sentences:
        return np.zeros(len(sentences)), 0.0
    has = np.array([_has(own, asked) for own in sentences], dtype=np.float64)
    weights = np.log(1 + (len(sentences) + 20) / (has.sum(axis=0) + 1))
    weights /= weights.sum()
    from_hit = np.array(hits)
    best = max(float(has[from_hit == hit].max(axis=0) @ weights) for hit in set(hits))
    covered: Numbers = has @ weights
    return covered, best


def _has(own: frozenset[str], asked: Sequence[str]) -> list[bool]:
    return [word in own or any(same_word(word, other) for other in own) for word in asked]


def similarity(
    question: str, sentences: Sequence[str], embedder: Embedder | None
) -> tuple[Numbers, bool, list[str]]:
    """Return how near each sentence is in meaning, whether that can be relied on, and what failed.

    0: no nearer than text about something else; 1: the same. Not to be relied on: zeros because
    there is no embedder or its provider fails, and a language in which the model finds everything
    alike, as it does not know it.
    """
    nothing = np.zeros(len(sentences))
    if embedder is None:
        return nothing, False, []
    try:
        query = embedder.embed_query(question)
        vectors = embedder.embed_documents([sentence[:LENGTH] for sentence in sentences])
        background = _background(embedder)
    except (ProviderError, ModelUnavailable) as exc:
        return nothing, False, [f"sentences were chosen by their words alone: {exc}"]
    by_language = (background @ query).reshape(len(BACKGROUND), -1).mean(axis=1)
    floor = min(float(by_language.max()), 0.99)
    near: Numbers = np.maximum((vectors @ query - floor) / (1 - floor), 0.0).astype(np.float64)
    return near, float(by_language.max() - by_language.min()) < UNKNOWN_LANGUAGE, []


def _background(embedder: Embedder) -> Vectors:
    if embedder.fingerprint not in _seen:
        flat = [sentence for language in BACKGROUND for sentence in language]
        _seen[embedder.fingerprint] = embedder.embed_documents(flat)
    return _seen[embedder.fingerprint]
