"""The corpus of a generation: tables that did not change are taken over from the index of the generation before."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import numpy as np

from kgtable.building.catalogue import Catalogue
from kgtable.building.contents import contents_state, read_contents
from kgtable.building.generations import Generation
from kgtable.errors import VocabularyIndexError
from kgtable.graph.store import store_state
from kgtable.index.column_profiles import TableHead, TableProfiles, profiles_of
from kgtable.index.corpus_assembly import assemble
from kgtable.index.corpus_update import CorpusUpdate, SavedCorpus, UnitedStrings
from kgtable.index.substring import Added, update_grams, write_grams
from kgtable.ontology.inferred_names import USED_FROM, InferredName, InferredNames
from kgtable.resources import PACKAGE
from kgtable.version import __version__

MOST_FRESH = 0.5
"""The share of new tables, or of new texts, beyond which everything is made anew."""

Infer: TypeAlias = Callable[[TableProfiles], Sequence[InferredName]]


@cache
def index_version() -> str:
    """A hash of the code and the word lists that decide what an index of the same tables holds."""
    digest = sha256(__version__.encode())
    for room in ("index", "ontology", "values"):
        for path in sorted(filter(Path.is_file, (PACKAGE / room).rglob("*"))):
            if path.suffix in (".py", ".txt", ".json"):
                digest.update(f"\0{path.name}\0".encode("utf-8", "surrogatepass") + path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class EarlierCorpus:
    """A corpus of an index folder, the names that it was made with, and the ids of the tables that are as they were."""

    folder: Path
    saved: SavedCorpus
    names: InferredNames
    unchanged: Collection[str]

    @classmethod
    def of_previous(
        cls, generation: Generation, catalogue: Catalogue, previous: Path | None, version: str
    ) -> EarlierCorpus | None:
        """That of the generation before, if its index was made by this version (`version` is what it says) from the
        graph as it is."""
        before = generation.previous
        if before is None or previous is None or version != index_version() or not is_as_built(generation):
            return None
        try:
            saved, names = SavedCorpus.open(previous), InferredNames.open(previous)
        except VocabularyIndexError:
            return None
        unchanged, _ = catalogue.unchanged_since(before.catalogue_path)
        return cls(previous, saved, names, unchanged.intersection(saved.corpus.table_ids))

    def tables_called_as_in(self, names: InferredNames) -> set[str]:
        """The unchanged tables to which users and models gave the same names."""

        def given(found: InferredNames) -> set[tuple[str, int | None, str]]:
            return {(name.table, name.column, name.name) for name in found if name.basis in ("user", "model")}

        changed = {table for table, _, _ in given(self.names) ^ given(names)}
        return {table for table in self.unchanged if table not in changed}


def is_as_built(generation: Generation) -> bool:
    """Whether nobody wrote to the graph of the generation before, and its tables are called as in this one."""
    before = generation.previous
    if before is None or before.base != generation.base:
        return False
    return contents_state(before) == store_state(before.store_path)


class GenerationCorpus:
    """Writes the corpus of a generation, with names for columns and tables that have none, into an index folder.

    Attributes:
        saved: the corpus.
        names: the names, of which some were given by users and models.
        profiles: of the columns of all tables, under the headers that they have.
    """

    def __init__(
        self,
        generation: Generation,
        ids: Sequence[str],
        folder: Path,
        earlier: EarlierCorpus | None,
        infer: Infer,
    ) -> None:
        """`infer` gives names for what `InferredNames.open(generation.path)` gives none."""
        self._generation, self._ids = generation, ids
        given = InferredNames.open(generation.path)
        with TemporaryDirectory(dir=folder, prefix="unnamed.") as temporary:
            first = Path(temporary)
            supposed = _supposed(given, earlier)
            grams = self._write(first, supposed, earlier)
            saved = SavedCorpus.open(first)
            heads = [TableHead.from_list(json.loads(text)) for text in saved.parts.heads]
            self.profiles = profiles_of(saved.corpus, heads)
            inferred = (name for name in infer(self.profiles) if given.at(name.table, name.column) is None)
            self.names = InferredNames([*given, *inferred])
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

    def _write(
        self, folder: Path, names: InferredNames, earlier: EarlierCorpus | None, *, has_grams: bool = True
    ) -> bool:
        """Write the corpus under these names; gives whether the grams of its texts were written as well."""
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
            update_grams(earlier.folder, folder, texts.places[0], _added(texts, new))
        return True

    def _fresh(self, names: InferredNames, earlier: EarlierCorpus | None) -> list[str]:
        """The tables that are not in the earlier corpus as they are to be."""
        if earlier is None:
            return list(self._ids)
        used, were = _used(names), _used(earlier.names)
        return [id for id in self._ids if id not in earlier.unchanged or used.get(id) != were.get(id)]


def _added(texts: UnitedStrings, new: SavedCorpus) -> Added:
    own = [new.corpus.texts[number] for number in texts.only_new.tolist()]
    return Added(own, texts.places[1][texts.only_new].astype(np.int64), texts.before)


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
