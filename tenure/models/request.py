"""A request in the form that a server is known to take."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tenure.models.capabilities import Capabilities, Rung
from tenure.models.chat import Ask
from tenure.models.json_schema import strict_schema, with_schema
from tenure.models.routes import Route

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

    @cached_property
    def parameters(self) -> Parameters:
        """The parameters of a Chat Completions request; what nobody has set is left to the server."""
        ask, route, able = self.ask, self.route, self.able
        said = ask.messages if able.rung == "json_schema" else with_schema(ask.messages, ask.role, ask.schema)
        given = {
            "model": route.model,
            "messages": [message.model_dump() for message in said],
            "response_format": _response_format(able.rung, ask.role, ask.schema),
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
        ask, route, able = self.ask, self.route, self.able
        said = ask.messages if able.rung == "json_schema" else with_schema(ask.messages, ask.role, ask.schema)
        declared = _response_format(able.rung, ask.role, ask.schema)
        effort = route.reasoning_effort
        given = {
            "model": route.model,
            "input": [message.model_dump() for message in said],
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
