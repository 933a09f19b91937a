"""What is varied -> candidates: every combination of the values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from rag_pg.chunk import Chunking
from rag_pg.errors import InvalidInput
from rag_pg.evaluation.run import plain_settings
from rag_pg.evaluation.types import Candidate

LONGEST = 8192  # tokens of a chunk; what the model reads is told when the copy is made
MODES: Mapping[str, Mapping[str, float]] = {
    "hybrid": {},
    "keyword": {"vector_weight": 0.0},
    "vector": {"keyword_weight": 0.0},
}
OF_A_COPY = ("chunking", "model", "contexts")
NOTHING = ("none", "current", "default")
VARIED = "mode, chunking, model, contexts, and every option of search or ask"


def read_vary(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Read settings with their values: "vector_weight=0,0.5,1", "rerank=none,llm",
    "rewrite=none,hyde,multi_query+filters", "chunking=markdown:300,sentence". Values that hold a
    comma are written as a JSON array: 'chunking=[{"method": "markdown", "max_tokens": 300}]'.

    A name that comes twice has all its values. Raises: InvalidInput.
    """
    vary: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip()
        if not equals or not name or not values.strip():
            raise InvalidInput(
                f"cannot read {text!r:.100}: write a name and its values,"
                " e.g. vector_weight=0,0.5,1"
            )
        if values.lstrip().startswith("["):
            try:
                found = json.loads(values)
            except (ValueError, RecursionError) as exc:
                raise InvalidInput(f"the values of {name} are not JSON: {exc}") from exc
        else:
            found = [_read_value(name, value.strip()) for value in values.split(",")]
        vary.setdefault(name, []).extend(found)
    return vary


def _read_value(name: str, text: str) -> Any:
    if name == "rewrite":
        return [] if text in NOTHING else text.split("+")
    if text in NOTHING and name != "mode":
        return None
    if name in ("mode", "chunking", "model"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_options(texts: Sequence[str]) -> dict[str, Any]:
    """Read settings with one value each, as `read_vary` does; a mode becomes its options.
    Raises: InvalidInput."""
    options: dict[str, Any] = {}
    for name, values in read_vary(texts).items():
        if len(values) != 1:
            raise InvalidInput(f"{name} has {len(values)} values where one holds for all")
        if name == "mode":
            options.update(_mode(values[0]))
        else:
            options[name] = values[0]
    return options


def _mode(name: Any) -> Mapping[str, float]:
    if name not in MODES:
        raise InvalidInput(f"unknown mode {name!r:.100}; use {', '.join(MODES)}")
    return MODES[name]


def make_candidates(
    vary: Mapping[str, Sequence[Any]],
    *,
    kind: str,
    options: Mapping[str, Any],
    known: Sequence[str],
    current: Mapping[str, Any],
    most: int,
) -> list[Candidate]:
    """Return the baseline, which has `options` alone, and every combination of the values.

    Args:
        vary: values by the name of a setting: mode, an option (None: left out), chunking (a mapping
            or METHOD[:max_tokens[:overlap]]), model (of embeddings), contexts (True: by a language
            model). None: as the collection is. options: of all. known: names of options.
    Raises: InvalidInput: an unknown name, no value, two names for one option, too many candidates.
    """
    for name, values in vary.items():
        if name not in ("mode", *OF_A_COPY, *known):
            raise InvalidInput(_unknown(name, kind, known))
        if isinstance(values, str | Mapping) or not values:
            raise InvalidInput(f"{name} has no list of values: give at least one")
    if "mode" in vary and (twice := {"vector_weight", "keyword_weight"} & vary.keys()):
        raise InvalidInput(f"mode sets {min(twice)}: vary one of them")
    count = prod(len(values) for values in vary.values())
    if count > most:
        sizes = " × ".join(f"{len(values)} of {name}" for name, values in vary.items())
        raise InvalidInput(
            f"{sizes} are {count} candidates, and at most {most} are measured: vary less, or allow"
            " more with --max"
        )
    baseline = Candidate(name="baseline", kind=kind, options=options)
    candidates = {settings_key(baseline): baseline}
    for values in product(*vary.values()):
        chosen = dict(zip(vary, values, strict=True))
        one = _candidate(chosen, kind, options, current)
        if settings_key(one) == settings_key(baseline):
            candidates[settings_key(one)] = one  # the baseline by its own name
        else:
            candidates.setdefault(settings_key(one), one)
    return list(candidates.values())


def _unknown(name: str, kind: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, ["mode", *OF_A_COPY, *known], 1)
    hint = f"did you mean {near[0]!r}?" if near else f"use {VARIED}"
    return f"{kind} has no setting {name!r:.100}; {hint}"


def _candidate(
    chosen: Mapping[str, Any], kind: str, options: Mapping[str, Any], current: Mapping[str, Any]
) -> Candidate:
    wanted = dict(options)
    for name, value in chosen.items():
        if name == "mode":
            wanted.update(_mode(value))
        elif name not in OF_A_COPY:
            wanted.pop(name, None)
            if value is not None and value != []:
                wanted[name] = value
    chunking, model = chosen.get("chunking"), chosen.get("model")
    chunking = None if chunking is None else read_chunking(chunking)
    return Candidate(
        name=" ".join(f"{name}={_shown(name, value)}" for name, value in chosen.items()),
        kind=kind,
        options=wanted,
        chunking=None if chunking == current.get("chunking") else chunking,
        model=None if model == current.get("model") else model,
        contexts=bool(chosen.get("contexts")),
    )


def _shown(name: str, value: Any) -> str:
    plain = plain_settings({"value": value})["value"]
    if plain is None or plain == []:
        return "current" if name in OF_A_COPY else "none"
    if isinstance(plain, list) and all(isinstance(one, str) for one in plain):
        return "+".join(plain)
    if isinstance(plain, dict) and "method" in plain and plain.keys() <= {
        "method", "max_tokens", "overlap"
    }:  # fmt: skip
        parts = [plain["method"], plain.get("max_tokens"), plain.get("overlap")]
        return ":".join(str(part) for part in parts if part is not None)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def read_chunking(value: Any) -> Mapping[str, Any]:
    """Return a chunking: a mapping as it is, or METHOD[:max_tokens[:overlap]].
    Raises: InvalidInput."""
    if isinstance(value, str):
        method, *numbers = value.split(":")
        found: dict[str, Any] = {"method": method}
        try:
            for name, text in zip(("max_tokens", "overlap"), numbers, strict=False):
                found[name] = int(text) if name == "max_tokens" else float(text)
        except ValueError:
            numbers = ["", "", ""]
        if len(numbers) > 2:
            raise InvalidInput(
                f"cannot read the chunking {value!r:.100}; write METHOD, METHOD:max_tokens or"
                " METHOD:max_tokens:overlap, such as markdown:300:0.1"
            )
        value = found
    if not isinstance(value, Mapping):
        raise InvalidInput(f"a chunking is {value!r:.100}; use a mapping or METHOD:max_tokens")
    Chunking.read(value, LONGEST)
    return dict(value)


def settings_of(candidate: Candidate) -> dict[str, Any]:
    """What a run of the candidate records as its settings."""
    wanted = plain_settings(
        {**({"limit": 10} if candidate.kind == "search" else {}), **candidate.options}
    )
    wanted["cache"] = False
    if candidate.chunking is not None:
        wanted["chunking"] = dict(candidate.chunking)
    if candidate.model is not None:
        wanted["model"] = candidate.model
    if candidate.contexts:
        wanted["contexts"] = candidate.contexts_model or True
    return wanted


def settings_key(candidate: Candidate) -> str:
    """A text that is equal for candidates of equal settings."""
    return key_of(candidate.kind, settings_of(candidate))


def key_of(kind: str, settings: Mapping[str, Any]) -> str:
    """A text that is equal for runs of equal settings."""
    return json.dumps([kind, _floats(settings)], sort_keys=True)


def _floats(value: Any) -> Any:
    """0 and 0.0 are one setting."""
    if isinstance(value, Mapping):
        return {key: _floats(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_floats(one) for one in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
