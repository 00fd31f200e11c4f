"""Build the parameters of a request from the capabilities of its server."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from tenure.contracts.messages import Message
from tenure.models.chat import ChatRequest
from tenure.models.openai.capabilities import Capabilities, OutputMode
from tenure.models.openai.json_schema import build_strict_schema, with_schema
from tenure.models.routes import ModelRoute
from tenure.settings.models import ReasoningEffort

Parameters = dict[str, Any]

REASONING_TOKENS: Final[Mapping[ReasoningEffort | None, int]] = {
    None: 16_384,
    "none": 0,
    "minimal": 2_048,
    "low": 8_192,
    "medium": 16_384,
    "high": 32_768,
    "xhigh": 65_536,
    "max": 65_536,
}
"""Room for hidden reasoning before the answer, by reasoning effort; None for the server's default effort."""


@dataclass(frozen=True)
class OpenAIRequest:
    """One chat request, its route, and the capabilities of the server."""

    chat_request: ChatRequest
    route: ModelRoute
    capabilities: Capabilities

    @property
    def limit(self) -> int | None:
        """Limit of the answer in tokens; None for no limit."""
        if self.capabilities.output_limit == "none":
            return None
        limit, ceiling = self.route.limit_output(self.chat_request.max_output, self._needed_tokens), None
        if limit is not None and limit != self.route.max_output:
            ceiling = self.capabilities.max_output
        return limit if limit is None or ceiling is None else min(limit, ceiling)

    @property
    def is_limit_derived(self) -> bool:
        """Whether the limit comes from a budget or from the schema, and not from the settings."""
        return self.limit is not None and self.limit != self.route.max_output

    @property
    def lacks_room_for_reasoning(self) -> bool:
        """Whether the limit follows from the schema alone, because no reasoning of the model is known."""
        is_known = self.capabilities.reasoning or self.route.reasoning_effort is not None
        return not is_known and self.limit is not None and self.limit == self.chat_request.answer_tokens

    @property
    def _needed_tokens(self) -> int | None:
        """Tokens of the longest answer and of the reasoning before it; None if they are unknown."""
        needed, effort = self.chat_request.answer_tokens, self.route.reasoning_effort
        if needed is None or not (self.capabilities.reasoning or effort):
            return needed
        return needed + REASONING_TOKENS[effort]

    @property
    def is_streamed(self) -> bool:
        """Whether the answer is to be streamed."""
        return self.chat_request.streamed and self.capabilities.streaming

    @property
    def messages(self) -> Sequence[Message]:
        """The prompt, including the description of the answer format if the server does not enforce one."""
        request, mode = self.chat_request, self.capabilities.output_mode
        if request.schema is None or mode == "json_schema":
            return request.messages
        return with_schema(request.messages, request.role, request.schema)

    @property
    def response_format(self) -> Parameters | None:
        """Answer format that the server enforces; None for none."""
        schema = self.chat_request.schema
        return schema and _build_response_format(self.capabilities.output_mode, self.chat_request.role, schema)

    @cached_property
    def parameters(self) -> Parameters:
        """Parameters of a Chat Completions request; parameters without a setting are left to the server."""
        route, capabilities = self.route, self.capabilities
        parameters = {
            "model": route.model,
            "messages": [_build_message(message, "text", _build_image) for message in self.messages],
            "response_format": self.response_format,
            capabilities.output_limit: self.limit,
            "temperature": route.temperature,
            "reasoning_effort": route.reasoning_effort,
            "stream": self.is_streamed or None,
            "stream_options": {"include_usage": True} if self.is_streamed and capabilities.stream_usage else None,
        }
        return {name: value for name, value in parameters.items() if value is not None}

    @cached_property
    def background_parameters(self) -> Parameters:
        """Parameters of a background request to the Responses API."""
        route, output_format = self.route, self.response_format
        effort = route.reasoning_effort
        parameters = {
            "model": route.model,
            "input": [_build_message(message, "input_text", _build_input_image) for message in self.messages],
            "text": {"format": {"type": output_format["type"], **output_format.get("json_schema", {})}}
            if output_format
            else None,
            "max_output_tokens": self.limit,
            "temperature": route.temperature,
            "reasoning": {"effort": effort} if effort else None,
            "background": True,
            "store": True,
        }
        return {name: value for name, value in parameters.items() if value is not None}


def _build_message(message: Message, text_type: str, build_image: Callable[[str], Parameters]) -> Parameters:
    """Return a message; one with pictures has parts, the pictures first."""
    content = [*map(build_image, message.images), {"type": text_type, "text": message.content}]
    return {"role": message.role, "content": content if message.images else message.content}


def _build_image(address: str) -> Parameters:
    return {"type": "image_url", "image_url": {"url": address}}


def _build_input_image(address: str) -> Parameters:
    return {"type": "input_image", "image_url": address}


def _build_response_format(mode: OutputMode, name: str, schema: dict[str, Any]) -> Parameters | None:
    if mode == "json_schema":
        safe_name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]
        strict = build_strict_schema(schema)
        return {"type": "json_schema", "json_schema": {"name": safe_name, "strict": True, "schema": strict}}
    return {"type": "json_object"} if mode == "json_object" else None
