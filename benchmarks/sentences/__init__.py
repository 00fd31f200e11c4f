"""Measure search over real sentences with links."""
