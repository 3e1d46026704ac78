from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.cli.folder_graphs import graph_of
from kgtable.server import running
from kgtable.server.options import DefaultGraph, ServerSettings
from tests.cli.test_graph_commands import run

Served = list[tuple[Path, ServerSettings]]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    """What would be served, instead of a server that does not end."""
    found: Served = []

    def serve_directory(kg: Path, settings: ServerSettings, *, log: object, say: Any, browser: bool) -> None:
        found.append((kg, settings))
        say("http://127.0.0.1:1/")

    monkeypatch.setattr(running, "serve_directory", serve_directory)
    monkeypatch.delenv("KGTABLE_TOKEN", raising=False)
    return found


def test_without_options_it_is_for_this_machine_and_read_only(served: Served, tmp_path: Path) -> None:
    assert "http://127.0.0.1:1/" in run("serve", "--kg", tmp_path).stderr
    ((kg, settings),) = served
    assert kg == tmp_path
    assert settings == ServerSettings(access_log=True)
    assert (settings.host, settings.writable, settings.token) == ("127.0.0.1", False, None)


def test_options_become_settings(served: Served, tmp_path: Path) -> None:
    run(
        "serve", "--kg", tmp_path, "--host", "0.0.0.0", "--port", "0", "--writable", "--token", "t",
        "--default-graph", "own", "--cors", "https://a.example", "--cors", "*", "--allow-host", "D.Example",
        "--allow-service", "http://s/", "--allow-load", "http://l/", "--timeout", "1.5", "--memory", "64",
        "--result-size", "2", "--workers", "3", "--no-access-log",
    )  # fmt: skip
    settings = served[0][1]
    assert (settings.host, settings.port, settings.writable, settings.token) == ("0.0.0.0", 0, True, "t")
    assert settings.default_graph is DefaultGraph("own")
    assert (settings.origins, settings.hosts) == (("https://a.example", "*"), ("d.example",))
    assert (settings.services, settings.loads) == (("http://s/",), ("http://l/",))
    assert (settings.limits.query_seconds, settings.limits.memory, settings.limits.result) == (1.5, 64 << 20, 2 << 20)
    assert (settings.queue.processes, settings.access_log) == (3, False)


def test_the_token_may_come_from_the_environment(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGTABLE_TOKEN", "from outside")
    run("serve", "--kg", tmp_path, "--writable")
    assert served[0][1].token == "from outside"


@pytest.mark.parametrize(
    "option",
    [["--port", "65536"], ["--port", "-1"], ["--timeout", "0"], ["--memory", "63"], ["--workers", "0"],
     ["--default-graph", "all"], ["--result-size", "many"]],
)  # fmt: skip
def test_values_that_make_no_sense_are_refused(option: list[str], served: Served, tmp_path: Path) -> None:
    assert option[0] in run("serve", "--kg", tmp_path, *option, code=2).stderr
    assert served == []


def test_a_graph_that_is_not_there(tmp_path: Path) -> None:
    assert "Error: There is no graph" in run("serve", "--kg", tmp_path / "nowhere", code=2).stderr


def test_a_folder_is_built_in_the_cache_and_served(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, other = tmp_path / "My tables", tmp_path / "other"
    folder.mkdir()
    (folder / "ports.csv").write_text("Port,Depth in m\nHalden,12\n", encoding="utf-8")
    monkeypatch.setenv("KGTABLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KGTABLE_KG", str(other))
    place = graph_of(folder)
    assert place.parent == tmp_path / "cache" / "graphs"
    assert place.name.startswith("My-tables-")
    command = ("serve", folder, "--embedding", "none", "--editable")
    run(*command)
    directory, settings = served[-1]
    assert (directory, settings.folder, settings.editable) == (place, folder, True)
    assert not other.exists()
    (place / "uploads").mkdir()
    (place / "uploads" / "ferries.csv").write_text("Ferry,Length\nSula,84\n", encoding="utf-8")
    run(*command)
    with kgtable.open(place) as graph:
        assert set(graph.catalogue.tables) == {"ports", "ferries"}


def test_serving_needs_a_graph_or_a_folder(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KGTABLE_KG", raising=False)
    assert "Pass --kg, or a folder of tables" in run("serve", code=2).stderr
