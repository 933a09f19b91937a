"""The documents of the run: texts from RAG_PG_EVAL_DATA, or this project's own,
with a word per version."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from paths import ROOT

# What a text says to the fake provider: it answers 400 or 500, or gives NaN for it, each time.
POISONS = ("poisonrefused", "poisonfailing", "poisonnan")


def texts(count: int) -> list[str]:
    """`count` texts of some paragraphs each, no two alike."""
    root = os.environ.get("RAG_PG_EVAL_DATA")
    found = list(islice(_evaluation_texts(Path(root)) if root else _own_texts(), count))
    assert len(found) == count, f"there are only {len(found)} texts"
    return found


def _evaluation_texts(root: Path) -> Iterator[str]:
    for path in sorted((root / "docs-fastapi-en").rglob("*.md")):
        yield path.read_text(encoding="utf-8")[:8000]
    for name in ("anthropic-docs", "scifact"):
        path = root / name / "corpus.jsonl"
        opener = open if path.exists() else gzip.open
        with opener(path if path.exists() else f"{path}.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                sentences = re.split(r"(?<=[.!?])\s+", document["text"])
                yield "\n\n".join(
                    " ".join(sentences[i : i + 3]) for i in range(0, len(sentences), 3)
                )


def _own_texts() -> Iterator[str]:
    """Sections of this project's documentation."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for section in re.split(r"(?m)^(?=## )", path.read_text(encoding="utf-8")):
            if len(section) > 200:
                yield section[:4000]


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a document. `word` stands in no other text;
    `poison`: one of POISONS, or none."""

    uri: str
    number: int
    content: str
    poison: str = ""

    @property
    def word(self) -> str:
        return version_word(self.uri, self.number)


def version_word(uri: str, number: int) -> str:
    return f"{uri}v{number}x"


class Book:
    """One document as it is edited: each version changes one paragraph of the one before."""

    def __init__(self, uri: str, text: str, chance: random.Random) -> None:
        self.uri = uri
        self.number = 0
        self._chance = chance
        self._paragraphs = [f"{uri} {p}" for p in text.split("\n\n") if p.strip()]

    def edit(self, poison: str = "") -> Version:
        self.number += 1
        place = self._chance.randrange(len(self._paragraphs))
        before = self._paragraphs[place]
        word = version_word(self.uri, self.number)
        edited = " ".join(w for w in before.split(" ") if not re.fullmatch(r"\w+v\d+x", w))
        self._paragraphs = [
            " ".join(w for w in p.split(" ") if not re.fullmatch(r"\w+v\d+x", w))
            for p in self._paragraphs
        ]
        self._paragraphs[place] = f"{edited} {word}"
        content = "\n\n".join(self._paragraphs) + (f"\n\n{self.uri} {poison}" if poison else "")
        return Version(self.uri, self.number, content, poison)
