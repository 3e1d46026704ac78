"""Mean reciprocal rank and nDCG of the tables, computed by ir-measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgtable.errors import MissingExtraError
from kgtable.evaluation.benchmark import Question

NDCG_AT = 10


def ranking_scores(
    questions: Sequence[Question], found: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """``mrr`` and ``ndcg@10`` by question id, for the questions that have gold tables.

    `found` are the table ids by question id, best first; a question that is absent found nothing.
    Raises `MissingExtraError` without ir-measures.
    """
    try:
        import ir_measures
    except ImportError:
        raise MissingExtraError("Evaluation", "eval") from None
    names = {ir_measures.RR: "mrr", ir_measures.nDCG @ NDCG_AT: f"ndcg@{NDCG_AT}"}
    judged = [question for question in questions if question.tables]
    gold = [
        ir_measures.Qrel(question.id, table, 1) for question in judged for table in sorted({*question.tables})
    ]
    run = [
        ir_measures.ScoredDoc(question.id, table, -float(rank))
        for question in judged
        for rank, table in enumerate(dict.fromkeys(found.get(question.id, ())))
    ]
    scores = {question.id: dict.fromkeys(names.values(), 0.0) for question in judged}
    if run:
        for metric in ir_measures.iter_calc(list(names), gold, run):
            scores[metric.query_id][names[metric.measure]] = float(metric.value)
    return scores
