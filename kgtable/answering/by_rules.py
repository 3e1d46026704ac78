"""Answers without a language model: candidate programs, ranked, executed, and judged.

`answer_by_programs` takes a question and tables with their scores. It answers with the likeliest program,
or abstains; beside it stand other programs that fit about as well and give something else. What the
three words of a verdict mean is said in docs (grounded, ambiguous, verified).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kgtable.answering.coverage import TELLING, Coverage
from kgtable.errors import KgtableError, UnitMismatchError
from kgtable.index.relations import TableRelations
from kgtable.programs.algebra import ColumnRef, Program, ValueKind, walk
from kgtable.programs.batch_execution import texts
from kgtable.programs.executor import ProgramResult, run
from kgtable.programs.grammar import Candidate
from kgtable.programs.ranker import (
    Executed,
    RankerWeights,
    abstention_features,
    confidence_features,
    confidence_of,
    execute,
    generate,
    probabilities,
    sources_of,
    weights,
)
from kgtable.programs.reading import Question, consumed_cues, synonyms
from kgtable.programs.relation import ColumnRole, Relation
from kgtable.programs.relation_index import ColumnView
from kgtable.programs.scalars import Datum, format_decimal
from kgtable.programs.sources import ProgramSource

MOST_TABLES = 8
MOST_ALTERNATIVES = 5
VERIFIED_FROM = 0.70
"""The calibrated confidence from which an answer may be called verified."""

RIVAL_WITHIN = 1.0
"""How far below the best score a program is still a rival, in natural logarithms of odds."""

RIVAL_TABLE_WITHIN = 2.5
"""The same for the same operator over other tables."""

_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True)
class RankedProgram:
    """A program with what it gives, the tables it reads, its operator and its confidence."""

    program: Program
    result: ProgramResult
    texts: tuple[str, ...]
    tables: tuple[str, ...]
    op: str
    confidence: float

    @property
    def text(self) -> str:
        """The answer as one text."""
        return "; ".join(dict.fromkeys(self.texts))

    @property
    def value(self) -> str | None:
        """The number that it gives, exact with the scale applied."""
        value = self.result.value
        return None if value is None or value.number is None else format_decimal(value.number)

    @property
    def unit(self) -> str | None:
        """The QUDT unit of that number."""
        value = self.result.value
        return None if value is None or value.number is None else value.unit


@dataclass(frozen=True)
class RankedAnswer:
    """The likeliest program's answer, or none; how sure it is, and what else fits.

    `grounded`: the answer is what an executed program gave. `ambiguous`: a program that fits about as well
    gives something else. `verified`: grounded, every content word of the question accounted for, not
    ambiguous, and the confidence high. `reasons` say in plain words what was checked or is missing.
    """

    question: str
    best: RankedProgram | None
    confidence: float
    grounded: bool = False
    ambiguous: bool = False
    verified: bool = False
    reasons: tuple[str, ...] = ()
    alternatives: tuple[RankedProgram, ...] = field(default=())
    parts: tuple[RankedAnswer, ...] = field(default=())
    """The answers to the several questions that the text asks, where it asks several."""

    @property
    def text(self) -> str:
        """The answer as one text, empty where there is none."""
        if self.parts:
            return "; ".join(part.text for part in self.parts if part.text)
        return self.best.text if self.best else ""

    @property
    def value(self) -> str | None:
        """The number that it gives."""
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
        The answer, possibly none, with its verdict and its alternatives.
    """
    known = known or weights()
    asked = Question.read(question)
    if len(asked.parts) > 1:
        return _several(
            question, [answer_by_programs(part, tables, known=known, joins=joins) for part in asked.parts]
        )
    looked_at = list(tables[:MOST_TABLES])
    if not asked.tokens or not looked_at:
        return RankedAnswer(question, None, 0.0, reasons=("No table fits the question.",))
    sources = sources_of(asked, looked_at, joins)
    relations = {relation.id: relation for relation, _ in looked_at}
    refused: list[tuple[Candidate, UnitMismatchError]] = []
    found = execute(generate(sources, known), relations, known, refused=refused)
    abstention = known.score(abstention_features(found))
    none = probabilities(found, abstention)
    if not found:
        return RankedAnswer(question, None, 0.0, reasons=("No program over the tables fits the question.",))
    groups: dict[tuple[object, ...], list[Executed]] = {}
    for executed in found:
        groups.setdefault(executed.key, []).append(executed)
    sums = {key: sum(executed.probability for executed in group) for key, group in groups.items()}
    ranked = sorted(groups, key=lambda key: (-groups[key][0].score,))
    best = groups[ranked[0]][0]
    share = sums[ranked[0]]
    told, _ = confidence_features(
        [executed.features for executed in found],
        [executed.score for executed in found],
        [executed.key for executed in found],
        abstention,
    )
    confidence = confidence_of(told, known)
    rivals = [groups[key][0] for key in ranked[1:] if _is_rival(groups[key][0], best)]
    shown = [
        groups[key][0] for key in ranked[1 : 1 + MOST_ALTERNATIVES] if groups[key][0].score > best.score - 5
    ]
    apart = {executed.key: executed for executed in [*rivals[:MOST_ALTERNATIVES], *shown]}
    others = [
        _told(executed, relations, sums[key]) for key, executed in list(apart.items())[:MOST_ALTERNATIVES]
    ]
    alternatives = tuple(other for other in others if other is not None)
    mixed = next((error for candidate, error in refused if _was_meant(candidate, best)), None)
    if mixed is not None:
        return RankedAnswer(question, None, confidence, reasons=(mixed.message,), alternatives=alternatives)
    main = _told(best, relations, confidence)
    if main is None or (none > share and _names_nothing(asked, best)):
        why = _missing(asked, best, sources) or "No program fits the question well enough."
        return RankedAnswer(question, None, confidence, reasons=(why,), alternatives=alternatives)
    doubts = list(_doubts(asked, best, rivals, confidence, sources))
    ambiguous = bool(rivals)
    if not doubts:
        reason = "Every word of the question is accounted for, and no other reading fits."
        return RankedAnswer(question, main, confidence, True, False, True, (reason,))
    return RankedAnswer(question, main, confidence, True, ambiguous, False, tuple(doubts), alternatives)


def _names_nothing(question: Question, best: Executed) -> bool:
    """Whether what is left out by the best program is a name, a quotation, a number, or most of the question."""
    features = best.features
    left = ("uncovered:name", "uncovered:quoted", "uncovered:number")
    return any(features.get(name) for name in left) or features["uncovered"] >= 0.5


def _was_meant(candidate: Candidate, best: Executed) -> bool:
    """Whether a program that was refused fits better than the best that was executed."""
    aggregated = candidate.op in ("sum", "mean", "median") and candidate.measure is not None
    linked = candidate.features.get("m:link", 0.0) >= 0.5
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
        all(part.verified for part in parts),
        reasons,
        tuple(other for part in parts for other in part.alternatives),
        tuple(parts),
    )


def _uncovered(question: Question, executed: Executed) -> int:
    return (question.content | executed.candidate.source.values) & ~executed.candidate.mask


def _is_rival(other: Executed, best: Executed) -> bool:
    """Whether another program fits about as well: its score is near, and it leaves no more words out."""
    if other.score < best.score - RIVAL_WITHIN:
        apart = other.candidate.source.ids != best.candidate.source.ids
        same_form = other.candidate.op == best.candidate.op
        if not (apart and same_form and other.score > best.score - RIVAL_TABLE_WITHIN):
            return False
    return other.features["uncovered"] <= best.features["uncovered"] + 1e-9


def _doubts(
    question: Question,
    best: Executed,
    rivals: Sequence[Executed],
    confidence: float,
    sources: Sequence[ProgramSource],
) -> list[str]:
    doubts = []
    missing = _missing(question, best, sources)
    if missing:
        doubts.append(missing)
    op = best.candidate.op.partition("/")[0]
    accounted = consumed_cues().get(op, consumed_cues()["any"])
    unused = [
        question.words_of(mask & ~best.candidate.mask)
        for cue, mask in question.cues.items()
        if cue in TELLING and cue not in accounted and mask & ~best.candidate.mask
    ]
    if unused:
        doubts.append(f"Not accounted for: {', '.join(dict.fromkeys(unused))}.")
    for rival in rivals[:1]:
        where = ", ".join(rival.candidate.source.ids)
        doubts.append(
            f"Another reading fits about as well and gives {'; '.join(texts(rival.denotation)[:3])} ({where})."
        )
    if op in ("sum", "mean", "min", "max", "extreme", "top", "columns") and _has_units_apart(best):
        doubts.append("The rows have units of their own.")
    target = best.candidate.target
    if target is not None and any(
        c.column == target.place and "not" not in c.kind for c in best.candidate.conditions
    ):
        doubts.append("The answer stands in a cell by which it was chosen.")
    if target is not None and _holds_the_name(best, target):
        doubts.append("The name in the question stands in the column of the answer, too.")
    if alike := _alike(question, best, sources):
        doubts.append(f"The words of the question fit another table as well ({alike}).")
    if periods := _other_periods(question, best):
        doubts.append(f"The question does not name {', '.join(periods)}.")
    if op in ("count", "count_distinct", "sum", "mean") and best.features.get("c:beside"):
        doubts.append("Other cells hold the same name beside others.")
    if "how_long" in question.cues and any(
        value.kind in (ValueKind.DATE, ValueKind.PERIOD) for value in _said(best)
    ):
        doubts.append("The answer is a date, where the question asks for a length.")
    if question.wh != "yes_no" and any(value.kind is ValueKind.TRUTH for value in _said(best)):
        doubts.append("The answer is yes or no, where the question asks for something else.")
    if question.wh == "who" and any(
        value.kind not in (ValueKind.TEXT, ValueKind.ENTITY) for value in _said(best)
    ):
        doubts.append("The answer is no name, where the question asks for somebody.")
    if target is not None and _refers_to_a_name(best, target, sources):
        doubts.append(
            "The answer is the key of a row in another table, where the question asks for its name."
        )
    if (
        op == "never"
        and target is not None
        and (
            not target.label
            or target.kind not in (ValueKind.TEXT, ValueKind.ENTITY)
            or _has_members_elsewhere(best, target, sources)
        )
    ):
        doubts.append("Another table may have rows of which nothing is said here.")
    if op == "first_last" and (words := _measured_words(question)):
        doubts.append(f"The order of the rows does not say what is {words}.")
    if best.denotation.rows and len(best.denotation.rows[0]) == 1 and _AND_NAMES.search(question.lower):
        doubts.append("The question asks for several things of each row.")
    if op == "difference" and _goes_back(question):
        doubts.append("The question goes from the later to the earlier.")
    if op == "count" and _counts_a_value(question, best):
        doubts.append("The rows have a quantity of their own, which a count leaves out.")
    if any(c.kind in ("partial",) and c.quality < 0.6 for c in best.candidate.conditions):
        doubts.append("A name of the question stands in the table in other words.")
    if confidence < VERIFIED_FROM:
        doubts.append("The reading of the question is not sure enough.")
    return doubts


def _said(executed: Executed) -> list[Datum]:
    return [value for row in executed.denotation.rows for value in row if value is not None]


def _holds_the_name(best: Executed, target: ColumnView) -> bool:
    """Whether a cell of the answered column is what the answer was chosen by, so that it may be meant the other way."""
    chosen = [c for c in best.candidate.conditions if c.kind == "exact" and c.column != target.place]
    other = [c for c in best.candidate.source.conditions if c.kind == "exact" and c.column == target.place]
    return any(c.mask & o.mask for c in chosen for o in other)


_AND_NAMES = re.compile(
    r"\b(?:\w+s? and (?:the |their )?(?:first |last |full )?names?|names? and (?:the |their )?\w+s?)\b"
)


def _measured_words(question: Question) -> str:
    """The superlatives that a column would have to say, as *oldest*, and not merely a place, as *first*."""
    tokens = question.tokens
    said = (
        tokens[mask.bit_length() - 1].word for a, mask in question.adjectives if a.superlative and a.headers
    )
    return ", ".join(word for word in said if word.endswith("est"))


def _has_members_elsewhere(best: Executed, target: ColumnView, sources: Sequence[ProgramSource]) -> bool:
    """Whether the answer's column refers to the rows of another table, which may have more of them."""
    joins = [source.join for source in sources if source.join is not None]
    return best.candidate.source.join is None and any(target.ref in (join.left, join.right) for join in joins)


def _refers_to_a_name(best: Executed, target: ColumnView, sources: Sequence[ProgramSource]) -> bool:
    """Whether the answer is a key that the question does not ask for, and another table names what it stands for."""
    if target.role is not ColumnRole.IDENTIFIER or best.candidate.source.link(target).key:
        return False
    for source in sources:
        join = source.join
        if join is None or target.ref not in (join.left, join.right):
            continue
        other = join.right if target.ref == join.left else join.left
        links = next((part for part in source.links if part.index.id == other.table), None)
        if links is not None and any(view.label and view.ref != other for view in links.index.columns):
            return True
    return False


def _alike(question: Question, best: Executed, sources: Sequence[ProgramSource]) -> str:
    """A table that has every word of the question that the answer's tables have; empty where there is none."""
    own = best.candidate.source
    words = own.touched & (question.content | own.values)
    for source in sources:
        if len(source.ids) == 1 and not set(source.ids) & set(own.ids) and words & ~source.touched == 0:
            return source.ids[0]
    return ""


def _other_periods(question: Question, best: Executed) -> list[str]:
    """The columns of years that the program reads and the question does not name, where it names years."""
    years = set(_YEAR.findall(question.text))
    spanned = "between" in question.cues and len(years) > 1
    if not years or spanned or question.cues.keys() & {"since", "until"} or question.says_span:
        return []
    read = {
        (node.name, node.table) for node in walk(best.candidate.program.root) if isinstance(node, ColumnRef)
    }
    found = []
    for view in best.candidate.source.columns:
        if (view.ref.name, view.ref.table) in read:
            own = set(_YEAR.findall(f"{view.period} {view.name}"))
            if own and not own & years:
                found.append(view.name)
    return found


def _goes_back(question: Question) -> bool:
    """Whether a question names two periods, the later first."""
    named = [mention.lexical for mention in question.times if not mention.lexical.startswith("-")]
    return len(named) == 2 and named[0] > named[1]


def _counts_a_value(question: Question, best: Executed) -> bool:
    """Whether a count is of something that cells name, or that a column gives for each row: *people*, a population."""
    source = best.candidate.source
    named = any(c.mask & question.focus for c in best.candidate.conditions)
    meant = {stem for asked in question.stems_of(question.focus) for stem in synonyms().get(asked, ())}
    given = any(view.measure and meant & set(view.stems) for view in source.columns)
    return given or (named and any(view.quantity for view in source.columns))


def _has_units_apart(best: Executed) -> bool:
    """Whether a column of the table says a unit or currency for each row, and the rows are not chosen by it."""
    return any(
        view.stems in (("unit",), ("currenc",), ("unit", "of", "measur")) and view.distinct > 1
        for view in best.candidate.source.columns
    )


def _missing(question: Question, best: Executed, sources: Sequence[ProgramSource]) -> str:
    left = _uncovered(question, best)
    if left:
        relations = {links.index.id: links.index.relation for links in best.candidate.source.links}
        left &= ~Coverage(question, best.candidate.program, relations).consumed
    return f"Not found in the table: {question.words_of(left)}." if left else ""


def _told(executed: Executed, relations: Mapping[str, Relation], confidence: float) -> RankedProgram | None:
    try:
        result = run(executed.candidate.program, relations)
    except KgtableError:
        return None
    said = tuple(texts(executed.denotation))
    candidate = executed.candidate
    return RankedProgram(candidate.program, result, said, candidate.source.ids, candidate.op, confidence)
