from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kgtable.ontology.column_stats import ColumnFact, Summary, between_predicates, by_name, propose
from kgtable.ontology.naming import predicate_name


def summaries(*names: str, table: str = "") -> Mapping[str, Summary]:
    return by_name(ColumnFact(table or f"t{i}", i, name, predicate_name([name], i)) for i, name in enumerate(names))


def alike(*pairs: tuple[str, str, float]) -> object:
    """An embedding whose named pairs have the given cosine, all others being orthogonal."""

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.eye(len(texts), dtype=np.float32)
        place = {text: i for i, text in enumerate(texts)}
        for one, other, cosine in pairs:
            i, j = place[one], place[other]
            vectors[j, i], vectors[j, j] = cosine, np.sqrt(1 - cosine**2)
        return vectors

    return embed


def test_without_vectors_plural_order_and_small_words_make_no_difference() -> None:
    found = propose(summaries("Revenue", "Revenues", "Total revenue", "Costs", "Birth date", "Date of birth"))
    assert found == {
        "Birth date": ("Date of birth",), "Date of birth": ("Birth date",), "Revenue": ("Revenues", "Total revenue"),
        "Revenues": ("Revenue", "Total revenue"), "Total revenue": ("Revenue", "Revenues"),
    }  # fmt: skip


def test_vectors_add_names_of_other_words() -> None:
    names = summaries("Revenue", "Turnover", "Costs")
    assert propose(names) == {}
    assert propose(names, alike(("Revenue", "Turnover", 0.9))) == {  # type: ignore[arg-type]
        "Revenue": ("Turnover",),
        "Turnover": ("Revenue",),
    }


def test_an_exchanged_word_needs_more_likeness_than_a_further_one() -> None:
    one, other = summaries("Air date", "Original air date"), summaries("Air date", "Launch date")
    assert propose(one, alike(("Air date", "Original air date", 0.85)))  # type: ignore[arg-type]
    assert not propose(other, alike(("Air date", "Launch date", 0.85)))  # type: ignore[arg-type]


def test_figures_signs_and_times_must_agree() -> None:
    for pair in (("Round 1", "Round 3"), ("Change", "Change %"), ("2019", "2018"), ("FY2019", "2019")):
        assert propose(summaries(*pair), alike((*pair, 0.99))) == {}  # type: ignore[arg-type]


def test_names_beside_each_other_in_a_table_are_not_proposed() -> None:
    assert propose(summaries("Revenue", "Total revenue", table="t")) == {}


def test_many_names_are_compared_in_blocks() -> None:
    names = [f"a{chr(97 + i // 676)}{chr(97 + i // 26 % 26)}{chr(97 + i % 26)}x" for i in range(2500)]
    found = propose(summaries(*names), alike((names[3], names[2400], 0.95)))  # type: ignore[arg-type]
    assert found == {names[3]: (names[2400],), names[2400]: (names[3],)}


def test_proposals_between_predicates() -> None:
    names = summaries("Revenue", "Total revenue")
    assert between_predicates(propose(names), names) == {
        "hasRevenue": ("hasTotalRevenue",),
        "hasTotalRevenue": ("hasRevenue",),
    }
