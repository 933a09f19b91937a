"""Web pages as a location: those of a sitemap, or those that links from a page lead to."""

from __future__ import annotations

import mimetypes
import re
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from rag_pg.errors import LocationUnavailable, RagError, UnsupportedFile
from rag_pg.extras import extra
from rag_pg.load import SUPPORTED, decode_as, parse_xml
from rag_pg.locations.addresses import AddressRefused, Network, encoded, read_address
from rag_pg.locations.fetch import AGENT, Fetcher, Page
from rag_pg.locations.location import (
    Item,
    Known,
    Limits,
    State,
    is_same,
    numbers,
    read_object,
    state_of,
)
from rag_pg.locations.secrets import without_secrets
from rag_pg.types import LoadFailure, Skipped, Unchanged

if TYPE_CHECKING:
    from protego import Protego

_OPTIONS = {"depth": (0, 20, 3), "pages": (1, 100_000, 1000), "minutes": (1, 1440, 60)}
_PAGE_SECONDS = 20.0
_LONGEST_DELAY = 30.0  # that a robots.txt may ask for between two pages
_ROBOTS_BYTES = 512_000  # that are heard, as RFC 9309 asks for at least
_SITEMAP_BYTES = 50_000_000  # as the protocol bounds them
_MOST_SITEMAPS = 100
_LISTED = 100_000_000  # characters of the addresses in them
_GONE = (404, 410)
_HTML = ("text/html", "application/xhtml+xml")
_SUFFIXES = {"text/plain": ".txt", "text/markdown": ".md", "application/pdf": ".pdf"}
_TEXT = ("text/", "application/json", "application/xml", *_HTML)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.I)
_DIRECTIVE = re.compile(r"(?<![\w:-])(?<!: )(noindex|nofollow|none)\b")  # to every robot


class Website:
    """The pages of one host, below the folder of the address given: with a sitemap those that it
    lists, else those that links lead to, `depth` links away at most.

    options: depth; pages and minutes, after which no more are fetched.
    Raises: InvalidInput.
    """

    def __init__(
        self,
        location: str,
        limits: Limits,
        options: Mapping[str, Any],
        network: Network,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        given = numbers(options, _OPTIONS, "a website")
        self._depth, self._pages = given["depth"], given["pages"]
        self._seconds = given["minutes"] * 60
        self.start = read_address(location.partition("#")[0], network.private_hosts)
        self.location = str(self.start)
        folder = self.start.target.partition("?")[0].rpartition("/")[0] + "/"
        self.prefix = f"{self.start.scheme}://{self.start.netloc}{folder}"
        self._limits, self._network, self._sleep = limits, network, sleep
        self._robots: Protego | None = None
        self._failed: set[str] = set()

    def owns(self, state: State) -> bool:
        return state.get("location") == self.location and state.get("from") not in self._failed

    def read(self, known: Known) -> Iterator[Item]:
        ends_at = time.monotonic() + self._seconds
        self._read_robots()
        # One without links may be a sitemap, whose pages are not noted.
        links = (known.get(self.location) or {}).get("links")
        first = self._page(self.location, known if links else {})
        if first is None or first.status not in (200, 304):
            status = "robots.txt forbids it" if first is None else f"status {first.status}"
            raise LocationUnavailable(f"{self.location} cannot be read: {status}")
        listed = self._listed(first)
        depth = self._depth if listed is None else 0
        waiting = deque([(self.location, 0)] if listed is None else [(one, 0) for one in listed])
        seen, fetched, whole = {url for url, _ in waiting}, 0, True
        done: set[str] = set()
        while waiting:
            if fetched >= self._pages or time.monotonic() > ends_at:
                whole = False
                break
            url, away = waiting.popleft()
            fetched += 1
            try:
                page = first if listed is None and fetched == 1 else self._page(url, known)
            except AddressRefused:
                yield Skipped(uri=re.split("[?;]", url)[0], reason="refused")
                continue
            except RagError as exc:
                self._failed.add(url)
                yield LoadFailure(uri=url, error=str(exc))
                whole = whole and away == depth
                continue
            if page is None:
                yield Skipped(uri=url, reason="robots.txt")
                continue
            uri = str(page.address)
            if page.status in _GONE or uri in done:
                continue
            done.add(uri)
            if page.status not in (200, 304):
                self._failed.add(url)
                yield LoadFailure(uri=uri, error=f"{uri} answers with status {page.status}")
                whole = whole and away == depth
                continue
            state = known.get(uri) or {}
            links, told = self._read_html(page)
            if page.status == 304:
                links = state.get("links", [])
            if uri.startswith(self.prefix):
                noted = {"links": links, "from": url, "location": self.location}
                yield from self._items(page, uri, state, told, noted)
            for link in links if away < depth else ():
                if link not in seen and len(seen) <= self._pages:  # one more is not fetched
                    seen.add(link)
                    waiting.append((link, away + 1))
        if not whole:
            yield LoadFailure(
                uri=self.prefix.rstrip("/"),
                error=f"{self.location}: not all pages were read, so none is deleted; "
                "see the pages that failed, or raise the options pages and minutes",
            )

    def _fetcher(self, max_bytes: int) -> Fetcher:
        return Fetcher(
            network=self._network,
            host=self.start.host,
            max_bytes=max_bytes,
            seconds=_PAGE_SECONDS,
        )

    def _read_robots(self) -> None:
        with extra("sources", error=LocationUnavailable):
            from protego import Protego
        url = f"{self.start.scheme}://{self.start.netloc}/robots.txt"
        try:
            page = replace(self._fetcher(_ROBOTS_BYTES), cut=True).fetch(url)
        except RagError as exc:
            raise LocationUnavailable(f"{self.location} cannot be read: {exc}") from None
        if page.status == 429 or page.status >= 500:
            raise LocationUnavailable(f"{url} answers with status {page.status}; try again later")
        lines = page.data.splitlines(keepends=True)
        if len(page.data) == _ROBOTS_BYTES:  # half a line may forbid more than the whole
            lines.pop()
        self._robots = Protego.parse(b"".join(lines).decode("utf-8-sig", "replace"))

    def _page(self, url: str, known: Known) -> Page | None:
        """Fetch a page unless its robots.txt forbids it; only what has changed is answered.

        Raises: AddressRefused, FetchFailed.
        """
        assert self._robots is not None
        if not self._robots.can_fetch(url, AGENT):
            return None
        if delay := self._robots.crawl_delay(AGENT):
            self._sleep(min(float(delay), _LONGEST_DELAY))

        def conditions(address: str) -> dict[str, str]:
            state = known.get(address) or {}
            if not is_same(state, str(state.get("tag")), self._limits):
                return {}
            names = {"etag": "If-None-Match", "modified": "If-Modified-Since"}
            return {header: state[name] for name, header in names.items() if state.get(name)}

        fetch = self._fetcher(self._bytes(url)).fetch
        page = fetch(url, conditions)
        again = page.headers.get("retry-after", "") if page.status in (429, 503) else ""
        if again.isdecimal() and int(again[:9]) <= _LONGEST_DELAY:
            self._sleep(int(again))
            page = fetch(url, conditions)
        if page.address.host != self.start.host or not self._robots.can_fetch(
            str(page.address), AGENT
        ):
            return None
        return page

    def _bytes(self, url: str) -> int:
        return (
            max(self._limits.max_bytes, _SITEMAP_BYTES) if ".xml" in url else self._limits.max_bytes
        )

    def _listed(self, page: Page) -> list[str] | None:
        """Return the pages of a sitemap and of those it lists, None for any other page."""
        found: list[str] = []
        waiting: list[Page | str] = [page]  # each is fetched when it is read, so one is held
        known = {str(page.address)}
        read = size = 0
        while waiting:
            urls, sitemaps = _sitemap(self._sitemap_page(waiting.pop()))
            if urls is None:
                if read == 0:
                    return None
                raise LocationUnavailable(f"{self.location} lists a sitemap that is none")
            read += 1
            found += urls
            size += sum(map(len, urls))
            waiting += [one for one in dict.fromkeys(sitemaps) if one not in known]
            known.update(sitemaps)
            if read + len(waiting) > _MOST_SITEMAPS:
                raise LocationUnavailable(f"{self.location} has over {_MOST_SITEMAPS} sitemaps")
            if size > _LISTED:
                raise LocationUnavailable(
                    f"{self.location} lists over {_LISTED:,} characters; name one of its sitemaps"
                )
        return self._below(found)

    def _sitemap_page(self, one: Page | str) -> Page:
        if not isinstance(one, str):
            return one
        page = self._page(one, {})
        if page is None or page.status != 200:
            raise LocationUnavailable(f"sitemap {without_secrets(one)} cannot be read")
        return page

    def _below(self, urls: Iterable[str]) -> list[str]:
        """Return those below the folder, each once, as they are asked for: of more than are ever
        fetched one more."""
        found: dict[str, None] = {}
        for url in urls:
            try:
                asked = str(read_address(url, self._network.private_hosts))
            except AddressRefused:
                asked = encoded(url)  # it is counted among those refused
            if asked.startswith(self.prefix):
                found[asked] = None
            if len(found) > _OPTIONS["pages"][1]:
                break
        return [*found]

    def _read_html(self, page: Page) -> tuple[list[str], set[str]]:
        """Return where a page's links lead to, and what it tells robots: no links but in HTML."""
        parser = _Links(str(page.address))
        if _type(page) in _HTML:
            parser.feed(_decoded(page).decode("utf-8", "replace"))
        robots = ", ".join((page.headers["x-robots-tag"], *parser.robots)).lower()
        told = set(_DIRECTIVE.findall(robots.replace(f"{AGENT}:", "")))
        links = [url for url in parser.links if "?" not in url]
        return ([] if told & {"nofollow", "none"} else self._below(links)), told

    def _items(
        self, page: Page, uri: str, state: State, told: set[str], noted: State
    ) -> Iterator[Item]:
        if page.status == 304 or is_same(state, sha256(page.data).hexdigest(), self._limits):
            yield Unchanged(uri=uri)
            return
        if told & {"noindex", "none"}:
            yield Skipped(uri=uri, reason="noindex")
            return
        path = page.address.target.partition("?")[0]
        suffix = ".html" if _type(page) in _HTML else _suffix(_type(page), path)
        if suffix is None:
            yield Skipped(uri=uri, reason=_type(page) or "no type")
            return
        noted = state_of(
            sha256(page.data).hexdigest(),
            self._limits,
            etag=page.headers.get("etag"),
            modified=page.headers.get("last-modified"),
            **noted,
        )
        name = f"{page.address.netloc}{path}"
        name = name if name.lower().endswith(suffix) else name.rstrip("/") + suffix
        yield from read_object(name, uri, _decoded(page), self._limits, noted)


def _type(page: Page) -> str:
    return page.headers.get("content-type", "").partition(";")[0].strip().lower()


def _suffix(media_type: str, path: str) -> str | None:
    """Return the suffix of the format that a page has, None where it cannot be read."""
    own = next((end for end in SUPPORTED if path.lower().endswith(end)), None)
    if own and (
        media_type in ("", "text/plain", "application/octet-stream") or own in _all(media_type)
    ):
        return own
    return _SUFFIXES.get(media_type) or next((s for s in _all(media_type) if s in SUPPORTED), None)


def _all(media_type: str) -> list[str]:
    return mimetypes.guess_all_extensions(media_type)


def _decoded(page: Page) -> bytes:
    """Return a page's bytes, in UTF-8 where the server names another encoding that they have."""
    named = _CHARSET.search(page.headers.get("content-type", ""))
    if named is None or not _type(page).startswith(_TEXT):
        return page.data
    text = decode_as(page.data, named[1])
    return page.data if text is None else text.encode("utf-8-sig", "replace")


def _sitemap(page: Page) -> tuple[list[str] | None, list[str]]:
    """Return the pages and the sitemaps that a sitemap lists; None for what is none."""
    data, named = page.data, ".xml" in page.address.target
    try:
        if data[:2] == b"\x1f\x8b":
            inflate = zlib.decompressobj(31)
            data = inflate.decompress(data, _SITEMAP_BYTES)
            if inflate.unconsumed_tail:
                raise UnsupportedFile(f"has over {_SITEMAP_BYTES:,} bytes")
        root = parse_xml(data)
    except (UnsupportedFile, zlib.error) as exc:
        if not named:
            return None, []
        raise LocationUnavailable(f"sitemap {page.address} {exc}") from None
    kind = root.tag.rpartition("}")[2]
    if kind not in ("urlset", "sitemapindex"):
        if named and _type(page) in _HTML:  # as while a site is mended
            raise LocationUnavailable(f"sitemap {page.address} is a page of HTML")
        return None, []
    found = [
        (one.text or "").strip()
        for entry in root
        for one in entry
        if isinstance(one.tag, str) and one.tag.rpartition("}")[2] == "loc"
    ]
    return ([], found) if kind == "sitemapindex" else (found, [])


class _Links(HTMLParser):
    """Where a page's links lead to, without fragments, and what it tells robots."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._base, self._based = url, False
        self.links: list[str] = []
        self.robots: list[str] = []

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        return self.parse_bogus_comment(i, report)  # as browsers do; the library raises

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        try:
            if tag == "base" and "href" in named and not self._based:
                self._base, self._based = urljoin(self._base, named["href"]), True
            elif tag == "a" and "href" in named and "nofollow" not in named.get("rel", "").lower():
                url = urljoin(self._base, named["href"].strip()).partition("#")[0]
                self.links.append(url)
            elif tag == "meta" and named.get("name", "").lower() in ("robots", AGENT):
                self.robots.append(named.get("content", ""))
        except ValueError:  # an address that cannot be read
            return
