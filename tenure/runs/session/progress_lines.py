"""Describe the progress of a run in lines of text."""

from collections.abc import Iterator
from datetime import datetime

from tenure.algorithms.control.step_lines import describe_step
from tenure.algorithms.text.counts import format_count
from tenure.contracts.evidence.corpora import IngestProgress
from tenure.contracts.repository_task import RepositoryProgress
from tenure.contracts.run.control import InputRequest
from tenure.contracts.run.run import RunProgress, TopicProgress
from tenure.installation import PROGRAM
from tenure.runs.formatting import truncate_line
from tenure.runs.messages import RunDetails
from tenure.runs.session.snapshot import PendingFailure, RunSnapshot, count_ingested

STARTING = "the worker is starting"
"""Description of a run whose worker was started and does not poll yet."""

_EVENT_LENGTH = 160
_MAX_FILES = 8
_MAX_EVENT_LENGTH = 2_000
_PHASES = {
    "ingest": "reading the documents",
    "retrieve": "finding evidence",
    "route": "choosing the path",
    "outline": "outlining",
    "research": "researching",
    "specify": "writing the tests",
    "generate": "writing the program",
    "test": "testing the program",
    "prepare": "preparing the repository",
    "locate": "looking for the cause",
    "change": "changing files",
    "verify": "running the tests with and without the change",
    "write": "writing sections",
    "reason": "reasoning from what was found",
    "reflect": "criticising the report",
    "refine": "repairing the report",
    "compose": "title and abstract",
    "assemble": "numbering the sources",
    "done": "finished",
}
_CODE_PHASES = {
    "reflect": "analysing the failure",
    "refine": "writing the next version",
    "compose": "delivering the program",
    "assemble": "putting the result together",
}


def iterate_changes(before: RunSnapshot, now: RunSnapshot, *, verbose: bool = False) -> Iterator[str]:
    """Yield a line for everything that is new in a snapshot; verbose lines are complete and include the usage."""
    yield from _ingest_changes(before.ingest, now.ingest, now.speed, verbose=verbose)
    yield from _embedding_changes(before.chunks_to_embed, now.chunks_to_embed, verbose=verbose)
    yield from _new_pending_failures(before.pending_failures, now.pending_failures)
    earlier_steps = {writing.step for writing in before.streamed_answers}
    yield from (writing.line for writing in now.streamed_answers if writing.step not in earlier_steps)
    earlier_setups = {setup.step for setup in before.setups}
    yield from (setup.line for setup in now.setups if setup.step not in earlier_setups)
    if now.starting and not before.starting:
        yield STARTING
    if now.progress is not None:
        yield from _progress_changes(before.progress, now.progress, verbose=verbose)


def _ingest_changes(
    old: IngestProgress | None, now: IngestProgress | None, speed: str, *, verbose: bool
) -> Iterator[str]:
    """Yield a line if an ingestion has reached another step; a verbose one for every change."""
    if now is None or (_ingest_step(now) == _ingest_step(old) and not verbose):
        return
    if old is None or describe_ingestion(now) != describe_ingestion(old):
        yield describe_ingestion(now) + (f", {speed}" if speed else "")


def _embedding_changes(before: int, now: int, *, verbose: bool) -> Iterator[str]:
    """Yield a line if embedding in the background has started; a verbose one for every change."""
    if now and now != before and (verbose or not before):
        yield describe_embedding(now)


def _new_pending_failures(before: tuple[PendingFailure, ...], now: tuple[PendingFailure, ...]) -> Iterator[str]:
    """Yield a line for every failure that is new or persists, and one when all are resolved."""
    earlier_steps = {trouble.step for trouble in before}
    yield from (trouble.line for trouble in now if trouble.step not in earlier_steps)
    if before and not now:
        yield "recovered"


def _progress_changes(old: RunProgress | None, now: RunProgress, *, verbose: bool) -> Iterator[str]:
    """Yield a line for everything that is new in the run's progress."""
    if old is None or _step(old) != _step(now):
        resume = f" (`{PROGRAM} resume {now.id}` continues it)" if now.status == "paused" else ""
        yield describe_phase(now) + resume
        if verbose:
            yield describe_usage(now)
    if now.phase == "research":
        yield from _step_changes(old, now)
        yield from _coverage_changes(old, now)
    else:
        yield from _topic_changes(old, now)
    for handled in now.feedback[len(old.feedback) if old else 0 :]:
        yield f"feedback received: {truncate_line(handled.text, 100)}"
    if now.input_request and (
        old is None or old.input_request != now.input_request or _headings(old) != _headings(now)
    ):
        if now.input_request.kind == "plan" and now.topics:
            yield f"outline: {' · '.join(_headings(now))}"
        yield describe_question(now, now.input_request)
    yield from _change_lines(old.repository if old else None, now.repository)
    if now.last and (old is None or old.last != now.last):
        yield truncate_line(now.last, _MAX_EVENT_LENGTH if verbose else _EVENT_LENGTH)


def _change_lines(old: RepositoryProgress | None, now: RepositoryProgress | None) -> Iterator[str]:
    """Yield a line for the plan and the test results of a repository that are new, and for its changed files."""
    if now is None:
        return
    before = old or RepositoryProgress()
    if now.plan and now.plan != before.plan:
        yield f"plan: {truncate_line(now.plan, 600)}"
    for label, was, line in (("before the change", before.before, now.before), ("with it", before.after, now.after)):
        if line and line != was:
            yield f"tests {label}: {truncate_line(line, 160)}"
    if (now.files, now.added, now.removed) != (before.files, before.added, before.removed):
        which = f"attempt {now.attempt} changed" if now.attempt else "changed"
        yield f"{which}: {describe_files(now)}"


def describe_files(progress: RepositoryProgress) -> str:
    """Return the files that a run has changed in a repository, in one line."""
    names = ", ".join(truncate_line(name, 80) for name in progress.files[:_MAX_FILES])
    more = f" and {len(progress.files) - _MAX_FILES} more" if len(progress.files) > _MAX_FILES else ""
    return f"{names or 'nothing'}{more} (+{progress.added} -{progress.removed})"


def describe_question(progress: RunProgress, question: InputRequest) -> str:
    """Return the run's question, the command that answers it, and its default, in one line."""
    command = list_commands(progress)[0]
    return f"{truncate_line(question.text, 300)} (`{command}`; {describe_default(question)})"


def describe_default(question: InputRequest) -> str:
    """Return the assumption of a run without an answer, and its time."""
    deadline = f"{datetime.fromisoformat(question.deadline):%Y-%m-%d %H:%M} UTC"
    return f"default at {deadline}: {truncate_line(question.assumption, 160)}"


def list_commands(progress: RunProgress) -> list[str]:
    """Return the commands that end a run's waiting for a person, the most usual one first."""
    commands = []
    if progress.input_request is not None:
        if progress.input_request.kind == "plan":
            rejects = progress.input_request.accepts_feedback
            change = f'feedback {progress.id} "TEXT"' if rejects else f"outline {progress.id} --set FILE"
            commands += [f"{PROGRAM} approve {progress.id}", f"{PROGRAM} {change}"]
        else:
            commands.append(f'{PROGRAM} answer {progress.id} "TEXT"')
    if progress.status == "paused":
        commands.append(f"{PROGRAM} resume {progress.id}")
    return commands


def _headings(progress: RunProgress) -> list[str]:
    return [truncate_line(topic.topic, 60) for topic in progress.topics]


def _step(progress: RunProgress) -> tuple[str, str, int, int]:
    """Return the key that changes when a new headline is due."""
    return progress.phase, progress.status, progress.cycle, progress.revision


def _topic_changes(old: RunProgress | None, now: RunProgress) -> Iterator[str]:
    """Yield a line for every topic whose state changed; waiting topics need none."""
    phases = {topic.topic: topic.phase for topic in old.topics} if old else {}
    for topic in now.topics:
        if phases.get(topic.topic) != topic.phase and topic.phase != "waiting":
            yield _topic_line(topic)


def _step_changes(old: RunProgress | None, now: RunProgress) -> Iterator[str]:
    """Yield a line for every step of the current plan whose state changed; pending steps need none."""
    earlier_steps = old.steps if old else ()
    for step in now.steps:
        if step not in earlier_steps and step.status != "pending":
            yield truncate_line(describe_step(step), 240)


def _coverage_changes(old: RunProgress | None, now: RunProgress) -> Iterator[str]:
    """Yield the coverage of the topics if it changed."""
    shares = [f"{truncate_line(topic.topic, 60)} {topic.coverage:.0%}" for topic in now.topics]
    before = [f"{truncate_line(topic.topic, 60)} {topic.coverage:.0%}" for topic in old.topics] if old else []
    if shares and shares != before:
        yield f"covered: {' · '.join(shares)}"


def _topic_line(topic: TopicProgress) -> str:
    """Return a topic's state in one line."""
    line = f"{truncate_line(topic.topic, 80)}: {topic.phase.replace('_', ' ')}"
    if topic.phase == "done":
        figures = f"{format_count(topic.claims, 'claim')}, {format_count(topic.sources, 'source')}"
        line += f" ({figures}, coverage {topic.coverage:.0%})"
    elif topic.round:
        line += f", round {topic.round + 1}"
    return line


def describe_state(details: RunDetails) -> str:
    """Return the activity or the end of a run in one line."""
    if not details.is_running:
        return details.failure or details.status.replace("_", " ")
    if details.pending_failures:
        return "; ".join(details.pending_failures)
    if details.progress is None:
        return details.note or "starting"
    return " · ".join(filter(None, (describe_phase(details.progress), describe_usage(details.progress))))


def describe_phase(progress: RunProgress) -> str:
    """Return the run's activity in one line."""
    words = (_PHASES | _CODE_PHASES if progress.mode == "CODE" else _PHASES)[progress.phase]
    if progress.phase == "research" and progress.cycle:
        words += f", cycle {progress.cycle}"
    if progress.status == "paused":
        words = f"paused while {words}"
    elif progress.status != "running":
        words = progress.status.replace("_", " ")
    if progress.tests:
        words += f", {progress.tests_passed} of {format_count(progress.tests, 'test')} passed"
    unit = "generation" if progress.mode == "CODE" else "revision"
    return f"{words} ({unit} {progress.revision})" if progress.revision else words


def describe_usage(progress: RunProgress) -> str:
    """Return the usage in one line, with the limits."""
    return " · ".join([*list_usage(progress), *progress.budget])


def list_usage(progress: RunProgress) -> list[str]:
    """Return phrases on the usage, without the limits."""
    usage = progress.usage
    tokens = usage.tokens_in + usage.tokens_out
    saved = usage.saved
    spent = f"{usage.tokens_in:,} + {usage.tokens_out:,} tokens" if tokens or saved.answers else "offline"
    calls = format_count(usage.calls, "call") + (f" ({usage.critical_path} in a row)" if usage.critical_path else "")
    figures = [spent, calls, format_count(usage.searches, "search", "searches")]
    figures += [f"{usage.cost_usd:.4f} USD"] if usage.cost_usd is not None else []
    figures += [f"{saved.tokens_in + saved.tokens_out:,} tokens saved by cached answers"] if saved.answers else []
    return figures


def describe_embedding(chunks: int) -> str:
    """Return the number of chunks that are embedded in the background, and what searches do with them."""
    return f"embedding in the background: {format_count(chunks, 'chunk')} left, found by words only"


def describe_ingestion(ingest: IngestProgress) -> str:
    """Return the progress of an ingestion in one line."""
    if ingest.stage == "embedding":
        return f"embedding: {ingest.embedded:,} of {format_count(ingest.to_embed, 'chunk')}"
    if not ingest.files_total:
        return "looking for documents" if ingest.stage == "scanning" else "found no documents"
    chunks = format_count(ingest.chunks, "chunk")
    if ingest.stage == "done":
        return f"read {format_count(ingest.files_total, 'file')}, {chunks}"
    line = f"{ingest.stage}: {ingest.files_done:,} of {format_count(ingest.files_total, 'file')}, {chunks}"
    return f"{line}, {truncate_line(ingest.last_file.rsplit('/', 1)[-1], 60)}" if ingest.last_file else line


def _ingest_step(ingest: IngestProgress | None) -> tuple[str, int] | None:
    """Round an ingestion's progress to tenths, so that a log gets ten lines and not a thousand."""
    if ingest is None:
        return None
    done, total = count_ingested(ingest)
    return ingest.stage, 10 * done // max(total, 1)
