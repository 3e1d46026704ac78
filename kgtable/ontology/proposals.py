"""A model's proposals about tables: kept next to the mapping, and ranked below everything printed or decided.

A proposal holds for a table as long as its file is the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kgtable.errors import LLMError, MappingError
from kgtable.llm.protocol import Usage
from kgtable.ontology.mapping_rows import INFERRED, PARSERS, TABLE_PARSERS
from kgtable.storage import whole_file

FILE: Final = "ontology.model.json"


@dataclass(frozen=True, slots=True)
class ColumnProposal:
    """Proposals about a column, whose `display_name` is `header`: columns of the mapping → canonical texts."""

    header: str
    values: Mapping[str, str]
    confidence: float


@dataclass(frozen=True, slots=True)
class TableProposal:
    """Proposals about a table: by column index, its title, and its header rows as the mapping writes them.

    `sha256` is that of the table's file, `asked` a hash of what the model was shown. `header` is empty if nothing
    is proposed; `header_confidence` is the model's confidence in it.
    """

    sha256: str
    asked: str
    columns: Mapping[int, ColumnProposal] = field(default_factory=dict)
    title: str = ""
    header: str = ""
    header_confidence: float = 0.0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is proposed."""
        return not (self.columns or self.title or self.header)

    def to_json(self) -> dict[str, Any]:
        """The proposal as JSON values."""
        columns = [[at, one.header, dict(one.values), one.confidence] for at, one in sorted(self.columns.items())]
        said = {"sha256": self.sha256, "asked": self.asked, "title": self.title, "columns": columns}
        return {**said, "header": [self.header, self.header_confidence]} if self.header else said


def load_proposals(directory: Path) -> dict[str, TableProposal]:
    """The proposals kept in a graph directory, by table. Raises `MappingError` if the file is damaged."""
    path = directory / FILE
    if not path.is_file():
        return {}
    try:
        tables = json.loads(path.read_text(encoding="utf-8"))["tables"]
        return {
            table: TableProposal(
                str(said["sha256"]),
                str(said["asked"]),
                {int(at): ColumnProposal(str(header), _checked(values), float(sure))
                 for at, header, values, sure in said["columns"]},
                str(said["title"]),
                *_checked_header(*said.get("header", ("", 0.0))),
            )
            for table, said in tables.items()
        }  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise MappingError(f"{path} cannot be used: {error!r}.", hint="Delete it, and ask the model again.") from error


def _checked_header(rows: str, confidence: float) -> tuple[str, float]:
    return TABLE_PARSERS["header rows"](rows, FILE) if rows else "", float(confidence)


def _checked(values: Mapping[str, str]) -> dict[str, str]:
    return {name: str(text) if name == INFERRED else PARSERS[name](text, FILE) for name, text in values.items()}


def save_proposals(directory: Path, proposals: Mapping[str, TableProposal]) -> None:
    """Write what `load_proposals` reads. Raises `StorageError` if the file cannot be written."""
    tables = {table: said.to_json() for table, said in sorted(proposals.items())}
    with whole_file(directory / FILE) as file:
        file.write(json.dumps({"version": 1, "tables": tables}, indent=1).encode("ascii"))


@dataclass(frozen=True)
class AnnotationReport:
    """The outcome, or the estimate, of asking a model about tables.

    Attributes:
        tables: how many tables something is undecided about that the model was not asked about before.
        calls: how many requests these take, or took.
        prompt_tokens: how many tokens the requests have, estimated before they are sent.
        proposals: how many columns, titles and headers the model proposed something for.
        usage: requests, tokens and dollars as reported by the model.
        failure: the error with which the model failed, after which nothing more was asked.
        messages: what went wrong otherwise.
    """

    tables: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    proposals: int = 0
    usage: Usage = field(default_factory=Usage)
    failure: LLMError | None = None
    messages: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.calls:
            return "nothing new to ask"
        calls = f"{self.calls:,} calls for {self.tables:,} tables"
        if not self.usage.requests:
            return f"{calls}, about {self.prompt_tokens:,} tokens"
        read, written, cost = self.usage.prompt_tokens, self.usage.completion_tokens, self.usage.cost
        tokens = "" if read is None or written is None else f", {read + written:,} tokens"
        spent = "" if cost is None else f", ${cost:.4f}"
        return f"{calls}, {self.proposals:,} proposals{tokens}{spent}"
