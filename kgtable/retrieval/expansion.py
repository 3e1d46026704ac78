"""The expansion of a question by the terms of the graph that are nearest in meaning (thesis, 4.4, step 2)."""

from __future__ import annotations

from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex

NEAREST = 5
"""Terms taken from each of the three vocabularies, as in the thesis."""


def expand(asked: Matrix | None, index: GraphIndex, count: int = NEAREST) -> dict[str, dict[str, float]]:
    """The `count` subjects, predicates and groups nearest to any of the vectors `asked`, with their cosines.

    `asked` holds the question's vector and may hold those of its labels, shape (n, dimension). Without
    vectors the vocabularies give nothing.
    """
    if asked is None or index.vectors is None:
        return {}
    expanded: dict[str, dict[str, float]] = {}
    for kind in ("subjects", "predicates", "groups"):
        texts, cosines = index.vectors.nearest(kind, asked, count)
        best: dict[int, float] = {}
        for text, cosine in zip(texts.ravel().tolist(), cosines.ravel().tolist(), strict=True):
            best[text] = max(cosine, best.get(text, -1.0))
        ranked = sorted(best, key=lambda text: (-best[text], text))[:count]
        expanded[kind] = {index.corpus.texts[text]: round(best[text], 4) for text in ranked}
    return expanded
