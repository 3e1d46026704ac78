from __future__ import annotations

from pathlib import Path

import pytest

from kgtable import api
from kgtable.building.pipeline import start_empty
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from tests.cli.test_graph import run
from tests.server.serving import TOKEN, running


def test_push_connect_and_ask_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planets.csv").write_text("Planet,Rings\nMercury,no\nSaturn,yes\n", encoding="utf-8")
    api.build(tmp_path / "planets.csv", tmp_path / "kg", embedding="none")
    start_empty(tmp_path / "other")
    settings = ServerSettings(port=0, writable=True, token=TOKEN)
    with running(settings, GraphFolder(tmp_path / "other")) as server:
        refused = run("push", f"{server.url}store", "--kg", tmp_path / "kg", code=2)
        assert "refused access" in refused.stderr
        monkeypatch.setenv("KGTABLE_SPARQL_TOKEN", TOKEN)
        pushed = run("push", f"{server.url}store", "--kg", tmp_path / "kg", "--dialect", "kgtable")
        assert "1 tables and the description" in pushed.stderr
        far = tmp_path / "far"
        assert "1 tables at" in run("connect", server.sparql, "--kg", far).stderr
        assert "true" in run("sparql", "ASK { ?row rdfs:label 'Saturn' }", "--kg", far).stdout
        assert (
            "Saturn,yes" in run("export", "--kg", far, "--table", "planets", "--as", "csv", "-o", "-").stdout
        )
        assert f"endpoint: {server.sparql}" in run("info", "--kg", far).stdout
    gone = run("sparql", "ASK {}", "--kg", far, code=2)
    assert "Error:" in gone.stderr
    assert "cannot be reached" in gone.stderr
