-- Notes: what a search did otherwise than it was asked.

CREATE OR REPLACE FUNCTION rag._add_note(note text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    most_characters CONSTANT integer := 20000;
    _setting text := left(current_setting('rag.notes', true), most_characters + 1);
    _notes jsonb := '[]';
BEGIN
    IF starts_with(_setting, '["') THEN
        BEGIN
            _notes := _setting::jsonb;
        EXCEPTION WHEN data_exception OR statement_too_complex THEN  -- somebody else set it
            NULL;
        END;
    END IF;
    IF NOT _notes @> to_jsonb(note)
        AND length(_notes::text) + length(note) <= most_characters THEN
        PERFORM set_config('rag.notes', (_notes || to_jsonb(note))::text, true);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._add_note IS
$$Tell what a search did otherwise than it was asked, in the setting rag.notes: a JSON array of
texts, of 20,000 characters at most, which holds until the transaction ends or the next search
begins.$$;


CREATE OR REPLACE FUNCTION rag._clear_notes()
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF current_setting('rag.notes', true) <> '' THEN
        PERFORM set_config('rag.notes', '', true);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._clear_notes IS
$$Forget the notes of an earlier search in the same transaction (rag._add_note).$$;
