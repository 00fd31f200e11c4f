"""What a program printed as a document: its lines to be quoted, then everything that shows how they came about."""

from collections.abc import Sequence
from typing import Final

from tenure.contracts.evidence.computing import ComputationRequest
from tenure.sources.document.document import Document
from tenure.sources.document.normal_form import NormalForm, one_line
from tenure.sources.parsers.table_text import tell

HOW: Final = "How it was computed"
"""Heading of what stands after the figures: no part of them, and not to be quoted as one."""

_TOLD: Final = 40
"""Lines of the output that are told one by one; the others stand below with all of it."""


def program_document(request: ComputationRequest, origin: str) -> Document:
    """Return what a program printed, with its inputs, its code and the names of what it made."""
    form = NormalForm()
    lines = [line for line in map(one_line, request.printed.splitlines()) if line]
    tell(form, one_line(request.title).rstrip(" .:"), lines[:_TOLD], "as the program printed it", "lines")
    form.heading(2, HOW)
    form.paragraph(f"A program computed this from {origin}. Nobody has checked the program but by reading it.")
    for one in request.inputs:
        form.paragraph(f"It read {one.name}, the result of a query:")
        form.literal(one.sql)
    form.paragraph("This is the program:")
    form.literal(request.code)
    if len(lines) > _TOLD:
        form.paragraph("This is all that it printed:")
        form.literal(request.printed)
    if request.artifacts:
        form.paragraph(f"It made the files {_listed(request.artifacts)}.")
    return Document(title=request.title, text=form.text, kind="prose")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
