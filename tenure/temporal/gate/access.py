"""Decide who may use a local HTTP service of a home: owners of its key, and no web page of another origin.

A link with a token that expires leads a browser in; from then on a cookie identifies it. Programs send the home's key
as bearer token. The host name of every request is compared, so that a foreign host name that resolves to this machine
(DNS rebinding) gets nothing; requests that change something must come from a page of the service itself.
"""

import errno
import hashlib
import hmac
import html
import time
from collections.abc import Collection
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from tenure.installation import PROGRAM
from tenure.private_files import read_or_create_secret
from tenure.temporal.gate.http_server import HttpError, RequestHead, Response

KEY_FILE = "access.key"
"""File in the home with the key of its local services."""

LINK_SECONDS = 24 * 3600
"""Lifetime of the token in a link."""

COOKIE_SECONDS = 30 * 24 * 3600
"""Lifetime of the cookie; every visit of a page renews it."""

HOST = "127.0.0.1"

SECURITY_HEADERS = (
    ("x-frame-options", "DENY"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
)
"""Headers of every response, against other pages and against content types that browsers guess."""

HINT = f"Run `{PROGRAM} status` as that user and open the link that it prints."

_MIN_KEY_LENGTH = 32
_SIGNATURE_DIGITS = 32
_TOKEN = "token"
_READING = ("GET", "HEAD")
_METHODS = (*_READING, "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def load_key(home: Path) -> str:
    """Return the key of a home's local services, creating it if it does not exist.

    Raises:
        OSError: it can neither be read nor created.
    """
    path = home.absolute() / KEY_FILE
    key = read_or_create_secret(path).decode("ascii", "replace").strip()
    if len(key) < _MIN_KEY_LENGTH or not key.isalnum():
        raise OSError(errno.EINVAL, "it does not hold a key: delete it, and a new one is created", str(path))
    return key


def build_link(key: str, url: str, now: float | None = None) -> str:
    """Add a token to a URL of a local service."""
    expires = f"{int((time.time() if now is None else now) + LINK_SECONDS):x}"
    joint = "&" if urlsplit(url).query else "?"
    return f"{url}{'' if urlsplit(url).path else '/'}{joint}{_TOKEN}={expires}.{_sign(key, f'link {expires}')}"


class AccessPolicy:
    """Rules of one HTTP service, on the loopback interface or under a URL of its own.

    Args:
        key: key of the home, or a token in its place.
        port: port of the service.
        origins: further origins whose pages may send requests, with the cookie of this service.
        hint: sentence about the command that prints a link, for the page that refuses.
        url: `https` URL of a service for other machines; empty for the loopback interface.
    """

    def __init__(self, key: str, port: int, origins: Collection[str] = (), hint: str = HINT, url: str = "") -> None:
        self._key, self._port, self._hint = key, port, hint
        self._is_local = not url
        # Browsers leave out the standard port.
        self.origin = url.lower().rstrip("/").removesuffix(":443") or f"http://{HOST}:{port}"
        self.cookie_name = f"tenure_{port}"
        self._cookie = _sign(key, f"cookie {port}")
        self._origins = {self.origin, *origins}

    def check(self, request: RequestHead) -> Response | None:
        """Return None for a request that may proceed, and otherwise the response to it.

        Raises:
            HttpError: the request is refused.
        """
        if request.method not in _METHODS:
            raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, "this method is not offered")
        if (moved := self._check_host(request)) is not None:
            return moved
        site = request.get_header("sec-fetch-site")
        navigates = request.method == "GET" and request.get_header("sec-fetch-mode") in ("", "navigate")
        if request.method == "GET" and (entered := self._enter(request)) is not None:
            return entered
        has_key, has_cookie = self._carries_key(request), self._carries_cookie(request)
        if not (has_key or has_cookie):
            # Browsers withhold the cookie from a navigation that another site started; the page starts it again.
            if navigates and site in ("cross-site", "same-site"):
                return _make_page(HTTPStatus.OK, "Opening the web UI …", refresh=request.target)
            return self._refuse()
        self._check_origin(request, site, navigates=navigates, has_key=has_key)
        return None

    def make_cookie(self) -> str:
        """Return the value of the header that sets the cookie."""
        secure = "" if self._is_local else "; Secure"
        return f"{self.cookie_name}={self._cookie}; Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Strict{secure}"

    def remove_cookie(self, header: str) -> str:
        """Return a `Cookie` header without the cookie of this service."""
        parts = (part.strip() for part in header.split(";"))
        return "; ".join(part for part in parts if part and part.partition("=")[0] != self.cookie_name)

    def allows_origin(self, origin: str) -> bool:
        """Return whether pages of an origin may send requests."""
        return origin in self._origins

    def _check_host(self, request: RequestHead) -> Response | None:
        """Redirect from `localhost` to the address; refuse every other name.

        Raises:
            HttpError: the request names another host.
        """
        host = request.get_header("host")
        if host.lower() == urlsplit(self.origin).netloc:
            return None
        if self._is_local and host.lower() == f"localhost:{self._port}" and request.method in _READING:
            return Response(HTTPStatus.TEMPORARY_REDIRECT, headers=(("location", self.origin + request.target),))
        raise HttpError(HTTPStatus.MISDIRECTED_REQUEST, f"this service answers only at {self.origin}")

    def _enter(self, request: RequestHead) -> Response | None:
        """Answer a request with a token: set the cookie, and lead to the same address without the token."""
        parts = urlsplit(request.target)
        query = parse_qsl(parts.query, keep_blank_values=True)
        tokens = [value for name, value in query if name == _TOKEN]
        if not tokens:
            return None
        known = self._carries_key(request) or self._carries_cookie(request)
        if not known and not (len(tokens) == 1 and _is_valid(self._key, tokens[0])):
            return self._refuse("This link has expired or belongs to another home.")
        rest = urlencode([(name, value) for name, value in query if name != _TOKEN])
        target = parts.path + (f"?{rest}" if rest else "")
        return _make_page(
            HTTPStatus.OK, "Opening the web UI …", refresh=target, headers=(("set-cookie", self.make_cookie()),)
        )

    def _carries_key(self, request: RequestHead) -> bool:
        """Return whether a request carries the home's key."""
        scheme, _, credential = request.get_header("authorization").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(credential.strip().encode(), self._key.encode())

    def _carries_cookie(self, request: RequestHead) -> bool:
        """Return whether a request carries the cookie of this service."""
        parts = (part for name, value in request.headers if name == "cookie" for part in value.split(";"))
        pairs = (part.strip().partition("=")[::2] for part in parts)
        return any(
            name == self.cookie_name and hmac.compare_digest(value.encode(), self._cookie.encode())
            for name, value in pairs
        )

    def _check_origin(self, request: RequestHead, site: str, *, navigates: bool, has_key: bool) -> None:
        """Check that no page of another origin caused the request.

        Raises:
            HttpError: another page caused it.
        """
        origin = request.get_header("origin")
        foreign = HttpError(HTTPStatus.FORBIDDEN, "only pages of the web UI of this home may send this request")
        if origin:
            if not self.allows_origin(origin):
                raise foreign
            return
        if request.method in _READING:
            if site not in ("", "none", "same-origin") and not navigates:
                raise foreign
        elif site != "same-origin" and not (has_key and not site):
            raise foreign

    def _refuse(self, reason: str = "This service belongs to one user of this machine.") -> Response:
        """Return the page for visitors without a valid link."""
        return _make_page(HTTPStatus.UNAUTHORIZED, f"{reason} {self._hint}")


def _sign(key: str, purpose: str) -> str:
    """Return the signature of a purpose."""
    return hmac.new(key.encode(), purpose.encode(), hashlib.sha256).hexdigest()[:_SIGNATURE_DIGITS]


def _is_valid(key: str, token: str) -> bool:
    """Return whether a token of a link is genuine and has not expired."""
    expires, _, signature = token.partition(".")
    if not hmac.compare_digest(signature.encode(), _sign(key, f"link {expires}").encode()):
        return False
    return int(expires, 16) > time.time()


def _make_page(status: HTTPStatus, text: str, refresh: str = "", headers: tuple[tuple[str, str], ...] = ()) -> Response:
    """Return a page of one sentence, which may lead to another path."""
    meta = f'<meta http-equiv="refresh" content="0;url={html.escape(quote(refresh, safe=_SAFE))}">' if refresh else ""
    page = f"<!doctype html><html lang=en><meta charset=utf-8><title>Tenure</title>{meta}<p>{html.escape(text)}</p>\n"
    policy = ("content-security-policy", "default-src 'none'; frame-ancestors 'none'")
    kind = ("content-type", "text/html; charset=utf-8")
    # The address of this page may contain a token, which no other page should see as referrer.
    others = tuple((name, value) for name, value in SECURITY_HEADERS if name != "referrer-policy")
    own = (kind, ("cache-control", "no-store"), policy, ("referrer-policy", "no-referrer"))
    return Response(status, page.encode(), (*own, *others, *headers))


_SAFE = "/?&=%:@!$'()*+,;~-._"
