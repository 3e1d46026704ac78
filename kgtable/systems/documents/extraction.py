"""An answer's words out of passages, without a language model: the sentence that fits, and the part that is asked.

A sentence is ranked by the weight of the question's words in it. Of the best, the answer is the quantity or the
period that the question asks for, or else the longest part that says none of the question's own words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import log

from kgtable.index.words import is_empty_word, stem, words
from kgtable.resources import PACKAGE
from kgtable.retrieval.result import ScoredPassage
from kgtable.text.sentences import sentence_spans
from kgtable.text.text_quantities import TextQuantity, find_period_mentions, find_quantities

_AMOUNT = re.compile(
    r"\bhow (?:much|many|large|long|old|high)\b"
    r"|\bwhat (?:is|was|were|are|will be)?\s*(?:the |its |their )?(?:\w+ ){0,4}?"
    r"(?:amount|number|percentage|percent|total"
    r"|value|rate|price|cost|costs|revenues?|income|expenses?|proceeds|balance|ratio|sum|increase|decrease|change"
    r"|fair value|discount|term|consideration)\b",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"\b(?:percent|percentage|per cent|rate|%|proportion|share of)\b", re.IGNORECASE)
_WHEN = re.compile(
    r"\b(?:when|what (?:year|date|day|month|quarter)|which (?:\w+ )?(?:year|date|quarter|month))\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_WORD = re.compile(r"[^\W_]+(?:[-'’.&/][^\W_]+)*|\S")
_REASON_ASKED = re.compile(
    r"\bwhy\b|\bwhat (?:caused|led|drove|contributed|(?:is|was|were|are) the (?:\w+ )?(?:reasons?|causes?|drivers?))\b",
    re.IGNORECASE,
)
_BE = frozenset(
    ["is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "means", "represents", "will"]
)
_JOINTS = frozenset(
    [
        "to",
        "by",
        "of",
        "in",
        "on",
        "at",
        "for",
        "from",
        "with",
        "into",
        "as",
        "that",
        "which",
        "who",
        "when",
        "where",
        "because",
        "due",
        "based",
        "using",
        "including",
        "such",
        "under",
        "within",
        "than",
        "after",
        "before",
        "until",
        "if",
        "through",
        "over",
        "between",
        "during",
        "primarily",
        "mainly",
        "attributable",
        "approximately",
        "about",
    ]
)
MOST_WORDS = 160
"""Words of a sentence that are looked at."""

LONGEST_SPAN = 60


@dataclass(frozen=True, slots=True)
class PassageSentence:
    """A sentence of a passage: from where to where it stands there, and how well it fits the question."""

    passage: ScoredPassage
    start: int
    end: int
    fit: float

    @property
    def text(self) -> str:
        """Its words."""
        return self.passage.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Extract:
    """Words of a passage that answer a question, with the sentence they stand in.

    `fit` is the share of the question's weight that the sentence has; `quantity` what the words give as a number.
    """

    text: str
    start: int
    sentence: PassageSentence
    quantity: TextQuantity | None = None

    @property
    def fit(self) -> float:
        """How well the sentence fits."""
        return self.sentence.fit


class AskedText:
    """A question with the weights of its words over the passages at hand."""

    def __init__(self, question: str, passages: Sequence[ScoredPassage]) -> None:
        self.question, self.passages = question, passages
        asked = [word for word in words(question) if not is_empty_word(word)]
        self.stems = frozenset(map(stem, asked))
        texts = [frozenset(map(stem, words(passage.text))) for passage in passages]
        count = len(texts) or 1
        self.weights = {
            known: log(1 + (count + 1) / (1 + sum(known in text for text in texts)))
            * (0.5 if known.isdigit() else 1)
            for known in self.stems
        }
        self.years = frozenset(_YEAR.findall(question))

    @cached_property
    def total(self) -> float:
        """The weight of all words of the question."""
        return sum(self.weights.values()) or 1.0

    def sentences(self) -> Iterator[PassageSentence]:
        """Every sentence of the passages with its fit; headings count for the sentences below them a little."""
        for rank, passage in enumerate(self.passages):
            above = frozenset(map(stem, words(passage.title)))
            spans = sentence_spans(passage.text)
            before: frozenset[str] = frozenset()
            for start, end in spans:
                own = frozenset(map(stem, words(passage.text[start:end])))
                fit = sum(
                    weight
                    * (1.0 if known in own else 0.35 if known in before else 0.25 if known in above else 0.0)
                    for known, weight in self.weights.items()
                )
                yield PassageSentence(passage, start, end, (fit / self.total) * (0.97**rank))
                before = own


def extract(question: str, passages: Sequence[ScoredPassage]) -> Extract | None:
    """The words of the passages that answer a question; None where no sentence has to do with it.

    >>> passage = ScoredPassage("", "d", "a.md", 2, (), "", "Costs fell. Revenue grew to $5.2 million in 2019.", 1.0)
    >>> extract("What was the revenue in 2019?", [passage]).text
    '$5.2 million'
    """
    asked = AskedText(question, passages)
    ranked = sorted(asked.sentences(), key=lambda found: -found.fit)[:3]
    if not ranked or ranked[0].fit <= 0:
        return None
    known = span_weights()
    spans = [span for sentence in ranked[:2] for span in candidate_spans(asked, sentence)]
    return max(
        spans,
        key=lambda span: (sum(known.get(name, 0.0) * value for name, value in span.features), -span.start),
    ).extract


@dataclass(frozen=True, slots=True)
class CandidateSpan:
    """Words of a sentence that may be the answer, with what speaks for and against them."""

    sentence: PassageSentence
    start: int
    end: int
    features: tuple[tuple[str, float], ...]
    quantity: TextQuantity | None = None

    @property
    def extract(self) -> Extract:
        """The words as an extract."""
        return Extract(
            self.sentence.text[self.start : self.end],
            self.sentence.start + self.start,
            self.sentence,
            self.quantity,
        )


@cache
def span_weights() -> dict[str, float]:
    """The learned weight of each feature of a span, see ``scripts/train_spans.py``."""
    path = PACKAGE / "systems" / "documents" / "span_weights.json"
    weights: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
    return weights


def candidate_spans(asked: AskedText, sentence: PassageSentence) -> list[CandidateSpan]:
    """The parts of a sentence that may answer: its quantities, its periods, and what stands between its joints."""
    text = sentence.text
    kind = _kind(asked.question)
    found: list[CandidateSpan] = []
    fit = ("fit", sentence.fit)
    found += [
        CandidateSpan(sentence, q.start, q.end, (fit, *_of_quantity(asked, text, q, kind)), q)
        for q in find_quantities(text)
    ]
    for _, start, end in find_period_mentions(text):
        stated = text[start:end] in asked.question
        found.append(
            CandidateSpan(
                sentence, start, end, (fit, (f"period:{kind}", 1.0), ("period:stated", float(stated)))
            )
        )
    tokens = [match.span() for match in _WORD.finditer(text)][:MOST_WORDS]
    if not tokens:
        return found
    kinds = [_token_kind(asked, text[start:end]) for start, end in tokens]
    starts = [
        0,
        *(at for at in range(1, len(tokens)) if kinds[at - 1] != "word" or kinds[at] in ("a", "joint")),
    ]
    ends = [
        *(at for at in range(1, len(tokens)) if kinds[at] in ("stop", "joint", "be", "asked", "and")),
        len(tokens),
    ]
    asked_before = [0]
    for name in kinds:
        asked_before.append(asked_before[-1] + (name == "asked"))
    for first in starts:
        for last in ends:
            if not first < last <= first + LONGEST_SPAN:
                continue
            if kinds[last - 1] in ("stop", "joint", "and") or kinds[first] in ("stop", "and"):
                continue
            length = last - first
            overlap = asked_before[last] - asked_before[first]
            before = "start" if first == 0 else kinds[first - 1]
            after = "end" if last == len(tokens) else kinds[last]
            word = text[slice(*tokens[first - 1])].lower() if first else ""
            features = (
                fit,
                (f"before:{before}:{kind}", 1.0),
                (f"after:{after}:{kind}", 1.0),
                (f"first:{kinds[first]}", 1.0),
                (f"word:{word}" if before in ("joint", "be") else "word:", 1.0),
                (f"length:{kind}", log(length)),
                ("length", length / 10),
                (f"overlap:{kind}", overlap / length),
                ("overlaps", min(overlap, 5)),
                (f"whole:{kind}", float(first == 0 and last >= len(tokens) - 1)),
                ("asked:before", float(asked_before[first] > 0)),
                ("missed", (asked_before[-1] - asked_before[last]) / (asked_before[-1] or 1)),
            )
            found.append(CandidateSpan(sentence, tokens[first][0], tokens[last - 1][1], features))
    return found


def _of_quantity(
    asked: AskedText, text: str, quantity: TextQuantity, kind: str
) -> tuple[tuple[str, float], ...]:
    money = bool(quantity.unit and quantity.unit.startswith("CCY_"))
    percent = quantity.unit == "PERCENT"
    in_period = bool(quantity.period and any(year in quantity.period for year in asked.years))
    return (
        (f"quantity:{kind}", 1.0),
        ("quantity:stated", float(quantity.text.strip("$€£% ") in asked.question)),
        (f"money:{kind}", float(money)),
        (f"percent:{bool(_PERCENT.search(asked.question))}", float(percent)),
        ("quantity:period", float(in_period)),
        ("quantity:other-period", float(bool(asked.years) and bool(quantity.period) and not in_period)),
        ("quantity:near", _nearness(asked, text, quantity)),
    )


def _kind(question: str) -> str:
    """What is asked for: an amount, a time, a reason, a way, a person or place, or a thing."""
    if _WHEN.search(question):
        return "when"
    if re.search(r"\bhow (?:much|many|large|long|often)\b", question, re.IGNORECASE):
        return "how-much"
    if _REASON_ASKED.search(question):
        return "why"
    if re.search(r"\bhow\b", question, re.IGNORECASE):
        return "how"
    if re.search(r"\b(?:who|whom|whose|where)\b", question, re.IGNORECASE):
        return "who"
    return "amount" if _AMOUNT.search(question) else "what"


def _token_kind(asked: AskedText, word: str) -> str:
    lowered = word.lower()
    if stem(lowered) in asked.stems:
        return "asked"
    if lowered in _BE:
        return "be"
    if lowered in ("and", "or"):
        return "and"
    if lowered in _JOINTS:
        return "joint"
    if lowered in ("a", "an", "the"):
        return "a"
    return "word" if lowered[0].isalnum() or lowered[0] in "$€£" else "stop"


def _nearness(asked: AskedText, text: str, quantity: TextQuantity) -> float:
    """How much of the question stands close to a quantity, nearer words counting more."""
    score = 0.0
    for match in _WORD.finditer(text):
        weight = asked.weights.get(stem(match[0].lower()), 0.0)
        if weight:
            away = min(abs(match.end() - quantity.start), abs(match.start() - quantity.end))
            score += weight / (1 + away / 25)
    return score
