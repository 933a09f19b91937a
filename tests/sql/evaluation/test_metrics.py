"""Metrics of runs against ir-measures, and of answers against the evaluation script of SQuAD."""

from __future__ import annotations

import json
import random
import re
import string
from collections import Counter
from typing import Any

import ir_measures
import psycopg
import pytest
from ir_measures import AP, RR, P, Qrel, R, ScoredDoc, Success, nDCG

Connection = psycopg.Connection[Any]
MEASURES = {
    "recall": R, "precision": P, "mrr": RR, "map": AP, "ndcg": nDCG, "hit_rate": Success,
}  # fmt: skip


def make_corpus(connection: Connection, documents: int) -> dict[str, list[int]]:
    """A collection of documents of three chunks; the ids of their chunks."""
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    for number in range(documents):
        chunks = [{"content": f"text {number} {part}"} for part in range(3)]
        connection.execute(
            "SELECT rag.put_chunks('docs', %s, %s)", [f"d{number}", json.dumps(chunks)]
        )
    found: dict[str, list[int]] = {}
    for uri, chunk_id in connection.execute(
        """SELECT d.uri, c.chunk_id FROM rag.chunks AS c
           JOIN rag.documents AS d USING (collection_id, document_id) ORDER BY c.ordinal"""
    ):
        found.setdefault(uri, []).append(chunk_id)
    return found


@pytest.mark.one_database
@pytest.mark.parametrize("seed", range(3))
def test_rankings_of_documents_measure_as_ir_measures_does(
    connection: Connection, seed: int
) -> None:
    chance = random.Random(seed)
    chunks = make_corpus(connection, 12)
    uris = sorted(chunks)
    queries, results, qrels, run = [], [], [], []
    for number in range(25):
        query = f"q{number}"
        grades = {u: chance.choice([0, 0, 1, 1, 2, 3]) for u in chance.sample(uris, 5)}
        grades["never stored"] = chance.choice([0, 2])
        if all(grade <= 0 for grade in grades.values()):
            grades[uris[0]] = 1
        ranked = chance.sample([(u, c) for u in uris for c in chunks[u]], chance.randrange(20))
        queries.append({"id": query, "question": query, "relevant": grades})
        hits = [{"chunk_id": c, "score": -n} for n, (_, c) in enumerate(ranked)]
        results.append({"query_id": query, "hits": hits})
        qrels += [Qrel(query, u, grade) for u, grade in grades.items()]
        run += [ScoredDoc(query, u, -n) for n, u in enumerate(dict.fromkeys(u for u, _ in ranked))]
    connection.execute("SELECT rag.put_eval_queries('set', %s)", [json.dumps(queries)])
    connection.execute("SELECT rag.start_eval_run('set', 'docs')")
    connection.execute("SELECT rag.put_eval_results(1, %s)", [json.dumps(results)])
    for k in (1, 3, 10, 100):
        wanted = {
            (measured.query_id, name): measured.value
            for name, measure in MEASURES.items()
            for measured in ir_measures.iter_calc([measure @ k], qrels, run)
        }
        found = {
            (query, metric): value
            for query, _, metric, value in connection.execute(
                "SELECT * FROM rag.query_metrics(1, %s)", [k]
            )
            if metric in MEASURES
        }
        assert found.keys() == wanted.keys()
        assert all(found[key] == pytest.approx(wanted[key], abs=1e-9) for key in found)
        totals = ir_measures.calc_aggregate(
            [measure @ k for measure in MEASURES.values()], qrels, run
        )
        assert connection.execute("SELECT rag.ndcg(1, %s)", [k]).fetchone() == (
            pytest.approx(totals[nDCG @ k]),
        )


def test_nothing_relevant_gives_no_measure(connection: Connection) -> None:
    row = connection.execute(
        """SELECT rag._ndcg('{}', '{}', 10), rag._ndcg('{0,-1}', '{1,2}', 10),
                  rag._recall('{0}', '{1}', 10)"""
    ).fetchone()
    assert row == (None, None, None)


def test_graded_gain_is_that_of_trec_eval(connection: Connection) -> None:
    row = connection.execute("SELECT rag._ndcg('{3,1,2}', '{2,NULL,1}', 10)").fetchone()
    wanted = ir_measures.calc_aggregate(
        [nDCG @ 10],
        [Qrel("q", "a", 3), Qrel("q", "b", 1), Qrel("q", "c", 2)],
        [ScoredDoc("q", "c", 2.0), ScoredDoc("q", "a", 1.0)],
    )
    assert row == (pytest.approx(wanted[nDCG @ 10]),)


def squad_words(text: str) -> list[str]:
    """Of the evaluation script of SQuAD."""
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def squad_f1(answer: str, correct: str) -> float:
    given, wanted = squad_words(answer), squad_words(correct)
    if not given or not wanted:
        return float(given == wanted)
    shared = sum((Counter(given) & Counter(wanted)).values())
    return 2 * shared / (len(given) + len(wanted)) if shared else 0.0


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("answer", "correct"),
    [
        ("The Normans, in the 10th century.", "10th century"),
        ("a cat, a cat and the dog", "cat cat"),
        ("", "something"),
        ("the", "a"),
        ("U.S.A. $5 (about)", "usa 5"),
        (string.punctuation, "x"),
        ("No word in common", "other"),
        ("théâtre ‒ café", "cafe théâtre"),
    ],
)
def test_token_f1_is_that_of_squad(connection: Connection, answer: str, correct: str) -> None:
    row = connection.execute("SELECT rag._best_token_f1(%s, %s)", [answer, [correct]]).fetchone()
    if "‒" not in answer:  # SQuAD removes the punctuation of ASCII alone
        assert row == (pytest.approx(squad_f1(answer, correct)),)
    else:
        assert row == (pytest.approx(0.5),)


def test_answers_without_spaces_are_compared_letter_by_letter(connection: Connection) -> None:
    row = connection.execute(
        "SELECT rag._best_token_f1('巴黎。', '{巴黎}'),"
        " rag._contains_answer('它在巴黎市', '{巴黎}'),"
        " rag._contains_answer('catalogue', '{cat}'), rag._contains_answer('x', '{}')"
    ).fetchone()
    assert row == (1, True, False, None)


def test_a_curve_of_risk_and_its_auroc(connection: Connection) -> None:
    make_corpus(connection, 1)
    queries = [
        {"id": "right", "question": "a", "answers": ["Rome"]},
        {"id": "wrong", "question": "b", "answers": ["Oslo"]},
        {"id": "never", "question": "c", "unanswerable": True},
        {"id": "refused", "question": "d", "unanswerable": True},
    ]
    results = [
        {"query_id": "right", "answer": "It is Rome.", "answered": True, "confidence": 0.9},
        {"query_id": "wrong", "answer": "It is Bern.", "answered": True, "confidence": 0.5},
        {"query_id": "never", "answer": "It is Paris.", "answered": True, "confidence": 0.5},
        {"query_id": "refused", "answer": "", "answered": False, "confidence": 0.1},
    ]
    connection.execute("SELECT rag.put_eval_queries('set', %s)", [json.dumps(queries)])
    connection.execute("SELECT rag.start_eval_run('set', 'docs', 'ask')")
    connection.execute("SELECT rag.put_eval_results(1, %s)", [json.dumps(results)])
    curve = connection.execute("SELECT * FROM rag.risk_coverage(1)").fetchall()
    assert curve == [
        (0.25, 0, 0.9, 1),
        (0.75, pytest.approx(2 / 3), 0.5, 3),
        (1, pytest.approx(3 / 4), 0.1, 4),
    ]
    found = {
        metric: value
        for category, metric, value, *_ in connection.execute("SELECT * FROM rag.eval_metrics(1)")
        if category is None
    }
    # pairs of answerable and unanswerable: .9 > .5, .9 > .1, .5 = .5, .5 > .1
    assert found["auroc"] == pytest.approx(3.5 / 4)
    assert found["abstention"] == pytest.approx(3 / 4)
    assert found["answer_contained"] == pytest.approx(1 / 2)


def test_latency_tokens_and_cost_are_told_by_category(connection: Connection) -> None:
    make_corpus(connection, 1)
    queries = [{"id": f"q{n}", "question": "q", "category": "even" if n % 2 == 0 else "odd"}
               for n in range(1, 21)]  # fmt: skip
    results = [
        {"query_id": f"q{n}", "seconds": n / 100, "prompt_tokens": 10, "answer_tokens": n,
         "cost": 0.5, "error": "no model" if n == 3 else None}
        for n in range(1, 21)
    ]  # fmt: skip
    connection.execute("SELECT rag.put_eval_queries('set', %s)", [json.dumps(queries)])
    connection.execute("SELECT rag.start_eval_run('set', 'docs')")
    connection.execute("SELECT rag.put_eval_results(1, %s)", [json.dumps(results)])
    found = {
        (category, metric): value
        for category, metric, value, *_ in connection.execute("SELECT * FROM rag.eval_metrics(1)")
    }
    assert found[None, "latency_p50"] == pytest.approx(0.105)
    assert found[None, "latency_p95"] == pytest.approx(0.1905)
    assert found[None, "tokens"] == 410 and found["odd", "tokens"] == 200
    assert found[None, "cost"] == 10 and found["even", "cost"] == 5
    assert found[None, "errors"] == 1


def test_of_a_question_that_is_recorded_twice_in_one_call_the_last_counts(
    connection: Connection,
) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    connection.execute("""SELECT rag.put_eval_queries('set', '[{"id": "q", "question": "x"}]')""")
    connection.execute("SELECT rag.start_eval_run('set', 'docs')")
    results = [{"query_id": "q", "seconds": 1}, {"query_id": "q", "seconds": 2}]
    assert connection.execute(
        "SELECT rag.put_eval_results(1, %s)", [json.dumps(results)]
    ).fetchone() == (1,)
    for judge, scores in (("up", (0, 1)), ("down", (1, 0))):
        given = json.dumps([{"query_id": "q", "score": score} for score in scores])
        connection.execute("SELECT rag.put_eval_scores(1, %s, '1', %s)", [judge, given])
    for fingerprint, vectors in (("up", ["[0,0,1]", "[1,0,0]"]), ("down", ["[1,0,0]", "[0,0,1]"])):
        connection.execute(
            "SELECT rag.put_eval_embeddings('set', %s, '{q,q}', %s)", [fingerprint, vectors]
        )
    figures = connection.execute(
        "SELECT metric, value FROM rag.query_metrics(1) ORDER BY metric"
    ).fetchall()
    assert figures == [("judge:down", 0), ("judge:up", 1), ("seconds", 2)]
    kept = connection.execute(
        "SELECT fingerprint, embedding::text FROM rag.eval_embeddings ORDER BY fingerprint"
    ).fetchall()
    assert kept == [("down", "[0,0,1]"), ("up", "[1,0,0]")]
    assert connection.execute("SELECT rag.put_eval_results(1, '[]')").fetchone() == (0,)


def test_numbers_that_cannot_be_are_refused_by_question(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    connection.execute("""SELECT rag.put_eval_queries('set', '[{"id": "q", "question": "x"}]')""")
    connection.execute("SELECT rag.start_eval_run('set', 'docs')")
    for numbers in (
        {"seconds": -1},
        {"cost": -0.1},
        {"confidence": "NaN"},
        {"seconds": "NaN"},
        {"statements": 1, "supported_statements": 2},
        {"citations": 1, "supporting_citations": -1},
    ):
        given = json.dumps([{"query_id": "q", **numbers}])
        with pytest.raises(psycopg.Error, match="result of question 'q' has a number") as caught:
            connection.execute("SELECT rag.put_eval_results(1, %s)", [given])
        assert caught.value.sqlstate == "RG001"
