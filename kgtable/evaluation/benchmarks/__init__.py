"""Benchmark folders made from official distributions, other benchmarks, or documents."""
