"""Answers made of the documents' own text: no language model, no key, nothing invented."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rag_pg.answer.extractive.compose import (
    MODEL,
    compose_answer,
    explain_uncounted,
    question_subject,
)
from rag_pg.answer.extractive.passage_scores import Evidence, examine
from rag_pg.answer.prompt import distinct_hits
from rag_pg.answer.reading.passage import ReadAround
from rag_pg.answer.reading.term_match import MatchTerms
from rag_pg.protocols import Embedder
from rag_pg.search import Scorer
from rag_pg.types import Answer, Assessment, CosineSpread, Hit, Usage, Zone

Judge = Callable[[str, Evidence], Assessment]

NOT_FOUND = "The documents do not answer this question."

ALL = 0.999  # of the words, in sums of shares


def answer_extractive(
    question: str,
    hits: Sequence[Hit],
    *,
    embedder: Embedder | None,
    match_terms: MatchTerms | None = None,
    read_around: ReadAround | None = None,
    judge: Judge | None = None,
    spread: CosineSpread | None = None,
    scorer: Scorer | None = None,
) -> Answer:
    """Return the passage of `hits` that answers best, from its heading, and up to 2 further
    sources.

    The answering sentence stands in bold before its [1], of a question for a fact a second one too;
    a list or code block stays whole, residue of Markdown is taken out. Further sources are named
    with an excerpt. A citation's quote is the untouched text of what is marked. When the evidence
    is missing, `found` is False and the text names the nearest document.

    Args:
        embedder: None, or while it fails (then noted): the words alone decide.
        match_terms: rag.match_terms of the collection, so that words which it does not have count;
            None: words are counted in the hits.
        judge: whether evidence is enough, and why not; None: its strength decides.
        read_around: the text around a chunk, for the rest of its section; None: the chunk alone.
        spread: of the space's cosines, see `similarity`.
        scorer: the reranker of the search: it decides which passage, which sentence, and whether.
    """
    evidence = examine(
        question_subject(question, hits),
        hits,
        embedder=embedder,
        match_terms=match_terms,
        spread=spread,
        scorer=scorer,
        read_around=read_around,
    )
    return answer_of(question, hits, evidence, judge=judge, read_around=read_around)


def answer_of(
    question: str,
    hits: Sequence[Hit],
    evidence: Evidence | None,
    *,
    judge: Judge | None = None,
    read_around: ReadAround | None = None,
) -> Answer:
    """Return the answer of `answer_extractive` by the evidence that the hits are for a question."""
    if evidence is None:
        return _not_found(distinct_hits(hits), [], "the search found nothing")
    judged = (judge or judge_strength)(question, evidence)
    uncounted = explain_uncounted(question, evidence, read_around)
    if judged.zone == "refuse" or uncounted:
        sources = [c.hit for c in evidence.candidates]
        refused = _not_found(sources, evidence.notes, uncounted or judged.reason)
        return replace(refused, support=judged.support)
    return replace(
        compose_answer(question, evidence, read_around),
        support=judged.support,
        sufficient=None if judged.support is None else judged.zone == "answer",
        reason=judged.reason if judged.zone == "hedge" else "",
    )


def judge_strength(question: str, evidence: Evidence) -> Assessment:
    """Judge evidence by its strength alone: answer or refuse."""
    zone: Zone = "answer" if evidence.is_enough else "refuse"
    return Assessment(zone=zone, reason=explain_lack(evidence) or _explain_weakness(evidence))


def explain_lack(evidence: Evidence) -> str:
    """Name what the evidence lacks, what weighs most first; "": no word and no number."""
    found = []
    if evidence.missing:
        listed = ", ".join(f"“{word}”" for word in evidence.missing[:5])
        found.append(f"no source has {listed}")
    if evidence.lacks_number:
        found.append("the best passage has no number, which is asked for")
    if evidence.mismatch:
        found.append(evidence.mismatch)
    return "; ".join(found)


def _explain_weakness(evidence: Evidence) -> str:
    if evidence.reranker:
        return f"{evidence.reranker} finds no passage better than text about something else"
    if evidence.coverage < ALL:
        return "no source has all words of the question"
    return "no sentence is near enough to the question in meaning"


def _not_found(sources: Sequence[Hit], notes: Sequence[str], reason: str) -> Answer:
    nearest = f" The nearest is “{sources[0].title or sources[0].uri}”." if sources else ""
    return Answer(
        text=NOT_FOUND + nearest,
        found=False,
        sufficient=False,
        reason=reason,
        citations=(),
        model=MODEL,
        usage=Usage(),
        notes=list(notes),
    )
