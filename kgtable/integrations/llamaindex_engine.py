"""A LlamaIndex retriever and query engine over a graph (package ``llama-index-core``)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Citation
from kgtable.config import DEFAULT_K
from kgtable.errors import MissingExtraError
from kgtable.integrations.retrieved_tables import RetrievedTable, retrieved_tables
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.tables.model import spreadsheet_reference

try:
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.response.schema import Response
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise MissingExtraError("The LlamaIndex retriever and query engine", "llamaindex") from error


class LlamaIndexRetriever(BaseRetriever):
    """Nodes for a question: one for each of the best tables, with the rows that were retrieved as its text.

    `tables` is how many nodes at most, `k` and `method` are those of `kgtable.KnowledgeGraph.retrieve`.
    """

    def __init__(
        self, graph: KnowledgeGraph, *, k: int = DEFAULT_K, method: str = "hybrid", tables: int = 5, **options: Any
    ) -> None:
        super().__init__(**options)
        self._graph, self._k, self._method, self._tables = graph, k, method, tables

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._graph.retrieve(query_bundle.query_str, self._k, self._method)
        return [_node(table) for table in retrieved_tables(self._graph, found, self._tables)]


class LlamaIndexQueryEngine(BaseQueryEngine):
    """Answers of kgtable: computed, checked against the cells, with a source node for each cited cell.

    A response's ``metadata["answer"]`` is the object of ``kgtable ask --json``. `options` are those of
    `kgtable.KnowledgeGraph.ask`.
    """

    def __init__(self, graph: KnowledgeGraph, callback_manager: CallbackManager | None = None, **options: Any) -> None:
        super().__init__(callback_manager)
        self._graph, self._options = graph, options

    def _query(self, query_bundle: QueryBundle) -> Response:
        return _response(self._graph.ask(query_bundle.query_str, **self._options))

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return await asyncio.to_thread(self._query, query_bundle)

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}


def _node(table: RetrievedTable) -> NodeWithScore:
    return NodeWithScore(node=_text_node(table.iri, table.text, table.metadata(), ("title",)), score=table.score)


def _response(answer: Answer) -> Response:
    nodes = [NodeWithScore(node=_cited(citation)) for citation in answer.citations]
    text = answer.display if answer.found else "Nothing was found that answers this question."
    return Response(text, source_nodes=nodes, metadata={"answer": answer.to_json()})


def _cited(citation: Citation) -> TextNode:
    place = spreadsheet_reference(citation.row, citation.column)
    about = {**citation.to_json(), "reference": place, "label": citation.label, "header": citation.header}
    return _text_node(
        f"{citation.cell}#{citation.column}", citation.text, about, ("file", "reference", "label", "header")
    )


def _text_node(id: str, text: str, metadata: dict[str, Any], shown: Sequence[str]) -> TextNode:
    """A node whose text a model sees with these metadata alone: the rest is for programs."""
    hidden = [name for name in metadata if name not in shown]
    return TextNode(
        id_=id, text=text, metadata=metadata, excluded_llm_metadata_keys=hidden, excluded_embed_metadata_keys=hidden
    )
