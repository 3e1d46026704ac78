"""Compare the meaning that conversion decides with tables that readers annotated, by corpus.

python scripts/eval_meaning.py GOLD.jsonl DATA_FOLDER [--misses] [--without words|arithmetic] [--proposals GRAPH]

Each line of the gold: {"table": "corpus/file.csv", "columns": [{"column", "role", "kind", "unit", "scale"}], "rows":
[{"row", "class", "members", "kind", "unit", "scale"}]}; "also_…" names a second reading that counts as right.
`--proposals` reads the tables under what a model proposed for a graph of the same files.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from kgtable.ontology import meaning
from kgtable.ontology.annotate import AnnotatedTable, annotate
from kgtable.ontology.mapping import UserMapping
from kgtable.ontology.proposals import load_proposals
from kgtable.tables.column_profile import type_cell
from kgtable.tables.layout.detect import make_table
from kgtable.tables.layout.row_sums import Sums
from kgtable.tables.loader import read_folder
from kgtable.tables.model import Grid
from kgtable.values.units import find_unit

CLASSES = ("totals", "of_which", "statistics", "changes")


def main(gold: Path, data: Path, *, misses: bool, graph: Path | None = None) -> None:
    mapping = UserMapping(proposed=load_proposals(graph)) if graph else UserMapping()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for line in gold.read_text().splitlines():
        wanted = json.loads(line)
        corpus = wanted["table"].split("/")[0]
        folder = "files" if corpus == "public" else "tables"
        path = data / corpus / folder / wanted["table"].split("/")[1]
        grids = [grid for grid in read_folder(path) if isinstance(grid, Grid)]
        grid = max(grids, key=lambda grid: len(grid.head))
        annotated = annotate(make_table(grid, mapping.layout(grid.id, grid.source.sha256)), mapping)
        for miss in compare(wanted, annotated, counts[corpus]):
            if misses:
                print(wanted["table"], miss)
    total = Counter[str]()
    for corpus, found in sorted(counts.items()):
        total.update(found)
        print(f"{corpus:10}", summary(found))
    print(f"{'all':10}", summary(total))


def leave_out(evidence: str) -> None:
    """Decide without the words of the lexicon, or without arithmetic over rows and columns."""
    if evidence == "words":
        meaning.senses = lambda text, among, language="en": ()  # type: ignore[assignment]
        meaning.is_called = meaning.is_made_of = lambda *_: False  # type: ignore[assignment]
    elif evidence == "arithmetic":
        meaning.find_sums = lambda rows, amounts, called, *_: Sums(dict.fromkeys(called, ()))  # type: ignore[assignment]
        meaning._Columns._by_arithmetic = lambda self, measured, kinds: {}  # type: ignore[method-assign]
    else:
        sys.exit("There is evidence of words and of arithmetic.")


def summary(found: Counter[str]) -> str:
    def share(name: str) -> str:
        return f"{name} {found[name]}/{found[name + '?']} {found[name] / max(1, found[name + '?']):.3f}"

    hit = found["class"]
    precision, recall = hit / max(1, found["class!"]), hit / max(1, found["class?"])
    parts = [share(name) for name in ("role", "kind", "unit", "scale")]
    return "  ".join([*parts, f"rows P {precision:.3f} R {recall:.3f} ({hit})"])


def options(item: dict[str, Any], name: str) -> list[Any]:
    also = item.get(f"also_{name}", [])
    return [item.get(name), *(also if isinstance(also, list) else [also])]


def compare(wanted: dict[str, Any], annotated: AnnotatedTable, counts: Counter[str]) -> list[str]:
    """Count what agrees; gives the misses in words."""
    table, found = annotated.table, []
    structure = table.structure
    in_rows = {row["row"]: row for row in wanted["rows"] if row.get("kind")}
    for item in wanted["columns"]:
        column = item["column"]
        if column >= len(table.columns):
            continue
        decided = table.columns[column].meaning
        assert decided is not None
        counts["role?"] += 1
        name = table.columns[column].name
        if decided.role in options(item, "role"):
            counts["role"] += 1
        else:
            found.append(f"role c{column} {name!r}: {decided.role} {decided.evidence}, not {item['role']}")
        if item["role"] != "Measure" or decided.role != "Measure":
            continue
        counts["kind?"] += 1
        kind = "rows" if decided.kind is None else str(decided.kind)
        wants = [in_rows[row] for row in in_rows] if "rows" in options(item, "kind") else []
        alike = bool(wants) and all(kind in options(row, "kind") for row in wants)
        if kind == "rows" and {str(k) for k in structure.measures.values()} <= set(options(item, "kind")):
            alike = True
        if kind in options(item, "kind") or alike:
            counts["kind"] += 1
        else:
            found.append(f"kind c{column} {name!r}: {kind} {decided.evidence}, not {item['kind']}")
        if item["kind"] != "rows":
            for row, cells in list(table.body())[:60]:
                if row not in structure.aside and row not in structure.groups:
                    found += unit_of(annotated, row, cells, column, item, counts)
    for row, item in in_rows.items():
        if row >= len(table.grid.head):
            continue
        if structure.measures:
            counts["kind?"] += 1
            kind = str(structure.measures.get(row, "none"))
            if kind in options(item, "kind"):
                counts["kind"] += 1
            else:
                found.append(f"kind r{row} {table.grid.head[row][0]!r}: {kind}, not {item['kind']}")
        for column in (c["column"] for c in wanted["columns"] if c.get("kind") == "rows"):
            found += unit_of(annotated, row, table.grid.head[row], column, item, counts)
    classes = {"totals": "total", "of_which": "ofwhich", "statistics": "statistic", "changes": "change"}
    told = {row: name for field, name in classes.items() for row in getattr(structure, field)}
    gold = {row["row"]: row for row in wanted["rows"]}
    for row, name in told.items():
        item = gold.get(row, {})
        right = name in options(item, "class")
        if right or "plain" not in options(item, "class"):
            counts["class!"] += 1
        if right:
            counts["class"] += 1
        else:
            found.append(f"row {row} {table.grid.head[row][:2]}: {name}, not {item.get('class')}")
    for row, item in gold.items():
        wants = item.get("class")
        if wants in classes.values() and "plain" not in options(item, "class"):
            counts["class?"] += 1
            if row not in told:
                found.append(f"row {row} {table.grid.head[row][:2] if row < len(table.grid.head) else ''}: not {wants}")
        elif row in told and told[row] in options(item, "class"):
            counts["class?"] += 1
    return found


def unit_of(
    annotated: AnnotatedTable, row: int, cells: tuple[str, ...], column: int, item: dict[str, Any], counts: Counter[str]
) -> list[str]:
    if column >= len(cells) or "unit" not in item or item["unit"] in ("mixed", "unknown"):
        return []
    number = type_cell(cells[column], annotated.styles[column]).number
    if number is None:
        return []
    label = annotated.table.structure.label_column
    quantity = annotated.quantities.resolve(number, row, column, cells[label] if label < len(cells) else "", cells)
    units = {named for unit in options(item, "unit") if unit for named in names_of(unit)}
    counts["unit?"] += 1
    counts["scale?"] += 1
    missed = []
    if units & {quantity.unit, f"{quantity.unit}/{quantity.denominator}"}:
        counts["unit"] += 1
    else:
        missed.append(f"unit r{row} c{column} {cells[column]!r}: {quantity.unit}, not {item['unit']}")
    scale = 10**quantity.scale if quantity.scale >= 0 else 1
    if scale * (10**number.scale if number.scale and quantity.scale != number.scale else 1) in options(item, "scale"):
        counts["scale"] += 1
    else:
        missed.append(f"scale r{row} c{column} {cells[column]!r}: {quantity.scale}, not {item['scale']}")
    return missed


def names_of(unit: str) -> set[str]:
    if unit == "none":
        return {"UNITLESS", "NUM"}
    if unit == "%":
        return {"PERCENT"}
    if len(unit) == 3 and unit.isupper():
        return {f"CCY_{unit}"}
    special = {"degC": "DEG_C", "year": "YR", "h": "HR", "min": "MIN", "t": "TONNE"}
    named = find_unit(unit)
    if named is None and "/" in unit:
        above, _, below = unit.partition("/")
        return {f"{name}/{below}" for name in names_of(above)}
    return {special.get(unit) or (named.name if named else unit)}


if __name__ == "__main__":
    if "--without" in sys.argv:
        leave_out(sys.argv[sys.argv.index("--without") + 1])
    named = Path(sys.argv[sys.argv.index("--proposals") + 1]) if "--proposals" in sys.argv else None
    main(Path(sys.argv[1]), Path(sys.argv[2]), misses="--misses" in sys.argv, graph=named)
