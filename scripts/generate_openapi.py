"""Write docs/reference/openapi.json, and the table of routes in docs/guides/serve.md, from the
service.

python scripts/generate_openapi.py    `make docs` runs it; a test compares what it would write
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from rag_pg.server.http import ServiceOptions, make_app

DOCS = Path(__file__).resolve().parents[1] / "docs"
SCHEMA = DOCS / "reference" / "openapi.json"
GUIDE = DOCS / "guides" / "serve.md"
TABLE = re.compile(r"(?<=<!-- routes, written by make docs -->\n).*?(?=<!-- end -->)", re.DOTALL)


def schema() -> dict[str, Any]:
    """The OpenAPI document of the service."""
    return make_app(ServiceOptions()).openapi()


def table(document: dict[str, Any]) -> str:
    """The routes, one row each."""
    rows = ["| route | what it gives |", "| --- | --- |"]
    for path, calls in document["paths"].items():
        for method, call in calls.items():
            described = " ".join(call["description"].split("\n\n")[0].split())
            rows.append(f"| `{method.upper()} {path}` | {described} |")
    return "".join(f"{row}\n" for row in rows)


def files() -> dict[Path, str]:
    """What each file should hold."""
    document = schema()
    guide = GUIDE.read_text(encoding="utf-8")
    return {
        SCHEMA: json.dumps(document, indent=1, ensure_ascii=False) + "\n",
        GUIDE: TABLE.sub(lambda match: table(document), guide),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
