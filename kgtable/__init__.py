"""kgtable turns folders of tables into a QUDT knowledge graph and answers questions from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtable.version import __version__

if TYPE_CHECKING:
    from kgtable.api import KnowledgeGraph, build, connect, convert, open

__all__ = ["KnowledgeGraph", "__version__", "build", "connect", "convert", "open"]


def __getattr__(name: str) -> Any:
    # pandas and rdflib take most of a second to import: only who uses the façade pays for them.
    if name in __all__:
        from kgtable import api

        return getattr(api, name)
    raise AttributeError(f"module 'kgtable' has no attribute {name!r}")
