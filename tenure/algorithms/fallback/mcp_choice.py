"""Choose calls of MCP tools and MCP resources for a question without a model.

A tool is called only if rules may call it, if its name and description match the question closely, and if the question
contains a value for every required parameter. Descriptions of servers are read as sets of words, so that no text in
them can name a call or a value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from tenure.algorithms.retrieval.decomposition import decompose_question
from tenure.algorithms.text.dates import parse_date_range
from tenure.algorithms.text.sentences import STOP_WORDS, stem_words
from tenure.contracts.research.tools import McpResource, McpTool

MAX_CALLS: Final = 3
"""Maximum number of calls for a question."""
MAX_RESOURCES: Final = 3
"""Maximum number of resources read for a question."""
MIN_COVERAGE: Final = 0.6
"""Minimum share of a question's words in the description of a tool whose name does not match."""
MIN_NAMED_COVERAGE: Final = 0.34
"""Minimum share of a question's words in the description of a tool whose name matches."""

_GENERIC: Final = frozenset(
    stem
    for stem in stem_words(
        "get find list read search fetch lookup look query show tool tools data info information current currently "
        "today now give need want know please return returns retrieve check file document manual text resource"
    )
)
_QUERY_NAMES: Final = frozenset(
    "query q question text search search_query searchterm search_term term terms keywords keyword prompt input phrase "
    "topic".split()
)
_FROM_NAME: Final = re.compile(r"^(?:from|source|src|origin|start|departure|base)(?![a-z])")
_TO_NAME: Final = re.compile(r"^(?:to|target|dest|destination|end|arrival|quote)(?![a-z])")
_DATE_NAME: Final = re.compile(r"(?:^|_)(?:date|day|on|when)(?:$|_)")
_ID_NAME: Final = re.compile(r"(?:^|_)(?:id|key|code|number|no|ticket|order|issue|sku|reference|ref)(?:$|_)")
_URL_NAME: Final = re.compile(r"(?:^|_)(?:url|uri|link)(?:$|_)")
_URL: Final = re.compile(r"https?://[^\s<>\"“”]+[^\s<>\"“”.,;:?!)]")
_QUOTED: Final = re.compile(r"[\"“]([^\"”]{1,200})[\"”]")
_IDENTIFIER: Final = re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:[-_]\w+)*")
_NUMBER: Final = re.compile(r"(?<![\w.,-])-?\d[\d,]*(?:\.\d+)?(?![\w-]|[.,]\d)")
_DATE: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}|\d{1,2}(?:st|nd|rd|th)?\s+[A-Z][a-z]{2,8}\s+\d{4}|[A-Z][a-z]{2,8}\s+\d{1,2},?\s+\d{4}"
)
_NAME: Final = re.compile(r"[A-Z][\w'’&-]*(?:\s+(?:of\s+|de\s+|the\s+)?[A-Z][\w'’&-]*)*")
_AFTER: Final = re.compile(
    r"\b(?:in|of|for|from|to|at|on|about|named|called|with|is|are|has)\s+"
    r"((?:(?!\b(?:in|of|for|from|to|at|on|about|named|called|with|and|by|is|are|has|today|tomorrow|now)\b)[^?.!,;])+)",
    re.IGNORECASE,
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class McpChoice(NamedTuple):
    """A chosen call."""

    tool: McpTool
    """The tool."""
    arguments: dict[str, JsonValue]
    """Arguments, all of them from the question."""


def choose_mcp_calls(question: str, tools: Sequence[McpTool]) -> tuple[McpChoice, ...]:
    """Return the calls that answer a question or one of its parts, best first for each part."""
    parts = dict.fromkeys((question, *(part.question for part in decompose_question(question))))
    found: list[McpChoice] = []
    for part in parts:
        rated = [
            (rating, choice)
            for tool in tools
            if tool.automatic and (choice := _fill_call(part, tool)) and (rating := _rate_tool(part, choice)) > 0
        ]
        if rated:
            best = max(rated, key=lambda one: one[0])[1]
            if best not in found:
                found.append(best)
    return tuple(found[:MAX_CALLS])


def choose_resources(question: str, resources: Sequence[McpResource]) -> tuple[McpResource, ...]:
    """Return the resources whose name or description matches a question, best first."""
    wanted = set(stem_words(question)) - _GENERIC
    rated = [(_rate_resource(wanted, resource), -number, resource) for number, resource in enumerate(resources)]
    best = sorted((one for one in rated if one[0] > 0), key=lambda one: one[:2], reverse=True)
    return tuple(resource for _, _, resource in best[:MAX_RESOURCES])


def _rate_resource(wanted: set[str], resource: McpResource) -> float:
    """Return how closely a resource matches the words of a question; 0 if it does not."""
    name = _stem_name(f"{resource.title} {resource.uri.partition('://')[2]}") - _GENERIC
    described = name | set(stem_words(resource.description))
    shared = wanted & described
    is_named = bool(name) and 2 * len(wanted & name) >= len(name)
    is_described = len(shared) >= 2 and len(shared) >= MIN_COVERAGE * len(wanted)
    return len(shared) / max(1, len(wanted)) + bool(is_named) if is_named or is_described else 0.0


def _rate_tool(question: str, choice: McpChoice) -> float:
    """Return how closely a tool matches the words of a question that are no arguments; 0 if it does not."""
    values = {str(value) for value in choice.arguments.values() if value != question}
    wanted = set(stem_words(question)) - {stem for value in values for stem in stem_words(value)} - _GENERIC
    tool = choice.tool
    name = _stem_name(tool.name) - _GENERIC
    parameters = _get_properties(tool)
    described = name.union(
        stem_words(tool.description),
        *(_stem_name(f"{key} {value.get('description', '')}") for key, value in parameters.items()),
    )
    shared = wanted & described
    coverage = len(shared) / max(1, len(wanted))
    takes_question = question in choice.arguments.values()
    if name and name <= wanted:
        is_match = takes_question or coverage >= MIN_NAMED_COVERAGE
    else:
        is_match = coverage >= MIN_COVERAGE and (len(shared) >= 2 or bool(name & wanted))
    return coverage + len(name & wanted) if is_match else 0.0


def _stem_name(text: str) -> set[str]:
    """Return the stems of a name in any notation, such as `get_weather` or `listOrders`."""
    return set(stem_words(re.sub(r"[_\W]+", " ", _CAMEL.sub(" ", text))))


def _get_properties(tool: McpTool) -> dict[str, Mapping[str, Any]]:
    """Return the schemas of the parameters of a tool by name."""
    properties = tool.parameters.get("properties")
    return (
        {key: value for key, value in properties.items() if isinstance(value, dict)}
        if isinstance(properties, dict)
        else {}
    )


def _fill_call(question: str, tool: McpTool) -> McpChoice | None:
    """Return a call with arguments from the question; None if a required parameter has no value there."""
    if not tool.parameters:
        return None  # the schema is too long to be known
    properties = _get_properties(tool)
    required = tool.parameters.get("required")
    needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    if any(name not in properties for name in needed):
        return None
    values = _Values(question, tool)
    arguments: dict[str, JsonValue] = {}
    for name in needed:
        value = values.find(name, properties[name])
        if value is None:
            return None
        arguments[name] = value
    for name in properties.keys() - arguments.keys():
        if (value := values.find_optional(name, properties[name])) is not None:
            arguments[name] = value
    return McpChoice(tool, arguments)


class _Values:
    """The values in a question; each becomes one argument."""

    def __init__(self, question: str, tool: McpTool) -> None:
        """Find the values of `question`; words of the tool's own name are no values."""
        self._question = question
        self._tool_words = _stem_name(tool.name)
        self._used: set[str] = set()

    def find(self, name: str, schema: Mapping[str, Any]) -> JsonValue:
        """Return the value of a required parameter, or None if the question has none."""
        kind = _get_type(schema)
        if "enum" in schema:
            return self._find_listed(schema["enum"])
        if kind in ("integer", "number"):
            return self._find_number(is_integer=kind == "integer")
        if kind != "string":
            return None
        plain = _CAMEL.sub("_", name).lower()
        if plain in _QUERY_NAMES:
            return self._question
        return self._take(self._propose(plain, str(schema.get("format", ""))))

    def find_optional(self, name: str, schema: Mapping[str, Any]) -> JsonValue:
        """Return the value of an optional parameter if the question names it unmistakably."""
        if "enum" in schema:
            return self._find_listed(schema["enum"])
        plain = _CAMEL.sub("_", name).lower()
        if _get_type(schema) != "string" or plain in _QUERY_NAMES:
            return None
        return self._take(self._find_names() if not self._is_special(plain) else self._propose(plain, ""))

    @staticmethod
    def _is_special(plain: str) -> bool:
        return any(pattern.search(plain) for pattern in (_DATE_NAME, _ID_NAME, _URL_NAME, _FROM_NAME, _TO_NAME))

    def _find_listed(self, values: object) -> JsonValue:
        """Return the only value of an enumeration that the question contains."""
        texts = [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
        found = [one for one in texts if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", self._question, re.IGNORECASE)]
        return found[0] if len(found) == 1 else None

    def _find_number(self, *, is_integer: bool) -> JsonValue:
        text = _URL.sub(" ", _DATE.sub(" ", self._question))
        for found in _NUMBER.findall(text):
            plain = found.replace(",", "")
            if plain in self._used or (is_integer and "." in plain):
                continue
            self._used.add(plain)
            return int(plain) if "." not in plain else float(plain)
        return None

    def _propose(self, plain: str, form: str) -> Iterator[str]:
        """Yield possible values of a text parameter, the most probable first."""
        if form in ("date", "date-time") or _DATE_NAME.search(plain):
            yield from self._find_dates()
        elif form in ("uri", "url") or _URL_NAME.search(plain):
            yield from _URL.findall(self._question)
        elif _ID_NAME.search(plain) and not _FROM_NAME.match(plain) and not _TO_NAME.match(plain):
            yield from _QUOTED.findall(self._question)
            yield from _IDENTIFIER.findall(self._question)
            yield from _NUMBER.findall(self._question)
        else:
            yield from _QUOTED.findall(self._question)
            if _FROM_NAME.match(plain):
                yield from self._find_after("from")
            elif _TO_NAME.match(plain):
                yield from self._find_after("to|into|in")
            yield from self._find_names()
            yield from (found.strip() for found in _AFTER.findall(self._question))

    def _find_dates(self) -> Iterator[str]:
        for written in _DATE.findall(self._question):
            days = parse_date_range(written)
            if days and days.first == days.last:
                yield days.first

    def _find_after(self, words: str) -> Iterator[str]:
        """Yield names after a preposition."""
        for found in re.finditer(rf"\b(?:{words})\s+({_NAME.pattern})", self._question):
            yield found[1]

    def _find_names(self) -> Iterator[str]:
        """Yield names: words with a capital letter, except the first word of the question if it is a common word."""
        for found in _NAME.finditer(self._question):
            name = found.group()
            first, _, rest = name.partition(" ")
            if first.lower() in STOP_WORDS or (found.start() == 0 and not rest):
                name = rest
            if name:
                yield name.strip()

    def _take(self, candidates: Iterator[str]) -> str | None:
        """Return the first candidate that is no argument yet and says more than the tool's name."""
        for candidate in candidates:
            stems = set(stem_words(candidate)) - _GENERIC
            if candidate in self._used or not (stems - self._tool_words or any(map(str.isdigit, candidate))):
                continue
            self._used.add(candidate)
            return candidate
        return None


def _get_type(schema: Mapping[str, Any]) -> str:
    """Return the type of a parameter; of several types the first that is not null."""
    kind = schema.get("type")
    if isinstance(kind, list):
        return next((one for one in kind if isinstance(one, str) and one != "null"), "")
    options = schema.get("anyOf")
    if kind is None and isinstance(options, list):
        return next((_get_type(one) for one in options if isinstance(one, dict) and one.get("type") != "null"), "")
    return kind if isinstance(kind, str) else ""
