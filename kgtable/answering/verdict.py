"""The verdict on a reply of a language model: grounded, ambiguous, verified, with reasons.

The program of the reply is executed over whole tables, and its result is the answer. The program is checked against the
question and against what the ranker of programs makes of it; a text without a program against the cells it cites.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import NamedTuple, cast

from kgtable.answering.answer import Alternative, Answer
from kgtable.answering.evidence import Citation, Evidence
from kgtable.answering.grounding import (
    Facts,
    check_text,
    plain,
    says_truth,
    speaks_of_falling,
    speaks_of_rising,
    stated_numbers,
)
from kgtable.answering.program_answers import (
    EvidenceRelations,
    cell_program,
    read_program,
    reading_of,
    rebuilt,
    relations_of,
)
from kgtable.answering.prompting import Draft, DraftAlternative
from kgtable.errors import EvaluationError, KgtableError
from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    Apply,
    ColumnRef,
    Compare,
    Constant,
    Function,
    Node,
    Program,
    SortKey,
    ValueKind,
    tables_of,
    walk,
)
from kgtable.programs.dimensions import comparable
from kgtable.programs.display import display, says_only, style_of, text_of_rows
from kgtable.programs.executor import ProgramResult, run
from kgtable.programs.provenance import CellRole
from kgtable.programs.scalars import Datum, TimeSpan, format_decimal, key_of, normal, quantity, text_of, time_in
from kgtable.questions.by_rules import MOST_TABLES, RankedAnswer, RankedProgram, answer_by_programs
from kgtable.questions.coverage import Coverage, change_of, extremes, is_difference
from kgtable.questions.english import adjectives
from kgtable.questions.reading import Question

MOST_READ = 2_000
"""Cells of a result that a text is checked against."""

MOST_VALUES = 300
RIVAL = 0.3
"""Minimum probability of another program, as a share of the answer's own, that makes the answer ambiguous."""

RIVAL_TABLE = 0.05
"""The same for a program over other tables."""

_ANY = frozenset({"number", "truth", "text", "time", "name"})
_NUMBER = frozenset({"number", "name"})
_KINDS = {
    "yes_no": frozenset({"truth"}),
    "how_many": _NUMBER,
    "how_much": _NUMBER,
    "percent": _NUMBER,
    "when": frozenset({"time", "number", "name"}),
    "who": frozenset({"text", "name"}),
    "where": frozenset({"text", "name"}),
}
"""The kinds of values that answer a question."""

FEWEST_WORDS = 3
"""Minimum words of a remark beyond the result."""

NOT_GIVEN = "no value given"
"""The answer if a row fits and its cell is blank."""

NO_SECOND_READER = "The rules do not read the question alike, so no second reader confirms it."
"""The doubt that a second reading by the model resolves."""


class Judgement(NamedTuple):
    """A checked reply: the answer, why its program could not be executed, and how its text fits the result.

    `contradiction` says what in the text the result does not support; `is_said` whether the text states the result.
    """

    answer: Answer
    fault: str = ""
    contradiction: str = ""
    is_said: bool = False


def judge(draft: Draft, evidence: Evidence, answer: Answer | None = None) -> Judgement:
    """Execute and check a reply. Never raises for the content of a reply.

    Where the reply has a program, text, value, unit and rows of the answer are its result; the sentence next to it is
    kept as a remark if the result supports it. `answer` has what is known of the answer before, such as its model.
    """
    return _Judge(draft, evidence).judgement(answer or Answer(evidence.retrieval.question, ""))


class _Judge:
    def __init__(self, draft: Draft, evidence: Evidence) -> None:
        self._draft, self._evidence = draft, evidence
        self._question = evidence.retrieval.question
        self._relations: EvidenceRelations = relations_of(evidence.source)
        self._faults: list[str] = []
        self._doubts: list[str] = []
        self._said: list[Datum] = []
        self._beyond: list[Citation] = []

    def judgement(self, answer: Answer) -> Judgement:
        """The judgement of the whole answer."""
        draft = self._draft
        if draft.program is None:
            return Judgement(self._from_cells(answer))
        try:
            results = [self._executed(draft.program)]
        except (KgtableError, ArithmeticError, RecursionError) as error:
            fault = self._in_short_names(_told(error))
            return Judgement(replace(answer, reasons=(f"The program cannot be executed: {fault}",)), fault)
        if results[0].empty:
            return Judgement(self._blank(answer, results))
        facts = self._facts(results)
        remark, contradiction, is_said = self._remark(results, facts)
        self._check_presumed(results)
        found = reading_of(results, self._evidence)
        if not found.citations:
            self._faults.append("No cell was read.")
        judged = replace(self._judged(answer, found, results), remark=remark)
        if contradiction:
            note = f"The sentence of the model was left out: {contradiction}"
            judged = replace(judged, reasons=(*judged.reasons, note))
        return Judgement(judged, "", contradiction, is_said)

    def _blank(self, answer: Answer, results: Sequence[ProgramResult]) -> Answer:
        """The answer that a row exists, but its requested value is missing."""
        self._doubts.append("The row is there, but its cell is blank.")
        return self._judged(answer, reading_of(results, self._evidence, NOT_GIVEN), results)

    def _in_short_names(self, fault: str) -> str:
        """A fault with the tables called as in the prompt."""
        named = sorted(self._evidence.named, key=len, reverse=True)
        for id in named:
            fault = fault.replace(repr(id), self._evidence.alias(id))
        return fault

    def _from_cells(self, answer: Answer) -> Answer:
        """The answer whose text is in cited cells."""
        draft = self._draft
        results, cells = self._cited()
        facts = self._facts(results)
        plainly = text_of_rows([(value,) for value in self._said])
        text = draft.text or plainly
        if draft.too_long:
            self._faults.append("The answer is too long to be checked.")
        if not self._faults:
            check = check_text(text, facts, self._question)
            self._faults += check.faults
            self._doubts += check.doubts
        if not self._faults:
            self._faults += self._claims(results, text)
            self._check_presumed(results)
        citations = tuple(cells)
        only = self._said[0] if len(self._said) == 1 else None
        number = None if only is None or self._faults else only.number
        bare = plain(text) == plain(plainly) or (only is not None and number is not None and says_only(text, only))
        style = style_of(value for value in self._said if value.number is not None)
        found = Alternative(
            text=text,
            table=citations[0].table if citations else "",
            citations=citations,
            value=None if number is None else format_decimal(number),
            unit=None if number is None or only is None else only.unit,
            calculation="; ".join(dict.fromkeys(result.derivation for result in results)) or None,
            program=results[0].program if len(results) == 1 else None,
            shown=text_of_rows([(value,) for value in self._said], lambda datum: display(datum, style)) if bare else "",
            cells_read=len(cells),
        )
        return self._judged(answer, found, results)

    def _remark(self, results: Sequence[ProgramResult], facts: Facts) -> tuple[str, str, bool]:
        """The sentence next to a program if the result supports it, what it contradicts, and whether it states all."""
        text = self._draft.text
        if not text or self._draft.too_long:
            return "", "", False
        is_said = not check_text(text, facts, self._question).faults
        truths = [value for value in facts.results if isinstance(value.value, bool) and not value.text]
        beside = Facts(truths if says_truth(text) else (), (*facts.results, *facts.beside), facts.texts)
        check = check_text(text, beside, self._question)
        faults = check.faults or self._claims(results, text)
        if faults:
            told = any(True for _ in stated_numbers(text)) or says_truth(text) or not check.faults
            return "", faults[0] if told else "", is_said
        words = set(plain(text).split()) - set(plain(text_of_rows([(value,) for value in self._said])).split())
        return text if len(words) >= FEWEST_WORDS else "", "", is_said

    # What was executed or cited

    def _executed(self, data: object) -> ProgramResult:
        program = read_program(data, self._evidence)
        result = run(program, self._relations)
        if result.empty and next(iter(result.cells()), None) is None:
            raise EvaluationError("The result is empty: no row fits.")
        return result

    def _cells(self) -> list[Citation]:
        """The cells that the reply cites; an unknown cell is an error."""
        found = []
        for id in self._draft.citations:
            cell = self._evidence.resolve(id)
            if cell is None:
                self._faults.append(f"Cell {id} is cited but does not exist or is blank.")
            else:
                found.append(cell)
        return found

    def _cited(self) -> tuple[list[ProgramResult], list[Citation]]:
        """The cited cells, and the programs that look them up."""
        cells = self._cells()
        if not cells and not self._faults:
            self._faults.append("There is no program and no cell is cited.")
        results = []
        for cell in cells:
            try:
                results.append(run(cell_program(cell, self._evidence), self._relations))
            except KgtableError:
                self._beyond.append(cell)
                self._doubts.append(f"The cell {cell.text[:40]!r} is not a value of a row.")
        return results, cells

    def _facts(self, results: Sequence[ProgramResult]) -> Facts:
        """The values that the text may state. A cited cell that only supports others need not be stated."""
        values = [value for result in results for value in islice(_values(result), MOST_VALUES + 1)]
        values += [_text_datum(cell) for cell in self._beyond]
        beside, texts = self._beside(results)
        texts += [text for cell in self._beyond for text in (cell.label, cell.header)]
        if self._draft.program is None and len(values) > 1:
            said = [
                value
                for value in values
                if not check_text(self._draft.text, Facts([value], values, texts), self._question).faults
            ]
            if said and len(said) < len(values):
                self._doubts.append("Cells are cited that the answer does not say: nothing computed it from them.")
                values = said
        self._said = values
        return Facts(values, beside, texts)

    def _beside(self, results: Sequence[ProgramResult]) -> tuple[list[Datum], list[str]]:
        """Values of the rows that results come from, and the labels, headers, titles and constants around."""
        numbers: dict[Datum, None] = {}
        texts: dict[str, None] = {}
        for result in results:
            for id in tables_of(result.program):
                context = self._relations[id].tables[0].context
                texts.update(dict.fromkeys((context.title, context.caption, *context.heading)))
            read = list(islice(result.cells(), MOST_READ))
            rows = {(cell.table, cell.row) for cell in read if cell.role is CellRole.SELECTED}
            for cell in read[:200]:
                if (cell.table, cell.row) not in rows:
                    continue
                found = self._evidence.cell(cell.table, cell.row, cell.column)
                if found is None:
                    continue
                texts.update(dict.fromkeys((found.label, found.header)))
                if found.value is not None:
                    numbers[quantity(found.value, found.unit, found.scale, found.text)] = None
                else:
                    texts[found.text] = None
            for node in walk(result.program.root):
                if isinstance(node, Constant):
                    texts[str(node.value)] = None
                elif isinstance(node, ColumnRef):
                    texts[self._header(node, result)] = None
        return list(numbers), [text for text in texts if text]

    def _header(self, ref: ColumnRef, result: ProgramResult) -> str:
        if isinstance(ref.name, str):
            return ref.name.removeprefix("@")
        relation = self._relations[ref.table or tables_of(result.program)[0]]
        return relation.columns[ref.name].header if ref.name < len(relation.columns) else ""

    # What the text claims

    def _claims(self, results: Sequence[ProgramResult], text: str) -> list[str]:
        """The directions that a text states and no program computed."""
        for result in results:
            for value in _values(result):
                text = text.replace(text_of(value), " ") if value.number is None else text
        rises, falls = speaks_of_rising(text), speaks_of_falling(text)
        comparative = {token.word for token in Question.read(text).tokens if token.word in adjectives()}
        asked = {token.word for token in Question.read(self._question).tokens}
        truth = any(isinstance(value.value, bool) for result in results for value in _values(result))
        if truth and all(isinstance(result.program.root, Compare) for result in results):
            return []
        found = [change_of(result, self._relations) for result in results]
        changes = {None if change is None else change.direction for change in found}
        wanted = {1} if rises else {-1}
        unsaid = comparative - asked
        if unsaid and not any(extremes(result.program) for result in results) and changes != wanted:
            self._doubts.append(f"The answer says {min(unsaid)!r}, which no program computed.")
        if rises and falls:
            return ["The answer states two directions."]
        if (rises or falls) and changes != wanted and not self._is_echo(text):
            return ["The answer states a direction that no program computed so."]
        return []

    def _is_echo(self, text: str) -> bool:
        """Whether each word of a direction is the question's own, and a program computed the answer."""
        said = {token.word for token in Question.read(text).tokens}
        asked = {token.word for token in Question.read(self._question).tokens}
        words = {word for word in said if speaks_of_rising(word) or speaks_of_falling(word)}
        program = self._draft.program is not None
        return program and words <= asked and not {"grew", "fell", "rose", "dropped", "increased", "decreased"} & words

    def _check_presumed(self, results: Sequence[ProgramResult]) -> None:
        """Note a change or difference that goes the other way than the question takes for granted."""
        asked = Question.read(self._question)
        rises, falls = speaks_of_rising(self._question), speaks_of_falling(self._question)
        compared = any(not adjective.superlative for adjective, _ in asked.adjectives)
        for result in results:
            value, change = result.value, change_of(result, self._relations)
            negative = value is not None and value.number is not None and value.number < 0
            if change is not None and rises != falls and change.direction == (-1 if rises else 1):
                self._doubts.append("The question takes the opposite direction for granted.")
            elif change is not None and change.reversed and "change" in asked.cues and (negative or not falls):
                self._doubts.append("The program subtracts the later from the earlier.")
            elif negative and change is None and compared and is_difference(result.program):
                self._doubts.append("The difference is negative, against what the question takes for granted.")

    # The verdict

    def _judged(self, answer: Answer, found: Alternative, results: Sequence[ProgramResult]) -> Answer:
        """The answer with a reading, and what other readers make of the question."""
        alternatives = self._named_by_the_model()
        ambiguous, confidence = False, None
        if not self._faults:
            said = plain(found.text)
            other = next((reading for reading in alternatives if plain(reading.text) != said), None)
            if other is not None:
                ambiguous = True
                self._doubts.append(f"Another table gives {other.display[:60]} ({other.table}).")
            self._check_readings(results)
            rivals, confidence, agreed = self._rivals(results)
            if not agreed:
                self._doubts.append(NO_SECOND_READER)
            by_size = [reading_of([negative], self._evidence) for negative in filter(None, map(self._by_size, results))]
            for reading in by_size:
                self._doubts.append(f"By size alone it is {reading.display}: the numbers are negative.")
            readings = [reading_of([rival.result], self._evidence, rival.text) for rival in rivals]
            for rival, reading in zip(rivals[:1], readings, strict=False):
                where = ", ".join(rival.tables)
                self._doubts.append(f"Another reading fits about as well and gives {reading.display[:60]} ({where}).")
            alternatives = (*alternatives, *by_size, *readings)
            ambiguous = ambiguous or bool(by_size) or bool(rivals)
        faults, doubts = tuple(dict.fromkeys(self._faults)), tuple(dict.fromkeys(self._doubts))
        return replace(
            answer.reading(found),
            grounded=not faults,
            ambiguous=ambiguous and not faults,
            verified=not faults and not doubts,
            doubtful=bool(set(doubts) - {NO_SECOND_READER}),
            reasons=faults + doubts,
            confidence=confidence,
            alternatives=alternatives,
        )

    def _check_readings(self, results: Sequence[ProgramResult]) -> None:
        """Note the words of the question that the programs leave out, and the operations that they add."""
        asked = Question.read(self._question)
        if len(asked.parts) > 1:
            self._doubts.append("The question asks several things.")
        kinds, wanted = {_kind(value) for value in self._said}, _KINDS.get(asked.wh, _ANY)
        if not (kinds & wanted if any(len(result.names) > 1 for result in results) else kinds <= wanted):
            self._doubts.append("The question asks for another kind of answer.")
        best: Coverage | None = None
        for result in results:
            coverage = Coverage(asked, result.program, self._relations, result)
            if foreign := coverage.foreign_constants():
                self._doubts.append(f"The program uses what the question does not say: {', '.join(foreign)[:200]}.")
            if coverage.unasked:
                self._doubts.append(f"The question asks for no {' or '.join(coverage.unasked)}.")
            if best is None or coverage.count_left > best.count_left:
                best = coverage
        if best is not None and best.left:
            self._doubts.append(f"Not found in the table: {best.left}.")
        if best is not None and best.unaccounted:
            self._doubts.append(f"Not accounted for: {', '.join(best.unaccounted)}.")

    def _rivals(self, results: Sequence[ProgramResult]) -> tuple[list[RankedProgram], float | None, bool]:
        """Programs of the ranker that fit as well and give something else; its confidence in the answer; whether
        its own best program returns the same result from the same table."""
        if not results:
            return [], None, False
        mine = [id for result in results for id in tables_of(result.program)]
        scores = {found.table: found.score for found in self._evidence.retrieval.tables}
        ids = list(dict.fromkeys((*mine, *self._evidence.tables)))[:MOST_TABLES]
        ids.sort(key=lambda id: -scores.get(id, 0.0))
        tables = [(self._relations[id], scores.get(id, 0.0)) for id in ids]
        ranked = answer_by_programs(self._question, tables)
        others = _programs(ranked)
        asked = Question.read(self._question)
        left = max(Coverage(asked, r.program, self._relations, r).count_left for r in results)
        answer = answer_key(self._said)
        same = [other.confidence for other in others if answer_key(_values(other.result)) == answer]
        confidence = max(same, default=None)
        best = ranked.best
        agreed = best is not None and bool(set(best.tables) & set(mine)) and answer_key(_values(best.result)) == answer
        kinds = {_kind(value) for value in self._said}
        if not kinds <= _KINDS.get(asked.wh, _ANY):
            kinds = set(_ANY)
        units = {value.unit for value in self._said if value.number is not None}
        rivals = []
        for other in others:
            values = list(_values(other.result))
            if not {_kind(value) for value in values} <= kinds:
                continue
            if asked.wh == "how_many" and not all(comparable(v.unit, unit) for v in values for unit in units):
                continue
            if answer_key(map(_absolute, values)) == answer_key(map(_absolute, self._said)):
                continue
            apart = not set(other.tables) & set(mine)
            if other.confidence < (RIVAL_TABLE if apart else RIVAL) * (confidence or 1.0):
                continue
            if Coverage(asked, other.result.program, self._relations, other.result).count_left <= left:
                rivals.append(other)
        return rivals, confidence, agreed

    def _by_size(self, result: ProgramResult) -> ProgramResult | None:
        """The extreme of numbers printed in brackets by their absolute values, if it differs."""
        if not extremes(result.program):
            return None
        read = islice(result.cells(), MOST_READ)
        if not any(cell.text.lstrip("$€£¥ ").startswith("(") for cell in read if cell.text.rstrip(" %").endswith(")")):
            return None
        try:
            found = run(Program(_by_size(result.program.root)), self._relations)
        except KgtableError:
            return None
        if answer_key(map(_absolute, _values(found))) == answer_key(map(_absolute, _values(result))):
            return None
        return found

    def _named_by_the_model(self) -> tuple[Alternative, ...]:
        """The answers of other tables that the model names, as far as they are grounded themselves."""
        return tuple(filter(None, map(self._other, self._draft.alternatives)))

    def _other(self, other: DraftAlternative) -> Alternative | None:
        judge = _Judge(Draft(other.text, other.citations, other.program), self._evidence)
        try:
            results = judge._cited()[0] if other.program is None else [judge._executed(other.program)]
        except (KgtableError, ArithmeticError, RecursionError):
            return None
        facts = judge._facts(results)
        if judge._faults or not results or results[0].empty:
            return None
        if other.program is None and check_text(other.text, facts, self._question).faults:
            return None
        found = reading_of(results, self._evidence)
        return found if found.citations or tables_of(results[0].program) else None  # a mere constant has no table


def _told(error: Exception) -> str:
    """An error for the model: message, place and hint."""
    place = getattr(error, "path", "")
    hint = getattr(error, "hint", "")
    message = getattr(error, "message", "") or str(error) or type(error).__name__
    return " ".join(filter(None, (message, hint, f"(at {place})" if place else "")))[:600]


def _values(result: ProgramResult) -> Iterable[Datum]:
    return (value for row in result.rows() for value in row if value is not None)


def _text_datum(cell: Citation) -> Datum:
    return Datum(ValueKind.TEXT, cell.text, text=cell.text)


def _kind(value: Datum) -> str:
    """Kind of a value in an answer: a truth value, a number, a time, the name of something, or a text."""
    if isinstance(value.value, bool) or normal(text_of(value)) in ("yes", "no"):
        return "truth"
    if value.number is not None:
        return "number"
    if isinstance(value.value, TimeSpan):
        return "time"
    if value.kind is ValueKind.ENTITY:
        return "name"
    text = text_of(value)
    if time_in(text) is not None:
        return "time"
    return "number" if text[:1].isdigit() else "text"


def _programs(ranked: RankedAnswer) -> list[RankedProgram]:
    return [*([ranked.best] if ranked.best is not None else []), *ranked.alternatives]


def answer_key(values: Iterable[Datum]) -> frozenset[object]:
    """A key that equal answers share: the set of values, numbers to 12 digits."""
    return frozenset(map(_rounded_key, islice(values, MOST_VALUES)))


def _rounded_key(value: Datum) -> object:
    key = key_of(value)
    number = key[-1]
    if isinstance(number, Decimal | Fraction | int) and not isinstance(number, bool):
        return f"{float(number):.12g}"
    return normal(text_of(value)) if key[0] == "text" else key


def _absolute(value: Datum) -> Datum:
    return value if value.number is None else value._replace(value=abs(value.number), text="")


def _by_size(node: Node) -> Node:
    """A program in which extremes compare absolute values."""

    def change(part: object) -> object:
        if isinstance(part, SortKey):
            return replace(part, expression=Apply(Function.ABSOLUTE, part.expression))
        if isinstance(part, Aggregate) and part.function in (AggregateFunction.MIN, AggregateFunction.MAX):
            argument = part.argument
            return replace(part, argument=None if argument is None else Apply(Function.ABSOLUTE, argument))
        return part

    return cast(Node, rebuilt(node, change))
