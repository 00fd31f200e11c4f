"""Receive one page over one or several connections, and parse the headers of its response.

If a connection is lost and the server has sent a validator, the next request asks for the remaining bytes (RFC 9110
range request), and receives the complete page if it has changed meanwhile.
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

import httpcore
import httpx

from tenure.sources.fetch.decompression import ACCEPT_ENCODING, ResponseBody, format_megabytes
from tenure.sources.fetch.errors import UnusableResponse

_COMPLETE: Final = (200, 203)
_NOT_MODIFIED: Final = 304
_PARTIAL: Final = 206
_OUT_OF_RANGE: Final = 416
_BINARY_MEDIA: Final = ("image/", "audio/", "video/", "font/")
"""Media types without text, whose bodies are not transferred."""
_TYPE: Final = re.compile(r"[a-z0-9.+-]+/[a-z0-9.+-]+")  # "text/html" of "text/html; charset=utf-8".
_CHARSET: Final = re.compile(r";\s*charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)  # "; charset=utf-8".
_RANGE: Final = re.compile(r"bytes (\d+)-")  # "bytes 0-1023/146515".
_MAX_AGE: Final = re.compile(r"\bmax-age\s*=\s*\"?(\d{1,9})", re.IGNORECASE)  # "max-age=3600".
_NO_CACHE: Final = re.compile(r"\bno-(?:store|cache)\b", re.IGNORECASE)  # "no-store", "no-cache".


class Validators(NamedTuple):
    """Validators of a stored copy for a conditional request."""

    etag: str = ""
    last_modified: str = ""


class ConnectionLost(Exception):
    """A connection failed; the page may be received over another one."""


class Transfer:
    """State of the transfer of one page."""

    def __init__(self, known: Validators | None, limit: int, *, truncate: bool = False) -> None:
        self.status_code = 0
        self.headers = httpx.Headers()
        self.received = 0
        """Bytes of bodies that came over the wire, those of failed connections included."""
        self._known, self._limit = known, limit
        self._body = ResponseBody(limit, truncate=truncate)
        self._validator = ""

    def build_request_headers(self) -> dict[str, str]:
        """Return the headers of a conditional or range request."""
        if self._can_resume:
            return {"range": f"bytes={self._body.received}-", "if-range": self._validator}
        if self._known is None:
            return {}
        conditions = {"if-none-match": self._known.etag, "if-modified-since": self._known.last_modified}
        return {name: value for name, value in conditions.items() if value}

    async def receive(self, response: httpcore.Response) -> None:
        """Receive a response.

        Raises:
            UnusableResponse: the body is too large, has a binary media type, or contradicts its content encoding.
            ConnectionLost: the range does not continue the received bytes.
        """
        self.status_code, self.headers = response.status, httpx.Headers(response.headers)
        if self.status_code in (_PARTIAL, _OUT_OF_RANGE):
            self._check_range()
        elif self.status_code in _COMPLETE:
            self._start()
        if self.status_code not in (*_COMPLETE, _PARTIAL):
            return
        async for data in response.aiter_stream():
            self.received += len(data)
            self._body.feed(data)
            if self._body.is_full:
                return

    @property
    def is_not_modified(self) -> bool:
        """Whether the server confirmed the stored copy."""
        return self.status_code == _NOT_MODIFIED and self._known is not None

    def get_content(self) -> bytes:
        """Return the complete body."""
        return self._body.get_content()

    @property
    def _can_resume(self) -> bool:
        return bool(self._validator and self._body.received)

    def _start(self) -> None:
        if parse_media_type(self.headers).startswith(_BINARY_MEDIA):
            raise UnusableResponse(f"its media type {parse_media_type(self.headers)} contains no text")
        if _parse_number(self.headers.get("content-length", "")) > self._limit and not self._body.truncates:
            raise UnusableResponse(f"it is larger than {format_megabytes(self._limit)}")
        self._body.start(self.headers.get("content-encoding", ""))
        etag = self.headers.get("etag", "")
        self._validator = self.headers.get("last-modified", "") if etag.startswith("W/") else etag
        self._validator = self._validator or self.headers.get("last-modified", "")

    def _check_range(self) -> None:
        start = _RANGE.match(self.headers.get("content-range", ""))
        packing = self.headers.get("content-encoding", "")
        if not self._can_resume:
            raise UnusableResponse("its server sent an unexpected range")
        if (
            self.status_code != _PARTIAL
            or not start
            or int(start[1]) != self._body.received
            or packing != self._body.content_encoding
        ):
            self._validator = ""
            raise ConnectionLost("its server sent a wrong range")


def build_request_headers(user_agent: str) -> dict[str, str]:
    """Return the headers of every request."""
    accepted = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.9,*/*;q=0.5"
    return {"user-agent": user_agent, "accept": accepted, "accept-encoding": ACCEPT_ENCODING}


def parse_media_type(headers: httpx.Headers) -> str:
    """Return the media type such as `text/html`, or an empty text if the header has none."""
    match = _TYPE.match(headers.get("content-type", "").strip().lower())
    return match[0][:100] if match else ""


def parse_charset(headers: httpx.Headers) -> str:
    """Return the character encoding that the header declares, or an empty text."""
    match = _CHARSET.search(headers.get("content-type", ""))
    return match[1].lower() if match else ""


def parse_max_age(headers: httpx.Headers) -> float | None:
    """Return the freshness lifetime in seconds, or None if the server declares none."""
    control = headers.get("cache-control", "")
    if _NO_CACHE.search(control):
        return 0.0
    match = _MAX_AGE.search(control)
    return max(0.0, float(match[1]) - _parse_number(headers.get("age", ""))) if match else None


def parse_retry_after(headers: httpx.Headers, otherwise: float) -> float:
    """Return the seconds after which the server accepts another request."""
    value = headers.get("retry-after", "").strip()
    if not value or value.isdecimal():
        return float(_parse_number(value)) if value else otherwise
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return otherwise
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _parse_number(value: str) -> int:
    """Return the number in a header, or 0 if it is invalid."""
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 16 else 0
