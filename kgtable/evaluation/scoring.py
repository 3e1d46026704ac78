"""Metrics of one question: retrieval and answer against the gold.

Answers are compared without a model: exact match, containment, token F1, numbers. `exact_match` follows the rules
of WikiTableQuestions' evaluator: texts are normalised (accents, quotes, dashes, footnotes, trailing detail in
brackets), numbers compare as numbers and dates as dates, and lists compare as sets. One difference: that evaluator
normalises its gold with CoreNLP; here only the thousands separators of the gold are removed.

A method's columns and values are compared with the gold query's by precision, recall and F1, as in
the TableRAG paper (Chen et al. 2024, section 4.5, Table 3). Gold columns are those that the gold query reads; gold
values those cells of its tables that it names in quotes.
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, TypeAlias

from kgtable.evaluation.benchmark import BenchmarkQuestion, CellPlace
from kgtable.graph.table_content import TableContent
from kgtable.retrieval.result import Retrieval
from kgtable.systems.tablerag.vocabulary import ShownRetrieval
from kgtable.values.decimals import scaled
from kgtable.values.text import normal_form

QUOTES = str.maketrans({"‘": "'", "’": "'", "´": "'", "`": "'", "“": '"', "”": '"'})
DASHES = re.compile("[‐‑‒–—−]")
NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?")
PRINTED = re.compile(r"^[^\w.+-]*([-+]?)[^\w.+-]*((?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(%?)\D*$", re.IGNORECASE)
DATE = re.compile(r"^(\s*\d+\s*|xx(?:xx)?)-(\s*\d+\s*|xx)-(\s*\d+\s*|xx)$")
GROUPED = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")
LONGEST = 100
LARGEST_EXPONENT = 300
TOLERANCE = Decimal("1e-6")
ARTICLES = re.compile(r"\b(a|an|the)\b")
SCALES = {"": 0, "percent": 0, "thousand": 3, "million": 6, "billion": 9}


def normalized(text: str) -> str:
    """The text in WikiTableQuestions' normal form.

    >>> normalized("“Café – Live” (1999 version)[3]")
    'cafe - live'
    """
    text = "".join(c for c in normal_form("NFKD", text) if unicodedata.category(c) != "Mn")
    text = DASHES.sub("-", text.translate(QUOTES))
    while True:
        before = text
        text = re.sub(r"((?<!^)\[[^\]]*\]|\[\d+\]|[•♦†‡*#+])*$", "", text.strip())
        text = re.sub(r"(?<!^)( \([^)]*\))*$", "", text.strip())
        text = re.sub(r'^"([^"]*)"$', r"\1", text.strip())
        if text == before:
            break
    return re.sub(r"\s+", " ", text.removesuffix(".")).strip().lower()


_DECIMAL_COMMA = re.compile(r"[-+−]?(?:\d{1,3}(?:\.\d{3})+,\d+|\d+,(?:\d{1,2}|\d{4,}))")


def number_of(text: str) -> Decimal | None:
    """The value of a text that is a single number, else None; a comma that cannot group thousands is a decimal mark.

    >>> number_of("1,234.50"), number_of("98,5"), number_of("1.234,5")
    (Decimal('1234.50'), Decimal('98.5'), Decimal('1234.5'))
    """
    plain = normalized(text)
    if _DECIMAL_COMMA.fullmatch(plain):
        plain = plain.replace(".", "").replace(",", ".")
    plain = plain.replace(",", "")
    if not NUMBER.fullmatch(plain):
        return None
    try:
        value = Decimal(plain)
    except InvalidOperation:
        return None
    return value if value.is_finite() and abs(value.adjusted()) < 400 else None


def exact_match(answers: Sequence[str], gold: Sequence[str]) -> bool:
    """Whether two lists hold the same values in any order, each matched once.

    >>> exact_match(["2", "Norway"], ["norway", "2.0"])
    True
    """
    found = _distinct(map(_value, answers))
    plain = (value.replace(",", "") if GROUPED.fullmatch(value.strip()) else value for value in gold)
    wanted = _distinct(map(_value, plain, gold))
    if not wanted or len(found) != len(wanted):
        return False
    return all(any(_same(value, other) for other in found) for value in wanted)


def contained(answer: str, gold: Sequence[str]) -> bool:
    """Whether every gold value occurs in the answer as whole words."""
    text = f" {_tokens_text(answer)} "
    return bool(gold) and all(f" {_tokens_text(value)} " in text for value in gold)


def token_f1(answer: str, gold: Sequence[str]) -> float:
    """Token F1 of the answer against the gold values, without articles and punctuation.

    >>> round(token_f1("the red car", ["red bus"]), 2)
    0.5
    """
    found, wanted = Counter(_tokens_text(answer).split()), Counter(_tokens_text(" ".join(gold)).split())
    shared = sum((found & wanted).values())
    if not shared:
        return float(not found and not wanted)
    precision, recall = shared / sum(found.values()), shared / sum(wanted.values())
    return 2 * precision * recall / (precision + recall)


def numbers_match(answer: str, gold: str, scale: str = "") -> bool:
    """Whether a printed number equals the gold number up to scale, percent and rounding.

    `scale` is the gold's scale word (``thousand``, ``million``, ``billion``, ``percent``). The answer
    may be written out in full or in the scale, a percentage as such or as a fraction; it may be
    rounded, but not more coarsely than the gold or than three significant digits.
    """
    left, right = _printed(answer), number_of(_bare(gold))
    if left is None or right is None:
        return False
    candidates = {right, scaled(right, SCALES.get(scale, 0))}
    if "%" in answer or "%" in gold or scale == "percent":
        candidates |= {scaled(right, 2), scaled(right, -2)}
    return any(_rounds_to(left, value) for value in candidates)


def _rounds_to(printed: Decimal, value: Decimal) -> bool:
    if abs(printed - value) < TOLERANCE:
        return True
    digits = max(3, min(_digits(printed), _digits(value)))
    step = scaled(Decimal(1), max(printed.adjusted(), value.adjusted()) - digits + 1)
    return abs(printed - value) <= step / 2


def _digits(value: Decimal) -> int:
    return len(value.as_tuple().digits)


def _printed(text: str) -> Decimal | None:
    negative = text.strip().startswith("(") and text.strip().endswith(")")
    found = PRINTED.match(DASHES.sub("-", text.strip().strip("()"))) if len(text) <= LONGEST else None
    if not found:
        return None
    value = number_of(found[1] + found[2])
    return -value if negative and value is not None else value


AnswerValue: TypeAlias = tuple[str, Decimal | tuple[int, int, int] | None]
"""The normal form of a text, and the number or date (year, month, day; -1: not known) it is read as."""


def _value(text: str, printed: str | None = None) -> AnswerValue:
    """Parse a single value; `printed` is the original text if `text` was normalised."""
    form = normalized(text if printed is None else printed)
    with suppress(InvalidOperation):
        number = Decimal(text)
        if number.is_finite() and abs(number.adjusted()) < LARGEST_EXPONENT:
            return form, number
    date = _date(text)
    if date is not None and date[1:] == (-1, -1):
        return form, Decimal(date[0])
    return form, date


def _same(one: AnswerValue, other: AnswerValue) -> bool:
    if one[0] == other[0]:
        return True
    if isinstance(one[1], Decimal) and isinstance(other[1], Decimal):
        return abs(one[1] - other[1]) < TOLERANCE
    return one[1] is not None and one[1] == other[1]


def _date(text: str) -> tuple[int, int, int] | None:
    found = DATE.match(text.lower())
    if found is None:
        return None
    year, month, day = (-1 if part.startswith("x") else int(part) for part in found.groups())
    possible = month in (-1, *range(1, 13)) and day in (-1, *range(1, 32))
    return (year, month, day) if possible and (year, month, day) != (-1, -1, -1) else None


def _distinct(values: Iterable[AnswerValue]) -> list[AnswerValue]:
    """Remove duplicates: equal numbers, equal dates, texts with the same normal form."""
    kept: dict[object, AnswerValue] = {}
    for value in values:
        kept.setdefault(_amount(value[1]) if isinstance(value[1], Decimal) else value[1] or value[0], value)
    return list(kept.values())


def _amount(number: Decimal) -> Decimal | float:
    """The number, rounded to an integer if it is one up to floating-point error."""
    whole = number.to_integral_value()
    return whole if abs(number - whole) < TOLERANCE else float(number)


def _tokens_text(text: str) -> str:
    text = re.sub(r"(?<=\d),(?=\d{3})", "", normalized(text))
    text = "".join(" " if c in string.punctuation and c not in ".-" else c for c in text)
    return " ".join(word.strip(".") for word in ARTICLES.sub(" ", text).split())


def recall(found: Sequence[str], gold: Sequence[str], k: int) -> float:
    """Share of the gold tables among the first `k`.

    >>> recall(["a", "b", "c"], ["b", "d"], 2)
    0.5
    """
    wanted = set(gold)
    return len(wanted.intersection(found[:k])) / len(wanted) if wanted else 0.0


def precision(found: Sequence[str], gold: Sequence[str], k: int) -> float:
    """Share of gold tables among the first `k`; 0 if nothing was found.

    >>> precision(["a", "b", "c"], ["b", "d"], 2)
    0.5
    """
    first = found[:k]
    return len(set(gold).intersection(first)) / len(first) if first else 0.0


def table_scores(question: BenchmarkQuestion, found: Sequence[str], cutoffs: Sequence[int]) -> dict[str, float]:
    """Recall, precision, and whether `any` or `all` gold tables are found, at each cutoff.

    With `any_of`, one gold table is full recall.
    """
    scores: dict[str, float] = {}
    gold = set(question.tables)
    for k in cutoffs:
        one = float(not gold.isdisjoint(found[:k]))
        scores[f"recall@{k}"] = one if question.any_of else recall(found, question.tables, k)
        scores[f"precision@{k}"] = precision(found, question.tables, k)
        scores[f"any@{k}"] = one
        scores[f"all@{k}"] = one if question.any_of else float(bool(gold) and gold.issubset(found[:k]))
    return scores


def cell_scores(question: BenchmarkQuestion, found: Sequence[CellPlace], budgets: Sequence[int]) -> dict[str, float]:
    """Share of the gold cells among the first triples, for each budget of triples.

    >>> question = BenchmarkQuestion("q", "?", cells=(("t", 1, 0), ("t", 1, 2)))
    >>> cell_scores(question, [("t", 1, 0), ("t", 2, 0), ("t", 1, 2)], [1, 3])
    {'cells@1': 0.5, 'cells@3': 1.0}
    """
    ranks = {cell: rank for rank, cell in reversed(list(enumerate(found)))}
    wanted = set(question.cells)
    return {
        f"cells@{budget}": sum(ranks.get(cell, budget) < budget for cell in wanted) / len(wanted) for budget in budgets
    }


NDCG_AT = 10


def ranking_scores(found: Sequence[str], gold: Sequence[str]) -> dict[str, float]:
    """Reciprocal rank (``mrr``) and ``ndcg@10`` of the tables, which are relevant or not.

    >>> ranking_scores(["a", "b"], ["b"])
    {'mrr': 0.5, 'ndcg@10': 0.63093}
    """
    ranks = [rank for rank, table in enumerate(dict.fromkeys(found), 1) if table in gold]
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank <= NDCG_AT)
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(len({*gold}), NDCG_AT) + 1))
    return {"mrr": 1 / ranks[0] if ranks else 0.0, f"ndcg@{NDCG_AT}": round(gain / best, 6)}


CUTOFFS = (1, 3, 5, 10, 20, 25, 30, 50)
MISSED_AT = 30
"""Rank that a gold table must reach; otherwise its question counts as one whose table was not found."""

BUDGETS = (100, 300, 1_000, 3_000, 11_000)
TRACED = frozenset({"squall", "mappings", "derivation", "sql", "silver_sql", "program", "formula"})
"""Kinds of gold cells that follow from a query, a derivation or a person's marks, not from text alone."""

_TRUE = re.compile(r"^\W*(yes|true|correct|supported|entailed|1)\b", re.IGNORECASE)
_FALSE = re.compile(r"^\W*(no|not|false|incorrect|refuted|unsupported|0)\b", re.IGNORECASE)


def retrieval_scores(question: BenchmarkQuestion, found: Retrieval, k: int) -> dict[str, float]:
    """Table metrics if there are gold tables, cell metrics if there are gold cells.

    ``cells@n`` counts traced gold cells, ``matched_cells@n`` gold cells matched by text only. Budgets beyond
    `k` are omitted. ``no_table`` is 1 if no gold table is among the first 30, ``no_cell`` if no gold cell is
    among the k triples.
    """
    scores: dict[str, float] = {}
    if question.tables:
        names = [table.table for table in found.tables]
        scores |= table_scores(question, names, CUTOFFS) | ranking_scores(names[: CUTOFFS[-1]], question.tables)
        scores["no_table"] = 1.0 - scores[f"any@{MISSED_AT}"]
    if question.cells:
        budgets = [budget for budget in BUDGETS if budget < k] + [k]
        counted = cell_scores(question, found.addresses, budgets)
        prefix = "" if traced(question) else "matched_"
        scores |= {f"{prefix}{name}": value for name, value in counted.items()}
        scores["no_cell"] = float(not counted[f"cells@{k}"])
    return scores


def traced(question: BenchmarkQuestion) -> bool:
    """Whether all gold cells of the question are traced rather than matched by text."""
    kinds = str(question.extra.get("cells_from") or "").split("+")
    return all(kind in TRACED for kind in kinds)


def is_fact(question: BenchmarkQuestion) -> bool:
    """Whether the question is a statement to verify."""
    return "label" in question.extra


def asked(question: BenchmarkQuestion) -> str:
    """The question as it is asked: for a statement, whether it is true."""
    if is_fact(question):
        return f"Is this statement true? Answer yes or no. Statement: {question.text}"
    return question.text


def answer_scores(question: BenchmarkQuestion, text: str, value: str | None = None) -> dict[str, float]:
    """Metrics of an answer; all 0 for an empty one.

    A statement has ``fact`` only. ``numeric`` is present if every gold value is a number. ``match`` is the
    deterministic verdict: exact match, numeric match, or the right truth value. `value` is the answer's
    number with unit and scale resolved, if it has one.
    """
    if is_fact(question):
        right = verdict_of(text) == bool(question.extra["label"])
        return {"fact": float(right), "match": float(right)}
    if question.is_unanswerable:
        return {"match": float(not text)}
    gold = question.answers
    # Equal values count once, on both sides.
    counts = dict.fromkeys((len(gold), len(set(gold))))
    exact = any(exact_match(parts, gold) for count in counts for parts in readings(text, count))
    scores = {
        "exact": float(exact),
        "contained": float(bool(text) and contained(text, gold)),
        "f1": token_f1(text, gold) if text else 0.0,
    }
    if gold and all(number_of(_bare(entry)) is not None for entry in gold):
        scores["numeric"] = float(_numeric(text, value, gold, str(question.extra.get("scale") or "")))
    scores["match"] = max(scores["exact"], scores.get("numeric", 0.0))
    return scores


def verdict_of(text: str) -> bool | None:
    """The truth value stated by an answer, or None.

    >>> verdict_of("No, it was 2014."), verdict_of("Perhaps")
    (False, None)
    """
    return True if _TRUE.match(text) else False if _FALSE.match(text) else None


def readings(text: str, count: int) -> list[list[str]]:
    """The lists of values that a text may stand for, given the number of gold values.

    >>> readings("Oslo, Norway; Bergen", 2)
    [['Oslo, Norway; Bergen'], ['Oslo, Norway', 'Bergen']]
    """
    found = [[text.strip()]]
    marks = (r";", r"\n", r",|;|\n|\band\b") if count > 1 else (r";", r"\n")
    for mark in marks:
        parts = [part.strip() for part in re.split(mark, text) if part.strip()]
        if parts and parts not in found and len(parts) == count:
            found.append(parts)
    return found


def _numeric(text: str, value: str | None, gold: Sequence[str], scale: str) -> bool:
    if not text:
        return False
    if len(gold) == 1 and value is not None and numbers_match(value, gold[0], scale):
        return True
    return any(len(parts) == len(gold) and _all_matched(parts, gold, scale) for parts in readings(text, len(gold)))


def _all_matched(parts: Sequence[str], gold: Sequence[str], scale: str) -> bool:
    left = list(parts)
    for entry in gold:
        match = next((part for part in left if numbers_match(part, entry, scale)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _bare(text: str) -> str:
    return text.strip().lstrip("$€£").rstrip("%")


ColumnPlace = tuple[str, int]
Value = tuple[str, int, str]

_QUOTED = re.compile(r"'((?:[^']|'')+)'|\"([^\"]+)\"")
_WORD = re.compile(r"\w+")
_KEPT = 128


class ShownGold:
    """The gold columns and values of questions; `content` reads the tables."""

    def __init__(self, content: Callable[[str], TableContent]) -> None:
        self._content = content
        self._cells = lru_cache(_KEPT)(self._read)

    def columns(self, question: BenchmarkQuestion) -> set[ColumnPlace]:
        """The columns that the gold query reads; none if unknown.

        Those of the gold cells, and those that are ordered or grouped over more rows (``scan_cols``).
        """
        named = _columns(question.extra.get("columns"))
        if named or not traced(question):
            return named
        read = {(table, column) for table, _, column in question.cells}
        return read | _columns(question.extra.get("scan_cols")) if read else set()

    def values(self, question: BenchmarkQuestion) -> set[Value]:
        """The values that the question's file names (``values``), or that its gold SQL names in quotes."""
        given = question.extra.get("values")
        if given:
            return {(str(table), int(column), str(text)) for table, column, text in given}
        sql = str(question.extra.get("sql") or "")
        named = {_plain(one or other) for one, other in _QUOTED.findall(sql)}
        found: set[Value] = set()
        for table in question.tables if named else ():
            cells = self._cells(table)
            for text in named:
                found |= cells.get(text, frozenset())
        return found

    def scores(self, question: BenchmarkQuestion, found: ShownRetrieval) -> dict[str, float]:
        """Recall, precision and F1 of columns and of values, where there are gold ones."""
        scores: dict[str, float] = {}
        for kind, gold, shown in (
            ("column", self.columns(question), found.shown_columns),
            ("value", self.values(question), found.shown_values),
        ):
            if gold:
                scores |= _scores(kind, gold, shown)
        return scores

    def _read(self, table: str) -> Mapping[str, frozenset[Value]]:
        cells: dict[str, set[Value]] = {}
        for row in self._content(table).rows:
            for column, cell in () if row.is_header else row.cells:
                text = " ".join(cell.text.split())
                cells.setdefault(_plain(text), set()).add((table, column, text))
        return {text: frozenset(found) for text, found in cells.items()}


def _columns(given: Any) -> set[ColumnPlace]:
    return {(str(table), int(column)) for table, column in given or ()}


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _scores(kind: str, gold: Collection[object], shown: Collection[object]) -> dict[str, float]:
    """Recall, precision and F1.

    >>> _scores("column", {1, 2}, {2, 3, 4, 5})
    {'column_recall': 0.5, 'column_precision': 0.25, 'column_f1': 0.3333333333333333}
    """
    hit = len(set(gold) & set(shown))
    recall = hit / len(gold)
    precision = hit / len(shown) if shown else 0.0
    f1 = 2 * recall * precision / (recall + precision) if hit else 0.0
    return {f"{kind}_recall": recall, f"{kind}_precision": precision, f"{kind}_f1": f1}
