"""Whether a quotation is a run of whole tokens of its source: the definition, apart from the SQL.

Both are brought to one form. The quotation has to stand in that of the source, and neither edge of
it inside what a rule of TOKENS, UNITS or WORDS finds there.
"""

from __future__ import annotations

import html
import re
import sys
from functools import cache
from unicodedata import category, decomposition, normalize, numeric

_UNSPACED = (  # Thai, Lao, Burmese, Khmer, Chinese, and Japanese but for Katakana
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f\u3005-\u3007\u3040-\u309f"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]"
)
_UNSEEN = (  # Default_Ignorable_Code_Point but for controls; and the controls that are seen
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0f\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)
_SEEN = "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\ufff9-\ufffb\U000110bd-\U0001345f]"
_CONTROLS = "".join(
    c for c in map(chr, range(1, sys.maxunicode)) if category(c) in ("Cf", "Cc") and not c.isspace()
)
IGNORED = re.compile(f"{_UNSEEN[:-1]}{re.escape(re.sub(_SEEN, '', _CONTROLS))}]")
_SAME = dict.fromkeys("‘’‚‛`´ʼ′＇ʹʻʽ՚׳‹›‵ꞌ", "'") | dict.fromkeys("“”„‟«»″＂״‶〝〞〟", '"')
_SAME |= dict.fromkeys("−⁃\u1806⸗", "-") | {"…": "..."}
_SHAPES = "<wide> <narrow> <initial> <medial> <final> <isolated> <square> <small> <vertical>"
_DIVIDED, _BREAK = "\ue0f0", "\ue0f1"  # a hyphen at the end of a line; the end of one of Korean
_KINDS = {"-": "-", "%‰‱٪°": "c", "|": "p", "^/~": "s", ".:'*_‿⁀⁔": "j", ";!?": "q", "()[]{}": "b",
          "\\&@#·՛՜՞՟٫٬﹉﹊﹋﹌‾‗": "l", _BREAK: " "}  # fmt: skip
_FUNCTION_WORDS = {
    "of", "and", "in", "the", "for", "by", "on", "at", "was", "is", "with", "from", "no",
}  # fmt: skip


def _rules(*rules: str) -> list[re.Pattern[str]]:
    return [re.compile(f"(?=({rule}))") for rule in rules]


# What no edge stands inside, in kinds of characters; what none ends in before a function word.
TOKENS = _rules(
    "[^ puvjqhb-](?:[^ puvhb]*[^ puvjqhb-])?", "[^ ][vm]+", "h+", "[^ pub]- +[^ pub]", "[lmn]b+l",
    "n[. ]?n", "n ?-+ ?n", "[s-][s -]*n", "n ?[sc]", "[j-]+[ns]", "h ?n",
)  # fmt: skip
UNITS = _rules("(?<![^ puqbh])[sjn-]*nm* ?[^ pbjq-]", "h*[nh] ?[uh]")
WORDS = _rules(
    f"(?:[不未無无没沒非第]|ไม่) ?{_UNSPACED}", "[ぁ-ヿ一-鿿][ぁ-ゟ]*?(?:ない|なか|ませ|ず|ぬ)",
    r"\([^\w()]*\d[\d.,]*[^\w()]*\)(?: \w+)?", r"\d (?:[kcm]?m|[mk]?g|[lt])\b", r"\d,\d",
    r"\b(?:chf|eur|usd|gbp) \d", r"""\d(?:'| ?")""",
    r"\d (?:to|or|à|[aª]|ou|[oº]) \d", r"(?<!\d)\d{1,3} (?:of|by|von|·|:) \d",
    r"\d (?:tsd\.|mio\.|million) euros?\b", r"between \S+ and \d", r"\w[)\]}]+\d", r"\d ?[xˣⅹ] ?\d",
    r"(?:§|\bminus) ?\d", r"(?<!\S)[.!]\w", r"\d ?[%°] ?\d+ ?['\"%]",
    r"\d ?(?:h|ft|kg|lb) ?\d+ ?(?:min|in|g|oz)\b", r"\d h \d\d\b",
    r"\b(?:der|die|das|dem|den|des|im|zum|vom|beim) \d\d?\. \w",
)  # fmt: skip
BEGINS = _rules(r"[(\[{] ?[-$\d.,](?=[-$\d., ]*[)\]}])")  # (5, 10]
NOTES = re.compile(r"(?:^|[^\d ] )([^\W\d_]{4,})(?=(?:[⁰¹²³⁴-⁹]+|<sup>\d+</sup>)(?!\w))")
_DATED = re.compile(r"\b(?:year|jan|feb|mar|apr|may|ju[nl]|aug|sep|oct|nov|dec)[\w ,]* \d{4}$")


@cache
def _one(c: str) -> str:
    """A character as it is compared: ligatures apart, one kind of dash and quotation mark."""
    how, whole = decomposition(c).split(" ")[0], normalize("NFKC", c)
    letters = how in ("<compat>", "<circle>") and whole.isalpha()
    kept = (  # ①, ˙ and Ⅵ
        category(c) == "No" or whole[0] == " " or (category(c) == "Nl" and whole.isascii())
    )
    symbol = category(c) == "Pc" or (how == "<compat>" and category(c) in ("So", "Po"))
    c = (
        whole
        if c not in _SAME and not kept and (letters or symbol or (how and how in _SHAPES))
        else c
    )
    return "".join(_SAME.get(one, "-" if category(one) == "Pd" else one) for one in c)


@cache
def _kind(c: str) -> str:
    """n number, h numeral of Chinese, u letter and v mark of a script without spaces, m mark, l
    letter, s sign, c per cent, b bracket, j and q in and between words, p only between them."""
    group, raised = category(c)[0], "<su" in decomposition(c)
    if c == "〇":
        return "h"
    if c in "゛゜" or (re.match(_UNSPACED, c) and group in "LM"):
        return "v" if group == "M" else "u" if numeric(c, None) is None else "h"
    if c.isspace():
        return " "
    others = (
        "l"
        if raised and group == "P"
        else "n"
        if raised and group != "S"
        else "s"
        if category(c) in ("Sm", "Sc")
        else "p"
        if group == "P"
        else "l"
    )
    if group in "NM":
        others = "l" if category(c) == "Nl" and decomposition(c) else group.lower()
    elif group not in "PS":
        others = "l"
    return next((kind for some, kind in _KINDS.items() if c in some), others)


def _joins(c: str) -> bool:
    return (_kind(c) in "ulmvh" and c not in "\\&@#") or (c > "\x7f" and _kind(c) in "sj")


def _form(text: str) -> str:
    text = re.sub(r"&#?\w{2,31};", lambda m: html.unescape(m[0]), text)
    text = IGNORED.sub("", re.sub(r"\u00ad(?=\s)", "-", text))
    text = re.sub(
        r"(?<![0-9*])\*\*|\*\*(?![0-9*])|(?<!\w)([*_`~])(\w[^*_`~]*\w)\1(?!\w)", r"\2", text
    )
    text = normalize("NFC", "".join(map(_one, normalize("NFC", text))).casefold())
    text = re.sub(r'(?<=[א-ת])"(?=[א-ת])', "·", text)
    text = re.sub(r"(?<=[가-힣])\s*\n\s*(?=[가-힣])", _BREAK, text)
    text = re.sub(
        r"(?<=(.))-\s+(?=(.))",
        lambda m: _DIVIDED if _joins(m[1]) and _joins(m[2]) else m[0],
        text,
    )
    text = re.sub(r"\s+", " ", text)
    return re.sub(r"(?<=\d) (?=%)| (?=[.:](?: (?!\d)|$))", "", text).strip()


def _pattern(form: str) -> str:
    """What a form may look like in the source: white space is free beside some characters."""
    loose = [
        (_kind(c) in "uvpqb" or c == '"') and not (c == "," and re.match(" ?\\d", form[n + 1 :]))
        for n, c in enumerate(form)
    ]
    made = []
    for n, c in enumerate(form):
        if c == " " and "-" not in form[n - 1 : n + 2] and (loose[n - 1] or loose[n + 1]):
            continue
        one = {" ": f"[ {_BREAK}]", "-": f"[-{_DIVIDED}]", _DIVIDED: f"[-{_DIVIDED}]?",
               _BREAK: f"[ {_BREAK}]?"}.get(c, re.escape(c) + f"[{_BREAK}{_DIVIDED}]?")  # fmt: skip
        made.append(f" ?{one} ?" if loose[n] else one)
    return "".join(made).removeprefix(" ?").removesuffix(" ?")


def _inside(rules: list[re.Pattern[str]], text: str) -> set[tuple[int, int]]:
    return {
        (place, m.end(1))
        for rule in rules
        for m in rule.finditer(text)
        for place in range(m.start(1) + 1, m.end(1))
    }


def proves(source: str, quote: str) -> bool:
    """Whether a source proves a quotation."""
    text, asked = _form(source), _form(quote)
    kinds = "".join(map(_kind, text))
    inside = {place for place, _ in _inside(TOKENS, kinds) | _inside(WORDS, text)}
    begins = {place for place, _ in _inside(BEGINS, text)}
    notes = {m.end(1) for m in NOTES.finditer(text) if set(kinds[slice(*m.span(1))]) <= {*"lm"}}
    units = {
        place
        for place, last in _inside(UNITS, kinds)
        if re.split(r"\W", text[last - 1 :], maxsplit=1)[0] not in _FUNCTION_WORDS
        and not _DATED.search(text[:place])
    }
    bare = re.sub(r"^(?:[-*+•>#]+ (?!\d))?[\"'(\[{.,;:!?]*|(?: -|[\"')\]}.,;:!?。 ])*$", "", asked)
    return len(asked) >= 12 and any(
        m.start(1) not in inside | begins and m.end(1) not in (inside - notes) | units
        for some in {asked, bare}
        for m in re.finditer(f"(?=({_pattern(some)}))", text)
    )
