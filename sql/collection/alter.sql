-- Settings of a collection that are no part of how it is cut or searched: changed.

CREATE OR REPLACE FUNCTION rag.alter_collection(collection text, description text DEFAULT NULL)
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
    UPDATE rag.collections AS c
    SET description = coalesce(alter_collection.description, c.description)
    WHERE c.collection_id = _id;
END
$$;

COMMENT ON FUNCTION rag.alter_collection(text, text) IS
$$Change settings of a collection; NULL leaves one as it is.

description: what the documents are and what they answer, for people and for programs that choose
among collections; at most 1000 characters, '' for none.$$;
