-- Whether a source says what is quoted from it.

CREATE OR REPLACE FUNCTION rag._longest_word(quote text)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT left(w.word[1], 12)
        FROM regexp_matches(left(rag._lower(quote), 2000), E'[^\\x01-\\x40\\x5B-\\x60]+', 'g')
            AS w (word)
        ORDER BY length(w.word[1]) DESC LIMIT 1);
END
$$;

COMMENT ON FUNCTION rag._longest_word IS
$$The beginning of the longest word of a quotation, in small letters; NULL for none.$$;


CREATE OR REPLACE FUNCTION rag._may_hold(original text, quote text, word text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN strpos(original, quote) > 0 OR strpos(rag._lower(original), word) > 0;

COMMENT ON FUNCTION rag._may_hold IS
$$Whether it is worth while to look for a quotation in a text: it has its longest word.$$;


CREATE OR REPLACE FUNCTION rag._read_chunk(collection_id integer, chunk_key bigint,
    OUT document_id uuid, OUT ordinal integer, OUT content text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
BEGIN
    SELECT c.document_id, c.ordinal, c.content INTO document_id, ordinal, content
    FROM rag.chunks AS c
    WHERE c.collection_id = _read_chunk.collection_id AND c.chunk_id = chunk_key;
END
$$;

COMMENT ON FUNCTION rag._read_chunk IS
$$What a citation needs of a chunk; NULL for none.$$;


CREATE OR REPLACE FUNCTION rag._read_beside(collection_id integer, document_key uuid,
    about integer, others bigint[], OUT chunk_keys bigint[], OUT contents text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    _keys bigint[];
    _contents text[];
    _beside record;
BEGIN
    -- without an aggregate and a second bound, for planning takes longer than reading
    FOR _beside IN
        SELECT c.chunk_id, c.ordinal, c.content FROM rag.chunks AS c
        WHERE c.collection_id = _read_beside.collection_id AND c.document_id = document_key
            AND c.ordinal >= about - 4
        ORDER BY c.ordinal LIMIT 9
    LOOP
        IF _beside.ordinal <> about AND _beside.ordinal <= about + 4 THEN
            chunk_keys := chunk_keys || _beside.chunk_id;
            contents := contents || _beside.content;
        END IF;
    END LOOP;
    IF cardinality(others) > 0 THEN
        -- planned apart, for a statement with both is planned twice as long
        SELECT array_agg(c.chunk_id), array_agg(c.content) INTO _keys, _contents
        FROM rag.chunks AS c
        WHERE c.collection_id = _read_beside.collection_id AND c.chunk_id = ANY (others);
        chunk_keys := _keys || chunk_keys;
        contents := _contents || contents;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._read_beside IS
$$The chunks in which a quotation of one may stand: others, then up to 4 before and after it.$$;


CREATE OR REPLACE FUNCTION rag.check_citation(
    collection text,
    chunk_id bigint,
    quote text,
    version integer DEFAULT NULL,
    others bigint[] DEFAULT '{}',
    OUT status text, OUT start integer, OUT stop integer, OUT similarity double precision,
    OUT found_in bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = auto
AS $$
DECLARE
    _collection CONSTANT rag.collections := rag._require_collection(check_citation.collection);
    _collection_id CONSTANT integer := _collection.collection_id;
    -- of a shared collection what this session sees
    _chunk CONSTANT record := rag._read_chunk(_collection_id,
        CASE WHEN _collection.tenant <> '*' THEN check_citation.chunk_id
            ELSE (rag._scoped_chunks(_collection_id, ARRAY[check_citation.chunk_id]))[1] END);
    _others bigint[];
    _found record;
    _other record;
    _compared integer := 0;
    _word text;
BEGIN
    IF quote IS NULL THEN
        RAISE EXCEPTION 'the quote is NULL' USING ERRCODE = 'RG001', HINT = 'pass a text';
    END IF;
    IF _chunk.content IS NULL THEN
        RAISE EXCEPTION 'collection ''%'' has no chunk %', check_citation.collection,
            coalesce(check_citation.chunk_id::text, 'NULL')
        USING ERRCODE = 'RG002',
            HINT = 'chunks get new ids when their text changes; search again';
    END IF;
    _found := rag._locate_quote(_chunk.content, check_citation.quote);
    status := _found.status;
    start := _found.start;
    stop := _found.stop;
    similarity := _found.similarity;
    found_in := CASE WHEN start IS NOT NULL THEN check_citation.chunk_id END;
    IF status IN ('exact', 'normalised') OR octet_length(quote) NOT BETWEEN 12 AND 100000 THEN
        RETURN;
    END IF;
    IF check_citation.version IS NOT NULL
        AND NOT rag._keeps_version(_collection_id, _chunk.document_id, check_citation.version) THEN
        status := 'unknown';
        start := NULL;
        stop := NULL;
        similarity := NULL;
        found_in := NULL;
        RETURN;
    END IF;
    FOR _other IN
        SELECT v.content FROM rag._document_versions(_collection_id, _chunk.document_id,
            check_citation.version) AS v
    LOOP
        -- All that are kept; beyond some, those alone that may hold it are compared.
        _compared := _compared + 1;
        IF _compared > 10 THEN
            _word := coalesce(_word, rag._longest_word(check_citation.quote));
            CONTINUE WHEN NOT rag._may_hold(_other.content, check_citation.quote, _word);
        END IF;
        _found := rag._locate_quote(_other.content, check_citation.quote);
        IF _found.status IN ('exact', 'normalised') THEN
            status := 'superseded';
            start := NULL;
            stop := NULL;
            similarity := 1;
            found_in := NULL;
            RETURN;
        END IF;
    END LOOP;
    IF cardinality(others) > 0 THEN
        _others := rag._scoped_chunks(_collection_id, others[:50]);
        _others := ARRAY(
            SELECT o.id FROM unnest(_others) AS o (id) WHERE o.id <> check_citation.chunk_id);
    END IF;
    _other := rag._read_beside(_collection_id, _chunk.document_id, _chunk.ordinal, _others);
    FOR _number IN 1..coalesce(cardinality(_other.chunk_keys), 0) LOOP
        _word := coalesce(_word, rag._longest_word(check_citation.quote));
        CONTINUE WHEN NOT rag._may_hold(_other.contents[_number], check_citation.quote, _word);
        _found := rag._locate_quote(_other.contents[_number], check_citation.quote);
        IF _found.status IN ('exact', 'normalised') THEN
            status := 'misattributed';
            start := _found.start;
            stop := _found.stop;
            similarity := 1;
            found_in := _other.chunk_keys[_number];
            RETURN;
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag.check_citation IS
$$Whether a chunk says what is quoted from it, and where.

status: exact; normalised (the same but for white space, dashes, quotation marks, words divided at
the end of a line, case, ligatures, emphasis of Markdown, invisible characters); partial (at least
85 % of the quote stands there in one run, or all of it with another space, hyphen or sign, or cut
out of a word or a number, or it has under 12 characters); misattributed (it stands in another
chunk: of others, those that were retrieved with it, or of the 4 before and after it); superseded
(it stood in an earlier text of the document that is kept; version: that one alone); unknown (it is
not in this chunk, and version is not kept: nobody can tell whether it stood there); fabricated.
Only exact and normalised are a proof. A quote with a part left out is none: check its parts.

start, stop: the run in the content of chunk found_in, characters from 0, stop exclusive; NULL for
fabricated, superseded and unknown. similarity: 0 to 1, the share of the quote in that run.
Circle: application, Search.
SELECT * FROM rag.check_citation('docs', 1, 'It opens at nine.')$$;
