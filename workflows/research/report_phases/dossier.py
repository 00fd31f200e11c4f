"""Gather the dossier: search for each part of the question, and later for what the report lacks, through one gate."""

import asyncio
from collections.abc import Iterable, Sequence

from temporalio import workflow

from workflows.research.report_phases.report_context import ReportContext

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.algorithms.text.counts import format_count
    from tenure.algorithms.writing import manuscript
    from tenure.contracts.choices import SearchMode
    from tenure.contracts.evidence.passages import DEFAULT_SEARCH_MODE, PassageRef, SearchRequest
    from tenure.contracts.research.dossier import DossierRequest, Gap, PartPassages
    from tenure.contracts.research.report import Topic
    from tenure.contracts.research.spiral import TopicState
    from tenure.contracts.run.limits import MAX_RETRIEVED_PASSAGES

PASSAGES_PER_STEP = 8
"""Passages of a search that a line of reasoning needs."""
PASSAGES_PER_GAP = 20
"""Passages of the search for something that a text lacks, of which the best are added."""
ADDED_SHARE = 0.2
"""Share of a full dossier that each addition may have. With 0.25 about half of the 20 passages found for the gaps of
five reports by hand concerned them."""
MAX_GAP_SEARCHES = 12
"""Maximum number of searches for what one version of a report lacks: five reports had up to nine gaps and cells."""


async def open_dossier(context: ReportContext) -> None:
    """Search for every part of the question, and fill the dossier with what this and the run have found."""
    state = context.state
    context.report_progress("write", "collecting the passages for the report", "retrieving")
    personal = (fact.passage for fact in context.request.experience.personal)
    decisive = (*personal, *manuscript.list_sided_passages(state.research.positions))
    parts = await asyncio.gather(*(_find_part(context, topic) for topic in state.topics))
    queries = [*(entry.text for entry in context.parent.feedback_items), *context.unplanned_parts]
    searched = await _search_all(context, queries)
    additions = [
        *parts,
        PartPassages(heading="", passages=decisive),
        *manuscript.group_by_part(queries, searched, state.topics),
    ]
    await _extend(context, additions, context.effort.dossier_tokens)


async def add_topics(context: ReportContext, topics: Iterable[Topic]) -> None:
    """Search for topics that a person or a critique has added, and add what is found to the dossier."""
    await _extend(context, await asyncio.gather(*(_find_part(context, topic) for topic in topics)))


async def add_readings(context: ReportContext, passages: tuple[PassageRef, ...]) -> None:
    """Add the readings of pictures to the dossier."""
    await _extend(context, [PartPassages(heading="", passages=passages, decisive=len(passages))])


async def add_passages(context: ReportContext, queries: Sequence[str]) -> bool:
    """Make searches, and add what is found to the dossier; return whether anything is new."""
    if not queries or context.parent.is_finishing:
        return False
    count = len(context.state.dossier.passages)
    results = await asyncio.gather(*(_search(context, query, PASSAGES_PER_STEP) for query in queries))
    await _extend(context, manuscript.group_by_part(queries, results, context.state.topics))
    return len(context.state.dossier.passages) > count


async def search_for_gaps(context: ReportContext, gaps: Sequence[Gap]) -> bool:
    """Search for what a text calls unknown or lacks, and add what is found; return whether anything is new.

    The next review reads the searches and the passages of each.
    """
    state = context.state
    first_gaps: dict[str, Gap] = {}
    for gap in gaps:
        if gap.query.strip() and gap.query not in state.dossier.searches:
            first_gaps.setdefault(gap.query, gap)
    searched_gaps = list(first_gaps.values())[:MAX_GAP_SEARCHES]
    if not searched_gaps or context.parent.is_finishing:
        return False
    queries = [gap.query for gap in searched_gaps]
    results = await _search_all(context, queries)
    count = len(state.dossier.passages)
    await _extend(context, manuscript.group_by_part(queries, results, context.state.topics, searched_gaps))
    new = len(context.state.dossier.passages) - count
    first_new = state.first_new or (count + 1 if new else 0)
    listed = ", ".join(f"“{query}”" for query in queries)
    context.add_decisions([f"Searched for what the report lacked ({format_count(new, 'new passage')}): {listed}."])
    context.update(searches=(*state.searches, *queries), first_new=first_new)
    return new > 0


async def _search_all(context: ReportContext, queries: Sequence[str]) -> list[tuple[PassageRef, ...]]:
    # By words and meaning: links between documents lead away from the one sentence that is missing.
    return await asyncio.gather(*(_search(context, query, PASSAGES_PER_GAP, mode="hybrid") for query in queries))


async def _find_part(context: ReportContext, topic: Topic) -> PartPassages:
    """Return the passages of a part: results of queries, those of its own search, and those of the research."""
    request, state = context.request, context.state
    limits = request.limits
    states = {entry.topic.heading: entry for entry in state.research.topics}
    findings = states.get(topic.heading, TopicState(topic=topic))
    is_whole = topic.question == request.question
    # The run has searched for the whole question: a smaller search with the same words finds nothing else.
    is_searched = (
        is_whole and limits.passages_per_section <= MAX_RETRIEVED_PASSAGES and not findings.topic.hypothetical_answer
    )
    is_skipped = is_searched or (context.parent.is_finishing and findings.passages)
    direct = (
        ()
        if is_skipped
        else await _search(context, topic.question, limits.passages_per_section, findings.topic.hypothetical_answer)
    )
    decisive = (*request.query_results, *state.research.decisive.get(topic.heading, ()), *topic.passages)
    personal = tuple(fact.passage for fact in request.experience.personal)
    passages = manuscript.order_part_passages(
        decisive,
        direct or (request.evidence if is_whole else ()),
        findings.passages,
        (*personal, *(request.evidence if is_whole else ())),
    )
    return PartPassages(heading=topic.heading, passages=passages, decisive=len({passage.chunk for passage in decisive}))


async def _search(
    context: ReportContext,
    query: str,
    k: int,
    hypothetical_answer: str = "",
    mode: SearchMode = DEFAULT_SEARCH_MODE,
) -> tuple[PassageRef, ...]:
    search = SearchRequest(
        query=query,
        corpora=context.request.corpora,
        k=k,
        hypothetical_answer=hypothetical_answer,
        mode=mode,
        max_per_source=context.request.limits.max_per_source,
    )
    return await context.clients.knowledge.search(search)


async def _extend(context: ReportContext, additions: Sequence[PartPassages], max_tokens: int | None = None) -> None:
    """Add passages to the dossier, up to some tokens; without a limit `ADDED_SHARE` of a full dossier."""
    dossier = context.state.dossier
    request = DossierRequest(
        dossier=dossier,
        found=tuple(part for part in additions if part.passages or part.gap),
        corpora=context.request.corpora,
        max_tokens=max_tokens or dossier.tokens + int(context.effort.dossier_tokens * ADDED_SHARE),
    )
    if not request.found:
        return
    passages = sum(len(part.passages) for part in request.found)
    extended = await context.clients.execute_activity(
        KnowledgeActivities.extend_dossier, request, summary=f"{passages} passages"
    )
    context.update(dossier=extended)
