from __future__ import annotations

import math
from collections import Counter

import numpy as np

from kgtable.index.corpus import K1, B
from kgtable.index.open import GraphIndex
from kgtable.index.words import terms

DOCUMENTS = {
    "bridges": terms(
        "Bridge Opened Length (m) Old Bay Bridge Bridge 31 Dec. 1921 Opened 1,766 Length (m)"
        " New Bay Bridge Bridge 1 May 1988 Opened 884 Length (m)"
    ),
    "income": terms(
        "Annual report Acme plc sells software. Amounts are in $ millions. 2018 2019 Revenue: - Cloud"
        " 120 2018 150 2019 - Licences 80 2018 70 2019 Total revenue 200 2018 220 2019 Costs: - Cloud"
        " 60 2018 75 2019 Total costs 60 2018 75 2019"
    ),
    "medals": terms(
        "Winter games . Medal table Rank Nation Gold Silver 1 Rank Norway Nation 12 Gold 8 Silver"
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


def test_words_around_a_table_are_not_in_it(index: GraphIndex) -> None:
    corpus = index.corpus
    inside = {}
    for word in ("acme", "cloud", "annual"):
        number = corpus.terms.find(terms(word)[0])
        assert number is not None
        inside[word] = bool(corpus.statistics.in_table[corpus.term_tables.starts[number]])
    assert inside == {"acme": False, "cloud": True, "annual": True}
