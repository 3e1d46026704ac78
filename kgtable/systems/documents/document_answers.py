"""Answers from text and tables without a language model: the likelier of a program and of words in a passage.

What stands in a cell is executed and judged as everywhere; what stands in a text alone is told with its words and
place, and stays unverified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation

from kgtable.answering.answer import Answer, PassageCitation
from kgtable.answering.evidence import Evidence
from kgtable.answering.program_answers import RULES, answer_by_rules
from kgtable.retrieval.result import Retrieval, ScoredPassage
from kgtable.systems.documents.extraction import Extract, extract
from kgtable.text.sentences import sentence_spans
from kgtable.text.text_quantities import find_quantities

SURE_OF_TABLE = 0.5
"""The confidence of a program from which on no text is put before it."""

LEAST_FIT = 0.35
"""The share of a question's weight that a sentence must have to answer it."""

TEXT_FIRST = 0.62
"""The share from which on a sentence goes before a program of little confidence."""

LONGEST_WORDS = 600


def answer_by_text_and_tables(evidence: Evidence, keep: int) -> Answer:
    """The likelier answer of the two; its reasons say what the other says of it.

    Args:
        evidence: tables and passages that were retrieved.
        keep: how many passages are read.
    """
    retrieval = evidence.retrieval
    by_table = answer_by_rules(evidence) if evidence.tables else _nothing(retrieval)
    passages = retrieval.passages[:keep]
    found = extract(retrieval.question, passages)
    if found is None or found.fit < LEAST_FIT:
        return _with_text(by_table, passages)
    if by_table.verified or (by_table.found and (by_table.confidence or 0.0) >= SURE_OF_TABLE):
        return _with_text(by_table, passages)
    if by_table.found and not _text_is_likelier(found, by_table, retrieval):
        return _with_text(by_table, passages)
    return _from_text(found, by_table, retrieval)


def _text_is_likelier(found: Extract, by_table: Answer, retrieval: Retrieval) -> bool:
    """Whether the sentence fits better than the program: it says most of the question, or its passage is ahead."""
    best_table = retrieval.tables[0].score if retrieval.tables else 0.0
    ahead = found.sentence.passage.score >= best_table
    confidence = by_table.confidence or 0.0
    return found.fit > TEXT_FIRST + 0.3 * confidence - (0.15 if ahead else 0.0)


def _nothing(retrieval: Retrieval) -> Answer:
    return Answer(retrieval.question, "", method=retrieval.method, model=RULES, retrieval=retrieval)


def cited_words(passage: ScoredPassage, start: int, words: str) -> PassageCitation:
    """The citation of words that stand in a passage from `start` on."""
    paragraph, page = passage.place_of(start)
    offset = passage.start_of(start)
    return PassageCitation(passage.passage, passage.file, page, paragraph, offset, words[:LONGEST_WORDS])


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
