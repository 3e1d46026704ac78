"""Charts of the numbers that an answer rests on, as Vega-Lite specifications.

Numbers of one unit over periods are a line, those of several rows or columns are bars, the largest first; what the
answer names is marked. Texts of tables are in the data only, never in an expression.
"""

from __future__ import annotations

import atexit
import html
import importlib.util
import json
import os
import re
import sys
import threading
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from kgtable.errors import EvaluationError, MissingExtraError, UsageError
from kgtable.graph.terms import UNIT
from kgtable.processes import ChildProcess, ProcessEndedError
from kgtable.programs.display import BLANK
from kgtable.storage import output_file
from kgtable.values.periods import find_period
from kgtable.values.spoken import unit_name
from kgtable.values.text import markup_text
from kgtable.values.units import POWER_NAMES

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
MOST_SERIES = 8
"""Series that can be distinguished by colour."""
LONGEST_NAME = 60
FEW_NAMES = 8
"""Names of periods that fit side by side."""
LARGEST = Decimal("1e300")
PLAIN, MARKED = "#7f9fbf", "#c2571a"
WIDTH, STEP, HEIGHT = 320, 22, 220
_IRI = re.compile(r"https?://\S*[/#]([^/#\s]+)")
_MEMBER = re.compile(r"[a-z_]\w*", re.ASCII)
_MIME = "application/vnd.vegalite.v5+json"


class ChartPoint(NamedTuple):
    """One number: the row and column that it is in, its exact value, and whether the answer names it."""

    row: str
    column: str
    value: Decimal
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A Vega-Lite specification with its data; Jupyter draws it.

    `to_svg` and `to_png` raise `MissingExtraError` if the packages that draw are not installed, `EvaluationError`
    where these fail: they run in a process of their own, which a specification can crash.
    """

    spec: Mapping[str, Any]

    def to_svg(self) -> str:
        """The picture as SVG."""
        return _drawn(self.spec, "vegalite_to_svg").decode("utf-8")

    def to_png(self) -> bytes:
        """The picture as PNG, at twice the resolution."""
        return _drawn(self.spec, "vegalite_to_png", scale=2)

    def save(self, path: str | Path) -> None:
        """Write the picture to a file whose suffix is .svg or .png, or the specification to one of .json.

        Raises `UsageError` for another suffix, `StorageError` if it cannot be written.
        """
        suffix = Path(path).suffix.lower()
        if suffix not in (".svg", ".png", ".json"):
            raise UsageError(
                f"A chart cannot be written as {suffix or 'a file without a suffix'}.", hint="Use .svg, .png or .json."
            )
        drawn = self.to_png() if suffix == ".png" else (self.to_svg() if suffix == ".svg" else self._json()).encode()
        with output_file(Path(path)) as handle:
            handle.write(drawn)

    def _json(self) -> str:
        return json.dumps(self.spec, ensure_ascii=False, indent=1) + "\n"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {_MIME: dict(self.spec), "text/plain": f"Chart({self.spec['description']!r})"}


def saved(chart: Chart | None, path: str | Path | None) -> Chart | None:
    """The chart, saved to a path if one is given. Raises the errors of `Chart.save`."""
    if chart is not None and path is not None:
        chart.save(path)
    return chart


def svg_of(chart: Chart) -> str:
    """The picture as SVG; empty if it cannot be drawn."""
    try:
        return chart.to_svg()
    except (MissingExtraError, EvaluationError):
        return ""


def image_of(chart: Chart | None) -> str:
    """A chart as an HTML image that holds its data; empty without one, or if it cannot be drawn."""
    svg = "" if chart is None else svg_of(chart)
    if chart is None or not svg:
        return ""
    words = html.escape(str(chart.spec["description"]))
    return f'<p><img alt="{words}" src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"></p>'


SECONDS = 20
"""How long drawing a chart may take."""
_DRAWS = f"""import base64, json, os, signal, sys, vl_convert
replies, silent = os.fdopen(os.dup(1), "w"), os.open(os.devnull, os.O_WRONLY)
os.dup2(silent, 1), os.dup2(silent, 2)
for line in sys.stdin:
    signal.alarm({SECONDS})
    order = json.loads(line)
    try:
        drawn = getattr(vl_convert, order["form"])(json.dumps(order["spec"]), allowed_base_urls=[], **order["options"])
        reply = {{"drawn": base64.b64encode(drawn if isinstance(drawn, bytes) else drawn.encode()).decode()}}
    except ValueError as error:
        reply = {{"error": str(error)[:300]}}
    signal.alarm(0)
    print(json.dumps(reply), file=replies, flush=True)
"""
_DRAWING = threading.Lock()


@cache
def _drawer(parent: int) -> ChildProcess:
    """The process of `parent` that draws; it is kept, since its start takes a second."""
    drawer = ChildProcess([sys.executable, "-P", "-c", _DRAWS], os.environ)
    atexit.register(drawer.release)
    return drawer


def _drawn(spec: Mapping[str, Any], form: str, **options: Any) -> bytes:
    """A specification drawn by the function `form` of ``vl_convert``."""
    if importlib.util.find_spec("vl_convert") is None:
        raise MissingExtraError("Drawing a chart", "plot")
    with _DRAWING:
        drawer = _drawer(os.getpid())
        try:
            reply = drawer.ask({"form": form, "spec": spec, "options": options}, SECONDS)
        except ProcessEndedError as error:
            atexit.unregister(drawer.release)
            drawer.release()
            _drawer.cache_clear()
            raise EvaluationError(f"The chart could not be drawn: {error}.") from error
    if "drawn" not in reply:
        raise EvaluationError(f"The chart could not be drawn: {reply.get('error')}")
    return b64decode(reply["drawn"])


def chart_of(points: Sequence[ChartPoint], title: str, unit: str | None) -> Chart | None:
    """The chart of numbers of one unit (a QUDT local name); None for fewer than two, or too many series."""
    rows = list(dict.fromkeys(point.row for point in points))
    columns = list(dict.fromkeys(point.column for point in points))
    if len({point[:2] for point in points}) < len(points) or any(abs(point.value) > LARGEST for point in points):
        return None  # two rows of one name, or a number that is not a finite float
    over_columns = len(columns) > 1 and (len(rows) == 1 or _by_period(columns) is not None)
    names, series = (columns, rows) if over_columns else (rows, columns)
    title = markup_text(title)
    if len(names) < 2 or len(series) > MOST_SERIES:
        return None
    power = next((power for power in (12, 9, 6) if max(abs(point.value) for point in points) >= 10**power), 0)
    data = [_datum(point, over_columns, power) for point in points]
    encoding: dict[str, Any] = {
        "color": {"condition": {"test": "datum.answer", "value": MARKED}, "value": PLAIN},
        "tooltip": [{"field": name, "type": "nominal"} for name in ("name", "series", "printed")],
    }
    if len(series) > 1:
        encoding["color"] = {"field": "series", "type": "nominal", "sort": list(map(_cut, series)), "title": None}
    said = " ".join(filter(None, (POWER_NAMES.get(power), unit_name(unit, plural=True))))
    measure = {"field": "value", "type": "quantitative", "title": said or None}
    ordered = _by_period(names)
    drawn = _bars(data, encoding, measure) if ordered is None else _line(ordered, encoding, measure)
    return Chart(
        {
            "$schema": SCHEMA,
            "description": f"{title}: {len(points)} numbers {'as bars' if ordered is None else 'over time'}",
            "title": {"text": _lines(title), "anchor": "start", "fontSize": 13},
            "width": WIDTH,
            "data": {"values": data},
            **drawn,
        }
    )


def _bars(data: Sequence[Mapping[str, Any]], encoding: Mapping[str, Any], measure: object) -> dict[str, Any]:
    largest: dict[str, float] = {}
    for point in data:
        largest[point["name"]] = max(point["value"], largest.get(point["name"], point["value"]))
    names = sorted(largest, key=lambda name: -largest[name])
    axis = {"field": "name", "type": "nominal", "sort": names, "title": None, "axis": {"labelLimit": 220}}
    beside = {} if "condition" in encoding["color"] else {"yOffset": {"field": "series"}}
    return {"height": {"step": STEP}, "mark": "bar", "encoding": {"y": axis, "x": measure, **encoding, **beside}}


def _line(names: Sequence[str], encoding: Mapping[str, Any], measure: object) -> dict[str, Any]:
    angle = {"labelAngle": 0 if len(names) <= FEW_NAMES else -45}
    axis = {"field": "name", "type": "nominal", "sort": list(map(_cut, names)), "title": None, "axis": angle}
    dots = {"mark": {"type": "point", "filled": True, "opacity": 1, "size": 60}, "encoding": encoding}
    series = {} if "condition" in encoding["color"] else {"color": encoding["color"]}
    line = {"mark": {"type": "line", "color": PLAIN}, "encoding": series}
    return {"height": HEIGHT, "encoding": {"x": axis, "y": measure}, "layer": [line, dots]}


def _datum(point: ChartPoint, over_columns: bool, power: int) -> dict[str, Any]:
    name, series = (point.column, point.row) if over_columns else (point.row, point.column)
    return {
        "name": _cut(name),
        "series": _cut(series),
        "value": float(point.value / 10**power),
        "printed": _cut(f"{point.value:,f}"),
        "answer": point.is_marked,
    }


def _by_period(names: Sequence[str]) -> list[str] | None:
    """The names in the order of the periods they name; None if one names none, or two name the same."""
    periods = {name: find_period(name) for name in names}
    if None in periods.values() or len(set(periods.values())) < len(names):
        return None
    return sorted(names, key=lambda name: str(periods[name]).rpartition("/")[2])


def _cut(name: str) -> str:
    """A name as the chart shows it. A space parts what JavaScript may know as a member of every object from that."""
    name = markup_text(name) + " " * bool(_MEMBER.fullmatch(name))
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _lines(title: str, widest: int = 70) -> list[str]:
    """A title in at most three lines of about this many characters."""
    lines = [""]
    for word in title.split():
        if lines[-1] and len(lines[-1]) + len(word) >= widest:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()[:widest]
    return [*lines[:2], "…"] if len(lines) > 3 else lines


MOST_POINTS = 60
"""Rows of a result that are drawn."""


def chart_of_columns(columns: Mapping[str, Sequence[Any]], title: str = "", unit: str | None = None) -> Chart | None:
    """The chart of a result, whose columns are chosen by what they hold; None if nothing can be drawn.

    The first column of numbers is drawn over the texts that distinguish the rows, or over a column of years. A column
    with one QUDT unit alone says what the numbers are in, where no `unit` is given. Of a long result the first
    `MOST_POINTS` rows are drawn.
    """
    numbers = [name for name, values in columns.items() if _all_of(values, (int, float, Decimal))]
    texts = [name for name, values in columns.items() if name not in numbers and len(set(map(str, values))) > 1]
    years = [name for name in numbers if _by_period(list(map(str, columns[name]))) is not None]
    if not texts and years and len(numbers) > 1:
        texts = years[:1]
    measures = [name for name in numbers if name not in texts]
    if not texts or not measures:
        return None
    units = {_local(str(value)) for values in columns.values() for value in values if str(value).startswith(UNIT)}
    measure = measures[0]
    rows = [
        (tuple(BLANK if (text := columns[name][at]) is None else _local(str(text)) for name in texts), value)
        for at, value in enumerate(columns[measure])
        if value is not None
    ]
    names = _told_apart([parts for parts, _ in rows])
    points = [
        ChartPoint(row, series or measure, Decimal(str(value)))
        for (row, series), (_, value) in zip(names, rows, strict=True)
    ][:MOST_POINTS]
    return chart_of(points, title or measure, unit or (units.pop() if len(units) == 1 else None))


def _told_apart(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, str]]:
    """A name and a series for each row: two of its texts, where these and a few series do, or all of them as a name."""
    places = range(len(rows[0])) if rows else ()
    for name, series in ((name, series) for name in places for series in (None, *places) if series != name):
        pairs = [(row[name], "" if series is None else row[series]) for row in rows]
        if len(set(pairs)) == len(pairs) and len({series for _, series in pairs}) <= MOST_SERIES:
            return pairs
    return [(" · ".join(row), "") for row in rows]


def _all_of(values: Sequence[Any], kinds: tuple[type, ...]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, kinds) and not isinstance(value, bool) for value in known)


def _local(text: str) -> str:
    """A text, or of an IRI what follows its last slash or number sign."""
    found = _IRI.fullmatch(text)
    return text if found is None else unquote(found[1])
