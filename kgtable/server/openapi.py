"""OpenAPI 3.1 document of the HTTP API; the tests compare it with the running server."""

from __future__ import annotations

from typing import Any

from kgtable.config import DEFAULT_K
from kgtable.resources import __version__
from kgtable.server.options import LIST_SORTS

STATUSES = ("verified", "ambiguous", "grounded", "unverified", "none")
"""The values of `kgtable.answering.answer.Status`, which takes long to import."""

_TEXT = {"type": "string"}
_WHOLE = {"type": "integer", "minimum": 0}
_MAYBE_WHOLE = {"type": ["integer", "null"], "minimum": 0}
_MAYBE_TEXT = {"type": ["string", "null"]}
_TEXTS = {"type": "array", "items": _TEXT}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": sorted(properties)}


def _array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


_NUMBER = {"type": "number"}
_NAMES = {"type": "object", "additionalProperties": _TEXT}
_INFERRED = {"anyOf": [_object(name=_TEXT, confidence=_NUMBER, basis=_TEXT), {"type": "null"}]}
_JOINED = _object(table=_TEXT, column=_WHOLE, name=_TEXT)
_CITATIONS = _array(
    _object(
        cell=_TEXT,
        table=_TEXT,
        row=_WHOLE,
        column=_WHOLE,
        text=_TEXT,
        file=_TEXT,
        title=_TEXT,
        reference=_TEXT,
        label=_TEXT,
        header=_TEXT,
    )
)
_PASSAGES = _array(
    _object(
        passage=_TEXT,
        document=_TEXT,
        file=_TEXT,
        page=_MAYBE_WHOLE,
        paragraph=_WHOLE,
        start=_WHOLE,
        words=_TEXT,
    )
)
_NAMED_TABLES = _array(_object(id=_TEXT, title=_TEXT, subtitle=_TEXT, file=_TEXT, rows=_WHOLE, columns=_TEXTS))
_FACET = _array(_object(value=_TEXT, label=_TEXT, tables=_WHOLE))
_PROGRAM = {
    "type": ["object", "null"],
    "description": "The program that computed it, as `kgtable run` takes it; `calculation` says it in words, "
    "`sparql` as a query, null where SPARQL cannot say it or the table is too long to compile it on the way.",
}


def _parameter(name: str, schema: Any, about: str, *, required: bool = False, where: str = "query") -> Any:
    return {"name": name, "in": where, "required": required, "schema": schema, "description": about}


def _range(low: int, high: int, default: int | None = None) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer", "minimum": low, "maximum": high}
    return schema if default is None else {**schema, "default": default}


_PAGING = [
    _parameter("q", _TEXT, "Words that all have to occur."),
    _parameter("offset", _range(0, 10**9, 0), "Number of results to skip."),
    _parameter("limit", _range(1, 200, 50), "Maximum number of results."),
]
_NUMBERS = {"type": "string", "pattern": r"^$|^[0-9]{1,9}(,[0-9]{1,9}){0,49}$"}
_ORDER = _parameter("order", {"enum": ["ascending", "descending"], "default": "ascending"}, "The order.")
_LISTING = [
    *_PAGING,
    _parameter("unit", _TEXT, "A QUDT unit that a column has, by its local name."),
    _parameter("kind", _TEXT, "What a table is, one of the values of the facet."),
    _parameter("folder", _TEXT, "The folder of its file."),
    _parameter("sort", {"enum": list(LIST_SORTS)}, "What the list is ordered by; by default the best match."),
    _ORDER,
]
_NEAR = [
    _parameter("table", _TEXT, "A table that the questions are about; by default the whole graph."),
    _parameter("row", _range(0, 10**9), "The row of a cell that they are near to."),
    _parameter("column", _range(0, 10**6), "The column of that cell."),
    _parameter("question", {"type": "string", "maxLength": 2_000}, "The question that was asked."),
]
_IRI = _parameter("iri", {"type": "string", "format": "iri"}, "An absolute IRI.", required=True)
_ID = _parameter("id", {"type": "string", "minLength": 1}, "The table's id.", required=True, where="path")
_DOCUMENT_PLACE = [
    _parameter("id", {"type": "string", "minLength": 1}, "The document's id.", required=True, where="path"),
    _parameter("first", _range(0, 10**9, 0), "The first paragraph, from 0."),
    _parameter("count", _range(1, 200, 40), "Number of paragraphs."),
    _parameter("paragraph", _range(0, 10**9, 0), "A paragraph that is read from its words at `start` on if long."),
    _parameter("start", _range(0, 10**9, 0), "Characters of that paragraph before the wanted words."),
]
_QUESTION = {"type": "string", "minLength": 1, "maxLength": 2_000, "pattern": r"\S"}
_METHOD = {"type": "string", "default": "hybrid"}

SCHEMAS: dict[str, Any] = {
    "Problem": _object(type=_TEXT, title=_TEXT, status={"type": "integer"}, detail=_TEXT),
    "Info": _object(
        tables=_WHOLE,
        rows=_WHOLE,
        cells=_WHOLE,
        documents=_WHOLE,
        model=_MAYBE_TEXT,
        summary=_TEXT,
        start=_MAYBE_TEXT,
        base=_TEXT,
    ),
    "Dataset": _object(
        prefixes={"type": "object", "additionalProperties": _TEXT},
        examples=_array(_object(name=_TEXT, title=_TEXT, comment=_TEXT, query=_TEXT)),
        properties=_TEXTS,
        classes=_TEXTS,
        units=_TEXTS,
    ),
    "Classes": _object(classes=_array(_object(iri=_TEXT, name=_TEXT, comment=_TEXT, entities=_WHOLE))),
    "Tables": _object(
        total=_WHOLE,
        tables=_array(
            _object(
                id=_TEXT,
                title=_TEXT,
                subtitle=_TEXT,
                file=_TEXT,
                sheet=_MAYBE_TEXT,
                rows=_WHOLE,
                width=_WHOLE,
                cells=_WHOLE,
                columns=_TEXTS,
                units=_TEXTS,
                hits=_array(_object(row=_WHOLE, column=_WHOLE, text=_TEXT)),
            )
        ),
        facets=_object(unit=_FACET, kind=_FACET, folder=_FACET),
    ),
    "Table": _object(
        id=_TEXT,
        iri=_TEXT,
        title=_TEXT,
        subtitle=_TEXT,
        file=_TEXT,
        sheet=_MAYBE_TEXT,
        rows_total=_WHOLE,
        rows_shown=_WHOLE,
        width=_WHOLE,
        label_column=_WHOLE,
        body_start=_WHOLE,
        head=_WHOLE,
        direction={"enum": ["ltr", "rtl"]},
        notes=_array(_object(mark=_TEXT, text=_TEXT)),
        inferred=_INFERRED,
        columns=_array(_object(index=_WHOLE, title=_TEXT, inferred=_INFERRED, predicate=_TEXT, unit=_TEXT)),
        rows=_array(_object(index=_WHOLE, kind=_TEXT, depth=_WHOLE, cells=_TEXTS)),
    ),
    "Term": {"type": "object", "required": ["type", "value"], "properties": {"type": _TEXT, "value": _TEXT}},
    "Cell": _object(
        text=_TEXT,
        iri=_TEXT,
        row_iri=_TEXT,
        table=_TEXT,
        row=_WHOLE,
        column=_WHOLE,
        value=_MAYBE_TEXT,
        unit=_MAYBE_TEXT,
        unit_from=_TEXT,
        scale=_MAYBE_TEXT,
        scale_from=_TEXT,
        header=_TEXT,
        label=_TEXT,
        groups=_TEXTS,
        triples=_array(_object(predicate=_TEXT, object=_ref("Term"))),
    ),
    "Document": _object(
        id=_TEXT,
        iri=_TEXT,
        title=_TEXT,
        file=_TEXT,
        pages=_MAYBE_WHOLE,
        total=_WHOLE,
        first=_WHOLE,
        headings=_TEXTS,
        paragraphs=_array(
            _object(number=_WHOLE, page=_MAYBE_WHOLE, level=_WHOLE, offset=_WHOLE, length=_WHOLE, text=_TEXT)
        ),
        tables=_NAMED_TABLES,
    ),
    "Ontology": _object(
        total=_WHOLE,
        predicates=_array(
            _object(iri=_TEXT, name=_TEXT, label=_TEXT, names=_TEXTS, tables=_TEXTS, tables_total=_WHOLE)
        ),
    ),
    "Resource": _object(
        iri=_TEXT,
        label=_TEXT,
        outgoing=_array(_object(predicate=_TEXT, term=_ref("Term"))),
        incoming=_array(_object(predicate=_TEXT, term=_ref("Term"))),
        more={"type": "boolean"},
        names=_NAMES,
        unit={"type": ["object", "null"]},
    ),
    "Neighbours": _object(
        nodes=_array(_object(id=_TEXT, label=_TEXT, kind=_TEXT)),
        edges=_array(_object(source=_TEXT, predicate=_TEXT, target=_TEXT)),
        more={"type": "boolean"},
        names=_NAMES,
    ),
    "Landmarks": _object(
        subjects=_array(_object(iri=_TEXT, label=_TEXT, tables=_WHOLE)),
        joins=_array(
            _object(
                left=_JOINED,
                right=_JOINED,
                score=_NUMBER,
                matched=_WHOLE,
                fuzzy=_NUMBER,
                examples=_TEXTS,
                query=_TEXT,
            )
        ),
        unions=_array(_object(tables=_TEXTS, score=_NUMBER)),
        titles=_NAMES,
    ),
    "Units": _object(
        units=_array(_object(iri=_TEXT, name=_TEXT, label=_TEXT, symbol=_TEXT, cells=_WHOLE, tables=_WHOLE))
    ),
    "Editing": _object(
        editable={"type": "boolean"},
        allowed={"type": "boolean"},
        suffixes=_TEXTS,
        most_bytes=_WHOLE,
        brought=_TEXTS,
        waiting=_array(_object(id=_TEXT, name=_TEXT, size=_WHOLE)),
    ),
    "Decisions": {
        "type": "object",
        "description": "Decisions about columns and tables, as a mapping has them.",
        "properties": {
            name: _array({"type": "object", "additionalProperties": _TEXT}) for name in ("columns", "tables")
        },
    },
    "Hits": _object(hits=_array(_object(iri=_TEXT, label=_TEXT, kind=_TEXT))),
    "Retrieval": _object(
        question=_TEXT,
        triples=_array(
            _object(
                table=_TEXT,
                row=_WHOLE,
                column=_WHOLE,
                subject=_TEXT,
                predicate=_TEXT,
                object=_TEXT,
                value=_MAYBE_TEXT,
                unit=_MAYBE_TEXT,
                scale=_MAYBE_TEXT,
                group=_MAYBE_TEXT,
                cell=_TEXT,
                score={"type": "number"},
            )
        ),
        tables=_array(_object(table=_TEXT, score={"type": "number"})),
        timings_ms={"type": "object", "additionalProperties": {"type": "number"}},
    ),
    "Suggestions": _object(questions=_TEXTS),
    "Question": {
        "type": "object",
        "required": ["question"],
        "additionalProperties": False,
        "properties": {
            "question": _QUESTION,
            "method": _METHOD,
            "k": _range(1, 11_000, 300),
            "after": {**_QUESTION, "description": "The question before, which this one may follow."},
        },
    },
    "Reading": _object(
        answer=_TEXT,
        headline=_MAYBE_TEXT,
        exact=_MAYBE_TEXT,
        period=_MAYBE_TEXT,
        words=_MAYBE_TEXT,
        table=_TEXT,
        value=_MAYBE_TEXT,
        unit=_MAYBE_TEXT,
        unit_label=_MAYBE_TEXT,
        calculation=_MAYBE_TEXT,
        program=_PROGRAM,
        sparql=_MAYBE_TEXT,
        citations=_CITATIONS,
    ),
    "Answer": _object(
        question=_TEXT,
        answer=_MAYBE_TEXT,
        value=_MAYBE_TEXT,
        unit=_MAYBE_TEXT,
        verified={"type": "boolean"},
        status={"enum": list(STATUSES)},
        confidence={"type": ["number", "null"], "minimum": 0, "maximum": 1},
        reasons=_TEXTS,
        headline=_MAYBE_TEXT,
        exact=_MAYBE_TEXT,
        period=_MAYBE_TEXT,
        words=_MAYBE_TEXT,
        weak={"type": "boolean"},
        nearest=_NAMED_TABLES,
        unit_label=_MAYBE_TEXT,
        calculation=_MAYBE_TEXT,
        program=_PROGRAM,
        sparql=_MAYBE_TEXT,
        citations=_CITATIONS,
        passages=_PASSAGES,
        cells_read=_WHOLE,
        alternatives=_array(_ref("Reading")),
        method=_TEXT,
        model=_MAYBE_TEXT,
        usage={"type": "object"},
        timings_ms={"type": "object"},
    ),
}


def _get(about: str, schema: str, parameters: list[Any], *, statuses: tuple[int, ...] = ()) -> dict[str, Any]:
    responses = {
        "200": {"description": "Found.", "content": {"application/json": {"schema": _ref(schema)}}},
        "304": {"description": "Not modified since the given entity tag."},
        **_problems(400, *statuses, 503),
    }
    return {"get": {"summary": about, "operationId": schema, "parameters": parameters, "responses": responses}}


def _problems(*statuses: int) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": _ref("Problem")}}
    return {str(status): {"description": "An error.", "content": content} for status in statuses}


def _table_path() -> dict[str, Any]:
    parameters = [
        _ID,
        _parameter("row", _range(0, 10**9, 0), "The first row of the window."),
        _parameter("rows", _range(1, 500, 200), "Number of rows."),
        _parameter("column", _range(0, 10**6, 0), "The first column; the column of labels comes with all."),
        _parameter("columns", _range(1, 200, 60), "Number of columns."),
        _parameter("around", _NUMBERS, "Rows to show with those beside them."),
        _parameter("across", _NUMBERS, "Columns to show with those beside them."),
        _parameter("sort", _range(0, 10**6), "The column by whose values the rows of the body are ordered."),
        _ORDER,
        _parameter("find", _TEXT, "A text: only rows with a cell that holds it."),
        _parameter("format", {"enum": ["json", "csv"], "default": "json"}, "csv returns the whole table."),
    ]
    found = _get("A window of one table, as printed", "Table", parameters, statuses=(404,))
    found["get"]["responses"]["200"]["content"]["text/csv"] = {"schema": {"type": "string"}}
    return found


def _ask_path() -> dict[str, Any]:
    body = {"required": True, "content": {"application/json": {"schema": _ref("Question")}}}
    content = {
        "application/json": {"schema": _ref("Answer")},
        "text/event-stream": {"schema": {"type": "string"}},
    }
    responses = {
        "200": {
            "description": "The answer; as events: question, stage, found, text, then answer or problem.",
            "content": content,
        },
        **_problems(400, 403, 413, 415, 503),
    }
    return {
        "post": {
            "summary": "The answer to a question",
            "operationId": "ask",
            "requestBody": body,
            "responses": responses,
        }
    }


_EDITED = (400, 401, 403, 404, 408, 413, 415, 503, 507)


def _upload_path() -> dict[str, Any]:
    content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {
        "post": {
            "summary": "Keep a file until it is built; what is read of it",
            "operationId": "upload",
            "parameters": [_parameter("name", _TEXT, "The file's name.", required=True)],
            "requestBody": {"required": True, "content": content},
            "responses": {"201": _found("The upload."), **_problems(*_EDITED)},
        }
    }


def _removal_path() -> dict[str, Any]:
    id = {
        "name": "id",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
    }
    responses = {"204": {"description": "Removed."}, **_problems(*_EDITED)}
    return {
        "delete": {
            "summary": "Remove an upload",
            "operationId": "removeUpload",
            "parameters": [id],
            "responses": responses,
        }
    }


def _decided_path(about: str, name: str, fields: dict[str, Any], media_type: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {**fields, "decisions": _ref("Decisions")}}
    return {
        "post": {
            "summary": about,
            "operationId": name,
            "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
            "responses": {"200": _found("The result.", media_type), **_problems(*_EDITED)},
        }
    }


def _found(about: str, media_type: str = "application/json") -> dict[str, Any]:
    kind = "object" if media_type.endswith("json") else "string"
    return {"description": about, "content": {media_type: {"schema": {"type": kind}}}}


def document(server: str) -> dict[str, Any]:
    """The document for a server at the given address."""
    place = [
        _parameter("table", {"type": "string", "minLength": 1}, "The table's id.", required=True),
        _parameter("row", _range(0, 10**9), "The row, from 0.", required=True),
        _parameter("column", _range(0, 10**6), "The column, from 0.", required=True),
    ]
    question = [
        _parameter("question", _QUESTION, "The question.", required=True),
        _parameter("k", _range(1, 11_000, DEFAULT_K), "Maximum number of triples."),
        _parameter("method", _METHOD, "The retrieval method."),
    ]
    words = [
        _parameter("q", {"type": "string", "minLength": 1}, "Words of a label.", required=True),
        _parameter("limit", _range(1, 60, 12), "Maximum number of results."),
    ]
    around = [_IRI, _parameter("limit", _range(1, 200, 40), "Maximum number of neighbours.")]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kgtable",
            "version": __version__,
            "description": "Tables as a knowledge graph. SPARQL is at /sparql, graphs are at /store.",
        },
        "servers": [{"url": server.rstrip("/")}],
        "paths": {
            "/api/info": _get("Size of the graph and example questions", "Info", []),
            "/api/dataset": _get("Prefixes, example queries, properties and classes", "Dataset", []),
            "/api/classes": _get("The classes and how many entities each has", "Classes", []),
            "/api/tables": _get("The tables, searched by words and narrowed", "Tables", _LISTING),
            "/api/suggestions": _get("Questions that are answered", "Suggestions", _NEAR, statuses=(404,)),
            "/api/tables/{id}": _table_path(),
            "/api/cells": _get("Value, unit, scale and provenance of one cell", "Cell", place, statuses=(404,)),
            "/api/documents/{id}": _get(
                "Some paragraphs of a document, and the tables beside them",
                "Document",
                _DOCUMENT_PLACE,
                statuses=(404,),
            ),
            "/api/ontology": _get("The generated predicates, searched by words", "Ontology", _PAGING),
            "/api/resource": _get("The statements about an IRI", "Resource", [_IRI], statuses=(404,)),
            "/api/neighbours": _get("The neighbourhood of an IRI", "Neighbours", around),
            "/api/landmarks": _get("Shared subjects, and relations between tables", "Landmarks", []),
            "/api/units": _get("The units of the numbers", "Units", []),
            "/api/editing": _get("Whether tables may be brought, and which were", "Editing", []),
            "/api/uploads": _upload_path(),
            "/api/uploads/{id}": _removal_path(),
            "/api/preview": _decided_path(
                "What is read of an upload or a table under decisions",
                "preview",
                {"upload": _TEXT, "table": _TEXT},
                "application/json",
            ),
            "/api/build": _decided_path(
                "Build the graph with uploads, without brought files, under decisions",
                "build",
                {"uploads": _TEXTS, "remove": _TEXTS},
                "text/event-stream",
            ),
            "/api/search": _get("Nodes by their label", "Hits", words),
            "/api/retrieve": _get("The triples that may answer a question", "Retrieval", question),
            "/api/ask": _ask_path(),
        },
        "components": {"schemas": SCHEMAS},
    }
