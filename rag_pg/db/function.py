"""Statements that describe and call functions of other schemas, by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from psycopg import sql

from rag_pg.db.connection import Statements
from rag_pg.types import FunctionArgument, FunctionInfo

MOST_ROWS = 200


class Functions(Statements):
    """Functions that an application brings."""

    def find_functions(self, schema: str, name: str) -> list[FunctionInfo]:
        """Return the functions of that name, one for each list of arguments."""
        found = self._dicts(
            """SELECT n.nspname AS schema, p.proname AS name, p.prokind::pg_catalog.text AS kind,
                      p.prosecdef AS security_definer,
                      p.provariadic OPERATOR(pg_catalog.<>) 0 AS variadic,
                      pg_catalog.has_schema_privilege(n.oid, 'USAGE')
                          AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE') AS may_execute,
                      coalesce(pg_catalog.obj_description(p.oid, 'pg_proc'), '') AS comment,
                      coalesce(a.arguments, '[]') AS arguments
               FROM pg_catalog.pg_proc AS p
               JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
               LEFT JOIN LATERAL (
                   SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                              'name', coalesce(p.proargnames[u.position], ''),
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
            schema=schema,
            name=name,
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
        return self._scalars(statement, **values)
