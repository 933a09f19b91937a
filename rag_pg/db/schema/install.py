"""Install, upgrade and check schema `rag`: Alembic revisions for tables, sql/ for functions.

An upgrade is one transaction: an advisory lock, the schema, the revisions, every file of sql/ in
name order, and the removal of each function that this transaction did not create again.

Names are looked up in pg_catalog and rag alone, now and whenever a function runs, for in other
schemas other roles may create: a function that fits better than PostgreSQL's own would be called
instead of it. pgvector may be in any schema, so the files and revisions write {vector} before its
types, functions and operators.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from rag_pg.db.connect import check_encoding, connect
from rag_pg.db.schema import inventory
from rag_pg.errors import DatabaseUnavailable, InvalidInput, SchemaMismatch

if TYPE_CHECKING:
    from sqlalchemy import Connection

LOCK_KEY = 0x7261675F7067  # "rag_pg"
SET_PATH = "SET LOCAL search_path TO pg_catalog, rag, pg_temp"
OLDEST_SERVER = 160000
OLDEST_PGVECTOR = (0, 8)
PACKAGE = Path(__file__).parents[2]


def share(name: str) -> Path:
    """Return a folder or file that the wheel carries:
    in the package, else beside it in a checkout."""
    inside = PACKAGE / "_share" / name
    return inside if inside.exists() else PACKAGE.parent / name


def sql_files() -> list[Path]:
    """Return the files of SQL functions in the order of their application."""
    return sorted(share("sql").rglob("*.sql"))


def _file_name(path: Path) -> str:
    """A file of sql/ as it is named in rag.installed and in messages: its path below sql/."""
    return path.relative_to(share("sql")).as_posix()


def upgrade(dsn: str) -> str:
    """Bring schema `rag` to this program's version and return its Alembic revision.

    Idempotent, safe when several processes call it at once, all or nothing.
    Raises DatabaseUnavailable: no connection, PostgreSQL before 16, no pgvector 0.8,
    missing privileges.
    """
    try:
        with _connection(dsn) as connection:
            _prepare_session(connection)
            _check_server(connection)
            vector_schema = _ensure_vector(connection)
            if not _scalar(connection, "SELECT count(*) FROM pg_namespace WHERE nspname = 'rag'"):
                connection.exec_driver_sql("CREATE SCHEMA rag")
            _check_schema(connection)
            if _is_copy(connection):
                _adopt_copy(connection, vector_schema)
            tables = _recorded_tables(connection)
            revision = _run_revisions(connection, vector_schema)
            if tables.get("revision") != revision:
                tables = _fresh_tables(connection, vector_schema, revision)
            _apply_functions(connection, vector_schema)
            _record(connection, vector_schema, {**tables, "revision": revision})
            return revision
    except psycopg.Error as exc:
        raise DatabaseUnavailable(f"cannot upgrade schema rag: {_explain(exc)}") from exc


def ensure(dsn: str) -> None:
    """Upgrade where the revision or a file of sql/ is another than this program's,
    and else do nothing.

    Functions changed by hand are not looked for, as `check` does. Raises: as `upgrade`.
    """
    files = {_file_name(path): _digest(path.read_text(encoding="utf-8")) for path in sql_files()}
    try:
        with connect(dsn) as connection:
            connection.execute(SET_PATH)
            (installed,) = connection.execute(
                "SELECT to_regclass('rag.installed') IS NOT NULL"
            ).fetchone() or (False,)
            if installed:
                rows = connection.execute(
                    """
                    SELECT 'revision', v.version_num, '' FROM rag.alembic_version AS v
                    UNION ALL SELECT i.kind, i.name, i.digest FROM rag.installed AS i
                    WHERE i.kind = 'file'
                    UNION ALL
                    SELECT 'moved', i.name, '' FROM rag.installed AS i
                    WHERE i.kind = 'pgvector' AND NOT EXISTS (
                        SELECT FROM pg_extension AS e
                        WHERE e.extname = 'vector'
                            AND e.extnamespace::regnamespace::text = quote_ident(i.name))
                    """
                ).fetchall()
                wanted = {("file", name, digest) for name, digest in files.items()}
                if set(rows) == wanted | {("revision", _newest_revision(), "")}:
                    return
    except psycopg.Error:
        pass  # upgrade says what is wrong
    upgrade(dsn)


def _newest_revision() -> str:
    """The last revision, by the names of the files:
    importing Alembic takes longer than a search."""
    return max(share("alembic").glob("versions/[0-9]*.py")).stem.partition("_")[0]


def check(dsn: str) -> list[str]:
    """Return what differs between the database and this program, a line each;
    empty when all is well."""
    with _connection(dsn) as connection:
        if not _scalar(connection, "SELECT to_regclass('rag.installed') IS NOT NULL"):
            return ['schema rag is not installed: run "rag-pg db upgrade"']
        if _is_copy(connection):
            return ['schema rag is a copy without its rows: run "rag-pg db upgrade"']
        problems = _check_revision(connection)
        raw = _raw(connection)
        installed: dict[str, dict[str, str]] = {}
        for kind, name, definition in raw.execute("SELECT kind, name, digest FROM rag.installed"):
            installed.setdefault(kind, {})[name] = definition
        if moved := _moved_vector(connection):
            return [*problems, moved]
        packaged = {
            _file_name(path): _digest(path.read_text(encoding="utf-8")) for path in sql_files()
        }
        files = installed.get("file", {})
        for name in sorted(packaged.keys() | files.keys()):
            if packaged.get(name) != files.get(name):
                problems.append(
                    f'sql/{name} differs from what is installed: run "rag-pg db upgrade"'
                )
        tables = {k: v for k, v in installed.get("table", {}).items() if k != "revision"}
        table_problems = _table_problems(tables, inventory.tables(raw))
        if any(problem.endswith(" is missing") for problem in table_problems):
            problems.append(
                f"schema rag is damaged, {len(table_problems)} differences: DROP SCHEMA rag CASCADE"
                " and restore it from a backup (pg_restore --clean over an installation leaves"
                " such a mix)"
            )
        problems += table_problems
        function_problems = _function_problems(
            installed.get("function", {}), inventory.functions(raw)
        )
        if not problems and not function_problems:  # they are found by functions
            problems += inventory.missing_parts(raw)
            problems += [
                f"table {name} belongs to no collection: drop it, or restore schema rag from a"
                " backup"
                for name in inventory.orphans(raw)
            ]
        return problems + function_problems


def _table_problems(installed: Mapping[str, str], present: Mapping[str, str]) -> list[str]:
    problems = []
    for name in sorted(installed.keys() | present.keys()):
        if name not in present:
            if name.partition(" ")[2].rpartition(".")[0] in _gone(installed, present):
                continue  # with its table
            problems.append(f"{name} is missing")
        elif name not in installed:
            if not name.startswith("index ") or present[name].startswith("CREATE UNIQUE"):
                problems.append(f"{name} is not rag_pg's: drop it or move it to another schema")
        elif installed[name] != present[name]:
            is_, was = present[name] or "as usual", installed[name] or "as usual"
            problems.append(f"{name} is {is_}, not {was}: alter it back")
    return problems


def _gone(installed: Mapping[str, str], present: Mapping[str, str]) -> set[str]:
    """The tables that are missing whole: their columns and constraints need no line each."""
    return {
        n.partition(" ")[2] for n in installed.keys() - present.keys() if n.startswith("table ")
    }


def _function_problems(installed: Mapping[str, str], present: Mapping[str, str]) -> list[str]:
    problems = []
    for name in sorted(installed.keys() | present.keys()):
        if name not in installed:
            problems.append(f"{name} is not rag_pg's: drop it or move it to another schema")
        elif name not in present:
            problems.append(f'{name} is missing: run "rag-pg db upgrade"')
        elif present[name] != installed[name]:
            problems.append(f'{name} was changed by hand: run "rag-pg db upgrade" to restore it')
    return problems


@contextmanager
def _connection(dsn: str) -> Iterator[Connection]:
    """One transaction through SQLAlchemy, which Alembic needs;
    committed on leaving without an error."""
    import sqlalchemy
    from sqlalchemy.exc import DBAPIError

    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: _open(dsn))
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql(SET_PATH)
            yield connection
    except DBAPIError as exc:
        raise DatabaseUnavailable(_explain(exc.orig)) from exc
    except psycopg.OperationalError as exc:
        raise DatabaseUnavailable(_explain(exc)) from exc
    except psycopg.ProgrammingError as exc:
        if exc.sqlstate is not None:
            raise
        raise InvalidInput(
            f"not a connection string: {exc}; set RAG_PG_DSN like postgresql://user@host/database"
        ) from exc
    finally:
        engine.dispose()


def _open(dsn: str) -> psycopg.Connection[Any]:
    """Open a connection that reads committed, and begin a transaction with our own search_path.

    Who waited for another upgrade must see what it did, whatever the default is. SQLAlchemy's own
    first questions are asked in the transaction that is begun, so that no function of another
    schema answers them.
    """
    connection = connect(dsn)
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    connection.execute(SET_PATH)
    return connection


def _prepare_session(connection: Connection) -> None:
    """Wait for other upgrades, then let no setting of the role
    or the database change what is installed."""
    connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
    connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
    if int(_scalar(connection, "SHOW server_version_num")) >= 170000:
        connection.exec_driver_sql("SET LOCAL transaction_timeout = 0")
    connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
    connection.exec_driver_sql(f"SELECT pg_catalog.pg_advisory_xact_lock({LOCK_KEY})")
    connection.exec_driver_sql("SET LOCAL lock_timeout TO DEFAULT")  # it spares who uses the tables
    connection.exec_driver_sql("SET LOCAL standard_conforming_strings TO on")


def _explain(error: BaseException | None) -> str:
    """One line: what the server said, then the remedy."""
    diagnosis = getattr(error, "diag", None)
    message = getattr(diagnosis, "message_primary", None) or str(error).strip().splitlines()[0]
    code = getattr(error, "sqlstate", None) or ""
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        remedy = "the owner of the database, or a role with CREATE on it, must run the upgrade"
    elif isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        remedy = (
            "the server is a replica, or default_transaction_read_only is on for this role or"
            " database: PGOPTIONS='-c default_transaction_read_only=off' overrules that"
        )
    elif isinstance(error, psycopg.errors.LockNotAvailable):
        remedy = (
            "other transactions hold the tables and lock_timeout is short; run the upgrade again"
        )
    elif isinstance(error, psycopg.OperationalError) and code[:2] in ("", "08", "28", "3D", "57"):
        return f"cannot reach the database: {message}; check RAG_PG_DSN and that the server runs"
    else:
        remedy = (diagnosis.message_hint if diagnosis else "") or "nothing was changed"
    return f"{message}; {remedy}"


def _scalar(connection: Connection, statement: str) -> Any:
    return connection.exec_driver_sql(statement).scalar()


def quoted(name: str) -> str:
    """Return an identifier of letters, digits, spaces, `_`, `-`, `"` and escapes:
    it may stand in a literal or a format."""
    if re.fullmatch(r'[\w "-]*', name):
        return '"' + name.replace('"', '""') + '"'
    escaped = "".join(c if re.match(r"[\w -]", c) else f"\\+{ord(c):06X}" for c in name)
    return f'U&"{escaped}"'


def _load(path: Path, vector_schema: str) -> str:
    return path.read_text(encoding="utf-8").replace("{vector}", quoted(vector_schema))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _check_server(connection: Connection) -> None:
    number = int(_scalar(connection, "SHOW server_version_num"))
    if number < OLDEST_SERVER:
        version = _scalar(connection, "SHOW server_version")
        raise DatabaseUnavailable(f"PostgreSQL {version} is too old; rag_pg needs 16 or newer")
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    check_encoding(raw)


def _check_schema(connection: Connection) -> None:
    """Refuse a schema rag in which another role may create:
    what it made there could run as anybody who calls rag."""
    row = connection.exec_driver_sql(
        """
        WITH me AS (
            SELECT r.oid, r.rolsuper, quote_ident(r.rolname) AS name,
                   (SELECT c.relowner FROM pg_class AS c
                       WHERE c.oid = to_regclass('rag.collections')) AS installer
            FROM pg_roles AS r WHERE r.rolname = current_user
        )
        SELECT g.name, 'REVOKE CREATE ON SCHEMA rag FROM ' || g.name
        FROM me, pg_namespace AS n, aclexplode(n.nspacl) AS a,
        LATERAL (SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC'
            ELSE a.grantee::regrole::text END AS name) AS g
        WHERE n.nspname = 'rag' AND a.privilege_type = 'CREATE'
            AND a.grantee NOT IN (n.nspowner, me.oid, coalesce(me.installer, me.oid))
        UNION ALL
        SELECT n.nspowner::regrole::text, 'ALTER SCHEMA rag OWNER TO ' || me.name
        FROM me, pg_namespace AS n JOIN pg_roles AS o ON o.oid = n.nspowner
        WHERE n.nspname = 'rag' AND me.installer IS NULL AND n.nspowner <> me.oid AND NOT o.rolsuper
            AND (me.rolsuper OR NOT pg_has_role(n.nspowner, 'USAGE'))
        """
    ).first()
    if row is not None:
        raise DatabaseUnavailable(
            f"role {row[0]} may create in schema rag, and a function made there could run as"
            " whoever uses rag_pg; "
            f'run "{row[1]}"'
        )


def _ensure_vector(connection: Connection) -> str:
    """Return the schema of extension vector, creating it where allowed."""
    from sqlalchemy.exc import DBAPIError

    find = (
        "SELECT e.extversion, n.nspname FROM pg_extension AS e "
        "JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    )
    row = connection.exec_driver_sql(find).first()
    if row is None:
        if not _scalar(
            connection, "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"
        ):
            raise DatabaseUnavailable(
                "the server has no pgvector; install it (package postgresql-NN-pgvector, "
                "image pgvector/pgvector, or switch it on at your provider)"
            )
        schema = "public" if _scalar(
            connection, "SELECT count(*) FROM pg_namespace WHERE nspname = 'public'"
        ) else "rag"  # fmt: skip
        if schema == "rag":
            connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS rag")
        try:
            connection.exec_driver_sql(f"CREATE EXTENSION vector SCHEMA {schema}")
        except DBAPIError as exc:
            if isinstance(exc.orig, psycopg.errors.InsufficientPrivilege):
                raise DatabaseUnavailable(
                    "pgvector is not enabled in this database and this role may not enable it; "
                    'have a superuser run "CREATE EXTENSION vector" once'
                ) from exc
            raise DatabaseUnavailable(f"cannot enable pgvector: {_explain(exc.orig)}") from exc
        row = connection.exec_driver_sql(find).one()
    version, schema = str(row[0]), str(row[1])
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_PGVECTOR:
        raise DatabaseUnavailable(
            f'pgvector {version} is too old; rag_pg needs 0.8: install it and run "ALTER EXTENSION'
            ' vector UPDATE"'
        )
    return schema


def _alembic_config() -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(share("alembic")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _apply_functions(connection: Connection, vector_schema: str) -> None:
    connection.exec_driver_sql("SET LOCAL check_function_bodies TO off")
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    for path in sql_files():
        _apply_file(raw, path, vector_schema)
    raw.execute(
        """
        DO $$
        DECLARE _stale regprocedure;
        BEGIN
            FOR _stale IN
                SELECT p.oid FROM pg_proc AS p
                WHERE p.pronamespace = 'rag'::regnamespace
                    AND age(p.xmin) > age(pg_current_xact_id()::xid)  -- not of this transaction
                    AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.objid = p.oid
                        AND d.deptype = 'e')
            LOOP
                EXECUTE format('DROP ROUTINE %s', _stale);
            END LOOP;
        END $$;
        REVOKE ALL ON ALL ROUTINES IN SCHEMA rag FROM PUBLIC;
        """
    )


def _record(connection: Connection, vector_schema: str, tables: Mapping[str, str]) -> None:
    """Write down what is installed, for `check`."""
    raw = _raw(connection)
    rows = [
        ("file", _file_name(path), _digest(path.read_text(encoding="utf-8")))
        for path in sql_files()
    ]
    rows += [("function", name, digest) for name, digest in inventory.functions(raw).items()]
    rows += [("table", name, definition) for name, definition in tables.items()]
    rows += [("pgvector", vector_schema, "")]
    raw.execute("DELETE FROM rag.installed")
    raw.execute(
        "INSERT INTO rag.installed (kind, name, digest) SELECT * FROM unnest(%s::text[],"
        " %s::text[], %s::text[])",
        [list(column) for column in zip(*rows, strict=True)],
    )


def _apply_file(connection: psycopg.Connection[Any], path: Path, vector_schema: str) -> None:
    """Apply a file; a function that is there with another result is dropped first,
    as the server asks."""
    while True:
        try:
            with connection.transaction():
                connection.execute(_load(path, vector_schema).encode())
            return
        except psycopg.errors.InvalidFunctionDefinition as exc:
            outdated = re.search(r"\S+\(.*\)", exc.diag.message_hint or "")
            if outdated is None:
                raise SchemaMismatch(f"sql/{_file_name(path)}: {exc}") from exc
            connection.execute(f"DROP ROUTINE {outdated[0]}".encode())
        except psycopg.Error as exc:
            raise SchemaMismatch(f"sql/{_file_name(path)}: {exc}") from exc


def _moved_vector(connection: Connection) -> str | None:
    """The functions name the schema of pgvector: say so when it is another by now."""
    row = connection.exec_driver_sql(
        """
        SELECT i.name, n.nspname
        FROM rag.installed AS i, pg_extension AS e
        JOIN pg_namespace AS n ON n.oid = e.extnamespace
        WHERE i.kind = 'pgvector' AND e.extname = 'vector' AND i.name <> n.nspname
        """
    ).first()
    if row is None:
        return None
    return f'pgvector was moved from schema {row[0]} to {row[1]}: run "rag-pg db upgrade"'


def _raw(connection: Connection) -> psycopg.Connection[Any]:
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    return raw


def _run_revisions(connection: Connection, vector_schema: str, target: str = "head") -> str:
    """Run Alembic's revisions up to `target` in schema rag, and return where it stands."""
    from alembic import command

    config = _alembic_config()
    config.attributes.update(connection=connection, vector_schema=quoted(vector_schema))
    command.upgrade(config, target)
    return str(_scalar(connection, "SELECT version_num FROM rag.alembic_version"))


def _recorded_tables(connection: Connection) -> dict[str, str]:
    if not _scalar(connection, "SELECT to_regclass('rag.installed') IS NOT NULL"):
        return {}
    rows = _raw(connection).execute("SELECT name, digest FROM rag.installed WHERE kind = 'table'")
    return dict(rows.fetchall())


def _fresh_tables(connection: Connection, vector_schema: str, revision: str) -> dict[str, str]:
    """Return the tables of a fresh install at a revision, whatever became of those that are there.

    They are made under the schema's name while it bears another for a moment, which nobody else
    sees: the transaction gives it back.
    """
    raw = _raw(connection)
    if not _scalar(connection, "SELECT has_database_privilege(current_database(), 'CREATE')"):
        return inventory.tables(raw)  # as they are: this role may upgrade a schema and not make one
    with raw.transaction(force_rollback=True):
        raw.execute("ALTER SCHEMA rag RENAME TO rag_as_it_is")
        raw.execute("CREATE SCHEMA rag")
        _run_revisions(
            connection, "rag_as_it_is" if vector_schema == "rag" else vector_schema, revision
        )
        return inventory.tables(raw)


def _is_copy(connection: Connection) -> bool:
    """Whether the tables are there, and not the row that says of which revision:
    a dump without data was restored."""
    if not _scalar(connection, "SELECT to_regclass('rag.collections') IS NOT NULL"):
        return False
    if not _scalar(connection, "SELECT to_regclass('rag.alembic_version') IS NOT NULL"):
        return True
    return not _scalar(connection, "SELECT EXISTS (SELECT FROM rag.alembic_version)")


def _adopt_copy(connection: Connection, vector_schema: str) -> None:
    """Find out which revision the tables are of, and drop the partitions that no collection has.

    Raises SchemaMismatch when they are of none, or when such a partition holds rows.
    """
    from alembic.script import ScriptDirectory

    raw = _raw(connection)
    present = inventory.tables(raw)
    for script in ScriptDirectory.from_config(_alembic_config()).walk_revisions():
        if not _table_problems(_fresh_tables(connection, vector_schema, script.revision), present):
            break
    else:
        raise SchemaMismatch(
            "schema rag holds tables of another program version, or some of them, and no revision:"
            " nothing was changed; restore it whole from a backup, or give it up with DROP SCHEMA"
            " rag CASCADE and upgrade again"
        )
    for name in inventory.orphans(raw):
        if raw.execute(f"SELECT EXISTS (SELECT FROM {name})".encode()).fetchone() == (True,):
            raise SchemaMismatch(
                f"{name} holds rows of a collection that is not there: nothing was changed; restore"
                " schema rag whole from a backup, or give it up with DROP SCHEMA rag CASCADE and"
                " upgrade again"
            )
        raw.execute(f"DROP TABLE {name}".encode())
    for name, table in inventory.stray_triggers(raw):
        raw.execute(sql.SQL("DROP TRIGGER {} ON {}").format(sql.Identifier(name), sql.SQL(table)))
    raw.execute(
        "CREATE TABLE IF NOT EXISTS rag.alembic_version (version_num varchar(32) PRIMARY KEY)"
    )
    raw.execute("INSERT INTO rag.alembic_version VALUES (%s)", [script.revision])


def _check_revision(connection: Connection) -> list[str]:
    from alembic.script import ScriptDirectory

    installed = _scalar(connection, "SELECT version_num FROM rag.alembic_version")
    head = ScriptDirectory.from_config(_alembic_config()).get_current_head()
    if installed == head:
        return []
    return [f'schema revision is {installed}, this program has {head}: run "rag-pg db upgrade"']
