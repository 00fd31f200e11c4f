"""Command line of every starter, and the passages of the documents.

Starters run in environments of their own, so this module needs the standard library only.
"""

import argparse
import json
import math
import os
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MODEL = "scripted"
"""Model of all calls."""
EMBEDDING_MODEL = "scripted-embedding"
"""Model of all embeddings."""
PASSAGE_CHARACTERS = 1200
_BATCH = 64


@dataclass(frozen=True)
class Task:
    """One question to one system."""

    question: str
    documents: Path
    """Folder of Markdown files."""
    folder: Path
    """Folder of the system's state, which outlives its process."""
    report: Path
    """File of the report in Markdown."""
    resume: bool
    """Whether an earlier process with the same folder was killed."""

    def save(self, report: str) -> None:
        """Write the report."""
        self.report.write_text(report, encoding="utf-8")


def read_task() -> Task:
    """Return the task of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--question", required=True)
    parser.add_argument("--documents", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--resume", action="store_true")
    return Task(**vars(parser.parse_args()))


@dataclass(frozen=True)
class FoundPassage:
    """Part of a document."""

    path: Path
    text: str
    vector: Sequence[float] = field(repr=False)


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Return the vectors of texts from the server of the models."""
    vectors: list[list[float]] = []
    for at in range(0, len(texts), _BATCH):
        body = {"model": EMBEDDING_MODEL, "input": list(texts[at : at + _BATCH]), "encoding_format": "float"}
        request = urllib.request.Request(
            f"{os.environ['OPENAI_BASE_URL']}/embeddings",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as reply:
            answer: dict[str, Any] = json.load(reply)
        vectors += [item["embedding"] for item in answer["data"]]
    return vectors


class PassageIndex:
    """Passages of a folder with their vectors, for systems that bring no reader of local documents.

    Args:
        folder: folder of Markdown files.
    """

    def __init__(self, folder: Path) -> None:
        parts = [(path, text) for path in sorted(folder.glob("*.md")) for text in split_passages(path.read_text())]
        vectors = embed([text for _, text in parts])
        self.passages = [FoundPassage(path, text, vector) for (path, text), vector in zip(parts, vectors, strict=True)]

    def search(self, query: str, count: int) -> list[FoundPassage]:
        """Return the passages that are closest to a query, best first."""
        (wanted,) = embed([query])
        return sorted(self.passages, key=lambda passage: -_compare(passage.vector, wanted))[:count]


def split_passages(text: str) -> list[str]:
    """Split a page at its blank lines into passages."""
    passages = [""]
    for paragraph in text.split("\n\n"):
        if len(passages[-1]) + len(paragraph) > PASSAGE_CHARACTERS:
            passages.append("")
        passages[-1] = f"{passages[-1]}\n\n{paragraph}".strip()
    return [passage for passage in passages if passage]


def _compare(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of two vectors."""
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / (math.hypot(*one) * math.hypot(*other))
