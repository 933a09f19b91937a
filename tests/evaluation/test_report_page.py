"""The HTML report in Chromium, opened from its file and offline: make test-report.

It takes playwright and a Chromium (RAG_PG_TEST_CHROMIUM, or one on the PATH); elsewhere it is
skipped.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rag_pg import Rag

CHROMIUM = os.environ.get("RAG_PG_TEST_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None
)
playwright = pytest.importorskip(
    "playwright.sync_api",
    reason="no engine: playwright is not installed; make test-report installs it",
)
if CHROMIUM is None:
    pytest.skip(
        "no engine: there is no Chromium; make test-report says what it needs",
        allow_module_level=True,
    )

HOSTILE = "<script>fetch('http://127.0.0.1:9/x')</script><img src='http://127.0.0.1:9/y'> word1?"


def test_the_report_of_a_sweep_is_whole_without_a_network(rag: Rag, tmp_path: Path) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add_chunks({"uri": f"d{n}", "content": f"fish {'bird ' * n} word{n}"} for n in range(12))
    queries = [
        {"id": f"q{n}", "question": HOSTILE if n == 1 else f"word{n} bird?",
         "relevant": [f"d{n}"], "category": "odd" if n % 2 else "even"}
        for n in range(8)
    ]  # fmt: skip
    rag.evaluation.sets.put(
        "set", [*queries, {"id": "none", "question": "?", "relevant": ["gone"]}]
    )
    done = docs.evaluation.sweep("set", {"limit": [10, 1], "vector_weight": [0, 1]})
    assert len(done.run_ids) == 5
    page_file = tmp_path / "report.html"
    page_file.write_text(rag.evaluation.runs.report(done.run_ids).html(), encoding="utf-8")
    asked: list[str] = []
    errors: list[str] = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM)
        context = browser.new_context(offline=True, viewport={"width": 1200, "height": 900})
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(page_file.as_uri())
        assert asked == [page_file.as_uri()] and errors == []
        plots = page.locator("svg").all()
        assert len(plots) == 2
        for plot in plots:
            box = plot.bounding_box()
            assert box is not None and box["width"] > 300 and box["height"] > 150
            for mark in plot.locator("circle, rect").all():
                inside = mark.bounding_box()
                assert inside is not None and box["y"] <= inside["y"], inside
                assert inside["y"] + inside["height"] <= box["y"] + box["height"]
                assert box["x"] <= inside["x"]
                assert inside["x"] + inside["width"] <= box["x"] + box["width"]
        assert plots[0].locator("circle").count() == 5  # a point for each run
        assert plots[1].locator("rect").count() == 15  # of all, odd and even questions
        names = [rag.evaluation.runs.report(done.run_ids).name_of(n) for n in range(5)]
        for legend in page.locator("ol.legend").all():
            assert legend.locator("li").all_inner_texts() == names
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        for label in page.locator("svg text").all():
            size = label.bounding_box()
            assert size is not None and size["height"] >= 12 and size["x"] + size["width"] <= 360
        if folder := os.environ.get("RAG_PG_TEST_SCREENSHOT"):
            page.screenshot(path=f"{folder}-360.png", full_page=True)
        page.set_viewport_size({"width": 1200, "height": 900})
        text = page.inner_text("body")
        assert "median latency, ms" in page.content() and "ndcg@10 by category" in text
        rows = page.locator("table.questions tr").all()[1:]
        assert len(rows) == 9 and all(row.locator("ol").count() == 2 for row in rows)
        assert page.locator("li.rel").count() >= 8
        assert "0 questions have an error" in text and "1 questions have nothing relevant" in text
        assert HOSTILE in text and page.locator("img").count() == 0
        assert page.locator("script").count() == 2  # its own, and the data
        assert " against " in page.inner_text("h2 >> nth=0")
        before = page.inner_text("table.questions")
        run = done.run_ids[-1]
        page.locator("select").nth(1).select_option(str(len(done.run_ids) - 1))
        named = rag.evaluation.runs.report(done.run_ids).name_of(len(done.run_ids) - 1)
        assert f"hits of {named}" in page.inner_text("table.questions tr:first-child")
        chosen = page.inner_text("table.questions")
        assert chosen != before and HOSTILE in chosen and page.locator("img").count() == 0
        found = rag.evaluation.runs.report([done.run_ids[0], run])
        assert [row.locator("small").inner_text() for row in
                page.locator("table.questions tr").all()[1:]] == [
            f"{q.query_id} {q.category}".strip() for q in sorted(
                found.queries, key=lambda q: (q.change((0, 1)), q.query_id))
        ]  # fmt: skip
        assert asked == [page_file.as_uri()] and errors == []
        if folder := os.environ.get("RAG_PG_TEST_SCREENSHOT"):
            page.screenshot(path=folder, full_page=True)
        browser.close()
