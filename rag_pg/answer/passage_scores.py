"""How well hits answer a question: sentences and passages weighed by words and meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rag_pg.answer.display import OPEN, display
from rag_pg.answer.head import Asked, find_lacking, find_names, is_code, stands_in
from rag_pg.answer.passage import has_code, headings_above
from rag_pg.answer.prompt import distinct_hits
from rag_pg.answer.question_kind import QuestionKind, has_number, question_kind
from rag_pg.answer.term_match import (
    MARKS,
    MatchTerms,
    Meaning,
    Numbers,
    Words,
    compare_meaning,
    find_words,
    is_in,
)
from rag_pg.protocols import Embedder
from rag_pg.text import LONGEST, Sentence, content_words, split_sentences, words
from rag_pg.types import CosineSpread, Hit

HITS = 8  # passages that are looked at
INNER_HEADINGS = 2  # headings within a passage that are embedded
EMBEDDED = (3, 3, 3, 3, 2, 2, 2, 2)  # sentences of each that are embedded

# A sentence's score: similarity of meaning, and:
OWN_WORDS = 0.25  # x the share of the question's words that it has
ALL_WORDS = 0.25  # x that it has together with the headings above it
NUMBER = 0.1  # it has a number, where the question asks how much
QUESTION_COST = 0.15  # it asks itself
FRAGMENT_COST = 0.1  # it is a label, or introduces what does not follow

# A passage's score: its relative score in the search (1: the best hit's) plus its best sentence's
# similarity, and:
WORDS = 0.6  # x the best share of words of a sentence with the headings above
HEADING = 0.3  # x the similarity of its heading
HEADING_WORDS = 0.2  # x agreement of the question's words with the last heading's
CODE = 0.2  # it has code, where the question asks how to do something

# The documents answer when nothing is lacking (`find_lacking`), and the best similarity of a
# sentence and COVERAGE x the best share of what is asked that one hit has reach ENOUGH.
COVERAGE = 0.75
NO_NUMBER_COST = 0.25  # how much is asked for, and the best passage has no number
ENOUGH = 0.72
ENOUGH_WORDS = 0.26  # without the similarity, where that cannot be relied on


@dataclass(kw_only=True, slots=True)
class Candidate:
    """A hit with its sentences, and of each: the displayed text, the heading within the hit above
    it, the share of the question's words that it has, alone and with headings, and that this
    heading has, its similarity to the question (nan: not embedded) and its score.

    relative_score: of the hit in the search, 1: the best hit's. coverage: the share of the
    question's words that the hit has; words_found: which. heading_similarity, heading_agreement: of
    its best heading with the question, in meaning and by words.
    """

    hit: Hit
    relative_score: float
    sentences: list[Sentence]
    shown: list[str]
    headings_above: list[str]
    word_shares: Numbers = field(default_factory=lambda: np.zeros(0))
    word_shares_with_headings: Numbers = field(default_factory=lambda: np.zeros(0))
    similarities: Numbers = field(default_factory=lambda: np.zeros(0))
    heading_shares: Numbers = field(default_factory=lambda: np.zeros(0))
    scores: Numbers = field(default_factory=lambda: np.zeros(0))
    coverage: float = 0.0
    words_found: set[str] = field(default_factory=set)
    heading_similarity: float = 0.0
    heading_agreement: float = 0.0
    score: float = 0.0

    @property
    def evidence(self) -> float:
        return float(np.nanmax(self.similarities)) + COVERAGE * self.coverage

    @property
    def best(self) -> int:
        return int(np.argmax(self.scores))


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What was found for a question. asked: its words; lacking: those without which nothing answers
    it, and that no document has; similarity: the best of any sentence; coverage: the best share of
    the question's words in one hit; unknown: the share of words that
    the collection does not have; trusted: whether the similarities can be relied on; is_embedded:
    whether there are any."""

    candidates: Sequence[Candidate]
    kind: QuestionKind
    asked: Sequence[Asked]
    lacking: Sequence[str]
    similarity: float
    coverage: float
    unknown: float
    trusted: bool
    is_embedded: bool
    notes: Sequence[str]

    @property
    def best(self) -> Candidate:
        return max(self.candidates, key=lambda c: c.score)

    @property
    def lacks_number(self) -> bool:
        """How much is asked for, and the best passage has no number."""
        return self.kind == "quantity" and not any(has_number(shown) for shown in self.best.shown)

    @property
    def missing(self) -> Sequence[str]:
        """The words of the question that no hit has: the lacking ones, then by their weight."""
        rest = sorted((a for a in self.asked if not a.is_met), key=lambda a: -a.weight)
        return list(dict.fromkeys([*self.lacking, *(a.word for a in rest if a.word)]))

    @property
    def strength(self) -> float:
        """The weight of it, without calibration: ENOUGH is enough.

        Where the collection has none of the words the question is in another language, and meaning
        alone decides."""
        return self.similarity + self._by_words

    @property
    def _by_words(self) -> float:
        return COVERAGE * self.coverage - NO_NUMBER_COST * self.lacks_number

    @property
    def is_enough(self) -> bool:
        by_words = not self.trusted and self._by_words >= ENOUGH_WORDS
        return not self.lacking and (self.strength >= ENOUGH or by_words)


def examine(
    question: str,
    hits: Sequence[Hit],
    *,
    embedder: Embedder | None,
    match_terms: MatchTerms | None = None,
    spread: CosineSpread | None = None,
) -> Evidence | None:
    """Return how well hits answer a question, by the arguments of `answer_extractive`; None: there
    are none, or nothing is asked."""
    sources = distinct_hits(hits)[:HITS]
    if not sources or not question.strip():
        return None
    kind = question_kind(question)
    candidates = _candidates(sources)
    found = _weigh_words(question, candidates, match_terms)
    meaning = _weigh_meaning(question, kind, candidates, embedder, spread, found)
    asked = _weigh_asked(found, meaning, candidates)
    by_meaning = meaning.trusted and meaning.lost.any() and any(a.is_met for a in asked)
    coverage = max(c.coverage for c in candidates) * _share_of_known(found, asked)
    return Evidence(
        candidates=candidates,
        kind=kind,
        asked=asked,
        lacking=find_lacking(asked, by_meaning=bool(by_meaning)),
        similarity=max(float(np.nanmax(c.similarities)) for c in candidates),
        coverage=coverage,
        unknown=found.unknown,
        trusted=meaning.trusted,
        is_embedded=embedder is not None and not meaning.notes,
        notes=meaning.notes,
    )


def _candidates(sources: Sequence[Hit]) -> list[Candidate]:
    most = max((hit.score for hit in sources), default=0.0)
    found = []
    for rank, hit in enumerate(sources):
        sentences = _split(hit)
        relative = hit.score / most if hit.rerank_score is None and most > 0 else 1 / (1 + rank / 8)
        found.append(
            Candidate(
                hit=hit,
                relative_score=relative,
                sentences=sentences,
                shown=[display(s) for s in sentences],
                headings_above=headings_above(hit.content, sentences),
            )
        )
    return found


def _split(hit: Hit) -> list[Sentence]:
    """The sentences of a hit; of one that has none (a heading, a long listing), its beginning."""
    names = {" ".join(words(name)) for name in (hit.title, hit.heading.rpartition(">")[2])}
    found = [s for s in split_sentences(hit.content) if " ".join(words(s.text)) not in names]
    start = len(hit.content) - len(hit.content.lstrip())
    text = hit.content[start : start + LONGEST].rstrip()
    return found or [Sentence(start=start, stop=start + len(text), text=text)]


def heading_path(hit: Hit) -> list[str]:
    """Title and headings of a hit, from the top, none twice."""
    parts = [hit.title, *hit.heading.split(" > ")]
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _weigh_words(
    question: str, candidates: Sequence[Candidate], match_terms: MatchTerms | None
) -> Words:
    """Fill in the shares of words, and which words each has; return the words."""
    texts: list[str] = []
    for c in candidates:
        path = heading_path(c.hit)
        texts += [": ".join(path), path[-1] if path else "", *c.shown, *c.headings_above]
    found = find_words(question, texts, match_terms)
    at = 0
    for c in candidates:
        head, last, first = at, at + 1, at + 2
        count = len(c.shown)
        at = first + 2 * count
        positions = range(first, first + count)
        c.word_shares = np.array([found.coverage(p) for p in positions])
        c.word_shares_with_headings = np.array(
            [found.coverage(p, p + count, head) for p in positions]
        )
        c.coverage = found.coverage(head, *range(first, at))
        whole = f"{texts[head]}\n{c.hit.content}"
        c.words_found = {
            word
            for word in found.different
            if stands_in(word, whole)
            or (not is_code(word) and found.have(word, [head, *range(first, at)]))
        }
        c.heading_shares = np.array([found.coverage(p + count) for p in positions])
        c.heading_agreement = max(
            _agreement(found, p, texts[p]) for p in (last, *range(first + count, at))
        )
    return found


def _weigh_asked(found: Words, meaning: Meaning, candidates: Sequence[Candidate]) -> list[Asked]:
    """The words of a question with what each weighs: by what the question loses in meaning without
    it, where that was asked and can be relied on, else by how rare its terms are."""
    different = found.different
    weights, brings = np.array(list(different.values())), np.zeros(len(different))
    if meaning.trusted and meaning.lost.sum() > 0:
        weights, brings = meaning.lost / meaning.lost.sum(), meaning.brings
    names = find_names(found.question, [c.hit.content for c in candidates])
    met = set().union(*(c.words_found for c in candidates))
    return [
        Asked(
            word=word.strip(MARKS),
            weight=float(weight),
            is_met=word in met,
            is_known=found.is_known(word),
            is_paraphrased=bool(more > 0),
            is_name=any(is_in(word, name) for name in names),
        )
        for word, weight, more in zip(different, weights, brings, strict=True)
    ]


def _share_of_known(found: Words, asked: Sequence[Asked]) -> float:
    """What the shares of a question's words are multiplied by, so that those which the collection
    does not have weigh what they mean to the question: how rare they are it cannot tell."""
    rarity = dict(zip(found.different, asked, strict=True))
    unknown = sum(found.different[word] for word, a in rarity.items() if not a.is_known)
    meant = sum(a.weight for a in asked if not a.is_known)
    return (1 - meant) / (1 - unknown) if unknown < 1 else 1.0


def _weigh_meaning(
    question: str,
    kind: QuestionKind,
    candidates: Sequence[Candidate],
    embedder: Embedder | None,
    spread: CosineSpread | None,
    found: Words,
) -> Meaning:
    """Fill in the similarities, and the scores that follow from them; return the meaning."""
    chosen = [_best_by_words(c, most) for c, most in zip(candidates, EMBEDDED, strict=False)]
    texts = [
        text
        for c, picked in zip(candidates, chosen, strict=True)
        for text in [*(c.shown[i] for i in picked), *_headings(c)]
    ]
    different = list(dict.fromkeys(texts))
    meaning = compare_meaning(
        question, different, embedder, spread, meant=found.question, left=found.left
    )
    by_text = dict(zip(different, meaning.near, strict=True))
    for c, picked in zip(candidates, chosen, strict=True):
        c.similarities = np.full(len(c.shown), np.nan)
        c.similarities[picked] = [by_text[c.shown[i]] for i in picked]
        c.heading_similarity = max(by_text[heading] for heading in _headings(c))
        c.scores = _sentence_scores(c, kind, by_text)
        c.score = _passage_score(c, kind)
    return meaning


def _best_by_words(c: Candidate, most: int) -> list[int]:
    """The sentences of a hit that have most of the question's words."""
    order = np.argsort(-(c.word_shares + c.word_shares_with_headings), kind="stable")
    return [int(position) for position in order[:most]]


def _headings(c: Candidate) -> list[str]:
    """What of a hit's headings is embedded: all above it, the last, the best within it."""
    path = heading_path(c.hit)
    return [": ".join(path), path[-1] if path else "", *_best_headings(c)]


def _sentence_scores(c: Candidate, kind: QuestionKind, by_text: Mapping[str, float]) -> Numbers:
    by_words = OWN_WORDS * c.word_shares, ALL_WORDS * c.word_shares_with_headings
    scores = np.where(np.isnan(c.similarities), -9.0, c.similarities + by_words[0] + by_words[1])
    asking = [shown.endswith(("?", "？", "؟")) for shown in c.shown]
    for position in range(1, len(c.shown)):  # a question is answered by what follows it
        if asking[position - 1] and not asking[position]:
            scores[position] = max(scores[position], scores[position - 1])
    for position, heading in enumerate(c.headings_above):  # and so is a heading that asks
        follows = position == 0 or c.headings_above[position - 1] != heading
        if follows and heading.endswith(("?", "？", "؟")) and heading in by_text:
            words_of = OWN_WORDS * c.heading_shares[position] + by_words[1][position]
            scores[position] = max(scores[position], by_text[heading] + words_of)
    scores -= QUESTION_COST * np.array(asking)
    for position, shown in enumerate(c.shown):
        scores[position] += NUMBER * (kind == "quantity" and has_number(shown))
        scores[position] -= FRAGMENT_COST * _is_fragment(c, position)
    return scores


def _passage_score(c: Candidate, kind: QuestionKind) -> float:
    return (
        c.relative_score
        + float(np.nanmax(c.similarities))
        + WORDS * float(c.word_shares_with_headings.max())
        + HEADING * c.heading_similarity
        + HEADING_WORDS * c.heading_agreement
        + CODE * (kind == "how_to" and has_code(c.hit.content))
    )


def _best_headings(c: Candidate) -> list[str]:
    """The headings within a hit that have most of the question's words, INNER_HEADINGS at most."""
    share = {
        heading: float(c.heading_shares[at])
        for at, heading in enumerate(c.headings_above)
        if heading
    }
    with_words = [heading for heading, words_of in share.items() if words_of > 0]
    return sorted(with_words, key=lambda heading: -share[heading])[:INNER_HEADINGS]


def _agreement(found: Words, text: int, heading: str) -> float:
    """F1 of the question's words and a heading's, 0 to 1: neither should say what the other does
    not."""
    both = found.coverage(text)
    matched = int(found.has[text].sum())
    others = max(len(content_words(heading)) - matched, 0) if heading else 0
    return 2 * both / (1 + both + others / max(len(found.weights), 1)) if both else 0.0


def _is_fragment(c: Candidate, position: int) -> bool:
    shown = c.shown[position]
    if shown.endswith(OPEN):
        return not (position + 1 < len(c.sentences) and c.sentences[position + 1].kind == "item")
    return len(shown) < 40 and shown[-1:].isalnum()
