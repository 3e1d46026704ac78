"""Coverage of a question by a program: words it does not account for, and parts that no word asks for.

The counterpart of the candidates of `kgtable.programs` for programs that somebody else wrote: a token of
the question is consumed by a title, a column, a constant, an operator, a unit or the group above a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import islice

from kgtable.errors import UnknownColumnError
from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    And,
    Apply,
    Arithmetic,
    ColumnRef,
    Compare,
    Constant,
    Convert,
    Expression,
    Filter,
    GroupBy,
    IsMissing,
    Limit,
    Lookup,
    Membership,
    Neighbours,
    Node,
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
    TableRows,
    Unpivot,
    ValueKind,
    children,
    tables_of,
    walk,
)
from kgtable.programs.executor import ProgramResult
from kgtable.programs.provenance import CellRole
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import SCALES, normal
from kgtable.questions.conditions import Condition
from kgtable.questions.english import consumed_cues, months, words_of_type
from kgtable.questions.linking import Links
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import ColumnView, index_of, stems_of
from kgtable.values.decimals import scaled
from kgtable.values.units import SCALE_WORDS

TELLING = frozenset(
    ("negation", "average", "median", "difference", "percent", "ratio", "change", "next", "previous", "above_average",
     "below_average", "same", "half", "twice", "consecutive", "points", "most_often", "other", "per")
)  # fmt: skip
"""Operator words that change what is asked: a program that does not account for them is not verified."""

MOST_ROWS = 50
"""Rows of a result whose groups are looked at."""

_GREATER = (Relator.GREATER, Relator.GREATER_OR_EQUAL)
_LESS = (Relator.LESS, Relator.LESS_OR_EQUAL)
_ARITHMETIC = {
    Operator.ADD: ("sum",),
    Operator.SUBTRACT: ("difference", "span"),
    Operator.MULTIPLY: (),
    Operator.DIVIDE: ("ratio",),
    Operator.RATIO: ("ratio",),
    Operator.SHARE: ("share",),
    Operator.PERCENT_CHANGE: ("percent_change",),
    Operator.POWER: (),
}
_CUES = {
    "more": ("more_than", "at_least", "since", "next", "points", "above_average"),
    "less": ("less_than", "at_most", "until", "previous", "below_average"),
    "either": ("or", "both", "between"),
    "negated": ("negation", "other"),
}
"""The classes of operator words that conditions account for."""


@dataclass(frozen=True)
class Coverage:
    """A program compared with a question; `relations` are the tables that it reads, by id."""

    question: Question
    program: Program
    relations: Mapping[str, Relation]
    result: ProgramResult | None = None

    @cached_property
    def links(self) -> tuple[Links, ...]:
        """What the question names in each table that the program reads."""
        ids = tables_of(self.program)
        return tuple(Links(self.question, index_of(self.relations[id])) for id in ids)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes of the program."""
        return tuple(walk(self.program.root))

    @cached_property
    def columns(self) -> tuple[tuple[Links, ColumnView], ...]:
        """The columns that it names, and the label columns of rows that it counts."""
        found = []
        for node in self.nodes:
            for links in self.links:
                relation = links.index.relation
                if isinstance(node, Aggregate) and node.argument is None:
                    found.append((links, links.index.columns[relation.label_column()]))
                elif isinstance(node, ColumnRef) and node.table in ("", relation.id):
                    place = _place(node, relation)
                    if place is not None:
                        found.append((links, links.index.columns[place]))
        return tuple(found)

    @cached_property
    def operators(self) -> frozenset[str]:
        """The names of its operators, as ``english.toml`` lists what each consumes."""
        return frozenset(_operators(self.program.root, top=True))

    @cached_property
    def cues(self) -> frozenset[str]:
        """The classes of operator words that it accounts for."""
        known = consumed_cues()
        found = set(known["any"])
        for name in self.operators:
            found |= known.get(name, frozenset())
        for name in _conditions(self.nodes):
            found.update(_CUES[name])
        rise = _asks_of_change(self.program.root, self.relations)
        if rise is not None:
            found.update(("change", "up" if rise else "down"))
        if "share" in self.operators and "ratio" not in self.operators and "percent" not in self.question.cues:
            found.discard("ratio")
        return frozenset(found)

    @cached_property
    def consumed(self) -> int:
        """The tokens of the question that it accounts for."""
        question = self.question
        total = 0
        for links in self.links:
            total |= links.titled
        for links, view in self.columns:
            named = links.columns[view.place].mask
            total |= named
            first = question.tokens[(named & -named).bit_length() - 1] if named else None
            if first is not None and first.index and first.word[0].isdigit():
                total |= (named & -named) >> 1 if question.tokens[first.index - 1].word == "over" else 0
            for adjective, mask in question.adjectives:
                if set(adjective.headers) & view.aspects:
                    total |= mask
            for adjective, mask in question.achievements:
                if -1 in {sign for sign, _ in _directions(self.nodes)} and set(adjective.headers) & view.aspects:
                    total |= mask
            total |= links.measured(view)
            if view.timelike:
                total |= self._stems(words_of_type("time"))
        for cue, mask in question.cues.items():
            if cue in self.cues:
                total |= mask
        said = {normal(str(constant.value)) for constant, _ in _constants(self.program.root)}
        for links in self.links:
            for condition in links.conditions:
                total |= condition.mask if condition.text and normal(condition.text) in said else 0
        total |= Question._all(condition.mask for condition in self._spans)
        for constant, parent in _constants(self.program.root):
            total |= self._constant(constant, parent)
        total |= self._rows_of_result() | self._limits() | self._units()
        return total

    @property
    def left(self) -> str:
        """The content words that it does not account for."""
        content = self.question.content
        for links in self.links:
            content |= links.values
        return self.question.words_of(content & ~self.consumed)

    @property
    def count_left(self) -> int:
        """How many words it leaves out: content words, and operator words that change what is asked."""
        return len(self.left.split()) + len(self.unaccounted)

    @property
    def unaccounted(self) -> tuple[str, ...]:
        """Operator words that change what is asked and that it does not account for."""
        question = self.question
        found = [
            question.words_of(mask & ~self.consumed)
            for cue, mask in question.cues.items()
            if cue in TELLING and cue not in self.cues and mask & ~self.consumed
        ]
        wanted = {sign for sign, _ in _directions(self.nodes)}
        for adjective, mask in question.adjectives:
            if adjective.superlative and mask & ~self._constant_words and not self._is_directed(adjective, wanted):
                found.append(question.words_of(mask))
        return tuple(dict.fromkeys(found))

    @property
    def unasked(self) -> tuple[str, ...]:
        """The statistics that it computes and no word of the question asks for."""
        cues = self.question.cues
        found = {
            node.function: name
            for node in self.nodes
            if isinstance(node, Aggregate)
            for name in (_STATISTICS.get(node.function, ""),)
            if name and name not in cues
        }
        return tuple(found.values())

    @cached_property
    def _spans(self) -> tuple[Condition, ...]:
        """The conditions on months from one to another that are part of the program."""
        return tuple(
            condition
            for links in self.links
            for condition in links.conditions
            if condition.kind == "months" and condition.expression in self.nodes
        )

    @cached_property
    def _constant_words(self) -> int:
        """Tokens that constants, columns and titles say, which are not operator words then."""
        total = 0
        for constant, parent in _constants(self.program.root):
            total |= self._constant(constant, parent)
        for links, view in self.columns:
            total |= links.columns[view.place].mask
        return total

    def _is_directed(self, adjective: object, wanted: set[int]) -> bool:
        """Whether the program looks for the end of the order that a superlative means."""
        if not wanted:
            return bool({"first_last", "neighbour", "sorted"} & self.operators)
        stems = {stem for _, view in self.columns for stem in view.aspects}
        signs = {sign for stem, sign in adjective.headers.items() if stem in stems}  # type: ignore[attr-defined]
        return bool((signs or {adjective.sign}) & wanted)  # type: ignore[attr-defined]

    def foreign_constants(self) -> list[str]:
        """The constants that the question does not contain, except those of a percentage or a mean."""
        found = []
        for constant, parent in _constants(self.program.root):
            if isinstance(constant.value, bool) or _is_row_number(constant, parent):
                continue
            if _is_of_formula(constant, parent) or self._says(constant, parent):
                continue
            found.append(str(constant.value))
        limit, _ = self.question.limit
        known = {int(n.value) for n in self.question.numbers if n.value == n.value.to_integral_value()}
        known |= {limit, 1} | {ordinal for ordinal, _ in self.question.ordinals}
        for node in self.nodes:
            if isinstance(node, Limit) and node.count not in known:
                found.append(str(node.count))
            if isinstance(node, Limit) and node.offset and node.offset + 1 not in known:
                found.append(str(node.offset))
            if isinstance(node, Neighbours) and abs(node.offset) not in known:
                found.append(str(node.offset))
        return list(dict.fromkeys(found))

    def _says(self, constant: Constant, parent: Node | None) -> bool:
        """Whether the question says a constant: most words of a text, a number, a time."""
        if parent is not None and any(condition.expression == parent for condition in self._spans):
            return True
        if isinstance(constant.value, Decimal):
            return bool(self._constant(constant, parent)) or not constant.value
        if constant.kind in (ValueKind.DATE, ValueKind.PERIOD):
            return bool(self._constant(constant, parent))
        stems = list(dict.fromkeys(stems_of(str(constant.value))))
        said = [token.stem for token in self.question.tokens]
        hits = [stem for stem in stems if any(_same_word(stem, word) for word in said)]
        return not stems or len(hits) >= 0.6 * len(stems)

    def _constant(self, constant: Constant, parent: Node | None) -> int:
        """The tokens that say a constant."""
        question = self.question
        value = constant.value
        if isinstance(value, bool):
            return 0
        total = 0
        if isinstance(value, Decimal):
            whole = scaled(value, SCALES.get(constant.scale or "ONE", 0))
            for number in question.numbers:
                meant = scaled(number.value, SCALES.get(number.scale or "ONE", 0))
                if number.value in (value, whole) or meant == whole:
                    total |= number.mask | number.unit_mask
            for ordinal, mask in question.ordinals:
                total |= mask if ordinal == value else 0
            for threshold in question.thresholds:
                ends = threshold.number.mask | (threshold.upper.mask if threshold.upper else 0)
                total |= threshold.mask if ends & total and isinstance(parent, Compare) else 0
            if isinstance(parent, Compare) and Apply in (type(parent.left), type(parent.right)):
                names = {name for name, number in months().items() if number == value}
                total |= sum(1 << token.index for token in question.tokens if token.word in names)
            if value == value.to_integral_value():
                total |= self._times(str(int(value)))
            return total
        total |= self._times(value)
        words = stems_of(value)
        for token in question.tokens:
            if any(_same_word(word, token.stem) for word in words) and (not token.empty or len(words) < 3):
                total |= 1 << token.index
        return total

    def _times(self, lexical: str) -> int:
        """The tokens that say a date or period, or an end of it."""
        parts = {lexical, *lexical.split("/")}
        total = 0
        for mention in self.question.times:
            said = {mention.lexical, *mention.lexical.split("/")}
            if parts & said or any(part.startswith(f"{mention.lexical}-") for part in parts):
                total |= mention.full_mask or mention.mask
        return total

    def _rows_of_result(self) -> int:
        """The words of headings above the rows that the result comes from."""
        if self.result is None:
            return 0
        rows: dict[tuple[str, int], None] = {}
        for cell in islice(self.result.cells(), 5_000):
            if cell.role is CellRole.SELECTED:
                rows[cell.table, cell.row] = None
            if len(rows) > MOST_ROWS:
                return 0
        total = 0
        for id, row in rows:
            for table in self.relations[id].tables:
                groups = table.group_path(row) if table.id == id else ()
                words = (" ".join(table.grid.head[group]) for group in groups)
                total |= self._stems(frozenset(stem for text in words for stem in stems_of(text)))
        if any(isinstance(node, TableRows) and node.choice is not RowChoice.MEMBERS for node in self.nodes):
            total |= self.question.cues.get("total", 0)
        return total

    def _limits(self) -> int:
        count, mask = self.question.limit
        return mask if any(isinstance(node, Limit) and node.count == count for node in self.nodes) else 0

    def _units(self) -> int:
        """Scale words, and the unit that the answer is asked in where the result has it."""
        total = self._stems(frozenset(stems_of(" ".join(SCALE_WORDS))))
        asked = self.question.unit_asked
        value = self.result.value if self.result is not None else None
        if asked is not None and value is not None and value.unit == asked[0]:
            total |= asked[1]
        if value is not None and value.unit:
            total |= self._stems(frozenset(stems_of(value.unit.removeprefix("CCY_").replace("-", " "))))
        return total

    def _stems(self, stems: frozenset[str]) -> int:
        return sum(1 << token.index for token in self.question.tokens if token.stem in stems)


def _same_word(stem: str, said: str) -> bool:
    """Whether two stems are of one word: *Norway* and *Norwegian*, *costs* and *cost*."""
    if stem == said:
        return True
    shorter = min(len(stem), len(said))
    return (
        shorter >= 4 and stem[: max(4, shorter - 2)] == said[: max(4, shorter - 2)] and abs(len(stem) - len(said)) <= 4
    )


def _place(ref: ColumnRef, relation: Relation) -> int | None:
    if ref.name in ("@label",):
        return relation.label_column()
    try:
        return relation.resolve(ref.name)
    except UnknownColumnError:
        return None


def _operators(node: Node, *, top: bool = False) -> Iterator[str]:
    """The operators of a tree by the names of ``english.toml``."""
    match node:
        case Aggregate(function, argument, _):
            yield "first_last" if function is AggregateFunction.FIRST else function.value
            if function is AggregateFunction.COUNT and argument is not None:
                yield "count_distinct"
        case Project() | Lookup():
            yield "select"
        case Limit(Sort(source, keys), _, _, _):
            yield from ("extreme", "top", "extreme_value")
            if isinstance(keys[0].expression, ColumnRef) and keys[0].expression.name == "@row":
                yield "first_last"
            if any(isinstance(part, GroupBy) for part in walk(source)):
                yield "group_extreme"
        case Limit():
            yield "first_last"
        case Sort():
            yield "sorted"
        case GroupBy():
            yield "group"
        case Filter(GroupBy(), _):
            yield "having"
        case Neighbours():
            yield "neighbour"
        case Unpivot():
            yield "column_extreme"
        case IsMissing():
            yield "missing"
        case SetOperation(SetOperator.INTERSECT, _, _):
            yield "same_as"
        case Arithmetic(operator, left, right):
            yield from _ARITHMETIC[operator]
            if operator is Operator.DIVIDE:
                if any(isinstance(part, Arithmetic) and part.operator is Operator.SUBTRACT for part in (left, right)):
                    yield "percent_change"
                else:
                    yield "share"
                if isinstance(right, Constant) and right.value == _terms(left) > 1:
                    yield "mean"
        case Compare() if top:
            yield from ("compare", "compare_yes", "yes_no")
    for child in children(node):
        yield from _operators(child)


def _conditions(nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        match node:
            case Compare(relator, _, _) if relator in _GREATER:
                yield "more"
            case Compare(relator, _, _) if relator in _LESS:
                yield "less"
            case Or() | Membership() | And():
                yield "either"
            case Compare(Relator.NOT_EQUAL, _, _) | Not() | IsMissing() | SetOperation(SetOperator.EXCEPT, _, _):
                yield "negated"


def _directions(nodes: Iterable[Node]) -> Iterator[tuple[int, Expression]]:
    """For each extreme: +1 for the largest, -1 for the smallest, and what is compared."""
    for node in nodes:
        match node:
            case Limit(Sort(_, keys), _, _, _):
                yield (1 if keys[0].descending else -1), keys[0].expression
            case Aggregate(AggregateFunction.MAX, argument, _) if argument is not None:
                yield 1, argument
            case Aggregate(AggregateFunction.MIN, argument, _) if argument is not None:
                yield -1, argument
            case Compare(relator, left, _) if relator in (*_GREATER, *_LESS):
                yield (1 if relator in _GREATER else -1), left


def extremes(program: Program) -> tuple[Expression, ...]:
    """The expressions that a program takes the largest or smallest of."""
    nodes = [node for node in walk(program.root) if not isinstance(node, Compare)]
    return tuple(expression for _, expression in _directions(nodes))


def _constants(root: Node) -> Iterator[tuple[Constant, Node | None]]:
    """The constants of a tree with their parents."""
    pending: list[tuple[Node, Node | None]] = [(root, None)]
    while pending:
        node, parent = pending.pop()
        if isinstance(node, Constant):
            yield node, parent
        pending.extend((child, node) for child in children(node))


def _is_row_number(constant: Constant, parent: Node | None) -> bool:
    """Whether a constant only names the row of a cell that was cited."""
    return isinstance(parent, Compare) and parent.left == ColumnRef("@row") and parent.relator is Relator.EQUAL


def _terms(node: Node) -> int:
    """How many terms a sum has."""
    if isinstance(node, Arithmetic) and node.operator is Operator.ADD:
        return _terms(node.left) + _terms(node.right)
    return 1


def _is_of_formula(constant: Constant, parent: Node | None) -> bool:
    """Whether it is the 100 or the 1 of a percentage, or the number of terms of a mean."""
    if not isinstance(parent, Arithmetic):
        return False
    other = parent.left if parent.right is constant else parent.right
    ratio = isinstance(other, Arithmetic) and other.operator in (Operator.DIVIDE, Operator.RATIO)
    if constant.value == 100 and parent.operator is Operator.MULTIPLY:
        return ratio or (isinstance(other, Arithmetic) and other.operator is Operator.SUBTRACT and _has_ratio(other))
    if constant.value == 1 and parent.operator is Operator.SUBTRACT:
        return ratio
    if parent.operator is Operator.DIVIDE and parent.right is constant:
        return _terms(parent.left) > 1 and constant.value == _terms(parent.left)
    return False


def _has_ratio(node: Node) -> bool:
    return any(
        isinstance(part, Arithmetic) and part.operator in (Operator.DIVIDE, Operator.RATIO) for part in walk(node)
    )


def period_of(node: Node, relations: Mapping[str, Relation]) -> str:
    """The one period that an operand is about, by headers and constants; empty if it is not clear."""
    found = set()
    for part in walk(node):
        if isinstance(part, ColumnRef):
            for id in tables_of(Program(node)):
                place = _place(part, relations[id])
                if place is not None and (period := index_of(relations[id]).columns[place].period):
                    found.add(period)
        elif isinstance(part, Constant) and re.fullmatch(r"\d{4}(?:-.*)?", str(part.value)):
            found.add(str(part.value))
    return found.pop() if len(found) == 1 else ""


def _asks_of_change(root: Node, relations: Mapping[str, Relation]) -> bool | None:
    """Whether a comparison of two periods holds for a rise (or for a fall); None for any other program."""
    if not isinstance(root, Compare) or root.relator not in (*_GREATER, *_LESS):
        return None
    first, second = (period_of(side, relations) for side in (root.left, root.right))
    if not first or not second or first == second:
        return None
    return (first > second) is (root.relator in _GREATER)


_STATISTICS = {AggregateFunction.MEAN: "average", AggregateFunction.MEDIAN: "median"}
"""Aggregates that nobody means without a word for them, and the class of these words."""


@dataclass(frozen=True, slots=True)
class Change:
    """The direction of a change from the earlier to the later (1, 0, -1), and whether a program subtracts
    the later from the earlier, so that its result has the opposite sign."""

    direction: int
    reversed: bool = False


def change_of(result: ProgramResult, relations: Mapping[str, Relation]) -> Change | None:
    """The change from one period to another that a program computes; None if it computes none."""
    value = result.value
    number = value.number if value is not None else None
    node: Node = result.program.root
    while isinstance(node, Arithmetic | Convert):
        if isinstance(node, Convert):
            node = node.operand
            continue
        if node.operator in (Operator.SUBTRACT, Operator.PERCENT_CHANGE):
            break
        if node.operator not in (Operator.DIVIDE, Operator.MULTIPLY, Operator.SHARE):
            return None
        node = node.right if isinstance(node.left, Constant) else node.left
    if number is None or not isinstance(node, Arithmetic):
        return None
    first, second = (period_of(side, relations) for side in (node.left, node.right))
    sign = (number > 0) - (number < 0)
    if not first or not second or first == second:
        return None
    if node.operator is Operator.SUBTRACT:
        return Change(sign) if first > second else Change(-sign, True)
    return Change(sign) if first < second else None


def is_difference(program: Program) -> bool:
    """Whether a program is a difference, converted or not."""
    node: Node = program.root
    while isinstance(node, Convert):
        node = node.operand
    return isinstance(node, Arithmetic) and node.operator is Operator.SUBTRACT
