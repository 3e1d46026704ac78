from __future__ import annotations

from pathlib import Path

import pytest

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.loaders import load_dataset
from tests.evaluation.loaders.distributions import (
    spider,
    write,
)


def test_an_sql_that_fails_is_told_and_not_dropped(tmp_path: Path) -> None:
    spider(tmp_path / "source")
    assert load_dataset("spider", tmp_path / "source", tmp_path / "out") == 2
    assert "no such column" in Benchmark(tmp_path / "out").questions("dev")[1].extra["sql_fault"]


def test_a_database_that_is_not_there_is_named(tmp_path: Path) -> None:
    spider(tmp_path)
    (tmp_path / "database" / "league" / "league.sqlite").unlink()
    with pytest.raises(BenchmarkError, match="Unpack Spider's databases"):
        load_dataset("spider", tmp_path, tmp_path / "out")


def test_no_query_can_write(tmp_path: Path) -> None:
    spider(tmp_path)
    write(tmp_path / "dev.json", [{"db_id": "league", "question": "?", "query": "DROP TABLE Team"}])
    load_dataset("spider", tmp_path, tmp_path / "out")
    assert "readonly" in Benchmark(tmp_path / "out").questions("dev")[0].extra["sql_fault"]
