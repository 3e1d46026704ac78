"""The deterministic answerer: no model, only rules, and it says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from kgtable.answering.answer import Alternative, Answer, Citation
from kgtable.answering.evidence import Cell, Evidence
from kgtable.answering.grounding import check
from kgtable.answering.offline.coverage import unexplained
from kgtable.answering.offline.extremes import compare, extreme, when
from kgtable.answering.offline.finding import Finding, cell_id
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.lookup import look_up, neighbour, yes_or_no
from kgtable.answering.offline.many import average, count, total
from kgtable.answering.offline.pairs import change, difference, share
from kgtable.answering.offline.question import Form, Question, read_question
from kgtable.answering.offline.view import TableView
from kgtable.answering.reply import Draft

RULES = "rules, no language model"
"""What stands as an answer's `model` where none was asked."""

_OF_ONE_ROW = frozenset({Form.LOOKUP, Form.DIFFERENCE, Form.CHANGE, Form.WHEN})
"""The forms that need no row but those that the question names."""

TABLES_TRIED = 5
_ALTERNATIVES = 3

_RULES: Mapping[Form, tuple[Callable[[Linking], Finding | None], ...]] = {
    Form.LOOKUP: (look_up,),
    Form.COUNT: (count,),
    Form.SUM: (total,),
    Form.AVERAGE: (average,),
    Form.DIFFERENCE: (difference,),
    Form.CHANGE: (change,),
    Form.SHARE: (share,),
    Form.EXTREME: (extreme,),
    Form.WHEN: (when, extreme),
    Form.COMPARE: (compare, extreme),
    Form.NEIGHBOUR: (neighbour,),
    Form.YES_NO: (yes_or_no,),
}


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, the words of the question it leaves unexplained, and whether it is only a makeshift."""

    view: TableView
    finding: Finding
    missed: tuple[str, ...]
    makeshift: bool


def answer_by_rules(evidence: Evidence) -> Answer:
    """An answer computed over the best table's cells; the best-supported cell where no rule applies.

    `verified` is true only where a rule recognised the question's form, every number it gives was
    computed again from the cited cells' exact values, and every cited cell exists.
    """
    started = time.perf_counter()
    retrieval = evidence.retrieval
    question = read_question(retrieval.question)
    found = _findings(question, evidence)
    answer = made(evidence, found[0]) if found else _top_cell(evidence)
    others = (made(evidence, other) for other in found[1:] if not (other.missed or other.makeshift))
    alternatives = tuple(
        Alternative(other.text, other.citations[0].table, other.citations)
        for other in others
        if other.citations
    )
    timings = {**retrieval.timings_ms, "answer": round((time.perf_counter() - started) * 1000, 3)}
    return replace(answer, alternatives=alternatives[:_ALTERNATIVES], timings_ms=timings)


def apply_rules(question: Question, view: TableView) -> tuple[Finding, bool] | None:
    """What the rules for the question's form find in one table; looking up where they find nothing.

    With whether it is such a makeshift.
    """
    linking = Linking(question, view)
    for rule in _RULES[question.form] if not view.missing or question.form in _OF_ONE_ROW else ():
        finding = rule(linking)
        if finding is not None:
            return finding, False
    finding = look_up(linking)
    return None if finding is None else (finding, True)


def _findings(question: Question, evidence: Evidence) -> list[Found]:
    """Findings in the best tables: first those that leave the fewest words unexplained, then by rank.

    Looking up where another form was asked for counts as one word more.
    """
    found = []
    for id in evidence.tables[:TABLES_TRIED]:
        view = TableView(evidence, id)
        applied = apply_rules(question, view)
        if applied is not None and applied[0].text:
            finding, makeshift = applied
            found.append(Found(view, finding, unexplained(question, view, finding), makeshift))
    return sorted(found, key=lambda one: len(one.missed) + one.makeshift)


def made(evidence: Evidence, found: Found) -> Answer:
    """The finding as an answer, checked like a model's, and against the words of the question."""
    view, finding, missed = found.view, found.finding, found.missed
    ids = tuple(cell_id(view, *place) for place in finding.cells)
    draft = Draft(finding.text, ids, finding.calculation)
    grounding = check(evidence.retrieval.question, draft, evidence)
    doubts = [f"the cells say nothing of: {', '.join(missed)}"] if missed else []
    if view.missing:
        doubts.append(f"{view.missing:,} further rows of this long table were not read")
    if finding.rule != Form.LOOKUP and finding.calculation is None:
        doubts.append("it rests on the order or wording of rows, which cannot be computed again")
    return Answer(
        question=evidence.retrieval.question,
        text=finding.text,
        value=grounding.value,
        unit=grounding.unit,
        verified=grounding.verified and not doubts,
        reasons=(f"rule: {finding.rule}", *grounding.reasons, *doubts),
        citations=tuple(map(Citation.of, grounding.cells)),
        calculation=grounding.calculation,
        method=evidence.retrieval.method,
        model=RULES,
        retrieval=evidence.retrieval,
    )


def _top_cell(evidence: Evidence) -> Answer:
    """The best triple's cell: what is left where no rule applies."""
    cells = [
        cell
        for triple in evidence.retrieval.triples[:1]
        if (cell := evidence.cell(triple.table, triple.row, triple.column)) is not None
    ]
    return _answer(evidence, cells[0].text if cells else "", tuple(cells))


def _answer(evidence: Evidence, text: str, cells: tuple[Cell, ...]) -> Answer:
    return Answer(
        question=evidence.retrieval.question,
        text=text,
        reasons=("no rule fits the question: this is the cell that fits it best",) if text else (),
        citations=tuple(map(Citation.of, cells)),
        method=evidence.retrieval.method,
        model=RULES,
        retrieval=evidence.retrieval,
    )
