"""Learn the weights of the method `documents` from questions about texts and tables.

    python scripts/train_spans.py BENCH/tatqa KG [--write]

First the weights that tell whether a text answers a question (`kgtable.systems.documents.asked_kinds`), by which
passages and tables are ranked together. Then the weights of spans (`kgtable.systems.documents.extraction`): questions
of TAT-QA's dev set that a span of a text answers train a conditional logit model over the candidate spans of the
sentence that fits best. Last those of the composition (`kgtable.systems.documents.document_answers`): questions that
only one of program and span answers train a logit model that chooses between both. What each is worth is shown by
cross-validation, no table in two folds; the weights that are written come from all questions.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.optimize
import scipy.sparse

import kgtable
from kgtable.answering.evidence import Evidence
from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion
from kgtable.evaluation.scoring import answer_scores
from kgtable.resources import PACKAGE, read_packaged_json
from kgtable.systems.documents.asked_kinds import source_features
from kgtable.systems.documents.document_answers import LEAST_FIT, TwoAnswers, two_answers
from kgtable.systems.documents.extraction import (
    AskedText,
    CandidateSpan,
    Extract,
    candidate_spans,
)

FOLDS = 5
LEAST_SEEN = 5
"""Questions that a feature must occur in."""
SPAN_DECAY, CHOICE_DECAY = 0.01, 0.003


@dataclass
class Asked:
    """A question with both of its answers, the candidate spans, and which of them are right."""

    question: BenchmarkQuestion
    fold: int
    both: TwoAnswers
    by_table: float
    spans: list[CandidateSpan] = field(default_factory=list)
    right: list[float] = field(default_factory=list)


def asked_questions(folder: Path, graph: kgtable.KnowledgeGraph) -> list[Asked]:
    """All questions with their candidates."""
    tables: dict[str, int] = {}
    found = []
    for number, question in enumerate(Benchmark(folder).questions("dev")):
        fold = tables.setdefault(question.tables[0], len(tables)) % FOLDS
        retrieval = graph.retrieve(question.text, 300, "documents")
        both = two_answers(Evidence(retrieval, graph.reader), 3)
        asked = Asked(question, fold, both, scored(question, both.by_table.text, both.by_table.value))
        text = AskedText(question.text, both.passages)
        sentence = text.best_sentence()
        if sentence is not None and sentence.fit >= LEAST_FIT:
            asked.spans = candidate_spans(text, sentence)
            asked.right = [score_of_span(question, span) for span in asked.spans]
        found.append(asked)
        if number % 200 == 0:
            print(f"{number} questions", flush=True)
    return found


def scored(question: BenchmarkQuestion, text: str, value: str | None) -> float:
    """The verdict of `kgtable eval`."""
    return answer_scores(question, text, value)["match"]


def score_of_span(question: BenchmarkQuestion, span: CandidateSpan) -> float:
    """The verdict on a span as an answer."""
    return scored(question, span.extract.text, None if span.quantity is None else f"{span.quantity.value:f}")


Features = Iterable[tuple[str, float]]
Weights = dict[str, float]


def fitted(
    groups: Sequence[Sequence[Features]],
    loss: Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]],
    decay: float,
) -> Weights:
    """The weights that make the loss of the scores of all items least, with quadratic decay."""
    seen: Counter[str] = Counter()
    for group in groups:
        seen.update({name for features in group for name, _ in features})
    names = {name: at for at, name in enumerate(sorted(name for name, n in seen.items() if n >= LEAST_SEEN))}
    rows, columns, values = [], [], []
    items = [features for group in groups for features in group]
    for row, features in enumerate(items):
        for name, value in features:
            if name in names:
                rows.append(row)
                columns.append(names[name])
                values.append(value)
    table = scipy.sparse.csr_matrix((values, (rows, columns)), shape=(len(items), len(names)))
    ends = np.cumsum([0, *(len(group) for group in groups)])

    def whole(weights: np.ndarray) -> tuple[float, np.ndarray]:
        lost, slopes = loss(table @ weights, ends)
        strength = decay * len(groups)
        return lost + strength * float(weights @ weights) / 2, table.T @ slopes + strength * weights

    start = np.zeros(len(names))
    best = scipy.optimize.minimize(whole, start, jac=True, method="L-BFGS-B", options={"maxiter": 150}).x
    return {name: float(best[at]) for name, at in names.items()}


def span_weights(asked: Sequence[Asked]) -> Weights:
    """A conditional logit model: the share of the right spans among all of a sentence."""
    used = [item for item in asked if any(item.right)]
    right = np.concatenate([np.array(item.right) for item in used])

    def loss(scores: np.ndarray, ends: np.ndarray) -> tuple[float, np.ndarray]:
        lost, slopes = 0.0, np.zeros(len(scores))
        for start, end in pairwise(ends.tolist()):
            powers = np.exp(scores[start:end] - scores[start:end].max())
            shares = powers / powers.sum()
            hit = shares * right[start:end]
            lost -= float(np.log(max(hit.sum(), 1e-12)))
            slopes[start:end] = shares - hit / max(hit.sum(), 1e-12)
        return lost, slopes

    return fitted([[span.features for span in item.spans] for item in used], loss, SPAN_DECAY)


def choice_weights(pairs: Sequence[tuple[Features, bool]]) -> Weights:
    """A logit model of whether the words are right where only one of the two answers is."""
    wanted = np.array([1.0 if text else 0.0 for _, text in pairs])

    def loss(scores: np.ndarray, _: np.ndarray) -> tuple[float, np.ndarray]:
        lost = np.logaddexp(0.0, scores) - wanted * scores
        return float(lost.sum()), 1 / (1 + np.exp(-scores)) - wanted

    return fitted([[tuple(features)] for features, _ in pairs], loss, CHOICE_DECAY)


def total(features: Features, weights: Weights) -> float:
    """The score of an item."""
    return sum(weights.get(name, 0.0) * value for name, value in features)


def best_span(item: Asked, weights: Weights) -> tuple[Extract, float] | None:
    """The best span of a question with its share, and whether it is right."""
    if not item.spans:
        return None
    scores = np.array([total(span.features, weights) for span in item.spans])
    best = int(np.argmax(scores))
    share = float(1 / np.exp(scores - scores[best]).sum())
    extract = item.spans[best].extract
    return Extract(extract.text, extract.start, extract.sentence, extract.quantity, share), item.right[best]


def pair_of(item: Asked, weights: Weights) -> tuple[TwoAnswers, float] | None:
    """Both answers with the span that these weights choose, and whether that span is right."""
    found = best_span(item, weights)
    if found is None:
        return None
    return TwoAnswers(item.both.by_table, found[0], item.both.passages), found[1]


def chosen(item: Asked, pair: tuple[TwoAnswers, float] | None, weights: Weights) -> float:
    """Whether the answer is right that these weights choose."""
    if pair is None or item.both.by_table.verified:
        return item.by_table
    if not item.both.by_table.found or total(pair[0].features, weights) > 0:
        return pair[1]
    return item.by_table


def discordant(asked: Iterable[tuple[Asked, tuple[TwoAnswers, float] | None]]) -> list[tuple[Features, bool]]:
    """The pairs of which one is right."""
    return [
        (pair[0].features, pair[1] > item.by_table)
        for item, pair in asked
        if pair is not None and item.both.by_table.found and pair[1] != item.by_table
    ]


def train_sources(questions: Sequence[BenchmarkQuestion], *, write: bool) -> None:
    """Learn whether a text answers a question, from the question alone; print how often that is told rightly."""
    tables: dict[str, int] = {}
    items = [
        (tables.setdefault(question.tables[0], len(tables)) % FOLDS, tuple(source_features(question.text)),
         question.extra["answer_from"] == "text")
        for question in questions
    ]  # fmt: skip
    right = 0
    for fold in range(FOLDS):
        weights = choice_weights([(features, text) for of, features, text in items if of != fold])
        right += sum((total(features, weights) > 0) == text for of, features, text in items if of == fold)
    print(f"cross-validated: {right:,} of {len(items):,} questions told to be from a text or not")
    if write:
        written("source_weights", choice_weights([(features, text) for _, features, text in items]))
        read_packaged_json.cache_clear()


def written(name: str, weights: Weights) -> None:
    """Write weights to the file that the package reads."""
    known = {key: round(value, 3) for key, value in sorted(weights.items()) if abs(value) > 0.01}
    path = PACKAGE / "systems" / "documents" / f"{name}.json"
    path.write_text(json.dumps(known, indent=0) + "\n", encoding="utf-8")
    print(f"{name}: {len(known)} weights")


def train(asked: Sequence[Asked], *, write: bool) -> None:
    """Cross-validate, print, and write the weights if asked to."""
    taught = [item for item in asked if item.question.extra.get("answer_from") != "table"]
    pairs: dict[str, tuple[TwoAnswers, float] | None] = {}
    for fold in range(FOLDS):
        weights = span_weights([item for item in taught if item.fold != fold])
        pairs |= {item.question.id: pair_of(item, weights) for item in asked if item.fold == fold}
    met: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for fold in range(FOLDS):
        weights = choice_weights(
            discordant((item, pairs[item.question.id]) for item in asked if item.fold != fold)
        )
        for item in asked:
            if item.fold != fold:
                continue
            pair = pairs[item.question.id]
            scores = (item.by_table, 0.0 if pair is None else pair[1], chosen(item, pair, weights))
            kind, form = str(item.question.extra["answer_from"]), str(item.question.extra["answer_type"])
            for name in ("all", kind, f"{kind}, {form}"):
                met[name].append(scores)
    print("cross-validated: questions, right by table, right by text, right as chosen, right by either")
    for name, all_scores in sorted(met.items()):
        table, text, both = np.mean(all_scores, axis=0)
        either = np.mean([max(one, other) for one, other, _ in all_scores])
        print(f"  {name}: {len(all_scores):,}, {table:.3f}, {text:.3f}, {both:.3f}, {either:.3f}")
    if not write:
        return
    spans = span_weights(taught)
    # The choice learns from pairs of spans that were not trained on, as it will meet them.
    choice = choice_weights(discordant((item, pairs[item.question.id]) for item in asked))
    written("span_weights", spans)
    written("composition_weights", choice)


def main() -> None:
    """Train, show what it is worth, and write the weights if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    os.environ["KGTABLE_MODEL"] = "none"
    train_sources(Benchmark(given.benchmark).questions("dev"), write=given.write)
    with kgtable.open(given.graph) as graph:
        train(asked_questions(given.benchmark, graph), write=given.write)


if __name__ == "__main__":
    main()
