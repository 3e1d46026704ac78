from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.loaders import load_dataset
from tests.evaluation.loaders.distributions import (
    hitab,
    lines,
    write,
)


def test_the_cells_of_the_answer_are_gold_and_others_are_not(tmp_path: Path) -> None:
    hitab(tmp_path)
    load_dataset("hitab", tmp_path, tmp_path / "out")
    (question,) = Benchmark(tmp_path / "out").questions("dev")
    assert question.cells == (("7", 2, 1),)
    assert json.loads((tmp_path / "out" / "tables" / "7.json").read_text(encoding="utf-8")) == {
        "title": "Clubs"
    }


@pytest.mark.parametrize(
    "linked", [{}, {"quantity_link": {}}, {"quantity_link": {"a": {"(2, 1)": {"x": 1}}}}]
)
def test_a_question_without_linked_cells(linked: dict[str, object], tmp_path: Path) -> None:
    item = {"id": "h1", "table_id": "7", "question": "?", "answer": [1, "<b>"], "linked_cells": linked}
    hitab(tmp_path)
    write(tmp_path / "data" / "dev_samples.jsonl", lines(item))
    load_dataset("hitab", tmp_path, tmp_path / "out")
    (question,) = Benchmark(tmp_path / "out").questions("dev")
    assert (question.cells, question.answers) == ((), ("1", "<b>"))


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    hitab(tmp_path)
    (tmp_path / "data" / "tables" / "raw" / "7.json").unlink()
    with pytest.raises(BenchmarkError, match=r"7\.json is not there"):
        load_dataset("hitab", tmp_path, tmp_path / "out")
