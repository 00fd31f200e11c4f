"""A request in the form that a server is known to take, in either of OpenAI's two protocols."""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tenure.models.capabilities import OUTPUT_LIMITS, Capabilities, OutputLimit
from tenure.models.chat import Ask
from tenure.models.json_schema import strict_schema, with_schema
from tenure.models.routes import Route

Parameters = dict[str, Any]


@dataclass(frozen=True)
class Question(ABC):
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
    @abstractmethod
    def limit_name(self) -> str:
        """The parameter for the length of the answer."""

    @property
    @abstractmethod
    def next_limit(self) -> OutputLimit:
        """What to take for that parameter where the server does not know it."""

    @cached_property
    def parameters(self) -> Parameters:
        """The parameters of the request; what nobody has set is left to the server."""
        return {name: value for name, value in self._wanted().items() if value is not None}

    @abstractmethod
    def _wanted(self) -> Parameters:
        """Return all parameters, None for what nobody has set."""

    def _said(self) -> list[dict[str, str]]:
        """Return the prompt; it shows the schema where the server is not held to it otherwise."""
        ask = self.ask
        shown = ask.messages if self.able.rung == "json_schema" else with_schema(ask.messages, ask.role, ask.schema)
        return [message.model_dump() for message in shown]

    def _schema(self) -> Parameters:
        """Return the schema under a name that servers take, for them to be held to."""
        safe = re.sub(r"[^A-Za-z0-9_-]", "_", self.ask.role)[:64]
        return {"name": safe, "strict": True, "schema": strict_schema(self.ask.schema)}


@dataclass(frozen=True)
class ChatQuestion(Question):
    """A question as Chat Completions takes it."""

    @property
    def limit_name(self) -> str:
        """The name under which this server knows the limit."""
        return self.able.output_limit

    @property
    def next_limit(self) -> OutputLimit:
        """The older name, then none."""
        return OUTPUT_LIMITS[OUTPUT_LIMITS.index(self.able.output_limit) + 1]

    @property
    def is_streamed(self) -> bool:
        """Whether the answer is to come in as it is made."""
        return self.ask.streamed and self.able.streaming

    def _wanted(self) -> Parameters:
        return {
            "model": self.route.model,
            "messages": self._said(),
            "response_format": self._format(),
            self.limit_name: self.limit,
            "temperature": self.route.temperature,
            "reasoning_effort": self.route.reasoning_effort,
            "stream": self.is_streamed or None,
            "stream_options": {"include_usage": True} if self.is_streamed and self.able.stream_usage else None,
        }

    def _format(self) -> Parameters | None:
        if self.able.rung == "json_schema":
            return {"type": "json_schema", "json_schema": self._schema()}
        return {"type": "json_object"} if self.able.rung == "json_object" else None
