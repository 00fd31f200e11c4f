"""Count chunks that cut a list, a table or code: `python -m benchmarks.chunks PATH… [--tokens N] [--json]`.

Each document is parsed and split into chunks as in an ingestion, without embedding. A cut is a boundary between two
chunks inside a list, a table or a block of code, between one of these and the sentence with a colon that introduces it,
or between code or a table and the numbered notes below. A cut is avoidable if the parts that it separates fit into one
chunk of the maximum length.

The structure of a document is derived here from its normal form, line by line, and not from the blocks of the chunker.
Settings are chosen on the even documents and reported on the odd ones, so both halves are printed with the whole.
"""

import argparse
import json
import re
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from tenure.algorithms.chunking.chunking import MAX_OVERFLOW_FACTOR, ChunkSpan, chunk_text
from tenure.files.discovery import discover_files
from tenure.models.minilm.model import MiniLM
from tenure.settings import Settings
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.parsers.parse import open_document, parse_open_file

CutKind = Literal["list", "table", "code", "introduction", "notes"]
BlockKind = Literal["heading", "list", "table", "code", "prose"]
SMALL = 40
"""Tokens below which a chunk is small."""
HALVES = {"even": slice(0, None, 2), "odd": slice(1, None, 2), "all": slice(None)}
"""Documents for choosing by, those for reporting on, and both."""

_HEADING = re.compile(r"#{1,6} +\S")
_ITEM = re.compile(r" *(?:-|(?P<number>\d+)\.) ")
_INTRODUCTION = re.compile(r"[:\uff1a][\"'\u201d\u2019)\]]*$")
_SENTENCE_GAP = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z])|\n")
_CALLOUT = re.compile(r"[(<\[]1[)>\]]|(?:#|//|--) ?1\b")


class Block(NamedTuple):
    """Lines of one kind; code includes the blank lines inside it."""

    kind: BlockKind
    start: int
    end: int


class Whole(NamedTuple):
    """Text that a cut between two offsets would separate."""

    kind: CutKind
    start: int
    end: int
    first: int
    """Lowest end of a chunk that is a cut."""
    last: int
    """Highest end of a chunk that is a cut."""


@dataclass(frozen=True)
class Counts:
    """Cuts of one kind."""

    places: int
    """Lists, tables, blocks of code, introductions or notes."""
    cuts: int
    """Boundaries of chunks inside them."""
    avoidable: int
    """Cuts of places that fit into one chunk."""


@dataclass(frozen=True)
class Figures:
    """Figures of one half of the documents."""

    documents: int
    chunks: int
    mean_tokens: float
    small: int
    """Small chunks."""
    broken: int
    """Chunks that begin or end at a cut."""
    cuts: dict[CutKind, Counts]


class Measured(NamedTuple):
    """One document, its chunks and what they cut."""

    tokens: tuple[int, ...]
    wholes: tuple[Whole, ...]
    cuts: tuple[tuple[CutKind, bool], ...]
    """Kind of each cut, and whether it is avoidable."""
    broken: int


def find_blocks(text: str) -> list[Block]:
    """Return the blocks of a text in normal form."""
    blocks: list[Block] = []
    for found in re.finditer(r"[^\n]+(?:\n[^\n]+)*", text):
        kind = _classify(found[0].partition("\n")[0])
        if kind == "code" and blocks and blocks[-1].kind == "code":
            blocks[-1] = blocks[-1]._replace(end=found.end())
        else:
            blocks.append(Block(kind, *found.span()))
    return blocks


def _classify(line: str) -> BlockKind:
    if _HEADING.match(line):
        return "heading"
    if line.startswith("    "):
        return "code"
    if line.startswith("|"):
        return "table"
    return "list" if _ITEM.match(line) else "prose"


def find_wholes(text: str) -> Iterator[Whole]:
    """Yield all texts of a document that should be in one chunk."""
    blocks = find_blocks(text)
    for block in _join_lists(text, blocks):
        if block.kind in ("list", "table", "code"):
            yield Whole(block.kind, block.start, block.end, block.start + 1, block.end - 1)
    for before, after in pairwise(blocks):
        if before.kind == "prose" and after.kind in ("list", "table", "code"):
            words = text[before.start : before.end]
            if _INTRODUCTION.search(words):
                sentence = _SENTENCE_GAP.split(words)[-1]
                yield Whole("introduction", before.end - len(sentence), after.end, before.end, after.start)
    for number, block in enumerate(blocks):
        if block.kind in ("code", "table"):
            yield from _find_notes(text, block, blocks[number + 1 : number + 3])


def _join_lists(text: str, blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield the blocks, with the parts of a list between which its items have code as one list."""
    kept: list[Block] = []
    for block in blocks:
        middle = [one.kind for one in kept[-2:]]
        if block.kind == "list" and middle == ["list", "code"] and _continues(text, kept[-2], block):
            kept[-2] = kept[-2]._replace(end=block.end)
            yield kept.pop()
        else:
            kept.append(block)
    yield from kept


def _continues(text: str, before: Block, after: Block) -> bool:
    numbers = [_first_number(line) for line in text[before.start : before.end].split("\n") if _ITEM.match(line)]
    first = _first_number(text[after.start : after.end])
    return first > max(numbers) if first else not numbers[-1]


def _first_number(line: str) -> int:
    """Return the number of an item; 0 for one without."""
    item = _ITEM.match(line)
    return int((item and item["number"]) or 0)


def _find_notes(text: str, block: Block, following: Sequence[Block]) -> Iterator[Whole]:
    """Yield a block with the numbered notes below it, which may have an introduction if the block refers to them."""
    kinds = [one.kind for one in following]
    if kinds == ["prose", "list"]:
        introduced = _INTRODUCTION.search(text, following[0].start, following[0].end)
        if not introduced or not _CALLOUT.search(text, block.start, block.end):
            return
        notes = following[1]
    elif kinds[:1] == ["list"]:
        notes = following[0]
    else:
        return
    if _first_number(text[notes.start : notes.end]) == 1:
        yield Whole("notes", block.start, notes.end, block.end, notes.start)


def measure(document: Document, target: int, model: MiniLM) -> tuple[Measured, float]:
    """Return the cuts of one document and the seconds in which it was split."""
    count = lru_cache(maxsize=1000)(model.count_tokens)
    started = time.perf_counter()
    chunks = chunk_text(document.text, document.kind, target, count, title=document.title, max_tokens=model.max_tokens)
    seconds = time.perf_counter() - started
    wholes = tuple(find_wholes(document.text)) if document.kind == "prose" else ()
    limit = int(target * MAX_OVERFLOW_FACTOR)
    cuts: list[tuple[CutKind, bool]] = []
    broken: set[int] = set()
    for whole in wholes:
        for before, after in _find_cuts(whole, chunks):
            broken |= {before.ordinal, after.ordinal}
            cuts.append((whole.kind, count(document.text[whole.start : whole.end]) <= limit))
    return Measured(tuple(chunk.tokens for chunk in chunks), wholes, tuple(cuts), len(broken)), seconds


def _find_cuts(whole: Whole, chunks: Sequence[ChunkSpan]) -> list[tuple[ChunkSpan, ChunkSpan]]:
    return [(a, b) for a, b in pairwise(chunks) if whole.first <= a.end <= whole.last and b.start < whole.end]


def summarize(documents: Sequence[Measured]) -> Figures:
    """Return the figures of some documents."""
    tokens = [size for document in documents for size in document.tokens]
    cuts = [cut for document in documents for cut in document.cuts]
    places = [whole.kind for document in documents for whole in document.wholes]
    return Figures(
        documents=len(documents),
        chunks=len(tokens),
        mean_tokens=round(statistics.fmean(tokens or [0]), 1),
        small=sum(size < SMALL for size in tokens),
        broken=sum(document.broken for document in documents),
        cuts={
            kind: Counts(places.count(kind), sum(one == kind for one, _ in cuts), cuts.count((kind, True)))
            for kind in get_args(CutKind)
        },
    )


def read_documents(paths: Sequence[Path]) -> Iterator[Document]:
    """Yield the documents of files and folders; an unreadable file ends the measurement."""
    for file in discover_files([path.absolute() for path in paths]).files:
        with open_document(Path(file.path)) as opened:
            yield parse_open_file(opened)


def format_figures(half: str, figures: Figures) -> str:
    """Return the figures of one half as lines of a table."""
    head = (
        f"{half}: {figures.documents} documents, {figures.chunks} chunks, mean {figures.mean_tokens} tokens, "
        f"{figures.small} small, {figures.broken} begin or end at a cut"
    )
    rows = (
        f"  {kind:14}{counts.places:8}{counts.cuts:8}{counts.avoidable:11}" for kind, counts in figures.cuts.items()
    )
    return "\n".join((head, f"  {'':14}{'places':>8}{'cuts':>8}{'avoidable':>11}", *rows))


def main() -> None:
    """Run from the command line."""
    settings = Settings()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chunks", description=__doc__)
    parser.add_argument("path", nargs="+", type=Path, help="file or folder")
    parser.add_argument("--tokens", type=int, default=settings.chunk_tokens, help="target length of a chunk")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    model = MiniLM(settings.home.absolute() / "models", threads=settings.embedding_threads)
    model.count_tokens("warm up")
    try:
        measured = [measure(one, arguments.tokens, model) for one in read_documents(arguments.path)]
    except Unreadable as error:
        parser.error(f"a file {error.reason}")
    figures = {half: summarize([one for one, _ in measured[part]]) for half, part in HALVES.items()}
    seconds = round(sum(seconds for _, seconds in measured), 2)
    if arguments.json:
        print(json.dumps({**{half: asdict(values) for half, values in figures.items()}, "seconds": seconds}))
    else:
        print("\n".join(format_figures(half, values) for half, values in figures.items()))
        print(f"{seconds} s for splitting")


if __name__ == "__main__":
    main()
