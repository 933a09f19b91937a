"""str -> str or number.

Pure functions of strings that two packages or more need.
"""

from rag_pg.text.blocks import (
    UNDERLINE,
    Block,
    Table,
    find_lists,
    find_tables,
    head_above,
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
    told_words,
    word_set,
    words,
)
from rag_pg.text.unique import unique_object
