"""Which addresses of the web are fetched: those of public hosts, judged where they are resolved.

The connection goes to the address that was judged, so that a name which is resolved otherwise a
moment later leads nowhere else.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import quote, unquote, urlsplit

from rag_pg.errors import InvalidInput
from rag_pg.locations.secrets import named_credential

PORTS = {"http": 80, "https": 443}
_PORTS = (80, 443, 8080, 8443)
_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?\.?")
_SAFE = "!#$%&'()*+,/:;=?@[]^`{|}"  # in a target, beside what quote always leaves
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_GLOBAL_V6 = ip_network("2000::/3")  # all that is assigned; NAT64 and mapped addresses lie outside
_SPECIAL = [  # within what Python calls global
    *map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32")),
    *map(ip_network, ("2002::/16", "3fff::/20")),
    ip_network("168.63.129.16/32"),  # a public address that is Azure's host of a virtual machine
]


class AddressRefused(InvalidInput):
    """An address that is not fetched."""


@dataclass(frozen=True, slots=True)
class Address:
    """A judged http or https address; target: path and query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.target}"


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether anybody's connection to it leaves the network it starts in."""
    if isinstance(address, IPv6Address) and address not in _GLOBAL_V6:
        return False
    special = any(address in net for net in _SPECIAL if net.version == address.version)
    return not special and address.is_global and not (address.is_multicast or address.is_reserved)


def encoded(target: str | bytes) -> str:
    """Return what stands behind a host as it is asked for, percent-encoded like browsers do it."""
    return quote(target, safe=_SAFE)


def read_address(url: str, private_hosts: frozenset[str] = frozenset()) -> Address:
    """Return the parts of an address. Raises AddressRefused for another scheme or port, a user or a
    credential, a host that is written in an odd way, a path that leads out of its folders."""
    try:
        parts = urlsplit(url)
        host, port, secret = parts.hostname or "", parts.port, named_credential(parts)
        target = encoded((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
    except ValueError:
        raise AddressRefused("an address that cannot be read is not fetched") from None
    shown = f"{parts.scheme}://{host}"
    if parts.scheme not in PORTS:
        raise AddressRefused(f"{shown}: only http and https are fetched")
    if "@" in parts.netloc or ".." in re.split(r"[/\\]", unquote(parts.path)):
        raise AddressRefused(f"{shown}: an address with a user or ../ in it is not fetched")
    if secret:
        raise AddressRefused(f"{shown}: an address that holds a credential is not fetched")
    host = _host(host, shown)
    port = PORTS[parts.scheme] if port is None else port
    if port not in _PORTS and f"{host}:{port}" not in private_hosts:
        raise AddressRefused(f"{shown}: port {port} is not fetched; {_remedy(host, port)}")
    return Address(parts.scheme, host, port, target)


def _host(host: str, shown: str) -> str:
    try:
        if ":" in host:
            return str(IPv6Address(host)) if "%" not in host else _refuse_host(shown)
        name = host.encode("idna").decode().lower()
        if not _NAME.fullmatch(name):
            return _refuse_host(shown)
        if _NUMBER.fullmatch(name.rstrip(".").rpartition(".")[2]):
            return str(IPv4Address(name))  # four decimal numbers, no octal, no shorter form
    except (ValueError, UnicodeError):
        return _refuse_host(shown)
    return name


def _refuse_host(shown: str) -> str:
    raise AddressRefused(f"{shown}: a host that is written in this way is not fetched")


def _remedy(host: str, port: int) -> str:
    return f"to allow it, set RAG_PG_PRIVATE_HOSTS={host}:{port}"


def _connect(ip: str, port: int, seconds: float) -> socket.socket:
    return socket.create_connection((ip, port), timeout=seconds)


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """How hosts are found and reached. private_hosts: those that may be private, and may have
    another port: host or host:port."""

    private_hosts: frozenset[str] = frozenset()
    lookup: Callable[..., list[tuple[object, ...]]] = field(default=socket.getaddrinfo)  # type: ignore[assignment]
    connect: Callable[[str, int, float], socket.socket] = _connect

    def judge(self, address: Address) -> str:
        """Return the IP address that a host is reached at. Raises AddressRefused where any of its
        addresses is not public, OSError where it has none."""
        found = self.lookup(address.host, address.port, type=socket.SOCK_STREAM)
        ips = sorted({str(row[4][0]) for row in found})  # type: ignore[index]
        if not ips:
            raise OSError("the host has no address")
        if not {address.host, f"{address.host}:{address.port}"} & self.private_hosts:
            for ip in ips:
                if "%" in ip or not is_public(ip_address(ip)):
                    named = "" if ip == address.host else f"{ip}, which is "
                    raise AddressRefused(
                        f"{address.host} is {named}not a public address;"
                        f" {_remedy(address.host, address.port)}"
                    )
        return ips[0]
