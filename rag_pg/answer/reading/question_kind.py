"""What kind of answer a question wants, by the words it begins with."""

from __future__ import annotations

import re
from typing import Literal

from rag_pg.answer.reading.figures import SPELLED_OUT
from rag_pg.text import compared_things, content_words, words

LEAST_OF_A_SIDE = 0.9  # of the words of a thing that is compared, that its passage has
LEAST_OF_A_PART = 0.6  # of the words of a part of a question, that its passage has

QuestionKind = Literal["how_to", "definition", "quantity", "fact"]

# How something is done: the reader wants steps, code, a list. Not "how many", "how long".
_HOW_TO = re.compile(
    r"""\W*(?:
      (?:and|so|but|please|hi|hello)\W+
    )*(?:
      how\s+(?:do|does|did|can|could|should|would|to|must|is|are|might)\b(?!\s+\w+\s+(?:different|related))
    | (?:what|which)\s+(?:do|should|must|can)\s+(?:i|we|you)\s+(?:need\s+to\s+|have\s+to\s+)?
        (?:do|install|run)\b
    | (?:(?:what\s+are|which\s+are|list|show|give|name)\s+(?:me\s+)?(?:all\s+)?(?:the\s+)?)?steps\b
    | (?:welche[sn]?\s+(?:sind\s+die\s+)?|was\s+sind\s+die\s+)?schritte\b
    | (?:what(?:'s|’s|\s+is)|is\s+there)\s+(?:the\s+|an?\s+)?(?:best\s+|easiest\s+|right\s+)?way\b
    | wie\s+(?!viel|lang|oft|gro|hoch|alt|hei|weit|spät)
    | cómo\b | como\s+(?!es\b|se\s+llama)
    | comment\b | come\s+(?:si|posso|faccio|devo)\b
    | как\b(?!ой|ая|ое|ие) | (?:怎么|怎樣|怎样|如何) | どうやって | どのように
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_QUANTITY = re.compile(
    r"""\W*(?:(?:for|in|at|after|about|to|since)\s+)?(?:
      how\s+(?:much|many|long|often|old|far|big|large|high|tall|fast|heavy|loud|deep|wide|thick|warm|hot|cold)\b
    | what\s+(?:does|do|did|will|would)\b.*\bcosts?\b | was\s+kostet | quel\s+est\s+le\s+prix
    | (?:what(?:'s|’s|\s+is|\s+are|\s+was|\s+were)|wie\s+ist|was\s+ist|quel(?:le)?\s+est
        |cuál\s+es|qual\s+è)\s+
      (?:the|der|die|das|le|la|el|il)\s+(?:[\w-]+\s+){0,2}?
      (?:price|costs?|fee|salary|budget|number|amount|percentage|rate|limit|size|length|width|height
        |weight|distance|age|population|temperature|duration|timeout|interval|port
        |preis|kosten|anzahl|größe|länge|dauer|höhe|prix|nombre|taille|durée|precio|número|prezzo)\b
      (?!\s+(?:class|type|object|function|module|package|line)\b)
    | wie\s*(?:viele?|lang|lange|oft|alt|groß|hoch|teuer|weit|laut|schwer|tief|breit|dick)\b
    | cuánt[oa]s?\b | combien\b | quant[oiae]s?\b
    | сколько\b | 多少 | 几个 | いくつ | いくら
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_NUMBER = re.compile(
    rf"""\d|[一二三四五六七八九十百千万]|\b(?:{"|".join(SPELLED_OUT)}
    | hundreds|thousands|millions?|dozens?|once|twice|half|single|both|several|unlimited
    | any\s+number|always|never|daily|hourly|weekly
    | eines|due|tre|quattro|cinque|sei|sette|otto|nove|dieci
    | один|одна|два|две|три|четыре|пять|шесть|семь|восемь|девять|десять|сто|тысяч\w*
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_VALUE = re.compile(  # a value that is looked up, no definition
    r"\W*(?:what(?:'s|’s|\s+is|\s+are|\s+was|\s+were)|was\s+ist|was\s+sind|quel(?:le)?s?\s+(?:est|sont))\s+"
    r"(?:the|der|die|das|le|la|les)\s+(?:[\w-]+\s+)?(?:default|standard|name|address|path|command|option"
    r"|url|date|deadline|maximum|minimum|max|min|latest|newest|current|first|last|highest|lowest"
    r"|standardwert|vorgabe|adresse|name|datum|frist|valeur)\w*\b",
    re.IGNORECASE,
)
_MONEY = (
    r"[$€£¥₹]|\d[.,]\d\d\b|\b(?:euros?|dollars?|pounds?|francs?|franken|cents?|pence|yen|eur|usd|gbp|chf"
    r"|rent|free|gratis|kostenlos|gratuit\w*|prices?|priced|costs?|fees?|charge[ds]?|pay|paid"
    r"|preis\w*|kost\w*|gebühr\w*|prix|tarif\w*|coût\w*|precio\w*|cuesta\w*)\b"
)
_VALUES = {  # what is asked for by its kind, and what every text that tells it has
    what: (re.compile(asks, re.IGNORECASE), re.compile(has, re.IGNORECASE))
    for what, asks, has in (
        (
            "telephone number",
            r"\b(?:tele)?phone\s+number|\btelefonnummer|\bnuméro\s+de\s+téléphone"
            r"|\bnúmero\s+de\s+teléfono",
            r"\d(?:[ /().–-]{0,2}\d){2}",
        ),
        (
            "mail address",
            r"\be-?mail[ -]add?ress?e?s?\b|\badresse\s+(?:e-?mail|électronique)",
            "@",
        ),
        (
            "price",
            r"\b(?:what(?:['’]s|\s+is|\s+are|\s+was)|was\s+ist|wie\s+hoch\s+ist|quel\s+est|cuál\s+es)"
            r"\s+(?:the|der|le|el)\s+(?:[\w-]+\s+)?(?:prices?|preis|prix|precio)\b"
            r"|\b(?:what|how\s+much)\s+(?:do|does|did|would|will)\b[^?.,]{1,200}\scosts?\b"
            r"|\b(?:was|wie\s*viel)\s+koste[nt]\b|\bcombien\s+coûten?t?\b|\bcuánto\s+cuestan?\b",
            _MONEY,
        ),
        (
            "amount",
            r"\bhow\s+much\s+(?:is|are|was|were)\s+(?:the|an?|one|my|our|your)\b",
            rf"{_MONEY}|%|\bper\s?cent\b|(?<![\w.,-])\d(?:[\d.,]*\d)?[ \u00a0-]?"
            r"(?!(?:st|nd|rd|th|[ap]m|seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b)[a-zà-ÿµ]",
        ),
        (
            "colour",
            r"\b(?:what|which)\s+colou?rs?\b|\bwhat(?:['’]s|\s+is)\s+the\s+colou?r\b"
            r"|\bwelche\s+farbe\b|\bquelle\s+couleur\b|\bqué\s+color\b",
            r"colou?r|farb|couleur|\b(?:black|white|gr[ea]y|silver|gold|red|orange|yellow|green|blue"
            r"|turquoise|purple|violet|pink|brown|beige|cream|schwarz|wei(?:ß|ss)|grau|silber|rot|gelb"
            r"|grün|blau|türkis|lila|rosa|braun|noir|blanc|gris|argent|rouge|jaune|vert|bleu|rose|brun"
            r"|marron|negr|plata|roj|amarill|verd|azul|morad)\w{0,2}\b",
        ),
    )
}
_NEXT_PART = re.compile(
    r"[?？] ?(?:and |und |et |y )?(?=\S)|,? (?:and|und|et|y) (?=(?:what|how|where|when|who|why"
    r"|which|wie|was|wo|wann|wer|warum|welche\w*|comment|où|quand|qui|pourquoi|cómo|qué|dónde|cuándo"
    r")\b)",
    re.IGNORECASE,
)
_DEFINITION = re.compile(
    r"""\W*(?:
      what(?:'s|’s|\s+is|\s+are|\s+was|\s+were|\s+does)\b
    | who\s+(?:is|was|are|were)\b | define\b | explain\b
    | was\s+(?:ist|sind|war|bedeutet)\b | wer\s+(?:ist|war)\b
    | qu['’]est[\s-]ce\s+que\b | qui\s+(?:est|était)\b
    | qué\s+(?:es|son|significa)\b | quién\s+(?:es|fue)\b
    | che\s+cos['’]?[aè]\b | chi\s+è\b | o\s+que\s+(?:é|são)\b
    | что\s+такое\b | кто\s+такой\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)

_TIME = re.compile(
    r"\bwhen\s+(?:is|are|was|were|do|does|did|will|would|can|may|must|should|has|have|had)\b"
    r"|\bdate\s+of\b|\b(?:what|which) (?:year|date|century|decade|month|day)\b|\bwann\b"
    r"|\bquand\b|\bcuándo\b",
    re.IGNORECASE,
)

_WHO = re.compile(r"\W*(?:who|whom|wer|wem|wen|qui|quién(?:es)?)\b", re.IGNORECASE)

# Words for the kind of answer that is wanted, which say nothing of what it is about.
_KINDS = frozenset(
    words(
        """number amount price prices cost costs fee duration often long high highest lowest maximum
minimum most mean means meaning average total value name address temperature colour color weight
size height age old tall heavy loud deep wide thick fast warm hot cold phone telephone email
steps way ways instructions schritte anleitung weg étapes façon pasos manera
nummer anzahl betrag preis kosten kostet dauer dauert höhe hoch lange oft höchste maximal mindestens
bedeutet bedeutung durchschnittlich wert name adresse temperatur farbe gewicht größe alter alt
schwer groß laut tief breit schnell warm telefonnummer rufnummer
montant prix coût coûte nombre numéro nom adresse valeur durée dure signifie téléphone
importe precio cuesta número nombre dirección valor dura significa teléfono
importo prezzo costa numero nome indirizzo valore durata telefono"""
    )
)


# A compound with one of them: Telefonnummer, Mietpreis.
def question_kind(question: str) -> QuestionKind:
    """Return how_to (steps are wanted), definition (what or who something is), quantity (how much,
    how long) or fact (anything else).

    Told by the opening words of the larger European languages, Chinese and Japanese; a question
    that opens otherwise asks for a fact, which is answered by its sentence.
    """
    if _QUANTITY.match(question):
        return "quantity"
    if _HOW_TO.match(question):
        return "how_to"
    if _VALUE.match(question):
        return "fact"
    return "definition" if _DEFINITION.match(question) else "fact"


def question_parts(question: str) -> tuple[list[list[str]], float]:
    """Return the words of each of two things that a question compares, or of each of its parts, and
    the share of them that a passage must have to speak of it; ([], 1) where it has one part."""
    if sides := [[*content_words(side)] for side in compared_things(question)]:
        return sides, LEAST_OF_A_SIDE
    parts = [[*content_words(part)] for part in _NEXT_PART.split(" ".join(question.split()))]
    return (parts, LEAST_OF_A_PART) if len(parts) > 1 and all(parts) else ([], 1.0)


def has_number(text: str) -> bool:
    """Whether a text has a digit or a small number in words (of the larger European languages,
    Chinese)."""
    return _NUMBER.search(text) is not None


def find_lacking_value(question: str, text: str) -> str:
    """Return what a question asks for where that is a telephone number, a mail address, a price, an
    amount ("how much is the") or a colour and a text has none; else ""."""
    plain = text.replace("_", " ")  # price_eur
    return next(
        (
            what
            for what, (asks, has) in _VALUES.items()
            if asks.search(question) and not has.search(plain)
        ),
        "",
    )


def asks_when(question: str) -> bool:
    """Whether a question asks for a date or a time."""
    return _TIME.search(question) is not None


def asks_who(question: str) -> bool:
    """Whether a question asks for somebody."""
    return _WHO.match(question) is not None


def says_kind(word: str) -> bool:
    """Whether a word of a question says what kind of answer is wanted (a number, a name), and
    nothing of what it is about."""
    found = words(word)
    return bool(found) and all(part in _KINDS for part in found)
