"""A collection's chunking settings, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from rag_pg.errors import InvalidInput

METHODS = (
    "auto",
    "text",
    "markdown",
    "code",
    "conversation",
    "fixed",
    "sentence",
    "semantic",
    "small-to-big",
)
# What nothing measured beats is the default; "code" never cuts source code as prose because its
# grammar is not installed.
PRESETS: Mapping[str, Mapping[str, str]] = {
    "documentation": {},
    "code": {"method": "code"},
    "conversations": {"method": "conversation"},
    "papers": {},
}
OVERLAPPING = ("auto", "text", "markdown", "code", "fixed")
_OF_ONE_METHOD = {"parent_tokens": "small-to-big", "breakpoint": "semantic"}
_DEFAULT_TOKENS = 256
_SMALL_TOKENS = 64  # of a chunk that has a parent


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunking:
    """How texts are cut.

    Args:
        max_tokens: 16 to 8192, of a chunk with its header. A token also counts for at most 16
            characters, which bounds chunks of base64, wide tables and the like.
        overlap: 0 to 0.5, the share of a chunk that begins by repeating the end of the prose
            before it, from the sentence start nearest to that share. Sections never overlap.
        method: "auto" asks the media type: Markdown and reStructuredText are cut by headings, code
            by class and function, other text by paragraphs. "text" takes every text as paragraphs,
            "markdown" as Markdown, "conversation" as turns. "code" is "auto", but never cuts code
            as paragraphs because a grammar is not installed. "sentence": a chunk for each.
            "semantic": where the topic changes. "fixed": windows of whole words. "small-to-big":
            small chunks, each with the place of the larger piece that it is part of.
        parent_tokens: about how large that piece is, for small-to-big.
        breakpoint: 0 to 1, the share of gaps between sentences where the topic does not change, for
            semantic.
    Raises: InvalidInput naming the setting, its value and its range.
    """

    max_tokens: int = _DEFAULT_TOKENS
    overlap: float = 0.12
    method: str = "auto"
    parent_tokens: int = 512
    breakpoint: float = 0.9

    def __post_init__(self) -> None:
        _check("max_tokens", self.max_tokens, (int,), 16, 8192)
        _check("overlap", self.overlap, (int, float), 0, 0.5)
        if self.method not in METHODS:
            known = f"{', '.join(METHODS[:-1])} or {METHODS[-1]}"
            raise InvalidInput(f"chunking method is {self.method!r}; take {known}")
        _check("breakpoint", self.breakpoint, (int, float), 0, 1)
        _check("parent_tokens", self.parent_tokens, (int,), 16, 65536)
        if self.method == "small-to-big" and self.parent_tokens <= self.max_tokens:
            raise InvalidInput(
                f"chunking parent_tokens is {self.parent_tokens}, max_tokens is {self.max_tokens}; "
                "a parent must be larger than its chunks"
            )

    @classmethod
    def read(cls, settings: Mapping[str, object], longest: int) -> Chunking:
        """Return the settings of a collection; what is missing has a default, and max_tokens one of
        at most `longest`, which is what the embedder reads.

        Raises: InvalidInput (a setting is unknown, of the wrong type, out of range, or of another
        method).
        """
        known = [field.name for field in fields(cls)]
        if unknown := sorted(set(settings) - set(known)):
            raise InvalidInput(
                f"unknown chunking setting {unknown[0]!r}; known: {', '.join(known)}"
            )
        method = settings.get("method", "auto")
        default = _SMALL_TOKENS if method == "small-to-big" else _DEFAULT_TOKENS
        chunking = cls(**{"max_tokens": min(default, longest), **settings})  # type: ignore[arg-type]
        for key, of in _OF_ONE_METHOD.items():
            if key in settings and method != of:
                raise InvalidInput(
                    f"chunking {key} is for the method {of}, not {method}; leave it out"
                )
        if settings.get("overlap") and method not in OVERLAPPING:
            raise InvalidInput(
                f"chunking overlap is {chunking.overlap}, but the method {method} repeats nothing; "
                "leave it out"
            )
        return chunking


def preset_chunking(preset: str) -> Mapping[str, str]:
    """Return the chunking for a kind of content.

    Raises: InvalidInput (there is no such preset), naming those there are.
    """
    if preset not in PRESETS:
        raise InvalidInput(f"there is no preset {preset!r}; take {', '.join(PRESETS)}")
    return PRESETS[preset]


def _check(key: str, value: object, types: tuple[type, ...], low: float, high: float) -> None:
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
    if not fits or not isinstance(value, types):
        raise InvalidInput(f"chunking {key} is {value!r}; it must be {low} to {high}")
