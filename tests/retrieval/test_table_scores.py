from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kgtable.index import build as assembly
from kgtable.index.corpus import Corpus
from kgtable.index.open import GraphIndex
from kgtable.retrieval.question_terms import Query
from kgtable.retrieval.ranking import TableWeights, standardised, table_scores
from tests.index.sample_graph import build, load_words

TABLES = {
    "one": "Ship,Built\nAurora,1901\nBoreas,1902\n",
    "other": "Ship,Captain\nAurora,Lind\nBoreas,Berg\n",
    "apart": "Ship,Harbour\nZephyr,Oslo\nNotus,Turku\n",
}
WORDS = TableWeights(bm25=1, coverage=1, named=1, vector=0, agreement=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tables = tmp_path / "tables"
    tables.mkdir()
    for name, text in TABLES.items():
        (tables / f"{name}.csv").write_text(text, encoding="utf-8")
        title = "Lakes" if name == "apart" else "Fleet list"
        (tables / f"{name}.json").write_text(f'{{"title": "{title}"}}', encoding="utf-8")
    return tables


def scores(corpus: Corpus, question: str, kin: float) -> dict[str, float]:
    weights = TableWeights(WORDS.bm25, WORDS.coverage, WORDS.named, 0, 0, kin)
    found = table_scores(Query.of(question, corpus), corpus, None, weights)
    return dict(zip(corpus.table_ids, found.tolist(), strict=True))


def test_a_word_in_one_of_two_tables_under_a_title_counts_for_the_other(folder: Path) -> None:
    corpus = GraphIndex(build(folder, folder.parent / "kg", "none").index_path, load_words).corpus
    kin = corpus.places.table_kin
    one, other, apart = (int(kin[corpus.table_ids.index(name)]) for name in ("one", "other", "apart"))
    assert one == other != apart
    alone = scores(corpus, "Which captain is Berg?", kin=0.0)
    shared = scores(corpus, "Which captain is Berg?", kin=0.75)
    assert alone["one"] == pytest.approx(alone["apart"])
    assert shared["other"] > shared["one"] > shared["apart"]


def test_a_title_of_very_many_tables_says_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "MOST_KIN", 1)
    corpus = GraphIndex(build(folder, folder.parent / "kg", "none").index_path, load_words).corpus
    assert sorted(corpus.places.table_kin.tolist()) == [0, 1, 2]
    assert scores(corpus, "Which captain is Berg?", 0.75) == scores(corpus, "Which captain is Berg?", 0)


def test_a_signal_that_is_the_same_everywhere_is_nothing() -> None:
    assert standardised(np.full(3, 7, dtype=np.float32)).tolist() == [0, 0, 0]
    assert len(standardised(np.zeros(0, dtype=np.float32))) == 0
