"""Answers from text and tables without a language model: the likelier of a program and of words in a passage.

What stands in a cell is executed and judged as everywhere; what stands in a text alone is told with its words and
place, and stays unverified. The ranker of programs weighs a table by little: where its program is unsure and reads
another table than the one whose place fits best, the best one is asked alone, and the likelier of the two answers is
taken, by learned weights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from math import log

from kgtable.answering.answer import Answer, PassageCitation
from kgtable.answering.evidence import Evidence
from kgtable.answering.program_answers import RULES, answer_by_rules
from kgtable.errors import EvaluationError, ProgramError
from kgtable.programs.algebra import Arithmetic, Constant, Expression, Operator, Program, ValueKind
from kgtable.programs.batch_execution import value_text
from kgtable.programs.executor import run
from kgtable.programs.scalars import Datum
from kgtable.resources import read_packaged_json
from kgtable.retrieval.result import Retrieval, ScoredPassage
from kgtable.semantic_parsing.ranker_weights import RankerWeights
from kgtable.systems.documents.extraction import Extract, extract
from kgtable.systems.documents.mixed_programs import mixed_answer
from kgtable.systems.documents.passage_sentences import (
    COMPUTED,
    SEVERAL,
    YEARS,
    AskedText,
    PassageSentence,
    question_kind,
)
from kgtable.text.passages import sentence_spans
from kgtable.text.text_quantities import TextQuantity, find_period_mentions, find_quantities
from kgtable.text.words import stem, words

_PERCENT_CHANGE = re.compile(
    r"(?:\bpercent\w*|%) (?:change|increase|decrease|growth|decline)|\b(?:growth|change) rate", re.IGNORECASE
)
_CHANGE = re.compile(r"\b(?:change|difference|increase|decrease|growth|decline)\b", re.IGNORECASE)
_MEAN = re.compile(r"\b(?:average|mean)\b", re.IGNORECASE)
_SUM = re.compile(r"\b(?:total|sum|combined|together)\b", re.IGNORECASE)
SENTENCES = 3
"""Of the sentences that fit best, those that are looked at."""


@dataclass(frozen=True, slots=True)
class TextComputation:
    """A program over the quantities of one sentence, one quantity for each year of the question.

    Where nothing is to be computed there is no program and no value: the quantities themselves are the answer, in the
    order in which the question names the years.
    """

    program: Program | None
    value: Datum | None
    words: str
    sentence: PassageSentence
    quantities: tuple[TextQuantity, ...]

    @property
    def text(self) -> str:
        """The answer in words."""
        return "; ".join(q.text for q in self.quantities) if self.value is None else value_text(self.value)


def compute_from_text(question: str, passages: Sequence[ScoredPassage]) -> TextComputation | None:
    """The computation or list over at least two named years that a question asks for; None for other questions.

    A sentence must say exactly one quantity of one unit for each of the years.

    >>> text = "Revenue was $3 million and $2 million in 2019 and 2018, respectively."
    >>> passage = ScoredPassage("", "d", "a.md", None, (), "", text, 1.0)
    >>> found = compute_from_text("What was the change in revenue between 2018 and 2019?", [passage])
    >>> found.words, f"{found.value.number:f}", found.value.unit
    ('“$3 million” (2019) minus “$2 million” (2018)', '1000000', 'CCY_USD')
    >>> compute_from_text("What was revenue in 2018 and 2019, respectively?", [passage]).text
    '$2 million; $3 million'
    """
    named = list(dict.fromkeys(YEARS.findall(question)))
    years = sorted(named)
    if len(years) < 2:
        return None
    asked = AskedText(question, passages)
    for sentence in sorted(asked.sentences, key=lambda found: -found.fit)[:SENTENCES]:
        quantities = _of_years(sentence.text, years)
        if quantities is None:
            continue
        made = _program(question, quantities, years)
        if made is None and not COMPUTED.search(question):
            of_years = dict(zip(years, quantities, strict=True))
            listed = tuple(of_years[year] for year in named)
            words = ", ".join(f"“{of_years[year].text}” ({year})" for year in named)
            return TextComputation(None, None, words, sentence, listed)
        if made is None:
            return None
        try:
            value = run(Program(made[0]), {}).value
        except (ProgramError, EvaluationError):
            return None
        if value is None or value.number is None:
            return None
        return TextComputation(Program(made[0]), value, made[1], sentence, quantities)
    return None


def _of_years(text: str, years: Sequence[str]) -> tuple[TextQuantity, ...] | None:
    """The quantities of the first unit of which the text says exactly one for each year."""
    said = find_quantities(text)
    for unit in dict.fromkeys(quantity.unit for quantity in said):
        each = [
            [quantity for quantity in said if quantity.unit == unit and year in (quantity.period or "")]
            for year in years
        ]
        if all(len(found) == 1 for found in each):
            return tuple(found[0] for found in each)
    return None


def _program(
    question: str, quantities: Sequence[TextQuantity], years: Sequence[str]
) -> tuple[Expression, str] | None:
    """The program that the question's words ask for, and how it is said."""
    numbers: list[Expression] = [Constant(q.value, ValueKind.QUANTITY, q.unit) for q in quantities]
    named = [f"“{q.text}” ({year})" for q, year in zip(quantities, years, strict=True)]
    if len(numbers) == 2 and _PERCENT_CHANGE.search(question):
        words = f"percent change from {named[0]} to {named[1]}"
        return Arithmetic(Operator.PERCENT_CHANGE, numbers[0], numbers[1]), words
    if len(numbers) == 2 and _CHANGE.search(question):
        return Arithmetic(Operator.SUBTRACT, numbers[1], numbers[0]), f"{named[1]} minus {named[0]}"
    whole = numbers[0]
    for number in numbers[1:]:
        whole = Arithmetic(Operator.ADD, whole, number)
    if _MEAN.search(question):
        count = Constant(Decimal(len(numbers)), ValueKind.QUANTITY)
        return Arithmetic(Operator.DIVIDE, whole, count), f"mean of {' and '.join(named)}"
    if _SUM.search(question):
        return whole, f"sum of {' and '.join(named)}"
    return None


LEAST_FIT = 0.35
"""The share of a question's weight that a sentence must have to answer it."""

LONGEST_WORDS = 600

SURE_SENTENCE, UNSURE_PROGRAM = 0.65, 0.15
"""The fit of a sentence from which on its numbers are computed with, and the confidence of a program over tables up to
which they are put before it."""


@dataclass(frozen=True, slots=True)
class TwoAnswers:
    """The answer of a program over the tables, and the answer extracted from a passage; each may be missing."""

    by_table: Answer
    by_text: Extract | None
    passages: tuple[ScoredPassage, ...]

    @property
    def features(self) -> tuple[tuple[str, float], ...]:
        """The features by which passage and program are weighed against each other."""
        return tuple(_features(self))

    @property
    def says_text(self) -> bool:
        """Whether the words are the likelier answer, by learned weights."""
        if self.by_text is None:
            return False
        if self.by_table.verified or not self.by_table.found:
            return not self.by_table.verified
        known = composition_weights()
        return sum(known.get(name, 0.0) * value for name, value in self.features) > 0


def two_answers(evidence: Evidence, keep: int) -> TwoAnswers:
    """The answer of the tables by their places, and that of the first `keep` passages."""
    retrieval = evidence.retrieval
    by_table = table_answers(evidence).chosen(table_weights()) if evidence.tables else _nothing(retrieval)
    passages = retrieval.passages[:keep]
    found = extract(retrieval.question, passages)
    if found is not None and found.fit < LEAST_FIT:
        found = None
    return TwoAnswers(replace(by_table, retrieval=retrieval), found, passages)


def answer_by_text_and_tables(evidence: Evidence, keep: int) -> Answer:
    """The likelier answer of the two; its reasons say what the other says of it.

    Args:
        evidence: tables and passages that were retrieved.
        keep: how many passages are read.
    """
    both = two_answers(evidence, keep)
    mixed = None if both.by_table.verified else mixed_answer(evidence, evidence.tables[:keep], both.passages)
    if mixed is not None:
        return mixed
    computed = computed_of(both)
    if computed is not None:
        return _from_computation(computed, both.by_table, evidence.retrieval)
    if both.by_text is None or not both.says_text:
        return _with_text(both.by_table, both.passages)
    return _from_text(both.by_text, both.by_table, evidence.retrieval)


def composition_weights() -> dict[str, float]:
    """The learned weight of each feature of two answers, see ``scripts/train_spans.py``."""
    weights: dict[str, float] = read_packaged_json("systems/documents/composition_weights.json")
    return weights


def _features(both: TwoAnswers) -> Iterator[tuple[str, float]]:
    found, by_table = both.by_text, both.by_table
    if found is None:
        return
    retrieval = by_table.retrieval
    question = by_table.question
    kind = question_kind(question)
    passage = found.sentence.passage
    yield "text", 1.0
    yield f"kind:{kind}", 1.0
    yield "share", log_odds(found.share)
    yield "sentence", log_odds(found.sentence.share)
    yield "fit", found.fit
    yield "words", log(1 + len(found.text.split()))
    form = "quantity" if found.quantity else "period" if find_period_mentions(found.text) else "words"
    yield f"form:{form}", 1.0
    yield f"form:{form}:{kind}", 1.0
    yield f"several:{SEVERAL.search(question) is not None}", 1.0
    yield f"computed:{COMPUTED.search(question) is not None}", 1.0
    years = set(YEARS.findall(question))
    yield f"years:{min(len(years), 2)}:{form}", 1.0
    if found.quantity is not None and years:
        yield "period", float(any(year in (found.quantity.period or "") for year in years))
    yield "confidence", log_odds(by_table.confidence or 0.0)
    yield "cells", log(1 + by_table.cells_read)
    if retrieval is not None and retrieval.tables:
        yield "ahead", log(max(passage.score, 1e-6) / max(retrieval.tables[0].score, 1e-6))
    cited = {citation.table for citation in by_table.citations}
    yield "beside", float(bool(cited & set(passage.tables)))
    asked = AskedText(question, both.passages)
    yield "said-of-cells", _said_of_cells(asked, by_table)


def computed_of(both: TwoAnswers) -> TextComputation | None:
    """The computation from a sentence, if the tables give no good answer and the sentence fits well."""
    by_table = both.by_table
    if by_table.verified or (by_table.found and (by_table.confidence or 0.0) > UNSURE_PROGRAM):
        return None
    found = compute_from_text(by_table.question, both.passages)
    return found if found is not None and found.sentence.fit >= SURE_SENTENCE else None


def _from_computation(found: TextComputation, by_table: Answer, retrieval: Retrieval) -> Answer:
    sentence, value = found.sentence, found.value
    reasons = ["Said by a text alone: nothing was computed."]
    if value is not None:
        reasons = ["Computed from numbers of a text alone."]
    if by_table.found:
        reasons.append(f"A table may mean something else: {by_table.text[:120]}.")
    return replace(
        by_table,
        text=found.text,
        value=None if value is None else f"{value.number:f}",
        unit=found.quantities[0].unit if value is None else value.unit,
        verified=False,
        grounded=True,
        ambiguous=False,
        reasons=tuple(reasons),
        citations=(),
        calculation=None if value is None else found.words,
        alternatives=(),
        program=found.program,
        confidence=None,
        cells_read=0,
        method=retrieval.method,
        passages=(cited_words(sentence.passage, sentence.start, sentence.text),),
    )


def _said_of_cells(asked: AskedText, by_table: Answer) -> float:
    """The share of the question's weight that the labels, headers and words of the program say."""
    cells = (f"{cited.label} {cited.header}" for cited in by_table.citations[:20])
    said = frozenset(map(stem, words(" ".join([*cells, by_table.calculation or ""]))))
    return sum(weight for word, weight in asked.weights.items() if word in said) / asked.total


def _nothing(retrieval: Retrieval) -> Answer:
    return Answer(retrieval.question, "", method=retrieval.method, model=RULES, retrieval=retrieval)


def cited_words(passage: ScoredPassage, start: int, text: str) -> PassageCitation:
    """The citation of a text that stands in a passage from `start` on."""
    paragraph, page = passage.place_of(start)
    offset = passage.start_of(start)
    return PassageCitation(passage.passage, passage.file, page, paragraph, offset, text[:LONGEST_WORDS])


def _from_text(found: Extract, by_table: Answer, retrieval: Retrieval) -> Answer:
    quantity = found.quantity
    sentence = found.sentence
    reasons = ["Said by a text alone: nothing was computed."]
    if by_table.found and quantity is not None and _same_number(by_table.value, quantity.value):
        reasons = ["The text and the table agree."]
    elif by_table.found:
        reasons.append(f"A table may mean something else: {by_table.text[:120]}.")
    else:
        reasons.append("The tables are silent on it.")
    return replace(
        by_table,
        text=found.text,
        value=None if quantity is None else f"{quantity.value:f}",
        unit=None if quantity is None else quantity.unit,
        verified=False,
        grounded=True,
        ambiguous=False,
        reasons=tuple(reasons),
        citations=by_table.citations if reasons[0].endswith("agree.") else (),
        calculation=None,
        alternatives=(),
        program=None,
        confidence=None,
        method=retrieval.method,
        passages=(cited_words(sentence.passage, sentence.start, sentence.text),),
    )


def _with_text(answer: Answer, passages: Sequence[ScoredPassage]) -> Answer:
    """The answer of a table, with the sentence that states the same number where there is one."""
    if not answer.found or answer.value is None:
        return answer
    for passage in passages:
        for start, end in sentence_spans(passage.text):
            said = find_quantities(passage.text[start:end])
            if any(_same_number(answer.value, q.value) and len(q.signed.strip("+-0.")) > 1 for q in said):
                cited = cited_words(passage, start, passage.text[start:end])
                reason = "A text beside the table says the same."
                return replace(answer, passages=(cited,), reasons=(*answer.reasons, reason))
    return answer


def _same_number(value: str | None, other: Decimal) -> bool:
    try:
        return value is not None and abs(Decimal(value)) == abs(other)
    except InvalidOperation:
        return False


LEAST_SHARE = 0.001


@dataclass(frozen=True, slots=True)
class TableAnswers:
    """The answer over all tables, and the one over the best table alone where that was asked.

    `share` is the probability of the place whose table the first one reads, `best` that of the best place.
    """

    over_all: Answer
    over_best: Answer | None = None
    share: float = 0.0
    best: float = 0.0

    @property
    def features(self) -> tuple[tuple[str, float], ...]:
        """The features in favour of the answer over the best table."""
        alone = self.over_best
        return (
            ("best", 1.0),
            ("confidence-all", log_odds(self.over_all.confidence or 0.0)),
            ("confidence-best", log_odds(0.0 if alone is None else alone.confidence or 0.0)),
            ("share-all", log(max(self.share, LEAST_SHARE))),
            ("share-best", log(max(self.best, LEAST_SHARE))),
        )

    def chosen(self, weights: Mapping[str, float]) -> Answer:
        """The likelier answer by these weights.

        That of the best table alone is never verified: in another table something else fits about as well. Its
        confidence is that of its program, given the table, times the probability of the place.
        """
        alone = self.over_best
        if alone is None or not alone.found or self.over_all.verified:
            return self.over_all
        if sum(weights.get(name, 0.0) * value for name, value in self.features) <= 0:
            return self.over_all
        reasons = ["Read from the table that fits the question best; others were not ruled out."]
        if self.over_all.found:
            reasons.append(f"Another table may mean something else: {self.over_all.text[:120]}.")
        return replace(
            alone, verified=False, reasons=tuple(reasons), confidence=(alone.confidence or 0.0) * self.best
        )


def table_answers(evidence: Evidence, known: RankerWeights | None = None) -> TableAnswers:
    """The answers of the tables, ranked by their places where the retrieval tells them.

    `known` are other weights of the ranker of programs than those that kgtable ships.
    """
    retrieval = evidence.retrieval
    by_place = retrieval.trace.get("tables") or retrieval.tables
    over_all = answer_by_rules(Evidence(replace(retrieval, tables=tuple(by_place)), evidence.source), known)
    shares = {place.table: place.score for place in by_place}
    read = next((citation.table for citation in over_all.citations), None)
    first = by_place[0]
    if over_all.verified or read == first.table or not retrieval.trace.get("tables"):
        return TableAnswers(over_all)
    alone = answer_by_rules(Evidence(replace(retrieval, tables=(first,)), evidence.source), known)
    return TableAnswers(over_all, alone, shares.get(read or "", 0.0), first.score)


def table_weights() -> dict[str, float]:
    """The learned weight of each feature of `TableAnswers`, see ``scripts/train_spans.py``."""
    weights: dict[str, float] = read_packaged_json("systems/documents/table_weights.json")
    return weights


def log_odds(probability: float) -> float:
    """The logarithm of the odds, within bounds."""
    bounded = min(max(probability, 0.01), 0.99)
    return log(bounded / (1 - bounded))
