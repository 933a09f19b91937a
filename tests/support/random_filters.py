"""Random metadata and filters over the same few keys and values, so that many of them meet."""

from typing import Any

from filter_oracle import date
from hypothesis import strategies as st

Json = dict[str, Any]

DECLARED = {
    "num": "numeric",
    "txt": "text",
    "day": "timestamptz",
    "flag": "boolean",
    "n.x": "numeric",
}

DATES = [
    "2024-02-28", "2024-02-29", "2024-02-29T00:00:00Z", "2024-02-29T01:30:00+01:30", "2023-02-29",
    "2024-02-29 23:59:59.999999", "2024-03-01T00:30+0100", "0001-01-02", "9999-12-31",
]  # fmt: skip
TEXTS = [
    "", "a", "ab", "abc", "a%", "a_c", "b'", 'c"', "d\\", "$1", "\t\n\x01", "é", "日本", "a" * 501,
    "a" * 500 + "b", "AB", "É", "e\u0301",
]  # fmt: skip
numbers = st.sampled_from([0, 1, -1, 2, 1.0, 1.5, -0.25, 2024, 10**30, 1e-30, 1e300])
texts = st.sampled_from(TEXTS + DATES)
scalars = st.one_of(numbers, texts, st.booleans(), st.none())
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["x", "y", "q.r"]), inner, max_size=2),
    ),
    max_leaves=5,
)
metadata = st.fixed_dictionaries(
    {},
    optional={
        "num": st.one_of(numbers, values),
        "txt": st.one_of(texts, values),
        "day": st.one_of(st.sampled_from(DATES), values),
        "flag": st.one_of(st.booleans(), values),
        "n": st.one_of(values, st.fixed_dictionaries({"x": values})),
        "a": values,
        "q.r": values,
        "$x": values,
        "it's \"k\\": values,
        "": values,
    },
)
patterns = st.text("abAÉc%_é\\", max_size=5).filter(
    lambda p: (len(p) - len(p.rstrip("\\"))) % 2 == 0
)
ordered = {
    "num": numbers,
    "txt": texts,
    "day": st.sampled_from([d for d in DATES if date(d)]),
    "flag": st.booleans(),
    "n.x": numbers,
}
fields = st.sampled_from(
    [*ordered, "a", "n", "n.y", "n.x.y", "n.q\\.r", "q\\.r", "\\$x", "it's \"k\\\\", ""]
)


def operators(field: str) -> st.SearchStrategy[Json]:
    comparable = ordered.get(field, st.one_of(numbers, texts, st.booleans()))
    plain = (
        st.fixed_dictionaries(
            {},
            optional={
                "$eq": values,
                "$ne": values,
                "$in": st.lists(values, max_size=3),
                "$nin": st.lists(values, max_size=3),
                "$exists": st.booleans(),
                "$contains": values,
                "$like": patterns,
                "$ilike": patterns,
                "$gt": comparable,
                "$gte": comparable,
                "$lt": comparable,
                "$lte": comparable,
            },
        )
        .filter(bool)
        .map(lambda d: dict(list(d.items())[:2]))
    )
    return st.one_of(plain, plain, st.fixed_dictionaries({"$not": st.one_of(plain, scalars)}))


leaves = fields.flatmap(
    lambda field: st.one_of(operators(field), values).map(lambda wanted: {field: wanted})
)
filters = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"$and": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"$or": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"$not": inner}),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
    ),
    max_leaves=4,
)
