"""Programs over tables: a small typed algebra, its checker, its executor, and its JSON.

>>> program = parse_program('{"op": "count", "rows": {"op": "table", "table": "orders"}}')
>>> program == parse_program(program_to_json(program))
True
"""

from __future__ import annotations

from kgtable.programs.algebra import Program
from kgtable.programs.executor import ProgramResult, run
from kgtable.programs.provenance import CellRead, CellRole
from kgtable.programs.realize import realize
from kgtable.programs.relation import Relation
from kgtable.programs.syntax import parse_program, program_schema, program_to_json
from kgtable.programs.table_relation import relation_of
from kgtable.programs.types import check

__all__ = [
    "CellRead",
    "CellRole",
    "Program",
    "ProgramResult",
    "Relation",
    "check",
    "parse_program",
    "program_schema",
    "program_to_json",
    "realize",
    "relation_of",
    "run",
]
