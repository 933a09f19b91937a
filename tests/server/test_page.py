"""The page of `rag-pg serve` in Chromium, against the service itself: make test-page.

It takes playwright, axe and a Chromium (RAG_PG_TEST_CHROMIUM, or one on the PATH); elsewhere it is
skipped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fakes import HashEmbedder
from http_service import running
from patience import BOUND
from pdfs import pdf

import rag_pg.server
from rag_pg import Rag, Settings, load_bytes
from rag_pg.threads import start_thread

FOLDER = Path(rag_pg.server.__file__).parent / "page"
MOST_BYTES = 60_000  # of all files together
CHROMIUM = os.environ.get("RAG_PG_TEST_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None
)
CALIBRATION = {
    "set_name": "faq", "settings": {}, "features": ["similarity"], "answerable_weights": [-1, 2.5],
    "right_weights": [0, 1], "evidence_floor": 0.4, "thresholds": [0.2, 0.5, 0.8],
    "answered": [1000, 600, 200], "correct": [700, 540, 200], "question_count": 1000,
    "answerable_count": 800, "refuse_below": 0.2, "answer_from": 0.5,
}  # fmt: skip
# How far what can be scrolled reaches; main is as wide as the screen.
WIDEST = "Math.max(...[document.documentElement, main].map((one) => one.scrollWidth))"
CURVE = "svg[aria-label^=How]"
SCREENS = ("ask", "search", "documents", "quality", "work")
SIZES = ((360, 740), (1280, 800), (3840, 2160))
HOSTILE = (
    "# <img src=x onerror=window.hit=1> [click](javascript:window.hit=1)\n\n"
    "\U0001f600\U0001f600 The zebra office opens at nine <script>window.hit=1</script> on Mondays."
    " </div><b onclick=window.hit=1>x\n\n\u05d4\u05de\u05e9\u05e8\u05d3 \u202e evil"
)
# Of the marked quotation, by the definition of WCAG 2.
CONTRAST = """(() => {
    const style = getComputedStyle(document.querySelector("mark.now"));
    const bright = (color) => color.match(/[\\d.]+/g).slice(0, 3).map((one) => one / 255)
        .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
        .reduce((sum, one, n) => sum + one * [0.2126, 0.7152, 0.0722][n], 0);
    const both = [bright(style.color), bright(style.backgroundColor)];
    return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
})()"""


def test_the_page_loads_nothing_from_elsewhere_and_is_small() -> None:
    files = [path for path in FOLDER.iterdir() if path.suffix != ".pyc"]
    assert {path.suffix for path in files} == {".html", ".js", ".css"}
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", text)
        addresses = set(re.findall(r"https?://[\w.]+", text))
        assert addresses <= {"http://www.w3.org"}, (path.name, addresses)
    html = (FOLDER / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"\son\w+=|style=|<style|<script(?! type=\"module\" src=)", html)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api",
        reason="no engine: playwright is not installed; make test-page installs it",
    )
    if CHROMIUM is None:
        pytest.skip("no engine: there is no Chromium; make test-page says what it needs")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(
    new_database: Callable[..., str], template: str, home: Path
) -> Iterator[tuple[Rag, str]]:
    """A client and the address of a service over its database."""
    settings = Settings(home=home)
    with Rag(
        new_database(template), settings=settings, embedders={"hash": lambda name: HashEmbedder()}
    ) as rag:
        docs = rag.collection("docs", model="minilm")
        docs.alter(
            keep_answers=timedelta(days=1), keep_versions=timedelta(days=1), keep_original=True
        )
        docs.add(
            {"uri": "office<b>.md", "content": HOSTILE, "media_type": "text/markdown",
             "title": "<script>window.hit=1</script>\u202e" + "T" * 1_000_000},
            *({"uri": f"notes/{n}.md", "title": f"Note {n}", "media_type": "text/markdown",
               "content": f"# Note {n}\n\nThe valve {n} opens at {n} bar.",
               "metadata": {"team": "odd" if n % 2 else "even"}} for n in range(12)),
        )  # fmt: skip
        docs.add({"uri": "notes/3.md", "title": "Note 3", "media_type": "text/markdown",
                  "content": "# Note 3\n\nThe valve 3 opens at seven bar."})  # fmt: skip
        questions = [
            {"id": f"q{n}", "question": f"When does valve {n} open?", "relevant": [f"notes/{n}.md"]}
            for n in range(12)
        ]
        rag.evaluation.sets.put("valves", questions)
        docs.evaluation.run("valves", name="both legs")
        docs.evaluation.run("valves", name="words alone", vector_weight=0.0, keyword_weight=1.0)
        with running(rag) as service:
            yield rag, service.url


class Seen:
    """A page of a browser, and what went wrong in it."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.context = browser.new_context(**{"bypass_csp": True, **options})
        self.context.set_default_timeout(BOUND * 1000)
        self.page, self.url, self.wrong = self.context.new_page(), url, list[str]()
        self.asked: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", self.logged)

    def logged(self, message: Any) -> None:
        if message.type == "error":
            self.wrong.append(message.text)

    def go(self, screen: str, ready: str = "main > div > *", **params: str) -> Any:
        from urllib.parse import urlencode

        self.page.goto("about:blank")
        self.page.goto(f"{self.url}/#/{screen}?{urlencode({'c': 'docs', **params})}")
        self.page.wait_for_selector(ready)
        self.page.wait_for_load_state("networkidle")
        return self.page

    def __enter__(self) -> Seen:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


def axe() -> str:
    found = pytest.importorskip(
        "axe_playwright_python",
        reason="no engine: axe-playwright-python is not installed; make test-page installs it",
    )
    return (Path(found.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
def test_every_screen_fits_is_accessible_and_logs_no_error(
    chromium: Any, served: tuple[Rag, str], scheme: str, size: tuple[int, int]
) -> None:
    script = axe()
    with Seen(
        chromium,
        served[1],
        color_scheme=scheme,
        viewport={"width": size[0], "height": size[1]},
    ) as seen:
        for screen in SCREENS:
            page = seen.go(screen, **({"q": "valve 4"} if screen == "search" else {}))
            assert page.evaluate(WIDEST) <= size[0], screen
            page.evaluate(script)
            found = page.evaluate("axe.run()")
            assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
        assert seen.wrong == []
        assert all(url.startswith((seen.url, "about:", "data:")) for url in seen.asked)


def test_an_answer_opens_its_source_at_the_quotation(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    with Seen(chromium, served[1], bypass_csp=False) as seen:
        page = seen.go("ask", "textarea")
        page.keyboard.press("/")
        page.keyboard.type("When does the zebra office open?")
        page.keyboard.press("Enter")
        page.wait_for_selector(".measures")
        assert "q=When" in page.url
        while not page.evaluate("document.activeElement.className").startswith("cite"):
            page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        mark = page.locator("mark.now")
        mark.wait_for()
        assert "The zebra office opens at nine" in mark.inner_text()
        assert not mark.inner_text().startswith("\U0001f600\U0001f600 \U0001f600")
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(CONTRAST) > 4.5
        page.emulate_media(color_scheme="light")
        assert page.evaluate(CONTRAST) > 4.5
        box, view = mark.bounding_box(), page.viewport_size
        assert box and view and 0 <= box["y"] < view["height"]
        assert page.evaluate("document.activeElement.id") == "side"
        page.keyboard.press("Escape")
        assert page.locator("aside").is_hidden()
        assert page.evaluate("document.activeElement.className").startswith("cite")
        page.locator("details.how > summary").click()
        assert "search" in page.inner_text("details.how")
        page.fill("textarea", "And valve 5?")
        page.keyboard.press("Enter")
        page.locator(".measures").nth(1).wait_for()
        assert page.locator("article").count() == 2
        page.reload()  # what is linked is the first question
        page.wait_for_selector(".measures")
        assert "zebra office" in page.inner_text("h2.question")
        assert page.evaluate("window.hit") is None
        assert page.locator("main img, main b, aside b, aside img").count() == 0
        assert seen.wrong == []


def test_hostile_documents_are_text_and_cut(chromium: Any, served: tuple[Rag, str]) -> None:
    with Seen(chromium, served[1], bypass_csp=False) as seen:
        page = seen.go("documents", "td")
        page.get_by_role("button", name=re.compile("script")).first.click()
        page.wait_for_selector(".document")
        shown = page.inner_text("aside")
        assert "<img src=x onerror=window.hit=1>" in shown and "javascript:" in shown
        assert "\u202e" not in page.inner_text("#side-title") and len(shown) < 2000
        page = seen.go("search", "table", q="zebra office")
        assert page.evaluate("document.body.textContent.length") < 100_000
        assert page.evaluate("window.hit") is None and seen.wrong == []
        assert page.locator("a[href^='javascript']").count() == 0


def test_markdown_takes_linear_time_and_offsets_count_code_points(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    with Seen(chromium, served[1], bypass_csp=False) as seen:
        page = seen.go("ask", "textarea")
        many = page.evaluate(
            """async () => {
                const { markdown } = await import("./markdown.js");
                const steps = [];
                for (const piece of ["[", "[1](", "*", "**a", "_a ", "`", "``a`", "- ", "  - a\\n",
                    "> ", "|a", "\\\\", "](", "a\\n", "# ", "|-|\\n", "    ", "```\\n", "1) x"]) {
                    const lookedAt = (size) => {
                        let count = 0;
                        const known = String.prototype.indexOf;
                        String.prototype.indexOf = function (...given) {
                            const found = known.apply(this, given);
                            count += (found < 0 ? this.length : found) - (given[1] ?? 0);
                            return found;
                        };
                        try { markdown(piece.repeat(size), (n) => `${n}`); }
                        finally { String.prototype.indexOf = known; }
                        return count;
                    };
                    steps.push([piece, lookedAt(2000) + 1000, lookedAt(20000)]);
                }
                return steps;
            }"""
        )
        assert len(many) == 19
        for piece, few, more in many:
            assert more < 40 * few, (piece, few, more)
        drawn = page.evaluate(
            r"""async () => {
                const { markdown } = await import("./markdown.js");
                const box = document.createElement("div");
                box.append(markdown("## T\n\na **b [1]** `c<d`\n- x\n  - y\n- z\n\n|a|b|\n|-|-|\n"
                    + "|1|2 \\| 3|\n\nd  \ne\nf\n\n"
                    + "[bad](javascript:x) [good](https://e.org) <i>n</i>",
                    (n) => document.createElement("sup")));
                return [box.innerHTML, [...box.querySelectorAll("a")].map((a) => a.href)];
            }"""
        )
        assert "<strong>b <sup></sup></strong> <code>c&lt;d</code>" in drawn[0]
        assert '<ul><li dir="auto">x<ul><li dir="auto">y</li></ul></li>' in drawn[0]
        assert drawn[0].count("<td") == 2 and "&lt;i&gt;n&lt;/i&gt;" in drawn[0]
        assert ">2 | 3</td>" in drawn[0] and "d<br>e\nf" in drawn[0]
        assert drawn[1] == ["https://e.org/"] and "bad" in drawn[0]
        cut = page.evaluate(
            """async () => {
                const { units } = await import("./source.js");
                return units("a\U0001f600b\U0001f600\U0001f600c", [0, 2, 1, 6, 9]);
            }"""
        )
        assert cut == [0, 3, 1, 9, 9]


def test_a_wide_table_of_an_answer_is_scrolled_with_its_words_whole(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    table = "|Release|" + "column|" * 9 + "\n|" + "-|" * 10 + "\n|" + "value|" * 10
    with Seen(chromium, served[1], viewport={"width": 360, "height": 740}) as seen:
        page = seen.go("ask", "textarea")
        whole, shown, least = page.evaluate(
            """async (table) => {
                const { markdown } = await import("./markdown.js");
                document.querySelector(".talk").replaceChildren(markdown(table));
                const box = document.querySelector(".scroll");
                const widths = [...box.querySelectorAll("td")].map((one) => one.clientWidth);
                return [box.scrollWidth, box.clientWidth, Math.min(...widths)];
            }""",
            table,
        )
        assert whole > shown and least > 40
        assert page.evaluate("document.querySelector('main').scrollWidth") <= 360


def test_a_hit_opens_its_chunk_and_a_missing_document_is_explained(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    with Seen(chromium, served[1]) as seen:
        page = seen.go("search", "table", q="valve 4 opens")
        heads = page.locator("th").all_inner_texts()
        assert heads[2:] == ["Score", "Vector rank, distance", "Word rank, score"]
        page.locator("td .link").first.click()
        page.wait_for_selector(".chunks li.now")
        assert "valve 4" in page.inner_text(".chunks li.now")
        page.keyboard.press("Escape")
        page.locator(".facets summary", has_text="team").click()
        page.locator(".facets .pill", has_text="odd").click()
        page.wait_for_selector(".facets [aria-pressed=true]")
        page.wait_for_load_state("networkidle")
        assert "notes/4.md" not in page.inner_text("table")
        page.locator("summary", has_text="missing").click()
        page.fill("[aria-label='Its uri']", "notes/4.md")
        page.keyboard.press("Enter")
        page.wait_for_selector("details div table")
        assert "filter" in page.inner_text("details div table")
        assert page.locator("details div table .bad").count() >= 1
        assert seen.wrong == []


def test_files_are_uploaded_and_what_fails_is_tried_again(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    rag, url = served
    with Seen(chromium, url) as seen:
        page = seen.go("documents", "td")
        page.set_input_files("#files", [
            {"name": "new.txt", "mimeType": "text/plain", "buffer": b"The lamp is green."},
            {"name": "bad.pdf", "mimeType": "application/pdf", "buffer": b"no pdf"},
        ])  # fmt: skip
        page.wait_for_selector("li .bad")
        assert page.locator("li .good").inner_text() == "queued"
        assert "bad.pdf" in page.inner_text("ul.plain")
        page.evaluate(
            """() => {
                const files = new DataTransfer();
                files.items.add(new File(["The lamp is red."], "dropped.txt"));
                dispatchEvent(new DragEvent("drop", { dataTransfer: files, cancelable: true }));
            }"""
        )
        page.locator("li", has_text="dropped.txt").locator(".good").wait_for()
        worked = [one.uri for one in rag.get_collection("docs").list(uri_prefix="d")]
        assert worked == ["dropped.txt"]
        rag.worker().drain()
        with rag.database.connection() as connection:
            connection.execute(
                "INSERT INTO rag.jobs (kind, collection_id, document_id, state, errors)"
                " SELECT 'ingest', d.collection_id, d.document_id, 'dead',"
                " jsonb_build_array(jsonb_build_object('error', 'the model is down'))"
                " FROM rag.documents AS d WHERE d.uri = 'new.txt'"
            )
        page = seen.go("documents", "td")
        failed = page.locator("table", has_text="Error")
        assert "the model is down" in failed.inner_text()
        failed.get_by_role("button", name="Try again").click()
        failed.wait_for(state="detached")
        assert rag.jobs.list("docs", state="dead") == []
        assert seen.wrong == []


def test_a_pdf_opens_at_its_page(chromium: Any, served: tuple[Rag, str]) -> None:
    rag, url = served
    pages = (
        "The pump manual\nIt has three pages.",
        "Page two tells how to start.\nPress the green button for five seconds.",
        "Page three: the pump may run at twelve bar at most.",
    )
    added = rag.get_collection("docs").add(load_bytes("pump.pdf", pdf(*pages, title="Pump manual")))
    assert added.failures == ()
    with Seen(chromium, url, bypass_csp=False) as seen:
        page = seen.go("ask", ".measures", q="Press the green button for five seconds")
        source = page.locator(".source", has_text="pump.pdf").first
        assert "page 2" in source.inner_text()
        source.click()
        page.get_by_role("tab", name="File").click()
        frame = page.locator("iframe")
        frame.wait_for()
        address = frame.get_attribute("src")
        assert address.startswith("blob:") and address.endswith("#page=2")
        with page.expect_download() as kept:  # the file that is shown
            page.get_by_role("link", name="Download").click()
        assert Path(kept.value.path()).read_bytes().startswith(b"%PDF-") and seen.wrong == []


def test_what_is_written_from_right_to_left_stands_at_the_right(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    rag, url = served
    hebrew = "\u05db\u05dc \u05e2\u05d5\u05d1\u05d3 \u05d6\u05db\u05d0\u05d9 24."
    rag.get_collection("docs").add(
        {"uri": "he.md", "content": f"# {hebrew}\n\n{hebrew}", "media_type": "text/markdown"}
    )
    begins = """(one) => {
        const range = document.createRange(), box = one.getBoundingClientRect();
        range.selectNodeContents(one);
        const text = range.getBoundingClientRect();
        return text.left - box.left > box.right - text.right;
    }"""
    with Seen(chromium, url) as seen:
        page = seen.go("ask", ".measures", q=hebrew)
        assert page.locator("h2.question").evaluate(begins)
        page.locator(".source", has_text="he.md").first.click()
        page.locator("mark").first.wait_for()
        direction = "(one) => getComputedStyle(one).direction"
        assert page.locator(".document").evaluate(direction) == "rtl"
        assert page.locator("#field").evaluate(direction) == "ltr"  # of what is typed there
        page.fill("#field", hebrew)
        assert page.locator("#field").evaluate(direction) == "rtl"
        assert seen.wrong == []


def test_how_sure_answers_are_is_a_curve(chromium: Any, served: tuple[Rag, str]) -> None:
    rag, url = served
    rag.database.put_calibration("docs", CALIBRATION)
    with Seen(chromium, url, viewport={"width": 360, "height": 740}) as seen:
        page = seen.go("quality", f"{CURVE} text")
        told = page.inner_text("main")
        assert "By 1,000 questions of faq" in told
        assert "below 20 % support are refused, from 50 % on they carry no warning" in told
        assert page.locator(f"{CURVE} .line").count() == 2
        box = page.locator(f"{CURVE} .line").first.bounding_box()
        assert box and box["x"] > 0 and box["x"] + box["width"] <= 360
        assert seen.wrong == []


def test_versions_differ_line_by_line_and_the_file_is_shown(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    with Seen(chromium, served[1]) as seen:
        page = seen.go("documents", ".document", u="notes/3.md")
        assert "opens at seven bar" in page.inner_text(".document")
        page.get_by_role("tab", name="Versions").click()
        page.wait_for_selector(".plus")
        assert "seven bar" in page.inner_text(".plus") and "3 bar" in page.inner_text(".minus")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("#side-body .empty")
        assert "not kept" in page.inner_text("#side-body")


def test_a_thumb_down_becomes_a_question_and_runs_are_compared(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    rag, url = served
    with Seen(chromium, url) as seen:
        page = seen.go("ask", ".measures", q="When does valve 7 open?")
        page.get_by_role("button", name="Bad answer").click()
        page.locator("article").get_by_role("link", name="Quality").click()  # once it is noted
        row = page.locator("tr", has_text="thumb down")
        row.get_by_role("button").click()  # what is right nobody says
        row.get_by_text("not judged").wait_for()

        def kept() -> list[tuple[str, str, list[str]]]:
            return [
                (one.question, one.category, [judged["uri"] for judged in one.relevant])
                for one in rag.evaluation.sets.queries("valves")
                if one.source == "feedback"
            ]

        assert kept() == [("When does valve 7 open?", "not judged", [])]
        page.reload()
        page.wait_for_load_state("networkidle")  # what stands above moves it no more
        row.get_by_label("notes/7.md").check()
        row.get_by_label("Uri of another right document").fill("notes/8.md")
        row.get_by_role("button").click()
        row.locator(".good").get_by_text(", judged").wait_for()
        assert kept() == [("When does valve 7 open?", "disliked", ["notes/7.md", "notes/8.md"])]
        text = page.inner_text("main")
        assert "words alone against both legs" in text and "run 1" not in text
        assert page.locator("svg[role=img]").count() >= 1
        assert seen.wrong == []


def test_errors_are_told_in_words(chromium: Any, served: tuple[Rag, str]) -> None:
    with Seen(chromium, served[1]) as seen:
        problem = json.dumps({"detail": "8 answers wait already; ask again later"})
        seen.page.route("**/ask", lambda route: route.fulfill(
            status=503, content_type="application/problem+json", body=problem))  # fmt: skip
        page = seen.go("ask", ".trouble", q="When does valve 7 open?")
        assert "8 answers wait already" in page.inner_text(".trouble")
        page.unroute("**/ask")
        page.get_by_role("button", name="Try again").click()
        page.wait_for_selector(".measures")
        page.route("**/search", lambda route: route.abort())
        page = seen.go("search", ".trouble", q="valve")
        assert "rag-pg serve" in page.inner_text(".trouble")
        tried: list[str | None] = []

        def keyed(route: Any) -> None:
            tried.append(route.request.headers.get("authorization"))
            if tried[-1] == "Bearer s3cret":
                route.continue_()
            else:
                route.fulfill(status=401, body=json.dumps({"detail": "send a key"}))

        page.route("**/collections?*", keyed)
        page = seen.go("documents", "dialog")
        page.fill("dialog input", "s3cret")
        page.keyboard.press("Enter")
        page.wait_for_selector("td")
        assert tried == [None, "Bearer s3cret"]


def test_an_answer_is_stopped(chromium: Any, served: tuple[Rag, str]) -> None:
    with Seen(chromium, served[1]) as seen:
        seen.page.route("**/ask", lambda route: None)  # never answered
        page = seen.go("ask", "textarea")
        page.fill("textarea", "When does valve 2 open?")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Stop").click()
        page.wait_for_selector(".trouble")
        assert "Stopped" in page.inner_text(".trouble")
        assert page.get_by_role("button", name="Ask", exact=True).is_visible()


def test_an_answer_whose_connection_breaks_is_told_so_and_asked_again(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    piece = b'event: token\ndata: {"text": "The valve 2 opens"}\n\n'
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )

    shown = threading.Event()

    def break_off() -> None:
        with listener.accept()[0] as connection:
            connection.recv(65_536)
            connection.sendall(head + b"%x\r\n%s\r\n" % (len(piece), piece))
            shown.wait(BOUND)

    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Seen(chromium, served[1]) as seen,
    ):
        start_thread(break_off, "a server that dies")
        port = listener.getsockname()[1]
        address = f"http://127.0.0.1:{port}/ask"
        seen.page.route("**/ask", lambda one: one.continue_(url=address))
        page = seen.go("ask", "textarea")
        page.fill("textarea", "When does valve 2 open?")
        page.keyboard.press("Enter")
        page.locator("article", has_text="The valve 2 opens").wait_for()
        shown.set()
        page.wait_for_selector(".trouble")
        told = page.inner_text("article")
        assert "The valve 2 opens" in told and "The answer ended before it was whole." in told
        page.unroute("**/ask")
        page.get_by_role("button", name="Try again").click()
        page.wait_for_selector(".measures")


def test_a_collection_that_is_dropped_elsewhere_is_not_shown_as_another(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    rag, url = served
    rag.collection("brief", model="minilm")
    with Seen(chromium, url) as seen:
        page = seen.go("documents", ".empty", c="brief")
        rag.drop_collection("brief")
        page.set_input_files(
            "#files", {"name": "a.txt", "mimeType": "text/plain", "buffer": b"The lamp is out."}
        )
        page.locator("li", has_text="there is no collection 'brief'").wait_for()
        page.locator(".trouble", has_text="there is no collection 'brief'").first.wait_for()
        page.wait_for_load_state("networkidle")
        assert page.locator("td").count() == 0


def test_an_answer_that_ends_after_a_walk_stays_and_a_link_is_asked(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    held: list[Any] = []
    with Seen(chromium, served[1]) as seen:
        page = seen.go("ask", "textarea")
        page.route("**/ask", lambda one: one.continue_() if held else held.append(one))
        with page.expect_request("**/ask"):
            page.fill("textarea", "When does valve 2 open?")
            page.keyboard.press("Enter")
        page.get_by_role("link", name="Search", exact=True).click()
        page.wait_for_selector("#field[type=search]")
        page.get_by_role("link", name="Ask", exact=True).click()
        page.get_by_role("button", name="Stop").wait_for()
        held[0].continue_()
        page.wait_for_selector(".measures")
        page.get_by_role("button", name="Ask", exact=True).wait_for()
        assert page.locator("article").count() == 1
        page.evaluate("location.hash = '#/ask?c=docs&q=And+valve+5'")
        page.locator(".measures").nth(1).wait_for()
        assert "And valve 5" in page.locator("h2.question").nth(1).inner_text()
        page.emulate_media(media="print")
        flows = "[document.body, main].map((one) => getComputedStyle(one).overflow)"
        assert page.evaluate(flows) == ["visible", "visible"]
        assert seen.wrong == []


def test_at_400_percent_a_source_is_opened_and_nothing_hides_what_has_the_focus(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    hidden = """() => {
        const one = document.activeElement, box = one.getBoundingClientRect();
        const seen = [box.top + 2, box.bottom - 2].map((y) =>
            document.elementFromPoint(box.left + box.width / 2, y));
        return !seen.some((at) => one.contains(at)) && one.className;
    }"""
    forced = {"forced_colors": "active", "viewport": {"width": 320, "height": 180}}
    with Seen(chromium, served[1], **forced) as seen:
        page = seen.go("ask", ".measures", q="When does the zebra office open?")
        page.locator(".source").first.click()
        page.locator("mark.now").wait_for()
        edge = "(tab) => getComputedStyle(tab).borderBottomWidth"
        assert page.locator("[aria-selected=true]").evaluate(edge) == "2px"
        page.set_viewport_size({"width": 1024, "height": 400})
        page = seen.go("search", "td", q="valve")
        assert page.locator("td .link").count() == 10
        for key in ["Tab"] * 25 + ["Shift+Tab"] * 25:
            page.keyboard.press(key)
            if page.evaluate("document.activeElement.matches('td *')"):
                assert page.evaluate(hidden) is False
        assert seen.wrong == []


def test_who_skips_to_the_content_stays_on_the_screen(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    with Seen(chromium, served[1]) as seen:
        page = seen.go("work", "section h2")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_function("document.activeElement.id === 'main'")
        assert "#/work" in page.url and page.title().startswith("Work")


def test_a_filter_that_another_leaves_no_document_is_taken_away(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    with Seen(chromium, served[1]) as seen:
        page = seen.go("search", ".empty", q="valve", f=json.dumps({"team": ["none"]}))
        page.locator(".facets [aria-pressed=true]", has_text="none").click()
        page.wait_for_selector("table")
        assert page.locator(".facets [aria-pressed=true]").count() == 0 and seen.wrong == []


def test_where_a_collection_is_gone_each_other_is_chosen(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    with Seen(chromium, served[1]) as seen:
        page = seen.go("ask", ".empty", c="gone")
        assert page.input_value("#collection") == ""  # what is chosen already does not change
        page.select_option("#collection", index=0)
        page.wait_for_selector("textarea")
        assert seen.wrong == []


def test_a_key_that_was_not_given_is_asked_for_again_on_wish_alone(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    with Seen(chromium, served[1]) as seen:
        page, asked = seen.page, list[str]()

        def refused(route: Any) -> None:
            asked.append(route.request.url)
            route.fulfill(status=401, body=json.dumps({"detail": "this key is expired"}))

        page.clock.install()
        page.route("**/workers?*", refused)
        page = seen.go("work", "dialog")
        page.keyboard.press("Escape")
        page.wait_for_selector(".trouble")
        for times in (2, 3):  # it is looked at every five seconds
            with page.expect_response("**/workers?*"):
                page.clock.run_for(5000)
            assert len(asked) == times and page.locator("dialog").count() == 0
        page.get_by_role("button", name="Try again").click()
        page.wait_for_selector("dialog")


def test_files_go_where_they_were_dropped_whatever_is_chosen_or_answered_meanwhile(
    chromium: Any, served: tuple[Rag, str]
) -> None:
    rag, url = served
    rag.collection("other", model="minilm")
    held: list[Any] = []
    files = [
        {"name": f"moved{n}.txt", "mimeType": "text/plain", "buffer": b"The lamp is out."}
        for n in range(3)
    ]
    with Seen(chromium, url) as seen:
        page = seen.go("documents", "td")
        page.route("**/uploads", lambda one: one.continue_() if held else held.append(one))
        with page.expect_request("**/uploads"):
            page.set_input_files("#files", files)
        page.select_option("#collection", "other")
        page.wait_for_url("**c=other")
        with page.expect_response(lambda one: b"moved2" in (one.request.post_data_buffer or b"")):
            held[0].fulfill(status=502, body="<html>no service</html>")
        there = [one.uri for one in rag.get_collection("docs").list(uri_prefix="moved")]
        assert there == ["moved1.txt", "moved2.txt"]
        assert [*rag.get_collection("other").list()] == []
