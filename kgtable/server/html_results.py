"""Query results as a page, for people who follow a link to the endpoint with a browser."""

from __future__ import annotations

import json
from html import escape
from typing import Any
from urllib.parse import quote

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Query result · kgtable</title>
<link rel="stylesheet" href="/static/style.css">
<script type="module" src="/static/shell.js"></script>
</head>
<body data-page="query">
<main id="main">
<h1>Query result</h1>
<details open><summary>Query</summary><pre class="code">{query}</pre></details>
<p><a class="button" href="/query?query={link}">Edit and run again</a></p>
{result}
</main>
</body>
</html>
"""


def results_page(query: str, content: bytes, *, graph: bool) -> bytes:
    """A page around a result: SPARQL JSON as a table, Turtle as text (`graph`)."""
    result = f'<pre class="code">{escape(content.decode())}</pre>' if graph else _table(json.loads(content))
    page = PAGE.format(query=escape(query), link=quote(query, safe=""), result=result)
    return page.encode("utf-8", "backslashreplace")


def _table(results: dict[str, Any]) -> str:
    if "boolean" in results:
        return f"<p><strong>{'Yes' if results['boolean'] else 'No'}</strong></p>"
    names = results["head"]["vars"]
    rows = results["results"]["bindings"]
    if not rows:
        return "<p>The query matches nothing.</p>"
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{_term(row.get(name))}</td>" for name in names) + "</tr>\n" for row in rows
    )
    count = f"{len(rows):,} result{'s' if len(rows) != 1 else ''}"
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Results"><table class="results">'
        f"<caption>{count}</caption><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>"
    )


def _term(term: dict[str, Any] | None) -> str:
    if term is None:
        return ""
    if term["type"] == "triple":
        parts = (_term(term["value"][name]) for name in ("subject", "predicate", "object"))
        return f"«{' '.join(parts)}»"
    value = escape(term["value"])
    if term["type"] == "uri":
        return f'<a href="/resource?iri={quote(term["value"], safe="")}">{value}</a>'
    if term["type"] == "bnode":
        return f"_:{value}"
    language = term.get("xml:lang")
    note = f" <small>@{escape(language)}</small>" if language else ""
    return f'<bdi dir="auto">{value}</bdi>{note}'
