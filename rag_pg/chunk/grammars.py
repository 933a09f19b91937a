"""Source code: which files hold it, and which grammar reads it."""

from __future__ import annotations

from dataclasses import dataclass

# Media type -> the suffixes of its files.
_SUFFIXES = {
    "text/x-python": (".py", ".pyi"),
    "text/javascript": (".js", ".mjs", ".cjs", ".jsx"),
    "text/x-typescript": (".ts", ".mts", ".cts"),
    "text/x-tsx": (".tsx",),
    "text/x-go": (".go",),
    "text/x-rust": (".rs",),
    "text/x-java": (".java",),
    "text/x-c": (".c", ".h"),
    "text/x-c++": (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"),
    "text/x-sql": (".sql",),
    # Without a grammar here: cut as text.
    "text/x-csharp": (".cs",),
    "text/x-kotlin": (".kt", ".kts"),
    "text/x-lua": (".lua",),
    "text/x-php": (".php",),
    "text/x-ruby": (".rb",),
    "text/x-scala": (".scala",),
    "text/x-sh": (".sh", ".bash", ".zsh"),
    "text/x-swift": (".swift",),
    "text/x-toml": (".toml",),
    "text/x-yaml": (".yaml", ".yml"),
}

CODE = {suffix: media_type for media_type, all_ in _SUFFIXES.items() for suffix in all_}

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
    """A function, a class and the like: rows first to last; path: the names around it, and its own."""

    first: int
    last: int
    path: tuple[str, ...]
