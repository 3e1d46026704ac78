"""OpenAPI 3.1 document of the HTTP API; the tests compare it with the running server."""

from __future__ import annotations

import re
from typing import Any

from kgtable.resources import __version__, read_packaged_json
from kgtable.server.operations import METHOD, MOST_TRIPLES, QUESTION, READING, Operation, whole_schema

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
"""The kinds of fields by the marks after their names: texts (``*`` for a list), whole numbers, numbers, truth values;
with ``?`` null as well."""


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


FORMS: dict[str, Any] = read_packaged_json("server/schemas.json")
"""The schemas in short: a text names the fields of an object with their marks; an object has those under "" and others
by name; a list is an array; ``@`` refers to a schema, ``=`` to a form that is written out; ``?`` may be null as well;
``$`` holds JSON Schema."""
STATUSES = tuple(FORMS["Answer"]["status"]["$"]["enum"])
"""The values of `kgtable.answering.answer.Status`, which takes long to import."""


def _schema(form: Any) -> dict[str, Any]:
    if isinstance(form, list):
        return {"type": "array", "items": _schema(form[0])}
    if isinstance(form, str) and form[:1] in ("@", "="):
        return _ref(form[1:]) if form[0] == "@" else _schema(FORMS[form[1:]])
    if "?" in form and isinstance(form, dict):
        return {"anyOf": [_schema(form["?"]), {"type": "null"}]}
    if "$" in form:
        found: dict[str, Any] = form["$"]
        return found
    fields, more = (form, {}) if isinstance(form, str) else (form.get("", ""), form)
    parts = {name: _KINDS[mark] for name, mark in re.findall(r"(\w+)(\S*)", fields)}
    parts |= {name: _schema(part) for name, part in more.items() if name}
    return {"type": "object", "properties": parts, "required": sorted(parts)}


SCHEMAS: dict[str, Any] = {name: _schema(form) for name, form in FORMS.items() if name[0].isupper()} | {
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
    }
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
        "Preview an upload or a table with decisions", "preview", {"upload": _TEXT, "table": _TEXT}, **_ANYTHING
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
