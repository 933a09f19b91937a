"""What holds for the chunks of every text, the texts to try it on, and tokenizers to count with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from rag_pg.text.embedded import embedded_text
from rag_pg.types import Span

Count = Callable[[Sequence[str]], list[int]]


def words(texts: Sequence[str]) -> list[int]:
    """A word tokenizer with two special tokens: sizes of parts add up."""
    return [len(text.split()) + 2 for text in texts]


def letters(texts: Sequence[str]) -> list[int]:
    """A token per three characters begun, white space included: parts add up to more."""
    return [-(-len(text) // 3) for text in texts]


def squares(texts: Sequence[str]) -> list[int]:
    """A tokenizer no packing can foresee: the whole is far more than its parts."""
    return [len(text.split()) + (len(text) // 40) ** 2 for text in texts]


def size(count: Count, text: str) -> int:
    """The size that the maximum is about: tokens, each of at most 16 characters."""
    return max(count([text])[0], -(-len(text) // 16))


def faults(text: str, spans: Sequence[Span]) -> list[str]:
    """What is wrong with spans: a false offset, their order, white space around one,
    text that is lost."""
    found = []
    covered, last_start = 0, -1
    for span in spans:
        if not text[span.start : span.stop] == span.text == span.text.strip() != "":
            found.append(f"{span} is not {text[span.start : span.stop]!r}")
        if span.start <= last_start or span.stop <= covered:
            found.append(f"{span} is out of order")
        if lost := text[covered : span.start].strip():
            found.append(f"{lost!r} is lost before {span}")
        covered, last_start = span.stop, span.start
    if lost := text[covered:].strip():
        found.append(f"{lost!r} is lost at the end")
    return found


def longest(spans: Sequence[Span], count: Count, title: str = "") -> int:
    """The largest size of a span, as it is embedded."""
    texts = [embedded_text(title, span.heading, span.text) for span in spans]
    return max((count([text])[0] for text in texts), default=0)


WORD = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12)
PROSE = st.lists(
    st.one_of(st.sampled_from(["a", "It", "is.", "sea,", "Why?", "数据库。", "👩‍👩‍👧"]), WORD)
)
LINE = PROSE.map(" ".join)
SENTENCES = st.builds(
    lambda word, count: f"The {word} is here. And " * count,
    st.sampled_from("abcd"),
    st.integers(0, 60),
)
CODE = st.lists(
    st.sampled_from(["# not a heading", "x = 1", "", "  return y  # note"]), max_size=30
)
BLOCK = st.one_of(
    st.builds(lambda level, name: f"{'#' * level} {name}", st.integers(1, 4), LINE),
    st.sampled_from(["Set\n===", "Ext\n---", "***", "[ref]: http://x", "<div>\nx\n</div>"]),
    LINE,
    SENTENCES,
    CODE.map(lambda lines: "```py\n" + "\n".join(lines) + "\n```"),
    CODE.map(lambda lines: "- item\n\n  ~~~\n" + "\n".join(f"  {x}" for x in lines) + "\n  ~~~"),
    st.integers(1, 40).map(lambda rows: "| a | b |\n|---|---|\n" + "| one | 2 |\n" * rows),
    st.lists(SENTENCES, max_size=4).map(lambda items: "\n".join(f"- {item}" for item in items)),
    st.lists(LINE, max_size=4).map(lambda lines: "\n".join(f"> {line}" for line in lines)),
    LINE.map(lambda line: f"1. one\n   - {line}\n     - deep\n2. two"),
)
DOCUMENT = st.builds(
    lambda blocks, gap, tail: gap.join(blocks) + tail,
    st.lists(BLOCK, max_size=12),
    st.sampled_from(["\n\n", "\n", "\r\n\r\n", "\n \n\n"]),
    st.sampled_from(["", "\n", "\n```\nopen fence"]),
)
