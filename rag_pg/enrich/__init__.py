"""A document and a language model -> fields of the document, contexts of its chunks, the cost."""

from rag_pg.enrich.context import fit_context, write_context
from rag_pg.enrich.estimate import estimate_contexts, estimate_extraction
from rag_pg.enrich.extract import extract_fields
