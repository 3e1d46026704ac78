"""Extraction of an answer from passages without a language model: likely sentences, then likely spans in them.

Sentences are ranked by `passage_sentences`. The parts of the likeliest ones, their quantities, their periods and what
stands between joints, verbs and signs, are ranked by what they are and by what stands around them, by learned weights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp, log

from kgtable.resources import read_packaged_json
from kgtable.retrieval.result import ScoredPassage
from kgtable.systems.documents.passage_sentences import (
    AskedText,
    PassageSentence,
    question_kind,
    question_sort,
)
from kgtable.text.text_quantities import TextQuantity, find_period_mentions, find_quantities
from kgtable.text.words import stem

_PERCENT = re.compile(r"\b(?:percent|percentage|per cent|rate|%|proportion|share of)\b", re.IGNORECASE)
_TIME_UNITS = frozenset(["YR", "MO", "WK", "DAY", "HR", "MIN", "SEC"])
_WORD = re.compile(r"\d[\d,]*(?:\.\d+)?(?:%|[^\W\d_]*)(?:-[^\W_]+)*|[^\W_]+(?:[-'’.&/][^\W_]+)*|\S")
_FITTING = {
    "amount": ("money", "percent", "number", "measure"),
    "how-much": ("money", "percent", "number", "measure", "time"),
    "how-long": ("time",),
    "how-often": ("often",),
    "when": ("period",),
}
"""The forms of figures that fit what is asked for; others ask for words."""

_OFTEN = re.compile(
    r"\b(?:annual|year|month|week|dai|quarter|hour)ly\b|\b(?:annual|daily|regular)\b", re.IGNORECASE
)
_EDGES = ("stop", "joint", "be", "asked", "and")
_BE = frozenset(
    [
        "is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "means", "represents",
        "will", "consists", "consist", "comprises", "comprise", "comprised", "includes", "include",
    ]
)  # fmt: skip
_JOINTS = frozenset(
    [
        "to", "by", "of", "in", "on", "at", "for", "from", "with", "into", "as", "that", "which", "who",
        "when", "where", "because", "due", "based", "using", "including", "such", "under", "within", "than",
        "after", "before", "until", "if", "through", "over", "between", "during", "primarily", "mainly",
        "attributable", "approximately", "about", "but", "while", "whereas", "upon", "without", "against",
        "per", "via", "since", "so", "thereby", "resulting", "partially", "partly", "offset", "compared",
        "driven",
    ]
)  # fmt: skip
_OWN = frozenset(
    [
        "our", "its", "their", "his", "her", "this", "these", "those", "all", "any", "certain",
    ]
)  # fmt: skip
_SIGNS = {
    "word": "w", "asked": "q", "be": "B", "and": "&", "joint": "J", "a": "A", "own": "O", "adverb": "Y", "stop": ",",
}  # fmt: skip
_PAIRS = {"(": ")", "“": "”", "[": "]", "‘": "’"}
MOST_WORDS = 160
"""Words of a sentence that are looked at."""

LONGEST_SPAN = 60

LOOKED_THROUGH = 1
"""The likeliest sentences, whose parts are looked at."""


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


def extract(question: str, passages: Sequence[ScoredPassage]) -> Extract | None:
    """The words of the passages that answer a question; None if no sentence is related to it.

    >>> passage = ScoredPassage("", "d", "a.md", 2, (), "", "Costs fell. Revenue grew to $5.2 million in 2019.", 1.0)
    >>> extract("What was the revenue in 2019?", [passage]).text
    '$5.2 million'
    """
    asked = AskedText(question, passages)
    known = span_weights()
    found: Extract | None = None
    for sentence in asked.likely_sentences(LOOKED_THROUGH):
        spans = candidate_spans(asked, sentence)
        if not spans:
            continue
        scores = [sum(known.get(name, 0.0) * value for name, value in span.features) for span in spans]
        best = max(range(len(spans)), key=lambda at: (scores[at], -spans[at].start))
        share = sentence.share / sum(exp(min(score - scores[best], 0.0)) for score in scores)
        if found is None or share > found.share:
            found = spans[best].extract(share)
    return found


@dataclass(frozen=True, slots=True)
class CandidateSpan:
    """A span of a sentence that may be the answer, with its features."""

    sentence: PassageSentence
    start: int
    end: int
    features: tuple[tuple[str, float], ...]
    quantity: TextQuantity | None = None

    def extract(self, share: float = 0.0) -> Extract:
        """The words as an extract with this probability."""
        return Extract(
            self.sentence.text[self.start : self.end],
            self.sentence.start + self.start,
            self.sentence,
            self.quantity,
            share,
        )


def span_weights() -> dict[str, float]:
    """The learned weight of each feature of a span, see ``scripts/train_spans.py``."""
    weights: dict[str, float] = read_packaged_json("systems/documents/span_weights.json")
    return weights


def candidate_spans(asked: AskedText, sentence: PassageSentence) -> list[CandidateSpan]:
    """The candidate spans of a sentence: quantities, periods, and the text between joints, verbs and signs."""
    text = sentence.text
    quantities = find_quantities(text)
    periods = [(start, end) for _, start, end in find_period_mentions(text)]
    kind = question_kind(asked.question)
    words = _SentenceWords(asked, text, [*((q.start, q.end) for q in quantities), *periods], kind)
    fitting = _FITTING.get(kind, ())
    found: list[CandidateSpan] = []
    for quantity in quantities:
        first, last = words.within(quantity.start, quantity.end)
        form = _numbered_form(quantity)
        features = (
            *_of_form(form, fitting),
            *_of_quantity(asked, text, quantity, kind),
            *words.features(first, last),
        )
        found.append(CandidateSpan(sentence, quantity.start, quantity.end, features, quantity))
    for start, end in periods:
        first, last = words.within(start, end)
        features = (
            *_of_form("period", fitting),
            (f"form:period:{kind}", 1.0),
            ("period:stated", float(text[start:end] in asked.question)),
            *words.features(first, last),
        )
        found.append(CandidateSpan(sentence, start, end, features))
    known = {(span.start, span.end) for span in found}
    within = [_numbered_form(quantity) for quantity in quantities]
    for first, last in words.parts():
        start, end = words.places[first][0], words.places[last - 1][1]
        if (start, end) in known:
            continue
        inside = {
            form
            for form, quantity in zip(within, quantities, strict=True)
            if start <= quantity.start and quantity.end <= end
        }
        if any(start <= since and to <= end for since, to in periods):
            inside.add("period")
        if _OFTEN.search(text, start, end):
            inside.add("often")
        features = (
            (f"form:words:{kind}", 1.0),
            ("form:words", 1.0),
            ("words-for-figure", float(bool(fitting))),
            ("has-fitting", float(bool(inside.intersection(fitting)))),
            ("lacks-fitting", float(bool(fitting) and not inside.intersection(fitting))),
            *((f"has:{form}:{kind}", 1.0) for form in sorted(inside)),
            *words.features(first, last),
        )
        found.append(CandidateSpan(sentence, start, end, features))
    return found


class _SentenceWords:
    """The words of a sentence: where they stand, what each is to the question, and how much it weighs there."""

    def __init__(self, asked: AskedText, text: str, figures: Sequence[tuple[int, int]], kind: str) -> None:
        self._kind, self._sort = kind, question_sort(kind)
        self._of_starts: dict[int, tuple[tuple[str, float], ...]] = {}
        self._of_ends: dict[int, tuple[tuple[str, float], ...]] = {}
        self.places = [match.span() for match in _WORD.finditer(text)][:MOST_WORDS]
        self._asked, self._text = asked, text
        self._words = [text[start:end].lower() for start, end in self.places]
        self._kinds = [_token_kind(asked, text[start:end]) for start, end in self.places]
        weights = (asked.weights.get(stem(word), 0.0) for word in self._words)
        self._weight = list(accumulate(weights, initial=0.0))
        self._asked_before = list(accumulate((kind == "asked" for kind in self._kinds), initial=0))
        lists = (kind == "and" or word == "," for kind, word in zip(self._kinds, self._words, strict=True))
        self._lists = list(accumulate(lists, initial=0))
        self._figures = [self.within(start, end) for start, end in figures]

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
        starts = {
            0,
            *(
                at
                for at in range(1, count)
                if kinds[at - 1] != "word" or kinds[at] in ("a", "own", "joint", "adverb")
            ),
            *(first for first, last in self._figures if first < last),
        }
        ends = {
            *(at for at in range(1, count) if kinds[at] in _EDGES),
            *(last for _, last in self._figures),
            count,
        }
        for first in sorted(starts):
            for last in sorted(ends):
                if not first < last <= first + LONGEST_SPAN:
                    continue
                if kinds[last - 1] in ("stop", "joint", "and", "a", "own") and not self._closes(last - 1):
                    continue
                if kinds[first] not in ("stop", "and") or self._words[first] in _PAIRS:
                    yield first, last

    def _closes(self, at: int) -> bool:
        return self._words[at] in _PAIRS.values()

    def features(self, first: int, last: int) -> Iterator[tuple[str, float]]:
        """All that is said of a part: of where it begins, where it ends, and what is between."""
        if first not in self._of_starts:
            self._of_starts[first] = tuple(self._of_start(first))
        if last not in self._of_ends:
            self._of_ends[last] = tuple(self._of_end(last))
        yield from self._of_starts[first]
        yield from self._of_ends[last]
        yield from self._of_part(first, last)

    def _of_start(self, first: int) -> Iterator[tuple[str, float]]:
        """The words before a part and its first one, and what stands between it and the question's words before."""
        kinds, count, kind, sort = self._kinds, len(self._kinds), self._kind, self._sort
        before = kinds[first - 1] if first else "start"
        begins = kinds[first] if first < count else "end"
        if first and before not in ("word", "asked"):
            yield f"behind:{self._words[first - 1]}", 1.0
            yield f"behind:{self._words[first - 1]}:{sort}", 1.0
        if begins not in ("word", "asked", "end"):
            yield f"first:{self._words[first]}", 1.0
            yield f"first:{self._words[first]}:{sort}", 1.0
        yield f"after:{before}:{kind}", 1.0
        yield f"after:{before}:{begins}", 1.0
        yield f"begins:{begins}", 1.0
        yield f"begins:{begins}:{kind}", 1.0
        yield "capital", float(first < count and self._text[self.places[first][0]].isupper())
        yield f"capital:{sort}", float(first < count and self._text[self.places[first][0]].isupper())
        nearest = next((at for at in range(first - 1, -1, -1) if kinds[at] == "asked"), None)
        away = "none" if nearest is None else str(min(first - 1 - nearest, 6))
        between = "none" if nearest is None else self._signs(nearest + 1, first)
        yield f"away:{away}", 1.0
        yield f"away:{away}:{sort}", 1.0
        yield f"between:{between}", 1.0
        yield f"between:{between}:{sort}", 1.0
        yield "weight-before", self._weight[first] / self._asked.total
        yield f"weight-before:{kind}", self._weight[first] / self._asked.total
        edge = next((at + 1 for at in range(first - 1, -1, -1) if kinds[at] in ("asked", "be")), 0)
        skipped = self._lists[first] - self._lists[edge]
        yield "members-before", float(min(skipped, 3))
        yield f"members-before:{sort}", float(skipped > 0)

    def _of_end(self, last: int) -> Iterator[tuple[str, float]]:
        """The word behind a part, and how far the question's words are."""
        kinds, count, kind, sort = self._kinds, len(self._kinds), self._kind, self._sort
        until = kinds[last] if last < count else "end"
        if until not in ("word", "asked", "end"):
            yield f"before:{self._words[last]}", 1.0
            yield f"before:{self._words[last]}:{sort}", 1.0
        yield f"until:{until}:{kind}", 1.0
        yield f"until:{until}:{kinds[last - 1] if last else 'start'}", 1.0
        nearest = next((at for at in range(last, count) if kinds[at] == "asked"), None)
        yield f"ahead:{nearest if nearest is None else min(nearest - last, 3)}", 1.0
        behind = (self._weight[-1] - self._weight[last]) / self._asked.total
        yield "weight-behind", behind
        yield f"weight-behind:{kind}", behind
        yield "missed", (self._asked_before[-1] - self._asked_before[last]) / (self._asked_before[-1] or 1)
        yield f"member-behind:{sort}", float(until == "and" or (last < count and self._words[last] == ","))
        if last + 1 < count and self._words[last] == ",":
            yield f"comma-then:{self._words[last + 1] if kinds[last + 1] != 'word' else 'word'}", 1.0

    def _signs(self, first: int, last: int) -> str:
        """What kinds of words stand there: up to four, of more whether there are verbs or commas."""
        if last - first > 4:
            inside = set(self._kinds[first:last])
            return f"long{'B' if 'be' in inside else ''}{',' if 'stop' in inside else ''}"
        return "".join(_SIGNS[kind] for kind in self._kinds[first:last])

    def _of_part(self, first: int, last: int) -> Iterator[tuple[str, float]]:
        """The length of a part, and what kinds of words it has."""
        kinds, count, length = self._kinds, len(self._kinds), max(last - first, 1)
        kind, sort = self._kind, self._sort
        inside, asked = kinds[first:last], self._asked_before
        overlap = asked[last] - asked[first]
        text = self._text[self.places[first][0] : self.places[last - 1][1]] if first < last else ""
        yield "length", length / 10
        yield f"length:{kind}", log(length)
        yield f"one-word:{sort}", float(length == 1)
        yield f"short:{kind}", float(length <= 3)
        yield f"long:{kind}", float(length > 12)
        yield f"overlap:{kind}", overlap / length
        yield "overlap", overlap / length
        yield "nothing-new", float(overlap == length)
        yield "overlaps", min(overlap, 5)
        weight = (self._weight[last] - self._weight[first]) / self._asked.total
        yield f"weight-inside:{kind}", weight
        whole = first == 0 and last >= count - 1
        yield f"whole:{kind}", float(whole)
        yield "whole", float(whole)
        yield "whole-weight", weight if whole else 0.0
        yield f"tail:{kind}", float(first > 0 and last >= count - 1)
        yield "subject-and-verb", float(not whole and overlap > 0 and "be" in inside)
        yield "commas", float(text.count(","))
        yield "torn", float(_is_torn(text))
        for name, has in (("verb", "be" in inside), ("digit", any(sign.isdigit() for sign in text))):
            yield name, float(has)
            yield f"{name}:{kind}", float(has)
        if sort == "name" and first < last:
            words = [self._text[start:end] for start, end in self.places[first:last]]
            capitals = sum(word[0].isupper() for word in words)
            yield "name", capitals / length
            yield f"name:{kind}", capitals / length


def _is_torn(text: str) -> bool:
    """Whether brackets or quotation marks are opened and not closed, or the other way round."""
    return any(text.count(one) != text.count(other) for one, other in _PAIRS.items() if one != "‘")


def _of_form(form: str, fitting: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Whether a figure is what is asked for."""
    return (
        (f"form:{form}", 1.0),
        ("form:figure", 1.0),
        ("is-fitting", float(form in fitting)),
        ("is-other", float(bool(fitting) and form not in fitting)),
        ("figure-for-words", float(not fitting)),
    )


def _numbered_form(quantity: TextQuantity) -> str:
    """What kind of quantity it is: money, a share, a length of time, a number of a unit, or a mere number."""
    unit = quantity.unit
    if unit is None:
        return "number"
    if unit.startswith("CCY_"):
        return "money"
    return "percent" if unit == "PERCENT" else "time" if unit in _TIME_UNITS else "measure"


def _of_quantity(
    asked: AskedText, text: str, quantity: TextQuantity, kind: str
) -> tuple[tuple[str, float], ...]:
    form = _numbered_form(quantity)
    in_period = bool(quantity.period and any(year in quantity.period for year in asked.years))
    behind = _WORD.findall(text[quantity.end : quantity.end + 40])[:3]
    counted = form == "number" and any(stem(word.lower()) in asked.stems for word in behind)
    return (
        ("form:quantity", 1.0),
        (f"form:quantity:{kind}", 1.0),
        (f"form:{form}:{kind}", 1.0),
        (f"counted:{kind}", float(counted)),
        ("quantity:stated", float(quantity.text.strip("$€£% ") in asked.question)),
        (f"percent:{bool(_PERCENT.search(asked.question))}", float(form == "percent")),
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
    if lowered in _OWN:
        return "own"
    if lowered.endswith("ly") and len(lowered) > 4:
        return "adverb"
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
