"""Near-duplicates: the same words, but never another number, name or negation."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pg.text import drop_near_duplicates

LONG = (
    "Backups of the database are made every night at 3 and kept for thirty days. The operator "
    "of the Berlin site checks them in the morning, writes down what failed, and starts what is "
    "missing again before the office opens. A copy goes to the second site over the private line, "
    "and it is not removed before the next copy has been checked there as well by a colleague."
)


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("in the morning", "in the  morning", 1),
        ("colleague.", "colleague", 1),
        ("writes down what failed", "notes down what failed", 1),
        ("private line", "**private** line", 1),
        ("every night at 3", "every night at 4", 2),
        ("at 3 and", "at 3.5 and", 2),
        ("thirty days", "ninety days", 2),
        ("thirty", "30", 2),
        ("Berlin", "Bern", 2),
        ("is not removed", "is removed", 2),
        ("before the next copy", "after the next copy", 2),
        ("are made", "aren't made", 2),
    ],
)
def test_a_passage_that_differs_in_little_is_dropped_but_not_in_what_it_tells(
    old: str, new: str, kept: int
) -> None:
    assert old in LONG
    assert len(drop_near_duplicates([LONG, LONG.replace(old, new)])) == kept


@pytest.mark.parametrize(
    ("one", "other"),
    [("5 mg", "5 g"), ("5 %", "5"), ("-5", "5"), ("> 5", "< 5"), ("$5", "€5"),
     ("5 days", "5 hours"), ("1,000", "1.000"), ("10:30", "10:20"), ("kube5ctl", "kube6ctl"),
     ("3 and 4", "4 and 3")],
)  # fmt: skip
def test_numbers_are_compared_with_their_signs_and_units(one: str, other: str) -> None:
    texts = [f"{LONG} It is {number} in all." for number in (one, other)]
    assert drop_near_duplicates(texts) == [0, 1]
    assert drop_near_duplicates([texts[0], texts[0].replace("in all", "in sum")]) == [0]


def test_the_better_one_stays() -> None:
    near = LONG.replace("writes down", "notes down")
    assert drop_near_duplicates(["other text", near, LONG, "Another Text", LONG]) == [0, 1, 3]


def test_chinese_is_compared_by_its_characters() -> None:
    text = (
        "数据库的备份在每天凌晨进行并且保存在第二个机房里由值班的人员在早上检查如果失败就重新开始"
        "副本通过专线传送到另外一个地点在下一个副本被同事检查之前这个副本会一直保存在那里以备使用"
    )
    assert drop_near_duplicates([text, text.replace("早上", "上午")]) == [0]
    assert drop_near_duplicates([text, text.replace("就重新", "不重新")]) == [0, 1]


@given(st.lists(st.text(alphabet="ab 12.A", max_size=60), max_size=8))
def test_no_number_is_lost(texts: list[str]) -> None:
    kept = drop_near_duplicates(texts)
    numbers = [re.findall(r"\d+", text) for text in texts]
    assert all(found in [numbers[at] for at in kept] for found in numbers)
    assert kept == sorted(set(kept)) and (not texts or kept[0] == 0)
