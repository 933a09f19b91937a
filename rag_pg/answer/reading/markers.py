"""An answer's text -> the citations in it, and the text without what only looks like one."""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from rag_pg.answer.reading.addresses import NOTHING, Known
from rag_pg.text import KEY, code_spans

_NUMBERS = r"\d{1,6}(?:\s*[,;–-]\s*\d{1,6})*"
_ADDRESS = r"\((?:[^()]|\([^()]{0,500}\)){0,2000}\)"
_BEHIND = rf"(?:{_ADDRESS}|\[[^\]\n]*\])"  # of a link
_ONLY_A_MARKER = re.compile(rf"`+\s*\[?\[\^?{_NUMBERS}\]\]?\s*`+")
_COMMENT = re.compile(r"#|//|--|/\*")
_AT_LINE_END = re.compile(
    rf"(?m)(?<![ \t])[ \t]*\[({_NUMBERS})\](?=[ \t]*(?:\*/[ \t]*)?$)",
)
_DEFINITION = re.compile(
    r"""(?m)^(?:[ \t]|>|[-*+](?=[ \t])|\d{1,3}[.)])*(?:
      \[\s*\d{1,6}\s*\]:\s*(?:<[^>\n]*>|\S+)(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?[ \t]*(?:\n|\Z)
    | (?:\[\s*\^\d{1,6}\s*\])?:[ \t]+(?:<[^>\n]*>|\S+)[^\n]*(?:\n|\Z))""",
    re.VERBOSE,
)
_RAISED = re.compile(
    r"(?:(?<!\w)<sup\b[^>]{0,1000}>(?:\s|<a\b[^>]{0,1000}>|</a>|[\[\],\d]){1,60}</sup>"
    r"|(?<=[\s.,;:!?)\"”»\]>])"
    r"[\u00b9\u00b2\u00b3\u2070\u2074-\u2079\u207d\u207e\u2080-\u2089\u208d\u208e]+(?!\w)"
    r"|(?<=[^\W\d_]{4})(?:[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]+(?!\w)|<sup>[\[\],\d]+</sup>))",
    re.IGNORECASE,
)
# Marks of a chat's own search, which no reader is meant to see.
_OF_CHAT = re.compile(
    r"(?<![ \t])[ \t]*(?:\ue200[^\ue201\n]*\ue201?|[\ue200-\ue20f]+"
    r"|:contentReference\[[^\]\n]{0,80}\](?:\{[^}\n]{0,80}\})?)"
)
_DOUBLED = re.compile(r"(?<![ \t])[ \t]*\[{2,3}\s*([a-z0-9]{6})\s*\]{2,3}", re.IGNORECASE)
_KEY_IN_CODE = re.compile(r"`+\s*\[?\[\^?([a-z0-9]{6})\]\]?\s*`+", re.IGNORECASE)
_ANCHOR = re.compile(r"<a\b[^>]{0,1000}>((?:(?!</?a\b).){0,80}?)</a\s*>", re.IGNORECASE | re.DOTALL)
_BESIDE = r"((?:(?![\[\]])(?:[^\n]|\n(?![ \t]*\n))){0,30})"
_NESTED = re.compile(rf"!?\[{_BESIDE}(\[[\d, ]+\]){_BESIDE}\]{_BEHIND}?")
_EMPTY = re.compile(rf"!?\[\s*\](?:{_ADDRESS}|\[\])")
_IN_CODE = re.compile(rf"!?\[\s*`+\s*\[?{_NUMBERS}\]?\s*`+\s*\]{_BEHIND}")
_OPENS = r"(?:\\?[\[［【〔〖⟦❲〚⟨〈《〘⁅﹝⸢⸤⦋⦍⦏⟬｟]|&(?:#0*91|#x0*5b|lbrack|lsqb);)"
_CLOSES = r"(?:\\?[\]］】〕〗⟧❳〛⟩〉》〙⁆﹞⸣⸥⦌⦎⦐⟭｠]|&(?:#0*93|#x0*5d|rbrack|rsqb);)"
_LABEL = re.compile(
    rf"(?<![ \t])[ \t]*!?{_OPENS}"
    rf"((?:(?!{_OPENS}|{_CLOSES})(?:[^\n]|\n(?![ \t]*\n))){{1,80}}?){_CLOSES}"
    rf"(?:{_ADDRESS})?",
    re.IGNORECASE,
)
_SOURCE = (  # what a source is called, in the languages of PostgreSQL that have a word for it
    r"sources?|quellen?|fuentes?|fontes?|font[ei]|bron(?:nen)?|källor?|kilder?|lähde|kaynak|forrás"
    r"|surs[aă]|źródło|источники?|πηγ[ήέ]ς?|来源|來源|出典|출처|ref(?:erence)?s?|cit(?:e|ations?)"
)
_NAMES = re.compile(
    rf"{_SOURCE}|doc(?:ument)?s?|(?:foot)?notes?|cit[ae]\w*|nos?\b|pp?\b|pages?|result|search|turn"
    r"|keys?|passages?|excerpts?|snippets?|chunks?",
    re.IGNORECASE,
)
# What looks like a key: six letters and digits, or what is left of one.
_KEYLIKE = re.compile(
    r"(?<![a-z0-9])(?:(?=[a-z]{0,5}\d)(?=\d{0,5}[a-z])(?![a-z]{4,5}\d{1,2}(?![a-z0-9]))[a-z0-9]{6}|\d[b-df-hj-np-tv-z]{3,5}\d?)"
    r"(?![a-z0-9])",
    re.IGNORECASE,
)
_KEY_ALONE = re.compile(  # of the form of our own, in no brackets
    rf"(?<![ \t])[ \t]*(?<![\w./-])(?:(?:{_SOURCE})[ \t]*[:：]?[ \t]*)?({KEY.pattern})(?![\w/-])",
    re.IGNORECASE,
)
_BY_NAME = re.compile(rf"\s*(?:{_SOURCE})\s*[:：]\s*(\S[^\n]*)", re.IGNORECASE)
_CURLY = re.compile(
    rf"(?<![ \t])[ \t]*(?:\\cite\w*\{{([^{{}}\n]{{1,60}})\}}"
    rf"|\{{{{1,2}}\s*(?:{_SOURCE})\s*[:：|= ]\s*([^{{}}\n]{{1,60}})\}}{{1,2}})",
    re.IGNORECASE,
)
_UNUSUAL = re.compile(  # {7}, [VII] and ⑦ at the end of a sentence; 「7」 behind its full stop
    r"(?:(?<=\w)[ \t]+|(?<=[.,;:!?)。！？\]])[ \t]*)"
    r"(?:[{『‹](\d{1,3}(?:, ?\d{1,3})*|[a-z0-9]{6})[}』›]"
    r"|\[((?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})|[\u2160-\u216b]+)\]"
    r"|([\u2460-\u2487\u24f5-\u24fe\u2776-\u2793]+|\^\d{1,3}\^))"
    r"(?=[ \t]*(?:[.!?,;。！？、\[]|\n|\Z))"
    r"|(?<=[.!?。！？])[ \t]*[「『｢](\d{1,3}|[a-z0-9]{6})[」』｣]",
)
_ELEMENT = re.compile(  # <cite>1</cite>
    rf"(?<![ \t])[ \t]*<((?:{_SOURCE}|co|doc(?:ument)?)\b)[^<>]{{0,200}}>([^<>\n]{{1,80}})</\1\s*>",
    re.IGNORECASE,
)
_ROUND = re.compile(  # (1) at the end of a sentence, or with a word: (source 1)
    r"(?<![ \t])[ \t]+[(（](?:\d{1,2}(?:\s*[,;–-]\s*\d{1,2})*[)）]"
    r"(?=[ \t]*[.!?。]?[ \t]*(?:\n|\Z)|[.!?。](?:\s|\Z))"
    rf"|((?:{_SOURCE}|doc|passages?|excerpts?|snippets?|chunks?)[^()（）\n]{{1,40}}|[a-z0-9]{{6}})[)）])",
    re.IGNORECASE,
)
_DECORATION = " \t\n*_~^#@†‡§&,;.:|/'\"`\\–—-、，；[]()【】"  # around the number in a label
_MARKER = re.compile(
    rf"((?<![ \t])[ \t]*)!?\[\^?({_NUMBERS})\]({_ADDRESS}|\[[^\]\n]*\](?:{_ADDRESS})?)?"
)
_CITATION = re.compile(r"\[(\d{1,6}(?:, \d{1,6})*)\]")
_VALUE = re.compile(r"(?:[=]|[\"']\s*:|\w\()[ \t]*\Z")  # a list of numbers follows
_MOST_NUMBERED = 20  # (30) at the end of a sentence is no source
_ROUNDS = 8  # what is taken out may leave another one


@dataclass(frozen=True, kw_only=True, slots=True)
class Marker:
    """A citation: text[start:stop] is [n] or [n, m]. numbers: in their order."""

    start: int
    stop: int
    numbers: tuple[int, ...]


def find_markers(text: str) -> Iterator[Marker]:
    """Yield the citations of a text. In code only those that end a comment: others are indices."""
    codes = code_spans(text)
    starts = [start for start, _ in codes]
    comments = {
        start + match.end(1) + 1
        for start, stop in codes
        for match in _ends_of_comments(text[start:stop])
    }
    for match in _CITATION.finditer(text):
        before = bisect_right(starts, match.start())
        in_code = before > 0 and match.start() < codes[before - 1][1]
        if match.end() in comments or not (in_code or is_value(text, match.start())):
            numbers = tuple(int(number) for number in match[1].split(", "))
            yield Marker(start=match.start(), stop=match.end(), numbers=numbers)


def is_value(text: str, at: int) -> bool:
    """Whether the brackets at text[at] hold an index or a list of numbers: x[0], x = [1, 2]."""
    is_index = text.startswith("[0]", at) and text[at - 1 : at].isalnum()
    return is_index or bool(_VALUE.search(text, max(at - 20, 0), at))


def cited_numbers(text: str) -> set[int]:
    """Return the numbers of the sources that a text cites."""
    return {number for marker in find_markers(text) for number in marker.numbers}


def without_false_markers(
    text: str, numbers: Collection[int], known: Known = NOTHING, told: Counter[str] | None = None
) -> str:
    """Return a text whose only markers in brackets are those of `numbers`.

    A number that is the text of a link or an image loses its address, whatever it is; definitions
    of references and footnotes, raised numbers behind a sentence, and code that is nothing but a
    marker are taken out, and so is whatever else looks like a marker to a reader: in other
    brackets, escaped, with a word, an invisible character or emphasis inside, a key that no source
    has. An index in code stays.

    Args:
        known: what the sources say, and is no invention of a model's: [sha256], (3).
        told: counts what was taken out.
    """
    shown = text
    taken = _Taken(numbers, known)
    for _ in range(_ROUNDS):
        before, shown = shown, _once(shown, taken)
        if shown == before:
            break
    if told is not None and taken.count:
        told["citation"] += taken.count
    return shown.strip() if shown != text else text


@dataclass(slots=True)
class _Taken:
    """What may be cited, and how much was taken out."""

    numbers: Collection[int]
    known: Known
    count: int = 0

    def out(self, match: re.Match[str]) -> str:
        self.count += 1
        return ""


def _ends_of_comments(code: str) -> Iterator[re.Match[str]]:
    """Yield the markers at the end of a line of code that has a comment before them."""
    for match in _AT_LINE_END.finditer(code):
        if _COMMENT.search(code, code.rfind("\n", 0, match.start()) + 1, match.start()):
            yield match


def _without_comments(code: str, numbers: Collection[int]) -> str:
    """Return code without the markers at the end of comments that cite another number."""
    pieces, at = [], 0
    for match in _ends_of_comments(code):
        if not {int(n) for n in re.findall(r"\d+", match[1])} <= set(numbers):
            pieces.append(code[at : match.start()])
            at = match.end()
    return "".join([*pieces, code[at:]])


def _once(text: str, taken: _Taken) -> str:
    text = _IN_CODE.sub(taken.out, text)
    shown, at = "", 0
    for start, stop in [*code_spans(text), (len(text), len(text))]:
        code = text[start:stop]
        shown += _prose(text[at:start], taken)
        only = _ONLY_A_MARKER.fullmatch(code) or _KEY_IN_CODE.fullmatch(code)
        if only and only.re is _KEY_IN_CODE and not _cites(only[1], taken.known):
            only = None
        shown += taken.out(only) if only else _without_comments(code, taken.numbers)
        at = stop
    return shown


def _prose(text: str, taken: _Taken) -> str:
    numbers, known = taken.numbers, taken.known

    def marker(match: re.Match[str]) -> str:
        if not match[3] and is_value(match.string, match.end(1)):
            return match[0]
        items = re.findall(r"\d+", match[2]) if re.fullmatch(r"[\d, ]+", match[2]) else ()
        good = [str(n) for n in map(int, items) if n in numbers]
        label = match[3] if match[3] and match[3].startswith("[") else ""
        more = _MARKER.sub(marker, label)  # a marker too, or the text of a link
        shown = f"{match[1]}[{', '.join(good)}]" if good else ""
        taken.count += not good
        follows = match.string[match.end() : match.end() + 1] == "(" and not more
        if shown and (follows or (more and not _CITATION.fullmatch(more))):
            shown += " "  # no link
        return shown + (more if more != "[]" else "")

    def label(match: re.Match[str]) -> str:
        is_text = _MARKER.match(match[0]) or not _cites(match[1], known)
        return match[0] if is_text else taken.out(match)

    def anchor(match: re.Match[str]) -> str:
        return re.sub("<[^>]*>", "", match[1]) if _cites(match[1], known) else match[0]

    def nested(match: re.Match[str]) -> str:
        return match[2] if _cites(f"{match[1]}1{match[3]}", known) else match[0]

    def named(match: re.Match[str]) -> str:
        number = re.fullmatch(r"\W*(\d+)\D*", match[0]) if match.re is _ROUND else None
        is_far = number is not None and int(number[1]) > _MOST_NUMBERED
        is_word = match.re is _ROUND and match[1] and not _cites(match[1], known)
        is_text = is_far or is_word or known.says(match[0].strip())
        return match[0] if is_text else taken.out(match)

    def unusual(match: re.Match[str]) -> str:
        label = next(filter(None, match.groups()))
        is_text = known.says(match[0].strip()) or not (
            label.isdigit() or not label.isalnum() or label.isupper() or _cites(label, known)
        )
        return match[0] if is_text else taken.out(match)

    def element(match: re.Match[str]) -> str:
        return taken.out(match) if _cites(match[2], known) else match[0]

    def raised(match: re.Match[str]) -> str:
        word = match.string[max(match.start() - 4, 0) : match.end()]
        return match[0] if word[0].isalpha() and known.says(word) else taken.out(match)

    text = _OF_CHAT.sub(taken.out, _DEFINITION.sub(taken.out, text))
    text = _DOUBLED.sub(lambda m: taken.out(m) if _cites(m[1], known) else m[0], text)
    text = _RAISED.sub(raised, text)
    text = _ROUND.sub(named, _CURLY.sub(named, _ELEMENT.sub(element, _ANCHOR.sub(anchor, text))))
    text = _UNUSUAL.sub(unusual, text)
    text = _EMPTY.sub("", _NESTED.sub(nested, text))
    text = _LABEL.sub(label, text)
    text = _KEY_ALONE.sub(lambda m: m[0] if known.says(m[1]) else taken.out(m), text)
    return _MARKER.sub(marker, text)


def _cites(label: str, known: Known) -> bool:
    """Whether what stands in brackets looks like the number or the key of a source; beside a key
    may stand a word (see, and)."""
    plain = unicodedata.normalize("NFKC", html.unescape(re.sub("<[^>]*>", "", label)))
    # [1.5, 2.5], [-1, 1] and [123456789]
    if re.search(r"\d\.\d|(?<!\d)[-+\u2212]\s*\d|\d{7}", plain):
        return False
    seen = "".join(c for c in plain if unicodedata.category(c) not in ("Cf", "Mn", "Cc"))
    if _BY_NAME.fullmatch(seen):
        return not known.says(seen.strip())
    seen = re.sub(r"(?<=\w)\s*[†‡].*", "", seen)
    keys = [key for key in _KEYLIKE.findall(seen) if not known.says(key)]
    rest = _KEYLIKE.sub(lambda match: "" if match[0] in keys else match[0], seen)
    rest = _NAMES.sub("", re.sub(r"\d+", "", rest))
    words = rest.strip(_DECORATION).split()
    return len(words) <= bool(keys) and bool(keys or any(c.isdigit() for c in seen))
