"""Candidate tables for relations with new tables, found by the index, so that an update need not compare all.

The evidence that relates tables in `joins` and `unions` is looked up only for the new tables: values that few
columns have, headers, the title, the headings and the beginning of the id.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from kgtable.index.corpus import NONE, Corpus, CorpusParts
from kgtable.index.inferred.column_profiles import TableHead, first_part
from kgtable.index.inferred.joins import COMMON_VALUE, LARGEST_BLOCK
from kgtable.index.inferred.relations import UnionableTables
from kgtable.index.inferred.unions import LARGEST_BLOCK as LARGEST_UNION_BLOCK
from kgtable.index.postings import IntArray, distinct, ranges

MOST_BY_VALUES = 400
"""Tables that are taken for the values that they share with the new ones, those that share most."""

CELLS_OF_VALUE = 4 * COMMON_VALUE
"""Cells that have a text, beyond which it brings no tables together."""

SAMPLED = 1_000
"""Number of tables that represent all others when names are inferred for new ones."""


class NearbyTables:
    """Finds tables by their places in a corpus."""

    def __init__(self, corpus: Corpus, parts: CorpusParts) -> None:
        self._corpus, self._parts = corpus, parts

    def head(self, table: int) -> TableHead:
        """The head of a table: title, headings and column names."""
        return TableHead.from_list(json.loads(self._parts.heads[table]))

    def near(self, fresh: IntArray, unions: Iterable[UnionableTables] = (), gone: Iterable[str] = ()) -> IntArray:
        """The new tables with all that they may be related with, rising.

        Of `unions` that have one of these tables, or had one of the tables that are `gone`, every member is taken.
        """
        found = [np.asarray(fresh, dtype=np.int64), *self._by_values(fresh), *self._by_headers(fresh)]
        found += [*self._by_title(fresh), *self._by_kin(fresh)]
        return self._with_unions(distinct(np.concatenate(found)), unions, set(gone))

    def with_sample(self, tables: IntArray) -> IntArray:
        """The tables with some more, spread over all of them."""
        count = self._corpus.places.tables
        some = np.linspace(0, count - 1, min(SAMPLED, count)).astype(np.int64)
        return distinct(np.concatenate([tables, some]))

    def _with_unions(self, tables: IntArray, unions: Iterable[UnionableTables], gone: set[str]) -> IntArray:
        ids = self._corpus.table_ids
        named = {ids[table] for table in tables.tolist()} | gone
        members = {id for union in unions if not named.isdisjoint(union.tables) for id in union.tables}
        if not members:
            return tables
        more = [at for at, id in enumerate(ids) if id in members]
        return distinct(np.concatenate([tables, np.array(more, dtype=np.int64)]))

    def _by_values(self, fresh: IntArray) -> Iterator[IntArray]:
        """Tables with a column that shares two of the rarer values of a new one's, the most alike first."""
        corpus, places = self._corpus, self._corpus.places
        rows = ranges(places.table_row_start[fresh], places.table_row_start[fresh + 1])
        rows = rows[~places.row_is_header[rows]]
        cells = ranges(places.row_cell_start[rows], places.row_cell_start[rows + 1])
        columns, texts = self._values(cells)
        starts = corpus.text_cells.starts
        lengths = starts[texts + 1] - starts[texts]
        telling = (lengths > 1) & (lengths <= CELLS_OF_VALUE)
        columns, texts, lengths = columns[telling], texts[telling], lengths[telling]
        if not len(texts):
            return
        own, owner = np.unique(columns, return_inverse=True)
        count, size = len(places.column_table), len(corpus.texts)
        other = places.cell_column[corpus.text_cells.of(texts)].astype(np.int64)
        pair = np.repeat(owner, lengths) * count + other
        pairs, shared = np.unique(distinct(pair * size + np.repeat(texts, lengths)) // size, return_counts=True)
        one, other = np.divmod(pairs, count)
        enough = (shared >= 2) & (places.column_table[own[one]] != places.column_table[other])
        one, other, shared = one[enough], other[enough], shared[enough]
        share = shared / np.bincount(owner)[one]
        order = np.lexsort((other, -shared, -share))
        tables, first = np.unique(places.column_table[other[order]], return_index=True)
        yield tables[np.argsort(first, kind="stable")][:MOST_BY_VALUES].astype(np.int64)

    def _values(self, cells: IntArray) -> tuple[IntArray, IntArray]:
        """The columns of cells with their texts and lexical forms, each pair once."""
        places, size = self._corpus.places, len(self._corpus.texts)
        first, last = np.searchsorted(self._parts.lexical_cell, cells), np.searchsorted(self._parts.lexical_cell, cells, "right")  # noqa: E501  # fmt: skip
        lexical = ranges(first, last)
        column = np.concatenate([places.cell_column[cells], places.cell_column[self._parts.lexical_cell[lexical]]])
        text = np.concatenate([places.cell_text[cells], self._parts.lexical_text[lexical]])
        columns, texts = np.divmod(distinct(column.astype(np.int64) * size + text), max(size, 1))
        return columns, texts

    def _by_headers(self, fresh: IntArray) -> Iterator[IntArray]:
        """Tables with a header of a new one, if not many have it, and those with all of its headers."""
        places, columns_of = self._corpus.places, self._corpus.text_columns
        known: dict[int, IntArray] = {}
        for table in fresh.tolist():
            first, last = places.table_column_start[table : table + 2].tolist()
            names = distinct(places.column_name[first:last].astype(np.int64))
            alike: IntArray | None = None
            for name in names[names != NONE].tolist():
                if name not in known:
                    known[name] = columns_of.of(self._like_names(name))
                columns = known[name]
                tables = distinct(places.column_table[columns].astype(np.int64))
                if len(columns) <= LARGEST_BLOCK:
                    yield tables
                alike = tables if alike is None else np.intersect1d(alike, tables, assume_unique=True)
            if alike is not None:
                widths = places.table_column_start[alike + 1] - places.table_column_start[alike]
                alike = alike[widths == last - first]
                if len(alike) <= LARGEST_UNION_BLOCK:
                    yield alike

    def _like_names(self, name: int) -> IntArray:
        """The texts that are headers of the same terms."""
        corpus, terms_of = self._corpus, self._parts.text_terms
        terms = set(terms_of.of_one(name).tolist())
        if not terms:
            return np.array([name])
        rarest = min(terms, key=lambda term: int(corpus.term_texts.starts[term + 1] - corpus.term_texts.starts[term]))
        texts = corpus.term_texts.of_one(rarest)
        starts = corpus.text_columns.starts
        texts = texts[starts[texts + 1] > starts[texts]]
        same = [text for text in texts.tolist() if set(terms_of.of_one(text).tolist()) == terms]
        return np.array(same, dtype=np.int64)

    def _by_title(self, fresh: IntArray) -> Iterator[IntArray]:
        kin = self._corpus.places.table_kin
        yield np.flatnonzero(np.isin(kin, kin[fresh]))

    def _by_kin(self, fresh: IntArray) -> Iterator[IntArray]:
        """Tables under a heading of a new one, or whose ids begin alike; of too many as many as tell so."""
        ids = self._corpus.table_ids
        wanted = {first_part(ids[table]) for table in fresh.tolist()}
        counts: Counter[str] = Counter()
        alike = []
        for at, id in enumerate(ids):
            part = first_part(id)
            if part in wanted and counts[part] <= LARGEST_BLOCK:
                counts[part] += 1
                alike.append(at)
        yield np.array(alike, dtype=np.int64)
        headings = {text for table in fresh.tolist() for text in self.head(table).heading}
        yield from map(self._under, sorted(headings))

    def _under(self, heading: str) -> IntArray:
        heads = self._parts.heads
        naming = heads.with_part(json.dumps(heading).encode("ascii"))
        found = islice((table for table in naming if heading in self.head(table).heading), LARGEST_BLOCK + 1)
        return np.fromiter(found, np.int64)


def columns_of(corpus: Corpus, tables: IntArray) -> IntArray:
    """The columns of the tables, table by table."""
    starts = corpus.places.table_column_start
    return ranges(starts[tables], starts[tables + 1])


def heads_of(nearby: NearbyTables, tables: IntArray) -> Sequence[TableHead]:
    """The heads of the tables."""
    return list(map(nearby.head, tables.tolist()))
