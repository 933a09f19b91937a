"""docs/guides/tenants.md is true: its statements run as the roles that it names."""

from __future__ import annotations

import re

import psycopg
import pytest
from paths import ROOT
from psycopg.conninfo import make_conninfo
from tenancy import as_role

from rag_pg import Rag
from rag_pg.db import schema

PAGE = (ROOT / "docs" / "guides" / "tenants.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sql\n-- as ([\w ]+)(: refused)?\n(.*?)^```$", PAGE, re.M | re.S)
ROLES = ("acme_app", "globex_app", "webapp")


def test_its_statements_run_as_the_roles_that_it_names(
    dsn: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [who for who, *_ in BLOCKS] == [
        "the owner", "acme_app", "globex_app", "the owner", "webapp",
        "the owner", "acme_app", "globex_app",
    ]  # fmt: skip
    found: dict[str, list[object]] = {}
    try:
        for who, refused, block in BLOCKS:
            with (
                as_role(dsn, who)
                if who in ROLES
                else psycopg.connect(dsn, autocommit=True) as connection
            ):
                for statement in filter(None, map(str.strip, block.split(";\n"))):
                    if refused:
                        with pytest.raises(psycopg.Error) as caught:
                            connection.execute(statement.encode())
                        error = caught.value.diag
                        printed = f"ERROR:  {error.message_primary}\nHINT:  {error.message_hint}\n"
                        assert f"```text\n{printed}```" in PAGE
                        continue
                    cursor = connection.execute(statement.encode())
                    found.setdefault(who, []).append(cursor.fetchall() if cursor.rownumber == 0
                                                     else None)  # fmt: skip
        assert found["acme_app"][1:3] == [
            [("prices", "Our prices rise in May.")], [("acme-docs",)],
        ]  # fmt: skip
        assert found["acme_app"][4:] == [[(1,)], [("acme/plan",), ("terms",)]]
        assert found["globex_app"] == [[("terms",)]]
        assert found["webapp"][2] == [("prices",)]
        assert schema.check(dsn, tenants=True) == []
        (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
        program = program.replace('"user=webapp dbname=mydb"', repr(
            make_conninfo(dsn, user="webapp")))  # fmt: skip
        exec(compile(program, "tenants.md", "exec"), {"Rag": Rag})
        assert capsys.readouterr().out == "prices\n"
    finally:
        with psycopg.connect(dsn, autocommit=True) as connection:
            doors = connection.execute("SELECT (d).reader, (d).writer FROM rag._door_roles() AS d")
            made = [name for row in doors.fetchall() for name in row]
            connection.execute("SELECT rag.revoke_tenant(t.role_name) FROM rag.tenant_roles AS t")
            for name in (*ROLES, *made):
                connection.execute(f'DROP OWNED BY "{name}"; DROP ROLE "{name}"'.encode())
