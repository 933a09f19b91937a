"""Statements that describe and call functions by name: of schema rag, and of applications."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from pgvector.psycopg.halfvec import HalfVector
from psycopg import sql
from psycopg.errors import Diagnostic
from psycopg.rows import dict_row, scalar_row

from rag_pg.db.arguments import plain_argument
from rag_pg.db.statements import Statements
from rag_pg.types import FunctionArgument, FunctionInfo

MOST_ROWS = 200


class Functions(Statements):
    """Functions of schema rag, and those that an application brings."""

    def help(self, about: str | None = None) -> list[dict[str, Any]]:
        return self.dicts("help", about=about)

    def public_functions(self) -> list[str]:
        """The names of the functions and procedures of schema rag that are not internal."""
        return self._fetch(
            scalar_row,
            """SELECT p.proname FROM pg_catalog.pg_proc AS p
               JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
               WHERE n.nspname OPERATOR(pg_catalog.=) %(schema)s
                   AND p.proname OPERATOR(pg_catalog.~) '^[^_]'
                   AND NOT EXISTS (
                       SELECT FROM pg_catalog.pg_depend AS d
                       WHERE d.objid OPERATOR(pg_catalog.=) p.oid
                           AND d.deptype OPERATOR(pg_catalog.=) 'e')
               ORDER BY p.proname""",
            {"schema": self.schema},
            reads=True,
        )

    def value_fault(self, argument: FunctionArgument, value: str) -> str | None:
        """What the type of an argument has against a text as its value; None: nothing."""
        found = self._select(
            """SELECT i.message FROM pg_catalog.pg_input_error_info(
                   %(value)s, pg_catalog.format('%%I.%%I', %(schema)s::pg_catalog.text,
                                                %(type)s::pg_catalog.text)) AS i""",
            value=value,
            schema=argument.type_schema,
            type=argument.type_name,
        )
        return found[0][0] if found else None

    def call_by_texts(
        self,
        function: FunctionInfo,
        given: Mapping[str, str | bytes | None],
        tell: Callable[[str], None],
    ) -> list[dict[str, Any]]:
        """Return the rows of a function or procedure, as JSON has their values.

        given: values as the types of the arguments read them from a text, by name; bytes for bytea;
            None is NULL. They are bound, never part of the statement.
        tell: gets what the function says meanwhile, as by RAISE NOTICE.
        """
        types = {one.name: (one.type_schema, one.type_name) for one in function.arguments}
        values = {f"value{number}": value for number, value in enumerate(given.values())}
        arguments = [
            sql.SQL("{} => {}::{}").format(
                sql.Identifier(name), sql.Placeholder(key), sql.Identifier(*types[name])
            )
            for name, key in zip(given, values, strict=True)
        ]
        call = sql.SQL("{}({})").format(
            sql.Identifier(function.schema, function.name), sql.SQL(", ").join(arguments)
        )
        if function.kind == "p":
            return self._run(sql.SQL("CALL {}").format(call), values, tell)
        reads = function.schema == self.schema and self._calls.only_reads(function.name)
        as_json = sql.SQL(
            'SELECT pg_catalog.row_to_json("the row") AS "the row"'
            ' FROM (SELECT * FROM {}) AS "the row"'
        ).format(call)
        return [row["the row"] for row in self._run(as_json, values, tell, reads)]

    def _run(
        self,
        statement: sql.Composed,
        values: Mapping[str, object],
        tell: Callable[[str], None],
        reads: bool = False,
    ) -> list[dict[str, Any]]:
        """Run a statement that may give no rows; what it says meanwhile goes to `tell`."""
        checked = {name: plain_argument(name, value, "") for name, value in values.items()}

        def hear(diagnostic: Diagnostic) -> None:
            tell(diagnostic.message_primary or "")

        with (
            self.connection(reads=reads) as connection,
            connection.cursor(row_factory=dict_row) as cursor,
        ):
            connection.add_notice_handler(hear)
            try:
                with connection.transaction() if self._settings else nullcontext():
                    self._set_local(connection)
                    cursor.execute(statement, checked)
                rows = cursor.fetchall() if cursor.description else []
            finally:
                connection.remove_notice_handler(hear)
        return [{name: _of_json(value) for name, value in row.items()} for row in rows]

    def find_functions(self, schema: str, name: str) -> list[FunctionInfo]:
        """Return the functions of that name, one for each list of arguments."""
        found = self._fetch(
            dict_row,
            """SELECT n.nspname AS schema, p.proname AS name, p.prokind::pg_catalog.text AS kind,
                      p.prosecdef AS security_definer,
                      p.provariadic OPERATOR(pg_catalog.<>) 0 AS variadic,
                      pg_catalog.has_schema_privilege(n.oid, 'USAGE')
                          AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE') AS may_execute,
                      coalesce(pg_catalog.obj_description(p.oid, 'pg_proc'), '') AS comment,
                      pg_catalog.pg_get_function_result(p.oid) AS result,
                      coalesce(a.arguments, '[]') AS arguments
               FROM pg_catalog.pg_proc AS p
               JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
               LEFT JOIN LATERAL (
                   SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                              'name', coalesce(p.proargnames[u.position], ''),
                              'type', pg_catalog.format_type(y.oid, NULL),
                              'type_schema', t.nspname, 'type_name', y.typname,
                              'category', y.typcategory, 'kind', y.typtype,
                              'labels', coalesce((
                                  SELECT pg_catalog.jsonb_agg(e.enumlabel ORDER BY e.enumsortorder)
                                  FROM pg_catalog.pg_enum AS e
                                  WHERE e.enumtypid OPERATOR(pg_catalog.=) y.oid), '[]'),
                              'default', pg_catalog.pg_get_function_arg_default(
                                  p.oid, u.position::pg_catalog.int4)) ORDER BY u.position)
                          AS arguments
                   FROM ROWS FROM (
                            pg_catalog.unnest(coalesce(p.proallargtypes,
                                                       p.proargtypes::pg_catalog.oid[])),
                            pg_catalog.unnest(p.proargmodes)) WITH ORDINALITY
                        AS u (type, mode, position)
                   JOIN pg_catalog.pg_type AS y ON y.oid OPERATOR(pg_catalog.=) u.type
                   JOIN pg_catalog.pg_namespace AS t
                       ON t.oid OPERATOR(pg_catalog.=) y.typnamespace
                   WHERE coalesce(u.mode, 'i') OPERATOR(pg_catalog.=) ANY ('{i,b,v}')
               ) AS a ON true
               WHERE n.nspname OPERATOR(pg_catalog.=) %(schema)s
                   AND p.proname OPERATOR(pg_catalog.=) %(name)s""",
            {"schema": schema, "name": name},
            reads=True,
        )
        return [
            FunctionInfo(**{**row, "arguments": [FunctionArgument(**a) for a in row["arguments"]]})
            for row in found
        ]

    def call_function(self, function: FunctionInfo, arguments: Mapping[str, Any]) -> list[Any]:
        """Return the rows of a function, as JSON, `MOST_ROWS` at most.

        Args:
            arguments: values of JSON, by the names of the function's arguments; bound, never part
                of the statement.
        """
        values: dict[str, object] = {"rows": MOST_ROWS}
        given = []
        for number, argument in enumerate(function.arguments):
            if argument.name not in arguments:
                continue
            value = arguments[argument.name]
            as_text: sql.Composable = sql.Placeholder(f"argument{number}")
            if argument.category == "A" and value is not None:
                as_text = sql.SQL(
                    "ARRAY(SELECT e.value FROM pg_catalog.jsonb_array_elements_text("
                    "{}::pg_catalog.jsonb) WITH ORDINALITY AS e (value, position)"
                    " ORDER BY e.position)"
                ).format(as_text)
            given.append(
                sql.SQL("{} => {}::{}").format(
                    sql.Identifier(argument.name),
                    as_text,
                    sql.Identifier(argument.type_schema, argument.type_name),
                )
            )
            is_json = argument.type_name in ("json", "jsonb") or argument.category == "A"
            plain = value if isinstance(value, str) and not is_json else json.dumps(value)
            values[f"argument{number}"] = None if value is None else plain
        statement = sql.SQL(
            "SELECT pg_catalog.to_jsonb(result) FROM {}({}) AS result LIMIT %(rows)s"
        ).format(sql.Identifier(function.schema, function.name), sql.SQL(", ").join(given))
        return self._fetch(scalar_row, statement, values)


def _of_json(value: Any) -> Any:
    """Return a value that JSON has, or its text."""
    if isinstance(value, HalfVector):
        return value.to_text()
    return value if isinstance(value, str | int | float | list | dict | None) else str(value)
