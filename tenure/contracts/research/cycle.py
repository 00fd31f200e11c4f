"""Effort, plans and findings of a research cycle."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from tenure.contracts.base import Contract
from tenure.contracts.choices import SearchMode
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.schema_limit import SchemaLimit

ActionKind = Literal[
    "SEARCH", "READ", "ANALYZE", "COMPARE", "CALCULATE", "ADD_TO_OUTLINE", "DROP_TOPIC", "ASK_HUMAN", "FINISH"
]


class ResearchEffort(Contract):
    """Amount of work for a question, set by the router's complexity and overridden by a person or a flag."""

    cycles: int = Field(ge=1, le=100)
    """Maximum number of research cycles."""
    subagents: int = Field(ge=1, le=8)
    """Maximum number of tasks per cycle."""
    outline_searches: int = Field(default=0, ge=0)
    """Maximum number of searches of the first cycle if the outline names them; 0 for the tasks of any cycle."""
    hops: int = Field(ge=1, le=5)
    """Maximum number of dependent searches per task."""
    sections: int = Field(ge=1, le=12)
    """Maximum number of topics of the outline."""
    reserved_sections: int = Field(default=0, ge=0)
    """Topics of these that the first outline leaves to subjects that the research discovers."""
    outline_passages: int = Field(default=40, ge=1)
    """Passages that the outliner reads."""
    outlines: bool = True
    """Whether the outline is drafted; otherwise the question is the only topic."""
    plans_first_cycle: bool = True
    """Whether the planner plans the first cycle; otherwise rules make the searches of the outline."""
    imagines: bool = True
    """Whether hypothetical answers are written for the topics."""
    reasons: bool = True
    """Whether a line of reasoning is written if no person asks for one."""
    judges_disputes: bool = True
    """Whether a model judges what a search on a dispute has found; otherwise rules do."""
    reflects: bool = True
    """Whether the report is reviewed in any case; otherwise only if a search has found what it called unknown."""
    dossier_tokens: int = Field(default=20_000, ge=1_000)
    """Tokens of the passages from which the report is written."""
    tool_answers: int | None = Field(default=None, ge=0)
    """Model answers that all tasks with tools of a run may use; None for no limit."""
    max_calls: int | None = Field(default=None, ge=1)
    """Maximum number of model answers of a run, unless a person sets limits; None for no limit."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Maximum number of tokens of a run, unless a person sets limits; None for no limit."""


class PlannedAction(Contract):
    """One action."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    id: Annotated[str, SchemaLimit(40)]
    """A short name of your own for it, such as s1."""
    action: ActionKind
    """Type of the action."""
    query: Annotated[str, SchemaLimit(1000)] = ""
    """SEARCH, READ: the search query. ANALYZE: the question to the document. COMPARE: the criteria. CALCULATE: the
    question about the figures. ADD_TO_OUTLINE: the question that the new section answers. ASK_HUMAN: the question.
    Else empty."""
    target_outline_topic: Annotated[str, SchemaLimit(300)] = ""
    """Exact heading of the topic it serves; for ADD_TO_OUTLINE the new heading. Empty if it serves none."""
    passage: int = 0
    """READ, ANALYZE: number of the finding whose source is to be read further. Else 0."""
    depends_on: Annotated[tuple[Annotated[str, SchemaLimit(40)], ...], SchemaLimit(24)] = ()
    """Ids of the actions of this plan whose results it needs. Names that they find go into its query."""
    expected_output: Annotated[str, SchemaLimit(600)] = ""
    """Expected result; for ASK_HUMAN your assumption without an answer."""
    strategy: Annotated[str | None, SchemaLimit(60)] = None
    """SEARCH: one of the listed search strategies, if the query does not suggest it by its kind; mostly null."""
    search_mode: SearchMode | None = None
    """SEARCH: `sparse` for exact words, names and numbers; `dense` for a description in other words than the source's;
    `graph` to follow names from document to document; `rrf` or `hybrid` for words and meaning. Mostly null: the
    searcher then decides."""
    alternative: Annotated[str, SchemaLimit(1000)] = ""
    """Another query, searched once if the action fails or finds nothing; empty for none."""
    alternative_strategy: Annotated[str | None, SchemaLimit(60)] = None
    """One of the listed search strategies for the alternative; mostly null."""


class Finding(Contract):
    """An accepted passage."""

    topic: str
    """Heading of the topic it counts for."""
    query: str
    """Query that found it."""
    passage: PassageRef
    """Passage, with its relevance to the topic."""
    novelty: float
    """1 − the highest similarity to any passage that the run accepted before."""


class Rejection(Contract):
    """Number of rejected passages of one query, by reason."""

    query: str
    irrelevant: int = 0
    """Passages below the minimum relevance to every topic."""
    known: int = 0
    """Passages too similar to accepted ones."""
