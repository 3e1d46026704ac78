from __future__ import annotations

import pytest

from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.scoring import answer_scores, asked, readings, retrieval_scores, verdict_of
from kgtable.retrieval.result import Retrieval, ScoredTable, ScoredTriple


def triple(table: str, row: int, column: int) -> ScoredTriple:
    return ScoredTriple(table, row, column, "s", "p", "o", None, None, None, None, "cell", 1.0)


FOUND = Retrieval("?", (triple("a", 1, 1), triple("b", 2, 0)), (ScoredTable("a", 2.0), ScoredTable("b", 1.0)))


def test_traced_cells_are_counted_apart_from_matched_ones() -> None:
    cells = (("b", 2, 0), ("c", 1, 1))
    strict = retrieval_scores(
        BenchmarkQuestion("q", "?", (), ("b",), cells, extra={"cells_from": "squall"}), FOUND, 1_000
    )
    assert (strict["recall@1"], strict["recall@3"], strict["cells@100"]) == (0.0, 1.0, 0.5)
    mixed = BenchmarkQuestion("q", "?", (), ("b",), cells, extra={"cells_from": "squall+answer"})
    loose = retrieval_scores(mixed, FOUND, 1_000)
    assert loose["matched_cells@1000"] == 0.5
    assert not any(name.startswith("cells@") for name in loose)


def test_budgets_end_at_what_was_asked_for() -> None:
    question = BenchmarkQuestion("q", "?", cells=(("b", 2, 0),), extra={"cells_from": "sql"})
    names = {name for name in retrieval_scores(question, FOUND, 200) if name.startswith("cells")}
    assert names == {"cells@100", "cells@200"}


def test_nothing_found_is_zero_and_counted_as_failed() -> None:
    question = BenchmarkQuestion("q", "?", tables=("z",), cells=(("z", 1, 1),), extra={"cells_from": "sql"})
    scores = retrieval_scores(question, FOUND, 100)
    assert (scores["no_table"], scores["no_cell"], scores["recall@30"]) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("text", "gold", "scale", "expected"),
    [
        ("44 ships", ("44",), "", {"exact": 0.0, "numeric": 1.0, "contained": 1.0, "match": 1.0}),
        ("Skarv; Fjell", ("Fjell", "Skarv"), "", {"exact": 1.0, "match": 1.0}),
        ("Skarv, Fjell", ("Fjell", "Skarv"), "", {"exact": 1.0}),
        ("Skarv and Fjell", ("Fjell", "Skarv"), "", {"exact": 1.0}),
        ("Skarv", ("Fjell", "Skarv"), "", {"exact": 0.0, "contained": 0.0, "match": 0.0}),
        ("Oslo, Norway", ("Oslo, Norway",), "", {"exact": 1.0}),
        ("1,234,000", ("1234",), "thousand", {"exact": 0.0, "numeric": 1.0}),
        ("", ("44",), "", {"exact": 0.0, "numeric": 0.0, "contained": 0.0, "f1": 0.0, "match": 0.0}),
    ],
)
def test_answers(text: str, gold: tuple[str, ...], scale: str, expected: dict[str, float]) -> None:
    scores = answer_scores(BenchmarkQuestion("q", "?", gold, extra={"scale": scale}), text)
    assert expected.items() <= scores.items()


def test_the_resolved_value_of_an_answer_counts_as_well() -> None:
    question = BenchmarkQuestion("q", "?", ("1234",), extra={"scale": "million"})
    assert answer_scores(question, "about one billion", "1234000000")["numeric"] == 1.0


@pytest.mark.parametrize(
    ("text", "label", "right"),
    [("Yes.", 1, 1.0), ("No, in 1903.", 0, 1.0), ("False", 1, 0.0), ("I cannot tell", 0, 0.0), ("", 0, 0.0)],
)
def test_statements(text: str, label: int, right: float) -> None:
    fact = BenchmarkQuestion("q", "It rained.", ("0",), extra={"label": label})
    assert answer_scores(fact, text) == {"fact": right, "match": right}
    assert asked(fact).endswith("Statement: It rained.")


def test_verdicts_and_readings() -> None:
    assert [verdict_of(text) for text in ("TRUE", "not so", "maybe", "10")] == [True, False, None, None]
    assert readings("a; b; c", 2) == [["a; b; c"]]
