from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import kgtable

HOSTILE = '<script>alert("x")</script>'


@pytest.fixture
def shell() -> Iterator[Any]:
    pytest.importorskip("IPython", reason="IPython is not installed")
    from IPython.core.interactiveshell import InteractiveShell

    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "kgtable")
    yield made
    InteractiveShell.clear_instance()


def test_the_magic_asks_an_open_graph_or_a_directory(
    shell: Any, samples_graph: kgtable.KnowledgeGraph, samples_path: Path
) -> None:
    shell.user_ns["kg"] = samples_graph
    query = "SELECT ?label WHERE { ?r a kgt:Group ; rdfs:label ?label } ORDER BY ?label LIMIT 1"
    frame = shell.run_cell_magic("sparql", "kg", query)
    assert isinstance(frame, pd.DataFrame)
    assert frame["label"].tolist() == ["Earnings per share:"]
    assert shell.run_cell_magic("sparql", f"'{samples_path}'", "ASK { ?s ?p ?o }") is True
    assert shell.run_cell_magic("sparql", "kg -o kept", query) is None
    assert shell.user_ns["kept"].equals(frame)


def test_what_a_graph_gives_shows_itself_escaped(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "evil.csv").write_text(
        f'Port,Fees "{HOSTILE}"\n"{HOSTILE.replace(chr(34), chr(34) * 2)}",5\nTern Bay,3\n', encoding="utf-8"
    )
    with kgtable.build(folder, tmp_path / "graph", embedding="none") as graph:
        answer = graph.ask("Which port had the highest fees?", model="none")
        found = graph.retrieve("fees of the ports", 20)
        run = graph.run({"op": "limit", "count": 1, "source": "evil"})
        shown = [answer, found, run, graph, graph.tables, graph.tables["evil"], found.explain()]
        for value in shown:
            page = value._repr_html_()
            assert "<script" not in page, type(value).__name__
            assert page.startswith("<"), type(value).__name__
        assert "&lt;script&gt;" in graph.tables["evil"]._repr_html_()
        assert "&lt;script&gt;" in run._repr_html_()
        for value in (answer, graph.run({"op": "limit", "count": 2, "source": "evil"})):
            (drawn,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', value._repr_html_())
            assert b64decode(drawn).startswith(b"<svg")
