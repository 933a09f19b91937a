"""Any store that fsspec reaches as a location: S3, SFTP, archives and so on."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from rag_pg.errors import InvalidInput, LocationUnavailable, RagError
from rag_pg.extras import extra
from rag_pg.locations.location import (
    Choice,
    Item,
    Known,
    Limits,
    Location,
    is_same,
    read_object,
    state_of,
)
from rag_pg.locations.secrets import without_secrets
from rag_pg.types import LoadFailure, Unchanged

ARCHIVES: Mapping[str, tuple[str, str | None]] = {  # their kind, and how they are compressed
    ".zip": ("zip", None),
    ".tar": ("tar", None),
    ".tar.gz": ("tar", "gzip"),
    ".tgz": ("tar", "gzip"),
    ".tar.bz2": ("tar", "bz2"),
    ".tar.xz": ("tar", "xz"),
}
_IS_UTF8 = 0x800  # the flag of a name
_REFUSED = ("http", "https", "reference", "dir", "cached", "blockcache", "filecache", "simplecache")
_CONTENT = ("ETag", "etag", "md5Hash", "content_md5", "CRC", "crc", "sha", "hex")
_WRITTEN = ("LastModified", "last_modified", "mtime", "modified", "updated", "date_time", "created")
# A time in whole seconds is that of two writes within one. The store's clock may be behind.
_SETTLED = timedelta(minutes=1)


class Files(Location):
    """The supported files below a prefix of a store, or in an archive.

    options: of fsspec's file system, no credentials: it finds those itself, in the environment and
        in fsspec's own configuration.
    Raises: InvalidInput, LocationUnavailable.
    """

    def __init__(self, location: str, limits: Limits, options: Mapping[str, Any]) -> None:
        self.location = location.rstrip("/")
        self.prefix = f"{self.location}/"
        self._limits = limits
        protocol = location.partition("://")[0] if "://" in location else "file"
        if "::" in location or ".." in location.split("/") or protocol in _REFUSED:
            raise InvalidInput(
                f"cannot sync {without_secrets(location)}: name one store, e.g. s3://bucket/folder/"
            )
        ends = (known for end, known in ARCHIVES.items() if location.lower().endswith(end))
        kind, compression = next(ends, (None, None))
        with extra("sources", error=LocationUnavailable):
            from fsspec.core import url_to_fs
            from fsspec.registry import filesystem, known_implementations, registry
        if protocol not in registry and protocol not in known_implementations:
            raise InvalidInput(
                f"{protocol}:// is no store that fsspec knows; see docs/guides/sources.md"
            )
        fresh = {"skip_instance_cache": True}  # credentials may have changed
        # fsspec takes what stands behind these signs for options of SFTP and others.
        begin = location if protocol == "file" else re.split("[?#]", location, maxsplit=1)[0]
        with self._explained():
            self._files, self._root = url_to_fs(begin, **fresh, **options)
            self._root += location[len(begin) :]
            self._is_tar = kind == "tar"
            if kind:
                packed = self._files.open(self._root, "rb")
                more = {"compression": compression} if compression else {}
                self._files, self._root = filesystem(kind, fo=packed, **fresh, **more), ""
                _name_members(self._files)
            elif not self._root:  # of sftp://host, which lists nothing
                self._root = "/"
            if hasattr(getattr(self._files, "ftp", None), "_read_response"):
                _read_any_names(self._files.ftp)

    def read(self, known: Known) -> Iterator[Item]:
        choice = Choice(self.prefix, self._limits)
        root = str(self._root).strip("/")
        found = self._list()
        # A compressed tar file is unpacked anew for each member before the last one read.
        order = (lambda path: self._files.index[path][1]) if self._is_tar else None
        for path in sorted(found, key=order):
            info = found[path]
            # One slash stands between them; a key of S3 may have more, and one at its end.
            name = path.lstrip("/").removeprefix(root).removeprefix("/")
            uri = choice.of(name)
            if uri is None or not name:
                continue
            if not isinstance(uri, str):
                yield uri
                continue
            data, tag = b"", _tag(info)
            try:
                if self._is_tar:  # whose members may all have one time
                    data = self._data(path, info)
                    tag = sha256(data).hexdigest()
                same = is_same(known.get(uri), tag, self._limits)
                if not same and not data:
                    data = self._data(path, info)
            except Exception as exc:  # of whichever library
                error = f"cannot be read: {_reason(exc)}; it is tried again by the next sync"
                yield LoadFailure(uri=uri, error=error)
                continue
            if same:
                yield Unchanged(uri=uri)
                continue
            state = state_of(tag, self._limits) if tag else None
            yield from read_object(name, uri, data, self._limits, state)

    def _list(self) -> dict[str, dict[str, Any]]:
        with self._explained():
            self._files.invalidate_cache()
            if self._root and not self._files.isdir(self._root):
                raise FileNotFoundError("there is no such folder")
            found = _found(self._files, self._root)
        return {p: i for p, i in found.items() if i.get("type") == "file" or not _is_utf8(p)}

    def _data(self, path: str, info: Mapping[str, Any]) -> bytes:
        if info.get("size") == 0:
            return b""
        data: bytes = self._files.cat_file(path, start=0, end=self._limits.max_bytes + 1)
        return data

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Whatever a library raises within the block becomes an error that names the location."""
        shown = without_secrets(self.location)
        try:
            yield
        except RagError:
            raise
        except ImportError as exc:
            raise LocationUnavailable(
                f"{shown} needs a library that is not installed: {_reason(exc)}"
            ) from None
        except Exception as exc:
            raise LocationUnavailable(f"{shown} cannot be listed: {_reason(exc)}") from None


def _found(files: Any, root: str) -> dict[str, Any]:
    """Everything below a folder by its path. Raises: as the store, for any folder that cannot be
    listed; fsspec's own walk passes over those below the first."""
    from fsspec.asyn import AsyncFileSystem
    from fsspec.spec import AbstractFileSystem

    own = getattr(type(files), "_find", type(files).find)
    if own not in (AbstractFileSystem.find, AsyncFileSystem._find):
        return dict(files.find(root, detail=True))  # a listing that has no folders
    found: dict[str, Any] = {}
    folders = [root]
    while folders:
        for info in files.ls(folders.pop(), detail=True):
            path = info["name"].rstrip("/")
            is_folder = info["type"] == "directory" and _is_utf8(path)
            if is_folder and path not in found and path != root.rstrip("/"):
                folders.append(path)
            found[path] = info
    return found


def _is_utf8(path: str) -> bool:
    """Whether a name can be asked for; else it has bytes as `os.fsdecode` gives them."""
    return not any("\ud800" <= character <= "\udfff" for character in path)


def _read_any_names(client: Any) -> None:
    """Let paramiko's client of SFTP list names that are no UTF-8 among the others, as
    `os.fsdecode` gives them: it would end at the first."""
    read = client._read_response

    def read_response(waitfor: object = None) -> tuple[Any, Any]:
        kind, message = read(waitfor)
        if message is not None:
            message.get_text = lambda: message.get_string().decode("utf-8", "surrogateescape")
        return kind, message

    client._read_response = read_response
    client.listdir_iter = client.listdir_attr  # which reads its responses by that


def _name_members(files: Any) -> None:
    """Name the members of an archive as programs that unpack it do: from its top, without "./", by
    slashes, in UTF-8 where the bytes of a zip file's name are that and nothing says so."""
    members = files.zip.filelist if files.protocol == "zip" else files.tar.getmembers()
    for one in members:
        if files.protocol == "zip":
            if not one.flag_bits & _IS_UTF8:
                with suppress(UnicodeError):
                    one.filename = one.filename.encode("cp437").decode()
            one.filename = _from_top(one.filename.replace("\\", "/"))
        else:
            one.name = _from_top(one.name)
            if one.islnk():  # its target is named from the top, too
                one.linkname = _from_top(one.linkname)
    if files.protocol == "zip":
        files.zip.NameToInfo = {one.filename: one for one in members}
    else:
        files.fo.seek(files.tar.offset)  # where tarfile found no further member
        if files.fo.read(tarfile.BLOCKSIZE).strip(b"\0") or files.fo.tell() <= files.tar.offset:
            raise EOFError("it has no end as tar files have: it is not whole")
        files._index()
    files.dir_cache = None


def _from_top(name: str) -> str:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return "/".join(parts) + "/" * name.endswith("/") if parts else name


def _reason(exc: BaseException) -> str:
    told = str(exc)
    if isinstance(exc, UnicodeDecodeError):  # of paramiko, which reads names as UTF-8
        told = f"the name {str(exc.object)[2:-1]} is not valid UTF-8; rename it"
    return without_secrets(told) or type(exc).__name__


def _tag(info: Mapping[str, Any]) -> str:
    """Return what changes with an object's bytes, "" where the store does not tell."""
    for names in (_CONTENT, _WRITTEN):
        for name in names:
            value = info.get(name)
            if value not in (None, ""):
                if _is_new(value):
                    return ""
                shown = value.isoformat() if isinstance(value, datetime) else str(value)
                return f"{name} {shown} {info.get('size')}"
    return ""


def _is_new(value: object) -> bool:
    """Whether a time may be that of a further write, too."""
    if not isinstance(value, datetime) or value.microsecond:
        return False
    written = value if value.tzinfo else value.replace(tzinfo=UTC)
    return datetime.now(UTC) - written < _SETTLED
