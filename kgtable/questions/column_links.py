"""How a question names the columns of a table: by all or some words of a header, a synonym, a period, a unit."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rapidfuzz.distance import DamerauLevenshtein

from kgtable.programs.algebra import ValueKind
from kgtable.programs.dimensions import NO_UNIT, comparable
from kgtable.questions.english import (
    LEAST_MISSPELT,
    adjectives,
    synonyms,
    unit_named,
    word_endings,
)
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import ColumnView, TableIndex
from kgtable.text.words import is_empty_word
from kgtable.values.lexicon import VARIANTS, senses


@dataclass(frozen=True, slots=True)
class ColumnLink:
    """How a question names a column: `score` from 0 to 1, the tokens that do, and in what way."""

    score: float
    mask: int
    exact: bool = False
    derived: bool = False
    key: bool = False


_BY_SYNONYM = 0.8
"""What a word of a header counts that a synonym names, next to one that the question says."""
_SHARES = frozenset({"share", "percent"})
"""Cues of questions for a part of a whole."""
_NOUNS = frozenset({"name", "amount", "chang", "valu", "share", "rank", "posit", "state"})
"""Words without content in most questions that head columns all the same."""


def _is_verb(said: Sequence[str], place: int) -> bool:
    """Whether such a word opens an order, as in "name the three highest"."""
    return place == 0 or (place == 1 and said[0] in ("please", "and"))


class ColumnLinks:
    """How one question names the columns of one table, and its title."""

    def __init__(self, question: Question, index: TableIndex) -> None:
        self.question, self.index = question, index

    @cached_property
    def title(self) -> int:
        """The tokens that are words of the table's title, headings or id."""
        return self._named(self.index.title_stems)

    @cached_property
    def titled(self) -> int:
        """The tokens that the title says, also in another form or by a synonym: *visited* and "Visitors"."""
        stems = self.index.title_stems
        return self.title | Question._all(
            1 << token.index
            for token in self.question.tokens
            if not token.empty
            and (stems & synonyms().get(token.stem, frozenset()) or any(inflected(token.stem, stem) for stem in stems))
        )

    def measured(self, view: ColumnView) -> int:
        """The tokens that say what the values of a column are: a time, a price, what was spent."""
        return Question._all(
            1 << token.index
            for token in self.question.tokens
            if token.stem in view.aspects or view.aspects & synonyms().get(token.stem, frozenset())
        )

    @cached_property
    def columns(self) -> tuple[ColumnLink, ...]:
        """How each column is named."""
        links = [self._column(view) for view in self.index.columns]
        for view in self.index.columns:
            # "Which students" asks for the names of students, though the header is that of their numbers.
            if view.key >= 0 and not links[view.key].key and links[view.key].score > links[view.place].score:
                links[view.place] = links[view.key]
        self._prefer_own_names(links)
        self._prefer_named_in_full(links)
        self._prefer_actual(links)
        return tuple(links)

    def _prefer_own_names(self, links: list[ColumnLink]) -> None:
        """A word that is the whole name of a column is not a synonym of the name of another."""
        own = Question._all(
            link.mask for view, link in zip(self.index.columns, links, strict=True) if link.exact and len(view.own) == 1
        )
        for at, link in enumerate(links):
            if link.derived and link.mask and not link.mask & ~own:
                links[at] = ColumnLink(0.0, 0)

    def _prefer_named_in_full(self, links: list[ColumnLink]) -> None:
        """Among columns of one period, or of one name below several, the one whose other words are said is meant.

        "Actual 2024" and not "Budget 2024"; of "Bus | planned" and "Entry | planned" the second, for *planned entry*.
        """
        said = {token.stem for token in self.question.tokens}
        alike: dict[tuple[str, ...], list[ColumnView]] = defaultdict(list)
        for view in self.index.columns:
            if links[view.place].exact and view.period:
                alike[("", view.period)].append(view)
            elif links[view.place].exact and len(view.stems) > len(view.own):
                alike[view.own].append(view)
        for views in alike.values():
            named = [view for view in views if len(view.stems) > 1 and said.issuperset(view.stems)]
            for view in views if named else ():
                if not said.issuperset(view.stems):
                    links[view.place] = replace(links[view.place], score=0.7, exact=False)

    def _prefer_actual(self, links: list[ColumnLink]) -> None:
        """If no variant of a measure is named, the actual one is meant: "spent" and not "budgeted"."""
        told = {view.variant for view in self.index.columns}
        named = {found.sense for found in senses(self.question.text, VARIANTS)}
        if "actual" not in told or named & told:
            return
        actual = [view for view in self.index.columns if view.variant == "actual"]
        for view in self.index.columns:
            link = links[view.place]
            if view.variant in (None, "actual") or not link.score:
                continue
            links[view.place] = replace(link, score=0.6 * link.score, exact=False)
            for other in actual:
                if other.period == view.period and links[other.place].score:
                    links[other.place] = replace(links[other.place], mask=links[other.place].mask | link.mask)

    def _named(self, stems: frozenset[str]) -> int:
        mask = 0
        for token in self.question.tokens:
            if not token.empty and token.stem in stems:
                mask |= 1 << token.index
        return mask

    def _column(self, view: ColumnView) -> ColumnLink:
        """The best of: all words of the header, its last level, some of its words, a derived or synonymous word."""
        question = self.question
        by_stem: dict[str, int] = defaultdict(int)
        spelt = Question._all(n.mask for n in question.numbers if n.mask & n.mask - 1)  # three and a half
        for token in question.tokens:
            if not spelt >> token.index & 1:
                by_stem[self._misspelt.get(token.index, token.stem)] |= 1 << token.index
        best = ColumnLink(0.0, 0)
        # Who asks for revenue means no "% of total revenue".
        unasked = frozenset[str]() if question.cues.keys() & _SHARES else view.whole
        for stems in dict.fromkeys((view.stems, view.own, *view.names)):
            stems = tuple(stem for stem in stems if stem not in unasked) if unasked else stems
            content = [stem for stem in stems if not is_empty_word(stem)] or list(stems)
            if not content:
                continue
            hits = [stem for stem in content if stem in by_stem]
            if hits:
                mask = 0
                for stem in hits:
                    mask |= by_stem[stem]
                share = len(hits) / len(content)
                if share < 1.0:  # "charge a month" says with both words "Price per month"
                    meant = self._meant(stem for stem in content if stem not in by_stem)
                    mask |= Question._all(meant.values()) & ~mask
                    share += _BY_SYNONYM * len(meant) / len(content)
                if share == 1.0 and len(content) < len(stems):
                    small = [stem for stem in stems if is_empty_word(stem)]
                    around = [by_stem.get(stem, 0) for stem in small]
                    beside = [tokens & (mask << 1 | mask >> 1) for tokens in around]
                    share = 1.0 if all(beside) else 0.75
                    mask |= Question._all(beside)
                link = ColumnLink(share, mask, len(hits) == len(content))
                if (link.score, link.mask.bit_count()) > (best.score, best.mask.bit_count()):
                    best = link
        if best.score < 1.0:
            derived = self._derived(view, unasked)
            if derived.score >= best.score and derived.mask:
                best = derived
        if best.exact and view.numeric | view.temporal:
            # "The total time worked" says with both words what the column "Worked" holds.
            best = replace(best, mask=best.mask | self.measured(view))
        if view.period and best.score < 1.0:
            for mention in question.times:
                if _same_period(view.period, mention.lexical):
                    # Next to amounts of the period, its shares are not what is asked for.
                    return ColumnLink(0.7 if unasked else 1.0, mention.mask | best.mask, not unasked)
        said = Question._all(by_stem[stem] for stem in view.key_words if stem in by_stem)
        if said and (best.mask or set(view.stems) <= view.key_words or set(view.stems) <= self.index.title_stems):
            best = replace(best, mask=best.mask | said, score=max(best.score, 0.8), key=True)
        units = self._by_unit(view)
        named_units = [by_stem[s] for s in view.unit_stems if len(s) > 1 and s in by_stem]
        if best.mask or len(named_units) > 1:  # so many "cents a word" of a column "Rate (cent/word)"
            units |= Question._all(named_units)
        if units:
            best = replace(best, score=max(best.score, 0.6), mask=best.mask | units)
        return best

    @cached_property
    def _misspelt(self) -> Mapping[int, str]:
        """The stem of the one header word that a token differs from by one letter, by the token's place.

        A word that the table or its title has, or that is spelt as another word of kgtable, is not misspelt.
        """
        found = {}
        headers = self.index.header_words
        for token in self.question.tokens:
            word = token.word
            if len(word) < LEAST_MISSPELT or token.empty or not word.isalpha() or token.text[:1].isupper():
                continue
            if self.index.has_word(token.stem) or token.stem in synonyms() or word in adjectives():
                continue
            near = {
                stem for one, stem in headers.items() if DamerauLevenshtein.distance(word, one, score_cutoff=1) == 1
            }
            if len(near) == 1 and not any(mask >> token.index & 1 for mask in self.question.cues.values()):
                found[token.index] = near.pop()
        return found

    def _meant(self, stems: Iterable[str]) -> dict[str, int]:
        """The words of a header that another word of the question stands for, and the tokens that do."""
        known, found = synonyms(), dict[str, int]()
        for stem in stems:
            mask = Question._all(
                1 << token.index
                for token in self.question.tokens
                if stem in known.get(token.stem, ()) and token.stem not in self.index.title_stems
            )
            if mask:
                found[stem] = mask
        return found

    def _derived(self, view: ColumnView, unasked: frozenset[str]) -> ColumnLink:
        """A link by a synonym, or by a word with the same beginning (*weigh* and *weight*)."""
        known = synonyms()
        stems, aspects = frozenset(view.stems) - unasked, view.aspects - unasked
        mask, score = 0, 0.0
        for token in self.question.tokens:
            meant = known.get(token.stem, frozenset())
            if aspects & meant or (token.stem in aspects and token.stem not in stems):
                mask |= 1 << token.index
                score = max(score, 0.5 if stems & meant else 0.4)
            elif not token.empty and len(token.stem) >= 4 and token.stem not in self.index.title_stems:
                for stem in stems:
                    shorter = min(len(stem), len(token.stem))
                    if (
                        shorter >= 4
                        and stem[:shorter] == token.stem[:shorter]
                        and abs(len(stem) - len(token.stem)) <= 4
                    ):
                        mask |= 1 << token.index
                        score = max(score, 0.7 / max(1, len(view.own)) ** 0.5)
        return ColumnLink(score, mask, derived=True)

    def _by_unit(self, view: ColumnView) -> int:
        """The token of a unit that the question asks for and the column has: "how many kg"."""
        asked = self.question.unit_asked
        if asked is not None and view.kind is ValueKind.DURATION and comparable(asked[0], "SEC"):
            return asked[1]
        said = (*(() if asked is None else (asked,)), *self.question.units_named)
        own = {view.unit_hint, *view.units, *map(unit_named, view.unit_stems)} - NO_UNIT
        return Question._all(mask for unit, mask in said if unit in own)


def _same_period(header: str, said: str) -> bool:
    """Whether a header's period is the one that a question names: a year-end day is of its year."""
    if header == said:
        return True
    year = re.search(r"(?:19|20)\d\d", header)
    if said.isdigit() and year is not None and year[0] == said:
        if re.search(r"(?:19|20)\d\d\D+(?:19|20)\d\d$", header):
            return False
        return ("Q" not in header and "H" not in header and not header.startswith("P3M")) or header.startswith("FY")
    return False


def inflected(said: str, stem: str) -> bool:
    """Whether two stems are forms of one word: *Germany* and *German*, *Italian* and *Italy*."""
    if said == stem or (len(stem) < 5 and said != f"{stem}r"):  # who tunes is a tuner
        return False
    shared = 0
    for one, other in zip(said, stem, strict=False):
        if one != other:
            break
        shared += 1
    if {said[shared:], stem[shared:]} - word_endings():  # *petrol* is not a form of the name "Petrolux"
        return False
    return shared >= 4 and shared >= min(len(said), len(stem)) - 2 and abs(len(said) - len(stem)) <= 4
