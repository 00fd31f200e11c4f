"""Decide who may use a local HTTP service of a home: owners of its key, and no web page of another origin.

A link with a token that expires leads a browser in; from then on a cookie identifies it. Programs send the home's key
as bearer token. The host name of every request is compared, so that a foreign host name that resolves to this machine
(DNS rebinding) gets nothing; requests that change something must come from a page of the service itself. The middleware
of Starlette compares host names without ports and knows neither tokens nor the origin of a request.
"""

import hmac
import html
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.installation import PROGRAM
from tenure.temporal.gate.access_key import HOST, TOKEN, is_valid_token, sign

COOKIE_SECONDS = 30 * 24 * 3600
"""Lifetime of the cookie; every visit of a page renews it."""

SECURITY_HEADERS = (
    ("x-frame-options", "DENY"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
)
"""Headers of every response, against other pages and against content types that browsers guess."""

HINT = f"Run `{PROGRAM} status` as that user and open the link that it prints."

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_READING = METHODS[:2]

Headers = Sequence[tuple[str, str]]


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
        self._cookie = sign(key, f"cookie {port}")
        self._origins = {self.origin, *origins}

    def check(self, request: Request) -> Response | None:
        """Return None for a request that may proceed, and otherwise the response to it.

        Raises:
            HTTPException: the request is refused.
        """
        check_form(request)
        if (moved := self.check_host(request)) is not None:
            return moved
        site = get_header(request, "sec-fetch-site")
        navigates = request.method == "GET" and get_header(request, "sec-fetch-mode") in ("", "navigate")
        if request.method == "GET" and (entered := self.enter(request)) is not None:
            return entered
        has_key, has_cookie = self.is_from_program(request), self.is_from_browser(request)
        if not (has_key or has_cookie):
            # Browsers withhold the cookie from a navigation that another site started; the page starts it again.
            if navigates and site in ("cross-site", "same-site"):
                return make_page(HTTPStatus.OK, "Opening the web UI …", refresh=get_target(request))
            return self.refuse(request)
        self._check_origin(request, site, navigates=navigates, has_key=has_key)
        return None

    def make_cookie(self) -> str:
        """Return the value of the header that sets the cookie; empty if visits do not renew it."""
        secure = "" if self._is_local else "; Secure"
        return f"{self.cookie_name}={self._cookie}; Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Strict{secure}"

    def remove_cookie(self, header: str) -> str:
        """Return a `Cookie` header without the cookie of this service."""
        parts = (part.strip() for part in header.split(";"))
        return "; ".join(part for part in parts if part and part.partition("=")[0] != self.cookie_name)

    def check_host(self, request: Request) -> Response | None:
        """Redirect from `localhost` to the address; refuse every other name."""
        host = get_header(request, "host").lower()
        if host == urlsplit(self.origin).netloc:
            return None
        if self._is_local and host == f"localhost:{self._port}" and request.method in _READING:
            return RedirectResponse(self.origin + get_target(request))
        raise HTTPException(HTTPStatus.MISDIRECTED_REQUEST, f"this service answers only at {self.origin}")

    def enter(self, request: Request) -> Response | None:
        """Answer a request with a token: set the cookie, and lead to the same address without the token."""
        parts = urlsplit(get_target(request))
        query = parse_qsl(parts.query, keep_blank_values=True)
        tokens = [value for name, value in query if name == TOKEN]
        if not tokens:
            return None
        is_known = self.is_from_program(request) or self.is_from_browser(request)
        if not is_known and not (len(tokens) == 1 and is_valid_token(self._key, tokens[0])):
            return self.refuse(request, "This link has expired or belongs to another home.")
        remaining = urlencode([(name, value) for name, value in query if name != TOKEN])
        target = parts.path + (f"?{remaining}" if remaining else "")
        page = make_page(HTTPStatus.OK, "Opening the web UI …", refresh=target)
        page.headers["set-cookie"] = self.make_cookie()
        return page

    def is_from_program(self, request: Request) -> bool:
        """Return whether a request carries the home's key."""
        scheme, _, credential = get_header(request, "authorization").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(credential.strip().encode(), self._key.encode())

    def is_from_browser(self, request: Request) -> bool:
        """Return whether a request carries the cookie of this service."""
        # Not by the cookies of Starlette, which unquotes values and keeps one of each name.
        parts = (part for header in request.headers.getlist("cookie") for part in header.split(";"))
        pairs = (part.strip().partition("=")[::2] for part in parts)
        return any(
            name == self.cookie_name and hmac.compare_digest(value.encode(), self._cookie.encode())
            for name, value in pairs
        )

    def _check_origin(self, request: Request, site: str, *, navigates: bool, has_key: bool) -> None:
        """Check that no page of another origin caused the request.

        Raises:
            HTTPException: another page caused it.
        """
        origin = get_header(request, "origin")
        foreign = HTTPException(HTTPStatus.FORBIDDEN, "only pages of the web UI of this home may send this request")
        if origin:
            if origin not in self._origins:
                raise foreign
            return
        if request.method in _READING:
            if site not in ("", "none", "same-origin") and not navigates:
                raise foreign
        elif site != "same-origin" and not (has_key and not site):
            raise foreign

    def refuse(self, request: Request, reason: str = "This service belongs to one user of this machine.") -> Response:
        """Return the page for visitors without a valid link."""
        return make_page(HTTPStatus.UNAUTHORIZED, f"{reason} {self._hint}")


class AccessGate:
    """Access control before an application; `headers` are added to responses that do not set them."""

    def __init__(self, app: ASGIApp, policy: AccessPolicy, headers: Headers = SECURITY_HEADERS) -> None:
        self._app, self._policy, self._headers = app, policy, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        refused: Response | None
        try:
            refused = self._policy.check(Request(scope))
        except HTTPException as error:
            refused = PlainTextResponse(f"{error.detail}\n", error.status_code)
        answer = self._app if refused is None else refused
        with suppress(ClientDisconnect):  # the client has left
            await answer(scope, receive, self._add_headers(send, has_access=refused is None))

    def _add_headers(self, send: Send, *, has_access: bool) -> Callable[[Message], Awaitable[None]]:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers:
                    headers.setdefault(name, value)
                # Every visit of a page renews the cookie of a visitor who was let in, and of no other one.
                is_page = headers.get("content-type", "").startswith("text/html")
                if has_access and is_page and (cookie := self._policy.make_cookie()):
                    headers.append("set-cookie", cookie)
            await send(message)

        return send_with_headers


def check_form(request: Request) -> None:
    """Check that no two servers read a request differently."""
    if request.method not in METHODS:
        raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, "this method is not offered")
    raw = request.scope["raw_path"].decode("ascii", "replace")
    path = unquote(raw)
    is_path = raw.startswith("/") and not raw.startswith("//")
    if not is_path or {".", ".."} & {*path.split("/")} or {"\\", "\0"} & {*path}:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the path of the request is ambiguous")
    if "content-length" in request.headers and "transfer-encoding" in request.headers:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "the request has two lengths")


def get_header(request: Request, name: str) -> str:
    """Return the value of a header, empty if it is absent."""
    values = request.headers.getlist(name)
    if len(values) > 1:
        raise HTTPException(HTTPStatus.BAD_REQUEST, f"the header {name} occurs more than once")
    return values[0] if values else ""


def get_target(request: Request) -> str:
    """Return path and query of a request as they arrived."""
    raw, query = request.scope["raw_path"], request.scope["query_string"]
    return str(raw + b"?" * bool(query) + query, "ascii", "replace")


def make_page(status: HTTPStatus, text: str, refresh: str = "") -> Response:
    """Return a page of one sentence, which may lead to another path."""
    meta = f'<meta http-equiv="refresh" content="0;url={html.escape(quote(refresh, safe=_SAFE))}">' if refresh else ""
    page = f"<!doctype html><html lang=en><meta charset=utf-8><title>Tenure</title>{meta}<p>{html.escape(text)}</p>\n"
    own = {
        "cache-control": "no-store",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        # The address of this page may contain a token, which no other page should see as referrer.
        "referrer-policy": "no-referrer",
    }
    return HTMLResponse(page, status, own)


_SAFE = "/?&=%:@!$'()*+,;~-._"
