"""Recall the knowledge of earlier runs with which a run starts: memories, facts, and passages that they accepted."""

from typing import TYPE_CHECKING, Final

from tenure.algorithms.memory import experience, known_facts
from tenure.contracts.base import RunId
from tenure.contracts.knowledge.memory import MemorySearchReply
from tenure.contracts.research.learning import Experience, ExperienceRequest, InheritReply
from tenure.knowledge.personal_passages import is_personal_statement, store_personal_passages

if TYPE_CHECKING:
    from tenure.knowledge.ingestion.results import StoredResults
    from tenure.knowledge.memory.memories import Memories
    from tenure.knowledge.search.retrieval import Retrieval

MAX_RECALLED_MEMORIES: Final = 40
"""Memories of earlier runs, not counting the facts they found."""


def recall_experience(
    memories: "Memories", retrieval: "Retrieval", results: "StoredResults", request: ExperienceRequest
) -> Experience:
    """Return the knowledge of earlier runs with which a run starts."""
    # Uses are counted together: each count is a commit.
    search = request.memories
    request = request.model_copy(update={"memories": search.model_copy(update={"used_by": ""})})
    repeated = _find_repeated_runs(memories, retrieval, request)
    recalled = _search_runs(memories, request, repeated)
    # Facts are searched separately, so that they do not displace other memories.
    facts_only = {"kinds": known_facts.FACT_KINDS, "limit": known_facts.MAX_RECALLED_FACTS, "without_runs": repeated}
    facts = memories.recall(request.memories.model_copy(update=facts_only))
    memories.count_uses([recalled, facts], search)
    related = experience.find_related_runs(recalled.memories, request.run)
    runs = (*related, *experience.find_runs_by_facts(facts.memories, related, request.run))
    inherited = InheritReply()
    if request.findings is not None and request.inherits and runs:
        inherited = retrieval.inherit_findings(request.findings.model_copy(update={"runs": runs}))
    queries = experience.select_inherited_queries(recalled.memories, related, inherited)
    best = sorted((*recalled.memories, *facts.memories), key=lambda item: (-item.score, item.memory.id))
    corpus = request.personal_corpus
    personal = store_personal_passages(results, (item.memory for item in best), corpus, search.query) if corpus else ()
    return Experience(
        repeated=repeated,
        related=related,
        passages=inherited.passages,
        queries=queries if request.repeats_queries else (),
        records=recalled.strategies,
        advice=experience.select_advice(recalled.memories),
        facts=known_facts.select_known_facts(
            item for item in facts.memories if not (corpus and is_personal_statement(item.memory))
        ),
        personal=personal,
        preferences=tuple(memory.text for memory in recalled.preferences),
    )


def _find_repeated_runs(memories: "Memories", retrieval: "Retrieval", request: ExperienceRequest) -> tuple[RunId, ...]:
    """Return earlier runs on the same question since whose end no document has changed.

    A model has answered the prompts of such a run. Its answers are cached, and without the memories of that run the
    prompts are the same again.
    """
    if not request.reuses_answers or request.findings is None:
        return ()
    episodes_only = {"kinds": ("episodic",), "limit": MAX_RECALLED_MEMORIES}
    episodes = memories.recall(request.memories.model_copy(update=episodes_only)).memories
    same = experience.find_same_questions(episodes, request.memories.query, request.run)
    return retrieval.list_unchanged_runs(request.findings.model_copy(update={"runs": same})) if same else ()


def _search_runs(memories: "Memories", request: ExperienceRequest, without: tuple[RunId, ...]) -> MemorySearchReply:
    """Return memories of how earlier runs went and what they learned, strategies, and preferences."""
    changes = {
        "kinds": ("episodic", "procedural"),
        "limit": MAX_RECALLED_MEMORIES,
        "without_runs": without,
        "include_strategies": True,
        "include_preferences": True,
    }
    return memories.recall(request.memories.model_copy(update=changes))
