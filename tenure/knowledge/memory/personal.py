"""Write memories on behalf of a person: new ones, and new texts for stored ones.

A person is believed: such a memory names neither a run nor a source, and needs no confirmation. An edited memory counts
as written by the person, but still comes from the same corpora, since its text may repeat them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tenure.algorithms.memory import scoring
from tenure.algorithms.memory.fact_extraction import extract_fact
from tenure.algorithms.text.passage import Encoder, Vectors
from tenure.algorithms.text.sentences import normalize_sentence
from tenure.contracts.knowledge.memory import (
    MAX_PREFERENCE_CHARS,
    MAX_PREFERENCES,
    Memory,
    MemoryKind,
    MemoryOrigin,
    NewMemory,
    WriteMemoryReply,
    WriteMemoryRequest,
    WriteProblem,
)
from tenure.knowledge.memory import rows as memory_rows
from tenure.knowledge.store.store import Store, quote_literal

PERSON_CONFIDENCE: Final = 1.0
"""Confidence in a statement of the owner."""
MAX_ASKED_IMPORTANCE: Final = 0.5
"""Importance of a memory that a person wants to be short-term; only its use makes it permanent."""
_MAX_EQUAL: Final = 5
"""Nearest memories of a text that may have the same words."""


class WriteRefused(Exception):
    """The memory is not written."""

    def __init__(self, problem: WriteProblem, memory: Memory | None = None) -> None:
        super().__init__(problem)
        self.problem, self.memory = problem, memory


@dataclass(frozen=True)
class PersonalMemories:
    """Memories that people write."""

    store: Store
    table: str
    model: str
    encode: Encoder
    load: Callable[[list[str]], dict[str, Memory]]

    def write(self, request: WriteMemoryRequest) -> WriteMemoryReply:
        """Store a memory, or return why it is not stored; the operation is idempotent."""
        try:
            return WriteMemoryReply(memory=self._write(request))
        except WriteRefused as refused:
            return WriteMemoryReply(memory=refused.memory, problem=refused.problem)

    def _write(self, request: WriteMemoryRequest) -> Memory:
        """Store a memory and return it."""
        replaced = self._load_replaced(request)
        kind = replaced.kind if replaced else _choose_kind(request)
        if kind == "preference" and len(request.text) > MAX_PREFERENCE_CHARS:
            raise WriteRefused("too_long")
        vectors = self.encode([request.text])
        equal = self._find_equal(request, vectors[0])
        if equal and equal.id != request.replaces:
            if replaced is None and equal.created_at == request.now:
                return equal  # a repeated attempt
            raise WriteRefused("duplicate", equal)
        if kind == "preference" and replaced is None:
            self._check_number(request.owner)
        memory = _build_memory(request, kind, replaced, replaced.id if replaced else self._choose_id(request))
        memory_rows.write_memories(self.store, self.table, [memory], vectors, self.model, new=True)
        return memory

    def _load_replaced(self, request: WriteMemoryRequest) -> Memory | None:
        """Return the memory whose text is replaced, or None for a new memory."""
        if not request.replaces:
            return None
        stored = self.load([request.replaces]).get(request.replaces)
        if stored is None or stored.owner != request.owner:
            raise WriteRefused("unknown")
        if stored.kind == "episodic":
            raise WriteRefused("episode", stored)
        return stored

    def _find_equal(self, request: WriteMemoryRequest, vector: Vectors) -> Memory | None:
        """Return the memory of a person that has the same words, or None."""
        where = f"{memory_rows.build_owner_condition(request.owner)} AND run = '' AND kind <> 'episodic'"
        where += f" AND model = {quote_literal(self.model)}"
        found = self.store.search_vectors(self.table, memory_rows.COLUMNS, vector, where, _MAX_EQUAL).to_pylist()
        words = _normalize(request.text)
        equal = (memory for memory in map(memory_rows.parse_memory, found) if _normalize(memory.text) == words)
        return next(equal, None)

    def _check_number(self, owner: str) -> None:
        """Check that the owner may have one more preference."""
        if len(memory_rows.load_preferences(self.store, owner)) >= MAX_PREFERENCES:
            raise WriteRefused("too_many")

    def _choose_id(self, request: WriteMemoryRequest) -> str:
        """Return the id of a new memory; not that of one that had this text before it was edited."""
        words = _normalize(request.text)
        id = memory_rows.make_memory_id(request.owner, "", words)
        if id not in self.load([id]):
            return id
        return memory_rows.make_memory_id(request.owner, "", f"{words}\0{request.now.isoformat()}")


def _choose_kind(request: WriteMemoryRequest) -> MemoryKind:
    """Return the kind of a new memory: the given one, else by its text; a person writes no episode."""
    new_memory = _describe(request, request.kind)
    kind = scoring.classify_memory(new_memory)
    if kind == "episodic":
        return "long_term"
    if request.kind is not None:
        return kind
    return scoring.promote_kind(kind, request.text, scoring.compute_importance(new_memory, kind, 0))


def _build_memory(request: WriteMemoryRequest, kind: MemoryKind, replaced: Memory | None, id: str) -> Memory:
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


def _normalize(text: str) -> str:
    """Return the words of a text for comparison; the text itself if it has none."""
    return normalize_sentence(text) or text
