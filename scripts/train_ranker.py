"""Learn the weights of the ranker of programs by rules from benchmarks with answers.

    python scripts/train_ranker.py --data DIR --kgs DIR --out FILE [--rounds 2] [--limit N]

Training questions are wtq ``squall``, ``dev`` of spider, finqa, tatqa, hitab and everyday, and all of kgtable's own
questions about invented tables (``tests/questions``) but for the sets ``brook``, ``heath``, ``grove``, ``bay``,
``quay`` and ``pier``. With
``--half`` they are only those of the benchmarks whose tables all have an even SHA-256 (`eval_programs.is_even`), or
the others: what weights are worth is measured on the other half. With ``--groups FILE`` the candidates are collected
once.

A candidate is right when its answer is the gold answer and, where a benchmark names gold tables, it reads one of them.
The objective is the
marginal log likelihood of the right candidates (of abstaining, where none is right); a question weighs the less
the more questions its benchmark has (by the square root). The linear weights are fitted first, with an L2
penalty; the hidden layer then learns what they miss: two networks whose mean is taken, by AdamW with dropout and
a rate that rises and falls. The confidence is a logistic model of whether the best answer is right, learned from
answers of weights that did not see the question.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

sys.path.insert(0, str(Path(__file__).parent))
from eval_programs import Workplace, for_training

from kgtable.programs.algebra import tables_of
from kgtable.programs.display import text_of_rows
from kgtable.programs.scalars import format_decimal
from kgtable.questions import ranker
from kgtable.questions.ranker_weights import HiddenLayer, RankerWeights, word_features
from kgtable.questions.reading import Question

SPLITS = (
    ("everyday", "dev"),
    ("hitab", "dev"),
    ("spider", "dev"),
    ("finqa", "dev"),
    ("tatqa", "dev"),
    ("wtq", "squall"),
    ("questions", "dev"),
    ("town", "dev"),
    ("valley", "dev"),
    ("coast", "dev"),
    ("summit", "dev"),
    ("meadow", "dev"),
    ("island", "dev"),
    ("marsh", "dev"),
    ("fen", "dev"),
    ("moor", "dev"),
    ("delta", "dev"),
    ("cape", "dev"),
    ("ridge", "dev"),
    ("dale", "dev"),
    ("glen", "dev"),
    ("fjord", "dev"),
    ("creek", "dev"),
    ("lagoon", "dev"),
    ("shore", "dev"),
)
OWN = {
    name: name if name == "questions" else f"questions/{name}"
    for name, _ in SPLITS[[name for name, _ in SPLITS].index("questions") :]
}
"""The folders under ``tests/`` with kgtable's own invented tables and questions, all of these for training."""
SEED = 20261122
PENALTY = 0.002
CONFIDENCE_PENALTY = 0.002
FOLDS = 4
LEAST, LEAST_OF_WORDS = 4, 12
"""Questions that a feature must occur in, and one of a word beside an operator."""
LEAST_SAID = 30
"""Questions that a word must occur in, to be learned with operators."""
OF_GOLD, OF_OTHERS = 80, 54
"""Candidates learned from for each question: of the tables with the answer, and of the other tables found."""
NETWORKS, UNITS = 2, 96
EPOCHS, BATCH = 14, 64
RATE, DECAY, DROPOUT = 0.004, 0.03, 0.3
"""Of the hidden layer: chosen by leaving out whole sets of tables (docs/benchmarks.md)."""

START = {
    "uncovered": -3.0, "uncovered:value": -2.0, "uncovered:number": -2.0, "covered": 1.0, "t:link": 1.0, "t:focus": 1.0,
    "m:link": 1.5, "m:hint": 1.0, "t:label": 0.3, "c:exact:q": 1.0, "c:time:q": 0.8, "c:group:q": 0.5, "c:partial:q": 0.6,  # noqa: E501
    "c:threshold:q": 2.0, "c:n=3": -0.5, "table:score": 2.0, "table:first": 0.5, "d:echo": -2.0, "d:many:singular": -0.5,  # noqa: E501
    "d:everything": -1.5, "join": -0.5, "count:how_many": 1.0, "mean:average": 2.0, "sum:total": 1.5, "extreme:adjective": 1.5,  # noqa: E501
    "difference/columns/time:difference": 1.0, "percent_change/columns/time:percent": 2.0, "m:unlinked": -0.5, "t:condition": -1.0,  # noqa: E501
    "abstain": -5.0, "c:several": -0.5, "c:not exact": -0.3, "select:adjective": -0.7,
    "cue:left": -1.0, "cue:left:superlative": -1.5, "cue:left:negation": -2.0, "uncovered:focus": -0.5, "uncovered:n": -1.0, "count:focus measure": -2.0, "sum:focus measure": 1.0, "count_distinct:focus measure": -1.0,  # noqa: E501
    "count_distinct:focus entity": 0.7, "m:focus": 0.8, "d:yes_no:number": -3.0, "d:what_is:number": 0.3, "count:wh=what_is": -1.0, "described": -0.2, "d:who:date": -2.5, "d:who:period": -2.5, "d:which:date": -0.7, "d:where:date": -2.5, "t:said key": 2.0, "group/mean:each": 1.0, "group/count:each": 1.0, "group/sum:each": 1.0, "c:dominated": -1.0, "t:id": -0.8, "count_distinct:t:id": 0.8, "count:wh=which": -1.5, "count:wh=who": -2.0, "count:wh=when": -2.0, "count:wh=where": -2.0,  # noqa: E501
    "sum:wh=which": -1.0, "sum:wh=who": -1.5, "count_distinct:wh=which": -1.5, "count_distinct:wh=who": -2.0, "c:not contains": -0.7,  # noqa: E501
    "c:contains": -0.4, "m:overshadowed": -1.5, "t:overshadowed": -1.0, "columns/mean/span:until": 1.0, "uncovered:name": -0.7,  # noqa: E501
    "abstain:uncovered:n": 0.5, "abstain:uncovered:name": 1.0, "abstain:uncovered:number": 0.5, "sum:quantity": 2.0,
    "share/rows:ratio": -1.0, "ratio/rows:ratio": 1.0, "share/columns:ratio": -1.0, "ratio/columns:ratio": 1.0, "op=never/within": -0.3,  # noqa: E501
    "count:total": -0.7, "select:average": -1.0,
    "compare_yes:than": 0.5, "t:label:title": 0.5, "first_last/last:t:unlinked": -0.3, "select:missing": 0.0,
    "d:how_many:text": -3.0, "d:how_many:number": 1.0, "d:how_much:text": -2.5, "d:yes_no:truth": 3.0, "d:yes_no:text": -2.0,  # noqa: E501
    "d:who:number": -2.5, "d:when:text": -1.0, "d:when:number": -1.0, "d:where:number": -2.0, "d:which:truth": -3.0,
    "d:which:number": -0.5, "op=select/columns": -1.0, "select/columns:wh=list": 1.0, "c:relation:header": 0.5, "op=percent_change/columns/time": 0.5,  # noqa: E501
    "d:negative": -0.5, "d:zero": -0.7, "t:heads the value": -2.0, "extreme:total of several": -1.5, "count:one row": -1.0,  # noqa: E501
}  # fmt: skip


def collect(task: tuple[str, str, str, str, int, dict[str, float], str]) -> list[dict[str, Any]]:
    """The groups of one share of a benchmark: for each question the features of candidates and which are right."""
    name, split, data, kgs, limit, start, share = task
    folder = Path(__file__).parents[1] / "tests" / OWN[name] if name in OWN else Path(data) / name
    place = Workplace(folder, Path(kgs) / name, Path(data) / "everyday" if name in OWN else None)
    known = RankerWeights(start, {})
    part, parts = map(int, share.split("/"))
    questions = place.questions(split)
    questions = [q for q in questions if q.extra.get("answer_from") != "text" or hash_share(q.id, 4)]
    random.Random(SEED).shuffle(questions)
    questions = questions[:limit][part::parts] if limit else questions[part::parts]
    groups = []
    for question in questions:
        gold = place.gold(question)
        tables = place.tables(question, False)
        have = {relation.id for relation, _ in tables}
        least = min((score for _, score in tables), default=1.0)
        tables += [(place.relation(id), least) for id in gold if id not in have]
        asked = Question.read(question.text)
        sources = ranker.sources_of(asked, tables)
        found = ranker.generate(sources, known)
        right_tables = set(gold)
        own = [c for c in found if right_tables & set(c.source.ids)][:OF_GOLD]
        other = [c for c in found if not right_tables & set(c.source.ids)][:OF_OTHERS]
        relations = {relation.id: relation for relation, _ in tables}
        executed = ranker.execute(own, relations, known, OF_GOLD)
        executed += ranker.execute(other, relations, known, OF_OTHERS)
        verdicts: dict[tuple[str, ...], bool] = {}
        executed.sort(key=lambda entry: -entry.score)
        rows, right, keys = [], [], []
        for entry in executed:
            text = text_of_rows(entry.denotation.rows)
            if text not in verdicts:
                values = [v for row in entry.denotation.rows for v in row if v is not None]
                number = values[0].number if len(values) == 1 else None
                value = format_decimal(number) if number is not None else None
                verdicts[text] = place.judge(question, text, value, None if not values else values[0].unit)
            rows.append(entry.features)
            reads = not right_tables or bool(right_tables & set(tables_of(entry.candidate.program)))
            right.append(verdicts[text] and bool(question.answers) and reads)
            keys.append(repr(entry.key))
        half = "own" if name in OWN else "even" if for_training(question) else "odd"
        groups.append({"id": f"{name}/{question.id}", "half": half, "words": sorted(asked.stems),
                       "features": rows, "right": right, "keys": keys,
                       "abstain": ranker.abstention_features(executed), "found": any(right)})  # fmt: skip
    return groups


def add_words(groups: Sequence[dict[str, Any]]) -> list[str]:
    """Add `word_features` of the words that many questions have; return these words."""
    counts = Counter(word for group in groups for word in group["words"])
    words = sorted(word for word, count in counts.items() if count >= LEAST_SAID)
    for group in groups:
        said = [word for word in group["words"] if counts[word] >= LEAST_SAID]
        for row in group["features"]:
            op = next(name[3:] for name in row if name.startswith("op="))
            row.update(word_features(said, op))
    return words


def hash_share(id: str, parts: int) -> bool:
    """Whether a question is of one share of several: of those without an answer in a table only some are taken."""
    return zlib.crc32(id.encode()) % parts == 0


def frequent(counts: Counter[str]) -> list[str]:
    """The features that occur in enough questions to be learned from, sorted."""
    least = {name: LEAST_OF_WORDS if name.startswith("word:") else LEAST for name in counts}
    return sorted(name for name, count in counts.items() if count >= least[name])


def fit(groups: Sequence[dict[str, Any]], penalty: float, start: dict[str, float]) -> dict[str, float]:
    """The weights that make right candidates likely."""
    counts: Counter[str] = Counter()
    for group in groups:
        counts.update({name for row in group["features"] for name in row})
    counts.update(dict.fromkeys(("abstain", "abstain:uncovered", "abstain:nothing"), LEAST))
    # Candidates are chosen by these weights before words are looked at.
    names = [name for name in frequent(counts) if not name.startswith("word:")]
    index = {name: place for place, name in enumerate(names)}
    data, columns, ends, right, starts = [], [], [0], [], [0]
    for group in groups:
        found = any(group["right"])
        for row, good in [
            *zip(group["features"], group["right"], strict=True),
            (group["abstain"], not found),
        ]:
            for name, value in row.items():
                if name in index and value:
                    data.append(value)
                    columns.append(index[name])
            ends.append(len(data))
            right.append(good)
        starts.append(len(right))
    matrix = csr_matrix((data, columns, ends), shape=(len(right), len(names)))
    good = np.array(right)
    begin = np.array(starts[:-1])
    sizes = np.diff(starts)
    owner = np.repeat(np.arange(len(sizes)), sizes)

    sizes_of = Counter(group["id"].split("/")[0] for group in groups)
    shares = np.array([sizes_of[group["id"].split("/")[0]] ** -0.5 for group in groups])
    shares /= shares.mean()

    begin_w = np.array([start.get(name, 0.0) for name in names])
    prior = np.array([START.get(name, 0.0) for name in names])

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        scores = matrix @ w
        top = np.maximum.reduceat(scores, begin)
        exp = np.exp(scores - top[owner])
        total = np.add.reduceat(exp, begin)
        some = np.add.reduceat(exp * good, begin)
        value = (
            -(shares * np.log(np.maximum(some, 1e-30) / total)).sum() / len(sizes)
            + penalty * ((w - prior) @ (w - prior)) / 2
        )
        all_p = exp / total[owner]
        good_p = exp * good / np.maximum(some, 1e-30)[owner]
        gradient = matrix.T @ ((all_p - good_p) * shares[owner]) / len(sizes) + penalty * (w - prior)
        return value, gradient

    found = minimize(loss, begin_w, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    print(f"  loss {found.fun:.4f} after {found.nit} steps, {len(names)} features, {len(sizes)} questions")
    return {name: round(float(w), 4) for name, w in zip(names, found.x, strict=True) if abs(w) >= 0.005}


def fit_hidden(groups: Sequence[dict[str, Any]], linear: dict[str, float]) -> HiddenLayer:
    """The hidden layer that makes right candidates likelier than the linear weights alone do."""
    known = RankerWeights(linear, {})
    groups = [group for group in groups if group["features"]]
    counts = Counter(name for group in groups for name in {name for row in group["features"] for name in row})
    names = frequent(counts) + sorted(groups[0]["abstain"])
    index = {name: place for place, name in enumerate(names)}
    data, columns, ends, right, starts, scores = [], [], [0], [], [0], []
    for group in groups:
        rows = [*group["features"], group["abstain"]]
        for row in rows:
            for name, value in row.items():
                if name in index and value:
                    data.append(value)
                    columns.append(index[name])
            ends.append(len(data))
        right += [*group["right"], not any(group["right"])]
        scores += known.scores(rows)
        starts.append(len(right))
    matrix = csr_matrix((data, columns, ends), shape=(len(right), len(names)))
    good, base = np.array(right), np.array(scores)
    sizes_of = Counter(group["id"].split("/")[0] for group in groups)
    shares = np.array([sizes_of[group["id"].split("/")[0]] ** -0.5 for group in groups])
    shares /= shares.mean()
    networks = [_network(matrix, good, base, np.array(starts), shares, seed) for seed in range(NETWORKS)]
    inputs = np.hstack([weights for weights, _, _ in networks])
    bias = np.hstack([bias for _, bias, _ in networks])
    output = np.hstack([output for _, _, output in networks]) / NETWORKS
    step = np.maximum(np.abs(inputs).max(0), 1e-9) / 127
    whole = np.round(inputs / step).astype(np.int8)
    kept = [place for place in range(len(names)) if whole[place].any()]
    return HiddenLayer({names[p]: i for i, p in enumerate(kept)}, whole[kept], bias / step, output * step)


def _network(
    matrix: csr_matrix, good: np.ndarray, base: np.ndarray, starts: np.ndarray, shares: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights of inputs, bias and output of one network of `UNITS` rectified units."""
    random_ = np.random.default_rng((SEED, seed))
    count = len(shares)
    weights = [
        random_.normal(0, 0.1, (matrix.shape[1], UNITS)),
        np.zeros(UNITS),
        random_.normal(0, 0.1, UNITS),
    ]
    decays = (DECAY, 0.0, DECAY)
    first = [np.zeros_like(weight) for weight in weights]
    second = [np.zeros_like(weight) for weight in weights]
    steps = EPOCHS * -(-count // BATCH)
    step = 0
    for _ in range(EPOCHS):
        order = random_.permutation(count)
        for start in range(0, count, BATCH):
            chosen = order[start : start + BATCH]
            rows = np.concatenate([np.arange(starts[g], starts[g + 1]) for g in chosen])
            sizes = starts[chosen + 1] - starts[chosen]
            begin = np.concatenate([[0], np.cumsum(sizes)[:-1]])
            owner = np.repeat(np.arange(len(chosen)), sizes)
            x = matrix[rows]
            sums = x @ weights[0] + weights[1]
            kept = (random_.random(sums.shape) >= DROPOUT) / (1 - DROPOUT) * (sums > 0)
            units = sums * kept
            score = base[rows] + units @ weights[2]
            exp = np.exp(score - np.maximum.reduceat(score, begin)[owner])
            total = np.add.reduceat(exp, begin)
            some = np.maximum(np.add.reduceat(exp * good[rows], begin), 1e-20)
            error = (exp / total[owner] - exp * good[rows] / some[owner]) * shares[chosen][owner] / len(chosen)
            back = np.outer(error, weights[2]) * kept
            gradients = [x.T @ back, back.sum(0), units.T @ error]
            step += 1
            rate = RATE * min(step / (0.1 * steps), (1 + np.cos(np.pi * step / steps)) / 2)
            for weight, gradient, mean, square, decay in zip(weights, gradients, first, second, decays, strict=True):
                mean += 0.1 * (gradient - mean)
                square += 0.001 * (gradient * gradient - square)
                adapted = (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
                weight -= rate * (adapted + decay * weight)
    return weights[0], weights[1], weights[2]


def learn_confidence(groups: Sequence[dict[str, Any]], penalty: float, start: dict[str, float]) -> dict[str, float]:
    """Weights of the confidence: a logistic model of whether the best answer is right.

    The answers it learns from are those of weights that did not see their questions.
    """
    rows: list[dict[str, float]] = []
    rights, ids = [], []
    for fold in range(FOLDS):
        seen = [g for i, g in enumerate(groups) if i % FOLDS != fold]
        learned = fit(seen, penalty, start)
        known = RankerWeights(learned, {}, fit_hidden(seen, learned))
        for group in (g for i, g in enumerate(groups) if i % FOLDS == fold and g["features"]):
            *scores, abstention = known.scores([*group["features"], group["abstain"]])
            found, best = ranker.confidence_features(group["features"], scores, group["keys"], abstention)
            rows.append(found)
            rights.append(bool(group["right"][best]))
            ids.append(group["id"])
    names = sorted({name for row in rows for name in row})
    place = {name: index for index, name in enumerate(names)}
    matrix = np.zeros((len(rows), len(names)))
    for index, row in enumerate(rows):
        for name, value in row.items():
            matrix[index, place[name]] = value
    spread = matrix.std(0)
    spread[spread == 0] = 1.0
    y = np.array(rights, dtype=float)

    sizes_of = Counter(id.split("/")[0] for id in ids)
    shares = np.array([sizes_of[id.split("/")[0]] ** -0.5 for id in ids])
    bounds = [(0 if name in ranker.FOR else None, 0 if name in ranker.AGAINST else None) for name in names]

    def weights_of(chosen: np.ndarray) -> np.ndarray:
        x, right = matrix[chosen] / spread, y[chosen]
        weight = shares[chosen] / shares[chosen].sum()

        def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
            z = x @ w
            error = 1 / (1 + np.exp(-z)) - right
            value = float(weight @ (np.logaddexp(0, z) - right * z)) + CONFIDENCE_PENALTY * float(w @ w) / 2
            return value, x.T @ (weight * error) + CONFIDENCE_PENALTY * w

        found = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B", bounds=bounds)
        return found.x / spread

    part = np.arange(len(rows)) % FOLDS
    sure = np.zeros(len(rows))
    for fold in range(FOLDS):
        sure[part == fold] = 1 / (1 + np.exp(-(matrix[part == fold] @ weights_of(part != fold))))
    for least in (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95):
        chosen = sure >= least
        by = Counter(id.split("/")[0] for id, take in zip(ids, chosen, strict=True) if take)
        good = Counter(id.split("/")[0] for id, take, ok in zip(ids, chosen, rights, strict=True) if take and ok)
        told = ", ".join(f"{name} {good[name]} of {count}" for name, count in sorted(by.items()))
        share = y[chosen].mean() if chosen.any() else 0
        print(f"  confidence >= {least}: {share:.3f} of {chosen.sum()} right ({told})")
    for index in np.argsort(-sure)[:400]:
        if not rights[index] and sure[index] >= 0.8:
            print(f"    sure and wrong: {ids[index]} {sure[index]:.2f}")
    learned = weights_of(part >= 0)
    return {name: round(float(w), 4) for name, w in zip(names, learned, strict=True) if abs(w) >= 0.0005}


def best_answer(group: dict[str, Any], known: RankerWeights) -> tuple[float, bool]:
    """The likeliest answer's probability, and whether it is right."""
    scores = np.array(known.scores([*group["features"], group["abstain"]]))
    p = np.exp(scores - scores.max())
    p /= p.sum()
    if not group["features"]:
        return 0.0, False
    totals: dict[str, float] = {}
    for key, probability in zip(group["keys"], p, strict=False):
        totals[key] = totals.get(key, 0.0) + float(probability)
    best = int(np.argmax(p[:-1]))
    return totals[group["keys"][best]], bool(group["right"][best])


def main() -> None:
    """Collect, fit, again with the learned weights, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--kgs", type=Path, required=True, help="folder of graphs, one for each benchmark")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--penalty", type=float, default=PENALTY)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--half", choices=("all", "even", "odd"), default="all", help="the tables to learn from")
    parser.add_argument("--start", type=Path)
    parser.add_argument("--groups", type=Path, help="keep what was collected here, or take it from here")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    learned = json.loads(options.start.read_text())["weights"] if options.start else dict(START)
    for number in range(options.rounds):
        began = time.time()
        tasks = [(name, split, str(options.data), str(options.kgs), options.limit, learned, f"{part}/4")
                 for name, split in reversed(SPLITS) for part in range(4)]  # fmt: skip
        if options.groups is not None and options.groups.exists():
            groups = json.loads(options.groups.read_text())
        else:
            with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
                groups = [group for found in pool.imap(collect, tasks, chunksize=1) for group in found]
            if options.groups is not None:
                options.groups.write_text(json.dumps(groups))
        groups = [group for group in groups if options.half == "all" or group["half"] in ("own", options.half)]
        words = add_words(groups)
        by: dict[str, list[bool]] = {}
        for group in groups:
            by.setdefault(group["id"].split("/")[0], []).append(group["found"])
        reach = ", ".join(f"{name} {np.mean(found):.3f} of {len(found)}" for name, found in by.items())
        print(f"round {number}: {len(groups)} questions in {time.time() - began:.0f} s; right candidate found: {reach}")
        learned = fit(groups, options.penalty, learned)
        hidden = fit_hidden(groups, learned)
        right: dict[str, list[bool]] = {}
        for group in groups:
            right.setdefault(group["id"].split("/")[0], []).append(
                best_answer(group, RankerWeights(learned, {}, hidden))[1]
            )
        print(
            "  on the training half: " + ", ".join(f"{name} {np.mean(found):.3f}" for name, found in right.items()),
            flush=True,
        )
    confidence = learn_confidence(groups, options.penalty, dict(START))
    data = {"about": "Weights of the ranker of programs; made by scripts/train_ranker.py.", "seed": SEED, "penalty": options.penalty,  # noqa: E501
            "splits": [f"{name} {split}" for name, split in SPLITS], "half": options.half, "questions": len(groups),
            "words": words, "confidence": confidence,
            "weights": dict(sorted(learned.items())), "hidden": hidden.to_json()}  # fmt: skip
    options.out.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
