"""Sources: an application's own table that a collection follows."""

import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from patience import wait_until, waits
from sql_calls import FOLLOW
from tenancy import as_role, role

from rag_pg import Rag
from rag_pg.db import schema

Connection = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def articles(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('kb', 'none', 3)")
    connection.execute(
        """CREATE TABLE public.articles (
               id bigint PRIMARY KEY, title text, body text, author text, published_at timestamptz,
               status text NOT NULL DEFAULT 'live', views integer NOT NULL DEFAULT 0)"""
    )


def attach(connection: Connection, **options: Any) -> None:
    options = {"content": ["title", "body"], "metadata": ["author"]} | options
    named = ", ".join(f"{name} => %({name})s" for name in options)
    connection.execute(
        f"SELECT rag.attach_source('public.articles', 'kb', {named})".encode(), options
    )


def sync(connection: Connection, table: str = "public.articles", batch: int = 500) -> None:
    connection.execute("CALL rag.sync_source(%s, batch => %s)", [table, batch])


def documents(connection: Connection) -> dict[str, tuple[str, dict[str, Any]]]:
    rows = connection.execute(
        "SELECT d.uri, d.content, d.metadata FROM rag.documents AS d ORDER BY d.uri"
    ).fetchall()
    return {uri: (content, metadata) for uri, content, metadata in rows}


def source(connection: Connection) -> Any:
    with connection.cursor(row_factory=psycopg.rows.namedtuple_row) as cursor:
        (found,) = cursor.execute("SELECT * FROM rag.list_sources()").fetchall()
    return found


def changes(connection: Connection) -> int:
    return int(source(connection).changes_waiting)


def insert(connection: Connection, *ids: int, body: str = "the body") -> None:
    for i in ids:
        connection.execute(
            "INSERT INTO public.articles (id, title, body, author) VALUES (%s, %s, %s, 'ann')",
            [i, f"title {i}", body],
        )


def test_rows_become_documents_before_and_after_attaching(connection: Connection) -> None:
    insert(connection, 1, 2)
    attach(connection, title=["title"], metadata=["author", "published_at"])
    insert(connection, 3)
    assert source(connection).state == "backfilling"
    sync(connection)
    assert documents(connection) == {
        f"public.articles/{i}": (f"title {i}\n\nthe body", {"author": "ann"}) for i in (1, 2, 3)
    }
    assert source(connection)[1:8] == ("public.articles", "following", 3, 3, 0, 0, None)
    titles = connection.execute("SELECT title FROM rag.documents ORDER BY uri").fetchall()
    assert titles == [("title 1",), ("title 2",), ("title 3",)]
    assert connection.execute("SELECT count(*) FROM rag.jobs").fetchone() == (3,)


def test_only_updates_of_what_is_read_count(connection: Connection) -> None:
    insert(connection, *range(1, 6))
    attach(connection, condition="status = 'live'")
    sync(connection)
    connection.execute("UPDATE articles SET views = views + 1, published_at = now()")
    connection.execute("UPDATE articles SET author = author, body = body")
    assert changes(connection) == 0
    connection.execute("UPDATE articles SET body = 'new' WHERE id = 1")
    connection.execute("UPDATE articles SET author = 'bob' WHERE id = 2")
    connection.execute("UPDATE articles SET status = 'draft' WHERE id = 3")
    assert changes(connection) == 3
    sync(connection)
    found = documents(connection)
    assert found["public.articles/1"][0] == "title 1\n\nnew"
    assert found["public.articles/2"][1] == {"author": "bob"}
    assert "public.articles/3" not in found
    connection.execute("UPDATE articles SET status = 'live' WHERE id = 3")
    sync(connection)
    assert len(documents(connection)) == 5


def test_delete_truncate_and_a_changed_key(connection: Connection) -> None:
    insert(connection, *range(1, 6))
    attach(connection)
    sync(connection)
    connection.execute("DELETE FROM articles WHERE id <= 2")
    connection.execute("UPDATE articles SET id = id + 10 WHERE id > 3")
    sync(connection)
    assert list(documents(connection)) == [f"public.articles/{i}" for i in (14, 15, 3)]
    connection.execute("TRUNCATE articles")
    insert(connection, 7)
    sync(connection)
    assert list(documents(connection)) == ["public.articles/7"]
    assert connection.execute("SELECT count(*) FROM rag.jobs").fetchone() == (1,)


def test_keys_that_are_swapped(connection: Connection) -> None:
    insert(connection, 1, body="one")
    insert(connection, 2, body="two")
    attach(connection, content=["body"])
    sync(connection)
    connection.execute("ALTER TABLE articles DROP CONSTRAINT articles_pkey")
    connection.execute("UPDATE articles SET id = 3 - id")
    sync(connection)
    assert {uri: content for uri, (content, _) in documents(connection).items()} == {
        "public.articles/1": "two",
        "public.articles/2": "one",
    }


def test_a_change_is_noted_in_the_transaction_that_makes_it(
    connection: Connection, dsn: str
) -> None:
    attach(connection)
    sync(connection)
    with psycopg.connect(dsn) as other:
        insert(other, 1)
        other.rollback()
        insert(other, 2)
        assert changes(connection) == 0
    sync(connection)
    assert list(documents(connection)) == ["public.articles/2"]


def test_empty_content_has_no_document(connection: Connection) -> None:
    insert(connection, 1, 2)
    connection.execute(
        "INSERT INTO articles (id, title, body) VALUES (3, NULL, '  '), (4, 'x', NULL)"
    )
    attach(connection)
    sync(connection)
    assert list(documents(connection)) == [f"public.articles/{i}" for i in (1, 2, 4)]
    assert documents(connection)["public.articles/4"] == ("x", {})
    connection.execute("UPDATE articles SET title = NULL, body = NULL WHERE id = 1")
    sync(connection)
    assert list(documents(connection)) == [f"public.articles/{i}" for i in (2, 4)]


def test_composite_keys_never_share_a_uri(connection: Connection) -> None:
    connection.execute(
        """CREATE SCHEMA shop; CREATE TABLE shop."My Notes" ("Group" text, "key" text, body text,
           PRIMARY KEY ("Group", "key"))"""
    )
    connection.execute(
        """INSERT INTO shop."My Notes" VALUES ('a/b', 'c', '1'), ('a', 'b/c', '2'),
           ('a%2Fb', 'c', '3')"""
    )
    connection.execute("""SELECT rag.attach_source('shop."My Notes"', 'kb', '{body}')""")
    sync(connection, 'shop."My Notes"', batch=2)
    assert {uri: content for uri, (content, _) in documents(connection).items()} == {
        "shop.My Notes/a%2Fb/c": "1",
        "shop.My Notes/a/b%2Fc": "2",
        "shop.My Notes/a%252Fb/c": "3",
    }
    connection.execute("""DELETE FROM shop."My Notes" WHERE "key" = 'b/c'""")
    sync(connection, 'shop."My Notes"')
    assert len(documents(connection)) == 2
    assert source(connection).source_table == 'shop."My Notes"'


def test_keys_of_other_types_are_the_same_in_every_session(connection: Connection) -> None:
    connection.execute(
        "CREATE TABLE events (at timestamptz, x double precision, body text, PRIMARY KEY (at, x))"
    )
    connection.execute("SELECT rag.attach_source('events', 'kb', '{body}')")
    for zone, style in (("UTC", "ISO"), ("Asia/Tokyo", "German")):
        connection.execute(f"SET TimeZone = '{zone}'; SET DateStyle = '{style}'".encode())
        connection.execute(
            """INSERT INTO events VALUES ('2024-05-01T10:00:00Z', 0.1, 'first')
               ON CONFLICT (at, x) DO UPDATE SET body = 'second'"""
        )
        sync(connection, "events")
    assert documents(connection) == {"public.events/2024-05-01 10:00:00+00/0.1": ("second", {})}


def test_a_uri_template_a_language_and_a_separator(connection: Connection) -> None:
    connection.execute("ALTER TABLE articles ADD lang text")
    insert(connection, 1)
    connection.execute("UPDATE articles SET lang = 'german'")
    attach(connection, uri="https://example.org/a/{id}", language="lang", separator=" | ")
    sync(connection)
    assert connection.execute("SELECT uri, language, content FROM rag.documents").fetchall() == [
        ("https://example.org/a/1", "german", "title 1 | the body")
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"content": ["bodi"]}, "table public.articles has no column bodi"),
        ({"content": []}, "needs content columns"),
        ({"key": ["author"]}, "key column author of table public.articles may be NULL"),
        ({"key": ["status"]}, r"key \(status\) of table public.articles is not unique"),
        ({"condition": "stat = 'live'"}, 'cannot be used: column "stat" does not exist'),
        ({"condition": "id +"}, "cannot be used: syntax error"),
        ({"uri": "a/{title}"}, "names title, which is not a key column"),
        ({"uri": "a"}, "does not name every key column"),
    ],
)
@pytest.mark.few(4)
def test_what_does_not_fit_is_refused(
    connection: Connection, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(psycopg.Error, match=message) as caught:
        attach(connection, **options)
    assert caught.value.sqlstate == "RG001"
    assert caught.value.diag.message_hint
    assert connection.execute("SELECT count(*) FROM rag.list_sources()").fetchone() == (0,)


def test_views_and_tables_without_a_key_are_refused(connection: Connection) -> None:
    connection.execute("CREATE VIEW live AS SELECT * FROM articles; CREATE TABLE plain (body text)")
    for table, message in (("live", "not an ordinary"), ("plain", "has no primary key")):
        with pytest.raises(psycopg.Error, match=message):
            connection.execute("SELECT rag.attach_source(%s, 'kb', '{body}')", [table])


def test_a_trigger_that_another_release_made_notes_what_this_one_would(
    connection: Connection,
) -> None:
    attach(connection, condition="views < 5")
    insert(connection, 1, 2)
    sync(connection)
    for (made,) in connection.execute(
        "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname ~ '^rag_source_'"
    ).fetchall():
        (of_another,) = connection.execute(
            """SELECT replace(regexp_replace(%s, '"(INSERT|UPDATE|DELETE|ANY)": "[^"]*"',
                   '"\\1": "SELECT gone()"', 'g'), '"version": 1', '"version": 0')""",
            [made],
        ).fetchone() or ("",)
        assert of_another.count("gone()") == 4 and '"version": 0' in of_another
        connection.execute(
            of_another.replace("CREATE TRIGGER", "CREATE OR REPLACE TRIGGER", 1).encode()
        )
    insert(connection, 3)
    connection.execute("UPDATE public.articles SET body = 'another' WHERE id = 1")
    connection.execute("UPDATE public.articles SET status = 'not read' WHERE id = 3")
    connection.execute("DELETE FROM public.articles WHERE id = 2")
    keys = "SELECT key FROM rag.source_changes ORDER BY change_id"
    assert connection.execute(keys).fetchall() == [(["3"],), (["1"],), (["2"],)]
    sync(connection)
    assert list(documents(connection)) == ["public.articles/1", "public.articles/3"]


def test_a_renamed_column_and_a_renamed_table_are_followed(connection: Connection) -> None:
    insert(connection, 1)
    attach(connection)
    sync(connection)
    connection.execute("ALTER TABLE articles RENAME body TO text")
    connection.execute("ALTER TABLE articles RENAME author TO writer")
    connection.execute("ALTER TABLE articles RENAME id TO number")
    connection.execute("ALTER TABLE articles RENAME TO posts")
    connection.execute("UPDATE posts SET text = 'changed'")
    connection.execute("INSERT INTO posts (number, title, text) VALUES (2, 'two', 'x')")
    sync(connection, "posts")
    assert documents(connection) == {
        "public.articles/1": ("title 1\n\nchanged", {"author": "ann"}),
        "public.articles/2": ("two\n\nx", {}),
    }
    assert source(connection).source_table == "public.posts"


def test_a_dropped_column_breaks_the_source_and_not_the_application(connection: Connection) -> None:
    insert(connection, 1, 2)
    attach(connection)
    sync(connection)
    connection.execute("ALTER TABLE articles DROP author")
    connection.execute("UPDATE articles SET body = 'changed' WHERE id = 1")
    connection.execute("DELETE FROM articles WHERE id = 2")
    with pytest.raises(
        psycopg.Error, match=r"source public\.articles is broken: .*no column author"
    ):
        sync(connection)
    found = source(connection)
    assert (found.state, found.changes_waiting) == ("broken", 2)
    assert "attach the source again" in found.last_error
    assert len(documents(connection)) == 2
    assert connection.execute(FOLLOW).fetchone() == (0,)

    attach(connection, metadata=["status"])
    sync(connection)
    assert documents(connection) == {
        "public.articles/1": ("title 1\n\nchanged", {"status": "live"})
    }
    assert source(connection)[2:8] == ("following", 1, 1, 0, 0, None)


def test_a_source_that_is_mended_goes_on_with_the_changes_it_kept(connection: Connection) -> None:
    insert(connection, 1)
    attach(connection, condition="status = 'live'")
    sync(connection)
    connection.execute("ALTER TABLE articles RENAME status TO stage")
    insert(connection, 2)
    assert connection.execute(FOLLOW).fetchone() == (0,)
    assert source(connection).state == "broken"
    connection.execute("ALTER TABLE articles RENAME stage TO status")
    connection.execute("CALL rag.maintain()")
    assert source(connection).state == "following"
    assert len(documents(connection)) == 2


def test_a_row_that_cannot_be_put_stops_no_other(connection: Connection) -> None:
    connection.execute("ALTER TABLE articles ADD lang text")
    insert(connection, *range(1, 8))
    connection.execute("UPDATE articles SET lang = 'klingon' WHERE id = 4")
    connection.execute("UPDATE articles SET lang = 'nowhere.english' WHERE id = 3")
    attach(connection, language="lang")
    sync(connection)
    assert len(documents(connection)) == 5
    found = source(connection)
    assert (found.state, found.failed_rows) == ("following", 2)
    assert "row [\"4\"]: there is no text search configuration 'klingon'" in found.last_error
    connection.execute("UPDATE articles SET lang = 'english' WHERE id IN (3, 4)")
    sync(connection)
    assert len(documents(connection)) == 7


def test_a_first_reading_goes_on_where_it_was_and_changes_come_first(
    connection: Connection,
) -> None:
    insert(connection, *range(1, 31))
    attach(connection, content=["body"])
    for _ in range(2):
        connection.execute(FOLLOW.replace("s.id)", "s.id, 10)"))
    assert (source(connection).rows_read, source(connection).rows_expected) == (20, 30)
    insert(connection, 100)
    connection.execute(FOLLOW.replace("s.id)", "s.id, 10)"))
    assert len(documents(connection)) == 21
    assert "public.articles/100" in documents(connection)
    sync(connection, batch=10)
    assert len(documents(connection)) == 31
    assert source(connection).state == "following"


def test_two_sessions_never_follow_the_same_source_at_once(
    connection: Connection, dsn: str
) -> None:
    insert(connection, *range(1, 6))
    attach(connection)
    with psycopg.connect(dsn) as other:
        assert other.execute(FOLLOW.replace("s.id)", "s.id, 2)")).fetchone() == (2,)
        assert connection.execute(FOLLOW.replace("s.id)", "s.id, 2)")).fetchone() == (0,)
    sync(connection)
    assert len(documents(connection)) == 5


def test_partitions_are_followed_however_they_are_written(connection: Connection) -> None:
    connection.execute(
        """CREATE TABLE logs (id integer, day date, body text, PRIMARY KEY (id, day)) PARTITION BY
           RANGE (day);
           CREATE TABLE logs_1 PARTITION OF logs FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
           CREATE TABLE logs_2 (body text, id integer NOT NULL, day date NOT NULL);
           ALTER TABLE logs ATTACH PARTITION logs_2 FOR VALUES
           FROM ('2025-01-01') TO ('2026-01-01')"""
    )
    connection.execute("SELECT rag.attach_source('logs', 'kb', '{body}')")
    connection.execute(
        "INSERT INTO logs VALUES (1, '2024-03-01', 'a'), (2, '2025-03-01', 'b'), (3, '2024-04-01',"
        " 'c')"
    )
    connection.execute("INSERT INTO logs_2 VALUES ('d', 4, '2025-05-01')")
    sync(connection, "logs")
    assert len(documents(connection)) == 4
    connection.execute(
        "UPDATE logs SET day = day + 365 WHERE id = 1"
    )  # moves to the other partition
    connection.execute("UPDATE logs_2 SET body = 'dd' WHERE id = 4")
    sync(connection, "logs")
    found = {uri: content for uri, (content, _) in documents(connection).items()}
    assert found == {
        "public.logs/1/2025-03-01": "a",
        "public.logs/2/2025-03-01": "b",
        "public.logs/3/2024-04-01": "c",
        "public.logs/4/2025-05-01": "dd",
    }
    connection.execute("TRUNCATE logs_2")
    sync(connection, "logs")
    assert list(documents(connection)) == ["public.logs/3/2024-04-01"]


def test_row_level_security_is_never_taken_for_deletion(connection: Connection, dsn: str) -> None:
    insert(connection, 1, 2)
    attach(connection)
    sync(connection)
    connection.execute(
        """ALTER TABLE articles ENABLE ROW LEVEL SECURITY;
           CREATE POLICY own ON articles USING (author = current_user);
           DO $$ BEGIN CREATE ROLE source_worker; EXCEPTION WHEN duplicate_object THEN END $$;
           GRANT USAGE ON SCHEMA rag TO source_worker;
           GRANT ALL ON ALL TABLES IN SCHEMA rag TO source_worker;
           GRANT ALL ON ALL SEQUENCES IN SCHEMA rag TO source_worker;
           GRANT EXECUTE ON ALL ROUTINES IN SCHEMA rag TO source_worker;
           GRANT SELECT ON articles TO source_worker"""
    )
    connection.execute("UPDATE articles SET body = 'changed'")
    connection.execute("SET ROLE source_worker")
    connection.execute(FOLLOW)
    assert "row-level security" in source(connection).last_error
    connection.execute("RESET ROLE")
    assert len(documents(connection)) == 2
    sync(connection)  # its owner may
    assert documents(connection)["public.articles/1"][0] == "title 1\n\nchanged"
    connection.execute("DROP OWNED BY source_worker")


def test_the_application_needs_few_rights_and_is_told_which(connection: Connection) -> None:
    attach(connection)
    sync(connection)
    connection.execute(
        """DO $$ BEGIN CREATE ROLE source_writer; EXCEPTION WHEN duplicate_object THEN END $$;
           GRANT INSERT, UPDATE, DELETE, SELECT ON articles TO source_writer"""
    )
    connection.execute("SET ROLE source_writer")
    with pytest.raises(
        psycopg.errors.InsufficientPrivilege, match="source_writer may not note changes"
    ) as refused:
        insert(connection, 1)
    assert refused.value.diag.message_hint == (
        "have the owner of schema rag call rag.grant_access('source_writer', 'source_writer')"
    )
    connection.execute(
        """RESET ROLE;
           SELECT rag.grant_access('source_writer', 'source_writer');
           SET ROLE source_writer"""
    )
    insert(connection, 1, 2)
    connection.execute("UPDATE articles SET body = 'x' WHERE id = 2")
    connection.execute("RESET ROLE")
    assert changes(connection) == 3
    sync(connection)
    assert len(documents(connection)) == 2
    connection.execute("DROP OWNED BY source_writer")


def test_detach_keeps_or_deletes_the_documents(connection: Connection) -> None:
    insert(connection, *range(1, 8))
    connection.execute("SELECT rag.put_document('kb', 'public.articles/hand', 'by hand')")
    attach(connection)
    sync(connection)
    connection.execute("SELECT rag.detach_source('articles')")
    insert(connection, 50)
    assert len(documents(connection)) == 8
    assert connection.execute("SELECT count(*) FROM rag.source_changes").fetchone() == (0,)
    attach(connection)
    sync(connection)
    connection.execute("SELECT rag.detach_source('articles', 'kb', delete_documents => true)")
    assert source(connection).state == "removing"
    sync(connection, batch=3)
    assert list(documents(connection)) == ["public.articles/hand"]
    assert connection.execute("SELECT count(*) FROM rag.list_sources()").fetchone() == (0,)
    with pytest.raises(psycopg.Error, match="is not a source of any collection"):
        connection.execute("SELECT rag.detach_source('articles')")


def test_a_dropped_table_is_seen_and_can_be_detached(connection: Connection) -> None:
    insert(connection, 1)
    attach(connection)
    sync(connection)
    connection.execute("DROP TABLE articles")
    found = source(connection)
    assert (found.state, found.source_table) == ("broken", "public.articles")
    connection.execute("SELECT rag.detach_source(NULL, 'kb', true)")
    connection.execute(FOLLOW)
    connection.execute(FOLLOW)
    assert documents(connection) == {}
    assert connection.execute("SELECT count(*) FROM rag.sources").fetchone() == (0,)


def test_a_dropped_collection_takes_its_triggers_along(connection: Connection) -> None:
    attach(connection)
    connection.execute("SELECT rag.drop_collection('kb')")
    insert(connection, 1)
    assert connection.execute(
        "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'rag_source%'"
    ).fetchone() == (0,)


def test_a_table_feeds_two_collections(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('titles', 'none', 3)")
    insert(connection, 1)
    attach(connection)
    connection.execute("SELECT rag.attach_source('articles', 'titles', '{title}')")
    sync(connection)
    contents = connection.execute("SELECT content FROM rag.documents ORDER BY 1").fetchall()
    assert contents == [("title 1",), ("title 1\n\nthe body",)]
    with pytest.raises(psycopg.Error, match="name the collection|2 collections"):
        connection.execute("SELECT rag.detach_source('articles')")
    connection.execute("SELECT rag.detach_source('articles', 'titles')")


def test_a_bulk_insert_is_one_set_of_keys(connection: Connection) -> None:
    attach(connection)
    connection.execute(
        "INSERT INTO articles (id, title, body) SELECT g, 'title', 'body ' || g FROM"
        " generate_series(1, 1200) AS g"
    )
    assert changes(connection) == 1200
    sync(connection)
    assert connection.execute("SELECT count(*) FROM rag.documents").fetchone() == (1200,)
    connection.execute("UPDATE articles SET views = 1")
    assert changes(connection) == 0


def test_a_worker_follows_before_it_works(rag: Rag, connection: Connection) -> None:
    rag.collection("docs", model="hash:32")
    insert(connection, 1, 2)
    connection.execute("SELECT rag.attach_source('articles', 'docs', '{title,body}')")
    rag.worker(["docs"]).drain()
    assert [hit.uri for hit in rag.collection("docs").search("title 2", limit=1)] == [
        "public.articles/2"
    ]


def test_a_trigger_of_the_same_name_elsewhere_changes_nothing(
    connection: Connection, dsn: str
) -> None:
    insert(connection, 1)
    attach(connection)
    sync(connection)
    (number,) = connection.execute("SELECT source_id FROM rag.sources").fetchone() or (0,)
    trigger = f"""CREATE TRIGGER rag_source_{number}_insert AFTER INSERT ON {{}} FOR EACH STATEMENT
                  EXECUTE FUNCTION rag._record_changes()"""
    connection.execute(
        "CREATE SCHEMA older; CREATE TABLE older.articles (LIKE public.articles INCLUDING ALL)"
    )
    connection.execute(trigger.format("older.articles").encode())
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("CREATE TEMP TABLE t (id int)")
        other.execute(trigger.format("t").encode())
        insert(connection, 2)
        assert connection.execute(FOLLOW).fetchone() == (1,)
        connection.execute("CALL rag.maintain()")
        assert source(connection).state == "following"
        assert source(connection).source_table == "public.articles"
        attach(connection)  # the same source again, not another one
        connection.execute("SELECT rag.attach_source('older.articles', 'kb', '{body}')")
        assert connection.execute("SELECT count(*) FROM rag.list_sources()").fetchone() == (2,)
        connection.execute("SELECT rag.detach_source('public.articles')")
        assert source(connection).source_table == "older.articles"


def test_a_key_is_compared_by_the_operators_of_its_own_type(
    connection: Connection, dsn: str
) -> None:
    connection.execute("CREATE SCHEMA ext; ALTER EXTENSION vector SET SCHEMA ext")
    schema.upgrade(dsn)
    connection.execute(
        """CREATE TABLE public.points (point ext.vector(1), place integer, body text,
           PRIMARY KEY (point, place));
           INSERT INTO points SELECT format('[%s]', g / 4)::ext.vector, g % 4, 'text'
           FROM generate_series(1, 23) AS g"""
    )
    connection.execute("SELECT rag.attach_source('public.points', 'kb', '{body}')")
    plan = connection.execute(
        """SELECT 'EXPLAIN SELECT FROM points AS t WHERE ' || replace(s.after_sql, '$1',
           '''["[1]", "2"]''::jsonb')
           FROM rag.sources, rag._source_sql('points'::regclass, definition) AS s"""
    ).fetchone()
    assert plan is not None
    connection.execute("SET enable_seqscan = off")
    assert "Index Cond: (point OPERATOR(ext.>=)" in str(connection.execute(plan[0]).fetchall())
    sync(connection, "public.points", batch=5)
    assert len(documents(connection)) == 23
    connection.execute("DELETE FROM points WHERE place = 0")
    sync(connection, "public.points", batch=5)
    assert len(documents(connection)) == 18


def documents_like(connection: Connection, pattern: str) -> list[tuple[str, str]]:
    return connection.execute(
        "SELECT uri, content FROM rag.documents WHERE uri LIKE %s ORDER BY uri", [pattern]
    ).fetchall()


EQUAL_KEYS = {
    "numeric": ("numeric", "1.0", "1.00"),
    "float": ("double precision", "0", "-0"),
    "nocase": ("citext", "Abc", "ABC"),
    "interval": ("interval", "1 mon", "30 days"),
    "timestamptz": ("timestamptz", "2024-01-01 12:00+00", "2024-01-01 12:00+00"),
}


@pytest.mark.parametrize("case", EQUAL_KEYS)
@pytest.mark.few(2)
def test_a_key_that_equals_another_and_is_written_otherwise_is_one_document(
    connection: Connection, case: str
) -> None:
    kind, before, after = EQUAL_KEYS[case]
    if case == "nocase":
        with contextlib.suppress(psycopg.errors.FeatureNotSupported):  # a build without ICU
            connection.execute(
                """CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2',
                                            deterministic = false)"""
            )
            kind = "text COLLATE nocase"
    if kind == "citext":
        with contextlib.suppress(psycopg.errors.FeatureNotSupported):
            connection.execute("CREATE EXTENSION citext")
        if connection.execute("SELECT to_regtype('citext') IS NULL").fetchone() == (True,):
            pytest.skip("no engine: this server has neither ICU nor citext")
    connection.execute(f"CREATE TABLE odd (id {kind} PRIMARY KEY, body text)".encode())
    connection.execute("INSERT INTO odd VALUES (%s, 'one')", [before])
    connection.execute("SELECT rag.attach_source('odd', 'kb', '{body}')")
    sync(connection, "odd")
    connection.execute("SET TimeZone TO 'Asia/Kathmandu'")
    connection.execute("UPDATE odd SET id = %s", [after])
    sync(connection, "odd")
    assert [c for _, c in documents_like(connection, "%odd/%")] == ["one"]
    connection.execute("UPDATE odd SET body = 'changed'")
    connection.execute("SET TimeZone TO 'America/Lima'")
    sync(connection, "odd")
    assert [c for _, c in documents_like(connection, "%odd/%")] == ["changed"]
    connection.execute("DELETE FROM odd")
    sync(connection, "odd")
    assert documents_like(connection, "%odd/%") == []


def follow(connection: Connection) -> None:
    for _ in range(20):
        if connection.execute(FOLLOW).fetchone() == (0,):
            return
    raise AssertionError("it never ends")


def test_a_row_whose_condition_fails_is_skipped_and_told(connection: Connection) -> None:
    connection.execute(
        """CREATE FUNCTION public.fits(i bigint) RETURNS boolean LANGUAGE plpgsql AS
           $$ BEGIN IF i = 2 THEN RAISE 'row % is odd', i; END IF; RETURN true; END $$"""
    )
    connection.execute("CREATE TABLE two (id integer PRIMARY KEY, body text)")
    attach(connection, condition="public.fits(id)")
    connection.execute("SELECT rag.attach_source('two', 'kb', '{body}')")
    follow(connection)
    insert(connection, 1, 2, 3)
    connection.execute("INSERT INTO two VALUES (1, 'the other table')")
    follow(connection)
    assert sorted(documents(connection)) == [
        "public.articles/1",
        "public.articles/3",
        "public.two/1",
    ]
    connection.execute("CALL rag.maintain()")
    told = connection.execute(
        "SELECT state, failed_rows, last_error FROM rag.list_sources() ORDER BY source_table"
    ).fetchall()
    assert told == [("following", 1, 'row ["2"]: row 2 is odd'), ("following", 0, None)]


BREAKS = {
    "P0001": """CREATE OR REPLACE FUNCTION public.seen() RETURNS boolean LANGUAGE plpgsql AS
                $$ BEGIN RAISE 'never'; END $$""",
    "42703": "ALTER TABLE articles DROP COLUMN body, DROP COLUMN title",
    "42883": "DROP FUNCTION public.seen()",
    "40P01": """CREATE OR REPLACE FUNCTION public.seen() RETURNS boolean LANGUAGE plpgsql AS
                $$ BEGIN RAISE 'in the way' USING ERRCODE = '40P01'; END $$""",
    "XX000": """CREATE OR REPLACE FUNCTION public.seen() RETURNS boolean LANGUAGE plpgsql AS
                $$ BEGIN RAISE 'broken block' USING ERRCODE = 'XX000'; END $$""",
    "23514": """CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE 'no' USING ERRCODE = '23514'; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON rag.source_documents
                FOR EACH ROW WHEN (NEW.source_id = 1) EXECUTE FUNCTION public.refuse()""",
}


@pytest.mark.parametrize("state", BREAKS)
def test_no_error_of_one_source_stops_another_or_maintenance(
    connection: Connection, state: str
) -> None:
    connection.execute(
        "CREATE FUNCTION public.seen() RETURNS boolean RETURN current_setting('no.such', true) IS"
        " NULL"
    )
    connection.execute("CREATE TABLE two (id integer PRIMARY KEY, body text)")
    attach(connection, condition="public.seen()")
    connection.execute("SELECT rag.attach_source('two', 'kb', '{body}')")
    follow(connection)
    insert(connection, 1, 2)
    connection.execute("INSERT INTO two VALUES (1, 'the other table')")
    connection.execute("SET check_function_bodies = off")
    connection.execute(BREAKS[state].encode())
    follow(connection)
    assert documents_like(connection, "%two/%") == [("public.two/1", "the other table")]
    connection.execute("CALL rag.maintain()")
    (told, other) = connection.execute(
        "SELECT state, failed_rows, last_error FROM rag.list_sources() ORDER BY source_table"
    ).fetchall()
    assert other == ("following", 0, None)
    assert told[0] == "broken" or told[1] == 2
    assert told[2]
    checks = connection.execute("SELECT * FROM rag.doctor()").fetchall()
    assert [c[0] for c in checks if c[1] != "ok"] in (["broken sources"], ["rows of sources"])


def test_braces_in_names_are_letters_of_the_default_uri(connection: Connection) -> None:
    connection.execute(
        'CREATE TABLE "t{x}" ("i}d" integer, "{n" text, body text, PRIMARY KEY ("i}d", "{n"))'
    )
    connection.execute("""INSERT INTO "t{x}" VALUES (1, 'a/b', 'one')""")
    connection.execute("""SELECT rag.attach_source('"t{x}"', 'kb', '{body}')""")
    sync(connection, '"t{x}"')
    assert documents_like(connection, "%") == [("public.t{x}/1/a%2Fb", "one")]


def test_the_rows_to_read_are_unknown_until_they_are_counted(connection: Connection) -> None:
    insert(connection, 1, 2)
    attach(connection)
    assert source(connection).rows_expected is None
    connection.execute(FOLLOW.replace("s.id)", "s.id, 1)"))
    assert source(connection).rows_expected == 2


def waiting(connection: Connection, other: Connection, statement: str) -> threading.Thread:
    """Run a statement in a thread until it waits for a lock; its error is in `thread.error`."""

    def run() -> None:
        try:
            other.execute(statement.encode())
        except psycopg.Error as exc:
            thread.error = exc  # type: ignore[attr-defined]

    thread = threading.Thread(target=run)
    thread.error = None  # type: ignore[attr-defined]
    thread.start()
    wait_until(lambda: not thread.is_alive() or waits(connection, other))
    return thread


def test_detaching_beside_a_follower_and_an_open_insert_is_no_deadlock(
    connection: Connection, dsn: str
) -> None:
    attach(connection)
    insert(connection, 1)
    with (
        psycopg.connect(dsn) as writer,
        psycopg.connect(dsn, autocommit=True) as detacher,
        psycopg.connect(dsn, autocommit=True) as follower,
    ):
        writer.execute("INSERT INTO articles (id, body) VALUES (2, 'open')")
        detached = waiting(connection, detacher, "SELECT rag.detach_source('articles')")
        assert detached.is_alive()
        followed = waiting(connection, follower, FOLLOW)
        passed_by = not followed.is_alive()  # otherwise it waits for who waits for it
        writer.commit()
        followed.join()
        detached.join()
    assert (passed_by, detached.error, followed.error) == (True, None, None)  # type: ignore[attr-defined]
    assert connection.execute("SELECT * FROM rag.list_sources()").fetchall() == []


@pytest.mark.parametrize("end", ["rag.detach_source('parted')", "rag.drop_collection('kb')"])
def test_the_triggers_of_partitions_go_from_the_root_down(
    connection: Connection, dsn: str, end: str
) -> None:
    connection.execute(
        """CREATE TABLE parted_1 (id integer PRIMARY KEY, body text);
           CREATE TABLE parted (id integer PRIMARY KEY, body text) PARTITION BY RANGE (id);
           ALTER TABLE parted ATTACH PARTITION parted_1 FOR VALUES FROM (0) TO (100)"""
    )
    connection.execute("SELECT rag.attach_source('parted', 'kb', '{body}')")
    with psycopg.connect(dsn) as writer, psycopg.connect(dsn, autocommit=True) as detacher:
        writer.execute("LOCK TABLE ONLY parted IN ROW EXCLUSIVE MODE")  # as an INSERT begins
        detached = waiting(connection, detacher, f"SELECT {end}")
        assert detached.is_alive()
        writer.execute("INSERT INTO parted VALUES (1, 'one')")
        writer.commit()
        detached.join()
    assert detached.error is None  # type: ignore[attr-defined]


@contextlib.contextmanager
def others(connection: Connection, *kinds: str) -> Iterator[list[str]]:
    """Login roles with access of these kinds."""
    names = [role(kind) for kind in kinds]
    for name, kind in zip(names, kinds, strict=True):
        connection.execute(f"CREATE ROLE {name} LOGIN".encode())
        connection.execute("SELECT rag.grant_access(%s, %s)", [name, kind])
    try:
        yield names
    finally:
        for name in names:
            connection.execute(f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}".encode())


def test_what_others_attach_runs_with_a_workers_rights_alone(
    dsn: str, connection: Connection
) -> None:
    with others(connection, "source_owner", "worker") as (attacher, worker):
        connection.execute(
            f"""CREATE SCHEMA theirs AUTHORIZATION {attacher};
                GRANT USAGE ON SCHEMA theirs TO {worker}""".encode()
        )
        with as_role(dsn, attacher) as session, as_role(dsn, worker) as following:
            session.execute(
                f"""CREATE TABLE theirs.notes AS SELECT 1 AS id, 'a note' AS body, ''::text AS ran;
                    ALTER TABLE theirs.notes ADD PRIMARY KEY (id);
                    GRANT SELECT ON theirs.notes TO {worker};
                    CREATE FUNCTION theirs.act() RETURNS boolean LANGUAGE plpgsql AS $$BEGIN
                        RAISE EXCEPTION 'ran as %', current_user USING ERRCODE = '42501';
                    END$$;
                    SELECT rag.attach_source('theirs.notes', 'kb', '{{body}}',
                        condition => 'theirs.act()')""".encode()
            )
            connection.execute("CALL rag.maintain()")
            connection.execute("SELECT rag.maintain_step('source', source_id) FROM rag.sources")
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="would run as role"):
                sync(connection, "theirs.notes")
            assert source(connection)[2] == "backfilling"
            following.execute("CALL rag.maintain()")
            assert source(connection).last_error == f"ran as {worker}"
            connection.execute("CALL rag.maintain()")
            assert source(connection).last_error == f"ran as {worker}"
            # a table of the others that the owner attached
            session.execute(
                "SELECT rag.detach_source('theirs.notes', 'kb', delete_documents => true)"
            )
            connection.execute("CALL rag.maintain()")
            assert connection.execute("SELECT count(*) FROM rag.sources").fetchone() == (0,)
            connection.execute("SELECT rag.attach_source('theirs.notes', 'kb', '{body}')")
            connection.execute("CALL rag.maintain()")
            assert documents(connection) == {}
            connection.execute("UPDATE rag.sources SET attached_at = now() - interval '1 hour'")
            told = "SELECT detail FROM rag.doctor() WHERE check_name = 'broken sources'"
            assert "theirs.notes waits" in str(connection.execute(told.encode()).fetchone())
            following.execute("CALL rag.maintain()")
            assert documents(connection) == {"theirs.notes/1": ("a note", {})}
            assert connection.execute(told.encode()).fetchone() == ("none",)


def test_the_owner_follows_its_tables_as_they_were_attached(
    dsn: str, connection: Connection
) -> None:
    insert(connection, 1)
    attach(connection, condition=r"body <> '\' AND status = 'live'")
    with others(connection, "source_owner") as (attacher,), as_role(dsn, attacher) as session:
        kept = session.execute("SELECT definition FROM rag.sources").fetchone()
        session.execute(
            """UPDATE rag.sources
               SET definition = jsonb_set(definition, '{condition}', '"1 / 0 = 1"')"""
        )
        connection.execute("CALL rag.maintain()")
        assert (source(connection).state, documents(connection)) == ("backfilling", {})
        assert kept
        session.execute("UPDATE rag.sources SET definition = %s", [json.dumps(kept[0])])
        connection.execute("CALL rag.maintain()")
        assert list(documents(connection)) == ["public.articles/1"]
