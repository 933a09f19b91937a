"""What looks like a citation and is none does not reach the reader."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pg.answer.markers import without_false_markers


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


FORMS = [
    "{}", "[{}]", "[{}](http://x.example)", "![{}](x.png)", "[^{}]", "[[{}]]", "[{}][{}]",
    "<a href='x'>[{}]</a>", "[{}]: http://x.example", "`[{}]`", "[{}, 8]", "[{}-9]", "**[{}]**",
]  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(FORMS), st.integers(5, 99)), min_size=1, max_size=6))
def test_no_form_keeps_a_marker_of_no_source(forms: list[tuple[str, int]]) -> None:
    text = "It is so. ".join(form.format(number, number) for form, number in forms)
    shown = without_false_markers(f"So {text} [1]", {1})
    assert {int(n) for n in re.findall(r"\[\^?(\d+)", shown)} <= {1}
