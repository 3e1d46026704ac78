"""How much of the gold a retriever found: tables in the first k, cells within a budget of triples.

Recall@k and Precision@k follow the thesis (3.5.1, equations 5 to 8). A question whose retrieval
failed or found nothing counts as 0 in every mean.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgtable.evaluation.benchmark import Cell, Question


def recall(found: Sequence[str], gold: Sequence[str], k: int) -> float:
    """The share of the gold tables among the first `k` found.

    >>> recall(["a", "b", "c"], ["b", "d"], 2)
    0.5
    """
    wanted = set(gold)
    return len(wanted.intersection(found[:k])) / len(wanted) if wanted else 0.0


def precision(found: Sequence[str], gold: Sequence[str], k: int) -> float:
    """The share of gold tables among the first `k` found; 0 where nothing was found.

    >>> precision(["a", "b", "c"], ["b", "d"], 2)
    0.5
    """
    first = found[:k]
    return len(set(gold).intersection(first)) / len(first) if first else 0.0


def any_found(found: Sequence[str], gold: Sequence[str], k: int) -> float:
    """1 where at least one gold table is among the first `k`."""
    return float(not set(gold).isdisjoint(found[:k]))


def all_found(found: Sequence[str], gold: Sequence[str], k: int) -> float:
    """1 where every gold table is among the first `k`."""
    return float(bool(gold) and set(gold) <= set(found[:k]))


def table_scores(question: Question, found: Sequence[str], cutoffs: Sequence[int]) -> dict[str, float]:
    """Recall, precision and accuracy in both readings at each cutoff.

    Where any one gold table is enough (`any_of`), finding one is full recall.
    """
    scores: dict[str, float] = {}
    for k in cutoffs:
        one = any_found(found, question.tables, k)
        scores[f"recall@{k}"] = one if question.any_of else recall(found, question.tables, k)
        scores[f"precision@{k}"] = precision(found, question.tables, k)
        scores[f"any@{k}"] = one
        scores[f"all@{k}"] = one if question.any_of else all_found(found, question.tables, k)
    return scores


def cell_scores(question: Question, found: Sequence[Cell], budgets: Sequence[int]) -> dict[str, float]:
    """The share of the gold cells among the first triples, for each budget of triples.

    >>> question = Question("q", "?", cells=(("t", 1, 0), ("t", 1, 2)))
    >>> cell_scores(question, [("t", 1, 0), ("t", 2, 0), ("t", 1, 2)], [1, 3])
    {'cells@1': 0.5, 'cells@3': 1.0}
    """
    ranks = {cell: rank for rank, cell in reversed(list(enumerate(found)))}
    wanted = set(question.cells)
    return {
        f"cells@{budget}": sum(ranks.get(cell, budget) < budget for cell in wanted) / len(wanted)
        for budget in budgets
    }
