"""What pages show without JavaScript: lists, rows, statements and answers as HTML with links."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from html import escape, unescape
from itertools import groupby, zip_longest
from typing import Any, TypeAlias
from urllib.parse import quote, unquote, urlencode

from kgtable.values.numbers import parse_number

AT_ONCE = 200
"""Entries of a list, and rows of a table, on one page."""
MOST_COLUMNS = 60
LONGEST_VALUE = 400

_Found: TypeAlias = Mapping[str, Any]


def tables(found: _Found, job: _Found) -> str:
    """The list of tables."""
    rows = ((_table_link(one), escape(one["file"]), f"{one['rows']:,}") for one in found["tables"])
    return _grid(("Table", "File", "Rows"), rows) + _pages(found["total"], job)


def documents(found: _Found, job: _Found) -> str:
    """The list of documents."""
    rows = (
        (_link(f"/documents/{_path(one['id'])}", one["title"]), escape(one["file"]), f"{one['paragraphs']:,}")
        for one in found["documents"]
    )
    if not found["total"]:
        title = "No document matches" if job["q"] else "No documents"
        return (
            f'<div class="empty"><h2>{title}</h2>'
            "<p>Text comes from Word, PowerPoint, PDF, HTML and Markdown files.</p></div>"
        )
    return _grid(("Document", "File", "Paragraphs"), rows) + _pages(found["total"], job)


def table(found: _Found, job: _Found) -> str:
    """Some rows of a table, each with its number in the sheet."""
    body = (row for row in found["rows"] if row["kind"] != "header" or row["index"] >= found["head"])
    cells = ((str(row["index"] + 1), *map(escape, row["cells"])) for row in body)
    names = ("Row", *(escape(column["name"]) for column in found["columns"]))
    address = f"/tables/{_path(found['id'])}"
    files = " · ".join(_link(f"{address}.{form}", form.upper()) for form in ("csv", "xlsx", "json", "ttl"))
    heading = f"<h1>{escape(found['title'])}</h1><p>{escape(found['file'])} · {files}</p>"
    return heading + _grid(names, cells) + _pages(found["rows_total"], job)


def document(found: _Found, job: _Found) -> str:
    """Some paragraphs of a document."""
    text = "".join(f"<p>{escape(one['text'])}</p>" for one in found["paragraphs"])
    return f"<h1>{escape(found['title'])}</h1>{text}{_pages(found['total'], job)}"


def resource(found: _Found, job: _Found) -> str:
    """The statements from and to an IRI; of a unit what it is and which tables use it."""
    iri, unit = found["iri"], found["unit"]
    cell = f"?cell={found['row']},{found['column'] or 0}" if found["row"] is not None else ""
    turtle = f"/resource?{urlencode({'iri': iri})}&format="
    links = {f"/tables/{_path(found['table'])}{cell}": "Show in its table"} if found["table"] else {}
    links |= {f"/graph?{urlencode({'iri': iri})}": "Show on the map"}
    links |= {f"{turtle}turtle": "Turtle", f"{turtle}jsonld": "JSON-LD"}
    buttons = "".join(_link(address, text, ' class="button"') for address, text in links.items())
    title = unit["label"] if unit else found["label"]
    parts = [
        f'<h1 dir="auto">{escape(title)}</h1><p class="mono quiet">{escape(iri)}</p><p class="toolbar">{buttons}</p>'
    ]
    parts += [_unit(unit)] if unit else []
    parts += [_statements("Statements", found["outgoing"], found["names"])]
    if not unit:
        parts += [_statements("Incoming statements", found["incoming"], found["names"])]
        query = _link(f"/query?{urlencode({'query': f'DESCRIBE <{iri}>'})}", "Query for all.")
        parts += [f'<p class="note">Only the first statements are shown. {query}</p>'] if found["more"] else []
    return "".join(parts)


def answer(found: _Found, job: _Found) -> str:
    """An answer with the cells it cites, or with the nearest tables."""
    said = "".join(f"<p>{escape(found[name])}</p>" for name in ("words", "sentence") if found[name])
    cited = []
    for one in found["citations"]:
        link = _table_link({**one, "id": one["table"]}, _place(one["row"], one["column"]))
        cited.append((link, *(escape(one[name]) for name in ("reference", "label", "header", "text"))))
    near = "".join(f"<li>{_table_link(one)}</li>" for one in found["nearest"])
    evidence = _grid(("Table", "Cell", "Row", "Column", "Text"), cited) if cited else f"<ul>{near}</ul>"
    return f'<h2>{escape(found["question"])}</h2><p class="big">{escape(found["headline"])}</p>{said}{evidence}'


def ontology(found: _Found, job: _Found) -> str:
    """The list of predicates."""
    rows = (
        (_resource_link(one["iri"], one["label"]), ", ".join(map(escape, one["names"][1:])), f"{one['cells']:,}",
         f"{one['tables_total']:,}")
        for one in found["predicates"]
    )  # fmt: skip
    return _grid(("Predicate", "Other names", "Cells", "Tables"), rows) + _pages(found["total"], job)


def graph(found: _Found, job: _Found) -> str:
    """Tables that can be joined or are parts of one, and subjects of several tables."""

    def table(id: str) -> str:
        return _table_link({"id": id, "title": found["titles"][id]})

    joins = [
        (*(f"{table(end['table'])} · {escape(end['name'])}" for end in (one["left"], one["right"])),
         _link(f"/sparql?{urlencode({'query': one['query']})}", f"{one['matched']:,}"))
        for one in found["joins"]
    ]  # fmt: skip
    unions = [", ".join(map(table, one["tables"])) for one in found["unions"]]
    subjects = [_resource_link(one["iri"], one["label"]) for one in found["subjects"]]
    parts = {
        "Tables that can be joined": _grid(("Column", "Key column", "Values in common"), joins) if joins else "",
        "Tables that are parts of one": _list(unions) if unions else "",
        "Subjects of several tables": _list(subjects) if subjects else "",
    }
    shown = "".join(f"<h2>{title}</h2>{part}" for title, part in parts.items() if part)
    return shown or f"<p>The tables share no values. {_link('/tables', 'Tables')}</p>"


def queries(found: _Found, job: _Found) -> str:
    """Examples of queries, which the endpoint answers."""
    return _list(_link(f"/sparql?{urlencode({'query': one['query']})}", one["title"]) for one in found["examples"])


def sql(found: _Found, job: _Found) -> str:
    """The rows of a query, or the tables that there are."""
    if "rows" in found:
        cells = ([escape(value or "") for value in row] for row in found["rows"][:AT_ONCE])
        return _grid((escape(column["name"]) for column in found["columns"]), cells)
    names = [one["name"] for one in found["tables"]]
    return _list(_run("/sql", name, query=f"SELECT * FROM {name} LIMIT {AT_ONCE}") for name in names)  # noqa: S608


def explore(found: _Found, job: _Found) -> str:
    """The fields of a table as a form, with their result; or the tables to choose from."""
    if "asked" not in found:
        links = (_run("/explore", one["title"], table=one["id"], how="count") for one in found["tables"])
        return _list(links) + _pages(found["total"], job)
    asked, columns = found["asked"], found["columns"]
    coded = {json.dumps(one["column"]): one["title"] for one in columns}
    groups = {json.dumps([one["column"]]): one["title"] for one in columns if one["groups"]}
    hows = dict.fromkeys(how for one in columns for how in ("count", *one["hows"]))
    fields = (
        _choice("Measure", "measure", {"": "rows", **coded}, json.dumps(asked.get("measure"))),
        _choice("How", "how", {how: how for how in hows}, asked.get("how", "")),
        _choice("By", "by", {"": "all rows", **groups}, json.dumps(asked.get("by"))),
    )
    table, title = escape(asked.get("table") or ""), f"<h2>{escape(found['title'])}</h2>"
    form = (
        f'<form action="/explore"><input type="hidden" name="plain" value="1"><input type="hidden" name="table" '
        f'value="{table}"><p class="toolbar">{"".join(fields)}<button class="primary">Show</button></p></form>'
    )
    result = found["result"]
    if result is None:
        return f'{title}{form}<p class="note">{escape(found["problem"])}</p>'
    rows = ([escape("" if cell is None else cell["display"]) for cell in row] for row in result["rows"])
    return f"{title}{form}{_grid(map(escape, result['names']), rows)}"


def _list(entries: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{entry}</li>' for entry in entries)}</ul>"


def _run(page: str, text: str, **fields: str) -> str:
    """A link to what a page computes without JavaScript."""
    return _link(f"{page}?{urlencode({'plain': 1, **fields})}", text)


def _choice(label: str, name: str, options: Mapping[str, str], chosen: str) -> str:
    marked = (
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(text)}</option>'
        for value, text in options.items()
    )
    return f'<label>{label} <select name="{name}">{"".join(marked)}</select></label>'


PLAIN: Mapping[str, tuple[_Found, Callable[[_Found, _Found], str]]] = {
    "tables": ({"limit": AT_ONCE}, tables),
    "documents": ({"limit": AT_ONCE}, documents),
    "table": ({"rows": AT_ONCE, "column": 0, "columns": MOST_COLUMNS, "around": []}, table),
    "document": ({"count": AT_ONCE, "paragraph": 0, "start": 0}, document),
    "resource": ({}, resource),
    "ontology": ({"limit": AT_ONCE}, ontology),
    "graph": ({"op": "landmarks"}, graph),
    "query": ({"op": "dataset"}, queries),
    "sql": ({"op": "sql-tables", "limit": AT_ONCE}, sql),
    "explore": ({"op": "tables", "limit": AT_ONCE}, explore),
    "ask": ({"k": None, "method": None, "after": None}, answer),
}
"""By operation, the fields of its job beyond those in the address, and the writer of its result."""


def _statements(title: str, found: Iterable[_Found], names: Mapping[str, str]) -> str:
    """Statements by predicate, as a card; empty if there are none."""
    facts = ""
    for iri, part in groupby(found, key=lambda one: str(one["predicate"])):
        values = "".join(f"<div>{_term(one['term'])}</div>" for one in part)
        facts += f"<dt>{_resource_link(iri, names.get(iri))}</dt><dd>{values}</dd>"
    return f'<section class="card"><h2>{title}</h2><dl class="facts">{facts}</dl></section>' if facts else ""


def _unit(unit: _Found) -> str:
    kinds = ", ".join(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower() for kind in unit["kinds"])
    counts = {"number": unit["cells"], "table": unit["tables_total"]}
    used = " in ".join(f"{count:,} {name}{'' if count == 1 else 's'}" for name, count in counts.items())
    facts = {"Measures": kinds, "ISO 4217": unit["currency"], "QUDT": f"unit:{unit['name']}", "Used by": used}
    shown = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in facts.items() if text)
    rows = (
        (_table_link({"id": one["table"], **one}), escape(" · ".join(one["columns"])), f"{one['cells']:,}")
        for one in unit["tables"]
    )
    return (
        f'<section class="card" id="unit"><p class="big">{escape(unit["symbol"] or unit["label"])}</p>'
        f'<dl class="facts">{shown}</dl>{_grid(("Table", "Columns", "Numbers"), rows)}</section>'
    )


def _grid(names: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Cells that are HTML already as a table."""
    held = [[(" class=number" if parse_number(unescape(cell)) else "", cell) for cell in row] for row in rows]
    kinds = [max(kinds, key=kinds.count) for kinds in zip(*([kind for kind, _ in row] for row in held), strict=True)]
    head = "".join(f'<th{kind} scope="col">{name}</th>' for name, kind in zip_longest(names, kinds, fillvalue=""))
    lines = ("".join(f'<td{kind} dir="auto">{cell}</td>' for kind, cell in row) for row in held)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Rows"><table class="list">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _pages(total: int, job: _Found) -> str:
    """Links to what comes before and after."""
    first, words = job["first"], {"q": job["q"]} if job.get("q") else {}
    places = {"Previous": max(0, first - AT_ONCE) if first else total, "Next": first + AT_ONCE}
    links = [_link(f"?{urlencode({'first': at, **words})}", way) for way, at in places.items() if at < total]
    return f"<p>{' · '.join(links)}</p>" if links else ""


def _link(address: str, text: str, attributes: str = "") -> str:
    return f'<a href="{escape(address)}"{attributes}>{escape(text)}</a>'


def _path(id: str) -> str:
    return quote(id, safe="")


def _place(row: int, column: int) -> str:
    """The cell in an address, and the row that a page without JavaScript begins with."""
    return f"?{urlencode({'cell': f'{row},{column}', 'first': max(0, row - AT_ONCE // 2)}, safe=',')}"


def _table_link(named: _Found, place: str = "") -> str:
    return _link(f"/tables/{_path(named['id'])}{place}", named["title"])


def _resource_link(iri: str, name: str | None) -> str:
    return _link(f"/resource?{urlencode({'iri': iri})}", name or _local_name(iri), f' title="{escape(iri)}"')


def _local_name(iri: str) -> str:
    return unquote(re.split("[/#]", iri.rstrip("/#"))[-1]) or iri


def _term(term: _Found) -> str:
    if term["type"] == "uri":
        return _resource_link(term["value"], term.get("label"))
    note = f"@{term['language']}" if term.get("language") else _local_name(term.get("datatype", ""))
    text = term["value"]
    cut = f"{text[:LONGEST_VALUE]}…" if len(text) > LONGEST_VALUE else text
    return f'<bdi dir="auto">{escape(cut)}</bdi> <small>{escape("" if note == "string" else note)}</small>'
