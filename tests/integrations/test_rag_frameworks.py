from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

import kgtable

QUESTION = "Which port had the highest fees in 2023?"


def test_langchain_retrieves_a_document_for_each_table(samples_graph: kgtable.KnowledgeGraph) -> None:
    pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
    from kgtable.integrations.langchain_retriever import LangChainRetriever

    retriever = LangChainRetriever(graph=samples_graph, k=60, tables=2)
    first, second = retriever.invoke(QUESTION)
    assert first.metadata["table"] == "harbour-cargo"
    assert first.metadata["file"] == "harbour-cargo.xlsx"
    assert "r2 | Norrvik | 1840.5 | 212.25 | 1795 | 198.75" in first.page_content
    assert {"text": "198.75", "value": "198750000", "unit": "CCY_EUR"}.items() <= next(
        cell for cell in first.metadata["cells"] if cell["text"] == "198.75"
    ).items()
    assert first.id == samples_graph.names.table_iri("harbour-cargo")
    assert second.metadata["table"] != "harbour-cargo"
    assert first.metadata["score"] > second.metadata["score"]
    assert asyncio.run(retriever.ainvoke(QUESTION))[0].page_content == first.page_content


def test_a_langchain_chain_passes_the_tables_on(samples_graph: kgtable.KnowledgeGraph) -> None:
    pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.runnables import RunnablePassthrough

    from kgtable.integrations.langchain_retriever import LangChainRetriever

    seen: list[str] = []

    def joined(documents: list[object]) -> str:
        seen.append("\n\n".join(str(getattr(document, "page_content", "")) for document in documents))
        return seen[-1]

    chain = (
        {"context": LangChainRetriever(graph=samples_graph, k=60, tables=1) | joined, "question": RunnablePassthrough()}
        | ChatPromptTemplate.from_template("{context}\n\n{question}")
        | GenericFakeChatModel(messages=iter([AIMessage("Norrvik")]))
    )
    assert chain.invoke(QUESTION).content == "Norrvik"
    assert "Norrvik | 1840.5" in seen[0]


def test_llamaindex_retrieves_nodes_and_answers_with_sources(samples_graph: kgtable.KnowledgeGraph) -> None:
    pytest.importorskip("llama_index.core", reason="the extra llamaindex is not installed")
    from llama_index.core.schema import MetadataMode

    from kgtable.integrations.llamaindex_engine import LlamaIndexQueryEngine, LlamaIndexRetriever

    (node,) = LlamaIndexRetriever(samples_graph, k=60, tables=1).retrieve(QUESTION)
    assert node.metadata["table"] == "harbour-cargo"
    assert node.score is not None
    shown = node.node.get_content(MetadataMode.LLM)
    assert "title: Cargo" in shown
    assert "cells" not in shown

    engine = LlamaIndexQueryEngine(samples_graph, model="none")
    response = engine.query(QUESTION)
    assert str(response) == "Norrvik"
    assert response.metadata is not None
    assert response.metadata["answer"]["status"] == "sure"
    assert [source.node.get_content() for source in response.source_nodes] == ["Norrvik", "198.75", "61", "13.25"]
    assert response.source_nodes[1].metadata["reference"] == "E3"
    assert len({source.node.node_id for source in response.source_nodes}) == 4
    assert str(asyncio.run(engine.aquery(QUESTION))) == "Norrvik"
    nothing = engine.query("Who wrote the national anthem of Peru?")
    assert str(nothing) == "Nothing was found that answers this question."
    assert nothing.source_nodes == []


@pytest.mark.parametrize(
    ("package", "module", "extra"),
    [("langchain_core", "langchain_retriever", "langchain"), ("llama_index", "llamaindex_engine", "llamaindex")],
)
def test_without_the_package_its_extra_is_named(package: str, module: str, extra: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"try:\n    import kgtable.integrations.{module}\n"
        "except Exception as error:\n    print(type(error).__name__, error)"
    )
    root = Path(kgtable.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.startswith("MissingExtraError")
    assert f"pip install 'kgtable[{extra}]'" in done.stdout
