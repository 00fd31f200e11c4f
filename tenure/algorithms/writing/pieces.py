"""Split a passage into the pieces of which an excerpt consists: sentences, list items, rows of tables, code."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from tenure.algorithms.chunking.prose import CAPTION
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import classify_line, split_sentences
from tenure.contracts.evidence.passages import ExcerptPart

MAX_PIECE_CHARACTERS = 1_500
"""Maximum characters of a sentence, a row or a piece of code; a data line can be a single word."""


class ExcerptPiece(NamedTuple):
    """Sentence, item, row or code of a passage."""

    start: int
    end: int
    text: str
    part: ExcerptPart
    block: int
    """Number of its paragraph, list, table or code in the passage."""


def split_pieces(passage: Passage) -> tuple[ExcerptPiece, ...]:
    """Split a passage into sentences, items, rows and code, in order."""
    text = passage.text
    if passage.kind == "code":
        return (_cut_piece(text, 0, len(text.rstrip()), "code", 0),) if text.strip() else ()
    sentences = split_sentences(text)
    starts = [sentence.start for sentence in sentences]
    pieces: list[ExcerptPiece] = []
    block, before, offset = 0, "", 0
    for line in text.splitlines(keepends=True):
        start, end = offset, offset + len(line.rstrip())
        offset += len(line)
        kind = classify_line(line)
        if start == end:
            continue
        block += kind == "prose" or kind != before
        if kind == "code" == before:
            pieces[-1] = _cut_piece(text, pieces[-1].start, end, "code", block)
        elif kind in ("code", "table"):
            pieces.append(_cut_piece(text, start, end, "code" if kind == "code" else "row", block))
        else:
            first: ExcerptPart = "item" if kind == "item" else "paragraph"
            run = sentences[bisect_left(starts, start) : bisect_left(starts, end)]
            pieces += [_cut_piece(text, s.start, s.end, "sentence" if n else first, block) for n, s in enumerate(run)]
        before = kind
    return tuple(pieces)


def describe_rows(passage: Passage, pieces: Sequence[ExcerptPiece]) -> dict[int, str]:
    """Return for the numbers of the rows below a header what they say: caption, names of the columns, and cells.

    "| Hill | 82 |" alone concerns no question; "Honey of the year: Station Hill, kg 82" does. A caption is above or
    below its table.
    """
    described: dict[int, str] = {}
    opening, caption, columns, block = "", "", passage.columns.split(", ") if passage.columns else [], 0
    for number, piece in enumerate(pieces):
        if piece.part != "row":
            if piece.part != "sentence":  # the caption of a table above is not that of one below
                opening = piece.text if CAPTION.match(piece.text) and piece.text != caption else ""
            block = 0
            continue
        if not block:
            below = next((later for later in pieces[number:] if later.part != "row"), piece)
            caption = opening or (below.text if CAPTION.match(below.text) else "")
        cells = piece.text.removeprefix("| ").removesuffix(" |").split(" | ")
        if piece.block != block and (number or not passage.columns):
            columns = cells
        else:
            names = columns if len(columns) == len(cells) else [""] * len(cells)
            said = [f"{name} {cell}".strip() for name, cell in zip(names, cells, strict=True) if cell]
            about = caption or ("" if len(columns) == len(cells) else ", ".join(columns))
            described[number] = f"{about}: {', '.join(said)}".removeprefix(": ")
        block = piece.block
    return described


def _cut_piece(text: str, start: int, end: int, part: ExcerptPart, block: int) -> ExcerptPiece:
    """Return a piece of at most `MAX_PIECE_CHARACTERS`, which ends with a whole word, and code with a whole line."""
    if end - start > MAX_PIECE_CHARACTERS:
        most = start + MAX_PIECE_CHARACTERS
        last = max(text.rfind("\n", start, most), 0 if part == "code" else text.rfind(" ", start, most))
        end = last if last > start else most
    return ExcerptPiece(start, end, text[start:end], part, block)
