"""Quotations that hold and such that do not, made from real texts.

An honest one is a stretch of a text, read through what printing and copying do to it; a false one
differs from all that its source says.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from citation_cuts import SAID

LIGATURES = (("ffi", "ﬃ"), ("ffl", "ﬄ"), ("ff", "ﬀ"), ("fi", "ﬁ"), ("fl", "ﬂ"))
LOOK_ALIKE = dict(zip("aceopxyiABCEHKMOPTX", "асеорхуіАВСЕНКМОРТХ", strict=True))
LOOK_ALIKE |= {there: here for here, there in LOOK_ALIKE.items()} | {"ο": "o", "ν": "v", "۱": "١"}
NEGATIONS = {"en": "not", "de": "nicht", "es": "no", "ru": "не", "fr": "ne pas", "zh": "不"}
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_STOP = re.compile(  # Mio. EUR is one amount, z. B. one abbreviation
    r"(?<=\D[.!?])(?<!Mio\.|Mrd\.|Tsd\.)(?<!\b[^\W\d_]\.)\s+(?=[^\sa-z])|(?<=[。！？।۔؟։])\s*"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """source: the text that is cited; others: texts retrieved with it. kind: what was done; honest:
    whether the quotation is to be proven. stretch: of a text in `source` that is quoted."""

    kind: str
    source: str
    quote: str
    honest: bool
    others: Sequence[str] = ()


def sentences(text: str) -> list[str]:
    """Return the sentences of a paragraph that are long enough to be quoted."""
    return [part for part in _STOP.split(" ".join(text.split())) if 30 <= len(part) <= 400]


# --- what printing and copying do: to the source, or to the quotation ---------------------------


def _hyphenated(text: str, rng: random.Random) -> str:
    return re.sub(
        r"([^\W\d_]{3})([^\W\d_]{3})",
        lambda m: f"{m[1]}-\n{m[2]}" if rng.random() < 0.15 and m[0].isalpha() else m[0],
        text,
    )


def _soft_hyphens(text: str, rng: random.Random) -> str:
    return re.sub(
        r"(?<=[^\W\d_])(?=[^\W\d_])", lambda m: "\u00ad" if rng.random() < 0.1 else "", text
    )


def _ligatures(text: str, rng: random.Random) -> str:
    for letters, one in LIGATURES:
        text = text.replace(letters, one)
    return text


def _line_breaks(text: str, rng: random.Random) -> str:
    return re.sub(" ", lambda m: rng.choice([" ", " ", "\n", " \n", "\r\n", "  "]), text)


def _breaks_without_spaces(text: str, rng: random.Random) -> str:
    """A line of Chinese, Japanese or Thai breaks anywhere between its characters."""
    return re.sub(
        f"(?<={UNSPACED.pattern})(?={UNSPACED.pattern})",
        lambda m: "\n" if rng.random() < 0.08 else "",
        text,
    )


def _wide_spaces(text: str, rng: random.Random) -> str:
    return re.sub(" ", lambda m: rng.choice(["\u00a0", "\u2009", "   ", "\t", "\u202f"]), text)


def _smart_quotes(text: str, rng: random.Random) -> str:
    text = re.sub(r'"([^"]*)"', rng.choice(["“\\1”", "„\\1“", "«\u00a0\\1\u00a0»"]), text)
    return text.replace("'", "’")


def _plain_quotes(text: str, rng: random.Random) -> str:
    return re.sub("[“”„«»]", '"', re.sub("[‘’]", "'", text))


def _dashes(text: str, rng: random.Random) -> str:
    return re.sub("[-–—]", lambda m: rng.choice("-\u2010\u2011–—"), text)


def _invisible(text: str, rng: random.Random) -> str:
    return re.sub(
        r"(?<=\w)(?=\w)",
        lambda m: rng.choice("\u200b\u2060\ufeff\u200e") if rng.random() < 0.05 else "",
        text,
    )


def _case(text: str, rng: random.Random) -> str:
    folded = rng.choice([text.upper(), text.lower(), text[:1].swapcase() + text[1:]])
    return folded if folded.lower() == text.lower() else text


def _decomposed(text: str, rng: random.Random) -> str:
    return unicodedata.normalize(rng.choice(["NFD", "NFC", "NFKC"]), text)


def _full_width(text: str, rng: random.Random) -> str:
    return re.sub("[0-9A-Za-z%]", lambda m: chr(ord(m[0]) + 0xFEE0), text)


def _emphasis(text: str, rng: random.Random) -> str:
    mark = rng.choice(["**", "*", "_", "__", "`"])
    return re.sub(
        r"(?<=[ (])[^\W\d_]{4,}(?=[ ,;)])",
        lambda m: f"{mark}{m[0]}{mark}" if rng.random() < 0.15 else m[0],
        text,
    )


def _in_quotation_marks(text: str, rng: random.Random) -> str:
    return rng.choice(['"{}"', "“{}”", "„{}“", "«{}»", " {} ", "{}…", "…{}"]).format(text)


Change = Callable[[str, random.Random], str]
NOISE: dict[str, Change] = {
    change.__name__.strip("_"): change
    for change in (
        _hyphenated, _soft_hyphens, _ligatures, _line_breaks, _breaks_without_spaces, _wide_spaces,
        _smart_quotes, _plain_quotes, _dashes, _invisible, _case, _decomposed, _full_width,
        _emphasis,
    )
}  # fmt: skip


# --- what makes another statement of it ---------------------------------------------------------


def _pick(pattern: str, text: str, rng: random.Random) -> re.Match[str] | None:
    found = [m for m in re.finditer(pattern, text) if m.start() > 3 and m.end() < len(text) - 3]
    return rng.choice(found) if found else None


def _replaced(match: re.Match[str] | None, text: str, by: str) -> str | None:
    return None if match is None else text[: match.start()] + by + text[match.end() :]


def _letter_changed(text: str, rng: random.Random, language: str) -> str | None:
    match = _pick(r"[^\W\d_]", text, rng)
    letters = sorted({c for c in text if c.isalpha()} - {match[0] if match else ""})
    by = rng.choice(letters) if letters else "x"
    same = match is not None and by.casefold() == match[0].casefold()
    return None if same else _replaced(match, text, by)


def _letter_dropped(text: str, rng: random.Random, language: str) -> str | None:
    return _replaced(_pick(r"[^\W\d_]", text, rng), text, "")


def _number_changed(text: str, rng: random.Random, language: str) -> str | None:
    match = _pick(r"\d", text, rng)
    return (
        None
        if match is None
        else _replaced(match, text, rng.choice("0123456789".replace(match[0], "")))
    )


def _number_longer(text: str, rng: random.Random, language: str) -> str | None:
    match = _pick(r"\d+", text, rng)
    return None if match is None else _replaced(match, text, match[0] + rng.choice("0123456789"))


def _number_divided(text: str, rng: random.Random, language: str) -> str | None:
    match = _pick(r"(?<=\d)(?=\d)", text, rng)
    return _replaced(match, text, rng.choice([" ", "-", ".", ","]))


def _sign_added(text: str, rng: random.Random, language: str) -> str | None:
    return _replaced(_pick(r"(?<= )(?=\d)", text, rng), text, "-")


def _raised(text: str, rng: random.Random, language: str) -> str | None:
    match = _pick(r"(?<=\d)\d", text, rng)
    return None if match is None else _replaced(match, text, "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(match[0])])


def _negated(text: str, rng: random.Random, language: str) -> str | None:
    if language == "zh":
        return _replaced(_pick("(?<=[\u4e00-\u9fff])(?=[\u4e00-\u9fff])", text, rng), text, "不")
    return _replaced(_pick(" ", text, rng), text, f" {NEGATIONS.get(language, 'not')} ")


def _look_alike(text: str, rng: random.Random, language: str) -> str | None:
    match = _pick(f"[{''.join(LOOK_ALIKE)}]", text, rng)
    return None if match is None else _replaced(match, text, LOOK_ALIKE[match[0]])


def _word_dropped(text: str, rng: random.Random, language: str) -> str | None:
    return _replaced(_pick(r"(?<= )[^\W\d_]{2,} ", text, rng), text, "")


def _words_swapped(text: str, rng: random.Random, language: str) -> str | None:
    match = _pick(r"(?<= )(\w{3,}) (\w{3,})(?= )", text, rng)
    if match is None or match[1].lower() == match[2].lower():
        return None
    return _replaced(match, text, f"{match[2]} {match[1]}")


def _words_joined(text: str, rng: random.Random, language: str) -> str | None:
    return _replaced(_pick(r"(?<=[a-zа-я]{3}) (?=[a-zа-я]{3})", text, rng), text, "")


def _accent_added(text: str, rng: random.Random, language: str) -> str | None:
    match = _pick("[aeou](?=[a-z])", text, rng)
    return None if match is None else _replaced(match, text, match[0] + "\u0301")


ALTERATIONS: dict[str, Callable[[str, random.Random, str], str | None]] = {
    alter.__name__.strip("_"): alter
    for alter in (
        _letter_changed, _letter_dropped, _number_changed, _number_longer, _number_divided,
        _sign_added, _raised, _negated, _look_alike, _word_dropped, _words_swapped, _words_joined,
        _accent_added,
    )
}  # fmt: skip


def make_cases(texts: Sequence[tuple[str, str]], count: int, *, seed: int = 0) -> Iterator[Case]:
    """Yield `count` cases, about as many honest as false ones.

    Args:
        texts: a language and a paragraph each, of at least two sentences.
    """
    rng = random.Random(seed)
    good = [
        (language, text, found) for language, text in texts if len(found := sentences(text)) > 1
    ]
    makers = [*NOISE, *ALTERATIONS, *_OTHER]
    made = 0
    while made < count:
        kind = rng.choice(makers)
        language, text, found = rng.choice(good)
        quote = rng.choice(found)
        case: Case | None
        if kind in NOISE:
            case = _noisy(kind, text, quote, rng)
        elif kind in ALTERATIONS:
            altered = ALTERATIONS[kind](quote, rng, language)
            case = (
                None
                if altered is None
                else Case(kind=kind, source=text, quote=altered, honest=False)
            )
        else:
            case = _OTHER[kind](
                text, quote, [t for _, t, _ in rng.sample(good, min(8, len(good)))], rng
            )
        known = kind in ("short", "fabricated") or kind.startswith("cut")
        if case is None or (
            not case.honest and not known and folded(case.quote) in folded(case.source)
        ):
            continue
        made += 1
        yield case


def _noisy(kind: str, text: str, quote: str, rng: random.Random) -> Case | None:
    changed_source = NOISE[kind](text, rng)
    if changed_source != text and rng.random() < 0.7:
        return Case(kind=kind, source=changed_source, quote=quote, honest=True)
    changed = NOISE[kind](quote, rng)
    if changed == quote:
        return None
    return Case(kind=kind, source=text, quote=changed, honest=True)


def _exact(text: str, quote: str, others: Sequence[str], rng: random.Random) -> Case:
    return Case(kind="exact", source=text, quote=quote, honest=True, others=others)


def _marked(text: str, quote: str, others: Sequence[str], rng: random.Random) -> Case:
    return Case(kind="marked", source=text, quote=_in_quotation_marks(quote, rng), honest=True)


def _all_at_once(text: str, quote: str, others: Sequence[str], rng: random.Random) -> Case:
    """A page as a printer and a converter leave it."""
    source = text
    for change in (_smart_quotes, _ligatures, _hyphenated, _line_breaks, _soft_hyphens):
        source = change(source, rng)
    return Case(kind="all_at_once", source=source, quote=quote, honest=True)


def _stretch(text: str, quote: str, others: Sequence[str], rng: random.Random) -> Case | None:
    """A part of a sentence, between two words."""
    words = quote.split(" ")
    if len(words) < 8:
        return None
    start = rng.randrange(len(words) - 6)
    part = " ".join(words[start : start + rng.randrange(6, len(words) - start + 1)])
    # beside a number it may be cut from an amount or a range, beside a sign from an equation
    if re.match(r"\W*\d|[%=]", part) or re.search(r"(\d\W*(?: \w{1,4})?|=)$", part):
        return None
    if len(part) < 14:
        return None
    return Case(kind="stretch", source=text, quote=part.rstrip(",;:-–—("), honest=True)


def _misattributed(text: str, quote: str, others: Sequence[str], rng: random.Random) -> Case | None:
    foreign = [other for other in others if folded(quote) not in folded(other)]
    if not foreign:
        return None
    return Case(kind="misattributed", source=foreign[0], quote=quote, honest=False, others=[text])


def _fabricated(text: str, quote: str, others: Sequence[str], rng: random.Random) -> Case:
    words = text.split(" ") if " " in text else list(text)
    rng.shuffle(words)
    return Case(
        kind="fabricated", source=text, quote=" ".join(words[:15]), honest=False, others=others
    )


def _stitched(text: str, quote: str, others: Sequence[str], rng: random.Random) -> Case | None:
    more = [one for one in sentences(text) if one != quote]
    one, two = quote[: len(quote) // 2].rstrip(), rng.choice(more)[-len(quote) // 2 :].lstrip()
    return Case(
        kind="stitched",
        source=text,
        quote=one + rng.choice([" ", "", " … ", " [...] ", "... ", " [...]\n"]) + two,
        honest=False,
    )


def _superseded(text: str, quote: str, others: Sequence[str], rng: random.Random) -> Case | None:
    """The source has been rewritten since: a word of what is quoted is another one now."""
    words = quote.split(" ")
    if len(words) < 6:
        return None
    at = rng.randrange(2, len(words) - 2)
    now = " ".join([*words[:at], "otherwise", *words[at + 1 :]])
    return Case(kind="superseded", source=text.replace(quote, now), quote=quote, honest=False)


def _short(text: str, quote: str, others: Sequence[str], rng: random.Random) -> Case:
    return Case(kind="short", source=text, quote=quote[:11], honest=False)


def _cut(text: str, quote: str, others: Sequence[str], rng: random.Random) -> Case:
    kind = rng.choice(sorted(SAID))
    told = SAID[kind].format(
        n=rng.randrange(1, 99),
        m=rng.randrange(1, 9),
        a=rng.choice("'’´`‘′ʼ＇"),
        d=rng.choice("-‐‑–—"),
    )
    before, place, after = re.split(r"([\[\]|])", told, maxsplit=1)
    stops = place == "]" or (place == "|" and rng.random() < 0.5)
    part = f"{quote} {before}" if stops else f"{after} {quote}"
    source = f"{quote} {before}{after} {quote}"
    return Case(kind=f"cut: {kind}", source=source, quote=part, honest=False)


def _in_context(text: str, quote: str, others: Sequence[str], rng: random.Random) -> Case:
    """Marks of a list, of a quotation or an ellipsis around a true one."""
    marks = ["...{}...", "[...] {}", "## {}", '"{}",', "「{}」", "({})", "{}!"]
    signs = [] if quote[0].isnumeric() else ["> {}", "- {}"]  # > 5 and - 5 say more than 5
    around = rng.choice([*marks, *signs])
    return Case(kind="in_context", source=text, quote=around.format(quote), honest=True)


_OTHER: dict[str, Callable[[str, str, Sequence[str], random.Random], Case | None]] = {
    "exact": _exact,
    "marked": _marked,
    "all_at_once": _all_at_once,
    "stretch": _stretch,
    "misattributed": _misattributed,
    "fabricated": _fabricated,
    "stitched": _stitched,
    "superseded": _superseded,
    "short": _short,
    "in_context": _in_context,
    **{f"cut {number}": _cut for number in range(15)},
}


def folded(text: str) -> str:
    """Return a text in which nothing but the separators that count is kept apart: an alteration
    that stands in the source by chance is none."""
    return " ".join(unicodedata.normalize("NFC", text).lower().split())
