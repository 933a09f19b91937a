"""What is told of documents that failed, were skipped or lost something, in a screenful."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rag_pg.console import as_json, count_of, failed, note, shortened, width
from rag_pg.load import display_path

if TYPE_CHECKING:
    from rag_pg.types import AddReport, LoadFailure, SyncReport

_MOST_LINES = 17  # beside the result; what takes more is told by kinds
_KINDS, _NOTES = 14, 4  # kinds that have a line each, and of these so many of notes
_REASON = 46  # columns of a line for a reason, the others for names
_SUFFIXES = 6  # of skipped files that are named
_DETAIL = re.compile(r"(?: \(|[:;,] ).*")
_SUFFIX = re.compile(r"\.\w+ (?=file\b)")
_VARIES = re.compile(r"\.\w+(?: |$)|[\d,]*\d")


def tell_remarks(report: AddReport | SyncReport) -> dict[str, Any]:
    """Tell what failed, was skipped and left out; return it for --json, each with its reason."""
    removed = getattr(report, "removed_characters", {})
    notes = [*report.notes]
    notes += [f"{uri}: {n} unreadable characters were removed" for uri, n in removed.items()]
    told = [f"failed: {failure}" for failure in report.failures] + [f"note: {n}" for n in notes]
    if sum(-(-len(line) // width()) for line in told) <= _MOST_LINES or as_json.get():
        failures = [*map(str, report.failures)]
    else:
        notes = [*_by_kind([remark.partition(": ")[::2] for remark in notes], _NOTES)]
        failures = [*_by_kind([*map(_parts, report.failures)], _KINDS - len(notes))]
        notes.append("--json names each file with its whole reason")
    for line in failures:
        failed(line)
    for line in notes:
        note(line)
    if report.skipped:
        kinds = sorted(report.skipped.items(), key=lambda item: (-item[1], item[0]))
        shown = [f"{count} {kind}" for kind, count in kinds[:_SUFFIXES]]
        if others := sum(count for _, count in kinds[_SUFFIXES:]):
            shown.append(f"{others} of other types")
        note(f"skipped: {', '.join(shown)}")
    return {
        "failed": len(report.failures),
        "skipped": dict(report.skipped),
        "failures": [{"uri": one.uri, "error": one.error} for one in report.failures],
    }


def _parts(failure: LoadFailure) -> tuple[str, str]:
    """The uri of what failed, and the reason without the name."""
    named = display_path(failure.path) if failure.path else ""
    return failure.uri, failure.error.removeprefix(named).lstrip(" ,:")


def _by_kind(remarks: Sequence[tuple[str, str]], most: int) -> Iterator[str]:
    """Yield a line for each kind of reason, of what there is most of first: how many, the reason,
    and names as far as the line goes."""
    kinds: dict[str, list[tuple[str, str]]] = {}
    for uri, reason in remarks:
        kinds.setdefault(_VARIES.sub("", _DETAIL.sub("", reason)), []).append((uri, reason))
    ordered = sorted(kinds.values(), key=len, reverse=True)
    for found in ordered[:most]:
        reasons = {reason for _, reason in found}
        if len(reasons) > 1:
            reasons = {_DETAIL.sub("", reason) for reason in reasons}
        reason = (
            reasons.pop() if len(reasons) == 1 else _SUFFIX.sub("", _DETAIL.sub("", found[0][1]))
        )
        names = ", ".join(dict.fromkeys(PurePath(uri).name for uri, _ in found))
        line = f"{count_of(len(found), 'file')}: {shortened(reason, _REASON)}: {names}"
        yield shortened(line, width() - len("failed: "))
    if rest := ordered[most:]:
        yield f"{sum(map(len, rest))} for {len(rest)} other reasons"
