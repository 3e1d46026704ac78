from __future__ import annotations

import pytest

from kgtable.errors import UsageError
from kgtable.graph.remote.dialects import DIALECTS, dialect_named


def test_every_dialect_is_found_by_its_name() -> None:
    assert {name: dialect_named(name.upper()).name for name in DIALECTS} == {name: name for name in DIALECTS}
    with pytest.raises(UsageError, match="generic, kgtable"):
        dialect_named("blazegraph")


def test_how_the_union_is_asked_for() -> None:
    assert dialect_named("oxigraph").dataset(True) == [("union-default-graph", "true")]
    assert dialect_named("oxigraph").dataset(False) == []
    union = dialect_named("fuseki").dataset(True)
    assert ("default-graph-uri", "urn:x-arq:UnionGraph") in union
    assert ("default-graph-uri", "urn:x-arq:DefaultGraph") in union
    assert dialect_named("generic").dataset(True) == []


@pytest.mark.parametrize("name", ["virtuoso", "neptune"])
def test_engines_without_a_default_graph_keep_the_description_under_a_name(name: str) -> None:
    dialect = dialect_named(name)
    assert dialect.dataset(False) == [("default-graph-uri", dialect.default_graph)]
