"""`rerank="onnx:<folder>"`: a cross-encoder with an ONNX file. Its scores beside those of
sentence-transformers: tests/providers/test_embedders.py."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as helper
import onnx.numpy_helper
import pytest
from passages import hit
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from rag_pg.answer.extractive.answer import answer_extractive
from rag_pg.errors import InvalidInput, ModelUnavailable
from rag_pg.protocols import Reranker
from rag_pg.providers.onnx.reranker import OnnxReranker
from rag_pg.providers.registry import open_reranker
from rag_pg.search.rerank import Scorer, score_texts
from rag_pg.text import split_sentences

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "red", "green", "blue"]
VALUES = np.array([99, 0.25, 0.5, 1, 2, 3, 5], dtype=np.float32)  # of each word; 99: of padding
BERT = ["BertForSequenceClassification"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model that adds up the values of all words, those of the second text ten times."""
    made = tmp_path / "model"
    (made / "onnx").mkdir(parents=True)
    integers, floats = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    names = ("input_ids", "attention_mask", "token_type_ids")
    constants = {"values": VALUES, "nine": np.float32(9), "one": np.float32(1)}
    nodes = [
        helper.make_node("Gather", ["values", "input_ids"], ["of_words"]),
        helper.make_node("Cast", ["token_type_ids"], ["side"], to=floats),
        helper.make_node("Cast", ["attention_mask"], ["there"], to=floats),
        helper.make_node("Mul", ["side", "nine"], ["more"]),
        helper.make_node("Add", ["more", "one"], ["times"]),
        helper.make_node("Mul", ["of_words", "times"], ["weighed"]),
        helper.make_node("Mul", ["weighed", "there"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "axis"], ["logits"], keepdims=1),
    ]
    graph = helper.make_graph(
        nodes,
        "sum",
        [helper.make_tensor_value_info(name, integers, ("batch", "tokens")) for name in names],
        [helper.make_tensor_value_info("logits", floats, ("batch", 1))],
        [
            *(onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()),
            onnx.numpy_helper.from_array(np.array([1]), "axis"),
        ],
    )
    onnx.save(
        helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]),
        str(made / "onnx/model.onnx"),
    )
    tokenizer = Tokenizer(
        models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    tokenizer.enable_padding(length=9)  # as published files do
    tokenizer.save(str(made / "tokenizer.json"))
    configure(made)
    return made


def configure(folder: Path, **content: Any) -> None:
    linear = {"activation_fn": "torch.nn.modules.linear.Identity"}
    config = {"architectures": BERT, "sentence_transformers": linear} | content
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def total(query: str, text: str) -> float:
    """What the model adds up, without it."""

    def value(words: str) -> float:
        known = dict(zip(WORDS, VALUES.tolist(), strict=True))
        return float(sum(known.get(word, 1) for word in words.split()))

    return 0.25 + value(query) + 0.5 + 10 * (value(text) + 0.5)


def opened(folder: Path) -> Reranker:
    return open_reranker(f"onnx:{folder}", llm="extractive", open_llm=lambda _: None)


def test_each_pair_is_scored_by_itself_in_the_order_given(folder: Path) -> None:
    reranker = opened(folder)
    assert reranker.name == f"onnx:{folder}"
    texts = ["red", "", "yellow blue blue green red", *(["green"] * 300), "blue " * 150]
    scores = score_texts(reranker, "red green", texts, timeout=60)
    assert scores.tolist() == pytest.approx([total("red green", text) for text in texts])
    assert score_texts(reranker, "red", [], timeout=60).shape == (0,)


def test_the_longer_text_of_a_pair_is_cut(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 8}', encoding="utf-8")
    scores = opened(folder).rerank("red", ["green blue " * 5])
    assert scores.tolist() == pytest.approx([total("red", "green blue green blue")])


@pytest.mark.parametrize(("kind", "limit"), [("xlm-roberta", 16 - 2), ("bert", 16)])
def test_positions_that_are_kept_for_padding_hold_no_token(
    folder: Path, kind: str, limit: int
) -> None:
    configure(folder, model_type=kind, max_position_embeddings=16, pad_token_id=1)
    assert OnnxReranker(str(folder)).max_tokens == limit


def test_scores_end_in_what_the_model_s_makers_put_there(folder: Path) -> None:
    plain = opened(folder).rerank("red", ["", "red", "blue"])
    configure(folder, sentence_transformers=None)
    expected = 1 / (1 + np.exp(-plain))
    assert opened(folder).rerank("red", ["", "red", "blue"]) == pytest.approx(expected)
    configure(folder, sentence_transformers={"activation_fn": "torch.nn.Tanh"})
    with pytest.raises(ModelUnavailable, match=r"ends in torch\.nn\.Tanh; Sigmoid and Identity"):
        opened(folder)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"architectures": ["BertModel"]}, "is no cross-encoder: a BertModel has no trained head"),
        ({"id2label": {"0": "no", "1": "yes"}}, "gives 2 numbers for each pair"),
    ],
)
def test_what_scores_no_pairs_is_refused(
    folder: Path, config: dict[str, Any], message: str
) -> None:
    configure(folder, **config)
    with pytest.raises(ModelUnavailable, match=message):
        opened(folder)


def test_a_graph_that_gives_states_of_tokens_is_refused(folder: Path) -> None:
    model = onnx.load(str(folder / "onnx/model.onnx"))
    del model.graph.node[-1], model.graph.output[:]
    model.graph.output.append(
        helper.make_tensor_value_info("masked", onnx.TensorProto.FLOAT, ("batch", "tokens"))
    )
    onnx.save(model, str(folder / "onnx/model.onnx"))
    with pytest.raises(ModelUnavailable, match=r"gives \(2, 7\) for 2 pairs"):
        opened(folder).rerank("red", ["red red red", "red"])


def test_a_graph_is_named_by_its_file(folder: Path) -> None:
    (folder / "onnx/model.onnx").rename(folder / "onnx/model_int8.onnx")
    with pytest.raises(ModelUnavailable, match=r"has no model\.onnx"):
        opened(folder)
    (score,) = opened(folder / "onnx/model_int8.onnx").rerank("red", ["blue"])
    assert score == pytest.approx(total("red", "blue"))


def test_what_is_not_there_or_not_text_is_one_error(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="text 1 is not valid Unicode"):
        opened(folder).rerank("red", ["\ud800"])
    (folder / "onnx/model.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelUnavailable, match="onnxruntime cannot load"):
        opened(folder).rerank("red", ["red"])
    (folder / "tokenizer.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelUnavailable, match="cannot read .*tokenizer"):
        opened(folder).rerank("red", ["red"])


def test_an_answer_without_a_model_is_what_it_scores_best(folder: Path) -> None:
    page = "The boat is green. The blue blue sail is red and blue all over. The mast is very tall."
    found = replace(hit(page), rerank_score=1.0)
    scorer = Scorer(opened(folder), 60)
    got = answer_extractive("Which boat?", [found], embedder=None, scorer=scorer)
    texts = [sentence.text for sentence in split_sentences(page)]
    scores = [total("Which boat?", text) for text in texts]
    assert f"**{texts[int(np.argmax(scores))]}** [1]" in got.text
    got = answer_extractive(
        "Which boat?", [replace(found, content="The boat is.")], embedder=None, scorer=scorer
    )
    assert (got.found, got.reason.partition(" ")[0]) == (False, f"onnx:{folder}")
