"""Relations between the tables of a graph: parts of one table, column pairs that join tables, rows that contain others.

Found at the end of a build from the columns' values and headers (`find_relations`), kept next to the index, and
written to the graph as ``kgt:unionableWith``, ``kgt:joinableOn`` and ``kgt:containsRow`` with their evidence.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kgtable.graph.store import TripleStore, select
from kgtable.graph.terms import KGT, RDF_TYPE, XSD, Block, Namespaces, integer, text_literal, typed
from kgtable.index.corpus import NONE, Corpus
from kgtable.index.embedding import Matrix
from kgtable.index.inferred.column_profiles import ColumnProfile, TableProfiles
from kgtable.index.inferred.joins import KEPT_FROM, ComparedColumns, JoinCandidate, JoinFinder
from kgtable.index.inferred.levels import ContainedRows
from kgtable.index.inferred.unions import UnionFinder, UnionPair, clusters_of
from kgtable.index.postings import BoolArray, mapped
from kgtable.resources import read_shipped
from kgtable.storage import index_errors

FILE = "relations.json"

MOST_JOINS = 12
"""Joins that are kept of one column, the best ones."""

EXAMPLES = 3
"""Shared values that are kept as evidence."""


@dataclass(frozen=True, slots=True)
class RelatedColumn:
    """A column of a table by its index (0-based) and its name."""

    table: str
    column: int
    name: str

    def __str__(self) -> str:
        return f"{self.table}.{self.name or f'[column {self.column}]'}"


@dataclass(frozen=True, slots=True)
class JoinableColumns:
    """Two columns by which two tables can be joined: `left` refers to `right`, whose values are unique.

    `containment` is the share of the smaller column's values that the other has, `fuzzy` the share of these
    that is spelt otherwise there; `uniqueness` that of the right column, `matched` the number of values in
    common, `meaning` the cosine of the names. `score` is the probability that the join is meant.
    """

    left: RelatedColumn
    right: RelatedColumn
    score: float
    containment: float
    uniqueness: float
    fuzzy: float
    meaning: float
    matched: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnionableTables:
    """Tables that are parts of one; `columns` has each table's columns in the order of the first table's."""

    tables: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]
    score: float


class TableRelations:
    """The joins and unions of a graph, and the rows that contain others by the names in another table."""

    def __init__(
        self,
        joins: Iterable[JoinableColumns] = (),
        unions: Iterable[UnionableTables] = (),
        contained: Iterable[ContainedRows] = (),
    ) -> None:
        self.joins = tuple(joins)
        self.unions = tuple(unions)
        self.contained = tuple(contained)

    @cached_property
    def _by_table(self) -> dict[str, list[JoinableColumns]]:
        found: dict[str, list[JoinableColumns]] = defaultdict(list)
        for join in self.joins:
            found[join.left.table].append(join)
            found[join.right.table].append(join)
        return found

    @cached_property
    def _union_of(self) -> dict[str, UnionableTables]:
        return {table: union for union in self.unions for table in union.tables}

    def joins_of(self, table: str) -> list[JoinableColumns]:
        """The joins of a table, the best first."""
        return sorted(self._by_table.get(table, ()), key=lambda join: -join.score)

    def between(self, one: str, other: str) -> list[JoinableColumns]:
        """The joins of two tables, the best first."""
        return [join for join in self.joins_of(one) if other in (join.left.table, join.right.table)]

    def union_of(self, table: str) -> UnionableTables | None:
        """The union that this table belongs to, if any."""
        return self._union_of.get(table)

    def neighbours(self, table: str) -> set[str]:
        """The tables that this one can be joined with or put under."""
        found = {end.table for join in self._by_table.get(table, ()) for end in (join.left, join.right)}
        if union := self._union_of.get(table):
            found.update(union.tables)
        return found - {table}

    def __len__(self) -> int:
        return len(self.joins) + len(self.unions)

    def __repr__(self) -> str:
        return f"TableRelations({len(self.joins):,} joins, {len(self.unions):,} unions)"

    def to_json(self) -> dict[str, Any]:
        """Joins, unions and contained rows as JSON values."""
        return {
            "joins": list(map(asdict, self.joins)),
            "unions": list(map(asdict, self.unions)),
            "contained": list(map(asdict, self.contained)),
        }

    def save(self, folder: Path) -> None:
        """Write the relations into an index folder."""
        (folder / FILE).write_text(json.dumps(self.to_json(), ensure_ascii=True), encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> TableRelations:
        """The saved relations; nothing if the index was made without relations.

        Raises `VocabularyIndexError` if the file is damaged.
        """
        path = folder / FILE
        if not path.exists():
            return cls()
        with index_errors(f"The relations in {folder} are damaged"):
            content = json.loads(path.read_text(encoding="utf-8"))
            contained = (ContainedRows(**{**rows, "members": tuple(rows["members"])}) for rows in content["contained"])
            return cls(map(_join, content["joins"]), map(_union, content["unions"]), contained)


def _join(content: dict[str, Any]) -> JoinableColumns:
    ends = {side: RelatedColumn(**content[side]) for side in ("left", "right")}
    return JoinableColumns(**{**content, **ends, "examples": tuple(content["examples"])})


def _union(content: dict[str, Any]) -> UnionableTables:
    return UnionableTables(tuple(content["tables"]), tuple(map(tuple, content["columns"])), content["score"])


def header_vectors(corpus: Corpus, folder: Path) -> tuple[Matrix | None, list[int]]:
    """The vectors of the headers in an index folder, and the row of each column's header, -1 for none."""
    try:
        vectors = mapped(folder / "vectors.predicates.npy")
        texts = mapped(folder / "vectors.predicates.texts.npy")
    except (OSError, ValueError):
        return None, []
    rows = np.full(len(corpus.texts) + 1, NONE, dtype=np.int64)
    rows[texts] = np.arange(len(texts))
    return vectors, rows[corpus.places.column_name].tolist()


def find_relations(
    profiles: TableProfiles,
    vectors: Matrix | None = None,
    vector_of: Sequence[int] = (),
    known: ComparedColumns | None = None,
    *,
    fresh: BoolArray | None = None,
    related: BoolArray | None = None,
) -> tuple[TableRelations, ComparedColumns]:
    """The relations between tables.

    Args:
        profiles: of the columns of all tables.
        vectors: of the distinct headers; None for a lexical index, where words stand for the meaning.
        vector_of: for each column the row of its header among the vectors, -1 for none.
        known: pairs of columns, in unchanged tables, that do not join according to an earlier build.
        fresh: each join must include one of these tables; all tables by default.
        related: tables known to have something in common with others, see `JoinFinder`.

    Returns:
        Joins and unions in the order of the tables, and the pairs of columns that do not join.
    """
    pairs = list(UnionFinder(profiles, vectors, vector_of).pairs())
    clusters = clusters_of(pairs, len(profiles.heads))
    finder = JoinFinder(profiles, vectors, vector_of, clusters, known, fresh=fresh, related=related)
    likely = [found for found in finder.candidates() if found.score >= KEPT_FROM]
    joins = [_joinable(found, finder, profiles) for found in _best(likely)]
    return TableRelations(joins, _unionable(clusters, pairs, profiles)), finder.compared(likely)


def updated_relations(
    before: TableRelations, found: TableRelations, ids: Sequence[str], kept: Collection[str], near: Collection[str]
) -> TableRelations:
    """The relations of a graph after a few of its tables changed.

    Args:
        before: the relations of the graph as it was.
        found: the unions of the tables `near` the changed ones, and all joins of the latter.
        ids: of all tables, in order.
        kept: the ids of the tables that did not change.
        near: the ids of the changed tables and of those that they may be related with, with whole unions.
    """
    place = {id: at for at, id in enumerate(ids)}
    apart = set(kept).difference(near)
    unions = [union for union in before.unions if apart.issuperset(union.tables)]
    unions = sorted([*unions, *found.unions], key=lambda union: place[union.tables[0]])
    part_of = {table: number for number, union in enumerate(unions) for table in union.tables}
    joins = [join for join in before.joins if join.left.table in kept and join.right.table in kept]
    counts: dict[tuple[str, int], int] = defaultdict(int)
    best: list[JoinableColumns] = []
    for join in sorted([*joins, *found.joins], key=lambda join: (-join.score, *_ends(join, place))):
        if part_of.get(join.left.table, -1) == part_of.get(join.right.table, -2):
            continue
        end = join.left.table, join.left.column
        if counts[end] < MOST_JOINS:
            counts[end] += 1
            best.append(join)
    best.sort(key=lambda join: (_ends(join, place)[:2], -join.score, _ends(join, place)[2:]))
    return TableRelations(best, unions)


def short_of_joins(relations: TableRelations, kept: Collection[str]) -> set[str]:
    """The tables with a column that keeps only its best joins and loses one of them.

    Its next best join is not known: `kept` are the ids of the tables that did not change.
    """
    counts: dict[tuple[str, int], int] = defaultdict(int)
    losing = set()
    for join in relations.joins:
        end = join.left.table, join.left.column
        counts[end] += 1
        if join.right.table not in kept:
            losing.add(end)
    return {end[0] for end in losing if counts[end] >= MOST_JOINS and end[0] in kept}


def _ends(join: JoinableColumns, place: Mapping[str, int]) -> tuple[int, int, int, int]:
    return place[join.left.table], join.left.column, place[join.right.table], join.right.column


def _best(found: Iterable[JoinCandidate]) -> Iterator[JoinCandidate]:
    """The better of the two directions of a pair, and the best joins of a column."""
    directed: dict[tuple[int, int], JoinCandidate] = {}
    for candidate in found:
        one, other = candidate.left.number, candidate.right.number
        pair = min(one, other), max(one, other)
        known = directed.get(pair)
        if known is None or candidate.score > known.score:
            directed[pair] = candidate
    counts: dict[int, int] = defaultdict(int)
    kept = []
    for candidate in sorted(directed.values(), key=lambda c: (-c.score, c.left.number, c.right.number)):
        ends = candidate.left.number, candidate.right.number
        if counts[ends[0]] < MOST_JOINS:
            kept.append(candidate)
            counts[ends[0]] += 1
    yield from sorted(kept, key=lambda c: (c.left.number, -c.score, c.right.number))


def _joinable(found: JoinCandidate, finder: JoinFinder, profiles: TableProfiles) -> JoinableColumns:
    keys = profiles.keys
    shared = sorted(keys[key] for key in found.left.keys & found.right.keys)[:EXAMPLES]
    if found.fuzzy:
        alike = finder.fuzzy_matches(found.left, found.right)[:EXAMPLES]
        shared = [f"{keys[one]} ~ {keys[other]}" for one, other, _ in alike]
    return JoinableColumns(
        _end(found.left, profiles),
        _end(found.right, profiles),
        found.score,
        round(found.features["share"], 3),
        round(found.right.uniqueness, 3),
        round(found.features["fuzzy"], 3),
        found.features["meaning"],
        found.common + found.fuzzy,
        tuple(text[:80] for text in shared),
    )


def _end(column: ColumnProfile, profiles: TableProfiles) -> RelatedColumn:
    return RelatedColumn(profiles.heads[column.table].id, column.index, column.name)


def _unionable(
    clusters: Sequence[Sequence[int]], pairs: Sequence[UnionPair], profiles: TableProfiles
) -> Iterator[UnionableTables]:
    """The clusters with their columns in the order of the first table, as chains of pairs give it."""
    beside: dict[int, list[tuple[int, dict[int, int]]]] = defaultdict(list)
    scores: dict[int, list[float]] = defaultdict(list)
    for pair in pairs:
        indexes = [column.index for column in profiles.of_table[pair.left]]
        forth = dict(zip(indexes, pair.partners, strict=True))
        beside[pair.left].append((pair.right, forth))
        beside[pair.right].append((pair.left, {theirs: ours for ours, theirs in forth.items()}))
        scores[pair.left].append(pair.score)
    for cluster in clusters:
        first = cluster[0]
        order = {first: tuple(column.index for column in profiles.of_table[first])}
        waiting = [first]
        while waiting:
            table = waiting.pop(0)
            for other, partners in beside[table]:
                if other not in order:
                    order[other] = tuple(partners[index] for index in order[table])
                    waiting.append(other)
        found = [score for table in cluster for score in scores[table]]
        yield UnionableTables(
            tuple(profiles.heads[table].id for table in cluster),
            tuple(order[table] for table in cluster),
            round(sum(found) / len(found), 3),
        )


JOIN, UNION = f"{KGT}JoinRelation", f"{KGT}UnionRelation"


def relation_blocks(relations: TableRelations, names: Namespaces) -> Iterator[Block]:
    """Each join: the columns as ``kgt:joinableOn`` and a ``kgt:JoinRelation``; each union likewise.

    In a union, the first table and each other one point to each other. A row that contains others is a total of them.
    """
    for join in relations.joins:
        left, right = (names.column_iri(end.table, end.column) for end in (join.left, join.right))
        yield f"<{left}>", [(f"<{KGT}joinableOn>", f"<{right}>")]
        pairs = [
            (RDF_TYPE, f"<{JOIN}>"),
            (f"<{KGT}referringColumn>", f"<{left}>"),
            (f"<{KGT}keyColumn>", f"<{right}>"),
            (f"<{KGT}score>", _decimal(join.score)),
            (f"<{KGT}containment>", _decimal(join.containment)),
            (f"<{KGT}uniqueness>", _decimal(join.uniqueness)),
            (f"<{KGT}fuzzyShare>", _decimal(join.fuzzy)),
            (f"<{KGT}matchedValues>", integer(join.matched)),
        ]
        yield f"<{left}/join/{right.removeprefix(f'{names.data}table/')}>", pairs
    for union in relations.unions:
        members = [f"<{names.table_iri(table)}>" for table in union.tables]
        first, *others = members
        yield first, [(f"<{KGT}unionableWith>", other) for other in others]
        for other in others:
            yield other, [(f"<{KGT}unionableWith>", first)]
        pairs = [(RDF_TYPE, f"<{UNION}>"), *((f"<{KGT}unionMember>", member) for member in members)]
        yield f"{first[:-1]}/union>", [*pairs, (f"<{KGT}score>", _decimal(union.score))]
    for rows in relations.contained:
        within = ((f"<{KGT}containsRow>", f"<{names.row_iri(rows.table, member)}>") for member in rows.members)
        pairs = [(RDF_TYPE, f"<{KGT}TotalRow>"), *within, (f"<{KGT}evidence>", text_literal(rows.evidence))]
        yield f"<{names.row_iri(rows.table, rows.row)}>", pairs


def stated_relations(store: TripleStore, names: Namespaces) -> TableRelations:
    """The relations that a graph states. Raises `QueryError`, `RemoteStoreError`."""
    joins = [
        JoinableColumns(
            _related(row, "left", names),
            _related(row, "right", names),
            score=_number(row["score"]),
            containment=_number(row["containment"]),
            uniqueness=_number(row["uniqueness"]),
            fuzzy=_number(row["fuzzy"]),
            meaning=0.0,
            matched=int(_number(row["matched"])),
        )
        for row in select(store, read_shipped("queries/joins.rq"))
    ]
    unions: dict[str, list[str]] = {}
    scores: dict[str, float] = {}
    for row in select(store, read_shipped("queries/unions.rq")):
        unions.setdefault(row["union"].value, []).append(names.parse_table_iri(row["table"].value) or "")
        scores[row["union"].value] = _number(row["score"])
    return TableRelations(
        joins, (UnionableTables(tuple(tables), (), scores[union]) for union, tables in unions.items())
    )


def _number(term: Any) -> float:
    return float(term.value)


def _related(row: Any, side: str, names: Namespaces) -> RelatedColumn:
    name = row[f"{side}Name"]
    table = names.parse_table_iri(row[f"{side}Table"].value) or ""
    return RelatedColumn(table, int(row[f"{side}Column"].value), "" if name is None else name.value)


def _decimal(value: float) -> str:
    return typed(f"{value:.3f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.1f}", f"{XSD}decimal")
