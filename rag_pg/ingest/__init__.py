"""files, records, tables -> stored documents.

What the caller does to fill a collection, until its documents are searchable.
"""

from rag_pg.ingest.add import (
    CHUNK_KEYS,
    Reading,
    Remarks,
    Source,
    Stream,
    checked_chunks,
    compare_sources,
    key_notes,
    put_sources,
)
from rag_pg.ingest.copy import left_copies, temporary_copy
from rag_pg.ingest.create import open_collection
from rag_pg.ingest.gates import embed_gated_queries, embed_queries, refusal_recorded
from rag_pg.ingest.reindex import (
    Query,
    build_space,
    compare_spaces,
    create_space,
    find_space,
    rechunk,
)
from rag_pg.ingest.sync import changes, sync_location, until_back
from rag_pg.ingest.transfer import export_collection, import_collection
from rag_pg.ingest.wait import (
    Report,
    wait_until_searchable,
    work_backlog,
    work_enrichment,
    work_queue,
)
