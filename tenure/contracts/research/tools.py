"""Tools of a task: arguments, observations, and the requests of their activities.

The tools themselves are modules of `workflows.research.tools`. Passages are named by number, from 1, in the order in
which a task first saw them.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from tenure.contracts.base import ChunkId, Contract, SourceId
from tenure.contracts.evidence.passages import Citation, Claim, PassageRef
from tenure.contracts.sandbox import Artifact

FactKind = Literal["any", "figures", "dates", "names", "definitions"]
"""Type of a fact: any; with a quantity; with a date; naming a person or thing; or a definition."""

ComparisonRelation = Literal["same", "different", "only_first", "only_second"]
"""Relation of two documents on a point: they agree; they differ; or only one of them mentions it."""

MAX_MCP_TOOLS = 40
"""Maximum number of MCP tools offered to a task."""

MAX_MCP_RESOURCES = 100
"""Maximum number of MCP resources offered to a task."""

MAX_MCP_TEXT_LENGTH = 100_000
"""Maximum characters of an answer or a resource of an MCP server; more would not fit into a history."""

MAX_LOOKUP_DOCUMENTS = 50
"""Maximum number of documents searched for a term."""

MAX_OBSERVATION_LENGTH = 4_000
"""Maximum characters of an observation."""

MAX_EXPRESSION_LENGTH = 1_000
"""Maximum characters of an expression."""

ShortText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
"""A question, a name or a title."""

PassageNumber = Annotated[int, Field(ge=1, le=1_000)]
"""Number of a passage."""


class ToolArguments(BaseModel):
    """Base class of tool arguments; unknown arguments are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Observation(Contract):
    """Result of a tool call."""

    text: str = Field(default="", max_length=MAX_OBSERVATION_LENGTH)
    """Text for the next thought; text of sources is marked with passage numbers."""
    passages: tuple[PassageRef, ...] = ()
    """New evidence; computed results are stored as sources, too."""
    cited: tuple[ChunkId, ...] = ()
    """Chunks of the evidence that the text cites as the basis of an answer or a comparison."""
    reliability: float = Field(default=0.0, ge=0, le=1)
    """Reliability of the text, from 0 to 1."""
    problem: str = ""
    """Reason that there is no result, with advice on what to do; empty on success."""
    artifacts: tuple[Artifact, ...] = ()


class ToolDescription(Contract):
    """Description of a tool for a model."""

    name: str
    description: str
    """Purpose and use of the tool, as shown to models."""
    parameters: dict[str, JsonValue]
    """JSON schema of its arguments."""


class PassageWithNumber(Contract):
    """A passage with its number in a task."""

    number: int = Field(ge=1)
    passage: PassageRef


class ExcerptsRequest(Contract):
    """Request for short excerpts of passages."""

    passages: tuple[PassageWithNumber, ...]
    """Passages, best first."""
    topic: str
    """Subject of the search; sentences on it come first."""
    max_length: int = Field(default=MAX_OBSERVATION_LENGTH, ge=1, le=MAX_OBSERVATION_LENGTH)
    """Maximum characters of all excerpts."""


class LookupRequest(Contract):
    """Search for an exact term."""

    term: str = Field(min_length=1)
    kind: Literal["term", "url"] = "term"
    """term: sentences with the term. url: the term is a URL, and the documents are counted that contain exactly this
    URL; results of tools, queries and programs are no documents."""
    sources: tuple[SourceId, ...] = Field(max_length=MAX_LOOKUP_DOCUMENTS)
    """Sources to search, most important first."""
    limit: int = Field(default=12, ge=1, le=50)


class TermMatch(Contract):
    """A sentence that contains a term."""

    passage: PassageRef
    sentence: str
    """The sentence, verbatim."""


class LookupReply(Contract):
    """Sentences that contain a term."""

    matches: tuple[TermMatch, ...] = ()
    """Sentences that contain the term; definitions come first, the others by source and position."""
    count: int = 0
    """Total number of sentences with the term, or of documents with the URL."""


class StoredResult(Contract):
    """A result that is stored as a source."""

    question: str
    """Question that the result answers; its relevance is measured against it."""
    corpus: str
    """Corpus with which the result is stored."""


class CalculateRequest(StoredResult):
    """An expression whose result is stored as a source."""

    expression: str
    label: str = ""


class CalculateReply(Contract):
    """Result of a calculation."""

    text: str = ""
    passages: tuple[PassageRef, ...] = ()
    problem: str = ""
    """Reason that there is no result; empty on success."""


class CiteRequest(Contract):
    """A claim to be cited from passages."""

    claim: str
    passages: tuple[PassageRef, ...]
    """Passages, best first."""


class CiteReply(Contract):
    """A cited claim, with the sentences whose words decide on it."""

    claim: Claim
    """The claim with the nearest quote of each passage."""
    supporting: tuple[Citation, ...] = ()
    """Sentences that state it."""
    refuting: tuple[Citation, ...] = ()
    """Sentences that deny it."""


class ComparedPoint(Contract):
    """One point of a comparison of two documents."""

    relation: ComparisonRelation
    about: str = ""
    first: Claim | None = None
    """Statement of the first document; None if it has none."""
    second: Claim | None = None
    """Statement of the second document; None if it has none."""


class Comparison(Contract):
    """Comparison of two documents."""

    points: tuple[ComparedPoint, ...] = ()
    """Points, most informative first."""


class McpTool(Contract):
    """A tool of an MCP server, as described by the server."""

    server: str
    name: str
    description: str = ""
    parameters: dict[str, JsonValue] = {}
    """JSON schema of its arguments; empty if it is too long to be shown."""


class McpResource(Contract):
    """A resource of an MCP server, as described by the server."""

    server: str
    uri: str
    title: str
    description: str = ""


class McpToolsReply(Contract):
    """Tools and resources of MCP servers."""

    tools: tuple[McpTool, ...] = ()
    """Allowed tools, at most `MAX_MCP_TOOLS`."""
    resources: tuple[McpResource, ...] = ()
    """Allowed resources, at most `MAX_MCP_RESOURCES`."""
    problems: tuple[str, ...] = ()
    """Reasons that servers could not be listed."""


class McpCallRequest(StoredResult):
    """A call of an MCP tool whose answer is stored as a source."""

    server: str
    tool: str
    arguments: dict[str, JsonValue] = {}
    """Arguments of the tool, as its schema says."""


class McpTextReply(Contract):
    """Answer of an MCP tool, which is not stored yet."""

    text: str = Field(default="", max_length=MAX_MCP_TEXT_LENGTH)
    problem: str = ""
    """Reason that there is no answer; empty on success."""


class McpStoreRequest(McpCallRequest):
    """An answer of an MCP tool to be stored as a source."""

    text: str = Field(max_length=MAX_MCP_TEXT_LENGTH)


class McpResourceRequest(StoredResult):
    """A resource of an MCP server that is read and stored as a source; its most relevant passages are returned."""

    server: str
    uri: str
    title: str = ""


class McpCallReply(Contract):
    """Result of a call of an MCP tool, or of reading an MCP resource."""

    passages: tuple[PassageRef, ...] = ()
    """First passages of an answer, or the most relevant passages of a resource."""
    contains_instructions: bool = False
    """Whether the answer holds text that gives orders to programs which read it."""
    problem: str = ""
    """Reason that there is no answer; empty on success."""
