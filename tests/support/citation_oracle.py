"""Whether a quotation is a run of whole tokens of its source: the definition, apart from the SQL.

Both are brought to one form. The quotation has to stand in that of the source, and neither edge of
it inside what a rule finds there, in the kinds of its characters or in its words.
"""
# fmt: off

import html
from functools import cache
from unicodedata import category, decomposition, normalize

import regex as re

SAME = dict.fromkeys("‘’‚‛`´ʼ′＇ʹʻʽ՚׳‹›‵ꞌ", "'") | dict.fromkeys("“”„‟«»″＂״‶〝〞〟", '"')
IGNORED = re.compile(r"\p{DI}|(?![\s\x1c-\x1f])\p{Cc}")
JOINED = "\ue0f0"  # a hyphen at the end of a line
UNSPACED = r"(?=[\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}\p{Han}\p{Hiragana}])"
# h numeral of Chinese, u letter and v mark of a script without spaces, c per cent, s sign, j and q
# in and between words, b bracket, p only between words, n number, m mark, l letter
KINDS = (r" \s", "l[Ⅰ-ⅿ⁽⁾₍₎]", "c[⁺⁻⁼₊₋₌]", rf"h〇|{UNSPACED}\p{{nt=numeric}}(?<=\p{{L}})",
         rf"v{UNSPACED}\p{{M}}|[゛゜\u3099\u309a]", rf"u{UNSPACED}\p{{L}}", "--", "c[%‰‱٪°]",
         r"p\|", r"s[\^/~\p{Sm}\p{Sc}]", "q[;!?]", "j[.:'*_‿⁀⁔]", "b[][(){}]",
         r"l[\\&@#·՛՜՞՟٫٬‾‗]", r"p\p{P}", r"n\p{N}", r"m\p{M}", "l.")
INSIDE = ("[^ puvjqhb-](?:[^ puvhb]*[^ puvjqhb-])?", "[^ ][vm]+", "h+", "[^ pub]- +[^ pub]",
          "[lmn]b+l", "n[. ]?n", "n ?-+ ?n", "[s-][s -]*n", "n ?[sc]", "[j-]+[ns]", "h ?n")
UNIT = "(?<![^ puqbh])[sjn-]*nm* ?[^ pbjq-]|h*[nh] ?[uh]"  # where a quotation ends
STOP = r" ?(?:of|and|in|the|for|by|on|at|was|is|with|from|no)\b"
WORDS = (r"\d (?:[kcm]?m|[mk]?g|[lt])\b", r"\d,\d", r"\b(?:chf|eur|usd|gbp|rs) \d", r"\d(?:'| ?\")",
         r"(?<!\d)\d{1,3} (?:to|à|a|o|or|of|by|x|·|:) \d", r"(?:§|\bminus) ?\d",
         r"[不未無无没非第] ?\w", r"(?<!\S)[.!]\w", r"\w[)\]}]+\d", r"\d ?[xˣⅹ] ?\d",
         r"\d ?[%°] ?\d+ ?['\"%]")


@cache
def one(c: str) -> str:
    whole = normalize("NFKC", c)
    if c in SAME or category(c) in ("No", "Nl") or whole[0] == " " or "<su" in decomposition(c):
        whole = c
    return "".join(SAME.get(x, "-" if x in "−⁃" or category(x) == "Pd" else x) for x in whole)


@cache
def kind(c: str) -> str:
    return next(k[0] for k in KINDS if re.match(k[1:], c, re.S))


def is_parted(before: str, after: str) -> bool:
    edges = before + after
    return {*map(kind, edges)} <= {*"ulmvhsj"} and not re.search(r"[!-@[-`{-~]", edges)


def form(text: str) -> str:
    text = re.sub(r"&#?\w{2,31};", lambda m: html.unescape(m[0]), text)
    text = IGNORED.sub("", re.sub(r"\u00ad(?=\s)", "-", text))
    text = re.sub(r"(?<![0-9*])\*\*|\*\*(?![0-9*])", "", text)
    text = re.sub(r"(?<!\w)([*_`~])(\w[^*_`~]*\w)\1(?!\w)", r"\2", text)
    text = normalize("NFC", "".join(map(one, normalize("NFC", text))).casefold())
    text = re.sub(r"[\s\x1c-\x1f]+", " ", text)
    text = re.sub("(?<=(.))- (?=(.))", lambda m: JOINED if is_parted(*m.groups()) else m[0], text)
    return str(re.sub(r"(?<=\d) (?=%)| (?=[.:](?: (?!\d)|$))", "", text)).strip()


def pattern(form: str) -> str:
    """What a form may look like in the source: a space is free beside some characters."""
    free = [(kind(c) in "uvpqb" or c == '"') and not re.match(r", ?\d", form[n:])
            for n, c in enumerate(form)]
    also = {"-": f"[-{JOINED}]", JOINED: f"[-{JOINED}]?"}
    made = [f" ?{re.escape(c)} ?" if free[n] else also.get(c, re.escape(c))
            for n, c in enumerate(form)
            if c != " " or "-" in form[n - 1 : n + 2] or not (free[n - 1] or free[n + 1])]
    return f"{JOINED}?".join(made).removeprefix(" ?").removesuffix(" ?")


def inside(rules: tuple[str, ...], text: str) -> set[int]:
    found = (m for rule in rules for m in re.finditer(rule, text, overlapped=True))
    return {place for m in found for place in range(m.start() + 1, m.end())}


def proves(source: str, quote: str) -> bool:
    """Whether a source proves a quotation."""
    text, asked = form(source), form(quote)
    kinds = "".join(map(kind, text))
    cuts = inside(INSIDE, kinds) | inside(WORDS, text)
    units = {n for n in inside((UNIT,), kinds) if not re.match(STOP, text[n:])}
    around = r"^(?:[-*+•>#]+ (?!\d))?[\"'(\[{.,;:!?]*|(?: -|[\"')\]}.,;:!?。 ])*$"
    found = (m for some in (asked, re.sub(around, "", asked))
             for m in re.finditer(pattern(some), text, overlapped=True))
    return len(asked) >= 12 and any(
        m.start() not in cuts and m.end() not in cuts | units for m in found)
