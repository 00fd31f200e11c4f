"""Let the owner of the home in, and no web page of another origin: the rules of the web UI of Temporal, for this site.

Every response carries a content security policy without inline scripts and styles.
"""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from urllib.parse import unquote

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.responses import Response as SiteResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.installation import PROGRAM
from tenure.temporal.gate.access import SECURITY_HEADERS, AccessPolicy
from tenure.temporal.gate.http_server import HttpError, RequestHead, Response

HINT = f"Run `{PROGRAM} serve` as that user and open the link that it prints."

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""Only this server's own script and style sheet are applied, and forms and requests reach only this server."""

_HEADERS = (*SECURITY_HEADERS, ("cross-origin-opener-policy", "same-origin"), ("cache-control", "no-store"))


class AccessGate:
    """Access control before an application.

    Args:
        app: the application.
        policy: rules of access.
    """

    def __init__(self, app: ASGIApp, policy: AccessPolicy) -> None:
        self._app, self._policy = app, policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refused = self._refuse(scope)
            answer = self._app if refused is None else refused
            await answer(scope, receive, self._add_headers(send))
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": "this service offers no web sockets"})

    def _refuse(self, scope: Scope) -> SiteResponse | None:
        """Return the response to a request that may not proceed."""
        try:
            head = _read_head(scope)
            found = self._policy.check(head)
        except HttpError as error:
            return PlainTextResponse(f"{error}\n", error.status)
        return None if found is None else _convert(found)

    def _add_headers(self, send: Send) -> Callable[[Message], Awaitable[None]]:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in (*_HEADERS, ("content-security-policy", CONTENT_SECURITY_POLICY)):
                    headers.setdefault(name, value)
                # Every visit of a page renews the cookie of a visitor who was let in.
                if message["status"] == HTTPStatus.OK and headers.get("content-type", "").startswith("text/html"):
                    headers.setdefault("set-cookie", self._policy.make_cookie())
            await send(message)

        return send_with_headers


def _read_head(scope: Scope) -> RequestHead:
    """Return the line and the headers of a request as they arrived.

    Raises:
        HttpError: the path is written in a way that servers read differently.
    """
    raw = scope["raw_path"].decode("ascii", "replace")
    segments = unquote(raw).split("/")
    if ".." in segments or "." in segments or "\\" in unquote(raw) or "\0" in unquote(raw):
        raise HttpError(HTTPStatus.BAD_REQUEST, "the path of the request is ambiguous")
    query = scope["query_string"].decode("ascii", "replace")
    return RequestHead(scope["method"], f"{raw}?{query}" if query else raw, scope["headers"])


def _convert(response: Response) -> SiteResponse:
    """Return a response of the policy as one of this server."""
    if not isinstance(response.body, bytes):
        raise TypeError("a response of the policy has a body of bytes")
    converted = SiteResponse(response.body, response.status)
    for name, value in response.headers:
        converted.headers[name] = value
    return converted
