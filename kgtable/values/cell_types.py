"""The kinds of typed cells."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from kgtable.values.numbers import Number


class CellKind(StrEnum):
    """What a cell is."""

    EMPTY = "empty"
    MISSING = "missing"
    NUMBER = "number"
    DATE = "date"
    YEAR = "year"
    PERIOD = "period"
    DURATION = "duration"
    BOOLEAN = "boolean"
    TEXT = "text"


class CellValue(NamedTuple):
    """A typed cell. `lexical` and `datatype` (as ``xsd:date``) are those of a literal; a period has
    no datatype, its `lexical` is a form that sorts, such as ``2020-Q3``."""

    kind: CellKind
    number: Number | None = None
    lexical: str | None = None
    datatype: str | None = None


_DASHES = ("-", "–", "—", "―", "−")
_WORDS = (
    "n/a N/A n/a. N/a n.a. N.A. n.a N.A n/d N/D n.d. #N/A #VALUE! #REF! #DIV/0! NA NaN nan NULL null nm NM"
    " n.m. N.M. n/m N/M NMF nmf nil Nil NIL k.A. k.a. n.v. o.A. N.A.V. : (:) % . .. ... .... … ? ?? ??? * -- --- ---- –– —— -) (-) (–) (—)"  # noqa: E501
)
MISSING_MARKERS = frozenset(
    {
        *_WORDS.split(),
        *("k. A.", "n. v.", "o. A."),
        *("- -", "— —", ". .", ". . .", "- )", "(- )", "( - )", "$ -0-"),
        *(dash + mark for dash in _DASHES for mark in ("", "*", "%", " %")),
        *(sign + space + dash for sign in "$£€¥" for space in ("", " ") for dash in _DASHES),
    }
)
"""Texts that say that a value is missing."""
