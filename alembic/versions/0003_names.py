"""Internal functions begin with an underscore; columns and types have the names of the field."""

from alembic import op

revision = "0003"
down_revision = "0002"

# What depends on a function (indexes, triggers) keeps it when it is renamed;
# its body comes from sql/ afterwards.
RENAMED = """
active_space _active_space
add_error _add_error
add_request _add_request
added_metadata _added_metadata
as_boolean _as_boolean
as_numeric _as_numeric
as_text _as_text
as_timestamptz _as_timestamptz
attach_partition _attach_partition
beat_worker heartbeat
best_of _merge_topk
block_gate _block_gate
block_idfs _block_idfs
block_scores _block_scores
block_weights _block_weights
bm25_grid _bm25_grid
bm25_idf _bm25_idf
bm25_saturation _bm25_saturation
build_index _build_index
bury_lost_jobs _expire_leases
character_pairs _character_pairs
check_access _check_access
check_boosts _check_boosts
check_budget _check_budget
check_budgets _check_budgets
check_chunking _check_chunking
check_chunks _check_chunks
check_depth _check_depth
check_fields _check_fields
check_jobs _check_jobs
check_languages _check_languages
check_maintenance _check_maintenance
check_metadata _check_metadata
check_page _check_page
check_pattern _check_pattern
check_query _check_query
check_source_key _check_source_key
check_sources _check_sources
check_vectors _check_vectors
chunk_counts _chunk_counts
chunks_of_slots _chunks_of_slots
clear_keyword _clear_keyword
collection_tables _collection_tables
column_pairs _column_pairs
compact_keyword _compact_keyword
compare_vectors _exact_search
compile_branches _compile_branches
compile_column _compile_column
compile_column_operator _compile_column_operator
compile_equal _compile_equal
compile_field _compile_field
compile_like _compile_like
compile_object _compile_object
compile_operator _compile_operator
compile_range _compile_range
cosines _cosine_similarities
current_budget _current_budget
default_ef_search _default_ef_search
define_source _define_source
dissolve_block _dissolve_block
distance_operator _distance_operator
distinct_chunks _distinct_chunks
document_column _document_column
document_order _document_order
document_query _document_query
document_uris _document_uris
drop_source_triggers _drop_source_triggers
end_backlog _end_backlog
exact_match_limit _exact_match_limit
exact_search_limit _exact_search_limit
expect_space assert_active_space
factor_sum _factor_sum
field_expression _field_expression
field_index _field_index
field_name _field_name
field_operators _field_operators
field_steps _field_steps
field_value _field_value
filter_chunks _filter_chunks
filter_share _filter_share
forget_sources _forget_sources
free_block _free_block
frequency_thresholds _frequency_thresholds
fuse _fuse
gather _collect_candidates
growing_block _growing_block
has_index _has_index
has_language _has_language
has_scalar _has_scalar
held_back throttled_spaces
held_job _leased_job
identifiers _identifiers
index_chunks _index_chunks
index_memory _index_memory
index_name _index_name
index_state _index_state
index_statement _index_statement
is_source_error _is_source_error
join_conditions _join_conditions
joined_weights _joined_weights
judge_hits _ranking_metrics
kept_spaces _live_spaces
key_operator _key_operator
keyword_block_size _keyword_block_size
keyword_frequent_from _keyword_frequent_from
keyword_lists _keyword_lists
keyword_lock _keyword_lock
keyword_merge_size _keyword_merge_size
keyword_seal_size _keyword_seal_size
keyword_term_limit _keyword_term_limit
language_name _language_name
lead_weight _lead_weight
least_bound _least_bound
lex_texts _lex_texts
lexeme_count _lexeme_count
lexeme_list _lexeme_list
lexemes _lexemes
list_indexed_matches _list_indexed_matches
list_matches _list_matches
list_pays _prefer_listing
lock_keyword _lock_keyword
maintain_keywords _maintain_keywords
make_hits _make_hits
make_request _check_search_arguments
make_request_of_worker _call_worker
mark_text _mark_text
mark_word _mark_word
match_query _match_query
mean_length _mean_length
merge_changes _merge_changes
merge_keyword _merge_keyword
merge_when_due _merge_when_due
missing_vectors _missing_vectors
nearness _distance_expression
next_documents _next_documents
note_changes _record_changes
notify_ready _notify_ready
open_space _open_space
pairs_spelled_out _pairs_spelled_out
parser_text _parser_text
plan_vector _plan_vector
posting _posting
posting_saturation _posting_saturation
prepare_keyword _prepare_keyword
primary_key _primary_key
provider_of _provider_of
put_source_rows _put_source_rows
query_languages _query_languages
query_terms _query_terms
queue_job _queue_job
queue_jobs _queue_jobs
queue_missing_vectors _queue_missing_vectors
quoted_lexeme _quoted_lexeme
rank_hybrid _rank_hybrid
rank_keyword _rank_keyword
rank_listed _rank_by_listing
rank_prepared _rank_prepared
rank_vector _rank_vector
read_answer _read_answer
read_changes _read_changes
read_hashes _read_hashes
read_job job_input
read_lexemes _read_lexemes
read_postings _read_postings
read_source _read_source
read_vectors _read_vectors
read_weights _read_weights
record_metadata _record_metadata
remove_chunks _remove_chunks
remove_requests _remove_requests
remove_source_documents _remove_source_documents
replace_chunks _replace_chunks
requeue_job _requeue_job
require_collection _require_collection
require_field _require_field
require_following _require_following
require_lease _require_lease
require_no_transaction _require_no_transaction
require_source _require_source
require_space _require_space
required_words _required_words
reweigh_postings _reweigh_postings
rrf _rrf
sample_cut _sample_cut
sample_slots _sample_slots
save_document _save_document
scan_blocks _scan_blocks
score_chunks _score_chunks
seal_block _seal_block
seal_frequent _seal_frequent
search_json _search_json
settle _refine_topk
shared_metadata _shared_metadata
source_columns _source_columns
source_relation _source_relation
source_sql _source_sql
source_uri _source_uri
sources_of _sources_of
space_options _space_options
step_source _advance_source
store_vectors _store_vectors
strong_terms _strong_terms
table_name _table_name
term_query _term_query
undeclared_fields _undeclared_fields
unfinished pending_documents
unindex_chunks _unindex_chunks
unspaced_script _unspaced_script
uri_pieces _uri_pieces
vector_scan_limit _vector_scan_limit
vector_share _fusion_alpha
walk_index _ann_search
weak_share _weak_share
weight_basis _weight_basis
weight_drift _weight_drift
weights_hold _idf_within_tolerance
whole_text _whole_text
wrap_operand _wrap_operand
"""
RENAME_ROUTINES = """
DO $$
DECLARE
    _routine record;
BEGIN
    FOR _routine IN
        SELECT p.oid::regprocedure AS signature, r.new_name
        FROM unnest(ARRAY[{old}], ARRAY[{new}]) AS r (old_name, new_name)
        JOIN pg_proc AS p ON p.pronamespace = 'rag'::regnamespace AND p.proname = r.old_name
    LOOP
        EXECUTE format('ALTER ROUTINE %s RENAME TO %I', _routine.signature, _routine.new_name);
    END LOOP;
END $$
"""


STATEMENTS = (
    "ALTER TYPE rag.request RENAME TO search_arguments",
    "ALTER TABLE rag.requests RENAME TO worker_calls",
    "ALTER TABLE rag.workers RENAME COLUMN held TO leased_jobs",
    "ALTER TABLE rag.keyword_postings RENAME COLUMN held TO posting_or_count",
    "ALTER TYPE rag.keyword_query RENAME ATTRIBUTE times TO query_frequencies",
    """
    CREATE TYPE rag.collection_info AS (
        collection_id integer,
        name text,
        model text,
        dimensions integer,
        distance text,
        language text,
        chunking jsonb,
        fingerprint text,
        space_id integer
    )
    """,
    """
    CREATE TYPE rag.finding AS (
        check_name text,
        status text,
        detail text,
        remedy text
    )
    """,
    """
    CREATE TYPE rag.status_line AS (
        topic text,
        name text,
        state text,
        detail text
    )
    """,
)


def upgrade() -> None:
    pairs = [line.split() for line in RENAMED.strip().splitlines()]
    old = ", ".join(f"'{name}'" for name, _ in pairs)
    new = ", ".join(f"'{name}'" for _, name in pairs)
    op.execute(RENAME_ROUTINES.replace("{old}", old).replace("{new}", new))
    for statement in STATEMENTS:
        op.execute(statement)
