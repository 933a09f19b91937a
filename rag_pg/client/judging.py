"""Judges of runs, the labels of people, and how well the one agrees with the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_pg.client.resources import HasDatabase, Resources
from rag_pg.errors import NotFound
from rag_pg.protocols import LLM
from rag_pg.search import accounted
from rag_pg.types import EvalJudge, JudgeAgreement, JudgeReport, LabelledResult, LabelReport

if TYPE_CHECKING:
    from rag_pg.evaluation import Judge


class Judging:
    """The methods of `Rag` about judges of runs."""

    def judge_run(
        self: Resources,
        run_id: int,
        judge: str | Callable[..., Any] | Judge,
        *,
        llm: str | LLM | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
    ) -> JudgeReport:
        """Have a judge score the results of a run.

        Args:
            judge: faithfulness, answer_relevance, context_relevance or correctness, by a language
                model; module:function or a function of question, answer, contexts and right
                answers, which returns a score from 0 to 1; sql:<schema>.<function> for a function
                of the database with the same arguments.
            llm: the judging model; default: RAG_PG_HELPER_LLM, else RAG_PG_LLM.
            max_tokens, max_cost: of all calls, tokens and US dollars; a result whose call might
                pass one is not judged, which `failures` say.
        Its metrics are advisory until `measure_judge` has compared it with people.
        """
        from rag_pg.evaluation import find_judge, judge_run

        database = self.database
        if isinstance(judge, str) and judge.startswith("sql:"):
            return database.score_answers(run_id, judge.removeprefix("sql:"))
        models = self.models
        model = (models.helper_llm(llm) or models.llm(llm)) if isinstance(llm, str | None) else llm
        find_judge(judge, database, model)  # its name is checked before the run is looked for
        (run,) = database.list_eval_runs(run_id=run_id) or (None,)
        if run is None:
            raise NotFound(f"there is no evaluation run {run_id}; Rag.eval_runs lists them")
        database.require_insert("eval_scores")
        with accounted(
            database, run.collection, "evaluation", max_tokens=max_tokens, max_cost=max_cost
        ) as account:
            metered = None if model is None else account.meter(model, "judge")
            return judge_run(database, run_id, find_judge(judge, database, metered))

    def measure_judge(
        self: HasDatabase, judge: str, judge_version: str, *, reference: str = "human"
    ) -> JudgeAgreement:
        """Compare a judge's scores with those of people, and keep the result.

        From 20 labels on, its metrics are not advisory. reference: human, labels, or human:name.
        Raises: NotFound, InvalidInput.
        """
        return self.database.measure_judge(judge, judge_version, reference)

    def eval_judges(self: HasDatabase) -> list[EvalJudge]:
        """The judges that scored results, of each the version that scored last first."""
        return self.database.list_judges()

    def label_run(
        self: HasDatabase,
        run_id: int,
        labels: Sequence[Mapping[str, Any]] | str | Path,
        *,
        person: str = "",
    ) -> LabelReport:
        """Store what people say of the results of a run, which judges are measured by.

        Args:
            labels: objects of query_id, score (0 to 1, yes or no) and perhaps reason, or a file of
                them, JSON Lines or CSV. A question that was labelled before gets the new label.
            person: who labels, where there are several: the judge human:<person>.
        Returns: how many are stored, and what is not: unknown questions, scores that are none.
        Raises: InvalidInput (a file that cannot be read, a run without results), NotFound.
        """
        from rag_pg.evaluation import put_labels

        given = Path(labels) if isinstance(labels, str | Path) else labels
        return put_labels(self.database, run_id, given, person)

    def labelled_results(
        self: HasDatabase, run_id: int, *, person: str = ""
    ) -> list[LabelledResult]:
        """The results of a run with their labels and what judges say of them. Raises: NotFound."""
        from rag_pg.evaluation import judge_of

        return self.database.labelled_results(run_id, judge_of(person))
