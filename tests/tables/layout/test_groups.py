from __future__ import annotations

from types import MappingProxyType

from kgtable.tables.layout.detect import detect_structure
from kgtable.tables.model import Grid, Source, Structure
from tests.tables.layout.grids import structure


def parents(found: Structure) -> dict[int, int]:
    return dict(found.parents)


def test_headings_until_the_next_and_totals_that_end_them() -> None:
    found = structure(
        "|2019|2018\nAssets:||\nCash|10,300|20,500\nStock|30,100|40,200\nTotal assets|40,400|60,700\n"
        "Memo|5|6\nDebts:||\nLoans|7|8\nBonds|7|8"
    )
    assert found.groups == {1, 6}
    assert parents(found) == {2: 1, 3: 1, 4: 1, 7: 6, 8: 6}
    assert found.totals == {4}


def test_a_total_of_several_groups_is_in_none() -> None:
    found = structure(
        "|2019|2018\nEurope:||\nItaly|1,200|1,300\nSpain|2,100|2,200\nAsia:||\nChina|5,000|6,000\nJapan|300|400\n"
        "Total|8,600|9,900"
    )
    assert parents(found) == {2: 1, 3: 1, 5: 4, 6: 4}
    assert found.totals == {7}


def test_a_heading_under_a_heading() -> None:
    found = structure(
        "|2019|2018\nAll adults||\nFood||\n2004|9|8\n2015|7|6\nDrinks||\n2004|5|4\n2015|3|2\nMales||\nFood||\n2004|1|1"
    )
    assert parents(found) == {2: 1, 3: 2, 4: 2, 5: 1, 6: 5, 7: 5, 9: 8, 10: 9}


def test_dashes_make_rows_parts_of_the_row_above() -> None:
    found = structure("|2019|2018\nNet Income|30|20\n- Profit|50|45\n- Costs|20|25\nStaff|7|8")
    assert found.groups == {1}
    assert parents(found) == {2: 1, 3: 1}


def test_indents_of_a_sheet() -> None:
    rows = (("", "2019"), ("Revenue", "30"), ("Cloud", "20"), ("Licences", "10"), ("Costs", "5"))
    indents = MappingProxyType({(2, 0): 1, (3, 0): 1})
    found = detect_structure(Grid("t", Source("t.xlsx"), rows, 2, indents=indents))
    assert parents(found) == {2: 1, 3: 1}


def test_leading_spaces_nest() -> None:
    found = structure("|2019\nAssets|9\n  Current|5\n    Cash|3\n    Stock|2\n  Fixed|4\nDebts|1")
    assert parents(found) == {2: 1, 3: 2, 4: 2, 5: 1}


def test_a_total_above_its_parts() -> None:
    found = structure("|2019|2018\nTotal|12,345|11,222\nMen|6,345|6,222\nWomen|6,000|5,000\nAge|41|42")
    assert parents(found) == {2: 1, 3: 1}


def test_section_rows_repeated_in_every_cell() -> None:
    found = structure("Name|Area|People\nCity|City|City\nEast|1|2\nWest|3|4\nSuburbs|Suburbs|Suburbs\nNorth|5|6")
    assert parents(found) == {2: 1, 3: 1, 5: 4}


def test_the_header_again_with_another_corner() -> None:
    found = structure("2008|high|low\nfirst quarter|42.7|32.1\n2007|high|low\nfirst quarter|41.3|36.6")
    assert parents(found) == {3: 2}


def test_a_blank_row_ends_groups() -> None:
    found = structure("|2019|2018\nAssets:||\nCash|10|20\n||\nStaff|7|8\nPlants|3|4")
    assert parents(found) == {2: 1}


def test_streamed_tables_have_no_groups() -> None:
    class Streamed:
        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter([("", "2019"), ("Assets:", ""), ("Cash", "5"), ("Stock", "6")])

    found = detect_structure(Grid("t", Source("t.csv"), Streamed(), 2))
    assert found.header == (0,)
    assert not found.groups


def test_nesting_is_bounded() -> None:
    found = structure("\n".join(["|2019|2018", *(" " * depth + f"part {depth}|1|2" for depth in range(60))]))
    deepest = max(depth_of(found, row) for row in found.parents)
    assert deepest == 24


def depth_of(found: Structure, row: int) -> int:
    parent = found.parents.get(row)
    return 0 if parent is None else 1 + depth_of(found, parent)


def test_a_total_set_in_like_its_heading_is_in_the_group() -> None:
    found = structure(
        "|2024|2023\nRevenue:||\n  Tools|1,284|1,190\n  Services|412|371\nTotal revenue|1,696|1,561\nCosts|9|8"
    )
    assert parents(found) == {2: 1, 3: 1, 4: 1}


def test_sums_of_sums() -> None:
    found = structure(
        "|2019|2018\nCash|10,300|20,500\nStock|30,100|40,200\n|40,400|60,700\n"
        "Land|5,000|6,000\nTotal assets|45,400|66,700"
    )
    assert found.totals == {3, 5}


def test_small_counts_prove_nothing() -> None:
    assert structure("Nation|Gold|Silver\nItaly|1|2\nChina|2|1\nAll blacks|3|3\nPeru|0|1").totals == frozenset()


def test_a_title_is_no_total() -> None:
    assert structure("Film|Role|Notes\nTotal Recall|Quaid|remake\nHeat|Vincent|drama").totals == frozenset()


def test_a_centred_heading_in_a_column_of_numbers() -> None:
    found = structure("|2019|2018\n|Revenue:|\nEast|18|2\nWest|9|3\n|Costs:|\nEast|4|5\nWest|6|7")
    assert parents(found) == {2: 1, 3: 1, 5: 4, 6: 4}


def test_a_row_without_values_in_alphabetical_order_heads_nothing() -> None:
    names = ["Sark", "Sicily", "Skye", "Sudan", "Sweden", "Tahiti", "Timor", "Tonga", "Ukraine"]
    lines = [f"{name}|{number}|5" if name != "Sudan" else "Sudan||" for number, name in enumerate(names)]
    assert structure("\n".join(["Land|Area|People", *lines])).groups == frozenset()


def test_a_row_without_a_value_between_members_heads_nothing() -> None:
    assert not structure("Station|Rain (mm)\nAbel|12\nBree|0\nCove|\nDell|6\nEyre|-\nFenn|0").groups
    assert structure("Station|Rain (mm)\nZed|12\nBree|0\nSouth:|\nDell|6\nEyre|-\nFenn|0").groups == {3}
