"""Are facts found that stand in columns, tables, charts, lists, scans and attachments?

    make bench-formats           or: python bench/formats.py [--before COMMIT …] [--seed N]

Sixty files that a script makes (bench/lib/format_files.py) are read by rag_pg, by rag_pg at other
commits and by markitdown, and the texts of each put into a collection with the default model. Of
120 questions, two to a file: found, where one of the first five hits is of the file (and, where a
hit says its page, of the page); fact, where the text of such a hit says it: the words in their
order, in one line where it stands in a row. CPU: of reading all files, with the imports. Scans are
read by tesseract, where it is installed. markitdown is installed into bench/out/markitdown-venv.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from lib.format_files import Question, files  # noqa: E402

from rag_pg import Rag  # noqa: E402
from rag_pg.types import Hit  # noqa: E402

OUT = ROOT / "bench" / "out"
MARKITDOWN = "markitdown[docx,pptx,xlsx,pdf]==0.1.9"
FIRST = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", nargs="*", default=[], help="Commits to compare with.")
    parser.add_argument("--seed", type=int, default=26)
    asked = parser.parse_args()
    made = [*files(asked.seed)]
    questions = [(one.kind, question) for one in made for question in one.questions]
    counts = Counter(kind for kind, _ in questions)
    table = Table(
        "reader", "CPU s", "failed", "found", "fact", *(f"{k} ({n})" for k, n in counts.items())
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as checkouts,
        Rag() as rag,
    ):
        for one in made:
            Path(folder, one.name).write_bytes(one.data)
        readers = {"rag_pg": (sys.executable, "rag_pg", ROOT)}
        for commit in asked.before:
            root = _checkout(commit, checkouts)
            readers[f"rag_pg {commit}"] = (sys.executable, "rag_pg", root)
        readers["markitdown"] = (_markitdown(), "markitdown", ROOT)
        for name, (python, kind, root) in readers.items():
            documents, seconds = _read(python, kind, root, folder)
            good = [one for one in documents if one.get("content", "").strip()]
            docs = rag.collection("formats_bench")
            docs.delete(everything=True)
            docs.add(*({key: value for key, value in one.items() if value} for one in good))
            found, facts = 0, Counter[str]()
            for kind_of, question in questions:
                hits = _of_place(docs.search(question.text, limit=FIRST), question)
                found += bool(hits)
                facts[kind_of] += any(_says(hit.content, question) for hit in hits)
            cells = (str(facts[kind_of]) for kind_of in counts)
            failed = str(len(documents) - len(good))
            table.add_row(name, f"{seconds:.1f}", failed, str(found), str(facts.total()), *cells)
        rag.drop_collection("formats_bench")
    Console(width=200).print(table)


def _of_place(hits: list[Hit], question: Question) -> list[Hit]:
    """The hits that are of the file that a question is about, and of its page."""
    return [
        hit
        for hit in hits
        if hit.uri == question.uri
        and (
            question.page is None
            or "page" not in hit.metadata
            or hit.metadata["page"] <= question.page <= hit.metadata["last_page"]
        )
    ]


def _says(text: str, question: Question) -> bool:
    pattern = r"(?<!\w)" + r"\b.*?(?<!\w)".join(map(re.escape, question.parts)) + r"(?!\w)"
    if question.is_row:
        return re.search(pattern.replace(r"\.\b", r"\."), text.replace("*", "")) is not None
    return re.search(pattern, " ".join(text.split())) is not None


def _read(python: str, kind: str, root: Path, folder: str) -> tuple[list[dict[str, Any]], float]:
    """The documents of a folder by one reader, and the seconds of CPU that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [python, str(ROOT / "bench" / "lib" / "read_folder.py"), kind, folder],
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [json.loads(line) for line in done.stdout.decode().splitlines()], seconds


def _checkout(commit: str, folder: str) -> Path:
    """Write the package as it was at a commit into a folder."""
    packed = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit, "rag_pg"], stdout=subprocess.PIPE, check=True
    ).stdout
    target = Path(folder, commit)
    target.mkdir()
    subprocess.run(["tar", "-x", "-C", str(target)], input=packed, check=True)
    return target


def _markitdown() -> str:
    folder = OUT / "markitdown-venv"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", MARKITDOWN], check=True)
    return str(python)


if __name__ == "__main__":
    main()
