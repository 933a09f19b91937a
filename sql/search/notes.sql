-- Notes: what a search did otherwise than it was asked.

CREATE OR REPLACE FUNCTION rag._add_note(note text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _setting text := current_setting('rag.notes', true);
    _notes jsonb := CASE WHEN _setting IS JSON ARRAY THEN _setting::jsonb ELSE '[]' END;
BEGIN
    IF NOT _notes @> to_jsonb(note) THEN
        PERFORM set_config('rag.notes', (_notes || to_jsonb(note))::text, true);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._add_note(text) IS
$$Tell what a search did otherwise than it was asked, in the setting rag.notes: a JSON array of
texts, which holds until the transaction ends or the next search begins.$$;


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

COMMENT ON FUNCTION rag._clear_notes() IS
$$Forget the notes of an earlier search in the same transaction (rag._add_note).$$;
