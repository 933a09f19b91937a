"""The structure of a conversation: a block for each turn, with the speaker as its path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from rag_pg.chunk.blocks import Block, outline_plain

_TURN = re.compile(
    r"^[ \t]*(?:[*_]{2})?(?:[\[(][^\])\n]{1,40}[\])][ \t]*)?"  # [12:30]
    r"(?P<name>[^\W_][^:\n]{0,39}?)(?:[ \t]*[\[(][^\])\n]{1,40}[\])])?[ \t]*(?:[*_]{2})?"
    r":(?:[*_]{2})?(?=\s|$)",
    re.MULTILINE,
)
_NAME_WORDS = 4  # more before a colon is a sentence, not a name
_TURNS = re.compile(r'"(?:messages|turns|conversation|dialogue)"\s*:\s*\[')
_NAMES = ("role", "speaker", "name", "from", "author", "user")
_CONTENTS = ("content", "text", "message", "value")
_BETWEEN = re.compile(r"[\s,\[]*")


def outline_turns(text: str) -> list[Block]:
    """Return the turns of a conversation, each one block, with its speaker as path.

    A turn begins with a line "Name: …", perhaps with a time in brackets beside the name, and lasts
    to the next one. Or it is an object of a JSON array or of JSON lines, {"role": …, "content": …}.
    What stands before the first turn is a block without a speaker.
    """
    turns = list(_json_turns(text)) or list(_named_turns(text))
    starts = [0, *(start for start, _ in turns)]
    stops = [*(start for start, _ in turns), len(text)]
    names = ["", *(name for _, name in turns)]
    return [
        _block(text, start, stop, name)
        for start, stop, name in zip(starts, stops, names, strict=True)
        if text[start:stop].strip()
    ]


def _block(text: str, start: int, stop: int, name: str) -> Block:
    """A turn is taken apart, into its paragraphs, only when it is too large for a chunk."""
    path = (name,) if name else ()
    parts = tuple(
        Block(start=start + part.start, stop=start + part.stop, kind="prose", path=path)
        for part in outline_plain(text[start:stop])
    )
    return Block(start=start, stop=stop, kind="group", path=path, children=parts)


def _named_turns(text: str) -> Iterator[tuple[int, str]]:
    for match in _TURN.finditer(text):
        if len(match["name"].split()) <= _NAME_WORDS:
            yield match.start(), " ".join(match["name"].split())


def _json_turns(text: str) -> Iterator[tuple[int, str]]:
    """Yield (start, speaker) of each turn; nothing if the text is not JSON made of turns."""
    inside = _TURNS.search(text, 0, 10_000) if text.lstrip().startswith("{") else None
    position = inside.end() if inside else 0
    decoder = json.JSONDecoder()
    turns: list[tuple[int, str]] = []
    while (gap := _BETWEEN.match(text, position)) and gap.end() < len(text):
        position = gap.end()
        if text[position] != "{":
            break
        try:
            value, stop = decoder.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            return
        name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
        if name is None or not any(key in value for key in _CONTENTS):
            return
        turns.append((position, " ".join(name.split())[:100]))
        position = stop
    yield from turns
