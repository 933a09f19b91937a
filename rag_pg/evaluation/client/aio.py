"""The namespaces `evaluation` for asyncio: `make docs` writes this from those that wait."""

from __future__ import annotations

from rag_pg.client import Beside, Inner, Threaded
from rag_pg.evaluation.client.collection import CollectionEvaluation
from rag_pg.evaluation.client.gates import Gates
from rag_pg.evaluation.client.runs import EvalJudges, EvalRuns, EvalSets, Evaluation


# written by make docs
class AsyncEvalSets(Beside[EvalSets]):
    """As `EvalSets`."""

    list = Threaded(EvalSets.list)
    queries = Threaded(EvalSets.queries)
    put = Threaded(EvalSets.put)
    import_file = Threaded(EvalSets.import_file)
    export_file = Threaded(EvalSets.export_file)
    drop = Threaded(EvalSets.drop)


class AsyncEvalRuns(Beside[EvalRuns]):
    """As `EvalRuns`."""

    list = Threaded(EvalRuns.list)
    get = Threaded(EvalRuns.get)
    results = Threaded(EvalRuns.results)
    metrics = Threaded(EvalRuns.metrics)
    compare = Threaded(EvalRuns.compare)
    compare_queries = Threaded(EvalRuns.compare_queries)
    report = Threaded(EvalRuns.report)
    export_file = Threaded(EvalRuns.export_file)
    set_baseline = Threaded(EvalRuns.set_baseline)
    drop = Threaded(EvalRuns.drop)
    judge = Threaded(EvalRuns.judge)
    label = Threaded(EvalRuns.label)
    labelled = Threaded(EvalRuns.labelled)


class AsyncEvalJudges(Beside[EvalJudges]):
    """As `EvalJudges`."""

    list = Threaded(EvalJudges.list)
    measure = Threaded(EvalJudges.measure)


class AsyncEvaluation(Beside[Evaluation]):
    """As `Evaluation`."""

    sets = Inner(AsyncEvalSets)
    runs = Inner(AsyncEvalRuns)
    judges = Inner(AsyncEvalJudges)


class AsyncGates(Beside[Gates]):
    """As `Gates`."""

    list = Threaded(Gates.list)
    set = Threaded(Gates.set)
    drop = Threaded(Gates.drop)
    check = Threaded(Gates.check)
    checks = Threaded(Gates.checks)


class AsyncCollectionEvaluation(Beside[CollectionEvaluation]):
    """As `CollectionEvaluation`."""

    gates = Inner(AsyncGates)
    run = Threaded(CollectionEvaluation.run)
    import_run = Threaded(CollectionEvaluation.import_run)
    embed_queries = Threaded(CollectionEvaluation.embed_queries)
    drift = Threaded(CollectionEvaluation.drift)
    estimate_queries = Threaded(CollectionEvaluation.estimate_queries)
    generate_queries = Threaded(CollectionEvaluation.generate_queries)
    add_logged_queries = Threaded(CollectionEvaluation.add_logged_queries)
    sweep = Threaded(CollectionEvaluation.sweep)
    estimate_sweep = Threaded(CollectionEvaluation.estimate_sweep)
    calibrate = Threaded(CollectionEvaluation.calibrate)
    estimate_calibration = Threaded(CollectionEvaluation.estimate_calibration)
    calibration = Threaded(CollectionEvaluation.calibration)
    drop_calibration = Threaded(CollectionEvaluation.drop_calibration)
    audit = Threaded(CollectionEvaluation.audit)
    advise = Threaded(CollectionEvaluation.advise)
    replay = Threaded(CollectionEvaluation.replay)
    measure_recall = Threaded(CollectionEvaluation.measure_recall)
    recall_measures = Threaded(CollectionEvaluation.recall_measures)


# end
