"""a question and its conversation -> what to search for.

A follow-up is made to stand alone, and a question gets other wordings.
"""

from rag_pg.search.rewrite.rewrite import REWRITES, check_rewrites, rewrite_question
from rag_pg.search.rewrite.rewritten import Rewritten, Variant, read_history

__all__ = [
    "REWRITES",
    "Rewritten",
    "Variant",
    "check_rewrites",
    "read_history",
    "rewrite_question",
]
