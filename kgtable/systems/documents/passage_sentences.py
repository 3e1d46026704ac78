"""Ranking of sentences by how likely they answer a question, with learned weights.

The features follow the kind of thing that the question asks for. Also the probability that a text answers the
question rather than a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import exp, log

from kgtable.resources import read_packaged_json
from kgtable.retrieval.result import ScoredPassage
from kgtable.text.passages import sentence_spans
from kgtable.text.text_quantities import find_period_mentions, find_quantities
from kgtable.text.words import is_empty_word, stem, words

_REASON_WORDS = (
    r"\bwhy\b|\b(?:caused?|led to|drove|driven|contributed|resulted in|impacted|influenced|attributable|due to)\b"
    r"|\b(?:reasons?|causes?|drivers?|factors?|rationale)\b"
)
_AMOUNTS = (
    r"amount|number|percentage|percent|total|value|rate|price|cost|costs|revenues?|income|expenses?|proceeds|balance"
    r"|ratio|sum|increase|decrease|change|discount|consideration|size|proportion|share"
)
_KINDS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("how-often", r"^how (?:often|frequently)\b|^(?:what|which) frequency\b"),
        (
            "how-long",
            r"^how (?:long|old)\b|^(?:what|which) (?:duration|period)\b"
            r"|^how many (?:\w+ )?(?:years|months|weeks|days|hours|minutes)\b"
            r"|^what (?:is|was|are|were) (?:the |its |their )?(?:[\w-]+ ){0,4}?(?:duration|term|life|period)\b",
        ),
        ("how-much", r"^how (?:much|many|large|high|big)\b"),
        ("when", r"^when\b|^(?:what|which) (?:\w+ ){0,2}?(?:years?|dates?|days?|months?|quarters?)\b"
                 r"|^what (?:is|was|are|were) (?:the |its |their )?(?:\w+ )?dates?\b"),
        ("who", r"^(?:who|whom|whose)\b"),
        ("where", r"^where\b"),
        ("why", rf"^why\b|^(?:what|which|how)\b.*(?:{_REASON_WORDS})"),
        ("how", r"^how\b"),
        (
            "what-of",
            r"^what\b.*\b(?:consists?|consisted|comprised?|comprises|includes?|included|excluded?|excludes|represents?"
            r"|represented|relates?|related|refers?|reflects?|means?|contains?|composed|defined|based|categori[sz]ed)\b",
        ),
        ("what-do", r"^what (?:do|does|did)\b"),
        (
            "amount",
            r"^what (?:is|was|were|are|will be)\s+(?:(?:the|its|their)\s+)?"
            rf"(?:[\w’'&.-]+ ){{0,5}}?(?:{_AMOUNTS})\b",
        ),
        ("definition", r"^what (?:is|are|was|were) (?:an? |the )?[\w’'“”\"()&-]+(?: [\w’'“”\"()&-]+){0,3} ?\?*$"),
        ("what-is", r"^what (?:is|are|was|were)\b"),
        ("which", r"^which\b"),
        ("what", r"^what\b"),
        ("whether", r"^(?:do|does|did|is|are|was|were|has|have|had|can|will)\b"),
    )
)  # fmt: skip
_ASKING = re.compile(r"\b(?:what|which|who|whom|whose|when|where|why|how)\b.*", re.IGNORECASE | re.DOTALL)
_SORTS = {
    "how-much": "figure", "amount": "figure", "how-long": "time", "how-often": "time", "when": "time", "why": "reason",
    "how": "words", "what-of": "words", "what-do": "words", "definition": "words", "what-is": "words",
    "who": "name", "where": "name", "which": "name", "what": "name", "whether": "words",
}  # fmt: skip
COMPUTED = re.compile(
    r"\b(?:average|mean|sum|difference|ratio|proportion|percentage|per ?cent|percent|change|increase|decrease|growth"
    r"|total|highest|lowest|largest|smallest|most|least|exceed\w*|more than|less than|between)\b|%",
    re.IGNORECASE,
)
SEVERAL = re.compile(r"\b(?:respective(?:ly)?|both|all|which years?|in order|each)\b", re.IGNORECASE)
YEARS = re.compile(r"\b(?:19|20)\d\d\b")
_OPERATIONS = frozenset(
    [
        "above", "average", "below", "big", "bigger", "billion", "change", "decline", "decrease", "difference", "end",
        "exceed", "fall", "fiscal", "great", "greater", "growth", "high", "higher", "increase", "large", "larger",
        "low", "lower", "mean", "million", "percentage", "proportion", "ratio", "reason", "rise", "small", "smaller",
        "sum", "thousand", "year",
    ]
)  # fmt: skip
_OPERATION_STEMS = frozenset(map(stem, _OPERATIONS))


def question_kind(question: str) -> str:
    """Classify what a question asks for: a time, a duration, an amount, a reason, a way, a person, a place, a thing.

    >>> question_kind("In which year were sales higher?"), question_kind("What does the cost of sales consist of?")
    ('when', 'what-of')
    """
    asking = _ASKING.search(question)
    asked = asking[0] if asking else question.strip()
    return next((kind for kind, pattern in _KINDS if pattern.search(asked)), "other")


def question_sort(kind: str) -> str:
    """Group the kinds of `question_kind` into: ``figure``, ``time``, ``reason``, ``name``, ``words``."""
    return _SORTS.get(kind, "words")


def is_operation(word: str) -> bool:
    """Whether a lower-case word, or its stem, says what to compute or compare, or a scale, not what of.

    >>> is_operation("increased"), is_operation("thousands"), is_operation("inventories")
    (True, True, False)
    """
    return stem(word) in _OPERATION_STEMS or word in _OPERATION_STEMS


def source_weights() -> dict[str, float]:
    """The learned weight of each feature of a question, see ``scripts/train_spans.py``."""
    weights: dict[str, float] = read_packaged_json("systems/documents/source_weights.json")
    return weights


def source_features(question: str) -> Iterator[tuple[str, float]]:
    """The features that tell whether a text or a table answers a question."""
    yield "text", 1.0
    yield f"kind:{question_kind(question)}", 1.0
    yield "computed", float(COMPUTED.search(question) is not None)
    yield "several", float(SEVERAL.search(question) is not None)
    yield "years", min(len(set(YEARS.findall(question))), 2.0)


def text_share(question: str) -> float:
    """The probability that the answer stands in a text alone."""
    known = source_weights()
    score = sum(known.get(name, 0.0) * value for name, value in source_features(question))
    return 1 / (1 + exp(-score))


Features = Iterator[tuple[str, float]]

_REASON = re.compile(
    r"\b(?:due to|because|attributable|as a result|result(?:ed|s|ing)? (?:from|of)|driven|drove|reflect\w*|caused?"
    r"|since|owing|in order to|primarily|mainly|offset|so that|to ensure)\b",
    re.IGNORECASE,
)
_SAYS_WHAT = re.compile(
    r"\b(?:is|are|was|were|means?|represents?|refers?|consists?|comprises?|comprised|includes?|relates?"
    r"|defined|calculated|determined|based)\b",
    re.IGNORECASE,
)
_SPEAKS_OF_BEFORE = re.compile(
    r"^[\W\d]*(?:this|these|those|that|it|they|such|excluding"
    r"|the (?:overall )?(?:increase|decrease|change|growth|decline|reduction|improvement|rise))\b",
    re.IGNORECASE,
)
_MARKED = re.compile(r"^\s*(?:\(\w{1,3}\)|[*†‡•–]|\d{1,2}[.)])\s")
_HEADING_WORDS = 14


@dataclass(frozen=True, slots=True)
class PassageSentence:
    """A sentence of a passage: from where to where it stands there, and how well it fits the question.

    `fit` is the share of the question's weight that it has, `share` the probability that it has the answer.
    """

    passage: ScoredPassage
    start: int
    end: int
    fit: float
    share: float = 0.0

    @property
    def text(self) -> str:
        """The text of the sentence."""
        return self.passage.text[self.start : self.end]


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
        self.years = frozenset(YEARS.findall(question))

    @cached_property
    def total(self) -> float:
        """The weight of all words of the question."""
        return sum(self.weights.values()) or 1.0

    @cached_property
    def sentences(self) -> tuple[PassageSentence, ...]:
        """Every sentence of the passages with its fit; headings count for the sentences below them a little."""
        return tuple(self._fitting())

    def _fitting(self) -> Iterator[PassageSentence]:
        for rank, passage in enumerate(self.passages):
            above = frozenset(map(stem, words(passage.title)))
            before: frozenset[str] = frozenset()
            for start, end in sentence_spans(passage.text):
                own = frozenset(map(stem, words(passage.text[start:end])))
                fit = sum(
                    weight
                    * (1.0 if known in own else 0.35 if known in before else 0.25 if known in above else 0.0)
                    for known, weight in self.weights.items()
                )
                yield PassageSentence(passage, start, end, (fit / self.total) * (0.97**rank))
                before = own

    def likely_sentences(self, most: int) -> list[PassageSentence]:
        """The sentences that are likeliest to have the answer, the first of equals first; at most so many.

        Those that have no word of the question, here or in the sentence before, are left out.
        """
        known = sentence_weights()
        scores = [sum(known.get(name, 0.0) * value for name, value in of) for of in self.features()]
        best = max(scores, default=0.0)
        total = sum(exp(score - best) for score in scores)
        order = sorted(range(len(scores)), key=lambda at: -scores[at])
        found = []
        for at in order[:most]:
            sentence = self.sentences[at]
            if sentence.fit > 0:
                share = exp(scores[at] - best) / total
                found.append(
                    PassageSentence(sentence.passage, sentence.start, sentence.end, sentence.fit, share)
                )
        return found

    def features(self) -> list[tuple[tuple[str, float], ...]]:
        """The features of each sentence."""
        return _SentenceFeatures(self).of_all()


def sentence_weights() -> dict[str, float]:
    """The learned weight of each feature of a sentence, see ``scripts/train_spans.py``."""
    weights: dict[str, float] = read_packaged_json("systems/documents/sentence_weights.json")
    return weights


class _SentenceFeatures:
    """What tells whether a sentence has the answer, beside those before and behind it."""

    def __init__(self, asked: AskedText) -> None:
        self._asked, self._sentences = asked, asked.sentences
        self._kind = question_kind(asked.question)
        self._stems = [list(map(stem, words(sentence.text))) for sentence in self._sentences]
        self._known = [frozenset(stems) for stems in self._stems]
        count = len(self._sentences) or 1
        self._rarity = {
            word: log(1 + count / (1 + sum(word in known for known in self._known))) for word in asked.stems
        }
        self._total = sum(self._rarity.values()) or 1.0
        in_order = pairwise(map(stem, words(asked.question)))
        self._pairs = {pair for pair in in_order if pair[0] in self._rarity or pair[1] in self._rarity}

    @cached_property
    def _explaining(self) -> list[int]:
        """The sentences that give a reason for what the sentence before says, where a reason is asked for.

        They say as much of the question as that one: "The increase was due to …".
        """
        if question_sort(self._kind) != "reason":
            return []
        found = []
        for at in range(1, len(self._sentences)):
            sentence, before = self._sentences[at], self._sentences[at - 1]
            refers = before.passage is sentence.passage and _SPEAKS_OF_BEFORE.search(sentence.text)
            if refers and _REASON.search(sentence.text) and not _REASON.search(before.text):
                found.append(at)
        return found

    def of_all(self) -> list[tuple[tuple[str, float], ...]]:
        """The features of each sentence."""
        shares = [self._share(known) for known in self._known]
        fits = [sentence.fit for sentence in self._sentences]
        for at in self._explaining:
            shares[at], fits[at] = max(shares[at], shares[at - 1]), max(fits[at], fits[at - 1])
        most_share = max(shares, default=0.0) or 1.0
        most_fit = max(fits, default=0.0) or 1.0
        ranks = {id(passage): rank for rank, passage in enumerate(self._asked.passages)}
        best = max((passage.score for passage in self._asked.passages), default=0.0)
        found = []
        for at, sentence in enumerate(self._sentences):
            passage = sentence.passage
            found.append((
                ("fit", fits[at]),
                (f"fit:{self._kind}", fits[at]),
                ("fit-of-best", fits[at] / most_fit),
                ("best-fit", float(fits[at] >= most_fit)),
                ("share", shares[at]),
                ("share-of-best", shares[at] / most_share),
                ("rank", float(ranks[id(passage)])),
                ("first-passage", float(ranks[id(passage)] == 0)),
                ("passage", log(max(passage.score, 1e-4) / best) if best > 0 else 0.0),
                *self._neighbours(at, shares),
                *self._form(at),
                *self._content(at),
            ))  # fmt: skip
        return found

    def _share(self, known: frozenset[str]) -> float:
        return sum(weight for word, weight in self._rarity.items() if word in known) / self._total

    def _neighbours(self, at: int, shares: Sequence[float]) -> Features:
        """What the sentences before and behind it say; the more where it refers to those before."""
        passage = self._sentences[at].passage

        def share(other: int) -> float:
            there = 0 <= other < len(shares) and self._sentences[other].passage is passage
            return shares[other] if there else 0.0

        refers = _SPEAKS_OF_BEFORE.search(self._sentences[at].text) is not None
        yield "before", share(at - 1)
        yield "before-that", share(at - 2)
        yield "behind", share(at + 1)
        yield "refers", float(refers)
        yield "refers:before", share(at - 1) if refers else 0.0
        yield f"refers:before:{self._kind}", share(at - 1) if refers else 0.0
        yield "explains", float(at in self._explaining)

    def _form(self, at: int) -> Features:
        """Its length, and whether it is a heading, or ends with a colon."""
        text, count = self._sentences[at].text.rstrip(), len(self._stems[at])
        colon = text.endswith(":")
        heading = count < _HEADING_WORDS and not text.endswith((".", "!", "?", ";", ":", ")", "”", '"'))
        yield "length", log(1 + count)
        yield "short", float(count < 5)
        yield "marked", float(_MARKED.match(text) is not None)
        for name, has in (("heading", heading), ("colon", colon)):
            yield name, float(has)
            yield f"{name}:{self._kind}", float(has)

    def _content(self, at: int) -> Features:
        """Its numbers, times and verbs, its years, and where it says the question's words."""
        text, stems, rarity, kind = self._sentences[at].text, self._stems[at], self._rarity, self._kind
        quantities = find_quantities(text)
        yield f"quantity:{kind}", float(bool(quantities))
        yield f"money:{kind}", float(any((found.unit or "").startswith("CCY_") for found in quantities))
        yield f"percent:{kind}", float(any(found.unit == "PERCENT" for found in quantities))
        yield f"period:{kind}", float(bool(find_period_mentions(text)))
        yield f"reason:{kind}", float(_REASON.search(text) is not None)
        verb = _SAYS_WHAT.search(text)
        yield f"says-what:{kind}", float(verb is not None)
        if verb is not None:
            subject = self._share(frozenset(map(stem, words(text[: verb.start()]))))
            yield "subject", subject
            yield f"subject:{kind}", subject
        neighbours = set(pairwise(stems))
        yield "pairs", sum(pair in neighbours for pair in self._pairs) / max(len(self._pairs), 1)
        asked, said = self._asked.years, frozenset(YEARS.findall(text))
        if asked:
            yield "years", len(asked & said) / len(asked)
            yield "other-years", float(bool(said) and not asked & said)
        yield "precision", sum(word in rarity for word in stems) / (len(stems) or 1)
        begins = float(any(word in rarity for word in stems[:2]))
        yield "begins", begins
        yield f"begins:{kind}", begins
