"""Learn the weights of groups that a question asks for by a word of grouping: "total hours by client".

    python scripts/train_groups.py --kgs DIR --everyday DIR [--out kgtable/questions/ranker.json]

DIR has the graphs of kgtable's own questions (``kgtable build tests/questions/NAME/tables --kg DIR/NAME``). Two kinds
of questions are learned from: those of kgtable's own sets whose candidates are groups, and
questions made from patterns over the tables of these sets, with columns called by the words of their headers, in whole
or in part. Of every tenth made question the table is taken away: nothing answers it then. The gate is a logistic model
of whether groups are asked for at all; the weights maximise the likelihood of the right candidates; the confidence is a
logistic model of whether the best is right, of a gate and weights that were learned from other sets. Printed is how
they do on sets that they were not learned from.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).parent))
from eval_programs import Workplace, benchmark_judge
from train_ranker import OWN

from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.programs.algebra import (
    Compare,
    Constant,
    Function,
    GroupBy,
    Limit,
    Node,
    Relator,
    ValueKind,
    walk,
)
from kgtable.programs.display import text_of_rows
from kgtable.programs.relation import NAMING, Relation
from kgtable.programs.scalars import text_of
from kgtable.questions import ranker
from kgtable.questions.english import word_stem, words_of_type
from kgtable.questions.groupings import SPANS
from kgtable.questions.ranker_weights import SAID_GROUPS, RankerWeights, ranker_weights
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import ColumnView, index_of

HELD_OUT = ("brook", "heath", "grove", "bay", "quay", "pier", "reef", "cove")
"""The sets that `train_ranker` does not learn from."""
FEATURES = re.compile(
    rf"{SAID_GROUPS}(?!:gate|:word).*|uncovered.*|rare:covered|table:.*|title.*|[tm]:(?:link|exact|best|focus|head|unlinked|only|overshadowed|id)"
    r"|join.*|c:.*:q|c:n=.*|c:dominated|cue:left.*|parts|described"
)
CONFIDENCE = re.compile(
    rf"always|share|lead.*|near|none|{SAID_GROUPS}.*|uncovered(?::n)?|rare:covered|table:(?:rare|first)|[tm]:link"
    r"|m:unlinked|join|has .*|quality"
)
PATTERNS = {
    "sum": ("total {m} by {k}", "total {m} per {k}", "{m} by {k}", "{m} per {k}", "what is the total {m} for each {k}?",
            "how much {m} in each {k}", "sum of {m} by {k}", "{k}-wise {m}", "{m} for every {k}",
            "What is the sum of {m} per {k}?", "What was the total {m} by {k}?", "How much {m} was there per {k}?",
            "show the total {m} per {k}", "Which total {m} has each {k}?", "{w} by {k}", "{w} per {k}",
            "total {w} for each {k}"),
    "top": ("top 3 {k} by {m}", "top 3 {k}s by total {m}", "the top 2 {k}s by {m}",
            "top 3 {k} by number of {t}"),
    "mean": ("average {m} by {k}", "average {m} per {k}", "mean {m} for each {k}",
             "what is the average {m} of each {k}", "What is the average {m} per {k}?", "What is the mean {m} by {k}?"),
    "max": ("highest {m} by {k}", "largest {m} per {k}", "maximum {m} for each {k}",
            "What is the highest {m} per {k}?"),
    "min": ("lowest {m} by {k}", "minimum {m} for each {k}", "What is the lowest {m} in each {k}?"),
    "count": ("number of {t} by {k}", "how many {t} per {k}", "{t} per {k}", "{t} by {k}", "count {t} per {k}",
              "how many {t} are there in each {k}?", "number of {t} in each {k}", "count of {t} by {k}",
              "How many {t} are there per {k}?", "What is the number of {t} per {k}?", "Show the {t} per {k}."),
}  # fmt: skip
ABSTAIN = {ranker.ABSTAIN: 1.0, SAID_GROUPS: 1.0}
Judge = Callable[[Sequence[ranker.Executed]], list[bool]]
MONEY = ("costs", "expenses", "revenue", "sales", "spending", "income", "turnover")
CONDITIONS = (
    (False, " for {v}"), (False, " in {v}"), (False, ", {v} only"), (False, ", only {v}"), (False, " of {v}"),
    (True, " excluding {v}"), (True, ", {v} excluded"), (True, " without {v}"), (True, ", except {v}"),
    (True, " not {v}"), (True, ", all but {v}"), (True, ", {v} not counted"),
)  # fmt: skip
CONDITIONED = 0.3
"""The share of made questions that limit the rows, by one of these."""
MADE_PER_TABLE = 8
START = {"uncovered:n": -1.0, f"{SAID_GROUPS}:key": 1.0, "m:link": 1.0, "table:score": 1.0}
REAL = 6.0
"""What a question by a person weighs beside a made one."""


class Example(NamedTuple):
    """A question's candidates: their features, which are right, keys of their answers, what the gate looks at, whether
    groups are asked for, and its set and weight."""

    rows: list[dict[str, float]]
    right: list[bool]
    keys: list[str]
    gate: dict[str, float]
    asked: bool
    owner: str
    weight: float


def said(view: ColumnView, draw: random.Random) -> str:
    """A header as people say it: without brackets, in small letters, sometimes its last word alone."""
    words = re.sub(r"[\(\[].*?[\)\]]|[_/]", " ", view.name).lower().split() or [view.name]
    return words[-1] if len(words) > 1 and draw.random() < 0.25 else " ".join(words)


def made(relation: Relation, draw: random.Random) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Questions about groups of a table, each with the key, the period, the aggregate and the measure that it means."""
    views = index_of(relation).columns
    keys: list[tuple[ColumnView, Function | None, str]] = [
        (view, None, said(view, draw)) for view in views
        if not view.measure and view.kind is not ValueKind.DATE and 1 < view.distinct <= 0.7 * view.filled
    ]  # fmt: skip
    keys += [
        (view, span, word) for view in views if view.kind is ValueKind.DATE and not view.clock
        for word, span in SPANS.items()
    ][:4]  # fmt: skip
    measures = [view for view in views if view.measure]
    named = any(
        view.filled > 1 and view.distinct == view.filled and (view.role in NAMING or view.key_words) for view in views
    )
    thing = re.sub(r"[^a-z ]", " ", relation.id.split("#")[0].lower().replace("-", " ")).split()
    words = words_of_type("spending") | words_of_type("earning")
    for _ in range(MADE_PER_TABLE if keys else 0):
        view, span, name = draw.choice(keys)
        kind = draw.choice([*PATTERNS, "sum", "count"] if measures else ["count"])
        text = draw.choice(PATTERNS[kind])
        how = ("count" if "{t}" in text else "sum") if kind == "top" else kind
        measure = None if how == "count" else draw.choice(measures)
        money = [one for one in measures if "price" in one.aspects]
        if "{w}" in text and (len(money) != 1 or measure is not money[0]):
            continue
        if "{t}" in text and not thing:
            continue
        if kind == "count" and money and len(money) == len([m for m in measures if m.adds_up]) == 1 and not named:
            how, measure = "sum", money[0]  # rows without a name are no things that are counted
        condition = None
        if draw.random() < CONDITIONED and (limits := [one for one in views if one is not view and _limits_rows(one)]):
            limit = draw.choice(limits)
            values = [cell for cell in index_of(relation).relation.data(limit.place).values if cell is not None]
            value, (denied, words) = text_of(draw.choice(values)), draw.choice(CONDITIONS)
            condition = limit.place, value, denied
            text = text.rstrip("?. ") + words.format(v=value) + ("?" if text.endswith("?") else "")
        yield (
            text.format(
                k=name,
                m="" if measure is None else said(measure, draw),
                t=thing[-1] if thing else "",
                w=thing[-1] if thing and word_stem(thing[-1]) in words else draw.choice(MONEY),
            ),
            (view.ref, span, how, None if measure is None else measure.ref, kind == "top", condition),
        )


def _means(candidate: ranker.Candidate, meant: tuple[Any, ...]) -> bool:
    key, span, how, measure, first, limit = meant
    grouped: Node = next(node for node in walk(candidate.program.root) if isinstance(node, GroupBy))
    ref = getattr(grouped.keys[0].expression, "operand", grouped.keys[0].expression)  # type: ignore[attr-defined]
    own = getattr(grouped.keys[0].expression, "function", None)  # type: ignore[attr-defined]
    return (
        candidate.op == f"group/{how}" and ref == key and own is span and _limited(candidate, limit)
        and isinstance(candidate.program.root, Limit) is first
        and len(candidate.others) == 0 and (candidate.measure.ref if candidate.measure else None) == measure
    )  # fmt: skip


def _limits_rows(view: ColumnView) -> bool:
    return view.kind in (ValueKind.TEXT, ValueKind.ENTITY) and 1 < view.distinct <= 0.5 * view.filled


def _limited(candidate: ranker.Candidate, limit: tuple[int, str, bool] | None) -> bool:
    """Whether a candidate has this condition, of a column, on a value, denied or not, and no other."""
    if limit is None or len(candidate.conditions) != 1:
        return limit is None and not candidate.conditions
    (found,) = candidate.conditions
    place, value, denied = limit
    match found.expression:
        case Compare(relator, _, Constant(text)):
            relators = (Relator.NOT_EQUAL if denied else Relator.EQUAL,)
            return found.column == place and relator in relators and str(text).casefold() == value.casefold()
    return False


def _by_gold(place: Workplace, question: BenchmarkQuestion, executed: Sequence[ranker.Executed]) -> list[bool]:
    texts = [text_of_rows(one.denotation.rows) for one in executed]
    judge = benchmark_judge if question.extra.get("kind") == "group" else place.judge
    return [bool(question.answers) and judge(question, text, None, None) for text in texts]


def _by_meaning(meant: tuple[Any, ...] | None, executed: Sequence[ranker.Executed]) -> list[bool]:
    gold = next((one.key for one in executed if meant and _means(one.candidate, meant)), None)
    return [gold is not None and one.key == gold for one in executed]


def examples_of(place: Workplace, owner: str, draw: random.Random) -> Iterator[Example]:
    """The examples of one set."""
    plain = ranker_weights()
    known = RankerWeights(plain.features, {}, groups=plain.groups or START)

    def example(
        text: str, tables: Sequence[tuple[Relation, float]], asked: bool, weight: float, judge: Judge
    ) -> Example | None:
        found = ranker.generate(ranker.sources_of(Question.read(text), tables), known)
        grouped = [one for one in found if SAID_GROUPS in one.features]
        if not grouped:
            return None
        gate = ranker.gate_features(grouped, [one for one in found if SAID_GROUPS not in one.features])
        executed = ranker.execute(grouped, {relation.id: relation for relation, _ in tables}, known, 60)
        right = judge(executed)
        asked = asked or any(right)
        return Example(
            [one.features for one in executed], right, [repr(one.key) for one in executed], gate, asked, owner, weight
        )

    for question in place.questions("dev"):
        judge = partial(_by_gold, place, question)
        if (one := example(question.text, place.tables(question, False), False, REAL, judge)) is not None:
            yield one
    for id in sorted(place.ids):
        for text, meant in made(place.relation(id), draw):
            others = draw.sample(sorted(place.ids - {id}), 5)
            scores = sorted((draw.random() ** 2 for _ in range(6)), reverse=True)
            ids = [id, *others] if draw.random() < 0.8 else [others[0], id, *others[1:]]
            tables = [(place.relation(one), score) for one, score in zip(ids, scores, strict=True)]
            away = draw.random() < 0.1
            if away:
                tables = [(relation, score) for relation, score in tables if relation.id != id]

            one = example(text, tables, True, 1.0, partial(_by_meaning, None if away else meant))
            if one is not None and (away or any(one.right)):
                yield one


def fit(examples: Sequence[Example], penalty: float = 0.003) -> dict[str, float]:
    """The weights that make right candidates likely; where none is right, giving no answer."""
    names = sorted({name for one in examples for row in one.rows for name in row if FEATURES.fullmatch(name)})
    names.append(ranker.ABSTAIN)
    place = {name: number for number, name in enumerate(names)}
    blocks, goods = [], []
    for one in examples:
        block = np.zeros((len(one.rows) + 1, len(names)))
        for number, row in enumerate([*one.rows, ABSTAIN]):
            for name, value in row.items():
                if name in place:
                    block[number, place[name]] = value
        blocks.append(block)
        goods.append(np.array([*one.right, not any(one.right)]))
    matrix, good = np.concatenate(blocks), np.concatenate(goods)
    sizes = np.array([len(block) for block in blocks])
    begin, owner = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
    shares = np.array([one.weight for one in examples])
    shares /= shares.sum()

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        scores = matrix @ w
        exp = np.exp(scores - np.maximum.reduceat(scores, begin)[owner])
        total, some = np.add.reduceat(exp, begin), np.add.reduceat(exp * good, begin)
        some = np.maximum(some, 1e-30)
        gradient = matrix.T @ ((exp / total[owner] - exp * good / some[owner]) * shares[owner])
        return float(-(shares * np.log(some / total)).sum() + penalty * w @ w / 2), gradient + penalty * w

    found = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B", options={"maxiter": 400})
    return {name: round(float(w), 4) for name, w in zip(names, found.x, strict=True) if abs(w) >= 0.005}


def told(one: Example, weights: Mapping[str, float]) -> tuple[dict[str, float], bool]:
    """The features of the confidence in the best candidate, and whether it is right."""
    scores = RankerWeights({}, {}, groups=weights).scores(one.rows)
    features, best = ranker.confidence_features(
        one.rows, scores, one.keys, RankerWeights({}, {}, groups=weights).scores([ABSTAIN])[0]
    )
    return features, one.right[best]


def fit_logistic(
    rows: Sequence[tuple[Mapping[str, float], bool, float]], names: Sequence[str], penalty: float = 0.002
) -> dict[str, float]:
    """The weights of a logistic model of these features, with the signs that the ranker knows."""
    matrix = np.array([[row.get(name, 0.0) for name in names] for row, _, _ in rows])
    right = np.array([good for _, good, _ in rows], dtype=float)
    shares = np.array([weight for _, _, weight in rows])
    shares /= shares.sum()

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        scores = matrix @ w
        value = (shares * (np.logaddexp(0, scores) - right * scores)).sum() + penalty * w @ w / 2
        return float(value), matrix.T @ ((1 / (1 + np.exp(-scores)) - right) * shares) + penalty * w

    bounds = [
        (0, None) if name in ranker.FOR else (None, 0) if name in ranker.AGAINST else (None, None) for name in names
    ]
    found = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 400})
    return {name: round(float(w), 4) for name, w in zip(names, found.x, strict=True) if abs(w) >= 0.005}


def fit_gate(examples: Sequence[Example]) -> dict[str, float]:
    """The weights of the gate."""
    share = sum(one.asked for one in examples) / max(sum(not one.asked for one in examples), 1)
    rows = [(one.gate, one.asked, 1.0 if one.asked else share / 3) for one in examples]
    return fit_logistic(rows, sorted({name for row, _, _ in rows for name in row}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kgs", type=Path, required=True)
    parser.add_argument("--everyday", type=Path, required=True, help="the folder whose score.py judges answers")
    parser.add_argument("--out", type=Path, default=Path("kgtable/questions/ranker.json"))
    options = parser.parse_args()
    examples: list[Example] = []
    for name, folder in {**OWN, **{name: f"questions/{name}" for name in HELD_OUT}}.items():
        if (options.kgs / name).exists():
            place = Workplace(Path("tests") / folder, options.kgs / name, options.everyday)
            examples += examples_of(place, name, random.Random(name))
    owners = sorted({one.owner for one in examples})
    folds = [[one for one in examples if owners.index(one.owner) % 4 == fold] for fold in range(4)]
    rows: list[tuple[dict[str, float], bool, float]] = []
    gates: list[tuple[Example, float]] = []
    for fold in folds:
        rest = [one for other in folds if other is not fold for one in other]
        weights, gate = fit(rest), fit_gate(rest)
        for one in fold:
            gates.append((one, sum(gate.get(name, 0.0) * value for name, value in one.gate.items())))
            for row in one.rows:
                row[f"{SAID_GROUPS}:gate"] = max(min(gates[-1][1], 6.0), -6.0)
            if gates[-1][1] > 0 and one.rows:
                rows.append((*told(one, weights), one.weight))
    for kind, weight in (("made", 1.0), ("real", REAL)):
        found = [(one, score) for one, score in gates if one.weight == weight]
        right = [good for _, good, w in rows if w == weight]
        passed = np.mean([one.asked == (score > 0) for one, score in found])
        asked = sum(one.asked for one, _ in found)
        print(f"{kind}: {len(found)} questions, {asked} ask for groups; the gate right {passed:.3f}")
        print(f"  {len(right)} pass the gate; of these the best candidate is right in {np.mean(right):.3f}")
    data = json.loads(options.out.read_text(encoding="utf-8"))
    names = sorted({name for row, _, _ in rows for name in row if CONFIDENCE.fullmatch(name)})
    asking = [one for one in examples if one.asked]
    data["groups"] = {"weights": fit(asking), "gate": fit_gate(examples), "confidence": fit_logistic(rows, names)}
    options.out.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
