"""Retrieval by T-RAG over a small graph, as published and with kgtable's additions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import kgtable
from kgtable.errors import RetrievalError
from kgtable.systems.trag.coarse_to_fine import TragRetriever
from kgtable.systems.trag.trag_options import TableRelation, TragOptions

SEASONS = {
    "season-r0": ("Bridgetown season", "Date,Opponent,Attendance\n1 May,Rovers,900\n8 May,Albion,1200\n"),
    "season-r1": ("Bridgetown season", "Date,Opponent,Attendance\n2 June,United,4000\n9 June,City,300\n"),
    "rivers": ("Long rivers", "River,Length,Mouth\nDanube,2850,Black Sea\nRhine,1230,North Sea\n"),
    "lakes": ("Deep lakes", "Lake,Depth,Country\nBaikal,1642,Russia\nOhrid,288,Albania\n"),
    "squad": ("Albion players", "Player,Goals\nRovers,7\nAdeyemi,9\n"),
    "ports": ("Ports by river", "River,Port\nDanube,Ruse\nRhine,Basel\n"),
}


def write(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, (title, text) in SEASONS.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
        (folder / f"{name}.json").write_text(f'{{"title": "{title}"}}', encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> kgtable.KnowledgeGraph:
    folder = tmp_path_factory.mktemp("trag")
    return kgtable.build(write(folder / "tables"), folder / "kg", embedding="none")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


QUESTION = "Who was the opponent with the largest attendance in the Bridgetown season?"


@pytest.mark.parametrize("method", ["trag", "trag:published=yes"])
def test_both_parts_of_the_table_come_first(graph: kgtable.KnowledgeGraph, method: str) -> None:
    found = graph.retrieve(QUESTION, 8, method)
    assert {table.table for table in found.tables[:2]} == {"season-r0", "season-r1"}
    scores = [table.score for table in found.tables]
    assert scores == sorted(scores, reverse=True)
    assert len(found.triples) == 8
    assert {triple.table for triple in found.triples} == {"season-r0", "season-r1"}
    assert [triple.score for triple in found.triples] == sorted(
        (triple.score for triple in found.triples), reverse=True
    )
    told = next(step for step in found.explain().steps if step.name == "tables")
    assert "structural-" in str(told)
    assert "candidates: " in str(told)


def test_a_part_lends_its_evidence_to_the_other(graph: kgtable.KnowledgeGraph) -> None:
    question = "How many came on 2 June, when Bridgetown played United?"
    alone = graph.retrieve(question, 5, "trag:alpha=0").tables
    walked = graph.retrieve(question, 5, "trag:alpha=0.5").tables
    before, after = ({t.table: t.score for t in tables} for tables in (alone, walked))
    assert before["season-r1"] > before["season-r0"]
    assert after["season-r0"] > before["season-r0"]
    assert after["season-r1"] > after["season-r0"]
    assert after["rivers"] == pytest.approx(before["rivers"], rel=1e-3)


def test_a_question_about_nothing_in_the_graph_finds_nothing(graph: kgtable.KnowledgeGraph) -> None:
    found = graph.retrieve("zzzz qqqq", 5, "trag")
    assert (found.tables, len(found.triples)) == ((), 0)


def test_relations_come_from_the_graph(graph: kgtable.KnowledgeGraph) -> None:
    retriever = graph.retrievers.get("trag")
    assert isinstance(retriever, TragRetriever)
    found = {
        (frozenset((first, second)), relation): weight
        for first, second, relation, weight in retriever.relations_among(list(SEASONS))
    }
    assert found[frozenset({"season-r0", "season-r1"}), TableRelation.PARTS] == 1
    assert found[frozenset({"season-r0", "season-r1"}), TableRelation.SIMILARITY] > 0.5
    assert [pair for pair, relation in found if relation is TableRelation.PARTS] == [{"season-r0", "season-r1"}]


def test_options_out_of_range_are_refused(graph: kgtable.KnowledgeGraph) -> None:
    with pytest.raises(RetrievalError, match="alpha lies between 0 and 1"):
        replace(TragOptions(), alpha=1.0)
    with pytest.raises(RetrievalError, match="clusters is at least 1"):
        graph.retrieve(QUESTION, 5, "trag:clusters=0")
    with pytest.raises(RetrievalError, match="threshold lies between 0 and 1"):
        graph.retrieve(QUESTION, 5, "trag:threshold=nan")
    with pytest.raises(RetrievalError, match="Without a feature"):
        graph.retrieve(QUESTION, 5, "trag:published=yes,semantic=no,structural=no,heuristic=no")
