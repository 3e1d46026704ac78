"""Servers the tests of this folder share: one that reads, one that also writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgtable
from kgtable.server.options import DefaultGraph, QueueLimits, ServerLimits, ServerSettings
from kgtable.server.state import GraphFolder
from tests.server.browser import CHROMIUM, DRIVER, MISSING, Browser, Chromium
from tests.server.serving import TOKEN, Running, running, store_with

DATA = """
<http://example.org/a> <http://example.org/p> 1 .
<http://example.org/g1> { <http://example.org/b> <http://example.org/p> 2 }
<http://example.org/g2> { <http://example.org/c> <http://example.org/p> 3 }
"""
SMALL = ServerLimits(query_seconds=2.0, memory=600 << 20, result=1 << 20, query_text=20_000, upload=200_000)
QUEUE = QueueLimits(processes=2, waiting=8, patience=3.0)


@pytest.fixture(scope="session")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A read-only server on a small store, with tight limits."""
    source = store_with(tmp_path_factory.mktemp("reading") / "store", DATA)
    settings = ServerSettings(port=0, limits=SMALL, queue=QUEUE, origins=("https://app.example",))
    with running(settings, source) as server:
        yield server


@pytest.fixture(scope="session")
def writable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A writable server whose queries see the store's own default graph."""
    source = store_with(tmp_path_factory.mktemp("writing") / "store", DATA)
    settings = ServerSettings(
        port=0, writable=True, token=TOKEN, limits=SMALL, queue=QUEUE, default_graph=DefaultGraph.OWN
    )
    with running(settings, source) as server:
        yield server


@pytest.fixture(scope="module")
def writing(writable: Running) -> Running:
    """The writable server with the data as they were."""
    statements = re.sub(r"(<\S+>) \{", r"GRAPH \1 {", DATA)
    assert writable.update(f"DROP ALL ; INSERT DATA {{ {statements} }}").status_code == 204
    return writable


@pytest.fixture(scope="session")
def graph_folder(samples_path: Path) -> Path:
    """A graph directory with the sample tables."""
    return samples_path


@pytest.fixture(scope="session")
def exploring(graph_folder: Path) -> Iterator[Running]:
    """A server on the sample tables."""
    with running(ServerSettings(port=0), GraphFolder(graph_folder)) as server:
        yield server


@pytest.fixture(scope="session")
def opened(graph_folder: Path) -> kgtable.KnowledgeGraph:
    """The graph of the sample tables, opened here."""
    return kgtable.open(graph_folder)


@pytest.fixture(scope="session")
def hostile_graph(tmp_path_factory: pytest.TempPathFactory) -> kgtable.KnowledgeGraph:
    """A graph whose table has markup, quotes and bidirectional text everywhere."""
    folder = tmp_path_factory.mktemp("hostile-graph")
    rows = 'Name,"<b>""x""\u202e",%\n"<script>alert(1)</script>",7,5%\n"""quoted""",(3),\n\u202eabc,-,1\n'
    (folder / "a&b <i>.csv").write_text(rows, encoding="utf-8")
    return kgtable.build(folder / "a&b <i>.csv", folder / "kg", embedding="none")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what drives the browser."""
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """The browser of the session."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip(MISSING)
    chromium = Chromium()
    yield chromium
    chromium.driver.quit()


@pytest.fixture(scope="module")
def browser(chromium: Chromium, exploring: Running) -> Browser:
    """A browser on the server of the sample tables."""
    return chromium.on(exploring.url)
