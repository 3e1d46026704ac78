from __future__ import annotations

from pathlib import Path

import pytest

from kgtable.building.generations import Generation
from kgtable.index.graph_index import GraphIndex
from tests.index.sample_graph import build, load_words, write_tables


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tables(tmp_path_factory.mktemp("sample") / "tables")


@pytest.fixture(scope="session")
def generation(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Generation:
    return build(tables, tmp_path_factory.mktemp("sample-graph"))


@pytest.fixture(scope="session")
def index(generation: Generation) -> GraphIndex:
    return GraphIndex(generation.index_path, load_words)
