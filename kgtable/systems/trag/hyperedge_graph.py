"""Hyperedges in the RDF graph: written as a named graph of their own, and updated by each build."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgtable.building.generations import Generation, GraphDirectory
from kgtable.errors import GraphNotFoundError, MissingExtraError, StorageError, VocabularyIndexError
from kgtable.graph.store import store_state
from kgtable.graph.terms import KGT, RDF, RDFS, Namespaces
from kgtable.index.graph_index import GraphIndex, keep_index, mark_index
from kgtable.storage import storage_errors
from kgtable.systems.trag.trag_options import CLUSTERS, TYPICAL

HYPERGRAPH_FILE = "hypergraph.json"
"""The file of a generation that keeps the assignment of its tables to hyperedges."""


def stored_hypergraph(generation: Generation) -> Path:
    """The file with the hyperedges of a generation's graph, whether or not it is there."""
    return generation.path / HYPERGRAPH_FILE


def hypergraph_iri(names: Namespaces) -> str:
    """The named graph of the hyperedges."""
    return f"{names.base}hypergraph"


def write_hypergraph(directory: Path | str, *, clusters: int = CLUSTERS, typical: int = TYPICAL) -> Generation:
    """Cluster the tables of a graph and write the hyperedges to it, as a generation of its own.

    Builds that follow keep them up to date. Raises `GraphNotFoundError`, `GraphLockedError`,
    `VocabularyIndexError` if the graph has no index, `MissingExtraError` without scikit-learn, `StorageError`.
    """
    place = GraphDirectory(directory)
    if place.endpoint() is not None:
        raise GraphNotFoundError(
            f"The graph in {place.path} is kept by a SPARQL endpoint.", hint="Write them where it was built."
        )
    with place.building() as current:
        if current is None:
            raise GraphNotFoundError(f"There is no graph in {place.path}.")
        generation = place.begin_copy(current)
        try:
            keep_index(current, generation)
            write_hyperedges(generation, clusters, typical)
        except BaseException:
            shutil.rmtree(generation.path, ignore_errors=True)
            raise
        place.point_to(generation, generation.base)
    return generation


def refresh_hyperedges(generation: Generation) -> None:
    """The step of a build that brings hyperedges up to date, where the generation before has some."""
    before = generation.previous
    if before is None or not stored_hypergraph(before).exists():
        return
    about = json.loads(stored_hypergraph(before).read_text(encoding="utf-8"))
    write_hyperedges(generation, about["clusters"], about["typical"])


def write_hyperedges(generation: Generation, clusters: int, typical: int) -> None:
    """Write the hyperedges of a generation that no reader sees yet; those of the one before are taken up."""
    try:
        from kgtable.systems.trag.hypergraph import TableHypergraph
    except ImportError:
        raise MissingExtraError("The hypergraph", "trag") from None

    names = Namespaces(generation.base)
    before = None if generation.previous is None else stored_hypergraph(generation.previous)
    index = GraphIndex(generation.index_path)
    was_current = index.about["store"] == store_state(generation.store_path)
    hypergraph = TableHypergraph.open(index, before)
    made = hypergraph.hyperedges(clusters, typical)
    with storage_errors(generation.path):
        made.save(stored_hypergraph(generation))
        graph = ox.NamedNode(hypergraph_iri(names))
        try:
            store = ox.Store(str(generation.store_path))
            try:
                store.remove_graph(graph)
                store.bulk_extend(ox.Quad(*triple, graph) for triple in _triples(made.tables, made.hyperedges, names))
                store.flush()
            finally:
                del store
        except RuntimeError as error:
            if type(error) is not RuntimeError:
                raise
            raise StorageError(f"The store in {generation.path} is damaged: {error}.") from error
        if was_current:
            mark_index(generation)


_Triple = tuple[ox.NamedNode, ox.NamedNode, ox.NamedNode | ox.Literal]


def _triples(tables: tuple[str, ...], hyperedges: Any, names: Namespaces) -> Iterator[_Triple]:
    def table(number: int) -> ox.NamedNode:
        return ox.NamedNode(names.table_iri(tables[number]))

    for edge in hyperedges:
        node = ox.NamedNode(f"{hypergraph_iri(names)}/{edge.name}")
        label = f"{edge.feature} hyperedge {edge.number} ({len(edge.members):,} tables)"
        yield node, ox.NamedNode(f"{RDF}type"), ox.NamedNode(f"{KGT}Hyperedge")
        yield node, ox.NamedNode(f"{RDFS}label"), ox.Literal(label)
        yield node, ox.NamedNode(f"{KGT}feature"), ox.Literal(edge.feature.value)
        for member in edge.members.tolist():
            yield table(member), ox.NamedNode(f"{KGT}hyperedge"), node
        for member in edge.typical.tolist():
            yield node, ox.NamedNode(f"{KGT}typical"), table(member)


def hypergraph_info(generation: Generation) -> dict[str, Any] | None:
    """Facts about the stored hyperedges: clusters and tables by feature; None without any."""
    saved: Any = None
    with suppress(OSError, ValueError, VocabularyIndexError):
        saved = json.loads(stored_hypergraph(generation).read_text(encoding="utf-8"))
    if not isinstance(saved, dict):
        return None
    return {
        "hyperedges": sum(len(set(labels)) for labels in saved["labels"].values()),
        "features": list(saved["labels"]),
        "clusters": saved["clusters"],
        "typical": saved["typical"],
    }
