"""Understand questions without a model: their clauses, noun phrases and references."""
