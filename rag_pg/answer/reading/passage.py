"""The part of a page that is shown: contiguous, in whole sentences, its code and lists kept
together."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile

from rag_pg.answer.reading.display import OPEN, display_range
from rag_pg.text import (
    FENCES,
    Block,
    Sentence,
    Table,
    clause_starts,
    content_words,
    find_labels,
    find_lists,
    find_tables,
    find_terms,
    is_among,
    item_mark,
    parse_markdown,
    plain_heading,
    split_sentences,
    words,
)
from rag_pg.types import Passage

BEFORE, AFTER = 1, 4  # chunks beside one, which an answer may show with it
BEYOND = 700  # characters that a list or code block may go beyond the limit, to stay whole
SHORT_LEAD = 0.25  # of the limit, that the beginning of a section takes before what answers
LABEL = 7  # level of a section that begins with a line in bold or in capitals
DEFINED = LABEL + 1  # of a paragraph that opens with its term, beside others
CLAUSE = LABEL + 2  # of a clause; those of what is described below a term are deeper
STUB = 40  # characters of a sentence that only names what follows in its paragraph
WITHIN = " › "  # between terms within each other
NOTE = 40  # characters of a note to a table
NEXT_SECTIONS = 4  # how many sections after a how-to's are looked through for its code

DEFINITIONS = 3  # of them at least, each with a term of its own: no speakers, no questions
_DEFINITION = re.compile(r"(?:\A|\n\n)(?![-*+|#>\d])((?:[^\s:]+ ){0,3}?[^\s:]+): (?=\s?\S)")
_INCLUDED_CODE = re.compile(r"(?m)^[ \t]*(?:\{\*.*\*\}|\{!.*!\}|-+8<-+.*)[ \t]*$")


ReadAround = Callable[..., Passage | None]  # of a chunk, and how many before it


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A heading with the sentences [first, last) before the next heading; level 0 has no
    heading, and that of LABEL and deeper ones is the section's first sentence."""

    first: int
    last: int
    level: int
    heading: str
    code: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A Markdown text, or a part of one, in its sentences and sections, with its lists and
    tables. begins, ends: it is known to have the beginning, the end of its document; goes_on: its
    first rows are of a table that begins before it, and stand below its head."""

    text: str
    sentences: Sequence[Sentence]
    sections: Sequence[Section]
    blocks: Sequence[Block] = ()
    tables: Sequence[Table] = ()
    begins: bool = False
    ends: bool = False
    goes_on: bool = False

    @classmethod
    def read(cls, text: str) -> Page:
        sentences = split_sentences(text)
        heads = [*_find_headings(text), *_heads(text, sentences)]
        return cls._of(text, sentences, _sections(text, sentences, heads))

    @classmethod
    def _of(cls, text: str, sentences: Sequence[Sentence], sections: Sequence[Section]) -> Page:
        tables = find_tables(text, sentences)
        blocks = [Block(first=t.first, last=t.last, starts=t.rows, what="rows") for t in tables]
        blocks += [
            b
            for b in find_lists(text, sentences)
            if not any(b.first < t.last and t.first < b.last for t in tables)
        ]
        return cls(text=text, sentences=sentences, sections=sections, blocks=blocks, tables=tables)

    @classmethod
    def plain(cls, text: str, sentences: Sequence[Sentence]) -> Page:
        """A text without headings of Markdown, in given sentences."""
        return cls._of(text, sentences, _sections(text, sentences, _heads(text, sentences)))

    def section(self, position: int) -> int:
        """The number of the section that has sentence `position`."""
        return next(n for n, s in enumerate(self.sections) if s.first <= position < s.last)

    def block(self, position: int) -> Block | None:
        """The list or table that has sentence `position`."""
        return next((b for b in self.blocks if b.first <= position < b.last), None)

    def rows(self) -> dict[int, str]:
        """What each row of a table with a head says: its cells behind the names of its columns."""
        return {at: t.row(n) for t in self.tables if t.is_headed for n, at in enumerate(t.rows)}

    def is_whole(self, table: Table) -> bool:
        """Whether all rows of a table are certainly on the page: it has the end of the document or
        something apart behind the table, and its beginning, the table's head, or something apart
        before it; else a row may have been cut where the page begins."""
        begins = self.begins or table.rows[0] > table.first or self._is_apart(table.first)
        begins = begins and not (self.goes_on and table.first == 0)
        return begins and (self.ends or self._is_apart(table.last))

    def is_alone(self, position: int) -> bool:
        """Whether a sentence is a paragraph by itself, and no item, row or code."""
        is_last = position + 1 == len(self.sentences) or self._is_apart(position + 1)
        is_prose = self.sentences[position].kind == "prose"
        return is_prose and is_last and (position == 0 or self._is_apart(position))

    def _is_apart(self, position: int) -> bool:
        """Whether a sentence stands in another paragraph than the one before it."""
        around = self.sentences[max(position - 1, 0) : position + 1]
        return len(around) > 1 and "\n\n" in self.text[around[0].stop : around[1].start]

    def without(self, dropped: Collection[int]) -> Page:
        """The page without some sentences, none of them the only one of a section's list."""

        def moved(position: int) -> int:
            return position - sum(d < position for d in dropped)

        return replace(
            self,
            sentences=[s for at, s in enumerate(self.sentences) if at not in dropped],
            sections=[replace(s, first=moved(s.first), last=moved(s.last)) for s in self.sections],
            blocks=[
                replace(
                    b,
                    first=moved(b.first),
                    last=moved(b.last),
                    starts=[moved(at) for at in b.starts if at not in dropped],
                )
                for b in self.blocks
            ],
            tables=(),
        )

    def show(self, span: range, *, cited: Sequence[int] = (), number: int = 0) -> str:
        sentences = self.sentences[span.start : span.stop]
        marked = {position - span.start for position in cited}
        return display_range(self.text, sentences, cited=marked, number=number)


def _sections(
    text: str, sentences: Sequence[Sentence], heads: Sequence[tuple[int, int, str]]
) -> list[Section]:
    """The sections of a text by where each heading starts, its level and its words."""
    heads = [(0, 0, ""), *sorted(heads)]
    ends = [start for start, _, _ in heads[1:]] + [len(text)]
    starts = [s.start for s in sentences]
    return [
        Section(
            first=bisect_left(starts, start),
            last=bisect_left(starts, end),
            level=level,
            heading=heading,
            code=has_code(text[start:end]),
        )
        for (start, level, heading), end in zip(heads, ends, strict=True)
    ]


def _heads(text: str, sentences: Sequence[Sentence]) -> list[tuple[int, int, str]]:
    """Where what begins with a label, a clause or a term starts, and where what is around a term
    goes on behind it, with their levels; the words are those of a sentence."""
    found = dict.fromkeys(clause_starts(text), CLAUSE)
    defined = [(m.start(1), m[1]) for m in _DEFINITION.finditer(text)]
    if len(defined) >= DEFINITIONS and len({term for _, term in defined}) == len(defined):
        found |= {start: DEFINED for start, _ in defined if start not in found}
    found |= {start: LABEL for start, _ in find_labels(text, sentences)}
    open_: list[tuple[int, int]] = []  # where what is described ends, and its level
    goes_on: dict[int, int] = {}
    upto = -1
    for start, stop, _ in find_terms(text):
        begin = text.rfind("\n", 0, start - 1) + 1
        open_ = [(end, level) for end, level in open_ if end > begin]
        level = open_[-1][1] + 1 if open_ else CLAUSE + 1
        goes_on.setdefault(stop, level - 1)
        if begin == upto:  # a further term of the same, or the first within another
            begin = max(at for at in found if at <= begin)
        found[begin] = level
        open_.append((stop, level))
        upto = start
    return [(start, level, "") for start, level in sorted((goes_on | found).items())]


@dataclass(frozen=True, slots=True)
class SourceText:
    """The sentences of a source, the heading above each within it, what each says (a row of a table
    with the names of its columns), and the tables."""

    sentences: Sequence[Sentence]
    headings: Sequence[str]
    told: Sequence[str]
    tables: Sequence[Table]


@lru_cache(64)
def read_source(text: str) -> SourceText:
    """Read a source that many statements are compared with."""
    sentences = split_sentences(text)
    told = [sentence.text for sentence in sentences]
    tables = find_tables(text, sentences)
    for table in tables:
        for number, at in enumerate(table.rows):
            told[at] = table.row(number)
    return SourceText(sentences, headings_above(text, sentences), told, tables)


def headings_above(text: str, sentences: Sequence[Sentence]) -> list[str]:
    """Return the terms that each sentence of a text describes, the outermost first but for those in
    capitals, else the last heading or label within it that is above; "" where there is none."""
    heads = [(start, heading) for start, _, heading in _find_headings(text)]
    labels = [(start + 1, label) for start, label in find_labels(text, sentences)]
    found = [(start, len(text), heading) for start, heading in sorted([*heads, *labels])]
    terms = find_terms(text)
    above = []
    for s in sentences:
        own = [term for start, stop, term in terms if start <= s.start < stop]
        own = [term for term in own[:-1] if not term.isupper()] + own[-1:]
        last = next((head for start, stop, head in found[::-1] if start <= s.start < stop), "")
        above.append(WITHIN.join(own) or last)
    return above


def _find_headings(text: str) -> list[tuple[int, int, str]]:
    """Return where each heading starts, its level and its words."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return [
        (starts[node.first], node.level, plain_heading(node.heading))
        for node in parse_markdown(text)
        if node.kind == "heading" and node.first < len(starts)
    ]


def has_code(text: str) -> bool:
    """Whether a text shows code, or a line that includes it from a file."""
    return any(fence in text for fence in FENCES) or bool(_INCLUDED_CODE.search(text))


def thin(
    page: Page, positions: Sequence[int], question: str, most: int, *, but: Collection[int]
) -> tuple[Page, list[int], str]:
    """Return the page with no more of a list or table than answers, to `most` characters: of steps
    those up to the best sentence, else the item or row that has it and those with the most of the
    question's words, `but` some; where the sentences are then, and what was left out, in words."""
    block, section = page.block(positions[0]), page.sections[page.section(positions[0])]
    is_within = block and section.first <= block.first and block.last <= section.last
    if block is None or not is_within or _length(page, range(block.first, block.last)) <= most:
        return page, list(positions), ""
    stops = [*block.starts[1:], block.last]
    parts = [range(a, b) for a, b in zip(block.starts, stops, strict=True)]
    cited = [n for n, part in enumerate(parts) if any(p in part for p in positions)]
    but, asked = {*but}, content_words(question)
    texts = [words(" ".join(page.sentences[p].text for p in part)) for part in parts]
    scores = [sum(is_among(a, text) for a in asked) for text in texts]
    most_words = max(scores)
    begin = page.sentences[block.first].start
    is_numbered = (item_mark(page.text[max(0, begin - 80) : begin]) or "").strip()[:1].isdigit()
    steps = range(cited[-1], len(parts)) if cited and is_numbered else range(0)
    upto = [
        *takewhile(lambda n: _length(page, range(block.first, parts[n].stop)) <= most, steps),
    ]
    if upto:
        kept = set(range(upto[-1] + 1))
    else:
        kept = set(cited)
        for n in [n for n, score in enumerate(scores) if score == most_words > 0]:
            fits = sum(_length(page, parts[k]) for k in kept | {n}) <= most
            if fits and but.isdisjoint(parts[n]):
                kept.add(n)
    dropped = {p for n, part in enumerate(parts) if n not in kept for p in part}
    if not kept or not dropped:
        return page, list(positions), ""
    left = [p - sum(d < p for d in dropped) for p in positions if p not in dropped]
    return page.without(dropped), left, f"{len(kept)} of {len(parts)} {block.what} are shown"


def window(page: Page, positions: Sequence[int], *, limit: int, lead: bool) -> range:
    """Return the sentences of the section that are shown around sentence positions[0], to `limit`
    characters.

    With those of the other positions that fit.

    From the section's beginning where `best` comes in its first half of `limit`, else from `best`
    on; what is left goes to the sentences before. A list or a code block stays whole, to BEYOND
    more. A short section takes in its subsections, with `lead` up to a list or table of them; what
    is a clause, or described below a term, ends with it.

    Args:
        lead: begin with the paragraph of the best sentence, or with the list that stands directly
            above it.
    """
    best = positions[0]
    section = page.section(best)
    first, last = page.sections[section].first, page.sections[section].last
    is_named = bool(page.sections[section].heading) or page.sections[section].level >= LABEL
    begin = best
    while begin > first and (not lead or _is_joined(page, begin)):
        begin -= 1
    if is_named and _length(page, range(first, begin)) <= limit * SHORT_LEAD:
        begin = min(begin, first + (page.sections[section].level == LABEL))  # stands in the path
    above = page.block(begin - 1) if lead and begin > first else None
    if above and above.what == "items" and above.first >= first and above.last == begin:
        whole = _length(page, range(above.first, best + 1))
        begin = above.first if whole <= limit * 0.75 else begin
    start = begin if _length(page, range(begin, best + 1)) <= limit * 0.75 else best
    while start > first and _leans(page, start):
        start -= 1
    stop = best + 1
    begins, ends = _around(page, section)
    for other in positions[1:]:
        both = range(min(start, other), max(stop, other + 1))
        if begins <= other < ends and _length(page, both) <= limit + BEYOND / 2:
            start, stop = both.start, both.stop
            first, last = min(first, start), max(last, page.sections[page.section(other)].last)
    stop = max(
        stop, _together(page, best, last, limit + BEYOND - _length(page, range(start, stop)))
    )
    while stop < last and (page.sentences[best].kind != "row" or _is_note(page, stop)):
        end = _together(page, stop, last, len(page.text) * 2)  # a list whole, or not at all
        if _length(page, range(start, end)) > limit:
            break
        stop = end
    if stop == last and (not lead or page.sections[section].level >= LABEL):
        stop = _subsections(page, section, start, stop, limit)
    elif stop == last and _length(page, range(first, last)) <= limit * SHORT_LEAD:
        stop = _listed(page, section, start, stop, limit)
    while not lead and start > first and _length(page, range(start - 1, stop)) <= limit:
        start -= 1
    while stop - 1 > best and _ends_open(page, stop):
        stop -= 1
    return range(start, stop)


def _around(page: Page, section: int) -> tuple[int, int]:
    """The sentences [first, last) under the heading above a section, with its labels, clauses and
    terms."""
    first = last = section
    while first and page.sections[first].level >= LABEL:
        first -= 1
    while last + 1 < len(page.sections) and page.sections[last + 1].level >= LABEL:
        last += 1
    return page.sections[first].first, page.sections[last].last


def _ends_open(page: Page, stop: int) -> bool:
    """Whether the last of the sentences before `stop` says nothing without the next one: it
    introduces something, or names what follows in its paragraph (6. Requests.)."""
    last = page.sentences[stop - 1]
    if last.text.rstrip("*_` ").endswith((*OPEN, ",")):
        return True
    gap = page.text[last.stop : page.sentences[stop].start] if stop < len(page.sentences) else "\n"
    before = page.text[page.sentences[stop - 2].stop : last.start] if stop > 1 else "\n"
    return len(last.text) <= STUB and "\n" not in gap and "\n" in before


def _is_note(page: Page, position: int) -> bool:
    """Whether a sentence is a note to the table above it ("Euros a month before tax."); what else
    stands there speaks of something else."""
    text = page.sentences[position].text
    is_short = len(text) <= NOTE and not any(map(str.isdigit, text))
    return page.sentences[position].kind == "row" or (
        page.sentences[position - 1].kind == "row" and is_short
    )


def following_code(page: Page, section: int, question: str) -> int | None:
    """Return the one of the next NEXT_SECTIONS sections with code whose heading has most of the
    question's words, None where none has any."""
    asked = content_words(question)
    found: list[tuple[int, int]] = []
    for number in range(section + 1, min(section + 1 + NEXT_SECTIONS, len(page.sections))):
        after = page.sections[number]
        if after.level == 1 < page.sections[section].level:
            break
        if after.code and after.first < after.last:
            own = words(after.heading)
            if shared := sum(is_among(a, own) for a in asked):
                found.append((-shared, number))
    return min(found)[1] if found else None


def _length(page: Page, span: range) -> int:
    return len(page.show(span))


def _is_joined(page: Page, position: int) -> bool:
    """Whether a sentence stands in one paragraph with the one before it."""
    before, here = page.sentences[position - 1 : position + 1]
    gap = page.text[before.stop : here.start]
    return not here.own_line and here.kind == before.kind == "prose" and gap.count("\n") < 2


def _leans(page: Page, position: int) -> bool:
    """Whether a sentence cannot stand first: code, an item after its list's introduction, an answer
    after its question."""
    here, before = page.sentences[position], page.sentences[position - 1]
    block = page.block(position)
    if block is not None and position > block.first:
        return True
    if here.kind == "code" or before.text.endswith(("?", "？", "؟")):
        return True
    return (
        here.kind in ("item", "row")
        and before.kind == "prose"
        and before.text.rstrip("*_` ").endswith(OPEN)
    )


def _together(page: Page, position: int, last: int, most: int) -> int:
    """Return the end of sentence `position` with the list or code that it introduces, to `most`
    characters."""
    end = position + 1
    introduces = page.sentences[position].text.rstrip("*_` ").endswith(OPEN)
    if (
        end < last
        and page.sentences[end].kind == "code"
        and page.sentences[position].kind != "code"
    ):
        return end + 1 if _length(page, range(position, end + 1)) <= most else end
    block = page.block(end if introduces and end < last else position)
    while block and end < min(last, block.last):
        if _length(page, range(position, end + 1)) > most:
            break
        end += 1
    return end


def _listed(page: Page, section: int, start: int, stop: int, limit: int) -> int:
    """Return the end of a short section with the next of its subsections that has a list or table,
    where that fits."""
    for below in page.sections[section + 1 : section + 1 + NEXT_SECTIONS]:
        if below.level <= page.sections[section].level or not page.sections[section].level:
            break
        if any(below.first <= block.first < below.last for block in page.blocks):
            fits = _length(page, range(start, below.last)) <= limit
            return below.last if fits else stop
    return stop


def _subsections(page: Page, section: int, start: int, stop: int, limit: int) -> int:
    """Return the end of a short section with those of its subsections that fit."""
    for below in page.sections[section + 1 :]:
        if below.level <= page.sections[section].level or not page.sections[section].level:
            break
        while stop < below.last and _length(page, range(start, stop + 1)) <= limit:
            stop += 1
        if stop < below.last:
            break
    return stop
