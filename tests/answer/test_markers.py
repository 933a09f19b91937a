"""What looks like a citation and is none does not reach the reader."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rendered import Rendered

from rag_pg.answer.citations import CitedText
from rag_pg.answer.edit import without_support
from rag_pg.answer.reading.markers import find_markers, without_false_markers
from rag_pg.answer.reading.statements import read_statements


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Yes [1].", "Yes [1]."),
        ("Yes [1, 2] and [3].", "Yes [1, 2] and."),
        ("Yes [1](http://evil.example/x).", "Yes [1]."),
        ("Yes [7](http://evil.example/x).", "Yes."),
        ("Yes [1][7].", "Yes [1]."),
        ("Yes [7][1].", "Yes[1]."),
        ("Yes ![7](x.png) and ![1](x.png).", "Yes and [1]."),
        ("Yes [^7].\n\n[^7]: http://evil.example", "Yes."),
        ("Yes [1].\n\n[7]: http://evil.example 'a'\n[1]: http://evil.example", "Yes [1]."),
        ("Yes.<sup>7</sup> No.<sup>[7]</sup> But 10<sup>2</sup> m².",
         "Yes. No. But 10<sup>2</sup> m²."),
        ("So it is.⁷ And 10² too.", "So it is. And 10² too."),
        ('Yes <a href="x">[7]</a> <a href="x">[1]</a>.', "Yes [1]."),
        ("Yes `[7]` and `a[7]`.", "Yes  and `a[7]`."),
        ("```\nx = a[7]  # so it is [7]\ny = b[7]  # [1]\n```",
         "```\nx = a[7]  # so it is\ny = b[7]  # [1]\n```"),
        ("See [the docs](http://a.example) and [sic].",
         "See [the docs](http://a.example) and [sic]."),
    ],
)  # fmt: skip
def test_no_false_marker_is_shown(text: str, shown: str) -> None:
    assert without_false_markers(text, {1, 2}) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Take x in [1.5, 2.5] or [-1, 1] [1].",
        "It costs [$7], [5 €] and [10 %].",
        "See [RFC 2119](http://a.example), [ISO 9001] and [the docs](x) [2].",
        "- [ ] open\n- [x] done [1]",
        "| a | `b[0]` |\n|---|---|\n| [1] | c |",
        "It is a[b] and 10² [1]: so.",
        "[1] says it.\n\n    x = y[7]\n\nAnd ``a[`7`]`` too.",
        "1. Do it [1]:\n\n   ```bash\n   echo ${x[7]}\n   ```\n\n2. Then [2].",
    ],
)
def test_what_is_no_marker_stays(text: str) -> None:
    assert without_false_markers(text, {1, 2}) == text


FORMS = [
    "{}", "[{}]", "[{}](http://x.example)", "![{}](x.png)", "[^{}]", "[[{}]]", "[{}][{}]",
    "<a href='x'>[{}]</a>", "<a href=x>{}</a>", "[{}]: http://x.example", "`[{}]`", "[{}, 8]",
    "[{}-9]", "[{};7]", "**[{}]**", "[ {} ]", "[[{}]](http://x.example)", "[{}][]", "[{}][x]",
    "[x][{}]", "\n[^{}]: note\n", "\n[{}]: http://x.example\n", "\n[ {} ]:http://x.example\n",
    "\n[{}]:\nhttp://x.example\n", "\n> [{}]: http://x.example\n", "\n[x]: http://x.example\n",
    ".<sup>{}</sup>", ".<sup><a href=x>[{}]</a></sup>", "\\[{}\\]", "&#91;{}&#93;",
    "&lbrack;{}]", "［{}］", "【{}†source】", "⟦{}⟧", "[**{}**]", "[`{}`]", "[`{}`](x)", "``[{}]``",
    "```\n[{}]\n```", "\n~~~\n[{}]\n~~~\n", "~~~ so [{}] ~~~", "\\`so [{}]\\`",
    "\n| a [{}] | b |\n|---|---|\n| x | [{}] |\n", "[\u200b{}]", "[Source {}]", "[ref {}](x)",
    "[#{}]", "({})", "[{}\n]", "[\n{}](x)", "[No. {}]", "<b>[</b>{}]", "[_{}_]", "[x [{}]](x)",
    "(http://x.example)", "[", "]", "`", "\n\n", "[１]",
]  # fmt: skip


@given(
    st.lists(
        st.tuples(st.sampled_from(FORMS), st.sampled_from(["1", "2", "7", "1kfqm1", "2bcdf2"])),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(["", " ", ". "]),
    st.booleans(),
)
@example([("[1kfqm1†source](7)", "")], "", True)
@example([("\n> [1]: http://x.example\n", "[1]")], "", False)
def test_a_reader_sees_no_marker_of_no_source_and_none_that_leads_elsewhere(
    forms: list[tuple[str, str]], gap: str, by_model: bool
) -> None:
    """By a library that renders Markdown: a model cites by keys, a strategy of one's own by
    numbers."""
    text = f"So it is {gap.join(form.replace('{}', n) for form, n in forms)} now."
    numbers = {1, 2}
    if by_model:
        cited = CitedText(("1kfqm1", "2bcdf2", "3ghjk3"))
        cited.feed(text)
        cited.close()
        text, numbers = cited.text, cited.cited
    shown = without_false_markers(text, numbers)
    rendered = Rendered(shown)
    assert rendered.links == []
    found = [list(marker.numbers) for marker in find_markers(shown)]
    assert all(one in found and set(one) <= numbers for one in rendered.markers)
    assert without_false_markers(shown, numbers) == shown


@pytest.mark.parametrize(
    "piece",
    [" ", "<a ", " <sup", "[ ", " \u00b9", "```\n" + "/" * 1_000, "`a[1]` ", ", 1", "- a [1].\n"],
)
@pytest.mark.few(3)
def test_a_long_answer_is_read_in_a_time_that_is_in_proportion(piece: str) -> None:
    """What looks at the rest of the text at each of its characters takes minutes here."""
    text = f"It is so [1{piece * (200_000 // len(piece))}] x."
    shown = without_false_markers(text, {1})
    statements = read_statements(shown)
    wrong = range(0, len(statements), 2)
    edited = without_support(shown, statements, wrong, "mark")
    for statement in statements:
        start, stop = edited.span(statement.start, statement.claim_stop)
        assert edited.text[start:stop].startswith(shown[statement.start : statement.claim_stop])
    assert len(without_support(shown, statements, wrong, "drop").text) <= len(shown)
