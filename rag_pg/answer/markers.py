"""An answer's text -> the same without anything that only looks like one of its citations."""

from __future__ import annotations

import re
from collections.abc import Collection

_NUMBERS = r"\d{1,6}(?:\s*[,;–-]\s*\d{1,6})*"
_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`)", re.DOTALL)
_ONLY_A_MARKER = re.compile(rf"`+\s*\[?\[\^?{_NUMBERS}\]\]?\s*`+")
_IN_COMMENT = re.compile(
    rf"(?m)((?:#|//|--|/\*)[^\n]*?)[ \t]*\[({_NUMBERS})\](?=[ \t]*(?:\*/)?[ \t]*$)"
)
_DEFINITION = re.compile(r"(?m)^[ \t]*(?:\[\^?\d{1,6}\])?:[ \t]+(?:<[^>\n]*>|\S+)[^\n]*(?:\n|\Z)")
_RAISED = re.compile(
    r"(?<=[\s.,;:!?)\"”»\]])(?:<sup\b[^>]*>\s*(?:<a\b[^>]*>)?\s*\[?\d{1,6}\]?\s*(?:</a>)?\s*</sup>"
    r"|[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]+(?!\w))",
    re.IGNORECASE,
)
_ANCHOR = re.compile(rf"<a\b[^>]*>\s*(\[{_NUMBERS}\])\s*</a>", re.IGNORECASE)
_MARKER = re.compile(
    rf"([ \t]*)!?\[\^?({_NUMBERS})\]"
    r"(\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\]\n]*\])?"
)


def without_false_markers(text: str, numbers: Collection[int]) -> str:
    """Return a text whose only markers in brackets are those of `numbers`.

    A number that is the text of a link or an image loses its address, whatever it is; definitions
    of references and footnotes, raised numbers behind a sentence, and code that is nothing but a
    marker are taken out. An index in code stays.
    """

    def marker(match: re.Match[str]) -> str:
        items = [int(n) for n in re.findall(r"\d+", match[2])]
        good = [str(n) for n in items if n in numbers and re.fullmatch(r"[\d, ]+", match[2])]
        behind = match[3] or ""
        more = marker_behind(behind) if behind.startswith("[") else ""
        return (f"{match[1]}[{', '.join(good)}]" if good else "") + more

    def marker_behind(label: str) -> str:
        """A label behind a marker is a marker too, or the text of a link that is left alone."""
        return _MARKER.sub(marker, label)

    def comment(match: re.Match[str]) -> str:
        cited = {int(n) for n in re.findall(r"\d+", match[2])}
        return match[0] if cited <= set(numbers) else match[1]

    parts = _CODE.split(text)
    for position, part in enumerate(parts):
        if position % 2:
            parts[position] = (
                "" if _ONLY_A_MARKER.fullmatch(part) else _IN_COMMENT.sub(comment, part)
            )
            continue
        plain = _ANCHOR.sub(r"\1", _RAISED.sub("", _DEFINITION.sub("", part)))
        parts[position] = _MARKER.sub(marker, plain)
    return "".join(parts).strip() if "".join(parts) != text else text
