"""A small graph: a table of orders with long and repeated texts, one of staff, one of rivers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kgtable
from kgtable.knowledge_graph import KnowledgeGraph

ORDERS = """\
Order,Customer,Product description,Order status,Amount (EUR),Ordered on
1001,Acme,Leather wallet for gents,paid,30.00,2024-01-05
1002,Birch,Canvas bag,open,45.50,2024-01-09
1003,Acme,Leather belt,paid,25.00,2024-02-11
1004,Cedar,Leather wallet for ladies,paid,34.00,2024-02-20
1005,Birch,Umbrella,cancelled,18.00,2024-03-02
1006,Dune,Canvas bag,paid,45.50,2024-03-15
"""

STAFF = """\
Name,Department,Salary (USD),Started
Ada Moss,Research,91000,2015
Ben Oak,Sales,54000,2019
Cy Fern,Research,78000,2021
"""

RIVERS = """\
River,Country,Length (km)
Glomma,Norway,621
Torne,Sweden,522
Tana,Norway,361
"""


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tables."""
    folder = tmp_path_factory.mktemp("tablerag") / "tables"
    folder.mkdir()
    for name, text in (("orders", ORDERS), ("staff", STAFF), ("rivers", RIVERS)):
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def graph_folder(tables: Path) -> Path:
    """The folder of their graph."""
    path = tables.parent / "graph"
    kgtable.build(tables, path, embedding="none").close()
    return path


@pytest.fixture
def graph(graph_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KnowledgeGraph]:
    """The graph, opened, with a cache of its own."""
    monkeypatch.setenv("KGTABLE_CACHE", str(tmp_path / "cache"))
    with kgtable.open(graph_folder) as opened:
        yield opened
