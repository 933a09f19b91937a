-- Health as rows: a function of checks returns nothing where all is well.

CREATE OR REPLACE FUNCTION rag.doctor()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    WITH found AS (
        SELECT f.* FROM rag._check_functions() AS f
        UNION ALL SELECT f.* FROM rag._check_vectors() AS f
        UNION ALL SELECT f.* FROM rag._check_work() AS f
        UNION ALL SELECT f.* FROM rag._check_data() AS f
        UNION ALL SELECT f.* FROM rag._check_access() AS f
        UNION ALL SELECT f.* FROM rag._check_views() AS f
        UNION ALL SELECT f.* FROM rag._check_calibrations() AS f
        UNION ALL SELECT f.* FROM rag._check_recall() AS f
        UNION ALL SELECT f.* FROM rag._check_formats() AS f
        UNION ALL SELECT f.* FROM rag._check_server() AS f
    )
    SELECT 'schema', 'ok', format('release %s, revision %s', rag.version(), v.version_num),
        NULL::text
    FROM rag.alembic_version AS v
    UNION ALL
    SELECT k.name, coalesce(f.status, 'ok'), coalesce(f.detail, k.fine), f.remedy
    FROM (VALUES ('functions', 'all of the release, each once'),
        ('pgvector', 'recent enough'), ('vector index', 'all there and valid'),
        ('dead jobs', 'none'),
                 ('waiting jobs', 'taken in time'),
                     ('chunks without vectors', 'none that no job embeds'),
                 ('chunks without documents', 'none'), ('vectors without chunks', 'none'),
                     ('files without documents', 'none'), ('broken sources', 'none'),
                 ('rows of sources', 'all could be put'), ('sources without triggers', 'none'),
                     ('maintenance', 'no step fails'), ('spend caps', 'none is reached'),
                 ('fields to declare', 'none found'),
                     ('schema rights', 'only its owner may create in schema rag'),
                 ('exposed views', 'all are what was exposed'),
                 ('calibrations', 'all that are stored hold'),
                 ('vector recall', 'no measure is below its target'),
                 ('keyword merges', 'none is held up'),
                 ('stored formats', 'all are of this release'),
                 ('bloat', 'no table has many dead rows'),
                 ('statistics', 'no table has changed much since it was analyzed'),
                 ('vacuum', 'it runs, and nothing holds it up'),
                 ('memory', 'the vector indexes fit'),
                 ('connections', 'enough are free'),
                 ('replication', 'no standby is behind'),
                 ('unapplied upgrade', 'pgvector is the one that the server has'),
                     ('languages', 'every text search configuration exists')) AS k (name, fine)
    LEFT JOIN found AS f ON f.check_name = k.name;
END
$$;

COMMENT ON FUNCTION rag.doctor IS
$$Health as rows: each check with its status (ok, warn or fail), what was found, and what to do
about it.

It reads every chunk of every collection: seconds for a million. "rag-pg db check" compares the
bodies of functions too.
Circle: application 12, Maintenance and versions.
SELECT * FROM rag.doctor() WHERE status <> 'ok'$$;
