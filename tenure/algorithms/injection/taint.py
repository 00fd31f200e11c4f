"""Mark statements that a text with instructions to language models may have influenced (taint tracking).

A statement is tainted if it cites such a text, or if a model wrote or judged it with such a text, or with a tainted
statement, in its prompt. A verbatim quote is tainted only by its own source, because no model has chosen its words.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from pydantic import BaseModel

from tenure.algorithms.injection.detection import contains_instructions
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import normalize_sentence
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.passages import Claim

T = TypeVar("T")

OWN_FIELDS = frozenset({"question", "feedback", "language", "tools", "strategies"})
"""Fields of role inputs that contain words of the people who asked, or of this program."""


def has_instructions(passage: Passage) -> bool:
    """Return whether a passage, its headings or the title of its source contain instructions to language models."""
    heading = "\n\n".join((passage.title, *passage.heading_path))
    return contains_instructions(passage.text) or contains_instructions(heading)


def find_suspicious_sources(passages: Iterable[Passage]) -> tuple[SourceId, ...]:
    """Return the sources of the passages that contain instructions to language models."""
    return tuple(dict.fromkeys(passage.source for passage in passages if has_instructions(passage)))


def is_exposed(input: BaseModel) -> bool:
    """Return whether a role's input (observations, drafts, files, results) contains instructions to language models."""
    values = (inner for name, value in input if name not in OWN_FIELDS for inner in _walk(value))
    return any(isinstance(value, str) and contains_instructions(value) for value in values)


def has_tainted_claim(value: object) -> bool:
    """Return whether a tainted statement occurs anywhere in a value."""
    return any(isinstance(inner, Claim) and inner.tainted for inner in _walk(value))


def mark_claims(value: T) -> T:
    """Return a copy of a value in which every statement is tainted that is no verbatim quote."""
    changed: Any = value
    if isinstance(value, Claim):
        changed = value if is_verbatim(value) else value.model_copy(update={"tainted": True})
    elif isinstance(value, BaseModel):
        fields = {name: mark_claims(inner) for name, inner in value}
        updates = {name: inner for name, inner in fields.items() if inner is not getattr(value, name)}
        changed = value.model_copy(update=updates) if updates else value
    elif isinstance(value, tuple):
        items = tuple(mark_claims(inner) for inner in value)
        changed = items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    result: T = changed
    return result


def is_verbatim(claim: Claim) -> bool:
    """Return whether a quote of a statement contains it as a whole."""
    text = normalize_sentence(claim.statement)
    return bool(text) and any(text in normalize_sentence(citation.quote) for citation in claim.citations)


def _walk(value: object) -> Iterator[object]:
    yield value
    inside: Iterable[object] = ()
    if isinstance(value, BaseModel):
        inside = dict(value).values()
    elif isinstance(value, dict):
        inside = value.values()
    elif isinstance(value, tuple):
        inside = value
    for inner in inside:
        yield from _walk(inner)
