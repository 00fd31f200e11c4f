"""Write a document tree as Markdown.

All text of the tree is escaped, so that Markdown shows it unchanged. Links are written as addresses, since Markdown is
also read as plain text.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from tenure.algorithms.text.printable import remove_control_characters
from tenure.contracts.choices import CitationStyle, ReportProofs
from tenure.contracts.result.ask import AskReply
from tenure.contracts.result.result import Result
from tenure.report.layout.answer import compose_answer
from tenure.report.layout.report import compose_report
from tenure.report.layout.tree import (
    AnchorNode,
    BlockNode,
    ChartNode,
    CitationNode,
    CodeNode,
    DefinitionsNode,
    InlineNode,
    Line,
    LinkNode,
    ListNode,
    ParagraphNode,
    PartNode,
    PictureNode,
    QuoteNode,
    StatementNode,
    TableNode,
    TextSpan,
)
from tenure.report.render.charts import write_bars
from tenure.report.render.escaping import (
    escape,
    escape_cell,
    escape_line_start,
    escape_words,
    format_code_block,
    format_code_span,
)


def render_markdown(
    result: Result, base: PurePath | None = None, style: CitationStyle = "numeric", proofs: ReportProofs = "full"
) -> str:
    """Render a result document as Markdown."""
    report = compose_report(result, base, style, proofs)
    return f"# {escape(report.title)}\n\n{write_markdown((*report.head, *report.blocks))}\n"


def render_answer(answer: AskReply, base: PurePath | None = None) -> str:
    """Render the answer to a follow-up question as Markdown."""
    return write_markdown(compose_answer(answer, base)) + "\n"


def write_markdown(blocks: Iterable[BlockNode], level: int = 2) -> str:
    """Return blocks as Markdown, with headings from a level on."""
    return remove_control_characters("\n\n".join(text for block in blocks for text in _write_block(block, level)))


def _write_block(block: BlockNode, level: int) -> Iterator[str]:
    match block:
        case PartNode():
            yield f"{'#' * level} {escape(block.heading)}"
            yield from (text for inner in block.blocks for text in _write_block(inner, level + 1))
        case ParagraphNode():
            yield ("> " if block.style == "question" else "") + write_line(block.line)
        case ListNode():
            # Another sign, since a list of notes would continue a list of statements before it.
            bullet = "*" if block.style == "note" else "-"
            signs = (f"{n}." if block.ordered else bullet for n in range(1, len(block.items) + 1))
            yield "\n".join(f"{sign} {write_line(item)}" for sign, item in zip(signs, block.items, strict=True))
        case DefinitionsNode():
            yield "\n".join(f"- **{write_line(term)}:** {write_line(meaning)}" for term, meaning in block.items)
        case TableNode():
            yield _write_table(block)
        case CodeNode():
            yield format_code_block(block.text, block.language)
            yield from [write_line(block.caption)] if block.caption else []
        case ChartNode():
            yield write_line(block.caption)
            yield format_code_block(write_bars(block), "")
        case PictureNode():
            yield write_line(block.caption)
        case QuoteNode():
            yield "\n".join(f"> {line}".rstrip() for line in write_markdown(block.blocks, level).splitlines())
            yield f"— {write_line(block.caption)}"


def _write_table(table: TableNode) -> str:
    width = max(map(len, [table.columns, *table.rows]))
    head = [*map(write_line, table.columns), *[""] * width][:width]
    rows = [[*map(write_line, row)] for row in table.rows]
    if table.labelled:
        rows = [[f"**{row[0]}**" if row[0] else "", *row[1:]] for row in rows]
    return "\n".join(f"| {' | '.join(map(escape_cell, row))} |" for row in [head, ["---"] * width, *rows])


def write_line(line: Line) -> str:
    """Return inline nodes as Markdown, also at the start of a line."""
    text = "".join(map(_write_inline, line)).strip()
    first = line[0] if line else None
    is_text = isinstance(first, StatementNode) and first.spans and first.spans[0].kind == "text"
    return escape_line_start(text) if is_text or (isinstance(first, TextSpan) and first.kind == "text") else text


def _write_inline(node: InlineNode) -> str:
    match node:
        case TextSpan():
            return _write_span(node)
        case StatementNode():
            return "".join(map(_write_span, node.spans))
        case CitationNode():
            marks = "".join(f"{mark.before}{escape_words(mark.label)}{mark.after}" for mark in node.marks)
            source = marks or node.unsourced
            return (f" [{node.note}]" if node.note else "") + (f" {source}" if source else "")
        case LinkNode():
            return f"<{node.url}>"
        case AnchorNode():
            return escape_words(node.label)


def _write_span(span: TextSpan) -> str:
    """Return words in their format; white space next to the marks of emphasis would make them text."""
    if span.kind == "code":
        return format_code_span(span.text)
    mark = {"em": "*", "strong": "**"}.get(span.kind, "")
    words = span.text.strip() if mark else span.text
    before, _, after = span.text.partition(words)
    return f"{before}{mark}{escape_words(words)}{mark}{after}" if words else span.text
