"""What is evaluated: a retrieval method with its table format and embedding, and a way to answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from kgtable.answering.presentations import PRESENTATIONS
from kgtable.answering.prompting import PromptSetting
from kgtable.answering.zero_shot import METHOD as ZERO_SHOT
from kgtable.errors import UsageError
from kgtable.retrieval.methods import METHODS
from kgtable.retrieval.written_schemas import WRITTEN_SCHEMA
from kgtable.tables.formats import TableFormat

FORMATTED = ("bm25", "dense")
"""The methods that index whole tables as text."""

HYBRID = "hybrid"
RULES, LABELS, RERANK = "rules", "labels", "labels+rerank"
ASSISTS = (RULES, LABELS, RERANK)
"""What a language model does in the retrieval of `hybrid`: nothing, name labels, order the tables too."""

DEFAULT_PRESENTATION = "subtable"
DEFAULT_PROMPT = "context-first-separated"


@dataclass(frozen=True, slots=True)
class System:
    """One configuration; None is the default, or that the choice does not apply."""

    method: str
    format: str | None = None
    embedding: str | None = None
    presentation: str | None = None
    prompt: str | None = None
    model: str | None = None
    assist: str | None = None

    @property
    def name(self) -> str:
        """The choices joined by slashes.

        >>> System("bm25", "markdown").name
        'bm25/markdown'
        """
        return "/".join(filter(None, (value for value in asdict(self).values())))

    @property
    def retrieves(self) -> bool:
        """Whether it looks anything up at all."""
        return self.method != ZERO_SHOT

    def to_json(self) -> dict[str, Any]:
        """The choices as plain JSON values."""
        return {"name": self.name, **asdict(self)}


def systems(
    methods: tuple[str, ...],
    *,
    formats: tuple[str, ...] = (),
    embeddings: tuple[str, ...] = (),
    presentations: tuple[str, ...] = (),
    prompts: tuple[str, ...] = (),
    models: tuple[str, ...] = (),
    assists: tuple[str, ...] = (),
) -> tuple[System, ...]:
    """Every combination that makes sense, each once, in a stable order.

    Formats go with `bm25` and `dense` only, embeddings with `dense`, assists with `hybrid`; presentations
    and prompts are for answers, and `zero-shot` has no context to present. Raises `UsageError` for
    unknown names.
    """
    _known("method", methods, (*METHODS, ZERO_SHOT))
    _known("table format", formats, (*TableFormat, WRITTEN_SCHEMA))
    _known("presentation", presentations, tuple(PRESENTATIONS))
    _known("assist", assists, ASSISTS)
    _known("prompt setting", prompts, tuple(PromptSetting))
    found: dict[System, None] = {}
    for method in methods:
        choices = product(
            (formats if method in FORMATTED else ()) or (None,),
            (embeddings if method == "dense" else ()) or (None,),
            (() if method == ZERO_SHOT else presentations) or (None,),
            (() if method == ZERO_SHOT else prompts) or (None,),
            models or (None,),
            (assists if method == HYBRID else ()) or (None,),
        )
        found.update((System(method, *choice), None) for choice in choices)
    if not found:
        raise UsageError("There is nothing to evaluate.", hint="Name a --method.")
    return tuple(found)


def _known(what: str, names: tuple[str, ...], known: tuple[str, ...]) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"There is no {what} {name!r}.", hint=f"There are: {', '.join(known)}.")
