"""What is stored depends on these functions: they give what they gave when it was stored.

Lexemes of chunks, postings, hashes, ids and indexes of fields outlive an upgrade. Who changes the
lexer raises rag._lexer_version() and keeps what it was for the versions before: chunks are lexed
anew in the background. Who changes the layout of the index raises rag._index_format(), and says in
a revision what becomes of what is there.
"""

import hashlib
from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[Any]

TEXTS = (
    "The boxes were NOT opened: ERR_CONN_RESET in /etc/hosts, v1.2.3, foo.bar_baz() and std::map",
    "C++, .NET, a@b.org, COVID-19, e-mail, 3,5 €, <b>bold</b> http://example.org/a?b=c",
    "東京タワーは高い。 ภาษาไทย 서울 한국어 Ärger über Größe; naïve café",
    "x_1 __init__ --flag=on a.b a:b 10.0.0.1 2024-05-01 user.name+tag@mail.example",
)
LEXED = "63194cc79749b2c4ce478d62ccc40c792d70fa62435c10912f6623ffe32ad080"
VALUES = {
    "rag._keyword_block_size()": "16000",
    "rag._posting(3, 5, 2)": "12884903170",
    "rag.embedded_text('Title', 'A > B', 'The content.')": "Title\nA > B\nThe content.",
    "encode(rag.content_hash('The content.'), 'hex')": (
        "7c01465b098c61cbbad4547edce9f99111b4670351fd0995d1db7b18d8ef3dda"
    ),
    "rag.document_id('docs', 'a/b.md')": "a56e8145-d289-3883-2891-b68de053a9d6",
    "rag._as_text('\"x\"')": "x",
    "rag._as_numeric('3.50')": "3.50",
    "rag._as_numeric('\"3\"')": None,
    "rag._as_boolean('true')": "true",
    "extract(epoch FROM rag._as_timestamptz('\"2024-05-01T10:00+02:00\"'))::int": "1714550400",
}


def test_the_lexer_of_this_version_is_that_of_the_stored_lexemes(connection: Connection) -> None:
    lexed = [
        str(connection.execute("SELECT rag._lexemes(%s, %s)", [language, text]).fetchone())
        for text in TEXTS
        for language in ("simple", "rag.auto")  # stemmers are the server's
    ]
    version = connection.execute("SELECT rag._lexer_version()").fetchone()
    digest = hashlib.sha256("\n".join(lexed).encode()).hexdigest()
    assert (version, digest) == ((1,), LEXED)


@pytest.mark.one_database
@pytest.mark.parametrize("call", VALUES)
def test_what_keys_and_indexes_hold_stays(connection: Connection, call: str) -> None:
    (value,) = connection.execute(f"SELECT ({call})::text".encode()).fetchone() or (None,)
    assert value == VALUES[call]


NOTED = "ac8525c541f5919ff9c4c0f5c81cfa2000e5202a155fdc093e46658a81879401"


def test_the_triggers_of_sources_carry_what_they_carried(connection: Connection) -> None:
    connection.execute(
        """SELECT rag.create_collection('c', 'none', 3);
           CREATE TABLE notes (id integer, part date, name text, body text, note jsonb,
               PRIMARY KEY (id, part));
           SELECT rag.attach_source('notes', 'c', '{body}', title => '{name}',
               metadata => '{note}', condition => 'id > 0')"""
    )
    carried = connection.execute(
        "SELECT pg_get_triggerdef(t.oid) FROM pg_trigger AS t WHERE t.tgname ~ '^rag_source_'"
        " ORDER BY t.tgname"
    ).fetchall()
    version = connection.execute("SELECT rag._note_version()").fetchone()
    assert (version, hashlib.sha256(str(carried).encode()).hexdigest()) == ((1,), NOTED)
