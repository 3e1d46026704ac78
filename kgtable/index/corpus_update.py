"""Update of a corpus: unchanged tables are taken over from the earlier corpus, others from a new one.

The earlier corpus is that of the generation before. The result is what `kgtable.index.corpus_assembly.assemble` makes
of all the tables, byte by byte. The work in Python grows with the new tables; the arrays of the others are copied,
with the numbers of texts, terms and tables moved.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import numpy as np

from kgtable.building.catalogue import Catalogue
from kgtable.building.contents import read_contents
from kgtable.building.generations import Generation
from kgtable.errors import VocabularyIndexError
from kgtable.index.corpus import (
    NONE,
    PART_STRINGS,
    PRINTED_CELLS,
    PRINTED_ROWS,
    Corpus,
    CorpusParts,
    Places,
    TermCounts,
)
from kgtable.index.corpus_assembly import assemble, kin_of, save_corpus
from kgtable.index.inferred.column_profiles import TableHead, TableProfiles, profiles_of
from kgtable.index.inferred.nearby_tables import NearbyTables, heads_of
from kgtable.index.inferred.relations import TableRelations, short_of_joins
from kgtable.index.postings import BoolArray, IntArray, Postings, ranges
from kgtable.index.substring import Added, Strings, StringsWriter, update_grams, write_grams
from kgtable.ontology.inferred_names import USED_FROM, InferredName, InferredNames, is_missing_header, is_missing_title
from kgtable.resources import PACKAGE, __version__


@dataclass(frozen=True)
class SavedCorpus:
    """A corpus with its parts, opened from a folder."""

    corpus: Corpus
    parts: CorpusParts

    @classmethod
    def open(cls, folder: Path) -> SavedCorpus:
        """Open them. Raises `VocabularyIndexError` if files are missing or damaged."""
        return cls(Corpus.open(folder), CorpusParts.open(folder))


@dataclass(frozen=True)
class UnitedStrings:
    """Distinct strings of two sources in one order.

    `places` give for each string of a source its number, `NONE` where it is not among them and for `NONE`;
    `source` and `at` say of each number which string of which source it is. `before` are the numbers that the strings
    which only the second source has would have had among all strings of the first.
    """

    places: tuple[IntArray, IntArray]
    source: IntArray
    at: IntArray
    only_new: IntArray
    before: IntArray


def unite(strings: tuple[Strings, Strings], used: tuple[BoolArray, BoolArray], path: Path) -> UnitedStrings:
    """Write the used strings of two sources, each in the order of `Strings`, as those of one."""
    old, new = strings
    old_used = used[0].copy()
    found_new = np.flatnonzero(used[1])
    before = np.zeros(len(found_new), dtype=np.int64)
    known = np.zeros(len(found_new), dtype=np.bool_)
    low = 0
    for number, text in enumerate(found_new.tolist()):
        piece = new.piece(text)
        low = before[number] = old.place(piece, low)
        known[number] = low < len(old) and old.piece(low) == piece
    old_used[before[known]] = True
    only_new, before_new = found_new[~known], before[~known]
    rank: IntArray = np.cumsum(old_used) - old_used
    place_old = np.full(len(old) + 1, NONE, dtype=np.int32)
    kept = np.flatnonzero(old_used)
    place_old[kept] = rank[kept] + np.searchsorted(before_new, kept, "right")
    place_new = np.full(len(new) + 1, NONE, dtype=np.int32)
    rank_of_all = np.append(rank, len(kept))
    place_new[only_new] = rank_of_all[before_new] + np.arange(len(only_new))
    place_new[found_new[known]] = place_old[before[known]]
    size = len(kept) + len(only_new)
    source, at = np.zeros(size, dtype=np.int8), np.zeros(size, dtype=np.int64)
    at[place_old[kept]] = kept
    source[place_new[only_new]] = 1
    at[place_new[only_new]] = only_new
    writer = StringsWriter(path)
    for first, last in _runs(source, at):
        start = int(at[first])
        writer.add_run(strings[source[first]], start, start + last - first)
    writer.close()
    return UnitedStrings((place_old, place_new), source, at, only_new, before_new)


def _runs(source: IntArray, at: IntArray) -> list[tuple[int, int]]:
    """From where to where elements are neighbours in one source."""
    if not len(at):
        return []
    new = np.flatnonzero((source[1:] != source[:-1]) | (at[1:] != at[:-1] + 1)) + 1
    bounds = [0, *new.tolist(), len(at)]
    return list(pairwise(bounds))


@dataclass(frozen=True)
class _Run:
    """Neighbouring tables of one source with the tables, rows, columns, cells that they are there and here."""

    source: int
    tables: slice
    rows: slice
    columns: slice
    cells: slice
    first_table: int
    first_row: int
    first_column: int
    first_cell: int


class CorpusUpdate:
    """Merges two corpora: `before`, with most of the tables, and `fresh`.

    `ids` are all tables in order; those in `fresh` are taken from there. After `save`, `texts` says which texts come
    from where.
    """

    def __init__(self, before: SavedCorpus, fresh: SavedCorpus, ids: Sequence[str]) -> None:
        self._sources = before, fresh
        self._ids = ids
        places = [{id: at for at, id in enumerate(source.corpus.table_ids)} for source in self._sources]
        self._source = np.fromiter((id in places[1] for id in ids), np.int8, len(ids))
        known = (places[of][id] for of, id in zip(self._source.tolist(), ids, strict=True))
        self._at = np.fromiter(known, np.int64, len(ids))
        self._table_runs = list(self._find_runs())

    def _find_runs(self) -> Iterable[_Run]:
        table = row = column = cell = 0
        for first, last in _runs(self._source, self._at):
            of, start = int(self._source[first]), int(self._at[first])
            found = self._sources[of].corpus.places
            tables = slice(start, start + last - first)
            rows = slice(int(found.table_row_start[tables.start]), int(found.table_row_start[tables.stop]))
            columns = slice(int(found.table_column_start[tables.start]), int(found.table_column_start[tables.stop]))
            cells = slice(int(found.row_cell_start[rows.start]), int(found.row_cell_start[rows.stop]))
            yield _Run(of, tables, rows, columns, cells, table, row, column, cell)
            table += last - first
            row += rows.stop - rows.start
            column += columns.stop - columns.start
            cell += cells.stop - cells.start

    def save(self, folder: Path) -> UnitedStrings:
        """Write the corpus and its parts into an existing folder; returns its texts."""

        def united(name: str, numbers: Callable[[int], Iterable[IntArray]]) -> UnitedStrings:
            old, new = (getattr(source.corpus, name) for source in self._sources)
            used = _marked(len(old), numbers(0)), _marked(len(new), numbers(1))
            return unite((old, new), used, folder / name)

        texts = united("texts", self._used_texts)
        predicates = united("predicates", lambda of: self._slices("column_predicate", of))
        terms = united("terms", lambda of: self._used_terms(of, texts))
        self._copy_strings(folder)
        places = self._places(texts.places, predicates.places, kin_of(list(Strings.open(folder / "titles"))))
        lists = (
            self._joined("text_terms", texts.source, texts.at, terms.places),
            self._joined("named_terms", self._source, self._at, terms.places),
            self._joined("around_terms", self._source, self._at, terms.places),
        )
        dated = np.zeros(len(texts.at), dtype=np.bool_)
        for of in (0, 1):
            own = texts.source == of
            dated[own] = self._sources[of].corpus.statistics.text_is_dated[texts.at[own]]
        lexical = self._lexical(texts.places)
        save_corpus(folder, self._ids, places, lists, lexical, dated, self._counts(terms.places))
        return texts

    def _slices(self, name: str, of: int) -> list[IntArray]:
        """What an array of places holds of the tables that come from a source."""
        kind = name.partition("_")[0]
        array = getattr(self._sources[of].corpus.places, name)
        return [array[getattr(run, f"{kind}s")] for run in self._table_runs if run.source == of]

    def _used_texts(self, of: int) -> list[IntArray]:
        names = ("cell_text", "row_label", "row_group_label", "column_name")
        numbers = [part for name in names for part in self._slices(name, of)]
        parts = self._sources[of].parts
        return numbers + [parts.lexical_text[self._lexical_slice(run)] for run in self._table_runs if run.source == of]

    def _lexical_slice(self, run: _Run) -> slice:
        cells = self._sources[run.source].parts.lexical_cell
        return slice(*np.searchsorted(cells, (run.cells.start, run.cells.stop)).tolist())

    def _used_terms(self, of: int, texts: UnitedStrings) -> Iterable[IntArray]:
        parts = self._sources[of].parts
        own_texts, own_tables = np.flatnonzero(texts.places[of][:-1] != NONE), self._at[self._source == of]
        return parts.text_terms.of(own_texts), parts.named_terms.of(own_tables), parts.around_terms.of(own_tables)

    def _copy_strings(self, folder: Path) -> None:
        for name, kind in ((PRINTED_CELLS, "cells"), (PRINTED_ROWS, "rows"), *((n, "tables") for n in PART_STRINGS)):
            writer = StringsWriter(folder / name)
            for run in self._table_runs:
                source = self._sources[run.source]
                place: slice = getattr(run, kind)
                held = source.parts if name in PART_STRINGS else source.corpus
                writer.add_run(getattr(held, name), place.start, place.stop)
            writer.close()

    def _places(self, texts: tuple[IntArray, IntArray], predicates: tuple[IntArray, IntArray], kin: IntArray) -> Places:
        def gathered(name: str, change: Callable[[_Run, IntArray], IntArray] = lambda run, part: part) -> IntArray:
            kind = name.partition("_")[0]
            parts = [
                change(run, getattr(self._sources[run.source].corpus.places, name)[getattr(run, f"{kind}s")])
                for run in self._table_runs
            ]
            dtype = getattr(self._sources[0].corpus.places, name).dtype
            return np.concatenate([np.zeros(0, dtype=dtype), *parts]).astype(dtype, copy=False)

        def starts(name: str, outer: str, inner: str) -> IntArray:
            found = [np.zeros(1, dtype=np.int64)]
            for run in self._table_runs:
                array = getattr(self._sources[run.source].corpus.places, name)
                own: slice = getattr(run, f"{outer}s")
                moved = getattr(run, f"first_{inner}") - int(array[own.start])
                found.append(array[own.start + 1 : own.stop + 1] + moved)
            return np.concatenate(found)

        def text(run: _Run, part: IntArray) -> IntArray:
            return texts[run.source][part]

        return Places(
            table_kin=kin,
            table_row_start=starts("table_row_start", "table", "row"),
            table_column_start=starts("table_column_start", "table", "column"),
            row_cell_start=starts("row_cell_start", "row", "cell"),
            row_number=gathered("row_number"),
            row_table=gathered("row_table", lambda run, part: part + (run.first_table - run.tables.start)),
            row_is_header=gathered("row_is_header").astype(np.bool_, copy=False),
            row_label=gathered("row_label", text),
            row_group_label=gathered("row_group_label", text),
            column_number=gathered("column_number"),
            column_table=gathered("column_table", lambda run, part: part + (run.first_table - run.tables.start)),
            column_name=gathered("column_name", text),
            column_predicate=gathered("column_predicate", lambda run, part: predicates[run.source][part]),
            column_is_numeric=gathered("column_is_numeric").astype(np.bool_, copy=False),
            cell_row=gathered("cell_row", lambda run, part: part + (run.first_row - run.rows.start)),
            cell_column=gathered("cell_column", lambda run, part: part + (run.first_column - run.columns.start)),
            cell_text=gathered("cell_text", text),
        )

    def _joined(self, name: str, source: IntArray, at: IntArray, terms: tuple[IntArray, IntArray]) -> Postings:
        """Lists of terms of texts or tables: of each the one that it has in its source."""
        lists: list[Postings] = [getattr(found.parts, name) for found in self._sources]
        lengths = np.zeros(len(at), dtype=np.int64)
        own = [np.flatnonzero(source == of) for of in (0, 1)]
        for of, numbers in enumerate(own):
            starts = lists[of].starts
            lengths[numbers] = starts[at[numbers] + 1] - starts[at[numbers]]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        items = np.zeros(int(starts[-1]), dtype=np.int32)
        for of, numbers in enumerate(own):
            items[ranges(starts[numbers], starts[numbers + 1])] = terms[of][lists[of].of(at[numbers])]
        return Postings(starts, items)

    def _lexical(self, texts: tuple[IntArray, IntArray]) -> tuple[IntArray, IntArray]:
        text: list[IntArray] = [np.zeros(0, dtype=np.int32)]
        cell: list[IntArray] = [np.zeros(0, dtype=np.int32)]
        for run in self._table_runs:
            parts, own = self._sources[run.source].parts, self._lexical_slice(run)
            text.append(texts[run.source][parts.lexical_text[own]])
            cell.append(parts.lexical_cell[own] + (run.first_cell - run.cells.start))
        return np.concatenate(text), np.concatenate(cell).astype(np.int32, copy=False)

    def _counts(self, terms: tuple[IntArray, IntArray]) -> TermCounts:
        found = []
        for of, source in enumerate(self._sources):
            own = np.flatnonzero(self._source == of)
            table_of = np.full(len(source.corpus.table_ids), NONE, dtype=np.int64)
            table_of[self._at[own]] = own
            postings = source.corpus.term_tables
            term = np.repeat(terms[of][:-1].astype(np.int64), np.diff(postings.starts))
            table = table_of[postings.items]
            kept = table != NONE
            found.append((
                term[kept] * len(self._ids) + table[kept],
                source.parts.term_times[kept],
                source.corpus.statistics.in_table[kept],
            ))  # fmt: skip
        keys, times, inside = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(keys, kind="stable")
        term, table = np.divmod(keys[order], max(len(self._ids), 1))
        return TermCounts(term, table, times[order], inside[order])


LEAST_TABLES = 5_000
"""In a smaller graph names and relations are always looked for in all tables: an update equals a fresh build."""

MOST_DRIFT = 0.02
"""In a larger one, the share of tables that may change before names and relations are looked for in all tables again.
Until then those of the unchanged tables stay, and changed ones are compared with what the index finds near them."""

MOST_FRESH = 0.5
"""The share of new tables, or of new texts, beyond which everything is made again."""

Infer: TypeAlias = Callable[[TableProfiles], Sequence[InferredName]]


@cache
def index_version() -> str:
    """A hash of the code and the word lists that decide what an index of the same tables holds."""
    digest = sha256(__version__.encode())
    for room in ("index", "ontology", "text", "values"):
        for path in sorted(filter(Path.is_file, (PACKAGE / room).rglob("*"))):
            if path.suffix in (".py", ".txt", ".json"):
                digest.update(f"\0{path.name}\0".encode("utf-8", "surrogatepass") + path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class EarlierCorpus:
    """The corpus of an earlier index, with the names it was made with and the ids of the unchanged tables."""

    folder: Path
    saved: SavedCorpus
    names: InferredNames
    unchanged: Collection[str]
    drift: int = 0
    """Tables that changed since names and relations were looked for in all tables."""

    @classmethod
    def of_previous(
        cls, generation: Generation, catalogue: Catalogue, previous: Path | None, version: str, drift: int = 0
    ) -> EarlierCorpus | None:
        """That in the index `previous` of the generation before, if this version made it; `version` and `drift` are
        what the index says."""
        before = generation.previous
        if before is None or previous is None or version != index_version():
            return None
        try:
            saved, names = SavedCorpus.open(previous), InferredNames.open(previous)
        except VocabularyIndexError:
            return None
        unchanged, _ = catalogue.unchanged_since(before.catalogue_path)
        return cls(previous, saved, names, unchanged.intersection(saved.corpus.table_ids), drift)

    def tables_called_as_in(self, names: InferredNames) -> set[str]:
        """The unchanged tables to which users and models gave the same names."""

        def given(found: InferredNames) -> set[tuple[str, int | None, str]]:
            return {(name.table, name.column, name.name) for name in found if name.basis in ("user", "model")}

        changed = {table for table, _, _ in given(self.names) ^ given(names)}
        return {table for table in self.unchanged if table not in changed}


class GenerationCorpus:
    """Writes the corpus of a generation, with names for columns and tables that have none, into an index folder.

    Attributes:
        saved: the corpus.
        names: the names, some of which were given by users and models.
        nearby: the places of the changed tables and of those that they may be related with, where names and relations
            of the others stay as they were; None if they were looked for in all tables.
        kept: the ids of the tables whose joins with each other stay in that case.
        drift: tables that changed since relations were last looked for in all tables.
    """

    def __init__(
        self,
        generation: Generation,
        ids: Sequence[str],
        folder: Path,
        earlier: EarlierCorpus | None,
        infer: Infer,
        relations: Callable[[], TableRelations] = TableRelations,
    ) -> None:
        """`infer` proposes names where `InferredNames.open(generation.path)` has none.

        `relations` returns those of the earlier graph, for an update that keeps what it can; see `nearby`.
        """
        self._generation, self._ids = generation, ids
        given = InferredNames.open(generation.path)
        self.nearby: IntArray | None = None
        self.kept: set[str] = set()
        self.drift = 0
        with TemporaryDirectory(dir=folder, prefix="unnamed.") as temporary:
            first = Path(temporary)
            supposed = _supposed(given, earlier)
            grams = self._write(first, supposed, earlier)
            saved = SavedCorpus.open(first)
            if earlier is not None and self._finds_nearby(earlier, supposed, saved, relations):
                self.names = self._names_of_changed(supposed, saved, earlier.unchanged, infer)
            else:
                heads = [TableHead.from_list(json.loads(text)) for text in saved.parts.heads]
                self._profiles: TableProfiles | None = profiles_of(saved.corpus, heads)
                self.names = InferredNames([*given, *_not_given(infer(self._profiles), given)])
            known = EarlierCorpus(first, saved, supposed, ids)
            if _used(self.names) == _used(supposed):
                for path in first.iterdir():
                    shutil.move(path, folder / path.name)
            else:
                grams = self._write(folder, self.names, known, has_grams=grams)
            self.saved = SavedCorpus.open(folder)
            if not grams:
                write_grams(self.saved.corpus.texts, folder)
        if len(self.names):
            self.names.save(folder)

    @property
    def profiles(self) -> TableProfiles:
        """For the columns of all tables, or of those `nearby`, by their headers."""
        if self._profiles is None:
            assert self.nearby is not None
            tables = NearbyTables(self.saved.corpus, self.saved.parts)
            self._profiles = profiles_of(self.saved.corpus, heads_of(tables, self.nearby), self.nearby)
        return self._profiles

    def _finds_nearby(
        self,
        earlier: EarlierCorpus,
        supposed: InferredNames,
        saved: SavedCorpus,
        relations: Callable[[], TableRelations],
    ) -> bool:
        """Find the tables near those that changed, if few did; returns whether it is so."""
        same = earlier.tables_called_as_in(supposed)
        drift = earlier.drift + len(self._ids) + len(earlier.saved.corpus.table_ids) - 2 * len(same)
        if len(self._ids) < LEAST_TABLES or drift > MOST_DRIFT * len(self._ids):
            return False
        before = relations()
        gone = set(earlier.saved.corpus.table_ids).difference(same)
        self.kept = same - short_of_joins(before, same)
        fresh = [at for at, id in enumerate(self._ids) if id not in self.kept]
        tables = NearbyTables(saved.corpus, saved.parts)
        self.nearby = tables.near(np.array(fresh, dtype=np.int64), before.unions, gone)
        self.drift, self._profiles = drift, None
        return True

    def _names_of_changed(
        self, supposed: InferredNames, saved: SavedCorpus, unchanged: Collection[str], infer: Infer
    ) -> InferredNames:
        """The names that there are, and those that changed tables lack, from tables near them and a sample."""
        assert self.nearby is not None
        tables = NearbyTables(saved.corpus, saved.parts)
        changed = [at for at, id in enumerate(self._ids) if id not in unchanged]
        heads = map(tables.head, changed)
        if not any(is_missing_title(head.title, head.id) or any(map(is_missing_header, head.names)) for head in heads):
            return supposed
        looked_at = tables.with_sample(self.nearby)
        found = infer(profiles_of(saved.corpus, heads_of(tables, looked_at), looked_at))
        new = [name for name in _not_given(found, supposed) if name.table not in unchanged]
        return InferredNames([*supposed, *new])

    def _write(
        self, folder: Path, names: InferredNames, earlier: EarlierCorpus | None, *, has_grams: bool = True
    ) -> bool:
        """Write the corpus under these names; returns whether the grams of its texts were written as well."""
        fresh = self._fresh(names, earlier)
        if earlier is None or len(fresh) > MOST_FRESH * len(self._ids):
            assemble(read_contents(self._generation, self._ids), folder, names)
            return False
        with TemporaryDirectory(dir=folder, prefix="fresh.") as temporary:
            assemble(read_contents(self._generation, fresh), Path(temporary), names)
            new = SavedCorpus.open(Path(temporary))
            texts = CorpusUpdate(earlier.saved, new, self._ids).save(folder)
            if not has_grams or len(texts.only_new) > MOST_FRESH * len(texts.at):
                return False
            own = [new.corpus.texts[number] for number in texts.only_new.tolist()]
            added = Added(own, texts.places[1][texts.only_new].astype(np.int64), texts.before)
            update_grams(earlier.folder, folder, texts.places[0], added)
        return True

    def _fresh(self, names: InferredNames, earlier: EarlierCorpus | None) -> list[str]:
        """The tables that are not in the earlier corpus as they are to be."""
        if earlier is None:
            return list(self._ids)
        used, were = _used(names), _used(earlier.names)
        return [id for id in self._ids if id not in earlier.unchanged or used.get(id) != were.get(id)]


def _marked(size: int, numbers: Iterable[IntArray]) -> BoolArray:
    """Which numbers below a size are among these; `NONE` may be, too."""
    found = np.zeros(size + 1, dtype=np.bool_)
    for some in numbers:
        found[some] = True
    return found[:-1]


def _not_given(names: Iterable[InferredName], given: InferredNames) -> Iterator[InferredName]:
    return (name for name in names if given.at(name.table, name.column) is None)


def _supposed(given: InferredNames, earlier: EarlierCorpus | None) -> InferredNames:
    """The given names, and of tables that did not change those that were inferred before: most will be again."""
    if earlier is None:
        return given
    inferred = (
        name
        for name in earlier.names
        if name.basis not in ("user", "model")
        and name.table in earlier.unchanged
        and given.at(name.table, name.column) is None
    )
    return InferredNames([*given, *inferred])


def _used(names: InferredNames) -> Mapping[str, set[tuple[int | None, str]]]:
    """The names by table that are sure enough to be used."""
    found: dict[str, set[tuple[int | None, str]]] = defaultdict(set)
    for name in names:
        if name.confidence >= USED_FROM:
            found[name.table].add((name.column, name.name))
    return dict(found)
