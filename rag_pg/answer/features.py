"""How well what was found answers a question: numbers that calibration weighs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from rag_pg.answer.opposites import find_opposite
from rag_pg.answer.passage_scores import Evidence
from rag_pg.answer.question_kind import has_number
from rag_pg.text import content_words, same_word, words

# Each with the sign of its weight: more of it speaks for an answer, or against one.
FEATURES: Mapping[str, int] = {
    "best_similarity": 1,  # of any sentence's meaning
    "similarity": 1,  # of the answering sentence's
    "words": 1,  # share of the question's words in the answering sentence
    "words_with_headings": 1,  # in it or the headings above it
    "unknown_words": -1,  # share that the collection does not have
    "sentence_margin": 1,  # of its score to the best sentence of another passage
    "margin_in_passage": 1,  # to the next best sentence of the same passage
    "passage_margin": 1,  # of the passage's score to the next one's
    "vector_standing": 1,  # 1 / its rank in the vector leg
    "both_legs": 1,  # it is the first of both
    "vector_cosine": 1,  # of the nearest hit
    "missing_names": -1,  # share of names and numbers of the question that the passage lacks
    "missing_in_sentence": -1,  # that the answering sentence lacks
    "missing_numbers": -1,  # a number of the question that the sentence lacks
    "negation": -1,  # the question negates, the answering sentence does not, or the reverse
    "opposite": -1,  # the answering sentence has the opposite of a word of the question
    "answer_type": 1,  # 1: it has the date, number or name asked for; -1: it lacks it; 0: neither
    "matched_words": 1,  # share of the question's words, unweighted
    "missing_words": -1,  # share that the passage lacks
    "meaning_agrees": 1,  # the passage has the nearest sentence
    "words_agree": 1,  # the passage has the most words
    "adjacent_words": 1,  # neighbours in the question that are near each other in the sentence
}

# Of a question whose passages a reranker has read, beside those.
RERANKED: Mapping[str, int] = {
    "rerank_margin": 1,  # of its best score to that of text about something else
    "rerank_lead": 1,  # of the first passage's score to the second's
}

# What is said of an answer whose feature is worse than that of right answers is on average.
WORSE: Mapping[str, str] = {
    "best_similarity": "no sentence is as near to the question in meaning",
    "similarity": "the answering sentence is not as near to the question in meaning",
    "words": "the answering sentence has fewer of the question's words",
    "words_with_headings": "the answering sentence and its headings have fewer of the words",
    "unknown_words": "more of the question's words stand in no document",
    "sentence_margin": "the answering sentence stands out less from those of other passages",
    "margin_in_passage": "the answering sentence stands out less from the others of its passage",
    "passage_margin": "the passage stands out less from the others",
    "vector_standing": "the passage ranks lower by its meaning",
    "both_legs": "the passage is not the first both by words and by meaning",
    "vector_cosine": "no passage is as near to the question in meaning",
    "missing_names": "the passage lacks more of the question's names and numbers",
    "missing_in_sentence": "the answering sentence lacks more of the question's names and numbers",
    "missing_numbers": "the answering sentence lacks a number of the question",
    "negation": "the question says “not”, or the like, and the answering sentence does not",
    "opposite": "the answering sentence has the opposite of a word of the question",
    "answer_type": "the answering sentence shows no date, number or name that is asked for",
    "matched_words": "the answering sentence has fewer of the question's words",
    "missing_words": "the passage lacks more of the question's words",
    "meaning_agrees": "another passage has the sentence that is nearest in meaning",
    "words_agree": "another passage has more of the question's words",
    "adjacent_words": "the question's words do not stand as near to each other",
    "rerank_margin": "the reranker finds less that text about something else has not",
    "rerank_lead": "the passage stands out less from the next by the reranker",
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
_TIME = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:year|date|century|decade|month|day)\b|^\W*wann\b|\bquand\b"
    r"|\bcuándo\b",
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
    missing = [
        not all(part in has or any(same_word(part, word) for word in has) for part in words(term))
        for term in terms
    ]
    return sum(missing) / len(missing) if missing else 0.0


def _answer_type(question: str, kind: str, sentence: str) -> float:
    if _TIME.search(question):
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
