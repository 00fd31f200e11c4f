"""Classify error responses: ask in another form, ask with less evidence, or report the setting to change."""

import re
from collections.abc import Mapping
from typing import Final

from tenure.models.errors import ContextOverflow, ModelError, UnusableAnswer
from tenure.models.openai.capabilities import OUTPUT_LIMITS, OUTPUT_MODES, Capabilities
from tenure.models.openai.endpoint import ModelEndpoint, format_error_body
from tenure.models.openai.request import OpenAIRequest
from tenure.models.routes import ModelRoute

BAD_REQUEST_STATUSES: Final = frozenset({400, 422})
"""Statuses for a request with an unsupported form or length."""

_MODEL_FAULT = "json_validate_failed"  # Groq's code if the model, not the request, violated the schema
# "content_filter"; Azure: "triggering Azure OpenAI's content management policy".
_FILTERED = re.compile(r"content[ _](filter|management policy)", re.IGNORECASE)
# "Unknown parameter: 'response_format'", "json_schema is not supported".
_FORMAT_COMPLAINT = re.compile(
    r"response[ _]?format|json[ _]?(schema|object|mode)|structured[ _]output|guided|grammar", re.IGNORECASE
)
# "Invalid schema for response_format 'answer'".
_BAD_SCHEMA = re.compile(r"invalid schema|schema (is )?(not supported|too)", re.IGNORECASE)
# "image input is not supported", "x is not a multimodal model", "invalid content type: image_url", and for a list of
# parts "messages[1].content must be a string".
_IMAGE_COMPLAINT = re.compile(
    r"image|vision|multi-?modal|content[\w.\]' ]{0,20}(?:must be|should be|expected) a (?:valid )?string", re.IGNORECASE
)
# "This model's maximum context length is 8192 tokens.", "prompt is too long".
_OVERFLOW = re.compile(
    r"context[ _](length|window|size)|too many (input )?tokens|(prompt|input) is too long|reduce the length|"
    r"request too large",
    re.IGNORECASE,
)
# "max_tokens is too large: 100000".
_TOO_LARGE_VALUE = re.compile(r"too (large|high|big)|exceed|at most|less than|maximum|range", re.IGNORECASE)
# "This model supports at most 4096 completion tokens".
_MAX_OUTPUT = re.compile(r"at most (\d{2,6}) (?:completion|output) tokens", re.IGNORECASE)
_MAX_READ_CHARACTERS = 1000
"""Characters of a message that are searched: some servers repeat the whole request after it."""

_PARAMETER_PATTERNS: Final[Mapping[str, re.Pattern[str]]] = {
    "stream_options": re.compile(r"stream_options|include_usage"),
    "stream": re.compile(r"\bstream(ing|ed)?\b", re.IGNORECASE),
    "max_completion_tokens": re.compile(r"max_(completion_)?tokens"),
    "max_tokens": re.compile(r"max_tokens"),
    "reasoning_effort": re.compile(r"reasoning[_. ]effort", re.IGNORECASE),
    "temperature": re.compile(r"\btemperature\b", re.IGNORECASE),
}
"""Names of the parameters that not all servers support, as they appear in messages."""


class UnsupportedParameter(ModelError):
    """The server rejects this form of the request and may accept another; never leaves the back-ends."""

    def __init__(self, supported: Capabilities | None = None, *, schema_only: bool = False) -> None:
        super().__init__("the server refuses this form of the request")
        self.supported = supported
        """Capabilities that remain; None to omit only the length limit of this request."""
        self.schema_only = schema_only
        """Whether this applies to one schema only."""


def classify_error(
    server: ModelEndpoint, status: int, body: object, headers: Mapping[str, str], request: OpenAIRequest
) -> ModelError:
    """Return the exception of an error response; the only place that interprets statuses.

    The status may also come from the body of a response with status 200.
    """
    message = format_error_body(body)
    if request.chat_request.has_images and _IMAGE_COMPLAINT.search(message[:_MAX_READ_CHARACTERS]):
        return UnsupportedParameter(Capabilities(images=False))  # llama.cpp says so with status 500
    if (transport_error := server.build_transport_error(status, message, headers)) is not None:
        return transport_error
    if status in BAD_REQUEST_STATUSES:
        error = _classify_bad_request(server, message[:_MAX_READ_CHARACTERS], request)
        if error is not None:
            return error
    if status == 413:
        return _build_overflow_error(server, message, request.route)
    location = headers.get("location", "")
    return server.build_rejection(status, message, request.route.model, request.route.resolve_setting(), location)


def _classify_bad_request(server: ModelEndpoint, message: str, request: OpenAIRequest) -> ModelError | None:
    """Return the exception for a rejected request, or None if the reason is unknown."""
    route, capabilities = request.route, request.capabilities
    parameter = next(
        (name for name, words in _PARAMETER_PATTERNS.items() if name in request.parameters and words.search(message)),
        "",
    )
    if parameter == capabilities.output_limit and (request.is_limit_derived or not _OVERFLOW.search(message)):
        return _classify_length_error(server, message, request)
    if _OVERFLOW.search(message):
        return _build_overflow_error(server, message, route)
    if _MODEL_FAULT in message:
        return UnusableAnswer("answer did not fit the schema", model=route.model)
    if _FILTERED.search(message):
        return UnusableAnswer("prompt stopped by the content filter", model=route.model)
    if parameter == "stream_options":
        return UnsupportedParameter(Capabilities(stream_usage=False))
    if parameter == "stream":
        return UnsupportedParameter(Capabilities(streaming=False))
    if parameter:
        return server.build_parameter_error(message, route.model, route.resolve_setting(parameter))
    if capabilities.output_mode != "text" and _FORMAT_COMPLAINT.search(message):
        supported = Capabilities(output_mode=OUTPUT_MODES[OUTPUT_MODES.index(capabilities.output_mode) + 1])
        return UnsupportedParameter(supported, schema_only=bool(_BAD_SCHEMA.search(message)))
    return None


def _classify_length_error(server: ModelEndpoint, message: str, request: OpenAIRequest) -> ModelError:
    """Distinguish an unknown length parameter from a value that is too large.

    If a model's maximum is below the limit of a budget or schema, it becomes the limit, or the limit is omitted if the
    message does not name it.
    """
    route, capabilities, is_derived = request.route, request.capabilities, request.is_limit_derived
    is_too_large = bool(_TOO_LARGE_VALUE.search(message))
    if not is_derived and (is_too_large or capabilities.output_limit == "max_tokens"):
        return server.build_parameter_error(message, route.model, route.resolve_setting("max_output"))
    if is_too_large:
        maximum = _MAX_OUTPUT.search(message)
        is_lower = maximum is not None and request.limit is not None and 0 < int(maximum[1]) < request.limit
        return UnsupportedParameter(Capabilities(max_output=int(maximum[1])) if maximum and is_lower else None)
    return UnsupportedParameter(
        Capabilities(output_limit=OUTPUT_LIMITS[OUTPUT_LIMITS.index(capabilities.output_limit) + 1])
    )


def _build_overflow_error(server: ModelEndpoint, message: str, route: ModelRoute) -> ContextOverflow:
    return ContextOverflow(f"the prompt is too long for {route.model}: {server.redact(message)}")
