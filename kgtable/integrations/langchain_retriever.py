"""A LangChain retriever over a graph (package ``langchain-core``)."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from kgtable.config import DEFAULT_K
from kgtable.errors import MissingExtraError
from kgtable.integrations.retrieved_tables import retrieved_tables
from kgtable.knowledge_graph import KnowledgeGraph

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError as error:
    raise MissingExtraError("The LangChain retriever", "langchain") from error


class LangChainRetriever(BaseRetriever):
    """Documents for a question: one for each of the best tables, with the rows that were retrieved as its text.

    A document's ``id`` is the table's IRI, its metadata those of
    `kgtable.integrations.retrieved_tables.RetrievedTable`. `tables` is how many documents at most, `k` and
    `method` are those of `kgtable.KnowledgeGraph.retrieve`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    graph: KnowledgeGraph
    k: int = Field(default=DEFAULT_K, ge=1)
    method: str = "hybrid"
    tables: int = Field(default=5, ge=1)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **_: Any
    ) -> list[Document]:
        found = self.graph.retrieve(query, self.k, self.method)
        return [
            Document(id=table.iri, page_content=table.text, metadata=table.metadata())
            for table in retrieved_tables(self.graph, found, self.tables)
        ]
