-- As pgvector-haystack 8.1.2 makes it; recorded by tests/support/recordings/record.py.

CREATE TABLE public.haystack_documents (
    id character varying(128) NOT NULL,
    embedding public.vector(8),
    content text,
    blob_data bytea,
    blob_meta jsonb,
    blob_mime_type character varying(255),
    meta jsonb
);
INSERT INTO public.haystack_documents VALUES ('9090909090909090909090909090909090909090909090909090909090909090', '[-0.008,0.625,-0.125,0.117,-0.039,0.727,-0.875,0.227]', 'Backups run every night at two.', NULL, NULL, NULL, '{"lang": "en", "split_id": 0, "source_id": "source-backup"}');
INSERT INTO public.haystack_documents VALUES ('8181818181818181818181818181818181818181818181818181818181818181', '[0.633,-0.742,-0.945,-0.805,0.359,0.148,0.648,-0.539]', 'Everybody has thirty days of holiday.', NULL, NULL, NULL, '{"lang": "en", "split_id": 0, "source_id": "source-leave"}');
INSERT INTO public.haystack_documents VALUES ('7272727272727272727272727272727272727272727272727272727272727272', '[0.422,-0.938,0.375,0.539,0.094,-0.141,-0.859,0.227]', 'They are kept for thirty days.', NULL, NULL, NULL, '{"lang": "en", "split_id": 1, "source_id": "source-backup"}');
INSERT INTO public.haystack_documents VALUES ('6363636363636363636363636363636363636363636363636363636363636363', '[-1,0.531,0.945,0.953,-0.531,-0.797,0.648,0.086]', 'Holidays are booked online.', NULL, NULL, NULL, '{"lang": "en", "split_id": 1, "source_id": "source-leave"}');
INSERT INTO public.haystack_documents VALUES ('5454545454545454545454545454545454545454545454545454545454545454', NULL, 'Ask support to restore one.', NULL, NULL, NULL, '{"lang": "en", "split_id": 2, "source_id": "source-backup"}');
INSERT INTO public.haystack_documents VALUES ('ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff', '[-0.242,-0.961,0.672,0.594,-0.078,0.367,-0.5,-0.977]', NULL, '\x89504e47', NULL, 'image/png', '{}');
ALTER TABLE ONLY public.haystack_documents
    ADD CONSTRAINT haystack_documents_pkey PRIMARY KEY (id);
CREATE INDEX haystack_keyword_index ON public.haystack_documents USING gin (to_tsvector('english'::regconfig, content));
