"""Render the sources of a report as bibliographies and links to quoted words."""
