"""`onnx:<folder>`: a model with an ONNX file gives the vectors that its files say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as helper
import onnx.numpy_helper
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from rag_pg.errors import InvalidInput, ModelUnavailable
from rag_pg.providers.onnx.embedder import OnnxModel
from rag_pg.providers.registry import open_embedder

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "red", "green", "blue", "query:", "passage:"]
TABLE = np.random.default_rng(3).normal(size=(len(WORDS), 6)).astype(np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model whose states are a row of TABLE for each word."""
    made = tmp_path / "model"
    (made / "onnx").mkdir(parents=True)
    (made / "1_Pooling").mkdir()
    integers = onnx.TensorProto.INT64
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "words",
        [helper.make_tensor_value_info(name, integers, ("batch", "tokens")) for name in names],
        [
            helper.make_tensor_value_info(
                "last_hidden_state", onnx.TensorProto.FLOAT, ("batch", "tokens", 6)
            )
        ],
        [onnx.numpy_helper.from_array(TABLE, "table")],
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
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_truncation(4)  # as published files do; the model itself takes more
    tokenizer.save(str(made / "tokenizer.json"))
    write(made / "config.json", hidden_size=6, max_position_embeddings=16)
    return made


def write(path: Path, **content: Any) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def states(*words: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    return TABLE[[WORDS.index(word) for word in ("[CLS]", *words, "[SEP]")]]


def unit(vector: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(vector / np.linalg.norm(vector))


def open_model(folder: Path) -> OnnxModel:
    return OnnxModel(str(folder))


def test_states_are_averaged_without_the_padding(folder: Path) -> None:
    model = open_model(folder)
    found = model.embed_documents(["red green blue red green", "blue", "yellow"])
    assert (str(found.dtype), model.dimensions, model.max_tokens) == ("float32", 6, 16)
    assert np.allclose(found[0], unit(states("red", "green", "blue", "red", "green").mean(axis=0)))
    assert np.allclose(found[1], unit(states("blue").mean(axis=0)))
    assert np.allclose(found[2], unit(states("[UNK]").mean(axis=0)))
    assert model.count_tokens(["red green", ""]) == [4, 2]


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [("cls_token", states("blue")[0]), ("max_tokens", states("blue").max(axis=0))],
)
def test_pooling_is_what_the_folder_says(folder: Path, pooling: str, expected: Any) -> None:
    write(
        folder / "1_Pooling/config.json",
        word_embedding_dimension=6,
        pooling_mode_mean_tokens=False,
        **{f"pooling_mode_{pooling}": True},
    )
    found = open_model(folder).embed_documents(["blue", "blue red red red"])
    assert np.allclose(found[0], unit(expected))


def test_prompts_and_limits_are_what_the_folder_says(folder: Path) -> None:
    write(
        folder / "config_sentence_transformers.json",
        prompts={"query": "query: ", "document": "", "passage": "passage: "},
    )
    write(folder / "sentence_bert_config.json", max_seq_length=4)
    model = open_model(folder)
    assert np.allclose(model.embed_query("red"), unit(states("query:", "red").mean(axis=0)))
    (document,) = model.embed_documents(["red green blue"])
    assert np.allclose(document, unit(states("passage:", "red").mean(axis=0)))  # cut at 4
    assert model.count_tokens(["red"]) == [4]


def test_what_gives_other_vectors_has_another_fingerprint(folder: Path) -> None:
    prints = [open_model(folder).fingerprint]
    write(folder / "1_Pooling/config.json", pooling_mode_cls_token=True)
    prints.append(open_model(folder).fingerprint)
    write(folder / "config_sentence_transformers.json", prompts={"query": "q "})
    prints.append(open_model(folder).fingerprint)
    write(folder / "sentence_bert_config.json", max_seq_length=8)
    prints.append(open_model(folder).fingerprint)
    (folder / "onnx/model.onnx_data").write_bytes(b"other weights")
    prints.append(open_model(folder).fingerprint)
    assert len(set(prints)) == len(prints)
    assert open_model(folder).fingerprint == prints[-1]


def test_a_folder_that_lacks_something_says_what(folder: Path) -> None:
    (folder / "tokenizer.json").rename(folder / "tokens.json")
    with pytest.raises(ModelUnavailable, match=r"has no tokenizer\.json"):
        open_model(folder)
    (folder / "tokens.json").rename(folder / "tokenizer.json")
    write(folder / "1_Pooling/config.json", pooling_mode_lasttoken=True)
    with pytest.raises(ModelUnavailable, match="pools by pooling_mode_lasttoken"):
        open_model(folder)
    (folder / "1_Pooling/config.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelUnavailable, match="cannot read .*1_Pooling"):
        open_model(folder)
    (folder / "1_Pooling/config.json").unlink()
    (folder / "config.json").unlink()
    with pytest.raises(ModelUnavailable, match="hidden_size"):
        open_model(folder)
    (folder / "onnx/model.onnx").unlink()
    with pytest.raises(ModelUnavailable, match=r"has no model\.onnx"):
        open_model(folder)


def test_a_damaged_graph_is_one_error(folder: Path) -> None:
    (folder / "onnx/model.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelUnavailable, match="onnxruntime cannot load"):
        open_model(folder).embed_query("red")


def test_it_is_opened_by_name(folder: Path, tmp_path: Path) -> None:
    model = open_embedder(f"onnx:{folder}", cache_dir=tmp_path)
    assert model.name == f"onnx:{folder}"
    with pytest.raises(InvalidInput, match="minilm, e5, onnx:MODEL"):
        open_embedder("onnx", cache_dir=tmp_path)
