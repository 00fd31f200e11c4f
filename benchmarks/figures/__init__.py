"""Whole runs on questions whose answers stand only in figures of public papers."""
