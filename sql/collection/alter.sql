-- Settings of a collection that are no part of how it is cut or searched: changed.

CREATE OR REPLACE FUNCTION rag.alter_collection(collection text, description text DEFAULT NULL,
    keep_versions interval DEFAULT NULL, keep_answers interval DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    longest CONSTANT integer := 1000;
    _id integer := (rag._require_collection(alter_collection.collection)).collection_id;
BEGIN
    IF length(alter_collection.description) > longest THEN
        RAISE EXCEPTION 'the description has % characters', length(alter_collection.description)
        USING ERRCODE = 'RG001', HINT = format('say it in at most %s', longest);
    END IF;
    IF least(alter_collection.keep_versions, alter_collection.keep_answers) < interval '0'
        OR greatest(alter_collection.keep_versions, alter_collection.keep_answers)
            > interval '1000 years' THEN
        RAISE EXCEPTION 'keep_versions % or keep_answers % is out of range',
            alter_collection.keep_versions, alter_collection.keep_answers
        USING ERRCODE = 'RG001',
            HINT = 'use an interval such as ''30 days'', up to 1000 years, or ''0'' for none';
    END IF;
    UPDATE rag.collections AS c
    SET description = coalesce(alter_collection.description, c.description),
        keep_versions = coalesce(alter_collection.keep_versions, c.keep_versions),
        keep_answers = coalesce(alter_collection.keep_answers, c.keep_answers)
    WHERE c.collection_id = _id;
END
$$;

COMMENT ON FUNCTION rag.alter_collection(text, text, interval, interval) IS
$$Change settings of a collection; NULL leaves one as it is.

description: what the documents are and what they answer, for people and for programs that choose
among collections; at most 1000 characters, '' for none. keep_versions: for so long the texts that
are replaced or deleted stay (rag.list_versions, rag.document_at, rag.diff_versions). keep_answers:
for so long, and at most 100,000 of them, answers are logged with their questions (rag.list_answers,
rag.replay_answer, rag.feedback). Both are '0' at first: nothing is kept. What is older than it may
be goes at the next maintenance.$$;
