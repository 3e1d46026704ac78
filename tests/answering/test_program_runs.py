"""Programs that a person wrote, over real graphs: in memory, and as SPARQL on the store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.errors import (
    EvaluationError,
    GraphClosedError,
    ProgramCompilationError,
    ProgramError,
    ProgramSyntaxError,
    ProgramTypeError,
    UnitMismatchError,
    UnknownColumnError,
    UnknownTableError,
    UsageError,
)
from kgtable.programs import parse_program
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from tests.programs.writing import Data, calc, column, compare, lookup, of, table, where
from tests.server.serving import running

BIGGEST: Data = {
    "op": "project",
    "source": {
        "op": "limit",
        "count": 2,
        "source": {
            "op": "sort",
            "source": table("planets"),
            "keys": [{"expression": column("Moons"), "descending": True}],
        },
    },
    "columns": [column("Planet"), column("Moons"), column("Diameter (km)"), column("Rings")],
}
PROGRAMS: dict[str, Data] = {
    "sum": of("sum", "2023", "halden-segments"),
    "count": of("count", None, where("planets", compare("=", "Rings", True))),
    "distinct": of("count_distinct", "Rings", "planets"),
    "rows": BIGGEST,
    "lookup": lookup("Mass (10^24 kg)", where("planets", compare("=", "Planet", "Jupiter"))),
    "converted": {"op": "convert", "unit": "MI", "operand": of("max", "Diameter (km)", "planets")},
    "groups": {
        "op": "group", "source": table("planets"), "keys": [column("Rings")],
        "measures": [{"expression": {"op": "mean", "argument": column("Moons")}, "name": "mean moons"}],
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def kg(samples_path: Path) -> Iterator[kgtable.KnowledgeGraph]:
    with kgtable.open(samples_path) as graph:
        yield graph


@pytest.fixture(scope="module")
def connected(kg: kgtable.KnowledgeGraph, tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    """The same graph behind a SPARQL endpoint."""
    with running(ServerSettings(port=0), GraphFolder(kg.path)) as server:
        place = tmp_path_factory.mktemp("connected") / "kg"
        with kgtable.connect(server.sparql, place, store=f"{server.url}store", dialect="kgtable") as graph:
            yield graph


def plain(run: kgtable.ProgramRun) -> list[list[object]]:
    """The rows with numbers to nine digits, since SPARQL rounds quotients, and all else as printed."""
    found = []
    for row in run.rows:
        cells: list[object] = []
        for cell in row:
            if cell is None:
                cells.append(None)
            elif isinstance(cell.value, Decimal):
                cells.append((f"{float(cell.value):.9g}", cell.unit))
            else:
                cells.append(cell.text)
        found.append(cells)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_engines_give_the_same_and_cite_the_same_cells(
    name: str, kg: kgtable.KnowledgeGraph, connected: kgtable.KnowledgeGraph
) -> None:
    expected = kg.run(PROGRAMS[name])
    assert expected.found
    assert expected.citations
    for graph, engine in ((kg, "sparql"), (connected, "sparql"), (connected, "memory")):
        other = graph.run(PROGRAMS[name], engine=engine)
        assert (plain(other), other.size) == (plain(expected), expected.size), engine
        assert other.citations == expected.citations
        assert other.calculation == expected.calculation
        assert bool(other.query) == (engine != "memory")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_compiled_query_runs_unchanged(name: str, kg: kgtable.KnowledgeGraph) -> None:
    frame = kg.sparql(kg.compile(PROGRAMS[name]))
    expected = [[c[0] if isinstance(c, tuple) else str(c) for c in row] for row in plain(kg.run(PROGRAMS[name]))]
    assert not isinstance(frame, bool)
    words = {"True": "yes", "False": "no"}
    shown = frame.map(
        lambda cell: f"{float(cell):.9g}" if isinstance(cell, Decimal) else words.get(str(cell), str(cell))
    )
    assert shown.values.tolist() == expected


def test_one_value_is_exact_with_its_unit_its_words_and_its_cells(kg: kgtable.KnowledgeGraph) -> None:
    paid = kg.run(PROGRAMS["sum"])
    assert (paid.value, paid.unit, paid.size, paid.names) == (Decimal(1431300000), "CCY_EUR", 1, ("value",))
    assert paid.text == "€1,431.3 million"
    assert paid.calculation == "sum of 2023, 4 rows"
    assert [cited.text for cited in paid.citations] == ["760,100", "330,700", "224,300", "116,200"]
    assert paid.cells_read == 4
    assert str(paid).splitlines()[:2] == ["€1,431.3 million", "  = sum of 2023, 4 rows"]
    assert repr(paid) == "ProgramRun('€1,431.3 million', 1 row, engine='memory')"


def test_rows_are_told_as_a_table_and_given_as_a_frame(kg: kgtable.KnowledgeGraph) -> None:
    run = kg.run(BIGGEST)
    lines = str(run).splitlines()
    assert lines[0].replace("Planet ", "Planet").split("  ")[1:] == ["Planet", "Moons", "Diameter (km)", "Rings"]
    assert lines[1].split() == ["Saturn", "146", "120,536", "km", "yes"]
    assert run.value is None
    frame = run.to_frame()
    assert frame.iloc[0].tolist() == ["Saturn", Decimal(146), Decimal(120536), True]
    assert "<td>Jupiter</td>" in run._repr_html_()
    assert run.text == "Saturn, 146, 120,536 km, yes; Jupiter, 95, 142,984 km, yes"
    found = run.to_json()
    assert found["columns"] == ["Planet", "Moons", "Diameter (km)", "Rings"]
    assert found["rows"][0][2] == {"text": "120,536", "value": "120536", "unit": "KiloM", "display": "120,536 km"}
    assert parse_program(found["program"]) == run.program
    json.dumps(found)


def test_numbers_of_many_digits_are_told(kg: kgtable.KnowledgeGraph) -> None:
    assert kg.run(of("sum", "Mass (10^24 kg)", "planets")).value == Decimal("2666612E+21")
    assert kg.run(of("sum", "Mass (10^24 kg)", "planets")).text.startswith("2,666,612,000")


@pytest.mark.parametrize(
    ("program", "kind", "path", "says"),
    [
        (of("sum", "Moons", "planet"), UnknownTableError, "root.rows", "Near are: 'planets'"),
        (of("sum", "Mons", "planets"), UnknownColumnError, "root.argument", "'Moons'"),
        ({"op": "summ"}, ProgramSyntaxError, "root", "Near are: sum"),
        ("{", ProgramSyntaxError, "", "not JSON"),
        (of("sum", "Planet", "planets"), ProgramTypeError, "root", "holds no numbers"),
        (calc("divide", 1, 0), EvaluationError, "root", "divides by zero"),
        (calc("add", 1, calc("divide", 1, 0)), EvaluationError, "root.right", "divides by zero"),
        (lookup("Moons", table("planets")), EvaluationError, "root", "8 rows match"),
        (
            calc("add", of("sum", "2023", "halden-segments"), of("max", "Diameter (km)", "planets")), UnitMismatchError,
            "root", "cannot be added",
        ),
    ],
)  # fmt: skip
def test_a_wrong_program_is_an_error_that_names_the_place(
    kg: kgtable.KnowledgeGraph, program: Any, kind: type[ProgramError], path: str, says: str
) -> None:
    for engine in ("memory", "sparql"):
        with pytest.raises(kind) as caught:
            kg.run(program, engine=engine)
        assert caught.value.path == path
        assert says in str(caught.value)
        assert not path or str(caught.value).startswith(f"At {path}: ")


def test_arguments_are_checked_and_a_closed_graph_runs_nothing(kg: kgtable.KnowledgeGraph) -> None:
    with pytest.raises(UsageError, match="Use one of memory, sparql"):
        kg.run(PROGRAMS["sum"], engine="excel")
    with pytest.raises(ProgramCompilationError):
        kg.compile({"op": "project", "source": table("planets"), "columns": [column("@table")]})
    with kgtable.open(kg.path) as closed:
        closed.run(PROGRAMS["sum"])
    with pytest.raises(GraphClosedError):
        closed.run(PROGRAMS["sum"])


def test_sparql_follows_the_predicates_and_types_of_a_mapping(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "rooms.csv").write_text(
        "Room,Built,Area (m2),Open\n101,1990,20,1\n102,2001,30,0\n103,2001,25,1\n", encoding="utf-8"
    )
    mapping = tmp_path / "m.csv"
    mapping.write_text(
        "column name,predicate,unit,datatype\nRoom,https://other.example/name,,text\n"
        "Built,inYearBuilt,,year\nArea (m2),hasFloor,FT2,\nOpen,,,text\n",
        encoding="utf-8",
    )
    programs = [
        of("sum", "Area (m2)", where("rooms", compare("=", "Built", {"value": "2001", "type": "period"}))),
        of("count", None, where("rooms", compare("=", "Open", "1"))),
        {"op": "project", "source": table("rooms"), "columns": [column(i) for i in range(4)]},
    ]
    with kgtable.build(tmp_path / "tables", tmp_path / "kg", mapping=mapping, embedding="none") as graph:
        assert "<https://other.example/name>" in graph.compile(programs[2])
        for program in programs:
            memory, sparql = graph.run(program), graph.run(program, engine="sparql")
            assert memory.found
            assert plain(memory) == plain(sparql)
