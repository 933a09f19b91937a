"""rag._locate_quote beside the definition of a proof, on cuts at every category of Unicode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from citation_cuts import CUTS, PLACES, Pair, categories, make_pairs
from citation_oracle import proves
from fuzzing import fuzz

Connection = psycopg.Connection[Any]
PAIRS = 4000  # of 8,000 kinds
LOCATE = """SELECT (rag._locate_quote(p.source, p.quote)).status IN ('exact', 'normalised')
    FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS p (source, quote, position)
    ORDER BY p.position"""


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as open_connection:
        yield open_connection


def judge(connection: Connection, pairs: list[Pair]) -> tuple[list[Pair], list[Pair], int]:
    """Return the false proofs, the true ones that are refused, and how many are true."""
    rows = connection.execute(
        LOCATE, [[pair.source for pair in pairs], [pair.quote for pair in pairs]]
    ).fetchall()
    right = [proves(pair.source, pair.quote) for pair in pairs]
    judged = list(zip(pairs, right, (proven for (proven,) in rows), strict=True))
    false = [pair for pair, true, proven in judged if proven and not true]
    refused = [pair for pair, true, proven in judged if true and not proven]
    return false, refused, sum(right)


def test_a_proof_is_a_run_of_whole_tokens(connection: Connection) -> None:
    def run(seed: int) -> None:
        pairs = list(make_pairs(PAIRS, seed=seed))
        every = {(category, cut) for category in categories() for cut in CUTS}
        assert {(pair.category, pair.cut) for pair in pairs} == every
        assert {(p.place, p.cut) for p in pairs} == {(p, cut) for p in PLACES for cut in CUTS}
        false, refused, true = judge(connection, pairs)
        assert false == []
        assert true > 1500 and len(refused) <= 0.001 * true + 6, refused  # of one sample

    fuzz(run, fixed=1)
