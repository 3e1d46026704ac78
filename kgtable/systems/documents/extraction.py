"""An answer's words out of passages, without a language model: the sentence that fits, and the part that is asked.

A sentence is ranked by the weight of the question's words in it. Of the best, the answer is the quantity or the
period that the question asks for, or else the longest part that says none of the question's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from math import exp, log

from kgtable.index.words import is_empty_word, stem, words
from kgtable.resources import read_packaged_json
from kgtable.retrieval.result import ScoredPassage
from kgtable.systems.documents.asked_kinds import question_kind
from kgtable.text.passages import sentence_spans
from kgtable.text.text_quantities import TextQuantity, find_period_mentions, find_quantities

_PERCENT = re.compile(r"\b(?:percent|percentage|per cent|rate|%|proportion|share of)\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_WORD = re.compile(r"[^\W_]+(?:[-'’.&/][^\W_]+)*|\S")
_EDGES = ("stop", "joint", "be", "asked", "and")
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

    `fit` is the share of the question's weight that the sentence has; `quantity` what the words give as a number;
    `share` the probability of the words among all parts of the sentence.
    """

    text: str
    start: int
    sentence: PassageSentence
    quantity: TextQuantity | None = None
    share: float = 0.0

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

    def best_sentence(self) -> PassageSentence | None:
        """The sentence that fits best, the first of equals; None where none has a word of the question."""
        best = max(self.sentences(), key=lambda found: found.fit, default=None)
        return best if best is not None and best.fit > 0 else None


def extract(question: str, passages: Sequence[ScoredPassage]) -> Extract | None:
    """The words of the passages that answer a question; None where no sentence has to do with it.

    >>> passage = ScoredPassage("", "d", "a.md", 2, (), "", "Costs fell. Revenue grew to $5.2 million in 2019.", 1.0)
    >>> extract("What was the revenue in 2019?", [passage]).text
    '$5.2 million'
    """
    asked = AskedText(question, passages)
    sentence = asked.best_sentence()
    if sentence is None:
        return None
    spans = candidate_spans(asked, sentence)
    if not spans:
        return None
    known = span_weights()
    scores = [sum(known.get(name, 0.0) * value for name, value in span.features) for span in spans]
    best = max(range(len(spans)), key=lambda at: (scores[at], -spans[at].start))
    share = 1 / sum(exp(min(score - scores[best], 0.0)) for score in scores)
    return replace(spans[best].extract, share=share)


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


def span_weights() -> dict[str, float]:
    """The learned weight of each feature of a span, see ``scripts/train_spans.py``."""
    weights: dict[str, float] = read_packaged_json("systems/documents/span_weights.json")
    return weights


def candidate_spans(asked: AskedText, sentence: PassageSentence) -> list[CandidateSpan]:
    """The parts of a sentence that may answer: its quantities, its periods, and what stands between its joints."""
    text = sentence.text
    words = _SentenceWords(asked, text)
    kind = question_kind(asked.question)
    found: list[CandidateSpan] = []
    for quantity in find_quantities(text):
        features = (
            (f"quantity:{kind}", 1.0),
            *_of_quantity(asked, text, quantity, kind),
            *words.surroundings("quantity", *words.within(quantity.start, quantity.end), kind),
        )
        found.append(CandidateSpan(sentence, quantity.start, quantity.end, features, quantity))
    for _, start, end in find_period_mentions(text):
        stated = text[start:end] in asked.question
        features = (
            (f"period:{kind}", 1.0),
            ("period:stated", float(stated)),
            *words.surroundings("period", *words.within(start, end), kind),
        )
        found.append(CandidateSpan(sentence, start, end, features))
    for first, last in words.parts():
        start, end = words.places[first][0], words.places[last - 1][1]
        features = (
            *words.of_part(first, last, kind),
            *words.surroundings("", first, last, kind),
            *words.shares(first, last, kind),
        )
        found.append(CandidateSpan(sentence, start, end, features))
    return found


class _SentenceWords:
    """The words of a sentence: where they stand, what each is to the question, and how much it weighs there."""

    def __init__(self, asked: AskedText, text: str) -> None:
        self.places = [match.span() for match in _WORD.finditer(text)][:MOST_WORDS]
        self._asked, self._text = asked, text
        self._words = [text[start:end].lower() for start, end in self.places]
        self._kinds = [_token_kind(asked, text[start:end]) for start, end in self.places]
        weights = (asked.weights.get(stem(word), 0.0) for word in self._words)
        self._weight = list(accumulate(weights, initial=0.0))
        self._asked_before = list(accumulate((kind == "asked" for kind in self._kinds), initial=0))

    def within(self, start: int, end: int) -> tuple[int, int]:
        """The numbers of the first word of a place in the text, and of the one behind it."""
        first = next((at for at, (_, to) in enumerate(self.places) if to > start), len(self.places))
        last = next((at for at, (since, _) in enumerate(self.places) if since >= end), len(self.places))
        return first, max(first, last)

    def parts(self) -> Iterator[tuple[int, int]]:
        """The parts between joints, verbs, signs and the question's words, as first word and the one behind."""
        kinds, count = self._kinds, len(self._kinds)
        if not count:
            return
        starts = [
            0,
            *(at for at in range(1, count) if kinds[at - 1] != "word" or kinds[at] in ("a", "joint")),
        ]
        ends = [*(at for at in range(1, count) if kinds[at] in _EDGES), count]
        for first in starts:
            for last in ends:
                if not first < last <= first + LONGEST_SPAN:
                    continue
                if kinds[last - 1] not in ("stop", "joint", "and") and kinds[first] not in ("stop", "and"):
                    yield first, last

    def surroundings(self, of: str, first: int, last: int, kind: str) -> Iterator[tuple[str, float]]:
        """The words at the edges of a part, and how far the question's words are from it."""
        count = len(self._words)
        if first > 0 and self._kinds[first - 1] not in ("word", "asked"):
            yield f"{of}behind:{self._words[first - 1]}", 1.0
            yield f"{of}behind:{self._words[first - 1]}:{kind}", 1.0
        if first < count and self._kinds[first] not in ("word", "asked"):
            yield f"{of}first:{self._words[first]}", 1.0
            yield f"{of}first:{self._words[first]}:{kind}", 1.0
        if last < count and self._kinds[last] not in ("word", "asked"):
            yield f"{of}before:{self._words[last]}", 1.0
            yield f"{of}before:{self._words[last]}:{kind}", 1.0
        if first > 0:
            nearest = next((at for at in range(first - 1, -1, -1) if self._kinds[at] == "asked"), None)
            away = None if nearest is None else first - 1 - nearest
            yield f"{of}away:{away if away is None else min(away, 6)}", 1.0
            yield f"{of}away:{away if away is None else min(away, 3)}:{kind}", 1.0
        if last < count:
            nearest = next((at for at in range(last, count) if self._kinds[at] == "asked"), None)
            yield f"{of}ahead:{nearest if nearest is None else min(nearest - last, 3)}", 1.0

    def shares(self, first: int, last: int, kind: str) -> Iterator[tuple[str, float]]:
        """How much of the question's weight stands before, in and behind a part."""
        weight, total = self._weight, self._asked.total
        for name, share in (
            ("weight-before", weight[first]),
            ("weight-inside", weight[last] - weight[first]),
            ("weight-behind", weight[-1] - weight[last]),
        ):
            yield name, share / total
            yield f"{name}:{kind}", share / total

    def of_part(self, first: int, last: int, kind: str) -> Iterator[tuple[str, float]]:
        """The length of a part, what kinds of words it has and stands between."""
        kinds, count, length = self._kinds, len(self._kinds), last - first
        inside, asked = kinds[first:last], self._asked_before
        overlap = asked[last] - asked[first]
        text = self._text[self.places[first][0] : self.places[last - 1][1]]
        yield f"after:{'start' if first == 0 else kinds[first - 1]}:{kind}", 1.0
        yield f"until:{'end' if last == count else kinds[last]}:{kind}", 1.0
        yield f"begins:{kinds[first]}", 1.0
        yield f"begins:{kinds[first]}:{kind}", 1.0
        yield "length", length / 10
        yield f"length:{kind}", log(length)
        yield f"one-word:{kind}", float(length == 1)
        yield f"short:{kind}", float(length <= 3)
        yield f"long:{kind}", float(length > 12)
        yield f"overlap:{kind}", overlap / length
        yield "overlaps", min(overlap, 5)
        yield f"whole:{kind}", float(first == 0 and last >= count - 1)
        yield f"tail:{kind}", float(first > 0 and last >= count - 1)
        yield "missed", (asked[-1] - asked[last]) / (asked[-1] or 1)
        yield "capital", float(text[0].isupper())
        yield "commas", float(text.count(","))
        for name, has in (("verb", "be" in inside), ("digit", any(sign.isdigit() for sign in text))):
            yield name, float(has)
            yield f"{name}:{kind}", float(has)


def _of_quantity(
    asked: AskedText, text: str, quantity: TextQuantity, kind: str
) -> tuple[tuple[str, float], ...]:
    money = bool(quantity.unit and quantity.unit.startswith("CCY_"))
    percent = quantity.unit == "PERCENT"
    in_period = bool(quantity.period and any(year in quantity.period for year in asked.years))
    return (
        ("quantity:stated", float(quantity.text.strip("$€£% ") in asked.question)),
        (f"money:{kind}", float(money)),
        (f"percent:{bool(_PERCENT.search(asked.question))}", float(percent)),
        ("quantity:period", float(in_period)),
        ("quantity:other-period", float(bool(asked.years) and bool(quantity.period) and not in_period)),
        ("quantity:near", _nearness(asked, text, quantity)),
    )


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
