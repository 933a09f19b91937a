"""The answering passage as it is shown, and the other sources beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rag_pg.answer.passage import Page, following_code, window
from rag_pg.answer.passage_scores import Candidate, Evidence, heading_path
from rag_pg.answer.prompt import cite
from rag_pg.answer.question_kind import QuestionKind
from rag_pg.text import Sentence
from rag_pg.types import Answer, Citation, Hit, Usage

ReadAround = Callable[[int], str | None]

MODEL = "extractive"
SECOND_SHARE = 0.5  # of the answering sentence's score, for a second one to be marked
FURTHER = 2  # other documents that are named, with an excerpt
FURTHER_SHARE = 0.6  # of the first one's evidence, to be named
EXCERPT = 160  # characters of it
LIMIT = 450  # characters of a passage
HOW_TO_LIMIT = 600


def compose_answer(
    question: str, evidence: Evidence, read_around: ReadAround | None = None
) -> Answer:
    """Return the answer of evidence, whether or not it is enough."""
    ranked = sorted(evidence.candidates, key=lambda c: -c.score)
    return _compose(question, ranked, evidence.kind, read_around, evidence.notes)


def _compose(
    question: str,
    ranked: Sequence[Candidate],
    kind: QuestionKind,
    read_around: ReadAround | None,
    notes: Sequence[str],
) -> Answer:
    first, second = _two_best(ranked)
    cited = [first[1]]
    if kind != "how_to" and second and second[0] is first[0]:
        cited.append(second[1])
    text, citation = _show_passage(question, first[0], cited, kind, read_around)
    citations, paragraphs = [citation], [text]
    seen = {_source(first[0].hit)}
    documents = [first[0].hit.document_id]
    others = [second[0]] if second and second[0] is not first[0] else []
    for c in [*others, *ranked]:
        if _source(c.hit) in seen or documents.count(c.hit.document_id) > 1:
            continue
        if len(citations) > FURTHER:
            break
        if c.evidence < FURTHER_SHARE * first[0].evidence:
            continue
        documents.append(c.hit.document_id)
        seen.add(_source(c.hit))
        number = len(citations) + 1
        path = " › ".join(heading_path(c.hit)) or c.hit.uri
        shown, quote = _excerpt(c)
        paragraphs.append(f"{path}: {shown} [{number}]")
        citations.append(cite(number, c.hit, quote))
    return Answer(
        text="\n\n".join(paragraphs),
        found=True,
        citations=citations,
        model=MODEL,
        usage=Usage(),
        notes=list(notes),
    )


def _two_best(
    ranked: Sequence[Candidate],
) -> tuple[tuple[Candidate, int], tuple[Candidate, int] | None]:
    """Return the answering sentence, of the best passage, and the next best of all."""
    first = (ranked[0], ranked[0].best)
    enough = SECOND_SHARE * first[0].scores[first[1]]
    rest = [
        (c, position)
        for c in ranked
        for position in range(len(c.shown))
        if (c is not first[0] or position != first[1]) and c.scores[position] >= enough
    ]
    return first, max(rest, key=lambda r: r[0].score + r[0].scores[r[1]], default=None)


def _show_passage(
    question: str,
    c: Candidate,
    cited: Sequence[int],
    kind: QuestionKind,
    read_around: ReadAround | None,
) -> tuple[str, Citation]:
    """Return the passage around the sentence cited[0] with its heading path, and its citation."""
    page, positions = _on_page(c, cited, read_around)
    how_to = kind == "how_to"
    section = page.section(positions[0])
    follow = None
    if how_to and not page.sections[section].code:
        follow = following_code(page, section, question)
    limit = LIMIT if not how_to else HOW_TO_LIMIT if follow is None else HOW_TO_LIMIT // 2
    span = window(page, positions, limit=limit, lead=kind in ("fact", "quantity"))
    if follow is not None:
        span = range(span.start, min(span.stop, page.sections[section].last))
    positions = [position for position in positions if position in span]
    shown = page.show(span, cited=positions, number=1)
    if follow is not None:
        begin = page.sections[follow].first
        more = window(page, [begin], limit=HOW_TO_LIMIT - len(shown), lead=True)
        shown += f"\n\n{page.sections[follow].heading}\n\n{page.show(more)}"
    path = " › ".join(heading_path(c.hit))
    cited = sorted(cited[: len(positions)])
    quote = c.hit.content[c.sentences[cited[0]].start : c.sentences[cited[-1]].stop]
    return f"{path}\n\n{shown}" if path else shown, cite(1, c.hit, quote)


def _on_page(
    c: Candidate, cited: Sequence[int], read_around: ReadAround | None
) -> tuple[Page, list[int]]:
    """Return the hit with the text around it, and where the cited sentences stand there."""
    around = read_around(c.hit.chunk_id) if read_around else None
    content = c.hit.content.strip()
    offset = around.find(content) if around else -1
    if around is not None and offset >= 0:
        page = Page.read(around)
        offset -= c.hit.content.index(content)
        positions = [_position(page.sentences, c.sentences[at], offset) for at in cited]
        if positions[0] is not None:
            return page, [position for position in dict.fromkeys(positions) if position is not None]
    return Page.plain(c.hit.content, c.sentences), list(cited)


def _position(sentences: Sequence[Sentence], sentence: Sentence, offset: int) -> int | None:
    """Return which of `sentences` has the most of `sentence`, which stands `offset` later there."""
    start, stop = sentence.start + offset, sentence.stop + offset
    shared = [min(s.stop, stop) - max(s.start, start) for s in sentences]
    best = int(np.argmax(shared)) if shared else -1
    return best if best >= 0 and shared[best] > 0 else None


def _source(hit: Hit) -> tuple[object, str]:
    return hit.document_id, hit.heading


def _excerpt(c: Candidate) -> tuple[str, str]:
    """Return the best sentence without its code and the next ones, to EXCERPT characters, and their
    quote."""
    shown = _prose(c.shown[c.best])
    last = c.best
    while last + 1 < len(c.shown) and c.sentences[last + 1].kind != "code":
        more = f"{shown} {_prose(c.shown[last + 1])}"
        if len(more) > EXCERPT:
            break
        shown, last = more, last + 1
    if len(shown) > EXCERPT:
        shown = shown[:EXCERPT].rsplit(" ", 1)[0] + " …"
    return shown, c.hit.content[c.sentences[c.best].start : c.sentences[last].stop]


def _prose(shown: str) -> str:
    prose = shown.partition("\n\n```")[0] if not shown.startswith("```") else ""
    return prose or " ".join(shown.split("\n")[1:-1])
