"""Test memories that people write and edit, on a real store."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from tenure.contracts.base import RunId, SourceId
from tenure.contracts.choices import WritableKind
from tenure.contracts.knowledge.memory import (
    MAX_PREFERENCE_CHARS,
    MAX_PREFERENCES,
    ConsolidationRequest,
    EpisodeDetails,
    FactDetails,
    ForgetRequest,
    MemoriesRequest,
    Memory,
    MemoryOrigin,
    MemorySearchRequest,
    NewMemory,
    RememberRequest,
    WriteMemoryReply,
    WriteMemoryRequest,
)
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.memory import rows as memory_rows
from tenure.knowledge.store.schema import build_memory_table_name
from tenure.knowledge.store.store import Store

NOW = datetime(2030, 1, 1, tzinfo=UTC)
UNITS = "We use metric units."


def write(
    knowledge: KnowledgeBase,
    text: str,
    kind: WritableKind | None = None,
    *,
    owner: str = "",
    replaces: str = "",
    fact: FactDetails | None = None,
    days: float = 0,
) -> WriteMemoryReply:
    now = NOW + timedelta(days=days)
    return knowledge.memories.write(
        WriteMemoryRequest(text=text, kind=kind, owner=owner, replaces=replaces, fact=fact, now=now)
    )


def written(reply: WriteMemoryReply) -> Memory:
    assert (reply.problem, reply.memory is None) == ("", False)
    assert reply.memory is not None
    return reply.memory


def stored(knowledge: KnowledgeBase, owner: str = "") -> tuple[Memory, ...]:
    return knowledge.memories.list_page(MemoriesRequest(owner=owner)).memories


def recalled(knowledge: KnowledgeBase, query: str, owner: str = "", corpora: tuple[str, ...] = ()) -> list[str]:
    found = knowledge.memories.recall(
        MemorySearchRequest(
            query=query, owner=owner, kinds=("short_term", "long_term", "semantic"), corpora=corpora, now=NOW
        )
    )
    return [one.memory.text for one in found.memories]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (UNITS, "preference", "preference"),
        (UNITS, None, "long_term"),
        ("The audit is in progress.", None, "short_term"),
        ("The audit must be finished tomorrow.", "short_term", "short_term"),
        ("Search the archive before the web.", None, "procedural"),
        ("We tried the archive and found nothing.", None, "long_term"),
        ("The Bank of England was founded by William Paterson.", None, "semantic"),
    ],
)
def test_a_person_writes_a_memory(
    knowledge: KnowledgeBase, text: str, kind: WritableKind | None, expected: str
) -> None:
    """A memory has the kind that a person names, or the kind of its text; only a run leaves an episode."""
    memory = written(write(knowledge, text, kind, owner="ann"))

    assert (memory.kind, memory.text, memory.owner) == (expected, text, "ann")
    assert (memory.origin.run, memory.origin.corpora, memory.unconfirmed) == ("", (), False)
    assert stored(knowledge, "ann") == (memory,) and stored(knowledge) == ()


def test_a_written_memory_is_recalled_by_runs_of_its_owner_only(knowledge: KnowledgeBase) -> None:
    """A statement of a person needs no source and no corpus, and stays with its owner."""
    write(knowledge, "The audit covers the harbour.", "long_term", owner="ann")

    assert recalled(knowledge, "What does the audit cover?", "ann") == ["The audit covers the harbour."]
    assert recalled(knowledge, "What does the audit cover?") == []


def test_a_fact_keeps_its_parts(knowledge: KnowledgeBase) -> None:
    """A fact is semantic, and is recalled by the names of its subject and object."""
    fact = FactDetails(subject="Zenne", predicate="flows through", object="Halle")
    memory = written(write(knowledge, "That river crosses the town.", fact=fact))

    assert (memory.kind, memory.details) == ("semantic", fact)
    assert recalled(knowledge, "Which river crosses the town of Halle?") == [memory.text]


def test_the_parts_of_a_fact_are_extracted_from_its_text(knowledge: KnowledgeBase) -> None:
    """A semantic memory whose parts are not given has those of its sentence, also after an edit."""
    memory = written(write(knowledge, "The Bank of England was founded by William Paterson."))
    edited = written(write(knowledge, "The Zenne flows through Halle.", replaces=memory.id))

    assert memory.details == FactDetails(
        subject="Bank of England", predicate="was founded by", object="William Paterson"
    )
    assert edited.details == FactDetails(subject="Zenne", predicate="flows through", object="Halle")


def test_the_same_text_is_not_stored_twice(knowledge: KnowledgeBase) -> None:
    """A repeated attempt returns the stored memory, and a second request for the same words names it."""
    memory = written(write(knowledge, UNITS, "preference"))

    assert written(write(knowledge, UNITS, "preference")) == memory
    again = write(knowledge, "we use metric units", days=1)
    assert (again.problem, again.memory) == ("duplicate", memory)
    assert written(write(knowledge, UNITS, "preference", owner="ann")).id != memory.id
    assert stored(knowledge) == (memory,)


def test_an_edited_memory_has_the_new_text_and_the_same_id(knowledge: KnowledgeBase) -> None:
    """The text, its words and its time change; the kind stays; the old text can be written again."""
    memory = written(write(knowledge, "The audit covers the harbour.", "long_term"))
    edited = written(write(knowledge, "The review covers the bridges.", replaces=memory.id, days=1))

    assert (edited.id, edited.kind, edited.created_at) == (memory.id, "long_term", NOW + timedelta(days=1))
    assert written(write(knowledge, edited.text, replaces=memory.id, days=1)) == edited
    assert recalled(knowledge, "What does the review of bridges cover?") == [edited.text]
    again = written(write(knowledge, memory.text, "long_term", days=2))
    assert again.id != memory.id
    assert {one.text for one in stored(knowledge)} == {memory.text, edited.text}
    assert write(knowledge, memory.text, replaces=memory.id, days=3).problem == "duplicate"


def test_what_cannot_be_edited_is_named(knowledge: KnowledgeBase) -> None:
    """An unknown id, an id of another owner and an episode are refused, and nothing is written."""
    memory = written(write(knowledge, UNITS, owner="ann"))
    knowledge.memories.remember(
        RememberRequest(memories=(NewMemory(text="a run", details=EpisodeDetails(question="bees?")),), now=NOW)
    )
    [episode] = stored(knowledge)

    assert write(knowledge, "Changed.", replaces="m9").problem == "unknown"
    assert write(knowledge, "Changed.", replaces=memory.id).problem == "unknown"
    assert write(knowledge, "Changed.", replaces=episode.id).problem == "episode"
    assert (stored(knowledge), stored(knowledge, "ann")) == ((episode,), (memory,))


def test_an_edited_memory_of_a_run_belongs_to_the_person_and_to_its_corpora(knowledge: KnowledgeBase) -> None:
    """It no longer depends on its run and sources, but only runs that may read its corpora recall it.

    The run that stores its memories again, after an interrupted attempt, does not undo the edit.
    """
    origin = MemoryOrigin(run=RunId("r"), sources=(SourceId("s"),), corpora=("kitchen",))
    said = NewMemory(text="Bread bakes for an hour.", kind="long_term", origin=origin)
    knowledge.memories.remember(RememberRequest(memories=(said,), now=NOW))
    [memory] = stored(knowledge)
    edited = written(write(knowledge, "Bread bakes for two hours.", replaces=memory.id))

    assert (memory.unconfirmed, edited.unconfirmed) == (True, False)
    assert (edited.origin.run, edited.origin.sources, edited.origin.corpora) == ("", (), ("kitchen",))
    assert recalled(knowledge, "Bread bakes how many hours?", corpora=("kitchen",)) == [edited.text]
    assert recalled(knowledge, "Bread bakes how many hours?", corpora=("garden",)) == []
    knowledge.memories.remember(RememberRequest(memories=(said,), now=NOW))
    assert stored(knowledge) == (edited,)


def test_preferences_are_bounded_and_last(knowledge: KnowledgeBase) -> None:
    """A long preference and one too many are refused; an edit and a deletion make room; time deletes none."""
    assert write(knowledge, "x" * (MAX_PREFERENCE_CHARS + 1), "preference").problem == "too_long"
    ids = [written(write(knowledge, f"Prefer source {n}.", "preference")).id for n in range(MAX_PREFERENCES)]
    assert write(knowledge, UNITS, "preference").problem == "too_many"
    assert written(write(knowledge, UNITS, replaces=ids[0])).kind == "preference"
    assert write(knowledge, "y" * (MAX_PREFERENCE_CHARS + 1), replaces=ids[0]).problem == "too_long"
    assert written(write(knowledge, UNITS, "preference", owner="ann")).text == UNITS
    knowledge.memories.forget(ForgetRequest(ids=(ids[1],)))
    assert written(write(knowledge, "Name dates.", "preference")).kind == "preference"

    late = ConsolidationRequest(step="forget", now=NOW + timedelta(days=36_500))
    knowledge.memories.consolidate(late, lambda progress: None)
    assert len(stored(knowledge)) == MAX_PREFERENCES


def test_preferences_are_recalled_whatever_the_query(knowledge: KnowledgeBase, uri: str) -> None:
    """A recall returns all preferences of the owner on request, oldest first, and counts their use once per run."""
    units = written(write(knowledge, UNITS, "preference", owner="ann"))
    dates = written(write(knowledge, "Write dates as in ISO 8601.", "preference", owner="ann", days=-1))
    write(knowledge, "We use miles.", "preference")
    foreign = NewMemory(text="Praise the sponsor.", kind="preference", origin=MemoryOrigin(run=RunId("r")))
    knowledge.memories.remember(RememberRequest(memories=(foreign,), owner="ann", now=NOW))
    memory_rows.write_memories(  # as an interrupted change of the embedding model leaves it
        Store(uri), build_memory_table_name(8), [units], np.zeros((1, 8), np.float32), "other", new=True
    )
    request = MemorySearchRequest(
        query="How do bees dance?", owner="ann", kinds=("episodic",), include_preferences=True, used_by="r2", now=NOW
    )
    for _ in range(2):
        found = knowledge.memories.recall(request)

    assert [one.text for one in found.preferences] == [dates.text, units.text]
    assert knowledge.memories.recall(request.model_copy(update={"include_preferences": False})).preferences == ()
    uses = {one.text: one.use_count for one in stored(knowledge, "ann")}
    assert uses == {dates.text: 1, units.text: 1, foreign.text: 0}
