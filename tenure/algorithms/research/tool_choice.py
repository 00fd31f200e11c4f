"""Find the tools that the wording of a task calls for, and list what tasks with tools can reach.

Only the task itself is read, never a passage, so that no document can cause a call. A wording that merely resembles a
request for a tool causes none: the search answers it.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tenure.algorithms.calculator.questions import extract_calculable
from tenure.algorithms.text.questions import shorten
from tenure.contracts.evidence.tables import TableInfo
from tenure.contracts.research.tools import McpResource, McpTool

MAX_TASK_CHARACTERS: Final = 2_000
"""Maximum characters of a task whose wording calls for tools; patterns read it in workflows, so it is bounded."""
MAX_TEXT_LENGTH: Final = 500
"""Maximum characters of a question or claim that becomes an argument."""

MAX_RESOURCES, MAX_RESOURCE_LENGTH = 40, 300
"""Maximum number of tables and offers of servers that a plan lists, and characters of each."""

_FIGURE: Final = re.compile(
    r"\b(?:how many|how much|number of|count of|totals?|sum|average|(?:the|a) mean|median|highest|lowest|largest|"
    r"smallest|maximum|minimum|fastest|slowest|grew|growth|per (?:day|week|month|quarter|year)|"
    r"by (?:day|week|month|quarter|year))\b",
    re.IGNORECASE,
)
_CLAIM: Final = re.compile(
    r"^(?:please\s+)?(?:"
    r"is it (?:really |actually )?(?:true|correct|right|a fact|the case)(?: to say)? that|"
    r"(?:can you |could you )?(?:verify|check|confirm|fact-check)(?: (?:the|this) claim)?(?: that|:| whether| if)|"
    r"(?:true or false|fact check|fact-check|claim)\s*[:?])\s+(?P<claim>\S.{8,})",
    re.IGNORECASE | re.DOTALL,
)
_TRUTH_SUFFIX: Final = re.compile(
    r"^(?P<claim>\S[^?]{8,}?)(?<![.,;:–—\s-])[.,;:–—\s-]++(?<=\s)"
    r"(?:is (?:this|that|it) (?:true|correct|right)|true or false)\s*\?*$",
    re.IGNORECASE,
)
_TERM = r"[\"“”'‘’]?(?P<term>[^\"“”?.!,;:]{2,60}?)[\"“”'‘’]?"
_DEFINITIONS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^(?:please\s+)?define\s+(?:the (?:term|word|acronym|abbreviation|concept(?: of)?)\s+)?{_TERM}[?.!]*$",
        rf"\bdefinition of\s+(?:the (?:term|word)\s+)?{_TERM}(?:\s+(?:here|in (?:the|this|these) .*))?[?.!]*$",
        rf"^what (?:does|do)\s+(?:the (?:term|word|acronym|abbreviation)\s+)?{_TERM}\s+(?:mean|stand for)"
        r"(?:\s+(?:here|in) .*)?[?.!]*$",
        rf"^what is meant by\s+(?:the (?:term|word)\s+)?{_TERM}[?.!]*$",
        rf"^(?:look up|find (?:the )?(?:term|word|phrase))\s+(?:the (?:term|word)\s+)?{_TERM}[?.!]*$",
        rf"^where (?:is|are) (?:the )?(?:term|word|phrase|name)s?\s+{_TERM}\s+(?:used|mentioned|defined)\b",
    )
)
_ARTICLE: Final = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_KIND = r"(?:documents?|files?|papers?|reports?|articles?|proposals?|pages?|specifications?)"
_SIDES = (
    rf"(?P<kind>(?:the )?(?:two )?{_KIND}\s+)?[\"“]?(?P<first>[^\"“”?!;]{{2,100}}?)[\"”]?\s+{{link}}\s+"
    rf"(?P<kind2>(?:the )?{_KIND}\s+)?[\"“]?(?P<second>[^\"“”?!;]{{2,100}}?)[\"”]?"
)
_CRITERIA = r"(?:\s+(?:on|in terms of|regarding|concerning|with regard to)\s+(?P<criteria>[^?!]+?))?[?.!]*$"
_COMPARISONS: Final = tuple(
    re.compile(start + _SIDES.replace("{link}", link) + end + _CRITERIA, re.IGNORECASE)
    for start, link, end in (
        (r"\bcompar(?:e|ison (?:of|between))\s+", r"(?:and|with|to|against|versus|vs\.?)", ""),
        (r"\bdifferences? between\s+", "and", ""),
        (r"\bhow do\s+", "and", r"\s+differ"),
    )
)
_DOCUMENT_NAME: Final = re.compile(
    r"^(?:[\w.-]+\.[a-z]{2,5}|[A-Z][\w-]*[ -]\d[\w.-]*|(?:document|file|report|paper) \S+)$"
)


class SuggestedCall(NamedTuple):
    """A call of a tool that a task calls for."""

    tool: str
    """Name of the tool."""
    arguments: dict[str, str]
    """Arguments, the subject of the call first."""
    thought: str
    """Reason for the call."""

    @property
    def subject(self) -> tuple[str, ...]:
        """The tool and the arguments that decide on its result, without labels and criteria."""
        return (self.tool, *(value for name, value in self.arguments.items() if name not in ("label", "criteria")))


def choose_tool_calls(task: str) -> tuple[SuggestedCall, ...]:
    """Return the calls that the wording of a task calls for, in the order in which they are made.

    Whether the run has the tools, such as tables for `sql`, is for the caller to find out.
    """
    return tuple(_propose_calls(" ".join(task.split()))) if len(task) <= MAX_TASK_CHARACTERS else ()


def _propose_calls(task: str) -> Iterator[SuggestedCall]:
    if expression := extract_calculable(task):
        label = shorten(task.rstrip(" ?.!"), 200)
        yield SuggestedCall("calculate", {"expression": expression, "label": label}, "The task contains a calculation.")
    elif _FIGURE.search(task):
        question = shorten(task, MAX_TEXT_LENGTH)
        yield SuggestedCall("sql", {"question": question}, "The task asks for a figure that tables may contain.")
    if claim := extract_claim(task):
        yield SuggestedCall("verify_claim", {"claim": claim}, "The task asks whether a statement is true.")
    if term := extract_term(task):
        yield SuggestedCall("lookup", {"term": term}, "The task asks what a term means.")
    if comparison := extract_comparison(task):
        first, second, criteria = comparison
        arguments = {"first": first, "second": second, "criteria": criteria or shorten(task, MAX_TEXT_LENGTH)}
        yield SuggestedCall("compare_documents", arguments, "The task asks for a comparison of two documents.")


def list_resources(
    tables: Iterable[TableInfo], tools: Iterable[McpTool], resources: Iterable[McpResource]
) -> tuple[str, ...]:
    """Return a line for each table, and for each tool and resource of MCP servers, as a plan reads them."""
    lines = (
        *(f"table {table.name}: {', '.join(column.name for column in table.columns)}" for table in tables),
        *(f"tool {tool.name} of the server {tool.server}: {tool.description}" for tool in tools),
        *(f"resource {one.uri} of the server {one.server}: {one.title}" for one in resources),
    )
    return tuple(shorten(" ".join(line.split()), MAX_RESOURCE_LENGTH) for line in lines[:MAX_RESOURCES])


def extract_claim(task: str) -> str:
    """Return the statement whose truth a task asks for, as a sentence; empty if it asks for none."""
    found = _CLAIM.search(task.rstrip(" ?.!")) or _TRUTH_SUFFIX.search(task)
    claim = found["claim"].strip(" \"“”'") if found else ""
    if not claim or len(claim.split()) < 3 or len(claim) > MAX_TEXT_LENGTH - 1:
        return ""
    return f"{claim[0].upper()}{claim[1:].rstrip('.')}."


def extract_term(task: str) -> str:
    """Return the term that a task wants defined or looked up; empty if it names none."""
    for pattern in _DEFINITIONS:
        if found := pattern.search(task):
            term = _ARTICLE.sub("", found["term"].strip())
            return term if len(term) >= 2 and len(term.split()) <= 5 else ""
    return ""


def extract_comparison(task: str) -> tuple[str, str, str] | None:
    """Return the names of two documents that a task compares, and the criteria; None if it compares no documents.

    Names are documents if the task calls them so, or if they have the form of a file name or of a number in a series,
    as in `PEP 484`.
    """
    for pattern in _COMPARISONS:
        found = pattern.search(task)
        if not found:
            continue
        first, second = (_ARTICLE.sub("", found[side].strip(" '‘’")) for side in ("first", "second"))
        named = bool(found["kind"] or found["kind2"]) or all(map(_DOCUMENT_NAME.match, (first, second)))
        if named and first.lower() != second.lower():
            return first, second, (found["criteria"] or "").strip()
    return None
