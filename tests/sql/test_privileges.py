"""Who may do what: the grants of the operations guide, every public function in each role,
and row-level security."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from paths import ROOT
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sql_calls import CALLS, fill, public_names

from rag_pg import PermissionDenied, Rag, Settings
from rag_pg.db import schema

Connection = psycopg.Connection[Any]

RANKS = ("stranger", "reader", "writer", "worker", "owner")
ROLES = ("stranger", "reader", "evaluator", "writer", "worker", "owner")
EVALUATION = re.compile(r"eval|gates|judge|calibration|score_answers|replay|logged|measure_recall")
COMMITTING = tuple(name for name, (_, call) in CALLS.items() if call.startswith("CALL"))
# The next three numbers of random() are below 1/64.
RARE = "SELECT setseed(0.0087227)"
GUIDE = ROOT / "docs" / "guides" / "operations.md"


@pytest.fixture(scope="module")
def roles(new_database: Callable[..., str]) -> Iterator[dict[str, str]]:
    """Connection strings by role; the owner is no superuser and has run the grants of the guide,
    as they stand there."""
    dsn = new_database()
    database = str(conninfo_to_dict(dsn)["dbname"])
    names = {
        rank: f"rag_{rank}_{os.getpid()}" if rank != "owner" else f"owner_{os.getpid()}"
        for rank in ROLES
    }
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector; GRANT CREATE ON SCHEMA public TO PUBLIC")
        for name in names.values():
            may = "CREATEROLE" if name == names["owner"] else ""  # for the door of tenants
            connection.execute(f"CREATE ROLE {name} LOGIN {may}".encode())
        connection.execute(
            sql.SQL("ALTER DATABASE {} OWNER TO {}").format(
                sql.Identifier(database), sql.Identifier(names["owner"])
            )
        )
    found = {rank: make_conninfo(dsn, user=name) for rank, name in names.items()}
    schema.upgrade(found["owner"])
    (recipe,) = re.findall(
        r"```sql\n(SELECT rag.grant_access.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL
    )
    recipe = re.sub(r"rag_(reader|evaluator|writer|worker)\b", lambda role: names[role[1]], recipe)
    with psycopg.connect(found["owner"], autocommit=True) as connection:
        connection.execute(recipe.encode())
        fill(connection)
        connection.execute(f"GRANT USAGE ON SCHEMA app TO {names['worker']}".encode())
        connection.execute(f"GRANT SELECT ON app.articles TO {names['worker']}".encode())
    yield found | {
        "superuser": dsn,
        "reader_name": names["reader"],
        "stranger_name": names["stranger"],
    }
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL("ALTER DATABASE {} OWNER TO CURRENT_USER").format(sql.Identifier(database))
        )
        for name in names.values():
            connection.execute(f"DROP OWNED BY {name} CASCADE; DROP ROLE {name}".encode())


def outcome(connection: Connection, name: str) -> str | None:
    """The SQLSTATE of a public function's call, whose effect is taken back;
    None when it was answered. What a call does once in many times, it does."""
    connection.execute(RARE)
    try:
        if name in COMMITTING:
            connection.execute(CALLS[name][1].encode())
        else:
            with connection.transaction(force_rollback=True):
                connection.execute(CALLS[name][1].encode())
    except psycopg.Error as exc:
        if exc.sqlstate == "42501":
            assert re.search("permission denied|must be owner", str(exc)), str(exc)
        return exc.sqlstate
    return None


def test_every_public_function_has_a_call_here() -> None:
    assert CALLS.keys() >= public_names()


@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_what_the_guide_says_and_no_more(roles: dict[str, str], role: str) -> None:
    asked = ("search_text", "ask", "embed_query")  # no worker answers in time
    expected = {}
    for name, (least, _) in CALLS.items():
        if role == "evaluator":
            allowed = least == "reader" or (least == "writer" and bool(EVALUATION.search(name)))
        else:
            allowed = RANKS.index(role) >= RANKS.index(least)
        expected[name] = ("RG009" if name in asked else None) if allowed else "42501"
    with psycopg.connect(roles[role], autocommit=True) as connection:
        assert {name: outcome(connection, name) for name in CALLS} == expected


def test_what_is_done_once_in_many_times_is_done_here(roles: dict[str, str]) -> None:
    with psycopg.connect(roles["superuser"], autocommit=True) as connection:
        connection.execute(RARE)
        drawn = connection.execute("SELECT random(), random(), random()").fetchone()
    assert drawn and max(drawn) < 1 / 64


@pytest.mark.parametrize("role", [role for role in ROLES if role != "stranger"])
def test_each_role_may_do_the_upkeep_of_caches_that_its_calls_begin(
    roles: dict[str, str], role: str
) -> None:
    with (
        psycopg.connect(roles[role]) as connection,
        connection.transaction(force_rollback=True),
    ):
        connection.execute(
            """INSERT INTO rag.cache_entries (kind, key, value, expires_at)
               VALUES ('answer', 'kept', '', 'infinity'), ('answer', 'expired', '', '-infinity');
               INSERT INTO rag.cache_uses SELECT 'upkeep', 0, n, 0, 0, 0
               FROM generate_series(1, 3) AS n"""
        )
        removed = connection.execute("SELECT rag._trim_cache(1000)").fetchone()
        kept = connection.execute("SELECT convert_from(key, 'UTF8') FROM rag.cache_entries")
        assert (removed, kept.fetchall()) == ((1,), [("kept",)])
        connection.execute("SELECT rag._fold_cache_uses()")
        uses = connection.execute("SELECT hits FROM rag.cache_uses WHERE kind = 'upkeep'")
        assert uses.fetchall() == [(6,)]


def test_every_table_is_named_in_the_grants_and_no_partition(roles: dict[str, str]) -> None:
    with psycopg.connect(roles["superuser"]) as connection:
        rows = connection.execute(
            """SELECT c.relname, c.relispartition, has_any_column_privilege(%s, c.oid, 'SELECT')
               FROM pg_class AS c WHERE c.relnamespace = 'rag'::regnamespace
                   AND c.relkind IN ('r', 'p')""",
            [roles["reader_name"]],
        ).fetchall()
    assert any(partition for _, partition, _ in rows)
    wrong = {name for name, partition, granted in rows if granted is partition}
    assert wrong == {"service_keys", "service_key_uses"}  # which are the owner's alone


# By what it inserts; the numbers of others it could use up.
NUMBERS = {
    "stranger": set(),
    "reader": set(),
    "evaluator": {"eval_sets"},
    "writer": {"eval_sets", "backlogs", "jobs", "chunk_ids"},
    "worker": {"eval_sets", "backlogs", "jobs", "chunk_ids"},
}


@pytest.mark.parametrize("role", NUMBERS)
def test_each_role_takes_numbers_of_what_it_inserts_alone(roles: dict[str, str], role: str) -> None:
    used = """SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = 'rag'::regnamespace
              AND CASE c.relkind WHEN 'S' THEN has_sequence_privilege(c.oid, 'USAGE') END"""
    with psycopg.connect(roles["owner"], autocommit=True) as connection:
        if role != "stranger":
            name = roles[role].split("user=")[1].split()[0]
            connection.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA rag TO {name}".encode())
            connection.execute("SELECT rag._renew_access()")
    with psycopg.connect(roles[role]) as connection:
        found = {re.sub("_[a-z]*_id_seq$", "", name) for (name,) in connection.execute(used)}
    assert found == NUMBERS[role]


def test_rights_are_given_again_by_an_upgrade_and_taken_away_whole(roles: dict[str, str]) -> None:
    quoted = sql.Identifier(roles["reader_name"]).as_string()
    with psycopg.connect(roles["owner"], autocommit=True) as connection:
        kept = connection.execute("SELECT * FROM rag.list_access()").fetchall()
        assert (roles["reader_name"], "reader", True) in kept
        connection.execute(
            f"""REVOKE SELECT ON rag.documents FROM {quoted};
                REVOKE EXECUTE ON FUNCTION rag.version() FROM {quoted};
                INSERT INTO rag.access_grants VALUES ('gone', 'writer')""".encode()
        )
        schema.upgrade(roles["owner"])
        assert schema.check(roles["owner"]) == []
        with psycopg.connect(roles["reader"]) as reading:
            reading.execute("SELECT rag.version(), count(*) FROM rag.documents")
        may = """SELECT bool_or(has_table_privilege(%(role)s, c.oid, 'SELECT, INSERT')
                     OR has_any_column_privilege(%(role)s, c.oid, 'SELECT'))
                 FROM pg_class AS c WHERE c.relnamespace = 'rag'::regnamespace
                     AND c.relkind IN ('r', 'p') AND c.relname <> 'ordinary_words'"""
        connection.execute("SELECT rag.grant_access(%s, 'writer')", [roles["reader_name"]])
        connection.execute("SELECT rag.revoke_access(%s, 'writer')", [roles["reader_name"]])
        with psycopg.connect(roles["reader"], autocommit=True) as reader:
            assert outcome(reader, "put_document") == "42501"
            assert outcome(reader, "list_documents") is None
        connection.execute("SELECT rag.revoke_access(%s)", [roles["reader_name"]])
        assert connection.execute(may, {"role": roles["reader_name"]}).fetchone() == (False,)
        with (
            pytest.raises(psycopg.errors.InsufficientPrivilege),
            psycopg.connect(roles["reader"]) as refused,
        ):
            refused.execute("SELECT rag.version()")
        connection.execute("SELECT rag.grant_access(%s, 'reader')", [roles["reader_name"]])
        connection.execute("DELETE FROM rag.access_grants WHERE role_name = 'gone'")
        for call, state in (
            ("rag.grant_access('nobody', 'reader')", "RG002"),
            (f"rag.grant_access({roles['reader_name']!r}, 'editor')", "RG001"),
        ):
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(f"SELECT {call}".encode())
            assert caught.value.sqlstate == state


def test_roles_of_a_source_attach_it_and_write_its_table(roles: dict[str, str]) -> None:
    stranger = roles["stranger_name"]
    with psycopg.connect(roles["superuser"], autocommit=True) as connection:
        connection.execute(
            f"""CREATE TABLE app.notes (id integer PRIMARY KEY, body text);
                ALTER TABLE app.notes OWNER TO {stranger}; GRANT USAGE ON SCHEMA app TO {stranger}
             """.encode()
        )
        attach = "SELECT rag.attach_source('app.notes', 'docs', content => '{body}')"
        with psycopg.connect(roles["stranger"], autocommit=True) as owner:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                owner.execute(attach)
            connection.execute("SELECT rag.grant_access(%s, 'source_owner')", [stranger])
            owner.execute(attach)
            connection.execute("SELECT rag.revoke_access(%s)", [stranger])
            connection.execute("SELECT rag.grant_access(%s, 'source_writer')", [stranger])
            owner.execute("INSERT INTO app.notes VALUES (1, 'a note')")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                owner.execute("SELECT uri FROM rag.list_documents('docs')")
        connection.execute("SELECT rag.revoke_access(%s)", [stranger])
        connection.execute("SELECT rag.detach_source('app.notes', 'docs'); DROP TABLE app.notes")


def test_who_may_not_insert_calls_of_workers_asks_none(roles: dict[str, str]) -> None:
    reader = sql.Identifier(roles["reader_name"]).as_string()
    leave = """INSERT INTO rag.worker_calls (collection_id, kind, arguments, expires_at)
               VALUES (1, 'ask', '{"question": "why?"}', 'infinity')"""
    with (
        psycopg.connect(roles["owner"], autocommit=True) as owner,
        psycopg.connect(roles["reader"], autocommit=True) as asking,
    ):
        owner.execute(f"REVOKE INSERT ON rag.worker_calls FROM {reader}".encode())
        try:
            for statement in (leave, *(CALLS[name][1] for name in ("ask", "request_answer"))):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    asking.execute(statement.encode())
            assert outcome(asking, "search") is None
        finally:
            owner.execute("SELECT rag.grant_access(%s, 'reader')", [roles["reader_name"]])


def test_a_reader_can_put_no_trigger_of_ours_on_a_table(roles: dict[str, str]) -> None:
    for rank in ("reader", "writer", "worker"):
        with psycopg.connect(roles[rank]) as connection:
            connection.execute("CREATE TEMP TABLE t (id int)")
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="_record_changes"):
                connection.execute(
                    "CREATE TRIGGER rag_source_1_insert AFTER INSERT ON t EXECUTE FUNCTION"
                    " rag._record_changes()"
                )


@pytest.mark.parametrize("rank", ["writer", "worker"])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE rag.spaces SET distance = 'l2'",
        "UPDATE rag.sources SET definition = '{}'",
        "INSERT INTO rag.sources (collection_id, table_name, definition) VALUES (1, 'x', '{}')",
        "UPDATE rag.collections SET chunking = '{}'",
        "UPDATE rag.fields SET type = 'text'",
        "UPDATE rag.alembic_version SET version_num = '0001'",
        "DELETE FROM rag.installed",
        "CREATE TABLE rag.mine (id int)",
        "CREATE FUNCTION rag.cardinality(bigint[]) RETURNS integer RETURN 1",
    ],
)
def test_what_decides_what_others_run_is_the_owners(
    roles: dict[str, str], rank: str, statement: str
) -> None:
    with (
        psycopg.connect(roles[rank]) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement.encode())


def test_the_client_works_with_the_rights_of_a_writer(
    roles: dict[str, str], tmp_path: Path
) -> None:
    embedder = HashEmbedder("hash:32")
    options: dict[str, Any] = {
        "settings": Settings(home=tmp_path),
        "embedders": {"hash": lambda name: embedder},
    }
    with Rag(roles["owner"], **options) as owner:
        owner.collection("shared", model="hash:32")
    with Rag(roles["writer"], **options) as writer:
        writer.collection("shared", model="hash:32").add({"uri": "a", "content": "green grass"})
    with Rag(roles["worker"], **options) as worker:
        worker.database.maintain()
        assert worker.database.follow_sources() >= 0
        assert worker.database.build_indexes(None) == 0
    with Rag(roles["reader"], **options) as reader:
        assert [hit.uri for hit in reader.collection("shared").search("grass")] == ["a"]


@pytest.fixture
def policy(roles: dict[str, str]) -> Iterator[dict[str, str]]:
    """A policy on documents and chunks: readers and writers see those of tag a alone."""
    with psycopg.connect(roles["owner"], autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('tenants', 'none', 3)")
        for uri, tag in (("own", "a"), ("other", "b")):
            connection.execute(
                """SELECT rag.put_chunks('tenants', %s,
                                         '[{"content": "alpha fish", "embedding": [1, 0, 0]}]',
                                         metadata => jsonb_build_object('tag', %s::text))""",
                [uri, tag],
            )
        for table in ("documents", "chunks"):
            connection.execute(
                f"""ALTER TABLE rag.{table} ENABLE ROW LEVEL SECURITY;
                    CREATE POLICY own ON rag.{table} USING (metadata ->> 'tag' = 'a')""".encode()
            )
        yield roles
        for table in ("documents", "chunks"):
            connection.execute(
                f"DROP POLICY own ON rag.{table}; ALTER TABLE rag.{table} DISABLE ROW LEVEL"
                " SECURITY".encode()
            )
        connection.execute("SELECT rag.drop_collection('tenants')")


def test_searches_of_a_reader_keep_to_its_policy(policy: dict[str, str]) -> None:
    with psycopg.connect(policy["reader"], autocommit=True) as reader:
        for search in (
            "SELECT uri FROM rag.search('tenants', 'alpha', '[1, 0, 0]')",
            "SELECT uri FROM rag.search_keyword('tenants', 'alpha')",
            "SELECT uri FROM rag.search_vector('tenants', '[1, 0, 0]')",
            "SELECT uri FROM rag.list_documents('tenants')",
            (
                "SELECT DISTINCT metadata ->> 'tag' FROM rag.chunks AS c JOIN rag.collections AS k"
                " USING (collection_id) WHERE k.name = 'tenants'"
            ),
        ):
            (found,) = reader.execute(search.encode()).fetchall()
            assert found in [("own",), ("a",)], search
        (partition,) = reader.execute(
            "SELECT 'rag.chunks_' || collection_id FROM rag.collections WHERE name = 'tenants'"
        ).fetchone() or ("",)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
            reader.execute(f"SELECT count(*) FROM {partition}".encode())


def test_an_error_names_only_collections_of_which_the_caller_sees_a_document(
    policy: dict[str, str],
) -> None:
    told = {}
    for rank in ("owner", "reader", "evaluator", "stranger"):
        with psycopg.connect(policy[rank], autocommit=True) as connection:
            for call in (
                "rag.count_documents('nope')",
                "rag.delete_documents('nope', '{a}')",  # without row security
                "rag.put_document('nope', 'a', 'b')",
            ):
                with pytest.raises(psycopg.Error) as caught:
                    connection.execute(f"SELECT {call}".encode())
                told[rank, call] = f"{caught.value} {caught.value.diag.message_hint}"
    assert all("docs" in told[key] and "tenants" in told[key] for key in told if key[0] == "owner")
    for key in told:
        if key[0] in ("reader", "evaluator"):
            assert "docs" not in told[key], key
            if "count" in key[1]:
                assert "tenants" in told[key], key
            else:
                assert told[key].startswith("permission denied for function"), key
        if key[0] == "stranger":
            assert "permission denied" in told[key]
            assert not re.search("tenants|docs", told[key]), key


def test_a_right_that_is_missing_is_an_error_class(roles: dict[str, str]) -> None:
    with pytest.raises(PermissionDenied), Rag(roles["stranger"]):
        pass
    with Rag(roles["reader"]) as reader, pytest.raises(PermissionError) as caught:
        reader.get_collection("docs").delete("a")
    assert isinstance(caught.value, PermissionDenied) and caught.value.sqlstate == "42501"


def test_a_writer_under_a_policy_is_refused_and_loses_nothing(policy: dict[str, str]) -> None:
    with psycopg.connect(policy["writer"], autocommit=True) as writer:
        for statement in (
            "SELECT rag.put_document('tenants', 'new', 'text')",
            """SELECT rag.put_chunks('tenants', 'own',
               '[{"content": "beta", "embedding": [0, 1, 0]}]')""",
            "SELECT rag.delete_document('tenants', 'own')",
            "SELECT rag._merge_keyword(collection_id) FROM rag.collections WHERE name = 'tenants'",
            (
                "SELECT rag._compact_keyword(collection_id, -1) FROM rag.collections WHERE name ="
                " 'docs'"
            ),
            CALLS["job_input"][1],
        ):
            with pytest.raises(
                psycopg.errors.InsufficientPrivilege, match="affected by row-level security"
            ):
                writer.execute(statement.encode())
    with psycopg.connect(policy["owner"], autocommit=True) as owner:
        owner.execute("SELECT rag._merge_keyword(collection_id) FROM rag.collections")
        found = owner.execute("SELECT uri FROM rag.search_keyword('tenants', 'alpha')").fetchall()
        assert sorted(found) == [("other",), ("own",)]


def test_a_worker_may_lex_chunks_anew(roles: dict[str, str]) -> None:
    with (
        psycopg.connect(roles["superuser"]) as connection,
        connection.transaction(force_rollback=True),
    ):
        connection.execute("UPDATE rag.collections SET lexer_version = 0")
        connection.execute("UPDATE rag.chunks SET lexemes = 'gone:1', lexeme_count = 1")
        connection.execute(f"SET ROLE {conninfo_to_dict(roles['worker'])['user']}".encode())
        for _ in range(4):
            connection.execute("SELECT rag._relex_chunks(c.collection_id) FROM rag.collections c")
        left = connection.execute(
            """SELECT count(*) FILTER (WHERE c.lexer_version = 0),
                   (SELECT count(*) FROM rag.chunks AS k JOIN rag.collections AS live
                    ON live.collection_id = k.collection_id AND live.dropped_at IS NULL
                    WHERE k.lexemes = 'gone:1')
               FROM rag.collections AS c WHERE c.dropped_at IS NULL"""
        ).fetchone()
    assert left == (0, 0)


def test_functions_that_write_what_policies_protect_see_all_of_it_or_fail(
    roles: dict[str, str],
) -> None:
    with psycopg.connect(roles["superuser"]) as connection:
        rows = connection.execute(
            r"""SELECT proname FROM pg_proc
                WHERE pronamespace = 'rag'::regnamespace AND provolatile = 'v'
                    AND (prosrc ~ '(INSERT INTO|UPDATE|DELETE FROM) rag\.'
                             '(documents|chunks|embeddings|keyword_)'
                         OR prosrc ~ 'rag\.(documents|chunks|embeddings)\M')
                    AND NOT coalesce('row_security=off' = ANY (proconfig), false)
                ORDER BY proname"""
        ).fetchall()
    # These write nothing of what they read there.
    assert [name for (name,) in rows] == [
        "_notify_ready", "keep_original", "wait_until_searchable",
    ]  # fmt: skip
