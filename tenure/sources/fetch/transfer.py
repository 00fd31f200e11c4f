"""The transfer of one page, over as many connections as it takes, and what the headers of its answer say.

A connection that breaks leaves the bytes that came. Where the server has given the page a validator, the next
request asks for the rest, and takes the whole page again if it has changed meanwhile.
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

import httpx

from tenure.sources.fetch.decompression import ACCEPTED, Body, megabytes
from tenure.sources.fetch.errors import Unusable

_WHOLE: Final = (200, 203)
_UNCHANGED: Final = 304
_PART: Final = 206
_OUT_OF_RANGE: Final = 416
_UNREAD: Final = ("image/", "audio/", "video/", "font/")
"""Kinds of media that hold no text; they are not even transferred."""
_TYPE: Final = re.compile(r"[a-z0-9.+-]+/[a-z0-9.+-]+")
_CHARSET: Final = re.compile(r";\s*charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_RANGE: Final = re.compile(r"bytes (\d+)-")
_MAX_AGE: Final = re.compile(r"\bmax-age\s*=\s*\"?(\d{1,9})", re.IGNORECASE)
_NOT_KEPT: Final = re.compile(r"\bno-(?:store|cache)\b", re.IGNORECASE)


class Validators(NamedTuple):
    """What a server has said of a page that is at hand, so that it can tell whether it has changed."""

    etag: str = ""
    last_modified: str = ""


class BrokenOff(Exception):
    """A connection failed; the page may still come over another one."""


class Transfer:
    """What has come of one page so far."""

    def __init__(self, known: Validators | None, limit: int, *, cut: bool = False) -> None:
        """Begin with nothing but what may be known of the page; a body beyond the limit is an error, or is cut."""
        self.code = 0
        self.headers = httpx.Headers()
        self.received = 0
        """Bytes of bodies that came over the wire, those of failed connections included."""
        self._known, self._limit = known, limit
        self._body = Body(limit, cut=cut)
        self._validator = ""

    def request_headers(self) -> dict[str, str]:
        """Return what the next request says about the bytes at hand."""
        if self._resumes:
            return {"range": f"bytes={self._body.received}-", "if-range": self._validator}
        if self._known is None:
            return {}
        conditions = {"if-none-match": self._known.etag, "if-modified-since": self._known.last_modified}
        return {name: value for name, value in conditions.items() if value}

    async def take(self, response: httpx.Response) -> None:
        """Take in an answer, as far as it comes.

        Raises:
            Unusable: it is too large, of no readable kind, or not packed as it says.
            BrokenOff: the rest of a page does not follow what is at hand.
        """
        self.code, self.headers = response.status_code, response.headers
        if self.code in (_PART, _OUT_OF_RANGE):
            self._check_follows()
        elif self.code in _WHOLE:
            self._begin()
        if self.code not in (*_WHOLE, _PART):
            return
        async for packed in response.aiter_raw():
            self.received += len(packed)
            self._body.feed(packed)
            if self._body.full:
                return

    @property
    def unchanged(self) -> bool:
        """Whether the server said that what is known of the page is current."""
        return self.code == _UNCHANGED and self._known is not None

    def content(self) -> bytes:
        """Return the whole body.

        Raises:
            Unusable: its end is missing.
        """
        return self._body.content()

    @property
    def _resumes(self) -> bool:
        return bool(self._validator and self._body.received)

    def _begin(self) -> None:
        """Take an answer for the beginning of the page."""
        if media_type(self.headers).startswith(_UNREAD):
            raise Unusable(f"it is of the kind {media_type(self.headers)}, which holds no text")
        if _number(self.headers.get("content-length", "")) > self._limit and not self._body.cuts:
            raise Unusable(f"it is larger than {megabytes(self._limit)}")
        self._body.begin(self.headers.get("content-encoding", ""))
        etag = self.headers.get("etag", "")
        self._validator = self.headers.get("last-modified", "") if etag.startswith("W/") else etag
        self._validator = self._validator or self.headers.get("last-modified", "")

    def _check_follows(self) -> None:
        """Check that an answer goes on where the last one broke off."""
        start = _RANGE.match(self.headers.get("content-range", ""))
        packing = self.headers.get("content-encoding", "")
        if not self._resumes:
            raise Unusable("its server sends a part that nobody asked for")
        if self.code != _PART or not start or int(start[1]) != self._body.received or packing != self._body.packing:
            self._validator = ""
            raise BrokenOff("its server sends another part than was asked for")


def request_headers(user_agent: str) -> dict[str, str]:
    """Return what every request says."""
    accepted = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.9,*/*;q=0.5"
    return {"user-agent": user_agent, "accept": accepted, "accept-encoding": ACCEPTED}


def media_type(headers: httpx.Headers) -> str:
    """Return what a body is, such as `text/html`; empty where nothing usable is said."""
    found = _TYPE.match(headers.get("content-type", "").strip().lower())
    return found[0][:100] if found else ""


def charset(headers: httpx.Headers) -> str:
    """Return the encoding of a text as the header names it; empty where it does not."""
    found = _CHARSET.search(headers.get("content-type", ""))
    return found[1].lower() if found else ""


def lifetime(headers: httpx.Headers) -> float | None:
    """Return the seconds for which a server says that a page stays the same; None where it says nothing."""
    control = headers.get("cache-control", "")
    if _NOT_KEPT.search(control):
        return 0.0
    found = _MAX_AGE.search(control)
    return max(0.0, float(found[1]) - _number(headers.get("age", ""))) if found else None


def retry_after(headers: httpx.Headers, otherwise: float) -> float:
    """Return the seconds after which a server wants to be asked again."""
    written = headers.get("retry-after", "").strip()
    if not written or written.isdecimal():
        return float(_number(written)) if written else otherwise
    try:
        when = parsedate_to_datetime(written)
    except ValueError:
        return otherwise
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _number(written: str) -> int:
    """Return a number that a header holds; 0 for what is none."""
    return int(written) if written.isascii() and written.isdecimal() and len(written) < 16 else 0
