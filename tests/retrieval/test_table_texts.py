from __future__ import annotations

import pytest

from kgtable.errors import LLMUnreachableError
from kgtable.llm.protocol import MeteredLLM, Request, measured
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.table_texts import schema_request, write_schemas, written_schema
from kgtable.tables.linearize import format_table
from tests.retrieval.whole_tables_data import TABLES

REPLY = {
    "description": "Prizes of 1911.", "columns": "Name and field.", "labels": "Curie.", "example": "Name is Curie.",
}  # fmt: skip


def test_the_models_four_parts_make_the_schema() -> None:
    assert written_schema(TABLES[0], ScriptedLLM([REPLY])) == "Prizes of 1911. Name and field. Curie. Name is Curie.\n"


def test_the_template_stands_in_where_the_reply_is_unusable(caplog: pytest.LogCaptureFixture) -> None:
    texts = write_schemas(TABLES[:1], ScriptedLLM(["What table?", "Which one?"]))
    assert texts.texts == (format_table(TABLES[0], "schema"),)
    assert list(texts.substitutes) == [TABLES[0].id]
    assert TABLES[0].id in caplog.text


def test_a_model_that_cannot_be_reached_is_no_reason_for_a_template() -> None:
    with pytest.raises(LLMUnreachableError):
        write_schemas(TABLES, ScriptedLLM(lambda _: LLMUnreachableError("no answer")))


def test_usage_is_counted_where_the_schemas_were_asked_for() -> None:
    with measured() as meter:
        write_schemas(TABLES, MeteredLLM(ScriptedLLM(lambda _: REPLY)))
    assert meter.stages["schema"].requests == len(TABLES)


def test_all_tables_in_order_whatever_order_the_replies_come_in() -> None:
    def reply(request: Request) -> dict[str, str]:
        table = next(t for t in TABLES if format_table(t, "markdown") in request.messages[0]["content"])
        return {**REPLY, "labels": table.id}

    texts = write_schemas(TABLES, ScriptedLLM(reply))
    assert texts.tables == tuple(table.id for table in TABLES)
    assert all(table.id in text for table, text in zip(TABLES, texts.texts, strict=True))


def test_the_table_is_fenced_as_data() -> None:
    prompt = schema_request(TABLES[0]).messages[0]["content"]
    assert "=== TABLE START ===" in prompt
    assert prompt.index("TABLE START") < prompt.index(format_table(TABLES[0], "markdown"))
