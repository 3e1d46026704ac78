"""The error tree: every error kgtable raises on purpose is a `KgtableError`.

The command line prints them as ``Error: …``, with a traceback only under ``-vv``.
"""

from __future__ import annotations

from typing import Any


def spreadsheet_reference(row: int, column: int) -> str:
    """The position as a spreadsheet shows it.

    >>> spreadsheet_reference(3, 1)
    'B4'
    >>> spreadsheet_reference(0, 27)
    'AB1'
    """
    return f"{_letters(column)}{row + 1}"


def _letters(column: int) -> str:
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def place_text(path: str, sheet: str | None = None, row: int | None = None, column: int | None = None) -> str:
    """A place of a file as people see it, from 0-based positions.

    >>> place_text("orders.csv", row=2, column=1), place_text("a.xlsx", "S", 2), place_text("a.csv", column=1)
    ('orders.csv, B3', 'a.xlsx [S], row 3', 'a.csv, column B')
    """
    place = path if sheet is None else f"{path} [{sheet}]"
    if row is None:
        return place if column is None else f"{place}, column {_letters(column)}"
    return f"{place}, row {row + 1}" if column is None else f"{place}, {spreadsheet_reference(row, column)}"


class KgtableError(Exception):
    """The root. `message` says what is wrong, `hint` what to do next."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def __reduce__(self) -> tuple[Any, ...]:
        # By default an error is unpickled from its message alone, which breaks a process pool.
        return _as_it_was, (type(self), self.args, vars(self))


def _as_it_was(kind: type[KgtableError], args: tuple[Any, ...], state: dict[str, Any]) -> KgtableError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class UsageError(KgtableError):
    """An argument or option with a value that cannot be used."""


class ArgumentError(UsageError, TypeError):
    """An argument of the wrong type; the message names it and says what it takes."""


class ConfigError(KgtableError):
    """A setting in `kgtable.toml` or the environment that cannot be used."""


class MissingExtraError(KgtableError):
    """A feature whose optional packages are not installed."""

    def __init__(self, feature: str, extra: str, *, hint: str = "") -> None:
        super().__init__(
            f"{feature} needs packages that are not installed.",
            hint=hint or f"Install them with: pip install 'kgtable[{extra}]'",
        )


class TableError(KgtableError):
    """A table that cannot be read, with its place: file, sheet, 0-based row and column."""

    def __init__(
        self,
        message: str,
        *,
        path: str,
        sheet: str | None = None,
        row: int | None = None,
        column: int | None = None,
        hint: str = "",
    ) -> None:
        self.path, self.sheet, self.row, self.column = path, sheet, row, column
        super().__init__(f"{place_text(path, sheet, row, column)}: {message}", hint=hint)


class UnreadableTableError(TableError):
    """The file is corrupt, locked, not of the kind its name says, or beyond the limits."""


class UnavailableTableError(UnreadableTableError):
    """The file cannot be read at present: a package is missing, memory is short, or another program writes to it."""


class EmptyTableError(TableError):
    """The file holds no cell."""


class NoTableError(TableError):
    """The file is sound but holds no table: a page or a JSON document without one."""


class OntologyError(KgtableError):
    """The ontology could not be generated or saved."""


class MappingError(OntologyError):
    """An edited mapping that cannot be applied, with the line at fault."""


class GraphError(KgtableError):
    """Something is wrong with a graph directory or store."""


class GraphNotFoundError(GraphError):
    """There is no graph in the directory."""


class GraphClosedError(GraphError):
    """The graph was closed and is used again."""


class GraphLockedError(GraphError):
    """Another process is building this graph."""


class GraphVersionError(GraphError):
    """The directory is foreign, or written by another version of the format."""


class StorageError(GraphError):
    """The disk is full, the directory read-only, a write failed, or what was written is damaged."""


class NoSpaceError(StorageError):
    """The disk, or the user's quota, is full."""


class DamagedGraphError(StorageError):
    """A file of the graph is missing or corrupt."""


class QueryError(GraphError):
    """A SPARQL query or update that cannot be parsed or evaluated."""


class RemoteStoreError(GraphError):
    """A SPARQL endpoint that did not answer, or answered with an error or in part."""


class VocabularyIndexError(KgtableError):
    """The index of a graph is missing, stale or damaged."""


class EmbeddingError(KgtableError):
    """An embedding model that cannot be loaded or does not answer."""


class RetrievalError(KgtableError):
    """An unknown retrieval method or table format, or one that lacks what it needs."""


class LLMError(KgtableError):
    """The language model could not be used.

    `usage` counts the tokens spent all the same (a `kgtable.llm.protocol.Usage`); None if there are none.
    """

    usage: object | None = None


class LLMUnreachableError(LLMError):
    """No answer from the endpoint: refused, timed out, or broken off."""


class LLMAuthError(LLMError):
    """The endpoint refused the key."""


class LLMRateLimitError(LLMError):
    """The endpoint still says 'too many requests' after the retries."""


class LLMCostError(LLMError):
    """A request that may cost more than what is left of the bound on the cost."""


class LLMReplyError(LLMError):
    """A reply that is empty, truncated, refused, or not of the form asked for."""


class LLMContextError(LLMReplyError):
    """A prompt that does not fit the model's context window. `excess` is by how many tokens, None if unknown."""

    excess: int | None = None


class ProgramError(KgtableError):
    """A program that cannot be executed. `path` says where in its tree, such as ``root.left.rows``."""

    def __init__(self, message: str, *, path: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path

    def __str__(self) -> str:
        return f"At {self.path}: {super().__str__()}" if self.path else super().__str__()


class ProgramSyntaxError(ProgramError):
    """JSON that is not a program: an unknown operator or field, a wrong type, or beyond the limits."""


class UnknownTableError(ProgramError):
    """A table id that is not among the tables given."""


class UnknownColumnError(ProgramError):
    """A column that the relation does not have, or has twice."""


class ProgramTypeError(ProgramError):
    """An operator applied to values it has no meaning for: the sum of order numbers, of texts, of years."""


class UnitMismatchError(ProgramError):
    """Units that do not convert into each other: kilograms and metres, euros and dollars."""


class EvaluationError(ProgramError):
    """A program that failed on its values: a division by zero, a lookup with several answers."""


class ProgramCompilationError(ProgramError):
    """A program that does not map to SPARQL or SQL; it runs in memory."""


class AnswerError(KgtableError):
    """An answer that could not be made from what was retrieved."""


class BenchmarkError(KgtableError):
    """A benchmark folder with a fault, naming file and line."""


class ServerError(KgtableError):
    """The server cannot be started or run as asked."""
