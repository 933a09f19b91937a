"""What people are told to call is public: in the guides, in remedies and in hints of errors."""

import re

from paths import ROOT

LITERAL = re.compile(r"'(?:[^'\n]|'')*'(?!::reg)")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
SQL = sorted((ROOT / "sql").rglob("*.sql"))


def internal(text: str) -> list[str]:
    return re.findall(r"\brag\._\w+", text)


def test_the_guides_name_no_internal_function() -> None:
    assert len(PAGES) > 10
    found = {page.name: internal(page.read_text(encoding="utf-8")) for page in PAGES}
    assert {name: names for name, names in found.items() if names} == {}


def test_remedies_and_hints_name_no_internal_function() -> None:
    hints = [
        (path.name, literal)
        for path in SQL
        for hint in re.findall(r"HINT =(.*?);\n", path.read_text(encoding="utf-8"), re.DOTALL)
        for literal in LITERAL.findall(hint)
    ]
    remedies = [
        (path.name, literal)
        for path in SQL
        if path.name.startswith("check_")
        for literal in LITERAL.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(hints) > 300 and len(remedies) > 100
    assert [(name, text) for name, text in hints + remedies if internal(text)] == []
