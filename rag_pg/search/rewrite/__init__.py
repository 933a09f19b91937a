"""a question and its conversation -> what to search for.

A follow-up is made to stand alone, a filter is read from a question, and it gets other wordings.
"""

from rag_pg.search.rewrite.dates import find_period
from rag_pg.search.rewrite.expansion import EXPANSIONS
from rag_pg.search.rewrite.fields import MOST_VALUES, Field, Metadata, test_in_words
from rag_pg.search.rewrite.filters import combine
from rag_pg.search.rewrite.rewrite import REWRITES, check_rewrites, local_time, rewrite_question
from rag_pg.search.rewrite.rewritten import Rewritten, Variant, read_history
from rag_pg.search.rewrite.route import choose_route
