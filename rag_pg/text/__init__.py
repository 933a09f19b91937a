"""str -> str or number.

Pure functions of strings that two packages or more need.
"""

from rag_pg.text.blocks import (
    UNDERLINE,
    Block,
    Table,
    find_lists,
    find_tables,
    is_head,
    item_mark,
    named_cells,
    read_cells,
)
from rag_pg.text.clean import clean_text, undecoded
from rag_pg.text.compared import compared_by, compared_things
from rag_pg.text.embedded import embedded_text, in_context
from rag_pg.text.fence import BAR, RULE, Fence, neutralise
from rag_pg.text.keys import KEY, new_keys
from rag_pg.text.links import Markup, Span, find_markup
from rag_pg.text.markdown import (
    Kind,
    MarkdownNode,
    code_spans,
    first_title,
    parse_markdown,
    plain_heading,
)
from rag_pg.text.near import drop_near_duplicates
from rag_pg.text.plain import plain
from rag_pg.text.sentences import (
    FENCES,
    LONGEST,
    Sentence,
    clause_starts,
    find_labels,
    find_terms,
    split_sentences,
)
from rag_pg.text.separated import separated_rows
from rag_pg.text.tokens import (
    FUNCTION_WORDS,
    common_start,
    content_words,
    estimate_tokens,
    has_word,
    is_among,
    is_function_word,
    same_word,
    words,
)

__all__ = [
    "BAR",
    "FENCES",
    "FUNCTION_WORDS",
    "KEY",
    "LONGEST",
    "RULE",
    "UNDERLINE",
    "Block",
    "Fence",
    "Kind",
    "MarkdownNode",
    "Markup",
    "Sentence",
    "Span",
    "Table",
    "clause_starts",
    "clean_text",
    "code_spans",
    "common_start",
    "compared_by",
    "compared_things",
    "content_words",
    "drop_near_duplicates",
    "embedded_text",
    "estimate_tokens",
    "find_labels",
    "find_lists",
    "find_markup",
    "find_tables",
    "find_terms",
    "first_title",
    "has_word",
    "in_context",
    "is_among",
    "is_function_word",
    "is_head",
    "item_mark",
    "named_cells",
    "neutralise",
    "new_keys",
    "parse_markdown",
    "plain",
    "plain_heading",
    "read_cells",
    "same_word",
    "separated_rows",
    "split_sentences",
    "undecoded",
    "words",
]
