"""Steering: what a person asks of a running run, and what the run answers (DESIGN §7).

Texts are not bounded here: whether a word can be followed depends on where the run is, so it is the run that
refuses one, in a line that a person can act upon.
"""

from typing import Any, Literal, get_args

from pydantic import Field, model_validator

from tenure.contracts.base import Contract

Verb = Literal["feedback", "pause", "resume", "finish", "cancel", "outline", "budget", "approve", "answer"]
VERBS: tuple[Verb, ...] = get_args(Verb)


class OutlineTopic(Contract):
    """A topic of an outline that a person sets; as a line: `heading`, `heading | question`, `old => new | question`."""

    heading: str = ""
    """Heading of its section."""
    question: str = ""
    """What the section has to answer; empty for what it was, or for the heading itself."""
    was: str = ""
    """Heading that the topic had so far, where it is renamed."""
    earlier: tuple[str, ...] = ()
    """Headings that it had before that; the run keeps them for parts that have missed a change."""

    @model_validator(mode="before")
    @classmethod
    def _from_line(cls, given: Any) -> Any:
        """Accept a line in the place of an object."""
        if not isinstance(given, str):
            return given
        name, _, question = given.partition(" | ")
        was, arrow, heading = name.partition(" => ")
        topic = {"heading": heading, "was": was} if arrow else {"heading": name, "was": ""}
        return {key: " ".join(text.split()) for key, text in (topic | {"question": question}).items()}


class Budget(Contract):
    """New bounds of a run; None for those that stay."""

    max_tokens: int | None = Field(default=None, ge=1)
    """Prompt and answer tokens of the whole run."""
    max_cost_usd: float | None = Field(default=None, gt=0)
    """US dollars."""
    max_calls: int | None = Field(default=None, ge=1)
    """Answers of the model."""
    max_searches: int | None = Field(default=None, ge=1)
    """Searches in the knowledge base."""
    max_seconds: float | None = Field(default=None, gt=0)
    """Time at work from the start."""


class Steering(Contract):
    """A person's word to a run."""

    verb: Verb
    """What is asked."""
    text: str = ""
    """Feedback, or the answer to the run's question."""
    topic: str | None = None
    """Feedback: the topic it is about; None for the whole report."""
    outline: tuple[OutlineTopic, ...] = ()
    """The whole outline as it is to be."""
    budget: Budget = Budget()
    """The bounds that change."""
    discard: bool = False
    """Cancel: whether what is written is thrown away."""


class Acknowledged(Contract):
    """The run's answer to a word it follows."""

    verb: Verb
    """What was asked."""
    affects: str
    """What it will change, in a sentence."""


class Outline(Contract):
    """The outline that a person has set."""

    number: int
    """Which of them it is, from 1."""
    topics: tuple[OutlineTopic, ...]
    """All of its topics, in order."""


class Allotment(Contract):
    """The bounds that people have set while the run went on."""

    number: int = 0
    """How often they were changed; what was granted under earlier ones is void."""
    budget: Budget = Budget()
    """The bounds."""


class Question(Contract):
    """What a run asks of a person."""

    reporter: str
    """Workflow id of the part that asks."""
    number: int
    """Which of its questions this is; the answer carries the same."""
    kind: Literal["plan", "clarification"]
    """Whether a plan waits for approval, or something is not clear."""
    text: str
    """The question."""
    assumed: str
    """What happens unless somebody answers."""
    until: str = ""
    """When that is, ISO 8601 in UTC; pauses put it off."""


class Answer(Contract):
    """What came of a question."""

    number: int
    """Which question is answered."""
    wish: str = ""
    """The person's words with the question they answer; empty where nobody answered or nothing is to be added."""
    said: str = ""
    """The person's words alone."""
