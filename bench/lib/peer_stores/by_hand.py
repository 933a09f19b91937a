"""What most write themselves: a generated tsvector with GIN, HNSW,
one statement with reciprocal rank fusion.

AND: websearch_to_tsquery and ts_rank_cd. OR: any word of the question, ts_rank, which has no notion
of rare words. Each leg gives as many hits as are asked for, but at least 40, pgvector's own
hnsw.ef_search. Tuned: HNSW.
"""

from __future__ import annotations

import psycopg
from lib.peer_stores import DIMENSIONS, Documents, Search, Vectors, full_text

PACKAGES = ("psycopg",)


QUERIES = {
    "AND": ("websearch_to_tsquery('english', %(text)s)", "ts_rank_cd"),
    "OR": ("replace(plainto_tsquery('english', %(text)s)::text, '&', '|')::tsquery", "ts_rank"),
}
VECTOR_LEG = (
    "SELECT id, embedding <=> %(vector)s::vector AS distance FROM docs ORDER BY distance LIMIT"
    " %(wide)s"
)
KEYWORD_LEG = """SELECT id, {rank}(lexemes, query) AS score
    FROM docs, (SELECT {query} AS query) AS asked
    WHERE lexemes @@ query ORDER BY score DESC LIMIT %(wide)s"""
FUSED = """
    WITH v AS (SELECT id, row_number() OVER (ORDER BY distance) AS rank FROM ({vector_leg}) AS leg),
         k AS (SELECT id, row_number() OVER (ORDER BY score DESC) AS rank
             FROM ({keyword_leg}) AS leg)
    SELECT id FROM v FULL JOIN k USING (id)
    ORDER BY coalesce(1.0 / (60 + v.rank), 0) + coalesce(1.0 / (60 + k.rank), 0) DESC
    LIMIT %(limit)s"""


class Store:
    def __init__(self, dsn: str, tuned: bool) -> None:
        self.tuned = tuned
        self.db = psycopg.connect(dsn, autocommit=True)
        self.db.execute("CREATE EXTENSION vector")

    def fill(self, documents: Documents, vectors: Vectors) -> None:
        self.db.execute(
            f"""CREATE TABLE docs (id text PRIMARY KEY, content text,
                embedding vector({DIMENSIONS}),
                lexemes tsvector GENERATED ALWAYS AS (to_tsvector('english', content)) STORED)"""
        )
        with self.db.cursor().copy("COPY docs (id, content, embedding) FROM STDIN") as copy:
            for key, document in documents.items():
                copy.write_row((key, full_text(document), str(vectors[key])))
        self.db.execute("CREATE INDEX ON docs USING gin (lexemes)")
        if self.tuned:
            self.db.execute("CREATE INDEX ON docs USING hnsw (embedding vector_cosine_ops)")

    def searches(self, limit: int) -> dict[str, Search]:
        wide = max(limit, 40)
        self.db.execute(f"SET hnsw.ef_search = {wide}")
        made = {}
        for name, (query, rank) in QUERIES.items():
            leg = KEYWORD_LEG.format(query=query, rank=rank)
            fused = FUSED.format(vector_leg=VECTOR_LEG, keyword_leg=leg)
            made[f"{name}, rrf"] = self.search(fused, limit, wide)
            made[f"{name}, keyword alone"] = self.search(leg, limit, wide)
        return made

    def search(self, statement: str, limit: int, wide: int) -> Search:
        def run(text: str, vector: list[float]) -> list[str]:
            values = {"text": text, "vector": str(vector), "limit": limit, "wide": wide}
            return [row[0] for row in self.db.execute(statement, values)]

        return run
