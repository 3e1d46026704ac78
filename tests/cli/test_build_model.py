"""`kgtable build --model`: cost told before and after, a graph without the model where it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_graph_commands import run
from tests.llm.scripted_server import ScriptedServer


def test_a_build_tells_what_asking_takes_took_and_that_a_model_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "staff.csv").write_text("Team,Zug,\nRovers,12.5,Hull\nSwifts,14.25,York\nOwls,9.75,Ely\n")
    monkeypatch.setenv("KGTABLE_RETRIES", "0")
    build = ("build", tmp_path / "staff.csv", "--kg", tmp_path / "kg", "--embedding", "none", "--model", "tiny")
    town = {"column": 3, "name": "Town", "role": "", "kind": "", "unit": "", "scale": "", "confidence": 0.9}
    with ScriptedServer([{"columns": [town], "title": ""}]) as server:
        monkeypatch.setenv("KGTABLE_BASE_URL", server.base_url)
        told = run(*build, "--dry-run").stderr
        assert "tiny: 1 calls for 1 tables, about " in told
        assert "; nothing was asked." in told
        assert not server.requests
        assert "tiny: 1 calls for 1 tables, 1 proposals" in run(*build).stderr
        assert "nothing new to ask" in run(*build).stderr
        assert len(server.requests) == 1
    assert "column 3: Town (0.90, model)" in run("names", "--kg", tmp_path / "kg").stdout
    (tmp_path / "staff.csv").write_text("Team,Zug,\nRovers,12.5,Hull\n")
    assert "the graph was built without it" in run(*build).stderr
    assert "hasValue3" in run("export", "--kg", tmp_path / "kg", "-o", "-", "-f", "turtle").stdout
