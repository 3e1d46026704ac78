from __future__ import annotations

import pytest

from tests.answering.offline.rows import MEDALS, RACES, REPORT, linking


def test_the_longest_words_that_are_a_cell_are_mentioned() -> None:
    (mention,) = linking("How often did Anna Berg win?", RACES).mentions
    assert (mention.column, mention.rows) == (2, {1, 3})
    assert linking("How often did Anna Berg win?", RACES).question.words[mention.start : mention.end] == (
        "anna",
        "berg",
    )
    assert linking("How many ships?", RACES).mentions == ()


def test_rows_hold_all_that_is_named() -> None:
    assert linking("How far was the Fjord Cup of Anna Berg?", RACES).named_rows() == (1, 3)
    assert linking("Who won in 2012 the Fjord Cup?", RACES).named_rows() == (3,)
    assert linking("Who won?", RACES).named_rows() is None


def test_columns_are_scored_by_their_headers() -> None:
    found = linking("How many gold medals did Norway win?", MEDALS)
    scores = found.column_scores()
    assert max(scores, key=lambda column: scores[column]) == 2
    assert found.answer_column()[0] == 2
    assert set(linking("zzz?", MEDALS).column_scores().values()) == {0.0}


def test_the_row_that_says_the_most_is_best() -> None:
    best = linking("What were net sales in 2018?", REPORT).best_row()
    assert best is not None
    assert best[0] == 1
    assert linking("zzz?", REPORT).best_row() is None
    assert linking("net sales", (("a", "b"),)).best_row() is None


@pytest.mark.parametrize(
    ("question", "rows"),
    [("Which nations won more than 2 gold?", (1, 2, 3)), ("Which nations won more than 9 gold?", ())],
)
def test_thresholds_keep_the_rows_that_meet_them(question: str, rows: tuple[int, ...]) -> None:
    found = linking(question, MEDALS)
    assert found.conditioned(found.view.rows)[:2] == (rows, True)
    kept = found.without_thresholds()
    assert kept.conditioned(kept.view.rows)[:2] == (found.view.rows, False)
