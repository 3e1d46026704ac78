"""What a file holds: its tables, the text around them, and what `<stem>.json` beside it adds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kgtable.tables.model import Context, Grid, Notice
from kgtable.text.passages import DocumentText, Paragraph, TextPlace
from kgtable.values.text import sound_text


@dataclass(frozen=True)
class ReadContent:
    """The tables of a file in its order, its text, and notices that belong to none of its tables."""

    grids: tuple[Grid, ...] = ()
    text: DocumentText = DocumentText()  # noqa: RUF009
    notices: tuple[Notice, ...] = ()
    media_type: str = ""
    sha256: str = ""

    @property
    def has_text(self) -> bool:
        """Whether there is any running text."""
        return bool(self.text.paragraphs)


_BEFORE, _AFTER = 3, 2
"""How many paragraphs around a table count as its context."""


def context_at(text: DocumentText, table: int) -> Context:
    """What surrounds a table of a document: the headings it stands under, its caption, paragraphs beside it."""
    place = text.tables[table]
    headings: dict[int, str] = {}
    for paragraph in text.paragraphs[: place.paragraphs]:
        if paragraph.level:
            headings = {level: known for level, known in headings.items() if level < paragraph.level}
            headings[paragraph.level] = paragraph.text
    beside = text.paragraphs[max(place.paragraphs - _BEFORE, 0) : place.paragraphs]
    behind = text.paragraphs[place.paragraphs : place.paragraphs + _AFTER]
    return Context(
        text.title,
        tuple(known for _, known in sorted(headings.items()) if known != text.title),
        place.caption,
        tuple(p.text for p in beside if not p.level and p.text != place.caption),
        tuple(p.text for p in behind if not p.level and p.text != place.caption),
    )


def text_beside(grids: tuple[Grid, ...]) -> DocumentText:
    """The text that a sidecar gives of a file's tables: what stands before, among and after them.

    Each text is a paragraph; all tables of the file stand behind those that come before them.
    """
    context = grids[0].context
    before = (*context.before, *context.paragraphs)
    paragraphs = [Paragraph(text, level=1 + at) for at, text in enumerate(context.heading)] if before else []
    paragraphs += [Paragraph(text) for text in before]
    place = len(paragraphs)
    paragraphs += [Paragraph(text) for text in context.after]
    places = tuple(TextPlace(place, caption=grid.context.caption) for grid in grids)
    return DocumentText(tuple(paragraphs), places, context.title, of_tables=True)


_ONE = {"title": ("title",), "caption": ("caption",)}
_MANY = {
    "heading": ("heading", "headings"),
    "before": ("textAbove", "text_above", "pre_text", "text_before", "before"),
    "after": ("textBelow", "text_below", "post_text", "text_after", "after"),
    "paragraphs": ("paragraphs",),
}
MAX_BYTES = 64 << 20


def read_sidecar(path: Path, shown: str) -> tuple[Context, tuple[Notice, ...]]:
    """What a sidecar says of its table. A fault in it gives a notice, never an error.

    `shown` is the path that notices name. Keys that are not known are left alone.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES >> 20} MB")
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        return Context(), (_notice(f"it cannot be read ({error.strerror})", shown),)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return Context(), (_notice(f"it is no sound JSON: {reason}", shown),)
    if not isinstance(content, dict):
        return Context(), (_notice("it holds no JSON object", shown),)
    return context_from(content, shown)


def merge_contexts(first: Context, second: Context) -> Context:
    """The fields of the first, or of the second where the first has none."""
    return Context(
        title=first.title or second.title,
        heading=first.heading or second.heading,
        caption=first.caption or second.caption,
        before=first.before or second.before,
        after=first.after or second.after,
        paragraphs=first.paragraphs or second.paragraphs,
    )


def context_from(content: Mapping[str, object], shown: str) -> tuple[Context, tuple[Notice, ...]]:
    """What the known keys of a JSON object say of a table, and a notice of each that cannot be used."""
    notices: list[Notice] = []
    fields: dict[str, tuple[str, ...]] = {}
    for field, keys in (_ONE | _MANY).items():
        texts: list[str] = []
        for key in keys:
            found = _texts(content.get(key))
            if found is None:
                notices.append(_notice(f"its {key!r} is no text and no list of texts", shown))
            else:
                texts.extend(found)
        fields[field] = tuple(texts)
    context = Context(
        title=" ".join(fields["title"]),
        caption=" ".join(fields["caption"]),
        heading=fields["heading"],
        before=fields["before"],
        after=fields["after"],
        paragraphs=fields["paragraphs"],
    )
    return context, tuple(notices)


def _texts(value: object) -> list[str] | None:
    """The texts of a string, a list of strings or of objects with a "text"; None for anything else."""
    if value is None:
        return []
    items = value if isinstance(value, list) else [value]
    texts: list[str] = []
    for item in items:
        text = item.get("text") if isinstance(item, dict) else item
        if not isinstance(text, str):
            return None
        if text.strip():
            texts.append(sound_text(text))
    return texts


def _notice(fault: str, shown: str) -> Notice:
    return Notice("sidecar", f"the sidecar was not used in full: {fault}", shown)
