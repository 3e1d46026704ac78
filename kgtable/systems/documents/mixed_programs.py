"""Programs over a number of a table and one of a text, such as "the sales of Oslo less the rent".

A question that names two amounts is divided into two questions, each for one of them. One is answered by a program
over the best table, the other by the number of a sentence that has all its words; a program computes with both. Where
the table alone or nothing but the text has both, nothing is said here: that is what programs over tables and
`document_answers.compute_from_text` are for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from kgtable.answering.answer import Answer, PassageCitation
from kgtable.answering.evidence import Evidence
from kgtable.answering.program_answers import answer_by_rules, citations_of, relations_of
from kgtable.errors import EvaluationError, ProgramError
from kgtable.programs.algebra import (
    Arithmetic,
    Constant,
    Expression,
    Lookup,
    Operator,
    Program,
    Project,
    ValueKind,
)
from kgtable.programs.batch_execution import value_text
from kgtable.programs.executor import run
from kgtable.programs.scalars import format_decimal
from kgtable.retrieval.result import ScoredPassage
from kgtable.systems.documents.passage_sentences import YEARS, AskedText, PassageSentence, is_operation
from kgtable.text.text_quantities import TextQuantity, find_quantities
from kgtable.text.words import is_empty_word, stem, words
from kgtable.values.units import SCALE_POWERS

_BE = r"(?:is|are|was|were)"
_FORMS = tuple(
    (operator, swapped, re.compile(pattern, re.IGNORECASE))
    for operator, swapped, pattern in (
        (Operator.SUBTRACT, False, r"\b(?:difference|gap) (?:\w+ )?between (?P<one>.+?) and (?P<other>.+)"),
        (
            Operator.SUBTRACT,
            False,
            rf"\bhow much (?:more|higher|greater|larger|bigger) {_BE} (?P<one>.+?) than (?P<other>.+)",
        ),
        (
            Operator.SUBTRACT,
            True,
            rf"\bhow much (?:less|lower|smaller) {_BE} (?P<one>.+?) than (?P<other>.+)",
        ),
        (
            Operator.SUBTRACT,
            False,
            r"\bby how much (?:do|does|did) (?P<one>.+?) (?:exceed|differ from) (?P<other>.+)",
        ),
        (Operator.ADD, False, r"\b(?:sum|total) of (?:both )?(?P<one>.+?) (?:and|plus) (?P<other>.+)"),
        (
            Operator.ADD,
            False,
            rf"\bwhat {_BE} (?P<one>.+?) and (?P<other>.+?) (?:together|combined|in total)\b",
        ),
        (Operator.RATIO, False, r"\bratio of (?P<one>.+?) to (?P<other>.+)"),
        (
            Operator.SHARE,
            False,
            r"\b(?:what|how much) (?:\w+ )?(?P<one>.+?),? as an? (?:percent(?:age)?|share|proportion) of (?P<other>.+)",
        ),
        (
            Operator.SHARE,
            True,
            rf"\b(?:percentage|share|proportion) of (?P<one>.+?) (?:{_BE}|do|does|did) (?P<other>.+)",
        ),
        (Operator.DIVIDE, False, r"\bwhat (?:\w+ )?(?P<one>.+?) per (?P<other>.+)"),
    )
)
_TIME = re.compile(
    r",?\s+(?:in|at|for|during|as (?:of|at)|on|by)\s+(?:the )?(?:end of |year ended? |fiscal |financial |year )*"
    r"(?:\w+ \d\d?,? |\d\d? \w+ |\w+ )?(?:19|20)\d\d\b.*$",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(?:is|are|was|were|the|its|their|our|value of|amount of|number of|that of|those of)\s+", re.I
)
LONGEST_WORDS = 600

StatedAmount: TypeAlias = tuple[PassageSentence, TextQuantity]
"""The sentence that states an amount, and its number."""


@dataclass(frozen=True, slots=True)
class TwoAmounts:
    """A computation from two amounts, each given as the words that name it, with its time."""

    operator: Operator
    one: str
    other: str


def two_amounts(question: str) -> TwoAmounts | None:
    """The two amounts that a question names and the operation on them; None for other questions.

    >>> two_amounts("What is the difference between the sales of Oslo and the rent in 2019?")
    TwoAmounts(operator=<Operator.SUBTRACT: 'subtract'>, one='sales of Oslo in 2019', other='rent in 2019')
    >>> two_amounts("How much less was the rent than sales?")
    TwoAmounts(operator=<Operator.SUBTRACT: 'subtract'>, one='sales', other='rent')
    >>> two_amounts("What is the difference between 2018 and 2019?") is None
    True
    """
    asked = question.strip().rstrip("?. ")
    for operator, swapped, form in _FORMS:
        match = form.search(asked)
        if match is None:
            continue
        one, other = match["one"], match["other"]
        after = asked[match.end() :]
        times = [found[0] if (found := _TIME.search(part)) else "" for part in (one, other + after)]
        one, other = (_TIME.sub("", part) for part in (one, other))
        shared = times[1] or times[0]
        named = [f"{_name(part)}{own or shared}" for part, own in ((one, times[0]), (other, times[1]))]
        if any(not _telling(part) for part in (one, other)):
            continue
        return TwoAmounts(operator, *(reversed(named) if swapped else named))
    return None


def _name(phrase: str) -> str:
    phrase = phrase.strip(" ,;:“”\"'")
    while (shorter := _OPENING.sub("", phrase)) != phrase:
        phrase = shorter
    return phrase


def _telling(phrase: str) -> frozenset[str]:
    """The stems of a phrase's words that say which amount is meant, years apart."""
    return frozenset(
        stem(word)
        for word in words(phrase)
        if not is_empty_word(word) and not is_operation(word) and not YEARS.fullmatch(word)
    )  # fmt: skip


def mixed_answer(
    evidence: Evidence, tables: Sequence[str], passages: Sequence[ScoredPassage]
) -> Answer | None:
    """The answer computed from one amount of a table and one of a text; None unless each gives exactly one.

    The answer cites the cells and the sentence, and is never verified.

    Args:
        evidence: the question with what was retrieved.
        tables: the ids of the tables that are asked, the best first.
        passages: the passages that are read.
    """
    amounts = two_amounts(evidence.retrieval.question)
    if amounts is None:
        return None
    said = [stated_amount(amounts.one, passages), stated_amount(amounts.other, passages)]
    if not any(said):
        return None
    for table in tables:
        cells = [_of_table(evidence, amounts.one, table), _of_table(evidence, amounts.other, table)]
        if cells[0] is not None and cells[1] is not None and cells[0].citations != cells[1].citations:
            return None
        for at in (0, 1):
            text, cell = said[at], cells[1 - at]
            if text is not None and cell is not None:
                found = _computed(evidence, amounts.operator, cell, text, text_first=at == 0)
                if found is not None:
                    return found
    return None


def stated_amount(amount: str, passages: Sequence[ScoredPassage]) -> StatedAmount | None:
    """The number that a sentence states for an amount: the only one of its time in a sentence with all its words.

    A number is of the time where its period has the year; of a sentence without periods any number is.
    """
    wanted, years = _telling(amount), frozenset(YEARS.findall(amount))
    if not wanted:
        return None
    found: dict[tuple[str, str | None], StatedAmount] = {}
    for sentence in AskedText(amount, passages).sentences:
        own = frozenset(map(stem, words(sentence.text)))
        if not wanted <= own:
            continue
        quantities = find_quantities(sentence.text)
        of_time = [
            quantity
            for quantity in quantities
            if not years or quantity.period is None or any(year in quantity.period for year in years)
        ]
        dated = [quantity for quantity in of_time if years and quantity.period is not None]
        fitting = dated or of_time
        if len(fitting) == 1:
            [quantity] = fitting
            found.setdefault((f"{quantity.value:f}", quantity.unit), (sentence, quantity))
    return next(iter(found.values())) if len(found) == 1 else None


def _of_table(evidence: Evidence, amount: str, table: str) -> Answer | None:
    """The number that a table has for an amount.

    Its words must all stand in the cells that the program reads, in the program, or in the title, caption
    or headings of the table.
    """
    best = next((found for found in evidence.retrieval.tables if found.table == table), None)
    if best is None:
        return None
    asked = replace(evidence.retrieval, question=f"What was the {amount}?", tables=(best,))
    answer = answer_by_rules(Evidence(asked, evidence.source))
    if answer.value is None or answer.program is None or _expression(answer.program) is None:
        return None
    cells = (f"{cell.label} {cell.header} {cell.text}" for cell in answer.citations)
    context = evidence.source.frame(table).table.context
    above = (context.title, context.caption, *context.heading)
    said = frozenset(map(stem, words(" ".join([*cells, answer.calculation or "", *above]))))
    return answer if _telling(amount) <= said else None


def _expression(program: Program) -> Expression | None:
    """A program for one number as an expression; None for one that lists several columns."""
    root = program.root
    if isinstance(root, Project) and len(root.columns) == 1:
        return Lookup(root.source, root.columns[0].expression)
    return root if isinstance(root, Expression) else None


def _computed(
    evidence: Evidence, operator: Operator, cell: Answer, said: StatedAmount, *, text_first: bool
) -> Answer | None:
    sentence, quantity = said
    if operator is not Operator.DIVIDE and quantity.unit != cell.unit:
        return None
    printed = quantity.value.scaleb(-SCALE_POWERS.get(quantity.scale or "", 0))
    number = Constant(printed, ValueKind.QUANTITY, quantity.unit, quantity.scale)
    read = None if cell.program is None else _expression(cell.program)
    if read is None:
        return None
    program = Program(Arithmetic(operator, *((number, read) if text_first else (read, number))))
    try:
        result = run(program, relations_of(evidence.source))
    except (ProgramError, EvaluationError):
        return None
    if result.value is None or result.value.number is None:
        return None
    citations, count = citations_of([result], evidence)
    passage = sentence.passage
    paragraph, page = passage.place_of(sentence.start)
    offset = passage.start_of(sentence.start)
    cited = PassageCitation(
        passage.passage, passage.file, page, paragraph, offset, sentence.text[:LONGEST_WORDS]
    )
    return replace(
        cell,
        question=evidence.retrieval.question,
        text=value_text(result.value),
        value=format_decimal(result.value.number),
        unit=result.value.unit,
        verified=False,
        grounded=True,
        ambiguous=False,
        reasons=(f"Computed from cells and from “{quantity.text}” of a text.",),
        citations=citations,
        calculation=result.derivation,
        alternatives=(),
        program=program,
        cells_read=count,
        passages=(cited,),
        retrieval=evidence.retrieval,
    )
