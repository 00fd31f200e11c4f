"""What a server's refusal means: ask again in another form, ask with less, or tell a person what to change."""

import re
from collections.abc import Mapping
from typing import Final

from tenure.models.chat import ContextOverflow, ModelError, UnusableAnswer
from tenure.models.openai.capabilities import LADDER, OUTPUT_LIMITS, TOOL_CHOICES, Capabilities
from tenure.models.openai.endpoint import Endpoint, error_text
from tenure.models.openai.request import Question
from tenure.models.routes import Route

BAD_REQUEST: Final = frozenset({400, 422})
"""What servers answer to a request whose content they cannot take, be it its form or its length."""

BROKEN: Final = frozenset({500, 501})
"""What some servers answer, beside that, to functions that they cannot offer."""

_MODEL_FAULT = "json_validate_failed"  # Groq's code where the model, not the request, missed the schema
_FILTERED = re.compile(r"content[ _](filter|management policy)", re.IGNORECASE)
_FORMAT_COMPLAINT = re.compile(
    r"response[ _]?format|json[ _]?(schema|object|mode)|structured[ _]output|guided|grammar", re.IGNORECASE
)
_BAD_SCHEMA = re.compile(r"invalid schema|schema (is )?(not supported|too)", re.IGNORECASE)
_OVERFLOW = re.compile(
    r"context[ _](length|window|size)|too many (input )?tokens|(prompt|input) is too long|reduce the length|"
    r"request too large",
    re.IGNORECASE,
)
_TOOLS = re.compile(r"\btools?\b|tool[_ ]?(choice|call|use)|function[_ ]?call", re.IGNORECASE)
_NO_TOOLS = re.compile(
    r"\btools?\b.{0,40}\b(requires?|(not|un)[ -]?supported)|not support .{0,20}\btools?\b", re.IGNORECASE
)
_TOO_LARGE = re.compile(r"too (large|high|big)|exceed|at most|less than|maximum|range", re.IGNORECASE)
_READ = 1000
"""Characters of a complaint that are read: some servers repeat the whole request behind it."""

_NAMES: Final[Mapping[str, re.Pattern[str]]] = {
    "stream_options": re.compile(r"stream_options|include_usage"),
    "stream": re.compile(r"\bstream(ing|ed)?\b", re.IGNORECASE),
    "max_completion_tokens": re.compile(r"max_(completion_)?tokens"),
    "max_tokens": re.compile(r"max_tokens"),
    "reasoning_effort": re.compile(r"reasoning[_. ]effort", re.IGNORECASE),
    "temperature": re.compile(r"\btemperature\b", re.IGNORECASE),
}
"""How servers name the parameters that not all of them take."""


class NotTaken(ModelError):
    """The server refuses this form of the request and may take another; never leaves the back-ends."""

    def __init__(self, found: Capabilities | None = None, *, schema_only: bool = False) -> None:
        super().__init__("the server refuses this form of the request")
        self.found = found
        """What it takes at the most; None where it only wants no limit of the answer's length this time."""
        self.schema_only = schema_only
        """Whether that holds for this one schema."""


def refusal(server: Endpoint, status: int, body: object, headers: Mapping[str, str], question: Question) -> ModelError:
    """Translate an error response; the one place where statuses get their meaning.

    Args:
        server: who answered.
        status: HTTP status, or the one meant by an error in a good response.
        body: what was said.
        headers: the response's headers.
        question: what was asked, and in which form.
    """
    said = error_text(body)
    if question.offers_functions and status in BROKEN and _NO_TOOLS.search(said[:_READ]):
        return _fewer_tools(question)
    if (busy := server.busy(status, said, headers)) is not None:
        return busy
    if status in BAD_REQUEST:
        understood = _complaint(server, said[:_READ], question)
        if understood is not None:
            return understood
    if status == 413:
        return _overflow(server, said, question.route)
    return server.rejected(status, said, question.route.model, question.route.setting())


def _complaint(server: Endpoint, said: str, question: Question) -> ModelError | None:
    """Find what a server does not like about a request; None where it is nothing we know."""
    route, able = question.route, question.able
    named = next((name for name, words in _NAMES.items() if name in question.parameters and words.search(said)), "")
    if named == able.output_limit and (question.is_budgeted or not _OVERFLOW.search(said)):
        return _length_refused(server, said, question)
    if _OVERFLOW.search(said):
        return _overflow(server, said, route)
    if _MODEL_FAULT in said:
        return UnusableAnswer("answer did not fit the schema", model=route.model)
    if _FILTERED.search(said):
        return UnusableAnswer("prompt stopped by the content filter", model=route.model)
    if named == "stream_options":
        return NotTaken(Capabilities(stream_usage=False))
    if named == "stream":
        return NotTaken(Capabilities(streaming=False))
    if named:
        return server.unsuitable(said, route.model, route.setting(named))
    if question.offers_functions:
        return _fewer_tools(question) if _TOOLS.search(said) else None
    if able.rung != "text" and _FORMAT_COMPLAINT.search(said):
        weaker = Capabilities(rung=LADDER[LADDER.index(able.rung) + 1])
        return NotTaken(weaker, schema_only=bool(_BAD_SCHEMA.search(said)))
    return None


def _fewer_tools(question: Question) -> NotTaken:
    """Offer functions in the next weaker way."""
    return NotTaken(Capabilities(tools=TOOL_CHOICES[TOOL_CHOICES.index(question.able.tools) + 1]))


def _length_refused(server: Endpoint, said: str, question: Question) -> ModelError:
    """Tell a parameter that is not known from a figure that is too large.

    Where a model writes less than a budget allows, the budget's figure need not be said.
    """
    route, able, budgeted = question.route, question.able, question.is_budgeted
    too_large = bool(_TOO_LARGE.search(said))
    if not budgeted and (too_large or able.output_limit == "max_tokens"):
        return server.unsuitable(said, route.model, route.setting("max_output"))
    if too_large:
        return NotTaken()
    return NotTaken(Capabilities(output_limit=OUTPUT_LIMITS[OUTPUT_LIMITS.index(able.output_limit) + 1]))


def _overflow(server: Endpoint, said: str, route: Route) -> ContextOverflow:
    return ContextOverflow(f"the prompt is too long for {route.model}: {server.shown(said)}")
