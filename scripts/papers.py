"""Print the tables of five papers, measured on a folder of benchmarks, with the papers' own figures in brackets.

    python scripts/papers.py thesis --data BENCH
    python scripts/papers.py all --data BENCH --small --graphs DIR

BENCH holds the benchmark folders. Questions and tables are copied below ``--graphs`` (a temporary folder by default)
and built there once. ``--small`` takes 16 questions and 90 tables of each benchmark, ``--limit N`` N questions. No
language model is asked: tables that need one are named in a line. The papers' figures are in ``scripts/papers.toml``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
import kgtable
from kgtable.config import Settings
from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion
from kgtable.evaluation.records import Record
from kgtable.evaluation.run_plan import make_plan, systems
from kgtable.evaluation.scoring import answer_scores, exact_match, traced
from kgtable.evaluation.session import evaluate
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM
from kgtable.tables.linearize import TableFormat
from kgtable.text.words import terms
from scripts.benchmarks.folder import BenchmarkFolder, read_json_lines
from scripts.benchmarks.grown_tables import growth_benchmark

PAPER = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SMALL_QUESTIONS, SMALL_TABLES, SMALL_BYTES = 16, 90, 20_000
"""What a small run takes of a benchmark, and the largest file of a table in it."""

SLOW_QUESTIONS, SLOW_TABLES = 6, 60
"""The same where each question or table takes seconds."""

Figures = Mapping[str, float]
Item = Mapping[str, Any]


@dataclass(frozen=True)
class Corpus:
    """Some questions of a benchmark, the folder that holds them with their tables, and the graph of the tables."""

    split: str
    benchmark: Benchmark
    kg: kgtable.KnowledgeGraph

    @cached_property
    def questions(self) -> tuple[BenchmarkQuestion, ...]:
        """The questions in file order."""
        return self.benchmark.questions(self.split)

    @cached_property
    def ids(self) -> Mapping[str, str]:
        """The benchmark's own table ids by those of the graph."""
        found: dict[str, str] = json.loads((self.benchmark.folder / "ids.json").read_text(encoding="utf-8"))
        return found

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of questions and tables, for the text under a table."""
        return {"questions": len(self.questions), "tables": len(self.kg.catalogue.tables)}

    def records(self, methods: Iterable[str], **options: Any) -> dict[str, tuple[Record, ...]]:
        """The records of each method without a model; `options` are those of `systems` and of `make_plan`."""
        lists = {name: options.pop(name) for name in ("formats", "embeddings") if name in options}
        found = systems(tuple(methods), **lists)
        plan = make_plan(self.kg, self.benchmark, found, split=self.split, **{"k": 1, **options})
        run = evaluate(self.kg, plan, Settings(model="none"))
        return {system.name: run.of(system) for system in found}

    def measured(self, methods: Iterable[str], **options: Any) -> dict[str, Figures]:
        """The mean of each score by method, and the milliseconds of retrieval."""
        return {name: means_of(records) for name, records in self.records(methods, **options).items()}


def means_of(records: Sequence[Record]) -> Figures:
    """The mean of each score over the questions that have it, and of the `ms` of retrieval."""
    names = dict.fromkeys(name for record in records for name in record.scores)
    found = {name: fmean(r.scores[name] for r in records if name in r.scores) for name in names}
    return found | {"ms": fmean(record.ms["retrieval"] for record in records)}


@dataclass
class Bench:
    """The benchmarks, and what is measured on them: all of each, or a small part."""

    data: Path
    graphs: Path
    small: bool
    limit: int | None
    embeddings: tuple[str, ...]

    def corpus(
        self,
        name: str,
        split: str,
        wanted: Callable[[Item], bool] = lambda item: True,
        *,
        label: str = "",
        variant: str = "",
        slow: bool = False,
    ) -> Corpus:
        """The `wanted` questions of a split with their tables; a label names what is wanted, variants are `VARIANTS`.

        Raises `FileNotFoundError` where the benchmark is not there.
        """
        source = self.data / name
        large = {
            path.stem for path in (source / "tables").iterdir() if self.small and path.stat().st_size > SMALL_BYTES
        }
        asked = [item for item in read_json_lines(source / f"questions.{split}.jsonl") if item.get("tables")]
        asked = [item for item in asked if wanted(item) and not large & set(item["tables"])]
        few = SLOW_QUESTIONS if slow else SMALL_QUESTIONS
        count = min(self.limit or (few if self.small else len(asked)), len(asked))
        key = "-".join(filter(None, (name, split, label, variant, str(count), "slow" * slow, "small" * self.small)))
        folder = self.graphs / key
        if not (folder / "kg").exists():
            asked = [asked[number * len(asked) // count] for number in range(count)]
            every = {path.stem: None for path in sorted((source / "tables").iterdir()) if path.stem not in large}
            gold = dict.fromkeys(id for item in asked for id in item["tables"])
            most = max(SLOW_TABLES if slow else SMALL_TABLES, len(gold)) if self.small else None
            self._copy(source, folder, split, asked, list({**gold, **every})[:most], variant)
        return Corpus(split, Benchmark(folder), kgtable.build(folder / "tables", folder / "kg"))

    def _copy(
        self, source: Path, out: Path, split: str, asked: Sequence[Item], chosen: Iterable[str], variant: str
    ) -> None:
        """Copy questions and the chosen tables."""
        ids = {id: f"t{place:04}" if variant else id for place, id in enumerate(sorted(chosen), 1)}
        (out / "tables").mkdir(parents=True)
        for path in (source / "tables").iterdir():
            content = VARIANTS[variant](path, path.read_bytes()) if path.stem in ids else b""
            if content:
                (out / "tables" / f"{ids[path.stem]}{path.suffix}").write_bytes(content)
        places = ("tables", "cells", "columns", "scan_cols", "values")
        moved = [{**item, **{name: with_ids(item.get(name) or (), ids) for name in places}} for item in asked]
        BenchmarkFolder(out).write_questions(split, moved)
        (out / "ids.json").write_text(json.dumps({new: old for old, new in ids.items()}), encoding="utf-8")


def with_ids(value: Any, ids: Mapping[str, str]) -> Any:
    """The gold with new table ids: a list of ids, or of places that begin with one."""
    return [ids[one] if isinstance(one, str) else [ids[one[0]], *one[1:]] for one in value]


def in_the_wild(path: Path, content: bytes) -> bytes:
    """A file as in SpiderWild: no description but the title; of a fifth of the tables half of the headers masked, and
    the title."""
    if path.suffix == ".json":
        return b"" if is_masked(path.stem, 0) else json.dumps({"title": json.loads(content).get("title", "")}).encode()
    first, _, rest = content.decode("utf-8-sig").partition("\n")
    names = ["" if is_masked(path.stem, column) else name for column, name in enumerate(header_of(first))]
    return (",".join(names) + "\n" + rest).encode() if names else content


def is_masked(id: str, column: int) -> bool:
    """Whether a header is masked: every second of a fifth of the tables, the same in every run."""
    return hashlib.sha256(id.encode()).digest()[0] % 5 == 0 and column % 2 == 0


def header_of(line: str) -> list[str]:
    """The names on the first line of a CSV file; none where one is quoted."""
    return [] if '"' in line else line.rstrip("\r\n").split(",")


VARIANTS: Mapping[str, Callable[[Path, bytes], bytes]] = {
    "": lambda path, content: content,
    "renamed": lambda path, content: content,
    "wild": in_the_wild,
    "bare": lambda path, content: b"" if path.suffix == ".json" else content,
}
"""Ways to copy files: as they are, and under neutral names (t0001.csv) with their descriptions, as in SpiderWild, or
without any description."""


def show(table: str, rows: Iterable[Sequence[object]], /, head: Sequence[str] = (), **texts: object) -> None:
    """Print a table of `PAPER` as Markdown, with its title and what explains the difference to the paper."""
    about = PAPER["tables"][table]
    head = [name.format(**texts) for name in head or about["head"]]
    print(f"\n### {about['title'].format(**texts)}\n\n| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for row in rows:
        print(f"| {' | '.join(map(written, row))} |", flush=True)
    print(f"\n{about['why'].format(**texts)}")


def written(cell: object) -> str:
    """A cell as it is printed: a figure, or a pair of a figure and the paper's.

    >>> written((0.5, 0.25)), written(3), written(None)
    ('0.500 (0.250)', '3', '–')
    """
    if isinstance(cell, tuple):
        return written(cell[0]) if cell[1] is None else f"{written(cell[0])} ({written(cell[1])})"
    return "–" if cell is None else f"{cell:.3f}" if isinstance(cell, float) else str(cell)


def beside(found: Figures, names: Sequence[str], paper: Sequence[float] = ()) -> list[object]:
    """The scores of these names, each with the paper's figure in brackets where there is one."""
    values = [found.get(name) for name in names]
    return [*zip(values, paper, strict=True)] if paper else [*values]


def thesis(bench: Bench) -> None:
    """Tables 4 to 8 with each embedding, and the formats of Figures 10 to 23."""
    kept = []
    for name, paper in PAPER["thesis"]["compared"].items():
        budget = paper["budget"]
        corpus = bench.corpus(name, paper["split"], has_traced_cells, label="cells", slow=True)
        found = {**corpus.measured(("bm25", "dense"), embeddings=bench.embeddings)}
        found |= corpus.measured((f"thesis:budget={budget}", "hybrid"), embeddings=bench.embeddings, k=budget)
        rows: list[Sequence[object]] = []
        for method, of in found.items():
            figures = next(
                (paper[kind] for kind in ("bm25", "dense", "thesis") if method.startswith(kind)), (None, None)
            )
            by_table = method.startswith(("bm25", "dense"))
            score, missed = ("recall@30", "no_table") if by_table else (f"cells@{budget}", "no_cell")
            rows.append((method, (of[score], figures[0]), (round(of[missed] * len(corpus.questions)), figures[1])))
        recall = found[f"thesis:budget={budget}/{bench.embeddings[0]}"][f"cells@{budget}"], paper["thesis"][0]
        kept.append((name, (len(corpus.questions), paper["asked"]), budget, recall))
        show("thesis-compared", rows, table=paper["table"], asked=paper["asked"], **corpus.sizes)
    show("thesis-4", kept)
    for name, papers in PAPER["thesis"]["formats"].items():
        corpus = bench.corpus(name, "dev", slow=True)
        formats = [f for f in TableFormat if not bench.small or any(f in paper for paper in papers.values())]
        found = corpus.measured(papers, formats=tuple(formats))
        rows = [
            (f, *((found[f"{method}/{f}"]["recall@30"], paper.get(f)) for method, paper in papers.items()))
            for f in formats
        ]
        show("thesis-formats", rows, benchmark=name, **corpus.sizes)


def has_traced_cells(item: Item) -> bool:
    """Whether the gold cells of a question follow from a query or a derivation."""
    return bool(item.get("cells")) and traced(BenchmarkQuestion("", "", extra=item))


def trag(bench: Bench) -> None:
    """Tables 2, 4 and 9, and the sweeps of Figure 9."""
    scores = [f"{score}@{k}" for score in ("any", "recall") for k in (10, 20, 50)]
    for task, of in PAPER["trag"]["tasks"].items():
        corpus = bench.corpus("multitable", of["split"], lambda item, of=of: item["type"] == of["type"], label=task)
        found = corpus.measured(PAPER["trag"]["retrieval"])
        rows = [
            (name, *beside(found[name], scores, paper.get(task, ())), found[name]["precision@10"], found[name]["ms"])
            for name, paper in PAPER["trag"]["retrieval"].items()
        ]
        show("trag-2", rows, task=task, **corpus.sizes)
    show("trag-9", [coarse(corpus, *item) for item in PAPER["trag"]["coarse"].items()], **corpus.sizes)
    values = [f"threshold={value}" for value in (0.0, 0.3, 0.5, 0.7, 0.9)]
    values += [f"alpha={value}" for value in (0.0, 0.3, 0.5, 0.7, 0.85, 0.95)]
    swept = corpus.measured([f"trag:published=yes,{value}" for value in values])
    names = ("any@10", "recall@10", "recall@20", "recall@50")
    show("trag-figure-9", [(value, *beside(of, names)) for value, of in zip(values, swept.values(), strict=True)])
    spider = bench.corpus("spider", "dev")
    found = spider.measured(PAPER["trag"]["spider"])
    rows = [(name, *beside(found[name], names[:2], paper)) for name, paper in PAPER["trag"]["spider"].items()]
    show("trag-4", rows, **spider.sizes)


def coarse(corpus: Corpus, option: str, paper: Sequence[float]) -> Sequence[object]:
    """The share of gold tables among the candidates of the coarse retrieval with an option, and their number."""
    retriever: Any = corpus.kg.retrievers.get(f"trag:published=yes,{option}")
    ids = corpus.kg.index.corpus.table_ids
    found = [{ids[node] for node in retriever.ranked_tables(q.text, None)[0]} for q in corpus.questions]
    held = fmean(fmean(id in nodes for id in q.tables) for nodes, q in zip(found, corpus.questions, strict=True))
    return option, (held, paper[0]), (round(fmean(map(len, found))), paper[1])


def tablerag(bench: Bench) -> None:
    """Tables 3, 5 and 6, the sweeps of K and B (Figures 5 and 6), and tokens by the size of a table (Figure 4)."""
    corpus = bench.corpus("spider", "dev")
    names = [f"{kind}_{score}" for kind in ("column", "value") for score in ("recall", "precision", "f1")]
    found = corpus.measured(PAPER["tablerag"], oracle_tables=True, k=100)
    show(
        "tablerag-3", [(name, *beside(found[name], names, p)) for name, p in PAPER["tablerag"].items()], **corpus.sizes
    )
    for table, options, paper in (
        ("Figure 5: by K", [f"top_k={k}" for k in (1, 2, 5, 10, 20)], ", and K = 5"),
        ("Figure 6: by B", [f"budget={b}" for b in (100, 1_000, 10_000)], ", and B = 10,000"),
        ("Table 5", [f"search={s}" for s in ("lexical", "both", "dense")], ": 35.7, 44.5 and 45.5 % on BirdQA"),
        (
            "Table 6 and Figure 7",
            ["schema=no,values=no", "schema=no", "values=no", "expansion=no"],
            ": 40.3, 42.5 and 44.8 % on BirdQA in the first rows, 45.5 % with all",
        ),
    ):
        found = corpus.measured([f"tablerag:cut=0,{option}" for option in options], oracle_tables=True, k=100)
        show("tablerag-options", [(name, *beside(of, names)) for name, of in found.items()], table=table, paper=paper)
    folder = bench.graphs / ("growth-small" if bench.small else "growth")
    if not (folder / "tables").exists():
        growth_benchmark(folder, (50, 100) if bench.small else (50, 100, 500, 1_000))
    graph = kgtable.build(folder / "tables", folder / "kg", embedding="none")
    methods = ("read-table:context=10000000", "read-schema", "rand-row-sampling", "tablerag")
    rows, sizes = [], dict[int, list[int]]()
    for method, records in Corpus("growth", Benchmark(folder), graph).records(methods, scaling=True, k=100).items():
        sizes = {}
        for record in sorted(records, key=lambda record: record.size["cells"]):
            sizes.setdefault(record.size["cells"], []).append(record.size["tokens"])
        rows.append((method, *(round(fmean(tokens)) for tokens in sizes.values())))
    show("tablerag-tokens", rows, head=("method", *(f"{size:,} cells" for size in sizes)))


PRF = ("P@3", "R@3", "F1@3", "P@5", "R@5", "F1@5")
DMRAL_VARIANTS = {
    "": "names and descriptions as they are (paper: GT)",
    "renamed": "files named t0001 and so on, descriptions as they are",
    "wild": "also no description but titles; a fifth of the tables without title and half of the headers; inferred",
    "bare": "files named t0001 and so on, no description at all (paper: No-fill)",
}


def prf(records: Iterable[Record]) -> Figures:
    """P, R and F1 at 3 and 5, F1 of each question, and nDCG@10."""
    records = list(records)
    found = {"ndcg": fmean(record.scores["ndcg@10"] for record in records)}
    for k in (3, 5):
        pairs = [(record.scores[f"precision@{k}"], record.scores[f"recall@{k}"]) for record in records]
        found[f"P@{k}"], found[f"R@{k}"] = fmean(p for p, _ in pairs), fmean(r for _, r in pairs)
        found[f"F1@{k}"] = fmean(2 * p * r / (p + r) if p + r else 0.0 for p, r in pairs)
    return found


def dmral(bench: Bench) -> None:
    """Tables 2 to 6 and 8, Figures 5 and 7, names replaced and descriptions removed, and each feature left out."""

    def several(item: Item) -> bool:
        return len(item["tables"]) > 1

    found = {name: bench.corpus("spider", "dev", several, label="several", variant=name) for name in DMRAL_VARIANTS}
    for name, of in found.items():
        records = {method: prf(made) for method, made in of.records(("bm25", "dense", "hybrid", "dmral")).items()}
        paper = {"dmral": PAPER["dmral"]["metadata"][name]}
        rows = [(m, *beside(figures, PRF, paper.get(m, ())), figures["ndcg"]) for m, figures in records.items()]
        show("dmral-5", rows, variant=DMRAL_VARIANTS[name], **of.sizes)
    corpus, wild = found[""], found["wild"]
    by_size: dict[str, list[Record]] = {}
    for record, question in zip(corpus.records(("dmral",))["dmral"], corpus.questions, strict=True):
        by_size.setdefault("of two tables" if len(question.tables) == 2 else "of three and more", []).append(record)
    show("dmral-7", [(f"{len(made)} {size}", *beside(prf(made), PRF)) for size, made in sorted(by_size.items())])
    inferred_headers(bench, wild)
    decomposition(corpus)
    ablations = {name: prf(made) for name, made in corpus.records(PAPER["dmral"]["ablations"]).items()}
    show(
        "dmral-8",
        [
            (name, *beside(ablations[name], ("R@3", "R@5"), paper), ablations[name]["ndcg"])
            for name, paper in PAPER["dmral"]["ablations"].items()
        ],
    )
    features(corpus)
    show("dmral-relations", [row for title, of in found.items() for row in relations(bench, title, of)])
    answers = corpus.measured(("dmral:tables=3", "dmral:tables=5"), answers=True)
    show("dmral-3", [(name, (of["match"], p)) for (name, of), p in zip(answers.items(), (0.490, 0.495), strict=True)])


def inferred_headers(bench: Bench, wild: Corpus) -> None:
    """Table 4: the names inferred for masked headers beside the true ones."""
    true, given = list[str](), list[str]()
    for id, source in wild.ids.items():
        first = (bench.data / "spider" / "tables" / f"{source}.csv").read_text(encoding="utf-8-sig").partition("\n")[0]
        for column, name in enumerate(header_of(first)):
            if is_masked(source, column):
                named = wild.kg.inferred_names.at(id, column)
                true.append(name)
                given.append("" if named is None else named.name)
    if true:
        vectors = wild.kg.index.embed([*true, *(name or "column" for name in given)])
        alike = None if vectors is None else float(np.sum(vectors[: len(true)] * vectors[len(true) :], axis=1).mean())
        same = fmean(terms(one) == terms(other) for one, other in zip(true, given, strict=True))
        show("dmral-4", [(len(true), same, (alike, 0.697))])


def decomposition(corpus: Corpus) -> None:
    """Table 6: information retained, redundancy and alignment of the sub-questions."""
    kept, alike, aligned = list[bool](), list[float](), list[bool]()
    for question in corpus.questions:
        trace = corpus.kg.retrieve(question.text, 10, "dmral").trace
        parts = [text.rpartition(" [")[0] for text in trace.get("subquestions", ())]
        words = {stem for need in trace.get("needs", ()) for stem in terms(need)}
        kept.append(words <= {stem for part in parts for stem in terms(part)})
        aligned.append(len(parts) == len(question.tables))
        vectors = corpus.kg.index.embed(parts) if len(parts) > 1 else None
        if vectors is not None:
            alike += [float(vectors[one] @ vectors[other]) for one, other in combinations(range(len(parts)), 2)]
    show("dmral-6", [((fmean(kept), 0.96), (fmean(alike) if alike else None, 0.521), (fmean(aligned), 0.71))])


def features(corpus: Corpus) -> None:
    """Each feature of the trained coverage scorer left out, the match of titles and names among them."""
    retriever: Any = corpus.kg.retrievers.get("dmral")
    trained, rows = retriever.scorer, []
    for name in ("", *dict.fromkeys(feature.partition("_")[0] for feature in trained)):
        retriever.scorer = {f: 0.0 if name and f.startswith(name) else weight for f, weight in trained.items()}
        found = prf(corpus.records(("dmral",))["dmral"])
        rows.append((f"without {name}" if name else "all features", *beside(found, (*PRF, "ndcg"))))
    retriever.scorer = trained
    show("dmral-features", rows)


def relations(bench: Bench, title: str, corpus: Corpus) -> Iterable[Sequence[object]]:
    """The pairs of tables that joins from some score on connect, against the foreign keys of the databases."""
    own = {id.casefold() for id in corpus.ids.values()}
    gold = set()
    for id in corpus.ids.values():
        path = bench.data / "spider" / "tables" / f"{id}.json"
        about = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        keys = {f"{about['db']}__{other}".casefold() for _, other, _ in about.get("foreign_keys") or ()}
        gold |= {frozenset((id.casefold(), key)) for key in keys & own - {id.casefold()}}
    for least in (0.4, 0.7, 0.9):
        likely = [join for join in corpus.kg.relations.joins if join.score >= least]
        pairs = {frozenset(corpus.ids[at.table].casefold() for at in (join.left, join.right)) for join in likely}
        hit = len(pairs & gold)
        recall, precision = hit / max(len(gold), 1), hit / max(len(pairs), 1)
        f1 = 2 * recall * precision / (recall + precision) if hit else 0.0
        yield f"{title or 'as they are'}, joinability {least}", len(pairs), precision, recall, f1


class GoldReader:
    """A scripted model that knows the gold of one question and says it only where its prompts show it.

    Facts are the gold cells, or where there are none the answers. It asks one subquery for each, which names the cell
    if it was shown tables (`context`), and answers in the end if it found every fact.
    """

    def __init__(self, kg: kgtable.KnowledgeGraph, question: BenchmarkQuestion, *, context: bool) -> None:
        self._kg, self._question, self._context = kg, question, context
        self._cells = list(dict.fromkeys(question.cells)) if question.cells and traced(question) else []
        self._facts = [self._row(*cell[:2])[cell[2]].strip() for cell in self._cells] or list(question.answers)
        self._found, self._asked = set[int](), 0

    def __call__(self, request: Request) -> Mapping[str, str] | str:
        stage = (request.schema or {}).get("title")
        if stage == "step":
            return self._step()
        if stage == "answers":
            return self._answers(request.messages[1]["content"])
        return {"verdict": "agree", "answer": self._facts[self._asked - 1], "reason": ""} if stage == "verdict" else ""

    def _row(self, table: str, row: int) -> Sequence[str]:
        return dict(self._kg.reader.table(table).body()).get(row) or [""] * 1_000

    def _step(self) -> Mapping[str, str]:
        if self._asked == len(self._facts) or (self._asked and not self._context):
            answer = "; ".join(self._question.answers) if len(self._found) == len(self._facts) else "not found"
            return {"reasoning": "", "subquery": "", "answer": answer}
        table, row, column = self._cells[self._asked] if self._cells and self._context else ("", 0, 0)
        named = f" ({self._row(table, row)[0]}, cell {row}.{column})" if table else f" (part {self._asked + 1})"
        self._asked += 1
        return {"reasoning": "", "subquery": self._question.text + named * self._context, "answer": ""}

    def _answers(self, prompt: str) -> Mapping[str, str]:
        schemas, _, passages = prompt.partition("Passages:")
        sql = text = ""
        for place in (self._asked - 1,) if self._context else range(len(self._facts)):
            query = self._query(place, schemas) if self._cells else ""
            stated = self._facts[place] if self._facts[place] in passages else ""
            if query or stated:
                self._found.add(place)
            sql, text = sql or query, text or stated
        return {"sql": sql, "text": text, "passage": "P1" if text else "", "words": text}

    def _query(self, place: int, schemas: str) -> str:
        """The query for a gold cell; empty if the prompt does not have the table's schema."""
        table, row, column = self._cells[place]
        card = self._kg.sql_database.card(table)
        name = next((read.name for read in card.columns if read.column == column), "")
        shown = name and f"{card.name}: " in schemas
        return f'SELECT "{name}" FROM "{card.name}" WHERE "{card.columns[0].name}" = {row}' if shown else ""


def documents(bench: Bench) -> None:
    """Figures 4, 5 and 11 with a scripted reader in place of a model."""
    corpus = bench.corpus("tatqa", "dev")
    rows, rounds = list[Sequence[object]](), Counter[int]()
    for method, name in PAPER["documents"].items():
        right: dict[str, list[float]] = {"table": [], "text": [], "table-text": []}
        for question in corpus.questions:
            reader = GoldReader(corpus.kg, question, context="context=no" not in method)
            answer = corpus.kg.ask(question.text, llm=ScriptedLLM(reader), method=method)
            said = (
                exact_match(answer.text.split("; "), question.answers) or answer_scores(question, answer.text)["match"]
            )
            right[question.extra["answer_from"]].append(float(said))
            rounds[int(answer.context.get("rounds", 0))] += method == "documents"
        every = [score for scores in right.values() for score in scores]
        rows.append((name, fmean(every), *(fmean(scores) if scores else None for scores in right.values())))
    show("documents-4", rows)
    shares = {"fewer than 5": (range(5), 0.6355), "5": (range(5, 6), 0.30), "more": (range(6, 99), 0.0645)}
    total = sum(rounds.values())
    found = [(name, (sum(rounds[n] for n in of) / total, paper)) for name, (of, paper) in shares.items()]
    show("documents-5", found)


PAPERS = {"thesis": thesis, "trag": trag, "tablerag": tablerag, "dmral": dmral, "documents": documents}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables of one paper, or of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paper", choices=(*PAPERS, "all"))
    parser.add_argument("--data", type=Path, required=True, help="folder of the benchmark folders")
    parser.add_argument("--graphs", type=Path, help="folder of the graphs, kept; a temporary one by default")
    parser.add_argument("--small", action="store_true", help=f"{SMALL_QUESTIONS} questions, {SMALL_TABLES} tables")
    parser.add_argument("--limit", type=int, help="questions of each benchmark, evenly drawn")
    parser.add_argument("--embedding", action="append", help="an embedding for dense and thesis; repeatable")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="kgtable-papers-") as scratch:
        embeddings = tuple(given.embedding or ("minilm",))
        bench = Bench(given.data, given.graphs or Path(scratch), given.small, given.limit, embeddings)
        for name, paper in PAPERS.items():
            if given.paper in (name, "all"):
                print(f"\n## {name}")
                try:
                    paper(bench)
                except FileNotFoundError as error:
                    print(f"\nNot measured: {error.filename} is missing.")
                print("".join(f"\nNot measured: {line}\n" for line in PAPER["unmeasured"][name]), end="")


if __name__ == "__main__":
    main()
