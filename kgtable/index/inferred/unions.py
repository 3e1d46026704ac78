"""Unionable tables: clusters that are parts of one, with the same title, width, and kinds of columns.

DMRAL (section 2.3) compares the mean embedding of the column names (cosine 0.8), the number of columns and the
titles (0.9), and joins what is alike to clusters. Here each column has to find a partner of its kind, so that
columns may be in any order and the rows of a cluster can be concatenated.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from rapidfuzz import fuzz

from kgtable.index.embedding import Matrix
from kgtable.index.inferred.column_profiles import ColumnProfile, TableProfiles, ValueForm
from kgtable.ontology.inferred_names import is_missing_header, is_missing_title

LIKE_HEADERS = 0.8
"""The mean similarity of the columns' names from which two tables can be parts of one."""

LIKE_TITLES = 0.9
"""The similarity of their titles and headings."""

LARGEST_BLOCK = 400
"""Tables of one header beyond which only those of one title are compared."""

LEAST_KNOWN = 0.5
"""The share of columns whose headers say something in both tables, from which these speak for the others."""

KNOWN_UNTITLED = 3
"""So many equal headers make up for a title that is missing."""

WIDEST = 400
"""Columns of a table beyond which a column is compared only with that of its name and that at its place."""

NEAREST = 20
"""Tables of like headers that are compared with a table."""

_FIGURES = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class UnionPair:
    """Two tables that are parts of one: `partners` are the columns of the second, in the order of the first."""

    left: int
    right: int
    score: float
    partners: tuple[int, ...]


class UnionFinder:
    """Finds tables that are parts of one; for `vectors` see `kgtable.index.inferred.joins.JoinFinder`."""

    def __init__(self, profiles: TableProfiles, vectors: Matrix | None = None, vector_of: Sequence[int] = ()) -> None:
        self._profiles = profiles
        self._vectors, self._vector_of = vectors, vector_of
        self._titles = [" . ".join(filter(None, (head.title, *head.heading))).casefold() for head in profiles.heads]
        self._untitled = [is_missing_title(head.title, head.id) for head in profiles.heads]
        self._named = [title or re.sub(r"[\W_]+", " ", head.id).casefold() for title, head in zip(self._titles, profiles.heads, strict=True)]  # noqa: E501  # fmt: skip

    def pairs(self) -> Iterator[UnionPair]:
        """Every pair of tables that are parts of one, in order."""
        for left, right in sorted({*self._by_header(), *self._by_meaning(), *self._by_title()}):
            if (found := self._compared(left, right)) is not None:
                yield found

    def _by_header(self) -> Iterator[tuple[int, int]]:
        blocks: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for table, columns in enumerate(self._profiles.of_table):
            if len(columns) > 1:
                blocks[tuple(sorted(" ".join(column.words) for column in columns))].append(table)
        for block in blocks.values():
            if len(block) <= LARGEST_BLOCK:
                yield from combinations(block, 2)
                continue
            titled: dict[str, list[int]] = defaultdict(list)
            for table in block:
                titled[_FIGURES.sub("#", self._named[table])].append(table)
            for tables in titled.values():
                yield from combinations(tables[:LARGEST_BLOCK], 2)

    def _by_title(self) -> Iterator[tuple[int, int]]:
        """Tables of one title and width, one of which lacks headers."""
        blocks: dict[tuple[str, int], list[int]] = defaultdict(list)
        for table, columns in enumerate(self._profiles.of_table):
            if self._titles[table] and len(columns) > 1:
                blocks[self._named[table], len(columns)].append(table)
        for tables in blocks.values():
            if len(tables) <= LARGEST_BLOCK:
                lacking = {table for table in tables if self._lacks_headers(table)}
                yield from (pair for pair in combinations(tables, 2) if lacking.intersection(pair))

    def _lacks_headers(self, table: int) -> bool:
        return any(is_missing_header(column.name) for column in self._profiles.of_table[table])

    def _by_meaning(self) -> Iterator[tuple[int, int]]:
        """Tables of one width whose headers have like mean vectors."""
        if self._vectors is None or not len(self._vectors):
            return
        import faiss

        from kgtable.index.vectors import one_thread

        widths: dict[int, list[int]] = defaultdict(list)
        for table, columns in enumerate(self._profiles.of_table):
            if len(columns) > 1:
                widths[len(columns)].append(table)
        for tables in widths.values():
            if len(tables) < 2:
                continue
            means = np.ascontiguousarray([self._mean(table) for table in tables], dtype=np.float32)
            index = faiss.IndexFlatIP(means.shape[1])
            index.add(means)
            with one_thread():
                cosines, places = index.search(means, min(NEAREST, len(tables)))
            for at, (row, found) in enumerate(zip(cosines.tolist(), places.tolist(), strict=True)):
                for cosine, place in zip(row, found, strict=True):
                    if place != at and cosine >= LIKE_HEADERS:
                        one, other = tables[at], tables[place]
                        yield min(one, other), max(one, other)

    def _mean(self, table: int) -> Matrix:
        assert self._vectors is not None
        own = self._profiles.of_table[table]
        known = [self._vector_of[column.number] for column in own if not is_missing_header(column.name)]
        rows = self._vectors[[row for row in known if row >= 0]]
        if not len(rows):
            return np.zeros(self._vectors.shape[1], dtype=np.float32)
        mean = rows.mean(axis=0)
        return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), dtype=np.float32)

    def _compared(self, left: int, right: int) -> UnionPair | None:
        ours, theirs = self._profiles.of_table[left], self._profiles.of_table[right]
        if len(ours) != len(theirs) or len(ours) < 2:
            return None
        untitled = self._untitled[left] or self._untitled[right]
        titles = LIKE_TITLES if untitled else self._like_titles(left, right)
        if titles < LIKE_TITLES:
            return None
        matched = self._partners(ours, theirs)
        if matched is None:
            return None
        likeness, known, partners = matched
        is_unlike = likeness < LIKE_HEADERS or known < LEAST_KNOWN * len(ours)
        if is_unlike or (untitled and (likeness < 1 or known < KNOWN_UNTITLED)):
            return None
        return UnionPair(left, right, round((likeness + titles) / 2, 3), partners)

    def _like_titles(self, left: int, right: int) -> float:
        one, other = self._named[left], self._named[right]
        if one == other:
            return 1.0
        one, other = _FIGURES.sub("#", one), _FIGURES.sub("#", other)
        return float(fuzz.ratio(one, other)) / 100 - 0.01

    def _partners(
        self, ours: Sequence[ColumnProfile], theirs: Sequence[ColumnProfile]
    ) -> tuple[float, int, tuple[int, ...]] | None:
        """How alike the known names of the columns are, of how many, and each column's partner.

        None if a column has no partner. A column without a header takes any column left of its kind, best at its
        own place.
        """
        if _are_alike(ours, theirs):
            return 1.0, len(ours), tuple(column.index for column in theirs)
        scores = [
            (self._likeness(ours[at], theirs[place]), -abs(ours[at].index - theirs[place].index), at, place)
            for at, place in _compared_places(ours, theirs)
            if _like_forms(ours[at], theirs[place])
        ]
        scores.sort(key=lambda score: (-score[0], -score[1], score[2]))
        partners: dict[int, int] = {}
        taken: set[int] = set()
        total, known = 0.0, 0
        for likeness, _, at, place in scores:
            if at not in partners and place not in taken:
                partners[at] = theirs[place].index
                taken.add(place)
                if not _is_unknown(ours[at], theirs[place]):
                    total += likeness
                    known += 1
        if len(partners) < len(ours):
            return None
        return total / max(known, 1), known, tuple(partners[at] for at in range(len(ours)))

    def _likeness(self, one: ColumnProfile, other: ColumnProfile) -> float:
        if _is_unknown(one, other):
            return UNKNOWN
        if one.name.strip().casefold() == other.name.strip().casefold():
            return 1.0
        if self._vectors is not None and self._vector_of:
            ours, theirs = self._vector_of[one.number], self._vector_of[other.number]
            if ours >= 0 and theirs >= 0:
                return round(max(float(self._vectors[ours] @ self._vectors[theirs]), 0.0), 3)
        words = set(one.words), set(other.words)
        return len(words[0] & words[1]) / max(len(words[0] | words[1]), 1)


UNKNOWN = 0.3
"""The similarity of two columns of which one has no header: they become partners if there is no better one."""


def _are_alike(ours: Sequence[ColumnProfile], theirs: Sequence[ColumnProfile]) -> bool:
    """Whether both have the same known headers in the same order: each column's partner is at its own place."""
    return all(
        one.name.strip().casefold() == other.name.strip().casefold() and not _is_unknown(one, other)
        for one, other in zip(ours, theirs, strict=True)
    )


def _compared_places(ours: Sequence[ColumnProfile], theirs: Sequence[ColumnProfile]) -> Iterator[tuple[int, int]]:
    """The columns of either that may be partners: all of tables up to `WIDEST`."""
    if len(ours) <= WIDEST:
        yield from product(range(len(ours)), range(len(theirs)))
        return
    named: dict[str, list[int]] = defaultdict(list)
    for place, column in enumerate(theirs):
        named[column.name.strip().casefold()].append(place)
    for at, column in enumerate(ours):
        alike = named.get(column.name.strip().casefold(), [])
        yield from ((at, place) for place in dict.fromkeys([at, *alike[:1]]))


def _is_unknown(one: ColumnProfile, other: ColumnProfile) -> bool:
    return is_missing_header(one.name) or is_missing_header(other.name)


def _like_forms(one: ColumnProfile, other: ColumnProfile) -> bool:
    numbers = (ValueForm.WHOLE, ValueForm.NUMBER)
    if ValueForm.EMPTY in (one.form, other.form):
        return True
    if one.name.strip() and one.name.strip().casefold() == other.name.strip().casefold():
        return True
    return one.form is other.form or (one.form in numbers and other.form in numbers)


def clusters_of(pairs: Sequence[UnionPair], tables: int) -> list[list[int]]:
    """The tables that chains of pairs connect, in order (union-find)."""
    parent = list(range(tables))

    def root(table: int) -> int:
        while parent[table] != table:
            parent[table] = parent[parent[table]]
            table = parent[table]
        return table

    for pair in pairs:
        one, other = root(pair.left), root(pair.right)
        parent[max(one, other)] = min(one, other)
    found: dict[int, list[int]] = defaultdict(list)
    for table in range(tables):
        found[root(table)].append(table)
    return [cluster for cluster in found.values() if len(cluster) > 1]
