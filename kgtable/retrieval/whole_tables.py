"""What the whole-table retrievers share: tables as texts in one format, ranked, and spelt out as triples.

Thesis, section 4.3. A long table is cut into pieces; it scores as its best piece.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from kgtable.retrieval.result import Retrieval, ScoredTable, ScoredTriple
from kgtable.tables.formats import TableFormat, format_table
from kgtable.tables.formats.chunks import ROWS_PER_CHUNK, chunks
from kgtable.tables.model import Table

Scores = npt.NDArray[np.floating]
TriplesOf = Callable[[str], Sequence[ScoredTriple]]
"""The triples of a table by its id, in reading order."""

TABLES_KEPT = 100


@dataclass(frozen=True)
class TableTexts:
    """The pieces of all tables as texts in one format: `texts[i]` is a piece of table `tables[i]`.

    `substitutes` says, by table id, why a table is written otherwise than it was to be.
    """

    format: TableFormat
    tables: tuple[str, ...]
    texts: tuple[str, ...]
    substitutes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def write(
        cls, tables: Iterable[Table], format_name: TableFormat | str, rows: int = ROWS_PER_CHUNK
    ) -> TableTexts:
        """Write every table in the format, long ones in pieces of `rows` body rows."""
        pieces = [
            (table.id, format_table(piece, format_name)) for table in tables for piece in chunks(table, rows)
        ]
        return cls(TableFormat(format_name), tuple(id for id, _ in pieces), tuple(text for _, text in pieces))

    def digest(self) -> str:
        """A hash of the format, the table ids and all texts: the key of anything made from them."""
        content = hashlib.sha256(self.format.encode())
        for table, text in zip(self.tables, self.texts, strict=True):
            content.update(f"\0{table}\0{text}".encode("utf-8", "surrogatepass"))
        return content.hexdigest()

    def rank(self, scores: Scores) -> tuple[ScoredTable, ...]:
        """The tables by their best piece, ties by id: at most `TABLES_KEPT`, each above 0."""
        best: dict[str, float] = {}
        for table, score in zip(self.tables, scores.tolist(), strict=True):
            if score > best.get(table, 0.0):
                best[table] = score
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
        return tuple(ScoredTable(table, score) for table, score in ranked[:TABLES_KEPT])


def as_retrieval(
    question: str,
    ranked: Sequence[ScoredTable],
    k: int,
    triples_of: TriplesOf,
    *,
    method: str,
    texts: TableTexts,
    started: float,
) -> Retrieval:
    """The ranked tables spelt out: all triples of the best table, then of the next, up to `k`.

    The trace names the format the tables were indexed in, and `TableTexts.substitutes` if there are any.
    `started` is the `time.perf_counter` value at which the question came.
    """
    scored = time.perf_counter()
    triples: list[ScoredTriple] = []
    for table in ranked:
        if len(triples) >= k:
            break
        room = islice(triples_of(table.table), k - len(triples))
        triples += (triple._replace(score=table.score) for triple in room)
    ended = time.perf_counter()
    trace: dict[str, Any] = {"format": texts.format.value, "pieces": len(texts.texts)}
    if texts.substitutes:
        trace["substitutes"] = dict(texts.substitutes)
    return Retrieval(
        question=question,
        triples=tuple(triples),
        tables=tuple(ranked),
        timings_ms={"rank": (scored - started) * 1e3, "triples": (ended - scored) * 1e3},
        method=method,
        trace=trace,
    )
