"""Small tables, and questions answered by rules over one of them."""

from __future__ import annotations

from dataclasses import replace

from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Evidence
from kgtable.answering.memory_tables import MemoryTables
from kgtable.answering.offline import answer_by_rules
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.tables.model import Area, Table
from kgtable.tables.structure import make_table
from tests.answering.sample import Rows, grid

CRAFT = (
    ("Boat", "Yard", "Length (m)", "Rank", "Built", "Racing"),
    ("Skua", "Bergen", "12.5", "1", "1998", "yes"),
    ("Tern", "Bergen", "9.5", "3", "2004", "no"),
    ("Gannet", "Moss", "15.0", "2", "2001", "yes"),
    ("Auk", "Moss", "8.0", "4", "1990", "no"),
    ("Petrel", "Horten", "15.0", "5", "2010", "no"),
)
ACCOUNT = (
    ("EUR million", "2021", "2022", "2023"),
    ("Boats", "40", "50", "75"),
    ("Repairs", "20", "25", "25"),
    ("Total sales", "60", "75", "100"),
)


def evidence(question: str, rows: Rows, *, merged: tuple[Area, ...] = ()) -> Evidence:
    """A retrieval of the one table."""
    table = make_table(grid("boats", rows))
    table = Table(replace(table.grid, merged=merged), table.structure)
    ranked = (ScoredTable("boats", 1.0),)
    return Evidence(Retrieval(question, (), ranked), MemoryTables([table]))


def ask(question: str, rows: Rows = CRAFT, *, merged: tuple[Area, ...] = ()) -> Answer:
    """The answer by rules over the one table."""
    return answer_by_rules(evidence(question, rows, merged=merged))
