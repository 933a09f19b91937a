"""What a strategy has at hand, and the account of what it does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from rag_pg.answer.addresses import Known
from rag_pg.answer.answerability import assess
from rag_pg.answer.editor import Editor
from rag_pg.answer.extractive import judge_strength
from rag_pg.answer.judge import Judge
from rag_pg.answer.llm_relevance import (
    JUDGEMENT_SCHEMA,
    Judgement,
    find_judge,
    judgement_messages,
    read_judgement,
)
from rag_pg.answer.passage_scores import Evidence, examine
from rag_pg.answer.prompt import BUDGET_TOKENS, LEAST_TOKENS, SEPARATORS
from rag_pg.answer.term_match import MatchTerms
from rag_pg.errors import (
    AnswerBlocked,
    BudgetExceeded,
    InvalidInput,
    ProviderAuth,
    ProviderError,
    RagError,
    UnusableReply,
)
from rag_pg.protocols import LLM, Embedder
from rag_pg.providers import (
    LEAST_ANSWER,
    Account,
    Bounds,
    TokenCounter,
    complete_json,
    prompt_budget,
    token_counter,
)
from rag_pg.text import estimate_tokens
from rag_pg.types import (
    Assessment,
    Calibration,
    CheckedQuote,
    Citation,
    Completion,
    CosineSpread,
    Document,
    Event,
    Hit,
    Hits,
    Message,
    MetadataQuery,
    MetadataResult,
    Route,
    Step,
    Tool,
    Toolset,
    Usage,
)

ANSWER_TOKENS = 1024
_EVENTS: dict[str, Literal["search", "tool_call", "tool_result"]] = {
    "search": "search",
    "tool_call": "tool_call",
    "tool_result": "tool_result",
}


@dataclass(kw_only=True, slots=True)
class AnswerContext:
    """The searches, models and bounds of one question; `steps`, `notes` and `usage` tell what was
    done.

    find: searches the collection; its options are those of the question. expand: puts hits that
    stand beside each other together, and more around them where the question asks for it. read: a
    document with its content, None where there is none. embedder: opens the collection's.
    cosine_spread: of its space, None where that was not measured. match_terms: how rare the terms
    of a question are, and which texts have them. read_around: the text around a chunk. tools:
    what a model may call beside searching and calculating. llm: writes the answer; None: there is
    none. helper_llm: checks and extracts; None: llm. history: the conversation before the
    question. route, metadata: how a question is best answered, and what the metadata say; None:
    by passages. budget_tokens: of the sources in a prompt; fewer where the model's context has no
    room for them. answer_tokens: of an answer's text. account: bounds and counts the calls of
    models. listener: is called with every event. stopped: the bound that kept a model from being
    asked, "" for none. check_citations: where quotes stand in their sources, or in the other
    chunks given; None: nobody looks. calibration: when answers are right, None where that was not
    measured. min_support: how often an answer must be right to be given. now: the day. question:
    what is asked. denied: statements that a model wrote and took back by itself. statement_judge:
    of what is written from the sources that a model was shown last. editor: what tells a listener
    the text."""

    find: Callable[..., Hits]
    read: Callable[[str], Document | None] = lambda uri: None
    expand: Callable[[Sequence[Hit]], Sequence[Hit]] = list
    embedder: Callable[[], Embedder] | None = None
    cosine_spread: Callable[[], CosineSpread | None] = lambda: None
    route: Callable[[str], Route] | None = None
    metadata: Callable[[MetadataQuery], MetadataResult] | None = None
    match_terms: MatchTerms | None = None
    read_around: Callable[[int], str | None] | None = None
    tools: Callable[[], Toolset] = Toolset
    llm: LLM | None = None
    helper_llm: LLM | None = None
    history: Sequence[Message] = ()
    budget_tokens: int = BUDGET_TOKENS
    answer_tokens: int = ANSWER_TOKENS
    account: Account = field(default_factory=Account)
    listener: Callable[[Event], None] | None = None
    check_citations: (
        Callable[[Sequence[Citation], Sequence[int], Mapping[int, str]], Sequence[CheckedQuote]]
        | None
    ) = None
    calibration: Callable[[], Calibration | None] = lambda: None
    min_support: float | None = None
    now: Callable[[], date] = date.today
    notes: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    stopped: str = ""
    failed: set[str] = field(default_factory=set)  # names of models that did not answer
    retrieved: dict[int, Hit] = field(default_factory=dict)  # by the ids of their chunks
    assessments: dict[str, Assessment] = field(default_factory=dict)  # by the question
    judgements: dict[tuple[str, tuple[int, ...]], Judgement | None] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)  # what a model was shown as a source
    weak: set[int] = field(default_factory=set)  # ids of chunks that the calibration leaves out
    question: str = ""
    denied: list[str] = field(default_factory=list)
    statement_judge: Judge | None = None
    editor: Editor | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if self.llm is not None:
            self.llm = self.account.meter(self.llm, "answer")
        if self.helper_llm is not None:
            self.helper_llm = self.account.meter(self.helper_llm, "helper", before=self.llm)

    def known(self, texts: Iterable[str] = ()) -> Known:
        """Return what the sources say: of all that was found, what a model was shown, and `texts`.
        What somebody asks is no invention of a model's either."""
        asked = (turn.content for turn in self.history if turn.role == "user")
        found = (
            f"{hit.title}\n{hit.heading}\n{hit.uri}\n{hit.content}"
            for hit in self.retrieved.values()
        )
        return Known([self.question, *asked, *found, *self.shown, *texts])

    @property
    def bounds(self) -> Bounds:
        return self.account.bounds

    @property
    def usage(self) -> Usage:
        """The tokens of all calls until now."""
        return self.account.usage

    def search(self, query: str, **options: Any) -> Hits:
        """Return the hits of a query; keywords alone answer while the embedder fails.

        Args:
            options: as of `Collection.search`, instead of those of the question.
        Raises: as `Collection.search`.
        """
        hits = self.find(query, **options)
        for text in hits.notes:
            self.note(text)
        self.retrieved |= {hit.chunk_id: hit for hit in hits}
        self._mark_weak(hits)
        found = [
            {"chunk_id": hit.chunk_id, "uri": hit.uri, "score": round(hit.score, 4)} for hit in hits
        ]
        self.step("search", seconds=hits.seconds, query=query, method=hits.method, hits=found)
        return hits

    def _mark_weak(self, hits: Hits) -> None:
        calibration = self.calibration()
        if calibration is None or calibration.context_ratio is None or not hits:
            return
        if any(hit.rerank_score is not None for hit in hits):
            return  # their order is another
        least = calibration.context_ratio * max(hit.score for hit in hits)
        found = {hit.chunk_id for hit in hits if hit.score < least}
        self.weak = (self.weak | found) - {hit.chunk_id for hit in hits if hit.score >= least}

    def assess(
        self, question: str, hits: Sequence[Hit], *, anew: bool = False
    ) -> Assessment | None:
        """Return whether hits answer the question; None where the collection is not calibrated,
        nothing was found, or nothing could be embedded.

        Judged once, by the first hits. anew: by these hits too; the better assessment holds.
        """
        before = self.assessments.get(question)
        if self.calibration() is not None and (before is None or anew):
            embedder = self.embedder() if self.embedder is not None else None
            evidence = examine(
                question,
                hits,
                embedder=embedder,
                match_terms=self.match_terms,
                spread=self.cosine_spread(),
            )
            if evidence is not None:
                self.judge(question, evidence)
                if before is not None and (before.support or 0.0) > (
                    self.assessments[question].support or 0.0
                ):
                    self.assessments[question] = before
        return self.assessments.get(question)

    def judge(self, question: str, evidence: Evidence) -> Assessment:
        """Return what evidence is worth: by the calibration; by its strength alone where there is
        none, or nothing could be embedded."""
        calibration = self.calibration()
        if calibration is not None and not evidence.is_embedded:
            self.note("the calibration was not applied, as nothing could be embedded")
        if calibration is None or not evidence.is_embedded:
            return judge_strength(question, evidence)
        judgement = self._judgement(question, evidence, calibration)
        found = assess(question, evidence, calibration, self.min_support, judgement)
        self.assessments[question] = found
        self.step(
            "assessment",
            zone=found.zone,
            support=None if found.support is None else round(found.support, 4),
            reason=found.reason,
            judgement=None if judgement is None else judgement.score,
        )
        return found

    def _judgement(
        self, question: str, evidence: Evidence, calibration: Calibration
    ) -> Judgement | None:
        """Return the judgement that the calibration was measured with, asked once of each question
        and its passages; None, with a note, where its model does not give it."""
        if calibration.judged is None:
            return None
        hits = [c.hit for c in evidence.candidates]
        key = (question, tuple(hit.chunk_id for hit in hits))
        if key not in self.judgements:
            self.judgements[key] = self._ask_judgement(question, hits, calibration.judged)
        if self.judgements[key] is None:
            self.note("support was measured without a model's judgement")
        return self.judgements[key]

    def _ask_judgement(
        self, question: str, hits: Sequence[Hit], judged: Calibration
    ) -> Judgement | None:
        models = [m for m in (self.helper_llm, self.llm) if m is not None]
        judge, why = find_judge(judged, models, self.failed)
        if judge is None:
            self.note(why)
            return None
        messages = judgement_messages(question, hits)
        reply = self._extract(messages, JUDGEMENT_SCHEMA, purpose="the judgement", by=judge)
        return None if reply is None else read_judgement(reply)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        purpose: str,
        helper: bool = False,
        by: LLM | None = None,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        show: Callable[[str], None] | None = None,
    ) -> Completion:
        """Ask the language model, or the helper.

        Args:
            purpose: for the trace; a call of the helper, and one for agent, leave room in the
                question's bounds for the answer. by: this model in the place of the helper.
            schema: then `parsed` is a value that fits it. show: is called with the text's pieces as
                they come.
        Raises: ProviderError and its kinds (AnswerBlocked, UnusableReply, also for an answer
            without a word; BudgetExceeded for a call that might pass a bound), ModelUnavailable;
            InvalidInput when there is no model.
        """
        asked = by or ((self.helper_llm or self.llm) if helper else self.llm)
        if asked is None:
            raise InvalidInput(
                "this strategy needs a language model, and the setting is extractive; "
                "set RAG_PG_LLM, pass llm, or use strategy extractive"
            )
        kind = "verify" if purpose == "check" else "helper" if helper else "answer"
        follows = purpose == "agent" or kind == "helper"  # the answer does
        llm = self.account.meter(asked, kind, before=self.llm if follows else None)
        started = time.perf_counter()
        try:
            if schema is not None:
                got = complete_json(llm, messages, schema, max_tokens=self.answer_tokens)
            elif show is None:
                got = llm.complete(messages, tools=tools, max_tokens=self.answer_tokens)
            else:
                got = _streamed(llm, messages, tools, self.answer_tokens, show)
        except Exception as exc:  # a model is anybody's code: a question must not end with it
            if isinstance(exc, BudgetExceeded):
                self.stopped = exc.bound
            elif not isinstance(exc, UnusableReply):
                self.failed.add(llm.name)
            seconds = time.perf_counter() - started
            self.step(
                "llm",
                seconds=seconds,
                usage=exc.usage if isinstance(exc, ProviderError) else None,
                purpose=purpose,
                model=llm.name,
                error=str(exc),
            )
            if isinstance(exc, RagError):
                raise
            raise ProviderError(f"{llm.name} failed: {type(exc).__name__}: {exc}") from exc
        self.step(
            "llm",
            seconds=time.perf_counter() - started,
            usage=got.usage,
            purpose=purpose,
            model=llm.name,
            finish=got.finish,
        )
        if got.finish == "blocked":
            self.failed.add(llm.name)
            reason = f" ({got.reason})" if got.reason else ""
            raise AnswerBlocked(f"{llm.name} stopped its answer{reason}; rephrase the question")
        if got.finish == "length" and not got.text.strip():
            raise ProviderError(
                f"{llm.name} used up max_tokens ({self.answer_tokens}) before it wrote a word"
            )
        return got

    def extract(
        self, instructions: str, text: str, schema: Mapping[str, Any], *, purpose: str
    ) -> Any | None:
        """Return the helper's value that fits `schema`; None, with a note, when it gives none.

        Raises: ProviderAuth, ModelUnavailable; InvalidInput when there is no model.
        """
        messages = [
            Message(role="system", content=instructions),
            Message(role="user", content=text),
        ]
        return self._extract(messages, schema, purpose=purpose)

    def _extract(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        *,
        purpose: str,
        by: LLM | None = None,
    ) -> Any | None:
        try:
            return self.complete(
                messages, purpose=purpose, helper=True, by=by, schema=schema
            ).parsed
        except ProviderAuth:
            raise
        except BudgetExceeded as exc:
            self.note(f"{purpose} was stopped by {exc.bound}")
            return None
        except ProviderError as exc:
            self.note(f"{purpose} was skipped: {exc}")
            return None

    def counter(self, *, helper: bool = False) -> TokenCounter:
        """Return what counts tokens: the tokenizer of the model, or of the helper, or an
        estimate."""
        llm = (self.helper_llm or self.llm) if helper else self.llm
        if llm is None:
            return TokenCounter(count=estimate_tokens, exact=False)
        return token_counter(llm)

    def source_tokens(self, around: str, *, helper: bool = False) -> int:
        """Return the tokens that the sources of a prompt may have.

        Args:
            around: all else that stands in the prompt. helper: it is the helper's.
        Raises: ProviderError when the model's context has no room for them, BudgetExceeded when a
            bound of the question has none.
        """
        llm = (self.helper_llm or self.llm) if helper else self.llm
        limit = self.prompt_tokens(helper=helper)
        if llm is None or limit is None:
            return self.budget_tokens
        taken = self.counter(helper=helper).count([around])[0] + SEPARATORS
        if limit - taken < LEAST_TOKENS:
            if refusal := self.account.refusal(llm, taken + LEAST_TOKENS, 2 * LEAST_ANSWER):
                self.stopped = refusal.bound
                raise refusal
            self.failed.add(llm.name)
            raise ProviderError(
                f"{llm.name} has no room for sources: its prompt may have {limit} tokens, and rules"
                f" and question take {taken}; ask a shorter question, or a model that reads more"
            )
        return min(self.budget_tokens, limit - taken)

    def prompt_tokens(self, *, helper: bool = False) -> int | None:
        """Return the tokens that a prompt may have: of the model, or of the helper; None: its limit
        is not known. That of an answer leaves room in the question's bounds for its text."""
        llm = (self.helper_llm or self.llm) if helper else self.llm
        if llm is None:
            return None
        limit = prompt_budget(llm, max_tokens=self.answer_tokens)
        if helper or not self.account.is_bounded:
            return limit
        affordable = self.account.affordable_prompt(llm, self.answer_tokens)
        return affordable if limit is None else min(limit, affordable)

    def note(self, text: str) -> None:
        """Say what was degraded, once."""
        with self._lock:
            if text not in self.notes:
                self.notes.append(text)

    def step(
        self, kind: str, *, seconds: float = 0.0, usage: Usage | None = None, **detail: Any
    ) -> None:
        """Write down what was done, and tell it; see `Step`."""
        step = Step(kind=kind, detail=detail, seconds=seconds, usage=usage or Usage())
        with self._lock:
            self.steps.append(step)
        self.emit(Event(kind=_EVENTS.get(kind, "step"), step=step))

    def emit(self, event: Event) -> None:
        """Tell an event to the listener."""
        if self.listener is not None:
            self.listener(event)


def _streamed(
    llm: LLM,
    messages: Sequence[Message],
    tools: Sequence[Tool],
    max_tokens: int,
    show: Callable[[str], None],
) -> Completion:
    """Return a streamed completion, its pieces shown. Raises: ProviderError when it ends without
    one."""
    pieces = llm.stream(messages, tools=tools, max_tokens=max_tokens)
    try:
        for piece in pieces:
            if isinstance(piece, Completion):
                return piece
            show(piece)
    finally:
        if isinstance(pieces, Generator):
            pieces.close()
    raise ProviderError(f"{llm.name} ended its stream without a completion")
