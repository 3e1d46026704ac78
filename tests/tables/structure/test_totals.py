from __future__ import annotations

from tests.tables.structure.grids import structure


def test_called_totals() -> None:
    found = structure("Country|Gold\nItaly|3\nChina|2\nTotal|6\nSub-total|7\nTotality|9")
    assert found.totals == {3, 4}


def test_net_amounts_are_totals_if_they_add_up() -> None:
    found = structure(
        "|2019|2018\nSales|12,000|11,000\nLess: returns|2,100|1,900\nNet sales|9,900|9,100\nNet debt|777|888"
    )
    assert found.totals == {3}


def test_sums_of_sums() -> None:
    found = structure(
        "|2019|2018\nCash|10,300|20,500\nStock|30,100|40,200\n|40,400|60,700\n"
        "Land|5,000|6,000\nAll assets|45,400|66,700"
    )
    assert found.totals == {3, 5}


def test_small_counts_prove_nothing() -> None:
    assert (
        structure("Nation|Gold|Silver\nItaly|1|2\nChina|2|1\nAll blacks|3|3\nPeru|0|1").totals == frozenset()
    )


def test_a_title_is_no_total() -> None:
    assert structure("Film|Role|Notes\nTotal Recall|Quaid|remake\nHeat|Vincent|drama").totals == frozenset()
