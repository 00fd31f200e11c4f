"""Decide what a memory is that a person writes: a new one, or a new text for a stored one.

A person is believed: such a memory names neither a run nor a source, and needs no confirmation. An edited memory counts
as written by the person, but still comes from the same corpora, since its text may repeat them.
"""

from typing import Final

from tenure.algorithms.memory import scoring
from tenure.algorithms.memory.fact_extraction import extract_fact
from tenure.algorithms.text.sentences import normalize_sentence
from tenure.contracts.choices import MemoryKind
from tenure.contracts.knowledge.memory import Memory, MemoryOrigin, NewMemory, WriteMemoryRequest

PERSON_CONFIDENCE: Final = 1.0
MAX_ASKED_IMPORTANCE: Final = 0.5
"""Importance of a memory that a person wants to be short-term; only its use makes it permanent."""


def choose_kind(request: WriteMemoryRequest) -> MemoryKind:
    """Return the kind of a new memory: the given one, else by its text; a person writes no episode."""
    new_memory = _describe(request, request.kind)
    kind = scoring.classify_memory(new_memory)
    if kind == "episodic":
        return "long_term"
    if request.kind is not None:
        return kind
    return scoring.promote_kind(kind, request.text, scoring.compute_importance(new_memory, kind, 0))


def build_memory(request: WriteMemoryRequest, kind: MemoryKind, replaced: Memory | None, id: str) -> Memory:
    """Return the memory to store."""
    new_memory = _describe(request, kind)
    importance = scoring.compute_importance(new_memory, kind, 0)
    return Memory(
        id=id,
        kind=kind,
        owner=request.owner,
        text=request.text,
        created_at=request.now,
        origin=MemoryOrigin(corpora=(replaced.origin.corpora or ()) if replaced else ()),
        confidence=PERSON_CONFIDENCE,
        importance=min(importance, MAX_ASKED_IMPORTANCE) if kind == "short_term" else importance,
        details=new_memory.details,
    )


def _describe(request: WriteMemoryRequest, kind: MemoryKind | None) -> NewMemory:
    """Return the content of a memory; the fact of a semantic one is extracted from its text if it is not given."""
    fact = request.fact or (extract_fact(request.text) if kind == "semantic" else None)
    return NewMemory(text=request.text, kind=kind, confidence=PERSON_CONFIDENCE, details=fact)


def normalize_words(text: str) -> str:
    """Return the words of a text for comparison; the text itself if it has none."""
    return normalize_sentence(text) or text
