"""What a language model writes about a chunk's place in its document.

Source: Anthropic, Introducing Contextual Retrieval, 2024; its prompt, with the texts fenced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rag_pg.errors import AnswerBlocked, ProviderError
from rag_pg.protocols import LLM
from rag_pg.providers import prompt_budget
from rag_pg.text import Fence, estimate_tokens
from rag_pg.types import Message

ANSWER_TOKENS = 150  # 50 to 100 are asked for
LONGEST = 100_000  # characters of a document that are read where the model's limit is not known
MIN_TOKENS = 16  # tokens: a context of fewer says nothing
QUESTION = (
    "Give a short succinct context to situate this chunk within the overall document, for the"
    " purposes of improving search retrieval of the chunk. Answer only with the succinct context"
    " and nothing else."
)


def write_context(
    llm: LLM, title: str, content: str, chunk: str, *, start: int | None, fence: Fence
) -> str:
    """Return a sentence or two, in one line, about where in the document the chunk stands.

    Args:
        start: of the chunk, in characters of the content: what is read of a document that is too
            long for the model stands around it.
        fence: the same for all chunks of a document, so that a provider can cache the prompt's
            beginning.
    Raises: AnswerBlocked, ProviderError (an empty answer), and what `LLM.complete` raises.
    """
    prompt = context_prompt(title, _around(llm, content, start or 0), chunk, fence)
    got = llm.complete(prompt, temperature=0.0, max_tokens=ANSWER_TOKENS)
    if got.finish == "blocked":
        raise AnswerBlocked(f"{llm.name} stopped its answer")
    text = " ".join(got.text.split())
    if got.finish == "length":  # it ends with its last whole sentence, or word
        text = text[: text.rfind(". ") + 1] or text.rpartition(" ")[0]
    if not text:
        raise ProviderError(f"{llm.name} gave an empty context")
    return text


def context_prompt(title: str, content: str, chunk: str, fence: Fence) -> list[Message]:
    """The messages that ask for a context: the document first, which is the same for its chunks."""
    document = f"{title}\n\n{content}" if title else content
    return [
        Message(role="system", content=f"{fence.rule}\n\n{fence.quote('document', document)}"),
        Message(
            role="user",
            content="Here is the chunk we want to situate within the whole document.\n"
            f"{fence.quote('chunk', chunk)}\n{QUESTION}",
        ),
    ]


def fit_context(
    context: str,
    embedded: Callable[[str], str],
    count: Callable[[Sequence[str]], list[int]],
    longest: int,
) -> str | None:
    """Return the context, cut between words so that the chunk is embedded whole behind it; None
    where there is no room for one.

    Args:
        embedded: from a context to what is embedded. count: its tokens. longest: those that the
            embedder reads.
    """
    words = context.split()
    over = count([embedded(context)])[0] - longest
    while over > 0 and words:
        words = words[: -max(1, min(over // 2, len(words) // 4))]
        over = count([embedded(" ".join(words))])[0] - longest
    short = " ".join(words)
    if short != context and (not short or count([short])[0] < MIN_TOKENS):
        return None
    return short


def _around(llm: LLM, content: str, start: int) -> str:
    """What of a document fits into a prompt to the model: all of it, or a part around a place."""
    budget = prompt_budget(llm, max_tokens=ANSWER_TOKENS)
    size = LONGEST
    if budget is not None:
        tokens = estimate_tokens([content])[0]
        size = len(content) * max(0, budget - 3000) // max(tokens, 1)
    if len(content) <= size:
        return content
    first = max(0, min(start - size // 2, len(content) - size))
    return content[first : first + size]
