"""Building the index of a graph's generation: the step that follows the conversion of its tables."""

from __future__ import annotations

import json
import re
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgtable.building.catalogue import Catalogue
from kgtable.building.contents import contents_state, mark_contents, read_contents
from kgtable.building.generations import Generation, GraphDirectory
from kgtable.building.load import replace_description
from kgtable.errors import GraphError, KgtableError, VocabularyIndexError
from kgtable.graph.document_source import StoredDocument, read_document
from kgtable.graph.store import EmbeddedStore, store_state
from kgtable.graph.table_content import CellContent, ContentRow, TableContent
from kgtable.graph.terms import Namespaces
from kgtable.index.column_profiles import TableHead, profiles_of
from kgtable.index.corpus import NONE, PRINTED_CELLS, PRINTED_ROWS, Corpus, Places, Statistics, okapi
from kgtable.index.embedding import Embedder, Matrix
from kgtable.index.embedding_models import DEFAULT, embedder_or_lexical
from kgtable.index.passage_index import passages_of, piece_texts, write_passages
from kgtable.index.postings import Integers, Postings
from kgtable.index.relation_statements import STATED_BY, STATED_OF, relation_blocks
from kgtable.index.relations import FILE as RELATIONS
from kgtable.index.relations import find_relations, header_vectors
from kgtable.index.substring import Strings, StringsWriter, encoded, folded, write_grams
from kgtable.index.words import terms
from kgtable.ontology.column_stats import Summary, clean_text
from kgtable.ontology.equivalents import Proposals, propose
from kgtable.storage import link_tree, storage_errors, whole_file

_YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]|20)\d\d(?![\d.,]*\d)")

MOSTLY = 0.6
"""A column is numeric where more than this share of its cells are quantities."""

MOST_KIN = 50
"""Tables of one title beyond which it says nothing about them."""


class CorpusAssembly:
    """Collects tables one after the other; `corpus` gives the whole.

    Rows and cells as they are printed go straight to files in `folder`; `heads` are the tables' heads.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.heads: list[TableHead] = []
        self._texts: dict[str, int] = {}
        self._ids: list[str] = []
        self._around: list[Counter[str]] = []
        self._named: list[list[str]] = []
        self._titles: list[str] = []
        self._starts: dict[str, list[int]] = {"table_row": [0], "table_column": [0], "row_cell": [0]}
        self._rows: list[tuple[int, int, bool, int, int]] = []
        self._columns: list[tuple[int, int, int, bool, int]] = []
        self._predicates: dict[str, int] = {}
        self._cells: list[tuple[int, int, int]] = []
        self._lexical: list[tuple[int, int]] = []
        self._printed_cells = StringsWriter(folder / PRINTED_CELLS)
        self._printed_rows = StringsWriter(folder / PRINTED_ROWS)

    def add(self, content: TableContent) -> str:
        """Append a table; gives the text that its vector stands for."""
        table, first_column = len(self._ids), len(self._columns)
        self.heads.append(TableHead.of(content))
        self._ids.append(content.id)
        self._around.append(Counter(chain.from_iterable(map(terms, content.around))))
        title = " . ".join(filter(None, (content.title, *content.heading, content.caption)))
        self._named.append(terms(title))
        self._titles.append(title)
        filled: Counter[int] = Counter()
        numeric: Counter[int] = Counter()
        text = TableText(content)
        for row in content.rows:
            text.add(row)
            self._add_row(table, row)
            for column, cell in row.cells:
                self._add_cell(first_column + column, cell)
                filled[column] += not row.is_header
                numeric[column] += cell.is_quantity
            self._starts["row_cell"].append(len(self._cells))
        for column, (name, iri) in enumerate(content.columns):
            is_numeric = numeric[column] > MOSTLY * filled[column]
            predicate = self._predicates.setdefault(iri, len(self._predicates))
            named = self._text(name) if name.strip() else NONE
            self._columns.append((column, table, named, is_numeric, predicate))
        self._starts["table_row"].append(len(self._rows))
        self._starts["table_column"].append(len(self._columns))
        return text.text

    def _add_row(self, table: int, row: ContentRow) -> None:
        label, heading = self._text_or_none(row.label), self._text_or_none(row.heading)
        self._rows.append((row.row, table, row.is_header, label, heading))
        self._printed_rows.add(_json([row.label, row.heading]))

    def _add_cell(self, column: int, cell: CellContent) -> None:
        if cell.lexical:
            self._lexical.append((self._text(cell.lexical), len(self._cells)))
        self._cells.append((len(self._rows) - 1, column, self._text(cell.text)))
        self._printed_cells.add(_json(cell.to_list()))

    def _text(self, text: str) -> int:
        return self._texts.setdefault(folded(text), len(self._texts))

    def _text_or_none(self, text: str | None) -> int:
        return NONE if text is None else self._text(text)

    def corpus(self) -> Corpus:
        """The arrays; texts and terms are written on the way."""
        folder = self._folder
        self._printed_cells.close()
        self._printed_rows.close()
        in_order, place = _sorted(self._texts)
        predicates, predicate_place = _sorted(self._predicates)
        Strings.write(in_order, folder / "texts")
        Strings.write(predicates, folder / "predicates")
        places = self._places(place, predicate_place)
        text_terms = [terms(text) for text in in_order]
        vocabulary = sorted(
            {
                *chain.from_iterable(text_terms),
                *chain.from_iterable(self._around),
                *chain.from_iterable(self._named),
            },
            key=encoded,
        )
        Strings.write(vocabulary, folder / "terms")
        numbers = {term: number for number, term in enumerate(vocabulary)}
        text_starts, text_items = _rows_of(text_terms, numbers)
        text_of_item = np.repeat(np.arange(len(in_order)), np.diff(text_starts))
        lexical = np.array(self._lexical, dtype=np.int64).reshape(-1, 2)
        body = np.flatnonzero(~places.row_is_header[places.cell_row])
        bm25, term_tables, in_table, weight = okapi(
            places,
            Postings(text_starts, text_items),
            named=_rows_of(self._named, numbers),
            around=_rows_of([list(counts.elements()) for counts in self._around], numbers),
            terms=len(vocabulary),
        )
        term_texts = Postings.build(text_items, text_of_item, len(vocabulary))
        sizes = np.bincount(term_texts.items, minlength=len(in_order)).astype(np.int32)
        dated = np.fromiter((_YEAR.search(text) is not None for text in in_order), np.bool_, len(in_order))
        size = len(in_order)
        return Corpus(
            table_ids=tuple(self._ids),
            places=places,
            statistics=Statistics(weight, bm25, in_table, sizes, dated),
            texts=Strings.open(folder / "texts"),
            terms=Strings.open(folder / "terms"),
            predicates=Strings.open(folder / "predicates"),
            printed_cells=Strings.open(folder / PRINTED_CELLS),
            printed_rows=Strings.open(folder / PRINTED_ROWS),
            term_texts=term_texts,
            term_tables=term_tables,
            text_cells=Postings.build(
                np.concatenate([places.cell_text[body], place[lexical[:, 0]]]),
                np.concatenate([body, lexical[:, 1]]),
                size,
            ),
            text_labels=_by_text(places.row_label, size),
            text_groups=_by_text(places.row_group_label, size),
            text_columns=_by_text(places.column_name, size),
        )

    def _places(self, place: Integers, predicate_place: Integers) -> Places:
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, 5)
        columns = np.array(self._columns, dtype=np.int64).reshape(-1, 5)
        cells = np.array(self._cells, dtype=np.int64).reshape(-1, 3)
        return Places(
            table_kin=_kin(self._titles),
            table_row_start=np.array(self._starts["table_row"], dtype=np.int64),
            table_column_start=np.array(self._starts["table_column"], dtype=np.int64),
            row_cell_start=np.array(self._starts["row_cell"], dtype=np.int64),
            row_number=rows[:, 0].astype(np.int32),
            row_table=rows[:, 1].astype(np.int32),
            row_is_header=rows[:, 2].astype(np.bool_),
            row_label=place[rows[:, 3]].astype(np.int32),
            row_group_label=place[rows[:, 4]].astype(np.int32),
            column_number=columns[:, 0].astype(np.int32),
            column_table=columns[:, 1].astype(np.int32),
            column_name=place[columns[:, 2]].astype(np.int32),
            column_predicate=predicate_place[columns[:, 4]].astype(np.int32),
            column_is_numeric=columns[:, 3].astype(np.bool_),
            cell_row=cells[:, 0].astype(np.int32),
            cell_column=cells[:, 1].astype(np.int32),
            cell_text=place[cells[:, 2]].astype(np.int32),
        )


def _kin(titles: Sequence[str]) -> Integers:
    """A number for each table; tables of one title, if they are not too many, have the same."""
    sharing = Counter(titles)
    numbers: dict[str | int, int] = {}
    keys = (title if title and sharing[title] <= MOST_KIN else at for at, title in enumerate(titles))
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int32)


class AssembledCorpus(NamedTuple):
    """A corpus that was saved, the texts that the vectors of its tables stand for, and the tables' heads."""

    corpus: Corpus
    table_texts: list[str]
    heads: list[TableHead]


def assemble(contents: Iterable[TableContent], folder: Path) -> AssembledCorpus:
    """The corpus of these tables, saved into an existing folder."""
    assembly = CorpusAssembly(folder)
    table_texts = [assembly.add(content) for content in contents]
    corpus = assembly.corpus()
    corpus.save(folder)
    return AssembledCorpus(corpus, table_texts, assembly.heads)


def _json(value: list[Any]) -> str:
    return json.dumps(value, separators=(",", ":"))


LONGEST_TEXT = 128
"""Word pieces of a table's text that are embedded; more of them cost time and gain nothing measurable."""

_PIECE = re.compile(r"[^\W\d_]{1,6}|\d{1,2}|[^\w\s]|_")


class TableText:
    """What a table's vector stands for: title, headings, column names and as many first rows as fit."""

    def __init__(self, content: TableContent) -> None:
        named = ". ".join(filter(None, (content.title, *content.heading, content.caption)))
        columns = ", ".join(name for name, _ in content.columns if name)
        self._parts = [f"{named}. " if named else "", columns, "."]
        self._cells = 0
        self._has_rows = False

    def add(self, row: ContentRow) -> None:
        """Append the next row."""
        room = 4 * LONGEST_TEXT - self._cells
        self._cells += len(row.cells)
        if room > 0 and not row.is_header:
            texts = [cell.text for _, cell in row.cells[:room]]
            self._parts.append(f"{';' if self._has_rows else ''} {', '.join(texts)}")
            self._has_rows = True

    @property
    def text(self) -> str:
        """The text of what was added."""
        text = " ".join("".join(self._parts).split())
        pieces = list(islice(_PIECE.finditer(text), LONGEST_TEXT))
        return text[: pieces[-1].end()] if pieces else text


def _sorted(numbers: dict[str, int]) -> tuple[list[str], Integers]:
    """The strings in the order of `Strings`, and for each old number the new one; `NONE` stays."""
    in_order = sorted(numbers, key=encoded)
    place = np.zeros(len(in_order) + 1, dtype=np.int64)
    place[[numbers[text] for text in in_order]] = np.arange(len(in_order))
    place[NONE] = NONE
    return in_order, place


def _rows_of(lists: Sequence[Sequence[str]], numbers: dict[str, int]) -> tuple[Integers, Integers]:
    starts = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in lists], out=starts[1:])
    items = np.fromiter(
        map(numbers.__getitem__, chain.from_iterable(lists)), dtype=np.int64, count=int(starts[-1])
    )
    return starts, items


def _by_text(texts: Integers, size: int) -> Postings:
    known = np.flatnonzero(texts != NONE)
    return Postings.build(texts[known], known, size)


VERSION = 4
"""Rises when the files of an index change."""

_NUMERAL = re.compile(r"[\W\d_]*")


def index_step(
    embedding: str = DEFAULT, workers: int = 1, load: Callable[[str], Embedder | None] = embedder_or_lexical
) -> Callable[[Generation], None]:
    """The step for `kgtable.building.pipeline.build_graph(after=…)` that builds the index of a generation."""
    return partial(build_index, embedding=embedding, workers=workers, load=load)


def build_index(
    generation: Generation,
    *,
    embedding: str = DEFAULT,
    workers: int = 1,
    load: Callable[[str], Embedder | None] = embedder_or_lexical,
) -> None:
    """Write the index of a generation into its folder.

    No text is embedded that was embedded in the previous generation. Raises `StorageError`, `EmbeddingError`.
    """
    folder = generation.index_path
    with storage_errors(folder):
        folder.mkdir()
        previous = _previous(generation)
        catalogue = Catalogue.load(generation.catalogue_path)
        ids = list(catalogue.tables)
        written = _write_corpus(read_contents(generation, ids), folder)
        passages, pieces = passages_of(_documents(generation, list(catalogue.documents)))
        write_passages(passages, pieces, folder)
        embedder = load(embedding)
        if embedder is not None:
            texts = piece_texts(passages, pieces)
            write_vectors(written.corpus, written.table_texts, folder, embedder, previous, texts)
        _write_relations(generation, written, folder)
        name = "none" if embedder is None else embedder.name
        _write_about(folder, embedding, name, len(ids), contents_state(generation))


def _documents(generation: Generation, ids: Sequence[str]) -> Iterator[StoredDocument]:
    if ids:
        names = Namespaces(generation.base)
        store = EmbeddedStore(generation.store_path, names.prefixes)
        yield from filter(None, (read_document(store, id, names) for id in ids))


def write_lexical(contents: Iterable[TableContent], folder: Path) -> None:
    """Write an index of these tables without vectors into an empty folder."""
    corpus = _write_corpus(contents, folder).corpus
    _write_about(folder, "none", "none", len(corpus.table_ids), None)


def _write_corpus(contents: Iterable[TableContent], folder: Path) -> AssembledCorpus:
    written = assemble(contents, folder)
    write_grams(written.corpus.texts, folder)
    return written


def _write_relations(generation: Generation, written: AssembledCorpus, folder: Path) -> None:
    """Find how the tables are related; keep that in the index folder and state it in the graph."""
    profiles = profiles_of(written.corpus, written.heads)
    relations = find_relations(profiles, *header_vectors(written.corpus, folder))
    relations.save(folder)
    unchanged = contents_state(generation) == store_state(generation.store_path)
    blocks = relation_blocks(relations, Namespaces(generation.base))
    replace_description(generation.store_path, blocks, of=STATED_OF, by=STATED_BY)
    if unchanged:
        mark_contents(generation)


def _write_about(folder: Path, asked: str, embedding: str, tables: int, state: str | None) -> None:
    about = {"version": VERSION, "asked": asked, "embedding": embedding, "tables": tables, "store": state}
    about["files"] = {path.name: _checksum(path) for path in sorted(folder.iterdir()) if path.is_file()}
    (folder / "index.json").write_text(json.dumps(about), encoding="utf-8")


def keep_index(current: Generation, copy: Generation) -> None:
    """Take the index of a generation over to a copy of it; its files are shared by hard links."""
    read_about(current.index_path)
    with storage_errors(copy.path):
        link_tree(current.index_path, copy.index_path)


def mark_index(generation: Generation) -> None:
    """Say that the index holds for the store as it is now, see `kgtable.building.contents.mark_contents`."""
    folder = generation.index_path
    about = {**read_about(folder), "store": contents_state(generation)}
    with whole_file(folder / "index.json") as file:
        file.write(json.dumps(about).encode())


def _checksum(path: Path) -> int:
    """The CRC-32 of a file: it tells a damaged one, not a forged one."""
    checksum = 0
    with path.open("rb") as stream:
        while piece := stream.read(1 << 20):
            checksum = zlib.crc32(piece, checksum)
    return checksum


def damaged_files(folder: Path) -> list[str]:
    """The files of an index that are not as they were written. Raises as `read_about` does."""
    damaged = []
    for name, checksum in read_about(folder).get("files", {}).items():
        try:
            if _checksum(folder / name) != checksum:
                damaged.append(name)
        except OSError:
            damaged.append(name)
    return damaged


@contextmanager
def index_faults(folder: Path) -> Iterator[None]:
    """Tell a fault of the block that comes from a damaged index as such: a `VocabularyIndexError`."""
    try:
        yield
    except KgtableError:
        raise
    except Exception as error:
        damaged = damaged_files(folder)
        if not damaged:
            raise
        raise VocabularyIndexError(
            f"The index in {folder} is damaged ({damaged[0]}).", hint="Build the graph again."
        ) from error


def ensure_index(
    directory: GraphDirectory,
    *,
    embedding: str = DEFAULT,
    workers: int = 1,
    load: Callable[[str], Embedder | None] = embedder_or_lexical,
) -> bool:
    """Build the index of the current generation again if it is missing or has another embedding.

    The new index belongs to a generation of its own, so that readers of the current one keep theirs.
    Gives whether it was built.
    """
    with directory.building():
        current = directory.current()
        if _fits(current.index_path, embedding, load):
            return False
        load(embedding)  # what is wrong with it shows before anything is copied
        generation = directory.begin_copy(current)
        try:
            build_index(generation, embedding=embedding, workers=workers, load=load)
        except BaseException:
            shutil.rmtree(generation.path, ignore_errors=True)
            raise
        directory.point_to(generation, generation.base)
    return True


def _fits(folder: Path, embedding: str, load: Callable[[str], Embedder | None]) -> bool:
    """Whether the index in the folder is what a build with this embedding would make."""
    try:
        about = read_about(folder)
    except VocabularyIndexError:
        return False
    if not (folder / RELATIONS).exists():  # made before tables were related
        return False
    if about["asked"] != embedding or damaged_files(folder):
        return False
    lexical_for_want_of_packages = about["embedding"] == "none" != embedding
    return not lexical_for_want_of_packages or load(embedding) is None


def read_about(folder: Path) -> dict[str, Any]:
    """What ``index.json`` says. Raises `VocabularyIndexError` where there is no index of this version."""
    try:
        about = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise VocabularyIndexError(
            f"There is no index in {folder}.", hint="Build the graph again."
        ) from error
    if not isinstance(about, dict) or about.get("version") != VERSION:
        raise VocabularyIndexError(
            f"The index in {folder} was made by another version of kgtable.", hint="Build the graph again."
        )
    return about


def write_vectors(
    corpus: Corpus,
    table_texts: Sequence[str],
    folder: Path,
    embedder: Embedder,
    previous: Path | None,
    piece_texts: Sequence[str] = (),
) -> None:
    """Embed tables, pieces of passages, column names, subjects and groups into the index folder."""
    from kgtable.index import vectors

    usable = previous is not None and read_about(previous)["embedding"] == embedder.name
    cache = vectors.VectorCache.load(embedder, previous if usable else None)
    vectors.write_whole(cache, "tables", table_texts, folder)
    if piece_texts:
        vectors.write_whole(cache, "pieces", piece_texts, folder)
    places = corpus.places
    kinds = {
        "predicates": np.unique(places.column_name),
        "groups": np.unique(places.row_group_label),
        "subjects": np.unique(places.row_label),
    }
    for kind, found in kinds.items():
        texts = [(number, corpus.texts[number]) for number in found[found != NONE].tolist()]
        worded = [
            (number, text) for number, text in texts if kind == "predicates" or not _NUMERAL.fullmatch(text)
        ]
        numbers: Integers = np.array([number for number, _ in worded], dtype=np.int64)
        vectors.write_vocabulary(cache, kind, [text for _, text in worded], numbers, folder)


def _previous(generation: Generation) -> Path | None:
    """The index folder of the generation before, where it can be used."""
    if generation.previous is None:
        return None
    folder = generation.previous.index_path
    try:
        read_about(folder)
    except VocabularyIndexError:
        return None
    return folder


class RememberingEmbedder:
    """An `Embedder` in front of another one that keeps the vectors of all texts it was asked for."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Matrix] = {}
        self.name = embedder.name
        self.dimension = embedder.dimension

    def know_names_of(self, folder: Path) -> None:
        """Take over the vectors of the column names in an index folder, if it is one of this embedding."""
        from kgtable.index.vectors import Vectors

        try:
            if read_about(folder)["embedding"] != self.name:
                return
            texts, vectors = Corpus.open(folder).texts, Vectors.open(folder)
        except VocabularyIndexError:
            return
        # Names have their line breaks as blanks; to a model that is the same text.
        names = (clean_text(texts[number]) for number in vectors.texts["predicates"].tolist())
        self._known.update(zip(names, vectors.predicates, strict=True))

    def embed(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed`."""
        missing = list(dict.fromkeys(text for text in texts if text not in self._known))
        if missing:
            self._known.update(zip(missing, self._embedder.embed(missing), strict=True))
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.stack([self._known[text] for text in texts])

    def embed_names(self, names: Sequence[str]) -> Matrix:
        """The vectors of column names, folded as the index holds them."""
        return self.embed([folded(name) for name in names])


class BuildEmbedding:
    """The embedding of one build, loaded when the build first needs it: one with nothing to do never does.

    It remembers what it embedded, and knows the column names of the graph as it was.
    """

    def __init__(
        self,
        name: str,
        directory: GraphDirectory,
        load: Callable[[str], Embedder | None] = embedder_or_lexical,
    ) -> None:
        self._name = name
        self._directory = directory
        self._load_model = load

    def load(self, name: str = "") -> RememberingEmbedder | None:
        """The model; None for a lexical index. Raises what loading the model raises."""
        return self._loaded

    def propose(self, summaries: Mapping[str, Summary]) -> Proposals:
        """The column names that may mean the same, see `kgtable.ontology.equivalents.propose`."""
        embedder = self._loaded
        return propose(summaries, None if embedder is None else embedder.embed_names)

    @cached_property
    def _loaded(self) -> RememberingEmbedder | None:
        model = self._load_model(self._name)
        if model is None:
            return None
        remembering = RememberingEmbedder(model)
        with suppress(GraphError):
            remembering.know_names_of(self._directory.current().index_path)
        return remembering
