"""Parts of a SPARQL query that are written when all of it is known.

Which cells of a row, and which columns of a sub-select, a query needs is found out while the rest of
the program is compiled; so patterns are kept as blocks and turned into lines at the end.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from kgtable.errors import ProgramCompilationError
from kgtable.graph.terms import MOST_PLACES, Namespaces, decimal_text, is_decimal, text_literal
from kgtable.values.decimals import with_places

MOST_LISTED = 3_000
"""How many different cells of a column a query may list with what they mean."""


_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class QueryBlock(ABC):
    """A part of a group pattern that is written when the whole query is known."""

    @abstractmethod
    def lines(self) -> list[str]:
        """The lines of the pattern."""


class QueryLines(QueryBlock):
    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)

    def lines(self) -> list[str]:
        return self._lines


class GroupPattern(QueryBlock):
    """Blocks one after the other."""

    def __init__(self, *blocks: QueryBlock) -> None:
        self.blocks = list(blocks)

    def add(self, *lines: str) -> None:
        self.blocks.append(QueryLines(*lines))

    def lines(self) -> list[str]:
        return [line for block in self.blocks for line in block.lines()]


class SubSelect(QueryBlock):
    """A sub-select whose output variables are found out while the rest is compiled."""

    def __init__(self, context: QueryContext, inner: GroupPattern) -> None:
        self._context, self.inner = context, inner
        self.outputs: dict[str, str] = {}
        self.kept: list[str] = []
        self.modifiers: list[str] = []

    def keep(self, variable: str) -> str:
        """A variable of the inner pattern that is given as it is."""
        self.kept.append(variable)
        return variable

    def output(self, sparql: str, wanted: str) -> str:
        """The variable that an expression over the inner pattern is given as."""
        if sparql not in self.outputs:
            self.outputs[sparql] = self._context.variable(wanted)
        return self.outputs[sparql]

    def lines(self) -> list[str]:
        columns = [*dict.fromkeys(self.kept), *(f"({sparql} AS {name})" for sparql, name in self.outputs.items())]
        head = f"SELECT {' '.join(columns)} WHERE {{"
        wrapped = [head] if len(head) < 100 else ["SELECT", *indented(columns), "WHERE {"]
        return ["{", *indented([*wrapped, *indented(self.inner.lines()), "}", *self.modifiers]), "}"]


class OptionalPattern(QueryBlock):
    """A cell of a row: optional, unless a condition on it must hold."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = list(lines)
        self.required = False
        self.inner: list[OptionalPattern] = []

    def content(self) -> list[str]:
        """What is optional."""
        # What hangs on the cell stands inside, where the cell is bound: an unbound one would fit anything.
        return [*self._lines, *(line for block in self.inner for line in block.lines())]

    def lines(self) -> list[str]:
        found = self.content()
        if self.required:
            return found
        if len(found) == 1:
            return [f"OPTIONAL {{ {found[0]} }}"]
        return ["OPTIONAL {", *indented(found), "}"]


class GraphPattern(QueryBlock):
    """Pattern over the graph of one table: its rows, and cells of them."""

    def __init__(self, graph: str, head: Sequence[str]) -> None:
        self._graph = graph
        self.head = list(head)
        self.cells: list[OptionalPattern] = []

    def lines(self) -> list[str]:
        # What is required comes first: it narrows the rows down.
        required = [line for cell in self.cells if cell.required for line in cell.lines()]
        optional = [cell for cell in self.cells if not cell.required]
        if self.head or required:
            inner = [*self.head, *required, *(line for cell in optional for line in cell.lines())]
            return [f"GRAPH {self._graph} {{", *indented(inner), "}"]
        # Optional cells of rows that stand outside: a group of nothing else would not keep the rows.
        found = []
        for cell in optional:
            found += ["OPTIONAL {", f"  GRAPH {self._graph} {{", *indented(indented(cell.content())), "  }", "}"]
        return found


def indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def decimal_literal(number: Decimal | None) -> str:
    """A number as SPARQL writes it: a decimal, to the 18 places that engines at least keep, or else a double."""
    exact = number or Decimal(0)
    if int(exact.as_tuple().exponent) < -MOST_PLACES:
        exact = with_places(exact, MOST_PLACES)
    if not is_decimal(exact):
        return repr(float(exact))
    return decimal_text(f"{exact:f}")


def does_not_map(what: str) -> ProgramCompilationError:
    """The error of a program that SPARQL does not say directly."""
    return ProgramCompilationError(f"SPARQL cannot say {what}.", hint="Run the program in memory.")


def listed_meanings(term: str, variable: str, found: Mapping[str, str]) -> list[str]:
    """A list of strings with their meanings."""
    if len(found) > MOST_LISTED:
        raise does_not_map(f"what each of {len(found)} cells means")
    if any("\0" in text for text in found):
        raise does_not_map("cells that print the same and mean different things")
    lines = [""]
    for text, meaning in found.items():
        row = f"({text_literal(text)} {meaning})"
        if lines[-1] and len(lines[-1]) + len(row) > 90:
            lines.append("")
        lines[-1] = f"{lines[-1]} {row}".strip()
    head = f"VALUES ({term} {variable}) {{"
    return [f"{head} {lines[0]} }}"] if len(lines) == 1 else [head, *indented(lines), "}"]


class BracedPattern(QueryBlock):
    def __init__(self, inner: QueryBlock) -> None:
        self._inner = inner

    def lines(self) -> list[str]:
        return ["{", *indented(self._inner.lines()), "}"]


def is_variable(sparql: str) -> bool:
    return re.fullmatch(r"\?\w+", sparql) is not None


class QueryContext:
    """State that all parts of a query share: names of variables, and IRIs."""

    def __init__(self, names: Namespaces) -> None:
        self.names = names
        self._taken: set[str] = set()

    def variable(self, wanted: str) -> str:
        """A new variable, named after what it holds."""
        words = re.findall(r"[A-Za-z0-9]+", wanted)[:5] or ["value"]
        name = words[0].lower() + "".join(word.capitalize() for word in words[1:])
        name = f"n{name}" if name[0].isdigit() else name
        number, found = 2, name
        while found.lower() in self._taken:
            number, found = number + 1, f"{name}{number}"
        self._taken.add(found.lower())
        return f"?{found}"

    def iri(self, iri: str) -> str:
        """An IRI, by prefix where it has a plain local name."""
        local = iri.removeprefix(self.names.ex)
        return f"ex:{local}" if local != iri and _LOCAL.fullmatch(local) else f"<{iri}>"

    def listing(self, group: GroupPattern, term: str, found: Mapping[str, str], wanted: str) -> str:
        """The variable that a list of strings with their meanings gives, in a group."""
        if not is_variable(term):
            bound = self.variable("text")
            group.add(f"BIND({term} AS {bound})")
            term = bound
        variable, printed = self.variable(wanted), self.variable("printed")
        group.blocks.append(
            OptionalPattern([*listed_meanings(printed, variable, found), f"FILTER({printed} = {term})"])
        )
        return variable
