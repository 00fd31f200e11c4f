"""Choose how much of its proofs a report shows: quotes, references, and the record of how it was made."""

from collections.abc import Callable
from dataclasses import replace

from tenure.contracts.choices import ReportProofs
from tenure.report.layout.tree import (
    BlockNode,
    ChartNode,
    CitationNode,
    CodeNode,
    DefinitionsNode,
    Line,
    ListNode,
    ParagraphNode,
    PartNode,
    PictureNode,
    QuoteNode,
    ReportTree,
    TableNode,
)

_RECORD = frozenset({"reasoning", "steps", "made", "quotes"})
"""Parts that only prove the others."""


def choose_proofs(report: ReportTree, proofs: ReportProofs) -> ReportTree:
    """Return a report with the chosen proofs; a report that consists of its record alone keeps it."""
    record = tuple(block for block in report.blocks if _is_part(block, _RECORD))
    if proofs == "full" or len(record) == len(report.blocks):
        return report
    if proofs == "only":
        return replace(report, head=(), blocks=record)
    blocks = tuple(block for block in report.blocks if block not in record)
    if proofs == "none":
        left_out = frozenset({"references"})
        blocks = tuple(_rewrite(block, _remove_marks) for block in blocks if not _is_part(block, left_out))
    return replace(report, blocks=blocks)


def _is_part(block: BlockNode, ids: frozenset[str]) -> bool:
    return isinstance(block, PartNode) and block.id in ids


def _remove_marks(line: Line) -> Line:
    """Return a line without citation marks; a remark that a reader must see stays."""
    return tuple(replace(node, marks=(), unsourced="") if isinstance(node, CitationNode) else node for node in line)


def _rewrite(block: BlockNode, change: Callable[[Line], Line]) -> BlockNode:
    """Return a block with all of its lines changed."""
    match block:
        case PartNode():
            return replace(block, blocks=tuple(_rewrite(inner, change) for inner in block.blocks))
        case QuoteNode():
            return replace(
                block,
                blocks=tuple(_rewrite(inner, change) for inner in block.blocks),
                caption=change(block.caption),
            )
        case ParagraphNode():
            return replace(block, line=change(block.line))
        case ListNode():
            return replace(block, items=tuple(map(change, block.items)))
        case DefinitionsNode():
            return replace(block, items=tuple((change(term), change(meaning)) for term, meaning in block.items))
        case TableNode():
            rows = tuple(tuple(map(change, row)) for row in block.rows)
            return replace(block, columns=tuple(map(change, block.columns)), rows=rows)
        case CodeNode() | PictureNode() | ChartNode():
            return replace(block, caption=change(block.caption))
