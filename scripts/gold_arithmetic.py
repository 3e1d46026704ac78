"""FinQA's programs and TAT-QA's derivations, translated into the algebra of programs.

Both print numbers. A number that the benchmark traces to a cell becomes a lookup of that cell, so
that the program reads the table; any other one (of the text beside the table) is a constant in the
unit and scale of the cells beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from gold_sql import UntranslatableError

from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    Apply,
    Arithmetic,
    ColumnRef,
    Compare,
    Constant,
    Expression,
    Filter,
    Function,
    Limit,
    Lookup,
    Membership,
    Named,
    Operator,
    Or,
    Program,
    Project,
    Relator,
    RowChoice,
    Rows,
    Sort,
    SortKey,
    TableRows,
    Unpivot,
    ValueKind,
)
from kgtable.programs.relation import ColumnRole, Relation
from kgtable.programs.scalars import Datum, normal

_FINQA = {
    "add": Operator.ADD,
    "subtract": Operator.SUBTRACT,
    "multiply": Operator.MULTIPLY,
    "divide": Operator.DIVIDE,
    "exp": Operator.POWER,
}
_TABLE = {
    "table_average": AggregateFunction.MEAN,
    "table_max": AggregateFunction.MAX,
    "table_min": AggregateFunction.MIN,
    "table_sum": AggregateFunction.SUM,
}
_STEP = re.compile(r"\s*([a-z_]+)\((.*)\)\s*")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[$€£]?\s*\d[\d,]*\.?\d*\s*(?:%|thousand|million|billion)?|[$€£]?\s*\.\d+\s*%?)|(?P<sign>[-+*/x()\[\]–−×]))"
)
_DIVISORS = frozenset(range(2, 13))
_SCALE_WORDS = {"thousand": "T", "million": "M", "billion": "B"}
_SIGNS = {"+": Operator.ADD, "-": Operator.SUBTRACT, "*": Operator.MULTIPLY, "/": Operator.DIVIDE}
_PLAIN = str.maketrans({"–": "-", "−": "-", "×": "*", "x": "*", "[": "(", "]": ")"})


@dataclass(frozen=True)
class Cells:
    """A relation, and the grid positions of the cells that a question's numbers come from."""

    relation: Relation
    gold: Sequence[tuple[int, int]]

    @property
    def table(self) -> TableRows:
        """All rows that hold values."""
        return TableRows((self.relation.id,), choice=RowChoice.ALL)

    def value(self, row: int, column: int) -> Datum | None:
        """The value of a cell by its grid position."""
        place = self.place(row)
        if place is None or column >= len(self.relation.columns):
            return None
        return self.relation.data(column)[int(self.relation.select(RowChoice.ALL)[place])]

    def place(self, row: int) -> int | None:
        """The place of a grid row among the rows that hold values."""
        for place, index in enumerate(self.relation.select(RowChoice.ALL).tolist()):
            if self.relation.place(index)[1] == row:
                return place
        return None

    def rows_at(self, row: int) -> Rows:
        """The one row: by its label where no other row has it, else by its place."""
        place = self.place(row)
        if place is None:
            raise UntranslatableError("a row that holds no values")
        chosen = self.relation.select(RowChoice.ALL).tolist()
        labels = self.relation.pseudo("@label")
        label = labels[chosen[place]]
        if label is not None and label.kind is ValueKind.TEXT:
            same = [i for i in chosen if (other := labels[i]) and normal(other.text) == normal(label.text)]
            if len(same) == 1:
                return Filter(self.table, Compare(Relator.EQUAL, ColumnRef("@label"), Constant(label.text)))
        number = Constant(Decimal(place + 1), ValueKind.QUANTITY)
        return Filter(self.table, Compare(Relator.EQUAL, ColumnRef("@row"), number))

    def lookup(self, number: Decimal) -> tuple[Expression, Datum] | None:
        """The gold cell that prints a number, and its value."""
        for row, column in self.gold:
            found = self.value(row, column)
            printed = None if found is None else _printed_number(found.text)
            if found is None or printed is None:
                continue
            if abs(printed) == abs(number):
                cell: Expression = ColumnRef(column)
                if found.number is None or self.relation.columns[column].kind is ValueKind.TEXT:
                    cell = Apply(Function.NUMBER, cell)
                lookup: Expression = Lookup(self.rows_at(row), cell)
                actual = found.number if found.number is not None else printed
                if (actual < 0) != (number < 0) and number:
                    lookup = Apply(Function.NEGATE, lookup)
                return lookup, found
        return None


def finqa_program(derivation: str, cells: Cells) -> Program:
    """The program of steps such as ``subtract(5829, 5735), divide(#0, 5735)``."""
    steps: list[Expression] = []
    texts = re.findall(r"[a-z_]+\([^()]*(?:\([^()]*\)[^()]*)*\)", derivation)
    like = _like(derivation, cells)
    for text in texts:
        match = _STEP.fullmatch(text)
        assert match is not None
        name, inner = match[1], match[2]
        if name in _TABLE:
            steps.append(_row_aggregate(_TABLE[name], inner.rpartition(",")[0].strip(), cells))
            continue
        arguments = [
            _finqa_operand(part.strip(), steps, cells, like, name == "divide" and bool(place))
            for place, part in enumerate(inner.rsplit(",", 1))
        ]
        if name == "greater":
            steps.append(Compare(Relator.GREATER, *arguments))
        elif name in _FINQA:
            steps.append(Arithmetic(_FINQA[name], *arguments))
        else:
            raise UntranslatableError(f"the operation {name}")
    if not steps:
        raise UntranslatableError("a program without steps")
    return Program(steps[-1])


def tatqa_program(derivation: str, kind: str, cells: Cells, years: bool) -> Program:
    """The program of a derivation: arithmetic, ``a>b>c`` for the largest, ``A##B`` for a count."""
    text = derivation.strip()
    if kind == "arithmetic":
        text = re.sub(r"\$\s*(?=\()", "", text.translate(_PLAIN))
    if kind == "count":
        return _count(text, cells)
    if ">" in text or "<" in text:
        return _extreme(text, cells, years)
    parser = _Parser(text, cells)
    return Program(parser.expression())


class _Parser:
    """Arithmetic with numbers as people print them."""

    def __init__(self, text: str, cells: Cells) -> None:
        self._cells, self._like = cells, _like(text, cells)
        self._tokens: list[str] = []
        place = 0
        while place < len(text):
            if not text[place:].strip():
                break
            match = _TOKEN.match(text, place)
            if match is None:
                raise UntranslatableError("a derivation in words")
            self._tokens.append(match[0].strip())
            place = match.end()
        self._place = 0

    def expression(self) -> Expression:
        found = self._sum()
        if self._peek() is not None:
            raise UntranslatableError("a derivation in words")
        return found

    def _peek(self) -> str | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _next(self) -> str:
        token = self._peek()
        if token is None:
            raise UntranslatableError("a derivation that breaks off")
        self._place += 1
        return token

    def _sum(self) -> Expression:
        return self._chain("+-", self._product)

    def _product(self) -> Expression:
        return self._chain("*/", self._factor)

    def _chain(self, signs: str, part: Callable[[], Expression]) -> Expression:
        found = part()
        while (sign := self._peek()) is not None and sign in signs:
            self._place += 1
            after = self._peek() or ""
            if sign == "/" and after.isdecimal():
                self._place += 1
                right = _operand(after, self._cells, self._like, divisor=True)
            else:
                right = part()
            found = Arithmetic(_SIGNS[sign], found, right)
        return found

    def _factor(self) -> Expression:
        token = self._next()
        if token == "(":
            after = self._tokens[self._place : self._place + 2]
            if len(after) == 2 and after[0][0] not in "(-+" and after[1] == ")":
                # Accounts print a negative number in brackets.
                self._place += 2
                return _operand(f"-{after[0]}", self._cells, self._like)
            found = self._sum()
            if self._next() != ")":
                raise UntranslatableError("a derivation that breaks off")
            return found
        if token in ("-", "+"):
            after = self._peek()
            if token == "-" and after is not None and after[0] not in "(-+":
                return _operand(f"-{self._next()}", self._cells, self._like)
            found = self._factor()
            return Apply(Function.NEGATE, found) if token == "-" else found
        if token in _SIGNS or token == ")":
            raise UntranslatableError("a derivation that breaks off")
        return _operand(token, self._cells, self._like)


def _finqa_operand(
    text: str, steps: Sequence[Expression], cells: Cells, like: Datum | None, divisor: bool
) -> Expression:
    if text.startswith("#"):
        return steps[int(text[1:])]
    if text.startswith("const_"):
        return Constant(Decimal(text.removeprefix("const_").replace("m", "-")), ValueKind.QUANTITY)
    return _operand(text, cells, like, divisor=divisor and text in ("2", "3", "4"))


def _operand(text: str, cells: Cells, like: Datum | None, *, divisor: bool = False) -> Expression:
    words = next((word for word in _SCALE_WORDS if text.endswith(word)), "")
    text = text.removesuffix(words)
    plain = text.replace(",", "").replace("$", "").replace("€", "").replace("£", "").replace(" ", "")
    try:
        number = Decimal(plain.removesuffix("%"))
    except InvalidOperation as error:
        raise UntranslatableError("a number that does not parse") from error
    if plain == "1" or (divisor and number in _DIVISORS and "." not in plain):
        return Constant(number, ValueKind.QUANTITY, "NUM")
    found = cells.lookup(number)
    if found is not None:
        return found[0]
    if words:
        return Constant(number, ValueKind.QUANTITY, like.unit if like else None, _SCALE_WORDS[words])
    if plain.endswith("%"):
        return Constant(number, ValueKind.QUANTITY, "PERCENT")
    if re.fullmatch(r"(?:19|20)\d\d", plain):
        return Constant(number, ValueKind.QUANTITY, "NUM")
    if like is not None and abs(number) not in (*_DIVISORS, 365, 1000):
        return Constant(number, ValueKind.QUANTITY, like.unit, like.scale or "ONE")
    return Constant(number, ValueKind.QUANTITY)


def _like(text: str, cells: Cells) -> Datum | None:
    """The value of a cell of the derivation: its unit and scale are those of the numbers beside it."""
    for token in re.findall(r"\d[\d,]*\.?\d*", text):
        found = cells.lookup(Decimal(token.replace(",", "").rstrip(".") or "0"))
        if found is not None and found[1].number is not None and found[1].unit != "PERCENT":
            return found[1]
    return None


def _value_columns(relation: Relation) -> tuple[ColumnRef, ...]:
    found = [
        ColumnRef(column.index)
        for column in relation.columns
        if column.index != relation.label_column()
        and column.role is not ColumnRole.IDENTIFIER
        and column.kind is not ValueKind.TEXT
    ]
    return tuple(found) or tuple(
        ColumnRef(column.index) for column in relation.columns if column.index != relation.label_column()
    )


def _row_aggregate(function: AggregateFunction, label: str, cells: Cells) -> Expression:
    """An aggregate of all values of a row."""
    rows = {row for row, _ in cells.gold}
    if len(rows) == 1:
        source = cells.rows_at(next(iter(rows)))
    else:
        source = Filter(cells.table, Compare(Relator.EQUAL, ColumnRef("@label"), Constant(label)))
    unpivoted = Unpivot(source, _value_columns(cells.relation))
    return Aggregate(function, ColumnRef("value"), unpivoted)


def _extreme(text: str, cells: Cells, years: bool) -> Program:
    """The header, its year, or the label of the largest of some cells: the first of ``a>b>c``."""
    if not cells.gold:
        raise UntranslatableError("a comparison of numbers that are in the text")
    rows = {row for row, _ in cells.gold}
    columns = {column for _, column in cells.gold}
    descending = True
    body = [(row, column) for row, column in cells.gold if cells.value(row, column) is not None]
    found = [
        (row, column)
        for row, column in body
        if (value := cells.value(row, column)) is not None and value.number is not None
    ]
    rows, columns = {row for row, _ in found}, {column for _, column in found}
    if len(rows) == 1:
        source = Unpivot(cells.rows_at(next(iter(rows))), tuple(map(ColumnRef, sorted(columns))))
        key, name = SortKey(ColumnRef("value"), descending), _heading(years)
        return Program(Project(Limit(Sort(source, (key,))), (Named(name),)))
    if len(columns) == 1:
        labels: list[Expression] = []
        for row in sorted(rows):
            rows_at = cells.rows_at(row)
            assert isinstance(rows_at, Filter)
            labels.append(rows_at.condition)
        chosen = Filter(cells.table, labels[0] if len(labels) == 1 else _any(labels))
        key = SortKey(ColumnRef(next(iter(columns))), descending)
        return Program(Project(Limit(Sort(chosen, (key,))), (Named(ColumnRef("@label")),)))
    raise UntranslatableError("a comparison of numbers that are in the text")


def _heading(years: bool) -> Expression:
    return Apply(Function.YEAR, ColumnRef("column")) if years else ColumnRef("column")


def _any(conditions: Sequence[Expression]) -> Expression:
    texts = [
        part.right for part in conditions if isinstance(part, Compare) and part.left == ColumnRef("@label")
    ]
    if len(texts) == len(conditions):
        return Membership(ColumnRef("@label"), tuple(texts))
    return Or(tuple(conditions))


def _count(text: str, cells: Cells) -> Program:
    """How many of the named things there are: rows by label, or columns by header."""
    names = [part.strip() for part in text.split("##") if part.strip()]
    labels = {
        normal(value.text) for row in cells.relation.select(RowChoice.ALL).tolist()
        if (value := cells.relation.pseudo("@label")[row]) is not None
    }  # fmt: skip
    headers = {normal(column.path[-1]): column.index for column in cells.relation.columns if column.path}
    if all(normal(name) in labels for name in names):
        chosen = Membership(ColumnRef("@label"), tuple(map(Constant, names)))
        return Program(Aggregate(AggregateFunction.COUNT, None, Filter(cells.table, chosen)))
    known = [next((i for header, i in headers.items() if normal(name) in header), None) for name in names]
    if None not in known:
        indices = sorted(index for index in known if index is not None)
        rows = Limit(Unpivot(Limit(cells.table), tuple(map(ColumnRef, indices))), len(indices))
        return Program(Aggregate(AggregateFunction.COUNT, None, rows))
    found = [(row, column) for row, column in cells.gold if cells.value(row, column) is not None]
    if len(found) == len(names):
        conditions = []
        for row in sorted({row for row, _ in found}):
            rows_at = cells.rows_at(row)
            assert isinstance(rows_at, Filter)
            conditions.append(rows_at.condition)
        if len(conditions) == len(names):
            return Program(Aggregate(AggregateFunction.COUNT, None, Filter(cells.table, _any(conditions))))
    raise UntranslatableError("a count of things that are no rows or columns")


def _printed_number(text: str) -> Decimal | None:
    """The number as the cell prints it, without scale, its sign from brackets."""
    found = re.search(r"\d[\d,]*\.?\d*|\.\d+", text)
    if found is None:
        return None
    number = Decimal(found[0].replace(",", "").rstrip("."))
    negative = "(" in text[: found.start()] or re.search(r"[-–−]\s*[$€£]?\s*$", text[: found.start()])
    return -number if negative else number
