"""Analyze what a cycle found: accept relevant new passages, measure the gain, name topics that the outline lacks."""

from collections.abc import Sequence

from temporalio import workflow

from workflows.research.cycle_phases.research_loop import ResearchLoop

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.algorithms.memory.experience import build_inherited_candidates, record_outcomes
    from tenure.algorithms.research import research_state
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.research.dossier import DossierRequest, PartPassages
    from tenure.contracts.research.spiral import AnalysisRequest, CandidatePassage, LatentTopic, TopicState
    from tenure.roles.research import topic_namer
    from tenure.roles.research.topic_namer import TopicNamerInput


def collect_known_passages(loop: ResearchLoop) -> list[CandidatePassage]:
    """Return the passages of the first search and those that earlier runs accepted.

    All of them name the first topic; the analysis assigns each to the topic that it serves.
    """
    topic, question = loop.state.topics[0].topic.heading, loop.request.question
    remembered, executed = build_inherited_candidates(loop.request.experience, topic)
    loop.state = research_state.record_queries(loop.state, executed)
    initial = [CandidatePassage(topic=topic, query=question, passage=passage) for passage in loop.request.evidence]
    return [*initial, *remembered]


PassageGroups = Sequence[Sequence[PassageRef]]
"""Groups of passages that belong to no topic of the outline."""


async def analyze(loop: ResearchLoop, candidates: Sequence[CandidatePassage]) -> PassageGroups:
    """Judge candidates, work the accepted ones into the state, and return groups that deserve a name."""
    state, limits = loop.state, loop.request.limits
    analysis = await loop.clients.execute_activity(
        KnowledgeActivities.analyze_candidates,
        AnalysisRequest(
            run=loop.request.run,
            cycle=state.cycle,
            question=loop.request.question,
            corpora=loop.request.corpora,
            topics=state.topics,
            candidates=tuple(candidates),
            min_relevance=research_state.compute_min_relevance(limits),
            min_novelty=limits.min_novelty,
        ),
        summary=f"cycle {state.cycle}: {len(candidates)} passages" if state.cycle else "passages found before",
    )
    loop.analysis = analysis
    loop.state = research_state.apply_analysis(state, analysis, has_model=limits.has_model)
    loop.update(strategy_outcomes=record_outcomes(state.strategy_outcomes, loop.searched_tasks, analysis))
    loop.searched_tasks = []
    loop.report_progress(research_state.describe_cycle(loop.state))
    is_named = not loop.parent.is_finishing and _can_add_topics(loop)
    return analysis.latent if is_named else ()


async def provide_passages(loop: ResearchLoop) -> None:
    """Add the passages of all topics to the dossier, unless rules plan, which read no passages.

    A cycle fills half of the room that is left, so that later ones, whose searches are for what is missing, and the
    searches of the report have room as well.
    """
    if loop.is_planned_by_rule or not loop.request.limits.has_model:
        return
    dossier = loop.state.dossier
    room = loop.request.effort.dossier_tokens - dossier.tokens
    parts = (_build_part(topic, loop.state.decisive.get(topic.topic.heading, ())) for topic in loop.state.topics)
    new_parts = tuple(part for part in parts if part.passages)
    if not new_parts or room < 2:
        return
    # All passages are offered again, so the new list of omitted ones is complete.
    request = DossierRequest(
        dossier=dossier.model_copy(update={"omitted": ()}),
        found=new_parts,
        max_tokens=dossier.tokens + room // 2,
    )
    extended = await loop.clients.execute_activity(
        KnowledgeActivities.extend_dossier, request, summary=f"cycle {loop.state.cycle}"
    )
    loop.update(dossier=extended)


def _build_part(topic: TopicState, decisive: Sequence[PassageRef]) -> PartPassages:
    """Return the passages of a topic, first what tasks have cited, a model requested or the outline names."""
    first = (*decisive, *topic.topic.passages)
    return PartPassages(heading=topic.topic.heading, passages=(*first, *topic.passages), decisive=len(first))


def _can_add_topics(loop: ResearchLoop) -> bool:
    """Return whether a later plan can add a topic; without a model naming costs nothing.

    With one it costs a call, which only an effort makes that leaves room in its first outline.
    """
    effort = loop.request.effort
    if not loop.request.limits.has_model:
        return True
    has_room = len(loop.state.topics) < loop.max_topics and not loop.state.outline_number
    return has_room and effort.reserved_sections > 0 and loop.state.cycle < effort.cycles


def merge_groups(first: PassageGroups, second: PassageGroups) -> PassageGroups:
    """Return groups without later ones that contain a passage of an earlier one."""
    disjoint: list[Sequence[PassageRef]] = []
    grouped: set[str] = set()
    for group in (*first, *second):
        chunks = {passage.chunk for passage in group}
        if grouped.isdisjoint(chunks):
            disjoint.append(group)
        grouped |= chunks
    return disjoint


async def request_topic_names(loop: ResearchLoop, groups: PassageGroups) -> None:
    """Request names for groups of passages that belong to no topic of the outline."""
    if not groups:
        return
    output = await loop.clients.models.ask(
        topic_namer.ROLE,
        TopicNamerInput(
            question=loop.request.question,
            outline=tuple(f"{topic.topic.heading}: {topic.topic.question}" for topic in loop.state.topics),
            group_sizes=tuple(len(group) for group in groups),
        ),
        [passage for group in groups for passage in group],
        summary=f"cycle {loop.state.cycle}: {len(groups)} groups",
    )
    topics = [
        LatentTopic(
            heading=topic.heading,
            question=topic.question,
            passages=len(groups[topic.group - 1]),
            cycle=loop.state.cycle,
        )
        for topic in output.topics
        if 1 <= topic.group <= len(groups)
    ]
    loop.state = research_state.add_latent_topics(loop.state, topics)
