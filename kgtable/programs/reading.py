"""A question read for schema linking: tokens, operator words, numbers, times, thresholds, what is asked for.

Sets of tokens are bit masks: bit i is token i. All English lies in `english` and in the word
lists of the index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, cached_property
from itertools import pairwise
from typing import NamedTuple

from kgtable.programs.algebra import Relator
from kgtable.programs.english import (
    Adjective,
    adjectives,
    comparatives,
    cue_patterns,
    fold,
    is_verb_form,
    light_words,
    months,
    naming_words,
    noun_openers,
    number_words,
    opening_pattern,
    ordinal_words,
    taking_words,
    unit_named,
    word_stem,
)
from kgtable.text.words import is_empty_word
from kgtable.values.currencies import SCALE_WORDS
from kgtable.values.dates import parse_date
from kgtable.values.periods import quarters_in
from kgtable.values.unit_phrases import parse_unit_phrase
from kgtable.values.units import SCALE_LETTERS

MOST_TOKENS = 120
"""Tokens of a question that are read."""

MOST_PARTS = 8
"""Questions in one text that are answered one by one."""

_TOKEN = re.compile(
    r"\d+(?:[.,]\d+)*(?:st|nd|rd|th|s)?(?![^\W\d_])|[^\W_]+(?:['’](?!s\b)[^\W_]+)*(?:['’]s\b)?|%|[€£$¥]"
)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_DECADE = re.compile(r"(1[5-9]|20)\d0s")
_CODES = re.compile(r"\d+s")
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")
_YEAR_BEFORE = re.compile(r"\b(?:(?:the )?(?:previous|prior|preceding|last) year|(?:in )?the year before|a year (?:before|earlier))\b(?! (?:in|of)\b)")  # fmt: skip  # noqa: E501
_OR_LATER = re.compile(r",? or (earlier|before|later|after|newer)\b")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_CLOCK = re.compile(
    r"(?<![\w.,:])(?:(?P<hour>[01]?\d|2[0-3])(?:[:.](?P<minute>[0-5]\d))? ?(?P<half>[ap])\.?m\b\.?"
    r"|(?P<hour2>[01]?\d|2[0-3]):(?P<minute2>[0-5]\d)(?::[0-5]\d)?(?: o'clock)?(?![\w:])"
    r"|(?P<hour3>[01]?\d|2[0-3]) o'clock\b|(?P<word>noon|midday|midnight)\b)"
)
_SIGNED = re.compile(r"\b(?:negative|positive|below zero|in the red)\b")
_PLACE = (
    r"(?:the\s+)?(?P<place>\d+(?:st|nd|rd|th)|(?!zeroth)[a-z]+(?:th|st|nd|rd))(?:\s+(?:place|position|spot))?"
)
_STANDINGS = tuple(
    (relator, re.compile(pattern))
    for relator, pattern in (
        (Relator.LESS, rf"\b(?:above|better than|higher than|ahead of|before)\s+{_PLACE}"),
        (Relator.LESS_OR_EQUAL, rf"\b(?:at least|no worse than)\s+{_PLACE}"),
        (Relator.GREATER, rf"\b(?:below|worse than|lower than)\s+{_PLACE}"),
        (Relator.LESS_OR_EQUAL, rf"(?<![a-z]){_PLACE}\s+or\s+(?:better|higher|above)\b"),
        (Relator.GREATER_OR_EQUAL, rf"(?<![a-z]){_PLACE}\s+or\s+(?:worse|lower|below)\b"),
        (Relator.LESS_OR_EQUAL, r"\b(?:in|into|within|inside|among|made|makes|make|reached|reach|entered|cracked)\s+"
                                r"(?:the\s+|a\s+)?top[ -](?P<place>\d+|[a-z]+)\b"),
        (Relator.GREATER, r"\boutside\s+(?:of\s+)?(?:the\s+|a\s+)?top[ -](?P<place>\d+|[a-z]+)\b"),
    )
)  # fmt: skip
_LIMITED = re.compile(
    r"\b(?:(?P<above>over|above|more than|longer than|slower than|beyond)"
    r"|under|below|less than|within|faster than|quicker than|shorter than)\s+$"
)
_QUARTER = re.compile(
    r"\b(?P<ordinal>first|second|third|fourth|1st|2nd|3rd|4th)[ -](?:quarter|half)\b|\bquarter (?P<number>[1-4])\b"
)
_QUOTED = re.compile(r"[\"“”„«]([^\"“”„«»]{1,120})[\"“”»]")
_YES_NO = re.compile(
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|isn't|aren't|wasn't|didn't)\b", re.I
)
_WH = (
    ("when", re.compile(r"\bwhen\b|\b(?:in|on|during|of|by) (?:what|which) (?:\w+ )?(?:years?|dates?|days?|months?|seasons?)\b"  # noqa: E501
                        r"|\b(?:what|which) (?:\w+ )?(?:years?|dates?|day|month)\b", re.I)),
    ("who", re.compile(r"\bwho(?:m)?\b|(?:^|[,;]|\b(?:in|of|to|by|from)) ?whose\b", re.I)),
    ("where", re.compile(r"\bwhere\b", re.I)),
    ("how_many", re.compile(r"\bhow many\b|\b(?:what (?:is|was|are|were) )?(?:the )?(?:total )?number of\b|^count\b", re.I)),  # noqa: E501
    ("how_much", re.compile(r"\bhow much\b", re.I)),
    ("how_long", re.compile(r"\bhow (?:long|old|tall|far|high|big|large|fast|heavy|deep)\b", re.I)),
    ("percent", re.compile(r"\b(?:what|which|how many) (?:is the |was the |are the )?(?:percent|percentage|share|proportion|portion)\b", re.I)),  # noqa: E501
    ("what_is", re.compile(r"\bwhat(?:'s| is| was| are| were) (?:the )?", re.I)),
    ("which", re.compile(r"\b(?:which|what)\b", re.I)),
    ("list", re.compile(r"^\W*(?:please )?(?:list|name|show|give|find|return|tell|display|report|identify)\b", re.I)),
)  # fmt: skip
_FOCUS = re.compile(
    r"\b(?:which|what|how many|how much|number of|names? of|list|count)(?: (?:is|was|are|were|did|does|do))?"
    r"(?: the| all| all the| each| total| different| other| is| are)*\s+",
    re.I,
)
_FOCUS_ENDS = re.compile(
    r"\b(?:is|are|was|were|did|does|do|has|have|had|in|on|at|from|with|that|who|which|by|for|to|after|before"
    r"|won|win|got|came|than|between|during|when|will|being|there|of|the|a|an|not|did|and|whose|where)\b",
    re.I,
)


_THRESHOLDS = (
    (Relator.GREATER_OR_EQUAL, r"(?:at least|no less than|no fewer than|not less than|a minimum of|minimum of|not (?:under|below)) {n}"),  # noqa: E501
    (Relator.LESS_OR_EQUAL, r"(?:at most|no more than|not more than|a maximum of|maximum of|up to|not (?:over|above)) {n}"),  # noqa: E501
    (Relator.GREATER_OR_EQUAL, r"{n}(?: {u})? or (?:more|above|higher|greater|over|later|older|better)"),
    (Relator.LESS_OR_EQUAL, r"{n}(?: {u})? or (?:less|fewer|below|lower|under|earlier|younger)"),
    (Relator.GREATER, r"(?:{more}) than {n}|(?:over|above|exceed(?:s|ed|ing)?|beyond|in excess of|surpass(?:ed|es)?|greater then|more then) (?:an? [a-z]+ of |[a-z]+ )?{n}"),  # noqa: E501
    (Relator.LESS, r"(?:{less}) than (?:the )?{n}|(?:under|below|beneath|less then) (?:an? [a-z]+ of |[a-z]+ )?{n}"),
    (Relator.EQUAL, r"(?:exactly|equal to|equals) {n}"),
)  # fmt: skip
_BETWEEN = r"between {a} and {b}|from {a} to {b}"
_FROM_TO = re.compile(
    r"\bfrom (?:the )?(?:\w+est|most|least)(?: \w+){0,2} to (?:the )?(?:\w+est|most|least)\b"
)
_PLACING = frozenset({"over", "under", "above", "below", "beneath", "behind"})
_COMPARING = frozenset({"than", "over", "under", "above", "below", "least", "most", "within", "exceeding"})
_SINCE = re.compile(r"\b(since|after|before|until|till|through|prior to|by|later than|earlier than|starting in|from)\s+(?:the\s+)?(?:year\s+)?$")  # fmt: skip  # noqa: E501

_ON_FROM = re.compile(r".*(?:\b(?:on|onwards?|upwards?|to|until|till|through|and|up)\b|[-–])")
"""What follows where *from* a time means a span."""


@dataclass(frozen=True, slots=True)
class QuestionToken:
    """A word, number or sign of a question; `empty` is one that carries no meaning or only asks."""

    index: int
    start: int
    end: int
    text: str
    word: str
    stem: str
    empty: bool


class NumberMention(NamedTuple):
    """A number that the question names, with a unit or scale that stands behind it."""

    value: Decimal
    mask: int
    text: str
    unit: str | None = None
    scale: str | None = None
    unit_mask: int = 0


class TimeMention(NamedTuple):
    """A date or period of the question: lexical form (``2024-03``; ``--03`` for a month of any year).

    `relation` is ``in``, ``before``, ``after``, ``since``, ``until`` or ``between``.
    """

    lexical: str
    mask: int
    relation: str = "in"
    full_mask: int = 0


class ClockMention(NamedTuple):
    """A time of the day, or a length of time, that is named in figures (``12:00``, ``2:30:00``).

    `relation` is that of a `TimeMention`, also ``below`` and ``above``; `text` is how it is written.
    """

    lexical: str
    mask: int
    relation: str = "in"
    full_mask: int = 0
    text: str = ""


class Threshold(NamedTuple):
    """A number compared with: ``more than 5``; with `upper` a range."""

    relator: Relator
    number: NumberMention
    mask: int
    upper: NumberMention | None = None


@dataclass(frozen=True)
class Question:
    """A question and what is read from its words alone. Make one with `read`."""

    text: str
    tokens: tuple[QuestionToken, ...]

    @classmethod
    def read(cls, text: str) -> Question:
        """The question's tokens.

        >>> [token.word for token in Question.read("Who won Kiel's 3 races?").tokens]
        ['who', 'won', 'kiel', '3', 'races']
        """
        tokens = []
        opening = opening_pattern().match(text)
        asked = opening.end() if opening is not None and opening.end() < len(text) else 0
        for index, match in enumerate(_TOKEN.finditer(text)):
            if index >= MOST_TOKENS:
                break
            word = fold(match[0])
            empty = match.end() <= asked or (
                word not in ("%",)
                and not word[0].isdigit()
                and (is_empty_word(word) or word in light_words())
            )
            stem = word.replace(",", "") if word[0].isdigit() else word_stem(word)
            if _CODES.fullmatch(stem) and not _DECADE.fullmatch(stem):
                stem = stem[:-1]  # several of the type 787-9: "787-9s"
            tokens.append(QuestionToken(index, match.start(), match.end(), match[0], word, stem, empty))
        for one, other in pairwise(tokens):
            if one.empty and other.empty and text[one.end : other.start] == "-":  # a no-show is a thing
                tokens[one.index], tokens[other.index] = (replace(part, empty=False) for part in (one, other))
        for verb, noun in pairwise(tokens):
            named = noun.text[:1].isupper() or noun.text[:1].isdigit()
            if verb.word in naming_words() and named:  # the play called "All"
                tokens[verb.index] = replace(verb, empty=True)
            if noun.word == "may" and noun.text == "May":  # the month, and no verb
                tokens[noun.index] = replace(noun, empty=False)
            if verb.word in _PLACING and _places(tokens, verb.index):  # the bridges over the Orle
                tokens[verb.index] = replace(verb, empty=True)
            if noun.word == "place" and verb.word in taking_words():  # what takes place happens
                tokens[noun.index] = replace(noun, empty=True)
        return cls(text, tuple(tokens))

    @cached_property
    def lower(self) -> str:
        """The text in lower case, of the same length."""
        folded = self.text.replace("’", "'").lower()
        return folded if len(folded) == len(self.text) else self.text

    def mask(self, start: int, end: int) -> int:
        """The tokens between two places of the text."""
        return sum(1 << token.index for token in self.tokens if token.start < end and token.end > start)

    @cached_property
    def cues(self) -> Mapping[str, int]:
        """The classes of operator words that occur, and the tokens that say them."""
        found: dict[str, int] = {}
        for name, pattern in cue_patterns():
            for match in pattern.finditer(self.lower):
                mask = self.mask(match.start(), match.end())
                if match[0] in _PLACING and mask and _places(self.tokens, mask.bit_length() - 1):
                    continue
                found[name] = found.get(name, 0) | mask
        if "first" in found and not (rest := found["first"] & ~self._in_quarters):
            del found["first"]
        elif "first" in found:
            found["first"] = rest
        return found

    @cached_property
    def _in_quarters(self) -> int:
        return self._all(mask for _, mask in self.quarters)

    @cached_property
    def says_span(self) -> bool:
        """Whether it names the first and the last of several years at once: ``2016-2018``."""
        return any(re.fullmatch(r"(\d{4})/(\d{4})", mention.lexical) for mention in self.times)

    @cached_property
    def content(self) -> int:
        """The tokens that carry meaning of their own."""
        return sum(1 << token.index for token in self.tokens if not token.empty)

    @cached_property
    def quoted(self) -> int:
        """The tokens between quotation marks."""
        return self._all(self.mask(match.start(1), match.end(1)) for match in _QUOTED.finditer(self.text))

    @cached_property
    def names(self) -> int:
        """The tokens within the sentence that are written with a capital."""
        return sum(
            1 << token.index
            for token in self.tokens
            if token.index and not token.empty and token.text[:1].isupper()
        )

    @cached_property
    def things(self) -> int:
        """The tokens that stand where a noun does: behind an article, a preposition or a possessive."""
        found = 0
        for before, token in pairwise(self.tokens):
            if not token.empty and token.word.isalpha() and before.word in noun_openers():
                found |= 1 << token.index
        return found

    @cached_property
    def wh(self) -> str:
        """What is asked for: who, when, where, how_many, how_much, which, …"""
        opening = opening_pattern().match(self.lower)
        if _YES_NO.match(self.lower, opening.end() if opening else 0) and "or" not in self.cues:
            return "yes_no"
        found = [(match.start(), place, name) for place, (name, pattern) in enumerate(_WH) if (match := pattern.search(self.lower))]  # fmt: skip  # noqa: E501
        if not found:
            return "other"
        starts = min(start for start, _, _ in found)
        near = [entry for entry in found if entry[0] <= starts + 4]
        return min(near, key=lambda entry: entry[1])[2]

    @cached_property
    def focus(self) -> int:
        """The tokens that name what is asked for: *ski resorts* of "which ski resorts have …"."""
        match = _FOCUS.search(self.lower)
        if match is None:
            return 0
        end = _FOCUS_ENDS.search(self.lower, match.end())
        stop = end.start() if end else len(self.lower)
        return self.mask(match.end(), stop) if stop > match.end() else 0

    @cached_property
    def head(self) -> int:
        """The token of the noun that is asked for: the last of the focus before a verb; none without a focus."""
        tokens = [token for token in self.tokens if self.focus >> token.index & 1]
        verb = next((n for n, token in enumerate(tokens) if n and is_verb_form(token.word)), len(tokens))
        return 1 << tokens[verb - 1].index if tokens else 0

    @cached_property
    def plural(self) -> bool:
        """Whether several things seem to be asked for."""
        last = self.words_of(self.head).lower()
        listed = self.wh == "list" or re.search(
            r"\b(?:are|were|have) (?:the|all)\b|^what (?:are|were)", self.lower
        )
        return bool(listed) or (
            len(last) > 3 and last.endswith("s") and not last.endswith(("ss", "us", "is"))
        )

    @cached_property
    def times(self) -> tuple[TimeMention, ...]:
        """Dates, months, years and spans, each with how it limits time."""
        found = [self._related(mention) for mention in self._times()]
        years = [mention for mention in found if _YEAR.fullmatch(mention.lexical)]
        if len(years) == 1:  # "in 2023 … the year before"
            for match in _YEAR_BEFORE.finditer(self.lower):
                mask = self.mask(*match.span())
                if not mask & years[0].full_mask:
                    found.append(TimeMention(str(int(years[0].lexical) - 1), mask, full_mask=mask))
        return tuple(found)

    @cached_property
    def clocks(self) -> tuple[ClockMention, ...]:
        """Times of the day: ``12:00``, *9 am*, *noon*."""
        found = []
        for match in _CLOCK.finditer(self.lower):
            hour = int(
                match["hour"]
                or match["hour2"]
                or match["hour3"]
                or (0 if match["word"] == "midnight" else 12)
            )
            if match["half"]:
                hour = hour % 12 + (12 if match["half"] == "p" else 0)
            mask = self.mask(*match.span())
            if not mask:  # behind the last token that is read
                break
            mention = TimeMention(
                f"{hour:02d}:{match['minute'] or match['minute2'] or '00'}", mask, full_mask=mask
            )
            found.append(self._limited(ClockMention(*self._related(mention), text=match[0])))
        return tuple(found)

    def _limited(self, mention: ClockMention) -> ClockMention:
        """The mention with the words before it that limit a length of time: *under 2:30:00*."""
        start = self.tokens[(mention.mask & -mention.mask).bit_length() - 1].start
        match = _LIMITED.search(self.lower, 0, start)
        if match is None:
            return mention
        relation = "above" if match["above"] else "below"
        return mention._replace(relation=relation, full_mask=mention.mask | self.mask(*match.span()))

    @cached_property
    def numbers(self) -> tuple[NumberMention, ...]:
        """Numbers in figures and words, with units and scales behind them."""
        found = []
        clocks = self._all(clock.mask for clock in self.clocks)
        for token in self.tokens:
            value: Decimal | None = None
            if clocks >> token.index & 1:
                continue
            if _NUMBER.fullmatch(token.text):
                value = Decimal(token.text.replace(",", ""))
                if (
                    token.start
                    and self.text[token.start - 1] in "-−"
                    and self.text[token.start - 2 : token.start - 1] in ("", " ")
                ):
                    value = -value
            elif token.word == "half" and self._after(token) in ("a", "an"):
                half = self._with_unit(
                    NumberMention(Decimal("0.5"), 1 << token.index, "half"), token.index + 1
                )
                if half.unit is not None:
                    found.append(half._replace(unit_mask=half.unit_mask | 2 << token.index))
                continue
            elif token.word in number_words() and not self._is_pronoun(token):
                value = Decimal(number_words()[token.word])
            elif token.word in ("a", "an") and self._is_one(token):
                value = Decimal(1)
            if value is None:
                continue
            found.append(self._with_unit(NumberMention(value, 1 << token.index, token.text), token.index))
        return tuple(found)

    def _after(self, token: QuestionToken) -> str:
        """The next word; empty behind the last."""
        return self.tokens[token.index + 1].word if token.index + 1 < len(self.tokens) else ""

    def _is_one(self, token: QuestionToken) -> bool:
        """Whether an article counts: "less than an hour", "over a million"."""
        before = self.tokens[token.index - 1].word if token.index else ""
        after = self.tokens[token.index + 1].text if token.index + 1 < len(self.tokens) else ""
        return before in _COMPARING and (
            unit_named(after) is not None or (len(after) > 2 and after in SCALE_WORDS)
        )

    def _is_pronoun(self, token: QuestionToken) -> bool:
        """Whether "one" stands for a thing: after an article or a describing word, with nothing behind it."""
        if token.word != "one":
            return False
        after = self.tokens[token.index + 1] if token.index + 1 < len(self.tokens) else None
        return after is None or after.empty or not after.word.isalpha()

    @cached_property
    def ordinals(self) -> tuple[tuple[int, int], ...]:
        """Ordinal numbers above first, and their tokens."""
        found = []
        for token in self.tokens:
            match = _ORDINAL.fullmatch(token.word)
            number = int(match[1]) if match else ordinal_words().get(token.word, 0)
            if number >= 1:
                found.append((number, 1 << token.index))
        return tuple(found)

    @cached_property
    def standings(self) -> tuple[Threshold, ...]:
        """Places that are a limit: *above fifth place*, *tenth or better*, *in the top ten*; the first is the best.

        The relator compares the numbers of the places, so that *above fifth* is less than five.
        """
        found: dict[int, Threshold] = {}
        for relator, pattern in _STANDINGS:
            for match in pattern.finditer(self.lower):
                said = match["place"]
                digits = re.match(r"\d+", said)
                place = int(digits[0]) if digits else ordinal_words().get(said) or number_words().get(said, 0)
                mask = self.mask(*match.span())
                number = NumberMention(Decimal(place), self.mask(*match.span("place")), said)
                known = found.get(number.mask)
                if place > 0 and (known is None or known.mask.bit_count() < mask.bit_count()):
                    found[number.mask] = Threshold(relator, number, mask)
        return tuple(found.values())

    @cached_property
    def thresholds(self) -> tuple[Threshold, ...]:
        """Numbers that something is compared with."""
        by_place = {self.tokens[n.mask.bit_length() - 1].start: n for n in self.numbers}
        found: list[Threshold] = []
        taken = 0
        for match in _between().finditer(self.lower):
            ends = [by_place.get(match.start(name)) for name in (("a", "b") if match["a"] else ("c", "d"))]
            low, high = ends
            if low is not None and high is not None:
                mask = self.mask(match.start(), match.end()) | high.unit_mask | low.unit_mask
                if low.unit is None and high.unit is not None:
                    low = low._replace(unit=high.unit, scale=high.scale)
                found.append(Threshold(Relator.GREATER_OR_EQUAL, low, mask, high))
        for match in _SIGNED.finditer(self.lower):
            mask = self.mask(*match.span())
            relator = Relator.GREATER if match[0].startswith("pos") else Relator.LESS
            found.append(Threshold(relator, NumberMention(Decimal(0), mask, "0"), mask))
        for relator, pattern in _threshold_patterns():
            for match in pattern.finditer(self.lower):
                group = next(name for name in ("number", "number2") if match.groupdict().get(name))
                number = by_place.get(match.start(group))
                if number is not None and not number.mask & taken:
                    taken |= number.mask
                    mask = self.mask(match.start(), match.end()) | number.unit_mask
                    found.append(Threshold(relator, number, mask))
        return tuple(found)

    @cached_property
    def adjectives(self) -> tuple[tuple[Adjective, int], ...]:
        """Superlatives and comparatives with their tokens."""
        return tuple((adjective, token) for adjective, token in self._adjectives if not adjective.measured)

    @cached_property
    def listed_first(self) -> tuple[tuple[Adjective, int], ...]:
        """Adjectives that say in what order to list, with the tokens that do: *newest first*, *most played first*."""
        found = []
        if match := _FROM_TO.search(self.lower):  # from the oldest to the newest
            mask = self.mask(*match.span())
            known = [(adjective, token) for adjective, token in self._adjectives if token & mask]
            found += [(known[0][0], mask)] if len(known) > 1 else []
        for adjective, token in self._adjectives:
            place = token.bit_length() - 1
            behind = [other.word for other in self.tokens[place + 1 : place + 3]]
            if "first" in behind and (
                behind[0] == "first" or adjective.name in ("most", "small", "good", "bad")
            ):
                size = behind.index("first") + 2
                found.append((adjective, ((1 << size) - 1) << place))
        return tuple(found)

    @cached_property
    def achievements(self) -> tuple[tuple[Adjective, int], ...]:
        """Words such as "won", which mean the best of a rank or a time, with their tokens."""
        return tuple((adjective, token) for adjective, token in self._adjectives if adjective.measured)

    @cached_property
    def _adjectives(self) -> tuple[tuple[Adjective, int], ...]:
        known = adjectives()
        cues = self.cues.get("last", 0)
        found = []
        for token in self.tokens:
            adjective, mask = known.get(token.word), 1 << token.index
            if adjective is None or (token.word == "last" and not mask & cues) or mask & self._in_quarters:
                continue  # "last year" and "the first quarter" are times
            after = [other.word for other in self.tokens[token.index + 1 : token.index + 3]]
            if adjective.superlative and not adjective.measured and after == ["number", "of"]:
                most = known["most"]  # "the largest number of" is the most
                found.append((most._replace(sign=adjective.sign), mask | mask << 1))
            else:
                found.append((adjective, mask))
        return tuple(found)

    @cached_property
    def limit(self) -> tuple[int, int]:
        """How many of an extreme are asked for, and the tokens that say so: "the three highest", "top 5"."""
        extreme = "|".join(word for word, adjective in adjectives().items() if adjective.superlative)
        number = rf"(\d{{1,3}}|{'|'.join(number_words())})"
        pattern = _limit_pattern(extreme, number)
        match = pattern.search(self.lower)
        if match is None:
            return 1, 0
        group = next(place for place, text in enumerate(match.groups(), 1) if text)
        text = match[group]
        count = int(text) if text.isdigit() else number_words()[text]
        return (count, self.mask(*match.span(group))) if 1 < count <= 100 else (1, 0)

    @cached_property
    def unit_asked(self) -> tuple[str, int] | None:
        """The unit in which the answer is wanted: "in kg", "how many centimetres"."""
        for match in _UNIT_ASKED.finditer(self.text):
            word = match[1] or match[2]
            unit = unit_named(word)
            if unit is not None:
                return unit, self.mask(match.start(1 if match[1] else 2), match.end(1 if match[1] else 2))
        return None

    @cached_property
    def quarters(self) -> tuple[tuple[str, int], ...]:
        """Quarters and halves without their year, as headers write them: *second quarter* is Q2."""
        found = []
        for match in _QUARTER.finditer(self.lower):
            number = match["number"] or str(ordinal_words().get(match["ordinal"], 0) or match["ordinal"][0])
            letter = "q" if "quarter" in match[0] else "h"
            found.append((f"{letter}{number}", self.mask(*match.span())))
        if len(found) == 1:  # "in the third quarter than in the first"
            name, mask = found[0]
            for number, token in self.ordinals:
                after = self._after(self.tokens[token.bit_length() - 1])
                alone = not after or is_empty_word(after)
                if alone and not token & mask and number <= (4 if name[0] == "q" else 2):
                    found.append((f"{name[0]}{number}", token))
        return tuple(found)

    @cached_property
    def units_named(self) -> tuple[tuple[str, int], ...]:
        """The units that words of more than two letters name, but for those of numbers: *per square metre*."""
        taken = self._all(number.unit_mask for number in self.numbers)
        found: list[tuple[str, int]] = []
        for length in (2, 1):
            for first in self.tokens[: len(self.tokens) - length + 1]:
                mask = ((1 << length) - 1) << first.index
                last = self.tokens[first.index + length - 1]
                if mask & taken or len(last.word) < 3 or first.empty or last.empty:
                    continue
                unit = unit_named(self.text[first.start : last.end])
                if unit is not None:
                    taken |= mask
                    found.append((unit, mask))
        return tuple(found)

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The question, or the several questions, up to `MOST_PARTS`, that stand in it as sentences of their own."""
        pieces = [piece.strip() for piece in _SENTENCE.split(self.text) if piece and piece.strip()]
        asking = [piece for piece in pieces if len(piece.split()) >= 3]
        if not 2 <= len(asking) <= MOST_PARTS or len(asking) != len(pieces):
            return (self.text,)
        return tuple(asking)

    def stems_of(self, mask: int) -> tuple[str, ...]:
        """The stems of some tokens."""
        return tuple(token.stem for token in self.tokens if mask >> token.index & 1)

    def words_of(self, mask: int) -> str:
        """The text of some tokens."""
        return " ".join(token.text for token in self.tokens if mask >> token.index & 1)

    @staticmethod
    def _all(masks: Iterable[int]) -> int:
        total = 0
        for mask in masks:
            total |= mask
        return total

    def _with_unit(self, number: NumberMention, index: int) -> NumberMention:
        """The number with a scale word and a unit in the next tokens, or a currency sign before it."""
        scale, unit, mask = None, None, 0
        place = index + 1
        if (
            place < len(self.tokens)
            and self.tokens[place].word in SCALE_WORDS
            and len(self.tokens[place].word) > 2
        ):
            scale = SCALE_LETTERS.get(SCALE_WORDS[self.tokens[place].word])
            mask |= 1 << place
            place += 1
        for length in (2, 1):
            if place + length > len(self.tokens):
                continue
            text = self.text[self.tokens[place].start : self.tokens[place + length - 1].end]
            gap = self.text[self.tokens[place - 1].end : self.tokens[place].start]
            if gap.strip() == "°":
                gap, text = "", f"°{text}"
            if gap.strip() or (self.tokens[place].empty and length == 1):
                continue
            unit = unit_named(text)
            if unit is not None:
                mask |= ((1 << length) - 1) << place
                after = place + length
                if (
                    after < len(self.tokens)
                    and self.text[self.tokens[after - 1].end : self.tokens[after].start] == "/"
                ):
                    unit, mask = None, mask | 1 << after  # so much in another unit, as mg/l
                break
        if unit is None and index and self.tokens[index - 1].text in "€£$¥":
            phrase = parse_unit_phrase(self.tokens[index - 1].text)
            unit = phrase.unit if phrase else None
            mask |= 1 << (index - 1)
        return number._replace(unit=unit, scale=scale, unit_mask=mask)

    def _times(self) -> Iterator[TimeMention]:
        names = months()
        taken = 0
        quarterly = self._all(self.mask(start, end) for _, start, end in quarters_in(self.text))
        tokens = self.tokens
        for index, token in enumerate(tokens):
            if taken >> index & 1:
                continue
            around = [
                tokens[index + step].word if 0 <= index + step < len(tokens) else "" for step in range(-2, 4)
            ]
            day, month, year = None, names.get(token.word), None
            if month and (len(token.word) > 4 or token.text[:1].isupper() or around[3][:1].isdigit()):
                last = index
                first = index
                day_before = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", around[1])
                day_after = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", around[3])
                if _YEAR.fullmatch(around[3]):
                    year, last = around[3], index + 1
                elif day_after and 0 < int(day_after[1]) <= 31:
                    day, last = int(day_after[1]), index + 1
                    if _YEAR.fullmatch(around[4]):
                        year, last = around[4], index + 2
                if day is None and day_before and 0 < int(day_before[1]) <= 31:
                    day, first = int(day_before[1]), index - 1
                mask = ((1 << (last - first + 1)) - 1) << first
                taken |= mask
                text = f"{year or '-'}-{month:02d}" + (f"-{day:02d}" if day else "")
                yield TimeMention(text, mask, full_mask=mask)
            elif _YEAR.fullmatch(token.word) and not quarterly >> index & 1:
                end = tokens[index + 1] if index + 1 < len(tokens) else None
                gap = self.text[token.end : end.start] if end else ""
                if (
                    end
                    and gap.strip() in ("-", "–")
                    and len(gap) == 1
                    and re.fullmatch(r"\d\d|\d{4}", end.word)
                ):
                    second = end.word if len(end.word) == 4 else token.word[:2] + end.word
                    if (
                        re.fullmatch(r"\d\d", end.word)
                        and tokens[index + 2 : index + 3]
                        and re.fullmatch(r"\d\d", tokens[index + 2].word)
                    ):
                        mask = 7 << index
                        taken |= mask
                        yield TimeMention(
                            f"{token.word}-{end.word}-{tokens[index + 2].word}", mask, full_mask=mask
                        )
                        continue
                    mask = 3 << index
                    taken |= mask
                    yield TimeMention(f"{token.word}/{second}", mask, full_mask=mask)
                else:
                    yield TimeMention(token.word, 1 << index, full_mask=1 << index)
            elif _DECADE.fullmatch(token.word):
                first = int(token.word[:4])
                yield TimeMention(f"{first}/{first + 9}", 1 << index, full_mask=1 << index)
            elif match := re.fullmatch(r"fy(\d\d(?:\d\d)?)", token.word):
                text = match[1] if len(match[1]) == 4 else f"20{match[1]}"
                yield TimeMention(text, 1 << index, full_mask=1 << index)
        for lexical, begin, behind in quarters_in(self.text):
            mask = self.mask(begin, behind)
            if not mask & taken:
                taken |= mask
                yield TimeMention(lexical, mask, full_mask=mask)
        for match in re.finditer(r"\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b", self.text):
            date = parse_date(match[0])
            if date is not None:
                mask = self.mask(match.start(), match.end())
                yield TimeMention(date.lexical, mask, full_mask=mask)

    def _related(self, mention: TimeMention) -> TimeMention:
        first = self.tokens[(mention.mask & -mention.mask).bit_length() - 1]
        before = self.lower[: first.start]
        last = self.tokens[mention.mask.bit_length() - 1]
        if behind := _OR_LATER.match(self.lower, last.end):
            relation = "until" if behind[1] in ("earlier", "before") else "since"
            return mention._replace(
                relation=relation, full_mask=mention.mask | self.mask(behind.start(), behind.end())
            )
        match = _SINCE.search(before)
        if match is None:
            return mention
        if match[1] == "from" and not _ON_FROM.match(self.lower, last.end):
            # "Songs from 2019" are of that year; a span goes "from 2019 on" or "to 2021".
            return mention._replace(full_mask=mention.mask | self.mask(match.start(1), match.end(1)))
        relation = {
            "since": "since", "after": "after", "later than": "after", "before": "before", "prior to": "before",
            "earlier than": "before", "until": "until", "till": "until", "through": "until", "by": "until",
            "starting in": "since", "from": "from",
        }[match[1]]  # fmt: skip
        return mention._replace(
            relation=relation, full_mask=mention.mask | self.mask(match.start(1), match.end(1))
        )


def _places(tokens: Sequence[QuestionToken], place: int) -> bool:
    """Whether a preposition says where something is: *over the Orle*; *over the EU average* compares."""
    rest = tokens[place + 1 :]
    if len(rest) < 2 or rest[0].word != "the" or not rest[1].text[:1].isupper():
        return False
    after = next((token for token in rest[1:] if not token.text[:1].isupper()), None)
    relative = ("that", "which", "who", "and", "or")
    return after is None or is_verb_form(after.word) or after.word in (*relative, *noun_openers())


_UNIT_ASKED = re.compile(
    r"\b(?:in|as)\s+(?:terms of\s+)?([^\W\d_]+|%)\s*(?:[?.!,]|$)|\bhow many\s+([^\W\d_]{2,})\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[?.!])\s+(?=(?:also|furthermore|and|additionally|moreover|secondly|what|which|who|when|where|how|list|name)\b)|\s+(?=(?:Also|Furthermore|Additionally|Moreover),\s)")  # fmt: skip  # noqa: E501


@cache
def _limit_pattern(extreme: str, number: str) -> re.Pattern[str]:
    return re.compile(
        rf"\b(?:top|first|last|bottom|best)\s+{number}\b(?!\s*(?:%|percent|place))"
        rf"|\b(?:the|which|what)\s+{number}\s+(?:[\w-]+\s+){{0,2}}?(?:{extreme})\b"
        rf"|\b{number}\s+(?:{extreme})\b"
        rf"|\b(?:the|which|what)\s+{number}\s+(?:[\w-]+\s+){{1,3}}?(?:with|have|has|had) the (?:{extreme})\b"
        rf"|^(?:which|what)\s+{number}\s+(?:[\w-]+\s+){{2,4}}?(?:at |by |of |on |in )?the (?:{extreme})\b"
    )


@cache
def _threshold_patterns() -> tuple[tuple[Relator, re.Pattern[str]], ...]:
    words = "|".join(number_words())
    number = rf"(?:[€£$¥]\s?)?(?P<number>\d+(?:,\d{{3}})*(?:\.\d+)?|(?:{words}|half(?= an? )|an?)\b)"
    filled = []
    for relator, text in _THRESHOLDS:
        plain = (
            text.replace("{more}", comparatives(1))
            .replace("{less}", comparatives(-1))
            .replace("{u}", r"[^\W\d_]+")
        )
        first, rest = plain.replace("{n}", number, 1), ""
        pieces = first + rest
        pieces = pieces.replace("{n}", number.replace("P<number>", "P<number2>"))
        filled.append((relator, re.compile(rf"(?<!\w){pieces}")))
    return tuple(filled)


@cache
def _between() -> re.Pattern[str]:
    words = "|".join(number_words())
    number = rf"(?:[€£$¥]\s?)?(?P<{{}}>\d+(?:,\d{{{{3}}}})*(?:\.\d+)?|(?:{words})\b)(?:\s[^\W\d_]+)?"
    return re.compile(
        rf"\bbetween\s+{number.format('a')}\s+and\s+{number.format('b')}|\bfrom\s+{number.format('c')}\s+(?:to|until|through)\s+{number.format('d')}"
    )
