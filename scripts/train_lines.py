"""Train the trees that tell what each line of a sheet is, and write `kgtable/tables/layout/line_trees.npz`.

    python scripts/train_lines.py [--data DIR] [--out FILE]

DIR (default: $KGTABLE_BENCHMARKS or ../shared/data) holds `sheets`, annotated sheets (JSON Lines with `rows` and
`lines`, a letter for each row), and the benchmarks wtq, spider, tatqa, hitab and finqa, of whose tables the header and,
in tatqa and hitab, the headings are known. Where a corpus does not tell groups and totals from data, a first model
trained on those that do says which of the three such a line is. Sheets weigh by the root of their number of lines.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise, zip_longest
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from kgtable.errors import TableError
from kgtable.tables.layout.line_classes import CLASSES, MODEL, ZONES
from kgtable.tables.layout.line_features import DECIMAL, NUMBER, describe_lines, kind_of
from kgtable.tables.limits import ReadLimits
from kgtable.tables.loader import find_files, read_folder, reader_of

DEFAULT = Path(os.environ.get("KGTABLE_BENCHMARKS") or Path(__file__).parent.parent.parent / "shared" / "data")
ANNOTATIONS = Path(__file__).parent / "benchmarks" / "sheets" / "open.jsonl"
ROUNDS, LEAVES = 140, 14
MOST_TABLES = 250
"""Tables of a benchmark that are learned from."""
GUESSED = frozenset({"finqa"})
"""Benchmarks whose first row is said to be a header, even where it holds amounts."""
STACKED = 0.02
"""How often a header follows the body without a blank line, against another line of the body."""
MOST_STACKED = 16
"""Lines of a sheet that is put below another one."""
MOST_LINES = 60
"""Lines of data of a sheet that are learned from, besides those at its ends; each then counts for several."""


@dataclass
class Sheet:
    """A sheet with a letter for each line; `open_body` where data may be a group or a total as well."""

    id: str
    corpus: str
    rows: list[list[str]]
    lines: str
    open_body: bool
    tables: list[list[int]] = field(default_factory=list)
    record: dict[str, Any] = field(default_factory=dict)
    _features: Any = None

    @property
    def features(self) -> Any:
        """The features of its lines."""
        if self._features is None:
            rows = [tuple(row) for row in self.rows]
            self._features = describe_lines(rows, max(map(len, rows), default=0))
        return self._features


def annotated(folder: Path) -> Iterator[Sheet]:
    """The annotated sheets of a folder."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            yield Sheet(one["id"], path.stem, one["rows"], one["lines"], "as" in one, one.get("tables", []), one)


def published(data: Path, annotations: Path = ANNOTATIONS) -> Iterator[Sheet]:
    """The annotated sheets of public files, whose rows stand in `public/files` of the data; others are passed over."""
    for line in annotations.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        path = data / "public" / "files" / one["file"]
        for file in find_files([path]) if path.is_file() else ():
            grids = reader_of(file)(file, ReadLimits()).grids
            grid = next(grid for grid in grids if grid.source.sheet == one.get("sheet") or len(grids) == 1)
            rows = [list(row) for row in grid.head[: len(one["lines"])]]
            yield Sheet(
                one["id"], "public", rows, one["lines"][: len(rows)], False, one["tables"], one | {"rows": rows}
            )


def benchmark(folder: Path, name: str) -> Iterator[Sheet]:
    """Tables of a benchmark: header rows as its sidecars have them, the first row where there are none."""
    paths = sorted((folder / name / "tables").glob("*.csv"), key=lambda path: sha256(path.name.encode()).digest())
    for path in paths[:MOST_TABLES]:
        grid = next(iter(read_folder([path])))
        if isinstance(grid, TableError) or len(grid.head) > 400:
            continue
        sidecar = path.with_suffix(".json")
        said = json.loads(sidecar.read_text("utf-8")) if sidecar.is_file() else {}
        corner = [area for area in said.get("merged", ()) if area[0] == -1 and area[1] == 0 and area[2] > -1]
        header = corner[0][2] + 2 if corner else said.get("header_rows", 1)
        if header == 1 and name in GUESSED and _is_of_amounts(grid.head[0]):
            header = 0
        groups = {row + 1 for row in said.get("group_rows", ())}
        lines = "".join(
            "e" if not any(map(str.strip, row)) else "h" if at < header else "g" if at in groups else "d"
            for at, row in enumerate(grid.head)
        )
        yield Sheet(f"{name}/{path.stem}", name, [list(row) for row in grid.head], lines, True)


def _is_of_amounts(row: Sequence[str]) -> bool:
    kinds = [kind_of(text.strip()) for text in row[1:] if text.strip()]
    return bool(kinds) and all(kind in (NUMBER, DECIMAL) for kind in kinds)


def parts(sheet: Sheet) -> Iterator[Sheet]:
    """The sheet, and each of its tables with the lines down to the next one, as they are read once they are parted."""
    yield sheet
    tops = sorted({table[0] for table in sheet.tables})
    if len(tops) < 2:
        return
    starts = [0]
    for top in tops[1:]:
        start = top
        while start and sheet.lines[start - 1] in "me-":
            start -= 1
        starts.append(start)
    for start, end in zip(starts, [*starts[1:], len(sheet.rows)], strict=True):
        if end > start:
            rows = [[], *sheet.rows[start:end]] if start else sheet.rows[:end]
            lines = ("e" if start else "") + sheet.lines[start:end]
            yield Sheet(f"{sheet.id}:{start}", sheet.corpus, rows, lines, sheet.open_body)


def varied(sheets: Sequence[Sheet]) -> Iterator[Sheet]:
    """Two variants of each sheet, one of them of few rows and columns, and short ones below one another.

    They are without blank rows, with merged texts in all their cells, cut short, or without a header where numbers or
    values that come again show it. Titles, facts and notes are put around tables of benchmarks, which have none. Half
    of the sheets below another one have a blank row between.
    """
    above: tuple[list[list[str]], str, bool] | None = None
    texts = {
        kind: [s.rows[row] for s in sheets for row, said in enumerate(s.lines) if said == kind and len(s.lines) < 200]
        for kind in "mn"
    }
    facts = [row[:2] for s in sheets for row in s.rows[1:4] if len(row) > 1 and row[0].strip() and row[1].strip()]
    for sheet in sheets:
        for few in (False, True):
            draw = Random(f"{sheet.id} {few}" if few else sheet.id)
            rows, lines = [list(row) for row in sheet.rows], sheet.lines
            if few:
                rows, lines = _narrow(rows, lines, draw)
            if few or draw.random() < 0.3:
                most = draw.choice((1, 2, 3, 3, 4, 6) if not few else (2, 3, 4, 5, 6, 8, 10))
                body = [row for row, kind in enumerate(lines) if kind in "gdt"]
                while most and body[most - 1 :] and lines[body[most - 1]] == "g":  # that would head nothing
                    most -= 1
                rows, lines = _without(rows, lines, set(body[most:]))
                lines = lines.replace("t", "-")  # whose members may be gone
            if draw.random() < 0.1 and _shows_no_header(rows):
                rows, lines = _without(rows, lines, {row for row, kind in enumerate(lines) if kind in "mh"})
            elif set(lines) <= set("hgde") and draw.random() < (0.5 if few else 1.0):
                titles = [list(draw.choice(texts["m"])[:1]) for _ in range(draw.choice((1, 1, 2, 3)))]
                titles += _facts(facts, draw) if draw.random() < 0.35 else []
                below = [list(draw.choice(texts["n"])) for _ in range(draw.choice((0, 0, 1, 2, 4)))]
                blanks = draw.random() < 0.5
                rows = [
                    *titles,
                    *([[]] if blanks else []),
                    *rows,
                    *([[]] if below and draw.random() < 0.4 else []),
                    *below,
                ]
                lines = "m" * len(titles) + "e" * blanks + lines
                lines += "e" * (len(rows) - len(lines) - len(below)) + "n" * len(below)
            elif draw.random() < 0.3:
                rows, lines = _without(rows, lines, {row for row, kind in enumerate(lines) if kind == "m"})
            if draw.random() < 0.5:
                rows, lines = _without(rows, lines, {row for row, kind in enumerate(lines) if kind == "e"})
            if few and draw.random() < 0.3:  # headings in the middle
                rows = [
                    ["", *row] if kind == "g" and len(row[:1]) else row for row, kind in zip(rows, lines, strict=True)
                ]
            if draw.random() < 0.4:
                _fill_merged(rows, lines)
            yield Sheet(f"{sheet.id}*", sheet.corpus, rows, lines, sheet.open_body)
            if len(rows) > MOST_STACKED or "h" not in lines:
                continue
            if above is not None and above[2] == sheet.open_body:
                gap = draw.random() < 0.5
                both = [*above[0], *([[]] if gap else []), *rows]
                yield Sheet(f"{sheet.id}+", sheet.corpus, both, f"{above[1]}{'e' * gap}{lines}", sheet.open_body)
                above = None
            else:
                above = (rows, lines, sheet.open_body)


def _facts(known: Sequence[list[str]], draw: Random) -> list[list[str]]:
    """Lines of one or two labels, each with its value beside it or a few columns further."""
    sign, apart, second = draw.choice(("", "", ":")), draw.choice((0, 0, 0, 1, 3)), draw.choice((0, 0, 1, 2))
    lines = []
    for _ in range(draw.choice((1, 2, 2, 3, 4, 6))):
        pairs = [draw.choice(known) for _ in range(2 if second else 1)]
        cells = [
            [f"{label.strip(':')}{sign}", *[""] * apart, value if draw.random() < 0.9 else ""] for label, value in pairs
        ]
        lines.append([*cells[0], *([*[""] * (second - 1), *cells[1]] if second else [])])
    return lines


def _shows_no_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the data alone show that no line is a header: by numbers, or since their values come again."""
    if sum(any(map(str.isdigit, cell)) for row in rows[-3:] for cell in row[1:]) > 2:
        return True
    columns = [[cell for cell in column if cell] for column in zip_longest(*rows[1:], fillvalue="")]
    return len(rows) > 4 and all(len(set(column)) * 2 <= len(column) for column in columns)


def _narrow(rows: list[list[str]], lines: str, draw: Random) -> tuple[list[list[str]], str]:
    """The rows with their first column and a few of the others; lines that lose all they hold are left out."""
    width = max(map(len, rows), default=0)
    others = sorted(draw.sample(range(1, width), min(width - 1, draw.choice((1, 2, 2, 3, 4))))) if width > 1 else []
    parts = [[row[column] if column < len(row) else "" for column in (0, *others)] for row in rows]
    lost = {
        at
        for at, (row, part, kind) in enumerate(zip(rows, parts, lines, strict=True))
        if (any(row) and not any(part)) or (kind in "dt" and any(row[1:]) and not any(part[1:]))
    }
    return _without(parts, lines, lost)


def _fill_merged(rows: list[list[str]], lines: str) -> None:
    """Repeat, in place, the texts of titles and upper header rows in the empty cells at their right."""
    width = max(map(len, rows), default=0)
    for row, kind in enumerate(lines):
        if kind in "hm":
            for column in range(1, width if kind == "m" else len(rows[row])):
                if column >= len(rows[row]):
                    rows[row].append(rows[row][column - 1])
                elif not rows[row][column] and (kind == "m" or lines[row + 1 : row + 2] == "h"):
                    rows[row][column] = rows[row][column - 1]


def _without(rows: list[list[str]], lines: str, left: set[int]) -> tuple[list[list[str]], str]:
    kept = [row for row in range(len(rows)) if row not in left]
    return [rows[row] for row in kept], "".join(lines[row] for row in kept)


def examples(sheets: Sequence[Sheet]) -> tuple[Any, Any, Any, Any]:
    """Features, classes, weights, and whether the class may be another one of the body."""
    values, classes, weights, unsure = [], [], [], []
    for sheet in sheets:
        for part in parts(sheet):
            lines = part.features
            said = [part.lines[row] for row in lines.rows]
            kept = [at for at, kind in enumerate(said) if kind in CLASSES]
            if not kept:
                continue
            data = [at for at in kept[20:-20] if said[at] == "d"]
            step = len(data) // MOST_LINES + 1
            left = {at for place, at in enumerate(data) if place % step}
            weight = len(kept) ** -0.5
            kept = [at for at in kept if at not in left]
            values.append(lines.values[kept])
            classes += [CLASSES.index(said[at]) for at in kept]
            thinned = set(data)
            weights += [weight * step if at in thinned else weight for at in kept]
            unsure += [part.open_body and said[at] == "d" for at in kept]
    return np.concatenate(values), np.array(classes), np.array(weights), np.array(unsure)


def fit(sheets: Sequence[Sheet], dropped: Sequence[int] = ()) -> dict[str, Any]:
    """The arrays of a model, trained on sheets; `dropped` are features that it does not see."""
    known = [*sheets, *varied(sheets)]
    values, classes, weights, unsure = examples(known)
    values[:, list(dropped)] = 0.0
    weights /= weights.mean()
    if unsure.any():
        first = _booster().fit(values[~unsure], classes[~unsure], sample_weight=weights[~unsure])
        body = [CLASSES.index(kind) for kind in "gdt"]
        said = np.zeros((int(unsure.sum()), len(CLASSES)))
        said[:, first.classes_] = first.predict_proba(values[unsure])
        classes = classes.copy()
        classes[unsure] = np.array(body)[said[:, body].argmax(axis=1)]
    model = _booster().fit(values, classes, sample_weight=weights)
    assert list(model.classes_) == list(range(len(CLASSES)))
    return _arrays(model) | {"moves": _moves(known)}


def _booster() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        max_iter=ROUNDS,
        learning_rate=0.12,
        max_leaf_nodes=LEAVES,
        max_depth=6,
        min_samples_leaf=8,
        l2_regularization=2.0,
        max_features=0.3,
        early_stopping=False,
        random_state=0,
    )


def _arrays(model: HistGradientBoostingClassifier) -> dict[str, Any]:
    """The nodes of all trees one behind another; a left child follows its parent at once."""
    feature, threshold, other, value, roots, deepest = [], [], [], [], [], 0
    for trees in model._predictors:
        for tree in trees:
            nodes, root = tree.nodes, len(feature)
            roots.append(root)
            deepest = max(deepest, int(nodes["depth"].max()))

            def add(at: int, nodes: Any = nodes, root: int = root) -> None:
                node, own = nodes[at], len(feature)
                leaf = bool(node["is_leaf"])
                feature.append(0 if leaf else int(node["feature_idx"]))
                threshold.append(0.0 if leaf else float(node["num_threshold"]))
                value.append(float(node["value"]) if leaf else 0.0)
                other.append(0)
                if not leaf:
                    add(int(node["left"]))
                    other[own] = len(feature) - root
                    add(int(node["right"]))

            add(0)
    return {
        "feature": np.array(feature, dtype=np.uint8),
        "threshold": np.array(threshold, dtype=np.float32),
        "left": np.array(other, dtype=np.uint8),
        "value": np.array(value, dtype=np.float16),
        "roots": np.array(roots, dtype=np.uint32),
        "start": model._baseline_prediction.reshape(-1).astype(np.float32),
        "depth": np.array(deepest),
    }


def _moves(sheets: Sequence[Sheet]) -> Any:
    """How often a zone follows another or the start, without and with blank lines between, as logarithms.

    Below a body and a blank line a header is as likely as more of the body, since tables are stacked; without one it
    is seldom but not as good as never.
    """
    counts = np.ones((2, len(ZONES) + 1, len(ZONES)))
    zone_of = {kind: at for at, zone in enumerate(ZONES) for kind in zone}
    for sheet in sheets:
        told = [(row, zone_of[kind]) for row, kind in enumerate(sheet.lines) if kind in CLASSES]
        if told:
            counts[:, 0, told[0][1]] += 1.0
        for (before, one), (row, other) in pairwise(told):
            counts[int(row - before > 1), one + 1, other] += len(told) ** -0.5
    header, body = ZONES.index("h"), ZONES.index("gdt")
    counts[1, body + 1, header] = counts[1, body + 1, body]
    counts[0, body + 1, header] = counts[0, body + 1, body] * STACKED
    return np.log(counts / counts.sum(axis=2, keepdims=True)).astype(np.float32)


def write(arrays: dict[str, Any], path: Path) -> None:
    """Write the arrays so that equal ones give equal bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name in sorted(arrays):
            content = io.BytesIO()
            np.save(content, arrays[name], allow_pickle=False)
            out.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue(), zipfile.ZIP_DEFLATED)


def corpora(data: Path) -> list[Sheet]:
    """All that is learned from."""
    found = [*annotated(data / "sheets"), *published(data)]
    for name in ("wtq", "spider", "tatqa", "hitab", "finqa"):
        found += benchmark(data, name)
    return found


def main() -> None:
    """Train on everything and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT)
    parser.add_argument("--out", type=Path, default=MODEL)
    arguments = parser.parse_args()
    write(fit(corpora(arguments.data)), arguments.out)
    print(f"{arguments.out}: {arguments.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
