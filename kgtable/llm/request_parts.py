"""Parts that requests share: messages, and the JSON Schemas of replies."""

from __future__ import annotations

from collections.abc import Iterable

from kgtable.llm.protocol import Message, Schema

TEXT: Schema = {"type": "string"}


def prompt_messages(system: str, text: str) -> tuple[Message, ...]:
    """A system prompt and what the user says."""
    return (Message(role="system", content=system), Message(role="user", content=text))


def messages_text(messages: Iterable[Message]) -> str:
    """Messages as one text, each under its role."""
    return "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in messages)


def object_schema(title: str = "", /, **properties: Schema) -> Schema:
    """The JSON Schema of an object with these fields and no other, all of them required."""
    named = {"title": title} if title else {}
    fields = {"properties": properties, "required": list(properties)}
    return {**named, "type": "object", **fields, "additionalProperties": False}
