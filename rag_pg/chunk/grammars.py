"""Source code: which files hold it, and which grammar reads it."""

from __future__ import annotations

from dataclasses import dataclass

# Media type -> the package of its grammar, and the function in it that gives the grammar.
GRAMMARS = {
    "text/x-python": ("tree_sitter_python", "language"),
    "text/javascript": ("tree_sitter_javascript", "language"),
    "text/x-typescript": ("tree_sitter_typescript", "language_typescript"),
    "text/x-tsx": ("tree_sitter_typescript", "language_tsx"),
    "text/x-go": ("tree_sitter_go", "language"),
    "text/x-rust": ("tree_sitter_rust", "language"),
    "text/x-java": ("tree_sitter_java", "language"),
    "text/x-c": ("tree_sitter_c", "language"),
    "text/x-c++": ("tree_sitter_cpp", "language"),
}
CUT_BY_FUNCTION = {*GRAMMARS, "text/x-sql"}


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, a class and the like: rows first to last;
    path: the names around it, and its own."""

    first: int
    last: int
    path: tuple[str, ...]
