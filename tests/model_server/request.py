"""What a request says, in either protocol: the role it asks, its prompt, and how long an answer may be."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from tests.schema_instance import Json

_SCHEMA_IN_PROMPT = re.compile(r"JSON schema `([^`]+)`:\n")


@dataclass(frozen=True)
class Request:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    """By lower-case name."""
    json: Json
    schema_name: str = ""
    """The role asked, however the request carries its schema; empty where it carries none."""
    method: str = "POST"

    @property
    def route(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]

    @property
    def in_background(self) -> bool:
        """Whether a response is asked for that is made while nobody waits."""
        return self.route.endswith("/responses") and bool(self.json.get("background"))


def format_of(request: Json) -> Json:
    """Return the format that a request asks for; empty for none."""
    return request.get("response_format") or (request.get("text") or {}).get("format") or {}


def messages(request: Json) -> list[Any]:
    """Return the prompt's messages."""
    given = request.get("messages") or request.get("input") or []
    told = request.get("instructions")
    said = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
    return [{"role": "system", "content": told}, *said] if told else said


def functions(request: Json) -> dict[str, Json]:
    """Return the functions that a request offers, by name, with the schemas of their arguments."""
    offered = [tool.get("function", tool) for tool in request.get("tools") or []]
    return {one["name"]: one["parameters"] for one in offered}


def schema_of(request: Json) -> tuple[str, Json]:
    """Return the name and the JSON schema that a request carries, in its functions, its format or its prompt."""
    if "finish" in functions(request):
        return "react", functions(request)["finish"]
    asked = format_of(request)
    declared = asked.get("json_schema") or (asked if "schema" in asked else None)
    if declared:
        return declared["name"], declared["schema"]
    for message in [] if "encoding_format" in request else messages(request):
        content = str(message.get("content", "")) if isinstance(message, dict) else ""
        written = _SCHEMA_IN_PROMPT.search(content)
        if written and message["role"] in ("system", "developer"):
            schema, _ = json.JSONDecoder().raw_decode(content, written.end())
            return written[1], cast(Json, schema)
    return "", {}


def capped(text: str, request: Json) -> tuple[str, str]:
    """Return the part of an answer that its request leaves room for, and how it ends."""
    caps = [request.get(name) for name in ("max_completion_tokens", "max_tokens", "max_output_tokens")]
    cap = next((cap for cap in caps if cap), None)
    if cap is None or tokens(text) <= cap:
        return text, "stop"
    return text[: (cap - 1) * 4], "length"


def tokens(text: str) -> int:
    """Count the tokens of a text, as this server does."""
    return len(text) // 4 + 1


def message_tokens(request: Json) -> list[int]:
    """Count the tokens of each message of a prompt; texts to embed are none."""
    return [
        tokens(str(message.get("content", ""))) if isinstance(message, dict) else 0 for message in messages(request)
    ]
