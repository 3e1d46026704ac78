"""Triple stores: the interface, the store inside this process (Oxigraph), and its versions on disk.

Reading a store next to a process that writes to it is undefined in Oxigraph (it fails now and then: swollen
memory, crashes). So the writer keeps a private working copy, whose data files are hard links, and makes a
checkpoint of it after each change; readers open checkpoints only. The file ``.NAME.current`` names the newest
version of the store ``NAME`` and is replaced in one step. A crash at any instant leaves the last version whole.

Oxigraph never changes a data file (``.sst``) once it is written. Met in the middle of a query, a damaged block makes
it count errors without end, so checksums detect corruption first, and a corrupt store is never queried.
"""

from __future__ import annotations

import difflib
import hashlib
import io
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import IO, Protocol, TypeAlias, cast
from xml.parsers import expat

import pyoxigraph as ox

from kgtable.errors import DamagedGraphError, GraphClosedError, GraphNotFoundError, QueryError, StorageError
from kgtable.graph.sparql_text import (
    COMMON_PREFIXES,
    Bindable,
    check_depth,
    spelt_out,
    syntax_fault,
    to_term,
    with_decimal_values,
)
from kgtable.storage import (
    RECORD,
    Lease,
    checksum,
    differing,
    link_tree,
    recorded,
    remove_unread,
    storage_errors,
    sync_file,
    sync_folder,
    whole_file,
    write_record,
)

_TRIPLE = attrgetter("triple")

Results: TypeAlias = ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples


class TripleStore(Protocol):
    """A graph that answers SPARQL 1.1 queries."""

    def query(
        self, text: str, *, bindings: Mapping[str, Bindable] | None = None, union_default_graph: bool = True
    ) -> Results:
        """The results of a query.

        `bindings` assigns values to variables by name; a SELECT must name them among its results. With
        `union_default_graph` patterns outside ``GRAPH`` match every table and the description;
        without it, the description alone.
        Raises `QueryError` for a query that cannot be parsed or evaluated.
        """
        ...

    def graph(self, iri: str | None) -> Iterator[ox.Triple]:
        """Every triple of a named graph (an IRI, or a blank node like ``_:a``), or with None of the default graph."""
        ...

    def close(self) -> None:
        """Release files or connections. A store that is used again raises `GraphClosedError`."""
        ...


def select(store: TripleStore, query: str, *, union_default_graph: bool = True) -> ox.QuerySolutions:
    """The solutions of a SELECT query. Raises `QueryError` as `TripleStore.query` does."""
    found = store.query(query, union_default_graph=union_default_graph)
    assert isinstance(found, ox.QuerySolutions)
    return found


class _CheckedXml(io.RawIOBase):
    """An XML file that expat checks piece by piece before another parser sees it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._parser = file, expat.ParserCreate()

    def read(self, size: int = -1) -> bytes:
        """See `io.RawIOBase`."""
        piece = self._file.read(size)
        try:
            self._parser.Parse(piece, not piece)
        except expat.ExpatError as error:
            fault = SyntaxError(expat.ErrorString(error.code))
            fault.lineno, fault.offset = error.lineno, error.offset + 1
            raise fault from None
        return piece


def bounded_rdf(file: IO[bytes], form: ox.RdfFormat) -> IO[bytes]:
    """An RDF file for Oxigraph's parser, which has no bound for entities of RDF/XML that expand to gigabytes.

    Reading it raises `SyntaxError` for XML that expat refuses: it bounds the amplification by entities.
    """
    return cast(IO[bytes], _CheckedXml(file)) if form == ox.RdfFormat.RDF_XML else file


@contextmanager
def query_errors(query: str = "", prefixes: Collection[str] = ()) -> Iterator[None]:
    """Turn what Oxigraph raises into a `QueryError` of one line, which marks the place in the `query`.

    Results are evaluated as they are read, so that reading them raises as well: a ``SERVICE`` that
    refuses, a result that is too large.
    """
    try:
        yield
    except SyntaxError as error:
        fault = syntax_fault(error, query)
        if fault is None:
            raise QueryError(f"The query cannot be parsed: {error}") from error
        raise QueryError(
            f"The query cannot be parsed: {fault.one_line(query)}.", hint=_prefix_hint(fault.prefix, prefixes)
        ) from error
    except (ValueError, OSError, RuntimeError) as error:
        hint = "Select the variables that you bind." if "SELECT projection" in str(error) else ""
        text = " ".join(str(error).split())
        raise QueryError(f"The query cannot be evaluated: {text}", hint=hint) from error


def _prefix_hint(prefix: str, known: Collection[str]) -> str:
    """What to do about a prefix that is not declared; empty for none."""
    if not prefix:
        return ""
    if near := difflib.get_close_matches(prefix, known, 1):
        return f"Did you mean {near[0]}:?"
    return f"Declare it: PREFIX {prefix}: <{COMMON_PREFIXES.get(prefix, '…')}>."


class EmbeddedStore:
    """An Oxigraph store on disk, opened for reading, also while a build goes on next to it.

    Results belong to the thread that asked: they must not be handed to another. Queries may use
    the `prefixes` (name to namespace) without declaring them. ``SELECT *`` returns its variables in the
    order in which the query names them.
    The files stay as long as the store is used where `leases` are those on its folder and its generation's.
    Raises `GraphNotFoundError` if there is no store, `StorageError` if it is damaged.
    """

    def __init__(
        self,
        path: str | Path,
        prefixes: Mapping[str, str] | None = None,
        leases: Sequence[Lease | None] = (),
        functions: Callable[[str], Mapping[ox.NamedNode, Callable[..., ox.Literal | None]]] = lambda query: {},
    ) -> None:
        """`functions` are the extension functions that a query may call."""
        self.path = Path(path)
        self._functions = functions
        self._prefixes = dict(prefixes or {})
        self._leases = tuple(leases)
        if damaged := damaged_files(self.path, CHECKED_AT_ONCE):
            raise damage_error(self.path, damaged)
        if not Path(path, "CURRENT").exists():
            raise GraphNotFoundError(f"There is no store in {path}.", hint=BUILD_AGAIN)
        try:
            self._opened: ox.Store | None = ox.Store.read_only(str(path))
        except (OSError, RuntimeError) as error:  # a RuntimeError tells of damaged files
            raise StorageError(f"The store in {path} cannot be opened: {error}.", hint=BUILD_AGAIN) from error

    @property
    def _store(self) -> ox.Store:
        if self._opened is None:
            raise GraphClosedError("The graph was closed.", hint="Open it again with kgtable.open.")
        return self._opened

    def query(
        self, text: str, *, bindings: Mapping[str, Bindable] | None = None, union_default_graph: bool = True
    ) -> Results:
        """See `TripleStore.query`."""
        substitutions = {_variable(name): to_term(value) for name, value in (bindings or {}).items()}
        store, functions = self._store, self._functions(text)

        def results(text: str) -> Results:
            return store.query(
                text,
                use_default_graph_as_union=union_default_graph,
                prefixes=self._prefixes,
                substitutions=substitutions,  # type: ignore[arg-type]
                custom_functions=functions or None,  # type: ignore[arg-type]
            )

        with query_errors(text, self._prefixes):
            check_depth(text)
            given, text = text, with_decimal_values(text)
            try:
                found = results(text)
            except SyntaxError:
                found = results(given)  # for the place in the query as it was given
            if isinstance(found, ox.QuerySolutions):
                ordered = spelt_out(text, [variable.value for variable in found.variables])
                found = found if ordered is None else results(ordered)
            return found

    def graph(self, iri: str | None) -> Iterator[ox.Triple]:
        """See `TripleStore.graph`."""
        name = (
            ox.DefaultGraph() if iri is None else ox.BlankNode(iri[2:]) if iri.startswith("_:") else ox.NamedNode(iri)
        )
        try:
            yield from map(_TRIPLE, self._store.quads_for_pattern(None, None, None, name))
        except (OSError, RuntimeError) as error:
            if type(error) not in (OSError, RuntimeError):  # such as a RecursionError: not of Oxigraph
                raise
            raise DamagedGraphError(f"The store in {self.path} is damaged: {error}.", hint=BUILD_AGAIN) from error

    def close(self) -> None:
        """See `TripleStore.close`; a query running in another thread ends normally."""
        self._opened = None
        self._leases = ()

    def __len__(self) -> int:
        return len(self._store)


BUILD_AGAIN = "Build the graph again in an empty directory."


def damage_error(path: Path, files: Sequence[str]) -> DamagedGraphError:
    """The error for a folder of a graph with files that are missing or corrupt."""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return DamagedGraphError(f"{path} is damaged: {files[0]}{more} is not what was written.", hint=BUILD_AGAIN)


def store_state(path: Path) -> str:
    """A text that changes whenever something is written to the store in this folder.

    RocksDB never changes a data file: a write makes its log longer, a flush or a new writer makes new files.
    """
    found = sorted((entry.name, entry.stat().st_size) for entry in path.iterdir() if _is_essential(entry.name))
    return hashlib.sha256(repr(found).encode()).hexdigest()


def _variable(name: str) -> ox.Variable:
    try:
        return ox.Variable(name)
    except ValueError as error:
        raise QueryError(f"{name!r} is not the name of a variable.") from error


_NUMBER = re.compile(rb"[1-9][0-9]{0,17}")


def pointer_of(base: Path) -> Path:
    """The file that names the newest version of a store, where there is more than the first."""
    return base.with_name(f".{base.name}.current")


def newest(base: Path) -> Path:
    """The newest version of a store: a folder next to it, or the store itself.

    The pointer holds the name of such a folder: it never leads elsewhere. Raises `StorageError` for
    one that says anything else or cannot be read: an older version must not pass for the newest.
    """
    pointer = pointer_of(base)
    try:
        name = pointer.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return base
    except OSError as error:
        raise StorageError(f"{pointer} cannot be read: {error.strerror}.", hint="Try again.") from error
    number = name[:400].removeprefix(os.fsencode(f"{base.name}-")).removesuffix(b"\n")
    if number == name[:400] or not _NUMBER.fullmatch(number):
        raise DamagedGraphError(f"{pointer} is damaged: it names no version of the store.", hint=BUILD_AGAIN)
    return base.with_name(f"{base.name}-{int(number)}")


def number_of(version: Path, base: Path) -> int:
    """The number of a version, 0 for the store as it was first made."""
    return 0 if version == base else int(version.name.removeprefix(f"{base.name}-"))


def leased(base: Path) -> tuple[Path, Lease]:
    """The newest version with a lease on it. Raises `GraphNotFoundError` if there is no store."""
    while True:
        version = newest(base)
        try:
            return version, Lease(version)
        except (FileNotFoundError, NotADirectoryError) as error:
            if newest(base) == version:
                raise GraphNotFoundError(f"There is no store in {version}.", hint=BUILD_AGAIN) from error


class WorkingStore:
    """A private copy of a store's newest version, to be changed and published; for one writer at a time.

    A change that fails on the way needs no undoing: close the copy, and make another.
    Raises `OSError` or `RuntimeError` if it cannot be made.
    """

    def __init__(self, base: Path) -> None:
        self.base = base
        self.source, lease = leased(base)
        self._folder = base.with_name(f".{base.name}.work")
        shutil.rmtree(self._folder, ignore_errors=True)
        if damaged := damaged_files(self.source, CHECKED_AT_ONCE):
            raise damage_error(self.source, damaged)
        copy_store(self.source, self._folder)
        lease.release()
        # The working copy lies next to the versions: their folder must stay while it is open.
        self._kept = Lease(base.parent)
        self.store = ox.Store(str(self._folder))

    def is_current(self) -> bool:
        """Whether the copy still equals the newest version."""
        return newest(self.base) == self.source

    def publish(self) -> Path:
        """Make the state of the copy the newest version; it is on disk when this returns.

        Raises `OSError`, `RuntimeError` or `StorageError`; the version before stays the newest then.
        """
        number = number_of(self.source, self.base) + 1
        version = self.base.with_name(f"{self.base.name}-{number}")
        if version.exists():  # left by a crash before it was named
            shutil.rmtree(version)
        try:
            with storage_errors(version):
                self.store.backup(str(version))
                with suppress(FileNotFoundError):
                    shutil.copyfile(self.source / RECORD, version / _EARLIER)
                record_checksums(version)
                for entry in version.iterdir():
                    if entry.stat().st_nlink == 1:  # the engine has synced the data files that are linked itself
                        sync_file(entry)
                sync_folder(version)
                sync_folder(version.parent)
            with whole_file(pointer_of(self.base)) as handle:
                handle.write(f"{version.name}\n".encode("ascii"))
        except BaseException:
            if newest(self.base) != version:
                shutil.rmtree(version, ignore_errors=True)
            raise
        self.source = version
        for entry in [self.base, *self.base.parent.glob(f"{self.base.name}-*")]:
            if entry != version and entry.is_dir():
                with suppress(OSError):
                    remove_unread(entry)
        return version

    def close(self) -> None:
        """Throw the copy away."""
        del self.store
        shutil.rmtree(self._folder, ignore_errors=True)
        self._kept.release()


CHECKED_AT_ONCE = 64 << 20
"""Bytes of a store's data files that are checked each time it is opened: some hundredths of a second. Larger ones are
checked by builds, and by commands after a query failed."""

_EARLIER = ".checksums.before"


def copy_store(source: Path, target: Path) -> None:
    """Copy a closed store to be written to: its data files are hard links and keep their checksums.

    Raises `OSError`.
    """
    link_tree(source, target)
    with suppress(FileNotFoundError):
        (target / RECORD).replace(target / _EARLIER)


def record_checksums(store: Path) -> None:
    """Write the checksums of a closed store, if it is there; those that are known of data files stay as they are.

    Raises `OSError`, or `StorageError` if they cannot be written.
    """
    if not store.is_dir():
        return
    known = recorded(store, _EARLIER) or recorded(store)
    found = {
        entry.name: known[entry.name] if entry.suffix == ".sst" and entry.name in known else checksum(entry)
        for entry in sorted(store.iterdir())
        if _is_essential(entry.name)
    }
    write_record(store, found)
    (store / _EARLIER).unlink(missing_ok=True)


def damaged_files(store: Path, most: int | None = None) -> tuple[str, ...]:
    """The names of files that are missing or corrupt, without which the store is not the same.

    None if nothing was recorded. Data files of more than `most` bytes together are not looked at. In a store that
    another program wrote to since, only the data files that are still there are.
    """
    known = recorded(store)
    data = {name for name in known if name.endswith(".sst")}
    state = known.keys() - data
    try:
        if most is not None and sum(file.stat().st_size for file in store.glob("*.sst") if file.name in data) > most:
            data = set()
        if _was_written_to(store, state):
            return tuple(differing(store, {name for name in data if (store / name).exists()}))
        return tuple(differing(store, state | data))
    except OSError:  # the version was removed meanwhile, or cannot be read: opening it raises the error
        return ()


def was_only_read(store: Path) -> bool:
    """Whether a store has no file that is not in its record: the engine makes some whenever it is opened for writing.

    False if there is no record, or no store.
    """
    known = recorded(store)
    try:
        return bool(known) and all(entry.name in known for entry in store.iterdir() if _is_essential(entry.name))
    except OSError:
        return False


def _is_essential(name: str) -> bool:
    """Whether a file of a store holds quads, or says which files do."""
    return name == "CURRENT" or name.startswith("MANIFEST-") or name.endswith((".sst", ".log"))


def _was_written_to(store: Path, state: Collection[str]) -> bool:
    """Whether the engine opened a store for writing after its record was made: it writes a new manifest then."""
    if any((store / name).exists() for name in state if name.startswith("MANIFEST-")):
        return False
    try:
        current = (store / "CURRENT").read_bytes().strip()
    except FileNotFoundError:
        return False
    return current.startswith(b"MANIFEST-") and b"/" not in current and (store / os.fsdecode(current)).exists()
