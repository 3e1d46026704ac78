from __future__ import annotations

from kgtable.ontology.column_stats import MISSING, QUANTITY, ColumnFact, by_name
from kgtable.ontology.mapping import FIELDS, UserMapping
from kgtable.ontology.mapping_files import MOST_TABLES, generated_rows, real_decisions

SALES = ColumnFact("t1", 1, "Sales", "hasSales", {QUANTITY: 2, MISSING: 1}, {"CCY_USD": 2}, {6: 2})
IN_EUROS = ColumnFact("t2", 1, "Sales", "hasSales", {QUANTITY: 3}, {"CCY_EUR": 3}, {6: 3})


def test_what_all_columns_of_a_name_agree_on_is_filled_in() -> None:
    row = generated_rows(by_name([SALES]), UserMapping(), {})["Sales", ""]
    assert (row["predicate"], row["unit"], row["scale"], row["datatype"]) == (
        "hasSales",
        "CCY_USD",
        "M",
        "number",
    )
    assert row["tables"] == "t1"
    both = generated_rows(by_name([SALES, IN_EUROS]), UserMapping(), {})["Sales", ""]
    assert (both["unit"], both["scale"], both["units found"]) == ("", "M", "CCY_EUR 3; CCY_USD 2")
    assert both["tables"] == "t1; t2"


def test_decisions_lie_over_what_was_found_and_stand_for_themselves() -> None:
    mapping = UserMapping(
        {("Sales", ""): {"unit": "CCY_GBP"}, ("Sales", "t2"): {"unit": "KiloGM"}, ("New", ""): {"scale": "M"}}
    )
    rows = generated_rows(by_name([SALES]), mapping, {"Sales": ("Revenue", 'Turn"over')})
    assert list(rows) == [("New", ""), ("Sales", ""), ("Sales", "t2")]
    assert (rows["Sales", ""]["unit"], rows["Sales", ""]["predicate"]) == ("CCY_GBP", "hasSales")
    assert rows["Sales", ""]["same as"] == 'Revenue; Turn"over'
    assert rows["Sales", "t2"]["unit"] == "KiloGM"
    assert "predicate" not in rows["Sales", "t2"]
    assert all(set(row) <= set(FIELDS) for row in rows.values())


def test_rows_are_sorted_without_regard_to_case() -> None:
    facts = [ColumnFact("t", n, name, f"has{n}") for n, name in enumerate(["b", "A", "a", "<script>", "ß"])]
    rows = list(generated_rows(by_name(facts), UserMapping(), {}))
    assert [name for name, _ in rows] == ["<script>", "A", "a", "b", "ß"]
    assert rows == list(generated_rows(by_name(facts[::-1]), UserMapping(), {}))
    assert generated_rows({}, UserMapping(), {}) == {}


def test_many_tables_are_counted_not_listed() -> None:
    facts = [ColumnFact(f"t{n:02}", 1, "Sales", "hasSales") for n in range(MOST_TABLES + 1)]
    row = generated_rows(by_name(facts), UserMapping(), {})["Sales", ""]
    assert row["tables"].endswith(f"t{MOST_TABLES - 1:02}; … ({MOST_TABLES + 1} in all)")
    fewer = generated_rows(by_name(facts[1:]), UserMapping(), {})["Sales", ""]
    assert fewer["tables"].count(";") == MOST_TABLES - 1


def test_a_predicate_the_generator_gives_anyway_is_no_decision() -> None:
    summaries = by_name([SALES])
    written = {
        ("Sales", ""): {"predicate": "hasSales", "unit": "CCY_GBP"},
        ("Sales", "t1"): {"predicate": "hasSales"},
        ("Other", ""): {"predicate": "hasOther"},
    }
    kept = real_decisions(UserMapping(written), summaries)
    assert kept.edits == {
        ("Sales", ""): {"unit": "CCY_GBP"},
        ("Sales", "t1"): {"predicate": "hasSales"},
        ("Other", ""): {"predicate": "hasOther"},
    }
    assert real_decisions(kept, summaries).edits == kept.edits
    only = UserMapping({("Sales", ""): {"predicate": "hasSales"}})
    assert real_decisions(only, summaries).edits == {}
