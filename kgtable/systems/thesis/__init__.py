"""SPARQL-based hybrid retrieval over RDF triples as the thesis publishes it (section 4.4)."""
