"""What kind of answer a question wants, by the words it begins with."""

from __future__ import annotations

import re
from typing import Literal

QuestionKind = Literal["how_to", "definition", "quantity", "fact"]

# How something is done: the reader wants steps, code, a list. Not "how many", "how long".
_HOW_TO = re.compile(
    r"""\W*(?:
      (?:and|so|but|please|hi|hello)\W+
    )*(?:
      how\s+(?:do|does|did|can|could|should|would|to|must|is|are|might)\b(?!\s+\w+\s+(?:different|related))
    | (?:what|which)\s+(?:do|should|must|can)\s+(?:i|we|you)\s+(?:need\s+to\s+|have\s+to\s+)?
        (?:do|install|run)\b
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
      how\s+(?:much|many|long|often|old|far|big|large|high|tall|fast)\b
    | wie\s*(?:viele?|lang|lange|oft|alt|groß|hoch|teuer|weit)\b
    | cuánt[oa]s?\b | combien\b | quant[oiae]s?\b
    | сколько\b | 多少 | 几个 | いくつ | いくら
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_NUMBER = re.compile(
    r"""\d|[一二三四五六七八九十百千万]|\b(?:
      one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred|thousand|million
    | dozen|half|once|twice|single|both|several|unlimited|any\s+number|always|never|daily|hourly
    | weekly
    | eine?[nrms]?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|hundert|tausend
    | une?|deux|trois|quatre|cinq|sept|huit|neuf|dix|cent|mille
    | un[oa]?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|cien|mil
    | due|tre|quattro|cinque|sei|sette|otto|nove|dieci
    | один|одна|два|две|три|четыре|пять|шесть|семь|восемь|девять|десять|сто|тысяч\w*
    )\b""",
    re.IGNORECASE | re.VERBOSE,
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
    return "definition" if _DEFINITION.match(question) else "fact"


def has_number(text: str) -> bool:
    """Whether a text has a digit or a small number in words (of the larger European languages,
    Chinese)."""
    return _NUMBER.search(text) is not None
