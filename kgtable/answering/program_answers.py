"""Results of programs as answers: relations from the evidence, citations from the cells that were read."""

from __future__ import annotations

import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeGuard

from kgtable.answering.answer import Alternative, Answer, Citation
from kgtable.answering.by_rules import MOST_TABLES, RankedAnswer, RankedProgram, answer_by_programs
from kgtable.answering.evidence import Evidence, TableSource
from kgtable.errors import GraphClosedError
from kgtable.graph.table_source import TableReader
from kgtable.programs.executor import ProgramResult
from kgtable.programs.long_table import LONG, is_plain, long_relation
from kgtable.programs.provenance import CellRead
from kgtable.programs.relation import Relation
from kgtable.programs.table_relation import relation_of

RULES = "rules, no language model"
"""What stands as an answer's `model` where none was asked."""

MOST_CITATIONS = 60
"""Cells that an answer cites; `Answer.cells_read` counts all."""

COUNTED_CELLS = 100_000
"""Up to how many cells are counted that a program read."""

_KEPT_CELLS = 2_000_000
"""Cells of the relations that are kept; the tables of one question, which are in memory together, are kept anyhow."""


class EvidenceRelations(Mapping[str, Relation]):
    """The tables of a source as relations, decoded when a program first reads them.

    The relations read last are kept, up to a number of cells or as many as one question reads. May be used
    from several threads. The source is not kept alive: who reads a table holds it.
    """

    def __init__(self, source: TableSource) -> None:
        self._source = weakref.ref(source)
        self._kept: OrderedDict[str, Relation] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._lock = threading.RLock()

    def __getitem__(self, id: str) -> Relation:
        """The table with this id. Raises `GraphNotFoundError` where there is none."""
        with self._lock:
            if id in self._kept:
                self._kept.move_to_end(id)
                return self._kept[id]
            source = self._source()
            if source is None:
                raise GraphClosedError("The graph of these tables was closed.", hint="Open it again.")
            found = self._kept[id] = read_relation(source, id)
            self._sizes[id] = len(found) * len(found.columns)
            while len(self._kept) > MOST_TABLES and sum(self._sizes.values()) > _KEPT_CELLS:
                oldest, _ = self._kept.popitem(last=False)
                del self._sizes[oldest]
            return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


def read_relation(source: TableSource, id: str) -> Relation:
    """A table of a source as a relation: a long one column by column, where the source holds it so.

    Raises `GraphNotFoundError` where there is no such table.
    """
    if is_long(source, id):
        columns = source.columns(id)
        if columns is not None:
            return long_relation(source.marked_frame(id), columns)
    return relation_of(source.table(id), source.quantities(id))


def is_long(source: TableSource, id: str) -> TypeGuard[TableReader]:
    """Whether a table of a source can be read column by column, and is so long that it should."""
    if not isinstance(source, TableReader):
        return False
    frame = source.frame(id)
    return frame.body_rows >= LONG and is_plain(frame.table) and source.columns(id) is not None


_RELATIONS: weakref.WeakKeyDictionary[TableSource, EvidenceRelations] = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()


def relations_of(source: TableSource) -> EvidenceRelations:
    """The relations of a source: the same object for the same source."""
    with _LOCK:
        if source not in _RELATIONS:
            _RELATIONS[source] = EvidenceRelations(source)
        return _RELATIONS[source]


def answer_by_rules(evidence: Evidence) -> Answer:
    """Answer a question from retrieved tables without a language model.

    Candidate programs over the best tables are ranked and executed (`answer_by_programs`). The answer has
    no text where the ranker abstains; its alternatives then are the nearest readings.
    """
    started = time.perf_counter()
    retrieval = evidence.retrieval
    scores = {found.table: found.score for found in retrieval.tables}
    relations = relations_of(evidence.source)
    tables = [(relations[id], scores.get(id, 0.0)) for id in evidence.tables[:MOST_TABLES]]
    ranked = answer_by_programs(retrieval.question, tables, joins=evidence.relations)
    answer = ranked_answer(ranked, evidence)
    spent = round((time.perf_counter() - started) * 1000, 3)
    return replace(answer, timings_ms={**retrieval.timings_ms, "answer": spent})


def ranked_answer(ranked: RankedAnswer, evidence: Evidence) -> Answer:
    """What the ranker chose, with citations of the cells that its programs read."""
    retrieval = evidence.retrieval
    results = [part.best.result for part in ranked.parts or (ranked,) if part.best is not None]
    citations, count = citations_of(results, evidence)
    words = "; ".join(dict.fromkeys(result.derivation for result in results))
    return Answer(
        question=retrieval.question,
        text=ranked.text,
        value=ranked.value,
        unit=ranked.unit,
        verified=ranked.verified and bool(citations),
        grounded=ranked.grounded,
        ambiguous=ranked.ambiguous,
        reasons=ranked.reasons,
        citations=citations,
        calculation=words or None,
        alternatives=tuple(_alternative(other, evidence) for other in ranked.alternatives),
        program=ranked.best.program if ranked.best is not None and not ranked.parts else None,
        confidence=ranked.confidence,
        cells_read=count,
        method=retrieval.method,
        model=RULES,
        retrieval=retrieval,
    )


def citations_of(results: Sequence[ProgramResult], evidence: Evidence) -> tuple[tuple[Citation, ...], int]:
    """The first cells that programs read, the results' own first, and how many there are in all."""
    reads = [read for result in results for read in islice(result.cells(), COUNTED_CELLS)]
    places = dict.fromkeys((read.table, read.row, read.column) for read in _selected_first(reads))
    cited = list(islice(places, MOST_CITATIONS))
    rows: dict[str, set[int]] = {}
    for table, row, _ in cited:
        rows.setdefault(table, set()).add(row)
    evidence.source.fetch({table: sorted(numbers) for table, numbers in rows.items()})
    cells = (evidence.cell(*place) for place in cited)
    return tuple(Citation.of(cell) for cell in cells if cell is not None), len(places)


def _selected_first(reads: Sequence[CellRead]) -> list[CellRead]:
    return sorted(reads, key=lambda read: read.role != "selected")


def _alternative(other: RankedProgram, evidence: Evidence) -> Alternative:
    citations, _ = citations_of([other.result], evidence)
    derivation = other.result.derivation
    return Alternative(
        other.text, other.tables[0], citations, other.value, other.unit, derivation, other.program
    )
