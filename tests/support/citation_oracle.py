"""What proves a quotation, by its definition: its tokens are a run of whole tokens of the source.

Tokens are made of the normal form, a character at a time, by the categories of Unicode. What has
no white space inside is one, but for marks around words; a number is one with its sign, currency,
unit and further figures; of Chinese and Thai a character is one, with a negation before it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from unicodedata import category, decomposition, normalize

IGNORED = re.compile(  # Default_Ignorable_Code_Point, and controls that are no white space
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-"
    "\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
SAME = dict.fromkeys("'‚’´`‘′ʼ‛‵‹›＇ʹʻʽ՚׳ꞌ", "'") | dict.fromkeys('"“”„‟«»″‶〝〞〟＂', '"')
INSIDE = set(".:'·‧-_/\\@&#%*‰‱٪՛՜՞՟״٫٬‿⁀⁔‴‷⁗\x02")  # punctuation that stands in words
SINGLE = re.compile(  # Thai, Lao, Burmese, Khmer, Chinese, and Japanese but for Katakana
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f\u3005\u3040-\u309f\u3400-"
    "\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]"
)
NUMERAL, NOT = "〇零一二三四五六七八九十百千万億亿兆萬", "不未非無无"
FUNCTION_WORDS = {"of", "the", "and", "was", "is", "to", "vi"}  # behind a number, and no unit
QUANTITY = re.compile(rf"(?:^|{SINGLE.pattern}|[^\w.,:'^⁄/*~+=<>$€£-])[-+~$€£.,:'^⁄/*0]*[0^]$")
UNITS = r"(?:kg|mg|g|km|cm|mm|m|l|t|s|h|min|[mb]illions?|thousand|percent|usd|eur|chf|gbp)(?!\w)"
AROUND = (
    r"[\s\"'‛‚‹›“”„‟«»‘’〝〞〟＂＇「」()\[\]（）…|]|\.{3}(?!\.)|\.{4,}(?![\d.])"
    r"|[->#*+]+\s+(?=[^\W\d])|(?<=\s)-+$"
)


def normal(text: str) -> str:
    made = []
    for one in re.sub("\xad+(?=\\s)", "-", IGNORED.sub("", normalize("NFC", text))).replace(
        "\xad", ""
    ):
        dash = category(one) == "Pd" or one in "−⁃"
        made.append("-" if dash else SAME.get(one, one))
    text = re.sub(r"(?<![0-9*])\*\*|\*\*(?![0-9*])", "", "".join(made))
    made = []
    for one in text:
        framed = decomposition(one) and (category(one) == "No" or "⁰" <= one <= "ₜ")
        made.append(
            "^" * bool(framed)
            + normalize("NFKD", one).lower().replace("−", "-")
            + "^" * bool(framed)
        )
    text = re.sub(r"\s+", " ", "".join(made))
    text = re.sub(r" (?=[.:](?: |$))|(?<=[0-9]) (?=%)", "", text)
    return re.sub(r"(?<=[^\0-@[-`{-\x7f])- (?=[^\0-@[-`{-\x7f])", divided, text)


def divided(match: re.Match[str]) -> str:
    """A word that goes on in the next line: a mark, which Chinese does not need."""
    beside = match.string[match.start() - 1], match.string[match.end()]
    if any(outside(one) or (category(one)[0] == "N" and one not in NUMERAL) for one in beside):
        return match[0]
    return "" if any(map(loose, beside)) else "\x02"


def outside(one: str) -> bool:
    """Whether a character stands between words."""
    return one in " |" or (category(one)[0] == "P" and one not in INSIDE)


def tight(one: str) -> bool:
    """Whether nothing parts a character from another one that is beside it."""
    return not (outside(one) or single(one))


def single(one: str) -> bool:
    return one in NUMERAL or bool(SINGLE.match(one) and category(one)[0] in "LM")


def found(pattern: str, text: str) -> str:
    match = re.match(pattern, text, re.S)
    return match[match.lastindex or 0] if match else ""


def glued(before: str, after: str) -> bool:
    """Whether the texts beside a place, in which figures are 0, are parts of one token."""
    left, right = before.rstrip(), after.lstrip()
    if not left or not right:
        return False
    near, a, b = left == before and right == after, left[-1], right[0]
    marks = found(r"[.:'*_]*", right), found(r".*?([.:'*_-]*)$", left)
    begins, ends = right[len(marks[0]) :][:1] or " ", left[: len(left) - len(marks[1])][-1:] or " "
    outer = (marks[0] and not tight(begins)) or (
        marks[1]
        and not tight(ends)
        and not re.match(r"[0%$+.-]", b)
        and category(b) not in ("Sm", "Sc")
    )
    number, money = a == "0", category(b) == "Sc"
    sign = b in "^/~%‰‱٪°′″‴" or (category(b) == "Sm" and b != "|")
    signed = (category(a) in ("Sm", "Sc") and a != "|") or a in "-*/^~"
    word = found(r"\w*", right)
    unit = tight(b) and b not in ".:'*_~-" and word not in FUNCTION_WORDS
    return bool(
        (near and tight(a) and tight(b) and not outer)
        or (near and category(b)[0] == "M")
        or (signed and re.match(r"\^?0|[.,]0", right[money:].lstrip()))
        or (number and (re.match(r"\^?0|\* ?0|- ?[0(]", right) or b in NUMERAL or money or sign))
        or (near and re.search(r"(^|[0 ]),$", left) and b == "0")
        or (near and number and right.startswith(",0"))
        or (number and (b == '"' or (near and b == "'")) and b not in left)
        or (re.search(r"\w-$", left) and tight(b))
        or left.endswith("~~") or right.startswith("~~")
        or (QUANTITY.search(left) and (single(b) or unit))
        or (a in NUMERAL and (b in NUMERAL or b == "0"))
        or (a in NOT and single(b))
    )  # fmt: skip


@lru_cache(10_000)
def tokens(form: str) -> list[str]:
    bare = "".join("0" if category(c)[0] == "N" and c not in NUMERAL else c for c in form)
    places = [
        p
        for p in range(1, len(form))
        if form[p - 1] != " " and not glued(bare[max(0, p - 30) : p], bare[p : p + 30])
    ]
    found = [form[i:j] for i, j in pairwise([0, *places, len(form)])]
    return [token for token in map(tidy, ["", *found], found) if token]


def tidy(before: str, token: str) -> str:
    """White space says nothing beside Chinese, and beside what stands between words."""
    beside = before[-1:] + token.rstrip()
    pairs = [(beside[n - 1 : n], beside[n + 1 : n + 2]) for n in range(len(beside))]
    kept = (
        one
        for one, (a, b) in zip(beside, pairs, strict=True)
        if one != " " or not (loose(a) or loose(b) or (katakana(a) and katakana(b)))
    )
    return "".join(kept)[len(before[-1:].strip()) :]


def loose(one: str) -> bool:
    """Whether white space beside a character says nothing."""
    return bool(one and ((SINGLE.match(one) and category(one)[0] in "LM") or outside(one)))


def katakana(one: str) -> bool:
    return "\u30a0" < one <= "\u30ff"


def same(one: str, other: str) -> bool:
    """A word that is divided at the end of a line has a hyphen in the other text, or none."""
    divided, whole = (one, other) if "\x02" in one else (other, one)
    return one == other or bool(
        re.fullmatch(re.escape(divided).replace("\x02", "-?"), whole) and "\x02" in divided
    )


def is_unit(token: str, word: str) -> bool:
    """What stands behind a number may be quoted without it: 3.1 Overview."""
    head, first = token[: -len(word)], word[0]
    if not token.endswith(word) or not (
        head.rstrip()[-1:].isnumeric() or head.rstrip()[-1:] == "^"
    ):
        return False
    if re.match(UNITS, word):
        return False
    other = (
        category(first) in ("Nd", "Nl", "No", "Sm", "Sc") or first in NUMERAL or first in "^%‰°/-"
    )
    return not other and (head[-1] == " " or bool(single(first) or loose(first)))


def proves(source: str, quote: str) -> bool:
    quote = "".join("-" if category(one) == "Pd" else one for one in IGNORED.sub("", quote))
    core = re.sub(
        f"(?:{AROUND}|[.,;:!?。．，：；！？])+$", "", re.sub(f"^(?:{AROUND})+", "", quote)
    )
    there = tokens(normal(source))
    return len(core) >= 12 and any(
        holds(there, tokens(normal(one).strip())) for one in (quote, core)
    )


def holds(there: list[str], wanted: list[str]) -> bool:
    return any(
        all(map(same, there[n + 1 : n + len(wanted)], wanted[1:]))
        and (same(there[n].lstrip(), wanted[0]) or is_unit(there[n], wanted[0]))
        for n in range(len(there) - len(wanted) + 1)
    )
