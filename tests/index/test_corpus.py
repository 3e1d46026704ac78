from __future__ import annotations

import math
import shutil
from collections import Counter
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from kgtable.building.generations import Generation
from kgtable.errors import VocabularyIndexError
from kgtable.index.corpus import K1, B, Corpus, Places, Statistics
from kgtable.index.graph_index import GraphIndex
from kgtable.text.words import terms


@pytest.fixture
def copy(generation: Generation, tmp_path: Path) -> Path:
    """The index of the sample graph, to be damaged."""
    return Path(shutil.copytree(generation.index_path, tmp_path / "index"))


def test_a_corpus_comes_back_from_its_files(generation: Generation, copy: Path) -> None:
    corpus = Corpus.open(generation.index_path)
    for path in copy.glob("*.npy"):
        if not path.stem.startswith(("texts", "terms", "predicates", "printed", "vectors")):
            path.unlink()
    corpus.save(copy)
    again = Corpus.open(copy)
    assert again.table_ids == corpus.table_ids == ("bridges", "income", "medals")
    for part in ("places", "statistics"):
        for item in fields(Places if part == "places" else Statistics):
            one, other = (getattr(getattr(each, part), item.name) for each in (corpus, again))
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(corpus.text_cells.items, again.text_cells.items)
    assert list(again.texts) == list(corpus.texts)


ARRAYS = ("bm25.npy", "texts.npy", "text_cells.items.npy", "tables.json")
DAMAGE = (None, b"", b"no array", b"\x93NUMPY\x01\x00\xff\xff", b"5")


@pytest.mark.parametrize(
    ("name", "content"),
    [*((name, content) for name in ARRAYS for content in DAMAGE), ("texts.txt", None), ("texts.txt", b"")],
)
def test_missing_and_damaged_files_are_named(name: str, content: bytes | None, copy: Path) -> None:
    if content is None:
        (copy / name).unlink()
    else:
        (copy / name).write_bytes(content)
    with pytest.raises(VocabularyIndexError, match=r"missing or damaged.*Build the graph again"):
        Corpus.open(copy)


DOCUMENTS = {
    "bridges": terms(
        "bridges Bridge Opened Length (m) Old Bay Bridge Bridge 31 Dec. 1921 Opened 1,766 Length (m)"
        " New Bay Bridge Bridge 1 May 1988 Opened 884 Length (m)"
    ),
    "income": terms(
        "income Annual report Acme plc sells software. Amounts are in $ millions. 2018 2019 Revenue: - Cloud"
        " 120 2018 150 2019 - Licences 80 2018 70 2019 Total revenue 200 2018 220 2019 Costs: - Cloud"
        " 60 2018 75 2019 Total costs 60 2018 75 2019"
    ),
    "medals": terms(
        "medals Winter games . Medal table Rank Nation Gold Silver 1 Rank Norway Nation 12 Gold 8 Silver"
        " 2 Rank Kenya Nation 7 Gold 9 Silver 3 Rank Peru Nation 7 Gold 1 Silver"
    ),
}


def test_weights_are_okapis(index: GraphIndex) -> None:
    corpus, statistics = index.corpus, index.corpus.statistics
    average = sum(map(len, DOCUMENTS.values())) / len(DOCUMENTS)
    seen = 0
    for id, document in DOCUMENTS.items():
        for term, frequency in Counter(document).items():
            containing = sum(term in other for other in DOCUMENTS.values())
            rarity = math.log(1 + (3 - containing + 0.5) / (containing + 0.5))
            expected = rarity * frequency * (K1 + 1)
            expected /= frequency + K1 * (1 - B + B * len(document) / average)
            number = corpus.terms.find(term)
            assert number is not None
            np.testing.assert_allclose(statistics.term_weight[number], rarity, rtol=1e-5)
            start, end = corpus.term_tables.starts[number : number + 2]
            tables = [corpus.table_ids[table] for table in corpus.term_tables.items[start:end]]
            place = start + tables.index(id)
            np.testing.assert_allclose(statistics.bm25[place], expected, rtol=1e-5)
            seen += 1
    assert seen == len(statistics.bm25)
