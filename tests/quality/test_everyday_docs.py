"""Ten questions about a real documentation folder, written down with their pages before looking.

The folder takes minutes to embed, so this runs with `make test-quality`,
or where RAG_PG_TEST_SLOW is set.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rag_pg import Rag, Settings

QUESTIONS = {
    "How do I let browsers on another origin call my API?": "tutorial/cors.md",
    "How can I run a function after the response has been sent?": "tutorial/background-tasks.md",
    "How do I receive an uploaded file?": "tutorial/request-files.md",
    "How do I set a cookie in the response?": "advanced/response-cookies.md",
    "How do I run FastAPI with several worker processes?": "deployment/server-workers.md",
    "How do I serve static files such as images and CSS?": "tutorial/static-files.md",
    "How can I test WebSocket endpoints?": "advanced/testing-websockets.md",
    "How do I run code at startup and shutdown of the application?": "advanced/events.md",
    "How do I split a larger application into several files with routers?": (
        "tutorial/bigger-applications.md"
    ),
    (
        "How do I declare a dependency that closes the database session after the request,"
        " using yield?"
    ): "tutorial/dependencies/dependencies-with-yield.md",
}


@pytest.mark.quality
@pytest.mark.minutes
def test_the_right_page_is_in_the_top_three_at_least_nine_times(dsn: str, tmp_path: Path) -> None:
    data = os.environ.get("RAG_PG_EVAL_DATA")
    if not data or not (Path(data) / "docs-fastapi-en").is_dir():
        pytest.skip("no data: RAG_PG_EVAL_DATA with docs-fastapi-en/ is not set")
    environment = os.environ | {"RAG_PG_DSN": dsn, "RAG_PG_HOME": str(tmp_path)}
    files = Path(data) / "docs-fastapi-en" / "files"
    done = subprocess.run(
        [sys.executable, "-m", "rag_pg", "add", str(files)],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with Rag(dsn, settings=Settings(home=tmp_path)) as rag:
        docs = rag.collection("docs")
        assert docs.stats().documents >= 150
        found = {
            question: [hit.uri for hit in docs.search(question, limit=3)] for question in QUESTIONS
        }
    missed = {
        question: uris
        for question, uris in found.items()
        if not any(uri.endswith("files/" + QUESTIONS[question]) for uri in uris)
    }
    assert len(missed) <= 1, missed
