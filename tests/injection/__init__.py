"""Hostile documents, a model that obeys them, and the web that they point to."""
