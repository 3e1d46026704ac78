"""What the prompt says of programs: every example in the prompts runs, and every rule in it is true."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kgtable.answering.evidence import Evidence
from kgtable.answering.program_answers import read_program, relations_of
from kgtable.errors import UnitMismatchError
from kgtable.programs.executor import run
from kgtable.programs.scalars import text_of
from kgtable.programs.syntax import operators
from kgtable.resources import PACKAGE
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid, Source
from tests.answering.memory_tables import MemoryTables

PROMPTS = PACKAGE / "answering" / "prompts"
COSTS = (
    ("Item", "2018", "2019"), ("Revenue", "1200", "1500"), ("Costs", "", ""), ("- Staff", "400", "450"),
    ("of which pensions", "40", "45"), ("- Cloud", "100", "95"), ("Total costs", "500", "545"), ("Staff", "400", "450"),
)  # fmt: skip
TOWERS = (
    ("Name", "Status", "Paid on", "Price", "Weight", "Weight", "Height"),
    ("Skarv (north)", "paid", "2024-03-05", "10 EUR", "1 kg", "3 kg", "44 m"),
    ("Fjell", "open", "2024-03-09", "20 USD", "2 kg", "4 kg", "30 m"),
    ("Skarv (south)", "paid", "2023-11-02", "5 EUR", "3 kg", "5 kg", "12 m"),
    ("Staff", "open", "2023-11-03", "400 EUR", "1 kg", "1 kg", "2 m"),
    ("Halden", "open", "2023-12-03", "8 EUR", "1 kg", "1 kg", "3 m"),
    ("Vik", "open", "2023-12-04", "9 EUR", "1 kg", "1 kg", "4 m"),
    ("Tern", "open", "2023-12-05", "400 EUR", "450 kg", "1 kg", "5 m"),
)


def evidence(*tables: tuple[tuple[str, ...], ...]) -> Evidence:
    made = [make_table(Grid(f"t{n}", Source(f"t{n}.csv"), rows, len(rows[0]))) for n, rows in enumerate(tables)]
    scored = tuple(ScoredTable(table.id, 1.0) for table in made)
    return Evidence(Retrieval("?", (), scored), MemoryTables(made))


def results(program: Any, found: Evidence) -> list[str]:
    """The printed values of a program, row by row."""
    result = run(read_program(program, found), relations_of(found.source))
    return [text_of(value) for row in result.rows() for value in row if value is not None]


def examples() -> list[tuple[str, Any]]:
    """The programs in the prompts' files, each with the file's name."""
    found = []
    for path in sorted(PROMPTS.rglob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            data = json.loads(line) if line.startswith("{") else {}
            program = data if "op" in data else data.get("program")
            found += [(path.parent.name + "/" + path.name, program)] if program else []
    return found


@pytest.mark.parametrize("name", ["prompts/programs.txt", "tables/examples.txt", "triples/examples.txt"])
def test_every_example_in_a_prompt_runs(name: str) -> None:
    programs = [program for file, program in examples() if file == name]
    assert programs
    for program in programs:
        tables = (COSTS, COSTS) if "T2.r7" in json.dumps(program) else (COSTS, TOWERS)
        assert results(program, evidence(*(tables[::-1] if '"T1"' in json.dumps(program) else tables)))


def column(name: str) -> dict[str, str]:
    return {"column": name}


def op(name: str, left: Any, right: Any) -> dict[str, Any]:
    return {"op": name, "left": left, "right": right}


def count(condition: Any) -> dict[str, Any]:
    return {"op": "count", "rows": {"op": "filter", "source": "T2", "condition": condition}}


def cost(label: str, choice: str = "members") -> dict[str, Any]:
    """The cost of 2019 in the row with this label."""
    rows = {"op": "table", "tables": ["T1"], "choice": choice}
    return {
        "op": "lookup",
        "rows": {"op": "filter", "source": rows, "condition": op("=", column("@label"), label)},
        "value": column("2019"),
    }


def total(name: str, condition: Any) -> dict[str, Any]:
    rows = {"op": "filter", "source": "T2", "condition": condition}
    return {"op": "sum", "argument": column(name), "rows": rows}


PAID, NONE = op("=", column("Status"), "paid"), op("=", column("Status"), "lost")
RULES: dict[str, tuple[Any, list[str]]] = {
    "count without argument counts rows": ({"op": "count", "rows": "T2"}, ["7"]),
    "with one the cells that are not blank": ({"op": "count", "argument": column("2019"), "rows": "T1"}, ["4"]),
    "= and contains ignore case": (
        count(
            {"op": "and", "conditions": [op("contains", column("Name"), "SKARV"), op("=", column("Status"), "Paid")]}
        ),
        ["2"],
    ),
    "number takes the first number of a text, index 2 the second": (
        {"op": "number", "operand": "59-58 (set 1)", "index": 2},
        ["58"],
    ),
    "year_month": (
        {"op": "count_distinct", "argument": {"op": "year_month", "operand": column("Paid on")}, "rows": "T2"},
        ["3"],
    ),
    "month is 1 to 12": (
        {"op": "max", "argument": {"op": "month", "operand": column("Paid on")}, "rows": "T2"},
        ["12"],
    ),
    "a repeated header": (total("c5", PAID), ["8"]),
    "@row counts from 1": (count(op("<=", column("@row"), 2)), ["2"]),
    "@group is the heading above": (
        {
            "op": "project",
            "source": {"op": "filter", "source": "T1", "condition": op("=", column("@group"), "Costs")},
            "columns": [column("@label")],
        },
        ["- Staff", "- Cloud"],
    ),
    "a total takes no part": (cost("Total costs"), []),
    "a total on request": (cost("Total costs", "totals"), ["545"]),
    "an of-which row takes no part": (cost("of which pensions"), []),
    "an of-which row on request": (cost("of which pensions", "all"), ["45"]),
    "count without rows": (count(NONE), ["0"]),
    "sum without rows": (total("Height", NONE), []),
    "a group without rows": (
        {
            "op": "group", "source": {"op": "filter", "source": "T2", "condition": PAID}, "keys": [column("Status")],
            "measures": [{"expression": {"op": "count"}, "name": "n"}],
        },
        ["paid", "2"],
    ),
    "a plain number has the column's unit": (count(op(">", column("Height"), 20)), ["2"]),
    "a unit of its own": (count(op(">", column("Height"), {"value": 20, "unit": "FT"})), ["3"]),
    "mixed units are filtered": (
        total("Price", {"op": "and", "conditions": [PAID, op("contains", column("Price"), "EUR")]}),
        ["15"],
    ),
    "a date equals its period": (count(op("=", column("Paid on"), {"value": "2024-03", "type": "period"})), ["2"]),
    "contains reads a date as printed": (count(op("contains", column("Paid on"), "2024-03")), ["2"]),
    "a year is a number": (count(op("=", {"op": "year", "operand": column("Paid on")}, 2024)), ["2"]),
    "subtract": (op("subtract", 80, 100), ["-20"]),
    "percent_change": (op("percent_change", 100, 80), ["-20"]),
    "share": (op("share", 20, 80), ["25"]),
    "a condition answers": (op(">", count(PAID), 1), ["yes"]),
    "text before a bracket": (count(op("=", {"op": "main", "operand": column("Name")}, "Skarv")), ["2"]),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_of_the_prompt_is_true(rule: str) -> None:
    program, expected = RULES[rule]
    assert results(program, evidence(COSTS, TOWERS)) == expected


def test_unlike_units_do_not_add_up() -> None:
    with pytest.raises(UnitMismatchError):
        results({"op": "sum", "argument": column("Price"), "rows": "T2"}, evidence(COSTS, TOWERS))


def test_the_prompt_names_no_operator_that_does_not_exist() -> None:
    text = (PROMPTS / "programs.txt").read_text(encoding="utf-8")
    named = re.findall(r"[a-z_]+(?: [a-z_]+)*(?=\()", text)
    known = set(operators())
    assert len(named) > 15
    assert {name for group in named for name in group.split()} - known == set()
