"""Build documents from the output of programs: the printed lines for quotes, then inputs and code."""

from typing import Final

from tenure.contracts.evidence.computing import ComputationRequest
from tenure.sources.document.document import Document
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.parsers.table_text import add_figures

METHOD_HEADING: Final = "How it was computed"
"""Heading of the part after the output, which must not be quoted as a result."""

_MAX_QUOTED_LINES: Final = 40
"""Maximum number of lines that are listed individually; the complete output follows."""


def build_program_document(request: ComputationRequest, origin: str) -> Document:
    """Return the output of a program, with its inputs, its code and the names of its artifacts."""
    form = NormalFormWriter()
    lines = [line for line in map(collapse_whitespace, request.output.splitlines()) if line]
    add_figures(
        form,
        collapse_whitespace(request.title).rstrip(" .:"),
        lines[:_MAX_QUOTED_LINES],
        "as the program printed it",
        "lines",
    )
    form.add_heading(2, METHOD_HEADING)
    form.add_paragraph(f"A program computed this from {origin}. The program was checked only by reading it.")
    for table in request.inputs:
        form.add_paragraph(f"It read {table.name}, the result of a query:")
        form.add_literal(table.sql)
    form.add_paragraph("This is the program:")
    form.add_literal(request.code)
    if len(lines) > _MAX_QUOTED_LINES:
        form.add_paragraph("This is all that it printed:")
        form.add_literal(request.output)
    if request.artifacts:
        form.add_paragraph(f"It made the files {', '.join(request.artifacts)}.")
    return Document(title=request.title, text=form.text, kind="prose")
