"""Compiled queries: hostile tables, readable text, and what does not map."""

from __future__ import annotations

import re

import pyoxigraph as ox
import pytest

from kgtable.errors import ProgramCompilationError
from kgtable.graph.terms import Namespaces
from kgtable.programs import Relation, parse_program, relation_of, run
from kgtable.programs.compiled.to_sparql import compile_sparql
from tests.graph.decoding import decode_in_memory
from tests.programs.back_ends import in_memory, in_sparql, store_of
from tests.programs.conftest import RACE, table
from tests.programs.writing import calc, compare, limit, of, project, sort, where
from tests.programs.writing import table as rows_of

HOSTILE = """Name" UNION SELECT 1; --|Value> } DROP ALL #|name" union select 1; --
'; DROP TABLE x; --|5|a
"} . } ; CLEAR ALL #|7|b
back\\slash \\" {{0}} $p1 ?row|9|c"""


def test_table_text_is_never_read_as_a_query() -> None:
    id = 'evil"; DROP TABLE "t'
    found = table(id, HOSTILE)
    relations = {id: relation_of(decode_in_memory(found))}
    store = store_of([found])
    for column in (0, 1, 2):
        for value in relations[id].data(column).values:
            condition = compare("=", {"column": column}, value.text)
            program = parse_program(project(where(rows_of(id), condition), 0, 1, 2))
            rows, units = in_sparql(program, relations, store)
            assert rows == in_memory(program, relations, units, rows) != []
    assert len(store) == len(store_of([found]))


def test_sparql_reads_well(relations: dict[str, Relation]) -> None:
    program = of("sum", "Amount (EUR)", where("orders", compare("=", "Status", "paid")))
    text = compile_sparql(parse_program(program), relations).text
    assert text == (
        '# sum of Amount (EUR) where Status is "paid"\n'
        "PREFIX kgt: <https://w3id.org/kgtable#>\n"
        "PREFIX qudt: <http://qudt.org/schema/qudt/>\n"
        "PREFIX ex: <http://example.org/ontology#>\n"
        "SELECT ((SUM(?amountEur) + 0 / COUNT(?amountEur)) AS ?sumAmountEur) WHERE {\n"
        "  GRAPH <http://example.org/data/table/orders> {\n"
        "    ?row a kgt:Row ; kgt:row ?number .\n"
        "    ?row ex:hasStatus ?status .\n"
        "    ?row ex:hasAmountEUR/qudt:numericValue ?amountEur .\n"
        "  }\n"
        '  FILTER(?status = "paid")\n'
        "}\n"
    )


def test_units_are_multipliers_in_the_query(relations: dict[str, Relation]) -> None:
    query = compile_sparql(parse_program(of("max", "Length", "parts")), relations)
    assert "VALUES (?lengthUnit ?lengthFactor) {" in query.text
    assert "(unit:IN 0.0254)" in query.text or "(unit:CentiM 0.01)" in query.text


def test_another_base_moves_graphs_and_predicates() -> None:
    names = Namespaces("https://w.org/")
    relations = {"race": relation_of(decode_in_memory(table("race", RACE), names))}
    query = compile_sparql(parse_program(of("max", "Year", "race")), relations, names)
    assert "GRAPH <https://w.org/data/table/race>" in query.text
    assert "PREFIX ex: <https://w.org/ontology#>" in query.text
    ox.Store().query(query.text)


@pytest.mark.parametrize(
    ("program", "what"),
    [
        (of("median", "Amount (EUR)", "orders"), "median"),
        (calc("share", of("max", "Amount (EUR)", "orders"), of("sum", "Amount (EUR)", "orders")), "Arithmetic"),
        (
            {"op": "union", "left": project("orders", "Customer"), "right": project("orders", "Customer")},
            "SetOperation",
        ),
        (limit(sort("race", "Time", descending=False)), "the order of these texts"),
    ],
)
def test_what_does_not_map_runs_in_memory(program: object, what: str, relations: dict[str, Relation]) -> None:
    with pytest.raises(ProgramCompilationError, match=f"SPARQL cannot say {what}. Run the program in memory"):
        compile_sparql(parse_program(program), relations)  # type: ignore[arg-type]
    assert not run(parse_program(program), relations).empty  # type: ignore[arg-type]


MIXED = """Item|2018|2019
Income|$5|$7
Loss|$6|
Gain|$3|
Number of shares|10|20
Number of staff||30
Number of sites||9"""


def test_columns_whose_units_fit_only_row_by_row_do_not_map() -> None:
    """No `UnitMismatchError`: the same program gives an answer in memory."""
    found = table("mixed", MIXED)
    relations = {"mixed": relation_of(decode_in_memory(found))}
    program = parse_program(where(rows_of("mixed"), compare("<", {"column": 1}, {"column": 2})))
    assert len(run(program, relations)) > 0
    with pytest.raises(ProgramCompilationError, match="several units"):
        compile_sparql(program, relations)


KINDS = """Site|Staff|Opened|Note
North|12|2024-03-05|n/a
South|–|5 March 2023|good
West|7|soon|–
Total|19||
of which paid|11||
Average|9.5||
% change|3||"""


def test_rows_of_every_class_are_left_out_by_their_class() -> None:
    found = table("sites", KINDS)
    relations, store = {"sites": relation_of(decode_in_memory(found))}, store_of([found])
    for data in (of("sum", "Staff", "sites"), project("sites", "Site", "Opened", "Note")):
        program = parse_program(data)
        text = compile_sparql(program, relations).text
        assert re.findall(r"NOT EXISTS { \?row a kgt:(\w+) }", text) == [
            "Group", "OfWhichRow", "StatisticRow", "ChangeRow",
        ]  # fmt: skip
        rows, units = in_sparql(program, relations, store)
        assert rows == in_memory(program, relations, units, rows) != []
