"""How well hits answer a question: sentences and passages weighed by words and meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from rag_pg.answer.extractive.candidate import COVERAGE, Candidate
from rag_pg.answer.extractive.mismatch import find_mismatch, is_named_instead, lacks_value
from rag_pg.answer.prompt import distinct_hits
from rag_pg.answer.reading.display import OPEN, display
from rag_pg.answer.reading.freshness import (
    is_of_page,
    is_of_time,
    source_date,
    spells_years,
    words_of_now,
)
from rag_pg.answer.reading.head import (
    Asked,
    find_lacking,
    find_names,
    occurs_in,
    read_words,
    stands_in,
)
from rag_pg.answer.reading.identifiers import MARKS, Identifiers, is_identifier, is_part_number
from rag_pg.answer.reading.passage import Page, ReadAround, headings_above
from rag_pg.answer.reading.question_kind import (
    QuestionKind,
    asks_when,
    has_number,
    question_kind,
    question_parts,
    says_kind,
)
from rag_pg.answer.reading.relations import bounds_of
from rag_pg.answer.reading.rows import names_cell, rows_out_of_range, rows_without
from rag_pg.answer.reading.term_match import (
    BACKGROUND,
    LENGTH,
    MatchTerms,
    Meaning,
    Words,
    compare_meaning,
    find_words,
)
from rag_pg.deadline import half_of_the_time
from rag_pg.errors import ModelUnavailable, ProviderError
from rag_pg.protocols import Embedder
from rag_pg.search import Scorer
from rag_pg.text import (
    LONGEST,
    UNDERLINE,
    Sentence,
    content_words,
    head_above,
    is_among,
    named_cells,
    split_sentences,
    words,
)
from rag_pg.types import CosineSpread, Hit

HITS = 8  # passages that are looked at
HEAD = 1000  # chunks before one, among which the head of its table is looked for
NEAR_HEAD = 8  # of them, where it is looked for first
READ = 2  # of which every sentence is compared in meaning; of each other, that of most words
LONGEST_READ = 1200  # characters of one, of the sentences with most words first
NEAR_SENTENCES = 4  # of each of these, whose words may stand for another, to so many words
NEAR_WORDS = 100
SYNONYM = 0.45  # of a word and one of the same meaning: elevator, lift
WORDS = 0.25  # x the share of the question's words that a sentence has, and has with headings above
LABEL = 40  # characters of a line without a full stop
OPENING = 4  # words of an item, among which its name is
UNREAD = -9.0
_SPREAD = re.compile(r"\S(?: {3,}|\t)\s*\S")
_TERM = re.compile(r"(?:\S+ ){0,3}?\S+:(?= )")  # that opens an item of a list
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_FIGURES = re.compile(r"\s(?:\d+[.,]\d+|[\d.,]*\d\s[\d.,]*\d)(?:\s[A-Z]{3})?\Z")  # Bowl 14.20 16.90


# The documents answer when nothing is lacking (`find_lacking`, `lacks_number`), and the best
# similarity of a sentence and COVERAGE x the best share of what is asked that one hit has reach
# ENOUGH.
ENOUGH = 0.5
CLOSE = 0.08  # evidence below the best passage's, with which another speaks of the same
UNTOLD = 0.4  # the share that counts where a question in another language cannot have it
ENOUGH_WORDS = 0.26  # without the similarity, where that cannot be relied on


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What was found for a question. asked: its words; lacking: those without which nothing answers
    it, and that no document has; mismatch: how the best passage is of something else (see
    `find_mismatch`); similarity: the best of any sentence; coverage: the best share of
    the question's words in one hit; unknown: the share of words that
    the collection does not have; trusted: whether the similarities can be relied on; is_embedded:
    whether there are any. has_parts: whether the question has several, each with a passage of its
    own. reranker: the name of that which decides, "": none; margins: of its best score to that of
    text about something else, and of the first passage's to the second's."""

    candidates: Sequence[Candidate]
    kind: QuestionKind
    has_parts: bool
    asked: Sequence[Asked]
    lacking: Sequence[str]
    mismatch: str
    similarity: float
    coverage: float
    unknown: float
    trusted: bool
    is_embedded: bool
    reranker: str
    margins: tuple[float, float]
    notes: Sequence[str]

    @property
    def best(self) -> Candidate:
        return max(self.candidates, key=lambda c: c.score)

    @property
    def lacks_number(self) -> bool:
        """How much is asked for, and the best passage has no number; of a question of several
        parts, no passage."""
        answering = self.candidates if self.has_parts else [self.best]
        return self.kind == "quantity" and not any(
            has_number(s) for c in answering for s in c.shown
        )

    @property
    def missing(self) -> Sequence[str]:
        """The words of the question that no hit has: the lacking ones, then by their weight."""
        rest = sorted((a for a in self.asked if not a.is_met), key=lambda a: -a.weight)
        return list(dict.fromkeys([*self.lacking, *(a.word for a in rest if a.word)]))

    @property
    def strength(self) -> float:
        """The weight of it, without calibration: ENOUGH is enough."""
        return self.similarity + COVERAGE * self.coverage

    @property
    def is_enough(self) -> bool:
        by_words = not self.trusted and COVERAGE * self.coverage >= ENOUGH_WORDS
        is_vetoed = bool(self.lacking or self.mismatch) or self.lacks_number
        if self.reranker:
            return not is_vetoed and self.margins[0] > 0
        return not is_vetoed and (self.strength >= ENOUGH or by_words)


def examine(
    question: str,
    hits: Sequence[Hit],
    *,
    embedder: Embedder | None,
    match_terms: MatchTerms | None = None,
    spread: CosineSpread | None = None,
    scorer: Scorer | None = None,
    read_around: ReadAround | None = None,
) -> Evidence | None:
    """Return how well hits answer a question, by the arguments of `answer_extractive`; None: there
    are none, or nothing is asked."""
    sources = distinct_hits(hits)[:HITS]
    if not sources or not question.strip():
        return None
    kind = question_kind(question)
    candidates = _candidates(sources, read_around, Identifiers.of(question))
    found = _weigh_words(question, candidates, match_terms)
    meaning = _weigh_meaning(question, candidates, embedder, spread, found)
    margins, note = _rerank(question, candidates, scorer) if scorer else (None, "")
    asked = _weigh_asked(found, meaning, candidates)
    by_meaning = meaning.trusted and meaning.lost.any() and any(a.is_met for a in asked)
    by_meaning = by_meaning and not meaning.is_foreign
    if kind == "definition":
        for c in candidates:
            defining = _defining(c, question)
            c.scores[defining] += 1.0
            c.score += bool(defining) or _is_named(c, question)
    if not margins and asks_when(found.question):
        _bring_dated(found.question, candidates)
    coverage = max(c.coverage for c in candidates) * _share_of_known(found, asked)
    if meaning.is_foreign:
        coverage = max(coverage, UNTOLD)
    ranked = _bring_valued(found.question, candidates, kind)
    lacking = find_lacking(question, asked, by_meaning=bool(by_meaning))
    names = {a.word for a in asked if a.is_name}

    def near(text: str, texts: Sequence[str]) -> float:
        if not meaning.trusted:
            return 1.0
        return float(compare_meaning(text, texts, embedder, spread).near.max())

    return Evidence(
        candidates=candidates,
        kind=kind,
        has_parts=bool(question_parts(question)[0]),
        asked=asked,
        lacking=[
            word
            for word in lacking
            if not _is_bounded(word, question, ranked[0])
            and (word in names or near(word, _best_words(ranked)) < SYNONYM)
        ],
        mismatch=_other_row(question, ranked)
        or find_mismatch(found.question, ranked[0], ranked[1:], near),
        similarity=max(float(np.nanmax(c.similarities)) for c in candidates),
        coverage=coverage,
        unknown=found.unknown,
        trusted=meaning.trusted,
        is_embedded=embedder is not None and not meaning.notes,
        reranker=scorer.reranker.name if scorer and margins else "",
        margins=margins or (0.0, 0.0),
        notes=[*meaning.notes, *filter(None, [note])],
    )


def _is_bounded(word: str, question: str, best: Candidate) -> bool:
    """Whether a word of a question is a number that is within a bound of a passage, in its unit (5
    kg where it says up to 10 kg), or in the range of a row or of numbered things (halls 4 to 6)."""
    question = question[:LONGEST]
    match = _NUMBER.fullmatch(word) and re.search(rf"(?<![\w.,]){word}\s?([^\W\d_]+)?", question)
    if not match:
        return False
    asked, bounds = Identifiers.of(question), bounds_of(best.hit.content, match[1])
    return (
        any(map(asked.stand_in, [*heading_path(best.hit), *best.compared]))
        or any(rows_out_of_range(question, table) for table in best.page.tables)
        or (bool(match[1]) and any(is_in(Decimal(word.replace(",", "."))) for is_in in bounds))
    )


def _best_words(ranked: Sequence[Candidate]) -> list[str]:
    """The words of the best sentences of the best passages."""
    best = (c.compared[at] for c in ranked[:READ] for at in np.argsort(-c.scores)[:NEAR_SENTENCES])
    return list({word: None for text in best for word in words(text)})[:NEAR_WORDS]


def _candidates(
    sources: Sequence[Hit], read_around: ReadAround | None, named: Identifiers
) -> list[Candidate]:
    most = max((hit.score for hit in sources), default=0.0)
    found = []
    for rank, hit in enumerate(sources):
        is_named = named.stand_in(hit.content)
        head = _head_before(hit, read_around, is_named) if read_around else ""
        hit = replace(hit, content=head + hit.content) if head else hit
        page = replace(Page.plain(hit.content, _split(hit)), goes_on=bool(head))
        relative = hit.score / most if hit.rerank_score is None and most > 0 else 1 / (1 + rank / 8)
        shown = [display(s) for s in page.sentences]
        above = headings_above(hit.content, page.sentences)
        found.append(
            Candidate(
                hit=hit,
                relative_score=relative,
                page=page,
                sentences=page.sentences,
                shown=shown,
                headings_above=above,
                compared=_compared(hit, page, shown, above),
            )
        )
    return found


def _head_before(hit: Hit, read_around: ReadAround, is_named: bool) -> str:
    """The head of the table in whose rows a hit begins, where it stands in a chunk before: looked
    for further and further, as long as all between are rows, up to HEAD chunks before; without end
    where a question names an identifier that the hit has."""
    content = hit.content.strip()
    first, reach, read = hit.chunk_id, NEAR_HEAD, 0
    while content.startswith("|") and (is_named or read < HEAD):
        around = read_around(first, reach)
        before, own, _ = around.content.partition(content) if around else ("", "", "")
        before = before if own else around.content if around and read else ""
        if (head := head_above(before)) or not around or not _are_rows(before):
            return head
        if around.chunk_keys[0] == first:
            break
        first, read, reach = around.chunk_keys[0], read + reach, min(8 * reach, HEAD)
    return ""


def _are_rows(text: str) -> bool:
    """Whether each line of a text but the first, which may have been cut, is a row of Markdown."""
    lines = text.splitlines()[1:]
    return bool(lines) and all(line.lstrip()[:1] == "|" for line in lines)


def _compared(hit: Hit, page: Page, shown: Sequence[str], above: Sequence[str]) -> list[str]:
    """What each sentence is compared by: the question that it answers, where one stands before or
    right above it (not in a hit that goes on with a section), else it under its heading; of a row
    of a table the cells behind the names of their columns, of a later sentence of an item that
    behind the term that opens it."""
    last = (heading_path(hit) or [""])[-1]
    sentences = page.sentences
    rows = page.rows()
    goes_on = bool(hit.heading) and not hit.content[: sentences[0].start].strip()
    found: list[str] = []
    term = ""
    for at, text in enumerate(shown):
        heading = above[at] or last
        gap = hit.content[sentences[at - 1].stop : sentences[at].start] if at else "\n"
        if sentences[at].kind != "item" or "\n" in gap:
            match = _TERM.match(text) if sentences[at].kind == "item" else None
            term = match[0] if match else ""
        elif term:
            text = f"{term} {text}"
        begins = not goes_on if at == 0 else above[at] != above[at - 1]
        before = heading if begins else shown[at - 1] if at else ""
        if _asks(before) and not _asks(text):
            found.append(before)
        else:
            text = rows.get(at, text)
            found.append(f"{heading}: {text}" if heading else text)
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
    named_in = Identifiers.of(question).stand_in
    for c in candidates:
        told = {n: row for n, row in c.page.rows().items() if named_in(row)}
        answering = [t if _asks(t) else told.get(n, c.shown[n]) for n, t in enumerate(c.compared)]
        texts += [": ".join(heading_path(c.hit)), *answering, *c.headings_above]
    found = find_words(question, texts, match_terms)
    codes = [w for w in found.different if is_identifier(w) and any(char.isalpha() for char in w)]
    at = 0
    for c in candidates:
        rows = {n for n in range(len(c.shown)) if codes and _is_row(c, n)}
        named = {n for n in rows if any(stands_in(code, c.shown[n]) for code in codes)}
        c.of_another = (rows - named if named else set()) | _other_rows(question, c)
        head, count = at, len(c.shown)
        positions = range(head + 1, head + 1 + count)
        at = positions.stop + count
        c.word_shares = np.array([found.coverage(p) for p in positions])
        c.word_shares_with_headings = np.array(
            [found.coverage(p, p + count, head) for p in positions]
        )
        above = np.array([found.coverage(p + count, head) for p in positions])
        c.word_shares_beyond = c.word_shares_with_headings - above
        c.coverage = found.coverage(*range(head, at))
        whole = read_words(f"{texts[head]}\n{c.hit.content}")
        c.words_found = {
            word
            for word in found.different
            if occurs_in(word, whole)
            or (not is_identifier(word) and found.have(word, range(head, at)))
            or ("-" in word and not is_identifier(word) and {*words(word)} <= {*whole[0]})
        }
    _leave_out_sections(question, candidates)
    return found


def _other_rows(question: str, c: Candidate) -> set[int]:
    """The rows of tables, where a question names a cell of other rows (Otter, not Otter Junior), or
    by a column what others have."""
    asked = Identifiers.of(question)
    cells = {at: t.cells[n] for t in c.page.tables for n, at in enumerate(t.rows)}
    for at, sentence in enumerate(c.sentences):
        alone = named_cells(sentence.text) if sentence.kind == "item" else []
        if len(alone) > 2:
            cells[at] = [cell for _, cell in alone]
    named = {
        at
        for at, row in cells.items()
        if any(
            cell[:1].isalpha() and (names_cell(question[:LONGEST], cell) or asked.stand_in(cell))
            for cell in row
        )
    }
    if not named:
        return {at for t in c.page.tables for at in rows_without(question, t)}
    return set(cells) - named


def _leave_out_sections(question: str, candidates: Sequence[Candidate]) -> None:
    """Where headings or rows name an identifier that is asked for (4.2.0), rows with another are of
    another thing, as are sentences below one but those that name it; of when, it alone tells."""
    asked, is_when = Identifiers.of(question), asks_when(question)
    above = [
        [
            " › ".join([*heading_path(c.hit), *both])
            for both in zip(c.headings_above, heads, strict=True)
        ]
        for c, heads in ((c, _lines_above(asked, c.shown)) for c in candidates)
    ]
    if any(asked.stand_in(heading) for headings in above for heading in headings):
        for c, headings in zip(candidates, above, strict=True):
            c.of_another |= {
                n
                for n, heading in enumerate(headings)
                if asked.differ_in(heading) and (is_when or not asked.stand_in(c.shown[n]))
            }
    told = [_rows_and_items(c) for c in candidates]
    if any(asked.stand_in(text) for texts in told for text in texts.values()):
        for c, texts in zip(candidates, told, strict=True):
            others = {n for n, text in texts.items() if asked.differ_in(text)}
            heads = {table.first for table in c.page.tables if others.issuperset(table.rows)}
            c.of_another |= others | heads


def _lines_above(asked: Identifiers, shown: Sequence[str]) -> list[str]:
    """Of each sentence the last line up to it that is an identifier alone, and heads it."""
    found = [""]
    for line in shown:
        found.append(line if asked.are_named_by(line) else found[-1])
    return found[1:]


def _rows_and_items(c: Candidate) -> dict[int, str]:
    """What each row says, also where its table has no head, with the name of its first column
    before its first cell as well (Room no.: 12), and what each item begins with."""
    found = {
        at: text if sentence.kind == "row" else " ".join(text.split()[:OPENING])
        for at, (sentence, text) in enumerate(zip(c.sentences, c.shown, strict=True))
        if sentence.kind in ("row", "item")
    }
    for table in c.page.tables:
        for n, at in enumerate(table.rows):
            names = [f"{word}: {table.cells[n][0]}" for word in words(table.names[0])]
            found[at] = "; ".join([table.row(n), *names])
        if table.is_headed:
            found.pop(table.first, "")
    return found


def _other_row(question: str, ranked: Sequence[Candidate]) -> str:
    """How the row or item that is nearest to a question has another identifier than it asks for,
    which no passage has; "": it is not so."""
    asked, best = Identifiers.of(question), ranked[0]
    texts = (text for c in ranked for text in (*heading_path(c.hit), *c.compared))
    if (
        not asked.differ_in(_rows_and_items(best).get(best.best, ""))
        or any(map(asked.stand_in, texts))
        or any(rows_out_of_range(question, table) for table in best.page.tables)
    ):
        return ""
    return f"what is nearest is not of {', '.join(name for name, *_ in asked.forms)}"


def _weigh_asked(found: Words, meaning: Meaning, candidates: Sequence[Candidate]) -> list[Asked]:
    """The words of a question with what each weighs: by what the question loses in meaning without
    it, where that was asked and can be relied on, else by how rare its terms are."""
    different = found.different
    weights, brings = np.array(list(different.values())), np.zeros(len(different))
    if meaning.trusted and meaning.lost.sum() > 0:
        weights, brings = meaning.lost / meaning.lost.sum(), meaning.brings
    names = find_names(found.question)
    if meaning.is_foreign:  # the words of one language are no names in another
        names = {name for name in names if is_identifier(name)}
    in_names = [{*words(name)} for name in names]
    met = set().union(*(c.words_found for c in candidates))
    time = {word for word in different if is_of_time(word.strip(MARKS))}
    if any(map(is_identifier, time)) and any(c.day for c in candidates):
        met |= time  # though no text names the year
    whole = "\n".join(c.hit.content for c in candidates)
    met |= {word for word in different if spells_years(word.strip(MARKS), whole)}
    of_now = words_of_now(found.question)
    now = {word for word in different if word.strip(MARKS).casefold() in of_now}
    met |= now
    return [
        Asked(
            word=word.strip(MARKS),
            weight=float(weight),
            is_met=word in met,
            is_known=word in now
            or (found.is_known(word) and (word in met or not is_part_number(word))),
            is_paraphrased=bool(more > 0),
            is_name=word in names or any({*(words(word) or [word])} <= name for name in in_names),
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
    candidates: Sequence[Candidate],
    embedder: Embedder | None,
    spread: CosineSpread | None,
    found: Words,
) -> Meaning:
    """Fill in the similarities, and the scores that follow from them; return the meaning."""
    chosen = [_read(c, LONGEST_READ if rank < READ else 0) for rank, c in enumerate(candidates)]
    texts = [c.compared[at] for c, read in zip(candidates, chosen, strict=True) for at in read]
    different = list(dict.fromkeys(texts))
    meaning = compare_meaning(
        question, different, embedder, spread, meant=found.question, left=found.left
    )
    by_text = dict(zip(different, meaning.near, strict=True))
    for c, read in zip(candidates, chosen, strict=True):
        c.similarities = np.full(len(c.shown), np.nan)
        c.similarities[read] = [by_text[c.compared[at]] for at in read]
        fragments = np.array([_is_fragment(c, at, question) for at in range(len(c.shown))])
        scores = c.similarities + WORDS * c.word_shares_with_headings - fragments
        c.scores = np.where(np.isnan(scores), UNREAD, scores + WORDS * c.word_shares_beyond)
        c.score = c.relative_score + float(np.nanmax(scores + WORDS * c.word_shares))
        c.score -= len(c.of_another) == len(c.shown)  # nothing in it is of what is asked for
    return meaning


def _rerank(
    question: str, candidates: Sequence[Candidate], scorer: Scorer
) -> tuple[tuple[float, float] | None, str]:
    """Let a reranker score the sentences that were compared, 1: the best of all, 0: as text about
    something else, and keep its order of the passages; return its margins, or what failed."""
    texts = [c.compared[at] for c in candidates for at in np.flatnonzero(c.scores > UNREAD)]
    nothing = [sentence for language in BACKGROUND for sentence in language]
    different = list(dict.fromkeys([*texts, *nothing]))
    try:
        with half_of_the_time():
            scores = dict(zip(different, scorer(question, different), strict=True))
    except (ProviderError, ModelUnavailable) as exc:
        return None, f"sentences were chosen without the reranker: {exc}"
    floor = max(float(scores[text]) for text in nothing)
    margin = max(float(scores[text]) for text in texts) - floor
    unit = abs(margin) or 1.0
    for c in candidates:
        c.is_reranked = True
        c.score = c.relative_score
        for at, text in enumerate(c.compared):
            if c.scores[at] > UNREAD:
                fragment = _is_fragment(c, at, question)
                c.scores[at] = (float(scores[text]) - floor) / unit - fragment
    given = [c.hit.rerank_score or 0.0 for c in candidates]
    return (margin, given[0] - given[1] if len(given) > 1 else 0.0), ""


def _read(c: Candidate, most: int) -> list[int]:
    """The sentences of a hit that have most of the question's words, to so many characters: one at
    least."""
    order = np.argsort(-(c.word_shares + c.word_shares_with_headings), kind="stable")
    ends = np.cumsum([min(len(c.shown[at]), LENGTH) for at in order])
    return [int(at) for at in order[: max(int((ends <= most).sum()), 1)]]


def _asks(text: str) -> bool:
    return text.endswith(("?", "？", "؟"))


def _bring_dated(question: str, candidates: Sequence[Candidate]) -> None:
    """Bring what answers a question for a date before others: passages whose heading has one and
    an identifier of it (22.0.0 - 2024-04-17), and the line with which a page dates itself, where
    all other words of the question are of this or of the headings (when were the rules issued)."""
    asked = Identifiers.of(question)
    for c in candidates:
        path = heading_path(c.hit) or [""]
        c.score += asked.stand_in(path[-1]) and source_date({}, path[-1], "") is not None
        for at, shown in enumerate(c.shown):
            about = words(" ".join([*path, shown]))
            if is_of_page(shown) and c.page.is_alone(at):
                c.scores[at] += all(is_among(word, about) for word in content_words(question))


def _bring_valued(
    question: str, candidates: Sequence[Candidate], kind: QuestionKind
) -> Sequence[Candidate]:
    """Return the passages from the best on; where that lacks the value that is asked for, the first
    that has one is brought before it: of no fewer of the question's words, and, as many have a
    number or a date, with as much evidence; as is one of a document that the question names where
    the best is of another of its kind."""
    ranked = sorted(candidates, key=lambda c: -c.score)
    for c in ranked[1:]:
        if c.words_found >= ranked[0].words_found and is_named_instead(question, c, ranked[0]):
            c.score = ranked[0].score + 1
            ranked.sort(key=lambda c: -c.score)
            break
    first = ranked[0]
    if not lacks_value(question, first, kind):
        return ranked
    about = {word for word in first.words_found if not says_kind(word)}
    is_common = kind == "quantity" or asks_when(question)
    for c in ranked[1:]:
        is_near = not is_common or c.evidence >= first.evidence - CLOSE
        if is_near and c.words_found >= about and not lacks_value(question, c, kind):
            c.score = first.score + 1
            return [c, *(other for other in ranked if other is not c)]
    return ranked


def _defining(c: Candidate, question: str) -> list[int]:
    """The rows whose first cell, and the items whose term before a colon, are just what is asked
    for: E15 of a table of error codes."""
    asked = [word for word in content_words(question) if not says_kind(word)]
    found = [
        at
        for at, sentence in enumerate(c.sentences)
        if sentence.kind == "item"
        and ":" in c.shown[at]
        and _are_same(asked, words(c.shown[at].partition(":")[0]))
    ]
    for table in c.page.tables:
        names = words(" ".join(table.names))
        rest = [word for word in asked if not is_among(word, names)] or asked
        rows = zip(table.rows, table.cells, strict=True)
        found += [at for at, cells in rows if _are_same(rest, words(cells[0]))]
    return found


def _are_same(some: Sequence[str], others: Sequence[str]) -> bool:
    return len(some) == len(others) > 0 and all(is_among(word, others) for word in some)


def _is_named(c: Candidate, question: str) -> bool:
    """Whether the heading above a hit says just what is asked for."""
    named = content_words((heading_path(c.hit) or [""])[-1])
    return _are_same(content_words(question), named)


def _is_fragment(c: Candidate, position: int, question: str) -> bool:
    """Whether a sentence answers nothing: it asks, is a label or without a word, introduces what
    does not follow, is a row of another than is asked for, or says when its page was written, which
    is not asked."""
    shown = c.shown[position]
    if is_of_page(shown) and c.page.is_alone(position):
        return not asks_when(question)
    is_ruled = UNDERLINE.match(c.hit.content, c.sentences[position].stop) is not None
    if c.sentences[position].kind == "row" and is_ruled and not c.page.tables:
        return True  # the head of rows that stand elsewhere
    if shown.endswith(OPEN):
        return all(s.kind not in ("item", "row") for s in c.sentences[position + 1 : position + 2])
    is_prose = c.sentences[position].kind == "prose"
    is_label = len(shown) < LABEL and is_prose and not _describes(c, position)
    ends = shown[-1:].isalnum() or shown.endswith(",")  # Dear all,
    is_label = (is_label and ends and not _is_row(c, position)) or _is_headline(c, position)
    return _asks(shown) or is_label or not words(shown) or position in c.of_another


def _describes(c: Candidate, position: int) -> bool:
    """Whether a sentence is what an option or its like means, and not a section's first line."""
    sentence = c.sentences[position]
    return sentence.terms > 0 and not sentence.text.partition("\n")[0].isupper()


def _is_headline(c: Candidate, position: int) -> bool:
    """Whether a sentence is of the first paragraph of a plain text, which says no more than what
    follows is of: without a full stop, and without a figure or a colon but in columns."""
    sentence, shown = c.sentences[position], c.shown[position]
    before, behind = c.hit.content[: sentence.start], c.hit.content[sentence.stop :].lstrip(" \t")
    return (
        not c.hit.heading
        and (sentence.kind, sentence.terms) == ("prose", 0)
        and "\n\n" not in before.strip()
        and behind.startswith("\n")
        and bool(behind.strip())
        and shown[-1:] not in ".!?…"
        and bool(_SPREAD.search(sentence.text) or not re.search(r"[\d:]", shown))
    )


def _is_row(c: Candidate, position: int) -> bool:
    """Whether a line ends in figures, as the line before or behind it: tables without rules."""
    ends = [bool(_FIGURES.search(text)) for text in c.shown[max(position - 1, 0) : position + 2]]
    return bool(_FIGURES.search(c.shown[position])) and sum(ends) > 1
