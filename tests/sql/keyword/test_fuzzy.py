"""Typo tolerance: a word that no chunk has is searched for as the words one typing error away."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from fuzzy_oracle import FuzzyTerms, edits, in_filter
from rota import tries

Connection = psycopg.Connection[Any]

TEXTS = {
    "search": "How to search the network",
    "running": "neural networks are running fast",
    "fish": "A red fish swims",
    "fishes": "fish and probabilities",
    "password": "Reset your password",
    "munich": "Café in München",
    "article": "The article XKCDA has the number AB-12345, foo_find calls getFind",
    "russian": "Москва большой город",
    "chinese": "数据库系统",
    "greek": "Η Αθήνα είναι πόλη",
}


@pytest.fixture(scope="module")
def filled(new_database: Any, template: str) -> Iterator[Connection]:
    with psycopg.connect(new_database(template), autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('c', 'none', 3)")
        for uri, text in TEXTS.items():
            put(connection, uri, text)
        yield connection


def put(connection: Connection, uri: str, text: str, language: str | None = None) -> None:
    connection.execute(
        "SELECT rag.put_chunks('c', %s, %s, language => %s::regconfig)",
        [uri, json.dumps([{"content": text}]), language],
    )


def found(connection: Connection, query: str, match: str = "any", **options: Any) -> list[str]:
    named = "".join(f", {name} => %({name})s" for name in options)
    rows = connection.execute(
        f"SELECT uri FROM rag.search_keyword('c', %(query)s, match => %(match)s{named})".encode(),
        {"query": query, "match": match, **options},
    )
    return [uri for (uri,) in rows]


def notes(connection: Connection, query: str, result_limit: int = 10, **options: Any) -> Any:
    row = connection.execute(
        "SELECT (rag.explain_search('c', %s, result_limit => %s, options => %s) -> 'notes') - 0",
        [query, result_limit, json.dumps(options)],
    ).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize(
    ("query", "uris", "spelling"),
    [
        ("serach", ["search"], "search"),  # exchanged
        ("passwrd", ["password"], "password"),  # lost
        ("fissh", ["fishes", "fish"], "fish"),  # added
        ("swoms", ["fish"], "swims"),  # changed
        ("runnnig", ["running"], "running"),  # by the word, for the stems differ by more
        ("Munchen", ["munich"], "münchen"),  # without its accent
        ("Caffé", ["munich"], "café"),
        ("Масква", ["russian"], "москва"),
        ("Αθηνα", ["greek"], "αθήνα"),
    ],
)
def test_one_typing_error_is_forgiven_and_told(
    filled: Connection, query: str, uris: list[str], spelling: str
) -> None:
    assert found(filled, query) == uris
    assert found(filled, query, typo_tolerance=False) == []
    told = f'no chunk has "{query.lower()}"; "{spelling}" was searched for instead'
    assert notes(filled, query) == [told]
    assert notes(filled, query, typo_tolerance=False) == []


@pytest.mark.parametrize(
    "query",
    [
        "AB-12346",  # a code is another code
        "12346",
        "foo_fidn",
        "getFidn",
        "where is XKCDB",  # capitals among small letters
        "rde",  # too short
        '"serach"',
        "-serach",
        'fih "serach" serach',
        "数据酷",
        "psswrd",  # two errors
    ],
)
def test_codes_quoted_and_short_words_are_not_searched_for_as_others(
    filled: Connection, query: str
) -> None:
    assert found(filled, query) == found(filled, query, typo_tolerance=False)
    assert notes(filled, query) == []


def test_words_that_some_chunk_has_are_ranked_as_without_it(filled: Connection) -> None:
    queries = [*TEXTS.values(), "red fish in the sea", "AB-12345", "a", ""]
    for query in queries:
        prepared = [
            filled.execute(
                "SELECT rag._prepare_keyword(collection_id, %s, %s) FROM rag.collections",
                [query, tolerant],
            ).fetchone()
            for tolerant in (True, False)
        ]
        assert prepared[0] == prepared[1]


@pytest.mark.parametrize(
    ("match", "query", "uris"),
    [
        ("all", "serach netwrok", ["search"]),
        ("all", "serach fish", []),
        ("web", "red fsih", ["fish"]),
        ("web", "fsih or pasword", ["password", "fishes", "fish"]),
        ("web", "fsih -rde", ["fishes", "fish"]),
        ("web", "fsih -red", ["fishes"]),
        ("web", '"red fsih"', []),
        ("phrase", "red fsih", []),
    ],
)
def test_every_match_but_phrase_forgives(
    filled: Connection, match: str, query: str, uris: list[str]
) -> None:
    assert found(filled, query, match) == uris


def test_contributions_tell_the_weight_and_add_up(filled: Connection) -> None:
    rows = filled.execute(
        """SELECT term, df, idf, tf, length_norm, weight, mistyped, contribution, score
           FROM rag._explain_keyword('c', 'red fsih') ORDER BY score DESC, term"""
    ).fetchall()
    assert [(row[0], row[1], row[5], row[6]) for row in rows] == [
        ("fish", 2, 0.7, "fsih"), ("red", 1, 1.0, None), ("fish", 2, 0.7, "fsih"),
    ]  # fmt: skip
    for _, _, idf, tf, norm, weight, _, contribution, _ in rows:
        assert contribution == pytest.approx(weight * idf * tf / (tf + 1.2 * norm), abs=1e-9)
    assert rows[0][-1] == pytest.approx(rows[0][-2] + rows[1][-2], abs=1e-12)
    scores = filled.execute(
        """SELECT s.score FROM rag.collections AS c,
               rag._score_chunks(rag._prepare_keyword(c.collection_id, 'red fsih'),
                   ARRAY(SELECT chunk_id FROM rag.chunks)) AS s ORDER BY 1 DESC"""
    ).fetchall()
    assert scores == [(rows[0][-1],), (rows[2][-1],)]


def test_the_words_of_a_question_are_not_taken_for_others(filled: Connection) -> None:
    """What says how much of a question the texts cover goes by the words as they were typed."""
    assert filled.execute(
        "SELECT term, df, found_in FROM rag.match_terms('c', 'fsih', '{a fish}')"
    ).fetchall() == [("fsih", 0, [])]


def test_the_words_of_a_question_are_met_in_the_other_spelling(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    put(connection, "c", "The color of the theater")
    assert connection.execute(
        """SELECT term, df, found_in
           FROM rag.match_terms('c', 'colour of theaters?', '{a color,none,"the colours"}')"""
    ).fetchall() == [("colour", 1, [1, 3]), ("theater", 1, [])]


def test_a_word_has_at_most_three_forms_the_commonest_first(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    for number, word in enumerate(["bander", "bender", "binder", "bonder", "bunder"], 1):
        for copy in range(number):
            put(connection, f"{word}{copy}", f"{word} {copy}")
    assert {uri[:-1] for uri in found(connection, "bxnder", result_limit=100)} == {
        "bonder", "bunder", "binder",
    }  # fmt: skip
    told = 'no chunk has "bxnder"; "bunder", "bonder", "binder" were searched for instead'
    assert sorted(notes(connection, "bxnder", result_limit=100)[0]) == sorted(told)
    connection.execute("SELECT rag.delete_document('c', 'bander0')")
    assert found(connection, "bender bannder") == ["bender0", "bender1"]  # as if it had never been


def test_each_language_of_a_collection_reads_the_word(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3, language => 'rag.auto')")
    put(connection, "german", "Die Katzen schlafen in den Häusern", "german")
    put(connection, "english", "The houses of the cats", "english")
    assert found(connection, "Katzn") == ["german"]
    assert found(connection, "Häusren") == ["german"]
    assert found(connection, "huoses") == ["english"]
    row = connection.execute("SELECT rag._edit_variants('katzn')").fetchone()
    assert row is not None and set(row[0]) >= edits("katzn", "abcdefghijklmnopqrstuvwxyz")
    oracle = FuzzyTerms(connection, ["english", "german", "rag.auto"])
    assert oracle.find("katzn", {"katzn": 1}, {"katz": 1}, {"katzen"}) == {"katz": "katzn"}


def test_a_role_under_a_policy_is_not_told_words_of_others(
    connection: Connection,
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    put(connection, "mine", "A red fish swims")
    put(connection, "theirs", "the secret merger with Xanadu")
    connection.execute("SELECT rag._merge_keyword(collection_id) FROM rag.collections")
    connection.execute(
        """DO $$ BEGIN
               CREATE ROLE fuzzy_reader;
           EXCEPTION WHEN duplicate_object THEN NULL; END $$;
           GRANT USAGE ON SCHEMA rag TO fuzzy_reader;
           GRANT EXECUTE ON ALL ROUTINES IN SCHEMA rag TO fuzzy_reader;
           GRANT SELECT ON ALL TABLES IN SCHEMA rag TO fuzzy_reader;
           ALTER TABLE rag.documents ENABLE ROW LEVEL SECURITY;
           ALTER TABLE rag.chunks ENABLE ROW LEVEL SECURITY;
           CREATE POLICY own ON rag.documents USING (uri = 'mine');
           CREATE POLICY own ON rag.chunks USING (content ~ 'fish')"""
    )
    try:
        connection.execute("SET ROLE fuzzy_reader")
        explained = connection.execute("SELECT rag.explain_search('c', 'Xanadi swoms')").fetchone()
        assert explained is not None
        assert [hit["uri"] for hit in explained[0]["hits"]] == ["mine"]
        assert "xanadu" not in json.dumps(explained[0]).lower()
        assert explained[0]["notes"][1] == (  # nor that some hidden chunk has a word like the other
            'no chunk has "swoms"; words like it were searched for instead'
        )
        rows = connection.execute("SELECT * FROM rag._explain_keyword('c', 'Xanadi')").fetchall()
        assert rows == []
    finally:
        connection.execute("RESET ROLE; DROP OWNED BY fuzzy_reader")


def test_notes_are_those_of_the_last_search_of_a_transaction(filled: Connection) -> None:
    with filled.transaction():
        filled.execute("SET LOCAL rag.notes = 'of somebody else'")
        assert len(notes(filled, "serach")) == 1
        filled.execute("SELECT * FROM rag.search('c', 'serach')")
        told = "SELECT current_setting('rag.notes', true)"
        assert "search" in (filled.execute(told).fetchone() or ("",))[0]
        filled.execute("SELECT * FROM rag.search('c', 'search')")
        assert (filled.execute(told).fetchone() or ("",))[0] == ""
    filled.execute("SELECT * FROM rag.search_variants('c', ARRAY['serach', 'fsih'])")
    with filled.transaction():
        filled.execute("SELECT * FROM rag.search_variants('c', ARRAY['serach', 'fsih', 'fsih'])")
        assert len(json.loads((filled.execute(told).fetchone() or ("",))[0])) == 2


@pytest.mark.parametrize(
    "setting",
    ["x", '["\\u0000"]', '["\\ud800"]', "[1e999999]", '["a",' + "[" * 19_000,
     '["' + "x" * 1_000_000 + '"]', '[{"a": 2}]'],
    ids=["no JSON", "NUL", "surrogate", "number", "nested", "long", "object"],
)  # fmt: skip
def test_notes_set_by_somebody_are_no_error_and_are_not_told(
    filled: Connection, setting: str
) -> None:
    told = "SELECT current_setting('rag.notes')"
    with filled.transaction():
        for call in ("explain_search('c', 'serach')", "_add_note('one')"):
            filled.execute("SELECT set_config('rag.notes', %s, true)", [setting])
            filled.execute(f"SELECT rag.{call}".encode())
            notes = json.loads((filled.execute(told).fetchone() or ("",))[0])
            assert len(notes) == 1 and isinstance(notes[0], str)


def test_notes_of_many_searches_in_one_statement_do_not_add_up(filled: Connection) -> None:
    with filled.transaction(force_rollback=True):
        filled.execute("SELECT rag.put_eval_set('typos')")
        filled.execute(
            """SELECT rag.put_eval_queries('typos', jsonb_agg(jsonb_build_object(
                   'id', n::text, 'question', 'serach ' || n)))
               FROM generate_series(1, 3) AS n"""
        )
        filled.execute("SELECT rag.evaluate_search('typos', 'c')")
        (told,) = filled.execute("SELECT current_setting('rag.notes')").fetchone() or ("",)
        assert len(json.loads(told)) == 1
        for n in range(100):
            filled.execute("SELECT rag._add_note(%s)", [f"{n} {'y' * 1_000}"])
        (told,) = filled.execute("SELECT current_setting('rag.notes')").fetchone() or ("",)
        assert 10_000 < len(told) <= 20_100


def test_a_keyword_search_tells_it_too_and_a_phrase_stays_as_it_is(filled: Connection) -> None:
    told = "SELECT current_setting('rag.notes', true)"
    with filled.transaction():
        for match in ("any", "all", "web"):
            filled.execute("SELECT * FROM rag.search_keyword('c', 'serach', match => %s)", [match])
            (noted,) = filled.execute(told).fetchone() or ("",)
            assert json.loads(noted) == [
                'no chunk has "serach"; "search" was searched for instead'
            ], match
            filled.execute("SELECT * FROM rag.search_keyword('c', 'search', match => %s)", [match])
            assert filled.execute(told).fetchone() == ("",)
        rows = filled.execute("SELECT * FROM rag.search_keyword('c', 'serach', match => 'phrase')")
        assert rows.fetchall() == [] and filled.execute(told).fetchone() == ("",)


QUESTIONS = """
How many days of leave do I get a year?
How long does a refund take?
What does the average contract mean?
Who has to decide about the budget?
Where should I send my invoice, and when will it be paid?
Can we meet at your office, or would the long way be hard for you?
Which bank holds the money that was lost last week?
Wie lange dauert die Lieferung?
Wann kommt der neue Vertrag, und wer muss ihn prüfen?
Welche Kosten trägt die Kasse?
¿Cuándo llega el pedido y cuánto cuesta?
¿Quién puede cambiar la fecha de entrega?
Quand arrive la commande et combien coûte la livraison ?
""".strip().splitlines()
NEIGHBOURS = (
    "may log meal decise day lead hot refuel tale averse mead hay bidget bet sand voice pail meat"
    " our officer lone say bard bark monet cost lest weed range laute daher tieferung warn neuer"
    " vortrag wen müse tasten fasse ciando lleva pido quiera puente canciar techa arrose"
    " combler coute"
)


def test_a_word_that_is_ordinary_in_its_language_is_no_error(connection: Connection) -> None:
    """The collection has none of the words, and one that is an edit away for nearly each."""
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    put(connection, "neighbours", NEIGHBOURS)
    put(connection, "german", NEIGHBOURS, "german")
    put(connection, "spanish", NEIGHBOURS, "spanish")
    put(connection, "french", NEIGHBOURS, "french")
    for question in QUESTIONS:
        assert notes(connection, question) == []
        assert found(connection, question) == found(connection, question, typo_tolerance=False)
    edited = {
        word
        for word in " ".join(QUESTIONS).lower().split()
        if edits(word) & set(NEIGHBOURS.split())
    }
    assert len(edited) >= 25


@pytest.mark.one_database
@pytest.mark.parametrize("language", ["english", "german", "dutch", "russian", "turkish"])
def test_a_bloom_filter_has_every_word_that_it_was_made_of(
    connection: Connection, language: str
) -> None:
    """By a reader of its own: 7 bits of 10 a word, by SHA-256."""
    (stored,) = connection.execute(
        "SELECT filter FROM rag.ordinary_words WHERE language = %s", [language]
    ).fetchone() or (b"",)
    words = ["house", "haus", "huis", "дом", "дверь", "kitap", "strasse", "many", "viele", "serach"]
    words += [
        f"{first}{last}" for first in ("ab", "ver", "при") for last in ("acus", "lust", "рода")
    ]
    (seen,) = connection.execute(
        "SELECT rag._ordinary_words(%s, %s)", [[language], words]
    ).fetchone() or ([],)
    assert set(seen) == {word for word in words if in_filter(stored, word)}
    assert 3 < sum(byte.bit_count() for byte in stored) / len(stored) < 5


SPELLINGS = (
    """
colour color|behaviour behavior|favourable favorable|neighbourhood neighborhood|labourers laborers
centre center|fibres fibers|theatre theater|organise organize
optimising optimizing|analyse analyze|paralysed paralyzed|catalogue catalog|dialogues dialogs
travelling traveling|cancelled canceled|jewellery jewelry|fulfil fulfill|enrolment enrollment
skilful skillful|licence license|defence defense|offences offenses|judgement judgment
anaemia anemia|haemoglobin hemoglobin|oestrogen estrogen|paediatric pediatric|ageing aging
sulphate sulfate|sceptical skeptical|ploughing plowing|aluminium aluminum|programme program
anaesthetise anesthetize|mould mold|grey gray|tyres tires|manoeuvre maneuver|artefact artifact
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


@pytest.mark.longer
@pytest.mark.parametrize("language", ["english", "rag.auto"])
@pytest.mark.few(1)
def test_british_and_american_spelling_meet_at_full_weight(
    connection: Connection, language: str
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3, language => %s)", [language])
    pairs = [pair.split() for pair in SPELLINGS][:: tries(1, 2)]
    for number, (british, american) in enumerate(pairs):
        written = (british, american)[number % 2]
        put(connection, written, f"This is the {written} of which they were told", "english")
    met = 0
    for number, (british, american) in enumerate(pairs):
        written, asked = (british, american)[:: (1, -1)[number % 2]]
        assert written in found(connection, asked), asked
        if found(connection, asked, typo_tolerance=False) == []:  # stemming does not join them
            met += 1
            assert notes(connection, asked) == []  # the same word: nothing to tell
            assert connection.execute(
                "SELECT DISTINCT weight, mistyped FROM rag._explain_keyword('c', %s)", [asked]
            ).fetchall() == [(1.0, asked)]
    assert met >= tries(35, 17)


def test_words_that_only_look_like_another_spelling_are_others(connection: Connection) -> None:
    pairs = """hour hor  filled filed  fourth forth  mourning morning  timbre timber  canoes canes
        scoured scored  prise prize  willing wiling  daemon demon  rogue rog  michael michel"""
    asked = dict(zip(pairs.split()[::2], pairs.split()[1::2], strict=True))
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    for written in asked.values():
        put(connection, written, f"This is the {written}")
    assert {word: hits for word in asked if (hits := found(connection, word))} == {}


@pytest.mark.parametrize(
    ("language", "asked", "written", "met"),
    [
        ("french", "Etat", "État", True), ("french", "Ethiopie", "Éthiopie", True),
        ("spanish", "Africa", "África", True), ("french", "mais", "maïs", False),
    ],
)  # fmt: skip
def test_a_capital_without_its_accent_is_the_same_word_in_romance_languages(
    connection: Connection, language: str, asked: str, written: str, met: bool
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3, language => %s)", [language])
    put(connection, "c", f"{written} 2024")
    assert found(connection, asked) == (["c"] if met else [])
    assert notes(connection, asked) == []


def test_only_words_that_documents_write_are_named_and_searched_for(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    put(connection, "customs", "Many customers and customs")
    put(connection, "pgvector", "How pgvectors are kept")
    told = 'no chunk has "custmoer"; "customers" was searched for instead'
    assert notes(connection, "custmoer") == [told]
    assert found(connection, "customixve") == []  # customive has the stem of customers
    assert found(connection, "pgvectros") == ["pgvector"]  # no ordinary word, but written so
    assert found(connection, "pgvectorvie") == []


def test_nothing_is_told_where_no_hit_has_it(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    put(connection, "fish", "A red fish")
    for number in range(3):
        put(connection, f"network{number}", "the network")
    assert notes(connection, "red fish netwrok", result_limit=1) == []
    assert len(notes(connection, "red fish netwrok", result_limit=4)) == 1
    assert notes(connection, "red fish netwrok", per_document=1, result_offset=4) == []


def test_without_a_list_only_long_words_with_one_candidate_are_errors(
    connection: Connection,
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3, language => 'simple')")
    put(connection, "a", "przedszkole przedmiot")
    put(connection, "b", "kasta kosta")
    assert found(connection, "przedszkoel") == ["a"]
    assert found(connection, "kesta") == []


def test_words_of_another_language_than_the_collections_are_no_errors(
    connection: Connection,
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3, language => 'german')")
    put(connection, "c", "Der lang erwartete Mann und das Meer")
    assert found(connection, "how long does it take, and what does he mean by many?") == []


def test_a_configuration_of_ones_own_has_the_words_of_its_stemmer(connection: Connection) -> None:
    connection.execute("CREATE TEXT SEARCH CONFIGURATION public.mine (COPY = pg_catalog.english)")
    connection.execute("SELECT rag.create_collection('c', 'none', 3, language => 'public.mine')")
    put(connection, "c", "may log the meal")
    assert found(connection, "many long mean") == []
    assert connection.execute(
        "SELECT rag._listed_languages(collection_id, 'x') FROM rag.collections"
    ).fetchone() == (["english"],)


def test_forms_in_segments_of_every_kind_are_read(connection: Connection) -> None:
    """Fresh chunks, postings and weights: of each the chunks are found, the deleted are not."""
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    chunks = json.dumps([{"content": f"qwertzes {number}"} for number in range(4200)])
    connection.execute("SELECT rag.put_chunks('c', 'many', %s)", [chunks])
    put(connection, "fresh", "asdfghes")
    for word, some in (("qwertzes", 10), ("asdfghes", 1)):
        rows = connection.execute(
            """SELECT k.content FROM rag.collections AS c, rag.chunks AS k WHERE k.chunk_id = ANY (
                   rag._some_chunks_with(c.collection_id, (
                       SELECT min(lexeme) FROM unnest(to_tsvector('english', %s))), 10))""",
            [word],
        ).fetchall()
        assert len(rows) == some and all(word in content for (content,) in rows)
    assert found(connection, "qwetrzes", result_limit=1) == ["many"]
    connection.execute("SELECT rag.delete_document('c', 'many')")
    assert found(connection, "qwetrzes") == []
