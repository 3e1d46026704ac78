"""Measure how sheets are read, with a model that did not see them: five-fold cross-validation over annotated sheets.

    python scripts/eval_sheets.py [--data DIR] [--ablation | --held]

Sheets of one workbook, and those of one template (equal header texts, digits aside), are in one fold. Each fold is read
in full (`score.py` beside the sheets says how lines get their classes) with trees trained on the others. `--ablation`
trains without one theme of features at a time and scores the lines as the decoder has them. `--held` reads the public
sheets that nothing was trained on with the trees of the package.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from train_lines import ANNOTATIONS, DEFAULT, Sheet, annotated, benchmark, fit, published, write

from kgtable.tables.layout import line_classes
from kgtable.tables.layout.line_features import THEMES, describe_lines

FOLDS = 5


def folds(sheets: Sequence[Sheet]) -> dict[str, int]:
    """The fold of each sheet."""
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        while parent.setdefault(key, key) != key:
            key = parent[key]
        return key

    for sheet in sheets:
        book = sheet.id.partition("|")[0]
        cells = (cell for row, kind in zip(sheet.rows, sheet.lines, strict=False) if kind == "h" for cell in row)
        header = re.sub(r"\d+", "9", " ".join(filter(str.strip, cells)))[:300]
        if header:
            parent[root(book)] = root(f"{sheet.corpus} {header}")
    return {s.id: sha256(root(s.id.partition("|")[0]).encode()).digest()[0] % FOLDS for s in sheets}


def score_with(path: Path) -> Any:
    """The module that scores, by its path."""
    spec = importlib.util.spec_from_file_location("score", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Print the figures of each corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT)
    parser.add_argument("--ablation", action="store_true", help="train without one theme of features at a time")
    parser.add_argument("--held", action="store_true", help="read the public sheets that are held back")
    arguments = parser.parse_args()
    score = score_with(arguments.data / "sheets" / "score.py")
    if arguments.held:
        held = list(published(arguments.data, ANNOTATIONS.with_name("held.jsonl")))
        return print_figures(held, {sheet.id: read_whole(sheet, score) for sheet in held}, score)
    sheets = [*annotated(arguments.data / "sheets"), *published(arguments.data)]
    others = [s for name in ("wtq", "spider", "tatqa", "hitab", "finqa") for s in benchmark(arguments.data, name)]
    fold = folds(sheets)
    names = describe_lines([("a",)], 1).names
    for theme in ("", *(THEMES if arguments.ablation else ())):
        dropped = [at for at, name in enumerate(names) if theme and re.sub(r"[+-]\d$", "", name) in THEMES[theme]]
        answers: dict[str, Any] = {}
        for number in range(FOLDS):
            held = [sheet for sheet in sheets if fold[sheet.id] == number]
            with tempfile.TemporaryDirectory() as folder:
                model = Path(folder) / "trees.npz"
                write(fit([s for s in sheets if fold[s.id] != number] + others, dropped), model)
                line_classes.load_trees.cache_clear()
                line_classes._read.cache_clear()
                line_classes.MODEL = model
                answers |= {s.id: read_whole(s, score) if not theme else read_lines(s, dropped) for s in held}
        print(f"without {theme}" if theme else "all features")
        print_figures(sheets, answers, score)


def print_figures(sheets: Sequence[Sheet], answers: dict[str, Any], score: Any) -> None:
    """Print the figures of each corpus."""
    for corpus in dict.fromkeys(sheet.corpus for sheet in sheets):
        own = [sheet for sheet in sheets if sheet.corpus == corpus]
        figures, _ = score.score([s.record for s in own], [answers[s.id] for s in own])
        shown = ("macro_f1", "header_exact", "faultless", "tables_found", *(f"f1_{kind}" for kind in "mhgdtn"))
        print(
            f"  {corpus}: " + " ".join(f"{key} {figures[key]}" for key in shown if figures[key] is not None), flush=True
        )


def read_whole(sheet: Sheet, score: Any) -> dict[str, Any]:
    """The answer of the whole program for a sheet, as a CSV file."""
    import csv

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sheet.csv"
        width = max(map(len, sheet.rows), default=0)
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([*r, *[""] * (width - len(r))] for r in sheet.rows)
        lines, tables = score.read(str(path))
    return {"lines": "".join(lines), "tables": tables, "seconds": 0.0}


def read_lines(sheet: Sheet, dropped: Sequence[int]) -> dict[str, Any]:
    """The classes of a sheet's lines as the decoder has them."""
    trees = line_classes.load_trees()
    values = sheet.features.values.copy()
    values[:, list(dropped)] = 0.0
    said = ["-"] * len(sheet.rows)
    if len(values):
        kinds = line_classes.decode(trees.probabilities(values), sheet.features.rows, trees.moves)
        for row, kind in zip(sheet.features.rows.tolist(), kinds, strict=True):
            said[row] = kind
    return {"lines": "".join(said), "seconds": 0.0}


if __name__ == "__main__":
    main()
