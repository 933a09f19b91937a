"""A Git repository at a commit as a location, read by the program git without a work tree."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

from rag_pg.errors import InvalidInput, LocationUnavailable
from rag_pg.locations.addresses import Network, read_address
from rag_pg.locations.location import (
    Choice,
    Item,
    Known,
    Limits,
    Location,
    is_same,
    numbers,
    read_object,
    state_of,
)
from rag_pg.locations.secrets import without_secrets
from rag_pg.types import LoadFailure, Skipped, Unchanged

_OPTIONS = {"minutes": (1, 1440, 60)}
_SCHEMES = ("https", "ssh", "file")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
_USED = ("GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "GIT_SSL_CAINFO")
_LFS = b"version https://git-lfs.github.com/spec/"  # how a file begins that stands for another
_FILES = ("100644", "100755")  # neither links nor submodules


class Repository(Location):
    """The supported files of a repository: git+https://host/repository.git@reference#folder.

    Only blobs that are not known are fetched, where the server can leave others out. Nothing is
    checked out, no hook, filter or submodule is run. Git finds credentials by its own helpers.
    options: minutes, for each call of git. Raises: InvalidInput.
    """

    def __init__(
        self, location: str, limits: Limits, options: Mapping[str, Any], network: Network
    ) -> None:
        self._seconds = numbers(options, _OPTIONS, "a repository")["minutes"] * 60
        address, _, folder = location.removeprefix("git+").partition("#")
        scheme, _, rest = address.partition("://")
        host, slash, path = rest.partition("/")
        path, _, self._ref = path.partition("@")
        self._ref = self._ref or "HEAD"
        self._url = f"{scheme}://{host}{slash}{path}"
        self._folder = unquote(folder).strip("/")
        if scheme not in _SCHEMES:
            raise InvalidInput(f"git is not used over {scheme}; use git+https, git+ssh or git+file")
        odd = any(c <= " " or c in "\\\x7f" for c in location) or host.startswith("-")
        odd = odd or host.rpartition("@")[2].startswith("-") or not path.strip("/")
        odd = odd or ".." in path.split("/")
        if odd or not _REF.fullmatch(self._ref) or ".." in self._ref:
            raise InvalidInput(
                "write a repository as git+https://host/repository.git@reference#folder"
            )
        if scheme == "https":
            read_address(self._url, network.private_hosts)
        self.prefix = f"git+{self._url.rstrip('/')}/" + (f"{self._folder}/" if self._folder else "")
        self._scheme, self._limits, self._network = scheme, limits, network

    def read(self, known: Known) -> Iterator[Item]:
        choice = Choice(self.prefix, self._limits)
        with TemporaryDirectory(prefix="rag_pg_git_") as name:
            folder = Path(name)
            commit = self._fetch(folder)
            wanted: list[tuple[str, str, str]] = []
            for path, blob in self._list(folder, commit):
                uri = choice.of(path)
                if isinstance(uri, LoadFailure | Skipped):
                    yield uri
                elif uri and is_same(known.get(uri), blob, self._limits):
                    yield Unchanged(uri=uri)
                elif uri:
                    wanted.append((blob, path, uri))
            self._fetch_blobs(folder, [blob for blob, _, _ in wanted])
            for blob, path, uri in wanted:
                size, most = int(self._git(folder, "cat-file", "-s", blob)), self._limits.max_bytes
                if size > most:
                    error = f"has {size:,} bytes, the limit is {most:,}: RAG_PG_MAX_FILE_BYTES"
                    yield LoadFailure(uri=uri, error=error)
                    continue
                data = self._git(folder, "cat-file", "blob", blob)
                if data.startswith(_LFS):
                    yield Skipped(uri=uri, reason="Git LFS")
                    continue
                state = state_of(blob, self._limits)
                yield from read_object(path, uri, data, self._limits, state, commit=commit)

    def _fetch(self, folder: Path) -> str:
        self._git(folder, "init", "--quiet", "--bare", "--template=")
        self._git(folder, "config", "remote.origin.url", self._url)
        self._git(folder, "config", "remote.origin.promisor", "true")
        self._git(folder, "config", "remote.origin.partialclonefilter", "blob:none")
        self._git(
            folder, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules",
            "--filter=blob:none", "origin", "--", self._ref,
        )  # fmt: skip
        return self._git(folder, "rev-parse", "--verify", "FETCH_HEAD^{commit}").decode().strip()

    def _fetch_blobs(self, folder: Path, blobs: Sequence[str]) -> None:
        """Fetch many at once; those that a server does not give so come one by one."""
        for start in range(0, len(blobs), 1000):
            asked = "\n".join(blobs[start : start + 1000]).encode()
            try:
                self._git(
                    folder, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules",
                    "--no-write-fetch-head", "--filter=blob:none", "--stdin", "origin",
                    given=asked,
                )  # fmt: skip
            except LocationUnavailable:
                return

    def _list(self, folder: Path, commit: str) -> Iterator[tuple[str, str]]:
        """Yield the paths below the folder, from there, and their blobs."""
        below = [f"{self._folder}/"] if self._folder else []
        found = self._git(folder, "ls-tree", "-r", "-z", "--full-tree", commit, "--", *below)
        if self._folder and not found:
            raise LocationUnavailable(f"{self.prefix} cannot be listed: there is no such folder")
        for line in found.split(b"\0")[:-1]:
            about, _, path = line.partition(b"\t")
            mode, _, blob = about.decode().split(" ")
            if mode in _FILES:
                name = path.decode("utf-8", "surrogateescape")
                yield name.removeprefix(f"{self._folder}/"), blob

    def _git(self, folder: Path, *arguments: str, given: bytes = b"") -> bytes:
        settings = [
            "core.hooksPath=/dev/null",
            "core.fsmonitor=false",
            "http.followRedirects=false",
            "http.proxy=",
            "gc.auto=0",
            *self._pinned(arguments[0]),
        ]
        command = ["git", *(part for one in settings for part in ("-c", one)), *arguments]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                input=given,
                capture_output=True,
                timeout=self._seconds,
                env=self._environment(folder),
            )
        except FileNotFoundError:
            raise LocationUnavailable(
                "git is not installed; install it to sync repositories"
            ) from None
        except subprocess.TimeoutExpired:
            raise LocationUnavailable(
                f"{self.prefix} cannot be read: git took more than {self._seconds // 60} minutes"
            ) from None
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            reason = without_secrets(lines[0] if lines else "it ended without a word")
            raise LocationUnavailable(f"{self.prefix} cannot be read: {reason}")
        return done.stdout

    def _pinned(self, command: str) -> list[str]:
        """The setting by which git connects to the address that was judged, and no other."""
        if self._scheme != "https" or command not in ("fetch", "cat-file"):
            return []
        address = read_address(self._url, self._network.private_hosts)
        try:
            ip = self._network.judge(address)
        except OSError as exc:
            raise LocationUnavailable(f"{self.prefix} cannot be reached: {exc}") from None
        shown = f"[{ip}]" if ":" in ip else ip
        return [f"http.curloptResolve={address.host}:{address.port}:{shown}"]

    def _environment(self, folder: Path) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_") or name in _USED or name.startswith("GIT_CONFIG")
        }
        kept.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
        return {
            **kept,
            "GIT_DIR": str(folder),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": self._scheme,
            "GIT_PROTOCOL_FROM_USER": "0",
            "LC_ALL": "C",
        }
