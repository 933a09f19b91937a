"""A database with a bit of everything, and a call of every public function that works there."""

from __future__ import annotations

import json
from typing import Any

import psycopg

from rag_pg.db.schema.packaged import packaged_routines

VECTOR = "'[1, 0, 0]'"
# A batch of every source that has something to do.
FOLLOW = "SELECT coalesce(sum(rag.follow_source(s.id)), 0) FROM rag.due_sources() AS s (id)"
JOB = "(SELECT job_id FROM rag.jobs WHERE worker = 'held' AND kind = 'ingest' LIMIT 1)"
LEASE = "(SELECT lease FROM rag.jobs WHERE worker = 'held' AND kind = 'ingest' LIMIT 1)"
EMBED = "(SELECT job_id FROM rag.jobs WHERE worker = 'held' AND kind = 'embed' LIMIT 1)"
EMBED_LEASE = "(SELECT lease FROM rag.jobs WHERE worker = 'held' AND kind = 'embed' LIMIT 1)"
ENRICH = "(SELECT job_id FROM rag.jobs WHERE worker = 'held' AND kind = 'enrich' LIMIT 1)"
ENRICH_LEASE = "(SELECT lease FROM rag.jobs WHERE worker = 'held' AND kind = 'enrich' LIMIT 1)"
MODEL_JOB = "(SELECT job_id FROM rag.jobs WHERE worker = 'held' AND kind = '{kind}' LIMIT 1)"
MODEL_LEASE = "(SELECT lease FROM rag.jobs WHERE worker = 'held' AND kind = '{kind}' LIMIT 1)"
EXTRACT, EXTRACT_LEASE = MODEL_JOB.format(kind="extract"), MODEL_LEASE.format(kind="extract")
CONTEXT, CONTEXT_LEASE = MODEL_JOB.format(kind="context"), MODEL_LEASE.format(kind="context")
RULES = """'[{"field": "fish", "pattern": "fish", "value": true, "scope": "chunk"}]'"""
ANSWER = "(SELECT answer_id FROM rag.answer_log LIMIT 1)"
CHUNK = "(SELECT min(chunk_id) FROM rag.chunks WHERE collection_id = 1)"
DOCUMENT = "(SELECT document_id FROM rag.documents WHERE collection_id = 1 AND uri = 'd1')"
SPACE = "(SELECT space_id FROM rag.spaces WHERE collection_id = 1 AND state = 'building')"
ACTIVE = "(SELECT space_id FROM rag.spaces WHERE collection_id = 1 AND state = 'active')"
REQUEST = "'6a1c1c1e-0000-4000-8000-000000000001'"
FILTER = """'{"n": {"$gte": 2}, "day": {"$lt": "2030-01-01"}, "tag": {"$in": ["a", "b"]}}'"""

CALIBRATION = """'{"features": [], "answerable_weights": [0], "right_weights": [0],
    "evidence_floor": 0,
    "thresholds": [0], "answered": [1], "correct": [1], "question_count": 1, "answerable_count": 1,
    "refuse_below": 0, "answer_from": 0}'"""

# Who may call it at least, and the call. Whoever stands further right may too:
# reader, writer, worker, owner.
CALLS: dict[str, tuple[str, str]] = {
    "list_collections": ("reader", "SELECT * FROM rag.list_collections()"),
    "get_collection": ("reader", "SELECT * FROM rag.get_collection('docs')"),
    "status": ("reader", "SELECT * FROM rag.status()"),
    "collection_stats": ("reader", "SELECT * FROM rag.collection_stats()"),
    "collection_version": ("reader", "SELECT rag.collection_version('docs')"),
    "cache_stats": ("reader", "SELECT * FROM rag.cache_stats()"),
    "clear_cache": ("reader", "SELECT rag.clear_cache('docs')"),
    "usage_report": ("reader", "SELECT * FROM rag.usage_report(by => '{day,model}')"),
    "record_usage": (
        "reader",
        """SELECT rag.record_usage('docs', 'single', '[{"kind": "answer", "model": "m"}]')""",
    ),
    "list_spaces": ("reader", "SELECT * FROM rag.list_spaces('docs')"),
    "compare_spaces": (
        "reader",
        f"""SELECT * FROM rag.compare_spaces('docs',
            jsonb_build_array(jsonb_build_object('query', 'fish',
            'embeddings', jsonb_build_object({ACTIVE}::text, '[1, 0, 0]'::jsonb))))""",
    ),
    "get_original": ("reader", "SELECT count(*) FROM rag.get_original('docs', 'd1')"),
    "keep_original": (
        "writer",
        "SELECT rag.keep_original('docs', 'd1', 'd1.txt', 'a file', 'text/plain')",
    ),
    "check_citation": (
        "reader",
        f"SELECT * FROM rag.check_citation('docs', {CHUNK}, 'a quotation of fish')",
    ),
    "wait_until_searchable": (
        "reader",
        f"SELECT * FROM rag.wait_until_searchable('docs', ARRAY[{DOCUMENT}])",
    ),
    "get_enrichment": ("reader", "SELECT * FROM rag.get_enrichment('docs')"),
    "preview_enrichment": ("reader", f"SELECT * FROM rag.preview_enrichment('docs', {RULES})"),
    "get_documents": ("reader", "SELECT * FROM rag.get_documents('docs', '{d1, d2, never}')"),
    "list_chunks": ("reader", "SELECT * FROM rag.list_chunks('docs', '{d1, never}')"),
    "get_embeddings": ("reader", f"SELECT * FROM rag.get_embeddings('docs', ARRAY[{CHUNK}, -1])"),
    "get_document": ("reader", "SELECT * FROM rag.get_document('docs', 'd1')"),
    "list_documents": ("reader", f"SELECT * FROM rag.list_documents('docs', {FILTER})"),
    "search": (
        "reader",
        f"""SELECT * FROM rag.search('docs', 'word7 fish', {VECTOR}, metadata_filter => {FILTER},
            diversity => 0.5,
            per_document => 2, boosts => '[{{"recency": "day", "half_life": "30 days"}}]')""",
    ),
    "search_keyword": (
        "reader",
        "SELECT * FROM rag.search_keyword('docs', 'word7 fish', match => 'all')",
    ),
    "search_vector": (
        "reader",
        f"SELECT * FROM rag.search_vector('docs', {VECTOR}, exact_below => 0)",
    ),
    "search_variants": (
        "reader",
        (
            f"SELECT * FROM rag.search_variants('docs', '{{word7 fish,bird}}', ARRAY[{VECTOR},"
            " NULL]::public.halfvec[])"
        ),
    ),
    "more_like": ("reader", f"SELECT * FROM rag.more_like('docs', {CHUNK})"),
    "snippet": ("reader", f"SELECT rag.snippet('docs', {CHUNK}, 'word7 fish')"),
    "detect_language": ("reader", "SELECT rag.detect_language('a fish')"),
    "match_terms": ("reader", "SELECT * FROM rag.match_terms('docs', 'fish', ARRAY['a fish'])"),
    "expand": ("reader", f"SELECT * FROM rag.expand('docs', ARRAY[{CHUNK}])"),
    "explain_search": (
        "reader",
        f"SELECT * FROM rag.explain_search('docs', 'fish', {VECTOR}, metadata_filter => {FILTER})",
    ),
    "why_not": ("reader", f"SELECT * FROM rag.why_not('docs', {CHUNK}, 'fish', {VECTOR})"),
    "count_documents": ("reader", f"SELECT rag.count_documents('docs', {FILTER})"),
    "facets": ("reader", "SELECT * FROM rag.facets('docs', 'tag')"),
    "describe_metadata": ("reader", f"SELECT * FROM rag.describe_metadata('docs', {FILTER})"),
    "aggregate_documents": (
        "reader",
        """SELECT rag.aggregate_documents('docs', '{"n": {"count": "*"}}', '{month(day)}')""",
    ),
    "expose_view": ("owner", "SELECT rag.expose_view('app.titles', 'An article')"),
    "list_views": ("reader", "SELECT * FROM rag.list_views()"),
    "measure_spaces": ("reader", "SELECT rag.measure_spaces(ARRAY['docs'])"),
    "list_versions": ("reader", "SELECT * FROM rag.list_versions('docs', 'd1')"),
    "document_at": ("reader", "SELECT * FROM rag.document_at('docs', 'd1', now())"),
    "diff_versions": ("reader", "SELECT * FROM rag.diff_versions('docs', 'd1', 1, 1)"),
    "log_answer": (
        "reader",
        """SELECT rag.log_answer('docs', gen_random_uuid(), 'why', '{"text": "so"}')""",
    ),
    "log_query": ("reader", f"SELECT rag.log_query('docs', 'fish', {VECTOR}, sampled => true)"),
    "list_recall": ("reader", "SELECT * FROM rag.list_recall('docs')"),
    "replay_queries": (
        "writer",
        """SELECT * FROM rag.replay_queries('docs', '{"fusion": "rrf"}')""",
    ),
    "measure_recall": ("writer", "SELECT * FROM rag.measure_recall('docs')"),
    "list_answers": ("reader", "SELECT * FROM rag.list_answers('docs')"),
    "feedback": ("reader", f"SELECT rag.feedback({ANSWER}, 1)"),
    "replay_answer": ("reader", f"SELECT * FROM rag.replay_answer({ANSWER})"),
    "add_logged_queries": ("writer", "SELECT rag.add_logged_queries('faq', 'docs')"),
    "erase": ("owner", "SELECT rag.erase('docs', 'd2')"),
    "query_view": (
        "reader",
        """SELECT * FROM rag.query_view('titles', aggregates => '{"n": {"count": "*"}}')""",
    ),
    "hide_view": ("owner", "SELECT rag.hide_view('titles')"),
    "find_values": ("reader", "SELECT * FROM rag.find_values('docs', 'tag', 'A')"),
    "select_documents": ("reader", "SELECT * FROM rag.select_documents('docs', order_by => 'n')"),
    "list_fields": ("reader", "SELECT * FROM rag.list_fields('docs')"),
    "field_index_statement": (
        "reader",
        "SELECT rag.field_index_statement('docs', 'tag', 'text')",
    ),
    "list_jobs": ("reader", "SELECT * FROM rag.list_jobs()"),
    "explain_job": ("reader", f"SELECT * FROM rag.explain_job({JOB})"),
    "job_stats": ("reader", "SELECT * FROM rag.job_stats()"),
    "pending_documents": (
        "reader",
        f"SELECT * FROM rag.pending_documents('docs', ARRAY[{DOCUMENT}])",
    ),
    "space_settings": ("reader", "SELECT * FROM rag.space_settings('docs')"),
    "due_sources": ("reader", "SELECT * FROM rag.due_sources()"),
    "maintenance_steps": ("reader", "SELECT * FROM rag.maintenance_steps()"),
    "hits": ("reader", """SELECT * FROM rag.hits('[{"chunk_id": 1, "uri": "a"}]')"""),
    "list_locations": ("reader", "SELECT * FROM rag.list_locations()"),
    "_take_location": (
        "reader",  # nothing is due
        "SELECT * FROM rag._take_location('w', '{https://}')",
    ),
    "_finish_location": ("worker", "SELECT rag._finish_location(1, 'w', '{}', NULL)"),
    "_extend_location": ("worker", "SELECT rag._extend_location(1, 'w')"),
    "list_sources": ("reader", "SELECT * FROM rag.list_sources()"),
    "search_text": ("reader", "CALL rag.search_text('docs', 'fish', timeout => 0.01)"),
    "ask": ("reader", "CALL rag.ask('docs', 'fish?', timeout => 0.01)"),
    "request_answer": ("reader", "SELECT rag.request_answer('docs', 'fish?')"),
    "answer_of": ("reader", f"SELECT rag.answer_of({REQUEST})"),
    "embed_query": ("reader", "CALL rag.embed_query('docs', 'fish', timeout => 0.01)"),
    "list_workers": ("reader", "SELECT * FROM rag.list_workers()"),
    "list_budgets": ("reader", "SELECT * FROM rag.list_budgets()"),
    "throttled_spaces": ("reader", "SELECT * FROM rag.throttled_spaces()"),
    "embedded_text": ("reader", "SELECT rag.embedded_text('a', 'b', 'c')"),
    "content_hash": ("reader", "SELECT rag.content_hash('a')"),
    "document_id": ("reader", "SELECT rag.document_id('docs', 'a')"),
    "help": ("reader", "SELECT * FROM rag.help()"),
    "version": ("reader", "SELECT rag.version()"),
    "api_version": ("reader", "SELECT rag.api_version()"),
    "min_api_version": ("reader", "SELECT rag.min_api_version()"),
    "list_access": ("reader", "SELECT * FROM rag.list_access()"),
    "grant_access": ("owner", "SELECT rag.grant_access('pg_monitor', 'reader')"),
    "revoke_access": ("owner", "SELECT rag.revoke_access('pg_monitor')"),
    "visible_tenants": ("reader", "SELECT rag.visible_tenants()"),
    "visible_groups": ("reader", "SELECT rag.visible_groups()"),
    "set_access": (
        "owner",
        "SELECT rag.set_tenant('docs', '*'), rag.set_access('docs', 'acme', uris => '{d1}')",
    ),
    "make_service_key": ("owner", "SELECT rag.make_service_key('mine')"),
    "list_service_keys": ("owner", "SELECT * FROM rag.list_service_keys()"),
    "revoke_service_key": ("owner", "SELECT rag.revoke_service_key('mine')"),
    "use_service_key": ("reader", "SELECT * FROM rag.use_service_key(sha256('no'))"),
    "list_tenants": ("reader", "SELECT * FROM rag.list_tenants()"),
    "check_tenants": ("reader", "SELECT * FROM rag.check_tenants()"),
    "create_tenant": ("owner", "SELECT rag.create_tenant('zeta')"),
    "set_tenant": ("owner", "SELECT rag.set_tenant('docs', 'acme')"),
    "grant_tenant": ("owner", "SELECT rag.grant_tenant('pg_monitor', 'acme')"),
    "revoke_tenant": ("owner", "SELECT rag.revoke_tenant('pg_monitor')"),
    "drop_tenant": ("owner", "SELECT rag.drop_tenant('acme')"),
    "metrics": ("reader", "SELECT * FROM rag.metrics()"),
    "doctor": ("reader", "SELECT * FROM rag.doctor()"),
    "audit": ("reader", "SELECT * FROM rag.audit('docs', 'faq')"),
    "audit_table": ("reader", "SELECT * FROM rag.audit_table('rag.chunks')"),
    "pending_indexes": ("reader", "SELECT * FROM rag.pending_indexes()"),
    "remove_dropped": ("reader", "SELECT rag.remove_dropped()"),  # nothing, but for the owner
    "repair_collection": ("writer", "SELECT rag.repair_collection('docs')"),
    "put_document": ("writer", "SELECT rag.put_document('docs', 'new', 'new text')"),
    "put_documents": (
        "writer",
        """SELECT rag.put_documents('docs', '[{"uri": "e", "content": "text"}]')""",
    ),
    "delete_document": ("writer", "SELECT rag.delete_document('docs', 'd1')"),
    "delete_documents": ("writer", "SELECT rag.delete_documents('docs', '{d1, d2, never}')"),
    "delete_where": ("writer", """SELECT rag.delete_where('docs', '{"n": {"$lt": 5}}')"""),
    "merge_metadata": (
        "writer",
        """SELECT rag.merge_metadata('docs', '{"n": 3}', '{"tag": "z"}', '{day}')""",
    ),
    "load_chunks": (
        "writer",
        """SELECT * FROM rag.load_chunks('docs', '[{"uri": "l", "content": "red fish",
            "embedding": [1, 0, 1]}]')""",
    ),
    "put_chunks": (
        "writer",
        """SELECT rag.put_chunks('docs', 'd2', '[{"content": "red fish", "embedding": [1, 0, 1],
            "metadata": {"day": "2024-02-01"}}]')""",
    ),
    "load_staged": (
        "writer",
        """CREATE TEMP TABLE staged_chunks (position bigint, uri text, title text, heading text,
               content text,
               metadata jsonb, embedding public.halfvec) ON COMMIT DROP;
           INSERT INTO staged_chunks VALUES (1, 's', '', '', 'staged', '{}', '[1, 1, 1]');
           SELECT * FROM rag.load_staged('docs')""",
    ),
    "take_jobs": ("writer", "SELECT * FROM rag.take_jobs(3)"),
    "job_input": ("reader", f"SELECT * FROM rag.job_input({JOB}, {LEASE})"),
    "store_chunks": (
        "writer",
        f"""SELECT rag.store_chunks({JOB}, {LEASE}, 1,
            '[{{"content": "x", "start": 0, "stop": 1, "heading": "",
            "ordinal": 0, "metadata": {{}}}}]')""",
    ),
    "chunks_to_embed": (
        "reader",
        f"SELECT * FROM rag.chunks_to_embed({EMBED}, {EMBED_LEASE})",
    ),
    "store_embeddings": (
        "writer",
        f"""SELECT rag.store_embeddings({EMBED}, {EMBED_LEASE},
            ARRAY(SELECT chunk_id FROM rag.chunks_to_embed({EMBED}, {EMBED_LEASE}) LIMIT 1),
            ARRAY['[0, 0, 1]']::public.halfvec[])""",
    ),
    "extend_jobs": ("writer", f"SELECT rag.extend_jobs(ARRAY[{JOB}], ARRAY[{LEASE}])"),
    "finish_job": ("writer", f"SELECT rag.finish_job({JOB}, {LEASE})"),
    "release_job": ("writer", f"SELECT rag.release_job({JOB}, {LEASE})"),
    "fail_job": ("writer", f"SELECT rag.fail_job({JOB}, {LEASE}, 'no')"),
    "retry_jobs": ("writer", "SELECT rag.retry_jobs('docs', include_waiting => true)"),
    "queue_backlog": ("writer", "SELECT rag.queue_backlog()"),
    "take_request": ("writer", "SELECT * FROM rag.take_request('w')"),
    "answer_request": ("writer", "SELECT rag.answer_request(1, '{}')"),
    "heartbeat": ("writer", "SELECT rag.heartbeat('w', '1')"),
    "forget_worker": ("writer", "SELECT rag.forget_worker('w')"),
    "set_budget": ("writer", "SELECT rag.set_budget('gemini', requests_per_minute => 10)"),
    "take_budget": ("writer", "SELECT rag.take_budget('gemini')"),
    "block_provider": ("writer", "SELECT rag.block_provider('gemini', 1)"),
    "set_fingerprint": ("writer", "SELECT rag.set_fingerprint('docs', 'f/1')"),
    "estimate_enrichment": ("reader", "SELECT * FROM rag.estimate_enrichment('docs')"),
    "extraction_input": (
        "reader",
        f"SELECT * FROM rag.extraction_input({EXTRACT}, {EXTRACT_LEASE})",
    ),
    "store_extraction": (
        "writer",
        f"""SELECT rag.store_extraction({EXTRACT}, {EXTRACT_LEASE}, 1, 1, '{{"by": "Ada"}}')""",
    ),
    "context_input": ("reader", f"SELECT * FROM rag.context_input({CONTEXT}, {CONTEXT_LEASE})"),
    "store_contexts": (
        "writer",
        f"""SELECT rag.store_contexts({CONTEXT}, {CONTEXT_LEASE}, i.source, i.chunk_ids[1:1],
                '{{about}}', i.space_id, '{{"[1, 0, 0]"}}')
            FROM rag.context_input({CONTEXT}, {CONTEXT_LEASE}) AS i""",
    ),
    "enrich_document": ("writer", f"SELECT rag.enrich_document({ENRICH}, {ENRICH_LEASE})"),
    "follow_source": ("worker", "SELECT rag.follow_source(1)"),
    "break_source": ("worker", "SELECT rag.break_source(1, 'no')"),
    "maintain_step": ("worker", "SELECT * FROM rag.maintain_step('keywords', 1)"),
    "note_maintenance": ("worker", "SELECT rag.note_maintenance('source', 1, 'no')"),
    "maintain_in_steps": ("worker", "CALL rag.maintain()"),
    "sync_source": ("worker", "CALL rag.sync_source('app.articles')"),
    "maintain": ("worker", "CALL rag.maintain()"),
    "put_eval_set": ("writer", "SELECT rag.put_eval_set('faq', 'what users ask')"),
    "put_eval_queries": (
        "writer",
        """SELECT * FROM rag.put_eval_queries('faq', '[{"question": "a"}]')""",
    ),
    "put_eval_embeddings": (
        "writer",
        """SELECT rag.put_eval_embeddings('faq', 'f/1', '{q1}', '{"[1,0,0]"}')""",
    ),
    "list_eval_sets": ("reader", "SELECT * FROM rag.list_eval_sets()"),
    "list_eval_queries": ("reader", "SELECT * FROM rag.list_eval_queries('faq')"),
    "delete_eval_queries": ("writer", "SELECT rag.delete_eval_queries('faq', '{q1}')"),
    "drop_eval_set": ("writer", "SELECT rag.drop_eval_set('faq')"),
    "eval_drift": ("reader", "SELECT * FROM rag.eval_drift('faq', 'docs')"),
    "evaluate_search": ("writer", "SELECT rag.evaluate_search('faq', 'docs')"),
    "start_eval_run": ("writer", "SELECT rag.start_eval_run('faq', 'docs')"),
    "put_eval_results": ("writer", """SELECT rag.put_eval_results(1, '[{"query_id": "q1"}]')"""),
    "finish_eval_run": ("writer", "SELECT rag.finish_eval_run(1)"),
    "list_eval_runs": ("reader", "SELECT * FROM rag.list_eval_runs('faq')"),
    "set_eval_baseline": ("writer", "SELECT rag.set_eval_baseline(1)"),
    "drop_eval_run": ("writer", "SELECT rag.drop_eval_run(1)"),
    "set_gate": ("owner", "SELECT rag.set_gate('docs', 'faq')"),
    "drop_gate": ("owner", "SELECT rag.drop_gate('docs', 'faq')"),
    "list_gates": ("reader", "SELECT * FROM rag.list_gates()"),
    "check_gates": ("writer", "SELECT * FROM rag.check_gates(4, 3)"),
    "list_gate_checks": ("reader", "SELECT * FROM rag.list_gate_checks('docs')"),
    "test_regression": ("reader", "SELECT * FROM rag.test_regression(1, 2)"),
    "eval_metrics": ("reader", "SELECT * FROM rag.eval_metrics(1)"),
    "query_metrics": ("reader", "SELECT * FROM rag.query_metrics(1)"),
    "ndcg": ("reader", "SELECT rag.ndcg(1, 10)"),
    "recall": ("reader", "SELECT rag.recall(1, 10)"),
    "precision_at": ("reader", "SELECT rag.precision_at(1, 10)"),
    "mrr": ("reader", "SELECT rag.mrr(1, 10)"),
    "average_precision": ("reader", "SELECT rag.average_precision(1, 10)"),
    "risk_coverage": ("reader", "SELECT * FROM rag.risk_coverage(1)"),
    "compare_runs": ("reader", "SELECT * FROM rag.compare_runs(1, 2)"),
    "compare_queries": ("reader", "SELECT * FROM rag.compare_queries(1, 2, 'ndcg')"),
    "put_eval_scores": (
        "writer",
        """SELECT rag.put_eval_scores(1, 'human', '1',
       '[{"query_id": "q1", "score": 1}]')""",
    ),
    "score_answers": (
        "writer",
        """CREATE FUNCTION pg_temp.judge(text, text, text[], text[]) RETURNS float8
           LANGUAGE sql RETURN 1; SELECT rag.score_answers(1, 'pg_temp.judge')""",
    ),
    "put_calibration": ("writer", f"SELECT rag.put_calibration('docs', {CALIBRATION})"),
    "get_calibration": ("reader", "SELECT * FROM rag.get_calibration('docs')"),
    "calibration_curve": ("reader", "SELECT * FROM rag.calibration_curve('docs')"),
    "drop_calibration": ("writer", "SELECT rag.drop_calibration('docs')"),
    "measure_judge": ("writer", "SELECT * FROM rag.measure_judge('faithfulness', '1')"),
    "create_collection": ("owner", "SELECT rag.create_collection('more', 'none', 3)"),
    "alter_collection": ("owner", "SELECT rag.alter_collection('docs', description => 'notes')"),
    "set_extraction": (
        "owner",
        """SELECT rag.set_extraction('docs', '{"author": {"type": "text"}}', 'm')""",
    ),
    "set_contexts": ("owner", "SELECT rag.set_contexts('docs', model => 'm')"),
    "set_enrichment": (
        "owner",
        """SELECT rag.set_enrichment('docs', '[{"field": "bird", "pattern": "bird"}]')""",
    ),
    "set_chunking": (
        "owner",
        """SELECT rag.set_chunking('docs', '{"max_tokens": 128}', force => true)""",
    ),
    "drop_collection": ("owner", "SELECT rag.drop_collection('docs')"),
    "drop_vector_index": ("owner", "SELECT rag.drop_vector_index('docs')"),
    "build_vector_index": (
        "owner",
        "SELECT rag.drop_vector_index('docs'), rag.build_vector_index('docs')",
    ),
    "create_space": ("owner", "SELECT rag.create_space('docs', 'third', 3)"),
    "activate_space": ("owner", f"SELECT rag.activate_space({SPACE}, force => true)"),
    "rollback_space": (
        "owner",
        (
            f"SELECT rag.activate_space({SPACE}, force => true), rag.rollback_space('docs', force"
            " => true)"
        ),
    ),
    "drop_space": ("owner", f"SELECT rag.drop_space({SPACE})"),
    "index_field": ("owner", "SELECT rag.index_field('docs', 'tag', 'text')"),
    "unindex_field": ("owner", "SELECT rag.unindex_field('docs', 'n')"),
    "attach_source": ("owner", "SELECT rag.attach_source('app.articles', 'docs', '{body}')"),
    "attach_location": ("owner", "SELECT rag.attach_location('docs', 's3://box/docs/')"),
    "detach_location": ("owner", "SELECT rag.detach_location('docs', 's3://box/docs/')"),
    "detach_source": ("owner", "SELECT rag.detach_source('app.articles')"),
}


def public_names() -> set[str]:
    """The functions whose names do not begin with an underscore."""
    return {name for name in packaged_routines() if not name.startswith("_")}


def fill(connection: psycopg.Connection[Any]) -> None:
    """Collections, merged and fresh chunks, jobs of both kinds in hand, a second space,
    a field and a source."""
    run = connection.execute
    run("SELECT rag.create_collection('docs', 'none', 3), rag.create_tenant('acme')")
    run(f"SELECT rag.set_enrichment('docs', {RULES}), rag.queue_backlog()")
    # A transaction anywhere on the server keeps a backlog open, and the next one waits for it.
    run("DELETE FROM rag.backlogs WHERE kind = 'enrich'")
    run(
        "SELECT rag.index_field('docs', 'n', 'numeric'), rag.index_field('docs', 'day',"
        " 'timestamptz')"
    )
    for number in range(1, 4):
        chunks = [
            {
                "content": f"blue fish word{number} word{place % 50} {'word7 ' * (place % 5)}",
                "embedding": [place % 7, place % 5, 1],
                "metadata": {"n": place % 9, "tag": "abc"[place % 3], "day": f"2024-0{number}-01"},
            }
            for place in range(200)
        ]
        run(
            "SELECT rag.put_chunks('docs', %s, %s)",
            [f"d{number}", json.dumps(chunks)],
        )
    run("SELECT rag._merge_keyword(1), rag._seal_block(1, 0), rag._reweigh_postings(1, 1000)")
    run("SELECT rag.delete_document('docs', 'd3'), rag._compact_keyword(1, -1)")
    run(
        "SELECT rag.put_document('docs', 'p' || g, 'a text of fish', metadata => '{\"n\": 3}') FROM"
        " generate_series(1, 5) AS g"
    )
    run(
        """SELECT rag.alter_collection('docs', keep_answers => '1 day', keep_versions => '1 day',
                   sample_queries => 1, keep_query_text => true),
               rag.log_query('docs', 'fish', '[1, 0, 0]'),
               rag.log_answer('docs', gen_random_uuid(), 'why', '{"text": "so"}')"""
    )
    run("SELECT rag.create_space('docs', 'second', 3), rag.queue_backlog()")
    run("SELECT rag.take_jobs(2, 3600, worker_name => 'held', kinds => '{embed}')")
    run("SELECT rag.take_jobs(1, 3600, worker_name => 'held', kinds => '{ingest}')")
    work = "SELECT rag.enrich_document(job_id, lease) FROM rag.take_jobs(9, kinds => '{enrich}')"
    run(work)
    run("SELECT rag._queue_jobs(1, ARRAY[rag.document_id('docs', 'd2')], 'enrich')")
    run("SELECT rag.take_jobs(1, 3600, worker_name => 'held', kinds => '{enrich}')")
    run('SELECT rag.set_extraction(\'docs\', \'{"by": {"type": "text"}}\')')
    run("SELECT rag.set_contexts('docs')")
    run("DELETE FROM rag.backlogs WHERE kind IN ('extract', 'context')")
    for kind in ("extract", "context"):
        run("SELECT rag._queue_jobs(1, ARRAY[rag.document_id('docs', 'd2')], %s)", [kind])
        run("SELECT rag.take_jobs(1, 3600, worker_name => 'held', kinds => ARRAY[%s])", [kind])
    run("SELECT rag.set_budget('gemini', requests_per_minute => 10)")
    run(
        "SELECT rag._add_request('docs', 'ask', jsonb_build_object('question', 'why',"
        f" 'answer_key', {REQUEST}), 3600)"
    )
    run(
        """SELECT rag.put_eval_queries('faq', '[
               {"id": "q1", "question": "blue fish", "relevant": [{"uri": "d1", "quote": "word1"}],
                "category": "fish", "answers": ["fish"]},
               {"id": "q2", "question": "a bird", "unanswerable": true}]')"""
    )
    run("SELECT rag.evaluate_search('faq', 'docs', options => '{\"vector_weight\": 0}')")
    run("SELECT rag.evaluate_search('faq', 'docs', 3, options => '{\"vector_weight\": 0}')")
    gated = '[{"question": "blue fish", "relevant": ["d1"]}]'
    run("SELECT rag.put_eval_queries('gated', %s)", [gated])
    run("SELECT rag.set_gate('docs', 'gated', options => '{\"vector_weight\": 0}')")
    for _ in range(2):
        run("SELECT rag.evaluate_search('gated', 'docs', options => '{\"vector_weight\": 0}')")
    run(
        """SELECT rag.put_eval_scores(1, judge, '1', '[{"query_id": "q1", "score": 1}]')
           FROM unnest('{human,faithfulness}'::text[]) AS j (judge)"""
    )
    run("CREATE SCHEMA app; CREATE TABLE app.articles (id bigint PRIMARY KEY, day date, body text)")
    run(
        "INSERT INTO app.articles SELECT g, '2024-01-01', 'article ' || g FROM generate_series(1,"
        " 5) AS g"
    )
    run(
        "CREATE VIEW app.titles AS SELECT id, day FROM app.articles; GRANT USAGE ON SCHEMA app TO"
        " PUBLIC; GRANT SELECT ON app.titles TO PUBLIC"
    )
    run("SELECT rag.expose_view('app.titles', 'An article', 'titles')")
    run(
        "SELECT rag.attach_source('app.articles', 'docs', '{body}', metadata => '{day}', condition"
        " => 'id > 0')"
    )
    run(
        "UPDATE app.articles SET body = body || '!' WHERE id = 2; DELETE FROM app.articles WHERE"
        " id = 1"
    )
