"""Judgements name documents and passages: they outlive chunks, models and other databases."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[Any]
TEXT = "Alpha stands first. Beta follows it.\n\nGamma is the third letter. Delta ends the text."


def put(connection: Connection, uri: str, text: str, sizes: list[int]) -> None:
    """Store a document as it is cut into chunks of so many characters, with their offsets."""
    chunks, start = [], 0
    for size in sizes:
        stop = min(start + size, len(text))
        chunks.append({"content": text[start:stop], "start": start, "stop": stop})
        start = stop
    assert start == len(text)
    connection.execute("SELECT rag.put_document('docs', %s, %s)", [uri, text])
    job = connection.execute(
        """SELECT j.job_id, j.lease, d.version
           FROM rag.take_jobs(1, 60, kinds => '{ingest}') AS j,
               rag.get_document('docs', %s) AS d""",
        [uri],
    ).fetchone()
    assert job is not None
    rows = [{**c, "heading": "", "ordinal": n, "metadata": {}} for n, c in enumerate(chunks)]
    connection.execute(
        "SELECT rag.store_chunks(%s, %s, %s, %s)", [job[0], job[1], job[2], json.dumps(rows)]
    )


def judged(connection: Connection, uris_and_parts: list[tuple[str, int]]) -> dict[str, Any]:
    """Record one result of these hits, and what it keeps of them."""
    ids = [
        connection.execute(
            """SELECT c.chunk_id FROM rag.chunks AS c
               JOIN rag.documents AS d USING (collection_id, document_id)
               WHERE d.uri = %s AND c.ordinal = %s""",
            row,
        ).fetchone()[0]  # type: ignore[index]
        for row in uris_and_parts
    ]
    (run,) = connection.execute("SELECT rag.start_eval_run('set', 'docs')").fetchone() or (0,)
    result = [{"query_id": "q", "hits": [{"chunk_id": i, "score": 1} for i in ids]}]
    connection.execute("SELECT rag.put_eval_results(%s, %s)", [run, json.dumps(result)])
    with connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        row = cursor.execute("SELECT * FROM rag.eval_results WHERE run_id = %s", [run]).fetchone()
    assert row is not None
    return row


@pytest.fixture
def docs(connection: Connection) -> Connection:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    return connection


def add(connection: Connection, relevant: Any) -> None:
    connection.execute(
        "SELECT rag.put_eval_queries('set', %s)",
        [json.dumps([{"id": "q", "question": "Which letters?", "relevant": relevant}])],
    )


def test_a_passage_is_found_in_chunks_of_any_size(docs: Connection) -> None:
    quote = "Gamma is the third letter."
    add(docs, [{"uri": "a", "quote": quote, "grade": 2}, {"uri": "a", "quote": "Beta follows it."}])
    for sizes, hits, grades, ranks in (
        ([len(TEXT)], [0], [2], [1, 1]),  # one chunk holds both
        ([38, 60], [1, 0], [2, 1], [1, 2]),
        ([20, 18, 40, 60], [0, 2, 1], [0, 2, 1], [2, 3]),
    ):
        docs.execute("SELECT rag.delete_document('docs', 'a')")
        put(docs, "a", TEXT, sizes)
        found = judged(docs, [("a", part) for part in hits])
        assert (found["grades"], found["judgement_ranks"]) == (grades, ranks)
        assert found["unresolved"] == 0
    assert docs.execute("SELECT * FROM rag.eval_drift('set', 'docs')").fetchall() == []


def test_offsets_meet_chunks_that_share_half_of_the_shorter(docs: Connection) -> None:
    put(docs, "a", TEXT, [30, 30, 60])
    add(docs, [{"uri": "a", "start": 25, "stop": 45}])
    found = judged(docs, [("a", 0), ("a", 1), ("a", 2)])
    assert found["grades"] == [0, 1, 0]  # 5 of 20 characters, 15 of 20, none
    assert [hit.get("grade") for hit in found["hits"]] == [None, 1, None]
    assert [(hit["start"], hit["stop"]) for hit in found["hits"]][1] == (30, 60)


def test_a_document_counts_where_its_first_chunk_stands(docs: Connection) -> None:
    put(docs, "a", TEXT, [30, 60])
    put(docs, "b", TEXT + " More.", [30, 70])
    add(docs, {"b": 3})
    found = judged(docs, [("a", 0), ("a", 1), ("b", 1), ("b", 0)])
    assert (found["grades"], found["judgement_ranks"]) == ([0, 3], [2])


def test_chunks_without_offsets_are_met_by_their_text(docs: Connection) -> None:
    docs.execute(
        """SELECT rag.put_chunks('docs', 'a',
           '[{"content": "red fish"}, {"content": "blue  bird\\nsings"}]')"""
    )
    add(docs, [{"uri": "a", "quote": "blue bird sings"}])
    assert judged(docs, [("a", 0), ("a", 1)])["grades"] == [0, 1]


def test_drift_names_what_no_longer_describes_the_corpus(docs: Connection) -> None:
    put(docs, "a", TEXT, [100])
    add(
        docs,
        [
            {"uri": "a", "quote": "Gamma is", "start": 38, "stop": 46},
            {"uri": "a", "quote": "Epsilon"},
            {"uri": "gone", "grade": 2},
            {"uri": "a", "start": 80, "stop": 500},
            {"uri": "a", "quote": "Beta  follows\nit."},
            {"uri": "a", "quote": "Delta", "start": 3, "stop": 8},
        ],
    )
    rows = docs.execute("SELECT uri, state, detail FROM rag.eval_drift('set', 'docs')").fetchall()
    assert rows == [
        ("a", "quote gone", "the document does not hold it"),
        ("gone", "uri gone", "the collection has no such document"),
        ("a", "beyond the end", "the passage ends at 500"),
        ("a", "moved", "from 3 to 65"),
    ]
    assert judged(docs, [("a", 0)])["unresolved"] == 3


def test_a_quote_that_stands_twice_is_the_one_nearest_its_offsets(docs: Connection) -> None:
    text = "one fish. " * 50
    for near, wanted in ((None, 0), (0, 0), (103, 100), (107, 110), (9999, 490)):
        row = docs.execute(
            "SELECT start_offset, stop_offset FROM rag._find_quote(%s, 'one fish.', %s)",
            [text, near],
        ).fetchone()
        assert row == (wanted, wanted + 9)


@pytest.mark.one_database
@pytest.mark.parametrize("quote", ["a.c", "(x", "[y]", "back\\slash", "1+1", "^$|{2}", "d-e"])
def test_a_quote_is_no_pattern(docs: Connection, quote: str) -> None:
    find = "SELECT start_offset, stop_offset FROM rag._find_quote(%s, %s)"
    text = f"abc and  {quote}\n z"
    assert docs.execute(find, [text, f"and {quote} z"]).fetchone() == (4, len(text))
    assert docs.execute(find, ["nothing here", f"{quote} z"]).fetchone() == (None, None)


def test_equal_corpora_in_two_databases_have_one_fingerprint(
    docs: Connection, new_database: Callable[..., str], template: str
) -> None:
    with psycopg.connect(new_database(template), autocommit=True) as other:
        other.execute("SELECT rag.create_collection('other', 'none', 3, language => 'simple')")
        other.execute("SELECT rag.create_collection('docs', 'another', 4)")
        for connection, uris in ((docs, "abc"), (other, "cab")):
            for uri in uris:
                put(
                    connection, uri, TEXT + uri, [50, 60] if connection is docs else [len(TEXT) + 1]
                )
        found = [
            connection.execute("SELECT rag._corpus_fingerprint('docs')").fetchone()
            for connection in (docs, other)
        ]
        assert found[0] == found[1]
        other.execute("SELECT rag.put_document('docs', 'a', 'changed')")
        assert other.execute("SELECT rag._corpus_fingerprint('docs')").fetchone() != found[0]


def test_a_bad_question_does_not_stop_the_others(docs: Connection) -> None:
    entries = [
        {"question": "good", "relevant": ["a"]},
        {"question": ""},
        {"question": "x", "relevance": 1},
        {"id": "u", "question": "x", "unanswerable": True, "relevant": ["a"]},
        {"question": "x", "relevant": [{"uri": "a", "start": 5, "stop": 3}]},
        "text",
        {"id": "last", "question": "last", "answers": "one"},
    ]
    put_queries = "SELECT state, reason FROM rag.put_eval_queries('set', %s)"
    rows = docs.execute(put_queries, [json.dumps(entries)]).fetchall()
    assert [state for state, _ in rows] == ["added"] + ["rejected"] * 5 + ["added"]
    assert [reason for _, reason in rows if reason] == [
        "a question has no text",
        'a question has no field "relevance"',
        'question "u" is unanswerable and has what is relevant',
        "a passage goes from 5 to 3",
        "a question is a JSON string",
    ]
    entries[0]["category"] = "new"  # type: ignore[index]
    rows = docs.execute(put_queries, [json.dumps([entries[0], entries[-1]])]).fetchall()
    assert [state for state, _ in rows] == ["updated", "unchanged"]


def test_an_export_is_what_an_import_takes(docs: Connection) -> None:
    entries = [
        {"id": "a", "question": "1", "relevant": {"x": 2, "y": 0}, "min_score": 0.5},
        {"id": "b", "question": "2", "expected_terms": ["t"], "expected_metadata": {"n": 1},
         "relevant": [{"uri": "x", "quote": "q", "start": 1, "stop": 2}], "source": "log"},
        {"id": "c", "question": "3", "unanswerable": True, "category": "none"},
    ]  # fmt: skip
    docs.execute("SELECT rag.put_eval_queries('one', %s)", [json.dumps(entries)])
    docs.execute(
        """SELECT rag.put_eval_queries('two', (
               SELECT jsonb_agg(to_jsonb(q) - 'query_id' || jsonb_build_object('id', q.query_id))
               FROM rag.list_eval_queries('one') AS q))"""
    )
    fingerprints = docs.execute("SELECT rag._set_fingerprint(set_id) FROM rag.eval_sets").fetchall()
    assert len(fingerprints) == 2 and len(set(fingerprints)) == 1


def test_expectations_are_checked_on_answers_and_on_hits(docs: Connection) -> None:
    docs.execute(
        """SELECT rag.put_chunks('docs', 'a', '[{"content": "Red fish", "metadata": {"n": 1}}]')"""
    )
    entry = {"id": "q", "question": "x", "expected_terms": ["red", "FISH"],
             "expected_metadata": {"n": {"$gte": 1}}, "min_score": 2}  # fmt: skip
    docs.execute("SELECT rag.put_eval_queries('set', %s)", [json.dumps([entry])])
    found = judged(docs, [("a", 0)])
    assert found["assertions"] == {"terms": True, "metadata": True, "min_score": False}
    (rate,) = docs.execute(
        "SELECT value FROM rag.query_metrics(1) WHERE metric = 'assertion_pass_rate'"
    ).fetchone() or (0,)
    assert rate == pytest.approx(2 / 3)


def test_sql_alone_runs_a_set_by_stored_vectors(docs: Connection) -> None:
    docs.execute(
        """SELECT rag.put_chunks('docs', 'a',
           '[{"content": "red fish", "embedding": [1, 0, 0]}]'),
           rag.put_chunks('docs', 'b', '[{"content": "blue bird", "embedding": [0, 1, 0]}]')"""
    )
    docs.execute("SELECT rag.set_fingerprint('docs', 'f/1')")
    entries = [{"id": "q1", "question": "unknown words", "relevant": ["b"]},
               {"id": "q2", "question": "fish", "relevant": ["a"]}]  # fmt: skip
    docs.execute("SELECT rag.put_eval_queries('set', %s)", [json.dumps(entries)])
    docs.execute(
        "SELECT rag.put_eval_embeddings('set', 'f/1', '{q1}', ARRAY['[0, 1, 0]']::halfvec[])"
    )
    (run,) = docs.execute("SELECT rag.evaluate_search('set', 'docs')").fetchone() or (0,)
    assert docs.execute("SELECT rag.mrr(%s)", [run]).fetchone() == (1,)
    (notes,) = docs.execute("SELECT notes FROM rag.list_eval_runs('set')").fetchone() or ([],)
    assert notes == ["1 questions have no stored vector of this model: keywords alone were searched"
                     " for them"]  # fmt: skip
    other = '[{"id": "q1", "question": "another text", "relevant": ["b"]}]'
    docs.execute("SELECT rag.put_eval_queries('set', %s)", [other])
    (run,) = docs.execute("SELECT rag.evaluate_search('set', 'docs')").fetchone() or (0,)
    assert docs.execute("SELECT rag.mrr(%s)", [run]).fetchone() == (0.5,)  # its vector is stale


def test_a_mean_of_one_metric_is_that_of_the_table(docs: Connection) -> None:
    put(docs, "a", "one fish two fish", [100])
    put(docs, "b", "red bird", [100])
    queries = [{"id": f"q{n}", "question": "fish bird", "relevant": [uri], "category": uri}
               for n, uri in enumerate(("a", "b", "gone"))]  # fmt: skip
    docs.execute("SELECT rag.put_eval_queries('means', %s)", [json.dumps(queries)])
    row = docs.execute(
        """SELECT rag.evaluate_search('means', 'docs', 10, '{}', '{"vector_weight": 0}')"""
    ).fetchone()
    assert row is not None
    functions = {"recall": "recall", "precision": "precision_at", "mrr": "mrr",
                 "map": "average_precision", "ndcg": "ndcg"}  # fmt: skip
    for k in (1, 5):
        table = {
            (category, metric): value
            for category, metric, value in docs.execute(
                "SELECT category, metric, value FROM rag.eval_metrics(%s, %s)", [row[0], k]
            )
        }
        for metric, function in functions.items():
            for category in (None, "a", "b"):
                found = docs.execute(
                    f"SELECT rag.{function}(%s, %s, %s::text)", [row[0], k, category]
                ).fetchone()
                assert found == (pytest.approx(table[category, metric]),), (metric, k, category)


def test_questions_that_are_deleted_leave_nothing_in_the_set(docs: Connection) -> None:
    put(docs, "a", "one fish", [100])
    entries = [{"id": f"q{n}", "question": f"fish {n}", "relevant": ["a"]} for n in range(3)]
    docs.execute("SELECT rag.put_eval_queries('few', %s)", [json.dumps(entries)])
    docs.execute(
        "SELECT rag.put_eval_embeddings('few', 'm', '{q0,q1}', '{\"[1,0,0]\",\"[1,0,0]\"}')"
    )
    run = docs.execute(
        """SELECT rag.evaluate_search('few', 'docs', 10, '{}', '{"vector_weight": 0}')"""
    ).fetchone()
    found = docs.execute("SELECT rag.delete_eval_queries('few', '{q0,q1,none}')").fetchone()
    assert found == (2,)
    left = docs.execute(
        """SELECT (SELECT count(*) FROM rag.list_eval_queries('few')),
               (SELECT count(*) FROM rag.eval_judgements AS j JOIN rag.eval_sets AS s USING (set_id)
                WHERE s.name = 'few'),
               (SELECT count(*) FROM rag.eval_embeddings),
               (SELECT count(*) FROM rag.eval_results WHERE run_id = %s)""",
        run,
    ).fetchone()
    assert left == (1, 1, 0, 3), "what a run found stays"


def test_a_judge_is_advisory_until_it_is_measured(docs: Connection) -> None:
    docs.execute("""SELECT rag.put_chunks('docs', 'a', '[{"content": "red fish"}]')""")
    entries = [{"id": f"q{n}", "question": f"fish {n}", "relevant": ["a"]} for n in range(10)]
    docs.execute("SELECT rag.put_eval_queries('set', %s)", [json.dumps(entries)])
    docs.execute("""SELECT rag.evaluate_search('set', 'docs', options => '{"vector_weight": 0}')""")
    docs.execute(
        """CREATE FUNCTION public."Odd judge"(question text, answer text, contexts text[],
               answers text[]) RETURNS numeric LANGUAGE plpgsql AS $$
           BEGIN
               IF question = 'fish 3' THEN RAISE EXCEPTION 'no idea'; END IF;
               RETURN CASE WHEN contexts = '{red fish}' AND question < 'fish 6' THEN 1 ELSE 0 END;
           END $$"""
    )
    with pytest.raises(psycopg.Error, match="name of a judge|no judge|usable"):
        docs.execute("SELECT rag.score_answers(1, 'public.\"Odd judge\"; DROP TABLE x')")
    docs.execute('ALTER FUNCTION public."Odd judge" RENAME TO "Odd"')
    (scored, failures) = docs.execute(
        """SELECT scored, failures FROM rag.score_answers(1, 'public."Odd"')"""
    ).fetchone() or (0, [])
    assert (scored, failures) == (9, ["q3: no idea"])
    metric = (
        "SELECT metric, value, queries, advisory FROM rag.eval_metrics(1) WHERE metric ~ 'judge'"
    )
    judged, unjudged = docs.execute(metric).fetchall()
    assert judged[0] in ('judge:"Odd"', 'judge:public."Odd"')
    assert judged[1:] == (pytest.approx(5 / 9), 9, True)
    assert unjudged == (judged[0].replace("judge:", "unjudged:"), 1, 10, False)
    assert docs.execute("SELECT error FROM rag.eval_scores WHERE score IS NULL").fetchall() == [
        ("no idea",)
    ]
    labels = [{"query_id": f"q{n}", "score": 1 if n in (0, 1, 2, 7) else 0} for n in range(9)]
    docs.execute("SELECT rag.put_eval_scores(1, 'human', '1', %s)", [json.dumps(labels)])
    row = docs.execute(
        """SELECT m.* FROM (SELECT DISTINCT judge, judge_version FROM rag.eval_scores
               WHERE judge <> 'human') AS j, rag.measure_judge(j.judge, j.judge_version) AS m"""
    ).fetchone()
    # of 8: both yes 3, both no 2, judge alone 2, people alone 1
    chance = (5 / 8) * (4 / 8) + (3 / 8) * (4 / 8)
    assert row == (8, pytest.approx(5 / 8), pytest.approx(0.2449, abs=1e-3),
                   pytest.approx(0.9148, abs=1e-3),
                   pytest.approx((5 / 8 - chance) / (1 - chance)))  # fmt: skip
    (judge, version) = docs.execute(
        "SELECT judge, judge_version FROM rag.eval_judges"
    ).fetchone() or ("", "")
    assert docs.execute(f"{metric} AND metric <> 'judge:human'").fetchall()[0][-1] is True
    more = [f"more{n}" for n in range(12)]
    docs.execute(
        """INSERT INTO rag.eval_results SELECT (jsonb_populate_record(r, jsonb_build_object(
               'query_id', q))).* FROM rag.eval_results AS r, unnest(%s::text[]) AS q
           WHERE r.query_id = 'q0'""",
        [more],
    )
    scores = json.dumps([{"query_id": q, "score": 1} for q in more])
    for one, of_version in ((judge, version), ("human", "2")):
        docs.execute("SELECT rag.put_eval_scores(1, %s, %s, %s)", [one, of_version, scores])
    measure = "SELECT samples FROM rag.measure_judge(%s, %s, %s)"
    for reference in (judge, "faithfulness"):
        with pytest.raises(psycopg.Error, match="labels of people"):
            docs.execute(measure, [judge, version, reference])
    assert docs.execute(measure, [judge, version, "human"]).fetchone() == (20,)
    assert not any(advisory for *_, advisory in docs.execute(metric).fetchall())
    docs.execute(
        """SELECT rag.put_eval_scores(1, %s, 'later', '[{"query_id": "q0", "score": 0.25}]')""",
        [judge],
    )
    assert docs.execute(f"{metric} AND metric <> 'judge:human'").fetchall() == [
        (f"judge:{judge}", 0.25, 1, True)
    ]
