"""Actions of the solver: the steps a model may take, and the observations it gets back.

The default language is kgtable's own algebra of programs (`kgtable.programs`), which needs no sandbox: a
program can do nothing but read tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from string import Template
from typing import Any, Protocol

from kgtable.answering.evidence import Evidence
from kgtable.answering.program_answers import read_program, relations_of
from kgtable.errors import KgtableError
from kgtable.programs.display import display
from kgtable.programs.executor import ProgramResult, run
from kgtable.programs.scalars import Datum
from kgtable.resources import read_packaged
from kgtable.systems.tablerag.vocabulary import cut

MOST_ROWS = 20
"""Rows of a result that a model is shown."""

LONGEST = 2_000
"""Characters of a result that a model is shown."""

NO_ACTION = "Error: no action was given, and no answer."
EMPTY = "The result is empty: no row fits, or the cell is blank."
DEEPEST = 100


@dataclass(frozen=True)
class Observation:
    """The result of an action.

    `text` is shown to the model. `values` are the result's values as far as they are shown, `program` what
    was executed (as the model's JSON, whole), `result` what that gave; `cells` the grid positions that
    were read by an action that is not a program, by table id, with how many there are in all, and `unit` is
    that of the numbers it read, where they have one.
    """

    text: str
    succeeded: bool = False
    values: tuple[Datum, ...] = ()
    program: Any = None
    result: ProgramResult | None = None
    cells: tuple[tuple[str, int, int], ...] = ()
    cells_read: int = 0
    unit: str | None = None
    action: Any = field(default=None, compare=False)


class Actions(Protocol):
    """A language of actions over the tables of one question; state is kept between them."""

    def instructions(self) -> str:
        """The description of the language for the model."""
        ...

    def run(self, action: Any) -> Observation:
        """Execute an action; faults of the model are part of the observation, never raised."""
        ...

    def close(self) -> None:
        """End the process of the actions, if there is one."""
        ...


class ProgramActions:
    """Actions that are programs; a later one may hold an earlier one as ``{"step": n}``.

    Args:
        evidence: provides the aliases and rows of the tables.
        tables: the ids of the tables that may be read.
    """

    def __init__(self, evidence: Evidence, tables: Sequence[str]) -> None:
        self._evidence, self._tables = evidence, tuple(tables)
        self._done: list[Any] = []

    def instructions(self) -> str:
        """The description of programs for the model."""
        programs = read_packaged("answering/prompts/programs.txt").strip()
        return Template(read_prompt("languages/program")).substitute(programs=programs)

    def run(self, action: Any) -> Observation:
        """The rows of the program, or why it cannot be executed."""
        self._done.append(None)
        try:
            whole = self._with_steps(action, 1)
            program = read_program(whole, self._evidence)
            result = run(program, relations_of(self._evidence.source))
        except (KgtableError, ArithmeticError, RecursionError) as error:
            return Observation(f"Error: {told(error)}", action=action)
        self._done[-1] = whole
        if result.empty:
            return Observation(EMPTY, action=action)
        rows = list(islice(result.rows(), MOST_ROWS))
        values = tuple(value for row in rows for value in row if value is not None)
        text = rows_text(result.names, (map(_shown, row) for row in rows), len(result))
        text = f"{text}\n({cut(result.derivation, 300)})"
        return Observation(text, True, values, whole, result, action=action)

    def close(self) -> None:
        """No-op: programs run in this process."""

    def _with_steps(self, data: Any, depth: int) -> Any:
        """The JSON with earlier programs in place of ``{"step": n}``."""
        if depth > DEEPEST:
            raise RecursionError("the program nests too deep")
        if isinstance(data, Mapping):
            if data.keys() == {"step"}:
                return self._step(data["step"])
            return {key: self._with_steps(value, depth + 1) for key, value in data.items()}
        if isinstance(data, list):
            return [self._with_steps(item, depth + 1) for item in data]
        return data

    def _step(self, number: Any) -> Any:
        known = self._done[:-1]
        whole = isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= len(known)
        found = known[number - 1] if whole else None
        if found is None:
            raise KgtableError(f"There is no program of step {str(number)[:20]} that was executed.")
        return found


def rows_text(names: Sequence[str], rows: Iterable[Iterable[str]], size: int) -> str:
    """Rows under the names of their columns, cut with a note where there are many or they are long."""
    lines = [" | ".join(cut(cell) for cell in row) for row in rows]
    shown = 0
    length = 0
    for line in lines:
        length += len(line) + 1
        if shown and length > LONGEST:
            break
        shown += 1
    head = [" | ".join(cut(name) for name in names)] if len(names) > 1 or size > 1 else []
    note = [f"… cut: {shown:,} of {size:,} rows are shown"] if size > shown else []
    return "\n".join((*head, *lines[:shown], *note))[: LONGEST + 400]


def told(error: BaseException) -> str:
    """An error for the model: message, place and hint."""
    message = getattr(error, "message", "") or str(error) or type(error).__name__
    hint, place = getattr(error, "hint", ""), getattr(error, "path", "")
    return " ".join(filter(None, (message, hint, f"(at {place})" if place else "")))[:600]


def _shown(value: Datum | None) -> str:
    if value is None:
        return ""
    return display(value)


def read_prompt(name: str) -> str:
    """A prompt of this system."""
    return read_packaged(f"systems/tablerag/prompts/{name}.txt").strip()
