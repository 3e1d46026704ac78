"""Answers without a language model: candidate programs, ranked, executed, and judged.

`answer_by_programs` takes a question and tables with their scores. It answers with the likeliest program,
or abstains; it comes with other programs that fit about as well but have other results. An answer by rules
alone is grounded or ambiguous, never verified: verification takes a second, independent reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kgtable.errors import KgtableError, ProgramError, UnitMismatchError
from kgtable.index.inferred.relations import TableRelations
from kgtable.programs.algebra import Program
from kgtable.programs.display import text_of_rows
from kgtable.programs.executor import ProgramResult, run
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import format_decimal
from kgtable.questions.candidates import Candidate
from kgtable.questions.checks import missing_words, objections
from kgtable.questions.ranker import (
    Executed,
    abstention_features,
    confidence_features,
    confidence_of,
    execute,
    generate,
    probabilities,
    sources_of,
)
from kgtable.questions.ranker_weights import RankerWeights, ranker_weights
from kgtable.questions.reading import Question
from kgtable.questions.rivals import Interpretation, rivals_of
from kgtable.tables.model import spreadsheet_reference

UNLIKELY = 0.25
"""Below this confidence, an answer without groups gives way to a likelier one with them."""
MOST_TABLES = 10
MOST_ALTERNATIVES = 5


ENGLISH_ALONE = "Questions are read in English where no language model is set up. Choose the fields in Explore instead."


@dataclass(frozen=True)
class RankedProgram:
    """A program with its result, the tables it reads, its operator and its confidence."""

    program: Program
    result: ProgramResult
    text: str
    tables: tuple[str, ...]
    op: str
    confidence: float

    @property
    def value(self) -> str | None:
        """The resulting number, exact with the scale applied."""
        value = self.result.value
        return None if value is None or value.number is None else format_decimal(value.number)

    @property
    def unit(self) -> str | None:
        """The QUDT unit of that number."""
        value = self.result.value
        return None if value is None or value.number is None else value.unit


@dataclass(frozen=True)
class RankedAnswer:
    """The likeliest program's answer, or none; its confidence, and what else fits.

    `grounded`: the answer is the result of an executed program. `ambiguous`: a program that fits about as well
    has another result. `sure`: grounded, no check objects, and the confidence is high. `reasons` say in plain
    words what was checked or is missing.
    """

    question: str
    best: RankedProgram | None
    confidence: float
    grounded: bool = False
    ambiguous: bool = False
    sure: bool = False
    reasons: tuple[str, ...] = ()
    alternatives: tuple[RankedProgram, ...] = field(default=())
    parts: tuple[RankedAnswer, ...] = field(default=())
    """The answers to the several questions that the text asks, where it asks several."""

    @property
    def text(self) -> str:
        """The answer as one text, empty if there is none."""
        if self.parts:
            return "; ".join(part.text for part in self.parts if part.text)
        return self.best.text if self.best else ""

    @property
    def value(self) -> str | None:
        """The resulting number."""
        return self.best.value if self.best and not self.parts else None

    @property
    def unit(self) -> str | None:
        """The QUDT unit of that number."""
        return self.best.unit if self.best and not self.parts else None

    @property
    def op(self) -> str:
        """The operator of its program."""
        return self.best.op if self.best else ""

    @property
    def derivation(self) -> str:
        """How it was computed, in words."""
        return self.best.result.derivation if self.best else ""

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that it reads."""
        return self.best.tables if self.best else ()


def answer_by_programs(
    question: str,
    tables: Sequence[tuple[Relation, float]],
    *,
    known: RankerWeights | None = None,
    joins: TableRelations | None = None,
) -> RankedAnswer:
    """Answer a question from tables with scores, the best first.

    Args:
        question: in English.
        tables: relations with the scores of retrieval; the first `MOST_TABLES` are looked at.
        known: weights of the ranker; None for those that kgtable ships.
        joins: those that the graph states between its tables, for keys that the values alone do not show.

    Returns:
        The answer, possibly none, with its verdict and its alternatives. A candidate whose units do not fit is
        abandoned, and never an error.
    """
    known = known or ranker_weights()
    asked = Question.read(question)
    if len(asked.parts) > 1:
        return _several(question, [answer_by_programs(part, tables, known=known, joins=joins) for part in asked.parts])
    looked_at = list(tables[:MOST_TABLES])
    if asked.is_foreign:
        return RankedAnswer(question, None, 0.0, reasons=(ENGLISH_ALONE,))
    if not asked.tokens or not looked_at:
        return RankedAnswer(question, None, 0.0, reasons=("No table fits the question.",))
    try:
        answer = _likeliest(asked, looked_at, known, joins)
        if answer.confidence < UNLIKELY and asked.may_ask_for_groups:
            answer = max(answer, _likeliest(asked, looked_at, known, joins, True), key=lambda one: one.confidence)
        return answer
    except ProgramError as error:  # units that do not fit, met where no candidate is tried: no fault of the question
        return RankedAnswer(question, None, 0.0, reasons=(error.message,))


def _likeliest(
    asked: Question,
    looked_at: Sequence[tuple[Relation, float]],
    known: RankerWeights,
    joins: TableRelations | None,
    with_groups: bool | None = None,
) -> RankedAnswer:
    """The likeliest program's answer to one question. Raises `ProgramError` if its words make no program."""
    question = asked.text
    sources = sources_of(asked, looked_at, joins)
    relations = {relation.id: relation for relation, _ in looked_at}
    refused: list[tuple[Candidate, UnitMismatchError]] = []
    empty: list[Candidate] = []
    found = execute(generate(sources, known, with_groups), relations, known, refused=refused, empty=empty)
    (abstention,) = known.scores([abstention_features(found)])
    none = probabilities(found, abstention)
    if not found:
        return RankedAnswer(question, None, 0.0, reasons=("No program over the tables fits the question.",))
    groups: dict[tuple[object, ...], list[Executed]] = {}
    for executed in found:
        groups.setdefault(executed.key, []).append(executed)
    sums = {key: sum(executed.probability for executed in group) for key, group in groups.items()}
    ranked = sorted(groups, key=lambda key: (-groups[key][0].score,))
    best = _printed(groups[ranked[0]])
    share = sums[ranked[0]]
    told, _ = confidence_features(
        [executed.features for executed in found],
        [executed.score for executed in found],
        [executed.key for executed in found],
        abstention,
    )
    confidence = confidence_of(told, known)
    rivals = rivals_of(best, [groups[key][0] for key in ranked[1:]])
    reading = Interpretation(asked, best, rivals, confidence, sources)
    shown = [groups[key][0] for key in ranked[1 : 1 + MOST_ALTERNATIVES] if groups[key][0].score > best.score - 5]
    apart = {one.key: one for one in [*rivals[:MOST_ALTERNATIVES], *shown] if one.key != best.key}
    others = [_told(executed, relations, sums[key]) for key, executed in list(apart.items())[:MOST_ALTERNATIVES]]
    alternatives = tuple(other for other in others if other is not None)
    likeliest = groups[best.key][0]
    mixed = next((error for candidate, error in refused if _was_meant(asked, candidate, likeliest)), None)
    if mixed is not None:
        return RankedAnswer(question, None, confidence, reasons=(mixed.message,), alternatives=alternatives)
    missing = next((candidate for candidate in empty if _asks_for_a_gap(candidate, best)), None)
    if missing is not None and missing.target is not None:
        why = f"{missing.source.ids[0]} has no value of {missing.target.name} there."
        return RankedAnswer(question, None, confidence, reasons=(why,), alternatives=alternatives)
    main = _told(best, relations, confidence)
    if main is None or _guesses_the_column(best) or (none > share and _names_nothing(asked, best)):
        why = missing_words(reading) or "No program fits the question well enough."
        return RankedAnswer(question, None, confidence, reasons=(why,), alternatives=alternatives)
    against = objections(reading)
    if main.result.left_out:
        confidence = min(confidence, MOST_OF_A_PART)
        named = (f"{spreadsheet_reference(row, column)} {text!r}" for _, row, column, text in main.result.left_out)
        against.append(f"Left out, since they are not plain numbers: {', '.join(named)}.")
    if not against:
        reason = "Every word of the question is accounted for, and no other reading fits."
        return RankedAnswer(question, main, confidence, True, False, True, (reason,))
    return RankedAnswer(question, main, confidence, True, bool(rivals), False, tuple(against), alternatives)


def _printed(alike: Sequence[Executed]) -> Executed:
    """The likeliest of programs with one answer; the look-up of one cell comes before a sum that no word asks for."""
    best = alike[0]
    if best.candidate.op != "sum" or "total" in best.candidate.source.question.cues:
        return best
    cells = (one for one in alike if one.candidate.op == "select" and one.denotation.size == 1)
    return next((one for one in cells if one.candidate.source is best.candidate.source), best)


MOST_OF_A_PART = 0.6
"""The confidence in an aggregate of some of the cells at most."""


def _guesses_the_column(best: Executed) -> bool:
    """Whether the question names a column, and the program shows or orders by another, which it does not name."""
    features = best.features
    if best.candidate.op == "extreme":  # "the most points" are in no column
        asked = best.candidate.source.question
        left = asked.content & ~best.candidate.mask
        named = (
            token.stem not in adjective.headers
            for adjective, mask in asked.adjectives
            for token in asked.tokens
            if mask << 1 & left & 1 << token.index
        )
        return bool(features.get("m:unlinked")) and any(named)
    return best.candidate.op == "select" and bool(features.get("uncovered:focus") and features.get("select:t:unlinked"))


def _names_nothing(question: Question, best: Executed) -> bool:
    """Whether the best program leaves out a name, a quotation, a number, or most of the question."""
    features = best.features
    left = ("uncovered:name", "uncovered:quoted", "uncovered:number")
    return any(features.get(name) for name in left) or features["uncovered"] >= 0.5


def _asks_for_a_gap(candidate: Candidate, best: Executed) -> bool:
    """Whether a cell that is missing was asked for by name, of a row that was, and fits better than the best."""
    named = bool(candidate.conditions) and all(c.kind == "exact" for c in candidate.conditions)
    target = candidate.target
    linked = target is not None and candidate.source.link(target).exact
    return candidate.op == "select" and named and linked and candidate.score >= best.candidate.score


_MIXING = ("sum", "mean", "median", "max", "min", "extreme", "group_extreme/sum", "group_extreme/mean")
"""The operators that add up or compare the values of a measure."""

_SAYING = {"sum": "total", "mean": "average", "median": "median"}
"""The cues that ask for an aggregate."""


def _was_meant(question: Question, candidate: Candidate, best: Executed) -> bool:
    """Whether a program that was refused fits better than the best that was executed."""
    aggregated = candidate.op in _MIXING and candidate.measure is not None
    linked = candidate.features.get("m:link", 0.0) >= 0.5
    said = question.cues.get(_SAYING.get(candidate.op, ""), 0)
    if any(said & condition.mask for condition in best.candidate.conditions if condition.kind == "exact"):
        return False  # "average price" is the name of a row
    return aggregated and linked and candidate.score > best.candidate.score - 0.5


def _several(question: str, parts: Sequence[RankedAnswer]) -> RankedAnswer:
    """The answers to several questions as one: as sure as the least sure of them."""
    best = next((part.best for part in parts if part.best), None)
    reasons = tuple(dict.fromkeys(reason for part in parts for reason in part.reasons))
    return RankedAnswer(
        question,
        best,
        min(part.confidence for part in parts),
        all(part.grounded for part in parts),
        any(part.ambiguous for part in parts),
        all(part.sure for part in parts),
        reasons,
        tuple(other for part in parts for other in part.alternatives),
        tuple(parts),
    )


def _told(executed: Executed, relations: Mapping[str, Relation], confidence: float) -> RankedProgram | None:
    try:
        result = run(executed.candidate.program, relations)
    except KgtableError:
        return None
    candidate = executed.candidate
    said = text_of_rows(executed.denotation.rows)
    return RankedProgram(candidate.program, result, said, candidate.source.ids, candidate.op, confidence)
