"""An OpenAI-compatible server as both back-ends see it: its name in messages, its refusals, nobody's key."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import openai

from tenure.models.chat import RequestRejected, TransportError
from tenure.models.openai.rate_limits import retry_after

RETRYABLE: Final = frozenset({408, 409, 429})
"""Client errors after which the same call may succeed; so may every 5xx."""

USUAL_PATH: Final = "it usually ends in /v1"
NO_KEY: Final = "none"
"""What the client library is given for a server that wants no key."""

# Not "exceeded your current quota" alone: some servers say so of a quota that is full again in a minute.
_NO_CREDIT = re.compile(r"insufficient[_ ](quota|balance|credit|funds)", re.IGNORECASE)
_KEY_SHAPE = re.compile(r"\b(sk|gsk|xai|pk)-[\w*.-]{6,}")


class Names(NamedTuple):
    """The settings of a server."""

    key: str
    address: str


OPENAI: Final = Names("OPENAI_API_KEY", "OPENAI_BASE_URL")


class Endpoint:
    """The server behind an address, for messages that may be kept for ever.

    Args:
        where: host and port; no path, user or key.
        key: the key in use, which no message repeats; empty for none.
        names: what the key and the address are called, where a person sets them.
    """

    def __init__(self, where: str, key: str, names: Names = OPENAI) -> None:
        self.where = where
        self.names = names
        self._key = key

    def shown(self, said: object) -> str:
        """Return foreign words as one short line that holds no key."""
        unsaid = type(said).__name__ if isinstance(said, BaseException) else "no reason given"
        text = str(said or "") or unsaid
        if self._key:
            text = text.replace(self._key, "[key]")
        return " ".join(_KEY_SHAPE.sub("[key]", text).split())[:300]

    def busy(self, status: int, said: str, headers: Mapping[str, str]) -> TransportError | None:
        """Return the error of a response after which the same call may succeed; None for any other."""
        if (status not in RETRYABLE and status < 500) or (status == 429 and _NO_CREDIT.search(said)):
            return None
        wait = retry_after(headers, limits=status == 429)
        return TransportError(f"{self.where} answered {status}: {self.shown(said)}", status=status, retry_after=wait)

    def unreached(self, error: openai.APIConnectionError | TimeoutError, seconds: float) -> TransportError:
        """Return the error of a call to which no response came."""
        if isinstance(error, openai.APITimeoutError | TimeoutError):
            return TransportError(f"{self.where} gave no answer within {seconds:g} s")
        return TransportError(f"{self.where} cannot be reached: {self.shown(error.__cause__)}")

    def unsuitable(self, said: str, model: str, setting: str) -> RequestRejected:
        """Return the error of a parameter that a person has set and the model does not take."""
        return RequestRejected(
            f"{self.where}: {model} does not take {setting}; change it: {self.shown(said)}", status=400
        )

    def rejected(self, status: int, said: str, model: str, setting: str) -> RequestRejected:
        """Return the error of a refusal that lasts, with what to check."""
        key, address = self.names
        match status:
            case 401:
                advice = f"{key} is not accepted" if self._key else f"a key is needed: set {key}"
            case 403:
                advice = f"the key may not use {model}; check its permissions or {setting}"
            case 404:
                advice = f"no model {model} there; check {setting} and {address} ({USUAL_PATH})"
            case 402 | 429:
                advice = f"the account of the key has no credit left; check its plan and billing: {self.shown(said)}"
            case _:
                advice = f"refused the request to {model} with {status}: {self.shown(said)}"
                return RequestRejected(f"{self.where} {advice}", status=status)
        return RequestRejected(f"{self.where}: {advice}", status=status)


def checked_key(key: str | None, name: str = OPENAI.key) -> str:
    """Return a key as a header carries it, empty for none.

    Raises:
        ValueError: no header can carry it.
    """
    stripped = (key or "").strip()
    if not (stripped.isascii() and stripped.isprintable()):
        raise ValueError(f"{name} holds characters that no HTTP header can carry; set it again")
    return stripped


def checked_address(base_url: str | None, name: str = OPENAI.address) -> str | None:
    """Return an address, None for the library's default.

    Raises:
        ValueError: it has no scheme.
    """
    if base_url and urlsplit(base_url).scheme not in ("http", "https"):
        raise ValueError(f"{name} must start with http:// or https://")
    return base_url or None


def host_and_port(client: openai.OpenAI | openai.AsyncOpenAI) -> str:
    """Return what messages call the server of a client."""
    address = client.base_url
    return address.host if address.port is None else f"{address.host}:{address.port}"


def error_text(body: object) -> str:
    """Return the message of an error body with its code, or the whole body where it has another shape."""
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        extras = [str(body[key]) for key in ("code", "param") if body.get(key)]
        return " ".join([body["message"], *(f"({extra})" for extra in extras)])
    return str(body or "")
