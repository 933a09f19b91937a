"""Files of questions and judgements -> a set, and a set or a run -> files."""

from rag_pg.evaluation.files.cells import FIELDS
from rag_pg.evaluation.files.exporting import export_run, export_set
from rag_pg.evaluation.files.importing import import_set, put_queries
