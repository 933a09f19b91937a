"""Answers from a collection."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Unpack

from rag_pg.answer import AskOptions
from rag_pg.client.opened import OpenCollection
from rag_pg.protocols import LLM
from rag_pg.types import Answer, Event


class Answers(OpenCollection):
    """The methods of `Collection` that answer."""

    def ask(self, question: str, **options: Unpack[AskOptions]) -> Answer:
        """Answer from the documents, with citations, or say that they do not answer.

        Args:
            strategy: how: auto (the default) chooses; extractive, single, verify, self_ask,
                iterative, evidence, agent, full_context, a name given to `register_strategy`, or a
                function of a question and an `AnswerContext`. See docs/guides/answers.md.
            verify: once or strict: the helper judges the statements too, by one call, or by one for
                each. It may deny them, and lifts a doubt where it quotes what the source has.
            unsupported: drop, mark or keep the statements that are found to have no support, cited
                or not, and single citations that do not support a statement which others do. They
                are listed in `Answer.unsupported`, and told by `Citation.supports`, in any case.
                Default: mark; drop with verify, and for strategy verify. They are found by the
                words, figures and meaning of what they cite, or where they cite nothing of all that
                the model was shown, which tells other things and other figures, not a misreading.
            llm: extractive (no key needed; the default unless RAG_PG_LLM says otherwise),
                gemini[:<model>], openai:<model>, anthropic:<model>, local, or an object of the
                protocol `LLM`.
            rewrite: names of rewrites, see docs/guides/questions.md. history: the turns before the
                question, each with role and content; a follow-up is made to stand alone.
            helper_llm: what rewrites, checks and extracts; default: RAG_PG_HELPER_LLM, else llm.
            expand: window shows the model the chunk before and after each hit as well, section the
                hit's whole section; hits that stand beside each other are one source in any case.
            max_steps: 1 to 50, default 4: how often a strategy searches anew, or calls the model
                with tools. max_tokens, max_cost: of all calls, tokens and US dollars. timeout:
                seconds for the whole answer. A call that might pass one of these is not made; the
                answer is made of what there is, which notes and reason say.
            tools: what the model may call beside the collection's own, see docs/guides/tools.md:
                functions, `AgentTool`, names of SQL functions ("schema.function") or
                `SqlFunction`, `McpTools` or their servers ("stdio:…", "https://…"). With tools
                auto is agent.
            cache: True: an answer that was given before is given again while neither the collection
                nor the caller's rights have changed, and this one is kept; False: nothing is read
                from the cache or kept; None: as the client's settings say.
            min_support: 0 to 1: refuse what the calibration does not show to be right that often,
                see `calibrate`; without one, and for what the strategy does not assess (agent,
                metadata), it is noted and nothing is refused for it.
            views: False keeps the agent from the exposed views that this role may read.
            options: as of `search`; limit, default 8: how many hits are shown to the model;
                rerank: llm is the model that answers.
        Returns: the answer; when the strategy fails that of `single`, when the model fails that of
            `extractive`, which `notes` say.
        Raises: as `search`, InvalidInput (unknown strategy or model, no model where one is
            needed, max_cost for a model without a known price), ProviderAuth (its key is refused),
            ModelUnavailable (its library is missing).
        """
        return self._answer(question, options)

    def stream(self, question: str, **options: Unpack[AskOptions]) -> Generator[Event]:
        """Yield what happens while a question is answered, and the answer last; see `Event`.

        The text comes in statements that were judged, as the answer has it; with verify after all.

        Args: as of `ask`. Closing the iterator ends the work at its next event. Raises: as `ask`.
        """
        from rag_pg.answer import stream_events  # not before there is a question

        return stream_events(lambda listener: self._answer(question, options, listener=listener))

    def _answer(
        self,
        question: str,
        options: AskOptions,
        *,
        listener: Callable[[Event], None] | None = None,
        admit: Callable[[LLM, int], None] | None = None,
        logged: bool = True,
    ) -> Answer:
        """As `ask`, for programs that pass it on: listener is called with every event but the
        answer, admit before each call of a model (see `rag_pg.providers.Account`). logged: whether
        it may be kept in the log of answers, and its searches in the sample of live queries."""
        from rag_pg.answer import ask_question

        return ask_question(
            question,
            options,
            searcher=self._searcher if logged else self._searcher.unsampled(),
            models=self.rag.models,
            listener=listener,
            admit=admit,
            is_logged=logged,
        )
