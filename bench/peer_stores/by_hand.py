"""What most write themselves: a generated tsvector with GIN, HNSW, one statement with reciprocal rank fusion.

AND: websearch_to_tsquery and ts_rank_cd. OR, the tuned form: any word of the question, ts_rank, which has no
notion of rare words. Each leg gives 100 hits, so hnsw.ef_search is 100 as well.
"""

from __future__ import annotations

import psycopg

from peer_stores import DIMENSIONS, LIMIT, Documents, Search, Vectors, full_text

PACKAGES = ("psycopg",)


QUERIES = {
    "AND": ("websearch_to_tsquery('english', %(text)s)", "ts_rank_cd"),
    "OR": ("replace(plainto_tsquery('english', %(text)s)::text, '&', '|')::tsquery", "ts_rank"),
}
VECTOR_LEG = "SELECT id, embedding <=> %(vector)s::vector AS distance FROM docs ORDER BY distance LIMIT %(limit)s"
KEYWORD_LEG = """SELECT id, {rank}(lexemes, query) AS score FROM docs, (SELECT {query} AS query) AS asked
    WHERE lexemes @@ query ORDER BY score DESC LIMIT %(limit)s"""
FUSED = """
    WITH v AS (SELECT id, row_number() OVER (ORDER BY distance) AS place FROM ({vector_leg}) AS leg),
         k AS (SELECT id, row_number() OVER (ORDER BY score DESC) AS place FROM ({keyword_leg}) AS leg)
    SELECT id FROM v FULL JOIN k USING (id)
    ORDER BY coalesce(1.0 / (60 + v.place), 0) + coalesce(1.0 / (60 + k.place), 0) DESC
    LIMIT %(limit)s"""


class Store:
    def __init__(self, dsn: str, tuned: bool) -> None:
        self.db = psycopg.connect(dsn, autocommit=True)
        self.db.execute("CREATE EXTENSION vector")

    def fill(self, documents: Documents, vectors: Vectors) -> None:
        self.db.execute(
            f"""CREATE TABLE docs (id text PRIMARY KEY, content text, embedding vector({DIMENSIONS}),
                lexemes tsvector GENERATED ALWAYS AS (to_tsvector('english', content)) STORED)"""
        )
        with self.db.cursor().copy("COPY docs (id, content, embedding) FROM STDIN") as copy:
            for key, document in documents.items():
                copy.write_row((key, full_text(document), str(vectors[key])))
        self.db.execute("CREATE INDEX ON docs USING gin (lexemes)")
        self.db.execute("CREATE INDEX ON docs USING hnsw (embedding vector_cosine_ops)")
        self.db.execute(f"SET hnsw.ef_search = {LIMIT}")
        self.searches = {}
        for name, (query, rank) in QUERIES.items():
            leg = KEYWORD_LEG.format(query=query, rank=rank)
            fused = FUSED.format(vector_leg=VECTOR_LEG, keyword_leg=leg)
            self.searches[f"{name}, rrf"] = self.search(fused)
            self.searches[f"{name}, keyword alone"] = self.search(leg)

    def search(self, statement: str) -> Search:
        def run(text: str, vector: list[float], limit: int) -> list[str]:
            values = {"text": text, "vector": str(vector), "limit": limit}
            return [row[0] for row in self.db.execute(statement, values)]

        return run
