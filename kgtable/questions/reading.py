"""A question read for schema linking: tokens, operator words, numbers, times, thresholds, what is asked for.

Sets of tokens are bit masks: bit i is token i. All English lies in `english` and in the word
lists of the index.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise

from kgtable.questions.english import (
    LEAST_MISSPELT,
    Adjective,
    adjectives,
    cue_patterns,
    fold,
    foreign_words,
    is_verb_form,
    light_words,
    naming_words,
    noun_openers,
    number_words,
    operator_meant,
    word_stem,
)
from kgtable.questions.mentions import DECADE, Mentions, QuestionToken
from kgtable.text.words import is_empty_word

MOST_TOKENS = 120
"""Tokens of a question that are read."""

MOST_PARTS = 8
"""Questions in one text that are answered one by one."""

_TOKEN = re.compile(
    r"\d+(?:[.,]\d+)*(?:st|nd|rd|th|s)?(?![^\W\d_])|[^\W_]+(?:['’](?!s\b)[^\W_]+)*(?:['’]s\b)?|%|[€£$¥]"
)
_CODES = re.compile(r"\d+s")
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


@dataclass(frozen=True)
class Question(Mentions):
    """A question and what is read from its words alone. Make one with `read`."""

    @classmethod
    def read(cls, text: str) -> Question:
        """The question's tokens.

        >>> [token.word for token in Question.read("Who won Kiel's 3 races?").tokens]
        ['who', 'won', 'kiel', '3', 'races']
        """
        tokens = []
        for index, match in enumerate(_TOKEN.finditer(text)):
            if index >= MOST_TOKENS:
                break
            word = fold(match[0])
            empty = word != "%" and not word[0].isdigit() and (is_empty_word(word) or word in light_words())
            stem = word.replace(",", "") if word[0].isdigit() else word_stem(word)
            if _CODES.fullmatch(stem) and not DECADE.fullmatch(stem):
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
        return cls(text, tuple(tokens))

    @cached_property
    def cues(self) -> Mapping[str, int]:
        """The classes of operator words that occur, and the tokens that say them."""
        found: dict[str, int] = {}
        for name, pattern in cue_patterns():
            for match in pattern.finditer(self.lower):
                mask = self.mask(match.start(), match.end())
                found[name] = found.get(name, 0) | mask
            for place, word in self._misspelt.items():
                if pattern.fullmatch(word):
                    found[name] = found.get(name, 0) | 1 << place
        if "first" in found and not (rest := found["first"] & ~self._in_quarters):
            del found["first"]
        elif "first" in found:
            found["first"] = rest
        return found

    @cached_property
    def _misspelt(self) -> Mapping[int, str]:
        """The words of operators that tokens differ from by one letter, by the places of the tokens."""
        tokens = (token for token in self.tokens if len(token.word) >= LEAST_MISSPELT and not token.empty)
        found = ((token.index, operator_meant(token.word)) for token in tokens if not token.text[:1].isupper())
        return {place: word for place, word in found if word}

    @cached_property
    def _in_quarters(self) -> int:
        return self._all(mask for _, mask in self.quarters)

    @cached_property
    def content(self) -> int:
        """The tokens that carry meaning of their own."""
        return sum(1 << token.index for token in self.tokens if not token.empty)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of its words, numbers aside."""
        return frozenset(token.stem for token in self.tokens if token.stem.isalpha())

    @cached_property
    def quoted(self) -> int:
        """The tokens between quotation marks."""
        return self._all(self.mask(match.start(1), match.end(1)) for match in _QUOTED.finditer(self.text))

    @cached_property
    def names(self) -> int:
        """The tokens within the sentence that are written with a capital."""
        return sum(
            1 << token.index for token in self.tokens if token.index and not token.empty and token.text[:1].isupper()
        )

    @cached_property
    def things(self) -> int:
        """The tokens in a noun's position: after an article, a preposition or a possessive."""
        found = 0
        for before, token in pairwise(self.tokens):
            if not token.empty and token.word.isalpha() and before.word in noun_openers():
                found |= 1 << token.index
        return found

    @cached_property
    def wh(self) -> str:
        """The kind of answer asked for: who, when, where, how_many, how_much, which, …"""
        if _YES_NO.match(self.lower.lstrip()) and "or" not in self.cues:
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
        listed = self.wh == "list" or re.search(r"\b(?:are|were|have) (?:the|all)\b|^what (?:are|were)", self.lower)
        return bool(listed) or (len(last) > 3 and last.endswith("s") and not last.endswith(("ss", "us", "is")))

    @cached_property
    def adjectives(self) -> tuple[tuple[Adjective, int], ...]:
        """Superlatives and comparatives with their tokens."""
        return tuple((adjective, token) for adjective, token in self._adjectives if not adjective.measured)

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
            adjective = known.get(token.word) or known.get(self._misspelt.get(token.index, ""))
            mask = 1 << token.index
            if adjective is None or (token.word == "last" and not mask & cues) or mask & self._in_quarters:
                continue  # "last year" and "the first quarter" are times
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

    @property
    def may_ask_for_groups(self) -> bool:
        """Whether it has a word of grouping: *by*, *per* or *each*."""
        return bool(self.cues.keys() & {"each", "per"}) or any(token.word == "by" for token in self.tokens)

    @property
    def is_foreign(self) -> bool:
        """Whether it opens with a question word of another language."""
        words = [token.word for token in self.tokens[:2]]
        return any(word in foreign_words() for word in words) and "the" not in words

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The question, or the several questions, up to `MOST_PARTS`, that it contains as separate sentences."""
        pieces = [piece.strip() for piece in _SENTENCE.split(self.text) if piece and piece.strip()]
        asking = [piece for piece in pieces if len(piece.split()) >= 3]
        if not 2 <= len(asking) <= MOST_PARTS or len(asking) != len(pieces):
            return (self.text,)
        return tuple(asking)


_SENTENCE = re.compile(r"(?<=[?.!])\s+(?=(?:also|furthermore|and|additionally|moreover|secondly|what|which|who|when|where|how|list|name)\b)|\s+(?=(?:Also|Furthermore|Additionally|Moreover),\s)")  # fmt: skip  # noqa: E501


@cache
def _limit_pattern(extreme: str, number: str) -> re.Pattern[str]:
    return re.compile(
        rf"\b(?:top|first|last|bottom|best)\s+{number}\b(?!\s*(?:%|percent|place))"
        rf"|\b(?:the|which|what)\s+{number}\s+(?:[\w-]+\s+){{0,2}}?(?:{extreme})\b"
        rf"|\b{number}\s+(?:{extreme})\b"
        rf"|\b(?:the|which|what)\s+{number}\s+(?:[\w-]+\s+){{1,6}}?(?:with|have|has|had) the (?:{extreme})\b"
        rf"|^(?:which|what)\s+{number}\s+(?:[\w-]+\s+){{2,4}}?(?:at |by |of |on |in )?the (?:{extreme})\b"
    )
