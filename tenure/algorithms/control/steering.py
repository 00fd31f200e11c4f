"""Parse the commands that users send to a run, check them, and describe their effect.

The same rules apply to updates, whose sender receives the reason of a refusal, and to signals, whose refusals are
listed in the report. The functions do not change any state.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from tenure.algorithms.control.budget import compute_used_amounts, list_limits
from tenure.algorithms.control.feedback import match_headings
from tenure.algorithms.text.questions import shorten
from tenure.contracts.run.control import BudgetBounds, CommandName, InputRequest, OutlineTopic, RunCommand
from tenure.contracts.run.run import ControlState, Feedback, RunLimits, RunPhase, TaskMode, Usage

MAX_FEEDBACK_LENGTH = 4_000
MAX_ANSWER_LENGTH = 2_000
"""Maximum characters of an answer, which is forwarded together with its question."""
MAX_FEEDBACK_ITEMS, MAX_TOTAL_FEEDBACK_BYTES = 200, 64_000
"""Maximum number and bytes of all feedback to one run, since it is forwarded to all parts of the run."""
MAX_OUTLINE_TOPICS, MAX_HEADING_LENGTH, MAX_QUESTION_LENGTH = 12, 160, 1_000
"""Maximum number of topics of an outline, and characters of a heading and of a topic's question."""
MAX_BOUND, MAX_TIME_BOUND_SECONDS = 10**12, 315_360_000
"""Maximum budget of amounts and money, and of time (ten years)."""
MAX_QUOTED_LENGTH = 80
"""Maximum characters of a user's text that a refusal quotes."""

CLOSED_PHASES: Mapping[RunPhase, str] = {
    "compose": "its sections are written",
    "assemble": "its report is being assembled",
    "done": "it has ended",
}
"""Phases in which commands have no effect, with the reason."""

NO_USAGE = Usage()


@dataclass(frozen=True)
class RunSituation:
    """State of a run that decides whether it accepts a command."""

    phase: RunPhase
    mode: TaskMode
    control: ControlState
    """Control state: earlier commands and exhausted budgets."""
    limits: RunLimits
    topics: tuple[str, ...] = ()
    """Headings of the outline; empty before it exists."""
    usage: Usage = NO_USAGE
    elapsed_seconds: float = 0.0
    """Working time so far."""
    feedback: tuple[Feedback, ...] = ()
    input_request: InputRequest | None = None
    """Open question to the user; None if the run does not wait."""
    is_repository: bool = False
    """Whether the run works in a repository."""
    is_cancelled: bool = False
    finish_requested: bool = False
    """Whether a user has asked the run to finish."""


def parse_command(name: CommandName, input: Any) -> RunCommand:
    """Parse the input of a signal, which may be any JSON value.

    Raises:
        ValueError: the input is not valid for this command; the message has one line.
    """
    try:
        return RunCommand.model_validate({"name": name, **_read_fields(name, input)})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        location = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"its input is invalid: {location + ': ' if location else ''}{first['msg'].lower()}") from None


def _read_fields(name: CommandName, input: Any) -> Mapping[str, Any]:
    """Return the fields of a command; the input cannot change its name."""
    match name:
        case "outline":
            is_text = isinstance(input, str)
            return {"outline": [line for line in input.splitlines() if line.strip()] if is_text else input}
        case "budget":
            return {"budget": input}
        case "feedback" | "answer" if isinstance(input, str):
            return {"text": input}
        case "cancel" if not input:
            return {}
        case "feedback" | "answer" | "cancel":
            if not isinstance(input, dict):
                raise ValueError("its input is invalid: expected a text or an object")
            return {field: value for field, value in input.items() if field != "name"}
    return {}


def find_refusal(command: RunCommand, situation: RunSituation) -> str:
    """Return the reason why a run refuses a command, in one line; empty if it accepts the command."""
    # A report that was paused during its writing waits in its last phases as well.
    is_resumed = command.name == "resume" and situation.control.paused
    if situation.phase in CLOSED_PHASES and not is_resumed:
        return f"the run no longer accepts commands: {CLOSED_PHASES[situation.phase]}"
    if situation.is_cancelled and command.name != "cancel":
        return "the run was cancelled and delivers its partial result"
    check = _CHECKS.get(command.name)
    return check(command, situation) if check else ""


def _check_feedback(command: RunCommand, situation: RunSituation) -> str:
    if why := _check_text(command.text, "feedback", MAX_FEEDBACK_LENGTH):
        return why
    if why := find_feedback_excess(situation.feedback, command.text):
        return why
    if command.topic is None:
        return ""
    if not 0 < len(command.topic.strip()) <= MAX_HEADING_LENGTH:
        return f"the topic of the feedback must have 1 to {MAX_HEADING_LENGTH} characters"
    if not situation.topics or match_headings(convert_to_feedback(command), situation.topics):
        return ""
    return f"there is no topic “{_shorten_quote(command.topic)}”: the outline has {_quote_names(situation.topics)}"


def find_feedback_excess(feedback: Sequence[Feedback], text: str) -> str:
    """Return the limit that one more piece of feedback would exceed, in one line; empty if there is none."""
    if len(feedback) >= MAX_FEEDBACK_ITEMS:
        return f"the run has {len(feedback)} pieces of feedback already, and the limit is {MAX_FEEDBACK_ITEMS}"
    used = sum(len(entry.text.encode()) for entry in feedback)
    if used + len(text.encode()) > MAX_TOTAL_FEEDBACK_BYTES:
        return f"the run has {used:,} bytes of feedback already, and the limit is {MAX_TOTAL_FEEDBACK_BYTES:,}"
    return ""


def _check_text(text: str, label: str, max_length: int) -> str:
    if not any(char.isprintable() and not char.isspace() for char in text):
        return f"the {label} is empty"
    return (
        f"the {label} has {len(text):,} characters, and the limit is {max_length:,}" if len(text) > max_length else ""
    )


def _check_outline(command: RunCommand, situation: RunSituation) -> str:
    if situation.mode == "CODE":
        return "a program has no outline"
    if situation.control.finishing:
        return "the run is finishing and starts no new section"
    return _check_topics(command.outline) or _check_renames(command.outline, situation.topics)


def _check_topics(topics: Sequence[OutlineTopic]) -> str:
    """Return the reason why an outline is invalid; empty if it is valid."""
    if not 1 <= len(topics) <= MAX_OUTLINE_TOPICS:
        return f"an outline has 1 to {MAX_OUTLINE_TOPICS} topics, and this one has {len(topics)}"
    names = [" ".join(topic.heading.split()) for topic in topics]
    twice = [name for name in names if [other.casefold() for other in names].count(name.casefold()) > 1]
    if any(not name or name.startswith("/") for name in names):
        return "every topic of an outline needs a heading that does not start with a slash"
    if twice:
        return f"the outline has the topic “{_shorten_quote(twice[0])}” twice"
    if any(len(name) > MAX_HEADING_LENGTH for name in names):
        return f"a heading has at most {MAX_HEADING_LENGTH} characters"
    if any(len(topic.question) > MAX_QUESTION_LENGTH for topic in topics):
        return f"the question of a topic has at most {MAX_QUESTION_LENGTH:,} characters"
    return ""


def _check_renames(topics: Sequence[OutlineTopic], headings: Sequence[str]) -> str:
    """Return the reason why renamed topics do not match the current outline; empty if they do."""
    renamed = [topic.renamed_from.strip() for topic in topics if topic.renamed_from.strip()]
    names = [name.casefold() for name in renamed]
    existing = {heading.casefold() for heading in headings}
    missing = [name for name in renamed if headings and name.casefold() not in existing]
    if missing:
        return f"there is no topic “{_shorten_quote(missing[0])}” to rename: the outline has {_quote_names(headings)}"
    return "two topics are renamed from the same topic" if len(names) != len(set(names)) else ""


def _check_budget(command: RunCommand, situation: RunSituation) -> str:
    bounds = command.budget
    used = compute_used_amounts(situation.usage)
    bounds_set = {name: value for name, value in bounds if value is not None}
    if not bounds_set:
        return "no budget was given"
    if any(value > MAX_BOUND for value in bounds_set.values()) or (bounds.max_seconds or 0) > MAX_TIME_BOUND_SECONDS:
        return f"a budget is at most {MAX_BOUND:,}, and a time budget at most {MAX_TIME_BOUND_SECONDS:,} seconds"
    if bounds.max_cost_usd is not None and situation.limits.highest_price is None:
        return "cost cannot be limited: the run was started without the prices of its models"
    minimums = {
        "max_tokens": (used.tokens, f"{used.tokens:,} tokens"),
        "max_cost_usd": (used.cost_usd, f"{used.cost_usd:.4f} USD"),
        "max_calls": (used.calls, f"{used.calls:,} model calls"),
        "max_searches": (used.searches, f"{used.searches:,} searches"),
        "max_seconds": (situation.elapsed_seconds, f"{situation.elapsed_seconds:.0f} s"),
    }
    below = [minimums[name][1] for name, value in bounds_set.items() if value < minimums[name][0]]
    return f"{' and '.join(below)} are used already" if below else ""


_PHASES_BEFORE_PLAN = ("ingest", "retrieve", "route", "outline")


def _check_approval(command: RunCommand, situation: RunSituation) -> str:
    if situation.input_request is not None and situation.input_request.kind == "plan":
        return ""
    if situation.input_request is not None:
        return "no plan waits for approval: the run has a question, so `answer` it"
    if situation.limits.approve_plan and situation.mode != "CODE" and situation.phase in _PHASES_BEFORE_PLAN:
        return "the plan is not made yet: send `approve` again when the run waits for it"
    return "no plan waits for approval"


def _check_answer(command: RunCommand, situation: RunSituation) -> str:
    if situation.input_request is None:
        return "the run has not asked anything; send `feedback` instead"
    if situation.input_request.kind == "plan":
        change = "reject it with `feedback`" if situation.input_request.accepts_feedback else "change it with `outline`"
        return f"the run waits for approval: `approve` it, or {change}"
    return _check_text(command.text, "answer", MAX_ANSWER_LENGTH)


_CHECKS: Mapping[CommandName, Callable[[RunCommand, RunSituation], str]] = {
    "feedback": _check_feedback,
    "outline": _check_outline,
    "budget": _check_budget,
    "approve": _check_approval,
    "answer": _check_answer,
}


def describe_effect(command: RunCommand, situation: RunSituation) -> str:
    """Return the effect of an accepted command, in one sentence."""
    is_paused = situation.control.paused
    match command.name:
        case "feedback":
            return _describe_feedback(command, situation)
        case "pause":
            effect = "No new work starts until it is resumed; its time limit is suspended."
            return "It is paused already; nothing changes." if is_paused else effect
        case "resume":
            return "It continues." if is_paused else "It was not paused; nothing changes."
        case "finish":
            effect = (
                "No new step starts; what there is gets delivered."
                if situation.mode == "CODE"
                else "No new research starts; the report is written from the findings so far."
            )
            return "It is finishing already; nothing changes." if situation.finish_requested else effect
        case "cancel":
            written = "the changes so far" if situation.is_repository else "written sections"
            return f"It stops immediately, and {written} are {'discarded' if command.discard else 'delivered'}."
        case "outline":
            return _describe_outline(command, situation)
        case "budget":
            return _describe_budget(command, situation)
        case "approve":
            return "The work continues." if situation.mode == "CODE" else "The research starts."
        case "answer" if situation.phase == "route":
            return "The answer is added to the question, and the research starts."
        case "answer" if situation.mode == "CODE":
            return "The next step will consider it."
        case "answer":
            return "The research is replanned with the answer."


def convert_to_feedback(command: RunCommand) -> Feedback:
    """Return the feedback of a command."""
    return Feedback(text=command.text.strip(), topic=command.topic)


def _describe_feedback(command: RunCommand, situation: RunSituation) -> str:
    if convert_to_feedback(command) in situation.feedback:
        return "The run has this feedback already; nothing changes."
    if situation.input_request is not None and situation.input_request.accepts_feedback:
        return "The step that waits for approval is rejected, and the next version will consider the feedback."
    if situation.is_repository:
        return "The next step will consider it."
    if situation.mode == "CODE":
        return "The next program will consider it."
    if not situation.topics:
        return "The outline and the research will consider it."
    names = match_headings(convert_to_feedback(command), situation.topics)
    sections = "Every section" if len(names) == len(situation.topics) else _quote_names(names)
    if situation.control.finishing:
        return f"{sections} will consider it if it is still being written."
    plan = " and the next research plan" if situation.phase == "research" else ""
    return f"{sections}{plan} will consider it."


def _describe_outline(command: RunCommand, situation: RunSituation) -> str:
    names = [" ".join(topic.heading.split()) for topic in command.outline]
    before = {name.casefold() for name in situation.topics}
    remaining = before & {(topic.renamed_from or topic.heading).strip().casefold() for topic in command.outline}
    count = f"{len(names)} topic{'' if len(names) == 1 else 's'}"
    if not before:
        return f"The outline will have {count}."
    return f"The outline will have {count}: {len(names) - len(remaining)} new, {len(before) - len(remaining)} dropped."


def _describe_budget(command: RunCommand, situation: RunSituation) -> str:
    text = "The new budgets apply from the next call."
    raised = situation.control.exhausted is not None and is_exhausted_limit_raised(
        situation.control, situation.limits, command.budget
    )
    if raised and situation.finish_requested:
        return f"{text} No more research starts, because a user asked to finish."
    return f"{text} The run resumes the work that the old budgets ended." if raised else text


def apply_bounds(limits: RunLimits, budget: BudgetBounds) -> RunLimits:
    """Return limits with the bounds that a user has changed."""
    changed = {name: value for name, value in budget if value is not None}
    return limits.model_copy(update=changed) if changed else limits


def merge_bounds(before: BudgetBounds, change: BudgetBounds) -> BudgetBounds:
    """Return bounds in which later values replace earlier ones."""
    return before.model_copy(update={name: value for name, value in change if value is not None})


def is_exhausted_limit_raised(control: ControlState, limits: RunLimits, change: BudgetBounds) -> bool:
    """Return whether a change raises the limit that the run has exhausted."""
    before, after = list_limits(limits), list_limits(apply_bounds(limits, change))
    resource = control.exhausted
    return resource in after and (resource not in before or after[resource] > before[resource])


def convert_answer(question: InputRequest, text: str) -> Feedback:
    """Return an answer as feedback that repeats its question."""
    return Feedback(text=f"The user answers “{shorten(question.text, MAX_QUESTION_LENGTH)}”: {text.strip()}")


def _quote_names(names: Sequence[str]) -> str:
    return ", ".join(f"“{_shorten_quote(name)}”" for name in names)


def _shorten_quote(text: str) -> str:
    return shorten(" ".join(text.split()), MAX_QUOTED_LENGTH)
