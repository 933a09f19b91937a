"""The folder of a model with an ONNX file, as sentence-transformers and optimum write it.

onnx/model.onnx or model.onnx        the graph; another one beside it, as an 8-bit one, by its path
tokenizer.json                       of the library tokenizers
tokenizer_config.json                model_max_length
config.json                          of the model: hidden_size, max_position_embeddings, …
1_Pooling/config.json                of an embedder: mean, cls or max
sentence_bert_config.json            max_seq_length
config_sentence_transformers.json    prompts: query, document or passage
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_pg.errors import ModelUnavailable
from rag_pg.extras import extra

GRAPHS = ("onnx/model.onnx", "model.onnx")
FILES = (
    *GRAPHS,
    *(f"{graph}_data" for graph in GRAPHS),
    "tokenizer.json",
    "tokenizer_config.json",
    "config.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
)


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """root: what holds tokenizer.json. graph: the ONNX file."""

    root: Path
    graph: Path

    @classmethod
    def find(cls, model: str) -> ModelFolder:
        """The folder of a model.

        Args:
            model: a folder; an ONNX file in one, or in a folder of one; or a name on the Hugging
                Face hub, which an ONNX file may follow, from where it is downloaded once.
        Raises: ModelUnavailable.
        """
        path = Path(model).expanduser()
        if path.is_file():
            above = [path.parent, path.parent.parent]
            root = next((one for one in above if (one / "tokenizer.json").is_file()), path.parent)
            graph: Path | None = path
        else:
            owner_and_name, file = _divided(model)
            root = path if path.is_dir() else _download(owner_and_name, file)
            names = (file,) if file else GRAPHS
            graph = next((root / name for name in names if (root / name).is_file()), None)
        if graph is None or not (root / "tokenizer.json").is_file():
            lacks = "model.onnx" if graph is None else "tokenizer.json"
            raise ModelUnavailable(f"{root} has no {lacks}; name a model that was exported to ONNX")
        return cls(root, graph)

    @property
    def tokenizer(self) -> Path:
        return self.root / "tokenizer.json"

    @property
    def weights(self) -> list[Path]:
        """The graph, and the file of its large tensors where it has one."""
        paths = self.graph, self.graph.with_name(f"{self.graph.name}_data")
        return [path for path in paths if path.is_file()]

    def read(self, name: str) -> Mapping[str, Any]:
        """What a JSON file of the folder holds, nothing where it is not there.
        Raises: ModelUnavailable (not JSON)."""
        path = self.root / name
        if not path.is_file():
            return {}
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as exc:
            raise ModelUnavailable(f"cannot read {path}: {exc}") from exc
        return found if isinstance(found, dict) else {}


def _divided(model: str) -> tuple[str, str]:
    """owner/name/onnx/model_int8.onnx -> owner/name, onnx/model_int8.onnx; no file: ""."""
    parts = model.split("/")
    if len(parts) > 2 and model.endswith(".onnx"):
        return "/".join(parts[:2]), "/".join(parts[2:])
    return model, ""


def _download(model: str, file: str) -> Path:
    with extra("onnx", f"downloading {model} needs"):
        from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(model, allow_patterns=[*FILES, *filter(None, [file])]))
    except Exception as exc:  # no network, offline mode, no such model: one remedy
        raise ModelUnavailable(
            f"{model} is no folder here, and the Hugging Face hub did not give it: {exc}"
        ) from exc
