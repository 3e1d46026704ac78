"""JSON and JSON Lines: an array of records, an object of columns, or one record a line."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from kgtable.errors import NoTableError, UnreadableTableError
from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import ReadLimits, check_extent, chunks, open_content, read_bytes, unreadable
from kgtable.tables.model import Context, Grid, Notice, Row, Source, context_from, merge_contexts
from kgtable.tables.readers.encoding import Encoding, encoding_notices, encoding_of
from kgtable.values.text import sound_text

MOST_LEVELS = 200
"""Maximum nesting in a value; deeper ones do not fit a table, and each level costs space on Python's stack."""

MOST_DEPTH = 4
"""Levels of objects, the document among them, that are searched for a table."""

MOST_MEMBERS = 64
"""Maximum members of a nested object that become columns of their own; one with more stays JSON text."""

_CELL_BYTES = 8
"""Minimum bytes of a cell in rows held in memory."""

_NO_RECORDS = "Tables in JSON are arrays of objects, objects of arrays, or lines of objects."


class _NestingError(ValueError):
    """A value is nested deeper than `MOST_LEVELS`."""


class _Number(str):
    """The digits of a JSON number, kept as they are printed."""

    __slots__ = ()


def read_records(file: TableFile, limits: ReadLimits) -> list[Grid]:
    """The tables of a JSON or JSON Lines file. Row 0 holds the keys in the order they are first seen.

    Numbers keep their digits. A key that always holds objects becomes a column for each of their members, called
    ``key.member``; other nested values become JSON text; ``null`` is that word and a key that a
    record lacks an empty cell. Raises `TableError` if the file is not JSON or holds no records.
    """
    encoding = encoding_of(file, chunks(file, limits), "Is it JSON text?")
    if file.suffix != ".json":
        return [_read_lines(file, encoding, limits)]
    text = read_bytes(file, limits).decode(encoding.codec, encoding.errors)
    repeated: set[str] = set()
    try:
        document = _parser(repeated)(text)
        tables = _tables(document, partial(check_extent, file, limits))
    except (RecursionError, _NestingError) as error:
        raise UnreadableTableError("it is nested too deeply.", path=file.relative, hint=_NO_RECORDS) from error
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and "\n" in text[: error.pos]:
            return [_read_lines(file, encoding, limits)]
        message = f"no sound JSON: {error.msg} in line {error.lineno}, character {error.colno}."
        raise UnreadableTableError(message, path=file.relative, hint="Is it complete?") from error
    if not tables:
        raise NoTableError("the JSON holds no records.", path=file.relative, hint=_NO_RECORDS)
    notices = (*encoding_notices(file, encoding), *_repeated_notice(file, repeated))
    grids = [_grid(file, encoding, tuple(table.rows), max(map(len, table.rows)), table.keys) for table in tables]
    return [
        replace(
            grid,
            source=replace(grid.source, sheet=table.name if len(tables) > 1 else None, number=number),
            context=table.context,
            notices=notices if number == 0 else (),
        )
        for number, (grid, table) in enumerate(zip(grids, tables, strict=True))
    ]


@dataclass(frozen=True, slots=True)
class _JsonTable:
    """Rows from a part of a JSON document; `keys` says how many keys the first row holds, if any."""

    rows: list[Row]
    keys: int
    name: str = ""
    context: Context = field(default_factory=Context)


_CheckExtent: TypeAlias = Callable[[int, int, int], None]
"""Called with the height of a table, its width and how many values it has, before it is made."""


def _tables(document: object, check: _CheckExtent) -> list[_JsonTable]:
    """The tables in a JSON document: itself, or the members of its objects at the first level that has any."""
    level: list[tuple[str, object, Context]] = [("", document, Context())]
    for depth in range(MOST_DEPTH):
        found: list[_JsonTable] = []
        inner: list[tuple[str, object, Context]] = []
        for name, value, context in level:
            own = merge_contexts(context_from(value, "")[0], context) if isinstance(value, dict) else context
            tables = _tables_of(value, own, check, top=depth == 0)
            found += [replace(table, name=sound_text(name)) for table in tables if any(table.rows)]
            if isinstance(value, dict):
                inner += [(f"{name}.{key}" if depth else key, member, own) for key, member in value.items()]
        if found:
            return found
        level = inner
    return []


def _tables_of(value: object, context: Context, check: _CheckExtent, *, top: bool) -> Iterator[_JsonTable]:
    """The table that a value is; within an object, an array has to be one of objects."""
    if isinstance(value, list) and (top or _all_of(value, dict)):
        table = _record_table(value, check)
        if table is not None:
            yield replace(table, context=context)
    if not isinstance(value, dict):
        return
    data, columns = value.get("data"), value.get("columns")
    if _all_of(data, list) and isinstance(columns, list):
        header = tuple(map(_text, columns))
        yield _JsonTable([header, *(tuple(map(_text, row)) for row in data or ())], len(header), context=context)
    elif value and all(isinstance(inner, list) and not _all_of(inner, dict) for inner in value.values()):
        lengths = [len(inner) for inner in value.values()]
        if top or len({*lengths}) == 1 < len(lengths):
            check(max(lengths), len(lengths), sum(lengths))
            yield _JsonTable(_column_rows(value), len(value))


def _all_of(value: object, kind: type) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, kind) for item in value)


def _record_table(records: Sequence[object], check: _CheckExtent) -> _JsonTable | None:
    """A table from objects (a row of keys first) or from arrays; None if there is anything else."""
    if _all_of(records, list):
        return _JsonTable([tuple(map(_text, record)) for record in records if isinstance(record, list)], 0)
    objects = [record for record in records if isinstance(record, dict)]
    if not objects or len(objects) < len(records):
        return None
    keys = _RecordKeys()
    for record in objects:
        keys.add(record)
    paths = keys.paths
    check(len(objects), len(paths), sum(map(_filled, objects)))
    return _JsonTable([_header(paths), *(_cells(record, paths) for record in objects)], len(paths))


def _filled(record: Mapping[str, object]) -> int:
    return sum(len(value) if isinstance(value, dict) else 1 for value in record.values())


def _column_rows(columns: Mapping[str, Sequence[object]]) -> list[Row]:
    """Rows from an object of arrays; shorter arrays end in empty cells."""
    height = max(map(len, columns.values()))
    lists = [[*map(_text, values), *[""] * (height - len(values))] for values in columns.values()]
    return [tuple(map(sound_text, columns)), *zip(*lists, strict=True)]


_Path: TypeAlias = tuple[str, ...]
"""The key of a column, then the key within the nested object that is spread over columns."""


class _RecordKeys:
    """The keys of records in the order they are first seen, and the members of those that hold objects."""

    def __init__(self) -> None:
        self._members: dict[str, dict[str, None] | None] = {}

    def add(self, record: Mapping[str, object]) -> None:
        """Take the keys of a record in."""
        members = self._members
        for key, value in record.items():
            if isinstance(value, dict) and value:
                seen = members.setdefault(key, {})
                if seen is not None and not value.keys() <= seen.keys():
                    seen.update(dict.fromkeys(value))
                    members[key] = seen if len(seen) <= MOST_MEMBERS else None
            elif value is None:
                members.setdefault(key, {})
            else:
                members[key] = None

    @property
    def paths(self) -> tuple[_Path, ...]:
        """The columns: one for each key, or one for each member of the objects that it always holds."""
        found: list[_Path] = []
        for key, inner in self._members.items():
            spread: list[_Path] = [(key, member) for member in inner or ()]
            clash = any(_name(path) in self._members for path in spread)
            found += [(key,)] if clash or not spread else spread
        return tuple(found)


def _name(path: _Path) -> str:
    return ".".join(path)


def _header(paths: Iterable[_Path]) -> Row:
    return tuple(sound_text(_name(path)) for path in paths)


def _cells(record: Mapping[str, object], paths: Sequence[_Path]) -> Row:
    return tuple([_cell(record, path) for path in paths])


def _cell(record: Mapping[str, object], path: _Path) -> str:
    if path[0] not in record:
        return ""
    value = record[path[0]]
    if len(path) == 1 or not isinstance(value, dict):
        return _text(value)
    return _text(value[path[1]]) if path[1] in value else ""


def _text(value: object) -> str:
    if value is None:
        return "null"
    return sound_text(value if isinstance(value, str) else _json(value))


def _json(value: object, level: int = 0) -> str:
    """JSON text without spaces, numbers as they were printed. Raises `_NestingError`."""
    if level > MOST_LEVELS:
        raise _NestingError
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join([f"{_json(key)}:{_json(item, level + 1)}" for key, item in value.items()]) + "}"
    if isinstance(value, list):
        return "[" + ",".join([_json(item, level + 1) for item in value]) + "]"
    return json.dumps(value, ensure_ascii=False)


def _is_nested_too_deeply(line: str, value: object) -> bool:
    if line.count("[") + line.count("{") <= MOST_LEVELS:
        return False
    level = [value]
    for _ in range(MOST_LEVELS + 2):
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner += item.values()
            elif isinstance(item, list):
                inner += item
        level = inner
    return bool(level)


def _parser(repeated: set[str]) -> Callable[[str], object]:
    """A JSON parser that keeps the digits of numbers and adds keys that repeat in an object to the set."""

    def as_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
        members = dict(pairs)
        if len(members) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            repeated.update(key for key, count in counts.items() if count > 1)
        return members

    decoder = json.JSONDecoder(
        object_pairs_hook=as_object, parse_float=_Number, parse_int=_Number, parse_constant=_Number
    )
    return lambda text: decoder.decode(text.removeprefix("\ufeff"))


@dataclass(frozen=True, slots=True)
class RecordRows:
    """The rows of a long JSON Lines file, read from it again on each walk."""

    file: TableFile
    encoding: Encoding
    paths: tuple[_Path, ...]
    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Row]:
        if self.paths:
            yield _header(self.paths)
        for _, record in _line_records(self.file, self.encoding, set()):
            if isinstance(record, dict):
                yield _cells(record, self.paths)
            elif isinstance(record, list):
                yield tuple(map(_text, record))


def _read_lines(file: TableFile, encoding: Encoding, limits: ReadLimits) -> Grid:
    keys = _RecordKeys()
    repeated: set[str] = set()
    faults: list[int] = []
    width = height = filled = 0
    for line, record in _line_records(file, encoding, repeated):
        if isinstance(record, dict):
            keys.add(record)
            height, filled = height + 1, filled + _filled(record)
        elif isinstance(record, list):
            width = max(width, len(record))
            height, filled = height + 1, filled + len(record)
        else:
            faults.append(line)
    paths = keys.paths
    width = max(width, len(paths))
    if width == 0:
        kind = UnreadableTableError if faults else NoTableError
        raise kind("no line holds a JSON record.", path=file.relative, hint=_NO_RECORDS)
    check_extent(file, limits, height, width, filled)
    rows = RecordRows(file, encoding, paths, height + bool(paths))
    large = file.path.stat().st_size > limits.stream_above or height * width * _CELL_BYTES > limits.stream_above
    notices = [*encoding_notices(file, encoding), *_repeated_notice(file, repeated)]
    if faults:
        message = "1 line holds no JSON record and was passed over: line " + str(faults[0])
        if len(faults) > 1:
            message = f"{len(faults):,} lines hold no JSON record and were passed over from line {faults[0]}"
        notices.append(Notice("record", message, file.relative))
    grid = _grid(file, encoding, rows if large else tuple(rows), width, len(paths))
    return replace(grid, notices=tuple(notices))


def _line_records(file: TableFile, encoding: Encoding, repeated: set[str]) -> Iterator[tuple[int, object]]:
    """Line number (from 1) and value of each line that is not blank; None for one that is not JSON."""
    parse = _parser(repeated)
    try:
        with io.TextIOWrapper(open_content(file), encoding.codec, encoding.errors) as text:
            for number, line in enumerate(text, start=1):
                if not line.strip():
                    continue
                try:
                    value = parse(line)
                except (ValueError, RecursionError):
                    value = None
                yield number, None if _is_nested_too_deeply(line, value) else value
    except (OSError, EOFError) as error:
        raise unreadable(file, error) from error


def _repeated_notice(file: TableFile, repeated: set[str]) -> tuple[Notice, ...]:
    if not repeated:
        return ()
    names = ", ".join(repr(name) for name in sorted(repeated)[:3])
    return (Notice("record", f"keys repeat within an object; the last value counts: {names}", file.relative),)


def _grid(file: TableFile, encoding: Encoding, rows: tuple[Row, ...] | RecordRows, width: int, keys: int) -> Grid:
    source = Source(file.relative, media_type=file.media_type, encoding=encoding.codec)
    header = frozenset((0, column) for column in range(keys))
    return Grid(file.id, source, rows, width, header_cells=header)
