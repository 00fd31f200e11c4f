"""Describe an OpenAI-compatible server: its name in messages and the exceptions of its responses, without any key."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import openai

from tenure.models.errors import RequestRejected, TransportError
from tenure.models.openai.rate_limits import parse_retry_after

RETRYABLE_STATUSES: Final = frozenset({408, 409, 429})
"""Client errors after which the same call may succeed, like after every 5xx."""

BASE_URL_HINT: Final = "it usually ends in /v1"
NO_KEY: Final = "none"
"""Key for the client library if the server needs none."""

# Not "exceeded your current quota" alone: some servers report a quota that resets within a minute in these words.
_NO_CREDIT = re.compile(r"insufficient[_ ](quota|balance|credit|funds)", re.IGNORECASE)
# "sk-proj-…", as in "Incorrect API key provided: sk-proj-****abcd".
_KEY_SHAPE = re.compile(r"\b(sk|gsk|xai|pk)-[\w*.-]{6,}")


class SettingNames(NamedTuple):
    """Names of the settings of a server."""

    key: str
    base_url: str


OPENAI_SETTINGS: Final = SettingNames("OPENAI_API_KEY", "OPENAI_BASE_URL")


class ModelEndpoint:
    """A server, described by host and port for messages that may be stored permanently and never repeat the key."""

    def __init__(self, host: str, key: str, names: SettingNames = OPENAI_SETTINGS) -> None:
        self.host = host
        self.names = names
        self._key = key

    def redact(self, message: object) -> str:
        """Return foreign text as one short line without any key."""
        default = type(message).__name__ if isinstance(message, BaseException) else "no reason given"
        text = str(message or "") or default
        if self._key:
            text = text.replace(self._key, "[key]")
        return " ".join(_KEY_SHAPE.sub("[key]", text).split())[:300]

    def build_transport_error(self, status: int, message: str, headers: Mapping[str, str]) -> TransportError | None:
        """Return the exception for a status after which the same call may succeed, or None for any other status."""
        if (status not in RETRYABLE_STATUSES and status < 500) or (status == 429 and _NO_CREDIT.search(message)):
            return None
        wait = parse_retry_after(headers, limits=status == 429)
        return TransportError(f"{self.host} answered {status}: {self.redact(message)}", status=status, retry_after=wait)

    def build_connection_error(self, error: openai.APIConnectionError | TimeoutError, seconds: float) -> TransportError:
        """Return the exception for a call without a response."""
        if isinstance(error, openai.APITimeoutError | TimeoutError):
            return TransportError(f"{self.host} gave no answer within {seconds:g} s", is_timeout=True)
        advice = f"start it, or check {self.names[1]}"
        return TransportError(f"{self.host} cannot be reached ({self.redact(error.__cause__)}): {advice}")

    def build_parameter_error(self, message: str, model: str, setting: str) -> RequestRejected:
        """Return the exception for a configured parameter that the model does not support."""
        return RequestRejected(
            f"{self.host}: {model} does not support {setting}; change it: {self.redact(message)}", status=400
        )

    def build_rejection(
        self, status: int, message: str, model: str, setting: str, location: str = ""
    ) -> RequestRejected:
        """Return the exception for a permanent error, with the setting to check."""
        key, base_url = self.names
        match status:
            case 301 | 302 | 303 | 307 | 308:
                advice = (
                    f"it redirects to {self.redact(location)}, which is not followed, so that no other server receives "
                    f"the request; set {base_url} to the server that is meant"
                )
            case 401:
                advice = f"{key} is not accepted" if self._key else f"a key is needed: set {key}"
            case 403:
                advice = f"the key may not use {model}; check its permissions or {setting}"
            case 404:
                advice = f"model {model} not found; check {setting} and {base_url} ({BASE_URL_HINT})"
            case 402 | 429:
                advice = (
                    f"the account of the key has no credit left; check its plan and billing: {self.redact(message)}"
                )
            case _:
                advice = f"refused the request to {model} with {status}: {self.redact(message)}"
                return RequestRejected(f"{self.host} {advice}", status=status)
        return RequestRejected(f"{self.host}: {advice}", status=status)


def validate_key(key: str | None, name: str = OPENAI_SETTINGS.key) -> str:
    """Return a key without surrounding blanks, empty for none.

    Raises:
        ValueError: no header can carry the key.
    """
    stripped = (key or "").strip()
    if not (stripped.isascii() and stripped.isprintable()):
        raise ValueError(f"{name} contains characters that no HTTP header can carry; set it again")
    return stripped


def validate_base_url(base_url: str | None, name: str = OPENAI_SETTINGS.base_url) -> str | None:
    """Return a URL, or None for the library's default.

    Raises:
        ValueError: the URL has no scheme.
    """
    if base_url and urlsplit(base_url).scheme not in ("http", "https"):
        raise ValueError(f"{name} must start with http:// or https://")
    return base_url or None


def format_host(client: openai.OpenAI | openai.AsyncOpenAI) -> str:
    """Return host and port of a client's server."""
    address = client.base_url
    return address.host if address.port is None else f"{address.host}:{address.port}"


def format_error_body(body: object) -> str:
    """Return the message of an error body with its code, or the whole body if it has another shape."""
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        extras = [str(body[key]) for key in ("code", "param") if body.get(key)]
        return " ".join([body["message"], *(f"({extra})" for extra in extras)])
    return str(body or "")
