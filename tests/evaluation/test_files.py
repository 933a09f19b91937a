"""Files of questions and judgements, and what becomes of lines that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from ir_measures import nDCG

from rag_pg import InvalidInput, NotFound, Rag


def lines(path: Path, *records: object) -> Path:
    text = (one if isinstance(one, str) else json.dumps(one) for one in records)
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return path


def stored(rag: Rag, name: str) -> dict[str, tuple[str, list[str], bool]]:
    return {
        q.query_id: (q.question, [one["uri"] for one in q.relevant], q.unanswerable)
        for q in rag.evaluation.sets.queries(name)
    }


def test_bad_lines_are_told_by_number_and_the_rest_is_stored(rag: Rag, tmp_path: Path) -> None:
    path = lines(
        tmp_path / "questions.jsonl",
        {"_id": "a", "text": "What swims?", "relevant": ["fish.md"]},
        "{not json",
        "",
        {"id": "b", "query": "What flies?", "relevant": {"bird.md": 2}},
        ["a", "list"],
        {"id": "c", "question": "Where?", "min_score": "high"},
        {"id": "a", "question": "Again?"},
        {"id": "d", "question": "nul \0"},
        {"id": "e", "question": "half \ud83d"},
        '{"id": "f", "question": "nan", "min_score": NaN}',
        '{"id": "g", "question": "inf", "min_score": 1e999}',
    )
    report = rag.evaluation.sets.import_file("faq", path)
    assert (report.added, report.updated, report.unchanged) == (2, 0, 0)
    assert [str(one).split(": ")[0] for one in report.rejected] == [
        f"questions.jsonl:{n}" for n in (2, 5, 6, 7, 8, 9, 10, 11)
    ]
    assert report.rejected[2].reason == 'min_score is "high"'
    assert report.rejected[3].reason == "question 'a' stands in line 1"
    assert "NUL character" in report.rejected[4].reason
    assert stored(rag, "faq") == {
        "a": ("What swims?", ["fish.md"], False), "b": ("What flies?", ["bird.md"], False),
    }  # fmt: skip
    again = rag.evaluation.sets.import_file("faq", path)
    assert (again.added, again.unchanged) == (0, 2)


def test_an_undecodable_byte_costs_its_line_alone(rag: Rag, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(b'{"id": "a", "question": "ok?"}\n\n{"id": "b", "question": "caf\xe9?"}\n'
                     b'{"id": "c", "question": "caf\xc3\xa9?"}\n')  # fmt: skip
    report = rag.evaluation.sets.import_file("jsonl", path)
    assert [(one.line, one.reason) for one in report.rejected] == [
        (3, """byte 0xe9 after 'b", "question": "caf' is no UTF-8: save the file as UTF-8""")
    ]
    assert {name: text for name, (text, *_) in stored(rag, "jsonl").items()} == {
        "a": "ok?", "c": "café?"
    }  # fmt: skip
    path = tmp_path / "q.csv"
    path.write_bytes(b"id,question,relevant\n1,caf\xe9?,a\n2,ok?,a\n")
    report = rag.evaluation.sets.import_file("csv", path)
    assert [one.line for one in report.rejected] == [2] and list(stored(rag, "csv")) == ["2"]
    path.write_bytes(b"id,caf\xe9\n1,ok\n")
    with pytest.raises(InvalidInput, match="q.csv:1: byte 0xe9"):
        rag.evaluation.sets.import_file("csv", path)
    topics, qrels = tmp_path / "topics.txt", tmp_path / "qrels.txt"
    topics.write_bytes(b"1\tcaf\xe9?\n2\tok?\n")
    qrels.write_bytes(b"2 0 a 1\n2 0 caf\xe9 1\n")
    report = rag.evaluation.sets.import_file("trec", topics, form="trec", qrels=qrels)
    assert [(one.file, one.line) for one in report.rejected] == [("qrels.txt", 2),
                                                                 ("topics.txt", 1)]  # fmt: skip
    rag.collection("docs", model="hash:32").add({"uri": "a", "content": "word"})
    ranking = tmp_path / "run.txt"
    ranking.write_bytes(b"2 Q0 a 1 0.5 tag\n2 Q0 caf\xe9 2 0.4 tag\n")
    found = rag.collection("docs").evaluation.import_run("trec", ranking)
    assert [one.line for one in found.rejected] == [2] and found.ranked == 1
    labels = tmp_path / "labels.csv"
    labels.write_bytes(b"query_id,score,reason\n2,1,\n2,0,caf\xe9\n")
    labelled = rag.evaluation.runs.label(found.run.run_id, labels)
    assert [one.line for one in labelled.rejected] == [3] and labelled.stored == 1


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"question": "  \n"}, "a question has no text"),
        ({"question": "\u00a0\u3000\u2003\t"}, "a question has no text"),
        ("just a text", "it is 'just a text'; use an object with a question"),
        (5, "it is 5; use an object"),
        (None, "it is None; use an object"),
        ({"question": "a", "relevant": {"d": -1}}, "a grade is -1"),
        ({"question": "a", "relevant": [{"uri": "d", "quote": "\n\t"}]}, "a quote is"),
        ({"question": "a", "expected_metadata": {"n": {"$foo": 1}}},
         "unknown operator '$foo' at field 'n'"),
        ({"question": "a", "expected_metadata": {"n": {"$in": 1}}},
         "$in of field 'n' takes a list"),
    ],
)  # fmt: skip
@pytest.mark.few(4)
def test_a_bad_question_is_named_and_the_others_are_stored(
    rag: Rag, entry: Any, reason: str
) -> None:
    report = rag.evaluation.sets.put("faq", [{"question": "ok?"}, entry, {"question": "too?"}])
    assert report.added == 2
    ((line, told),) = [(one.line, one.reason) for one in report.rejected]
    assert line == 2 and told.startswith(reason)


def test_what_is_no_list_of_questions_is_refused(rag: Rag) -> None:
    for given in ("a question", {"question": "a"}):
        with pytest.raises(InvalidInput, match="pass a list of objects"):
            rag.evaluation.sets.put("faq", given)  # type: ignore[arg-type]


def test_rows_of_one_question_in_csv_are_its_judgements(rag: Rag, tmp_path: Path) -> None:
    path = tmp_path / "questions.csv"
    path.write_text(
        "id,question,relevant,quote,grade,answers,unanswerable,expected_metadata\n"
        'q1,"What, then?",a.md|b.md,,2,one|two,,"{""n"": 1}"\n'
        'q1,"What, then?",c.md,"a quote, here",1,,,\n'
        "q2,Nobody knows,,,,,yes,\n"
        "q3,Bad,,,x,,,\n"
        "q4,,a.md,,,,,\n",
        encoding="utf-8-sig",
    )
    report = rag.evaluation.sets.import_file("faq", path)
    assert [one.line for one in report.rejected] == [5, 6]
    (q1, q2) = rag.evaluation.sets.queries("faq")
    assert q1.relevant == [
        {"uri": "a.md", "grade": 2}, {"uri": "b.md", "grade": 2},
        {"uri": "c.md", "grade": 1, "quote": "a quote, here"},
    ]  # fmt: skip
    assert (q1.answers, q1.expected_metadata) == (["one", "two"], {"n": 1})
    assert q2.unanswerable


def test_a_beir_folder_brings_the_questions_that_its_qrels_judge(rag: Rag, tmp_path: Path) -> None:
    lines(tmp_path / "queries.jsonl", *({"_id": k, "text": f"question {k}"} for k in "abc"))
    (tmp_path / "qrels").mkdir()
    lines(
        tmp_path / "qrels" / "test.tsv",
        "query-id\tcorpus-id\tscore", "a\td1\t1", "a\td2\t0", "b\td 3\t2", "x\td1\t1", "b\td4",
    )  # fmt: skip
    lines(tmp_path / "answers.jsonl", {"_id": "a", "answers": ["yes"]})
    lines(tmp_path / "unanswerable.jsonl", {"_id": "u", "text": "who?"})
    report = rag.evaluation.sets.import_file("set", tmp_path)
    assert stored(rag, "set") == {
        "a": ("question a", ["d1", "d2"], False), "b": ("question b", ["d 3"], False),
        "u": ("who?", [], True),
    }  # fmt: skip
    assert [(one.line, one.reason) for one in report.rejected] == [
        (5, "there is no question 'x'"), (6, "not a question, a uri and a grade"),
    ]  # fmt: skip
    assert report.notes == ["1 questions that test.tsv does not judge were left out"]


def test_topics_of_trec_are_read_in_both_forms(rag: Rag, tmp_path: Path) -> None:
    qrels = lines(tmp_path / "qrels.txt", "301 0 d1 1", "301 0 d2 2", "302 0 d1 -1")
    tops = lines(
        tmp_path / "topics.txt",
        "<top>", "<num> Number: 301", "<title> Topic: International", "crime", "<desc> x", "</top>",
        "<top>", "<num> 302 </num>", "<title> fish & birds </title>", "</top>",
        "<top>", "<num> 303", "</top>",
    )  # fmt: skip
    report = rag.evaluation.sets.import_file("tops", tops, form="trec", qrels=qrels)
    assert stored(rag, "tops") == {
        "301": ("International crime", ["d1", "d2"], False), "302": ("fish & birds", ["d1"], False),
    }  # fmt: skip
    assert [one.line for one in report.rejected] == [11]
    tabbed = lines(tmp_path / "topics.tsv", "301\tcrime", "302\tfish", "no tab")
    assert (
        len(rag.evaluation.sets.import_file("tabbed", tabbed, form="trec", qrels=qrels).rejected)
        == 1
    )


@pytest.mark.parametrize("form", ["jsonl", "csv", "beir", "trec"])
def test_a_set_comes_back_from_its_export(rag: Rag, tmp_path: Path, form: str) -> None:
    whole = form in ("jsonl", "csv")
    rich = {
        "relevant": [{"uri": "a|b", "quote": "line\nend, \"x\"", "start": 3, "stop": 9, "grade": 2},
                     {"uri": "c", "grade": 0}],
        "answers": ["[one]", "a|b"], "expected_terms": ["t"], "expected_metadata": {"n": [1]},
        "min_score": 0.25, "category": "ü", "source": "log",
    } if whole else {"relevant": {"a": 2, "b": 0, "c": 0.5}}  # fmt: skip
    entries = [{"id": "q1", "question": "What is it?", **rich}]
    if whole:
        entries.append({"id": "q2", "question": "Nobody knows", "unanswerable": True})
    assert rag.evaluation.sets.put("one", entries).added == len(entries)
    target = tmp_path / (f"set.{form}" if whole else "set")
    assert rag.evaluation.sets.export_file("one", target, form=form) == []
    qrels = target / "qrels.txt" if form == "trec" else None
    source = target / "topics.tsv" if form == "trec" else target
    report = rag.evaluation.sets.import_file("two", source, form=form, qrels=qrels)
    assert (report.added, report.rejected) == (len(entries), [])
    assert rag.evaluation.sets.queries("two") == rag.evaluation.sets.queries("one")


def test_an_export_says_what_its_form_cannot_hold(rag: Rag, tmp_path: Path) -> None:
    rag.evaluation.sets.put("one", [{"question": "x", "relevant": ["a"], "answers": ["b"]}])
    (remark,) = rag.evaluation.sets.export_file("one", tmp_path / "beir", form="beir")
    assert remark.startswith("beir holds questions and graded documents alone: 1 questions")


def test_a_run_is_exported_for_trec_eval(rag: Rag, tmp_path: Path) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add_chunks({"uri": f"d{n}", "content": f"fish {'bird ' * n}"} for n in range(5))
    rag.evaluation.sets.put("set", [{"id": "q", "question": "bird fish", "relevant": {"d1": 2}},
                                    {"id": "none", "question": "wale"}])  # fmt: skip
    run = docs.evaluation.run("set", vector_weight=0)
    lines = rag.evaluation.runs.export_file(run.run_id, tmp_path / "run.txt")
    assert (lines, len(lines.notes)) == (5, 1) and "1 questions have no line" in lines.notes[0]
    measured = ir_measures.calc_aggregate(
        [nDCG @ 10],
        [ir_measures.Qrel("q", "d1", 2)],
        [
            ir_measures.ScoredDoc(cells[0], cells[2], float(cells[4]))
            for cells in map(str.split, (tmp_path / "run.txt").read_text().splitlines())
        ],
    )
    (ndcg,) = (m.value for m in rag.evaluation.runs.metrics(run.run_id) if m.metric == "ndcg")
    assert ndcg == pytest.approx(measured[nDCG @ 10])


ODD = ["a b", "x\u2028y", " lead", "ü\x85", "trail\u00a0", "#1", "Q0", "C:\\x", "\u3000"]


def test_runs_and_qrels_of_trec_come_back_exactly(rag: Rag, tmp_path: Path) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add_chunks({"uri": uri, "content": f"fish {'bird ' * n}"} for n, uri in enumerate(ODD))
    relevant = {uri: 1 + n / 7 for n, uri in enumerate(ODD)}
    questions = [{"id": f"q {n}", "question": "bird fish", "relevant": relevant} for n in range(2)]
    rag.evaluation.sets.put("one", questions)
    (remark,) = rag.evaluation.sets.export_file("one", tmp_path / "set", form="trec")
    assert remark.startswith("8 ids and uris hold blanks")
    topics, qrels = tmp_path / "set" / "topics.tsv", tmp_path / "set" / "qrels.txt"
    assert rag.evaluation.sets.import_file("two", topics, form="trec", qrels=qrels).rejected == []
    assert rag.evaluation.sets.queries("two") == rag.evaluation.sets.queries("one")
    rag.evaluation.sets.export_file("two", tmp_path / "again", form="trec")
    for path in (topics, qrels):
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()
    run = docs.evaluation.run("one")
    (remark,) = rag.evaluation.runs.export_file(run.run_id, tmp_path / "a.run").notes
    assert remark.startswith("8 ids and uris hold blanks")
    again = docs.evaluation.import_run("one", tmp_path / "a.run")
    assert (again.ranked, again.missing, again.rejected) == (2 * len(ODD), [], [])
    rag.evaluation.runs.export_file(again.run.run_id, tmp_path / "b.run")
    first, second = ((tmp_path / name).read_bytes() for name in ("a.run", "b.run"))
    assert first == second and first.count(b"\n") == 2 * len(ODD)


def test_what_the_form_of_trec_cannot_hold_is_refused(rag: Rag, tmp_path: Path) -> None:
    rag.evaluation.sets.put("one", [{"question": "x", "relevant": ["a\tb"]}])
    for form in ("trec", "beir"):
        with pytest.raises(InvalidInput, match="holds a tab"):
            rag.evaluation.sets.export_file("one", tmp_path / form, form=form)


def test_what_cannot_be_read_is_one_clear_error(rag: Rag, tmp_path: Path) -> None:
    binary = tmp_path / "x.jsonl"
    binary.write_bytes(b"\xff\xfe{}")
    named = tmp_path / "x.txt"
    named.write_text("", encoding="utf-8")
    (tmp_path / "x.csv").write_text("colour,question\nred,x\n", encoding="utf-8")
    for path, form, message in (
        (tmp_path / "none.json", None, "there is no file .*none.json"),
        (named, None, r"name it \.jsonl or \.csv, or say which by --format"),
        (tmp_path / "x.csv", None, "has the columns colour, question; it needs question"),
        (tmp_path, None, "no queries.jsonl"),
        (binary, "xml", "there is no form 'xml'"),
        (binary, "trec", "name the qrels"),
    ):
        with pytest.raises(InvalidInput, match=message):
            rag.evaluation.sets.import_file("set", path, form=form)
    with pytest.raises(NotFound, match="no evaluation set"):
        rag.evaluation.sets.export_file("never", tmp_path / "out.csv", form="csv")


def test_a_ranking_of_another_program_is_measured_as_ir_measures_does(
    rag: Rag, tmp_path: Path
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add_chunks({"uri": f"d{n}", "content": f"text {n}"} for n in range(6))
    queries: list[dict[str, Any]] = [
        {"id": f"q{n}", "question": f"question {n}", "relevant": {f"d{n}": 1, f"d{n + 1}": 2}}
        for n in range(4)
    ]
    passage = {"uri": "d1", "quote": "text 1"}
    rag.evaluation.sets.put("set", [*queries, {"id": "p", "question": "x?", "relevant": [passage]}])
    ranked = [("q0", "d5", 9.0), ("q0", "gone", 8.0), ("q0", "d1", 7.5), ("q0", "d0", 1.0),
              ("q1", "d3", 0.5), ("q1", "d1", 0.9), ("q2", "gone", 2.0)]  # fmt: skip
    rows = [f"{q} Q0 {uri} {rank} {score} other" for rank, (q, uri, score) in enumerate(ranked, 1)]
    path = lines(
        tmp_path / "other.run", *rows, "q9 Q0 d1 1 1.0 other", "q1 Q0 d1 2 0.1 other", "q1 Q0 d2",
        "q1 Q0 d4 1 nan other",
    )  # fmt: skip
    found = docs.evaluation.import_run("set", path)
    assert (found.ranked, found.missing, found.unknown) == (7, ["gone"], ["q9"])
    assert (found.unranked, found.passages, found.run.queries) == (1, 1, 4)
    assert (found.run.name, found.run.settings) == ("other", {"imported": "other"})
    assert [str(one) for one in found.rejected] == [
        "other.run:9: d1 is ranked twice for q1",
        "other.run:10: 3 fields, not 6",
        "other.run:11: the score is nan",
    ]
    qrels = [
        ir_measures.Qrel(str(q["id"]), uri, grade)
        for q in queries
        for uri, grade in q["relevant"].items()
    ]
    run = [ir_measures.ScoredDoc(q, uri, score) for q, uri, score in ranked]
    wanted = ir_measures.calc_aggregate([nDCG @ 10, ir_measures.AP @ 10], qrels, run)
    metrics = {m.metric: m.value for m in rag.evaluation.runs.metrics(found.run.run_id)}
    assert metrics["ndcg"] == pytest.approx(wanted[nDCG @ 10])
    assert metrics["map"] == pytest.approx(wanted[ir_measures.AP @ 10])
    ours = docs.evaluation.run("set")
    (row,) = rag.evaluation.runs.compare(ours.run_id, found.run.run_id, metrics=["ndcg"])
    assert row.queries == 4
    exported = tmp_path / "ours.run"
    rag.evaluation.runs.export_file(ours.run_id, exported)
    again = docs.evaluation.import_run("set", exported)
    assert (again.missing, again.unknown, again.rejected) == ([], [], [])
    (same,) = rag.evaluation.runs.compare(ours.run_id, again.run.run_id, metrics=["ndcg"])
    assert (same.ties, same.difference) == (4, 0)
    for wrong, message in ((lines(tmp_path / "x", "q9 Q0 d 1 1 t"), "no line is of a question"),
                           (lines(tmp_path / "y", "q1 Q0 d 1 NaN t"), "y:1: the score is NaN"),
                           (tmp_path / "none", "cannot read")):  # fmt: skip
        with pytest.raises(InvalidInput, match=message):
            docs.evaluation.import_run("set", wrong)
