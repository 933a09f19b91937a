"""Make sql/text/ordinary_words/*.bloom: the ordinary words of languages, from wordfreq's lists, and
rag_pg/answer/reading/common_words.txt, the most frequent of a few, a line each.

    pip install wordfreq==3.1.1
    python scripts/ordinary_words.py

A file is a Bloom filter of a language's most frequent words (rag._ordinary_words reads it): 10 bits
a word, 7 of them set, at places that SHA-256 of the word's UTF-8 gives. 0.8 % of other words seem
to be among them; none that is among them seems not to be.

Left out are what is hardly a word but an error of one: a word one edit away from another that is
far more frequent, unless the edit is in the first letter, which is seldom mistyped, or in the
last, where it is a form of it. wordfreq's data
are under CC BY-SA 4.0, and so are these files: see LICENSE beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from math import inf
from pathlib import Path
from unicodedata import normalize

from wordfreq import get_frequency_dict, top_n_list

FOLDER = Path(__file__).parents[1] / "sql" / "text" / "ordinary_words"
LANGUAGES = {
    "arabic": "ar", "catalan": "ca", "danish": "da", "dutch": "nl", "english": "en",
    "finnish": "fi", "french": "fr", "german": "de", "greek": "el", "hungarian": "hu",
    "indonesian": "id", "italian": "it", "lithuanian": "lt", "norwegian": "nb",
    "portuguese": "pt", "romanian": "ro", "russian": "ru", "spanish": "es", "swedish": "sv",
    "turkish": "tr",
}  # fmt: skip
MOST_WORDS = 64_000
COMMON = Path(__file__).parents[1] / "rag_pg" / "answer" / "reading" / "common_words.txt"
MOST_COMMON, OF_COMMON = 3_000, ("en", "de", "fr", "es", "it", "pt")
BITS_OF_A_WORD, BITS_SET = 10, 7
# How many times as frequent as its error a word is: where an accent was left out (which in Greek
# is never right), where letters are exchanged, and where one is lost, added or changed. In a short
# word that may well be another.
BY_AN_ACCENT, BY_AN_ACCENT_IN_GREEK = 30.0, 1.0
BY_ORDER = 100.0
BY_A_LETTER, BY_A_LETTER_OF_SHORT = 100.0, {4: 10_000.0, 5: 1000.0, 6: 300.0}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for language, code in LANGUAGES.items():
        words = list(islice(ordinary(get_frequency_dict(code)), MOST_WORDS))
        (FOLDER / f"{language}.bloom").write_bytes(bloom(words))
        print(f"{language}: {len(words)} words, down to {words[-1]}")
    lines = (" ".join(w for w in top_n_list(of, MOST_COMMON) if w.isalpha()) for of in OF_COMMON)
    COMMON.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def ordinary(frequencies: Mapping[str, float]) -> Iterator[str]:
    """The words of four letters or more that are no errors, the most frequent first."""
    words = {w: f for w, f in frequencies.items() if re.fullmatch(r"[^\W\d_]{4,40}", w)}
    ordered = sorted(words, key=lambda word: (-words[word], word))[: 2 * MOST_WORDS]
    rarest = words[ordered[-1]]
    near = shortened(w for w in ordered if words[w] >= BY_AN_ACCENT * rarest or "α" <= w[-1] <= "ω")
    return (word for word in ordered if not is_error(word, words, near))


def shortened(words: Iterable[str]) -> dict[str, list[str]]:
    """The words that each text is, or becomes by the loss of a letter."""
    found: dict[str, list[str]] = {}
    for word in words:
        for text in shorter(word):
            found.setdefault(text, []).append(word)
    return found


def shorter(word: str) -> set[str]:
    return {word[:at] + word[at + 1 :] for at in range(len(word))} | {word}


def is_error(word: str, words: Mapping[str, float], near: Mapping[str, list[str]]) -> bool:
    return any(
        words[other] >= rarer_by(word, other) * words[word]
        for other in {other for text in shorter(word) for other in near.get(text, ())} - {word}
        if one_edit(word, other)
    )


def rarer_by(word: str, other: str) -> float:
    """How many times as frequent the other word must be for this one to be its error."""
    if plain(word) == plain(other):
        fewer = len(normalize("NFD", word)) < len(normalize("NFD", other))
        greek = "α" <= plain(word)[0] <= "ω"
        return (BY_AN_ACCENT_IN_GREEK if greek else BY_AN_ACCENT) if fewer else inf
    if word[0] != other[0] or only_the_end(word, other):
        return inf  # seldom mistyped; a form of it
    if sorted(word) == sorted(other):
        return BY_ORDER
    return BY_A_LETTER_OF_SHORT.get(len(word), BY_A_LETTER)


def one_edit(word: str, near: str) -> bool:
    """Whether two words that lose a letter each and are equal then are one edit apart."""
    if len(word) != len(near):
        return True
    differ = [at for at in range(len(word)) if word[at] != near[at]]
    return len(differ) == 1 or (
        len(differ) == 2 and differ[0] + 1 == differ[1]
        and word[differ[0]] == near[differ[1]] and word[differ[1]] == near[differ[0]]
    )  # fmt: skip


def plain(word: str) -> str:
    return re.sub(r"[̀-ͯ]", "", normalize("NFD", word))


def only_the_end(word: str, near: str) -> bool:
    return word[:-1] == near[:-1] or word[:-1] == near or word == near[:-1]


def bloom(words: Iterable[str]) -> bytes:
    words = list(words)
    bits = bytearray(-(-BITS_OF_A_WORD * len(words) // 8))
    size = 8 * len(bits)
    for word in words:
        for place in places(word, size):
            bits[place // 8] |= 1 << place % 8
    return bytes(bits)


def places(word: str, size: int) -> list[int]:
    digest = sha256(word.encode()).digest()
    first, step = (int.from_bytes(digest[at : at + 4]) for at in (0, 4))
    return [(first + number * step) % size for number in range(BITS_SET)]


if __name__ == "__main__":
    main()
