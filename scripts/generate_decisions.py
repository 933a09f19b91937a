"""Write docs/decisions/README.md: the decisions of each page there, overtaken ones marked.

python scripts/generate_decisions.py    `make docs` runs it; a test compares what it would write
"""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "decisions"
PAGE = FOLDER / "README.md"
HEAD = """# Decisions

What was decided and why, mostly because something surprised us. There is a page for each noun, as
for the folders of `rag_pg/` and `sql/`; new entries come last on their page. Under its title an
entry has its date and, once a later one has overtaken it, a link to that one. `make docs` writes
this index.
"""
ENTRY = re.compile(r"^## (.+)\n\n_(\d{4}-\d\d-\d\d)(?:, (overtaken(?: in part)?))?", re.MULTILINE)


def index() -> str:
    """The page as it should be."""
    parts = [HEAD]
    for path in sorted(FOLDER.glob("*.md")):
        if path == PAGE:
            continue
        text = path.read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# Decisions: ")
        entries = [(title, old) for title, _, old in ENTRY.findall(text)]
        if len(entries) != text.count("\n## "):
            raise ValueError(f"{path} has an entry without a date under its title")
        parts.append(f"## [{title[0].upper()}{title[1:]}]({path.name})\n")
        for heading, old in entries:
            link = f"[{heading}]({path.name}#{anchor(heading)})"
            parts.append(f"- {link}{f' ({old})' if old else ''}")
        parts.append("")
    return "\n".join(parts)


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(index(), encoding="utf-8")
