from __future__ import annotations

import csv
from pathlib import Path

import pytest

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.loaders import load_dataset
from tests.evaluation.loaders.distributions import (
    ottqa,
    tabfact,
    wikitablequestions,
    write,
)


def test_simple_and_complex_statements_about_one_table_have_ids_of_their_own(tmp_path: Path) -> None:
    tabfact(tmp_path)
    more = {"2-1-1.html.csv": [["rovers lead by three"], [1], "league"]}
    write(tmp_path / "collected_data" / "r2_training_all.json", more)
    assert load_dataset("tabfact", tmp_path, tmp_path / "out") == 3
    found = Benchmark(tmp_path / "out").questions("val")
    assert [question.id for question in found] == ["tf_2-1-1-0", "tf_2-1-1-1", "tf_2-1-1-2"]


def test_an_absent_table_is_named(tmp_path: Path) -> None:
    wikitablequestions(tmp_path / "source")
    (tmp_path / "source" / "csv" / "204-csv" / "5.tsv").unlink()
    with pytest.raises(BenchmarkError, match=r"5\.tsv is not there"):
        load_dataset("wikitablequestions", tmp_path / "source", tmp_path / "out")


def test_escaped_texts_are_what_they_stand_for(tmp_path: Path) -> None:
    wikitablequestions(tmp_path)
    write(tmp_path / "csv" / "204-csv" / "5.tsv", "a\\pb\tc\\\\n\n\\n\t\u202e<b>\n")
    load_dataset("wikitablequestions", tmp_path, tmp_path / "out")
    with (tmp_path / "out" / "tables" / "204_5.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["a|b", "c\\n"], ["\n", "\u202e<b>"]]


def test_statements_without_splits_are_in_one(tmp_path: Path) -> None:
    tabfact(tmp_path)
    (tmp_path / "data" / "val_id.json").unlink()
    assert load_dataset("tabfact", tmp_path, tmp_path / "out") == 2
    assert Benchmark(tmp_path / "out").splits() == ("all",)


def test_a_split_without_traces_has_no_gold_cells(tmp_path: Path) -> None:
    ottqa(tmp_path)
    (tmp_path / "released_data" / "dev.traced.json").unlink()
    load_dataset("ottqa", tmp_path, tmp_path / "out")
    assert Benchmark(tmp_path / "out").questions("dev")[0].cells == ()
