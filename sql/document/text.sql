-- What is computed of a text, and what every worker must compute in the same way.

CREATE OR REPLACE FUNCTION rag.content_hash(content text)
RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(convert_to(content, 'UTF8'));

COMMENT ON FUNCTION rag.content_hash IS
$$SHA-256 of a text in UTF-8: 32 bytes. Equal hashes mean that nothing has to be done again.
Circle: worker, Text.
SELECT rag.content_hash('text')$$;


CREATE OR REPLACE FUNCTION rag.embedded_text(title text, heading text, content text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN title = '' OR heading = title OR starts_with(heading, title || ' > ') THEN ''
            ELSE title || E'\n' END
    || CASE WHEN heading = '' THEN '' ELSE heading || E'\n' END
    || content;

COMMENT ON FUNCTION rag.embedded_text IS
$$The text of a chunk that is embedded and lexed: title, heading path and content, a line each.

The title is left out where the heading path begins with it. Workers in any language must embed
exactly this text.
Circle: worker, Text.
SELECT rag.embedded_text('title', 'heading', 'content')$$;


CREATE OR REPLACE FUNCTION rag.document_id(collection_name text, document_uri text)
RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN substr(encode(sha256(convert_to(
    length(collection_name) || ':' || collection_name || document_uri, 'UTF8')), 'hex'), 1,
        32)::uuid;

COMMENT ON FUNCTION rag.document_id IS
$$A document's id.
Derived from its collection's name and its uri, so that a repeated put is an update.
Circle: worker, Text.
SELECT rag.document_id('docs', 'faq')$$;
