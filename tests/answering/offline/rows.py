"""Small tables, and questions over one of them: as the rules are asked, and as they are answered."""

from __future__ import annotations

from dataclasses import replace

from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Evidence
from kgtable.answering.offline.answerer import answer_by_rules
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.question import read_question
from kgtable.answering.offline.view import RuleTable
from kgtable.answering.table_sources import MemoryTables
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Area, Table
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


def evidence(question: str, rows: Rows, *, merged: tuple[Area, ...] = ()) -> Evidence:
    """A retrieval of the one table."""
    table = make_table(grid("boats", rows))
    table = Table(replace(table.grid, merged=merged), table.structure)
    ranked = (ScoredTable("boats", 1.0),)
    return Evidence(Retrieval(question, (), ranked), MemoryTables([table]))


def ask(question: str, rows: Rows = CRAFT, *, merged: tuple[Area, ...] = ()) -> Answer:
    """The answer by rules over the one table."""
    return answer_by_rules(evidence(question, rows, merged=merged))


def view(rows: Rows) -> RuleTable:
    """The one table as the rules look at it."""
    return RuleTable(evidence("?", rows), "boats")


def linking(question: str, rows: Rows) -> Linking:
    """A question over the one table."""
    return Linking(read_question(question), view(rows))
