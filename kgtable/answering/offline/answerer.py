"""The deterministic answerer: no model, only rules, and it says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kgtable.answering.answer import Alternative, Answer, Citation
from kgtable.answering.context import SCALE_WORDS
from kgtable.answering.evidence import Evidence
from kgtable.answering.grounding import check, plain
from kgtable.answering.offline import question as english
from kgtable.answering.offline.comparisons import (
    beyond_a_number,
    cell_says,
    change_of_columns,
    change_of_rows,
    column_of_extreme,
    compare,
    compare_columns,
    difference_of_columns,
    difference_of_rows,
    extreme,
    more_than_another,
    risen_or_fallen,
    row_holds,
    share_of_columns,
    share_of_rows,
    when,
)
from kgtable.answering.offline.linking import Linking, RuleFinding, cell_id
from kgtable.answering.offline.lookups import (
    average,
    by_group,
    count,
    figures,
    groups_of_size,
    listed,
    look_up,
    neighbour,
    total,
)
from kgtable.answering.offline.question import (
    AskedQuestion,
    QuestionForm,
    content,
    read_question,
    spoken,
    stems,
)
from kgtable.answering.offline.view import RuleTable
from kgtable.answering.reply import Draft
from kgtable.tables.model import Position
from kgtable.values.units import units

_MOST_NAMED = 3
_SOME = 0.3
_KINDS = ("time", "person", "place")


def rival_doubts(question: AskedQuestion, view: RuleTable, finding: RuleFinding) -> Iterator[str]:
    """Says where another column or row than that of the finding may be meant."""
    cells = finding.cells
    if finding.rule == QuestionForm.LOOKUP:
        if len({column for _, column in cells}) == 1:
            yield from _columns(question, view, cells[0])
        if len({row for row, _ in cells}) == 1:
            yield from _repeats(question, view, cells[0])
            yield from _rows(question, view, cells[0])
        return
    measured = tuple(place for place in cells if view.number(*place) is not None)
    if (
        finding.rule in (QuestionForm.COUNT, QuestionForm.NEIGHBOUR)
        or finding.calculation is None
        or not measured
    ):
        return
    last = measured[-1]
    if len({column for _, column in measured}) == 1 and len(measured) > 1:
        if not (finding.rule == QuestionForm.EXTREME and _same_extreme(question, view, measured)):
            yield from _columns(question, view, last)
    elif len(measured) > 1 and len({row for row, _ in measured}) == 1:
        yield from _rows(question, view, last)


def column_doubts(question: AskedQuestion, view: RuleTable, finding: RuleFinding) -> Iterator[str]:
    """Says where the answer stands in a column that the question does not ask for by name."""
    row, column = finding.cells[0]
    asked = question.focus or question.content
    if question.wants in _KINDS:
        kind = frozenset(stems(" ".join(english.words(question.wants))))
        fits = not view.headers[column].isdisjoint(kind | question.focus)
    else:
        fits = bool(view.headers[column] & asked) or column == view.label_column
    if not fits and not frozenset(stems(view.text(row, column))) & asked:
        yield f"the question does not ask for the column {view.called((row, column))!r} by name"


def counted_doubts(question: AskedQuestion, view: RuleTable, finding: RuleFinding) -> Iterator[str]:
    """Says where what is counted is not called what the question counts."""
    if not question.focus:
        yield "the question does not say what is to be counted"
    if question.negated and len(view.naming_columns(question.content, view.plain_rows)) > 1:
        yield "several columns have what the question says is not so"
    if len(finding.cells) == 1 and not question.thresholds:
        yield "only one row is counted, which may itself say the number"
    counted = {column for _, column in finding.cells} | {view.label_column}
    for column in view.columns:
        may_tell = view.numeric_share(column) > _SOME and view.time_share(column) < 0.5
        if column not in counted and may_tell and view.headers[column] & question.focus:
            yield f"the column {view.called((0, column))!r} may hold the number asked for"
            break
    said = question.focus - frozenset(stems(english.explained(QuestionForm.COUNT))) - view.last_name
    rows = {row for row, _ in finding.cells}
    naming = view.naming_columns(question.content, rows)
    for column in {view.label_column, *naming, *(column for _, column in finding.cells)}:
        said -= view.headers[column]
    left = sorted(word for word in said if not all(word in view.row_words(row) for row in rows))
    if left and left != sorted(finding.used & frozenset(left)):
        words = ", ".join(spoken(question.text).get(word, word) for word in left)
        yield f"nothing says that the rows counted are {words}"


def _columns(question: AskedQuestion, view: RuleTable, place: Position) -> Iterator[str]:
    row, column = place
    asked = question.content | frozenset(question.years) | question.hinted
    mine = _header(view, column)
    rivals = []
    for other in view.columns:
        text = view.text(row, other)
        if other == column or not text or text == view.text(row, column):
            continue
        its = _header(view, other)
        if mine & asked:
            fits = its & asked >= mine & asked and len(its - asked) <= len(mine - asked)
        else:
            # no header is named: those rival that hold what is asked for, and did not pick the row
            fits = _of_kind(question, view, other) and not frozenset(stems(text)) & asked
        if fits:
            rivals.append(other)
    if rivals:
        names = ", ".join(repr(view.called((row, other))) for other in rivals[:_MOST_NAMED])
        yield f"the question does not tell the column {view.called(place)!r} from {names}"


def _of_kind(question: AskedQuestion, view: RuleTable, column: int) -> bool:
    """Whether the column may hold what is asked for: a time, a number, a person or a place."""
    if question.wants == "time":
        return view.time_share(column) > 0.5
    if question.wants == "number" or question.form not in (QuestionForm.LOOKUP, QuestionForm.NEIGHBOUR):
        return view.numeric_share(column) > 0.5 and view.time_share(column) < 0.5
    if question.wants in _KINDS:
        kind = frozenset(stems(" ".join(english.words(question.wants))))
        return bool(view.headers[column] & kind)
    return not view.numbers_rows(column)


def _same_extreme(question: AskedQuestion, view: RuleTable, measured: tuple[Position, ...]) -> bool:
    """Whether every other column of the same name has its extreme in the same row (as in other units)."""
    best, column = measured[0]
    asked = view.headers[column] & question.content
    for other in view.columns:
        if other != column and asked and view.headers[other] & question.content >= asked:
            numbers = {row: found for row, _ in measured if (found := view.number(row, other)) is not None}
            if numbers and numbers.get(best) not in (max(numbers.values()), min(numbers.values())):
                return False
    return bool(asked)


def _repeats(question: AskedQuestion, view: RuleTable, place: Position) -> Iterator[str]:
    said = frozenset(stems(view.text(*place))) & question.content
    if said - _header(view, place[1]) and question.form != QuestionForm.YES_NO:
        yield f"the answer {view.text(*place)!r} only repeats what the question says"


def _rows(question: AskedQuestion, view: RuleTable, place: Position) -> Iterator[str]:
    row, column = place
    asked = question.content - _header(view, column)
    mine, extra = view.row_words(row) & asked, len(view.label_words(row) - question.content)
    rivals = [
        other
        for other in view.rows
        if other != row
        and view.text(other, column)
        and view.text(other, column) != view.text(row, column)
        and view.row_words(other) & asked >= mine
        and len(view.label_words(other) - question.content) <= extra
    ]
    if rivals:
        many = len(rivals) > 1
        yield f"{len(rivals)} other row{'s' if many else ''} of the table fit{'' if many else 's'} as well"


def _header(view: RuleTable, column: int) -> frozenset[str]:
    year = view.year_columns.get(column)
    return view.headers[column] | ({year} if year else frozenset())


_OF_MANY_ROWS = frozenset({QuestionForm.COUNT, QuestionForm.SUM, QuestionForm.AVERAGE, QuestionForm.EXTREME})
"""The rules that take a set of rows, each of which must be one that the question means."""

_NOT_OF_LABELS = frozenset(
    {QuestionForm.COUNT, QuestionForm.EXTREME, QuestionForm.COMPARE, QuestionForm.NEIGHBOUR}
)
_FEW_ROWS = 2

_OF_A_PAIR = frozenset({QuestionForm.DIFFERENCE, QuestionForm.CHANGE, QuestionForm.SHARE})


@dataclass(frozen=True, slots=True)
class QuestionReading:
    """Stems of the question's words that the finding leaves out, and all doubts in words."""

    missed: tuple[str, ...]
    doubts: tuple[str, ...]


def read_finding(question: AskedQuestion, view: RuleTable, finding: RuleFinding) -> QuestionReading:
    """What the finding leaves out of the question, or takes to mean one of several things."""
    missed = tuple(sorted(_missed(question, view, finding)))
    doubts = list(_words_left(question, view, missed))
    if question.negated and not finding.negated:
        doubts.append("the question says what is not so, which the rule does not take into account")
    if finding.rule in _OF_A_PAIR and len(finding.cells) > 1:
        doubts += _operand_doubts(question, view, finding)
    if finding.rule in (QuestionForm.EXTREME, QuestionForm.COMPARE):
        doubts += column_doubts(question, view, finding)
    if finding.rule == QuestionForm.COUNT:
        doubts += counted_doubts(question, view, finding)
    doubts += rival_doubts(question, view, finding)
    if finding.rule not in _NOT_OF_LABELS:
        doubts += _label_doubts(question, view, finding)
    doubts += _unsaid(question, view, finding)
    doubts += finding.doubts
    return QuestionReading(missed, tuple(doubts))


def _unsaid(question: AskedQuestion, view: RuleTable, finding: RuleFinding) -> Iterable[str]:
    """Something else that the question asks for, or an answer that says nothing."""
    if not any(sign.isalnum() for sign in finding.text):
        yield "the cell only says that there is nothing"
    if finding.rule == QuestionForm.LOOKUP and question.form == QuestionForm.SHARE:
        yield "it is not known of what whole the cell gives a share"
    letters = any(sign.isalpha() for sign in finding.text)
    if question.wants in ("person", "place") and not letters:
        yield f"the question asks for a {question.wants}, which a number is not"
    many = english.asked("how_many").search(question.text) and finding.rule in (
        QuestionForm.LOOKUP,
        QuestionForm.EXTREME,
    )
    if many and (";" in finding.text or not any(sign.isdigit() for sign in finding.text)):
        yield "the question asks how many"
    timed = any(view.time_share(column) > 0.5 for _, column in finding.cells)
    if timed and finding.rule == QuestionForm.LOOKUP and english.asked("how_long").search(question.text):
        yield "the question asks how long, and the cell says when"
    if question.first_several > 1 and not question.several_words <= finding.used:
        yield f"the question asks for the first {question.first_several}"
    if finding.rule in (QuestionForm.GROUPS, QuestionForm.LIST) or ";" in finding.text:
        return
    if english.asked("and_another").search(question.text):
        yield "the question asks for more than one thing"
    if question.grouping and not view.own_name & frozenset(stems(question.grouping)):
        yield "the question asks for something of each"


def _words_left(question: AskedQuestion, view: RuleTable, missed: tuple[str, ...]) -> Iterable[str]:
    said = spoken(question.text)
    named = [word for word in missed if view.names(word)]
    strange = [word for word in missed if not view.names(word)]
    if named:
        words = ", ".join(said.get(word, word) for word in named)
        yield f"the table has cells or columns of these words, which the answer leaves out: {words}"
    if strange:
        yield f"the cells say nothing of: {', '.join(said.get(word, word) for word in strange)}"


def _missed(question: AskedQuestion, view: RuleTable, finding: RuleFinding) -> frozenset[str]:
    """The words that name something the finding does not rest on, or that nothing explains."""
    explained = finding.used | frozenset(stems(english.explained(finding.rule)))
    columns = {column for _, column in finding.cells}
    rows = {row for row, _ in finding.cells if row in view.rows}
    for column in columns | {view.label_column} | view.naming_columns(question.content, rows):
        explained |= view.headers[column]
    explained |= question.adjectives(explained) | _unit_words(view, finding)
    left = question.content - explained
    context = view.table.context
    titles = {word for text in (context.title, context.caption, *context.heading) for word in stems(text)}
    left = frozenset(word for word in left if word not in titles | view.own_name or view.names(word))
    if finding.rule in _OF_MANY_ROWS:
        return left - _met_by_all(view, rows, left, question.enumerates)
    return left - frozenset().union(*(view.row_words(row) for row in rows))


def _met_by_all(view: RuleTable, rows: set[int], words: frozenset[str], enumerates: bool) -> frozenset[str]:
    """Those of the words that hold of every row; words of one column are alternatives in an enumeration."""
    if not enumerates:
        return frozenset(word for word in words if rows and all(word in view.row_words(row) for row in rows))
    met: set[str] = set()
    pending = {word: frozenset(view.columns_of(word)) for word in sorted(words) if view.rows_with(word)}
    while pending:
        first, columns = next(iter(pending.items()))
        alternatives = {word for word, found in pending.items() if word == first or found & columns}
        each = [alternatives & view.row_words(row) for row in rows]
        if all(each):
            met |= alternatives & frozenset().union(*each)
        for word in alternatives:
            del pending[word]
    return frozenset(met)


def _unit_words(view: RuleTable, finding: RuleFinding) -> frozenset[str]:
    """The words for unit and scale of the finding's cells."""
    words: set[str] = set()
    for place in {column: (row, column) for row, column in finding.cells}.values():
        cell = view.evidence.cell(view.id, *place)
        unit = units().get(cell.unit) if cell and cell.unit else None
        if cell is not None:
            words.update(stems(SCALE_WORDS.get(cell.scale or "", "")))
        if unit is not None:
            words.update(stems(f"{unit.label} {unit.symbol} {unit.currency}"))
    return frozenset(words)


def _label_doubts(question: AskedQuestion, view: RuleTable, finding: RuleFinding) -> Iterable[str]:
    """A row of numbers whose label says more than the question may be another than the one meant."""
    rows = dict.fromkeys(row for row, column in finding.cells if view.number(row, column) is not None)
    if len(rows) > len(finding.cells) or len(rows) > _FEW_ROWS:
        return
    said = spoken(" ".join(view.text(row, view.label_column) for row in rows))
    for row in rows:
        extra = sorted(view.label_words(row) - question.content)
        if extra:
            words = ", ".join(said.get(word, word) for word in extra)
            yield f"the row {view.text(row, view.label_column)!r} says more than the question: {words}"


def _operand_doubts(question: AskedQuestion, view: RuleTable, finding: RuleFinding) -> Iterable[str]:
    """Each of two cells must be named by what tells it from the other."""
    one, other = finding.cells[:2]
    asked = question.content | frozenset(question.years)
    for here, there in ((one, other), (other, one)):
        own, its = _names_of(view, here), _names_of(view, there)
        if (own - its) & asked or (not own - its and its - own):
            continue
        years = {word for word in own - its if word.isdigit() and len(word) == 4}
        if (
            any(str(int(year) + 1) in (its - own) & asked for year in years)
            and finding.rule != QuestionForm.SHARE
        ):
            continue
        called = view.called(here) if here[0] == there[0] else view.text(here[0], view.label_column)
        yield f"the question does not name {called!r}, which was taken for one side"


def _names_of(view: RuleTable, place: tuple[int, int]) -> frozenset[str]:
    row, column = place
    year = view.year_columns.get(column)
    return view.label_words(row) | view.headers[column] | ({year} if year else frozenset())


RULES = "rules, no language model"
"""What stands as an answer's `model` where none was asked."""

_OF_ONE_ROW = frozenset(
    {QuestionForm.LOOKUP, QuestionForm.DIFFERENCE, QuestionForm.CHANGE, QuestionForm.WHEN}
)
"""The forms that need no row but those that the question names."""

TABLES_TRIED = 5
TABLES_COMPARED = 15
"""How many tables are asked whether they answer differently before an answer counts as verified."""

_ALTERNATIVES = 3
_BEFORE_ALL = frozenset({QuestionForm.GROUPS})
_BEFORE_LOOKING_UP = frozenset({QuestionForm.GROUPS, QuestionForm.LIST})

_RULES: Mapping[QuestionForm, tuple[Callable[[Linking], RuleFinding | None], ...]] = {
    QuestionForm.LOOKUP: (look_up,),
    QuestionForm.COUNT: (count,),
    QuestionForm.SUM: (total,),
    QuestionForm.AVERAGE: (average,),
    QuestionForm.DIFFERENCE: (difference_of_columns, difference_of_rows),
    QuestionForm.CHANGE: (change_of_columns, change_of_rows),
    QuestionForm.SHARE: (share_of_rows, share_of_columns),
    QuestionForm.EXTREME: (extreme, column_of_extreme),
    QuestionForm.WHEN: (when, extreme),
    QuestionForm.COMPARE: (compare, compare_columns, extreme),
    QuestionForm.NEIGHBOUR: (neighbour,),
    QuestionForm.GROUPS: (by_group, groups_of_size, figures),
    QuestionForm.LIST: (listed,),
    QuestionForm.YES_NO: (more_than_another, risen_or_fallen, beyond_a_number, cell_says, row_holds),
}


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, how it reads the question, and whether it is only a makeshift."""

    view: RuleTable
    finding: RuleFinding
    reading: QuestionReading
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


def apply_rules(question: AskedQuestion, view: RuleTable) -> Found | None:
    """What the rules for the forms that the question may have find: the reading that leaves out the least."""
    best: Found | None = None
    for form in _in_turn(question):
        linking = Linking(replace(question, form=form), view)
        for rule in _RULES[form] if not view.missing or form in _OF_ONE_ROW else ():
            best = _better(best, linking, rule(linking), makeshift=False)
    if question.form != QuestionForm.LOOKUP:
        linking = Linking(question, view)
        best = _better(best, linking, look_up(linking), makeshift=True)
    return best


def _in_turn(question: AskedQuestion) -> tuple[QuestionForm, ...]:
    """The forms in the order in which they are tried: of two that read a question alike the first counts."""
    before = _BEFORE_LOOKING_UP if question.form == QuestionForm.LOOKUP else _BEFORE_ALL
    first = [form for form in question.other_forms if form in before]
    return tuple(dict.fromkeys([*first, question.form, *question.other_forms]))


def _better(
    best: Found | None, linking: Linking, finding: RuleFinding | None, *, makeshift: bool
) -> Found | None:
    """The finding, where it is one and leaves out less of the question than the best so far."""
    if finding is None or not finding.text:
        return best
    reading = read_finding(linking.question, linking.view, finding)
    found = Found(linking.view, finding, reading, makeshift)
    return found if best is None or found.lack < best.lack else best


def _findings(question: AskedQuestion, evidence: Evidence, tables: Sequence[str]) -> list[Found]:
    """Findings in the tables: first those that leave out the least of the question, then by rank.

    Of equals those go first whose table bears the name of what is asked for.
    """
    applied = (apply_rules(question, RuleTable(evidence, id)) for id in tables)
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
    if finding.rule != QuestionForm.LOOKUP and finding.calculation is None:
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
