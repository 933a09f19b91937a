"""The command line, in this process: the same arguments, streams, environment and exit code,
no new interpreter.

A process takes a second or more to import what a command needs.
Tests that ask about processes start real ones.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from rag_pg.cli.app import main


def run(
    *arguments: str, environment: Mapping[str, str], cwd: Path, input: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `rag-pg` as python -m rag_pg would with that environment and folder."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    typed = io.TextIOWrapper(io.BytesIO((input or "").encode()), encoding="utf-8")
    code: object = 0
    with (
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.multiple(sys, argv=["rag-pg", *arguments], stdin=typed),
        # read from the environment once, when it is imported
        mock.patch("typer.rich_utils.FORCE_TERMINAL", "FORCE_COLOR" in environment or None),
        chdir(cwd),
        redirect_stdout(streams[0]),
        redirect_stderr(streams[1]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # as an interpreter does for all modules but the first
        try:
            main()
        except SystemExit as exc:
            code = exc.code
    for stream in streams:
        stream.flush()
    texts = [bytes(stream.buffer.getvalue()).decode() for stream in streams]
    assert code is None or isinstance(code, int)
    return subprocess.CompletedProcess(["rag-pg", *arguments], code or 0, *texts)
