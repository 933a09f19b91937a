"""How well what was found answers a question: numbers that calibration weighs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from rag_pg.answer.extractive.passage_scores import Evidence
from rag_pg.answer.reading.opposites import find_opposite
from rag_pg.answer.reading.question_kind import asks_when, has_number
from rag_pg.text import content_words, is_among, same_word, words

# Each with the sign of its weight, more of it speaks for an answer or against one, and with what
# is said of an answer that it is worse for than for right answers on average.
_MEASURED = {
    "best_similarity": (1, "no sentence is as near to the question in meaning"),
    "similarity": (1, "the answering sentence is not as near to the question in meaning"),
    "words": (1, "the answering sentence has fewer of the question's words"),
    "words_with_headings": (1, "the answering sentence and its headings have fewer of the words"),
    "unknown_words": (-1, "more of the question's words stand in no document"),
    "sentence_margin": (1, "the answering sentence stands out less from those of other passages"),
    "margin_in_passage": (
        1,
        "the answering sentence stands out less from the others of its passage",
    ),
    "passage_margin": (1, "the passage stands out less from the others"),
    "vector_standing": (1, "the passage ranks lower by its meaning"),
    "both_legs": (1, "the passage is not the first both by words and by meaning"),
    "vector_cosine": (1, "no passage is as near to the question in meaning"),
    "missing_names": (-1, "the passage lacks more of the question's names and numbers"),
    "missing_in_sentence": (
        -1,
        "the answering sentence lacks more of the question's names and numbers",
    ),
    "missing_numbers": (-1, "the answering sentence lacks a number of the question"),
    "negation": (-1, "the question says “not”, or the like, and the answering sentence does not"),
    "opposite": (-1, "the answering sentence has the opposite of a word of the question"),
    "answer_type": (1, "the answering sentence shows no date, number or name that is asked for"),
    "matched_words": (1, "the answering sentence has fewer of the question's words"),
    "missing_words": (-1, "the passage lacks more of the question's words"),
    "meaning_agrees": (1, "another passage has the sentence that is nearest in meaning"),
    "words_agree": (1, "another passage has more of the question's words"),
    "adjacent_words": (1, "the question's words do not stand as near to each other"),
}
# Of a question whose passages a reranker has read, beside those.
_READ_AGAIN = {
    "rerank_margin": (1, "the reranker finds less that text about something else has not"),
    "rerank_lead": (1, "the passage stands out less from the next by the reranker"),
}
FEATURES: Mapping[str, int] = {name: sign for name, (sign, _) in _MEASURED.items()}
RERANKED: Mapping[str, int] = {name: sign for name, (sign, _) in _READ_AGAIN.items()}
WORSE: Mapping[str, str] = {
    **{name: told for name, (_, told) in (_MEASURED | _READ_AGAIN).items()},
    "judgement": "the model that judges finds less of the answer in the passages",
}

_NAME = re.compile(r"(?<!^)(?<![.?!] )\b[A-Z][\w'-]+|\d[\d.,]*\d|\d")
_NUMBER = re.compile(r"\d[\d.,]*\d|\d")
_PROPER = re.compile(r"\b[A-Z][\w'-]+")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|cannot|\w+n['’]t|unable|fail\w*|lack\w*"
    r"|nicht|kein\w*|nie|ohne|jamais|aucun\w*|sans|nunca|sin|ningun\w*)\b",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\d{3,4}|\b(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december|century|centuries|year|years|decade)\b|\d+s\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"\b(?:what|which) (?:percent|number|amount|share|proportion)", re.IGNORECASE)
_WHO = re.compile(
    r"\b(?:who|whom|whose|where)\b|\b(?:what|which) (?:country|city|place|state)\b", re.IGNORECASE
)


def measure(question: str, evidence: Evidence) -> dict[str, float]:
    """Return the FEATURES of a question by name, and those RERANKED where it was, all finite, most
    from 0 to 1."""
    ranked = sorted(evidence.candidates, key=lambda c: -c.score)
    first, others = ranked[0], ranked[1:]
    best = first.best
    sentence, hit = first.shown[best], first.hit
    headings = f"{hit.title} {hit.heading}"
    in_sentence, in_passage = words(sentence), {*words(hit.content), *words(headings)}
    shown = {*in_sentence, *words(headings)}
    asked = list(dict.fromkeys(content_words(question)))
    positions = [
        [n for n, word in enumerate(in_sentence) if same_word(term, word)] for term in asked
    ]
    names = _NAME.findall(question)
    cosines = [1 - c.hit.vector_distance for c in ranked if c.hit.vector_distance is not None]
    rest = np.delete(first.scores, best)
    return {
        "best_similarity": evidence.similarity,
        "similarity": float(np.nan_to_num(first.similarities[best])),
        "words": float(first.word_shares[best]),
        "words_with_headings": float(first.word_shares_with_headings[best]),
        "unknown_words": evidence.unknown,
        "sentence_margin": float(first.scores[best])
        - max((float(c.scores[c.best]) for c in others), default=0.0),
        "margin_in_passage": min(float(first.scores[best] - rest.max()), 1.0) if len(rest) else 1.0,
        "passage_margin": first.score - others[0].score if others else 0.0,
        "vector_standing": 1 / (hit.vector_rank or 50),
        "both_legs": float(hit.vector_rank == 1 and hit.keyword_rank == 1),
        "vector_cosine": max(cosines, default=0.0),
        "missing_names": _share_missing(names, in_passage),
        "missing_in_sentence": _share_missing(names, shown),
        "missing_numbers": float(_share_missing(_NUMBER.findall(question), shown) > 0),
        "negation": float(bool(_NEGATION.search(question)) and not _NEGATION.search(sentence)),
        "opposite": float(find_opposite(question, sentence) is not None),
        "answer_type": _answer_type(question, evidence.kind, sentence),
        "matched_words": sum(map(bool, positions)) / max(len(asked), 1),
        "missing_words": _share_missing(asked, in_passage),
        "meaning_agrees": float(
            float(np.nanmax(first.similarities))
            >= max(float(np.nanmax(c.similarities)) for c in ranked)
        ),
        "words_agree": float(first.coverage >= max(c.coverage for c in ranked)),
        "adjacent_words": _adjacent(positions),
        **(dict(zip(RERANKED, evidence.margins, strict=True)) if evidence.reranker else {}),
    }


def _share_missing(terms: Iterable[str], texts: Iterable[str]) -> float:
    has = set(texts)
    missing = [not all(is_among(part, has) for part in words(term)) for term in terms]
    return sum(missing) / len(missing) if missing else 0.0


def _answer_type(question: str, kind: str, sentence: str) -> float:
    if asks_when(question):
        return 1.0 if _DATE.search(sentence) else -1.0
    if kind == "quantity" or _AMOUNT.search(question):
        return 1.0 if has_number(sentence) else -1.0
    if _WHO.search(question):
        known = set(words(question))
        new = [name for name in _PROPER.findall(sentence) if not known & set(words(name))]
        return 1.0 if new else -1.0
    return 0.0


def _adjacent(positions: list[list[int]]) -> float:
    pairs = list(pairwise(positions))
    near = sum(any(0 < b - a <= 3 for a in one for b in other) for one, other in pairs)
    return near / len(pairs) if pairs else 0.0
