from __future__ import annotations

import pickle
from decimal import Decimal

from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    ColumnRef,
    Compare,
    Constant,
    Filter,
    Join,
    KeyPair,
    Program,
    Relator,
    Sort,
    SortKey,
    TableRows,
    ValueKind,
    children,
    tables_of,
    walk,
)

KEY = ColumnRef("Key")
JOINED = Join(TableRows(("a",)), TableRows(("b", "c")), (KeyPair(KEY, KEY),))
BIG = Filter(JOINED, Compare(Relator.GREATER, ColumnRef("Size"), Constant(Decimal(5), ValueKind.QUANTITY)))
PROGRAM = Program(Aggregate(AggregateFunction.COUNT, None, Sort(BIG, (SortKey(KEY, True),))))


def test_walk_meets_every_node_parents_first() -> None:
    names = [type(node).__name__ for node in walk(PROGRAM.root)]
    assert names[:4] == ["Aggregate", "Sort", "Filter", "Join"]
    assert names.count("ColumnRef") == 4
    assert list(children(JOINED)) == [TableRows(("a",)), TableRows(("b", "c")), KEY, KEY]


def test_tables_are_named_once_in_order() -> None:
    assert tables_of(PROGRAM) == ("a", "b", "c")


def test_programs_are_plain_data() -> None:
    assert pickle.loads(pickle.dumps(PROGRAM)) == PROGRAM
    assert len({PROGRAM, Program(PROGRAM.root)}) == 1


def test_only_numbers_without_unit_and_scale_are_bare() -> None:
    assert Constant(Decimal(5), ValueKind.QUANTITY).bare
    assert not Constant(Decimal(5), ValueKind.QUANTITY, scale="ONE").bare
    assert not Constant("5").bare
