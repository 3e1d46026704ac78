"""Report of a run as one self-contained HTML file, with charts and every question."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from kgtable.evaluation.records import Record, spent
from kgtable.evaluation.run import Run
from kgtable.evaluation.run_plan import System
from kgtable.evaluation.summary import Interval, causes, latency, means, metric_name
from kgtable.resources import PACKAGE
from kgtable.storage import output_file

TABLES_SHOWN = 10
PROMPT_SHOWN = 8_000
_FOLDER = PACKAGE / "evaluation" / "page"
_COLUMNS = (
    "recall@1", "recall@5", "recall@10", "recall@30", "precision@5", "all@30", "mrr", "ndcg@10", "cells@1000",
    "matched_cells@1000", "match", "exact", "numeric", "contained", "f1", "fact", "verified", "judged",
    "agreement",
)  # fmt: skip


def write_report(run: Run, path: Path) -> None:
    """Write the report atomically. Raises `StorageError`."""
    with output_file(path) as file:
        file.write(report_html(run).encode("utf-8", "replace"))


def report_html(run: Run) -> str:
    """The report as HTML; all text from questions, tables and answers is escaped."""
    plan = run.plan
    counts = f"{len(plan.questions):,} questions over {plan.tables:,} tables, {plan.k:,} triples asked for"
    return Template((_FOLDER / "page.html").read_text(encoding="utf-8")).substitute(
        title=escape(f"{plan.benchmark}, {plan.split}"),
        lead=escape(f"{counts}. Values in brackets are 95 % bootstrap intervals; failures count as wrong."),
        style=(_FOLDER / "style.css").read_text(encoding="utf-8"),
        script=(_FOLDER / "script.js").read_text(encoding="utf-8"),
        sections="\n".join(_sections(run)),
        data=_harmless(_questions(run)),
    )


def _sections(run: Run) -> Iterator[str]:
    found = {system: means(run.of(system)) for system in run.plan.systems}
    yield "<h2>Summary</h2>" + _summary(found, len(run.plan.questions))
    charts = [*_curves(found), *_reliability(run), *_times(run)]
    yield f'<h2>Curves and time</h2><div class="charts">{"".join(charts)}</div>'
    yield "<h2>Failures</h2>" + _failures(run)
    yield "<h2>Cost</h2>" + _costs(run)


def _summary(found: dict[System, dict[str, Interval]], asked: int) -> str:
    columns = [name for name in _COLUMNS if any(name in scores for scores in found.values())]
    head = "".join(f"<th>{escape(metric_name(name))}</th>" for name in columns)
    best = {name: max(s[name].mean for s in found.values() if name in s) for name in columns}
    rows = []
    for system, scores in found.items():
        cells = "".join(_score(scores.get(name), best[name], asked) for name in columns)
        rows.append(f"<tr><td>{escape(system.name)}</td>{cells}</tr>")
    return _table(f"<th>system</th>{head}", rows)


def _score(interval: Interval | None, best: float, asked: int) -> str:
    if interval is None:
        return "<td>–</td>"
    name = ' class="best"' if interval.mean == best else ""
    bounds = f"[{interval.low:.3f}, {interval.high:.3f}]"
    if interval.n != asked:
        bounds += f" of {interval.n:,}"
    return f"<td{name}>{interval.mean:.3f}<small>{bounds}</small></td>"


def _curves(found: dict[System, dict[str, Interval]]) -> Iterator[str]:
    titles = {
        "recall": "Recall@k of tables",
        "cells": "Recall of traced gold cells by triples",
        "matched_cells": "Recall of matched gold cells by triples",
    }
    for kind, title in titles.items():
        series = {}
        for system, scores in found.items():
            points = [
                (int(name.partition("@")[2]), interval.mean)
                for name, interval in scores.items()
                if name.startswith(f"{kind}@")
            ]
            if points:
                series[system.name] = sorted(points)
        if series:
            yield line_chart(title, series)


def _reliability(run: Run) -> Iterator[str]:
    """The share of right answers by the confidence that was stated, in ten bins of equal width."""
    series: dict[str, list[tuple[int, float]]] = {}
    for system in run.plan.systems:
        bins: dict[int, list[float]] = {}
        for record in run.of(system):
            confidence = (record.answer or {}).get("confidence")
            if confidence is not None and (record.answer or {}).get("text"):
                bins.setdefault(min(int(10 * confidence), 9), []).append(record.scores["match"])
        if bins:
            series[system.name] = [(10 * number + 5, sum(right) / len(right)) for number, right in sorted(bins.items())]
    if series:
        ideal = [(10 * number + 5, (10 * number + 5) / 100) for number in range(10)]
        yield line_chart("Share of right answers by confidence in percent", {**series, "calibrated": ideal})


def _times(run: Run) -> Iterator[str]:
    times = {system.name: latency(run.of(system)) for system in run.plan.systems}
    for stage in dict.fromkeys(stage for found in times.values() for stage in found):
        bars = {name: found[stage]["median"] for name, found in times.items() if stage in found}
        yield bar_chart(f"Median time of {stage} per question", bars, "ms")


def _failures(run: Run) -> str:
    rows = []
    for system in run.plan.systems:
        records = run.with_preparation(system)
        missed = sum(record.scores.get("no_table", 0.0) for record in records)
        listed = "; ".join(
            f"{cause}: {len(ids)} ({', '.join(ids[:5])}{', …' if len(ids) > 5 else ''})"
            for cause, ids in causes(records).items()
        )
        cells = (escape(system.name), f"{missed:,.0f}", escape(listed) or "none")
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return _table("<th>system</th><th>no gold table in 30</th><th>failures by cause</th>", rows, "words")


def _costs(run: Run) -> str:
    rows = []
    for system in run.plan.systems:
        used = spent(run.with_preparation(system))
        parts = list(used["stages"].items())
        if len(parts) > 1:
            parts.append(("together", used))
        rows += [_used(system.name, stage, part) for stage, part in parts]
    if not rows:
        return "<p>No model was asked.</p>"
    names = ("system", "stage", "requests", "prompt tokens", "completion tokens", "cost")
    return _table("".join(f"<th>{name}</th>" for name in names), rows)


def _used(system: str, stage: str, used: Mapping[str, Any]) -> str:
    counts = [used[name] for name in ("requests", "prompt_tokens", "completion_tokens")]
    numbers = ["not known" if count is None else f"{count:,}" for count in counts]
    cost = "not known" if used["cost_usd"] is None else f"${used['cost_usd']:.4f}"
    cells = "".join(f"<td>{number}</td>" for number in (*numbers, cost))
    return f"<tr><td>{escape(system)}</td><td>{escape(stage)}</td>{cells}</tr>"


def _table(head: str, rows: Sequence[str], name: str = "") -> str:
    inside = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="scroll"><table class="{name}">{inside}</table></div>'


def _questions(run: Run) -> list[dict[str, Any]]:
    records: dict[str, list[Record]] = {}
    for record in run.records:
        records.setdefault(record.question, []).append(record)
    return [
        {
            "id": question.id,
            "text": question.text,
            "answers": list(question.answers),
            "tables": list(question.tables),
            "cells": [list(cell) for cell in question.cells],
            "found": [_found(record) for record in records.get(question.id, ())],
        }
        for question in run.plan.questions
    ]


def _found(record: Record) -> dict[str, Any]:
    prompt = record.prompt
    if len(prompt) > PROMPT_SHOWN:
        prompt = f"{prompt[:PROMPT_SHOWN]}\n… {len(prompt) - PROMPT_SHOWN:,} more characters are left out here"
    kept = ("no_table", "recall@10", "match")
    return {
        "system": record.system,
        "tables": list(record.tables[:TABLES_SHOWN]),
        "triples": list(record.triples),
        "scores": {name: record.scores[name] for name in kept if name in record.scores},
        "answer": record.answer,
        "verdict": record.verdict,
        "failures": [asdict(failure) for failure in record.failures],
        "prompt": prompt,
    }


def _harmless(value: object) -> str:
    """Escape JSON so that it cannot close its script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


COLOURS = 8
"""How many line colours the page's style has; after them, lines are dashed."""

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 480, 260, 40, 28, 10, 26
_GRID = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def line_chart(title: str, series: Mapping[str, Sequence[tuple[int, float]]]) -> str:
    """Line chart of values between 0 and 1 over integers, with a legend."""
    places = sorted({x for points in series.values() for x, _ in points})
    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(places) - 1)
    across = {x: _LEFT + step * index for index, x in enumerate(places)}
    parts = []
    for value in _GRID:
        y = _y(value)
        parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.1f}</text>')
    for x, at in across.items():
        parts.append(f'<text x="{at:.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{x:,}</text>')
    legend = []
    for index, (name, points) in enumerate(series.items()):
        colour, dash = _stroke(index)
        path = " ".join(f"{across[x]:.1f},{_y(value):.1f}" for x, value in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        for x, value in points:
            about = f"<title>{escape(name)}, {x:,}: {value:.3f}</title>"
            parts.append(f'<circle cx="{across[x]:.1f}" cy="{_y(value):.1f}" r="3" fill="{colour}">{about}</circle>')
        legend.append(f'<span><i style="background:{colour}"></i>{escape(name)}</span>')
    return _figure(title, _HEIGHT, parts, f'<div class="legend">{"".join(legend)}</div>')


def _stroke(index: int) -> tuple[str, str]:
    """The colour of a line, and what makes it dashed where its colour is used a second time."""
    return f"var(--s{index % COLOURS})", ' stroke-dasharray="5 4"' if index >= COLOURS else ""


def bar_chart(title: str, bars: Mapping[str, float], unit: str) -> str:
    """Horizontal bar chart with the values beside the bars."""
    most = max(bars.values(), default=0.0) or 1.0
    parts = []
    for index, (name, value) in enumerate(bars.items()):
        y = 26 * index + 6
        length = max(1.0, 170 * value / most)
        parts.append(f'<text x="206" y="{y + 13}" text-anchor="end">{escape(_short(name))}</text>')
        parts.append(f'<rect class="bar" x="212" y="{y}" width="{length:.1f}" height="16" rx="2"/>')
        parts.append(f'<text x="{218 + length:.1f}" y="{y + 13}">{value:,.1f} {escape(unit)}</text>')
    return _figure(title, 26 * len(bars) + 6, parts)


def _figure(title: str, height: int, parts: Sequence[str], below: str = "") -> str:
    name = escape(title)
    svg = f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{name}">{"".join(parts)}</svg>'
    return f"<figure><figcaption>{name}</figcaption>{svg}{below}</figure>"


def _y(value: float) -> float:
    return round(_TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - value), 1)


def _short(name: str) -> str:
    return name if len(name) <= 30 else f"{name[:29]}…"
