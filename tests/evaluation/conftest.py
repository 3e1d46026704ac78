from __future__ import annotations

import pytest

import kgtable
from kgtable.evaluation.benchmark import Benchmark
from tests.evaluation.sample import build, write_benchmark


@pytest.fixture(scope="session")
def benchmark_folder(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return write_benchmark(tmp_path_factory.mktemp("benchmark") / "small")


@pytest.fixture(scope="session")
def graph(benchmark_folder: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> kgtable.KnowledgeGraph:
    return build(benchmark_folder, tmp_path_factory.mktemp("graphs") / "small")
