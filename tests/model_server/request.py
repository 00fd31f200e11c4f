"""Read role, prompt and limits from a request of either protocol."""

import base64
import io
import json
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from PIL import Image, UnidentifiedImageError

from tests.support.report_answers import find_text_role
from tests.support.schema_instance import Json

_SCHEMA_IN_PROMPT = re.compile(r"JSON schema `([^`]+)`:\n")


@dataclass(frozen=True)
class Request:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    """Headers by lower-case name."""
    json: Json
    schema_name: str = ""
    """The role, however the request contains its schema; empty if it contains none."""
    method: str = "POST"
    arrived: float = field(default_factory=time.time, compare=False)
    """Time of arrival in seconds since 1970."""

    @property
    def route(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]

    @property
    def in_background(self) -> bool:
        """Whether a background response is requested."""
        return self.route.endswith("/responses") and bool(self.json.get("background"))


def read_format(request: Json) -> Json:
    """Return the requested format; empty for none, and for that of a transcript."""
    if isinstance(request.get("response_format"), str):
        return {}
    return request.get("response_format") or (request.get("text") or {}).get("format") or {}


def read_messages(request: Json) -> list[Any]:
    """Return the prompt's messages."""
    given = request.get("messages") or request.get("input") or []
    told = request.get("instructions")
    said = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
    return [{"role": "system", "content": told}, *said] if told else said


def read_functions(request: Json) -> dict[str, Json]:
    """Return the offered functions by name, with the schemas of their arguments."""
    offered = [tool.get("function", tool) for tool in request.get("tools") or []]
    return {one["name"]: one["parameters"] for one in offered}


def read_schema(request: Json) -> tuple[str, Json]:
    """Return the role and the JSON schema of a request; a role that answers in text has no schema."""
    asked = read_format(request)
    declared = asked.get("json_schema") or (asked if "schema" in asked else None)
    if declared:
        return declared["name"], declared["schema"]
    last = read_messages(request)[-1:] if "encoding_format" not in request else []
    content = str(last[0].get("content", "")) if last and isinstance(last[0], dict) else ""
    for written in list(_SCHEMA_IN_PROMPT.finditer(content))[-1:]:
        schema, _ = json.JSONDecoder().raw_decode(content, written.end())
        return written[1], cast(Json, schema)
    # The correction of an answer in text follows the message with the task.
    texts = (str(message.get("content", "")) for message in read_messages(request) if isinstance(message, dict))
    return find_text_role("\n".join(texts)), {}


def list_images(request: Json) -> list[bytes]:
    """Return the pictures of a prompt, in the form of either protocol."""
    parts = [
        part
        for message in read_messages(request)
        if isinstance(message.get("content"), list)
        for part in message["content"]
    ]
    addresses = [part["image_url"] for part in parts if part.get("type") in ("image_url", "input_image")]
    urls = [address["url"] if isinstance(address, dict) else address for address in addresses]
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


def truncate_answer(text: str, request: Json) -> tuple[str, str]:
    """Return the answer within the limit of its request, and its finish reason."""
    caps = [request.get(name) for name in ("max_completion_tokens", "max_tokens", "max_output_tokens")]
    cap = next((cap for cap in caps if cap), None)
    if cap is None or count_tokens(text) <= cap:
        return text, "stop"
    return text[: (cap - 1) * 4], "length"


def count_tokens(text: str) -> int:
    """Count the tokens of a text as this server does."""
    return len(text) // 4 + 1


def count_message_tokens(request: Json) -> list[int]:
    """Count the tokens of each message of a prompt; texts to embed are not messages."""
    return [
        _count_content(message.get("content", "")) if isinstance(message, dict) else 0
        for message in read_messages(request)
    ]


def _count_content(content: Any) -> int:
    """Count the tokens of a text, or of parts with pictures."""
    if not isinstance(content, list):
        return count_tokens(str(content))
    texts = sum(count_tokens(part["text"]) for part in content if "text" in part)
    return texts + sum(map(_count_image_tokens, list_images({"messages": [{"content": content}]})))


def _count_image_tokens(image: bytes) -> int:
    """Count the tokens of a picture as OpenAI documents it for its models with tiles.

    It is scaled to fit into 2,048 × 2,048 pixels and then to a shorter side of at most 768; each tile of 512 × 512
    takes 170 tokens, and the picture 85. Other content takes 85 as well.
    """
    try:
        with Image.open(io.BytesIO(image)) as picture:
            size = picture.size
    except UnidentifiedImageError:
        return 85
    scale = min(1.0, 2048 / max(size), 768 / min(size))
    return 85 + 170 * math.prod(math.ceil(side * scale / 512) for side in size)
