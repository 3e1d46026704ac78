"""The answer to a question: its text, the cells it rests on, and whether that could be checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kgtable.answering.evidence import Cell
from kgtable.retrieval.result import Retrieval


@dataclass(frozen=True, slots=True)
class Citation:
    """A cell that an answer rests on: IRI, table id, grid position, text as printed, file.

    `unit` is a QUDT local name, `scale` one of ``T M B TN``; `label` names the row, `header` the column.
    """

    cell: str
    table: str
    row: int
    column: int
    text: str
    file: str
    unit: str | None = None
    scale: str | None = None
    label: str = ""
    header: str = ""

    @classmethod
    def of(cls, cell: Cell) -> Citation:
        """The citation of a cell."""
        place = cell.table, cell.row, cell.column
        return cls(cell.iri, *place, cell.text, cell.file, cell.unit, cell.scale, cell.label, cell.header)

    def to_json(self) -> dict[str, Any]:
        """As the contract of ``ask --json`` has it."""
        names = ("cell", "table", "row", "column", "text", "file")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Alternative:
    """What another table answers to the same question."""

    text: str
    table: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True)
class Answer:
    """An answer with its evidence.

    `text` is empty where nothing was found. `value` is the number it gives, exact and with the scale
    applied, as a decimal string; `unit` its QUDT local name. `reasons` say what was checked and what
    kept the answer from being `verified`. `model` names the language model, or kgtable's own rules.
    """

    question: str
    text: str
    value: str | None = None
    unit: str | None = None
    verified: bool = False
    reasons: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()
    calculation: str | None = None
    alternatives: tuple[Alternative, ...] = ()
    method: str = "hybrid"
    model: str = ""
    reasoning: str = ""
    prompt: str = field(default="", repr=False)
    context: Mapping[str, Any] = field(default_factory=dict, repr=False)
    usage: Mapping[str, Any] = field(default_factory=dict, repr=False)
    timings_ms: Mapping[str, float] = field(default_factory=dict, repr=False)
    retrieval: Retrieval | None = field(default=None, repr=False, compare=False)

    @property
    def found(self) -> bool:
        """Whether there is an answer."""
        return bool(self.text)

    def to_json(self) -> dict[str, Any]:
        """The object that ``kgtable ask --json`` prints."""
        return {
            "question": self.question,
            "answer": self.text or None,
            "value": self.value,
            "unit": self.unit,
            "verified": self.verified,
            "citations": [citation.to_json() for citation in self.citations],
            "calculation": self.calculation,
            "method": self.method,
            "model": self.model,
            "usage": dict(self.usage),
            "timings_ms": dict(self.timings_ms),
        }

    def __str__(self) -> str:
        return self.text or "Nothing was found."

    def _repr_markdown_(self) -> str:
        from kgtable.answering.rendering import as_markdown

        return as_markdown(self)

    def _repr_html_(self) -> str:
        from kgtable.answering.rendering import as_html

        return as_html(self)
