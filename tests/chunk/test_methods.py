"""Every chunking method: what holds for all texts, and what each is chosen for."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rota import tries
from spans import DOCUMENT, Count, faults, letters, longest, squares, words

from rag_pg.chunk.code import _parser
from rag_pg.chunk.grammars import CUT_BY_FUNCTION
from rag_pg.chunk.settings import METHODS, OVERLAPPING, Chunking
from rag_pg.chunk.splitter import Splitter
from rag_pg.errors import InvalidInput
from rag_pg.types import Span, Vectors

PLAIN, MARKDOWN = "text/plain", "text/markdown"


def hashed(texts: Sequence[str]) -> Vectors:
    """An embedder: the same words give the same direction."""
    vectors = np.zeros((len(texts), 64), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in text.lower().split():
            vectors[row, sum(word.encode()) % 64] += 1
    return vectors


def split(
    text: str, count: Count = words, media_type: str = PLAIN, **chunking: object
) -> list[Span]:
    splitter = Splitter.from_settings(chunking, count, embed=hashed)
    return splitter.split(text, media_type=media_type)


def texts_of(spans: Sequence[Span]) -> list[str]:
    return [span.text for span in spans]


# --- what holds for every method -----------------------------------------------------------------

SOURCE = st.lists(
    st.sampled_from(
        [
            "def f(a):", "    return a", "class A:", "    def m(self):", "        pass", "", "",
            "# c", "@d", "x = 1", "}", "{", "function g() {", "impl A {", "fn h() {}",
            "type T struct {", "CREATE TABLE t (a int);", "SELECT $$ ; $$;", "'", "namespace n {",
            "struct s { int a; };", "é = '👩‍👩‍👧'", "\ttab", "export const q = () => 1;",
            "#ifdef X", "#endif", "/* c", "*/",
        ]
    ),
    max_size=40,
).map("\n".join)  # fmt: skip
CHAT = st.lists(
    st.builds(
        lambda name, text, gap: f"{name}: {text}{gap}",
        st.sampled_from(["Ann", "Bob Lee", "user", "[10:30] Ann", "**Ann**", "数据"]),
        st.text(max_size=80),
        st.sampled_from(["\n", "\n\n", " "]),
    ),
    max_size=15,
).map("".join)
JSON = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "bot"]), "content": st.text()}),
    max_size=8,
).flatmap(
    lambda turns: st.sampled_from(
        [
            json.dumps(turns),
            json.dumps(turns, indent=2, ensure_ascii=False),
            json.dumps({"id": 1, "messages": turns, "end": True}),
            "\n".join(map(json.dumps, turns)),
            json.dumps(turns)[:-1],
        ]
    )
)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=tries(40, 16), deadline=None)
@given(
    text=st.one_of(DOCUMENT, SOURCE, CHAT, JSON, st.text()),
    maximum=st.integers(16, 64),
    overlap=st.floats(0, 0.5),
    media_type=st.sampled_from([PLAIN, MARKDOWN, *sorted(CUT_BY_FUNCTION)]),
    count=st.sampled_from([words, letters, squares]),
)
def test_no_method_loses_text_or_exceeds_the_maximum(
    method: str, text: str, maximum: int, overlap: float, media_type: str, count: Count
) -> None:
    chunking = Chunking(
        method=method,
        max_tokens=maximum,
        parent_tokens=maximum * 3,
        overlap=overlap if method in OVERLAPPING else 0,
    )
    splitter = Splitter(count, chunking, embed=hashed)
    spans = splitter.split(text, media_type=media_type, title="T")
    assert faults(text, spans) == []
    assert longest(spans, count, title="T") <= maximum


@pytest.mark.parametrize("method", METHODS)
def test_a_real_tokenizer_never_counts_more_than_the_maximum(bert: Count, method: str) -> None:
    text = (
        "# A\n\n" + "It is so. Ann: why?\n数据库的连接。" * 80 + "\n\n" + "word" * 500 + "\n\n- b\n"
    )
    splitter = Splitter(bert, Chunking(method=method, max_tokens=48), embed=hashed)
    for media_type in (PLAIN, MARKDOWN, "text/x-python"):
        spans = splitter.split(text, media_type=media_type, title="A title")
        assert faults(text, spans) == []
        assert longest(spans, bert, title="A title") <= 48


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("text", ["", " \n\t\n", "one"])
def test_a_text_of_a_word_or_none_has_as_many_chunks(method: str, text: str) -> None:
    chunking = Chunking(method=method, max_tokens=32)
    spans = Splitter(words, chunking, embed=hashed).split(text, media_type=PLAIN)
    assert texts_of(spans) == text.split()


# --- fixed ---------------------------------------------------------------------------------------


def test_fixed_windows_are_full_and_overlap_by_their_share() -> None:
    text = "# Not a heading\n\n" + " ".join(f"w{number}" for number in range(1000))
    spans = split(text, method="fixed", max_tokens=52, overlap=0.2, media_type=MARKDOWN)
    assert {len(span.text.split()) for span in spans[:-1]} == {50}
    for before, after in pairwise(spans):
        assert len(text[after.start : before.stop].split()) == 10
    assert {span.heading for span in spans} == {""}


def test_fixed_windows_without_overlap_repeat_nothing(bert: Count) -> None:
    text = "数据库的连接。" * 1000
    spans = split(text, bert, method="fixed", overlap=0)
    assert "".join(texts_of(spans)) == text
    assert min(len(span.text) for span in spans[:-1]) > 150


# --- sentences -----------------------------------------------------------------------------------


def test_a_sentence_is_a_chunk_and_has_the_headings_above_it() -> None:
    text = (
        "# Guide\n\n## Install\n\nRun it. Then wait.\n\n- an item\n\n```\nx = 1\n\ny = 2\n```\n\n##"
        " End\n"
    )
    assert [
        (span.heading, span.text) for span in split(text, method="sentence", media_type=MARKDOWN)
    ] == [
        ("Guide > Install", "# Guide\n\n## Install\n\nRun it."),
        ("Guide > Install", "Then wait."),
        ("Guide > Install", "- an item"),
        ("Guide > Install", "```\nx = 1\n\ny = 2\n```"),
        ("Guide > End", "## End"),
    ]


# --- semantic ------------------------------------------------------------------------------------


def test_a_chunk_ends_where_the_topic_changes() -> None:
    cats = "The cat purrs at the cat door. " * 6
    ships = "Ships sail north over open sea. " * 6
    spans = split(cats + ships, method="semantic", max_tokens=100)
    assert texts_of(spans) == [cats.strip(), ships.strip()]


def test_a_topic_larger_than_a_chunk_is_cut_where_it_changes_most() -> None:
    cats, dogs = "The cat purrs at the cat door. " * 9, "The dog barks at the dog door. " * 9
    spans = split(cats + dogs, method="semantic", max_tokens=100, breakpoint=1)
    assert texts_of(spans) == [cats.strip(), dogs.strip()]


def test_topics_do_not_cross_headings() -> None:
    part = "The cat purrs at the cat door. " * 5
    text = f"# A\n\n{part}\n\n# B\n\n{part}"
    spans = split(text, method="semantic", max_tokens=80, media_type=MARKDOWN)
    assert [span.heading for span in spans] == ["A", "B"]


def test_semantic_needs_an_embedder() -> None:
    with pytest.raises(InvalidInput, match="semantic needs an embedder"):
        Splitter(words, Chunking(method="semantic"))


# --- small-to-big --------------------------------------------------------------------------------


def test_small_chunks_know_the_larger_piece_they_are_part_of() -> None:
    parts = {name: " ".join(f"{name}{n} is said here." for n in range(20)) for name in "AB"}
    text = f"# A\n\n{parts['A']}\n\n# B\n\n{parts['B']}\n"
    spans = split(text, method="small-to-big", max_tokens=32, parent_tokens=96, media_type=MARKDOWN)
    assert faults(text, spans) == []
    assert longest(spans, words) <= 32
    assert len(spans) > 5
    for span in spans:
        assert span.parent is not None
        start, stop = span.parent
        assert start <= span.start < span.stop <= stop
        assert text[start:stop] == f"# {span.heading}\n\n{parts[span.heading]}"


def test_parents_are_pieces_of_a_long_section() -> None:
    text = " ".join(f"Sentence {n} is said here." for n in range(200))
    spans = split(text, method="small-to-big", max_tokens=24, parent_tokens=120)
    parents = {span.parent for span in spans}
    assert 8 < len(parents) < 12 < len(spans) / 3
    sizes = [len(text[start:stop].split()) for start, stop in filter(None, parents)]
    assert max(sizes) <= 120


def test_other_methods_have_no_parents() -> None:
    assert [span.parent for span in split("a b c")] == [None]


# --- conversations -------------------------------------------------------------------------------


def test_turns_stay_whole_and_fill_chunks() -> None:
    turns = [f"{name}: {'word ' * 8}end.\n" for name in ("Ann", "Bob Lee") * 4]
    spans = split("".join(turns), method="conversation", max_tokens=36)
    assert texts_of(spans) == ["".join(turns[n : n + 3]).strip() for n in (0, 3, 6)]
    assert {span.heading for span in spans} == {""}


def test_a_long_turn_is_cut_under_its_speaker() -> None:
    text = "Ann: short.\n\n[12:31] Bob (HR): " + "It goes on. " * 40 + "\nAnn: ok."
    spans = split(text, method="conversation", max_tokens=40)
    assert faults(text, spans) == []
    assert [(span.heading, span.text[:6]) for span in spans] == [
        ("Ann", "Ann: s"),
        ("Bob", "[12:31"),
        ("Bob", "It goe"),
        ("Bob", "It goe"),
        ("Bob", "It goe"),
        ("Ann", "Ann: o"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '[{"role": "user", "content": "one two three four five six seven eight nine"},\n'
        ' {"role": "bot", "content": "ten eleven twelve thirteen fourteen fifteen"}]',
        '{"id": 7, "messages": [{"role": "user", "content": "one two three four five six seven '
        'eight nine"}, {"role": "bot", "content": "ten eleven twelve thirteen fourteen"}]}',
        '{"speaker": "user", "text": "one two three four five six seven eight nine ten"}\n'
        '{"speaker": "bot", "text": "ten eleven twelve thirteen fourteen fifteen"}\n',
    ],
)
def test_json_turns_are_cut_between_objects(text: str) -> None:
    spans = split(text, method="conversation", max_tokens=18)
    assert faults(text, spans) == []
    assert [span.heading for span in spans][-2:] == ["user", "bot"]


def test_what_is_no_conversation_is_cut_as_text() -> None:
    text = "Just text, without any names in it: none at all.\n\nAnd more."
    assert texts_of(split(text, method="conversation")) == [text]


# --- code ----------------------------------------------------------------------------------------


@pytest.fixture
def without_grammars(monkeypatch: pytest.MonkeyPatch) -> None:
    _parser.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter", None)


@pytest.mark.usefixtures("without_grammars")
def test_the_method_code_names_the_extra_it_needs() -> None:
    with pytest.raises(InvalidInput, match=r'not installed.*pip install "rag-pg\[code\]"'):
        split("x = 1", method="code", media_type="text/x-python")


@pytest.mark.usefixtures("without_grammars")
def test_without_grammars_code_is_cut_as_text_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture, logged: Callable[[], list[logging.LogRecord]]
) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            spans = split("class A:\n    def f(self):\n        pass\n", media_type="text/x-java")
    assert [span.heading for span in spans] == [""]
    (message,) = [record.getMessage() for record in logged()]
    assert message.startswith("text/x-java is cut as text: ") and "rag-pg[code]" in message


def test_the_method_code_cuts_other_texts_as_auto_does() -> None:
    assert split("# A\n\nb", method="code", media_type=MARKDOWN)[0].heading == "A"
    assert split("# A\n\nb", method="code")[0].heading == ""


# --- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chunking", "message"),
    [
        (
            {"method": "sentence", "overlap": 0.1},
            "overlap is 0.1, but the method sentence repeats nothing",
        ),
        (
            {"method": "small-to-big", "parent_tokens": 64},
            "parent_tokens is 64, max_tokens is 64; a parent must be larger",
        ),
        (
            {"method": "small-to-big", "parent_tokens": "9"},
            "parent_tokens is '9'; it must be 16 to 65536",
        ),
        (
            {"parent_tokens": 100},
            "parent_tokens is for the method small-to-big, not auto; leave it out",
        ),
        (
            {"method": "fixed", "breakpoint": 0.5},
            "breakpoint is for the method semantic, not fixed",
        ),
        ({"method": "semantic", "breakpoint": 95}, "breakpoint is 95; it must be 0 to 1"),
        (
            {"methods": "auto"},
            "unknown chunking setting 'methods'; known: max_tokens, overlap, method, parent_tokens",
        ),
    ],
)
def test_a_setting_that_does_not_fit_is_one_clear_error(
    chunking: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        Chunking.read(chunking, 256)


def test_the_default_size_is_what_the_embedder_reads() -> None:
    assert Chunking.read({}, 8192).max_tokens == 256
    assert Chunking.read({}, 128).max_tokens == 128
    assert Chunking.read({"method": "small-to-big"}, 512).max_tokens == 64
    assert Chunking.read({"max_tokens": 300}, 256).max_tokens == 300
