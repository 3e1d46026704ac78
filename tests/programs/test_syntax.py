from __future__ import annotations

import json
import re
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.errors import ProgramSyntaxError
from kgtable.programs import parse_program, program_schema, program_to_json, realize
from kgtable.programs.algebra import (
    PSEUDO_COLUMNS,
    Aggregate,
    AggregateFunction,
    And,
    Apply,
    Arithmetic,
    ColumnRef,
    Compare,
    Constant,
    Convert,
    Filter,
    Function,
    GroupBy,
    IsMissing,
    Join,
    KeyPair,
    Limit,
    Lookup,
    Membership,
    Named,
    Neighbours,
    Not,
    Operator,
    Or,
    Program,
    Project,
    Relator,
    RowChoice,
    SetOperation,
    SetOperator,
    Sort,
    SortKey,
    TableRows,
    Unnest,
    Unpivot,
    ValueKind,
)
from kgtable.programs.syntax import operators

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
COLUMNS = st.builds(ColumnRef, NAMES | st.integers(0, 99), NAMES)
NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=3) | st.integers().map(Decimal)
SMALL = NUMBERS.filter(lambda number: not number or abs(number.adjusted()) < 300)
UNITS = st.sampled_from([None, "CCY_EUR", "KiloGM"])
CONSTANTS = (
    st.builds(Constant, NAMES, st.sampled_from([ValueKind.TEXT, ValueKind.ENTITY, ValueKind.DATE]))
    | st.builds(Constant, SMALL, st.just(ValueKind.QUANTITY), UNITS, st.sampled_from([None, "M", "ONE"]))
    | st.builds(Constant, SMALL, st.just(ValueKind.DURATION))
    | st.builds(Constant, st.booleans(), st.just(ValueKind.TRUTH))
)
TABLES = st.builds(TableRows, st.lists(NAMES, min_size=1, max_size=3).map(tuple), NAMES, st.sampled_from(RowChoice))


def _tuples(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, min_size=1, max_size=2).map(tuple)


def _expressions(e: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    rows = _rows(TABLES, e)
    return (
        st.builds(Arithmetic, st.sampled_from(Operator), e, e)
        | st.builds(Apply, st.sampled_from(Function), e, st.integers(1, 5))
        | st.builds(Convert, e, NAMES)
        | st.builds(Compare, st.sampled_from(Relator), e, e)
        | st.builds(Membership, e, _tuples(e) | rows)
        | st.builds(IsMissing, e)
        | st.builds(And, _tuples(e))
        | st.builds(Or, _tuples(e))
        | st.builds(Not, e)
        | st.builds(Aggregate, st.sampled_from(AggregateFunction), st.none() | e, st.none() | rows)
        | st.builds(Lookup, rows, e)
    )


def _rows(r: st.SearchStrategy[Any], e: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named, keys = st.builds(Named, e, NAMES), st.builds(SortKey, e, st.booleans())
    pairs = st.builds(KeyPair, e, e)
    return (
        r
        | st.builds(Filter, r, e)
        | st.builds(Join, r, r, _tuples(pairs), st.integers(0, 100))
        | st.builds(SetOperation, st.sampled_from(SetOperator), r, r)
        | st.builds(GroupBy, r, _tuples(named), _tuples(named))
        | st.builds(Sort, r, _tuples(keys))
        | st.builds(Limit, r, st.integers(1, 9), st.integers(0, 9), st.booleans())
        | st.builds(Neighbours, r, e, st.integers(-3, 3))
        | st.builds(Project, r, _tuples(named), st.booleans())
        | st.builds(Unpivot, r, _tuples(COLUMNS), NAMES, NAMES)
        | st.builds(Unnest, r, e, NAMES)
    )


EXPRESSIONS = st.recursive(COLUMNS | CONSTANTS, _expressions, max_leaves=6)
PROGRAMS = (EXPRESSIONS | _rows(TABLES, EXPRESSIONS)).map(Program)
VALIDATOR = jsonschema.Draft202012Validator(program_schema())


@given(PROGRAMS)
def test_json_reads_back_equal_and_fits_the_schema(program: Program) -> None:
    data = program_to_json(program)
    assert parse_program(data) == program
    assert parse_program(json.dumps(data)) == program
    assert VALIDATOR.is_valid(data)
    assert isinstance(realize(program), str)


KEYS = st.sampled_from(["op", "rows", "column", "value", "source", "left"])
DATA = st.recursive(
    st.none() | st.booleans() | st.floats() | st.sampled_from(["sum", "filter", "x"]),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)


@given(DATA)
def test_anything_gives_a_program_or_a_syntax_error(data: Any) -> None:
    with suppress(ProgramSyntaxError):
        assert isinstance(parse_program(json.dumps(data)), Program)


@pytest.mark.parametrize(
    ("source", "message", "path"),
    [
        ("{", "not JSON", ""),
        ("NaN", "not JSON", ""),
        ('{"op": "summ", "rows": {"op": "table", "table": "t"}}', "Near are: sum", "root"),
        ('{"op": "filter", "source": {"op": "table", "table": "t"}}', "'condition' is missing", "root"),
        ('{"op": "count", "rows": {"column": "a"}}', "no 'op'", "root.rows"),
        ('{"op": "count", "row": 1}', "Did you mean 'rows'", "root"),
        ('{"op": "add", "left": 1, "right": {"op": "table", "table": "t"}}', "a value is needed", "root.right"),
        ('{"op": "limit", "source": "t", "count": "3"}', "whole number", "root.count"),
        ('{"value": "1e999999", "unit": "M"}', "not a number", "root.value"),
        ('{"op": "table", "tables": []}', "needs its id", "root.tables"),
    ],
)
def test_errors_say_what_and_where(source: str, message: str, path: str) -> None:
    with pytest.raises(ProgramSyntaxError, match=message) as caught:
        parse_program(source)
    assert caught.value.path == path


def test_depth_and_size_are_limited() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = {"op": "negate", "operand": deep}
    with pytest.raises(ProgramSyntaxError, match="60 levels"):
        parse_program(deep)
    with pytest.raises(ProgramSyntaxError, match=r"too deep|60 levels|object is needed"):
        parse_program("[" * 100_000)
    with pytest.raises(ProgramSyntaxError, match="2000 nodes"):
        parse_program({"op": "and", "conditions": [True] * 3000})
    with pytest.raises(ProgramSyntaxError, match="longer than 200000"):
        parse_program('"' + "x" * 200_001 + '"')


def test_numbers_stay_exact_in_json() -> None:
    long = Decimal("123456789012345678901234567890.123456789")
    program = Program(Constant(long, ValueKind.QUANTITY))
    assert parse_program(json.dumps(program_to_json(program))) == program
    assert parse_program("0.1") == Program(Constant(Decimal("0.1"), ValueKind.QUANTITY))


def test_the_documents_describe_every_operator_and_its_fields() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "programs.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| ((?:`\w+\??`(?:, )?)+) \|", page, re.MULTILINE)
    described = {name: tuple(re.findall(r"`([^`]+)`", listed)) for name, listed in rows}
    assert described == operators()
    assert len(rows) == len(described)


def test_the_documents_name_every_pseudo_column() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "programs.md").read_text(encoding="utf-8")
    assert [name for name in PSEUDO_COLUMNS if f'"{name}"' not in page] == []
