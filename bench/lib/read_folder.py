"""Reads the files of a folder by one reader; run as a program, with that reader's packages.

    python bench/lib/read_folder.py rag_pg|markitdown FOLDER > documents.jsonl

A line is a document: uri, content, title, media_type, metadata; or uri and error.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def by_rag_pg() -> Callable[[Path], dict[str, Any]]:
    from rag_pg.load import load_bytes

    ocr = {"ocr": "english"} if "ocr" in inspect.signature(load_bytes).parameters else {}

    def read(path: Path) -> dict[str, Any]:
        found = load_bytes(path.name, path.read_bytes(), **ocr)  # type: ignore[arg-type]
        return {
            "content": found.content,
            "title": found.title,
            "media_type": found.media_type,
            "metadata": dict(found.metadata),
        }

    return read


def by_markitdown() -> Callable[[Path], dict[str, Any]]:
    from markitdown import MarkItDown

    reader = MarkItDown()

    def read(path: Path) -> dict[str, Any]:
        text = reader.convert(str(path)).text_content
        return {"content": text, "title": path.stem, "media_type": "text/markdown"}

    return read


def main() -> None:
    read = {"rag_pg": by_rag_pg, "markitdown": by_markitdown}[sys.argv[1]]()
    for path in sorted(Path(sys.argv[2]).iterdir()):
        try:
            found = read(path)
        except Exception as exc:  # whatever a reader raises is what the comparison is about
            found = {"error": f"{type(exc).__name__}: {exc}"[:200]}
        print(json.dumps({"uri": path.name, **found}))


if __name__ == "__main__":
    main()
