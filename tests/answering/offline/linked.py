"""Questions over small tables, as the rules are asked."""

from __future__ import annotations

from kgtable.answering.evidence import Evidence
from kgtable.answering.memory_tables import MemoryTables
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.question import read_question
from kgtable.answering.offline.view import TableView
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.tables.structure import make_table
from tests.answering.sample import grid

MEDALS = (
    ("Rank", "Nation", "Gold", "Silver", "Total", "Open"),
    ("1", "Norway", "5", "2", "7", "yes"),
    ("2", "Sweden", "3", "6", "9", "no"),
    ("3", "Finland", "3", "0", "3", "yes"),
    ("4", "Iceland", "1", "1", "2", "yes"),
)
REPORT = (
    ("EUR million", "2017", "2018", "2019"),
    ("Net sales", "1,100", "1,200", "1,500"),
    ("Cost of sales", "(500)", "(600)", "(660)"),
    ("Total assets", "9,000", "9,500", "10,000"),
    ("", "", "", ""),
    ("Inventories", "900", "950", "—"),
)
RACES = (
    ("Year", "Race", "Winner", "Distance"),
    ("2008", "Fjord Cup", "Anna Berg", "120"),
    ("2010", "Coast Tour", "Lena Holm", "150"),
    ("2012", "Fjord Cup", "Anna Berg", "118"),
)


def view(rows: tuple[tuple[str, ...], ...]) -> TableView:
    """Such a table as the rules look at it."""
    source = MemoryTables([make_table(grid("t", rows))])
    return TableView(Evidence(Retrieval("?", (), (ScoredTable("t", 1.0),)), source), "t")


def linking(question: str, rows: tuple[tuple[str, ...], ...]) -> Linking:
    """A question over such a table."""
    return Linking(read_question(question), view(rows))
