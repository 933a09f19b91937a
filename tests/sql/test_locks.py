"""Among thirty collections, work on one locks and plans no partition of another; and all calls
lock the tables of one in orders that fit together.

A statement locks every partition that its plan reaches: at planning, or, a cached plan, whenever it
runs. So what a transaction holds in pg_locks is what its statements planned.
"""

import contextlib
import re
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import psycopg
import pytest
from paths import ROOT
from patience import wait_until
from sql_calls import public_names

Connection = psycopg.Connection[Any]
OTHERS = 29
CHUNKS = (
    '[{"content": "alpha beta", "embedding": [1, 0, 0]}, {"content": "gamma", "embedding": [0, 1,'
    " 0]}]"
)
EDITED = CHUNKS.replace("gamma", "delta")
ALL_SEARCH = "'own', 'alpha w7', '[1, 0.5, 0]'"
FILTER = '\'{"half": 1, "number": {"$gte": 3}}\''
ONE_CHUNK = "(SELECT min(chunk_id) FROM rag.embeddings WHERE space_id = 1)"
SPACE = "(SELECT s FROM rag.spaces AS s WHERE space_id = 1)"

CALIBRATION = """'{"features": [], "answerable_weights": [0], "right_weights": [0],
    "evidence_floor": 0,
    "thresholds": [0], "answered": [1], "correct": [1], "question_count": 1, "answerable_count": 1,
    "refuse_below": 0, "answer_from": 0}'"""

EXPORTED = "rag._export_page('own', NULL, 1000)"
BEGIN_IMPORT = "rag._begin_import('imported', rag._export_settings('own'), 'e', 1, 900)"
IMPORT_FILE = f"""rag._import_file('imported', 'e', 1, 'documents',
    (SELECT jsonb_agg(p.line::jsonb) FROM {EXPORTED} AS p
     WHERE p.chunk_id IS NULL),
    (SELECT jsonb_agg(p.line::jsonb || jsonb_build_object('chunk_id', p.chunk_id, 'document_id',
         p.document_id, 'metadata', '{{}}'::jsonb, 'enriched', NULL)) FROM {EXPORTED} AS p
     WHERE p.chunk_id IS NOT NULL AND p.line IS NOT NULL),
    (SELECT array_agg(p.chunk_id) FROM {EXPORTED} AS p WHERE p.space IS NOT NULL),
    (SELECT array_agg(p.space) FROM {EXPORTED} AS p WHERE p.space IS NOT NULL),
    (SELECT array_agg(p.embedding) FROM {EXPORTED} AS p WHERE p.space IS NOT NULL))"""

# What each public function is called with; several calls where it takes several ways.
CALLS: dict[str, tuple[str, ...]] = {
    "create_collection": (
        "rag.create_collection('newest', 'none', 3)",
        "rag.create_collection('own', 'none', 3, language => 'simple')",
    ),
    "list_collections": ("rag.list_collections()",),
    "get_collection": ("rag.get_collection('own')",),
    "collection_stats": ("rag.collection_stats('own')",),
    "alter_collection": ("rag.alter_collection('own', description => 'notes')",),
    "set_chunking": ("rag.set_chunking('own', '{\"max_tokens\": 100}', force => true)",),
    "drop_collection": ("rag.drop_collection('own')",),
    "drop_vector_index": ("rag.drop_vector_index('own')",),
    "build_vector_index": (
        "rag.drop_vector_index('own'); SELECT * FROM rag.build_vector_index('own')",
    ),
    "create_space": ("rag.create_space('own', 'another', 4)",),
    "list_spaces": ("rag.list_spaces('own')",),
    "collection_version": ("rag.collection_version('own')",),
    "_read_cache": ("rag._read_cache('search', ARRAY['a'::bytea], 'own')",),
    "_read_similar": ("rag._read_similar('own', 'a', '[1, 0, 0]', 0.9)",),
    "_write_cache": (
        "rag._write_cache('search', ARRAY['a'::bytea], ARRAY['b'::bytea], '1 day', 1000, 'own',"
        " rag._cache_version('own'))",
    ),
    "_count_cache_uses": ("rag._count_cache_uses('[]', ARRAY['a'::bytea])",),
    "cache_stats": ("rag.cache_stats()",),
    "clear_cache": ("rag.clear_cache('own')",),
    "measure_spaces": ("rag.measure_spaces(ARRAY['own'])",),
    "compare_spaces": (
        """rag.compare_spaces('own',
           '[{"query": "q", "embeddings": {"1": [1, 0, 0]}, "relevant": ["d1"]}]')""",
    ),
    "activate_space": ("rag.activate_space(%(second)s, force => true)",),
    "rollback_space": (
        (
            "rag.activate_space(%(second)s, force => true); SELECT * FROM"
            " rag.rollback_space('own', true)"
        ),
    ),
    "drop_space": ("rag.drop_space(%(second)s)",),
    "_active_space": (
        (
            "rag._active_space((SELECT c.collection_id FROM rag.collections AS c"
            " WHERE c.name = 'own'))"
        ),
    ),
    "_assert_active_space": ("rag._assert_active_space('own', 1)",),
    "put_document": (
        "rag.put_document('own', 'new', 'text', metadata => '{\"a\": 1}')",
        "rag.put_document('own', 'd1', 'other text')",
        "rag.put_document('own', 'queued', 'some text', metadata => '{\"a\": 1}')",
    ),
    "put_documents": (
        """rag.put_documents('own',
        '[{"uri": "x", "content": "y"}, {"uri": "d2", "content": "y"}]')""",
    ),
    "wait_until_searchable": (
        "rag.wait_until_searchable('own', ARRAY[rag.document_id('own', 'd1')], 0)",
    ),
    "get_document": ("rag.get_document('own', 'd1')",),
    "get_documents": ("rag.get_documents('own', '{d1,queued,never}')",),
    "list_chunks": ("rag.list_chunks('own', '{d1,queued,never}')",),
    "get_embeddings": (f"rag.get_embeddings('own', ARRAY[{ONE_CHUNK}])",),
    "delete_where": (
        f"rag.delete_where('own', {FILTER})",
        "rag.delete_where('own', '{}', everything => true)",
    ),
    "merge_metadata": (
        f"rag.merge_metadata('own', {FILTER}, '{{\"half\": 3}}')",
        "rag.merge_metadata('own', '{}', '{}', '{half}')",
    ),
    "load_chunks": (
        """rag.load_chunks('own', '[{"uri": "d1", "content": "y"}, {"uri": "l", "content": "z",
        "embedding": [1, 0, 1]}]')""",
    ),
    "request_answer": ("rag.request_answer('own', 'why?')",),
    "answer_of": (
        "rag.request_answer('own', 'why?'); SELECT rag.answer_of((SELECT (arguments ->>"
        " 'answer_key')::uuid FROM rag.worker_calls WHERE arguments ? 'answer_key' LIMIT 1))",
    ),
    "list_documents": (
        "rag.list_documents('own')",
        f"rag.list_documents('own', {FILTER})",
        "rag.list_documents('own', uri_prefix => 'd')",
    ),
    "repair_collection": ("rag.repair_collection('own')",),
    "delete_document": ("rag.delete_document('own', 'd1')", "rag.delete_document('own', 'queued')"),
    "delete_documents": ("rag.delete_documents('own', '{d1,queued,never}')",),
    "put_chunks": (
        f"rag.put_chunks('own', 'newest', '{CHUNKS}')",
        (
            f"rag.put_chunks('own', 'newest', '{CHUNKS}'); SELECT rag.put_chunks('own', 'newest',"
            f" '{EDITED}')"
        ),
        "rag.put_chunks('own', 'd1', '[{\"content\": \"without a vector\"}]')",
    ),
    "load_staged": (
        """rag._assert_active_space('own', 1);
        CREATE TEMPORARY TABLE staged_chunks (
            position bigint, uri text, title text, heading text, content text,
            metadata jsonb, embedding halfvec) ON COMMIT DROP;
        INSERT INTO staged_chunks
        SELECT g, 's' || g / 2, '', '', 'staged ' || g, '{}', ARRAY[1, g, 2]::real[]::halfvec
        FROM generate_series(1, 20) AS g;
        SELECT * FROM rag.load_staged('own')""",
        # so many that its index is taken away meanwhile
        """rag.create_collection('newest', 'none', 3);
        CREATE TEMPORARY TABLE staged_chunks (
            position bigint, uri text, title text, heading text, content text,
            metadata jsonb, embedding halfvec) ON COMMIT DROP;
        INSERT INTO staged_chunks
        SELECT g, 's' || g / 9, '', '', 'staged ' || g, '{}', ARRAY[1, g, 2]::real[]::halfvec
        FROM generate_series(1, 1000) AS g;
        SELECT * FROM rag.load_staged('newest')""",
    ),
    "search": (
        f"rag.search({ALL_SEARCH})",
        f"rag.search({ALL_SEARCH}, metadata_filter => {FILTER})",
        f"""rag.search({ALL_SEARCH}, diversity => 0.5, per_document => 1, fusion => 'rrf',
            boosts => '[{{"filter": {{"half": 1}}, "multiply": 2}},
                {{"recency": "day", "half_life": "1 day"}}]')""",
        "rag.search('euclid', 'alpha', '[1, 0.5, 0]')",
    ),
    "search_keyword": (
        "rag.search_keyword('own', 'alpha w7')",
        f"rag.search_keyword('own', 'alpha w7', 10, {FILTER}, 'all')",
        "rag.search_keyword('own', 'alpha w7', 200)",
    ),
    "search_vector": (
        "rag.search_vector('own', '[1, 0.5, 0]')",
        f"rag.search_vector('own', '[1, 0.5, 0]', 10, {FILTER})",
        "rag.search_vector('own', '[1, 0.5, 0]', exact_below => 0)",
        "rag.search_vector('own', '[1, 0.5, 0]', 10, '{\"half\": 1}', exact_below => 0)",
    ),
    "search_variants": (
        f"""rag.search_variants('own', '{{alpha w7, w9}}', ARRAY['[1, 0.5, 0]', NULL]::halfvec[],
            metadata_filter => {FILTER}, options => '{{"diversity": 0.5, "per_document": 1}}')""",
    ),
    "more_like": (
        f"rag.more_like('own', {ONE_CHUNK})",
        f"rag.more_like('own', {ONE_CHUNK}, same_document => false)",
    ),
    "expand": (
        f"rag.expand('own', ARRAY[{ONE_CHUNK}])",
        f"rag.expand('own', ARRAY[{ONE_CHUNK}], upto => 'document')",
    ),
    "explain_search": (f"rag.explain_search({ALL_SEARCH}, metadata_filter => {FILTER})",),
    "why_not": (
        f"rag.why_not('own', {ONE_CHUNK}, 'alpha w7', '[1, 0.5, 0]', metadata_filter => {FILTER})",
    ),
    "_explain_keyword": ("rag._explain_keyword('own', 'alpha w7')",),
    "_language_name": ("rag._language_name('english'::regconfig)",),
    "detect_language": ("rag.detect_language('the alpha of the beta')",),
    "match_terms": ("rag.match_terms('own', 'alpha w7', ARRAY['alpha'])",),
    "_mistaken_keys": ("rag._mistaken_keys('{titel}', '{title}')",),
    "_find_language": ("rag._find_language('english')",),
    "_score_chunks": (
        f"rag._score_chunks(rag._prepare_keyword(1, 'alpha w7'), ARRAY[{ONE_CHUNK}])",
    ),
    "_boost": (
        """rag._boost(1, ARRAY[1, 2], ARRAY[1.0, 2.0],
        '[{"recency": "day", "half_life": "1 day"}]')""",
    ),
    "_diversify": (f"rag._diversify({SPACE}, ARRAY[1, 2, 3], ARRAY[1.0, 2.0, 3.0], 2, 0.5)",),
    "_auto_weight": ("rag._auto_weight(0.1, 0.2)",),
    "count_documents": ("rag.count_documents('own')", f"rag.count_documents('own', {FILTER})"),
    "facets": ("rag.facets('own', 'half')", f"rag.facets('own', 'number', {FILTER})"),
    "select_documents": (
        "rag.select_documents('own', order_by => 'number')",
        f"rag.select_documents('own', {FILTER})",
    ),
    "list_versions": ("rag.list_versions('own', 'queued')",),
    "document_at": ("rag.document_at('own', 'queued', now())",),
    "diff_versions": ("rag.diff_versions('own', 'queued', 1, 1)",),
    "aggregate_documents": (
        """rag.aggregate_documents('own', '{"n": {"count": "*"}, "sum": {"sum": "number"}}')""",
        f"""rag.aggregate_documents('own', '{{"n": {{"count": "*"}}}}', '{{half}}', {FILTER})""",
    ),
    "describe_metadata": (
        "rag.describe_metadata('own')",
        f"rag.describe_metadata('own', {FILTER})",
    ),
    "find_values": ("rag.find_values('own', 'day', '2026')",),
    "expose_view": ("rag.expose_view('public.titles', 'An article', 'again')",),
    "list_views": ("rag.list_views()",),
    "query_view": ("rag.query_view('titles')",),
    "hide_view": ("rag.hide_view('titles')",),
    "_view_warnings": ("rag._view_warnings('public.titles'::regclass)",),
    "_view_timeout": ("rag._view_timeout('titles')",),
    "keep_original": ("rag.keep_original('own', 'd1', 'd1.txt', 'a file', 'text/plain')",),
    "get_original": ("rag.get_original('own', 'd1')",),
    "check_citation": (f"rag.check_citation('own', {ONE_CHUNK}, 'a quotation of alpha')",),
    "_check_citations": (
        f"""rag._check_citations('own', jsonb_build_array(
            jsonb_build_object('chunk_ids', jsonb_build_array({ONE_CHUNK}), 'uri', 'd1',
                'quote', 'a quotation of alpha'),
            jsonb_build_object('chunk_ids', '[999999]'::jsonb, 'uri', 'd1', 'quote',
                'a quotation of alpha'),
            jsonb_build_object('chunk_ids', '[999999]'::jsonb, 'quote', 'a quotation')))""",
        f"rag.check_citation('own', {ONE_CHUNK}, 'a quotation of alpha', 7)",
    ),
    "_holds_quote": ("rag._holds_quote('a text of alpha', 'a quotation of alpha')",),
    "_keep_verdict": ("rag._keep_verdict('a', 'v', '{}', 0)",),
    "_read_verdict": ("rag._read_verdict('a', 'v')",),
    "_ranked_documents": ("rag._ranked_documents(1)",),
    "_answers_to_judge": ("rag._answers_to_judge(1)",),
    "_relevant_chunks": ("rag._relevant_chunks('own', 'faq', 'q1', '{1,2}')",),
    "_missing_documents": ("rag._missing_documents('own', '{a,b}')",),
    "_create_copy": ("rag._create_copy('own', 'own.copy', 'none', 3, '{}')",),
    "_export_settings": ("rag._export_settings('own')",),
    "_export_page": (EXPORTED,),
    "_export_rows": (
        "rag._export_rows('own', 'versions', NULL, NULL, 1000)",
        "rag._export_rows('own', 'originals', NULL, NULL, 1000)",
    ),
    "_begin_import": (BEGIN_IMPORT,),
    "_import_file": (f"{BEGIN_IMPORT}; SELECT * FROM {IMPORT_FILE}",),
    "_finish_import": (
        f"{BEGIN_IMPORT}; SELECT * FROM {IMPORT_FILE}; SELECT * FROM"
        " rag._finish_import('imported', 'e', rag._export_settings('own'), 1)",
    ),
    "_search_part": (f"rag._search_part({ALL_SEARCH}, 10, {FILTER}, '{{}}')",),
    "_fuse_parts": (
        f"rag._fuse_parts({ALL_SEARCH}, 10, {FILTER}, '{{}}', '{{1, NULL}}', '{{0.1, 0.2}}',"
        " '{NULL, 1}', '{NULL, 2}')",
    ),
    "_boost_part": (
        "rag._boost_part('own', '{1}', '{1}', '[{\"filter\": {\"half\": 1}, \"add\": 1}]')",
    ),
    "_copy_documents": ("rag._copy_documents('own', 'own', '')",),
    "_require_measured": ("rag._require_measured('{}', 'a change')",),
    "_equal_runs": ("rag._equal_runs('faq', 'own')",),
    "_latest_answers": ("rag._latest_answers('faq', 'own')",),
    "_file_eval_run": ("rag._file_eval_run(rag.start_eval_run('faq', 'own'), 'own', '{}', 1)",),
    "_sample_chunks": ("rag._sample_chunks('own', 5, 1, 1)",),
    "record_usage": (
        """rag.record_usage('own', 'single', '[{"kind": "answer", "model": "m"}]')""",
    ),
    "usage_report": ("rag.usage_report(by => '{day,model}')",),
    "log_answer": ("rag.log_answer('own', gen_random_uuid(), 'why', '{\"text\": \"so\"}')",),
    "list_answers": ("rag.list_answers('own')",),
    "log_query": ("rag.log_query('own', 'why', '[1, 2, 3]')",),
    "replay_queries": ("rag.replay_queries('own', '{\"fusion\": \"rrf\"}')",),
    "measure_recall": ("rag.measure_recall('own', 3)",),
    "list_recall": ("rag.list_recall('own')",),
    "feedback": ("rag.feedback((SELECT answer_id FROM rag.answer_log), 1)",),
    "replay_answer": ("rag.replay_answer((SELECT answer_id FROM rag.answer_log))",),
    "add_logged_queries": ("rag.add_logged_queries('asked', 'own')",),
    "erase": ("rag.erase('own', 'queued')", "rag.erase('own', 'd1')", "rag.erase('own', 'never')"),
    "index_field": (
        "rag.index_field('own', 'half', 'numeric')",
        "rag.index_field('own', 'number', 'numeric')",
    ),
    "unindex_field": ("rag.unindex_field('own', 'number')",),
    "list_fields": ("rag.list_fields('own')",),
    "field_index_statement": ("rag.field_index_statement('own', 'half', 'numeric')",),
    "_compile_filter": (f"rag._compile_filter(1, {FILTER})",),
    "take_jobs": ("rag.take_jobs(10)",),
    "job_input": ("rag.job_input(%(job)s, %(lease)s)",),
    "store_chunks": (
        (
            'rag.store_chunks(%(job)s, %(lease)s, 1, \'[{"content": "c", "start": 0, "stop": 1,'
            ' "embedding": [1, 0, 0]}]\')'
        ),
        "rag.store_chunks(%(job)s, %(lease)s, 7, '[]')",
    ),
    "chunks_to_embed": ("rag.chunks_to_embed(%(embed_job)s, %(embed_lease)s)",),
    "store_embeddings": (
        """rag.store_embeddings(%(embed_job)s, %(embed_lease)s, ARRAY(
            SELECT chunk_id FROM rag.chunks_to_embed(%(embed_job)s, %(embed_lease)s)),
            ARRAY['[1, 0, 0]']::halfvec[])""",
    ),
    "extend_jobs": ("rag.extend_jobs(ARRAY[%(job)s], ARRAY[%(lease)s]::uuid[])",),
    "finish_job": ("rag.finish_job(%(job)s, %(lease)s)",),
    "fail_job": ("rag.fail_job(%(job)s, %(lease)s, 'broken')",),
    "retry_jobs": (
        "rag.retry_jobs('own')",
        "rag.retry_jobs(uri_like => '%%', include_waiting => true)",
    ),
    "list_jobs": ("rag.list_jobs('own')", "rag.list_jobs()"),
    "explain_job": ("rag.explain_job(%(job)s)",),
    "job_stats": ("rag.job_stats('own')", "rag.job_stats()"),
    "pending_documents": ("rag.pending_documents('own', ARRAY[rag.document_id('own', 'queued')])",),
    "queue_backlog": (
        "rag.queue_backlog(10)",
        "rag.queue_backlog(100000); SELECT * FROM rag.queue_backlog()",
    ),
    "set_enrichment": ("""rag.set_enrichment('own', '[{"field": "f", "pattern": "alpha"}]')""",),
    "preview_enrichment": (
        """rag.preview_enrichment('own', '[{"field": "f", "pattern": "a", "scope": "chunk"}]')""",
    ),
    "set_extraction": ("""rag.set_extraction('own', '{"by": {"type": "text"}}', 'm')""",),
    "set_contexts": ("rag.set_contexts('own', model => 'm')",),
    "estimate_enrichment": ("rag.estimate_enrichment('own')",),
    "extraction_input": ("rag.extraction_input(%(extract_job)s, %(extract_lease)s)",),
    "store_extraction": (
        """rag.store_extraction(%(extract_job)s, %(extract_lease)s, 1, 1, '{"by": "Ada"}')""",
    ),
    "context_input": ("rag.context_input(%(context_job)s, %(context_lease)s)",),
    "store_contexts": (
        """rag.context_input(%(context_job)s, %(context_lease)s) AS i, rag.store_contexts(
            %(context_job)s, %(context_lease)s, i.source, i.chunk_ids[1:1], '{about}', i.space_id,
            '{"[1, 0, 0]"}')""",
    ),
    "get_enrichment": ("rag.get_enrichment('own')",),
    "enrich_document": ("rag.enrich_document(%(enrich_job)s, %(enrich_lease)s)",),
    "space_settings": ("rag.space_settings('own')",),
    "put_eval_set": ("rag.put_eval_set('faq', 'what users ask')",),
    "put_eval_queries": ("""rag.put_eval_queries('faq', '[{"question": "a"}]')""",),
    "put_eval_embeddings": ("""rag.put_eval_embeddings('faq', 'f/1', '{q1}', '{"[1,0,0]"}')""",),
    "list_eval_sets": ("rag.list_eval_sets()",),
    "list_eval_queries": ("rag.list_eval_queries('faq')",),
    "delete_eval_queries": ("rag.delete_eval_queries('faq', '{q1}')",),
    "drop_eval_set": ("rag.drop_gate('own', 'faq'); SELECT rag.drop_eval_set('faq')",),
    "eval_drift": ("rag.eval_drift('faq', 'own')",),
    "audit": ("rag.audit('own', 'faq')", "rag.audit('own', sample_size => 10)"),
    "_collection_traits": ("rag._collection_traits('own')",),
    "_measured_settings": ("rag._measured_settings('own', 'weights')",),
    "audit_table": ("rag.audit_table('public.followed', 'content')",),
    "_corpus_fingerprint": ("rag._corpus_fingerprint('own')",),
    "evaluate_search": ("rag.evaluate_search('faq', 'own')",),
    "start_eval_run": ("rag.start_eval_run('faq', 'own')",),
    "put_eval_results": ("""rag.put_eval_results(1, '[{"query_id": "q1"}]')""",),
    "finish_eval_run": ("rag.finish_eval_run(1)",),
    "_reported_results": ("rag._reported_results(1, 10)",),
    "list_eval_runs": ("rag.list_eval_runs('faq')",),
    "set_eval_baseline": ("rag.set_eval_baseline(1)",),
    "drop_eval_run": ("rag.drop_eval_run(1)",),
    "set_gate": ("rag.set_gate('own', 'faq', 'recall')",),
    "drop_gate": ("rag.drop_gate('own', 'faq')",),
    "_labelled_results": ("rag._labelled_results(1, 'human')",),
    "_list_judges": ("rag._list_judges()",),
    "_record_refused_change": ("rag._record_refused_change('own', 'a change', '[]')",),
    "list_gates": ("rag.list_gates()", "rag.list_gates('own')"),
    "check_gates": ("rag.check_gates(2, 1)",),
    "list_gate_checks": ("rag.list_gate_checks('own')",),
    "test_regression": ("rag.test_regression(1, 2)",),
    "eval_metrics": ("rag.eval_metrics(1)",),
    "query_metrics": ("rag.query_metrics(1)",),
    "ndcg": ("rag.ndcg(1, 10)",),
    "recall": ("rag.recall(1, 10)",),
    "precision_at": ("rag.precision_at(1, 10)",),
    "mrr": ("rag.mrr(1, 10)",),
    "average_precision": ("rag.average_precision(1, 10)",),
    "risk_coverage": ("rag.risk_coverage(1)",),
    "_best_token_f1": ("rag._best_token_f1('the red fish', '{a fish}')",),
    "_contains_answer": ("rag._contains_answer('it is Rome', '{Rome}')",),
    "compare_runs": ("rag.compare_runs(1, 2)",),
    "compare_queries": ("rag.compare_queries(1, 2, 'ndcg')",),
    "_adjust_p_values": ("rag._adjust_p_values('{0.01, 0.04}', 'holm')",),
    "put_eval_scores": (
        """rag.put_eval_scores(1, 'human', '1', '[{"query_id": "q1", "score": 1}]')""",
    ),
    "score_answers": ("rag.score_answers(1, 'public.judge')",),
    "measure_judge": ("rag.measure_judge('faithfulness', '1')",),
    "put_calibration": (f"rag.put_calibration('own', {CALIBRATION})",),
    "get_calibration": ("rag.get_calibration('own')",),
    "calibration_curve": ("rag.calibration_curve('own')",),
    "drop_calibration": ("rag.drop_calibration('own')",),
    "_clopper_pearson": ("rag._clopper_pearson(93, 100)",),
    "attach_source": ("rag.attach_source('another_table', 'own', '{content}')",),
    "attach_location": ("rag.attach_location('own', 's3://box/docs/')",),
    "list_locations": ("rag.list_locations('own')",),
    "_take_location": ("rag._take_location('w', '{s3://}')",),
    "_extend_location": ("rag._extend_location(1, 'w')",),
    "_finish_location": ("rag._finish_location(1, 'w', '{}', NULL)",),
    "detach_location": ("rag.detach_location('own', 's3://box/docs/')",),
    "list_sources": ("rag.list_sources()",),
    "sync_source": ("rag.follow_source(1)",),
    "detach_source": (
        (
            "rag.detach_source('followed', 'own', delete_documents => true); SELECT"
            " rag.follow_source(1)"
        ),
    ),
    "search_text": ("rag._search_json('own', 'alpha', '[1, 0, 0]', 5, '{}', '{}')",),
    "ask": ("rag._add_request('own', 'ask', '{\"question\": \"q\"}', 1)",),
    "embed_query": ("rag._add_request('own', 'embed_query', '{\"question\": \"q\"}', 1)",),
    "take_request": ("rag.take_request('w')",),
    "answer_request": ("rag.answer_request(1, '{}')",),
    "heartbeat": ("rag.heartbeat('w', '1')",),
    "forget_worker": ("rag.forget_worker('w')",),
    "list_workers": ("rag.list_workers()",),
    "set_budget": ("rag.set_budget('gemini', 5)",),
    "list_budgets": ("rag.list_budgets()",),
    "take_budget": ("rag.take_budget('gemini')",),
    "block_provider": ("rag.block_provider('gemini', 1)",),
    "throttled_spaces": ("rag.throttled_spaces()",),
    "embedded_text": ("rag.embedded_text('t', 'h', 'c')",),
    "content_hash": ("rag.content_hash('c')",),
    "document_id": ("rag.document_id('own', 'd1')",),
    "version": ("rag.version()",),
    "api_version": ("rag.api_version()",),
    "min_api_version": ("rag.min_api_version()",),
    "grant_access": ("rag.grant_access('pg_monitor', 'reader')",),
    "revoke_access": ("rag.revoke_access('pg_monitor')",),
    "list_access": ("rag.list_access()",),
    "create_tenant": ("rag.create_tenant('acme')",),
    "set_tenant": ("rag.create_tenant('acme'), rag.set_tenant('own', 'acme')",),
    "grant_tenant": ("rag.create_tenant('acme'), rag.grant_tenant('pg_monitor', 'acme')",),
    "revoke_tenant": ("rag.revoke_tenant('pg_monitor')",),
    "drop_tenant": ("rag.create_tenant('acme'), rag.drop_tenant('acme')",),
    "_cosine_spread": ("rag._cosine_spread('own')",),
    "make_service_key": ("rag.make_service_key('mine')",),
    "list_service_keys": ("rag.list_service_keys()",),
    "revoke_service_key": ("rag.revoke_service_key('mine')",),
    "use_service_key": ("rag.use_service_key(sha256('no'))",),
    "list_tenants": ("rag.list_tenants()",),
    "check_tenants": ("rag.check_tenants()",),
    "visible_tenants": ("rag.visible_tenants()",),
    "visible_groups": ("rag.visible_groups()",),
    "help": ("rag.help()",),
    "set_fingerprint": ("rag.set_fingerprint('own', 'f')",),
    "pending_indexes": ("rag.pending_indexes()",),
    "remove_dropped": ("rag.drop_collection('own'); SELECT * FROM rag.remove_dropped()",),
    "follow_source": ("rag.follow_source(1)",),
    "break_source": ("rag.break_source(1, 'because')",),
    "due_sources": ("rag.due_sources()",),
    "maintain_step": (
        "rag.maintain_step('leftovers')",
        "rag.maintain_step('source', 1)",
        "rag.maintain_step('keywords', 1)",
        "rag.drop_collection('own'); SELECT * FROM rag.maintain_step('dropped')",
    ),
    "maintenance_steps": ("rag.maintenance_steps()",),
    "note_maintenance": ("rag.note_maintenance('keywords', 1, 'because')",),
    "release_job": ("rag.release_job(%(job)s, %(lease)s)",),
    "hits": ("rag.hits('[]')",),
    "_search_status": ("rag._search_status('own')",),
    "_synced_documents": ("rag._synced_documents('own', '')",),
    "_note_synced": ("rag._note_synced('own', '{\"a\": {\"seen\": 1}}')",),
    "_index_name": ("rag._index_name(1)",),
    "_field_index": ("rag._field_index('chunks', 1, 'number')",),
    "snippet": (f"rag.snippet('own', {ONE_CHUNK}, 'alpha')",),
}

# These are asked about every collection.
ALL_COLLECTIONS = {
    "_renew_access": "grants rights on every table: an upgrade alone calls it",
    "doctor": "compares the documents, chunks and vectors of every collection",
    "status": "counts what is in every collection",
    "metrics": "measures every collection",
    "set_access": "needs a shared collection, for which policies are made of every table",
    "maintain": "merges and compacts one collection after the other, in one transaction",
}

FOREIGN = """
    SELECT DISTINCT t.relname
    FROM pg_locks AS l
    LEFT JOIN pg_index AS i ON i.indexrelid = l.relation
    JOIN pg_class AS t ON t.oid = coalesce(i.indrelid, l.relation)
    WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND t.oid = ANY (%s)
    ORDER BY 1
"""


class Many(NamedTuple):
    dsn: str
    values: dict[str, Any]
    others: list[int]  # the partitions of all collections but the one that is worked on


@pytest.fixture(scope="module")
def many(new_database: Any, template: str) -> Iterator[Many]:
    dsn = new_database(template)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('own', 'none', 3, language => 'simple')")
        connection.execute(
            """SELECT rag.alter_collection('own', keep_answers => '1 day', sample_queries => 1,
                       keep_query_text => true), rag.log_query('own', 'why'),
                   rag.log_answer('own', gen_random_uuid(), 'why', '{"text": "so"}')"""
        )
        connection.execute(
            """SELECT rag.put_chunks('own', 'd' || d, (
                   SELECT jsonb_agg(jsonb_build_object(
                       'content', format('w%s alpha x%s', (d * 30 + g) % 50, d * 30 + g),
                       'metadata', jsonb_build_object('half', g % 2, 'number', g, 'day',
                           '2026-01-02'),
                       'embedding', ARRAY[1, g, d]))
                   FROM generate_series(1, 30) AS g)) FROM generate_series(1, 20) AS d"""
        )
        connection.execute("SELECT rag._merge_keyword(1), rag._seal_frequent(1, 0)")
        connection.execute("SELECT rag.put_chunks('own', 'fresh', %s)", [CHUNKS])
        connection.execute("SELECT rag.put_chunks('own', 'bare', '[{\"content\": \"no vector\"}]')")
        connection.execute("SELECT rag.put_document('own', 'queued', 'some text')")
        connection.execute("SELECT rag.index_field('own', 'number', 'numeric')")
        connection.execute(
            """SELECT rag.put_eval_queries('faq', '[
                   {"id": "q1", "question": "alpha", "relevant": [{"uri": "d1", "quote": "w1"}],
                    "expected_terms": ["w1"], "expected_metadata": {"half": 1}}]')"""
        )
        for _ in range(2):
            connection.execute("SELECT rag.evaluate_search('faq', 'own')")
        connection.execute(
            """SELECT rag.set_gate('own', 'faq', options => '{"vector_weight": 0}')"""
        )
        connection.execute(
            """SELECT rag.put_eval_scores(1, judge, '1', '[{"query_id": "q1", "score": 1}]')
               FROM unnest('{human,faithfulness}'::text[]) AS j (judge)"""
        )
        connection.execute(
            """CREATE FUNCTION public.judge(text, text, text[], text[]) RETURNS float8
               LANGUAGE sql RETURN 1"""
        )
        connection.execute(
            """SELECT rag.set_enrichment('own', '[{"field": "x", "pattern": "beta"}]'),
                      rag._queue_jobs(1, ARRAY[rag.document_id('own', 'fresh')], 'enrich'),
                      rag.set_extraction('own', '{"by": {"type": "text"}}'),
                      rag._queue_jobs(1, ARRAY[rag.document_id('own', 'fresh')], 'extract'),
                      rag.set_contexts('own'),
                      rag._queue_jobs(1, ARRAY[rag.document_id('own', 'fresh')], 'context')"""
        )
        connection.execute("CREATE VIEW titles AS SELECT 1 AS id, 'a'::text AS title")
        connection.execute("SELECT rag.expose_view('public.titles', 'An article', 'titles')")
        connection.execute("CREATE TABLE followed (id integer PRIMARY KEY, content text)")
        connection.execute("CREATE TABLE another_table (id integer PRIMARY KEY, content text)")
        connection.execute("INSERT INTO followed VALUES (1, 'one'), (2, 'two')")
        connection.execute("SELECT rag.attach_source('followed', 'own', '{content}')")
        connection.execute("SELECT rag.follow_source(1) FROM generate_series(1, 5)")
        connection.execute("UPDATE followed SET content = 'three' WHERE id = 1")
        values: dict[str, Any] = {
            "second": connection.execute("SELECT rag.create_space('own', 'second', 5)").fetchone()[
                0
            ]  # type: ignore[index]
        }
        for job in connection.execute("SELECT * FROM rag.take_jobs(100, 3600)").fetchall():
            job_id, lease, kind, _, _, document = job[:6]
            uri = connection.execute(
                "SELECT uri FROM rag.list_documents('own') WHERE document_id = %s", [document]
            )
            if uri.fetchone() == ("queued",) and kind == "ingest":
                values |= {"job": job_id, "lease": lease}
            elif kind == "embed":
                values |= {"embed_job": job_id, "embed_lease": lease}
            elif kind in ("enrich", "extract", "context"):
                values |= {f"{kind}_job": job_id, f"{kind}_lease": lease}
        connection.execute("SELECT rag.create_collection('euclid', 'none', 3, distance => 'l2')")
        connection.execute("SELECT rag.put_chunks('euclid', 'a', %s)", [CHUNKS])
        connection.execute(
            """SELECT rag.create_collection('c' || g, 'none', 3),
                      rag.put_chunks('c' || g, 'a',
                          '[{"content": "alpha w7", "embedding": [1, 0, 0]}]')
               FROM generate_series(1, %s) AS g""",
            [OTHERS - 1],
        )
        own = ["own", "euclid"]
        others = connection.execute(
            """SELECT i.inhrelid FROM pg_inherits AS i
               JOIN pg_class AS p ON p.oid = i.inhparent AND p.relnamespace = 'rag'::regnamespace
                   AND p.relkind = 'p'
               JOIN pg_class AS t ON t.oid = i.inhrelid
               WHERE t.relname <> ALL (ARRAY(
                   SELECT format('%%s_%%s', n, c.collection_id)
                   FROM rag.collections AS c, unnest(rag._collection_tables()) AS n
                   WHERE c.name = ANY (%s)
                   UNION ALL
                   SELECT 'embeddings_' || s.space_id
                   FROM rag.collections AS c JOIN rag.spaces AS s USING (collection_id)
                   WHERE c.name = ANY (%s)))""",
            [own, own],
        )
        yield Many(dsn, values, [oid for (oid,) in others])


def foreign(connection: Connection, many: Many) -> list[str]:
    return [name for (name,) in connection.execute(FOREIGN, [many.others])]


def run(connection: Connection, many: Many, call: str) -> None:
    for statement in f"SELECT * FROM {call}".split(";\n" if ";\n" in call else "; "):
        connection.execute(
            statement.encode(), many.values if "%(" in statement or "%%" in statement else None
        )


def test_every_public_function_has_a_call_here() -> None:
    assert public_names() - CALLS.keys() - ALL_COLLECTIONS.keys() == set()
    assert not CALLS.keys() & ALL_COLLECTIONS.keys()


ALL_CALLS = [(name, call) for name, calls in CALLS.items() for call in calls]
Locks = set[tuple[str, str]]  # tables and modes


@pytest.mark.parametrize(("name", "call"), ALL_CALLS)
def test_a_call_locks_no_partition_of_another_collection_nor_two_tables_against_their_readers(
    many: Many, tables: dict[str, int], locks: dict[str, Locks], name: str, call: str
) -> None:
    """Nor do its cached plans, as generic ones lock it, which a long session comes to use.

    Searches reach the tables in several orders, and a standby replays locks against readers as they
    were taken: with two in a transaction no order is free of deadlocks.
    """
    assert len(many.others) > 7 * (OTHERS - 2)
    with psycopg.connect(many.dsn) as connection:
        run(connection, many, call)
        locks[call] = locks_of(connection, connection.info.backend_pid, tables)
        assert foreign(connection, many) == []
        connection.rollback()
        connection.execute("SET plan_cache_mode = force_generic_plan")
        for _ in range(2):
            connection.execute("SAVEPOINT before")
            run(connection, many, call)
            assert foreign(connection, many) == []
            connection.execute("ROLLBACK TO before")
        connection.rollback()
    # a parent goes with its partition
    strong = {re.sub(r"_\d+$", "", t) for t, mode in locks[call] if mode == "AccessExclusiveLock"}
    assert len(strong) <= 1


OWN = """
    SELECT l.relation, l.mode FROM pg_locks AS l
    WHERE l.pid = %s AND l.granted AND l.locktype = 'relation' AND l.relation = ANY (%s)
"""


@pytest.fixture(scope="module")
def tables(many: Many) -> dict[str, int]:
    """The partitioned tables and the partitions of collection `own`, by name."""
    with psycopg.connect(many.dsn) as connection:
        rows = connection.execute(
            """SELECT t.oid::regclass::text, t.oid FROM pg_class AS t
           WHERE t.relnamespace = 'rag'::regnamespace AND (t.relkind = 'p'
               OR t.relispartition AND t.relkind = 'r' AND t.relname IN (
                   SELECT format('%s_%s', n, c.collection_id)
                   FROM rag.collections AS c, unnest(rag._collection_tables()) AS n
                   WHERE c.name = 'own'
                   UNION ALL
                   SELECT 'embeddings_' || s.space_id
                   FROM rag.collections AS c JOIN rag.spaces AS s USING (collection_id)
                   WHERE c.name = 'own'))"""
        ).fetchall()
    return dict(rows)


@pytest.fixture(scope="module")
def locks() -> dict[str, Locks]:
    """What each call locked, of those that were made."""
    return {}


def locks_of(connection: Connection, pid: int, tables: dict[str, int]) -> Locks:
    names = {oid: name for name, oid in tables.items()}
    rows = connection.execute(OWN, [pid, list(tables.values())]).fetchall()
    return {(names[oid], mode) for oid, mode in rows}


class Wait(NamedTuple):
    """A call that waits for a table, with what it holds meanwhile."""

    call: str
    table: str
    mode: str
    held: frozenset[tuple[str, str]]


# The table of conflicts in PostgreSQL's manual, "Explicit Locking", weakest first.
MODES = (
    "AccessShare", "RowShare", "RowExclusive", "ShareUpdateExclusive", "Share",
    "ShareRowExclusive", "Exclusive", "AccessExclusive",
)  # fmt: skip
CONFLICTS = {
    "AccessShare": MODES[7:],
    "RowShare": MODES[6:],
    "RowExclusive": MODES[4:],
    "ShareUpdateExclusive": MODES[3:],
    "Share": (MODES[2], MODES[3], *MODES[5:]),
    "ShareRowExclusive": MODES[2:],
    "Exclusive": MODES[1:],
    "AccessExclusive": MODES,
}


# The mode that makes the first wait, and nobody who asks for a weaker one. A row share waits for
# none that is taken here.
HOLDS_BACK = {
    "RowExclusiveLock": "SHARE",
    "ShareUpdateExclusiveLock": "SHARE UPDATE EXCLUSIVE",
    "ShareLock": "ROW EXCLUSIVE",
    "ShareRowExclusiveLock": "ROW EXCLUSIVE",
    "AccessExclusiveLock": "ACCESS SHARE",
}


def conflict(one: str, other: str) -> bool:
    return other.removesuffix("Lock") in CONFLICTS[one.removesuffix("Lock")]


def asks(observer: Connection, thread: threading.Thread, pid: int, table: int) -> str | None:
    """The mode in which a session waits for a table; None where its call ends without."""
    query = "SELECT mode FROM pg_locks WHERE pid = %s AND NOT granted AND relation = %s"
    found: list[Any] = []

    def comes_to_ask() -> bool:
        found[:] = observer.execute(query, [pid, table]).fetchall()
        return found != [] or not thread.is_alive()

    wait_until(comes_to_ask, "a lock, or the end of a call", pause=0.002)
    return found[0][0] if found else None


def waits_of(
    many: Many,
    blocker: Connection,
    observer: Connection,
    tables: dict[str, int],
    call: str,
    locks: Locks,
) -> list[Wait]:
    """Run a call once for each lock that it takes, while another session holds one that lets only
    weaker ones pass, and see what it holds when it comes to ask."""
    found = []
    with psycopg.connect(many.dsn) as connection:
        pid = connection.info.backend_pid

        def go() -> None:
            with contextlib.suppress(psycopg.Error):
                run(connection, many, call)

        for table, mode in sorted(locks):
            if mode not in HOLDS_BACK:
                continue
            blocker.execute(f"LOCK TABLE ONLY {table} IN {HOLDS_BACK[mode]} MODE".encode())
            thread = threading.Thread(target=go)
            thread.start()
            asked = asks(observer, thread, pid, tables[table])
            if asked is not None:
                held = locks_of(observer, pid, tables)
                found.append(Wait(call, table, asked, frozenset(held)))
                observer.execute("SELECT pg_cancel_backend(%s)", [pid])
            thread.join()
            connection.rollback()
            blocker.rollback()
    return found


def test_no_two_calls_wait_for_each_other(
    many: Many, tables: dict[str, int], locks: dict[str, Locks]
) -> None:
    """The order of docs/internals/architecture.md: no call waits for a table while it holds what
    another, which holds that table, waits for."""
    with (
        psycopg.connect(many.dsn) as blocker,
        psycopg.connect(many.dsn, autocommit=True) as observer,
    ):
        for _, call in ALL_CALLS:
            if call not in locks:  # where this test runs alone
                run(blocker, many, call)
                locks[call] = locks_of(blocker, blocker.info.backend_pid, tables)
                blocker.rollback()
        waits = [
            wait
            for _, call in ALL_CALLS
            for wait in waits_of(many, blocker, observer, tables, call, locks[call])
        ]
    assert {w.table for w in waits} >= {"rag.documents_1", "rag.chunks_1", "rag.embeddings_1"}
    assert len({w.call for w in waits}) > 30
    found = {
        (one.call, one.table, other.call, other.table)
        for one in waits
        for other in waits
        if one.table < other.table
        and not any(t == u and conflict(m, n) for t, m in one.held for u, n in other.held)
        and any(t == other.table and conflict(m, other.mode) for t, m in one.held)
        and any(t == one.table and conflict(m, one.mode) for t, m in other.held)
    }
    assert found == set()


def test_a_session_that_has_searched_and_written_for_long_locks_its_own(many: Many) -> None:
    calls = [
        c
        for n in ("search", "search_keyword", "search_vector", "put_chunks", "delete_document")
        for c in CALLS[n]
    ]
    with psycopg.connect(many.dsn) as connection:
        for call in calls:
            for _ in range(7):  # the sixth may take a generic plan
                connection.execute("SAVEPOINT before")
                run(connection, many, call)
                held = foreign(connection, many)
                connection.execute("ROLLBACK TO before")
            assert held == [], call
        connection.rollback()


def test_the_client_names_no_partitioned_table_and_calls_what_is_called_here() -> None:
    tables = re.compile(r"\brag\.(documents|chunks|embeddings|keyword_\w+)\b(?! is |\) TO )")
    calls = re.compile(
        r"(?:FROM|SELECT|CALL|LATERAL|,)\s+(?:rag|\{rag\})\.(\w+)\("
        r"|\.(?:rows?|only|values?|optional|tuples|call|dicts)\(\s*"
        r'(?:(?:\w+|\("[^()]*\)),\s*)?"(\w+)"'
    )
    paths = sorted((ROOT / "rag_pg").glob("**/*.py"))
    sources = {str(p.relative_to(ROOT)): p.read_text() for p in paths}
    assert [(n, m[0]) for n, s in sources.items() for m in tables.finditer(s)] == []
    called = {m[1] or m[2] for s in sources.values() for m in calls.finditer(s)}
    assert len(called) > 100
    assert called - CALLS.keys() - ALL_COLLECTIONS.keys() == set()


def test_who_names_a_partitioned_table_plans_for_its_key(many: Many) -> None:
    """Statements in strings are planned each time anyway; the others must not be kept as generic
    plans, but for an INSERT of VALUES, which locks only the partition that it reaches."""
    with psycopg.connect(many.dsn) as connection:
        functions = connection.execute(
            """SELECT p.proname, p.prosrc, coalesce(p.proconfig, '{}') FROM pg_proc AS p
               JOIN pg_language AS l ON l.oid = p.prolang
               WHERE p.pronamespace = 'rag'::regnamespace AND l.lanname IN ('plpgsql', 'sql')"""
        ).fetchall()
        tables = "|".join(
            name
            for (name,) in connection.execute(
                "SELECT relname FROM pg_class WHERE relkind = 'p' AND relnamespace ="
                " 'rag'::regnamespace"
            )
        )
    assert "keyword_postings" in tables
    values = re.compile(r"INSERT INTO rag\.\w+( AS \w+)?\s*\([^)]*\)\s*VALUES(?:(?!SELECT)[^;])*;")
    named = {
        name: settings
        for name, body, settings in functions
        if re.search(rf"\brag\.({tables})\b(?!;)", values.sub("", _statements(body)))
    }
    assert {"_make_hits", "_read_lexemes", "_replace_chunks"} <= named.keys()
    assert [n for n, s in named.items() if "plan_cache_mode=force_custom_plan" not in s] == []


def _statements(body: str) -> str:
    """Return a function's body without its comments and its strings."""
    return re.sub(
        r"\$sql\$.*?\$sql\$|'(?:[^']|'')*'", "''", re.sub(r"--[^\n]*", "", body), flags=re.S
    )


def test_dropped_collections_are_removed_a_table_at_a_time(connection: Connection) -> None:
    connection.execute(
        "SELECT rag.create_collection('c' || g, 'none', 3) FROM generate_series(1, 30) AS g"
    )
    connection.execute("SELECT rag.drop_collection('c' || g) FROM generate_series(1, 30) AS g")
    parts = "SELECT count(*) FROM pg_class WHERE relispartition AND relkind = 'r'"
    (before,) = connection.execute(parts).fetchone() or (0,)
    assert before == 7 * 30
    with connection.transaction():
        assert connection.execute("SELECT rag.remove_dropped()").fetchone() == (1,)
        strong = """SELECT count(DISTINCT l.relation) FROM pg_locks AS l
                    JOIN pg_class AS p ON p.oid = l.relation AND p.relkind = 'p'
                    WHERE l.pid = pg_backend_pid() AND l.mode = 'AccessExclusiveLock'"""
        assert connection.execute(strong).fetchone() == (1,)
        assert connection.execute(parts).fetchone() == (before - 1,)
    while connection.execute("SELECT rag.remove_dropped()").fetchone() == (1,):
        pass
    assert connection.execute(parts).fetchone() == (0,)
    assert connection.execute("SELECT count(*) FROM rag.collections").fetchone() == (0,)
    connection.execute("DROP SCHEMA rag CASCADE")


def test_a_merge_in_an_open_transaction_is_passed_by(dsn: str, connection: Connection) -> None:
    """Others write, search and maintain beside it; what they wrote is merged after it."""
    connection.execute("SELECT rag.create_collection('busy', 'none', 3)")
    many_chunks = """SELECT rag.put_chunks('busy', %s,
        (SELECT jsonb_agg(jsonb_build_object('content', 'w' || g))
         FROM generate_series(1, 300) AS g))"""
    connection.execute(many_chunks, ["first"])
    connection.execute("SELECT rag._merge_keyword(1)")
    connection.execute("SET lock_timeout = '60s'")
    with psycopg.connect(dsn) as merging:
        merging.execute("SELECT rag.put_chunks('busy', 'own', %s)", [CHUNKS])
        assert merging.execute("SELECT rag._merge_keyword(1)").fetchone() == (2,)
        connection.execute(many_chunks, ["second"])
        connection.execute("SELECT rag.delete_document('busy', 'first')")
        assert connection.execute("SELECT rag._merge_keyword(1)").fetchone() == (0,)
        assert connection.execute("SELECT rag._compact_keyword(1, -1)").fetchone() == (0,)
        assert connection.execute("SELECT * FROM rag._maintain_keywords(1)").fetchone() == (0, 0)
        found = "SELECT count(*) FROM rag.search_keyword('busy', 'w7')"
        assert connection.execute(found).fetchone() == (1,)
    assert connection.execute("SELECT rag._merge_keyword(1)").fetchone() == (600,)
    assert connection.execute(found).fetchone() == (1,)
