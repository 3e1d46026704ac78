"""A graph kept by another engine, behind the SPARQL 1.1 Protocol and the Graph Store Protocol."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import quote, urlencode

import pyoxigraph as ox

from kgtable.errors import QueryError, RemoteStoreError
from kgtable.graph.remote.dialects import DURATION, EngineDialect, StoreEndpoint, dialect_named
from kgtable.graph.remote.http import (
    ORIGINS,
    TOKEN,
    Credentials,
    EndpointClient,
    HttpPolicy,
    HttpReply,
    Login,
    credentials_for,
)
from kgtable.graph.sparql_text import QUERY_FORMS, AmbiguousTextError, Bindable, Token, to_term, tokens
from kgtable.graph.store import Results
from kgtable.resources import read_shipped

LONGEST_MESSAGE = 300
"""Maximum characters shown of an engine's own message."""

_JSON_TYPES = frozenset({"application/sparql-results+json", "application/json"})
_TURTLE_TYPES = frozenset({"text/turtle", "application/x-turtle"})
_MESSAGE_KEYS = ("detail", "exception", "message", "error", "title")


def checked(reply: HttpReply, url: str, *, asked: bool = False) -> None:
    """Raise `RemoteStoreError` for a reply that is not a success, `QueryError` for a refused query.

    `asked` is whether the request was a query, for which status 400 blames its text.
    """
    status = reply.status
    if 200 <= status < 300:
        return
    said = _message(reply)
    if status in (401, 403):
        raise RemoteStoreError(
            f"{url} refused access (status {status}){said}", hint=f"Set {TOKEN}, and {ORIGINS} to the origin it is for."
        )
    if status == 400 and asked:
        raise QueryError(f"{url} refused the query{said}")
    if 300 <= status < 400:
        raise RemoteStoreError(
            f"{url} redirects to {reply.location[:LONGEST_MESSAGE] or 'nowhere'}.",
            hint="Connect to that address if you trust it.",
        )
    hints = {
        404: "Check the path of the URL.",
        405: "Is this the address for this kind of request?",
        408: "Ask for less at once.",
        413: "Raise the size the endpoint takes.",
        429: "Wait, then run it again.",
        503: "Wait, then run it again.",
        504: "Ask for less at once.",
    }
    raise RemoteStoreError(f"{url} answered with status {status}{said}", hint=hints.get(status, ""))


def _message(reply: HttpReply) -> str:
    """The engine's own message, on one line and shortened; nothing of a web page."""
    text = reply.body[:20_000].decode("utf-8", "replace")
    if text.lstrip().startswith("<") or "html" in reply.media_type:
        return "."
    if text.lstrip().startswith("{"):
        try:
            content = json.loads(reply.body)
        except (ValueError, RecursionError):
            content = {}
        text = next((str(content[key]) for key in _MESSAGE_KEYS if content.get(key)), "")
    text = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).split())
    if len(text) > LONGEST_MESSAGE:
        text = text[: LONGEST_MESSAGE - 1] + "…"
    return f": {text}" if text else "."


_LONGEST_HEAD = 64 << 10
"""Bytes before the first row of a result."""


def count_rows(reply: HttpReply, url: str) -> int:
    """Count the rows of a SELECT result, 1 for ASK; raises `RemoteStoreError` unless it is whole."""
    if reply.media_type not in _JSON_TYPES:
        raise _wrong_type(reply, url, "SPARQL results in JSON")
    rows = _counted(reply.body)
    if rows is None:
        raise _damaged(url)
    return rows


def _counted(body: bytes) -> int | None:
    # No error leaves this function: its traceback would keep the solutions, which belong to this thread.
    # A MemoryError is what the parser raises for one text of more than 16 MiB.
    try:
        parsed(body[:_LONGEST_HEAD])  # fails on a longer list of variables, for which the time grows with its square
        found = parsed(body)
        return 1 if isinstance(found, ox.QueryBoolean) else sum(1 for _ in found)
    except (SyntaxError, ValueError, MemoryError):
        return None


def parsed(body: bytes) -> ox.QuerySolutions | ox.QueryBoolean:
    """Parse the results in a body that `count_rows` found whole."""
    return ox.parse_query_results(body, format=ox.QueryResultsFormat.JSON)


def triples(reply: HttpReply, url: str) -> list[ox.Triple]:
    """Parse the triples of a graph; raises `RemoteStoreError` unless they are whole."""
    if "html" in reply.media_type or reply.media_type in _JSON_TYPES:
        raise _wrong_type(reply, url, "N-Triples")
    form = ox.RdfFormat.TURTLE if reply.media_type in _TURTLE_TYPES else ox.RdfFormat.N_TRIPLES
    try:
        return [quad.triple for quad in ox.parse(reply.body, format=form, lenient=True)]
    except (SyntaxError, ValueError, MemoryError) as error:
        raise _damaged(url) from error


def _wrong_type(reply: HttpReply, url: str, wanted: str) -> RemoteStoreError:
    return RemoteStoreError(
        f"{url} answered with {reply.media_type or 'no type'} instead of {wanted}.",
        hint="Is this the address of the SPARQL endpoint itself, not of a page about it?",
    )


def _damaged(url: str) -> RemoteStoreError:
    return RemoteStoreError(
        f"The answer of {url} is damaged, or broke off before its end.", hint="Ask again, or for less at once."
    )


def refuse_partial(reply: HttpReply, rows: int, dialect: EngineDialect, url: str) -> None:
    """Raise `RemoteStoreError` for a result that its engine truncated without reporting an error.

    Virtuoso reports it by status 206 or by headers; a result of exactly its usual limit counts as cut too.
    """
    state = reply.headers.get("x-sql-state")
    told = reply.headers.get("x-sparql-maxrows")
    limit = int(told) if told is not None and told.isdecimal() else dialect.row_limit
    if reply.status != 206 and not state and (limit is None or rows < limit):
        return
    raise RemoteStoreError(
        f"{url} gave only a part of the results, {rows:,} rows.",
        hint="Ask for less with LIMIT and OFFSET, or raise the limits of the endpoint "
        "(ResultSetMaxRows and MaxQueryExecutionTime in virtuoso.ini).",
    )


_VARIABLE = re.compile(r"\w+")
_OPENING, _CLOSING = frozenset("{(["), frozenset("})]")


@dataclass(frozen=True)
class RemoteQuery:
    """A query to send: its text, its form (``SELECT``, ``ASK``, …), and whether it has FROM clauses."""

    text: str
    form: str
    names_dataset: bool

    @property
    def gives_triples(self) -> bool:
        """Whether the result is a graph."""
        return self.form in ("CONSTRUCT", "DESCRIBE")


def prepare(text: str, bindings: Mapping[str, Bindable], prefixes: Mapping[str, str]) -> RemoteQuery:
    """The query with `bindings` as a VALUES block and the `prefixes` it uses declared.

    >>> prepare("ASK { ?s rdfs:label ?n }", {"n": "x"}, {"rdfs": "http://r#"}).text
    'PREFIX rdfs: <http://r#> ASK { VALUES (?n) {("x")} ?s rdfs:label ?n }'

    Raises `QueryError` for a text that is not a query, or a value that cannot be bound.
    """
    try:
        words = list(tokens(text))
    except AmbiguousTextError as error:
        raise QueryError(f"The query cannot be parsed: {error}") from error
    place = next((place for place, word in enumerate(words) if word.is_word(*QUERY_FORMS)), None)
    if place is None:
        raise QueryError("The query cannot be parsed: it is not a SELECT, ASK, CONSTRUCT or DESCRIBE.")
    names_dataset = any(word.is_word("FROM") for word in words[place:])
    declared = {after.text for word, after in pairwise(words) if word.is_word("PREFIX")}
    used = {word.text.partition(":")[0] for word in words if word.kind == "name"}
    head = "".join(
        f"PREFIX {name}: <{namespace}> "
        for name, namespace in prefixes.items()
        if name in used and f"{name}:" not in declared
    )
    form = words[place].text.upper()
    return RemoteQuery(head + _bound(text, words[place:], bindings), form, names_dataset)


def _bound(text: str, words: list[Token], bindings: Mapping[str, Bindable]) -> str:
    if not bindings:
        return text
    values = values_block(bindings)
    group = _outer_group(words)
    if group is None:
        return f"{text}\n{values}"
    opening, after, closing = group
    start = opening.start + 1
    if after.is_word("SELECT"):
        inner, end = text[start : closing.start], text[closing.start :]
        return f"{text[:start]} {values} {{{inner}}} {end}"
    return f"{text[:start]} {values}{text[start:]}"


def _outer_group(words: list[Token]) -> tuple[Token, Token, Token] | None:
    """The brace that opens the WHERE pattern, the token after it, and the brace that closes it."""
    if words[0].is_word("CONSTRUCT") and not (len(words) > 1 and words[1].text == "{"):
        return None  # the short form, whose pattern is the template: it takes triples only
    groups: list[tuple[Token, Token, Token]] = []
    opened: list[int] = []
    for place, word in enumerate(words):
        if word.kind == "sign" and word.text in _OPENING:
            opened.append(place)
        elif word.kind == "sign" and word.text in _CLOSING and opened:
            begin = opened.pop()
            if not opened and word.text == "}":
                groups.append((words[begin], words[begin + 1], word))
    wanted = 1 if words[0].is_word("CONSTRUCT") else 0
    return groups[wanted] if len(groups) > wanted else None


def values_block(bindings: Mapping[str, Bindable]) -> str:
    """``VALUES (?a ?b) {(term term)}`` for the bindings; raises `QueryError` for values that it cannot hold."""
    for name in bindings:
        if _VARIABLE.fullmatch(name) is None:
            raise QueryError(f"{name!r} is not the name of a variable.")
    names = " ".join(f"?{name}" for name in bindings)
    return f"VALUES ({names}) {{({' '.join(map(_written, bindings.values()))})}}"


def _written(value: Bindable) -> str:
    term = to_term(value)
    if isinstance(term, ox.BlankNode):
        raise QueryError("A blank node cannot be bound in a query to a remote engine.", hint="Bind an IRI.")
    # Some engines decode \uXXXX in the whole text before they read strings, so that the two
    # characters of an escaped backslash and the u after it must not look like such a sequence.
    return re.sub(r"(?<=\\\\)([uU])", lambda match: f"\\u{ord(match[1]):04X}", str(term))


_XSD_DURATION = "http://www.w3.org/2001/XMLSchema#dayTimeDuration"
# A quote that no backslash precedes ends a literal, and begins or ends a string of JSON.
_SENT_DURATION = re.compile(rb'(?<!\\)"\^\^<' + re.escape(_XSD_DURATION.encode()) + rb">")
_FOUND_DURATION = re.compile(rb'(?<!\\)"datatype"\s*:\s*"' + re.escape(DURATION.encode()) + rb'"')


def _with_durations(triple: ox.Triple) -> ox.Triple:
    """The triple with its duration under the datatype of XML Schema."""
    found = triple.object
    if not isinstance(found, ox.Literal) or found.datatype.value != DURATION:
        return triple
    literal = ox.Literal(found.value, datatype=ox.NamedNode(_XSD_DURATION))
    return ox.Triple(triple.subject, triple.predicate, literal)


_RESULTS = "application/sparql-results+json"
_TRIPLES = "application/n-triples, text/turtle;q=0.8"
_FORM = "application/x-www-form-urlencoded"


class RemoteStore:
    """A SPARQL endpoint as a `TripleStore`.

    Answers are read whole before they are given, so that one that was cut is an error and never a
    short result. Queries may use the `prefixes` without declaring them, values are bound as
    `kgtable.graph.remote.endpoint` describes. The default graph of a query is chosen in the way of
    the endpoint's dialect; ``generic`` and ``kgtable`` give what the endpoint was set up for.

    Every method raises `RemoteStoreError` if no whole answer comes, `QueryError` if the engine
    refuses the query. `environment` is searched for credentials; by default it is the process's.
    """

    def __init__(
        self,
        endpoint: StoreEndpoint,
        prefixes: Mapping[str, str] | None = None,
        *,
        policy: HttpPolicy | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.dialect: EngineDialect = dialect_named(endpoint.dialect)
        self._prefixes = dict(prefixes or {})
        self._client = EndpointClient(policy)
        self._environment = environment
        self._logins: dict[Credentials, Login] = {}

    def query(
        self, text: str, *, bindings: Mapping[str, Bindable] | None = None, union_default_graph: bool = True
    ) -> Results:
        """See `TripleStore.query`."""
        query = prepare(text, bindings or {}, self._prefixes)
        fields = [("query", query.text)]
        if not query.names_dataset:
            fields += self.dialect.dataset(union_default_graph)
        accept = _TRIPLES if query.gives_triples else _RESULTS
        reply = self._send(
            "POST", self.endpoint.url, urlencode(fields).encode("ascii"), Accept=accept, Content_Type=_FORM
        )
        checked(reply, self.endpoint.url, asked=True)
        if query.gives_triples:
            found = self._triples(reply, self.endpoint.url)
            refuse_partial(reply, len(found), self.dialect, self.endpoint.url)
            return _as_results(found)
        refuse_partial(reply, count_rows(reply, self.endpoint.url), self.dialect, self.endpoint.url)
        body = reply.body
        if self.dialect.spoils_durations:
            body = _FOUND_DURATION.sub(b'"datatype":"' + _XSD_DURATION.encode() + b'"', body)
        return parsed(body)

    def _triples(self, reply: HttpReply, url: str) -> list[ox.Triple]:
        found = triples(reply, url)
        return list(map(_with_durations, found)) if self.dialect.spoils_durations else found

    def graph(self, iri: str | None) -> Iterator[ox.Triple]:
        """See `TripleStore.graph`; by the Graph Store Protocol if its address is known."""
        if self.endpoint.store is None:
            name, bindings = ("default-graph", {}) if iri is None else ("graph", {"graph": ox.NamedNode(iri)})
            query = read_shipped(f"queries/remote/{name}.rq")
            found = self.query(query, bindings=bindings, union_default_graph=False)
            assert isinstance(found, ox.QueryTriples)
            yield from found
            return
        url = self._graph_url(iri)
        reply = self._send("GET", url, None, Accept=_TRIPLES)
        if reply.status != 404:
            checked(reply, url)
            yield from self._triples(reply, url)

    def put_graph(self, iri: str | None, content: bytes) -> None:
        """Replace a named graph, or with None the default graph, by N-Triples."""
        url = self._graph_url(iri)
        if self.dialect.spoils_durations:
            content = _SENT_DURATION.sub(f'"^^<{DURATION}>'.encode(), content)
        checked(self._send("PUT", url, content, Content_Type="application/n-triples"), url)

    def delete_graph(self, iri: str | None) -> None:
        """Delete a named graph, or with None the default graph; fine if there is none."""
        url = self._graph_url(iri)
        reply = self._send("DELETE", url, None)
        if reply.status != 404:
            checked(reply, url)

    def close(self) -> None:
        """See `TripleStore.close`: ends kept connections and forgets the logins."""
        self._client.close()
        self._logins.clear()

    def _graph_url(self, iri: str | None) -> str:
        store = self.endpoint.store
        if store is None:
            raise RemoteStoreError(
                f"No Graph Store Protocol address is known for {self.endpoint.url}.", hint="Name it with --store."
            )
        iri = self.dialect.default_graph if iri is None else iri
        name = "default" if iri is None else f"graph={quote(iri, safe='')}"
        return f"{store}{'&' if '?' in store else '?'}{name}"

    def _send(self, method: str, url: str, body: bytes | None, **headers: str) -> HttpReply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        credentials = credentials_for(url, os.environ if self._environment is None else self._environment)
        login = None if credentials is None else self._logins.setdefault(credentials, Login(credentials))
        return self._client.send(method, url, body=body, headers=named, login=login)

    def __repr__(self) -> str:
        return f"RemoteStore({self.endpoint.url!r}, {self.dialect.title})"


def _as_results(found: list[ox.Triple]) -> ox.QueryTriples:
    """Turn triples into the result type of the embedded engine."""
    store = ox.Store()
    store.extend(ox.Quad(triple.subject, triple.predicate, triple.object) for triple in found)
    results = store.query(read_shipped("queries/remote/default-graph.rq"))
    if not isinstance(results, ox.QueryTriples):
        raise QueryError("The query gave no triples.")
    return results
