"""Websites and sitemaps: what changed is fetched, what is gone there goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from locations.website import Site, html, serve

from rag_pg import InvalidInput, LocationUnavailable, Rag
from rag_pg.client import Collection
from rag_pg.ingest import sync_location
from rag_pg.locations import Limits
from rag_pg.locations.web import Website

START = "http://docs.example/guide/"


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as opened:
        opened.pages = {
            "/guide/": html("Start.", "a", "b#part", "../secret", "c?page=2", "deep/c"),
            "/guide/a": html("Red fish.", "a2"),
            "/guide/a2": html("Far fish.", "a3"),
            "/guide/a3": html("Farther fish."),
            "/guide/b": html("Blue fish."),
            "/guide/deep/c": (200, {"Content-Type": "text/markdown"}, b"# C\n\nGreen fish."),
            "/secret": html("Above."),
            "/robots.txt": (200, {}, b"User-agent: *\nDisallow: /*/hidden$\nCrawl-delay: 0.5\n"),
        }
        yield opened


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.collection("docs", model="hash:32")


@pytest.fixture
def sync(docs: Collection, site: Site) -> Callable[..., Any]:
    def run(location: str = START, **options: Any) -> tuple[int, int, int, int]:
        site.asked.clear()
        website = Website(
            location, Limits(max_bytes=100_000), options, site.network(), sleep=lambda _: None
        )
        done = sync_location(docs.rag.database, "docs", website, docs.add, dry_run=False)
        return done.changed, done.unchanged, done.deleted, len(done.failures)

    return run


def paths(docs: Collection) -> list[str]:
    return [one.uri.removeprefix(START) for one in docs.list()]


def test_links_are_followed_below_the_address_as_far_as_is_said(
    docs: Collection, sync: Callable[..., Any], site: Site
) -> None:
    assert sync(depth=2) == (5, 0, 0, 0)
    assert paths(docs) == ["", "a", "a2", "b", "deep/c"]
    assert docs.get(START + "deep/c").title == "C"
    assert sync(depth=2) == (0, 5, 0, 0)
    assert site.asked == ["/robots.txt"]  # all others: not modified
    assert sync(depth=3) == (1, 5, 0, 0)  # the links of what was not fetched are known
    assert "a3" in paths(docs)


def test_a_page_that_is_gone_goes_with_what_only_it_links_to(
    docs: Collection, sync: Callable[..., Any], site: Site
) -> None:
    sync()
    site.pages["/guide/a"] = (410, {}, b"")
    assert sync() == (0, 3, 3, 0)
    assert paths(docs) == ["", "b", "deep/c"]


def test_a_page_that_fails_deletes_nothing(
    docs: Collection, sync: Callable[..., Any], site: Site
) -> None:
    sync()
    before = paths(docs)
    site.pages |= {"/guide/a": (500, {}, b""), "/guide/b": (404, {}, b"")}
    assert sync() == (0, 2, 0, 2)
    assert paths(docs) == before
    assert sync(pages=1) == (0, 1, 0, 1)
    site.pages["/robots.txt"] = (503, {}, b"")
    with pytest.raises(LocationUnavailable, match=r"robots.txt answers with status 503"):
        sync()
    site.pages["/robots.txt"] = (404, {}, b"")
    site.pages["/guide/"] = (404, {}, b"")
    with pytest.raises(LocationUnavailable, match="status 404"):
        sync()
    assert paths(docs) == before


def test_the_same_bytes_without_an_etag_are_not_read_again(
    docs: Collection, sync: Callable[..., Any], site: Site
) -> None:
    for path, answer in site.pages.items():
        assert isinstance(answer, tuple)
        site.pages[path] = (answer[0], {**answer[1], "ETag": "none"}, answer[2])
    assert sync()[0] == 6
    assert sync() == (0, 6, 0, 0)
    assert len(site.asked) == 7


def test_robots_are_heard(docs: Collection, sync: Callable[..., Any], site: Site) -> None:
    site.pages["/guide/"] = html("Start.", "hidden", "shy", "b")
    site.pages["/guide/hidden"] = html("Hidden.")
    site.pages["/guide/shy"] = html("Shy.", "a", head='<meta name="robots" content="noindex">')
    assert sync() == (4, 0, 0, 0)
    assert paths(docs) == ["", "a", "a2", "b"]
    assert "/guide/hidden" not in site.asked


def sitemap(*urls: str, kind: str = "url", root: str = "urlset") -> Any:
    rows = "".join(f"<{kind}><loc>{url}</loc></{kind}>" for url in urls)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return 200, {"Content-Type": "text/xml"}, f'<{root} xmlns="{space}">{rows}</{root}>'.encode()


def test_a_sitemap_says_what_there_is(
    docs: Collection, sync: Callable[..., Any], site: Site
) -> None:
    base = "http://docs.example"
    site.pages |= {
        "/sitemap.xml": sitemap(
            f"{base}/1.xml", f"{base}/2.xml", kind="sitemap", root="sitemapindex"
        ),
        "/1.xml": sitemap(f"{base}/guide/a", f"{base}/guide/b", "http://elsewhere.example/"),
        "/2.xml": sitemap(f"{base}/secret"),
    }
    assert sync(f"{base}/sitemap.xml") == (3, 0, 0, 0)
    assert sync() == (4, 2, 0, 0)  # another location, which owns what it put
    site.pages["/1.xml"] = sitemap(f"{base}/guide/a")
    assert sync(f"{base}/sitemap.xml") == (0, 2, 1, 0)
    assert "b" not in paths(docs)
    site.pages["/2.xml"] = (500, {}, b"")
    with pytest.raises(LocationUnavailable, match="cannot be read"):
        sync(f"{base}/sitemap.xml")


def test_options_are_checked(docs: Collection) -> None:
    for options, message in (({"dept": 1}, "no option dept"), ({"depth": 99}, "use 0 to 20")):
        with pytest.raises(InvalidInput, match=message):
            docs.sync(START, options=options)
