"""DMRAL: questions over several tables, decomposed along the tables, retrieved by coverage, answered step by step."""
