"""What long-running commands log: lines of text, or of JSON for programs that collect logs."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from rag_pg.tracing import current_traceparent

# What a line is about, where who logs says so.
SUBJECTS = ("collection", "job_id", "job_kind", "attempts", "provider", "source")


class Format(StrEnum):
    text = "text"
    json = "json"


LogFormat = Annotated[
    Format, typer.Option("--log-format", help="Of the lines on stderr: for people, or programs.")
]


class Text(logging.Formatter):
    """Time, level, message, and what it is about."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        about = " ".join(f"{name}={value}" for name, value in _subjects(record).items())
        return f"{line} [{about}]" if about else line


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_subjects(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        if (traceparent := current_traceparent()) is not None:
            line["trace_id"] = traceparent.split("-")[1]
        return json.dumps(line, ensure_ascii=False, default=str)


def _subjects(record: logging.LogRecord) -> dict[str, object]:
    found = {name: getattr(record, name, None) for name in SUBJECTS}
    return {name: value for name, value in found.items() if value is not None}


def log_to_stderr(format: Format, level: int) -> None:
    """Write what is logged from this level on to stderr."""
    lines = logging.StreamHandler(sys.stderr)
    text = Text("%(asctime)s %(levelname)s %(message)s")
    lines.setFormatter(text if format is Format.text else JsonLines())
    logging.basicConfig(level=level, handlers=[lines])
    for noisy in ("alembic", "httpx", "psycopg.pool"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
