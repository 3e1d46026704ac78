from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.loaders import load_dataset
from tests.evaluation.loaders.distributions import (
    finqa,
    tatqa,
    write,
)


def test_context_is_kept_in_order(tmp_path: Path) -> None:
    tatqa(tmp_path / "source")
    load_dataset("tatqa", tmp_path / "source", tmp_path / "out")
    sidecar = json.loads((tmp_path / "out" / "tables" / "t.json").read_text())
    assert sidecar == {"paragraphs": ["first", "after"]}


def test_the_gold_of_a_test_split_stands_for_the_split(tmp_path: Path) -> None:
    tatqa(tmp_path)
    raw = tmp_path / "dataset_raw"
    (raw / "tatqa_dataset_dev.json").rename(raw / "tatqa_dataset_test_gold.json")
    pages = json.loads((raw / "tatqa_dataset_test_gold.json").read_text())
    del pages[0]["questions"][0]["answer"]
    write(raw / "tatqa_dataset_test.json", pages)
    assert load_dataset("tatqa", tmp_path, tmp_path / "out") == 1
    assert Benchmark(tmp_path / "out").questions("test")[0].answers == ("12",)


def test_a_file_laid_out_otherwise_is_named(tmp_path: Path) -> None:
    write(tmp_path / "tatqa_dataset_dev.json", [{"table": {}}])
    with pytest.raises(BenchmarkError, match=r"tatqa_dataset_dev\.json is not laid out as .* KeyError"):
        load_dataset("tatqa", tmp_path, tmp_path / "out")


def test_without_traces_or_rows_there_are_no_gold_cells(tmp_path: Path) -> None:
    finqa(tmp_path)
    path = tmp_path / "dataset" / "dev.json"
    pages = json.loads(path.read_text(encoding="utf-8"))
    pages[0]["qa"]["gold_inds"] = {"text_0": "y"}
    pages[0]["qa"]["answer"] = "<b>"
    del pages[0]["qa"]["exe_ans"]
    write(path, pages)
    load_dataset("finqa", tmp_path, tmp_path / "out")
    (question,) = Benchmark(tmp_path / "out").questions("dev")
    assert (question.cells, question.answers) == ((), ("<b>",))
