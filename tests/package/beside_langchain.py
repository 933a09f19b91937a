"""rag_pg in one environment with langchain-postgres, which pins an old pgvector-python:
an application that moves.

python tests/package/beside_langchain.py      takes some minutes: `make test-langchain`
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

APPLICATION = """
import sys
from pathlib import Path
import pgvector
from importlib.metadata import version
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_postgres import PGVector
from sqlalchemy import create_engine, select
from fakes import HashEmbedder
from rag_pg import Rag, Settings
from rag_pg.sqlalchemy import search

print("pgvector-python", version("pgvector"), "langchain-postgres", version("langchain-postgres"))
settings = Settings(home=Path(sys.argv[1]))
with Rag(settings=settings, embedders={"hash": lambda name: HashEmbedder(name)}) as rag:
    engine = create_engine(rag.dsn.replace("postgresql://", "postgresql+psycopg://", 1))
    embeddings = DeterministicFakeEmbedding(size=8)
    store = PGVector(embeddings, collection_name="old", connection=engine, use_jsonb=True)
    texts = [f"red fish {i}" for i in range(20)]
    store.add_texts(texts, [{"source": f"page{i % 5}"} for i in range(20)])
    docs = rag.collection("docs", model="hash:32")
    docs.add({"uri": "a", "content": "blue bird"})
    green = HashEmbedder("hash:32").embed_query("green tree")
    docs.add_chunks([{"uri": "b", "content": "green tree", "embedding": green}])
    assert docs.search("green tree", limit=1)[0].uri == "b"
    report = rag.adopt(
        "langchain_pg_embedding",
        "taken",
        layout="langchain",
        model="fake",
        langchain_collection="old",
    )
    print(report)
    with engine.connect() as connection:
        hits = search("taken", query_embedding=embeddings.embed_query("red fish 7"), limit=20)
        assert len(connection.execute(select(hits.c.uri)).fetchall()) == 20
    assert len(store.similarity_search("red fish 7", k=3)) == 3  # LangChain's own goes on
print("both work")
"""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rag-pg-lc-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / "bin" / "python"
        pip = (python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install")
        subprocess.run([*pip, "langchain-postgres"], check=True)
        subprocess.run([*pip, f"rag-pg[embedded] @ {ROOT.as_uri()}"], check=True)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
        environment |= {
            "PYTHONPATH": str(ROOT / "tests" / "support"),
            "RAG_PG_HOME": str(folder / "home"),
        }
        program = folder / "venv" / "bin" / "rag-pg"
        try:
            subprocess.run(
                [python, "-c", APPLICATION, folder / "home"],
                check=True,
                env=environment,
                cwd=folder,
            )
            subprocess.run([program, "db", "check"], check=True, env=environment, cwd=folder)
        finally:
            subprocess.run([program, "db", "stop"], check=True, env=environment, cwd=folder)


if __name__ == "__main__":
    main()
