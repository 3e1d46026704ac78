"""The deterministic answerer: no model, only rules, and it says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kgtable.answering.answer import Alternative, Answer, Citation
from kgtable.answering.comparable import plain
from kgtable.answering.evidence import Evidence
from kgtable.answering.grounding import check
from kgtable.answering.offline.comparing import column_of_extreme, compare, compare_columns, when
from kgtable.answering.offline.extremes import extreme
from kgtable.answering.offline.figures import figures
from kgtable.answering.offline.finding import Finding, cell_id
from kgtable.answering.offline.groups import by_group, groups_of_size
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.listing import listed
from kgtable.answering.offline.lookup import look_up, neighbour
from kgtable.answering.offline.many import average, count, total
from kgtable.answering.offline.pairs import (
    change_of_columns,
    change_of_rows,
    difference_of_columns,
    difference_of_rows,
)
from kgtable.answering.offline.question import Form, Question, read_question
from kgtable.answering.offline.reading import Reading, read_finding
from kgtable.answering.offline.shares import share_of_columns, share_of_rows
from kgtable.answering.offline.view import TableView
from kgtable.answering.offline.words import content, spoken, stems
from kgtable.answering.offline.yes_no import (
    beyond_a_number,
    cell_says,
    more_than_another,
    risen_or_fallen,
    row_holds,
)
from kgtable.answering.reply import Draft

RULES = "rules, no language model"
"""What stands as an answer's `model` where none was asked."""

_OF_ONE_ROW = frozenset({Form.LOOKUP, Form.DIFFERENCE, Form.CHANGE, Form.WHEN})
"""The forms that need no row but those that the question names."""

TABLES_TRIED = 5
TABLES_COMPARED = 15
"""How many tables are asked whether they answer differently before an answer counts as verified."""

_ALTERNATIVES = 3
_BEFORE_ALL = frozenset({Form.GROUPS})
_BEFORE_LOOKING_UP = frozenset({Form.GROUPS, Form.LIST})

_RULES: Mapping[Form, tuple[Callable[[Linking], Finding | None], ...]] = {
    Form.LOOKUP: (look_up,),
    Form.COUNT: (count,),
    Form.SUM: (total,),
    Form.AVERAGE: (average,),
    Form.DIFFERENCE: (difference_of_columns, difference_of_rows),
    Form.CHANGE: (change_of_columns, change_of_rows),
    Form.SHARE: (share_of_rows, share_of_columns),
    Form.EXTREME: (extreme, column_of_extreme),
    Form.WHEN: (when, extreme),
    Form.COMPARE: (compare, compare_columns, extreme),
    Form.NEIGHBOUR: (neighbour,),
    Form.GROUPS: (by_group, groups_of_size, figures),
    Form.LIST: (listed,),
    Form.YES_NO: (more_than_another, risen_or_fallen, beyond_a_number, cell_says, row_holds),
}


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, how it reads the question, and whether it is only a makeshift."""

    view: TableView
    finding: Finding
    reading: Reading
    makeshift: bool

    @property
    def lack(self) -> int:
        """How much of the question it leaves out; looking up for want of a rule counts as one word."""
        return len(self.reading.missed) + self.makeshift


def answer_by_rules(evidence: Evidence) -> Answer:
    """An answer computed over the best table's cells; the best-supported cell where no rule applies.

    `verified` is true only where a rule recognised the question's form, every number it gives was
    computed again from the cited cells' exact values, and every cited cell exists.
    """
    started = time.perf_counter()
    retrieval = evidence.retrieval
    question = read_question(retrieval.question)
    found = _findings(question, evidence, evidence.tables[:TABLES_TRIED])
    answer = made(evidence, found[0]) if found else _top_cell(evidence)
    others = (made(evidence, other) for other in found[1:] if not other.lack)
    alternatives = tuple(
        Alternative(other.text, other.citations[0].table, other.citations)
        for other in others
        if other.citations
    )
    if answer.verified:
        more = _findings(question, evidence, evidence.tables[TABLES_TRIED:TABLES_COMPARED])
        further = [
            (other.finding.text, other.view.table.grid.source.path) for other in more if not other.lack
        ]
        answer = _doubted(
            answer, [*((other.text, other.citations[0].file) for other in alternatives), *further]
        )
    timings = {**retrieval.timings_ms, "answer": round((time.perf_counter() - started) * 1000, 3)}
    return replace(answer, alternatives=alternatives[:_ALTERNATIVES], timings_ms=timings)


def apply_rules(question: Question, view: TableView) -> Found | None:
    """What the rules for the forms that the question may have find: the reading that leaves out the least."""
    best: Found | None = None
    for form in _in_turn(question):
        linking = Linking(replace(question, form=form), view)
        for rule in _RULES[form] if not view.missing or form in _OF_ONE_ROW else ():
            best = _better(best, linking, rule(linking), makeshift=False)
    if question.form != Form.LOOKUP:
        linking = Linking(question, view)
        best = _better(best, linking, look_up(linking), makeshift=True)
    return best


def _in_turn(question: Question) -> tuple[Form, ...]:
    """The forms in the order in which they are tried: of two that read a question alike the first counts."""
    before = _BEFORE_LOOKING_UP if question.form == Form.LOOKUP else _BEFORE_ALL
    first = [form for form in question.other_forms if form in before]
    return tuple(dict.fromkeys([*first, question.form, *question.other_forms]))


def _better(
    best: Found | None, linking: Linking, finding: Finding | None, *, makeshift: bool
) -> Found | None:
    """The finding, where it is one and leaves out less of the question than the best so far."""
    if finding is None or not finding.text:
        return best
    reading = read_finding(linking.question, linking.view, finding)
    found = Found(linking.view, finding, reading, makeshift)
    return found if best is None or found.lack < best.lack else best


def _findings(question: Question, evidence: Evidence, tables: Sequence[str]) -> list[Found]:
    """Findings in the tables: first those that leave out the least of the question, then by rank.

    Of equals those go first whose table bears the name of what is asked for.
    """
    applied = (apply_rules(question, TableView(evidence, id)) for id in tables)
    return sorted(
        (found for found in applied if found is not None),
        key=lambda one: (one.lack, -one.view.called_after(question.focus)),
    )


def made(evidence: Evidence, found: Found) -> Answer:
    """The finding as an answer, checked like a model's, and against the words of the question."""
    view, finding = found.view, found.finding
    ids = tuple(cell_id(view, *place) for place in finding.cells)
    draft = Draft(finding.text, ids, finding.calculation)
    grounding = check(evidence.retrieval.question, draft, evidence)
    doubts = list(found.reading.doubts)
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
        reasons=(
            f"rule: {finding.rule}",
            *(() if grounding.verified and doubts else grounding.reasons),
            *doubts,
        ),
        citations=tuple(map(Citation.of, grounding.cells)),
        calculation=grounding.calculation,
        method=evidence.retrieval.method,
        model=RULES,
        retrieval=evidence.retrieval,
    )


def _doubted(answer: Answer, others: Iterable[tuple[str, str]]) -> Answer:
    """The answer, no longer verified where other tables (text and file) answer the question differently."""
    files = dict.fromkeys(file for text, file in others if plain(text) != plain(answer.text))
    if not files:
        return answer
    doubt = f"other tables answer the question differently: {', '.join(list(files)[:_ALTERNATIVES])}"
    return replace(answer, verified=False, reasons=(*answer.reasons[:1], doubt))


def _top_cell(evidence: Evidence) -> Answer:
    """The best triple's cell: what is left where no rule applies."""
    cells = [
        cell
        for triple in evidence.retrieval.triples[:1]
        if (cell := evidence.cell(triple.table, triple.row, triple.column)) is not None
    ]
    reasons = ["no rule fits the question: this is the cell that fits it best"] if cells else []
    said = {word for cell in cells for text in (cell.text, cell.label, cell.header) for word in stems(text)}
    question = evidence.retrieval.question
    left = [word for stem, word in spoken(question).items() if stem in content(stems(question)) - said]
    if cells and left:
        reasons.append(f"it says nothing of: {', '.join(left)}")
    return Answer(
        question=question,
        text=cells[0].text if cells else "",
        reasons=tuple(reasons),
        citations=tuple(map(Citation.of, cells)),
        method=evidence.retrieval.method,
        model=RULES,
        retrieval=evidence.retrieval,
    )
