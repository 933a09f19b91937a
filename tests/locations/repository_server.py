"""A Git repository over https on loopback, for who knows the user's password."""

from __future__ import annotations

import base64
import gzip
import os
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rag_pg.threads import start_thread


def certificate(folder: Path) -> Path:
    """Make a certificate of 127.0.0.1 with its key, in one file."""
    path = folder / "server.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", path, "-out", folder / "certificate", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_text(path.read_text() + (folder / "certificate").read_text())
    return path


@contextmanager
def serve(repository: Path, user: str, password: str, pem: Path) -> Iterator[str]:
    """Give the host and port where https answers with the repository, whatever path is asked."""
    wanted = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
    command = ["git", "upload-pack", "--stateless-rpc"]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer("advertisement", b"001e# service=git-upload-pack\n0000", "--advertise-refs")

        def do_POST(self) -> None:
            self.answer("result", b"")

        def answer(self, kind: str, before: bytes, *options: str) -> None:
            given = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Authorization") != wanted:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="handbook"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if self.headers.get("Content-Encoding") == "gzip":
                given = gzip.decompress(given)
            done = subprocess.run(
                [*command, *options, str(repository)],
                input=given,
                capture_output=True,
                check=True,
                env=os.environ | {"GIT_PROTOCOL": self.headers.get("Git-Protocol", "")},
            )
            self.send_response(200)
            self.send_header("Content-Type", f"application/x-git-upload-pack-{kind}")
            self.send_header("Content-Length", str(len(before + done.stdout)))
            self.end_headers()
            self.wfile.write(before + done.stdout)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = start_thread(partial(server.serve_forever, 0.02), "repository")
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
