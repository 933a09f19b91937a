"""Websites and sitemaps: what changed is fetched, what is gone there goes."""

from __future__ import annotations

import gzip
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


def test_of_a_long_robots_txt_the_beginning_is_heard(
    docs: Collection, sync: Callable[..., Any], site: Site
) -> None:
    told = b"User-agent: *\nDisallow: /guide/hidden\n".ljust(512_000 - len("Disallow: /"), b"#")
    site.pages["/robots.txt"] = (200, {}, told[:-1] + b"\nDisallow: /none\n")
    site.pages["/guide/"] = html("Start.", "hidden", "b")
    site.pages["/guide/hidden"] = html("Hidden.")
    sync()
    assert paths(docs) == ["", "b"]


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
            f"{base}/1.xml",
            f"{base}/2.xml",
            f"{base}/sitemap.xml",
            *[f"{base}/1.xml"] * 100,
            kind="sitemap",
            root="sitemapindex",
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


def test_addresses_are_asked_for_as_browsers_write_them(
    docs: Collection, sync: Callable[..., Any], site: Site
) -> None:
    head = '<base href="/guide/deep/"><base href="/">'
    site.pages |= {
        "/guide/": html("S<![odd[.", "é", "two words", "a\0b", "\x01", "../moved", head=head),
        "/guide/deep/%C3%A9": html("Accent."),
        "/guide/deep/two%20words": html("Words."),
        "/guide/moved": (302, {"Location": "/guide/ü v".encode().decode("latin-1")}, b""),
        "/guide/%C3%BC%20v": html("Moved.", "\r\n/guide/../secret"),
    }
    site.pages["/guide/deep/a%00b"] = (200, {"Content-Type": "text/plain", "ETag": "\0"}, b"Odd.")
    assert sync(START.replace("docs", "DOCS")) == (4, 0, 0, 1)  # the start has a mark of SGML
    assert paths(docs) == ["%C3%BC%20v", "deep/%C3%A9", "deep/a%00b", "deep/two%20words"]


def test_not_modified_is_believed_only_where_it_was_asked_for(
    docs: Collection, sync: Callable[..., Any], site: Site
) -> None:
    site.pages["/guide/b"] = (304, {}, b"")
    assert sync() == (5, 0, 0, 2)
    site.pages["/guide/"] = (304, {}, b"")
    docs.delete(START)
    with pytest.raises(LocationUnavailable, match="304, which was not asked for"):
        sync()


@pytest.mark.parametrize(
    "form",
    [
        lambda body: b"<!--" + b"x" * 6000 + b"-->" + body,
        lambda body: body.decode().encode("utf-16"),
        lambda body: body.replace(b"<", b"<s:").replace(b"<s:/", b"</s:").replace(b"ns=", b"ns:s="),
        gzip.compress,
    ],
)
def test_a_sitemap_is_told_by_its_root(
    docs: Collection, sync: Callable[..., Any], site: Site, form: Callable[[bytes], bytes]
) -> None:
    start = START + "map.xml"
    urls = [start, START + "a#part", START.replace("docs", "DOCS") + "b"]
    site.pages["/guide/map.xml"] = (200, {"Content-Type": "text/xml"}, form(sitemap(*urls)[2]))
    readable = form is not gzip.compress
    assert sync(start) == (2 + readable, 0, 0, 1 - readable)  # it lists itself
    site.pages |= {"/guide/a": (500, {}, b""), "/guide/b": (500, {}, b"")}
    assert sync(start) == (0, readable, 0, 3 - readable)
    for now in (html("We are mending it.", "a"), (200, {}, b"\x1f\x8b?"), (200, {}, b"<urlset>")):
        site.pages["/guide/map.xml"] = now
        with pytest.raises(LocationUnavailable, match=r"sitemap http://docs\.example/guide/map"):
            sync(start)
    assert {"a", "b"} <= {*paths(docs)}


def test_what_a_redirect_led_to_stays_while_it_fails(
    docs: Collection, sync: Callable[..., Any], site: Site
) -> None:
    site.pages["/guide/map.xml"] = sitemap(START + "old", START + "b")
    site.pages["/guide/old"] = (301, {"Location": "a"}, b"")
    assert sync(START + "map.xml") == (2, 0, 0, 0)
    site.pages["/guide/old"] = (503, {"Retry-After": "9"}, b"")
    assert sync(START + "map.xml") == (0, 1, 0, 1)
    assert site.asked.count("/guide/old") == 2  # once more after what it asks for
    site.pages["/guide/old"] = (404, {}, b"")
    assert sync(START + "map.xml") == (0, 1, 1, 0)


@pytest.mark.parametrize(
    ("header", "meta", "found"),
    [
        ("none", "", []),
        ("other: noindex", "NOINDEX; nofollow", []),
        ("rag_pg: nofollow", "", ["a"]),
        ("max-image-preview: none, max-snippet:none", "other: none", ["a", "b"]),
    ],
)
def test_directives_to_robots(
    docs: Collection, sync: Callable[..., Any], site: Site, header: str, meta: str, found: list[str]
) -> None:
    site.pages["/robots.txt"] = (200, {}, b"\xef\xbb\xbfUser-agent: *\nDisallow: /guide/deep")
    site.pages["/guide/"] = html("Start.", "a", "deep/c")
    told = html("Fish.", "b", head=f'<meta name=Robots content="{meta}">')
    site.pages["/guide/a"] = (200, {**told[1], "X-Robots-Tag": header}, told[2])
    sync()
    assert paths(docs) == ["", *found]


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [
        ("ISO-8859-1", "cp1252"),
        ("iso-8859-1", "utf-8"),
        ("utf-8", "cp1252"),
        (" macintosh", "mac-roman"),
        ("'windows-1252'", "cp1252"),
        ("punycode", "utf-8"),
    ],
)
def test_a_page_is_in_the_encoding_that_browsers_take(
    docs: Collection, sync: Callable[..., Any], site: Site, charset: str, encoding: str
) -> None:
    text = "<p>A “quoted” café, <a href='é'>and more</a>.</p>"
    kind = {"Content-Type": f"text/html; charset={charset}"}
    site.pages["/guide/"] = (200, kind, text.encode(encoding))
    site.pages["/guide/%C3%A9"] = html("Accent.")
    sync()
    assert docs.get(START).content == "A “quoted” café, and more."
    assert "%C3%A9" in paths(docs) or charset == "utf-8"


def test_options_are_checked(docs: Collection) -> None:
    for options, message in (({"dept": 1}, "no option dept"), ({"depth": 99}, "use 0 to 20")):
        with pytest.raises(InvalidInput, match=message):
            docs.sync(START, options=options)
