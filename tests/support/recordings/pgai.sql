-- As pgai 0.12.1 makes it; recorded by tests/support/recordings/record.py.

CREATE TABLE public.handbook (
    id integer NOT NULL,
    path text,
    lang text,
    body text
);
CREATE TABLE public.handbook_embedding_store (
    embedding_uuid uuid DEFAULT gen_random_uuid() NOT NULL,
    id integer NOT NULL,
    chunk_seq integer NOT NULL,
    chunk text NOT NULL,
    embedding public.vector(8) NOT NULL
);
ALTER TABLE ONLY public.handbook_embedding_store ALTER COLUMN embedding SET STORAGE MAIN;
CREATE VIEW public.handbook_embedding AS
 SELECT t.embedding_uuid,
    t.chunk_seq,
    t.chunk,
    t.embedding,
    t.id,
    s.path,
    s.lang,
    s.body
   FROM (public.handbook_embedding_store t
     LEFT JOIN public.handbook s ON ((t.id = s.id)));
INSERT INTO public.handbook VALUES (1, 'handbook/backup.md', 'en', 'Backups run every night at two. They are kept for thirty days. Ask support to restore one.');
INSERT INTO public.handbook VALUES (2, 'handbook/leave.md', 'en', 'Everybody has thirty days of holiday. Holidays are booked online.');
INSERT INTO public.handbook_embedding_store VALUES ('49c300a5-4f23-40ed-8dc6-f1b77deb726c', 1, 2, 'Ask support to restore one.', '[0.898,0.773,0.617,-0.742,0.594,-0.109,-0.375,-0.555]');
INSERT INTO public.handbook_embedding_store VALUES ('a8905a38-b6e6-4c5d-aa3d-9a3c8a7a4696', 2, 1, 'Holidays are booked online.', '[-1,0.531,0.945,0.953,-0.531,-0.797,0.648,0.086]');
INSERT INTO public.handbook_embedding_store VALUES ('c9beffec-ae76-4431-8530-db9dd0ec5896', 1, 1, 'They are kept for thirty days.', '[0.422,-0.938,0.375,0.539,0.094,-0.141,-0.859,0.227]');
INSERT INTO public.handbook_embedding_store VALUES ('c3e6c4b5-df17-48d3-834e-b52c660ad692', 2, 0, 'Everybody has thirty days of holiday.', '[0.633,-0.742,-0.945,-0.805,0.359,0.148,0.648,-0.539]');
INSERT INTO public.handbook_embedding_store VALUES ('02fc2440-f3dd-497b-88b8-987014f071a4', 1, 0, 'Backups run every night at two.', '[-0.008,0.625,-0.125,0.117,-0.039,0.727,-0.875,0.227]');
ALTER TABLE ONLY public.handbook_embedding_store
    ADD CONSTRAINT handbook_embedding_store_id_chunk_seq_key UNIQUE (id, chunk_seq);
ALTER TABLE ONLY public.handbook_embedding_store
    ADD CONSTRAINT handbook_embedding_store_pkey PRIMARY KEY (embedding_uuid);
ALTER TABLE ONLY public.handbook
    ADD CONSTRAINT handbook_pkey PRIMARY KEY (id);
