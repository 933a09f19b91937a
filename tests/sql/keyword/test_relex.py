"""A changed lexer: chunks are lexed anew while others search and write, and every search is exact.

What is exact while both versions are there: the terms of a query are those of both, each as often
as the version says it that says it most; what only one version makes of a word is one form with
what the other makes of it. Scores are BM25 over what is stored, as always.
"""

import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from bm25_oracle import Oracle
from keyword_sizes import keyword_sizes
from psycopg.types.json import Jsonb
from rota import tries
from second_lexer import change_lexer

Connection = psycopg.Connection[Any]

PLAIN = ["red", "mail", "email", "err", "known", "fish", "blue", "e"]
LEXED = {  # by each version, from its definition
    "e-mail": (("e-mail", "e", "mail"), ("email",)),
    "well-known": (("well-known", "well", "known"), ("wellknown",)),
    "err_reset": (("err_reset", "err", "reset"), ("errreset", "err", "reset")),
    **{word: ((word,), (word,)) for word in PLAIN},
}
WORDS = list(LEXED)
QUERIES = [" ".join(p) for n in (1, 2) for p in itertools.combinations(WORDS, n)]
SECONDS = 120.0  # at most, for threads that wait for each other


def lexemes(text: str, version: int) -> Counter[str]:
    return Counter(lexeme for word in text.split() for lexeme in LEXED[word][version - 1])


def terms(query: str, versions: list[int]) -> tuple[dict[str, int], dict[str, object]]:
    """The terms of a query with how often it says them, and the form that each is of."""
    counted: Counter[str] = Counter()
    for version in versions:
        counted |= lexemes(query, version)
    words = query.split()
    common = {x for w in words for x in set.intersection(*(set(LEXED[w][v - 1]) for v in versions))}
    forms = {
        term: term
        if term in common
        else next(n for n, w in enumerate(words) if any(term in LEXED[w][v - 1] for v in versions))
        for term in counted
    }
    return dict(counted), dict(forms)


class Collection:
    def __init__(self, db: Connection, name: str = "mail") -> None:
        self.db, self.name = db, name
        self.key: int = db.execute(
            "SELECT collection_id FROM rag.collections WHERE name = %s", [name]
        ).fetchone()[0]  # type: ignore[index]

    def put(self, uri: str, *texts: str) -> None:
        chunks = Jsonb([{"content": text} for text in texts])
        self.db.execute("SELECT rag.put_chunks(%s, %s, %s)", [self.name, uri, chunks])

    def delete(self, uri: str) -> None:
        self.db.execute("SELECT rag.delete_document(%s, %s)", [self.name, uri])

    def relex(self) -> None:
        self.db.execute("SELECT rag._relex_chunks(%s)", [self.key])

    def version(self) -> int:
        row = self.db.execute(
            "SELECT lexer_version FROM rag.collections WHERE collection_id = %s", [self.key]
        ).fetchone()
        assert row is not None
        return int(row[0])

    def chunks(self) -> dict[int, tuple[str, Counter[str]]]:
        rows = self.db.execute(
            """SELECT c.chunk_id, c.content,
                   ARRAY(SELECT u.lexeme FROM unnest(c.lexemes) AS u, unnest(u.positions))
               FROM rag.chunks AS c WHERE c.collection_id = %s""",
            [self.key],
        ).fetchall()
        return {i: (content, Counter(stored)) for i, content, stored in rows}

    def documents(self) -> dict[str, list[str]]:
        rows = self.db.execute(
            """SELECT d.uri, array_agg(c.content ORDER BY c.ordinal)
               FROM rag.chunks AS c JOIN rag.documents AS d USING (collection_id, document_id)
               WHERE c.collection_id = %s GROUP BY d.uri""",
            [self.key],
        ).fetchall()
        return dict(rows)

    def check(self, queries: list[str], limit: int = 1000) -> int:
        """That searches are exact over what is stored. Returns how many chunks are of the first
        version alone."""
        chunks, oracle = self.chunks(), Oracle()
        (present,) = self.db.execute("SELECT rag._lexer_version()").fetchone() or (0,)
        versions = list(range(self.version(), present + 1))
        old = 0
        for i, (content, stored) in chunks.items():
            assert any(stored == lexemes(content, v) for v in versions), (content, stored)
            old += stored != lexemes(content, 2)
            oracle.chunks[i] = stored
        for query in queries:
            asked, forms = terms(query, versions)
            wanted = oracle.search(asked, limit, words=forms)
            assert self.rank(query, limit) == [(i, pytest.approx(s, abs=1e-6)) for i, s in wanted]
            missed = {  # what says a word is found by it, whoever lexed it
                content
                for i, (content, _) in chunks.items()
                if len(chunks) <= limit
                and set(query.split()) & set(content.split())
                and i not in dict(wanted)
            }
            assert not missed
        return old

    def rank(self, query: str, limit: int) -> list[Any]:
        return self.db.execute(
            "SELECT chunk_id, score FROM rag._rank_keyword(%s, %s, %s, typo_tolerance => false)",
            [self.key, query, limit],
        ).fetchall()

    def postings(self) -> dict[str, Counter[tuple[str, int]]]:
        """Which chunks each lexeme is posted for, by uri and ordinal, and nothing twice."""
        self.db.execute("SELECT rag._compact_keyword(%s, -1, 1000)", [self.key])
        slots = {
            slot: (uri, ordinal)
            for slot, uri, ordinal in self.db.execute(
                """SELECT s.slot, d.uri, c.ordinal FROM rag.keyword_slots AS s
                   JOIN rag.chunks AS c USING (collection_id, chunk_id)
                   JOIN rag.documents AS d USING (collection_id, document_id)
                   WHERE s.collection_id = %s""",
                [self.key],
            )
        }
        found: dict[str, Counter[tuple[str, int]]] = {}
        for lexeme, segment, postings, weights in self.db.execute(
            """SELECT p.lexeme, p.segment, rag._posting_list(p.posting_or_count, p.postings),
                   p.weights::text
               FROM rag.keyword_postings AS p WHERE p.collection_id = %s""",
            [self.key],
        ):
            posted = [posting >> 32 for posting in postings or []]
            if weights:
                inner, size = weights.strip("{").split("}/")
                first = segment - segment % int(size)
                posted += [first + int(x.split(":")[0]) - 1 for x in inner.split(",")]
            counted = found.setdefault(lexeme, Counter())
            counted.update(slots[slot] for slot in posted if slot in slots)
        return {lexeme: chunks for lexeme, chunks in found.items() if chunks}

    def statistics(self) -> dict[str, Any]:
        """What BM25 weighs by: in how many chunks each lexeme is, and all of them together."""
        counts = self.db.execute(
            """SELECT n.word, n.chunks FROM rag._chunk_counts(%s, ARRAY(
                   SELECT DISTINCT p.lexeme FROM rag.keyword_postings AS p
                   WHERE p.collection_id = %s)) AS n WHERE n.chunks <> 0""",
            [self.key, self.key],
        ).fetchall()
        totals = self.db.execute(
            "SELECT chunk_count, length_sum, relexed FROM rag.keyword_totals"
            " WHERE collection_id = %s",
            [self.key],
        ).fetchone()
        return {"counts": dict(counts), "totals": totals}

    def scores(self) -> dict[str, list[Any]]:
        """What every query finds, by uri."""
        return {
            query: sorted(
                self.db.execute(
                    "SELECT -score, uri, content FROM rag.search_keyword(%s, %s, 1000)",
                    [self.name, query],
                ).fetchall()
            )
            for query in QUERIES
        }

    def must_equal_one_built_anew(self) -> None:
        assert self.version() == 2
        self.db.execute("SELECT rag.create_collection('anew', 'none', 3, language => 'simple')")
        anew = Collection(self.db, "anew")
        for uri, texts in self.documents().items():
            anew.put(uri, *texts)
        assert self.scores() == anew.scores()
        assert self.postings() == anew.postings()
        assert self.statistics() == anew.statistics()
        assert self.scores() == anew.scores()  # compacted, too


@pytest.fixture
def tiny(dsn: str) -> Iterator[str]:
    """Blocks of 16 slots, merges of 4 changes, 3 chunks a step."""
    with keyword_sizes(dsn, block=16, seal=8, merge=4, frequent=3), connected(dsn) as db:
        db.execute("SELECT rag.create_collection('mail', 'none', 3, language => 'simple')")
        db.execute(
            "CREATE OR REPLACE FUNCTION rag._relex_batch() RETURNS integer"
            " LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 3"
        )
        yield dsn


def connected(dsn: str) -> Connection:
    return psycopg.connect(dsn, autocommit=True)


def text(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, 6)))


def change(collection: Collection, chance: random.Random, documents: int = 12) -> None:
    """One write: a document put, put again, or deleted."""
    uri = f"d{chance.randrange(documents)}"
    if chance.random() < 0.3:
        collection.delete(uri)
    else:
        collection.put(uri, *(text(chance) for _ in range(chance.randint(1, 4))))


@pytest.mark.longer
@pytest.mark.parametrize("seed", range(tries(3, 1)))
def test_searches_are_exact_after_every_step_beside_writes(tiny: str, seed: int) -> None:
    chance = random.Random(seed)
    with connected(tiny) as db:
        mail = Collection(db)
        for _ in range(40):
            change(mail, chance)
        old = mail.check(chance.sample(QUERIES, 10))
        assert old > 4
        change_lexer(db)
        assert mail.check(QUERIES) == old  # before the first step
        steps, olds = 0, []
        while mail.version() == 1 and steps < 100:
            mail.relex()
            steps += 1
            olds.append(mail.check(chance.sample(QUERIES, 5)))
            if chance.random() < 0.3:
                change(mail, chance)
                mail.check(chance.sample(QUERIES, 5))
            if chance.random() < 0.2:
                db.execute("SELECT rag.maintain_step('keywords', %s)", [mail.key])
                mail.check(chance.sample(QUERIES, 5))
        assert any(0 < n < old for n in olds) and olds[-1] == 0
        assert steps > 5
        mail.check(QUERIES)
        mail.must_equal_one_built_anew()


def test_conditions_hold_for_chunks_of_both_versions(tiny: str) -> None:
    with connected(tiny) as db:
        mail = Collection(db)
        for uri, content in {
            "hyphen": "red e-mail",
            "plain": "red fish",
            "other": "blue e-mail fish",
            "apart": "e red mail",
        }.items():
            mail.put(uri, content)
        change_lexer(db)
        mail.put("late", "red e-mail")  # by the second version; the others by the first

        def found(query: str, match: str) -> set[str]:
            rows = db.execute(
                "SELECT uri FROM rag.search_keyword('mail', %s, 10, match => %s)", [query, match]
            )
            return {uri for (uri,) in rows}

        for step in range(6):
            assert mail.version() == (1 if step < 4 else 2)
            assert found("red e-mail", "all") >= {"hyphen", "late"}
            assert found("red e-mail", "all").isdisjoint({"plain", "other"})
            assert found("red e-mail", "phrase") == {"hyphen", "late"}
            assert found("red -e-mail", "web") == {"plain", "apart"}
            assert found('fish -"blue e-mail"', "web") == {"plain"}
            assert found("e-mail or fish", "web") >= {"hyphen", "plain", "other", "late"}
            mail.relex()


def test_a_step_that_is_killed_has_done_nothing_and_the_next_goes_on(tiny: str) -> None:
    chance = random.Random(7)
    with connected(tiny) as db:
        mail = Collection(db)
        for _ in range(40):
            change(mail, chance)
        change_lexer(db)
        kills = 0
        while mail.version() == 1 and kills < 100:
            before = mail.chunks()
            with psycopg.connect(tiny) as killed:
                Collection(killed).relex()
                db.execute("SELECT pg_terminate_backend(%s, 60000)", [killed.info.backend_pid])
                with pytest.raises(psycopg.OperationalError):
                    killed.execute("SELECT 1")
                kills += 1
            assert mail.chunks() == before
            mail.relex()
            mail.check(chance.sample(QUERIES, 3))
        assert kills > 5
        mail.must_equal_one_built_anew()


def test_a_chunk_that_a_writer_has_locked_is_not_waited_for_and_not_left_out(tiny: str) -> None:
    with connected(tiny) as db, psycopg.connect(tiny) as writer:
        mail = Collection(db)
        for n in range(6):
            mail.put(f"d{n}", f"e-mail {PLAIN[n]}")
        change_lexer(db)
        mail.relex()
        writer.execute("SELECT FROM rag.chunks WHERE content = 'e-mail mail' FOR UPDATE")
        for _ in range(5):
            mail.relex()
            assert mail.check(QUERIES) >= 3  # those beside it are done
        assert mail.version() == 1
        writer.rollback()
        for _ in range(4):
            mail.relex()
        mail.must_equal_one_built_anew()


def test_it_begins_when_those_have_ended_who_write_by_the_lexer_before(tiny: str) -> None:
    failures = "SELECT task, message FROM rag.maintenance_failures"
    step = "SELECT rag.maintain_step('relex', %s)"
    with connected(tiny) as db, psycopg.connect(tiny) as writer:
        mail = Collection(db)
        Collection(writer).put("a", "e-mail")
        change_lexer(db)
        mail.put("b", "well-known")
        db.execute(step, [mail.key])
        ((task, message),) = db.execute(failures).fetchall()
        assert task == "relex" and "lock timeout" in message
        writer.commit()
        assert mail.check(QUERIES) == 1
        for _ in range(3):
            db.execute(step, [mail.key])
        assert db.execute(failures).fetchall() == []
        mail.must_equal_one_built_anew()


@pytest.mark.minutes
def test_a_lexer_that_changes_once_more_begins_anew(tiny: str) -> None:
    with connected(tiny) as db:
        mail = Collection(db)
        for n in range(6):
            mail.put(f"d{n}", f"e-mail {PLAIN[n]}")
        db.execute("UPDATE rag.collections SET lexer_version = 0")
        for _ in range(2):
            mail.relex()
        db.execute("SELECT rag.put_chunks('mail', 'e', '[{\"content\": \"err_reset\"}]')")
        change_lexer(db)
        relexed = "SELECT relexed_by, relexed_to, relexed FROM rag.keyword_totals"
        mail.relex()
        assert db.execute(relexed).fetchone() == (2, 0, 0)
        for _ in range(4):
            mail.relex()
        mail.must_equal_one_built_anew()


@pytest.mark.minutes
def test_the_doctor_tells_how_far_it_is_and_maintenance_does_it(tiny: str) -> None:
    told = "SELECT status, detail, remedy FROM rag.doctor() WHERE check_name = 'stored formats'"
    with connected(tiny) as db:
        mail = Collection(db)
        for n in range(6):
            mail.put(f"d{n}", f"e-mail {PLAIN[n]}")
        db.execute("SELECT rag._merge_keyword(%s)", [mail.key])
        steps = "SELECT count(*) FROM rag.maintenance_steps() WHERE step = 'relex'"
        assert db.execute(steps).fetchone() == (0,)
        change_lexer(db)
        for _ in range(2):
            mail.relex()
        assert db.execute(told).fetchone() == (
            "warn",
            "version 1 of the lexer lexed chunks of collection 'mail', and version 2 lexes them "
            "anew: 3 of 6 are done; searches ask for the words of both",
            "a worker does it, or CALL rag.maintain()",
        )
        before = db.execute("SELECT rag.collection_version('mail')").fetchone()
        db.execute("CALL rag.maintain()")
        assert (db.execute(told).fetchone() or ("",))[0] == "ok"
        assert db.execute(steps).fetchone() == (0,)
        assert db.execute("SELECT rag.collection_version('mail')").fetchone() != before
        mail.must_equal_one_built_anew()


@pytest.mark.minutes
def test_writers_and_searchers_beside_it_see_exact_results_at_any_time(tiny: str) -> None:
    failures: list[str] = []
    written = threading.Barrier(5, timeout=SECONDS)

    def act(name: str, task: Callable[[Connection, random.Random], None]) -> threading.Thread:
        def run() -> None:
            try:
                with connected(tiny) as db:
                    task(db, random.Random(name))
            except Exception as error:
                failures.append(f"{name}: {error!r}"[:2000])
                written.abort()

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def write(db: Connection, chance: random.Random) -> None:
        for step in range(60):
            if step == 20:
                written.wait()  # the lexer changes while the others go on
            with db.transaction():
                change(Collection(db), chance, 40)

    def read(db: Connection, chance: random.Random) -> None:
        version = "SELECT rag._lexer_version()"
        while not failures:
            is_last = Collection(db).version() == 2
            with db.transaction():
                db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                if db.execute(version).fetchone() == (2,):
                    Collection(db).check(chance.sample(QUERIES, 3), chance.choice([5, 1000]))
            if is_last:
                return

    def maintain(db: Connection, chance: random.Random) -> None:
        written.wait()
        change_lexer(db)
        mail = Collection(db)
        while mail.version() == 1 and not failures:
            db.execute("SELECT rag.maintain_step('relex', %s)", [mail.key])
            if chance.random() < 0.2:
                db.execute("SELECT rag.maintain_step('keywords', %s)", [mail.key])

    threads = [act(f"writer {n}", write) for n in range(4)]
    threads += [act("maintenance", maintain), act("reader 0", read), act("reader 1", read)]
    for thread in threads:
        thread.join()
    assert not failures, failures
    with connected(tiny) as db:
        mail = Collection(db)
        assert mail.check(QUERIES) == 0
        mail.must_equal_one_built_anew()
