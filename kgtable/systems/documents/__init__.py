"""Question answering over text and tables together, after TableRAG (Huawei, 2025)."""
