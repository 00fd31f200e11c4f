"""Turn remembered statements of a person into passages that a report can cite as such.

A person states who owns a service or how it is restarted, and no document says so. Such a memory is stored as a result
of a corpus: no search finds it, so it is evidence only for the run that has recalled it.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from tenure.contracts.knowledge.memory import MEMORY_URI, Memory, ProcedureDetails
from tenure.contracts.research.learning import PersonalPassage

if TYPE_CHECKING:
    from tenure.knowledge.ingestion.results import StoredResults

MAX_PERSONAL_PASSAGES: Final = 8
"""Maximum number of statements: as many sentences as an excerpt of a page, so that documents keep their room."""


def is_personal_statement(memory: Memory) -> bool:
    """Return whether a memory is a fact or a procedure of a person that no other memory contradicts.

    A procedure with counts of its successes was derived from runs.
    """
    is_personal = not (memory.origin.run or memory.origin.sources or isinstance(memory.details, ProcedureDetails))
    return is_personal and memory.kind not in ("episodic", "preference") and not memory.contradicted_by


def store_personal_passages(
    results: "StoredResults", memories: Iterable[Memory], corpus: str, question: str
) -> tuple[PersonalPassage, ...]:
    """Store the statements among memories as results of a corpus, and return them in their order."""
    # Loads the parser of tables, for which the start of a worker need not wait.
    from tenure.sources.parsers.tool_text import build_memory_document

    statements = [memory for memory in memories if is_personal_statement(memory)][:MAX_PERSONAL_PASSAGES]
    return tuple(
        PersonalPassage(text=memory.text, passage=passage)
        for memory in statements
        for passage in results.store_result(
            corpus, f"{MEMORY_URI}{memory.id}", build_memory_document(memory.text, memory.created_at.date()), question
        )[:1]
    )
