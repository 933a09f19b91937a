"""A Unigram tokenizer (Kudo 2018) as SentencePiece runs it: the most probable cut of every word.

The library `tokenizers` gives the same ids, and takes 220 MB more for these 250,000 pieces.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

_SPACES = re.compile(r" {2,}")
_WORD = re.compile(r" [^ ]*")
_MARK = "\u2581"  # stands for the space before a word
_CACHED_WORDS = 20_000
_LONGEST_CACHED = 24  # characters: text without spaces is one word, and comes once
_UNKNOWN_PENALTY = 10.0  # below the least probable piece, as in SentencePiece


class Unigram:
    """Turns text into ids, with the ids that begin and end every text.

    Args:
        pieces: the pieces that text is cut into, by id; the first four are <s>, <pad>, </s> and
            <unk>, which no text has. scores: the logarithms of their probabilities.
        normaliser: what takes the place of a code point.
    """

    def __init__(
        self,
        pieces: Sequence[str],
        scores: Sequence[float],
        normaliser: Mapping[int, str],
        *,
        bos: int,
        eos: int,
        unknown: int,
    ) -> None:
        special = {bos, eos, unknown}
        self._pieces = {
            piece: (score, index)
            for index, (piece, score) in enumerate(zip(pieces, scores, strict=True))
            if index not in special and not re.fullmatch(r"<(pad|mask)>", piece)
        }
        self._longest = max(map(len, self._pieces))
        self._normaliser = dict(normaliser)
        self._bos, self._eos, self._unknown = bos, eos, unknown
        self._unknown_score = min(scores) - _UNKNOWN_PENALTY
        self._cached = lru_cache(_CACHED_WORDS)(self._word)

    @classmethod
    def read(cls, path: Path) -> Unigram:
        """Read what `write` returned. Raises: OSError, ValueError."""
        kept = json.loads(path.read_text(encoding="utf-8"))
        normaliser = {int(point): text for point, text in kept.pop("normaliser").items()}
        return cls(normaliser=normaliser, **kept)

    @staticmethod
    def write(
        pieces: Sequence[str],
        scores: Sequence[float],
        normaliser: Mapping[int, str],
        *,
        bos: int,
        eos: int,
        unknown: int,
    ) -> bytes:
        """Return a tokenizer as a file."""
        kept = {
            "pieces": list(pieces),
            "scores": list(scores),
            "normaliser": dict(normaliser),
            "bos": bos,
            "eos": eos,
            "unknown": unknown,
        }
        return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        ids = [self._bos]
        for word in _WORD.findall(self._normalise(text)):
            marked = _MARK + word[1:]
            ids += self._cached(marked) if len(word) <= _LONGEST_CACHED else self._word(marked)
        return [*ids, self._eos]

    def _normalise(self, text: str) -> str:
        """Return text in Unicode's form NFKC but for what the model was trained without: controls
        are dropped, blanks of all kinds are one space. A space comes first."""
        composed = unicodedata.normalize("NFC", text.translate(self._normaliser))
        spaced = _SPACES.sub(" ", composed)
        return spaced if spaced.startswith(" ") else f" {spaced}"

    def _word(self, word: str) -> tuple[int, ...]:
        """Return the ids of the cut of a word whose scores add up to most (Viterbi)."""
        end, find = len(word), self._pieces.get
        best = [0.0] + [float("-inf")] * end
        came: list[tuple[int, int]] = [(0, 0)] * (end + 1)
        for start in range(end):
            reached = best[start]
            if reached + self._unknown_score > best[start + 1]:
                best[start + 1] = reached + self._unknown_score
                came[start + 1] = start, self._unknown
            for stop in range(start + 1, min(end, start + self._longest) + 1):
                found = find(word[start:stop])
                if found is not None and reached + found[0] > best[stop]:
                    best[stop] = reached + found[0]
                    came[stop] = start, found[1]
        ids: list[int] = []
        at = end
        while at:
            at, piece = came[at]
            if not (piece == self._unknown and ids and ids[-1] == piece):  # one for a run of them
                ids.append(piece)
        return tuple(reversed(ids))
