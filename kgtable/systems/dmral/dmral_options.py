"""The options of the method ``dmral``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DmralOptions:
    """The options of the method ``dmral``.

    `candidates` tables of the question and `per_subquestion` of each sub-question are looked at, groups are
    built around the best `seeds`. A group that covers less than `gap` of the question has a gap, for
    which `residual` tables are looked for. Without `subquestions` or `gaps` these steps are left out.
    `steps` is how often a program may be repaired.
    """

    candidates: int = 30
    seeds: int = 8
    per_subquestion: int = 8
    subquestions: bool = True
    gaps: bool = True
    gap: float = 0.6
    residual: int = 3
    unions: bool = True
    steps: int = 2
