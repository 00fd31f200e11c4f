"""Tools: what a reasoning model may use, with which arguments, and what it observes (document 003, tool layer).

Descriptions and docstrings of arguments are what a model reads of a tool, so each is written for one. Passages are
named by number: those that a task has seen are numbered from 1, in the order in which they were first seen.
"""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from tenure.contracts.base import Contract, SourceId
from tenure.contracts.evidence.passages import Claim, PassageRef
from tenure.contracts.result.programs import StoredArtifact

ToolName = Literal[
    "vector_search",
    "hybrid_search",
    "graph_search",
    "sql",
    "web_search",
    "read_page",
    "calculate",
    "run_python",
    "analyze_document",
    "compare_documents",
    "summarize_results",
    "extract_facts",
    "verify_claim",
    "lookup",
    "mcp",
]
"""The tools by name."""

FactKind = Literal["any", "figures", "dates", "names", "definitions"]
"""What kind of statement a fact is: any; one with a quantity; with a date; that names somebody or something; or that
says what something is."""

Relation = Literal["same", "different", "only_first", "only_second"]
"""What two documents say on a point: the same; something else; or only one of them says anything."""

MOST_MCP_TOOLS = 40
"""Tools of servers that are offered."""

MOST_DOCUMENTS = 50
"""Documents that a term is looked up in."""

LONGEST_OBSERVATION = 4_000
"""Characters of what the next thought reads of a tool."""

LONGEST_EXPRESSION = 1_000
"""Characters of an expression that is calculated."""

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
"""A question, a name or a title."""

PassageNumber = Annotated[int, Field(ge=1, le=1_000)]
"""A passage by its number."""


class Arguments(BaseModel):
    """What a tool is called with; nothing else may be in it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class VectorSearchArguments(Arguments):
    """A search by meaning."""

    query: Words
    """What to look for, as a sentence or a question: passages near in meaning are found, in whatever words."""
    k: int = Field(default=8, ge=1, le=20)
    """Passages wanted."""


class HybridSearchArguments(Arguments):
    """A search by words and meaning."""

    query: Words
    """What to look for, with the names and terms that the passages should have."""
    k: int = Field(default=8, ge=1, le=20)
    """Passages wanted."""


class GraphSearchArguments(Arguments):
    """A search along the links of a thing that has a name."""

    entity: Words
    """Name of a person, place, organisation, work, term or identifier, without other words."""
    about: str = Field(default="", max_length=500)
    """What of it is wanted; empty for everything."""
    k: int = Field(default=8, ge=1, le=20)
    """Relations and passages wanted."""


class SqlArguments(Arguments):
    """A question to the tables."""

    question: Words
    """What the result is to show, in words."""
    statement: str = Field(default="", max_length=4_000)
    """One SELECT over the tables that there are; empty to have it written from the question."""


class WebSearchArguments(Arguments):
    """A search of the web."""

    query: Words
    """What to look for. The best pages that were not read yet are read, and their passages searched."""


class ReadPageArguments(Arguments):
    """A page of the web."""

    address: str = Field(min_length=8, max_length=2_000, pattern=r"^https?://\S+$")
    """Its whole address, with https:// or http://."""
    query: Words
    """What to look for on it."""


class CalculateArguments(Arguments):
    """An exact calculation."""

    expression: str = Field(min_length=1, max_length=LONGEST_EXPRESSION)
    """The expression, with numbers and units from passages: `(3.5 km + 120 m) / 2 to m`, `percent(12, 48)`,
    `mean(3, 5, 10)`, `date(2024, 3, 1) - date(2023, 12, 24)`."""
    shows: str = Field(default="", max_length=200)
    """What the result is, in a few words."""


class RunPythonArguments(Arguments):
    """A program over tables."""

    wanted: Words
    """What is to be computed, in words."""
    inputs: tuple[Annotated[str, StringConstraints(min_length=1, max_length=4_000)], ...] = Field(
        default=(), max_length=4
    )
    """SELECT statements whose results lie beside the program as input1.csv, input2.csv, …"""
    code: str = Field(default="", max_length=20_000)
    """The program, which reads these files and prints what is wanted; empty to have both written from the words."""


class AnalyzeDocumentArguments(Arguments):
    """A closer look into one document."""

    passage: PassageNumber
    """Number of a passage of the document."""
    question: Words
    """What the document is asked."""


class CompareDocumentsArguments(Arguments):
    """Two documents side by side."""

    first: PassageNumber
    """Number of a passage of one document."""
    second: PassageNumber
    """Number of a passage of the other."""
    criteria: Words
    """In what they are compared."""


class SummarizeResultsArguments(Arguments):
    """What was found, in short."""

    question: Words
    """What the summary is to answer."""
    passages: tuple[PassageNumber, ...] = Field(default=(), max_length=20)
    """Numbers of the passages; none for the best of all that were seen."""


class ExtractFactsArguments(Arguments):
    """Single statements out of passages."""

    question: Words
    """What the facts are to be about."""
    kind: FactKind = "any"
    """Which statements: figures have a quantity, dates a date, names a name, definitions say what something is."""
    passages: tuple[PassageNumber, ...] = Field(default=(), max_length=20)
    """Numbers of the passages; none for the best of all that were seen."""


class VerifyClaimArguments(Arguments):
    """A claim to be held against the sources."""

    claim: Words
    """One sentence that states one thing."""


class LookupArguments(Arguments):
    """A term, to the letter."""

    term: Annotated[str, StringConstraints(strip_whitespace=True, min_length=2, max_length=100)]
    """A word, name, number or phrase exactly as documents write it; case does not matter."""
    passage: PassageNumber | None = None
    """Number of a passage whose whole document is looked through; null for the documents of all passages seen."""


class McpArguments(Arguments):
    """A tool of a server of the Model Context Protocol."""

    server: str = Field(min_length=1, max_length=100)
    """Name of the server."""
    tool: str = Field(min_length=1, max_length=200)
    """Name of its tool."""
    arguments: dict[str, JsonValue] = {}
    """What the tool is called with, as its schema says."""


class Observation(Contract):
    """What came of using a tool."""

    text: str = Field(default="", max_length=LONGEST_OBSERVATION)
    """What the next thought reads; words of sources are marked by the numbers of their passages."""
    passages: tuple[PassageRef, ...] = ()
    """Evidence that was gained; what was computed is a stored source like any other."""
    reliability: float = Field(default=0.0, ge=0, le=1)
    """How far what it says can be relied on, from 0 to 1."""
    problem: str = ""
    """Why there is nothing, and what to do about it; empty where there is something."""
    artifacts: tuple[StoredArtifact, ...] = ()
    """Files that a program has made on the way."""


class ToolInfo(Contract):
    """A tool as a model and a reader know it."""

    name: ToolName
    """Its name."""
    description: str
    """What it does and when to use it; what a model reads."""
    arguments: type[Arguments]
    """What it is called with."""
    bounds: str
    """What bounds it, in words for a reader."""
    needs: Literal["", "web", "tables", "sandbox", "mcp"] = ""
    """What a run has to have for it; nothing where every run has it."""


CATALOGUE: Final[tuple[ToolInfo, ...]] = (
    ToolInfo(
        name="vector_search",
        description="Finds passages near in meaning to a question, in whatever words they say it.",
        arguments=VectorSearchArguments,
        bounds="at most 20 passages; draws from the budget of searches",
    ),
    ToolInfo(
        name="hybrid_search",
        description="Finds passages by their words and their meaning together; the best first search for names and "
        "terms.",
        arguments=HybridSearchArguments,
        bounds="at most 20 passages; draws from the budget of searches",
    ),
    ToolInfo(
        name="graph_search",
        description="Says what a named thing is related to, with the sentences that say so, and finds passages that "
        "its links lead to. For the next link of a chain of facts.",
        arguments=GraphSearchArguments,
        bounds="at most 20 relations and 20 passages; draws from the budget of searches",
    ),
    ToolInfo(
        name="sql",
        description="Asks the tables of the documents and databases: counts, sums, averages, extremes, lists of rows.",
        arguments=SqlArguments,
        bounds="one SELECT; seconds, rows and memory as `TENURE_SQL_SECONDS`, `TENURE_SQL_ROWS` and "
        "`TENURE_SQL_MEMORY_MB` say; draws from the budget of searches",
        needs="tables",
    ),
    ToolInfo(
        name="web_search",
        description="Searches the web, reads the best pages that were not read yet, and finds passages in them.",
        arguments=WebSearchArguments,
        bounds="pages as `--pages` says; engines, domains and dates as the run's permission says; each query once",
        needs="web",
    ),
    ToolInfo(
        name="read_page",
        description="Reads one page of the web whose address is known, and finds passages in it.",
        arguments=ReadPageArguments,
        bounds="addresses that stand in the question or in a document that was seen, and those of domains that "
        "`--domain` names; size, time and `robots.txt` as the settings of fetching say",
        needs="web",
    ),
    ToolInfo(
        name="calculate",
        description="Calculates exactly: + - * / // ^, brackets, units with conversion (`5 mi to km`), percentages "
        "(`10%` is 0.1) and dates; sum, mean, median, min, max, round, abs, sqrt, log, percent, change, days, years "
        "and other functions. Take the numbers from passages.",
        arguments=CalculateArguments,
        bounds="an expression of 1,000 characters; numbers of 2,000 digits; what would be larger is refused before it "
        "is calculated",
    ),
    ToolInfo(
        name="run_python",
        description="Runs a Python program over results of SELECT statements, for what neither `sql` nor `calculate` "
        "can: correlations, trends, groups.",
        arguments=RunPythonArguments,
        bounds="the sandbox, without network; `TENURE_PROGRAM_SECONDS` and `TENURE_PROGRAM_MEMORY_MIB`; 180 kB of "
        "tables; 12,000 characters of output",
        needs="sandbox",
    ),
    ToolInfo(
        name="analyze_document",
        description="Asks one document a question: finds its passages on it and answers from them.",
        arguments=AnalyzeDocumentArguments,
        bounds="12 passages of the document; one search and one model call",
    ),
    ToolInfo(
        name="compare_documents",
        description="Compares two documents: what both say, in what they differ, what only one of them says.",
        arguments=CompareDocumentsArguments,
        bounds="6 passages of each document; two searches and one model call",
    ),
    ToolInfo(
        name="summarize_results",
        description="Answers a question in short from passages that were seen; searches nothing.",
        arguments=SummarizeResultsArguments,
        bounds="20 passages; one model call",
    ),
    ToolInfo(
        name="extract_facts",
        description="Lists single statements of passages that were seen, word for word: figures, dates, names or "
        "definitions; searches nothing.",
        arguments=ExtractFactsArguments,
        bounds="20 passages, 20 facts; one model call",
    ),
    ToolInfo(
        name="verify_claim",
        description="Holds one sentence against the sources: supported, refuted or left open, and by which passages.",
        arguments=VerifyClaimArguments,
        bounds="8 passages; one search and one model call",
    ),
    ToolInfo(
        name="lookup",
        description="Finds a term to the letter in the whole documents of passages that were seen; a sentence that "
        "defines it comes first.",
        arguments=LookupArguments,
        bounds="50 documents, 12 sentences",
    ),
    ToolInfo(
        name="mcp",
        description="Calls a tool of a server of the Model Context Protocol.",
        arguments=McpArguments,
        bounds="servers as `--mcp` names them, tools as `TENURE_MCP_SERVERS` allows them; `TENURE_MCP_SECONDS`; "
        "100,000 characters of an answer; never called twice by itself",
        needs="mcp",
    ),
)
"""Every tool, in the order in which a model reads of them."""


class NumberedPassage(Contract):
    """A passage with the number that a model knows it by."""

    number: int = Field(ge=1)
    """The number."""
    passage: PassageRef
    """The passage."""


class ShowRequest(Contract):
    """Passages to be told in short."""

    passages: tuple[NumberedPassage, ...]
    """The passages, best first."""
    about: str
    """What they were looked for; sentences on it come first."""
    most: int = Field(default=LONGEST_OBSERVATION, ge=1, le=LONGEST_OBSERVATION)
    """Characters at the most."""


class Shown(Contract):
    """Passages in short."""

    text: str = ""
    """A paragraph for each: its number, its title, and its sentences on what was looked for."""


class LookupRequest(Contract):
    """Where does a term stand?"""

    term: str = Field(min_length=1)
    """The term."""
    sources: tuple[SourceId, ...] = Field(max_length=MOST_DOCUMENTS)
    """The sources that are looked through, the most important first."""
    most: int = Field(default=12, ge=1, le=50)
    """Sentences wanted."""


class FoundTerm(Contract):
    """A sentence that holds a term."""

    passage: PassageRef
    """The passage that it stands in."""
    sentence: str
    """The sentence, to the letter."""


class LookupReply(Contract):
    """Where a term stands."""

    found: tuple[FoundTerm, ...] = ()
    """Sentences that hold it; those that say what it is come first, the others by source and place."""
    count: int = 0
    """How many sentences hold it in all."""


class CalculateRequest(Contract):
    """An expression to be calculated, and its result to be kept as a source."""

    expression: str
    """The expression."""
    shows: str = ""
    """What the result is."""
    question: str
    """The question that it belongs to; the relevance of the result is measured on it."""
    corpus: str
    """The corpus that the result goes with."""


class CalculateReply(Contract):
    """What came of calculating."""

    text: str = ""
    """The expression and its result."""
    passages: tuple[PassageRef, ...] = ()
    """The passage of the result."""
    problem: str = ""
    """Why there is no result; empty where there is one."""


class CiteRequest(Contract):
    """A claim that passages may speak of."""

    claim: str
    """The claim."""
    passages: tuple[PassageRef, ...]
    """The passages, best first."""


class ComparedPoint(Contract):
    """A point in which two documents were compared."""

    relation: Relation
    """What they have to do with each other in it."""
    about: str = ""
    """What it is about."""
    first: Claim | None = None
    """What the first document says; None where it says nothing."""
    second: Claim | None = None
    """What the second says."""


class Comparison(Contract):
    """Two documents side by side."""

    points: tuple[ComparedPoint, ...] = ()
    """The points, the most telling first."""


class McpTool(Contract):
    """A tool of a server of the Model Context Protocol, as it describes itself."""

    server: str
    """Name of the server."""
    name: str
    """Name of the tool."""
    description: str = ""
    """What it does, in its server's words."""
    parameters: dict[str, JsonValue] = {}
    """JSON schema of its arguments; empty where that is too long to be shown."""


class McpToolsRequest(Contract):
    """Which tools do servers offer?"""

    servers: tuple[str, ...]
    """Names of the servers."""


class McpToolsReply(Contract):
    """What servers offer."""

    tools: tuple[McpTool, ...] = ()
    """Tools that may be called, at most `MOST_MCP_TOOLS`."""
    problems: tuple[str, ...] = ()
    """Why servers did not say."""


class McpCallRequest(Contract):
    """A call of a server's tool, whose answer is kept as a source."""

    call: McpArguments
    """The call."""
    question: str
    """The question that it belongs to; the relevance of the answer is measured on it."""
    corpus: str
    """The corpus that the answer goes with."""


class McpCallReply(Contract):
    """What came of calling a server's tool."""

    passages: tuple[PassageRef, ...] = ()
    """The first passages of its answer."""
    orders: bool = False
    """Whether the answer holds text that gives orders to programs which read it."""
    problem: str = ""
    """Why there is no answer; empty where there is one."""
