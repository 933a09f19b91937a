"""The language of a document that comes without one, and questions to several languages."""

import json
from typing import Any

import psycopg
import pytest
from bm25_oracle import Oracle
from fakes import HashEmbedder

from rag_pg import CollectionMismatch, Rag

Connection = psycopg.Connection[Any]

TEXTS = {
    "english": "The keys of the flat are with the caretaker, who will be back in the evening.",
    "german": "Die Schlüssel der Wohnung sind bei dem Hausmeister, der am Abend wieder da ist.",
    "french": "Les clés de l'appartement sont chez le gardien, qui est de retour dans la soirée.",
    "spanish": "Las llaves del piso están en la portería, que no se abre por la tarde.",
    "portuguese": "As chaves não estão na portaria, que também é fechada aos domingos pela tarde.",
    "italian": "Le chiavi dell'appartamento sono dal portiere, che non è in casa nella sera.",
    "dutch": "De sleutels van het huis zijn bij de conciërge, die in de avond weer aanwezig wordt.",
    "danish": "Nøglerne til lejligheden er hos viceværten, og han blev ikke set efter fem.",
    "swedish": "Nycklarna till lägenheten är hos vaktmästaren, och han är inte där efter fem.",
    "finnish": "Asunnon avaimet ovat talonmiehellä, joka ei ole paikalla kun kello on yli viiden.",
    "turkish": "Dairenin anahtarları kapıcıda ve bu akşam geri gelecek, ama çok geç olarak değil.",
    "russian": "Ключи от квартиры есть у дворника, который был там вечером, но его уже нет.",
    "arabic": "مفاتيح الشقة مع الحارس الذي هو في البيت بعد المساء أو قبل ذلك",
    "greek": "Τα κλειδιά του διαμερίσματος είναι στον θυρωρό που θα επιστρέψει το βράδυ.",
}
NOT_TOLD = (
    "Klucze do mieszkania są u dozorcy, który nie jest w domu, ale będzie po południu.",  # Polish
    "钥匙在门房那里，他晚上会回来。",
    "ฐานข้อมูลเชิงสัมพันธ์",
    "Berlin",
    "SELECT 1",
    "12345 !?",
    "",
)


def test_a_language_is_told_by_its_function_words_or_its_script(connection: Connection) -> None:
    detected = {
        language: connection.execute("SELECT rag.detect_language(%s)", [text]).fetchone()
        for language, text in TEXTS.items()
    }
    assert detected == {language: (language,) for language in TEXTS}


def test_what_is_not_certain_has_no_language(connection: Connection) -> None:
    for text in (*NOT_TOLD, None, "".join(TEXTS.values())):
        assert connection.execute("SELECT rag.detect_language(%s)", [text]).fetchone() == (None,)


@pytest.fixture
def mixed(connection: Connection) -> Connection:
    connection.execute("SELECT rag.create_collection('mixed', 'none', 3, language => 'rag.auto')")
    for language, text in TEXTS.items():
        put(connection, language, text)
    return connection


def put(connection: Connection, uri: str, text: str, language: str | None = None) -> None:
    connection.execute(
        "SELECT rag.put_chunks('mixed', %s, %s, language => %s::regconfig)",
        [uri, json.dumps([{"content": text}]), language],
    )


def languages(connection: Connection) -> dict[str, str | None]:
    return dict(connection.execute("SELECT uri, language FROM rag.documents").fetchall())


def found(connection: Connection, query: str, condition: str = "{}") -> list[str]:
    rows = connection.execute(
        "SELECT uri FROM rag.search_keyword('mixed', %s, 10, %s)", [query, condition]
    )
    return [uri for (uri,) in rows.fetchall()]


def test_documents_of_a_mixed_collection_get_their_own_language(mixed: Connection) -> None:
    put(mixed, "given", TEXTS["german"], "simple")
    put(mixed, "unsure", "Berlin")
    put(mixed, "changed", TEXTS["german"])
    put(mixed, "changed", TEXTS["french"])
    own = {language: language for language in TEXTS}
    assert languages(mixed) == own | {"given": "simple", "unsure": None, "changed": "french"}
    chunks = mixed.execute(
        "SELECT DISTINCT c.language IS NOT DISTINCT FROM d.language, "
        " c.lexemes = rag._lexemes(coalesce(d.language, 'simple'), c.content)"
        " FROM rag.chunks AS c JOIN rag.documents AS d USING (collection_id, document_id)"
    ).fetchall()
    assert chunks == [(True, True)]
    assert found(mixed, "Wohnungen", '{"$language": "german"}') == ["german"]
    assert found(mixed, "Berlin", '{"$language": "rag.auto"}') == ["unsure"]
    assert set(found(mixed, "clé")) == {"french", "changed"}


def test_one_document_of_any_collection_may_be_detected(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('mixed', 'none', 3)")
    put(connection, "told", TEXTS["german"], "rag.auto")
    put(connection, "unsure", "Berlin", "rag.auto")
    put(connection, "own", TEXTS["german"])
    assert languages(connection) == {"told": "german", "unsure": "rag.auto", "own": None}


@pytest.mark.parametrize(
    ("query", "dropped"),
    [
        ("Where are the keys of the flat?", {"where", "are", "the", "of"}),
        ("Wo sind die Schlüssel der Wohnung?", {"wo", "sind", "die", "der"}),
        ("flat keys", set()),
        ("the_flat of the keys in C++", {"of", "the", "in"}),
    ],
)
@pytest.mark.few(2)
def test_scores_are_exact_in_several_languages_without_the_questions_function_words(
    mixed: Connection, query: str, dropped: set[str]
) -> None:
    put(mixed, "title", "What where are the of wo sind die der: the_flat C++")
    chunks = mixed.execute(
        "SELECT chunk_id, lexeme, cardinality(positions)"
        " FROM rag.chunks, LATERAL unnest(lexemes) AS l"
    ).fetchall()
    lexemes: dict[int, list[str]] = {}
    for chunk, lexeme, times in chunks:
        lexemes.setdefault(chunk, []).extend([lexeme] * times)
    words: dict[str, str] = {}
    for word in query.replace("the_flat", "the_flat flat").split():
        if word.strip("?").lower() in dropped:
            continue
        stems = mixed.execute(
            """SELECT DISTINCT lexeme FROM rag._query_languages(
                   (SELECT collection_id FROM rag.collections)) AS k,
               LATERAL unnest(rag._lexemes(k.language, %s)) WHERE lexeme <> ALL (%s)""",
            [word, sorted(dropped)],
        ).fetchall()
        one = word.strip("?").isalpha()
        words |= {stem: word if one else stem for (stem,) in stems if stem not in words}
    asked = dict.fromkeys(words, 1)
    scores = Oracle.of(lexemes).scores(asked, words)
    expected = sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))[:10]
    scored = mixed.execute(
        """SELECT d.chunk_id, s.keyword_score FROM rag.search_keyword('mixed', %s, 10) AS s
           JOIN rag.chunks AS d USING (chunk_id)""",
        [query],
    ).fetchall()
    assert [chunk for chunk, _ in scored] == [chunk for chunk, _ in expected]
    assert [score for _, score in scored] == pytest.approx([score for _, score in expected])


def test_a_form_that_one_odd_chunk_has_is_not_rarer_than_the_word(mixed: Connection) -> None:
    for number in range(6):
        put(mixed, f"en{number}", f"The keys of the room number{number} are with the porter.")
    put(mixed, "odd", "Porters, keys, rooms")
    rows = mixed.execute("SELECT term, df, idf FROM rag._explain_keyword('mixed', 'porters', 20)")
    found = {term: (df, idf) for term, df, idf in rows}
    assert (found["porter"][0], found["porters"][0]) == (6, 1)
    assert len({idf for _, idf in found.values()}) == 1


def test_an_identifier_counts_once_in_every_language(mixed: Connection) -> None:
    (key,) = mixed.execute("SELECT collection_id FROM rag.collections").fetchone() or (0,)
    counts = mixed.execute(
        "SELECT word, qtf FROM rag._query_terms(%s, 'foo_bar 数据 the') WHERE word ~ '_|数'", [key]
    ).fetchall()
    assert dict(counts) == {"foo_bar": 1, "数据": 1}


def test_a_word_is_known_when_one_language_knows_it(mixed: Connection) -> None:
    rows = mixed.execute(
        "SELECT word, df FROM rag.match_terms('mixed', 'Where are the keys of Xanadu?', '{}')"
    ).fetchall()
    assert {word: df for word, df in rows if df} == {"keys": 1}
    assert {word for word, df in rows if not df} == {"Xanadu?"}


def test_a_collection_opens_as_auto_and_unchanged_documents_stay(
    rag: Rag, embedder: HashEmbedder
) -> None:
    docs = rag.collection("docs", model="hash:32", language="auto")
    page = {"uri": "a", "title": "Schlüssel", "content": TEXTS["german"]}
    docs.add(page, {"uri": "b", "content": "Berlin"})
    again = rag.collection("docs", language="auto")
    assert again.info.language == "rag.auto"
    assert docs.get("a").language == "german"
    report = docs.add(page, {"uri": "b", "content": "Berlin"}, dry_run=True)
    assert report.unchanged == 2
    with pytest.raises(CollectionMismatch, match="'rag.auto', not 'german'"):
        rag.collection("docs", language="german")
