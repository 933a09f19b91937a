"""The structure of source code: its functions and classes as blocks, read by tree-sitter (SQL:
outline_sql.py).

One table serves every language: a node is a definition, a container of definitions, or a wrapper
around either. A grammar comes from its own small package (the extra rag-pg[code]).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from rag_pg.chunk.blocks import Block
from rag_pg.chunk.grammars import GRAMMARS, Definition
from rag_pg.chunk.sql import sql_definitions
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# Functions and the like: whole, with a name.
_LEAVES = {
    "function_definition",  # Python, C, C++
    "function_declaration",  # JavaScript, Go
    "generator_function_declaration",
    "function_signature",
    "method_definition",
    "abstract_method_signature",
    "method_signature",
    "method_declaration",  # Go, Java
    "constructor_declaration",
    "compact_constructor_declaration",
    "function_item",  # Rust
    "function_signature_item",
    "macro_definition",
    "preproc_function_def",
    "type_alias_declaration",
    "type_definition",  # C
    "type_item",
    "type_spec",
}
# Classes and the like: a name, and definitions inside.
_CONTAINERS = {
    "class_definition",
    "class_declaration",
    "abstract_class_declaration",
    "interface_declaration",
    "enum_declaration",
    "record_declaration",
    "annotation_type_declaration",
    "internal_module",  # a namespace of TypeScript
    "module",
    "struct_item",
    "enum_item",
    "union_item",
    "trait_item",
    "impl_item",
    "mod_item",
    "class_specifier",
    "struct_specifier",
    "union_specifier",
    "enum_specifier",
    "namespace_definition",
}
# Around definitions, without a name of their own.
_WRAPPERS = {
    "export_statement",
    "expression_statement",
    "ambient_declaration",
    "decorated_definition",
    "template_declaration",
    "linkage_specification",
    "type_declaration",
    "preproc_if",
    "preproc_ifdef",
    "preproc_else",
    "declaration_list",
    "enum_body_declarations",
}
_FUNCTIONS = {"arrow_function", "function_expression", "generator_function", "class"}
_ASSIGNMENTS = {
    "variable_declarator",
    "public_field_definition",
    "field_definition",
    "assignment_expression",
}
_NAME_FIELDS = ("name", "property", "left")
_BEFORE = ("comment", "attribute", "decorator", "annotation")  # in the names of node types
_DEPTH = 16  # of definitions within each other; what is deeper stays with the one around it
_NAME_LENGTH = 100


def require_grammar(media_type: str) -> None:
    """Raise InvalidInput unless source code of this type can be read."""
    _parser(media_type)


def outline_code(text: str, media_type: str) -> list[Block]:
    """Return the blocks of source code, of whole lines; a block's path is the names of the classes
    and functions it is part of.

    A function is one block with the comments and decorators above it; what stands between functions
    (imports, fields) is a block too. The parts of a block are what blank lines separate.
    Raises: InvalidInput (there is no grammar, or its package is not installed).
    """
    if media_type == "text/x-sql":
        definitions = sql_definitions(text)
    else:
        tree = _parser(media_type).parse(text.encode("utf-8", "surrogatepass"))
        definitions = _definitions(tree.root_node, (), 0)
    lines = text.split("\n")
    paths: list[tuple[str, ...]] = [()] * len(lines)
    starts: set[int] = set()
    for definition in definitions:  # an outer one before its inner ones
        rows = range(definition.first, min(definition.last + 1, len(lines)))
        starts.update({definition.first, definition.last + 1})
        for row in rows:
            paths[row] = definition.path
    return list(_blocks(text, lines, paths, starts))


def _blocks(
    text: str, lines: list[str], paths: list[tuple[str, ...]], starts: set[int]
) -> Iterator[Block]:
    """Join lines to blocks. A line without a word, such as a bracket, stays with those above it."""
    path: tuple[str, ...] = paths[0]
    start = stop = 0
    for row, line in enumerate(lines):
        begins = row in starts or paths[row] != path
        if begins and any(map(str.isalnum, line)):
            if text[start:stop].strip():
                yield _block(text, start, stop, path)
            start, path = stop, paths[row]
        stop = min(stop + len(line) + 1, len(text))
    if text[start:stop].strip():
        yield _block(text, start, stop, path)


def _block(text: str, start: int, stop: int, path: tuple[str, ...]) -> Block:
    children: list[Block] = []
    begin = end = start
    for line in text[start:stop].splitlines(keepends=True):
        if not line.strip() and text[begin:end].strip():
            children.append(Block(start=begin, stop=end, kind="rigid", path=path))
            begin = end
        end += len(line)
    if text[begin:end].strip():
        children.append(Block(start=begin, stop=end, kind="rigid", path=path))
    if len(children) == 1:
        return Block(start=start, stop=stop, kind="rigid", path=path)
    return Block(start=start, stop=stop, kind="group", path=path, children=tuple(children))


# --- tree-sitter's nodes -------------------------------------------------------------------------


@cache
def _parser(media_type: str) -> Parser:
    if media_type not in GRAMMARS:
        raise InvalidInput(
            f"media type {media_type!r} is no programming language that can be cut by function; "
            f"take one of {', '.join(GRAMMARS)}, or another chunking method"
        )
    package, function = GRAMMARS[media_type]
    try:
        from tree_sitter import Language, Parser

        grammar: Any = importlib.import_module(package)
    except ImportError as exc:
        raise InvalidInput(
            "code is cut by function with the extra code, which is not installed: pip install"
            f' "rag-pg[code]", or take another chunking method ({package}: {exc})'
        ) from exc
    return Parser(Language(getattr(grammar, function)()))


def _definitions(node: Node, path: tuple[str, ...], depth: int) -> Iterator[Definition]:
    """Yield the definitions below `node`, an outer one before those inside it."""
    first: int | None = None  # row of the comments and decorators just above the next node
    last = -1
    for child in node.named_children:
        top, bottom = child.start_point.row, _last_row(child)
        begin = first if first is not None and last >= top - 1 else top
        if any(word in child.type for word in _BEFORE) and top > last:
            first, last = begin, bottom
            continue
        yield from _below(child, path, depth, begin, bottom)
        first, last = None, bottom


def _below(
    node: Node, path: tuple[str, ...], depth: int, first: int, last: int
) -> Iterator[Definition]:
    if depth > _DEPTH:
        return
    kind = node.type
    assigned = _assigned(node)
    names = _names(assigned or node)
    if names and (assigned or kind in _LEAVES or kind in _CONTAINERS):
        path = (*path, *names)
        yield Definition(first, last, path)
        body = node.child_by_field_name("body")
        if kind in _CONTAINERS and body is not None:
            inner = _definitions(body, path, depth + 1)
            yield from (one for one in inner if one.first > node.start_point.row)
    elif kind in _WRAPPERS:
        found = list(_definitions(node, path, depth + 1))
        if found and found[0].last >= found[-1].last:  # one, with what is inside it
            found[0] = replace(found[0], first=first, last=last)
        yield from found


def _last_row(node: Node) -> int:
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point.row else row


def _assigned(node: Node) -> Node | None:
    """Return the part of JavaScript that names a function:
    `f = () => …` in a statement or class."""
    for child in (node, *node.named_children[:1]):
        if child.type in _ASSIGNMENTS:
            value = child.child_by_field_name("value") or child.child_by_field_name("right")
            if value is not None and value.type in _FUNCTIONS:
                return child
    return None


def _names(node: Node) -> tuple[str, ...]:
    """Return the name of a definition; two for a method of Go: that of its receiver first."""
    if node.type == "impl_item":
        trait = _text(node.child_by_field_name("trait"))
        of = _text(node.child_by_field_name("type"))
        return (" for ".join((*trait, *of)),) if of else ()
    name = next((n for key in _NAME_FIELDS if (n := node.child_by_field_name(key))), None)
    if name is None:
        name = node.child_by_field_name("declarator")
        for _ in range(_DEPTH):
            deeper = name.child_by_field_name("declarator") if name is not None else None
            if deeper is None and name is not None and name.type == "reference_declarator":
                deeper = name.named_children[0] if name.named_children else None
            if deeper is None:
                break
            name = deeper
    receiver = node.child_by_field_name("receiver")
    return (*_receiver(receiver), *_text(name))


def _receiver(node: Node | None) -> tuple[str, ...]:
    if node is None or not node.named_children:
        return ()
    (of,) = _text(node.named_children[0].child_by_field_name("type")) or ("",)
    return (of.lstrip("*"),) if of else ()


def _text(node: Node | None) -> tuple[str, ...]:
    if node is None or node.text is None:
        return ()
    name = " ".join(node.text.decode("utf-8", "replace").split())
    return (name[:_NAME_LENGTH],) if name else ()
