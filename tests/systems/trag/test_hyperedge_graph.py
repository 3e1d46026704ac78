"""Hyperedges in the RDF graph: written on demand, kept up to date by builds."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from click.testing import CliRunner

import kgtable
from kgtable.cli.main import main
from kgtable.server.views.neighbourhood import resource
from tests.systems.trag.test_coarse_to_fine import QUESTION, cache, write

__all__ = ["cache"]

MEMBERS = "SELECT ?edge ?table { GRAPH <http://example.org/hypergraph> { ?table kgt:hyperedge ?edge } }"


def members(graph: kgtable.KnowledgeGraph) -> dict[str, set[str]]:
    """The tables of each hyperedge by its last name."""
    frame = graph.sparql(MEMBERS)
    assert isinstance(frame, pd.DataFrame)
    found: dict[str, set[str]] = {}
    for edge, table in zip(frame["edge"], frame["table"], strict=True):
        found.setdefault(str(edge).rpartition("/")[2], set()).add(str(table).rpartition("/")[2])
    return found


def test_hyperedges_are_written_and_kept_by_builds(tmp_path: Path) -> None:
    tables, directory = write(tmp_path / "tables"), tmp_path / "kg"
    with kgtable.build(tables, directory, embedding="none") as before:
        assert before.info()["hypergraph"] is None
        answer = before.ask("What is the length of Danube?")
    with kgtable.write_hypergraph(directory, clusters=2, typical=1) as graph:
        found = members(graph)
        assert {name.rpartition("-")[0] for name in found} == {"structural", "heuristic"}
        assert found["heuristic-0"] | found["heuristic-1"] == {
            "season-r0", "season-r1", "rivers", "lakes", "squad", "ports"
        }  # fmt: skip
        assert graph.info()["hypergraph"] == {
            "hyperedges": 4, "features": ["structural", "heuristic"], "clusters": 2, "typical": 1,
        }  # fmt: skip
        typical = graph.sparql("SELECT ?e ?t { ?e a kgt:Hyperedge ; kgt:feature ?f ; kgt:typical ?t }")
        assert isinstance(typical, pd.DataFrame)
        assert len(typical) == 4
        assert graph.retrieve("Danube", 3).trace["read_from"] == "index"
        assert graph.ask("What is the length of Danube?").text == answer.text
        assert graph.validate().conforms
        page = resource(graph, {"iri": graph.names.table_iri("rivers")}, lambda name, value: None)
        told = [line for line in page["outgoing"] if line["predicate"].endswith("#hyperedge")]
        assert {str(line["term"]["label"]).split(" (")[0] for line in told} <= {
            f"{feature} hyperedge {number}" for feature in ("structural", "heuristic") for number in (0, 1)
        }
        assert len(told) == 2
    (tables / "seas.csv").write_text("Sea,Depth,Country\nBlack Sea,2212,Turkey\n", encoding="utf-8")
    (tables / "squad.csv").unlink()
    with kgtable.build(tables, directory, embedding="none") as graph:
        everything = set().union(*members(graph).values())
        assert "seas" in everything
        assert "squad" not in everything
        assert graph.info()["hypergraph"]["clusters"] == 2
        assert graph.retrieve("Danube", 3).trace["read_from"] == "index"


def test_the_command_writes_and_info_tells(tmp_path: Path) -> None:
    kgtable.build(write(tmp_path / "tables"), tmp_path / "kg", embedding="none").close()
    done = CliRunner().invoke(main, ["hypergraph", "--kg", str(tmp_path / "kg"), "--clusters", "2"])
    assert done.exit_code == 0, done.output
    assert "4 hyperedges over 6 tables" in done.output
    told = CliRunner().invoke(main, ["info", "--kg", str(tmp_path / "kg")])
    assert "hyperedges: 4 (structural, heuristic)" in told.output
    found = CliRunner().invoke(
        main, ["retrieve", QUESTION, "--kg", str(tmp_path / "kg"), "--method", "trag:clusters=2", "--format", "json"]
    )
    assert json.loads(found.output)["tables"][0]["table"].startswith("season")
