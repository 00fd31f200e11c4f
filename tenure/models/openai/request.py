"""Build the parameters of a request from the capabilities of its server."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tenure.contracts.messages import Message
from tenure.models.chat import ChatRequest
from tenure.models.openai.capabilities import Capabilities, OutputMode
from tenure.models.openai.json_schema import build_strict_schema, with_instruction, with_schema
from tenure.models.routes import ModelRoute

Parameters = dict[str, Any]


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
        return self.route.limit_output(self.chat_request.max_output)

    @property
    def is_budgeted(self) -> bool:
        """Whether a budget limits the answer more than the settings do."""
        return self.limit is not None and self.limit != self.route.max_output

    @property
    def is_streamed(self) -> bool:
        """Whether the answer is to be streamed."""
        return self.chat_request.streamed and self.capabilities.streaming

    @property
    def has_functions(self) -> bool:
        """Whether functions are offered to the model."""
        return bool(self.chat_request.functions) and self.capabilities.tools != "none"

    @property
    def messages(self) -> Sequence[Message]:
        """The prompt, including the description of the answer format if the server does not enforce one."""
        request, mode = self.chat_request, self.capabilities.output_mode
        if self.has_functions or mode == "json_schema":
            return request.messages
        if request.plain_format and mode == "text":
            return with_instruction(request.messages, request.plain_format)
        return with_schema(request.messages, request.role, request.schema)

    @property
    def response_format(self) -> Parameters | None:
        """Answer format that the server enforces; None for none."""
        if self.has_functions:
            return None
        return _build_response_format(self.capabilities.output_mode, self.chat_request.role, self.chat_request.schema)

    @cached_property
    def parameters(self) -> Parameters:
        """Parameters of a Chat Completions request; parameters without a setting are left to the server."""
        route, capabilities = self.route, self.capabilities
        tools = [{"type": "function", "function": function._asdict()} for function in self.chat_request.functions]
        parameters = {
            "model": route.model,
            "messages": [message.model_dump() for message in self.messages],
            "response_format": self.response_format,
            "tools": tools if self.has_functions else None,
            "tool_choice": capabilities.tools if self.has_functions else None,
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
        tools = [
            {"type": "function", "strict": False, **function._asdict()} for function in self.chat_request.functions
        ]
        effort = route.reasoning_effort
        parameters = {
            "model": route.model,
            "input": [message.model_dump() for message in self.messages],
            "tools": tools if self.has_functions else None,
            "tool_choice": self.capabilities.tools if self.has_functions else None,
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


def _build_response_format(mode: OutputMode, name: str, schema: dict[str, Any]) -> Parameters | None:
    if mode == "json_schema":
        safe_name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]
        strict = build_strict_schema(schema)
        return {"type": "json_schema", "json_schema": {"name": safe_name, "strict": True, "schema": strict}}
    return {"type": "json_object"} if mode == "json_object" else None
