"""Learn the weights of the method `documents` from questions about texts and tables.

    python scripts/train_spans.py BENCH/tatqa KG [--weights EVEN ODD] [--write]

First the weights that tell whether a text answers a question (`kgtable.systems.documents.passage_sentences`), by which
passages and tables are ranked together. Then, from the questions of TAT-QA's dev set that words of a text answer, two
conditional logit models: over the sentences of the passages (`passage_sentences`), right are those that have the
answer, and over the parts of a sentence that has it (`extraction`). Last the weights of the composition
(`document_answers`): questions that only one of program and words answers train a logit model that chooses between
both; likewise one that chooses between a program over all tables and one over the best table (`table_answers`). What
each is worth is shown by cross-validation, no table in two folds; the weights that are written come from
all questions. With --weights, two files of `train_ranker.py` (--half even, --half odd), programs over an even table are
ranked by what was learned from odd tables and the reverse: no weight has seen the question that it answers.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.optimize
import scipy.sparse

sys.path.insert(0, str(Path(__file__).parent))
from eval_programs import is_even

import kgtable
from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Evidence
from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion
from kgtable.evaluation.scoring import answer_scores
from kgtable.resources import PACKAGE, read_packaged_json
from kgtable.retrieval.result import ScoredPassage
from kgtable.semantic_parsing.ranker_weights import RankerWeights, read_weights
from kgtable.systems.documents.document_answers import (
    LEAST_FIT,
    TableAnswers,
    TwoAnswers,
    computed_of,
    table_answers,
)
from kgtable.systems.documents.extraction import LOOKED_THROUGH, Extract, candidate_spans
from kgtable.systems.documents.passage_sentences import AskedText, PassageSentence, source_features

FOLDS = 5
LEAST_SEEN = 5
"""Sentences, or parts, or questions that a feature must occur in."""
SENTENCE_DECAY, SPAN_DECAY, CHOICE_DECAY = 0.01, 0.01, 0.003

Weights = dict[str, float]
Features = Iterable[tuple[str, float]]


class Rows:
    """Rows of features as a sparse matrix that grows, their names shared by all."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self._columns: list[int] = []
        self._values: list[float] = []
        self._ends = [0]

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, features: Features) -> None:
        """One row more."""
        for name, value in features:
            if value:
                self._columns.append(self.names.setdefault(name, len(self.names)))
                self._values.append(value)
        self._ends.append(len(self._columns))

    def matrix(self) -> scipy.sparse.csr_matrix:
        """All rows."""
        return scipy.sparse.csr_matrix(
            (np.array(self._values), np.array(self._columns), np.array(self._ends)),
            shape=(len(self), len(self.names)),
        )


@dataclass
class Asked:
    """A question with the answer of the tables and the passages that are read.

    `sentences` and `spans` are the numbers of the first and last row of its sentences and of the parts of each
    sentence that was looked through, with how right each of them is.
    """

    question: BenchmarkQuestion
    fold: int
    odd: bool
    tables: TableAnswers
    passages: tuple[ScoredPassage, ...]
    all_right: float
    best_right: float
    by_table: Answer
    table_right: float = 0.0
    text: AskedText | None = None
    sentences: tuple[int, int] = (0, 0)
    has_answer: np.ndarray = field(default_factory=lambda: np.zeros(0))
    order: list[int] = field(default_factory=list)
    shares: np.ndarray = field(default_factory=lambda: np.zeros(0))
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    right: dict[int, np.ndarray] = field(default_factory=dict)
    extracts: dict[int, list[Extract]] = field(default_factory=dict)
    found: Extract | None = None
    text_right: float = 0.0
    computed_right: float | None = None

    @property
    def taught(self) -> bool:
        """Whether words of a text may answer it."""
        return self.question.extra.get("answer_from") != "table"

    @property
    def pair(self) -> TwoAnswers:
        """Both answers."""
        return TwoAnswers(self.by_table, self.found, self.passages)


def asked_questions(
    folder: Path, graph: kgtable.KnowledgeGraph, rankers: Mapping[bool, RankerWeights]
) -> list[Asked]:
    """All questions with what the tables answer and the passages that are read.

    `rankers` are the weights for even tables (True) and for odd ones; without them, those that kgtable ships.
    """
    tables: dict[str, int] = {}
    found = []
    for number, question in enumerate(Benchmark(folder).questions("dev")):
        fold = tables.setdefault(question.tables[0], len(tables)) % FOLDS
        evidence = Evidence(graph.retrieve(question.text, 300, "documents"), graph.reader)
        slim = replace(
            evidence.retrieval, triples=(), passages=(), trace={}, tables=evidence.retrieval.tables[:1]
        )
        even = is_even(question.tables[0])
        both = table_answers(evidence, rankers.get(even))
        over_all = replace(both.over_all, retrieval=slim)
        alone = None if both.over_best is None else replace(both.over_best, retrieval=slim)
        tables_said = replace(both, over_all=over_all, over_best=alone)
        found.append(
            Asked(
                question,
                fold,
                not even,
                tables_said,
                evidence.retrieval.passages[:3],
                scored(question, over_all.text, over_all.value),
                0.0 if alone is None else scored(question, alone.text, alone.value),
                over_all,
            )
        )
        if number % 200 == 0:
            print(f"{number} questions", flush=True)
    return found


def scored(question: BenchmarkQuestion, text: str, value: str | None) -> float:
    """The verdict of `kgtable eval`."""
    return answer_scores(question, text, value)["match"]


def score_of(question: BenchmarkQuestion, extract: Extract) -> float:
    """The verdict on words as an answer."""
    return scored(question, extract.text, None if extract.quantity is None else f"{extract.quantity.value:f}")


def has_answer(question: BenchmarkQuestion, sentence: PassageSentence) -> bool:
    """Whether the gold answer stands in a sentence to the letter."""
    text = " ".join(sentence.text.lower().split())
    wanted = [" ".join(answer.lower().split()).rstrip(".") for answer in question.answers]
    return question.extra.get("answer_type") == "span" and all(answer in text for answer in wanted)


Loss = Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]]


def fitted(
    table: scipy.sparse.csr_matrix, groups: Sequence[np.ndarray], loss: Loss, decay: float
) -> np.ndarray:
    """The weights that make the loss of the scores of the groups' rows least, with quadratic decay."""
    rows = table[np.concatenate(groups)]
    known = np.asarray((rows != 0).sum(0)).ravel() >= LEAST_SEEN
    rows = rows[:, known]
    across = rows.T.tocsr()
    ends = np.cumsum([0, *map(len, groups)])

    def whole(weights: np.ndarray) -> tuple[float, np.ndarray]:
        lost, slopes = loss(rows @ weights, ends)
        strength = decay * len(groups)
        return lost + strength * float(weights @ weights) / 2, across @ slopes + strength * weights

    start = np.zeros(rows.shape[1])
    found = np.zeros(table.shape[1])
    found[known] = scipy.optimize.minimize(
        whole, start, jac=True, method="L-BFGS-B", options={"maxiter": 150}
    ).x
    return found


def of_groups(right: Sequence[np.ndarray]) -> Loss:
    """Minus the logarithm of the share of what is right in each group."""
    wanted = np.concatenate(right)

    def loss(scores: np.ndarray, ends: np.ndarray) -> tuple[float, np.ndarray]:
        lost, slopes = 0.0, np.zeros(len(scores))
        for start, end in pairwise(ends.tolist()):
            shares = softmax(scores[start:end])
            hit = shares * wanted[start:end]
            lost -= float(np.log(max(hit.sum(), 1e-12)))
            slopes[start:end] = shares - hit / max(hit.sum(), 1e-12)
        return lost, slopes

    return loss


def softmax(scores: np.ndarray) -> np.ndarray:
    """The shares of scores."""
    powers = np.exp(scores - scores.max())
    return np.asarray(powers / powers.sum())


def sentence_rows(asked: Sequence[Asked]) -> Rows:
    """The features of all sentences."""
    rows = Rows()
    for item in asked:
        item.text = AskedText(item.question.text, item.passages)
        first = len(rows)
        for features in item.text.features():
            rows.add(features)
        item.sentences = (first, len(rows))
        item.has_answer = np.array(
            [has_answer(item.question, found) for found in item.text.sentences], dtype=float
        )
    return rows


def sentence_weights(asked: Sequence[Asked], table: scipy.sparse.csr_matrix) -> np.ndarray:
    """A conditional logit model of the sentence that has the answer."""
    used = [item for item in asked if item.taught and item.has_answer.any()]
    groups = [np.arange(*item.sentences) for item in used]
    return fitted(table, groups, of_groups([item.has_answer for item in used]), SENTENCE_DECAY)


def span_rows(asked: Sequence[Asked]) -> Rows:
    """The features of the parts of the likeliest sentences, and of those that have the answer."""
    rows = Rows()
    for item in asked:
        assert item.text is not None
        looked = list(
            dict.fromkeys([*item.order[:LOOKED_THROUGH], *np.flatnonzero(item.has_answer)[:2].tolist()])
        )
        for at in looked if item.taught else item.order[:LOOKED_THROUGH]:
            sentence = replace(item.text.sentences[at], share=float(item.shares[at]))
            spans = candidate_spans(item.text, sentence) if sentence.fit > 0 else []
            if not spans:
                continue
            first = len(rows)
            for span in spans:
                rows.add(span.features)
            item.spans[at] = (first, len(rows))
            item.extracts[at] = [span.extract() for span in spans]
            if item.taught:
                item.right[at] = np.array([score_of(item.question, found) for found in item.extracts[at]])
    return rows


def span_weights(asked: Sequence[Asked], table: scipy.sparse.csr_matrix) -> np.ndarray:
    """A conditional logit model of the right part of a sentence that has the answer."""
    used = [(item, at) for item in asked for at in item.right if item.has_answer[at] and item.right[at].any()]
    groups = [np.arange(*item.spans[at]) for item, at in used]
    return fitted(table, groups, of_groups([item.right[at] for item, at in used]), SPAN_DECAY)


def read(item: Asked, scores: np.ndarray) -> None:
    """The likeliest part of the likeliest sentences, with its share; none where its sentence fits too little."""
    item.found, item.text_right = None, 0.0
    for at in item.order[:LOOKED_THROUGH]:
        if at not in item.spans:
            continue
        shares = softmax(scores[slice(*item.spans[at])]) * item.shares[at]
        best = int(np.argmax(shares))
        if item.found is None or shares[best] > item.found.share:
            item.found = replace(item.extracts[at][best], share=float(shares[best]))
    if item.found is not None and item.found.fit < LEAST_FIT:
        item.found = None
    if item.found is not None:
        item.text_right = score_of(item.question, item.found)


def choose_table(item: Asked, weights: Weights) -> None:
    """The answer of the tables that these weights choose."""
    item.by_table = item.tables.chosen(weights)
    item.table_right = item.all_right if item.by_table is item.tables.over_all else item.best_right


def of_tables(asked: Iterable[Asked]) -> list[tuple[Features, bool]]:
    """The questions that only one of all tables and the best table answers."""
    return [
        (item.tables.features, item.best_right > item.all_right)
        for item in asked
        if item.tables.over_best is not None and item.best_right != item.all_right
    ]


def compute(item: Asked) -> None:
    """What is computed from the numbers of a text, if anything."""
    computed = computed_of(item.pair)
    if computed is not None:
        value = None if computed.value is None else f"{computed.value.number:f}"
        item.computed_right = scored(item.question, computed.text, value)


def choice_weights(pairs: Sequence[tuple[Features, bool]]) -> Weights:
    """A logit model of whether the words are right where only one of the two answers is."""
    wanted = np.array([1.0 if text else 0.0 for _, text in pairs])

    def loss(scores: np.ndarray, _: np.ndarray) -> tuple[float, np.ndarray]:
        lost = np.logaddexp(0.0, scores) - wanted * scores
        return float(lost.sum()), 1 / (1 + np.exp(-scores)) - wanted

    rows = Rows()
    for features, _ in pairs:
        rows.add(features)
    weights = fitted(rows.matrix(), [np.array([at]) for at in range(len(pairs))], loss, CHOICE_DECAY)
    return named(weights, rows)


def named(weights: np.ndarray, rows: Rows) -> Weights:
    """Weights by the names of their features."""
    return {name: float(weights[at]) for name, at in rows.names.items() if weights[at]}


def total(features: Features, weights: Weights) -> float:
    """The score of an item."""
    return sum(weights.get(name, 0.0) * value for name, value in features)


def chosen(item: Asked, weights: Weights) -> float:
    """Whether the answer is right that these weights choose."""
    if item.computed_right is not None:
        return item.computed_right
    if item.found is None or item.by_table.verified:
        return item.table_right
    if not item.by_table.found or total(item.pair.features, weights) > 0:
        return item.text_right
    return item.table_right


def discordant(asked: Iterable[Asked]) -> list[tuple[Features, bool]]:
    """The pairs of which one is right."""
    return [
        (item.pair.features, item.text_right > item.table_right)
        for item in asked
        if item.found is not None
        and item.by_table.found
        and item.computed_right is None
        and item.text_right != item.table_right
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
    rows = sentence_rows(asked)
    table = rows.matrix()
    for fold in range(FOLDS):
        weights = sentence_weights([item for item in asked if item.fold != fold], table)
        for item in (item for item in asked if item.fold == fold and len(item.has_answer)):
            item.shares = softmax(table[slice(*item.sentences)] @ weights)
            item.order = np.argsort(-item.shares, kind="stable").tolist()
    for fold in range(FOLDS):
        known = choice_weights(of_tables(item for item in asked if item.fold != fold))
        for item in (item for item in asked if item.fold == fold):
            choose_table(item, known)
    spans = span_rows(asked)
    parts = spans.matrix()
    for fold in range(FOLDS):
        scores = parts @ span_weights([item for item in asked if item.fold != fold], parts)
        for item in (item for item in asked if item.fold == fold):
            read(item, scores)
            compute(item)
    met: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for fold in range(FOLDS):
        known = choice_weights(discordant(item for item in asked if item.fold != fold))
        for item in (item for item in asked if item.fold == fold):
            kind, form = str(item.question.extra["answer_from"]), str(item.question.extra["answer_type"])
            for name in ("all", kind, f"{kind}, {form}"):
                told = (item.all_right, item.table_right, item.text_right, chosen(item, known))
                met[name].append(told)
                if item.odd:
                    met[f"odd: {name}"].append(told)
    print_shares(asked, met)
    if not write:
        return
    # The choice learns from words that were not trained on, as it will meet them.
    written("composition_weights", choice_weights(discordant(asked)))
    written("table_weights", choice_weights(of_tables(asked)))
    written("sentence_weights", named(sentence_weights(asked, table), rows))
    written("span_weights", named(span_weights(asked, parts), spans))


def print_shares(asked: Sequence[Asked], met: dict[str, list[tuple[float, ...]]]) -> None:
    """Print what was right, by kind of question."""
    taught = [item for item in asked if item.taught and item.has_answer.any()]
    for depth in (1, 3):
        hits = Counter(bool(item.has_answer[item.order[:depth]].any()) for item in taught)
        print(f"cross-validated: {hits[True]} of {len(taught)} answers stand in the first {depth} sentences")
    print(
        "cross-validated: questions, right by all tables, by the table chosen, by text, as chosen, by either"
    )
    for name, all_scores in sorted(met.items()):
        either = np.mean([max(told[1:3]) for told in all_scores])
        means = ", ".join(f"{mean:.3f}" for mean in np.mean(all_scores, axis=0))
        print(f"  {name}: {len(all_scores):,}, {means}, {either:.3f}")


def main() -> None:
    """Train, show what it is worth, and write the weights if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--weights", type=Path, nargs=2, metavar=("EVEN", "ODD"))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    os.environ["KGTABLE_MODEL"] = "none"
    rankers: dict[bool, RankerWeights] = {}
    if given.weights:
        of_even, of_odd = (read_weights(json.loads(file.read_text())) for file in given.weights)
        rankers = {True: of_odd, False: of_even}
    train_sources(Benchmark(given.benchmark).questions("dev"), write=given.write)
    with kgtable.open(given.graph) as graph:
        asked = asked_questions(given.benchmark, graph, rankers)
    train(asked, write=given.write)


if __name__ == "__main__":
    main()
