"""A second version of the lexer: joins parts with hyphens, and finds identifiers by their parts."""

from typing import Any

import psycopg

SECOND = r"""
    ALTER FUNCTION rag._parser_text(text, integer) RENAME TO _parser_text_1;
    CREATE FUNCTION rag._parser_text(searchable text, lexer integer) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN rag._parser_text_1(CASE WHEN lexer < 2 THEN searchable
        ELSE regexp_replace(searchable, '([[:alpha:]])-([[:alpha:]])', '\1\2', 'g') END, lexer);

    ALTER FUNCTION rag._special_words(text, integer) RENAME TO _special_words_1;
    CREATE FUNCTION rag._special_words(searchable text, lexer integer) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN lexer < 2 THEN rag._special_words_1(searchable, lexer)
        ELSE (SELECT array_agg(replace(w.word, '_', '') ORDER BY w.position)
            FROM unnest(rag._special_words_1(searchable, lexer)) WITH ORDINALITY
                AS w (word, position)) END;

    CREATE OR REPLACE FUNCTION rag._lexer_version() RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 2::smallint;

    DO $$
    DECLARE
        _one regprocedure;
    BEGIN
        -- An upgrade makes every function anew: no session goes on by the plans that it has.
        FOR _one IN SELECT p.oid FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
                    WHERE p.pronamespace = 'rag'::regnamespace AND p.prokind = 'f'
                        AND l.lanname = 'plpgsql' LOOP
            EXECUTE format('ALTER FUNCTION %s COST 100', _one);
        END LOOP;
    END
    $$;
"""


def change_lexer(db: psycopg.Connection[Any]) -> None:
    """What a release does that changes the lexer."""
    with db.transaction():
        db.execute(SECOND)
