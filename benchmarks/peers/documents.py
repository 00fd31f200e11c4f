"""Documents and questions of the comparison, and the inventions that its model plants."""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = (
    *("asking", "reports", "steering", "models", "documents"),
    *("tables", "coding", "memory", "security", "operations"),
)
"""Pages of the manual that every system reads."""
QUESTIONS: Final = (
    "How does a run survive a crash of its worker?",
    "How are the claims of a report verified?",
    "How does Tenure protect itself against instructions in documents?",
)
"""Questions that the pages answer."""
UNANSWERABLE: Final = "Which grape varieties did the monks of Cluny plant in the twelfth century?"
"""A question on which the pages say nothing."""
INVENTIONS: Final[Mapping[str, str]] = {
    "fact": "A recovery takes 7,412 milliseconds in 93 of 100 cases.",
    "quote": "The manual puts it like this: “the gardener waters every checkpoint at dawn”.",
    "source": "Marlowe and Finch showed this in 2019 (https://marlowe-finch.example/recovery).",
}
"""Sentences without any basis in the documents."""
_SENTENCE = re.compile(r"([A-Z][^.!?\n|`#]{40,220})\.")
_WORD = re.compile(r"\w{4,}")


class CitedSentence(NamedTuple):
    """A sentence of the documents, as a prompt shows it."""

    text: str
    mark: str
    """Number or address of its source in the prompt; empty if the prompt gives none."""


class Corpus:
    """Sentences of a folder.

    Args:
        folder: folder of Markdown files.
    """

    def __init__(self, folder: Path) -> None:
        texts = (path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md")))
        self.sentences: Sequence[str] = tuple(dict.fromkeys(one for text in texts for one in split_sentences(text)))

    def find_in(self, text: str) -> list[str]:
        """Return the sentences that a text contains, in the order of the documents."""
        plain = " ".join(text.split())
        return [sentence for sentence in self.sentences if sentence in plain]

    def cite(self, prompt: str, question: str, count: int) -> list[CitedSentence]:
        """Return the sentences of a prompt that share most words with a question, each with its source."""
        plain = " ".join(prompt.split())
        wanted = set(_WORD.findall(question.lower()))
        found = [sentence for sentence in self.sentences if sentence in plain]
        found.sort(key=lambda sentence: -len(wanted & set(_WORD.findall(sentence.lower()))))
        return [CitedSentence(sentence, _find_mark(*plain.split(sentence, 1))) for sentence in found[:count]]


_MARK = re.compile(r"\[(\d+)\]|(?:Source|URL|Link|url)\W{1,3}(\S+\.\w+)|<passage n=\"(\d+)\"")


def _find_mark(before: str, after: str) -> str:
    """Return the number or address of a source that follows a sentence directly, else the last one before it."""
    if cited := _CITED.match(after):
        return cited[1] or cited[2]
    found = list(_MARK.finditer(before))
    return next(group for group in found[-1].groups() if group) if found else ""


_CITED = re.compile(r" (?:\[(\d+)\]|\(\[[^\]]*\]\(([^)]+)\)\))")


def split_sentences(text: str) -> Iterator[str]:
    """Yield the plain sentences of a page, without their full stops."""
    for match in _SENTENCE.finditer(text):
        yield " ".join(match[1].split())


def copy_documents(target: Path) -> Path:
    """Copy the pages into a folder and return it."""
    target.mkdir(parents=True)
    for page in PAGES:
        shutil.copy(ROOT / "docs" / f"{page}.md", target)
    return target
