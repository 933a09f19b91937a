-- As langchain-postgres 0.0.19 makes it; recorded by tests/support/recordings/record.py.

CREATE TABLE public."Hand Book" (
    langchain_id uuid NOT NULL,
    content text NOT NULL,
    embedding public.vector(8) NOT NULL,
    lang text,
    page integer,
    langchain_metadata json
);
INSERT INTO public."Hand Book" VALUES ('00000000-0000-4000-8000-000000000009', 'Backups run every night at two.', '[-0.008,0.625,-0.125,0.117,-0.039,0.727,-0.875,0.227]', 'en', NULL, '{"source": "handbook/backup.md", "start_index": 0}');
INSERT INTO public."Hand Book" VALUES ('00000000-0000-4000-8000-000000000008', 'Everybody has thirty days of holiday.', '[0.633,-0.742,-0.945,-0.805,0.359,0.148,0.648,-0.539]', 'en', NULL, '{"source": "handbook/leave.md", "start_index": 0}');
INSERT INTO public."Hand Book" VALUES ('00000000-0000-4000-8000-000000000007', 'They are kept for thirty days.', '[0.422,-0.938,0.375,0.539,0.094,-0.141,-0.859,0.227]', 'en', NULL, '{"source": "handbook/backup.md", "start_index": 32}');
INSERT INTO public."Hand Book" VALUES ('00000000-0000-4000-8000-000000000006', 'Holidays are booked online.', '[-1,0.531,0.945,0.953,-0.531,-0.797,0.648,0.086]', 'en', NULL, '{"source": "handbook/leave.md", "start_index": 38}');
INSERT INTO public."Hand Book" VALUES ('00000000-0000-4000-8000-000000000005', 'Ask support to restore one.', '[0.898,0.773,0.617,-0.742,0.594,-0.109,-0.375,-0.555]', 'en', NULL, '{"source": "handbook/backup.md", "start_index": 63}');
ALTER TABLE ONLY public."Hand Book"
    ADD CONSTRAINT "Hand Book_pkey" PRIMARY KEY (langchain_id);
