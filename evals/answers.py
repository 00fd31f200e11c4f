"""Answer of a system to one question, in the form that every scorer reads."""

import re
import unicodedata
from collections.abc import Iterable

from inspect_ai.util import StoreModel


class Answer(StoreModel):
    """Answer of one sample."""

    text: str = ""
    """Short answer; empty if the system gives none."""
    cited: list[str] = []
    """Names of the files that it cites."""
    report_cited: list[str] = []
    """Names of the files that the whole report cites."""
    sentences: list[tuple[str, list[str]]] = []
    """Sentences of the report, each with the names of the files that it cites."""
    model_calls: int = 0
    """Billed answers of a model."""
    tokens: int = 0
    """Prompt and completion tokens."""
    searches: int = 0
    """Searches of the documents."""
    cost_usd: float | None = None
    """Cost in US dollars; None if a model has no known price."""
    words: int = 0
    """Words of the report."""


def contains_answer(text: str, answers: Iterable[str]) -> bool:
    """Return whether a text contains one of the answers as whole words, without regard to case and punctuation."""
    words = f" {normalize_answer(text)} "
    return any(f" {wanted} " in words for answer in answers if (wanted := normalize_answer(answer)))


def normalize_answer(text: str) -> str:
    """Return a text in lower case without accents, punctuation and articles."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(char))
    plain = re.sub(r"(?<=\d),(?=\d)", "", plain)
    return " ".join(word for word in re.findall(r"\w+", plain) if word not in {"a", "an", "the"})
