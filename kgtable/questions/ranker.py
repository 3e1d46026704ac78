"""A ranker of candidate programs with learned weights, and the choice to abstain.

The probability of a candidate is the softmax of its score; one more candidate stands for no answer.
Candidates are scored by what they are, the best are executed, and scored again with features of what they
give (Pasupat and Liang, *Compositional Semantic Parsing on Semi-Structured Tables*, 2015, section 5). Their
model is log-linear; ours adds a hidden layer when the executed candidates are scored (`ranker_weights`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from weakref import ref

from kgtable.errors import KgtableError, ProgramError, UnitMismatchError
from kgtable.index.inferred.relations import TableRelations
from kgtable.programs.algebra import Node, ValueKind
from kgtable.programs.batch_execution import Denotation, Session
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import Datum, key_of, text_of
from kgtable.questions.candidates import Candidate
from kgtable.questions.comparisons import Comparisons
from kgtable.questions.fillings import Fillings
from kgtable.questions.linking import Links
from kgtable.questions.ranker_weights import SAID_GROUPS, RankerWeights, word_features
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import index_of, stems_of
from kgtable.questions.sources import ProgramSource, Rarity, joins_of, references_of
from kgtable.questions.unit_groups import by_unit
from kgtable.text.words import is_empty_word

MOST_CANDIDATES = 420


def candidates_of(source: ProgramSource) -> list[Candidate]:
    """The candidate programs of a source, at most `MOST_CANDIDATES`, each program once."""
    found: dict[Node, Candidate] = {}
    for candidate in _All(source).all():
        kept = found.get(candidate.program.root)
        if kept is None or candidate.mask.bit_count() > kept.mask.bit_count():
            found[candidate.program.root] = candidate
        if len(found) >= MOST_CANDIDATES:
            break
    return list(found.values())


class _All(Fillings, Comparisons):
    """Every operator."""

    def all(self) -> Iterator[Candidate]:
        """All candidates, the simplest operators first."""
        for conditions in self.sets:
            yield from self._rows_asked(conditions)
        said = False
        for conditions in self.sets[:4]:
            yield from self._extremes(conditions)
            for candidate in self._grouped(conditions):
                said = said or SAID_GROUPS in candidate.features
                yield candidate
        for conditions in self.sets[4:] if not said else ():  # the first ones limit rows by the words of the key
            yield from self._said_groups(conditions)
        # A number may limit the columns of a row as well as its rows.
        unlimited = [found for found in self.sets if all(c.kind != "threshold" for c in found.conditions)]
        known = set(map(id, self.sets[:4]))
        for conditions in [*self.sets[:4], *(found for found in unlimited[:2] if id(found) not in known)]:
            yield from self._by_columns(conditions)
        if len(self.sets) > 4:
            yield from self._extremes(self.sets[-1])  # of all rows
        yield from self._pairs()
        yield from self._shares()
        yield from self._rows_compared()
        yield from self._referred_to()


EXECUTED = 60
"""How many candidates are executed for a question."""

ABSTAIN = "abstain"


@dataclass(slots=True)
class Executed:
    """A candidate with its result; `key` is equal for equal answers."""

    candidate: Candidate
    denotation: Denotation
    key: tuple[object, ...]
    score: float
    features: dict[str, float]
    probability: float = 0.0


def sources_of(
    question: Question, tables: Sequence[tuple[Relation, float]], joins: TableRelations | None = None
) -> list[ProgramSource]:
    """The tables as sources, the best first, and the joins of two of them: by keys of their values, or as stated."""
    best = max((score for _, score in tables), default=1.0) or 1.0
    sources = [
        ProgramSource((Links(question, index_of(relation)),), score / best if best > 0 else 0.0, rank)
        for rank, (relation, score) in enumerate(tables)
    ]
    masks = [source.touched for source in sources]
    for source, own, above in zip(sources, masks, _said_above(sources, masks), strict=True):
        said = above & ~own
        source.title |= said
        source.satisfied_by_title |= said
    content = question.content
    for source in sources:
        content |= source.values
    rarity = Rarity(content, masks)
    named = Question._all(link.mask for source in sources for link in source.column_links if link.exact)
    joined = list(joins_of(sources, joins))
    references = frozenset(ref for join in joined for ref in references_of(join))
    found = [*sources, *joined, *_parts(question, sources)]
    for source in found:
        source.rarity = rarity
        source.references = references
        source.named = named
    return found


_ROWS_ABOVE = 8
"""Rows of a table above another of its sheet, at most, for its words to be said of that other."""


def _said_above(sources: Sequence[ProgramSource], touched: Sequence[int]) -> Iterator[int]:
    """For each table the tokens that short tables above it in its sheet have: "FRANK Account" of its transactions."""
    tables = [source.links[0].index.relation.tables[0] for source in sources]
    sheets = [(table.grid.source.path, table.grid.source.sheet) for table in tables]
    places = [(len(table.id), table.id) for table in tables]  # numbered from the top of the sheet
    short = [source.links[0].index.members <= _ROWS_ABOVE for source in sources]
    for sheet, place in zip(sheets, places, strict=True):
        others = zip(sheets, places, touched, short, strict=True)
        yield Question._all(mask for other, at, mask, few in others if few and other == sheet and at < place)


_WHOLES: dict[tuple[int, ...], tuple[tuple[ref[Relation], ...], Relation]] = {}
"""Tables made of parts, by the identities of the parts; these may be gone, and others have their identities."""


def _parts(question: Question, sources: Sequence[ProgramSource]) -> list[ProgramSource]:
    """Tables that are parts of one, as one: equal headers, equal titles that are not empty."""
    alike: dict[tuple[object, ...], list[ProgramSource]] = {}
    for source in sources:
        relation = source.links[0].index.relation
        if relation.title:
            key = relation.title, tuple(column.header for column in relation.columns)
            alike.setdefault(key, []).append(source)
    found = []
    for several in alike.values():
        if len(several) < 2:
            continue
        several.sort(key=lambda source: source.ids)
        relations = [source.links[0].index.relation for source in several]
        kept = tuple(map(id, relations))
        parts, whole = _WHOLES.get(kept, ((), None))
        if whole is None or [part() for part in parts] != relations:
            if len(_WHOLES) > 200:
                _WHOLES.clear()
            whole = Relation.concatenate(relations)
            _WHOLES[kept] = tuple(map(ref, relations)), whole
        links = Links(question, index_of(whole))
        found.append(ProgramSource((links,), max(s.score for s in several), min(s.rank for s in several)))
    return found


def generate(sources: Sequence[ProgramSource], known: RankerWeights, groups: bool | None = None) -> list[Candidate]:
    """The candidates of all sources with their first score, the best first.

    `groups` says whether a word of grouping asks for groups; None leaves it to the weights.
    """
    found: list[Candidate] = []
    for source in sources:
        try:
            own = [candidate for candidate in candidates_of(source) if not candidate.is_needless]
        except ProgramError:
            continue  # the numbers of the question and the units of the table make no program together
        rival = {
            "table:score": source.score,
            "table:first": float(source.rank == 0),
            "table:rank": min(source.rank, 8) / 8,
            "table:gap": math.log(max(source.score, 0.01)),
            "table:rare": source.rarity.share(source.touched),
        }
        for candidate in own:
            candidate.features.update(rival)
            candidate.score = known.linear_score(candidate.features)
        found += own
    grouped = [candidate for candidate in found if SAID_GROUPS in candidate.features]
    if grouped and known.groups_gate:
        others = [candidate for candidate in found if SAID_GROUPS not in candidate.features]
        gate = gate_features(grouped, others)
        meant = sum(known.groups_gate.get(name, 0.0) * value for name, value in gate.items())
        for candidate in grouped:
            candidate.features[f"{SAID_GROUPS}:gate"] = max(min(meant, _FARTHEST), -_FARTHEST)
        found = grouped if not others or (meant > 0 if groups is None else groups) else others
    found.sort(key=lambda candidate: -candidate.score)
    return found


def gate_features(grouped: Sequence[Candidate], others: Sequence[Candidate]) -> dict[str, float]:
    """Features that show whether a word of grouping asks for groups: "cost per month" does not.

    The features of the question, of the best candidate with groups and of the best without.
    """
    best = max(grouped, key=lambda candidate: candidate.score)
    question = best.source.question
    found = {"always": 1.0}
    words = [name.rpartition(" ")[2] for name in best.features if name.startswith(f"{SAID_GROUPS}:word ")]
    cues = [cue for cue in question.cues if cue in _GATE_CUES]
    found |= {f"{said}:{word}": 1.0 for word in ("", *words) for said in (f"wh={question.wh}", *cues)}
    found |= {
        name: value
        for name, value in best.features.items()
        if name.startswith(SAID_GROUPS) or name in ("uncovered:n", "m:unlinked", "m:link", "join", "table:score")
    }
    rest = max(others, key=lambda candidate: candidate.score, default=None)
    if rest is not None:
        found["other:op=" + rest.op.partition("/")[0]] = 1.0
        found["other:exact"] = float(any(condition.kind == "exact" for condition in rest.conditions))
        found["other:uncovered:n"] = rest.features["uncovered:n"]
        found["other:cue:left"] = rest.features["cue:left"]
        found["other:same table"] = float(rest.source.ids == best.source.ids)
        if rest.op.partition("/")[0] in _OF_ALL and best.mask & ~rest.mask:  # which is silent about the key
            found.pop(f"{SAID_GROUPS}:of one row", None)
    return found


_OF_ALL = ("sum", "mean", "median", "max", "min", "count")
_GATE_CUES = frozenset(("average", "total", "how_many", "how_much", "each", "per", "most_often", "list", "share"))


def execute(
    candidates: Sequence[Candidate],
    relations: Mapping[str, Relation],
    known: RankerWeights,
    most: int = EXECUTED,
    refused: list[tuple[Candidate, UnitMismatchError]] | None = None,
    empty: list[Candidate] | None = None,
) -> list[Executed]:
    """The best candidates with a result, with features of their results, the best first.

    `refused` collects those that mix units or currencies, `empty` those that give rows without a value.
    """
    session = Session(relations)
    found: list[Executed] = []
    refused = refused if refused is not None else []
    tried = 0
    for candidate in candidates:
        if len(found) >= most or tried >= 2 * most:
            break
        tried += 1
        try:
            candidate, denotation = _executed(candidate, session)
        except UnitMismatchError as error:
            refused.append((candidate, error))
            continue
        except KgtableError:
            continue
        if denotation.empty:
            if empty is not None and denotation.rows:
                empty.append(candidate)
            continue
        features = dict(candidate.features)
        features.update(denotation_features(candidate, denotation))
        said = known.words.intersection(candidate.source.question.stems)
        features.update(word_features(sorted(said), candidate.op))
        found.append(Executed(candidate, denotation, answer_key(denotation), 0.0, features))
    for executed, score in zip(found, known.scores([one.features for one in found]), strict=True):
        executed.score = score
    found.sort(key=lambda executed: -executed.score)
    return found


def _executed(candidate: Candidate, session: Session) -> tuple[Candidate, Denotation]:
    """A candidate and its result, for each unit where it would mix units that a column tells apart."""
    try:
        return candidate, session.denotation(candidate.program)
    except UnitMismatchError:
        apart = by_unit(candidate)
        if apart is None:
            raise
        return apart, session.denotation(apart.program)


def probabilities(found: Sequence[Executed], abstention: float) -> float:
    """Set the probability of each; return that of abstaining."""
    top = max([abstention, *(executed.score for executed in found)])
    weights_ = [math.exp(executed.score - top) for executed in found]
    none = math.exp(abstention - top)
    total = sum(weights_) + none
    for executed, weight in zip(found, weights_, strict=True):
        executed.probability = weight / total
    return none / total


NEAR = 2.0
"""How far below the best score another answer still counts as near, in natural logarithms of odds."""

_FARTHEST = 6.0
FOR = frozenset(
    ("covered", "rare:covered", "table:rare", "table:first", "title", "title:focus", "t:link", "t:exact", "t:best",
     "t:focus", "t:label", "m:link", "m:exact", "m:best", "m:focus", "m:hint", "share", "quality", "lead",
     "lead:other table", "lead:same table", "lead:covered", "covered, lead:other table", "covered, lead:covered")
)  # fmt: skip
"""Features that speak for an answer: their weights in the confidence are not negative."""

AGAINST = frozenset(
    ("uncovered", "uncovered:n", "uncovered:name", "uncovered:number", "cue:left", "cue:left:superlative",
     "cue:left:negation", "t:unfocused", "t:condition", "t:id", "t:overshadowed", "m:unlinked", "m:overshadowed",
     "join", "parts", "described", "c:dominated", "c:several", "c:beside", "d:many:singular", "d:echo",
     "d:everything", "d:zero", "d:negative", "none", "near")
)  # fmt: skip
"""Features that speak against it: their weights are not positive."""


def confidence_features(
    rows: Sequence[Mapping[str, float]], scores: Sequence[float], keys: Sequence[object], abstention: float
) -> tuple[dict[str, float], int]:
    """Features that show whether the answer with the highest score is right.

    Args:
        rows: the features of the executed candidates.
        scores: their scores.
        keys: equal for equal answers.
        abstention: the score of giving no answer.

    Returns:
        The features for the logistic model of the confidence, and the place of the best candidate: the share
        of the probability that its answer has, its lead over other answers (over all, over those of other
        tables, and over those that leave no more words out), and features of its program.
    """
    order = sorted(range(len(rows)), key=lambda place: -scores[place])
    best = order[0]
    top = max(scores[best], abstention)
    odds = [math.exp(score - top) for score in scores]
    total = sum(odds) + math.exp(abstention - top)
    mine = rows[best]
    others = [place for place in order if keys[place] != keys[best]]

    def lead(places: Sequence[int]) -> float:
        return min(scores[best] - scores[places[0]], _FARTHEST) if places else _FARTHEST

    def table(place: int) -> tuple[float, float]:
        return rows[place].get("table:rank", 0.0), rows[place].get("join", 0.0)

    near = {keys[place] for place in others if scores[place] > scores[best] - NEAR}
    found = {
        "always": 1.0,
        "share": _logit(sum(odd for odd, key in zip(odds, keys, strict=True) if key == keys[best]) / total),
        "none": _logit(math.exp(abstention - top) / total),
        "lead": lead(others),
        "lead:other table": lead([place for place in others if table(place) != table(best)]),
        "lead:same table": lead([place for place in others if table(place) == table(best)]),
        "lead:covered": lead([p for p in others if rows[p]["uncovered"] <= mine["uncovered"] + 1e-9]),
        "near": min(len(near), 5) / 5,
    }
    if mine.get("covered") and not mine.get("cue:left"):
        found["covered, lead:other table"] = found["lead:other table"]
        found["covered, lead:covered"] = found["lead:covered"]
    qualities = []
    for name, value in mine.items():
        if value and (name in FOR or name in AGAINST or name.startswith(SAID_GROUPS)):
            found[name] = value
        elif name.startswith("op="):
            found[f"op={name[3:].partition('/')[0]}"] = 1.0
        elif name.startswith("c:") and name.endswith(":q"):
            found[f"has {name[2:-2]}"] = 1.0
            qualities.append(value / max(mine.get(name[:-2], 1.0), 1.0))
    if qualities:
        found["quality"] = min(qualities)
    return found, best


def confidence_of(features: Mapping[str, float], known: RankerWeights) -> float:
    """The probability that an answer with these features is right, between 0 and 1."""
    weights = known.groups_confidence if SAID_GROUPS in features else known.confidence
    score = sum(weights.get(name, 0.0) * value for name, value in features.items())
    return 1 / (1 + math.exp(-max(min(score, 30.0), -30.0)))


def _logit(probability: float) -> float:
    bounded = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(bounded / (1 - bounded))


def abstention_features(found: Sequence[Executed]) -> dict[str, float]:
    """The features of giving no answer."""
    if found and SAID_GROUPS in found[0].features:
        return {SAID_GROUPS: 1.0, ABSTAIN: 1.0}
    least = min((executed.features["uncovered"] for executed in found[:20]), default=1.0)
    features = {ABSTAIN: 1.0, f"{ABSTAIN}:uncovered": least, f"{ABSTAIN}:nothing": float(not found)}
    if found:
        best = found[0].features
        for name in (
            "uncovered:n",
            "uncovered:number",
            "uncovered:value",
            "uncovered:focus",
            "uncovered:name",
            "uncovered:thing",
            "covered",
        ):
            features[f"{ABSTAIN}:{name}"] = best.get(name, 0.0)
        features[f"{ABSTAIN}:table:score"] = best.get("table:score", 0.0)
    return features


def answer_key(denotation: Denotation) -> tuple[object, ...]:
    """A key that is equal for equal answers: the set of values, in order if an order was asked for."""
    keys = [key_of(value) for row in denotation.rows for value in row if value is not None]
    unique = list(dict.fromkeys(keys))
    return tuple(unique) if denotation.ordered else tuple(sorted(unique, key=repr))


def denotation_features(candidate: Candidate, denotation: Denotation) -> dict[str, float]:
    """Features of a candidate's result."""
    question = candidate.source.question
    op = candidate.op.partition("/")[0]
    values = [value for row in denotation.rows for value in row if value is not None]
    features: dict[str, float] = {}
    first = values[0]
    size = denotation.size
    features[f"d:{question.wh}:{_value_kind(first)}"] = 1.0
    if size > 1:
        features["d:many"] = 1.0
        features[f"d:many:{question.wh}"] = 1.0
        features[f"d:many:{'plural' if question.plural else 'singular'}"] = 1.0
        if size > 10:
            features["d:more than ten"] = 1.0
        if not candidate.conditions and op == "select":
            features["d:everything"] = 1.0
        if op == "select" and "how_many" in candidate.source.cues:
            features["d:many:select how many"] = 1.0
    elif question.plural and not denotation.is_value:
        features["d:one:plural"] = 1.0
    number = first.number
    if number is not None and size == 1:
        if "percent" in question.cues:
            features[f"d:percent:{'is' if first.unit == 'PERCENT' else 'no'} percent"] = 1.0
        if number < 0:
            features["d:negative"] = 1.0
            features[f"d:negative:{op}"] = 1.0
        elif number == 0:
            features["d:zero"] = 1.0
            features[f"d:zero:{op}"] = 1.0
        elif number == 1 and op.startswith("count"):
            features["d:one"] = 1.0
        if op in ("count", "count_distinct") and candidate.source.links[0].index.members == number:
            features["d:all rows"] = 1.0
    if op not in ("compare", "yes_no", "compare_yes") and size <= 3:
        said = {token.stem for token in question.tokens}
        words = [stem for value in values[:3] for stem in stems_of(text_of(value)) if not is_empty_word(stem)]
        if words and all(word in said for word in words):
            features["d:echo"] = 1.0
    return features


def _value_kind(value: Datum) -> str:
    if value.kind is ValueKind.ENTITY:
        return "number" if isinstance(value.value, str) and value.value.isdigit() else "text"
    if value.kind is ValueKind.QUANTITY and isinstance(value.value, Decimal):
        return "percent" if value.unit == "PERCENT" else "number"
    return str(value.kind)
