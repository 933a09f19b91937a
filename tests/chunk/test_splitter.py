"""Chunkers: offsets, order, completeness and the maximum, under hypothesis and on real text."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rota import in_turn, tries
from spans import DOCUMENT, Count, faults, letters, longest, size, squares, words

from rag_pg.chunk.blocks import Block, outline_markdown, outline_rest
from rag_pg.chunk.settings import Chunking
from rag_pg.chunk.splitter import Splitter
from rag_pg.errors import InvalidInput
from rag_pg.text.embedded import embedded_text
from rag_pg.types import Span

MARKDOWN, PLAIN = "text/markdown", "text/plain"
# --- what holds for every text -------------------------------------------------------------------


def rigid_blocks(blocks: Sequence[Block]) -> list[Block]:
    found = []
    for block in blocks:
        found += rigid_blocks(block.children) if block.children else [block]
    return [block for block in found if block.kind == "rigid"]


def check_rigid(text: str, spans: Sequence[Span], count: Count, maximum: int) -> None:
    """Code and tables are whole in one chunk where they fit in one."""
    for block in rigid_blocks(outline_markdown(text)):
        content = text[block.start : block.stop]
        header = embedded_text("", " > ".join(block.path), "x")
        if count([header])[0] + size(count, content) > maximum:
            continue
        assert any(content.strip() in span.text for span in spans), content


def check_overlaps(text: str, spans: Sequence[Span]) -> None:
    """What is repeated is prose of the same section: no heading, no piece of code."""
    rigid = rigid_blocks(outline_markdown(text))
    headings = [block for block in outline_markdown(text) if block.kind == "heading"]
    for before, after in pairwise(spans):
        if before.stop > after.start:
            assert before.heading == after.heading
            for block in (*rigid, *headings):
                assert block.stop <= after.start or block.start >= before.stop


@settings(max_examples=tries(150, 60), deadline=None)
@given(
    text=DOCUMENT, maximum=st.sampled_from([16, 40, 256]), count=st.sampled_from([words, letters])
)
@example(text="# A\n\n- " + "word " * 50, maximum=40, count=words)
def test_markdown_is_cut_without_loss_within_the_maximum(
    text: str, maximum: int, count: Count
) -> None:
    spans = Splitter(count, Chunking(max_tokens=maximum)).split(text, media_type=MARKDOWN)
    assert faults(text, spans) == []
    assert longest(spans, count) <= maximum
    check_rigid(text, spans, count, maximum)
    check_overlaps(text, spans)


@settings(max_examples=tries(120, 48), deadline=None)
@given(
    text=st.one_of(DOCUMENT, st.text()),
    maximum=st.integers(16, 64),
    overlap=st.floats(0, 0.5),
    media_type=st.sampled_from([MARKDOWN, PLAIN, "text/x-rst"]),
    count=st.sampled_from([words, letters, squares]),
)
def test_any_text_is_cut_without_loss_within_the_maximum(
    text: str, maximum: int, overlap: float, media_type: str, count: Count
) -> None:
    splitter = Splitter(count, Chunking(max_tokens=maximum, overlap=overlap))
    spans = splitter.split(text, media_type=media_type, title="T")
    assert faults(text, spans) == []
    assert longest(spans, count, title="T") <= maximum


@settings(max_examples=tries(50, 20), deadline=None)
@given(text=DOCUMENT, maximum=st.sampled_from([24, 64, 256]))
def test_a_real_tokenizer_never_counts_more_than_the_maximum(
    bert: Count, text: str, maximum: int
) -> None:
    spans = Splitter(bert, Chunking(max_tokens=maximum)).split(
        text, media_type=MARKDOWN, title="A title"
    )
    assert faults(text, spans) == []
    assert longest(spans, bert, title="A title") <= maximum
    check_overlaps(text, spans)


@settings(max_examples=tries(40, 16), deadline=None)
@given(text=DOCUMENT)
def test_without_overlap_no_character_is_repeated(text: str) -> None:
    spans = Splitter(words, Chunking(max_tokens=30, overlap=0)).split(text, media_type=MARKDOWN)
    for before, after in pairwise(spans):
        assert before.stop <= after.start


# --- headings ------------------------------------------------------------------------------------

GUIDE = """\
Before any heading, {filler}.

# The *Guide* to `rag_pg` { #guide }

## Install {#install .wide}

### Linux [docs](https://example.org/linux)

On Linux, {filler}.

```sh
# not a heading
apt install it
```

### macOS

On macOS, {filler}.

Windows & others
----------------

Not yet, {filler}.

> # A quoted heading is no heading

FAQ
===

Questions, {filler}.
""".replace("{filler}", " ".join(["words"] * 25))


def test_heading_is_the_path_at_the_first_line_that_is_no_heading() -> None:
    spans = Splitter(words, Chunking(max_tokens=80)).split(GUIDE, media_type=MARKDOWN)
    assert [(span.heading, span.text.split()[0], span.text.split()[-1]) for span in spans] == [
        ("", "Before", "words."),
        ("The Guide to rag_pg > Install > Linux docs", "#", "```"),
        ("The Guide to rag_pg > Install > macOS", "###", "words."),
        ("The Guide to rag_pg > Windows & others", "Windows", "heading"),
        ("FAQ", "FAQ", "words."),
    ]


def test_small_neighbours_are_joined_under_the_heading_they_share() -> None:
    text = "# Guide\n\n## A\n\none\n\n## B\n\ntwo\n\n### C\n\nthree\n\n# Other\n\n" + "four " * 20
    spans = Splitter(words, Chunking(max_tokens=64)).split(text, media_type=MARKDOWN)
    assert [(span.heading, span.text[-5:]) for span in spans] == [
        ("Guide", "three"),
        ("Other", " four"),
    ]


def test_large_sections_are_not_joined() -> None:
    text = "# A\n\n" + "one " * 20 + "\n\n# B\n\n" + "two " * 20
    spans = Splitter(words, Chunking(max_tokens=64)).split(text, media_type=MARKDOWN)
    assert [span.heading for span in spans] == ["A", "B"]


def test_only_headings_make_one_chunk() -> None:
    spans = Splitter(words).split("# A\n\n## B\n\n## C\n", media_type=MARKDOWN)
    assert [(span.heading, span.text) for span in spans] == [("A", "# A\n\n## B\n\n## C")]


def test_a_long_path_loses_its_outermost_headings() -> None:
    text = "# one two three four\n\n## five six seven\n\n### eight\n\nbody"
    (span,) = Splitter(words, Chunking(max_tokens=32)).split(text, media_type=MARKDOWN)
    assert span.heading == "five six seven > eight"


def test_a_long_heading_is_cut_between_words() -> None:
    text = "# " + "word " * 100 + "\n\nbody"
    spans = Splitter(words, Chunking(max_tokens=32)).split(text, media_type=MARKDOWN, title="T")
    assert {span.heading for span in spans} == {" ".join(["word"] * 8)}
    assert longest(spans, words, title="T") <= 32


def test_headings_of_plain_text_are_just_text() -> None:
    (span,) = Splitter(words).split("# A\n\nb", media_type=PLAIN)
    assert (span.heading, span.text) == ("", "# A\n\nb")


REST = """=====
Pumps
=====

Before.

Install
-------
On a bench, {filler}.

``--dry`` of :doc:`run <run>`
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~

Without water, {filler}.

Repair
------

One line
and another
-----------
of a paragraph, {filler}.

----

After a rule.
""".replace("{filler}", " ".join(["words"] * 25))


def test_rest_is_cut_by_its_headings() -> None:
    headings = [block.path for block in outline_rest(REST) if block.kind == "heading"]
    assert headings == [
        ("Pumps",),
        ("Pumps", "Install"),
        ("Pumps", "Install", "--dry of run"),
        ("Pumps", "Repair"),
    ]
    found = Splitter(words, Chunking(max_tokens=40)).split(REST, media_type="text/x-rst")
    assert (found[-1].heading, found[-1].text[-13:]) == ("Pumps > Repair", "After a rule.")
    (text,) = Splitter(words, Chunking(method="text")).split("A\n==\n\nb", media_type="text/x-rst")
    assert text.heading == ""


def test_method_overrides_the_media_type() -> None:
    assert (
        Splitter(words, Chunking(method="text")).split("# A\n\nb", media_type=MARKDOWN)[0].heading
        == ""
    )
    assert (
        Splitter(words, Chunking(method="markdown")).split("# A\n\nb", media_type=PLAIN)[0].heading
        == "A"
    )


# --- the embedded text ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "heading", "content", "expected"),
    [
        ("Guide", "Guide > Install", "x", "Guide > Install\nx"),
        ("Guide", "Guide", "x", "Guide\nx"),
        ("Guide", "Guided tour", "x", "Guide\nGuided tour\nx"),
        ("Guide", "", "x", "Guide\nx"),
        ("", "A > B", "x", "A > B\nx"),
        ("", "", "x", "x"),
        ("Guide", "", "", "Guide"),
    ],
)
def test_title_is_left_out_where_the_heading_begins_with_it(
    title: str, heading: str, content: str, expected: str
) -> None:
    assert embedded_text(title, heading, content) == expected


def test_the_header_takes_its_tokens_from_the_content() -> None:
    text = "# Install\n\n" + "word " * 100
    spans = Splitter(words, Chunking(max_tokens=32, overlap=0)).split(
        text, media_type=MARKDOWN, title="six words of a long title"
    )
    counts = words([embedded_text("six words of a long title", "Install", s.text) for s in spans])
    assert max(counts) == 32


def test_a_title_that_leaves_no_room_is_an_error() -> None:
    splitter = Splitter(words, Chunking(max_tokens=32))
    title = "word " * 30
    with pytest.raises(InvalidInput, match=r"the title has 30 tokens.* chunks of 32; shorten it"):
        splitter.split("text", media_type=PLAIN, title=title)
    assert splitter.split("text", media_type=PLAIN, title=" ".join(["word"] * 8))


# --- filling, overlap ----------------------------------------------------------------------------


def prose(paragraphs: int) -> str:
    """Paragraphs of 2 to 9 sentences of 5 to 20 words."""
    texts = []
    for number in range(paragraphs):
        sentences = (
            "Sentence "
            + " ".join(f"w{(number * 7 + i * j) % 97}" for j in range(4 + (i * 5 + number) % 16))
            for i in range(2 + number * 5 % 8)
        )
        texts.append(". ".join(sentences) + ".")
    return "\n\n".join(texts)


@pytest.mark.parametrize("media_type", [MARKDOWN, PLAIN])
def test_long_prose_fills_its_chunks(media_type: str, bert: Count) -> None:
    text = prose(200)
    spans = Splitter(bert).split(text, media_type=media_type)
    assert faults(text, spans) == []
    fill = statistics.mean(bert([span.text for span in spans])) / 256
    assert fill > 0.8
    repeated = sum(len(span.text) for span in spans) / len(text) - 1
    assert 0.05 < repeated < 0.2


def test_long_paragraphs_are_cut_between_sentences_and_overlap_by_whole_ones() -> None:
    text = " ".join(f"This is sentence number {number}." for number in range(100))
    spans = Splitter(words, Chunking(max_tokens=62)).split(text, media_type=PLAIN)
    for before, after in pairwise(spans):
        assert before.text.endswith(".")
        assert after.text.startswith("This")
        assert before.stop - after.start in range(20, 70)  # one or two sentences


def test_hard_wrapped_prose_is_cut_between_sentences() -> None:
    sentence = "This sentence is wrapped\nin the middle of\nits words."
    text = " ".join([sentence] * 30)
    spans = Splitter(words, Chunking(max_tokens=45, overlap=0)).split(text, media_type=MARKDOWN)
    assert all(span.text.startswith("This") and span.text.endswith("words.") for span in spans)


def test_a_heading_is_not_left_alone_before_a_long_list_item() -> None:
    text = "# A\n\n" + "- " + "word. " * 20 + "\n\n  " + "more. " * 20
    spans = Splitter(words, Chunking(max_tokens=45)).split(text, media_type=MARKDOWN)
    assert spans[0].text.startswith("# A\n\n- word")


def test_a_large_code_block_is_cut_between_lines() -> None:
    text = "```\n" + "x = 1  # y\n" * 60 + "```\n"
    spans = Splitter(words, Chunking(max_tokens=32)).split(text, media_type=MARKDOWN)
    assert faults(text, spans) == []
    lines = [line for span in spans for line in span.text.splitlines()]
    assert lines == text.splitlines()


# --- odd texts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\r\n", "\u2003\u3000"])
@pytest.mark.parametrize("media_type", [MARKDOWN, PLAIN])
def test_nothing_but_white_space_has_no_chunks(text: str, media_type: str) -> None:
    assert Splitter(words).split(text, media_type=media_type) == []


ODD = {
    "one word": "a" * 200_000,
    "chinese": "数据库的连接。" * 6_000,
    "emoji": "👨‍👩‍👧‍👦" * 3_000,
    "table": "| a | b |\n|---|---|\n" + "| one | two three |\n" * 4_000,
    "wide table": "| a | b |\n|---|---|\n" + f"| one{' ' * 300}| two |\n" * 200,
    "nested list": "".join(f"{'  ' * (i % 60)}- item {i}\n" for i in range(2_000)),
    "headings": "# a\n" * 3_000,
    "growing headings": "".join(f"{'#' * (i % 6 + 1)} heading {i}\n\ntext\n\n" for i in range(900)),
    "open fence": "```\n" + "x = 1\n" * 5_000,
    "brackets": "[" * 50_000,
    "quotation": ">" * 50_000,
    "lines": "a\r\n" * 10_000,
    "far apart": "a" + "\n" * 100_000 + "b",
    "invisible": "\u200b" * 50_000,
    "base64": "QUJDRA==" * 10_000,
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("media_type", in_turn([MARKDOWN, PLAIN], MARKDOWN))
@pytest.mark.few(5)
def test_odd_texts_are_cut_like_any_other(name: str, media_type: str, bert: Count) -> None:
    for count in (bert, words):
        spans = Splitter(count).split(ODD[name], media_type=media_type, title="T")
        assert faults(ODD[name], spans) == []
        assert longest(spans, count, title="T") <= 256
        assert max(len(span.text) for span in spans) <= 256 * 17


# --- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chunking", "message"),
    [
        ({"max_tokens": 15}, "max_tokens is 15; it must be 16 to 8192"),
        ({"max_tokens": 8193}, "max_tokens is 8193; it must be 16 to 8192"),
        ({"max_tokens": "256"}, "max_tokens is '256'; it must be 16 to 8192"),
        ({"max_tokens": True}, "max_tokens is True; it must be 16 to 8192"),
        ({"max_tokens": 99.5}, "max_tokens is 99.5; it must be 16 to 8192"),
        ({"overlap": 0.51}, "overlap is 0.51; it must be 0 to 0.5"),
        ({"overlap": -1}, "overlap is -1; it must be 0 to 0.5"),
        ({"overlap": float("nan")}, "overlap is nan; it must be 0 to 0.5"),
        ({"overlap": None}, "overlap is None; it must be 0 to 0.5"),
        (
            {"method": "magic"},
            "method is 'magic'; take auto, text, markdown, code, .* or small-to-big",
        ),
        ({"method": ["text"]}, r"method is \['text'\]; take auto, text, markdown"),
        ({"size": 3}, "unknown chunking setting 'size'; known: max_tokens, overlap, method"),
    ],
)
def test_a_bad_setting_is_named_with_its_value_and_range(
    chunking: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        Splitter.from_settings(chunking, words)


def test_settings_are_used() -> None:
    chunking = {"max_tokens": 20, "overlap": 0, "method": "text"}
    spans = Splitter.from_settings(chunking, words).split(
        "# A\n\n" + "b " * 40, media_type=MARKDOWN
    )
    assert [len(span.text.split()) for span in spans] == [18, 18, 6]
    assert (
        Splitter.from_settings({}, words).split("# A\n\nb", media_type=MARKDOWN)[0].heading == "A"
    )


# --- real documents ------------------------------------------------------------------------------


@pytest.mark.quality
@pytest.mark.longer
def test_real_documentation_keeps_every_promise(bert: Count) -> None:
    folder = Path(os.environ.get("RAG_PG_EVAL_DATA", "")) / "docs-fastapi-en" / "files"
    if "RAG_PG_EVAL_DATA" not in os.environ or not folder.is_dir():
        pytest.skip("no data: needs RAG_PG_EVAL_DATA, a folder with docs-fastapi-en")
    splitter, sizes = Splitter(bert), []
    for path in sorted(folder.rglob("*.md"))[:: tries(3, 12)]:
        text = path.read_text(encoding="utf-8")
        spans = splitter.split(text, media_type=MARKDOWN)
        assert faults(text, spans) == []
        assert longest(spans, bert) <= 256
        check_rigid(text, spans, bert, 256)
        check_overlaps(text, spans)
        sizes += bert([embedded_text("", span.heading, span.text) for span in spans])
    assert statistics.mean(sizes) > 0.6 * 256
