"""kgtable turns folders of tables into a QUDT knowledge graph and answers questions from it."""

__version__ = "0.1.0"
