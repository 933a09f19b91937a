"""One page of the web, fetched within bounds of time and size, each redirect judged anew."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urljoin

from rag_pg.errors import LocationUnavailable
from rag_pg.locations.addresses import Address, AddressRefused, Network, encoded, read_address
from rag_pg.locations.secrets import without_secrets
from rag_pg.threads import start_timer
from rag_pg.version import __version__

AGENT = "rag_pg"
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
_PIECE = 65_536
_CONTROLS = re.compile(r"[\0-\x1f\x7f]")


class FetchFailed(LocationUnavailable):
    """A page that was not answered, or with more than was asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """What was answered, at the last address; data is empty unless the status is 200."""

    address: Address
    status: int
    headers: Mapping[str, str]
    data: bytes = field(repr=False, default=b"")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fetcher:
    """Fetches pages of one host.

    host: to which alone redirects lead; "": any. seconds: for one page, redirects apart.
    cut: of what has more than max_bytes the beginning is a page, else it is refused.
    """

    network: Network
    host: str
    max_bytes: int
    seconds: float
    cut: bool = False

    def fetch(
        self, url: str, headers_of: Callable[[str], Mapping[str, str]] = lambda url: {}
    ) -> Page:
        """Return the page. headers_of: what is asked with an address, as If-None-Match.

        Raises: AddressRefused, FetchFailed.
        """
        address = read_address(url, self.network.private_hosts)
        for _ in range(_MOST_REDIRECTS + 1):
            asked = headers_of(str(address))
            page = self._ask(address, asked)
            if page.status == 304 and not asked:
                raise FetchFailed(f"{address} answers with status 304, which was not asked for")
            target = encoded(page.headers.get("location", "").encode("latin-1"))
            if page.status not in _REDIRECTS or not target:
                return page
            before, address = (
                address,
                read_address(
                    urljoin(str(address), target).partition("#")[0], self.network.private_hosts
                ),
            )
            if address.host != self.host or (before.scheme, address.scheme) == ("https", "http"):
                raise AddressRefused(
                    f"{before} redirects to {address.scheme}://{address.netloc}, another host or"
                    " without encryption; name that address if it is meant"
                )
        raise FetchFailed(f"{url} redirects more than {_MOST_REDIRECTS} times")

    def _ask(self, address: Address, headers: Mapping[str, str]) -> Page:
        opened: list[socket.socket] = []
        late: list[bool] = []

        def end() -> None:
            late.append(True)
            with suppress(OSError):  # it is closed already
                for one in opened[-1:]:
                    one.shutdown(socket.SHUT_RDWR)

        timer = start_timer(self.seconds, end)
        try:
            page = self._answer(address, headers, opened)
        except (OSError, UnicodeError, http.client.HTTPException) as exc:
            reason = without_secrets(str(exc)) or type(exc).__name__
            if late:
                reason = f"no whole answer in {self.seconds:g} s"
            raise FetchFailed(f"{address} cannot be fetched: {reason}") from None
        finally:
            timer.cancel()
            for one in opened:
                one.close()
        if late:
            raise FetchFailed(f"{address} cannot be fetched: no answer in {self.seconds:g} s")
        return page

    def _answer(
        self, address: Address, headers: Mapping[str, str], opened: list[socket.socket]
    ) -> Page:
        ip = self.network.judge(address)
        opened.append(self.network.connect(ip, address.port, self.seconds))
        if address.scheme == "https":  # the certificate is checked for the name
            context = ssl.create_default_context()
            wrapped = context.wrap_socket(
                opened[-1], server_hostname=address.host, do_handshake_on_connect=False
            )
            opened.append(wrapped)
            wrapped.do_handshake()
        connection = http.client.HTTPConnection(address.host, address.port)
        connection.sock = opened[-1]
        own = {
            "Host": address.netloc,
            "User-Agent": f"{AGENT}/{__version__}",
            "Accept-Encoding": "identity",
            "Connection": "close",
        }
        connection.request("GET", address.target, headers={**own, **headers})
        response = connection.getresponse()
        found = {name.lower(): _CONTROLS.sub("", value) for name, value in response.getheaders()}
        found["x-robots-tag"] = response.getheader("x-robots-tag", "")  # of several all
        if response.status != 200:
            return Page(address=address, status=response.status, headers=found)
        if found.get("content-encoding", "identity") != "identity":
            raise http.client.HTTPException("it is compressed, which was not asked for")
        data = bytearray()
        while piece := response.read1(_PIECE):
            data += piece
            if len(data) > self.max_bytes and self.cut:
                cut = bytes(data[: self.max_bytes])
                return Page(address=address, status=200, headers=found, data=cut)
            if len(data) > self.max_bytes:
                raise http.client.HTTPException(f"it has more than {self.max_bytes:,} bytes")
        if response.length:  # what was announced and did not come
            raise http.client.IncompleteRead(b"", response.length)
        return Page(address=address, status=200, headers=found, data=bytes(data))
