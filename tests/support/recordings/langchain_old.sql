-- As langchain-postgres 0.0.19 makes it; recorded by tests/support/recordings/record.py.

CREATE TABLE public.langchain_pg_collection (
    uuid uuid NOT NULL,
    name character varying NOT NULL,
    cmetadata json
);
CREATE TABLE public.langchain_pg_embedding (
    id character varying NOT NULL,
    collection_id uuid,
    embedding public.vector,
    document character varying,
    cmetadata jsonb
);
INSERT INTO public.langchain_pg_collection VALUES ('d475319d-41f1-443e-b05d-54a6c64ff9f1', 'handbook', 'null');
INSERT INTO public.langchain_pg_collection VALUES ('2eb4d022-59db-4dbd-bf0f-a6dc4aeab0b5', 'other', 'null');
INSERT INTO public.langchain_pg_embedding VALUES ('handbook-9', 'd475319d-41f1-443e-b05d-54a6c64ff9f1', '[-0.008,0.625,-0.125,0.117,-0.039,0.727,-0.875,0.227]', 'Backups run every night at two.', '{"lang": "en", "source": "handbook/backup.md", "start_index": 0}');
INSERT INTO public.langchain_pg_embedding VALUES ('handbook-8', 'd475319d-41f1-443e-b05d-54a6c64ff9f1', '[0.633,-0.742,-0.945,-0.805,0.359,0.148,0.648,-0.539]', 'Everybody has thirty days of holiday.', '{"lang": "en", "source": "handbook/leave.md", "start_index": 0}');
INSERT INTO public.langchain_pg_embedding VALUES ('handbook-7', 'd475319d-41f1-443e-b05d-54a6c64ff9f1', '[0.422,-0.938,0.375,0.539,0.094,-0.141,-0.859,0.227]', 'They are kept for thirty days.', '{"lang": "en", "source": "handbook/backup.md", "start_index": 32}');
INSERT INTO public.langchain_pg_embedding VALUES ('handbook-6', 'd475319d-41f1-443e-b05d-54a6c64ff9f1', '[-1,0.531,0.945,0.953,-0.531,-0.797,0.648,0.086]', 'Holidays are booked online.', '{"lang": "en", "source": "handbook/leave.md", "start_index": 38}');
INSERT INTO public.langchain_pg_embedding VALUES ('handbook-5', 'd475319d-41f1-443e-b05d-54a6c64ff9f1', '[0.898,0.773,0.617,-0.742,0.594,-0.109,-0.375,-0.555]', 'Ask support to restore one.', '{"lang": "en", "source": "handbook/backup.md", "start_index": 63}');
INSERT INTO public.langchain_pg_embedding VALUES ('other-9', '2eb4d022-59db-4dbd-bf0f-a6dc4aeab0b5', '[0.047,-0.914,-0.695,0.148,0.789,-0.031,0.906,0.648]', 'Another collection.', '{}');
ALTER TABLE ONLY public.langchain_pg_collection
    ADD CONSTRAINT langchain_pg_collection_name_key UNIQUE (name);
ALTER TABLE ONLY public.langchain_pg_collection
    ADD CONSTRAINT langchain_pg_collection_pkey PRIMARY KEY (uuid);
ALTER TABLE ONLY public.langchain_pg_embedding
    ADD CONSTRAINT langchain_pg_embedding_pkey PRIMARY KEY (id);
CREATE INDEX ix_cmetadata_gin ON public.langchain_pg_embedding USING gin (cmetadata jsonb_path_ops);
ALTER TABLE ONLY public.langchain_pg_embedding
    ADD CONSTRAINT langchain_pg_embedding_collection_id_fkey FOREIGN KEY (collection_id) REFERENCES public.langchain_pg_collection(uuid) ON DELETE CASCADE;
