"""Steering: which words of people a run follows, and what they will change.

One set of rules for updates, whose sender hears why a word is refused, and for signals, whose refusal the report
tells. Nothing is changed here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tenure.algorithms.control.budget import used
from tenure.algorithms.control.feedback import concerned
from tenure.algorithms.text.questions import shorten
from tenure.contracts.run.control import Budget, OutlineTopic, Question, Steering, Verb
from tenure.contracts.run.run import Feedback, Limits, Phase, Stance, TaskMode, Usage

MOST_TEXT = 4_000
"""Characters of one piece of feedback."""
MOST_ANSWER = 2_000
"""Characters of an answer; it travels together with its question."""
MOST_SAID = 64_000
"""Bytes of everything that people may say to one run: it travels to all its parts."""
MOST_TOPICS, MOST_HEADING, MOST_QUESTION = 12, 160, 1_000
"""Topics of an outline, and characters of a heading and of its question."""
MOST_COUNTED, MOST_SECONDS = 10**12, 315_360_000
"""The highest bound of what is counted or paid, and of time: ten years, since no clock goes on for ever."""
SHOWN = 80
"""Characters of a person's words that a refusal repeats."""

CLOSED: Mapping[Phase, str] = {
    "compose": "its sections are written",
    "assemble": "its report is being put together",
    "done": "it has ended",
}
"""Phases in which nothing changes any more."""

NOTHING = Usage()


@dataclass(frozen=True)
class Situation:
    """Where a run is when a person speaks to it."""

    phase: Phase
    """What it is doing."""
    mode: TaskMode
    """Which path it takes."""
    stance: Stance
    """What was asked of it before, and what its budgets allow."""
    limits: Limits
    """Its bounds."""
    topics: tuple[str, ...] = ()
    """Headings of its outline, as far as it has one."""
    usage: Usage = NOTHING
    """What it has used."""
    seconds: float = 0.0
    """How long it has worked."""
    wishes: tuple[Feedback, ...] = ()
    """What was said before."""
    question: Question | None = None
    """What it asks."""
    cancelled: bool = False
    """Whether somebody has stopped it."""
    asked_to_finish: bool = False
    """Whether a person wants no more to be gathered."""


def read(verb: Verb, given: Any) -> Steering:
    """Return what a signal says, whatever was typed as its input.

    Raises:
        ValueError: it says nothing that belongs to the verb; one line.
    """
    try:
        return _READERS[verb](given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(
            f"its input is not understood: {where + ': ' if where else ''}{first['msg'].lower()}"
        ) from None


def _plain(verb: Verb) -> Callable[[Any], Steering]:
    return lambda given: Steering(verb=verb)


def _worded(verb: Verb) -> Callable[[Any], Steering]:
    def reader(given: Any) -> Steering:
        return Steering.model_validate(
            {"verb": verb, **({"text": given} if isinstance(given, str) else _fields(given))}
        )

    return reader


def _cancelling(given: Any) -> Steering:
    return Steering.model_validate({"verb": "cancel", **(_fields(given) if given else {})})


def _outlining(given: Any) -> Steering:
    lines = [line for line in given.splitlines() if line.strip()] if isinstance(given, str) else given
    return Steering(verb="outline", outline=_TOPICS.validate_python(lines))


def _budgeting(given: Any) -> Steering:
    return Steering(verb="budget", budget=Budget.model_validate(given))


def _fields(given: Any) -> dict[str, Any]:
    """Return the fields of an object, which cannot change the verb.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(given, dict):
        raise ValueError("its input is not understood: it has to be a text or an object")
    return {name: value for name, value in given.items() if name != "verb"}


_TOPICS = TypeAdapter(tuple[OutlineTopic, ...])

_READERS: Mapping[Verb, Callable[[Any], Steering]] = {
    "feedback": _worded("feedback"),
    "pause": _plain("pause"),
    "resume": _plain("resume"),
    "finish": _plain("finish"),
    "cancel": _cancelling,
    "outline": _outlining,
    "budget": _budgeting,
    "approve": _plain("approve"),
    "answer": _worded("answer"),
}


def refusal(steering: Steering, now: Situation) -> str:
    """Return why a run does not follow a word, in one line; empty where it does."""
    if now.phase in CLOSED:
        return f"the run takes nothing in any more: {CLOSED[now.phase]}"
    if now.cancelled and steering.verb != "cancel":
        return "the run was cancelled and delivers what there is"
    return _RULES.get(steering.verb, _always)(steering, now)


def _always(steering: Steering, now: Situation) -> str:
    return ""


def _no_feedback(steering: Steering, now: Situation) -> str:
    said = sum(len(wish.text.encode()) for wish in now.wishes)
    if why := _no_text(steering.text, "feedback", MOST_TEXT):
        return why
    if said + len(steering.text.encode()) > MOST_SAID:
        return f"people have said {said:,} bytes to this run already, and {MOST_SAID:,} is the most it can keep in mind"
    if steering.topic is None:
        return ""
    if not 0 < len(steering.topic.strip()) <= MOST_HEADING:
        return f"the topic that the feedback names has to have 1 to {MOST_HEADING} characters"
    if not now.topics or concerned(feedback_of(steering), now.topics):
        return ""
    return f"there is no topic “{_brief(steering.topic)}”: the outline has {_quoted(now.topics)}"


def _no_text(text: str, what: str, most: int) -> str:
    if not any(char.isprintable() and not char.isspace() for char in text):
        return f"the {what} is empty"
    return f"the {what} has {len(text):,} characters, and {most:,} is the most" if len(text) > most else ""


def _no_outline(steering: Steering, now: Situation) -> str:
    if now.mode == "CODE":
        return "a program has no outline"
    if now.stance.finishing:
        return "the run is finishing and begins no section any more"
    return _unfit(steering.outline) or _unknown(steering.outline, now.topics)


def _unfit(topics: Sequence[OutlineTopic]) -> str:
    """Return which bound an outline breaks."""
    if not 1 <= len(topics) <= MOST_TOPICS:
        return f"an outline has 1 to {MOST_TOPICS} topics, and this one has {len(topics)}"
    names = [" ".join(topic.heading.split()) for topic in topics]
    twice = [name for name in names if [other.casefold() for other in names].count(name.casefold()) > 1]
    if any(not name or name.startswith("/") for name in names):
        return "every topic of an outline needs a heading, and none begins with a slash"
    if twice:
        return f"the outline has the topic “{_brief(twice[0])}” twice"
    if any(len(name) > MOST_HEADING for name in names):
        return f"a heading has at most {MOST_HEADING} characters"
    if any(len(topic.question) > MOST_QUESTION for topic in topics):
        return f"the question of a topic has at most {MOST_QUESTION:,} characters"
    return ""


def _unknown(topics: Sequence[OutlineTopic], known: Sequence[str]) -> str:
    """Return which renamed topic the present outline does not have, or that two want to be the same one."""
    given = [topic.was.strip() for topic in topics if topic.was.strip()]
    names = [name.casefold() for name in given]
    there = {heading.casefold() for heading in known}
    missing = [name for name in given if known and name.casefold() not in there]
    if missing:
        return f"there is no topic “{_brief(missing[0])}” to rename: the outline has {_quoted(known)}"
    return "two topics were renamed from the same one" if len(names) != len(set(names)) else ""


def _no_budget(steering: Steering, now: Situation) -> str:
    wanted = steering.budget
    spent = used(now.usage)
    given = {name: value for name, value in wanted if value is not None}
    if not given:
        return "no bound was named"
    if any(value > MOST_COUNTED for value in given.values()) or (wanted.max_seconds or 0) > MOST_SECONDS:
        return f"no bound may be above {MOST_COUNTED:,}, and none of time above {MOST_SECONDS:,} seconds"
    if wanted.max_cost_usd is not None and now.limits.dearest is None:
        return "money cannot be limited: the run was started without the prices of its models"
    have = {
        "max_tokens": (spent.tokens, f"{spent.tokens:,} tokens"),
        "max_cost_usd": (spent.cost_usd, f"{spent.cost_usd:.4f} USD"),
        "max_calls": (spent.calls, f"{spent.calls:,} model calls"),
        "max_searches": (spent.searches, f"{spent.searches:,} searches"),
        "max_seconds": (now.seconds, f"{now.seconds:.0f} s"),
    }
    below = [have[name][1] for name, value in given.items() if value < have[name][0]]
    return f"{' and '.join(below)} are used already" if below else ""


def _no_approval(steering: Steering, now: Situation) -> str:
    if now.question is not None and now.question.kind == "plan":
        return ""
    return "no plan waits for approval" + (": the run has a question, so `answer` it" if now.question else "")


def _no_answer(steering: Steering, now: Situation) -> str:
    if now.question is None:
        return "the run has not asked anything: `feedback` tells it something at any time"
    if now.question.kind == "plan":
        return "the run waits for its plan to be approved: `approve` it, or change it with `outline`"
    return _no_text(steering.text, "answer", MOST_ANSWER)


_RULES: Mapping[Verb, Callable[[Steering, Situation], str]] = {
    "feedback": _no_feedback,
    "outline": _no_outline,
    "budget": _no_budget,
    "approve": _no_approval,
    "answer": _no_answer,
}


def effect(steering: Steering, now: Situation) -> str:
    """Return what a word that is followed will change, in one sentence."""
    return _EFFECTS[steering.verb](steering, now)


def feedback_of(steering: Steering) -> Feedback:
    """Return the feedback that a word is."""
    return Feedback(text=steering.text.strip(), topic=steering.topic)


def _of_feedback(steering: Steering, now: Situation) -> str:
    if feedback_of(steering) in now.wishes:
        return "It was said before and changes nothing more."
    if now.mode == "CODE":
        return "The next program is written with it."
    if not now.topics:
        return "The outline and the research will know it."
    names = concerned(feedback_of(steering), now.topics)
    whom = "Every section" if len(names) == len(now.topics) else _quoted(names)
    if now.stance.finishing:
        return f"{whom} will know it where it is still being written."
    return f"{whom} will know it" + (", and the next plan of the research." if now.phase == "research" else ".")


def _of_pause(steering: Steering, now: Situation) -> str:
    if now.stance.paused:
        return "It is held already; nothing changes."
    return "Nothing new starts until it is resumed; its deadline stands still."


def _of_resume(steering: Steering, now: Situation) -> str:
    return "It goes on." if now.stance.paused else "It was not held; nothing changes."


def _of_finish(steering: Steering, now: Situation) -> str:
    if now.asked_to_finish:
        return "It is finishing already; nothing changes."
    return "Nothing new is begun, and what there is gets written up."


def _of_cancel(steering: Steering, now: Situation) -> str:
    if steering.discard:
        return "It stops at once, and what is written is thrown away."
    return "It stops at once, and what is written is delivered."


def _of_outline(steering: Steering, now: Situation) -> str:
    names = [" ".join(topic.heading.split()) for topic in steering.outline]
    known = {name.casefold() for name in now.topics}
    kept = known & {(topic.was or topic.heading).strip().casefold() for topic in steering.outline}
    count = f"{len(names)} topic{'' if len(names) == 1 else 's'}"
    if not known:
        return f"The outline will have {count}."
    return f"The outline will have {count}: {len(names) - len(kept)} new, {len(known) - len(kept)} dropped."


def _of_budget(steering: Steering, now: Situation) -> str:
    told = "The new bounds hold from the next call on."
    raised = now.stance.spent is not None and relieved(now.stance, now.limits, steering.budget)
    if raised and now.asked_to_finish:
        return f"{told} Nothing more is gathered, since a person asked to finish."
    return f"{told} The run takes up again what the old ones ended." if raised else told


def _of_approval(steering: Steering, now: Situation) -> str:
    return "The research begins."


def _of_answer(steering: Steering, now: Situation) -> str:
    if now.phase == "route":
        return "The question is read with the answer, and the research begins."
    return "The research plans anew with the answer."


_EFFECTS: Mapping[Verb, Callable[[Steering, Situation], str]] = {
    "feedback": _of_feedback,
    "pause": _of_pause,
    "resume": _of_resume,
    "finish": _of_finish,
    "cancel": _of_cancel,
    "outline": _of_outline,
    "budget": _of_budget,
    "approve": _of_approval,
    "answer": _of_answer,
}


def within(limits: Limits, budget: Budget) -> Limits:
    """Return limits with the bounds that people have changed."""
    changed = {name: value for name, value in budget if value is not None}
    return limits.model_copy(update=changed) if changed else limits


def together(before: Budget, change: Budget) -> Budget:
    """Return bounds with the later ones in the place of the earlier ones."""
    return before.model_copy(update={name: value for name, value in change if value is not None})


def relieved(stance: Stance, limits: Limits, change: Budget) -> bool:
    """Tell whether what a run has used up is raised by a change."""
    names = {
        "tokens": "max_tokens",
        "money": "max_cost_usd",
        "calls": "max_calls",
        "searches": "max_searches",
        "time": "max_seconds",
    }
    name = names.get(stance.spent or "")
    wanted, had = (getattr(one, name) if name else None for one in (change, limits))
    return wanted is not None and (had is None or wanted > had)


def answered(question: Question, text: str) -> Feedback:
    """Return an answer as what the run has to take into account."""
    return Feedback(text=f"To “{shorten(question.text, MOST_QUESTION)}” a person answers: {text.strip()}")


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"“{_brief(name)}”" for name in names)


def _brief(text: str) -> str:
    return shorten(" ".join(text.split()), SHOWN)
