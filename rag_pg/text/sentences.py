"""Split text into sentences, and clean a sentence for display. Pure: no model, no input/output."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Literal

from rag_pg.text.numbered import find_clauses, find_values, names_clause
from rag_pg.text.plain import TAG
from rag_pg.text.tokens import is_function_word

Kind = Literal["prose", "item", "row", "code"]

LONGEST = 500  # characters; a longer stretch without a full stop is cut at a clause or a space
FENCES = ("```", "~~~")
COLUMN_GAP = 3  # characters between cells without a number, at least once
TERM_DEPTH = 3  # characters that what describes a term stands further to the right, at least
LONGEST_TERM = 60  # characters
LONGEST_CODE = 1200  # characters; a longer code block is nobody's one-sentence answer

_FENCE = re.compile(r"[ \t]*(?P<mark>`{3,}|~{3,}|:{3,})[ \t]*(?P<info>[^`\n]*)")
_HOLDS_PROSE = re.compile(  # a directive of MyST, in a fence
    r"\{(?:note|tip|hint|important|warning|caution|danger|attention|error|seealso|admonition|tab"
    r"|tab-item|tab-set|dropdown|card|grid|version\w+|deprecated)\}"
)
_COMMENT = re.compile(r"(?ms)^[ \t]*<!--.*?(?:-->|\Z)|\A(?:(?!<!--).)*?^[ \t]*-->[ \t]*$")
_RAW = re.compile(r"(?m)^([ \t]*)\.\. raw::.*(?:\n(?:\1[ \t]+\S.*|[ \t]*(?=\n)))*")
_CODE_OF_REST = re.compile(
    r"[ \t]*\.\. (?:code|code-block|sourcecode|prompt)::|(?![ \t]*\.\. ).*::$"
)
_UNDER_HEADING = re.compile(r"([=~^\"'+*#-])\1{2,}")
_NOT_PROSE = re.compile(
    r"""(?:
      \#{1,6}\s.*                      # heading
    | (?:[-=*_]\s*){3,}                # rule, underline of a heading
    | [\s:|+=-]+                      # the line under a table's head
    | (?:///|:::|!!!|\?\?\?|<!--|-->).*  # admonition, comment
    | \{[*!%{<].*[*!%}>]\}               # include, macro, shortcode
    | -+8<-+.*                          # snippet
    | \[(?:TOC|toc|\[_TOC_\])\]
    | (?:import|export)\s.+\sfrom\s+["'][^"']+["'];?   # MDX
    | (?:"""
    + TAG
    + r"""\s*)+        # nothing but tags
    | \[[^\]]+\]:\s.*                  # link definition
    | \(\S+\)=                         # label of MyST
    | \.\.(?:\s+[\w:-]+::\s*\S*|\s+[_|].*)? | :[\w-]+:(?:\s\S+)?  # directive, label, its options
    )""",
    re.VERBOSE,
)
_ITEM = re.compile(
    r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+•‣◦–]|\d{1,3}(?:[.)]|(?=[ \t]{2}))|\(?[a-z]\))[ \t]+)?"
)
_CELL = re.compile(r"[^\s|]+(?: [^\s|]+)*")
_SEPARATOR = re.compile(r"(?<!\\)\||\S\t+(?=\S)")
_BULLET = re.compile(r"[^\s>]")
_SAYS_SOMETHING = re.compile(r"[^\W_]")
_TAG = re.compile(TAG)
_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_`]*+(?=\s)\s*|[。！？｡．]+[」』”’）】》]*\s*|[؟۔।]+\s*",
)
_ABBREVIATIONS = re.compile(
    r"""mrs?|ms|dr|prof|st|mt|vs|cf|approx|al|dept|gen|gov|sen|rep|capt|lt|col|sgt
    |jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec
    |bzw|ca|bspw|evtl|ggf|inkl|sog|usw|hr|fr|mme|mlle|sra?|dra|av|см|им|ул|гг|руб|тыс|млн""",
    re.VERBOSE,
)
_BEFORE_A_NUMBER = re.compile(r"nos?|figs?|vol|pp?|eqs?|sec|ch|art|nr|abb|tab|bd|рис|стр|№")
_BOUND = re.compile(r"max|min|mind")  # of the number behind it; behind one, "min." is its unit
_OPEN_END = re.compile(r"[.,;:!?\-\u2010]\Z")  # of a line that goes on, or says all
_SURE_TERM = re.compile(r"-|[A-Z][A-Z ]+\Z")  # where a chunk may begin within a line
_LABEL = re.compile(  # a line that is in bold, or in capitals
    r"(\*\*|__)(?! )(?P<bold>(?:(?!\1).){1,80}[^\s.!。！*_])\1[:：]?"
    r"|(?P<capitals>[A-ZÀ-ÖØ-Þ](?=.*[A-ZÀ-ÖØ-Þ]{2})[A-ZÀ-ÖØ-Þ0-9 &/,’'()-]{2,60})[:：]?"
)
_NO_TERM = ("..", ":", "|", "+", "#", ">", "<")
_SHORT_NUMBER = re.compile(r"\d{1,2}")
_INITIALS = re.compile(r"(?:\w\.)*\w")
_FIRST = re.compile(r"[^\W\d_]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence, a list item, a table row or a code block: text == document[start:stop].

    A sentence that ends in a colon includes the code block after it. `kind`: prose; item (of a
    list); row (of a table); code (nothing but code). own_line: what is before it is not to stand on
    its line. terms: how many of its lines, from the first on, name what it describes.
    """

    start: int
    stop: int
    text: str
    kind: Kind = "prose"
    own_line: bool = False
    terms: int = 0


def split_sentences(text: str) -> list[Sentence]:
    """Return the sentences of Markdown or plain text in order, none overlapping, none empty.

    Headings, rules, tags alone on a line and link definitions are left out. Knows list items, rows
    of tables (Markdown's, and lines in columns), fenced code, hard-wrapped lines, common
    abbreviations, and full stops of CJK, Arabic and Devanagari.
    """
    found: list[Sentence] = []
    for start, stop, kind, own_line in _blocks(text):
        if kind != "code":
            whole = kind == "row" and stop - start <= LONGEST_CODE
            found += [
                _sentence(text, a, b, kind, own_line and a == start)
                for a, b in ([(start, stop)] if whole else _cut(text, start, stop))
                if _SAYS_SOMETHING.search(text, a, b)
            ]
        elif (
            found
            and text[start:stop].lstrip().startswith(FENCES)
            and _introduces(found[-1], text[found[-1].stop : start], stop - start)
        ):
            begin = found[-1].start
            found[-1] = replace(found[-1], stop=stop, text=text[begin:stop])
        elif stop - start <= LONGEST_CODE:
            found.append(Sentence(start=start, stop=stop, text=text[start:stop], kind="code"))
    lines = list(_lines(text))
    terms = _terms([line.expandtabs(8).rstrip() for _, line in lines])
    begins = {lines[at][0] + len(line := lines[at][1]) - len(line.lstrip()): at for at in terms}
    for n, sentence in enumerate(found):
        if sentence.kind == "prose" and (at := begins.get(sentence.start)) is not None:
            count = sum(1 for _ in takewhile(terms.__contains__, range(at, len(lines))))
            found[n] = replace(sentence, terms=count)
    return found


def _sentence(text: str, start: int, stop: int, kind: Kind, own_line: bool) -> Sentence:
    """The sentence without white space around it, of whatever kind."""
    stripped = text[start:stop].strip()
    begin = text.index(stripped, start)
    stop = begin + len(stripped)
    return Sentence(start=begin, stop=stop, text=stripped, kind=kind, own_line=own_line)


def _introduces(sentence: Sentence, gap: str, length: int) -> bool:
    """Whether a code block, `length` characters long and `gap` later, belongs to `sentence`."""
    ends_open = sentence.text.rstrip("*_` ").endswith((":", "："))
    follows = not _TAG.sub("", gap).strip()
    return sentence.kind != "code" and ends_open and follows and length <= LONGEST_CODE


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, line
        start += len(line)


def _blocks(text: str) -> Iterator[tuple[int, int, Kind, bool]]:
    """Yield (start, stop, kind, own_line) of paragraphs, list items, table rows and code blocks."""
    begin: int | None = 0 if _starts_in_code(text) else None  # of a code block
    opened, around = "```", [""]  # its fence, and those of the directives around prose
    block: tuple[int, int, Kind, bool] | None = None  # of prose
    lines = list(_lines(text))
    bare = [line.expandtabs(8).rstrip() for _, line in lines]
    clauses = find_clauses(bare)
    rows = _rows(bare, [line for _, line in lines]) - clauses
    values = find_values(bare) - rows
    tabular = rows | values
    labels = _labels(bare)
    broken = _broken(bare) | labels.keys() | {number + 1 for number in labels} | clauses | values
    literal, hidden = _literal(bare), _hidden(text, lines)
    upto = 0  # the lines before are read
    for number, (start, line) in enumerate(lines):
        stop = start + len(line.rstrip())
        is_rule = begin is None and number > 0 and _is_heading(bare, number - 1)
        fence = _FENCE.match(line) if not is_rule else None
        mark = fence["mark"] if fence else ""
        item = _ITEM.match(line) if number not in tabular else None
        indent = item.end() if item else len(line) - len(line.lstrip())
        ends = (
            fence
            or is_rule
            or begin is not None
            or not line.strip()
            or number in hidden
            or number in literal
            or _NOT_PROSE.fullmatch(line.strip())
            or (number not in rows and _is_heading(bare, number))
        )
        starts = number in rows or _BULLET.search(line, 0, indent)
        if block and (ends or starts or number in broken):
            yield block
            block = None
        if number < upto or (number in hidden and begin is None):
            continue
        if begin is not None:
            if fence and mark.startswith(opened):
                yield begin, stop, "code", False
                begin = None
        elif number in literal:
            upto = literal[number]
            last = lines[upto - 1]
            yield start, last[0] + len(last[1].rstrip()), "code", False
        elif fence and (mark == around[-1] or (len(mark) > 3 and mark not in text[stop:])):
            around = around[: max(len(around) - 1, 1)]
        elif fence and (mark[0] == ":" or _HOLDS_PROSE.match(fence["info"])):
            around.append(mark)
        elif fence:
            begin, opened = start, mark
        elif not ends and start + indent < stop:
            defines = number + 1 < len(bare) and bare[number + 1].lstrip().startswith(": ")
            kind: Kind = "row" if number in rows else "item" if starts or defines else "prose"
            own_line = number in broken
            block = (
                (block[0], stop, *block[2:]) if block else (start + indent, stop, kind, own_line)
            )
    if block:
        yield block
    if begin is not None and text[begin:].strip():
        yield begin, len(text.rstrip()), "code", False


def _is_heading(bare: Sequence[str], number: int) -> bool:
    """Whether a line has a rule below it, at least as long."""
    below = bare[number + 1] if number + 1 < len(bare) else ""
    is_rule = _UNDER_HEADING.fullmatch(below) is not None and len(below) >= len(bare[number])
    return is_rule and bool(bare[number])


def _hidden(text: str, lines: Sequence[tuple[int, str]]) -> set[int]:
    """The numbers of the lines of comments of HTML, and of what reStructuredText hands on raw."""
    spans = [m.span() for m in _RAW.finditer(text)] if ".. raw::" in text else []
    if "-->" in text or "<!--" in text:
        spans += [match.span() for match in _COMMENT.finditer(text)]
    starts = [start for start, _ in lines]
    return {n for a, b in spans for n in range(bisect_left(starts, a), bisect_left(starts, b))}


def _literal(bare: Sequence[str]) -> dict[int, int]:
    """The first and the last line, not included, of code of reStructuredText: indented, below a
    directive of code or a line that ends with two colons."""
    found: dict[int, int] = {}
    begin = first = 0  # behind the options, and behind the empty lines there
    ends: dict[tuple[int, int], int] = {}  # of what stands from there on, deeper than that
    for number, line in enumerate(bare):
        if "::" not in line or not _CODE_OF_REST.match(line):
            continue
        depth = len(line) - len(line.lstrip())
        begin = max(begin, number + 1)
        while begin < len(bare) and bare[begin].lstrip().startswith(":"):
            begin += 1
        first = max(first, begin)
        while first < len(bare) and not bare[first]:
            first += 1
        if first == begin or first == len(bare) or not bare[first].startswith(" " * (depth + 1)):
            continue
        if (begin, depth) not in ends:
            end = first
            while end < len(bare) and (not bare[end] or bare[end].startswith(" " * (depth + 1))):
                end += 1
            ends[begin, depth] = max(at for at in range(first, end) if bare[at]) + 1
        found[first] = ends[begin, depth]
    return found


def _rows(bare: Sequence[str], lines: Sequence[str]) -> set[int]:
    """The numbers of the lines that are rows of tables: Markdown's, and those of at least three
    lines, or two with a rule between them, that have as many cells, cut off by bars or tabs, or by
    spaces and in columns."""
    found: set[int] = set()
    run: list[int] = []
    ruled = False
    for number, line in enumerate([*lines, ""]):
        words = line.strip()
        if words.startswith("|"):
            found.add(number)
        elif run and words and _NOT_PROSE.fullmatch(words):
            ruled = ruled or len(run) == 1
            continue
        elif run and words and _same_columns(bare[run[-1]], bare[number], lines[run[-1]], line):
            run.append(number)
            continue
        if len(run) > 2 - ruled:
            found.update(run)
        run, ruled = [number] if words and not words.startswith("|") else [], False
    return found


def _same_columns(before: str, after: str, *lines: str) -> bool:
    """Whether two lines have as many cells, above each other where only spaces are between them,
    and are no items."""
    bars = [len(_SEPARATOR.findall(line.strip())) for line in lines]
    if any(bars):
        return bars[0] == bars[1]
    pairs = [[match.span() for match in _CELL.finditer(line)] for line in (before, after)]
    gaps = [b[0] - a[1] for spans in pairs for a, b in pairwise(spans)]
    if max(gaps, default=0) < COLUMN_GAP and not any(map(str.isdigit, after)):
        return False  # words that were spread to fill the line
    is_item = after.lstrip()[: pairs[1][0][1] - pairs[1][0][0]].isdigit() if pairs[1] else False
    return len(pairs[0]) == len(pairs[1]) > 1 + is_item and all(
        a[0] == b[0] or a[1] == b[1] for a, b in zip(*pairs, strict=True)
    )


def _broken(lines: Sequence[str]) -> set[int]:
    """The numbers of the lines that their author began anew; the others were only wrapped: the
    lines before them are full, or those around them are none that end early."""
    found: set[int] = set()
    first = 0
    longest = _longest_wrapped(lines)
    for number in range(len(lines) + 1):
        if number < len(lines) and lines[number]:
            continue
        width = max(map(len, lines[first:number]), default=0)
        fits = {
            at
            for at in range(first + 1, number)
            if len(lines[at - 1]) + 1 + len(lines[at].split(None, 1)[0]) <= width
        }
        full = number - first - 1 - len(fits)
        are_lines = len(fits) > max(full, 1)
        found.update(
            at
            for at in range(first + 1, number)
            if _may_begin(lines[at - 1], lines[at])
            and (
                (are_lines and (at in fits or full == 1))  # the longest always seems full
                or not 50 <= len(lines[at - 1]) <= longest
            )
        )
        first = number + 1
    return found


def _terms(lines: Sequence[str]) -> set[int]:
    """The numbers of the lines that name what is described below them, further to the right: as in
    manual pages, and definition lists of reStructuredText."""
    found: set[int] = set()
    for at, (line, below) in enumerate(pairwise(lines)):
        words, inner = line.lstrip(), below.lstrip()
        begins = _SURE_TERM.match(words) if at == 0 and words == line else at == 0
        is_first = begins or (at > 0 and not lines[at - 1]) or at - 1 in found
        if not (is_first and words and inner) or _depth(below) < _depth(line) + TERM_DEPTH:
            continue
        mark = _ITEM.match(line)
        above = next(filter(None, reversed(lines[:at])), "") if at > 1 and not lines[at - 1] else ""
        goes_on = _OPEN_END.search(words) and _depth(above) < _depth(line) + TERM_DEPTH
        if (mark and mark[0].strip()) or words.startswith(_NO_TERM) or goes_on:
            continue
        width = max(map(len, takewhile(bool, lines[at:])))
        is_short = (
            len(words) <= LONGEST_TERM
            and _SAYS_SOMETHING.search(words)
            and not inner.startswith((": ", "- ", "* "))
        )
        if is_short and len(line) + 1 + len(inner.split(None, 1)[0]) <= width:
            found.add(at)
    return found


def _labels(lines: Sequence[str]) -> dict[int, str]:
    """The lines that name what stands right below them, up to the next such line, as headings do:
    the first of a paragraph, in bold, in capitals or of a clause."""
    found = {}
    for at, (line, below) in enumerate(pairwise(lines)):
        if (at and lines[at - 1]) or not line or not below:
            continue
        behind = takewhile(lambda n: lines[n], range(at + 1, len(lines)))
        if names_clause(line, [lines[n] for n in behind]):
            found[at] = line.strip()
        elif (
            below[:1].strip()  # no term
            and (match := _LABEL.fullmatch(line))
            and not _NOT_PROSE.fullmatch(below.strip())
        ):
            found[at] = match["bold"] or match["capitals"]
    return found


def find_labels(text: str, sentences: Sequence[Sentence]) -> list[tuple[int, str]]:
    """Return (start, label) of the sentences of a text that are a line in bold, in capitals or of a
    clause, which names what stands right below it, as headings do."""
    lines = list(_lines(text))
    labels = _labels([line.expandtabs(8).rstrip() for _, line in lines])
    begins = [s.start for s in sentences if s.kind in ("prose", "item")]
    return [
        (lines[at][0], label)
        for at, label in labels.items()
        if any(lines[at][0] <= start < lines[at][0] + len(lines[at][1]) for start in begins)
    ]


def clause_starts(text: str) -> list[int]:
    """Return where each clause of a text begins that is told by its number."""
    lines = list(_lines(text))
    return [lines[at][0] for at in find_clauses([line.expandtabs(8).rstrip() for _, line in lines])]


def find_terms(text: str) -> list[tuple[int, int, str]]:
    """Return (start, stop, term) of what is described below a term, the inner ones last."""
    lines = list(_lines(text))
    bare = [line.expandtabs(8).rstrip() for _, line in lines]
    found = []
    for at in sorted(_terms(bare)):
        depth = _depth(bare[at])
        if at == 0 and bare[0].startswith("-"):  # where a chunk begins, without its indentation
            depth = _depth(bare[1]) - 1
        behind = range(at + 1, len(bare))
        end = next((n for n in behind if bare[n] and _depth(bare[n]) <= depth), None)
        stop = len(text) if end is None else lines[end][0]
        found.append((lines[at + 1][0], stop, bare[at].strip()))
    return found


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _longest_wrapped(lines: Sequence[str]) -> int:
    """The characters of a line that may go on in the next one: 120; more, where most longer lines
    end at about one width."""
    long = sorted(len(line) for line in lines if len(line) > 120)
    middle = long[len(long) // 2] if long else 0
    near = [length for length in long if abs(length - middle) <= 16]
    return near[-1] if len(near) > max(2, len(long) / 2) else 120


def _may_begin(before: str, after: str) -> bool:
    """Whether a line does not go on with what the one before it has begun."""
    words = after.lstrip()
    is_deeper = len(after) - len(words) > len(before) - len(before.lstrip())
    goes_on = is_deeper or before.endswith((",", ";", "-", "，", "、")) or words.startswith(": ")
    return not (goes_on or words[:1].islower())


def _starts_in_code(text: str) -> bool:
    """Whether a chunk begins inside a code block: its first, bare fence has no partner."""
    fences = [m for _, line in _lines(text) if (m := _FENCE.match(line)) and len(m["mark"]) == 3]
    fences = [match for match in fences if match["mark"] != ":::"]
    if len(fences) % 2 == 0 or fences[0]["info"].strip():
        return False
    first = next(start for start, line in _lines(text) if _FENCE.match(line))
    return first > 0 and bool(text[:first].strip()) and not text[:first].endswith("\n\n")


def _cut(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of each sentence in a paragraph."""
    begin = start
    for match in _END.finditer(text, start, stop):
        if match.end() < stop and _is_boundary(text, begin, match):
            yield from _cut_long(text, begin, match.start() + len(match[0].rstrip()))
            begin = match.end()
    if begin < stop:
        yield from _cut_long(text, begin, stop)


def _is_boundary(text: str, begin: int, match: re.Match[str]) -> bool:
    """Whether punctuation ends a sentence, not an abbreviation, an initial or an ordinal."""
    following = text[match.end() : match.end() + 1]
    if match[0][0] in "。！？｡．؟۔।":
        return True
    if following.islower():
        return False
    if match[0].rstrip("\"'”’»)]*_` \t\r\n") != ".":
        return True
    words = text[begin : match.start()].rsplit(None, 1)
    word = words[-1].lstrip("(\"'“‘«[*_").lower() if words else ""
    first = _FIRST.match(text, match.end())
    begins = len(words) > 1 and first and is_function_word(first[0].lower())  # over 70. The
    known = (
        _ABBREVIATIONS.fullmatch(word)
        or (not begins and _SHORT_NUMBER.fullmatch(word))
        or _INITIALS.fullmatch(word)
        or (following.isdigit() and _BEFORE_A_NUMBER.fullmatch(word))
        or (following.isdigit() and _BOUND.fullmatch(word) and not words[0][-1].isdigit())
    )
    return bool(word) and not known


def _cut_long(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    while stop - start > LONGEST:
        window = text[start : start + LONGEST]
        at = max((window.rfind(mark) + 1 for mark in ("; ", "；", "，", ", ")), default=0)
        at = at if at > LONGEST // 3 else window.rfind(" ")
        at = at if at > 0 else LONGEST
        yield start, start + len(text[start : start + at].rstrip())
        start += at
        start += len(text[start:stop]) - len(text[start:stop].lstrip())
    if start < stop:
        yield start, stop
