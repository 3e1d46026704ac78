"""OpenAPI 3.1 document of the HTTP API; the tests compare it with the running server."""

from __future__ import annotations

import re
from typing import Any

from kgtable.resources import __version__
from kgtable.server.operations import METHOD, MOST_TRIPLES, QUESTION, READING, Operation, whole_schema

STATUSES = ("verified", "sure", "likely", "several", "not found")
"""The values of `kgtable.answering.answer.Status`, which takes long to import."""

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_KINDS: dict[str, Any] = {
    "": _TEXT,
    "?": {"type": ["string", "null"]},
    "*": _TEXTS,
    "#": {"type": "integer", "minimum": 0},
    "#?": {"type": ["integer", "null"], "minimum": 0},
    "%": {"type": "number"},
    "!": {"type": "boolean"},
}
"""The kinds of fields by the marks behind their names: texts (``*`` for a list), whole numbers, numbers, truth values;
with ``?`` null as well."""


def _object(fields: str = "", **more: Any) -> dict[str, Any]:
    """An object with fields of the kinds that their marks say, and with others, all of them required."""
    marked = {name: _KINDS[mark] for name, mark in re.findall(r"(\w+)(\S*)", fields)}
    return {"type": "object", "properties": {**marked, **more}, "required": sorted({**marked, **more})}


def _array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


_NAMES = {"type": "object", "additionalProperties": _TEXT}
_INFERRED = {"anyOf": [_object("name confidence% basis"), {"type": "null"}]}
_JOINED = _object("table column# name")
_CITATIONS = _array(_object("cell table row# column# text file title reference label header"))
_CHART = {"type": ["object", "null"], "properties": {"svg": _TEXT, "description": _TEXT}}
_PASSAGES = _array(_object("passage document file page#? paragraph# start# words"))
_NAMED_TABLES = _array(_object("id title subtitle file rows# columns*"))
_FACET = _array(_object("value label tables#"))
_CONFIDENCE = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
_ANY: dict[str, Any] = {"type": ["object", "string", "integer"]}
_PROGRAM = {
    "type": ["object", "null"],
    "description": "The program that computed it, as `kgtable run` takes it; `calculation` says it in words, "
    "`sparql`, `sql` and `python` are the same there, null where these cannot say it or the table is too long for it.",
}

SCHEMAS: dict[str, Any] = {
    "Problem": _object("type title detail", status={"type": "integer"}),
    "Info": _object("tables# rows# cells# documents# model? summary start? base"),
    "Dataset": _object(
        "properties* classes* units*",
        prefixes=_NAMES,
        uses={"type": "object", "additionalProperties": {"type": "integer"}},
        examples=_array(_object("name title comment query")),
    ),
    "Classes": _object(classes=_array(_object("iri name comment entities#"))),
    "Tables": _object(
        "total#",
        tables=_array(
            _object(
                "id title subtitle file sheet? rows# width# cells# columns* units*",
                hits=_array(_object("row# column# text")),
            )
        ),
        facets=_object(unit=_FACET, kind=_FACET, folder=_FACET),
    ),
    "Table": _object(
        "id iri title subtitle file sheet? rows_total# members# counted rows_shown# width# label_column# body_start# "
        "head#",
        direction={"enum": ["ltr", "rtl"]},
        notes=_array(_object("mark text")),
        inferred=_INFERRED,
        columns=_array(_object("index# name title path* predicate unit meaning evidence", inferred=_INFERRED)),
        rows=_array(_object("index# kind depth# cells*")),
    ),
    "Explored": _object(
        "address title problem? sparql? sql? python?",
        asked={"type": "object"},
        told=_NAMES,
        columns=_array(_object("title kind unit distinct#? hows* groups! buckets*", column=_ANY)),
        joins=_array(_object("title", join={"type": "object"})),
        program=_PROGRAM,
        result={
            "anyOf": [
                {"type": "null"},
                _object(
                    "text? names* row_count# calculation cells_read#",
                    rows=_array(_array({"type": ["object", "null"]})),
                    chart=_CHART,
                    citations=_CITATIONS,
                ),
            ]
        },
    ),
    "Values": _object(values=_array(_object("text rows#", value=_ANY))),
    "Facets": _object(
        facets=_array(_object("column# title chosen more#", values=_array(_object("value rows#")))),
        spreads=_array(_object("column# low high rows#", counts=_array({"type": "integer"}))),
    ),
    "Term": {"type": "object", "required": ["type", "value"], "properties": {"type": _TEXT, "value": _TEXT}},
    "Cell": _object(
        "text iri row_iri table row# column# value? unit? unit_from scale? scale_from header label groups*",
        triples=_array(_object("predicate", object=_ref("Term"))),
    ),
    "SqlRows": _object(
        "complete!",
        columns=_array(_object("name number!")),
        rows=_array(_array({"type": ["string", "null"]})),
    ),
    "SqlColumns": _object("table title rows#", columns=_array(_object("name type header unit? examples*"))),
    "SqlTables": _object("total#", tables=_array(_object("id name title"))),
    "Documents": _object("total#", documents=_array(_object("id title file pages#? paragraphs# passages#"))),
    "Document": _object(
        "id iri title file pages#? total# first# headings*",
        paragraphs=_array(_object("number# page#? level# offset# length# text")),
        tables=_NAMED_TABLES,
    ),
    "Ontology": _object("total#", predicates=_array(_object("iri name label names* tables* tables_total#"))),
    "Resource": _object(
        "iri label more!",
        outgoing=_array(_object("predicate", term=_ref("Term"))),
        incoming=_array(_object("predicate", term=_ref("Term"))),
        names=_NAMES,
        unit={"type": ["object", "null"]},
    ),
    "Neighbours": _object(
        "more!", nodes=_array(_object("id label kind")), edges=_array(_object("source predicate target")), names=_NAMES
    ),
    "Landmarks": _object(
        subjects=_array(_object("iri label tables#")),
        joins=_array(_object("score% matched# fuzzy% examples* query", left=_JOINED, right=_JOINED)),
        unions=_array(_object("tables* score%")),
        titles=_NAMES,
        map=_object(
            "tables#",
            nodes=_array(_object("id label kind table")),
            edges=_array(_object("source target label kind")),
        ),
    ),
    "Units": _object(units=_array(_object("iri name label symbol cells# tables#"))),
    "Editing": _object("editable! allowed! suffixes* most_bytes# uploaded*", waiting=_array(_object("id name size#"))),
    "Decisions": {
        "type": "object",
        "description": "Decisions about columns and tables, as a mapping has them.",
        "properties": {
            name: _array({"type": "object", "additionalProperties": _TEXT}) for name in ("columns", "tables")
        },
    },
    "Hits": _object(hits=_array(_object("iri label kind"))),
    "Retrieval": _object(
        "question",
        triples=_array(_object("table row# column# subject predicate object value? unit? scale? group? cell score%")),
        tables=_array(_object("table score%")),
        timings_ms={"type": "object", "additionalProperties": {"type": "number"}},
    ),
    "Suggestions": _object("questions*"),
    "Question": {
        "type": "object",
        "required": ["question"],
        "additionalProperties": False,
        "properties": {
            "question": QUESTION,
            "method": METHOD,
            "k": whole_schema(1, MOST_TRIPLES, 300),
            "after": {**QUESTION, "description": "The question before, which this one may follow."},
        },
    },
    "Chart": _object("", chart=_CHART),
    "Reading": _object(
        "answer display? headline exact? period? words? table value? unit? unit_label? calculation? sparql? sql? "
        "python?",
        confidence=_CONFIDENCE,
        program=_PROGRAM,
        citations=_CITATIONS,
    ),
    "Answer": _object(
        "question answer? value? unit? verified! grounded! reasons* display? headline exact? period? words? sentence "
        "remark? unit_label? calculation? sparql? sql? python? cells_read# method model?",
        status={"enum": list(STATUSES)},
        confidence=_CONFIDENCE,
        chart=_CHART,
        nearest=_NAMED_TABLES,
        program=_PROGRAM,
        citations=_CITATIONS,
        passages=_PASSAGES,
        alternatives=_array(_ref("Reading")),
        usage={"type": "object"},
        timings_ms={"type": "object"},
    ),
}

_EDITED = (400, 401, 403, 404, 408, 413, 415, 503, 507)


def _problems(*statuses: int) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": _ref("Problem")}}
    return {str(status): {"description": "An error.", "content": content} for status in statuses}


def _found(about: str, **contents: Any) -> dict[str, Any]:
    content = {name: {"schema": schema} for name, schema in contents.items()}
    return {"description": about, "content": content}


def _body(media_type: str, schema: Any) -> dict[str, Any]:
    return {"required": True, "content": {media_type: {"schema": schema}}}


def _parameter(name: str, about: str, schema: Any, *, required: bool = True, where: str = "query") -> dict[str, Any]:
    return {"name": name, "in": where, "required": required, "schema": schema, "description": about}


def _reading(operation: Operation) -> dict[str, Any]:
    what = operation.path.split("/")[2].removesuffix("s")
    place = {"type": "string", "minLength": 1}
    path = [_parameter("id", f"The {what}'s id.", place, where="path")] if "{id}" in operation.path else []
    query = [_parameter(one.name, one.about, one.schema, required=one.required) for one in operation.parameters]
    content = {"application/json": _ref(operation.schema)}
    if operation.name in ("table", "sql"):
        content["text/csv"] = _TEXT
    if operation.name == "sql":
        content["text/tab-separated-values"] = _TEXT
    responses = {
        "200": _found("Found.", **content),
        "304": {"description": "Not modified since the given entity tag."},
        **_problems(400, *operation.statuses, 503),
    }
    found = {"summary": operation.about, "operationId": operation.schema, "parameters": [*path, *query]}
    return {"get": {**found, "responses": responses}}


def _changing(about: str, name: str, responses: dict[str, Any], method: str = "post", **more: Any) -> dict[str, Any]:
    return {method: {"summary": about, "operationId": name, **more, "responses": responses}}


def _decided(about: str, name: str, fields: dict[str, Any], **content: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {**fields, "decisions": _ref("Decisions")}}
    responses = {"200": _found("The result.", **content), **_problems(*_EDITED)}
    return _changing(about, name, responses, requestBody=_body("application/json", schema))


_ANYTHING = {"application/json": {"type": "object"}}
_EVENTS = {"text/event-stream": _TEXT}
_CHANGING = {
    "/api/uploads": _changing(
        "Upload a file, kept until it is built, and preview it",
        "upload",
        {"201": _found("The upload.", **_ANYTHING), **_problems(*_EDITED)},
        parameters=[_parameter("name", "The file's name.", _TEXT)],
        requestBody=_body("application/octet-stream", {"type": "string", "format": "binary"}),
    ),
    "/api/uploads/{id}": _changing(
        "Remove an upload",
        "removeUpload",
        {"204": {"description": "Removed."}, **_problems(*_EDITED)},
        "delete",
        parameters=[
            _parameter("id", "The upload's id.", {"type": "string", "pattern": "^[0-9a-f]{16}$"}, where="path")
        ],
    ),
    "/api/preview": _decided(
        "Preview an upload or a table with decisions",
        "preview",
        {"upload": _TEXT, "table": _TEXT},
        **_ANYTHING,
    ),
    "/api/build": _decided(
        "Build the graph with uploads, without some uploaded before, under decisions",
        "build",
        {"uploads": _TEXTS, "remove": _TEXTS},
        **_EVENTS,
    ),
    "/api/ask": _changing(
        "The answer to a question",
        "ask",
        {
            "200": _found(
                "The answer; as events: question, stage, found, text, then answer or problem.",
                **{"application/json": _ref("Answer")},
                **_EVENTS,
            ),
            **_problems(400, 403, 413, 415, 503),
        },
        requestBody=_body("application/json", _ref("Question")),
    ),
}


def document(server: str) -> dict[str, Any]:
    """The document for a server at the given address."""
    editing = Operation("editing", "/api/editing", "Whether tables may be uploaded, and which files were", "Editing")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kgtable",
            "version": __version__,
            "description": "Tables as a knowledge graph. SPARQL is at /sparql, graphs are at /store.",
        },
        "servers": [{"url": server.rstrip("/")}],
        "paths": {**{one.path: _reading(one) for one in (*READING, editing)}, **_CHANGING},
        "components": {"schemas": SCHEMAS},
    }
