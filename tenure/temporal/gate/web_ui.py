"""Show the Temporal web UI, and decrypted payloads, to those who may use them: a reverse proxy.

Every request gets a connection of its own to the web UI, so that no response reaches another request. The client is the
transport of httpx, which adds no header and changes no address.
"""

from http import HTTPStatus
from pathlib import Path

import httpcore
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tenure.installation import PROGRAM
from tenure.temporal.gate.access import METHODS, SECURITY_HEADERS, AccessGate, AccessPolicy
from tenure.temporal.gate.peers import Address
from tenure.temporal.gate.sockets import CODEC_PATH, CODEC_SOCKET, get_socket_address

MAX_CODEC_BYTES = 64 * 1024 * 1024
"""Maximum size of a request to the codec server: enough for one page of a history."""

_MAX_UI_BYTES = 8 * 1024 * 1024
_RESPONSE_SECONDS = 120.0

_CONNECTION_HEADERS = {
    *(b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    b"expect",
}
_HIDDEN_REQUEST_HEADERS = {
    *(b"host", b"authorization", b"proxy-authorization", b"cookie", b"origin", b"referer", b"content-length"),
    *(b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip"),
}
_HIDDEN_RESPONSE_HEADERS = {name.encode() for name, _ in SECURITY_HEADERS}


def build_web_ui(policy: AccessPolicy, server: Address, home: Path) -> AccessGate:
    """Return the application that shows the web UI, and payloads that the worker of the home decrypts."""
    codec = Proxy("codec", policy, f"no worker with encryption keys runs: run `{PROGRAM} up`", home)
    web_ui = Proxy(f"{server[0]}:{server[1]}", policy, f"the Temporal server does not answer: run `{PROGRAM} status`")
    routes = [
        Route(f"{CODEC_PATH}/{{path:path}}", codec, methods=METHODS, max_body_size=MAX_CODEC_BYTES),
        Route("/{path:path}", web_ui, methods=METHODS, max_body_size=_MAX_UI_BYTES),
    ]
    return AccessGate(Starlette(routes=routes), policy)


class Proxy:
    """Application that passes requests on to another server, which does not see the cookie of the policy.

    `absence` is said of a server that accepts no connection; the codec server listens on a Unix socket of a home.
    """

    def __init__(self, host: str, policy: AccessPolicy, absence: str, home: Path | None = None) -> None:
        self._host, self._policy, self._absence, self._home = host, policy, absence, home
        uds = None if home is None else get_socket_address(home, CODEC_SOCKET)
        self._pool = httpcore.AsyncConnectionPool(max_connections=None, max_keepalive_connections=0, uds=uds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with the response of the server, whose body is read while it is sent on.

        Raises:
            HTTPException: the server sends no valid response in time.
        """
        request = Request(scope, receive)
        raw, query = scope["raw_path"], scope["query_string"]
        target = (raw if self._home is None else raw.removeprefix(CODEC_PATH.encode())) + b"?" * bool(query) + query
        body = await request.body()
        forwarded = httpcore.Request(
            request.method,
            f"http://{self._host}",
            headers=self._select_headers(request, len(body)),
            content=body,
            extensions={"target": target, "timeout": dict.fromkeys(("connect", "read", "write"), _RESPONSE_SECONDS)},
        )
        try:
            answer = await self._pool.handle_async_request(forwarded)
        except httpcore.ConnectError:
            status = HTTPStatus.BAD_GATEWAY if self._home is None else HTTPStatus.SERVICE_UNAVAILABLE
            raise HTTPException(status, self._absence) from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException):
            raise HTTPException(HTTPStatus.BAD_GATEWAY, "the Temporal server sends no answer") from None
        try:
            response = StreamingResponse(answer.aiter_stream(), answer.status)
            response.raw_headers = [
                (name.lower(), value)
                for name, value in answer.headers
                if name.lower() not in _CONNECTION_HEADERS | _HIDDEN_RESPONSE_HEADERS
                and not name.lower().startswith(b"access-control-")
            ]
            await response(scope, receive, send)
        finally:
            await answer.aclose()

    def _select_headers(self, request: Request, length: int) -> list[tuple[bytes, bytes]]:
        """Return the headers that the server gets."""
        listed = ",".join(request.headers.getlist("connection")).lower().split(",")
        hidden = _CONNECTION_HEADERS | _HIDDEN_REQUEST_HEADERS | {name.strip().encode("latin-1") for name in listed}
        headers = [(name, value) for name, value in request.headers.raw if name not in hidden]
        if cookies := self._policy.remove_cookie("; ".join(request.headers.getlist("cookie"))):
            headers.append((b"cookie", cookies.encode("latin-1")))
        if length or request.method not in ("GET", "HEAD"):
            headers.append((b"content-length", b"%d" % length))
        return [(b"host", self._host.encode()), (b"connection", b"close"), *headers]
