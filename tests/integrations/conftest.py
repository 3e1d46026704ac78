"""One graph of the sample tables for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kgtable

SAMPLES = Path(kgtable.__file__).parent / "samples"


@pytest.fixture
def samples_graph(samples_path: Path) -> Iterator[kgtable.KnowledgeGraph]:
    """The graph of the samples, open."""
    with kgtable.open(samples_path) as graph:
        yield graph
