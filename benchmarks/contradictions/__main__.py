"""Measure the detection of contradictions without a model: `python -m benchmarks.contradictions [OPTION]… [--show]`.

Without an option, precision and recall are measured on the pairs of statements in `pairs.txt`. The two statements of a
pair are documents of their own, and are compared as in a run. A pair belongs to the half `choosing`, on which rules are
chosen, or to the half `reporting`, by the parity of a hash of its words.

`--documents PATH…` compares the statements of documents in groups of ten, all candidate pairs of a group, and counts
what is found. `--claims FILE…` compares claims of SciFact or FoolMeTwice with each sentence of their evidence, and
counts what is found among evidence that contradicts a claim and among evidence that supports it. `--show` prints what
is found, or for the pairs what is wrong in the half for choosing.
"""

import argparse
import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenure.algorithms.chunking.chunking import chunk_text
from tenure.algorithms.claims.claim_pairs import find_contradictions, find_disputable_pairs
from tenure.algorithms.claims.contradictions import detect_contradiction
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.contracts.base import ChunkId, SourceId
from tenure.files.discovery import discover_files
from tenure.models.minilm.model import MiniLM
from tenure.sources.parsers.parse import open_document, parse_open_file

PAIRS = Path(__file__).parent / "pairs.txt"
GROUP = 10
"""Documents whose statements are compared with each other."""
MAX_PAIRS = 5_000
"""Maximum pairs of a group; a run compares far fewer."""
HALVES = ("choosing", "reporting")


@dataclass(frozen=True)
class LabelledPair:
    """Two statements, and whether they contradict each other."""

    kind: str
    contradictory: bool
    a: str
    b: str

    @property
    def half(self) -> str:
        """Half of the pairs to which it belongs."""
        return HALVES[hashlib.sha256(f"{self.a}|{self.b}".encode()).digest()[0] % 2]


def read_pairs(path: Path = PAIRS) -> list[LabelledPair]:
    """Read labelled pairs."""
    rows = (line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    fields = ([field.strip() for field in row.split(" | ")] for row in rows)
    return [LabelledPair(kind, label == "yes", a, b) for kind, label, a, b in fields]


def build_passage(source: str, text: str, headings: Sequence[str] = (), start: int = 0, title: str = "") -> Passage:
    """Return a passage of a document."""
    chunk = ChunkId(f"{source}:{start}")
    return Passage(
        chunk, SourceId(source), title or source, source, tuple(headings), text, start, start + len(text), "prose"
    )


def find_contradiction(pair: LabelledPair, encode: Encoder) -> bool:
    """Return whether a contradiction between the two statements is found without a model."""
    passages = []
    for name, side in (("a", pair.a), ("b", pair.b)):
        heading, _, text = side.rpartition(" :: ")
        passages.append(build_passage(name, text, [heading] if heading else []))
    return bool(find_contradictions(passages, encode))


def measure_pairs(pairs: Sequence[LabelledPair], encode: Encoder, *, show: bool) -> dict[str, Any]:
    """Return precision and recall of both halves, and of the kinds of pairs."""
    found = {pair: find_contradiction(pair, encode) for pair in pairs}
    for pair in pairs if show else ():
        if found[pair] != pair.contradictory and pair.half == "choosing":
            print("missed" if pair.contradictory else "FALSE ", f"{pair.kind:12}", pair.a, "|", pair.b)
    return {half: _measure({pair: found[pair] for pair in pairs if pair.half == half}) for half in HALVES}


def _measure(found: dict[LabelledPair, bool]) -> dict[str, Any]:
    true = sum(found[pair] and pair.contradictory for pair in found)
    named, contradictory = sum(found.values()), sum(pair.contradictory for pair in found)
    kinds = Counter[str]()
    for pair in found:
        kinds[pair.kind] += found[pair] and not pair.contradictory
    return {
        "pairs": len(found),
        "contradictory": contradictory,
        "found": named,
        "false": named - true,
        "precision": round(true / named, 3) if named else None,
        "recall": round(true / contradictory, 3),
        "false_by_kind": {kind: count for kind, count in kinds.items() if count},
    }


def read_documents(paths: Sequence[Path]) -> Iterator[list[Passage]]:
    """Yield the passages of each document."""
    for file in discover_files([path.absolute() for path in paths]).files:
        with open_document(Path(file.path)) as opened:
            document = parse_open_file(opened)
        spans = chunk_text(document.text, document.kind, title=document.title)
        yield [
            build_passage(Path(file.path).name, document.text[span.start : span.end], span.heading_path, span.start)
            for span in spans
        ]


def measure_documents(paths: Sequence[Path], encode: Encoder, *, show: bool) -> dict[str, int]:
    """Return the number of documents, of pairs that were compared, and of contradictions found."""
    documents = list(read_documents(paths))
    compared = found = 0
    for first in range(0, len(documents), GROUP):
        passages = [passage for document in documents[first : first + GROUP] for passage in document]
        pairs = find_disputable_pairs(passages, encode, MAX_PAIRS)
        contradictions = find_contradictions(passages, encode, MAX_PAIRS)
        compared, found = compared + len(pairs), found + len(contradictions)
        for one in contradictions if show else ():
            print(f"{one.about}\n  {one.a.source}: {one.a.quote}\n  {one.b.source}: {one.b.quote}")
    return {"documents": len(documents), "pairs": compared, "found": found}


def measure_claims(path: Path, encode: Encoder, *, show: bool) -> dict[str, int]:
    """Return the number of sentences that are found to contradict a claim, by the label of the evidence."""
    figures = Counter[str]()
    for claim, sentences, contradicts in read_claims(path):
        label = "contradicting" if contradicts else "supporting"
        for sentence in sentences:
            found = detect_contradiction(claim, sentence)
            figures[f"sentences_{label}"] += 1
            figures[f"found_{label}"] += found is not None
            if found and show:
                print(label, "|", claim, "|", sentence, "|", found.about)
    return dict(figures)


def read_claims(path: Path) -> Iterator[tuple[str, list[str], bool]]:
    """Yield claims with their evidence, and whether it contradicts them."""
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        if "gold_evidence" in row:
            yield row["claim"], [one["text"] for one in row["gold_evidence"]], row["label"] != "SUPPORTS"
            continue
        for one in row["evidence"]:
            yield row["claim"], list(one["text"]), one["label"] == "CONTRADICT"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contradictions", description=__doc__)
    parser.add_argument("--documents", nargs="+", type=Path, metavar="PATH", help="documents to compare")
    parser.add_argument("--claims", nargs="+", type=Path, metavar="FILE", help="judged claims to compare")
    parser.add_argument("--show", action="store_true", help="print what is found, or what is wrong")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as folder:
        encode = MiniLM(Path(folder)).embed
        result: dict[str, Any] = {}
        if arguments.documents:
            result["documents"] = measure_documents(arguments.documents, encode, show=arguments.show)
        for path in arguments.claims or ():
            result[path.stem] = measure_claims(path, encode, show=arguments.show)
        print(json.dumps(result or measure_pairs(read_pairs(), encode, show=arguments.show), indent=4))


if __name__ == "__main__":
    main()
