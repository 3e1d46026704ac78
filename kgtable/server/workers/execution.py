"""Execution of one query or one graph read, from text to the bytes of the response.

The engine does the real parsing. The scanner here only finds the keywords that matter for safety (SERVICE,
LOAD), for the dataset (FROM, USING, WITH) and for caching; it must never miss one.

It runs inside a worker process. A result of the engine may not cross threads, so parsing, evaluation and
serialisation are one call.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import time
import zlib
from html import escape
from itertools import islice, pairwise
from pathlib import Path
from traceback import clear_frames
from typing import IO, Any, cast
from urllib.parse import quote

import pyoxigraph as ox

from kgtable.errors import KgtableError
from kgtable.graph.results import well_formed_xml
from kgtable.graph.sparql_text import (
    COMMON_PREFIXES,
    AmbiguousTextError,
    DeepTextError,
    check_depth,
    spelt_out,
    syntax_fault,
    tokens,
    with_decimal_values,
)
from kgtable.server import negotiation
from kgtable.server.negotiation import Offer, is_known
from kgtable.server.workers.messages import Emit, Head, Problem

# Keywords need no space around them: "1SERVICE", "SERVICESILENT" and "SERVICEex:a" are all legal.
_REMOTE = re.compile(r"(?i)(?:(?:[0-9]\w*?|true|false)?service|load)")
_VOLATILE = ("now", "rand", "uuid", "bnode")


def is_volatile(text: str) -> bool:
    """Whether the query may give another result on the same graph (it calls NOW, RAND and the like)."""
    lowered = text.lower()
    if not any(name in lowered for name in _VOLATILE):
        return False
    try:
        words = list(tokens(text))
    except AmbiguousTextError:
        return True
    return any(
        one.kind == "word" and one.text.lower().endswith(_VOLATILE) and two.text == "(" for one, two in pairwise(words)
    )


def names_dataset(query: str) -> bool:
    """Whether the query has FROM clauses of its own.

    >>> names_dataset("SELECT * FROM <http://g> { ?s ?p ?o }")
    True
    >>> names_dataset("SELECT ?from { ?from ?p 'from' }")
    False
    """
    if "from" not in query.lower():
        return False
    try:
        return any(token.kind == "word" and "FROM" in token.text.upper() for token in tokens(query))
    except AmbiguousTextError:
        return True


def remote_iris(text: str) -> tuple[str, ...]:
    """The IRIs that SERVICE and LOAD would fetch, as written; ``""`` for a variable or prefixed name.

    Rather one too many than one too few: a prefix called ``service:`` counts as well.

    >>> remote_iris("SELECT * { SERVICE SILENT <http://a/sparql> { ?s ?p 'SERVICE' } }")
    ('http://a/sparql',)
    >>> remote_iris("SELECT * { SERVICE ?where { ?s ?p ?o } }")
    ('',)

    Raises `AmbiguousTextError` as `tokens` does.
    """
    lowered = text.lower()
    if "service" not in lowered and "load" not in lowered:
        return ()
    found = []
    walk = iter(tokens(text))
    for token in walk:
        if token.kind not in ("word", "name") or _REMOTE.match(token.text.partition(":")[0]) is None:
            continue
        target = next(walk, None) if token.is_word("SERVICE", "LOAD") else None
        if target is not None and target.is_word("SILENT"):
            target = next(walk, None)
        found.append(target.text[1:-1] if target is not None and target.kind == "iri" else "")
    return tuple(found)


def file_iris(text: str) -> bool:
    """Whether an IRI in the text points to a file on the server's machine."""
    return "file:" in text.lower() and re.search(r"(?i)<\s*file:", text) is not None


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
    """HTML page around a result: SPARQL JSON as a table, Turtle as text (`graph`)."""
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
    body = "".join("<tr>" + "".join(f"<td>{_term(row.get(name))}</td>" for name in names) + "</tr>\n" for row in rows)
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


GZIP_FROM = 1_024
"""Answers shorter than this many bytes are not worth compressing."""

_WITH_PREFIXES = (ox.RdfFormat.TURTLE, ox.RdfFormat.TRIG)
_XML = (ox.QueryResultsFormat.XML, ox.RdfFormat.RDF_XML)
SHORTENED = 5_000
"""Triples of a CONSTRUCT that are written with prefixes; the others are written with whole IRIs."""
OPENING_PAUSES = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
"""Seconds to wait before each further attempt to open a store."""


class _ResultTooLargeError(Exception):
    """Stops serialisation when the size limit is exceeded."""


class _UnchangedError(Exception):
    """Ends an evaluation whose result the client has already."""


STREAM_FROM = 1 << 20
"""Longer results are sent while they are made. Any failure before that is an error response."""
PART = 1 << 18
"""Size of the parts in which they are sent."""


class _Parts:
    """Sends a long result in parts, the first with the head; compressed where `gzip`."""

    def __init__(self, head: Head, emit: Emit, *, gzip: bool) -> None:
        self._head = {**head, "part": True, **({"encoding": "gzip"} if gzip else {})}
        self._emit = emit
        self._stream = zlib.compressobj(3, zlib.DEFLATED, 31) if gzip else None

    def send(self, part: bytes) -> None:
        """Send a part."""
        self._emit(self._head, part if self._stream is None else self._stream.compress(part))
        self._head = {"part": True}

    def last(self, part: bytes) -> bytes:
        """The last part as it is to be sent."""
        return part if self._stream is None else self._stream.compress(part) + self._stream.flush()


class _Output(io.RawIOBase):
    """A byte buffer with a size limit, which `parts` empties while it is being filled, where that is set.

    `sent` is whether it was emptied. `short_prefixes`: a text that is not sent in parts is rid of the
    prefixes that it does not use.
    """

    def __init__(self, limit: int) -> None:
        self._written: list[bytes] = []
        self._held, self._most = 0, STREAM_FROM
        self.limit = self.left = limit
        self.parts: _Parts | None = None
        self.sent = self.short_prefixes = False

    def write(self, data: Any) -> int:
        size = len(data)
        self.left -= size
        if self.left < 0:
            raise _ResultTooLargeError
        self._written.append(bytes(data))
        self._held += size
        if self._held > self._most and self.parts is not None:
            part, self._most, self.sent = b"".join(self._written), PART, True
            self._written.clear()
            self._held = 0
            self.parts.send(part)
        return size

    def getvalue(self) -> bytes:
        """The bytes that were written and not sent."""
        content = b"".join(self._written)
        return without_unused_prefixes(content) if self.short_prefixes and not self.sent else content


class Evaluator:
    """A read-only view of one store, with the limits its results must keep."""

    def __init__(self, path: str, prefixes: dict[str, str]) -> None:
        self._path, self._prefixes = path, prefixes
        self._marks = re.compile("|".join(f"{re.escape(name)}:" for name in prefixes) or "(?!)")
        # Local names with slashes would be escaped, which is harder to read than a whole IRI.
        self._written = {name: iri for name, iri in prefixes.items() if name != "data"}
        self._store = self._open()

    def _open(self) -> ox.Store:
        """Open the store, retrying while a writer replaces its files."""
        for pause in OPENING_PAUSES:
            try:
                return ox.Store.read_only(self._path)
            except (OSError, RuntimeError):
                time.sleep(pause)
        try:
            return ox.Store.read_only(self._path)
        except (OSError, RuntimeError) as error:
            raise Problem("unavailable", f"The graph's store cannot be opened: {error}") from error

    def answer(self, job: Head, emit: Emit | None = None) -> tuple[Head, bytes]:
        """Execute a job: head and body of the response. Raises `Problem` if there is none.

        A long result goes to `emit` in parts, the first with the head, where the job has ``stream``; the
        answer is then its last part. Where the job's ``known`` entity tags include the result's, the status is
        304 and the result is not made.
        """
        output = _Output(job["result_limit"])
        try:
            return self._answer(job, output, emit)
        except (OSError, RuntimeError):
            if output.sent:
                raise
            # A concurrent writer may have replaced the files of an older view.
            self._store = self._open()
        try:
            return self._answer(job, _Output(job["result_limit"]), emit)
        except OSError as error:
            if job["op"] == "query" and job.get("services"):
                raise service_problem(error) from error
            raise

    def _answer(self, job: Head, output: _Output, emit: Emit | None) -> tuple[Head, bytes]:
        head: Head = {"status": 200}
        try:
            offer = (self._query if job["op"] == "query" else self._graph)(job, head, output, emit)
        except Exception as error:
            # What the frames hold of the engine's result may only be dropped by this thread.
            clear_frames(error.__traceback__)
            if isinstance(error, _UnchangedError):
                return {**head, "status": 304}, b""
            if not isinstance(error, _ResultTooLargeError):
                raise
            limit = output.limit
            raise Problem(
                "result-too-large",
                f"The result is larger than {limit:,} bytes. Add a LIMIT, or ask for fewer columns.",
                {"limit": limit},
            ) from None
        body = output.getvalue()
        if output.parts is not None and output.sent:
            return head, output.parts.last(body)
        if offer.format in _XML:
            body = well_formed_xml(body)
        if len(body) >= GZIP_FROM and job.get("gzip"):
            head["encoding"] = "gzip"
            body = gzip.compress(body, compresslevel=3, mtime=0)
        return head, body

    def _begin(self, job: Head, head: Head, offer: Offer, output: _Output, emit: Emit | None) -> None:
        """Complete the head of a result that can be made; prepare to send it in parts, if it may become long.

        Raises `_UnchangedError` if the client has it.
        """
        head["type"] = offer.content_type
        volatile = job["op"] == "query" and (
            is_volatile(job["query"]) or bool(job.get("services") and remote_iris(job["query"]))
        )
        if volatile:
            head["volatile"] = True
        if "version" in job and not volatile:
            name = f"{offer.name}-gzip" if job.get("gzip") else offer.name
            head["tag"] = f'W/"{job["version"]}-{name}"'
            if is_known(job.get("known", ""), head["tag"]):
                raise _UnchangedError
        if offer.format is None or offer.format in _XML:
            held = job.get("held_limit", output.limit)
            output.limit, output.left = min(held, output.limit), min(held, output.left)
        elif emit is not None and job.get("stream"):
            output.parts = _Parts(head, emit, gzip=bool(job.get("gzip")))

    def _query(self, job: Head, head: Head, output: _Output, emit: Emit | None) -> Offer:
        query = job["query"]
        refuse_remote(query, job.get("services", ()))

        functions = self._functions(query)

        def evaluated(query: str) -> Any:
            return self._store.query(
                query,
                prefixes=self._used(query),
                base_iri=job.get("base"),
                custom_functions=functions,
                **_dataset(job, query),
            )

        try:
            check_depth(query)
            query = with_decimal_values(query)
            results = evaluated(query)
            if isinstance(results, ox.QuerySolutions) and "*" in query:
                # The engine returns the columns of SELECT * in alphabetical order.
                ordered = spelt_out(query, [variable.value for variable in results.variables])
                results = results if ordered is None else evaluated(ordered)
        except SyntaxError as error:
            raise syntax_problem(error, query) from None
        except DeepTextError as error:
            raise Problem("too-complex", str(error)) from None
        except ValueError as error:
            raise Problem("bad-request", str(error)) from None
        except RuntimeError as error:
            if "custom function" in str(error):
                raise Problem("bad-request", f"{error}.") from None
            raise
        triples = isinstance(results, ox.QueryTriples)
        offer = _chosen(job["accept"], negotiation.GRAPH if triples else negotiation.TABULAR)
        self._begin(job, head, offer, output, emit)
        if offer.format is None:
            output.write(self._page(query, results, output.limit))
        elif isinstance(results, ox.QueryTriples):
            self._write_triples(results, cast(ox.RdfFormat, offer.format), output)
        else:
            results.serialize(cast(IO[bytes], output), cast(ox.QueryResultsFormat, offer.format))
        return offer

    def _functions(self, query: str) -> Any:
        """The functions beyond SPARQL's own that the query uses. Raises `Problem`."""
        if "similarity" not in query:  # the index takes long to import
            return None
        from kgtable.index.graph_index import GraphIndex
        from kgtable.index.similarity import similarity

        try:
            return similarity(lambda: GraphIndex(Path(self._path).parent / "index"))
        except KgtableError as error:
            raise Problem("bad-request", str(error)) from None

    def _used(self, query: str) -> dict[str, str]:
        """The prefixes that occur in the query; passing all of them would cost as much as parsing."""
        if "\\u" in query or "\\U" in query:
            return self._prefixes
        if self._marks.search(query) is None:
            return {}
        return {name: iri for name, iri in self._prefixes.items() if f"{name}:" in query}

    def _page(self, query: str, results: Any, limit: int) -> bytes:
        content = _Output(limit)
        if isinstance(results, ox.QueryTriples):
            self._write_triples(results, ox.RdfFormat.TURTLE, content)
        else:
            results.serialize(cast(IO[bytes], content), ox.QueryResultsFormat.JSON)
        return results_page(query, content.getvalue(), graph=isinstance(results, ox.QueryTriples))

    def _write_triples(self, results: Any, form: ox.RdfFormat, output: _Output) -> None:
        """Write a result with prefixes, the rest of a long one without."""
        if form not in _WITH_PREFIXES:
            ox.serialize(results, cast(IO[bytes], output), form)
            return
        # With prefixes, the engine takes every triple before it writes the first.
        first = list(islice(results, SHORTENED))
        written = ox.serialize(first, format=form, prefixes=self._written) or b""
        output.write(without_unused_prefixes(written))
        if len(first) == SHORTENED:
            ox.serialize(results, cast(IO[bytes], output), form)

    def _graph(self, job: Head, head: Head, output: _Output, emit: Emit | None) -> Offer:
        """Read one graph, or the whole store where no graph is named, for the Graph Store Protocol."""
        name = job.get("graph")
        if name is None and not job["default"]:
            offer = _chosen(job["accept"], negotiation.DATASET)
            source = None
        else:
            offer = _chosen(job["accept"], negotiation.GRAPH[:-1])
            source = ox.DefaultGraph() if name is None else ox.NamedNode(name)
            if isinstance(source, ox.NamedNode) and not self._store.contains_named_graph(source):
                raise Problem("not-found", f"There is no graph <{name}>.")
        self._begin(job, head, offer, output, emit)
        form = cast(ox.RdfFormat, offer.format)
        prefixes = self._written if form in _WITH_PREFIXES else None
        output.short_prefixes = prefixes is not None
        if source is None or not form.supports_datasets:
            self._store.dump(cast(IO[bytes], output), form, from_graph=source, prefixes=prefixes)
        else:
            quads = self._store.quads_for_pattern(None, None, None, source)
            ox.serialize((quad.triple for quad in quads), cast(IO[bytes], output), form, prefixes=prefixes)
        return offer


def _dataset(job: Head, query: str) -> dict[str, Any]:
    """The engine's dataset arguments: graphs named by the protocol, by the query, or the union of all."""
    default, named = job.get("default_graphs"), job.get("named_graphs")
    if default or named:
        return {
            "default_graph": [ox.NamedNode(iri) for iri in default or ()],
            "named_graphs": [ox.NamedNode(iri) for iri in named or ()],
        }
    return {"use_default_graph_as_union": bool(job["union"]) and not names_dataset(query)}


def _chosen(accept: str, offers: tuple[Offer, ...]) -> Offer:
    offer = negotiation.choose(accept, offers)
    if offer is None:
        names = [entry.media_type for entry in offers]
        raise Problem("not-acceptable", f"Available formats: {', '.join(names)}.", {"available": names})
    return offer


def refuse_remote(text: str, allowed: Any) -> None:
    """Raise `Problem` if the text would fetch an IRI that is not allowed."""
    try:
        reached = remote_iris(text)
    except AmbiguousTextError as error:
        raise Problem("bad-request", str(error)) from None
    for iri in reached:
        if iri not in allowed:
            target = f"<{iri}>" if iri else "an address that is not spelt out"
            raise Problem("remote-access", f"SERVICE and LOAD of {target} are not allowed on this server.")
    if file_iris(text):
        raise Problem("remote-access", "IRIs that begin with file: are not allowed on this server.")


def service_problem(error: OSError) -> Problem:
    """The failure to fetch what SERVICE or LOAD names, as a `Problem`."""
    return Problem("remote-failed", f"What the request names could not be fetched: {error}.")


def without_unused_prefixes(turtle: bytes) -> bytes:
    r"""Sort the prefixes of a Turtle or TriG text and drop those that are not used.

    >>> without_unused_prefixes(b"@prefix b: <http://b/> .\n@prefix a: <http://a/> .\na:x a:y a:z .\n")
    b'@prefix a: <http://a/> .\na:x a:y a:z .\n'
    """
    end = 0
    lines = []
    while turtle.startswith(b"@prefix ", end):
        stop = turtle.index(b"\n", end) + 1
        lines.append(turtle[end:stop])
        end = stop
    used = [line for line in lines if turtle.find(line.split(b" ", 2)[1], end) >= 0]
    return b"".join(sorted(used)) + turtle[end:]


def syntax_problem(error: SyntaxError, query: str = "") -> Problem:
    """The engine's syntax error as a `Problem` with its place in the `query`."""
    fault = syntax_fault(error, query)
    if fault is None:
        return Problem("syntax-error", str(error))
    place = {"line": fault.line, "column": fault.column}
    prefix = {"prefix": fault.prefix} if fault.prefix else {}
    namespace = {"namespace": COMMON_PREFIXES[fault.prefix]} if fault.prefix in COMMON_PREFIXES else {}
    return Problem(
        "syntax-error", f"Line {fault.line}, column {fault.column}: {fault.message}.", place | prefix | namespace
    )
