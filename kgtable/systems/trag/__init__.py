"""T-RAG: tables as a hypergraph, retrieved from coarse to fine (Zou et al., 2025)."""
