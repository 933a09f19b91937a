"""Whether a quotation is a run of whole tokens of its source: the definition, apart from the SQL.
Both are brought to one form; neither edge of the quotation may lie inside what a rule finds there.
"""

# fmt: off
import html
from functools import cache
from unicodedata import normalize

import regex as re

SAME = str.maketrans("‘’‚‛`´ʼ′＇ʹʻʽ՚׳‹›‵ꞌ“”„‟«»″＂״‶〝〞〟", 18 * "'" + 13 * '"')
IGNORED = re.compile(r"\p{DI}|(?![\s\x1c-\x1f])\p{Cc}")
UNSPACED = r"(?=[\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}\p{Han}\p{Hiragana}])"
FREE = "\ue0f0"  # a space that may be left out
# h numeral of Chinese, u letter and v mark of a script without spaces, c per cent, s sign, j and q
# in and between words, b bracket, p only between words, n number, m mark, l letter
KINDS = (rf" [\s{FREE}]", r"l[Ⅰ-ⅿ⁽⁾₍₎\\&@#·՛՜՞՟٫٬‾‗]", "c[⁺⁻⁼₊₋₌%‰‱٪°]", "--", "q[;!?]",
         "j[.:'*_‿⁀⁔]", "b[][(){}]", rf"h[〇〸-〺]|{UNSPACED}\p{{nt=numeric}}(?<=\p{{L}})",
         r"n\p{N}", rf"v(?!\p{{Han}}){UNSPACED}\p{{M}}|[゛゜\u3099\u309a]",
         rf"u{UNSPACED}\p{{L}}", r"m\p{M}",
         r"s(?!\|)[\^/~\p{Sm}\p{Sc}]", r"p[\p{P}|]", "l.")
INSIDE = ("[^ puvjqhb-](?:[^ puvhb]*[^ puvjqhb-])?", "[^ ][vm]+", "[^ pub]- +[^ pub]", "[lmn]b+l",
          "[hns-][s -]*[hn]", "n ?[sc]", "[j-]+[ns]")
WORDS = (r"\d (?:[kcm]?m|[mk]?g|[hlst]|rs)\b", r"\d,\d", r"\d(?:'| ?\")", r"(?<!\S)[.!]\w",
         r"(?:§|[⁺⁻⁼₊₋₌]|\b(?:minus|chf|eur|usd|gbp|rs|pp?)) ?\d", r"[不未無无没非第] ?\w",
         r"(?<!\d)(?:\d{1,3} (?:to|à|a|o|or|of|by|·|:)|\d+ ?[xˣⅹ]) ?\d", r"[a-z\d]\(\d",
         r"\w\(\)", r"(?<= )-[b-df-hj-np-tv-xz]{1,2}(?![\w'-])",
         rf"(?!{UNSPACED})\w[)\]}}]+\d", r"\d ?[%°] ?\d+ ?['\"%]",
         r"\S (?:[:=!<>]=|[*×÷≠≤≥]|\+(?= \d)) \S")
STOPS = "of|and|in|the|for|by|on|at|was|is|with|from|no"
NAME = re.compile(  # before what tells which: Appendix B, page 5 of it
    rf"(?<!\w)(?!(?:{STOPS})\b)(?:\p{{Lu}}\p{{Ll}}|[A-Za-zÀ-ÖØ-öø-ɏΈ-ҁ]{{3,}}+)\s"
    rf"(?=[B-HJ-ZÀ-ÖØ-ÞΑ-ΩА-Я](?![\w'’-])"
    rf"|(?![12]\d{{3}}\b)[A-Z]{{0,3}}[0-9]++(?:[.,;:)!?]|$| (?:{STOPS})\b))")
# at the end of a quotation, but for STOP
UNIT = "(?<![^ puqbh])[sjn-]*nm* ?[^ pbjq-]|h*(?<![lm]n*)[nh] ?[uh]"
DASH = re.compile(  # no hyphen, but a mark between words
    r"(?<=\p{L}{4})(?=—(?:[\p{L}\s.,;:!?(\"'¿¡]|$)|--\p{L})")
NOTE = r"(?<=(?<!\d ?)\b[^\W\d_]{4,})[¹²³⁰⁴-⁹]+(?!\w)"  # its mark is no part of the word before it
STOP = rf" ?(?:{STOPS})\b"
AROUND = rf"^([-*+•‣▪-●>#]+[ {FREE}](?!\d))?[\"'(\[{{.,;:!?]*|( -|[\"')\]}}.,;:!?。 {FREE}])*$"


@cache
def kind(c: str) -> str:
    return next(k[0] for k in KINDS if re.match(k[1:], c, re.S))

def form(text: str, divided: str) -> str:
    text = re.sub(r"&#?\w{2,31};", lambda m: html.unescape(m[0]), text)
    text = IGNORED.sub("", re.sub(r"\u00ad(?=\s)", "-", text)).translate(SAME)
    text = re.sub(r"(?<![0-9*])\*\*|\*\*(?![0-9*])", "", text)
    text = re.sub(r"(?<!\w)([*_`~])(\w[^*_`~]*\w)\1(?!\w)", r"\2", text)
    text = re.sub(r"[㆖-㆟]|[^\0-\x7f\p{No}\p{Nl}\p{dt=super}\p{dt=sub}]", lambda m: min(
        normalize("NFKC", m[0]), m[0], key=lambda c: c[0] == " "), normalize("NFC", text))
    text = DASH.sub("\ue0f2", NAME.sub(lambda m: m[0] + "\ue0f1", text))
    text = normalize("NFC", re.sub(r"[\p{Pd}−⁃]", "-", text.translate(SAME)).casefold())
    text = re.sub("([^!-@[-`{-~])- (?=([^!-@[-`{-~]))", lambda m: m[1] + divided if
        {kind(m[1]), kind(m[2])} <= {*"ulmvhsj"} else m[0], re.sub(r"[\s\x1c-\x1f]+", " ", text))
    text = re.sub(r"(?<=\d) (?=%)| (?=[.:]+(?: (?!\d)|$))", "", text).strip()
    return str(re.sub(r"(?<=(.))(?<!-|,(?= \d)) (?=([^-]))(?!, ?\d)", lambda m:
        FREE if {kind(m[1]), kind(m[2])} & {*"uvhpqb"} else " ", text))

def inside(rules: tuple[str, ...], text: str) -> set[int]:
    found = (m for rule in rules for m in re.finditer(rule, text, overlapped=True))
    return {place for m in found for place in range(m.start() + 1, m.end())}

def proves(source: str, quote: str) -> bool:
    for told, asked in {(form(source, mark), form(quote, mark)) for mark in ("", "-")}:
        text, asked = (re.sub("[\ue0f1\ue0f2]", "", one) for one in (told, asked))
        marks = [(m[0], m.start() - n) for n, m in enumerate(re.finditer("[\ue0f1\ue0f2]", told))]
        names = {n for mark, n in marks if mark == "\ue0f1"}
        free = {n for mark, at in marks if mark == "\ue0f2"
                for n in range(at, re.compile("-* ?").match(text, at).end() + 1)}
        kinds, words, bare = ("".join(map(kind, text)), *(text.replace(FREE, c) for c in (" ", "")))
        places = [n for n, c in enumerate(text) if c != FREE]
        cuts = inside(INSIDE, kinds) | inside(WORDS, words) | names | {n - 1 for n in names}
        cuts -= free
        notes = {m.start() for m in re.finditer(NOTE, text)}
        units = {n for n in inside((UNIT,), kinds) if not re.match(STOP, words[n:])}
        ends = (cuts - notes) | (units - free)
        for some in {a.replace(FREE, "") for a in (asked, re.sub(AROUND, "", asked))}:
            runs = ((places[n], places[n + len(some) - 1] + 1) for n in range(len(bare))
                    if len(asked) >= 12 and bare.startswith(some, n))
            if any(start not in cuts and stop not in ends for start, stop in runs):
                return True
    return False
