"""Render the trace of a run as Markdown: cycles, sections and the end."""

import re
from collections.abc import Iterable, Iterator, Mapping

from tenure.algorithms.coding.patches import build_patch
from tenure.algorithms.control.step_lines import describe_step
from tenure.algorithms.text.counts import format_count
from tenure.algorithms.text.printable import remove_control_characters
from tenure.contracts.evidence.retrieval import RetrievalStrategy
from tenure.contracts.evidence.web import WebPage
from tenure.contracts.research.cycle import PlannedAction
from tenure.contracts.research.learning import KnownFact
from tenure.contracts.research.trace import (
    Trace,
    TracedAnswer,
    TracedCycle,
    TracedDecision,
    TracedMemory,
    TracedPlan,
    TracedProgram,
    TracedQuery,
    TracedReflection,
    TracedSection,
    TracedTask,
    TracedVerification,
)
from tenure.contracts.run.run import PlanStepKind
from tenure.report.layout.program import set_attempts
from tenure.report.render.escaping import escape, format_code_block, format_code_span
from tenure.report.render.markdown import write_markdown
from tenure.report.render.steps import render_steps

STRATEGY_DESCRIPTIONS: Mapping[RetrievalStrategy, str] = {
    "direct": "",
    "iterative": "in several wordings",
    "multi_hop": "from hop to hop",
    "hierarchical": "broadly, then by groups",
    "contrastive": "for and against",
    "memory": "guided by earlier findings",
    "react": "step by step with tools",
}
"""Descriptions of the search strategies."""
TOOL_DESCRIPTIONS: Mapping[PlanStepKind, str] = {
    "analyze": "one document was asked",
    "compare": "two documents were compared",
    "calculate": "calculated from figures of earlier steps",
}
"""Descriptions of steps that use a tool instead of a search."""
_PROGRAM = "analysis.py"
"""Name of a traced program in the differences between its versions."""
# "2026-11-26T09:30:00.123+00:00" without ".123".
_MILLISECONDS = re.compile(r"\.\d{3}(?=[+Z])")


def render_trace(trace: Trace) -> str:
    """Render a trace as Markdown."""
    parts = [
        _opening(trace),
        _titled("Computed from tables", _programs(trace.programs)),
        _titled("Work in the repository", _work(trace)),
        _titled("Remembered", _remembered(trace.memory)) if trace.memory else "",
        *(_cycle(cycle) for cycle in trace.cycles),
        _titled("Reasoning", _bullets(thought.summary for thought in trace.thoughts)),
        *_generations(trace),
        _titled("Attempts", [write_markdown(set_attempts(trace.attempts))]),
        _titled(
            "Failed calls",
            _bullets(f"{call.name.replace('_', ' ')}: {call.failure}" for call in trace.calls if call.failure),
        ),
        _titled("Feedback", _people(trace)),
        _titled("Decisions", _bullets(trace.decisions)),
        _titled("Kept for later runs", _bullets(trace.memory.kept) if trace.memory else []),
        _titled("Pages of the web", _bullets(_page(page) for page in trace.web.pages) if trace.web else []),
        _titled("Notes of the run", _bullets(trace.notes)),
        f"{format_count(trace.omitted, 'later record')} of the run are not kept." if trace.omitted else "",
    ]
    return remove_control_characters("\n\n".join(part for part in parts if part) + "\n")


def render_work(trace: Trace) -> str:
    """Render the work on a change of a repository as Markdown: answers with their actions, test runs and verdicts."""
    return remove_control_characters("\n\n".join(_work(trace)))


def _opening(trace: Trace) -> str:
    end = f", ended {_seconds(trace.ended_at)}" if trace.ended_at else ""
    lines = [
        f"# Trace of {escape(trace.id)}",
        escape(trace.question),
        f"Status {trace.status}, started {_seconds(trace.started_at)}{end}.",
    ]
    if trace.failure:
        lines.append(f"Failed: {escape(trace.failure)}")
    if trace.complexity:
        lines.append(f"Routed to {trace.mode} as {trace.complexity}.")
    elif trace.mode != "UNDEFINED":
        lines.append(f"Mode {trace.mode}, without a call of the router.")
    if trace.effort:
        lines.append(
            f"Research of at most {format_count(trace.effort.cycles, 'cycle')}, with at most "
            f"{format_count(trace.effort.subagents, 'task')} each."
        )
    if trace.outline:
        lines.append(f"First outline: {_quoted(trace.outline)}.")
    if trace.initial_findings:
        lines.append(
            f"Found by the search for the whole question: {format_count(len(trace.initial_findings), 'passage')}."
        )
    return "\n\n".join(lines)


def _remembered(memory: TracedMemory) -> Iterator[str]:
    """Yield the memories that a run recalled, by run."""
    for earlier in memory.related:
        passages = sum(passage.run == earlier.run for passage in memory.passages)
        yield (
            f"`{earlier.run}`, asked “{escape(earlier.question)}” (relevance {earlier.relevance:.2f}): "
            f"{format_count(passages, 'passage')} taken over."
        )
    related_runs = {earlier.run for earlier in memory.related}
    for run in dict.fromkeys(passage.run for passage in memory.passages if passage.run not in related_runs):
        passages = sum(passage.run == run for passage in memory.passages)
        yield f"`{run}`, related by its findings: {format_count(passages, 'passage')} taken over."
    yield from _listed("Queries already made", memory.queries)
    yield from _listed("Advice", memory.advice)
    yield from _listed("Statements of a person, as evidence", (passage.text for passage in memory.personal))
    yield from _listed("Preferences", memory.preferences)
    if memory.facts:
        yield _block("**Facts to confirm**", map(_fact, memory.facts))


def _fact(fact: KnownFact) -> str:
    relevance = f"relevance {fact.relevance:.2f}"
    if not fact.run:
        return f"- {escape(fact.text)} (from the owner, {relevance})"
    origin = f"`{fact.run}`, from {escape(', '.join(fact.corpora) or 'the web')}, {relevance}"
    return f"- {escape(fact.text)} ({origin}, {format_count(fact.support, 'source')})"


def _programs(programs: Iterable[TracedProgram]) -> Iterator[str]:
    """Yield the programs with their input and output; a repaired one with its changes."""
    before = ""
    for number, program in enumerate(programs, 1):
        if number == 1:
            yield escape(program.wanted)
        state = f" failed: {escape(program.problem)}" if program.problem else ""
        yield f"**Program {number}** {escape(program.shows)}{state}".rstrip()
        yield from (format_code_block(sql, "sql") for sql in program.inputs)
        if program.code:
            yield (
                format_code_block(build_patch({_PROGRAM: before}, {_PROGRAM: program.code}), "diff")
                if before
                else format_code_block(program.code, "python")
            )
        if program.output.strip():
            yield f"It printed:\n\n{format_code_block(program.output)}"
        yield from _labelled("It made", _quoted(program.artifacts))
        before = program.code or before


def _work(trace: Trace) -> Iterator[str]:
    """Yield the answers of the model with their actions, the test runs and the verdicts, in order."""
    for record in trace.work:
        if isinstance(record, TracedAnswer):
            yield _answer(record)
        elif isinstance(record, TracedVerification):
            yield f"**Verification {record.number}** {_seconds(record.at)} {escape(record.outcome)}"
        else:
            yield f"**Tests** {_seconds(record.at)} {escape(record.state)}: {escape(record.outcome)}"


def _answer(answer: TracedAnswer) -> str:
    cost = f", {answer.cost_usd:.4f} USD" if answer.cost_usd is not None else ""
    head = f"**Answer {answer.number}** {_seconds(answer.at)} {answer.phase}, {answer.tokens:,} tokens{cost}"
    lines = [
        f"- {format_code_span(action.action)}{' failed' if action.failed else ''}: {escape(action.outcome)}"
        for action in answer.actions
    ]
    if answer.files:
        names = ", ".join(map(format_code_span, answer.files))
        lines.append(f"- the change so far: {names}, +{answer.added} -{answer.removed}")
    return _block(f"{head}\n\n{escape(answer.thought)}" if answer.thought else head, lines)


def _page(page: WebPage) -> str:
    """Return the outcome of a page and its quality."""
    worth = f", worth {page.quality:.2f}" if page.status in ("read", "left_out") else ""
    why = f": {page.note}" if page.note else ""
    return f"{page.status.replace('_', ' ')}{worth}, {page.title or 'without title'}, {page.url}{why}"


def _cycle(cycle: TracedCycle) -> str:
    lines = [line for number, plan in enumerate(cycle.plans) for line in _plan(plan, again=number > 0)]
    lines += _labelled("Coverage", _shares(cycle.coverage))
    if cycle.gain is not None:
        sources = len({finding.passage.source for finding in cycle.accepted})
        accepted = f"{format_count(len(cycle.accepted), 'passage')} of {format_count(sources, 'source')} accepted"
        lines.append(f"**Information gain** {cycle.gain:.2f}: {accepted}.")
    lines += _labelled("Offered in addition to the outline", _quoted(cycle.latent_topics))
    lines += _decision(cycle.decision) if cycle.decision else []
    return _titled(f"Cycle {cycle.number}", lines)


def _plan(plan: TracedPlan, *, again: bool) -> Iterator[str]:
    if again:
        yield f"Replanned at {_seconds(plan.at)}."
    yield from _listed("Feedback", plan.feedback)
    yield from _labelled("Critique", escape(plan.critique))
    if plan.actions:
        yield _block("**Plan**", [_action(action) for action in plan.actions])
    yield from _listed("Not executed", plan.refused)
    yield from _labelled("Added to the outline", _quoted(plan.added))
    yield from _labelled("Dropped from the outline", _quoted(plan.dropped))
    yield from _listed("Steps", map(describe_step, plan.steps))
    if plan.tasks:
        yield _block("**Tasks**", [line for task in plan.tasks for line in _task(task)])


def _action(action: PlannedAction) -> str:
    needs = f", after {', '.join(map(escape, action.depends_on))}" if action.depends_on else ""
    expected = f" (expected: {escape(action.expected_output)})" if action.expected_output else ""
    topic = f" for “{escape(action.target_outline_topic)}”" if action.target_outline_topic else ""
    query = f" “{escape(action.query)}”" if action.query else ""
    return f"- {escape(action.id) + ': ' if action.id else ''}{action.action}{query}{topic}{needs}{expected}"


def _task(task: TracedTask) -> Iterator[str]:
    first, *more = task.queries
    how = (
        "continued reading of one source"
        if task.is_reading and task.kind != "analyze"
        else TOOL_DESCRIPTIONS.get(task.kind) or STRATEGY_DESCRIPTIONS.get(task.strategy, task.strategy)
    )
    mode = f"search mode `{task.search_mode}`" if task.search_mode else ""
    strategy = "; ".join(filter(None, (how, escape(task.strategy_reason), mode)))
    aside = f" ({strategy})" if strategy else ""
    ends = {name: f"{name}, {escape(task.note)}" for name in ("failed", "skipped")}
    state = ends.get(task.status, _figures(first))
    yield f"- “{escape(first.query)}” for “{escape(task.topic)}”{aside}: {state}"
    yield from (f"  - then “{escape(query.query)}”: {_figures(query)}" for query in more)
    yield from (f"  - passages for and against {escape(position)}" for position in task.positions)
    yield from (f"  {line}" for line in render_steps(task.steps, task.answer))


def _figures(query: TracedQuery) -> str:
    if not query.judged:
        return f"{query.found} found, not assessed"
    others = ((query.irrelevant, "irrelevant"), (query.known, "already known"), (query.elsewhere, "found twice"))
    return ", ".join([f"{query.found} found", f"{query.accepted} accepted", *(f"{n} {why}" for n, why in others if n)])


def _decision(decision: TracedDecision) -> Iterator[str]:
    yield from _labelled("Situation", escape(decision.situation))
    yield from _labelled("Complication", escape(decision.complication))
    yield from _listed("Missing", decision.missing)
    verdict = "continue" if decision.continues else "end the research"
    yield f"**Decision** to {verdict}: {escape(decision.reasoning)}".rstrip(" :")


def _generations(trace: Trace) -> Iterator[str]:
    """Yield the sections of each generation with their outcomes."""
    numbers = {section.generation for section in trace.sections}
    for number in sorted(numbers | {reflection.generation for reflection in trace.reflections}):
        yield _generation(number, [section for section in trace.sections if section.generation == number])
        yield from (_reflection(reflection) for reflection in trace.reflections if reflection.generation == number)


def _generation(number: int, sections: Iterable[TracedSection]) -> str:
    return _titled(
        f"Sections, generation {number}", ["\n".join(line for section in sections for line in _section(section))]
    )


def _section(section: TracedSection) -> Iterator[str]:
    figures = f"{format_count(section.claims, 'sentence')}, {format_count(section.sources, 'source')}"
    yield f"- “{escape(section.topic)}”: {figures}"
    yield from (f"  - asked for: {escape(critique)}" for critique in section.critiques)
    for review in section.reviews:
        yield f"  - review {review.action}{': ' + escape(review.critique) if review.critique else ''}"


def _reflection(reflection: TracedReflection) -> str:
    lines = [f"- {escape(critique)}" for critique in reflection.critiques]
    blocks = ["\n".join(lines) if lines else "No issue was found."]
    if verdict := reflection.evaluation:
        blocks += _listed("Answered by the report", [f"{part.part}: {part.answered}" for part in verdict.parts])
        blocks += _listed("Errors that are left", verdict.issues)
    blocks += _listed("Contradictions between sources", reflection.contradictions)
    blocks += _listed("Further considerations", reflection.further_considerations)
    return _titled(f"Criticism of generation {reflection.generation}", blocks)


def _people(trace: Trace) -> list[str]:
    lines = [(command.at, command.signal) for command in trace.commands]
    for feedback in trace.feedback:
        topic = f" on “{escape(feedback.topic)}”" if feedback.topic else ""
        lines.append((feedback.at, f"“{escape(feedback.text)}”{topic}: {escape(feedback.outcome)}"))
    return ["\n".join(f"- {_seconds(at)} {text}" for at, text in sorted(lines))] if lines else []


def _seconds(at: str) -> str:
    """Return a time without its milliseconds."""
    return _MILLISECONDS.sub("", at)


def _titled(heading: str, lines: Iterable[str]) -> str:
    """Return a part of the trace, empty if it has no content."""
    content = [line for line in lines if line]
    return "\n\n".join([f"## {heading}", *content]) if content else ""


def _labelled(label: str, text: str) -> list[str]:
    return [f"**{label}** {text}"] if text else []


def _listed(label: str, texts: Iterable[str]) -> list[str]:
    lines = [f"- {escape(text)}" for text in texts]
    return [_block(f"**{label}**", lines)] if lines else []


def _bullets(texts: Iterable[str]) -> list[str]:
    lines = [f"- {escape(text)}" for text in texts]
    return ["\n".join(lines)] if lines else []


def _block(label: str, lines: Iterable[str]) -> str:
    return "\n".join([label, "", *lines])


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(f"“{escape(text)}”" for text in texts)


def _shares(coverage: Mapping[str, float]) -> str:
    return ", ".join(f"“{escape(topic)}” {share:.0%}" for topic, share in coverage.items())
