"""The answering passage as it is shown, and the other sources beside it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from rag_pg.answer.extractive.candidate import Candidate
from rag_pg.answer.extractive.passage_scores import LABEL, Evidence, heading_path
from rag_pg.answer.prompt import cite
from rag_pg.answer.reading.aggregates import (
    MOST_ROWS,
    aggregate,
    asked_aggregate,
    asked_extreme,
    is_counted,
    row_as_table,
    without_operation,
)
from rag_pg.answer.reading.display import OPEN, display
from rag_pg.answer.reading.freshness import (
    are_editions,
    asked_until,
    is_changed,
    is_of_page,
    is_restated,
    other_figures,
    source_date,
)
from rag_pg.answer.reading.identifiers import Identifiers
from rag_pg.answer.reading.measures import asked_dimensions, has_amount
from rag_pg.answer.reading.passage import (
    AFTER,
    BEFORE,
    BEYOND,
    CLAUSE,
    WITHIN,
    Page,
    ReadAround,
    following_code,
    thin,
    window,
)
from rag_pg.answer.reading.question_kind import QuestionKind, asks_who, has_number, question_parts
from rag_pg.answer.reading.rows import readings, rows_without
from rag_pg.text import (
    Sentence,
    Table,
    compared_by,
    compared_things,
    content_words,
    find_tables,
    head_above,
    is_among,
    item_mark,
    split_sentences,
    words,
)
from rag_pg.types import Answer, Citation, Hit, Usage

Cited = tuple[Candidate, int]  # and which of its sentences

MODEL = "extractive"
# Of the answering sentence's score, for a second one to be marked: one that has no word of the
# question itself, and one that has.
SECOND = (0.75, 0.5)
LEAST_WEIGHT = 0.15  # of what is asked, that a part of a question has
FURTHER = 2  # other documents that are named, with an excerpt
FURTHER_LESS = 0.08  # evidence of such a document below that of the first, at most
INFLECTED = 0.9  # what a word in another form counts
EXCERPT = 160  # characters of it
LIMIT = 900  # characters of a passage
NEARLY = 0.6  # of the score of a sentence, that steps have which are shown for it
_REFERS = re.compile(  # to the sentence before
    r"(?:(?:for|in|by|with|after|of)\s+)?(?:this|these|that|those|it|its|they|them|he|she|such)\b"
    r"|dies\w{0,2}\b|(?:das|es|sie|er|dafür|damit|dabei|dazu)\b"
    r"|(?:pour\s+)?(?:cela|ceci|ça|il|elle|ils|elles)\b|(?:por\s+)?(?:eso|esto|este|esta)\b",
    re.IGNORECASE,
)
_BOLD = re.compile(r"(\*\*|__).+\1")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, the passages for it, best first, and what reads the text around one."""

    question: str
    kind: QuestionKind
    ranked: Sequence[Candidate]
    read_around: ReadAround | None


def compose_answer(
    question: str, evidence: Evidence, read_around: ReadAround | None = None
) -> Answer:
    """Return the answer of evidence, whether or not it is enough."""
    ranked, kind = sorted(evidence.candidates, key=lambda c: -c.score), evidence.kind
    asked = _Asked(question, kind, ranked, read_around)
    weights = {word: a.weight for a in evidence.asked for word in words(a.word)}
    first, named = (ranked[0], ranked[0].best), Identifiers.of(question)
    edition = _edition(asked, first)
    parts = _of_each_part(question, ranked, weights)
    has_parts = len(parts) > 1
    if has_parts:
        passages = _by_passage(_edition(asked, part) or part for part in parts)
    else:
        c, at = edition or _of_counted(asked) or first
        alone = edition or kind == "how_to" or is_of_page(c.shown[at])
        passages = [(c, [at, *([] if alone else _next_best(asked, named, c, at))])]
    shown = [_show_passage(asked, n, c, cited) for n, (c, cited) in enumerate(passages, 1)]
    paragraphs, citations = [p.text for p in shown], [p.citation for p in shown]
    seen = {_source(c.hit) for c, _ in passages}
    documents = [c.hit.document_id for c, _ in passages]
    others = [first[0]] if edition else []
    for c in [] if has_parts else [*others, *sorted(ranked, key=lambda c: -c.evidence)]:
        if _source(c.hit) in seen or documents.count(c.hit.document_id) > 1:
            continue
        if len(citations) > FURTHER:
            break
        path = " › ".join(heading_path(c.hit)) or c.hit.uri
        if c.evidence < first[0].evidence - FURTHER_LESS or named.differ_in(path):
            continue
        documents.append(c.hit.document_id)
        seen.add(_source(c.hit))
        number = len(citations) + 1
        excerpt, quote = _excerpt(c, _answering(asked, c, c.best))
        paragraphs.append(f"{_age(c, *passages[0])}{path}: {excerpt} [{number}]")
        citations.append(cite(number, c.hit, quote))
    return Answer(
        text="\n\n".join(paragraphs),
        found=True,
        citations=citations,
        model=MODEL,
        usage=Usage(),
        notes=[*evidence.notes, *filter(None, (p.note for p in shown))],
    )


def question_subject(question: str, hits: Sequence[Hit]) -> str:
    """Return a question without the words that only say what is to be done with what it is about:
    compare it, or count it over a table of the hits."""
    if things := compared_things(question):
        return question if compared_by(question) else " and ".join(things)
    if not is_counted(question):
        return question
    for hit in hits:
        about = " ".join([*heading_path(hit), hit.content.partition("|")[0]])
        tables = find_tables(hit.content, split_sentences(hit.content))
        for table in tables:
            if _aggregate(question, table, about):
                return without_operation(question, table)
    return question


def _by_passage(cited: Iterable[Cited]) -> list[tuple[Candidate, list[int]]]:
    """The sentences of each section of a passage, in order."""
    found: dict[tuple[int, str], tuple[Candidate, list[int]]] = {}
    for c, at in dict.fromkeys(cited):
        found.setdefault((c.hit.chunk_id, c.headings_above[at]), (c, []))[1].append(at)
    return list(found.values())


def _edition(asked: _Asked, first: Cited) -> Cited | None:
    """Return the sentence of the newest document, of the time that a question is about, which
    states other figures than the answering one, or of the newest section of its document; None
    where that is of it."""
    question, (c, at) = asked.question, first
    if section := _newest_section(asked, c, at):
        return section
    until = asked_until(question)
    years = re.findall(r"\b\d{4}\b", question) if until is None else [str(until.year)]
    if any(year in f"{c.hit.title}{c.hit.uri}" for year in years):
        return None
    day, sentence = c.day, c.sentences[at].text
    last = until or date.max
    editions = [
        (found, -n, other.scores[position], position)
        for n, other in enumerate(asked.ranked)
        if day and (found := other.day) and found <= last and (found > day or day > last)
        for position, against in enumerate(other.sentences)
        if other_figures(c.hit, sentence, other.hit, against.text)
        or is_restated(c.hit, sentence, other.hit, against.text)
        or (position == other.best and _says_as_much(other, c, at))
    ]
    if not editions:
        return None
    _, n, _, position = max(editions)
    return asked.ranked[-n], position


def _newest_section(asked: _Asked, c: Candidate, at: int) -> Cited | None:
    """Return the sentence of the section of latest date, as of release notes, which states other
    figures than the answering one of its document; None where there is none or a question names
    a number, which may be a section's."""
    day = _section_day(c, at)
    if day is None or has_number(asked.question):
        return None
    later = [
        (found, -n, position)
        for n, other in enumerate(asked.ranked)
        if other.hit.document_id == c.hit.document_id
        for position, against in enumerate(other.sentences)
        if (found := _section_day(other, position)) is not None
        and found > day
        and is_changed(c.sentences[at].text, against.text)
    ]
    if not later:
        return None
    _, n, position = max(later)
    return asked.ranked[-n], position


def _section_day(c: Candidate, at: int) -> date | None:
    """The date in the heading above a sentence."""
    return source_date({}, c.headings_above[at] or c.hit.heading.rpartition(" > ")[2], "")


def _says_as_much(edition: Candidate, c: Candidate, at: int) -> bool:
    """Whether the best sentence of another edition of a document answers as well as a sentence of
    it: it has all of the question's words that it has, is as near in meaning or stands under the
    same heading."""
    hits = (c.hit, edition.hit)
    is_dated = all(source_date(hit.metadata, f"{hit.title}\n{hit.uri}", "") for hit in hits)
    if not is_dated or not are_editions(*hits):
        return False
    if edition.similarities[edition.best] >= c.similarities[at] - FURTHER_LESS:
        return True
    heading = c.headings_above[at]
    return edition.evidence >= c.evidence - FURTHER_LESS and (
        edition.words_found >= c.words_found
        or (heading != "" and heading == edition.headings_above[edition.best])
    )


def _age(c: Candidate, first: Candidate, cited: Sequence[int]) -> str:
    """The date of a passage that states other figures than the answering one, of another date."""
    day, other = first.day, c.day
    sentence = first.sentences[cited[0]].text
    if (
        not day
        or not other
        or day == other
        or not any(
            other_figures(first.hit, sentence, c.hit, s.text)
            or is_restated(c.hit, s.text, first.hit, sentence)
            or (n == c.best and are_editions(first.hit, c.hit))
            for n, s in enumerate(c.sentences)
        )
    ):
        return ""
    return f"{'Older' if other < day else 'Newer'}, of {other}: "


def _of_each_part(
    question: str, ranked: Sequence[Candidate], weights: Mapping[str, float]
) -> list[Cited]:
    """Return the sentences that answer each part of a question, or speak of each of two things that
    it compares, under a heading that names the one alone where there is such; none where it has one
    part, a part has little of what is asked (`weights`), or no passage has the words of a part."""
    parts, least = question_parts(question)
    is_compared = bool(compared_things(question))
    texts = [_texts(c) for c in ranked]
    by = dict.fromkeys(compared_by(question), 1.0)
    found: list[Cited] = []
    for part, other in zip(parts, parts[::-1], strict=True):
        weighed = {word: 1.0 if is_compared else weights.get(word, 0.0) for word in part}
        if sum(weighed.values()) < LEAST_WEIGHT:
            return []
        options = [
            (
                _share(weighed, [*path, *text]),
                is_compared
                and (
                    _is_term(part, ranked[n].shown[at])
                    or (
                        _share(weighed, path) >= least
                        and _share(dict.fromkeys(other, 1.0), path) < least
                    )
                ),
                is_compared and not _names_other(part, other, text, least),
                _share(by, text) if by else 0.0,  # by what they are compared
                ranked[n].score + ranked[n].scores[at],
                -n,
                at,
            )
            for n in range(len(ranked))
            for at, (path, text) in enumerate(texts[n])
        ]
        share, *_, n, at = max(options)
        if share < least:
            return []
        found.append((ranked[-n], at))
    return list(dict.fromkeys(found))


def _is_term(part: Collection[str], shown: str) -> bool:
    """Whether a sentence says what a thing is, behind its name and a colon, as glossaries do."""
    name, colon, _ = shown.partition(":")
    own = words(name)
    return bool(colon) and 0 < len(own) <= len(part) and all(_agreement(w, part) for w in own)


def _names_other(
    part: Collection[str], other: Collection[str], text: Collection[str], least: float
) -> bool:
    """Whether a sentence is of the other of two things that are compared, and not of the one."""
    one, another = (_share(dict.fromkeys(side, 1.0), text) for side in (part, other))
    return another >= least > one


def _texts(c: Candidate) -> list[tuple[list[str], list[str]]]:
    """The words of the headings above each sentence of a hit, and its own."""
    path = words(" ".join(heading_path(c.hit)))
    pairs = zip(c.headings_above, c.shown, strict=True)
    return [([*path, *words(heading)], words(shown)) for heading, shown in pairs]


def _share(weighed: Mapping[str, float], text: Collection[str]) -> float:
    """The share of some words by their weights that a text has."""
    has = sum(weight * _agreement(word, text) for word, weight in weighed.items())
    return has / sum(weighed.values())


def _agreement(word: str, text: Collection[str]) -> float:
    """How well a text has a word: 1, or INFLECTED in another form."""
    return float(word in text) or INFLECTED * is_among(word, text)


def _next_best(asked: _Asked, named: Identifiers, c: Candidate, at: int) -> list[int]:
    """Return the best other sentence of a passage, where it says enough, or where the first lacks
    the number that is asked for, in its unit, and this has it, under the same heading; none beside
    an item or a row, as the others speak of something else, and none that names another
    identifier."""
    units = asked_dimensions(asked.question)
    told = [bool(units) and has_amount(shown, units) for shown in c.shown]
    told = told if any(told) else [has_number(shown) for shown in c.shown]
    is_prose = c.sentences[at].kind == "prose"
    others = [n for n, s in enumerate(c.sentences) if n != at and is_prose and s.kind == "prose"]
    if numbers := asked.kind == "quantity":
        others = [n for n in others if c.headings_above[n] == c.headings_above[at]]
        gap = c.hit.content[c.sentences[at].stop :][:2]
        others = others if is_prose else [at + 1] if gap.strip(" ") and "\n" not in gap else []
        others = [n for n in others if n < len(c.shown) and told[n]]
    if numbers and told[at]:
        return []
    page = c.page
    if page.sections[page.section(at)].level >= CLAUSE:  # the others are about something else
        others = [n for n in others if page.section(n) == page.section(at)]
    others = [n for n in others if not named.differ_in(c.shown[n])]
    if not numbers:
        others = [n for n in others if c.scores[n] >= SECOND[bool(c.word_shares[n])] * c.scores[at]]
    best = max(others, key=lambda n: c.scores[n], default=None)
    return [] if best is None else [best]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shown:
    """A passage as it is shown; note: what of a list or a table was left out."""

    text: str
    citation: Citation
    note: str


def _show_passage(asked: _Asked, number: int, c: Candidate, cited: Sequence[int]) -> _Shown:
    """Return the passage around the sentence cited[0] with its heading path, and its citation."""
    question, kind = asked.question, asked.kind
    cited = list(dict.fromkeys(_answering(asked, c, at) for at in cited))
    if (what := c.sentences[cited[0]].kind) != "prose":  # what else is of something else
        cited = [n for n in cited if c.sentences[n].kind == what]
    cited = list(dict.fromkeys([*cited, *(n for at in cited for n in _needed(c, at, kind))]))
    page, positions = _on_page(asked, c, cited)
    section = page.section(positions[0])
    parts = [*heading_path(c.hit), page.sections[section].heading]
    path = " › ".join(dict.fromkeys(filter(None, parts)))
    if counted := _count_rows(asked, c, page, positions[0], number):
        return replace(counted, text=f"{path}\n\n{counted.text}" if path else counted.text)
    how_to = kind == "how_to"
    follow = None
    if how_to and not page.sections[section].code:
        follow = following_code(page, section, question)
    limit = LIMIT if follow is None else LIMIT // 2
    note, extreme = "", _uncounted(question, c, page, positions[0])
    if follow is None:
        most = limit + BEYOND if how_to else LIMIT // 2
        others = {at for table in page.tables for at in rows_without(question, table)}
        page, positions, note = thin(page, positions, question, most, but=others)
        if not asks_who(question):
            page, positions = _without_dates(page, positions)
    span = window(page, positions, limit=limit, lead=not how_to)
    if follow is not None:
        span = range(span.start, min(span.stop, page.sections[section].last))
    positions = [position for position in positions if position in span]
    shown = page.show(span, cited=() if extreme else positions, number=number)
    if extreme:
        shown += f" [{number}]"
        told = f"which row is meant by “{extreme}” could not be counted, so none is marked"
        note = f"{note}; {told}" if note else told
    if follow is not None:
        begin = page.sections[follow].first
        more = window(page, [begin], limit=LIMIT - len(shown), lead=True)
        shown += f"\n\n{page.sections[follow].heading}\n\n{page.show(more)}"
    above = c.headings_above[cited[0]].split(WITHIN)
    path = " › ".join(
        filter(None, [path, *(a for a in above if a not in parts and a not in shown)])
    )
    cited = sorted(cited[: len(positions)])
    quote = c.hit.content[c.sentences[cited[0]].start : c.sentences[cited[-1]].stop]
    text = f"{path}\n\n{shown}" if path else shown
    return _Shown(text=text, citation=cite(number, c.hit, quote), note=note)


def _without_dates(page: Page, positions: Sequence[int]) -> tuple[Page, list[int]]:
    """Return the page without what it says of itself in a paragraph (2026-05-01; by Ann Lee), but
    for some sentences, and where these are then."""
    dropped = {
        n
        for n, sentence in enumerate(page.sentences)
        if n not in positions and is_of_page(display(sentence)) and page.is_alone(n)
    }
    return page.without(dropped), [p - sum(d < p for d in dropped) for p in positions]


def _uncounted(question: str, c: Candidate, page: Page, position: int) -> str:
    """Return the word that asks for a row with the most or least of something, where neither that
    row nor its table has the word, and the question names no row; "": it does not ask."""
    if asked_aggregate(question) not in ("maximum", "minimum") or c.of_another:
        return ""
    table = next((t for t in page.tables if position in t.rows), None)
    if table is None or len(table.rows) < 2:
        return ""
    return asked_extreme(question, " ".join([*table.names, table.row(position - table.rows[0])]))


def _needed(c: Candidate, position: int, kind: QuestionKind) -> list[int]:
    """Return what is to be read with a sentence: the one before, where it begins with what refers
    to that, of a short item the others, but of steps, and beside a row that a question names the
    others that it names."""
    rows = next((t.rows for t in c.page.tables if position in t.rows), ())
    if rows and c.of_another:
        return [n for n in rows if n not in {position, *c.of_another}]

    def is_next(n: int) -> bool:
        gap = c.hit.content[c.sentences[n - 1].stop : c.sentences[n].start]
        is_own = c.sentences[n].own_line or "\n\n" in gap or item_mark(f"\n{gap}") is not None
        return not is_own and c.sentences[n - 1].kind == c.sentences[n].kind in ("prose", "item")

    begin, end = position, position + 1
    start = c.sentences[position].start
    is_step = kind == "how_to" and item_mark(c.hit.content[max(0, start - 80) : start]) is not None
    while begin and is_next(begin) and _REFERS.match(c.shown[begin]):
        begin -= 1
    if c.sentences[position].kind == "item" and not is_step:
        while begin and is_next(begin):
            begin -= 1
        while end < len(c.shown) and is_next(end):
            end += 1
        if sum(map(len, c.shown[begin:end])) > EXCERPT:
            begin, end = position, position + 1
    return [n for n in range(begin, end) if n != position]


def _answering(asked: _Asked, c: Candidate, position: int) -> int:
    """Return the sentence that answers: behind one that asks or is a heading in bold, and in the
    place of a table's head, or of what introduces a table or list, the row or item with the most of
    the question's words, of such the nearest; how something is done, all items say."""
    last = len(c.sentences) - 1
    while position < last and (
        c.shown[position].endswith(("?", "？", "؟"))
        or (len(c.shown[position]) < LABEL and _BOLD.fullmatch(c.sentences[position].text))
        or c.headings_above[position + 1] == c.shown[position].rstrip(":：")
    ):
        position += 1
    if asked.kind == "how_to":
        position = _first_step(c, position)
    leads = asked.kind != "how_to" and c.shown[position].endswith(OPEN)
    block = c.page.block(position + leads)
    if block is None or block.first != position + leads or block.starts[0] == position:
        return position
    own = [position, *block.starts]
    wanted = content_words(asked.question)
    has = [{a for a in wanted if is_among(a, words(c.shown[at]))} for at in own]
    best = max(
        range(1, len(own)),
        key=lambda n: (
            own[n] not in c.of_another,
            len(has[n] - has[0]),
            len(has[n]),
            c.scores[own[n]],
            -n,
        ),
    )
    return own[best] if not leads or has[best] - has[0] else position


def _first_step(c: Candidate, position: int) -> int:
    """Return where the steps begin that stand under the heading of a sentence, where they say what
    is asked nearly as well as it; else the sentence."""
    steps = [
        block
        for block in c.page.blocks
        if block.what == "items"
        and len(block.starts) > 1
        and c.headings_above[block.first] == c.headings_above[position]
        and (item_mark(c.hit.content[: c.sentences[block.first].start]) or "").strip()[:1].isdigit()
    ]
    if len(steps) != 1 or steps[0].first <= position < steps[0].last:
        return position
    best = max(c.scores[steps[0].first : steps[0].last])
    return steps[0].first if best >= NEARLY * c.scores[position] else position


def explain_uncounted(question: str, evidence: Evidence, read_around: ReadAround | None) -> str:
    """Say that what a question wants to be counted is of a table that goes on beyond what is read,
    or is too long, and that no sentence before it tells; "": it is not so."""
    ranked = sorted(evidence.candidates, key=lambda c: -c.score)
    asked, best = _Asked(question, evidence.kind, ranked, read_around), ranked[0]
    is_told = best.sentences[best.best].kind == "prose" and has_number(best.shown[best.best])
    is_of_all = asked_aggregate(question) in ("sum", "average", "count")  # which no row tells
    if not is_of_all or is_told or best.of_another or _of_counted(asked):
        return ""
    page, positions = _on_page(asked, best, [best.best])
    table, about = _table_near(best, page, positions[0]) or (None, "")
    if table is None or (page.is_whole(table) and len(table.rows) <= MOST_ROWS):
        return ""
    some = replace(table, rows=table.rows[:MOST_ROWS], cells=table.cells[:MOST_ROWS])
    told = f"the table of {', '.join(filter(None, table.names))} is too long to be counted"
    return told if _aggregate(question, some, about) else ""


def _table_near(c: Candidate, page: Page, position: int) -> tuple[Table, str] | None:
    """The one table of the section of a sentence, and what stands above it."""
    section = page.sections[page.section(position)]
    near = [t for t in page.tables if section.first <= t.first < section.last]
    if len(near) != 1 or not near[0].rows:
        return None
    first = near[0].first
    lead = page.sentences[first - 1].text if first > section.first else ""
    return near[0], " ".join([*heading_path(c.hit), section.heading, lead])


def _count_rows(
    asked: _Asked, c: Candidate, page: Page, position: int, number: int = 1
) -> _Shown | None:
    """Return what a question wants to be counted over a table, with the rows that this is true of;
    None where the table may go on outside the page, or none of them stands in a passage of its
    document."""
    if (near := _table_near(c, page, position)) is None:
        return None
    table, about = near
    found = _aggregate(asked.question, table, about)
    if found is None or not page.is_whole(table):
        return None
    result, rows = found
    own = [c, *(other for other in asked.ranked if other.hit.document_id == c.hit.document_id)]
    quoted = next(((one, texts) for one in own if (texts := _inside(one, page, rows))), None)
    if quoted is None:
        return None
    one, inside = quoted
    start = one.hit.content.index(inside[0])
    quote = one.hit.content[start : one.hit.content.index(inside[-1], start) + len(inside[-1])]
    dropped = set(table.rows).difference(rows)
    some = page.without(dropped).show(range(table.first, table.last - len(dropped)))
    note = f"{len(rows)} of {len(table.rows)} rows are shown" if dropped else ""
    marked = f"**{result}** [{number}]\n\n{some}"
    return _Shown(text=marked, citation=cite(number, one.hit, quote), note=note)


def _aggregate(question: str, table: Table, about: str) -> tuple[str, Sequence[int]] | None:
    """What is asked of a table, of those of its rows that have what the question names, or of one
    row whose columns are the things; None where that cannot be told for certain."""
    for rest, which, rows in readings(question, table) if is_counted(question) else []:
        if found := aggregate(rest, rows, about):
            return f"{found[0]} ({which})" if which else found[0], found[1]
    turned = (row_as_table(table, row) for row in range(len(table.rows[:MOST_ROWS])))
    of_rows = [found for row in turned if (found := aggregate(question, row, about))]
    return of_rows[0] if len(of_rows) == 1 else None


def _of_counted(asked: _Asked) -> Cited | None:
    """Return the best sentence of the first passage of the first document, or of one with as much
    evidence, around which what a question wants can be counted; None for none, or where nothing is
    counted."""
    if not is_counted(asked.question):
        return None
    first = asked.ranked[0]
    for c in asked.ranked:
        if c.hit.document_id != first.hit.document_id and c.evidence < first.evidence:
            continue
        page, positions = _on_page(asked, c, [c.best])
        if _count_rows(asked, c, page, positions[0]):
            return c, c.best
    return None


def _inside(c: Candidate, page: Page, rows: Sequence[int]) -> list[str]:
    """Those of some rows of a page that stand in the passage."""
    texts = (page.text[page.sentences[n].start : page.sentences[n].stop] for n in rows)
    return [text for text in texts if text in c.hit.content]


def _on_page(asked: _Asked, c: Candidate, cited: Sequence[int]) -> tuple[Page, list[int]]:
    """Return the hit with the text around it, and where the cited sentences stand there."""
    around = asked.read_around(c.hit.chunk_id) if asked.read_around else None
    begin = c.sentences[c.page.tables[0].rows[0]].start if c.page.goes_on else 0
    content = c.hit.content[begin:].strip()
    offset = around.content.find(content) if around else -1
    has_head = around and (not c.page.goes_on or head_above(around.content[:offset]))
    if around is not None and offset >= 0 and has_head:
        at = around.chunk_keys.index(c.hit.chunk_id)
        ends = len(around.chunk_keys) - at <= AFTER
        begins = at < BEFORE or around.start_offset == 0
        page = replace(Page.read(around.content), begins=begins, ends=ends)
        offset -= c.hit.content.index(content)
        positions = [_position(page.sentences, c.sentences[at], offset) for at in cited]
        if positions[0] is not None:
            return page, [position for position in dict.fromkeys(positions) if position is not None]
    is_all = asked.read_around is None
    return replace(c.page, begins=is_all, ends=is_all), list(cited)


def _position(sentences: Sequence[Sentence], sentence: Sentence, offset: int) -> int | None:
    """Return which of `sentences` has the most of `sentence`, which stands `offset` later there."""
    start, stop = sentence.start + offset, sentence.stop + offset
    shared = [min(s.stop, stop) - max(s.start, start) for s in sentences]
    best = int(np.argmax(shared)) if shared else -1
    return best if best >= 0 and shared[best] > 0 else None


def _source(hit: Hit) -> tuple[object, str]:
    return hit.document_id, hit.heading


def _excerpt(c: Candidate, first: int) -> tuple[str, str]:
    """Return a sentence without its code and the next ones, to EXCERPT characters, and their quote;
    of a row of a table its cells with the names of their columns."""
    row, last = c.page.rows().get(first), first
    shown = row or _prose(c.shown[first])
    while row is None and last + 1 < len(c.shown) and c.sentences[last + 1].kind != "code":
        gap = c.hit.content[c.sentences[last].stop : c.sentences[last + 1].start]
        if "\n\n" in gap or ("\n" in gap and c.sentences[last + 1].kind != "prose"):
            break
        more = f"{shown} {_prose(c.shown[last + 1])}"
        if len(more) > EXCERPT:
            break
        shown, last = more, last + 1
    if len(shown) > EXCERPT:
        shown = shown[:EXCERPT].rsplit(" ", 1)[0] + " …"
    return shown, c.hit.content[c.sentences[first].start : c.sentences[last].stop]


def _prose(shown: str) -> str:
    prose = shown.partition("\n\n```")[0] if not shown.startswith("```") else ""
    return prose or " ".join(shown.split("\n")[1:-1])
