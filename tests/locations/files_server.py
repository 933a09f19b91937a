"""A server of SFTP, paramiko's own, on loopback."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rag_pg.threads import start_thread


@contextmanager
def serve_files(root: Path, secret: str) -> Iterator[int]:
    """Give the port where a folder is served to who knows the password."""
    import paramiko

    class Door(paramiko.ServerInterface):  # type: ignore[misc]
        def check_auth_password(self, username: str, password: str) -> Any:
            right = password == secret
            return paramiko.AUTH_SUCCESSFUL if right else paramiko.AUTH_FAILED

        def check_channel_request(self, kind: str, chanid: int) -> Any:
            return paramiko.OPEN_SUCCEEDED

    class Tree(paramiko.SFTPServerInterface):  # type: ignore[misc]
        def list_folder(self, path: str) -> Any:
            try:
                return [
                    paramiko.SFTPAttributes.from_stat(one.stat(), os.fsencode(one.name))
                    for one in (root / path.strip("/")).iterdir()
                ]
            except OSError as exc:
                return paramiko.SFTPServer.convert_errno(exc.errno or 2)

        def stat(self, path: str) -> Any:
            try:
                return paramiko.SFTPAttributes.from_stat((root / path.strip("/")).stat())
            except OSError as exc:
                return paramiko.SFTPServer.convert_errno(exc.errno or 2)

        lstat = stat

        def open(self, path: str, flags: int, attr: Any) -> Any:
            handle = paramiko.SFTPHandle(flags)
            handle.readfile = (root / path.strip("/")).open("rb")
            handle.stat = lambda: self.stat(path)
            return handle

    key = paramiko.RSAKey.generate(2048)
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with suppress(OSError):
            while True:
                transport = paramiko.Transport(listener.accept()[0])
                transport.add_server_key(key)
                transport.set_subsystem_handler("sftp", paramiko.SFTPServer, Tree)
                with suppress(Exception):
                    transport.start_server(server=Door())

    start_thread(accept, "sftp")
    yield listener.getsockname()[1]
    listener.close()
