"""Answers that fit a JSON schema, by any language model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag_pg.errors import (
    AnswerBlocked,
    BudgetExceeded,
    InvalidInput,
    ProviderError,
    RagError,
    UnfitAnswer,
)
from rag_pg.extras import extra
from rag_pg.protocols import LLM
from rag_pg.providers.chat import parse_json
from rag_pg.text import Fence
from rag_pg.types import Completion, Message, Usage

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

INSTRUCTION = "Answer with one JSON value that fits this JSON schema, and with nothing else:\n"


def complete_json(
    llm: LLM,
    messages: Sequence[Message],
    schema: Mapping[str, Any],
    *,
    max_tokens: int = 1024,
) -> Completion:
    """Return a completion whose `parsed` fits `schema`, and whose `usage` is that of all calls.

    A model that lacks the capability finds the schema in the prompt. An answer that does not fit is
    sent back once, with what is wrong with it.

    Raises: InvalidInput (no JSON schema), UnfitAnswer (the second answer does not fit either, or
        max_tokens cut it), AnswerBlocked and what `LLM.complete` raises; their
        `usage` is that of the calls answered before.
    """
    validator = _validator(schema)
    asked = list(messages) if llm.capabilities.schema else _with_schema(messages, schema)
    own = schema if llm.capabilities.schema else None
    usage, rule = Usage(), ""
    try:
        for _ in range(2):
            got = llm.complete(asked, schema=own, temperature=0.0, max_tokens=max_tokens)
            usage += got.usage
            parsed, wrong, rule = _parse(got, validator, llm.name, max_tokens)
            if not wrong:
                return replace(got, parsed=parsed, usage=usage)
            asked += [
                Message(role="assistant", content=got.text),
                Message(role="user", content=_complaint(wrong)),
            ]
        raise UnfitAnswer(f"{llm.name} answered twice with what does not fit the schema: {rule}")
    except ProviderError as exc:
        exc.usage = usage + (exc.usage or Usage())
        raise


# A note on what no model answered; an answer's strategy may have failed by it.
LEFT_OUT = re.compile("[^:]+ (was skipped: |failed: .+; answered by )", re.S)


def left_out(what: str, exc: RagError) -> str:
    """The note on what a model was asked for in vain. It "was skipped" where no model answered,
    which a run of an evaluation counts as a failed question; it "failed" where one did."""
    if isinstance(exc, BudgetExceeded):
        return f"{what} was stopped by {exc.bound}"
    answered = isinstance(exc, AnswerBlocked | UnfitAnswer)
    told = exc.told if isinstance(exc, ProviderError) else exc
    return f"{what} {'failed' if answered else 'was skipped'}: {told}"


def _complaint(wrong: str) -> str:
    """What a model is told of its answer, whose words may come from what it read."""
    fence = Fence()
    return (
        "That does not fit the schema. Answer again, with one value that does.\n"
        f"{fence.rule}\n\n{fence.quote('what is wrong', wrong)}"
    )


def _validator(schema: Mapping[str, Any]) -> Validator:
    with extra("tools", "asking a model for JSON needs"):
        import jsonschema  # not before it is needed: it takes a tenth of a second

    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(dict(schema))
    except jsonschema.SchemaError as exc:
        raise InvalidInput(f"not a JSON schema: {exc.json_path} {exc.message}") from exc
    return kind(dict(schema))


def _with_schema(messages: Sequence[Message], schema: Mapping[str, Any]) -> list[Message]:
    """The messages with the schema at the end of the system's, which is added where there is
    none."""
    instruction = INSTRUCTION + json.dumps(schema, ensure_ascii=False)
    if messages and messages[0].role == "system":
        first, *rest = messages
        return [replace(first, content=f"{first.content}\n\n{instruction}"), *rest]
    return [Message(role="system", content=instruction), *messages]


def _parse(
    got: Completion, validator: Validator, name: str, max_tokens: int
) -> tuple[Any, str, str]:
    """The value, what is wrong with it in words that may be the model's, "" if nothing, and which
    rule of the schema it breaks. Raises: AnswerBlocked, ProviderError (cut)."""
    if got.finish == "blocked":
        raise AnswerBlocked(f"{name} stopped its answer{f' ({got.reason})' if got.reason else ''}")
    parsed = parse_json(got.text) if got.parsed is None else got.parsed
    if got.finish == "length" and parsed is None:
        limit = got.reason or f"max_tokens ({max_tokens})"
        raise UnfitAnswer(f"{name} was cut at {limit}; raise max_tokens")
    if parsed is None:
        return None, "it is not JSON", "it is not JSON"
    from jsonschema.exceptions import best_match

    error = best_match(validator.iter_errors(parsed))
    if error is None:
        return parsed, "", ""
    rule = ".".join(map(str, error.absolute_schema_path))
    return parsed, f"{error.json_path}: {error.message}"[:500], rule
