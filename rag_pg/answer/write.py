"""Hits, and what a model writes of them -> Answer, its citations read and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rag_pg.answer.attribution.judge import Judge
from rag_pg.answer.citations import CitedText
from rag_pg.answer.context import AnswerContext
from rag_pg.answer.extractive.answer import NOT_FOUND
from rag_pg.answer.locate import locate_quotes
from rag_pg.answer.prompt import SYSTEM, Prompt, build_prompt
from rag_pg.text import RULE, Fence
from rag_pg.types import Answer, Citation, Completion, Hit, ToolResult


def prompt_for(
    question: str,
    hits: Sequence[Hit],
    context: AnswerContext,
    *,
    helper: bool = False,
    around: str = "",
    expand: bool = True,
    budget_tokens: int | None = None,
) -> Prompt:
    """Return the prompt of a question over hits, within the asker's budget; a step tells it.

    Args:
        helper: it is the helper's. around: what stands in it beside rules, sources and question.
        expand: False shows the hits as they are. budget_tokens: of the sources, instead of the
            asker's.
    """
    budget = context.asker.budget_tokens if budget_tokens is None else budget_tokens
    counter = context.asker.counter(helper=helper)
    strong = [hit for hit in hits if hit.chunk_id not in context.weak]
    saved = sum(counter.count([h.content for h in hits if h.chunk_id in context.weak]))
    limit = context.asker.source_tokens(
        f"{SYSTEM}{RULE}{question}{around}", helper=helper, most=budget
    )
    prompt = build_prompt(
        question,
        context.retriever.expand(strong) if expand else strong,
        budget_tokens=limit,
        count_tokens=counter.count,
    )
    if prompt.left_out and limit < budget and context.asker.account.is_bounded:
        shown = len(prompt.sources)
        context.trace.note(
            f"the model was shown {shown} of {shown + prompt.left_out} passages: its "
            f"bounds leave no more room"
        )
    context.trace.step(
        "context",
        chunk_ids=[source.chunk_id for source in prompt.sources],
        tokens=prompt.tokens,
        counted_by="tokenizer" if counter.exact else "estimate",
        left_out=prompt.left_out,
        repeated=prompt.repeated,
        weak=len(hits) - len(strong),
        tokens_saved=saved,
    )
    return prompt


def quote_model(name: str, text: str) -> str:
    """Return a model's text as a part of a prompt: what it read may have told it what to write."""
    fence = Fence()
    return f"{fence.rule}\n\n{fence.quote(name, text)}\n"


def write_answer(
    question: str,
    hits: Sequence[Hit],
    context: AnswerContext,
    *,
    findings: str = "",
    quotes: Mapping[int, str] | None = None,
    expand: bool = True,
    budget_tokens: int | None = None,
) -> Answer:
    """Return the model's answer to `question` from `hits`, with the sources it cites.

    Citations in the text are [n], or [n, m]; the numbers are those of `Answer.citations`. The model
    cites by keys: what it writes in brackets and is none is taken out of the text and noted, a
    number too. Without hits the model is not asked.

    Args:
        findings: what a model answered on the way, shown after the sources. quotes: what a citation
            of a chunk (by its id) quotes instead of what the model was shown. expand: False shows
            the hits as they are. budget_tokens: of the sources, instead of the asker's.
    Raises: ProviderError and its kinds, ModelUnavailable, InvalidInput (no language model).
    """
    if refused := refuse(question, hits, context):
        return refused
    prompt = prompt_for(
        question, hits, context, around=findings, expand=expand, budget_tokens=budget_tokens
    )
    if not prompt.sources:
        return not_found(context, "the search found nothing")
    more = ""
    if findings:
        name = "answered on the way, to be checked against the sources"
        more = f"\n{quote_model(name, findings)}"
    cites = context.asker.llm is not None and context.asker.llm.capabilities.citations
    messages = prompt.messages(more=more, cites=cites)
    return read_answer(
        lambda show: context.asker.complete(messages, purpose="answer", show=show),
        [replace(s, quote=quotes[s.chunk_id]) for s in prompt.sources]
        if quotes
        else prompt.sources,
        prompt.keys,
        context,
    )


def refuse(question: str, hits: Sequence[Hit], context: AnswerContext) -> Answer | None:
    """Assess hits, and return the refusal where min_support asks for more than they give."""
    judged = context.assessor.assess(question, hits)
    if judged is None or context.question.min_support is None or judged.zone != "refuse":
        return None
    return replace(not_found(context, judged.reason), support=judged.support)


def read_answer(
    complete: Callable[[Callable[[str], None] | None], Completion],
    sources: Sequence[Citation | ToolResult],
    keys: Sequence[str],
    context: AnswerContext,
) -> Answer:
    """Return the answer of a completion, whose text is told as it is judged where somebody listens.

    Args:
        complete: called with what to call with the pieces, None when nobody listens.
        sources: what may be cited, in order of their numbers. keys: by which the model cites them.
    """
    text = CitedText(keys)
    context.shown += map(shown_text, sources)
    known = context.known()
    editor = context.editor
    editor.judge = open_judge(sources, context)

    def show(piece: str) -> None:
        text.feed(piece)
        editor.feed(text, known)

    got = complete(None if context.trace.listener is None else show)
    if not text.raw:
        show(got.text)
    was_cut = got.finish == "length"
    text.close(was_cut=was_cut)
    if was_cut:
        limit = got.reason or f"max_tokens ({context.asker.answer_tokens})"
        context.trace.note(f"the answer was cut at {limit}")
    for item in text.dropped:
        context.trace.note(f"dropped citation [{item}]: there is no such source")
    if not text.found:
        return not_found(context, "the documents do not answer", text.text)
    if not text.cited:
        context.trace.note("the answer cites no source")
    cited = [source for source in sources if source.number in text.cited]
    return Answer(
        text=text.text,
        found=True,
        citations=[source for source in cited if isinstance(source, Citation)],
        tool_results=[source for source in cited if isinstance(source, ToolResult)],
        model=context.asker.llm.name if context.asker.llm else "",
        reason="the answer was cut short" if was_cut else "",
    )


def open_judge(sources: Sequence[Citation | ToolResult], context: AnswerContext) -> Judge:
    """Return the judge of what is written from these sources."""
    passages = {source.number: source.quote for source in sources if isinstance(source, Citation)}
    return Judge(
        context.question.text,
        sources,
        embedder=context.retriever.embedder,
        denied=context.denied,
        note=context.trace.note,
        locate=lambda citations: locate_quotes(citations, passages, context),
    )


def shown_text(source: Citation | ToolResult) -> str:
    """Return what a model is shown of a source."""
    if isinstance(source, ToolResult):
        return source.text
    return f"{source.title}\n{source.heading}\n{source.uri}\n{source.quote}"


def not_found(context: AnswerContext, reason: str, text: str = "") -> Answer:
    """Return the answer that the documents do not answer."""
    return Answer(
        text=text or NOT_FOUND,
        found=False,
        sufficient=False,
        reason=reason,
        model=context.asker.llm.name if context.asker.llm else "",
    )
