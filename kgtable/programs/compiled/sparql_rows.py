"""Rows and cells of a table in the graph: the patterns that read them, and the values that they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from fractions import Fraction

from kgtable.errors import ProgramCompilationError
from kgtable.programs.algebra import (
    TableRows,
    ValueKind,
)
from kgtable.programs.compiled.sparql_patterns import (
    MOST_LISTED,
    GraphPattern,
    GroupPattern,
    OptionalPattern,
    QueryContext,
    decimal_literal,
    listed_meanings,
)
from kgtable.programs.compiled.sparql_values import CellReading
from kgtable.programs.dimensions import (
    COUNTS,
    conversion,
    decimal_of,
)
from kgtable.programs.relation import Indices, Relation
from kgtable.programs.scalars import (
    Datum,
)
from kgtable.tables.column_profile import CellKind, type_cell


class ColumnReading(CellReading):
    """A column of a table, or its labels or group headings."""

    def __init__(self, base: GraphRows, column: int | str) -> None:
        self._base, self._column = base, column
        self.terms = base.terms(column)

    def term(self) -> str:
        return self._base.term(self._column)

    def number(self) -> str:
        if self.kind != "number" or isinstance(self._column, str) or not self._base.all_nodes(self._column):
            return super().number()
        if any(datum.kind is ValueKind.DURATION for datum in self.terms.values()):
            return super().number()
        units = {datum.unit for datum in self.terms.values()}
        factors = {unit: Fraction(1) for unit in units}
        for unit in units:
            if unit not in COUNTS and self.unit not in COUNTS:
                multiplier, addend = conversion(unit, self.unit)
                if addend:
                    return super().number()
                factors[unit] = multiplier
        return self._base.value(self._column, factors if set(factors.values()) != {1} else {})

    def listing(self, found: Mapping[str, str], wanted: str) -> str:
        return self._base.listing(self.term(), found, f"{self._base.name(self._column)} {wanted}")

    def require(self) -> None:
        self._base.require(self._column)

    @property
    def complete(self) -> bool:
        data = self._base.relation
        column = data.data(self._column) if isinstance(self._column, int) else data.pseudo(self._column)
        return bool((column.codes[self._base.rows] >= 0).all())


class GraphRows:
    """An occurrence of a table in the program: its rows, and the cells of them that are asked for."""

    def __init__(self, context: QueryContext, node: TableRows, relation: Relation) -> None:
        self._context, self.relation, self.choice = context, relation, node.choice
        self.rows = relation.select(node.choice)
        self._annotated = [context.annotated(table) for table in relation.tables]
        if any(
            area.bottom >= table.structure.body_start
            for table in relation.tables
            for area in table.grid.merged
        ):
            raise ProgramCompilationError("SPARQL cannot say rows whose cells are merged.")
        names = context.names
        self.row = context.variable("row" if not node.alias else f"{node.alias} row")
        self.place = context.variable("number" if not node.alias else f"{node.alias} number")
        self.part = ""
        graphs = [f"<{names.table_iri(table.id)}>" for table in relation.tables]
        self._graph = [graphs[0]]
        if len(graphs) > 1:
            table = context.variable("table")
            self.part = context.variable("part")
            pairs = " ".join(f"({graph} {part})" for part, graph in enumerate(graphs))
            self._graph = [f"VALUES ({table} {self.part}) {{ {pairs} }}", table]
            if len({annotated.predicates for annotated in self._annotated}) > 1:
                raise ProgramCompilationError("SPARQL cannot say tables whose predicates differ.")
        self.block = GraphPattern(
            self._graph, [f"{self.row} a kgt:Row ; kgt:row {self.place} .", *self._kinds()]
        )
        self.group = GroupPattern(self.block)
        self._cells: dict[object, tuple[str, OptionalPattern]] = {}

    def _kinds(self) -> list[str]:
        """The conditions that leave the rows that take part."""
        blank = {(self.relation.id, row) for row in self.relation.blank}
        if len(self.rows) == len(self.relation) and not blank:
            return []
        taken = {self.relation.place(row) for row in self.rows.tolist()}
        classes = {"kgt:Group": "groups", "kgt:TotalRow": "totals", "kgt:FootnoteRow": "footnotes"}
        left = {self.relation.place(row) for row in range(len(self.relation))}
        lines = []
        for name, field in classes.items():
            marked = {
                (table.id, row) for table in self.relation.tables for row in getattr(table.structure, field)
            } & left
            if marked and not marked & taken:
                left -= marked
                lines.append(f"FILTER NOT EXISTS {{ {self.row} a {name} }}")
        rest = sorted(row for _, row in (left | blank) - taken)
        if rest and (self.part or len(rest) > MOST_LISTED):
            raise ProgramCompilationError("SPARQL cannot say which rows are members.")
        if rest and len(rest) > len(taken):
            numbers = ", ".join(str(row) for _, row in sorted(taken))
            return [f"FILTER({self.place} IN ({numbers}))"] if taken else ["FILTER(false)"]
        if rest:
            lines.append(f"FILTER({self.place} NOT IN ({', '.join(map(str, rest))}))")
        return lines

    def narrowed(self, rows: Indices) -> GraphRows:
        """The same occurrence where only some rows are left: their cells decide on kinds and units."""
        found = copy(self)
        found.rows = rows if len(rows) else self.rows
        return found

    def again(self, group: GroupPattern) -> GraphRows:
        """The same rows after a sub-select that hands them on: cells are read anew, outside of it."""
        found = copy(self)
        found.block = GraphPattern(self._graph[-1:], [])
        found.group, found._cells = group, {}
        group.blocks.append(found.block)
        return found

    @property
    def graph(self) -> str:
        """The named graph of the rows."""
        return self._graph[-1]

    @property
    def handed(self) -> list[str]:
        """The variables that a sub-select must hand on."""
        return [self.row, self.place, *([self.part, self._graph[-1]] if self.part else [])]

    @property
    def order(self) -> list[str]:
        return [self.part, self.place] if self.part else [self.place]

    def name(self, column: int | str) -> str:
        return column if isinstance(column, str) else self.relation.columns[column].name

    def cells(self, column: int | str) -> list[tuple[str, Datum | None, CellKind]]:
        """Of the rows that take part each different cell: its string in the graph, its value, its kind."""
        data = self.relation.data(column) if isinstance(column, int) else self.relation.pseudo(column)
        codes = data.codes[self.rows].tolist()
        if isinstance(column, str):
            values = [data.values[code] if code >= 0 else None for code in dict.fromkeys(codes)]
            return [(datum.text if datum else "", datum, CellKind.TEXT) for datum in values]
        found = []
        for (text, part), code in dict.fromkeys(zip(self._texts(column), codes, strict=True)):
            if not text:
                continue
            value = type_cell(text, self._annotated[part].styles[column])
            kind, string = value.kind, text
            if kind not in (CellKind.NUMBER, CellKind.TEXT, CellKind.MISSING):
                typed = value.lexical is not None and value.datatype is not None
                kind, string = (kind, str(value.lexical)) if typed else (CellKind.TEXT, text)
            found.append((string, data.values[code] if code >= 0 else None, kind))
        return found

    def _texts(self, column: int) -> Iterator[tuple[str, int]]:
        """The text of each row that takes part, and the number of the row's table."""
        texts = self.relation.texts(column)
        return zip(
            map(texts.__getitem__, self.rows.tolist()), self.relation.parts[self.rows].tolist(), strict=True
        )

    def terms(self, column: int | str) -> dict[str, Datum]:
        terms: dict[str, Datum] = {}
        for text, datum, _ in self.cells(column):
            if datum is not None and terms.setdefault(text, datum) != datum:
                first = terms[text]
                if first.number is None or datum.number is None:
                    terms[text] = first
                else:
                    # Told apart by the number's node; a key that no string of a cell can be.
                    terms[f"{text}\0{datum.unit}\0{datum.value}"] = datum
        return terms

    def all_nodes(self, column: int) -> bool:
        """Whether all values are nodes with a number."""
        return all(kind is CellKind.NUMBER for _, datum, kind in self.cells(column) if datum is not None)

    def term(self, column: int | str) -> str:
        """The variable of the string of a cell."""
        if (column, "t") in self._cells:
            return self._cells[column, "t"][0]
        if column == "@table":
            raise ProgramCompilationError("SPARQL cannot say the table of a row.")
        if isinstance(column, str):
            variable = self._context.variable(column.removeprefix("@"))
            return self.cell((column, "t"), variable, self._heading(column, variable))
        kinds = {kind for _, datum, kind in self.cells(column) if datum is not None}
        blank = {kind for _, datum, kind in self.cells(column) if datum is None}
        predicate = self.predicate(column)
        if kinds == {CellKind.NUMBER}:
            variable = self._context.variable(f"{self.name(column)} text")
            return self.cell((column, "t"), variable, [f"{self.row} {predicate}/kgt:text {variable} ."])
        variable = self._context.variable(self.name(column))
        if kinds <= {CellKind.TEXT} and not blank:
            return self.cell((column, "t"), variable, [f"{self.row} {predicate} {variable} ."])
        cell = self._context.variable(f"{self.name(column)} cell")
        lines = [f"{self.row} {predicate} {cell} ."]
        string = f"STR({cell})"
        if CellKind.NUMBER in kinds:
            text = self._context.variable(f"{self.name(column)} text")
            lines.append(f"OPTIONAL {{ {cell} kgt:text {text} }}")
            string = f"COALESCE({text}, STR({cell}))"
        if blank:
            lines.append(f"FILTER(isIRI({cell}) || DATATYPE({cell}) != kgt:missing)")
        lines.append(f"BIND({string} AS {variable})")
        return self.cell((column, "t"), variable, lines)

    def _heading(self, column: str, variable: str) -> list[str]:
        if column == "@group":
            path = f"{self.row} kgt:group/rdfs:label {variable} ."
            return [path]
        raise ProgramCompilationError(f"SPARQL cannot say {column}.")

    def value(self, column: int, factors: Mapping[str | None, Fraction]) -> str:
        """The variable of a cell's number; with factors, in one unit."""
        key = (column, "v", tuple(factors.items()))
        if key in self._cells:
            return self._cells[key][0]
        predicate = self.predicate(column)
        variable = self._context.variable(self.name(column))
        if any(kind == "range" for kind in self._ranges(column)):
            path = f"{predicate}/(qudt:numericValue|kgt:lowerBound)"
        else:
            path = f"{predicate}/qudt:numericValue"
        if not factors:
            return self.cell(key, variable, [f"{self.row} {path} {variable} ."])
        cell = self._context.variable(f"{self.name(column)} cell")
        unit = self._context.variable(f"{self.name(column)} unit")
        number = self._context.variable(f"{self.name(column)} number")
        factor = self._context.variable(f"{self.name(column)} factor")
        pairs = " ".join(f"(unit:{name or 'UNITLESS'} {_factor(value)})" for name, value in factors.items())
        lines = [
            f"{self.row} {predicate} {cell} .",
            f"{cell} {path.partition('/')[2]} {number} ; qudt:hasUnit {unit} .",
            f"VALUES ({unit} {factor}) {{ {pairs} }}",
            f"BIND({number} * {factor} AS {variable})",
        ]
        return self.cell(key, variable, lines)

    def _ranges(self, column: int) -> set[str]:
        found = set()
        for text, part in dict.fromkeys(self._texts(column)):
            number = type_cell(text, self._annotated[part].styles[column]).number if text else None
            if number is not None and number.upper is not None:
                found.add("range")
        return found

    def listing(self, term: str, found: Mapping[str, str], wanted: str) -> str:
        """The variable that a list of strings with their meanings gives."""
        key = (term, tuple(found.items()))
        if key not in self._cells:
            variable = self._context.variable(wanted)
            block = OptionalPattern(listed_meanings(term, variable, found))
            next(cell for known, cell in self._cells.values() if known == term).inner.append(block)
            self._cells[key] = variable, block
        return self._cells[key][0]

    def require(self, column: int | str) -> None:
        for key, (_, block) in self._cells.items():
            if (
                isinstance(key, tuple)
                and key[0] == column
                and self.block is not None
                and block in self.block.cells
            ):
                block.required = True

    def cell(self, key: object, variable: str, lines: Sequence[str]) -> str:
        """The variable that holds something of a cell."""
        if key not in self._cells:
            block = OptionalPattern(lines)
            self.block.cells.append(block)
            self._cells[key] = variable, block
        return self._cells[key][0]

    def predicate(self, column: int) -> str:
        names = self._context.names
        return self._context.iri(names.predicate_iri(self._annotated[0].predicates[column]))


def _factor(value: Fraction) -> str:
    """A multiplier as a decimal."""
    return decimal_literal(decimal_of(value))


class UnpivotedReading(CellReading):
    """A cell of one of several columns."""

    def __init__(
        self,
        context: QueryContext,
        base: GraphRows,
        group: GroupPattern,
        predicate: str,
        columns: Sequence[int],
    ) -> None:
        self._context, self._base, self._in_group = context, base, group
        self._predicate, self._columns = predicate, columns
        self.terms = {}
        for column in columns:
            for term, datum in base.terms(column).items():
                if self.terms.setdefault(term, datum) != datum:
                    self.terms[f"{term}\0{column}"] = datum

    def term(self) -> str:
        variable = self._context.variable("cell text")
        cell, text = self._context.variable("cell"), self._context.variable("text")
        lines = [
            f"{self._base.row} {self._predicate} {cell} .",
            f"OPTIONAL {{ {cell} kgt:text {text} }}",
            f"FILTER(isIRI({cell}) || DATATYPE({cell}) != kgt:missing)",
            f"BIND(COALESCE({text}, STR({cell})) AS {variable})",
        ]
        return self._base.cell((self._predicate, "t"), variable, lines)

    def number(self) -> str:
        numbers = all(self._base.all_nodes(column) for column in self._columns)
        units = {datum.unit for datum in self.terms.values()}
        if self.kind != "number" or not numbers or len(units - {self.unit}) > 0:
            return super().number()
        variable = self._context.variable("value")
        line = f"{self._base.row} {self._predicate}/qudt:numericValue {variable} ."
        cell = self._context.variable("cell")
        line = f"{self._base.row} {self._predicate} {cell} . {cell} qudt:numericValue {variable} ."
        return self._base.cell((self._predicate, "v"), variable, [line])

    def listing(self, found: Mapping[str, str], wanted: str) -> str:
        return self._base.listing(self.term(), found, wanted)

    def require(self) -> None:
        self._base.require(self._predicate)
