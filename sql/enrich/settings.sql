-- What a collection's documents are enriched with: set, read, tried.

CREATE OR REPLACE FUNCTION rag._set_enrichment(collection_id integer, wanted text,
    new_settings jsonb)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
BEGIN
    INSERT INTO rag.enrichments AS e (collection_id, kind, settings, version)
    VALUES (_set_enrichment.collection_id, wanted, new_settings, 1)
    ON CONFLICT ON CONSTRAINT enrichments_pkey
    DO UPDATE SET settings = excluded.settings, version = e.version + 1
    WHERE e.settings <> excluded.settings;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    DELETE FROM rag.backlogs AS b WHERE b.collection_id = _set_enrichment.collection_id
        AND b.kind = wanted;
    INSERT INTO rag.backlogs (backlog_id, collection_id, kind)
    VALUES (rag._next_id('backlogs', 'backlog_id'), _set_enrichment.collection_id, wanted);
    PERFORM pg_notify('rag_jobs', '');
    RETURN (SELECT count(*) FROM rag.documents AS d WHERE d.collection_id =
        _set_enrichment.collection_id);
END
$$;

COMMENT ON FUNCTION rag._set_enrichment IS
$$Store settings of a kind as their next version, and queue all documents for it. Returns how many
there are; 0 where the settings are these already.$$;


CREATE OR REPLACE FUNCTION rag.set_enrichment(collection text, rules jsonb)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(set_enrichment.collection);
    _rules jsonb := coalesce(set_enrichment.rules, '[]');
BEGIN
    PERFORM rag._check_rules(_rules);
    IF _rules = '[]' AND (rag._enrichment(_collection.collection_id, 'enrich')).kind IS NULL THEN
        RETURN 0;
    END IF;
    RETURN rag._set_enrichment(_collection.collection_id, 'enrich', _rules);
END
$$;

COMMENT ON FUNCTION rag.set_enrichment IS
$$Metadata from the text, by rules.

Set the rules by which a collection's documents and chunks get metadata from their text, and apply
them to all documents in the background. Returns how many documents there are; 0: the rules are
these already.

rules: an array of at most 100, e.g. [{"field": "is_critical", "pattern": "MANDATORY|CRITICAL",
"value": true, "scope": "chunk"}, {"field": "phase", "pattern": "^Phase ([0-9]+)", "in": "heading",
"type": "number", "scope": "chunk"}, {"field": "tags", "pattern": "#(\\w+)", "all": true}]; '[]'
removes what rules gave. field: of the metadata. pattern: PostgreSQL's regular expression; ^ and $
are the ends of a line. in: content (default), heading, title, uri. scope: document (default; its
chunks have it too) or chunk (only those that match; counts do not see it). value: what a match
sets; without it the first group, or the whole match, as type text (default), number, boolean or
date (YYYY-MM-DD); all: every distinct match, a list. The first rule of a field that fits is taken.
Metadata that the caller gave, front matter with it, goes first. No text is embedded again.
Circle: application, Enrichment.
SELECT rag.set_enrichment('docs',
    '[{"field": "n", "pattern": "n ([0-9]+)"}]')$$;


CREATE OR REPLACE FUNCTION rag.get_enrichment(collection text)
RETURNS TABLE (kind text, settings jsonb, version integer, queueing boolean, waiting bigint,
    failed bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(get_enrichment.collection)).collection_id;
BEGIN
    RETURN QUERY
    SELECT e.kind, e.settings, e.version,
           EXISTS (SELECT FROM rag.backlogs AS b
                   WHERE b.collection_id = _id AND b.kind = e.kind),
           count(j.job_id) FILTER (WHERE j.state = 'waiting'),
           count(j.job_id) FILTER (WHERE j.state = 'dead')
    FROM rag.enrichments AS e
    LEFT JOIN rag.jobs AS j ON j.collection_id = _id AND j.kind = e.kind
    WHERE e.collection_id = _id
    GROUP BY e.kind, e.settings, e.version
    ORDER BY array_position('{enrich,extract,context}', e.kind);
END
$$;

COMMENT ON FUNCTION rag.get_enrichment IS
$$What a collection's documents are enriched with: kind enrich (rules), extract (fields by a model)
and context (contexts by a model), each with its settings and their version.

queueing: documents are still being queued for them. waiting, failed: jobs.
Circle: application, Enrichment.
SELECT * FROM rag.get_enrichment('docs')$$;


CREATE OR REPLACE FUNCTION rag.preview_enrichment(collection text, rules jsonb DEFAULT NULL,
    document_limit integer DEFAULT 100)
RETURNS TABLE (rule integer, field text, scope text, documents bigint, chunks bigint,
    overridden bigint, examples jsonb, of_documents bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _id integer := (rag._require_collection(preview_enrichment.collection)).collection_id;
    _rules jsonb := coalesce(preview_enrichment.rules,
        (rag._enrichment(_id, 'enrich')).settings, '[]');
BEGIN
    PERFORM rag._check_rules(_rules);
    PERFORM rag._check_range('document_limit', document_limit, 1, 100000, 'RG001');
    RETURN QUERY
    WITH sample AS MATERIALIZED (
        SELECT ROW(d.*)::rag.documents AS document,
               rag._document_sources(ROW(d.*)::rag.documents) AS sources,
               coalesce(d.given_metadata, d.metadata) AS given
        FROM rag.documents AS d
        WHERE d.collection_id = _id
        ORDER BY d.document_id
        LIMIT document_limit
    ), numbered AS (
        SELECT r.ordinality::integer AS number, r.value AS one,
               coalesce(r.value ->> 'scope', 'document') AS level
        FROM jsonb_array_elements(_rules) WITH ORDINALITY AS r
    ), matched AS (
        SELECT n.number, (s.document).document_id AS id, s.given ? (n.one ->> 'field') AS lost,
               NULL::bigint AS chunk_id, m.value
        FROM numbered AS n, sample AS s,
        LATERAL (SELECT rag._match_rule(n.one, s.sources ->> coalesce(n.one ->> 'in', 'content'))
                 AS value) AS m
        WHERE n.level = 'document' AND m.value IS NOT NULL
        UNION ALL
        SELECT n.number, c.document_id, s.given ? (n.one ->> 'field'), c.chunk_id, m.value
        FROM numbered AS n, sample AS s
        JOIN rag.chunks AS c ON c.collection_id = _id
            AND c.document_id = (s.document).document_id,
        LATERAL (SELECT rag._match_rule(n.one, CASE n.one ->> 'in' WHEN 'heading' THEN c.heading
                 ELSE c.content END) AS value) AS m
        WHERE n.level = 'chunk' AND m.value IS NOT NULL
    )
    SELECT n.number, n.one ->> 'field', n.level, count(DISTINCT m.id), count(m.chunk_id),
           count(DISTINCT m.id) FILTER (WHERE m.lost),
           coalesce((SELECT jsonb_agg(x.value) FROM (
               SELECT y.value FROM matched AS y WHERE y.number = n.number
               GROUP BY y.value ORDER BY count(*) DESC, y.value LIMIT 5) AS x), '[]'),
           (SELECT count(*) FROM sample)
    FROM numbered AS n
    LEFT JOIN matched AS m ON m.number = n.number
    GROUP BY n.number, n.one, n.level
    ORDER BY n.number;
END
$$;

COMMENT ON FUNCTION rag.preview_enrichment IS
$$What each rule would find in at most document_limit documents; nothing is stored. rules: NULL for
those that are set.

documents, chunks: in how many it fits (chunks: of rules of scope chunk). overridden: in how many of
the documents the caller's own metadata goes first. examples: the five values found most often.
of_documents: how many were looked at. Use a statement_timeout with patterns you do not trust.
Circle: application, Enrichment.
SELECT * FROM rag.preview_enrichment('docs',
    '[{"field": "n", "pattern": "[0-9]+"}]')$$;
