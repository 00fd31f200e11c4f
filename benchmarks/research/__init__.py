"""Benchmarks of the research loop and of its retrieval strategies."""
