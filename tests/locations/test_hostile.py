"""Addresses that lead into a network, past a name, or to another protocol: none is fetched, asked
for by the user, by a link, by a sitemap or by a redirect.

Every connection of these tests would reach a server that answers: only what is refused fails.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from locations.website import PUBLIC, Site, html, serve

from rag_pg import InvalidInput, LocationUnavailable
from rag_pg.locations import Limits
from rag_pg.locations.addresses import AddressRefused
from rag_pg.locations.fetch import Fetcher
from rag_pg.locations.location import Item
from rag_pg.locations.web import Website
from rag_pg.types import Loaded, LoadFailure, Skipped

NAMES = {  # what a name of the attacker's resolves to
    "private.example": ["10.0.0.5"],
    "loopback.example": ["127.0.0.1"],
    "one-of-two.example": [PUBLIC, "192.168.1.1"],
    "metadata.example": ["169.254.169.254"],
    "aws6.example": ["fd00:ec2::254"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "mapped-public.example": ["::ffff:93.184.216.34"],
    "compatible.example": ["::127.0.0.1"],
    "nat64.example": ["64:ff9b::7f00:1"],
    "nat64-local.example": ["64:ff9b:1::a00:1"],
    "sixtofour.example": ["2002:7f00:1::"],
    "teredo.example": ["2001:0:7f00:1::1"],
    "zone.example": ["fe80::1%lo"],
    "both-families.example": [PUBLIC, "::1"],
    "translated.example": ["::ffff:0:7f00:1"],
    "google6.example": ["fd20:ce::254"],
    "azure.example": ["168.63.129.16"],
    "nowhere.example": [],
}
HOSTILE = [
    "http://127.0.0.1/",
    "http://127.8.9.1/",
    "http://localhost/",
    "http://localhost./",
    "http://0.0.0.0/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://100.100.100.200/latest/meta-data/",
    "http://192.0.0.192/",
    "http://168.63.129.16/machine/?comp=goalstate",
    "http://169.254.170.2/v2/credentials",
    "http://192.0.2.1/",
    "http://192.88.99.1/",
    "http://198.18.0.1/",
    "http://203.0.113.9/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0/",
    "http://00000177.0x0.0.1/",
    "http://4294967295/",
    "http://127%2e0%2e0%2e1/",
    "http://127．0．0．1/",
    "http://127｡1/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.0.0.1./",
    "http://127.0.0.01/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://①②⑦.0.0.1/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[fe80::1%eth0]/",
    "http://[v1.127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::169.254.169.254]/",
    "http://[64:ff9b:1::1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[100::1]/",
    "http://[fc00::1]/",
    "http://[fd00::1]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[5f00::1]/",
    "http://127.0.0.1%2f@example.com/",
    "http://user@example.com/",
    "http://user:password@example.com/",
    "http://example.com@127.0.0.1/",
    "http://example.com:80@127.0.0.1/",
    "http://127.0.0.1:80@example.com/",
    "http://example.com%00.evil/",
    "http://exa%6dple.com/",
    "http://example.com\\@127.0.0.1/",
    "http://example.com:22/",
    "http://example.com:6379/",
    "http://example.com:0/",
    "http://example.com:99999/",
    "http://example.com:80:80/",
    "http://127.0.0.1/public/../private/",
    "http://public.example/public/../private/",
    "http://public.example/public/%2e%2E/private/",
    "http://public.example/public/..%5cprivate/",
    "http:///etc/passwd",
    "http://-oProxyCommand=x/",
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "dict://127.0.0.1:11211/stat",
    "jar:http://127.0.0.1/!/x",
    "javascript:alert(1)",
    "data:text/html,x",
    *(f"http://{name}/" for name in NAMES),
]
# Within a page this is a path on the page's own host.
ELSEWHERE = [url for url in HOSTILE if not url.startswith("http:///")]


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as opened:
        opened.hosts = {name: lambda ips=ips: ips for name, ips in NAMES.items()}  # type: ignore[misc]
        opened.hosts |= {name: lambda: ["127.0.0.1"] for name in ("localhost", "localhost.")}
        opened.pages = {"/": html("Reached."), "/robots.txt": (404, {}, b"")}
        yield opened


def read(site: Site, location: str, *private_hosts: str) -> list[Item]:
    network = site.network(*private_hosts)
    return list(Website(location, Limits(max_bytes=10_000), {}, network).read({}))


def test_there_are_many_kinds() -> None:
    assert len(set(HOSTILE)) >= 80


@pytest.mark.parametrize("url", HOSTILE)
def test_none_is_fetched_that_the_user_names(site: Site, url: str) -> None:
    with pytest.raises((InvalidInput, LocationUnavailable)):
        read(site, url)
    assert (site.asked, site.reached) == ([], [])


def test_none_is_fetched_that_a_page_redirects_to(site: Site) -> None:
    for number, url in enumerate(ELSEWHERE):
        location = url.encode("utf-8").decode("latin-1")
        site.pages[f"/{number}"] = (302, {"Location": location}, b"")
        for host in ("public.example", "127.0.0.1"):  # the latter as if the host were the same
            site.asked.clear()
            fetcher = Fetcher(network=site.network(), host=host, max_bytes=99, seconds=60)
            with pytest.raises((AddressRefused, LocationUnavailable)):
                fetcher.fetch(f"http://public.example/{number}")
            assert site.asked == [f"/{number}"], url
    assert set(site.reached) == {PUBLIC}


def test_none_is_fetched_that_a_page_links_to_or_a_sitemap_lists(site: Site) -> None:
    site.pages["/"] = html("Start.", *ELSEWHERE, "//localhost/", "/next")
    site.pages["/next"] = html("Next.")
    found = [item for item in read(site, "http://public.example/") if isinstance(item, Loaded)]
    assert [item.uri for item in found] == ["http://public.example/", "http://public.example/next"]
    assert site.asked == ["/robots.txt", "/", "/next"]
    rows = "".join(f"<url><loc>{url.replace('&', '&amp;')}</loc></url>" for url in HOSTILE)
    site.pages["/sitemap.xml"] = (200, {}, f"<urlset>{rows}</urlset>".encode())
    site.asked.clear()
    listed = read(site, "http://public.example/sitemap.xml")
    assert {item.reason for item in listed if isinstance(item, Skipped)} == {"refused"}
    assert {type(item) for item in listed} == {Skipped}
    assert site.asked == ["/robots.txt", "/sitemap.xml"]
    nested = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in HOSTILE[:1])
    site.pages["/sitemap.xml"] = (200, {}, f"<sitemapindex>{nested}</sitemapindex>".encode())
    site.asked.clear()
    with pytest.raises(AddressRefused):
        read(site, "http://public.example/sitemap.xml")
    assert site.asked == ["/robots.txt", "/sitemap.xml"]


def test_none_is_fetched_that_robots_txt_redirects_to(site: Site) -> None:
    for url in ELSEWHERE:
        location = url.encode("utf-8").decode("latin-1")
        site.pages["/robots.txt"] = (301, {"Location": location}, b"")
        site.asked.clear()
        with pytest.raises(LocationUnavailable):
            read(site, "http://public.example/")
        assert site.asked == ["/robots.txt"], url
    assert set(site.reached) == {PUBLIC}


def test_a_name_that_is_resolved_otherwise_a_moment_later_leads_nowhere_else(site: Site) -> None:
    answers = iter([[PUBLIC], [PUBLIC], ["127.0.0.1"], ["10.0.0.1"]])
    site.hosts["rebinding.example"] = lambda: next(answers)
    site.pages["/"] = html("Start.", "/a", "/b")
    found = read(site, "http://rebinding.example/")
    assert [type(item) for item in found] == [Loaded, Skipped, Skipped]
    assert site.reached == [PUBLIC, PUBLIC]  # each looked up once, and reached as it was judged
    assert site.asked == ["/robots.txt", "/"]


def test_a_host_that_was_allowed_is_fetched_and_no_other(site: Site) -> None:
    site.pages["/"] = html("Start.", "http://other.internal/", "http://wiki.internal:6379/")
    site.hosts |= {"wiki.internal": lambda: ["10.0.0.1"], "other.internal": lambda: ["10.0.0.2"]}
    (page,) = read(site, "http://wiki.internal:8090/", "wiki.internal:8090")
    assert isinstance(page, Loaded) and page.uri == "http://wiki.internal:8090/"
    for other in ("http://wiki.internal/", "http://other.internal:8090/"):
        with pytest.raises((InvalidInput, LocationUnavailable), match="RAG_PG_PRIVATE_HOSTS="):
            read(site, other, "wiki.internal:8090")


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"Content-Length": "99999999"}, b"x" * 20_000),
        (200, {"Content-Length": "500"}, b"short"),
        (200, {"Content-Encoding": "gzip"}, b"\x1f\x8b" + b"x" * 50),
        (200, {"Transfer-Encoding": "chunked", "Content-Length": ""}, b"FFFFFFFF\r\nx"),
    ],
)
def test_what_is_too_large_or_not_whole_fails_alone(
    site: Site, answer: tuple[int, dict[str, str], bytes]
) -> None:
    site.pages |= {"/": html("Start.", "/bad", "/good"), "/bad": answer, "/good": html("Good.")}
    found = read(site, "http://public.example/")
    assert [item.uri for item in found if isinstance(item, Loaded)] == [
        "http://public.example/",
        "http://public.example/good",
    ]
    failed = [item.uri for item in found if isinstance(item, LoadFailure)]
    assert failed == ["http://public.example/bad", "http://public.example"]  # nothing is deleted


def test_links_without_end_are_not_kept(site: Site) -> None:
    site.pages["/"] = html("Start.", *(f"/{n}" for n in range(200)))
    site.pages |= {f"/{n}": html("Page.", *(f"/{n}/{m}" for m in range(200))) for n in range(9)}
    website = Website(
        "http://public.example/", Limits(max_bytes=20_000), {"pages": 9}, site.network()
    )
    found = list(website.read({}))
    assert len([item for item in found if isinstance(item, Loaded)]) == 9
    assert isinstance(found[-1], LoadFailure) and "raise the options pages" in found[-1].error


def test_a_redirect_without_end_or_to_no_encryption_is_refused(site: Site) -> None:
    site.pages["/"] = (302, {"Location": "/"}, b"")
    with pytest.raises(LocationUnavailable, match="redirects more than 5 times"):
        read(site, "http://public.example/")


def test_sitemaps_without_end_are_not_followed(site: Site) -> None:
    entry = "<sitemap><loc>http://public.example/s{}.xml</loc></sitemap>"
    wide = "".join(map(entry.format, range(200)))
    site.pages["/sitemap.xml"] = (200, {}, f"<sitemapindex>{wide}</sitemapindex>".encode())
    with pytest.raises(LocationUnavailable, match="has over 100 sitemaps"):
        read(site, "http://public.example/sitemap.xml")
    assert site.asked == ["/robots.txt", "/sitemap.xml"]
    for n in range(200):
        deep = f"<sitemapindex>{entry.format(n + 1)}</sitemapindex>"
        site.pages[f"/s{n}.xml"] = (200, {}, deep.encode())
    site.asked.clear()
    with pytest.raises(LocationUnavailable, match="has over 100 sitemaps"):
        read(site, "http://public.example/s0.xml")
    assert len(site.asked) == 101


def test_entities_of_a_sitemap_are_not_read(site: Site) -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "b">]><urlset><url><loc>&a;</loc></url></urlset>'
    site.pages["/sitemap.xml"] = (200, {}, bomb)
    with pytest.raises(LocationUnavailable, match="declares entities"):
        read(site, "http://public.example/sitemap.xml")
