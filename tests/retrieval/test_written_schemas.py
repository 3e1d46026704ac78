from __future__ import annotations

import pytest

from kgtable.errors import LLMUnreachableError
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.written_schemas import schema_request, write_schemas, written_schema
from kgtable.tables.formats import format_table
from tests.retrieval.whole_tables_data import TABLES

REPLY = {
    "description": "Prizes of 1911.",
    "columns": "Name and field.",
    "labels": "Curie.",
    "example": "Name is Curie.",
}


def test_the_models_four_parts_make_the_schema() -> None:
    text, written = written_schema(TABLES[0], ScriptedLLM([REPLY]))
    assert written
    assert text == "Prizes of 1911. Name and field. Curie. Name is Curie.\n"


def test_the_template_stands_in_where_the_model_fails(caplog: pytest.LogCaptureFixture) -> None:
    text, written = written_schema(TABLES[0], ScriptedLLM([LLMUnreachableError("no answer")]))
    assert not written
    assert text == format_table(TABLES[0], "schema")
    assert TABLES[0].id in caplog.text


def test_all_tables_in_order_whatever_order_the_replies_come_in() -> None:
    def reply(request: Request) -> dict[str, str]:
        table = next(t for t in TABLES if format_table(t, "markdown") in request.messages[0]["content"])
        return {**REPLY, "labels": table.id}

    texts = write_schemas(TABLES, ScriptedLLM(reply))
    assert texts.tables == tuple(table.id for table in TABLES)
    assert all(table.id in text for table, text in zip(TABLES, texts.texts, strict=True))


def test_without_a_model_all_are_the_templates() -> None:
    assert write_schemas(TABLES, None).texts == tuple(format_table(t, "schema") for t in TABLES)


def test_the_table_is_fenced_as_data() -> None:
    prompt = schema_request(TABLES[0]).messages[0]["content"]
    assert "=== TABLE START ===" in prompt
    assert prompt.index("TABLE START") < prompt.index(format_table(TABLES[0], "markdown"))
