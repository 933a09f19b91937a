"""Installing under what a role or a database has set; and what the upgrade says when it cannot."""

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from tenancy import as_role, role

from rag_pg import DatabaseUnavailable, NotReady
from rag_pg.db import schema
from rag_pg.db.connect import connect
from rag_pg.db.database import Database
from rag_pg.db.schema.transaction import scalar, transaction

NewDatabase = Callable[..., str]


def configure(dsn: str, **settings: str) -> None:
    """Set them for the database, as its administrator would."""
    name = sql.Identifier(str(conninfo_to_dict(dsn)["dbname"]))
    with connect(dsn, autocommit=True) as connection:
        for setting, value in settings.items():
            connection.execute(
                sql.SQL("ALTER DATABASE {} SET {} TO {}").format(
                    name, sql.Identifier(setting), value
                )
            )


def at_once(count: int, call: Callable[[], Any]) -> list[BaseException]:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_upgrades_at_once_succeed_whatever_the_default_isolation(
    new_database: NewDatabase,
) -> None:
    """Under the strictest, which refuses all that repeatable read does."""
    dsn = new_database()
    configure(dsn, default_transaction_isolation="serializable")
    assert at_once(2, lambda: schema.upgrade(dsn)) == []
    assert at_once(2, lambda: schema.upgrade(dsn)) == []
    assert schema.check(dsn) == []


def test_timeouts_of_the_role_do_not_cut_an_upgrade_off(dsn: str) -> None:
    configure(dsn, statement_timeout="20ms", lock_timeout="20ms")
    with connect(dsn, autocommit=True) as holder:
        holder.execute("SET statement_timeout = 0")
        holder.execute("SELECT pg_advisory_lock(%s)", [schema.LOCK_KEY])
        errors: list[BaseException] = []
        waiting = threading.Thread(
            target=lambda: errors.extend(at_once(1, lambda: schema.upgrade(dsn)))
        )
        waiting.start()
        holder.execute(
            """DO $$ BEGIN
                   FOR i IN 1..60000 LOOP
                       EXIT WHEN EXISTS (SELECT FROM pg_stat_activity
                           WHERE datname = current_database()
                           AND wait_event = 'advisory'
                               AND clock_timestamp() - query_start > '60 ms');
                       PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
                   END LOOP;
               END $$"""
        )
        holder.execute("SELECT pg_advisory_unlock(%s)", [schema.LOCK_KEY])
        waiting.join()
    assert errors == []


def test_a_stranger_who_holds_the_lock_of_upgrades_is_named(dsn: str) -> None:
    stranger = role("stranger")
    with connect(dsn, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {stranger} LOGIN".encode())
        try:
            with as_role(dsn, stranger) as holder:
                holder.execute("SELECT pg_advisory_lock(%s)", [schema.LOCK_KEY])
                end = rf"pg_terminate_backend\({holder.info.backend_pid}\)"
                with pytest.raises(NotReady, match=rf"of role {stranger}, .* {end}"):
                    schema.upgrade(dsn)
            schema.upgrade(dsn)
        finally:
            owner.execute(f"DROP ROLE {stranger}".encode())


def test_no_timeout_of_the_role_holds_in_a_transaction_of_the_schema(dsn: str) -> None:
    names = ("statement_timeout", "idle_in_transaction_session_timeout")
    configure(dsn, **dict.fromkeys(names, "1min"))
    with transaction(dsn, "rag") as connection:
        assert [scalar(connection, f"SHOW {name}") for name in names] == ["0", "0"]


def test_a_lock_that_is_not_had_in_time_is_named(dsn: str) -> None:
    with connect(dsn) as holder:
        holder.execute("LOCK TABLE rag.installed")
        configure(dsn, lock_timeout="20ms")
        with pytest.raises(DatabaseUnavailable, match=r"lock timeout; .*run the upgrade again"):
            schema.upgrade(dsn)


def test_a_read_only_default_is_named(new_database: NewDatabase) -> None:
    dsn = new_database()
    configure(dsn, default_transaction_read_only="on")
    with pytest.raises(
        DatabaseUnavailable,
        match=(
            "cannot execute CREATE EXTENSION in a read-only transaction;"
            " .*default_transaction_read_only"
        ),
    ):
        schema.upgrade(dsn)


def test_a_trigger_that_refuses_is_quoted(new_database: NewDatabase) -> None:
    dsn = new_database()
    with connect(dsn, autocommit=True) as connection:
        connection.execute(
            """CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
               BEGIN RAISE 'no changes on Fridays' USING HINT = 'ask Ann'; END $$"""
        )
        connection.execute(
            "CREATE EVENT TRIGGER refuse ON ddl_command_start EXECUTE FUNCTION refuse()"
        )
    with pytest.raises(
        DatabaseUnavailable, match="cannot enable pgvector: no changes on Fridays; ask Ann"
    ):
        schema.upgrade(dsn)
    with connect(dsn, autocommit=True) as connection:
        connection.execute("DROP EVENT TRIGGER refuse")
        connection.execute("CREATE EXTENSION vector")
        connection.execute(
            "CREATE EVENT TRIGGER refuse ON ddl_command_start EXECUTE FUNCTION refuse()"
        )
    with pytest.raises(DatabaseUnavailable, match="^no changes on Fridays; ask Ann"):
        schema.upgrade(dsn)


def test_a_trigger_that_fails_is_named_in_one_line(new_database: NewDatabase) -> None:
    dsn = new_database()
    with connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(
            """CREATE FUNCTION note() RETURNS event_trigger LANGUAGE plpgsql AS $$
               BEGIN RAISE E'not\n on Fridays' USING HINT = E'ask\nAnn'; END $$"""
        )
        connection.execute("CREATE EVENT TRIGGER note ON ddl_command_end EXECUTE FUNCTION note()")
    with pytest.raises(DatabaseUnavailable) as raised:
        schema.upgrade(dsn)
    said = "not on Fridays; ask Ann (said by public.note(), which is not of rag_pg)"
    assert str(raised.value).endswith(said) and "\n" not in str(raised.value)


def test_a_role_that_may_not_enable_pgvector_is_told(new_database: NewDatabase) -> None:
    dsn = new_database()
    with connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE ROLE no_enabler LOGIN")
    with pytest.raises(DatabaseUnavailable, match="have a superuser run"):
        schema.upgrade(psycopg.conninfo.make_conninfo(dsn, user="no_enabler"))


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1", "EUC_JP"])
def test_another_encoding_than_utf8_is_refused(server_dsn: str, encoding: str) -> None:
    name = f"encoded_{encoding.lower()}"
    with connect(server_dsn, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}".encode())
        connection.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0".encode()
        )
        try:
            dsn = psycopg.conninfo.make_conninfo(server_dsn, dbname=name)
            for call in (lambda: schema.upgrade(dsn), lambda: Database(dsn).open()):
                with pytest.raises(
                    DatabaseUnavailable, match=f"encoding {encoding}; .*UTF8"
                ) as caught:
                    call()
                assert "\n" not in str(caught.value)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
