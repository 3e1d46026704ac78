from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kgtable
from kgtable.index.graph_index import GraphIndex
from kgtable.index.inferred.relations import TableRelations
from kgtable.llm.scripted import ScriptedLLM
from kgtable.resources import read_packaged_json
from kgtable.systems.dmral.coverage_retrieval import WEIGHTS, decompose, residual_question, worded
from kgtable.systems.dmral.needs import GroupFinder, NeedMatcher, RelationGraph, information_needs
from tests.table_files import write_files

TABLES = {
    "clubs": "Club ID,Club,Town\nC1,Rovers,Hull\nC2,Harriers,York\nC3,Wanderers,Bath\nC4,Swifts,Ely\n",
    "players": "Player ID,Player,Club ID,Born\nP1,Ann Lee,C1,1990\nP2,Bo Dahl,C2,1988\nP3,Cy Fox,C1,1995\n"
    "P4,Di Gray,C3,1991\n",
    "goals": "Goal,Player ID,Minute\n1,P1,12\n2,P1,40\n3,P3,75\n4,P4,80\n",
    "bridges": "Name,River,Length\nOld Bridge,Ouse,80\nNew Bridge,Hull,120\n",
    "wells": "Well,Depth\nNorth Well,30\nSouth Well,45\n",
    **{f"weather-{year}": f"Month,Rain,Sun\nMay,{year % 97},200\nJune,{year % 89},210\n" for year in (2001, 2002)},
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = write_files(tmp_path_factory.mktemp("clubs"), TABLES)
    with kgtable.build(folder, folder / "graph", embedding="none") as built:
        yield built


@pytest.fixture(scope="module")
def index(graph: kgtable.KnowledgeGraph) -> GraphIndex:
    return GraphIndex(graph.generation.index_path)


def matcher(question: str, index: GraphIndex) -> NeedMatcher:
    return NeedMatcher(information_needs(question, index), index)


def test_a_need_is_met_by_title_header_or_cell(index: GraphIndex) -> None:
    found = matcher("bridges of Ann Lee in Minute", index)
    ids = index.corpus.table_ids
    pairs = ((0, "bridges"), (1, "players"), (2, "goals"))
    kinds = [found.column_matches(need, ids.index(table))[0].kind for need, table in pairs]
    assert kinds == ["title", "cell", "header"]
    assert not found.column_matches(0, ids.index("wells"))


def test_groups_follow_joins_over_a_bridge(graph: kgtable.KnowledgeGraph, index: GraphIndex) -> None:
    ids = index.corpus.table_ids
    base = {ids.index(table): 0.5 for table in ("clubs", "goals", "players", "wells")}
    finder = GroupFinder(matcher("minute of goals for Rovers", index), RelationGraph(graph.relations, ids), base)
    best = finder.groups([ids.index("goals"), ids.index("clubs")])[0]
    assert {ids[table] for table in best.tables} == {"goals", "players", "clubs"}
    assert best.coverage > 0.9
    assert finder.uncovered([ids.index("wells")]) == [0, 1, 2]


def test_shipped_weights_prefer_a_named_table_to_a_value_and_a_value_to_nothing(index: GraphIndex) -> None:
    weights = read_packaged_json(WEIGHTS)["weights"]
    alone = RelationGraph(TableRelations(), index.corpus.table_ids)
    finder = GroupFinder(matcher("goals for Rovers", index), alone, {}, scorer=weights)
    tables = [index.corpus.table_ids.index(id) for id in ("goals", "clubs", "wells")]
    scores = [finder.group([table]).score for table in tables]
    assert scores == sorted(scores, reverse=True)
    assert weights.keys() == finder.features(tables).keys()


def test_a_title_is_read_whatever_the_file_is_called(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "x1.csv").write_text("Harbour fees,\n,\nPort,Amount\nSkarv,31\nFjell,44\n")
    (tmp_path / "tables" / "x2.csv").write_text("Ship,Tonnage\nAurora,900\nBrage,750\n")
    with kgtable.build(tmp_path / "tables", tmp_path / "kg", embedding="none") as kg:
        found = matcher("harbour fees", kg.index)
        ids = kg.index.corpus.table_ids
        kinds = {id: {match.kind for match in found.column_matches(0, ids.index(id))} for id in ids}
        asked: list[str] = []
        model = ScriptedLLM(lambda request: asked.append(request.stage) or {"residual": "tonnage", "subquestions": []})
        kg.retrieve("Harbour fees of Skarv", 5, "dmral:gap=1", llm=model, rerank=False)
    assert kinds == {"x1": {"title"}, "x2": set()}
    assert "residual" in asked


def test_the_tables_of_a_group_come_first(graph: kgtable.KnowledgeGraph) -> None:
    question = "In which minute did a player of the club Rovers score?"
    found = graph.retrieve(question, 20, "dmral")
    assert {table.table for table in found.tables[:3]} == {"goals", "players", "clubs"}
    assert found.method == "dmral"
    assert found.trace["groups"]
    assert sum(table.score for table in found.tables) == pytest.approx(1, abs=0.01)


def test_named_tables_are_looked_at_alone(graph: kgtable.KnowledgeGraph) -> None:
    question = "In which minute did a player of the club Rovers score?"
    found = graph.retrieve(question, 20, "dmral", tables=["wells", "clubs"])
    assert {table.table for table in found.tables} == {"wells", "clubs"}
    assert {triple.table for triple in found.triples} <= {"wells", "clubs"}
    assert graph.ask("In which town are the Rovers?", method="dmral", tables=["clubs"]).text == "Hull"
    assert not graph.ask("In which town are the Rovers?", method="dmral", tables=["wells"]).text


def test_a_model_words_subquestions_and_names_the_gap(graph: kgtable.KnowledgeGraph, index: GraphIndex) -> None:
    ids = index.corpus.table_ids
    found = matcher("town of the player Ann Lee", index)
    base = {ids.index(table): 0.8 for table in ("clubs", "players")}
    plain = decompose(found, RelationGraph(graph.relations, ids), base)
    model = ScriptedLLM(
        [{"subquestions": ["Who is Ann Lee?", "Which town has the club of #1?"]}, {"subquestions": ["one"]},
         {"residual": "depth of the well"}]
    )  # fmt: skip
    said = worded("town of the player Ann Lee", plain, model)
    assert [part.text for part in said.subquestions] == ["Who is Ann Lee?", "Which town has the club of #1?"]
    assert worded("town of the player Ann Lee", plain, model) == plain
    assert residual_question("town and depth", ["clubs(Club, Town)"], ["depth"], model) == "depth of the well"
    assert residual_question("town and depth", [], ["depth"], None) == "depth"


def test_each_step_of_the_paper_can_be_switched_off(graph: kgtable.KnowledgeGraph) -> None:
    question = "In which minute did a player of the club Rovers score?"

    def trace(options: str, reply: object = None) -> dict[str, object]:
        model = None if reply is None else ScriptedLLM(lambda request: asked.append(request.stage) or reply)
        return dict(graph.retrieve(question, 20, f"dmral:{options}", llm=model, rerank=False).trace)

    asked: list[str] = []
    plain = trace("")
    together = {"clubs", "goals", "players"}
    assert set(str(plain["groups"][0]).split(":")[0].split(", ")) == together  # type: ignore[index]
    assert trace("scorer=rules")["groups"] != plain["groups"]
    for option in ("joinability=1", "scorer=none"):
        assert set(str(trace(option)["groups"][0]).split(":")[0].split(", ")) != together  # type: ignore[index]
    found = trace(
        "decomposition=model", {"labels": [], "subquestions": ["Who plays for Rovers?", "When did #1 score?"]}
    )
    assert found["subquestions"] == ("Who plays for Rovers?", "When did #1 score?")
    assert "decompose" not in asked
    assert "decompose_alone" in asked
    assert trace("decomposition=model")["subquestions"] == ()
    assert trace("gap=1")["gap"] != trace("gap=0")["gap"] == ""
    parts = [graph.retrieve("rain in 2001", 9, f"dmral:unionability={least}").tables for least in (0, 1)]
    assert parts[0] != parts[1]
