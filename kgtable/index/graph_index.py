"""The index of a graph: built after the conversion of its tables, opened for questions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kgtable.building.catalogue import Catalogue
from kgtable.building.generations import Generation, GraphDirectory
from kgtable.errors import GraphError, KgtableError, VocabularyIndexError
from kgtable.graph.document_statements import StoredPassage, read_document
from kgtable.graph.store import CHECKED_AT_ONCE, EmbeddedStore, TripleStore, store_state
from kgtable.graph.table_content import TableContent
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.index.corpus import NONE, Corpus, CorpusParts, TableColumns
from kgtable.index.corpus_assembly import assemble
from kgtable.index.corpus_update import EarlierCorpus, GenerationCorpus, index_version
from kgtable.index.embedding import DEFAULT, Embedder, Matrix, embedder_or_lexical, refuse_folder
from kgtable.index.inferred.column_profiles import TableHead, TableProfiles, is_small
from kgtable.index.inferred.joins import ComparedColumns, unchanged_places
from kgtable.index.inferred.levels import find_contained
from kgtable.index.inferred.name_inference import InferNames, infer_names, name_blocks, stated_names
from kgtable.index.inferred.nearby_tables import columns_of
from kgtable.index.inferred.relations import FILE as RELATIONS
from kgtable.index.inferred.relations import (
    TableRelations,
    find_relations,
    header_vectors,
    relation_blocks,
    updated_relations,
)
from kgtable.index.passage_index import PassageIndex, Piece, joined, passages_of, piece_texts, write_passages
from kgtable.index.postings import IntArray
from kgtable.index.substring import LexicalIndex, folded, write_grams
from kgtable.ontology.column_stats import Proposals, Summary, clean_text, propose
from kgtable.ontology.inferred_names import InferredName, InferredNames, is_missing_header, is_missing_title
from kgtable.storage import PARTS, checksum, differing, link_tree, storage_errors, whole_file
from kgtable.tables.model import Role

if TYPE_CHECKING:
    from kgtable.index.vectors import VectorCache, Vectors


VERSION = 4
"""Rises when the files of an index change."""

_NUMERAL = re.compile(r"[\W\d_]*")
_DIGIT = re.compile(r"\d")
_UNSPOKEN = (Role.IDENTIFIER, Role.TIME)

MOST_SUBJECTS = 10_000
"""Subjects of one table that have a vector."""

ColumnRoles: TypeAlias = Mapping[tuple[str, int], Role]
"""The role of columns, by the id of the table and the number of the column."""


def index_step(
    embedding: str = DEFAULT, workers: int = 1, load: Callable[[str], Embedder | None] = embedder_or_lexical
) -> Callable[[Generation], None]:
    """The step for `kgtable.building.pipeline.build_graph(after=…)` that builds the index of a generation.

    Raises `EmbeddingError` for an embedding that is a folder.
    """
    refuse_folder(embedding)
    return partial(build_index, embedding=embedding, workers=workers, load=load)


def build_index(
    generation: Generation,
    *,
    embedding: str = DEFAULT,
    workers: int = 1,
    load: Callable[[str], Embedder | None] = embedder_or_lexical,
    infer: InferNames = infer_names,
) -> None:
    """Write the index of a generation into its folder.

    `infer` proposes names for columns without a header and tables without a title. No text is embedded that was
    embedded in the previous generation. Raises `StorageError`, `EmbeddingError`.
    """
    folder = generation.index_path
    with storage_errors(folder):
        folder.mkdir()
        previous = _previous(generation)
        catalogue = generation.catalogue or Catalogue.load(generation.catalogue_path)
        ids = list(catalogue.tables)
        embedder = load(embedding)
        cache = None if embedder is None else _vector_cache(embedder, previous)
        units = {(fact.table, fact.index): next(iter(fact.units), "") for fact in catalogue.facts()}
        embed = None if cache is None else _embed_names(cache, folder)

        def inferred(profiles: TableProfiles) -> list[InferredName]:
            heads = profiles.heads
            return infer(profiles, [units.get((heads[c.table].id, c.index), "") for c in profiles.columns], embed)

        name = "none" if embedder is None else embedder.name
        about = {} if previous is None else read_about(previous)
        same_model = about.get("embedding") == name
        drift = int(about.get("drift", 0)) if same_model else len(ids)
        version = str(about.get("made_by", ""))
        current = previous if _describes_previous(about, generation) else None
        earlier = EarlierCorpus.of_previous(generation, catalogue, current, version, drift)

        def relations() -> TableRelations:
            return TableRelations() if earlier is None else TableRelations.open(earlier.folder)

        written = GenerationCorpus(generation, ids, folder, earlier, inferred, relations)
        passages, pieces = _passages(generation, catalogue, current)
        write_passages(passages, pieces, folder)
        if cache is not None:
            from kgtable.index import vectors

            texts = written.saved.parts.table_texts
            roles = {(fact.table, fact.index): fact.meaning.role for fact in catalogue.facts() if fact.meaning}
            write_vectors(written.saved.corpus, texts, folder, cache, roles, piece_texts(passages, pieces))
            if written.nearby is not None and previous is not None:
                vectors.keep_missing(previous, folder)
        _write_relations(generation, written, folder, earlier if same_model else None)
        _write_about(folder, embedding, name, len(ids), store_state(generation.store_path), written.drift)


def _describes_previous(about: Mapping[str, Any], generation: Generation) -> bool:
    """Whether the index of the generation before, described by `about`, is one of its graph as it is, and the tables
    of both generations are called the same."""
    before = generation.previous
    if before is None or before.base != generation.base:
        return False
    return about.get("store") == store_state(before.store_path)


def _passages(
    generation: Generation, catalogue: Catalogue, previous: Path | None
) -> tuple[list[StoredPassage], list[Piece]]:
    """The passages of all documents: of unchanged ones those of the previous index, if it can be taken over, of others
    read from the graph."""
    ids = list(catalogue.documents)
    known = _known_passages(generation, catalogue, previous) if ids else {}
    names = Namespaces(generation.base)
    store = EmbeddedStore(generation.store_path, names.prefixes) if set(ids) - known.keys() else None

    def parts() -> Iterator[tuple[Sequence[StoredPassage], Sequence[Piece]]]:
        for id in ids:
            if id in known:
                yield known[id]
            elif store is not None and (document := read_document(store, id, names)) is not None:
                yield passages_of([document])

    return joined(parts())


def _known_passages(
    generation: Generation, catalogue: Catalogue, previous: Path | None
) -> dict[str, tuple[list[StoredPassage], list[Piece]]]:
    """The passages of the documents that are as they were when the previous index was made, by document."""
    before = generation.previous
    if before is None or previous is None:
        return {}
    _, unchanged = catalogue.unchanged_since(before.catalogue_path)
    try:
        found = PassageIndex(previous).by_document()
    except VocabularyIndexError:
        return {}
    return {id: parts for id, parts in found.items() if id in unchanged}


def write_index(
    contents: Iterable[TableContent],
    folder: Path,
    inferred: InferredNames | None = None,
    embedding: str = "none",
    roles: Callable[[], ColumnRoles] = dict,
) -> None:
    """Write an index of these tables, without relations, into an empty folder; with vectors if there is a model."""
    corpus = assemble(contents, folder, inferred)
    write_grams(corpus.texts, folder)
    embedder = embedder_or_lexical(embedding)
    if embedder is not None:
        write_vectors(corpus, CorpusParts.open(folder).table_texts, folder, _vector_cache(embedder, None), roles())
    _write_about(folder, embedding, "none" if embedder is None else embedder.name, len(corpus.table_ids), None)


def index_endpoint(
    store: TripleStore, names: Namespaces, tables: Iterable[str], folder: Path, embedding: str = DEFAULT
) -> None:
    """Write an index of tables behind an endpoint into `folder`, in place of an earlier one.

    Raises `StorageError`, `EmbeddingError`, and what reading a table raises.
    """
    reader, ids = TableReader(store, names), tuple(tables)

    def roles() -> ColumnRoles:
        columns = ((id, column) for id in ids for column in reader.frame(id).table.columns)
        return {(id, column.index): column.meaning.role for id, column in columns if column.meaning is not None}

    with storage_errors(folder), TemporaryDirectory(dir=folder.parent, prefix=".index.") as temporary:
        fresh = Path(temporary, "fresh")
        fresh.mkdir()
        write_index(map(reader.content, ids), fresh, stated_names(store, names), embedding, roles=roles)
        if folder.exists():
            folder.rename(Path(temporary, "earlier"))
        fresh.rename(folder)


def _vector_cache(embedder: Embedder, previous: Path | None) -> VectorCache:
    from kgtable.index import vectors

    usable = previous is not None and read_about(previous)["embedding"] == embedder.name
    return vectors.VectorCache.load(embedder, previous if usable else None)


def _embed_names(cache: VectorCache, folder: Path) -> Callable[[Sequence[str]], Matrix]:
    """An embedding of headers at its first call and of values at its second, whose vectors the next build knows."""
    from kgtable.index import vectors

    kinds = iter(vectors.NAMES)
    return lambda texts: vectors.write_whole(cache, next(kinds), texts, folder)


def _write_relations(
    generation: Generation, written: GenerationCorpus, folder: Path, earlier: EarlierCorpus | None
) -> None:
    """Find how the tables are related; keep that in the index folder and state it, and the names, in the graph.

    Columns of tables that are as they were in the `earlier` corpus are not compared again.
    """
    names, corpus = written.names, written.saved.corpus
    heads = [_with_given_names(head, names) for head in written.profiles.heads]
    profiles = written.profiles.under(heads)
    known = _known_columns(earlier, names, corpus)
    vectors, vector_of = header_vectors(corpus, folder)
    if written.nearby is None or earlier is None:
        relations, compared = find_relations(profiles, vectors, vector_of, known)
        relations = TableRelations(relations.joins, relations.unions, find_contained(profiles, corpus))
    else:
        near = written.nearby
        columns = columns_of(corpus, near)
        ids = [corpus.table_ids[table] for table in near.tolist()]
        own = [vector_of[column] for column in columns.tolist()] if vector_of else []
        fresh = np.array([id not in written.kept for id in ids], dtype=np.bool_)
        related = known.related[near] if len(known.related) else None
        found, compared = find_relations(profiles, vectors, own, fresh=fresh, related=related)
        before = TableRelations.open(earlier.folder)
        relations = updated_relations(before, found, corpus.table_ids, written.kept, set(ids))
        compared = known.with_some(compared, columns, near)
    compared.save(folder)
    relations.save(folder)
    spaces = Namespaces(generation.base)
    generation.describe([*relation_blocks(relations, spaces), *name_blocks(names, spaces)])


def _known_columns(earlier: EarlierCorpus | None, names: InferredNames, corpus: Corpus) -> ComparedColumns:
    """The pairs of columns compared in an earlier corpus, of tables that are, and are called, as they were."""
    columns = len(corpus.places.column_table)
    if earlier is None:
        return ComparedColumns(columns)
    before = earlier.saved.corpus
    if is_small(len(before.table_ids)) != is_small(len(corpus.table_ids)):
        return ComparedColumns(columns)
    tables = unchanged_places(before.table_ids, corpus.table_ids, earlier.tables_called_as_in(names))
    compared = ComparedColumns.open(earlier.folder, len(before.places.column_table))
    return compared.moved(tables, before.places, corpus.places)


def _with_given_names(head: TableHead, names: InferredNames) -> TableHead:
    """The head with the names given by users and models to unnamed parts: only these show how tables are related."""

    def given(column: int | None) -> str:
        name = names.at(head.id, column)
        return name.name if name is not None and name.basis in ("user", "model") else ""

    headers = (text if not is_missing_header(text) else given(at) or text for at, text in enumerate(head.names))
    title = given(None) if is_missing_title(head.title, head.id) else ""
    return replace(head, title=title or head.title, names=tuple(headers))


def _write_about(folder: Path, asked: str, embedding: str, tables: int, state: str | None, drift: int = 0) -> None:
    about = {"version": VERSION, "asked": asked, "embedding": embedding, "tables": tables, "store": state}
    about["made_by"] = index_version()
    if drift:
        about["drift"] = drift
    about["files"] = {path.name: checksum(path) for path in sorted(folder.iterdir()) if path.is_file()}
    (folder / "index.json").write_text(json.dumps(about), encoding="utf-8")


def keep_index(current: Generation, copy: Generation) -> None:
    """Copy the index of a generation into a copy of that generation, by hard links."""
    read_about(current.index_path)
    with storage_errors(copy.path):
        link_tree(current.index_path, copy.index_path)


def mark_index(generation: Generation) -> None:
    """Record that the index matches the current state of the store: later writes belong to no table."""
    folder = generation.index_path
    about = {**read_about(folder), "store": store_state(generation.store_path)}
    with whole_file(folder / "index.json") as file:
        file.write(json.dumps(about).encode())


VECTOR_FILES = "vectors."
"""How the names of files begin that only questions with an embedding need."""


def damaged_files(folder: Path, concerns: Callable[[str], bool] = bool) -> list[str]:
    """The files of an index, or those selected by `concerns`, that differ from their checksum.

    Raises as `read_about` does.
    """
    damaged = []
    for name, written in read_about(folder).get("files", {}).items():
        try:
            if concerns(name) and checksum(folder / name) != written:
                damaged.append(name)
        except OSError:
            damaged.append(name)
    return damaged


def _check_small(folder: Path, concerns: Callable[[str], bool]) -> None:
    """Raise `VocabularyIndexError` for damage in some files of an index small enough to be read at each opening."""
    if sum(path.stat().st_size for path in folder.iterdir()) > CHECKED_AT_ONCE:
        return
    if damaged := damaged_files(folder, concerns):
        raise _damage_error(folder, damaged[0])


def _damage_error(folder: Path, name: str) -> VocabularyIndexError:
    return VocabularyIndexError(f"The index in {folder} is missing or damaged ({name}).", hint="Build the graph again.")


@contextmanager
def index_faults(folder: Path) -> Iterator[None]:
    """Raise `VocabularyIndexError` for an error of the block that comes from a damaged index."""
    try:
        yield
    except KgtableError:
        raise
    except Exception as error:
        if not (damaged := damaged_files(folder)):
            raise
        raise _damage_error(folder, damaged[0]) from error


def is_indexed(
    generation: Generation, embedding: str = DEFAULT, load: Callable[[str], Embedder | None] = embedder_or_lexical
) -> bool:
    """Whether the index of a generation exists, is complete, and equals what a build with this embedding makes."""
    folder = generation.index_path
    try:
        about = read_about(folder)
    except VocabularyIndexError:
        return False
    # An index that was made before tables were related has no relations.
    if not (folder / RELATIONS).exists() or about["asked"] != embedding or damaged_files(folder):
        return False
    lexical_for_want_of_packages = about["embedding"] == "none" != embedding
    return not lexical_for_want_of_packages or load(embedding) is None


def read_about(folder: Path) -> dict[str, Any]:
    """The content of ``index.json``. Raises `VocabularyIndexError` if there is no index of this version."""
    try:
        about = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise VocabularyIndexError(f"There is no index in {folder}.", hint="Build the graph again.") from error
    if not isinstance(about, dict) or about.get("version") != VERSION:
        raise VocabularyIndexError(
            f"The index in {folder} was made by another version of kgtable.", hint="Build the graph again."
        )
    if differing(folder.parent, [f"{folder.name}/index.json"], PARTS):
        raise _damage_error(folder, "index.json")
    return about


def write_vectors(
    corpus: Corpus,
    table_texts: Sequence[str],
    folder: Path,
    cache: VectorCache,
    roles: ColumnRoles,
    piece_texts: Sequence[str] = (),
) -> None:
    """Embed tables, pieces of passages, column names, subjects and groups into the index folder.

    Of the subjects those of a column of identifiers or times with a digit in them are left out, and of each table those
    after the first `MOST_SUBJECTS`: they are found by their letters.
    """
    from kgtable.index import vectors

    vectors.write_whole(cache, "tables", table_texts, folder)
    if piece_texts:
        vectors.write_whole(cache, "pieces", piece_texts, folder)
    places = corpus.places
    kinds = {
        "predicates": np.unique(places.column_name),
        "groups": np.unique(places.row_group_label),
        "subjects": _spoken_subjects(corpus, roles),
    }
    for kind, found in kinds.items():
        texts = [(number, corpus.texts[number]) for number in found[found != NONE].tolist()]
        worded = [(number, text) for number, text in texts if kind == "predicates" or not _NUMERAL.fullmatch(text)]
        numbers: IntArray = np.array([number for number, _ in worded], dtype=np.int64)
        vectors.write_vocabulary(cache, kind, [text for _, text in worded], numbers, folder)


def _spoken_subjects(corpus: Corpus, roles: ColumnRoles) -> IntArray:
    """The texts of rows' labels that people say in other words."""
    places = corpus.places
    tables = np.array(corpus.table_ids, dtype=object)[places.column_table]
    unspoken = [roles.get(place) in _UNSPOKEN for place in zip(tables, places.column_number.tolist(), strict=True)]
    labels = np.asarray(places.row_label).copy()
    cells = np.flatnonzero(np.array(unspoken, dtype=np.bool_)[places.cell_column])
    named = cells[places.cell_text[cells] == labels[places.cell_row[cells]]]
    identified = np.unique(places.cell_text[named])
    digits = [number for number in identified.tolist() if _DIGIT.search(corpus.texts[number])]
    labels[places.cell_row[named[np.isin(places.cell_text[named], digits)]]] = NONE
    starts = places.table_row_start
    for table in np.flatnonzero(np.diff(starts) > MOST_SUBJECTS).tolist():
        rows = labels[starts[table] : starts[table + 1]]
        found, first = np.unique(rows, return_index=True)
        ordered = found[np.argsort(first)]
        rows[np.isin(rows, ordered[ordered != NONE][MOST_SUBJECTS:])] = NONE
    return np.unique(labels)


def _previous(generation: Generation) -> Path | None:
    """The index folder of the generation before, where it can be used: whole, and of this version."""
    folder = None if generation.previous is None else generation.previous.index_path
    try:
        return None if folder is None or damaged_files(folder) else folder
    except VocabularyIndexError:
        return None


class RememberingEmbedder:
    """A wrapper of an `Embedder` that caches the vectors of all its texts."""

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
    """The embedding model of one build, loaded at its first use, so that a build with nothing to do is fast.

    It remembers what it embedded, and knows the column names of the graph as it was.
    """

    def __init__(
        self, name: str, directory: GraphDirectory, load: Callable[[str], Embedder | None] = embedder_or_lexical
    ) -> None:
        self._name = name
        self._directory = directory
        self._load_model = load

    def load(self, name: str = "") -> RememberingEmbedder | None:
        """The model; None for a lexical index. Raises what loading the model raises."""
        return self._loaded

    def propose(self, summaries: Mapping[str, Summary]) -> Proposals:
        """The column names that may mean the same, see `kgtable.ontology.column_stats.propose`."""
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


class GraphIndex:
    """Corpus, substring search and vectors of one generation. May be used from several threads.

    Without vectors, or without the packages to embed a question, it is lexical only: `vectors` and
    `embed` give None then. Raises `VocabularyIndexError` if the index is missing or damaged.
    """

    def __init__(self, folder: Path, load: Callable[[str], Embedder | None] = embedder_or_lexical) -> None:
        self.folder = folder
        self.about: dict[str, Any] = read_about(folder)
        self.corpus = Corpus.open(folder)
        self.lexical = LexicalIndex(folder, self.corpus.texts)
        _check_small(folder, lambda name: not name.startswith(VECTOR_FILES))
        self._load = load

    def describes(self, store: TripleStore) -> bool:
        """Whether the index still matches the store: the store is unchanged since the index was made."""
        return isinstance(store, EmbeddedStore) and self.about.get("store") == store_state(store.path)

    @property
    def embedding(self) -> str:
        """The name of the embedding the index was built with; ``none`` for a lexical one."""
        return str(self.about["embedding"])

    @cached_property
    def vectors(self) -> Vectors | None:
        """The vectors, if questions can be compared with them."""
        if self._embedder is None:
            return None
        from kgtable.index.vectors import Vectors

        found = Vectors.open(self.folder)
        _check_small(self.folder, lambda name: name.startswith(VECTOR_FILES))
        return found

    def vector_of(self, text: str) -> Matrix | None:
        """The vector of a folded subject, column name or group heading, shape (dimension,); None for another text."""
        number = self.corpus.texts.find(text)
        return None if number is None or self.vectors is None else self.vectors.of(number)

    def embed(self, texts: list[str]) -> Matrix | None:
        """Vectors of questions and labels, by the embedding of the index; None for a lexical index."""
        return None if self._embedder is None else self._embedder.embed(texts)

    @cached_property
    def _embedder(self) -> Embedder | None:
        refuse_folder(self.embedding)
        return self._load(self.embedding)


def indexed_contents(index: GraphIndex, reader: TableReader, store: TripleStore) -> Callable[[str], TableContent]:
    """What reads the texts of a table by its id: from the index, then without those around the table, or from the
    store where that was changed since the index was made."""
    places = {id: at for at, id in enumerate(index.corpus.table_ids)}
    heads = CorpusParts.open(index.folder).heads

    def content(id: str) -> TableContent:
        place = places.get(id)
        if place is None or not index.describes(store):
            return reader.content(id)
        head = TableHead.from_list(json.loads(heads[place]))
        corpus = index.corpus
        columns = slice(*corpus.places.table_column_start[place : place + 2].tolist())
        predicates = map(corpus.predicates.__getitem__, corpus.places.column_predicate[columns].tolist())
        named = tuple(zip(head.names, predicates, strict=True))
        return TableContent(id, head.title, head.caption, head.heading, (), named, corpus.rows_of(place))

    return content


def indexed_columns(index: GraphIndex, store: TripleStore) -> Callable[[str], TableColumns | None]:
    """The tables of an index by id, column by column; none if the store was changed since it was made."""
    places = {id: at for at, id in enumerate(index.corpus.table_ids)}

    def columns(id: str) -> TableColumns | None:
        place = places.get(id)
        return TableColumns(index.corpus, place) if place is not None and index.describes(store) else None

    return columns
