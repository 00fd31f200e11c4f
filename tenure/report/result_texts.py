"""Write the result of a coding run as Markdown texts, which the answers to follow-up questions cite.

The report and the change of each file are texts of their own, so that every citation names the file.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tenure.algorithms.coding.patches import split_patch
from tenure.contracts.research.trace import Trace
from tenure.contracts.result.ask import ResultText
from tenure.contracts.result.result import Result
from tenure.report.layout.report import compose_report
from tenure.report.layout.tree import BlockNode, CodeNode, ParagraphNode, PartNode
from tenure.report.render.escaping import format_code_block, format_code_span
from tenure.report.render.markdown import write_markdown
from tenure.report.trace.markdown import render_work

MAX_CHARACTERS: Final = 300_000
"""Length of all texts of a run, which travel with each question: a third of what the server accepts in a request of two
megabytes, since the texts are sent to the worker once more."""

_LEFT_OUT: Final = frozenset({"steps", "apply", "made"})
"""Parts of a report that are not cited: the work is a text of its own, and the others are about commands and costs."""

# "@@ -10,7 +10,9 @@ def parse(text):" begins at line 10 of the new file and has 9 lines of it
_PLACE: Final = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def write_texts(result: Result, trace: Trace) -> tuple[ResultText, ...]:
    """Return the task, the report, the change of each file and the work of a coding run, as far as there is room."""
    texts: list[ResultText] = []
    room = MAX_CHARACTERS
    for title, text in _list_texts(result, trace):
        shown = text if len(text) <= room else text[: max(0, text.rfind("\n", 0, room))]
        if shown.strip():
            texts.append(ResultText(title=title, text=shown))
        room -= len(shown)
    return tuple(texts)


def _list_texts(result: Result, trace: Trace) -> Iterator[tuple[str, str]]:
    page = result.repository.address if result.repository else ""
    yield f"The task, from {page}" if page else "The task", result.question
    report = compose_report(result)
    blocks = tuple(_remove_diffs(block) for block in report.blocks if getattr(block, "id", "") not in _LEFT_OUT)
    remarks = (block for block in report.head if not (isinstance(block, ParagraphNode) and block.style == "question"))
    yield "The report", write_markdown((*remarks, *blocks))
    for path, patch in split_patch(result.patch):
        yield f"The change of {path}", "\n\n".join(_write_hunks(path, patch))
    yield "The work", render_work(trace)


def _remove_diffs(block: BlockNode) -> BlockNode:
    """Return a block of a report without the patch, of which each file has a text."""
    if not isinstance(block, PartNode):
        return block
    return replace(
        block, blocks=tuple(b for b in block.blocks if not (isinstance(b, CodeNode) and b.language == "diff"))
    )


def _write_hunks(path: str, patch: str) -> Iterator[str]:
    """Yield the hunks of a file, each below its place."""
    head, *hunks = re.split(r"^(?=@@ )", patch, flags=re.MULTILINE)
    if not hunks:
        yield format_code_block(head, "diff")  # of a file without lines, or a binary one
    for hunk in hunks:
        place, _, lines = hunk.partition("\n")
        match = _PLACE.match(place)
        first, count = (int(match[1]), int(match[2] or 1)) if match else (0, 0)
        yield f"### {format_code_span(path)}, lines {first} to {max(first, first + count - 1)}"
        yield format_code_block(lines, "diff")
