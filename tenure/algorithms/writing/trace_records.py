"""Turn the results of a run's steps into the records that its trace shows."""

from collections import Counter
from collections.abc import Iterator

from tenure.algorithms.research.research_state import describe_positions
from tenure.algorithms.writing.manuscript import describe_search
from tenure.contracts.evidence.reasoning import Reasoning
from tenure.contracts.research.report import ReportReview, ReportText
from tenure.contracts.research.spiral import PlanStep, SubagentRequest, SubagentResult
from tenure.contracts.research.trace import (
    TracedQuery,
    TracedReflection,
    TracedReview,
    TracedSection,
    TracedTask,
    TracedThought,
)


def describe_task(
    request: SubagentRequest, done: PlanStep, result: SubagentResult, cycle: int, plan: int
) -> TracedTask:
    """Return the record of a task that has ended, with its step in the final state."""
    counts = Counter(candidate.query for candidate in result.candidates)
    return TracedTask(
        cycle=cycle,
        plan=plan,
        step=done.id,
        topic=done.topic,
        kind=done.kind,
        planned_query=done.planned_query if done.query != done.planned_query else "",
        strategy=request.strategy,
        strategy_reason=request.strategy_reason,
        search_mode=request.limits.search_mode or done.search_mode,
        expected_output=done.expected_output,
        is_reading=done.read_passage is not None,
        status="failed" if done.status == "failed" else "skipped" if done.status == "skipped" else "completed",
        note="" if done.status == "completed" else done.note,
        queries=tuple(
            TracedQuery(query=query, found=counts[query]) for query in dict.fromkeys((done.query, *result.queries))
        ),
        steps=result.steps,
        answer=result.answer,
        positions=describe_positions(result.positions),
    )


def describe_reasoning(line: Reasoning) -> TracedThought:
    """Return the record of a call of the reasoner."""
    steps = len(line.steps) + bool(line.conclusion)
    answer = f"; answer “{line.answer}”" if line.answer else ""
    how = line.strategy.replace("_", " ")
    rejected = "".join(f"; not followed “{thought.text}” ({thought.score:.2f})" for thought in line.rejected)
    searches = f"; searches {', '.join(f'“{query}”' for query in line.queries)}" if line.queries else ""
    outcome = f"{steps} steps{answer}" if steps else "nothing to say"
    return TracedThought(summary=f"{how}: {outcome}{rejected}{searches}")


def describe_sections(
    text: ReportText, generation: int, requests: tuple[str, ...], review: ReportReview | None
) -> Iterator[TracedSection]:
    """Yield the records of the sections of a version of the report, after a review or, without one, of a writer."""
    for heading, draft in text.sections.items():
        verdicts = [item for item in review.verdicts if item.heading.casefold() == heading.casefold()] if review else []
        yield TracedSection(
            topic=heading,
            generation=generation,
            critiques=requests,
            reviews=tuple(TracedReview(action=item.action, critique=item.critique) for item in verdicts),
            claims=len(draft.claims),
            sources=len({citation.source for claim in draft.claims for citation in claim.citations}),
        )


def describe_review(review: ReportReview, generation: int) -> TracedReflection:
    """Return the record of a review of a version of the report."""
    return TracedReflection(
        generation=generation,
        critiques=tuple(describe_search(query) for query in review.queries),
        further_considerations=review.considerations,
        evaluation=review.evaluation,
        contradictions=tuple(f"“{pair.a.quote}” – “{pair.b.quote}”" for pair in review.contradictions),
    )
