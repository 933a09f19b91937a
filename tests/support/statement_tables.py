"""True answers and false statements over passages, from tests/quality/statements-*.txt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rag_pg.answer.attribution.judge import Judge
from rag_pg.answer.fit import ground_text
from rag_pg.protocols import Embedder
from rag_pg.types import Citation

TABLES = Path(__file__).parents[1] / "quality"


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """An answer to a question. kind: true, or in what it is false. wrong: its statements that are
    found to have no support."""

    question: str
    kind: str
    text: str
    wrong: Sequence[str] = ()


def judged_cases(name: str, embedder: Callable[[], Embedder] | None) -> Iterator[Case]:
    """Yield the cases of a table as they were judged, those that cite once more without."""
    lines = (TABLES / f"statements-{name}.txt").read_text(encoding="utf-8").splitlines()
    passages = [
        Citation(number=n, chunk_id=n, uri=f"{n}.md", title=head[2:], heading="", quote=text)
        for n, (head, text) in enumerate(
            (
                (head, text.replace("\\n", "\n"))
                for head, text in pairwise(lines)
                if head.startswith("P ")
            ),
            1,
        )
    ]
    question = ""
    for line in lines:
        kind, _, text = line.partition(" ")
        if kind == "Q":
            question = text
        elif kind in ("T", "L"):
            kind, _, text = ("true", "", text) if kind == "T" else text.partition(" ")
            text = text.replace("\\n", "\n")
            plain = re.sub(r" \[\d\]", "", text)
            for form in dict.fromkeys([text, *([plain] if kind != "cited" else [])]):
                judge = Judge(question, passages, embedder=embedder, locate=_nowhere)
                found = ground_text(form, judge)
                wrong = [o.statement.text for o in found if o.is_claim and o.is_supported is False]
                yield Case(question=question, kind=kind, text=form, wrong=wrong)


def _nowhere(citations: Sequence[Citation]) -> list[tuple[Citation, None]]:
    return [(citation, None) for citation in citations]
