"""Whole runs on questions whose answers appear only in figures of public papers."""
