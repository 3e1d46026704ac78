from __future__ import annotations

from pathlib import Path

import pytest

from kgtable.building.generations import Generation
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import Namespaces
from kgtable.index.graph_index import GraphIndex
from tests.index.sample_graph import build, load_words, write_tables


@pytest.fixture(scope="session")
def generation(tmp_path_factory: pytest.TempPathFactory) -> Generation:
    folder: Path = tmp_path_factory.mktemp("sample-retrieval")
    return build(write_tables(folder / "tables"), folder / "kg")


@pytest.fixture(scope="session")
def index(generation: Generation) -> GraphIndex:
    return GraphIndex(generation.index_path, load_words)


@pytest.fixture(scope="session")
def names(generation: Generation) -> Namespaces:
    return Namespaces(generation.base)


@pytest.fixture(scope="session")
def store(generation: Generation, names: Namespaces) -> EmbeddedStore:
    return EmbeddedStore(generation.store_path, names.prefixes)
