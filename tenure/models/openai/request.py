"""A request in the form that a server is known to take."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tenure.models.chat import Ask
from tenure.models.openai.capabilities import Capabilities, Rung
from tenure.models.openai.json_schema import strict_schema, with_order, with_schema
from tenure.models.routes import Route
from tenure.roles.base import Message

Parameters = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """One question, the model it goes to, and the form it takes."""

    ask: Ask
    route: Route
    able: Capabilities

    @property
    def limit(self) -> int | None:
        """Tokens the answer may have; None for any number."""
        return self.route.output(self.ask.max_output) if self.able.output_limit != "none" else None

    @property
    def is_budgeted(self) -> bool:
        """Whether a budget limits the answer more than the settings do."""
        return self.limit is not None and self.limit != self.route.max_output

    @property
    def is_streamed(self) -> bool:
        """Whether the answer is to come in as it is made."""
        return self.ask.streamed and self.able.streaming

    @property
    def offers_functions(self) -> bool:
        """Whether the model is offered functions to call."""
        return bool(self.ask.functions) and self.able.tools != "none"

    @property
    def messages(self) -> Sequence[Message]:
        """The prompt, with the form of the answer where nothing else holds the model to it."""
        ask, rung = self.ask, self.able.rung
        if self.offers_functions or rung == "json_schema":
            return ask.messages
        if ask.plain and rung == "text":
            return with_order(ask.messages, ask.plain)
        return with_schema(ask.messages, ask.role, ask.schema)

    @property
    def response_format(self) -> Parameters | None:
        """The format of the answer, where the server is to hold the model to one."""
        return None if self.offers_functions else _response_format(self.able.rung, self.ask.role, self.ask.schema)

    @cached_property
    def parameters(self) -> Parameters:
        """The parameters of a Chat Completions request; what nobody has set is left to the server."""
        route, able = self.route, self.able
        tools = [{"type": "function", "function": one._asdict()} for one in self.ask.functions]
        given = {
            "model": route.model,
            "messages": [message.model_dump() for message in self.messages],
            "response_format": self.response_format,
            "tools": tools if self.offers_functions else None,
            "tool_choice": able.tools if self.offers_functions else None,
            able.output_limit: self.limit,
            "temperature": route.temperature,
            "reasoning_effort": route.reasoning_effort,
            "stream": self.is_streamed or None,
            "stream_options": {"include_usage": True} if self.is_streamed and able.stream_usage else None,
        }
        return {name: value for name, value in given.items() if value is not None}

    @cached_property
    def background_parameters(self) -> Parameters:
        """The parameters of a request to the Responses API, whose answer is made in the background."""
        route, declared = self.route, self.response_format
        tools = [{"type": "function", "strict": False, **one._asdict()} for one in self.ask.functions]
        effort = route.reasoning_effort
        given = {
            "model": route.model,
            "input": [message.model_dump() for message in self.messages],
            "tools": tools if self.offers_functions else None,
            "tool_choice": self.able.tools if self.offers_functions else None,
            "text": {"format": {"type": declared["type"], **declared.get("json_schema", {})}} if declared else None,
            "max_output_tokens": self.limit,
            "temperature": route.temperature,
            "reasoning": {"effort": effort} if effort else None,
            "background": True,
            "store": True,
        }
        return {name: value for name, value in given.items() if value is not None}


def _response_format(rung: Rung, name: str, schema: dict[str, Any]) -> Parameters | None:
    if rung == "json_schema":
        safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]
        strict = strict_schema(schema)
        return {"type": "json_schema", "json_schema": {"name": safe, "strict": True, "schema": strict}}
    return {"type": "json_object"} if rung == "json_object" else None
