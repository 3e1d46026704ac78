"""The sources of candidates: a table, or two joined by a key, and the conditions that a question sets on them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from weakref import WeakKeyDictionary

import numpy as np

from kgtable.index.inferred.relations import TableRelations
from kgtable.programs.algebra import (
    And,
    ColumnRef,
    Expression,
    Filter,
    Join,
    KeyPair,
    RowChoice,
    Rows,
    TableRows,
    ValueKind,
)
from kgtable.programs.relation import NAMING
from kgtable.programs.scalars import Datum, text_of
from kgtable.questions.column_links import ColumnLink
from kgtable.questions.conditions import Condition
from kgtable.questions.linking import Links
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import ColumnView, TableIndex
from kgtable.tables.model import Role

SPELT_ALIKE = 85
"""The similarity from which keys match where the graph says that some are spelt otherwise."""

MOST_JOINED = 6
"""Most tables mentioned by a question that are joined in pairs."""

MOST_KEY_COLUMNS = 200
"""Columns of a table that are compared with those of another one for a key."""

KEY_WORDS = frozenset({"id", "code", "key", "sku", "number", "no"})
_KEYS: WeakKeyDictionary[TableIndex, WeakKeyDictionary[TableIndex, TableKey | None]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class TableKey:
    """The columns by which two tables join, and the evidence for it."""

    left: ColumnRef
    right: ColumnRef
    features: Mapping[str, float]
    similarity: int = 0
    """How alike keys are that are spelt otherwise, see `Join`."""


class Rarity:
    """Weight of each token of a question: the fewer of the tables have it, the higher."""

    def __init__(self, content: int, masks: Sequence[int]) -> None:
        self._weights = {}
        for place in range(content.bit_length()):
            if content >> place & 1:
                have = sum(mask >> place & 1 for mask in masks)
                self._weights[place] = math.log((len(masks) + 1) / (have + 0.5))
        self._total = sum(self._weights.values()) or 1.0

    def share(self, mask: int) -> float:
        """The weight of some tokens, in shares of the weight of all."""
        return sum(weight for place, weight in self._weights.items() if mask >> place & 1) / self._total


class ProgramSource:
    """One table, or two joined by a key, as the grammar sees it."""

    def __init__(self, links: Sequence[Links], score: float, rank: int, join: TableKey | None = None) -> None:
        self.links = tuple(links)
        self.rarity = Rarity(0, ())
        self.score, self.rank, self.join = score, rank, join
        self.references: frozenset[ColumnRef] = frozenset()
        self._unit_columns: dict[int, ColumnView | None] = {}
        self.named = 0
        """The tokens that name a column in full, of this or another of the tables that are looked at."""
        self.question: Question = links[0].question
        columns: list[ColumnView] = []
        column_links: list[ColumnLink] = []
        conditions: list[Condition] = []
        starts: list[int] = []
        for part in links:
            shift = len(columns)
            starts.append(shift)
            columns += [replace(view, place=view.place + shift) for view in part.index.columns]
            column_links += part.columns
            conditions += [replace(c, column=c.column + shift if c.column >= 0 else -1) for c in part.conditions] if shift else part.conditions  # fmt: skip  # noqa: E501
        cells = Question._all(condition.mask for condition in conditions if condition.kind == "exact")
        self.columns, self.column_links, self._starts = tuple(columns), tuple(column_links), tuple(starts)
        conditions = [self._beside_header(condition, cells) for condition in conditions]
        conditions.sort(key=lambda c: (-c.quality, -c.mask.bit_count()))
        self.conditions = tuple(conditions)
        self.title = self.satisfied_by_title = 0
        self.values = 0
        for part in links:
            self.title |= part.titled
            self.satisfied_by_title |= part.satisfied_by_title
            self.values |= part.values

    def _beside_header(self, condition: Condition, cells: int) -> Condition:
        """The condition with the tokens of its column's header, if they are next to it; `cells` name others."""
        if condition.column < 0 or condition.kind not in ("exact", "partial", "several", "contains"):
            return condition
        link = self.column_links[condition.column]
        whose = self.question.tokens[0].word == "whose" and link.mask & 2
        named = link.mask if whose else link.mask & ~cells
        if link.score < 0.5 or link.mask & condition.mask:
            return condition
        around = condition.mask
        for _ in range(3):
            around |= around << 1 | around >> 1
        if not named & around:
            return condition
        # The header may be said once more, as what is asked for.
        beside = named & around
        while (wider := beside | named & (beside << 1 | beside << 2 | beside >> 1 | beside >> 2)) != beside:
            beside = wider
        quality = min(condition.quality + 0.15 * link.score, 1.2)
        return replace(condition, mask=condition.mask | beside, quality=quality, relation="header")

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of its tables."""
        return tuple(table.id for part in self.links for table in part.index.relation.tables)

    def rows(self, choice: RowChoice = RowChoice.MEMBERS) -> Rows:
        """All its rows."""
        one, *other = (
            TableRows(tuple(table.id for table in part.index.relation.tables), choice=choice) for part in self.links
        )
        key = self.join
        return one if key is None else Join(one, other[0], (KeyPair(key.left, key.right),), key.similarity)

    @cached_property
    def keys(self) -> frozenset[ColumnRef]:
        """The columns by which its tables are joined."""
        return frozenset(() if self.join is None else (self.join.left, self.join.right))

    def unit_column(self, measure: ColumnView) -> ColumnView | None:
        """The column each of whose values stands for one unit of a measure, and each unit for one value."""
        if measure.place not in self._unit_columns:
            self._unit_columns[measure.place] = self._find_unit_column(measure) if self.join is None else None
        return self._unit_columns[measure.place]

    def _find_unit_column(self, measure: ColumnView) -> ColumnView | None:
        relation = self.links[0].index.relation
        data = relation.data(measure.place)
        known = data.codes >= 0
        numbers: dict[str, int] = {}
        units = np.array([numbers.setdefault(value.unit or "", len(numbers)) for value in data.values], np.int64)
        if not 1 < len(numbers) < known.sum():
            return None
        of_rows = units[data.codes[known]]
        for view in self.columns:
            if view.measure or view.distinct != len(numbers):
                continue
            codes = relation.data(view.place).codes[known].astype(np.int64)
            if (codes >= 0).all() and len(np.unique(codes * len(numbers) + of_rows)) == len(numbers):
                return view
        return None

    @cached_property
    def cues(self) -> Mapping[str, int]:
        """The cues of the question, without "number of" behind the name of a column of numbers: "permit number of"."""
        cues = self.question.cues
        how_many = cues.get("how_many", 0)
        before = (how_many & -how_many) >> 1
        named = any(
            link.exact and link.mask & before and view.key_words and not view.measure
            for view, link in zip(self.columns, self.column_links, strict=True)
        )
        return {name: mask for name, mask in cues.items() if name != "how_many"} if named else cues

    @cached_property
    def touched(self) -> int:
        """The tokens that its titles, headers or cells have."""
        total = self.title | self.values
        for link in self.column_links:
            total |= link.mask
        for condition in self.conditions:
            if condition.kind in ("exact", "partial", "contains", "several", "group"):
                total |= condition.mask
        return total

    def link(self, view: ColumnView) -> ColumnLink:
        """How the question names a column."""
        return self.column_links[view.place]

    @cached_property
    def overshadowed(self) -> frozenset[int]:
        """Columns whose naming words another column shares while being named better."""
        links = self.column_links
        return frozenset(
            place
            for place, link in enumerate(links)
            if link.mask and any(o.mask & link.mask == link.mask and o.score > link.score for o in links)
        )

    @cached_property
    def ends_spoken_of(self) -> frozenset[int]:
        """The tables of a join, by their places, that the question names only by words of their titles."""
        masks = [
            Question._all(link.mask for link in part.columns) | Question._all(c.mask for c in part.conditions)
            for part in self.links
        ]
        content = self.question.content
        return frozenset(place for place in (0, 1) if self.links[place].titled & content & ~masks[1 - place])

    def part_of(self, column: int) -> int:
        """Which of its tables a column, given by its place, belongs to."""
        return sum(column >= start for start in self._starts) - 1

    def values_of(self, view: ColumnView, most: int) -> list[Datum]:
        """The first different values of one of its columns."""
        part = self.part_of(view.place)
        data = self.links[part].index.relation.data(view.place - self._starts[part])
        return [data.values[code] for code in data.used()[:most]]

    @cached_property
    def beside(self) -> tuple[Condition, ...]:
        """Conditions of a text that cells of the column hold whole, or in a list, and others among other words."""
        longer = [c for c in self.conditions if c.kind == "contains"]
        return tuple(
            c
            for c in self.conditions
            if c.kind == "listed"
            or (c.kind == "exact" and any(o.column == c.column and o.mask & c.mask == c.mask for o in longer))
        )

    @cached_property
    def labels(self) -> tuple[ColumnView, ...]:
        """The columns that name rows: the label column of each table."""
        return tuple(view for view in self.columns if view.label)


@dataclass(frozen=True, slots=True)
class ConditionSet:
    """Conditions that hold together."""

    conditions: tuple[Condition, ...]
    mask: int
    quality: float
    choice: RowChoice
    features: Mapping[str, float]

    def expression(self) -> Expression | None:
        """Their conjunction."""
        parts = tuple(condition.expression for condition in self.conditions)
        return None if not parts else parts[0] if len(parts) == 1 else And(parts)

    def over(self, rows: Rows) -> Rows:
        """The rows that satisfy them."""
        expression = self.expression()
        return rows if expression is None else Filter(rows, expression)

    @property
    def columns(self) -> frozenset[int]:
        """The places of their columns."""
        return frozenset(condition.column for condition in self.conditions)


def condition_set(conditions: Sequence[Condition], dominated: Iterable[Condition] = ()) -> ConditionSet:
    """The conjunction of some conditions; `dominated` are those that another reading of the tokens beats."""
    mask, choice = 0, RowChoice.MEMBERS
    features: dict[str, float] = {}
    weaker = tuple(dominated)
    for condition in conditions:
        mask |= condition.mask
        if condition.choice is RowChoice.ALL:
            choice = RowChoice.ALL
        key = f"c:{condition.kind}"
        features[key] = features.get(key, 0) + 1
        features[f"{key}:q"] = features.get(f"{key}:q", 0) + condition.quality
        if condition in weaker:
            features["c:dominated"] = features.get("c:dominated", 0) + 1
        if condition.relation:
            features[f"c:relation:{condition.relation}"] = 1.0
    features[f"c:n={min(len(conditions), 3)}"] = 1.0
    if choice is RowChoice.ALL:
        features["c:all"] = 1.0
    quality = sum(condition.quality for condition in conditions)
    return ConditionSet(tuple(conditions), mask, quality, choice, features)


def joins_of(sources: Sequence[ProgramSource], stated: TableRelations | None = None) -> Iterator[ProgramSource]:
    """Pairs of single-table sources that share a key, or are joined by the graph, where the question speaks of both."""
    for one, other in combinations([source for source in sources if _spoken(source)][:MOST_JOINED], 2):
        left, right = one.links[0].index, other.links[0].index
        key = shared_key(left, right) or (stated and stated_key(left, right, stated)) or None
        if key is not None:
            yield ProgramSource(
                (one.links[0], other.links[0]), max(one.score, other.score), min(one.rank, other.rank), key
            )


def references_of(join: ProgramSource) -> Iterator[ColumnRef]:
    """The columns of a join that hold keys of rows which another column of the other table names.

    Numbers that merely are among those of a key, as grades are among ids, refer to nothing.
    """
    assert join.join is not None
    sides = (join.join.left, join.join.right)
    told = join.join.features
    meant = not told.get("join:numeric") or told.get("join:same") or told.get("join:named")
    for place, own in enumerate(sides):
        columns = join.links[1 - place].index.columns
        key = next((view for view in columns if view.ref == sides[1 - place]), None)
        refers = next((view for view in join.links[place].index.columns if view.ref == own), None)
        if (
            key is not None
            and (meant or (refers is not None and _is_keyed(refers)))
            and (key.role in NAMING or key.key_words)
            and key.distinct == key.filled
            and any(view.label and view is not key for view in columns)
        ):
            yield own


def _spoken(source: ProgramSource) -> bool:
    linked = any(link.score >= 0.5 for link in source.column_links)
    return linked or any(c.quality >= 0.6 for c in source.conditions) or bool(source.title)


def stated_key(left: TableIndex, right: TableIndex, stated: TableRelations) -> TableKey | None:
    """The columns of the surest join that the graph states between two tables, also where keys are spelt otherwise."""
    for join in stated.between(left.id, right.id):
        ends = (join.left, join.right) if join.left.table == left.id else (join.right, join.left)
        if ends[0].column < len(left.columns) and ends[1].column < len(right.columns):
            one, other = left.columns[ends[0].column], right.columns[ends[1].column]
            same = float(bool(one.stems) and one.stems == other.stems)
            named = float(_names(one, right) or _names(other, left))
            features = {"join:same": same, "join:named": named, "join:kin": _kinship(left, right),
                        "join:share": join.containment, "join:numeric": 0.0}  # fmt: skip
            return TableKey(one.ref, other.ref, features, SPELT_ALIKE if join.fuzzy else 0)
    return None


def shared_key(left: TableIndex, right: TableIndex) -> TableKey | None:
    """The columns by which two tables can be joined: values that one nearly contains, unique on one side."""
    kept = _KEYS.setdefault(left, WeakKeyDictionary())
    if right not in kept:
        kept[right] = _find_key(left, right)
    return kept[right]


def _find_key(left: TableIndex, right: TableIndex) -> TableKey | None:
    best: tuple[float, TableKey] | None = None
    kin = _kinship(left, right)
    if [view.stems for view in left.columns] == [view.stems for view in right.columns]:
        return None
    known: dict[tuple[TableIndex, int], frozenset[str]] = {}
    others = _key_columns(right)
    for one in _key_columns(left):
        if one.kind in (ValueKind.DATE, ValueKind.TRUTH, ValueKind.DURATION):
            continue
        for other in others:
            same = bool(one.stems) and one.stems == other.stems
            keyed = _is_keyed(one) or _is_keyed(other)
            if not same and not keyed and not (one.kind is ValueKind.TEXT and other.kind is ValueKind.TEXT):
                continue
            if not keyed and ValueKind.QUANTITY in (one.kind, other.kind):
                continue
            for index, view in ((left, one), (right, other)):
                if (index, view.place) not in known:
                    known[index, view.place] = _texts(index, view)
            first, second = known[left, one.place], known[right, other.place]
            if not first or not second:
                continue
            common = len(first & second)
            share = common / min(len(first), len(second))
            unique = one.distinct >= one.filled or other.distinct >= other.filled
            if share < 0.5 or common < 2 or not unique:
                continue
            numeric = all(text.isdigit() for text in first)
            if numeric and (not (same or keyed)):
                continue
            named = _names(one, right) or _names(other, left)
            score = share + same + 0.8 * named + 0.5 * bool(keyed) + 0.3 * (one.kind is not ValueKind.QUANTITY)
            if best is None or score > best[0]:
                told = {"join:same": float(same), "join:named": float(named), "join:kin": kin,
                        "join:share": share, "join:numeric": float(numeric)}  # fmt: skip
                best = score, TableKey(one.ref, other.ref, told)
    return None if best is None else best[1]


def _key_columns(index: TableIndex) -> list[ColumnView]:
    """The columns that may be a key or refer to one; in a very wide table those called a key, then the first."""
    found = [
        view for view in index.columns if view.distinct >= 2 and (view.role is not Role.ORDINAL or _is_keyed(view))
    ]
    chosen = sorted(found, key=lambda view: (not _is_keyed(view), view.place))[:MOST_KEY_COLUMNS]
    return sorted(chosen, key=lambda view: view.place)


def _is_keyed(view: ColumnView) -> bool:
    return view.role is Role.IDENTIFIER or not {"id", "uid", "code", "key", "sku"}.isdisjoint(view.stems)


def _kinship(left: TableIndex, right: TableIndex) -> float:
    """How much of the shorter of two table ids is how the other begins, word by word."""
    one, other = (re.findall(r"[^\W_]+", index.id.casefold()) for index in (left, right))
    common = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        common += 1
    return common / max(min(len(one), len(other)), 1)


def _names(view: ColumnView, other: TableIndex) -> bool:
    """Whether a column's header names the other table, as foreign keys do: ``member_id`` of ``members``."""
    words = {stem for stem in view.stems if stem not in KEY_WORDS and len(stem) > 2}
    return bool(words) and words <= other.id_stems


def _texts(index: TableIndex, view: ColumnView) -> frozenset[str]:
    data = index.relation.data(view.place)
    return frozenset(text_of(data.values[code]).strip().casefold() for code in data.used()[:3000])
