"""One graph of the sample tables for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kgtable

SAMPLES = Path(kgtable.__file__).parent / "samples"


@pytest.fixture(scope="session")
def samples_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph directory of the samples."""
    path = tmp_path_factory.mktemp("integrations") / "graph"
    kgtable.build(SAMPLES, path, embedding="none").close()
    return path


@pytest.fixture
def samples_graph(samples_path: Path) -> Iterator[kgtable.KnowledgeGraph]:
    """The graph of the samples, open."""
    with kgtable.open(samples_path) as graph:
        yield graph
