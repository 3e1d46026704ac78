"""Names proposed for columns without a header and tables without a title, and the test whether one is missing.

A proposal is next to what is there and never replaces it: a header that says nothing stays as printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

from kgtable.storage import index_errors

FILE: Final = "names.json"

USED_FROM: Final = 0.2
"""The confidence from which a proposed name is a word of its table for the search."""

SURE_FROM: Final = 0.5
"""The confidence from which a proposed name is more likely right than wrong."""

_NUMBERED = re.compile(
    r"(?:unnamed|column|col|field|var|variable|attribute|attr|feature|header|no ?name|untitled|spalte|colonne)"
    r"[\s:_#.\-]*\d*(?:[_.]level[_.]\d+)?|[cfvx][_ ]?\d{1,3}|_c\d{1,3}|x|mask(?:ed)?|n/?a|null|none|nan|tbd"
    r"|\[column \d+\]",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(
    r"(?:table|tables|tab|sheet|tabelle|data|dataset|export|download|file|untitled|unnamed|new|copy|query|result|"
    r"results|output|csv|dev|train|test|sample|page|book|doc|document|mask|tmp|temp|t)"
)
_HASH = re.compile(r"(?=[0-9a-f]*\d)[0-9a-f]{6,}", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PART = re.compile(r"[^\W_]+")


@lru_cache(maxsize=100_000)
def is_missing_header(text: str) -> bool:
    """Whether a header says nothing about its column: missing, or a program's placeholder.

    >>> [is_missing_header(text) for text in ("", "Column 3", "Unnamed: 2", "c1", "X", "Club", "C", "2019")]
    [True, True, True, True, True, False, False, False]
    """
    plain = " ".join(text.split())
    return not any(sign.isalnum() or sign in "%#€$£" for sign in plain) or _NUMBERED.fullmatch(plain) is not None


def is_missing_title(title: str, id: str) -> bool:
    """Whether neither the title nor the id, which is the name of the file, says what a table is about.

    >>> [is_missing_title("", id) for id in ("table_17", "3f2a9c04-77aa-4e0b-9d1c-0a1b2c3d4e5f", "clubs")]
    [True, True, False]
    >>> is_missing_title("Table 3", "export_2"), is_missing_title("Clubs of the league", "table_17")
    (True, False)
    """
    return not any(_says(part) for text in (title, id) for part in _PART.findall(_UUID.sub(" ", text)))


def telling_words(id: str) -> str:
    """The words of a table's id, which is the name of its file, that say what it is about.

    >>> telling_words("podcast-episodes"), telling_words("export_2024/sales#2"), telling_words("table_17")
    ('podcast episodes', 'sales', '')
    """
    return " ".join(part for part in _PART.findall(_UUID.sub(" ", id)) if _says(part))


def _says(part: str) -> bool:
    """Whether a part of a title or file name is a word that says something."""
    word = re.sub(r"\d+", "", part)
    if len(word) < 2 or _HASH.fullmatch(part):
        return False
    return _FILE_NAME.fullmatch(word.casefold()) is None


@dataclass(frozen=True, slots=True)
class InferredName:
    """A name proposed for a column (0-based), or for a table where `column` is None.

    `basis` names the evidence: ``columns`` alike, the ``values`` themselves, ``tables`` alike, the ``headers`` of the
    table, a ``model``, or the ``user`` who wrote it into the mapping.
    """

    table: str
    column: int | None
    name: str
    confidence: float
    basis: str

    @property
    def sureness(self) -> str:
        """Its confidence and basis as people read them."""
        return f"{self.confidence:.2f}, {self.basis}"


class InferredNames:
    """The proposed names of a graph."""

    def __init__(self, names: Iterable[InferredName] = ()) -> None:
        self._names = tuple(names)

    @cached_property
    def _by_place(self) -> dict[tuple[str, int | None], InferredName]:
        return {(name.table, name.column): name for name in self._names}

    def at(self, table: str, column: int | None) -> InferredName | None:
        """The name proposed for a column, or for a table where `column` is None."""
        return self._by_place.get((table, column))

    def title(self, table: str) -> InferredName | None:
        """The title proposed for a table."""
        return self._by_place.get((table, None))

    def used(self, table: str, column: int | None) -> str:
        """The name by which the search finds a column or table: empty if none is sure enough."""
        found = self._by_place.get((table, column))
        return found.name if found is not None and found.confidence >= USED_FROM else ""

    def __iter__(self) -> Iterator[InferredName]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        headers = sum(name.column is not None for name in self._names)
        return f"InferredNames({headers:,} headers, {len(self) - headers:,} titles)"

    def to_json(self) -> list[dict[str, Any]]:
        """The names as JSON objects."""
        return [asdict(name) for name in self._names]

    @classmethod
    def from_json(cls, content: Sequence[dict[str, Any]]) -> InferredNames:
        """The inverse of `to_json`. Raises `TypeError`, `KeyError` for anything else."""
        return cls(
            InferredName(str(c["table"]), None if c["column"] is None else int(c["column"]), str(c["name"]),
                         float(c["confidence"]), str(c["basis"]))
            for c in content
        )  # fmt: skip

    def save(self, folder: Path) -> None:
        """Write them into an index folder."""
        (folder / FILE).write_text(json.dumps(self.to_json(), ensure_ascii=True), encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> InferredNames:
        """The saved names; nothing if there is no such file.

        Raises `VocabularyIndexError` if the file is damaged.
        """
        path = folder / FILE
        if not path.exists():
            return cls()
        with index_errors(f"The inferred names in {folder} are damaged"):
            return cls.from_json(json.loads(path.read_text(encoding="utf-8")))
