"""Sign people in with OpenID Connect (authorization code with PKCE, state and nonce), and show them their account."""

import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.starlette_client import OAuth
from joserfc.errors import JoseError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tenure.runs.session.audit import AuditLog
from tenure.settings.team import TeamSettings
from tenure.site.forms import read_form
from tenure.site.person import PERSON, Person
from tenure.site.rendering import redirect, render, render_error, send_static
from tenure.team.access import CALLBACK, SIGN_IN, TeamPolicy
from tenure.team.credentials import Credentials
from tenure.temporal.gate.access import make_page

SIGN_IN_SECONDS: Final = 600.0
"""Time for the sign-in at the provider."""

LEEWAY_SECONDS: Final = 60
"""Difference between the clocks of this server and the provider."""

TOKEN_SECONDS: Final = 90 * 24 * 3600.0
"""Lifetime of a token."""

MAX_TOKENS: Final = 20
"""Tokens of a person."""

ACCOUNT: Final = "/account"

_ALGORITHMS: Final = ("RS", "PS", "ES", "Ed")
"""Beginnings of the names of signatures by a private key, such as `RS256`; `none` and `HS256` prove no provider."""

_REFUSALS = (AuthlibBaseError, JoseError, httpx2.HTTPError, RuntimeError, ValueError)
"""Errors of a provider that does not answer, a refused code, and a token that is not for this sign-in."""


class SignIn:
    """Sign-in, sign-out and accounts of the people of a server."""

    def __init__(self, settings: TeamSettings, policy: TeamPolicy, credentials: Credentials, audit: AuditLog) -> None:
        self._settings, self._policy, self._credentials, self._audit = settings, policy, credentials, audit
        secret = settings.team_client_secret
        # Its requests go to the provider only, and it keeps the state of a sign-in in the session that it is given.
        self._provider: Any = OAuth().register(
            "provider",
            client_id=settings.team_client_id,
            client_secret=secret.get_secret_value() if secret else None,
            server_metadata_url=f"{settings.team_issuer.rstrip('/')}/.well-known/openid-configuration",
            client_kwargs={"scope": "openid email profile", "code_challenge_method": "S256", "timeout": 20},
        )

    def build_routes(self) -> list[Route]:
        """Return the routes; those of the sign-in need no person."""
        routes: list[tuple[str, Callable[[Request], Awaitable[Response]], str]] = [
            (ACCOUNT, self._show_account, "GET"),
            ("/account/tokens", self._create_token, "POST"),
            ("/account/tokens/end", self._end_token, "POST"),
            ("/sign-out", self._sign_out, "POST"),
        ]
        if self._settings.team_issuer:
            routes += [(SIGN_IN, self._begin, "GET"), (CALLBACK, self._complete, "GET")]
        own = [Route(path, handler, methods=[method]) for path, handler, method in routes]
        return [*own, Route("/static/{name}", send_static)]  # for the pages before the sign-in

    async def _begin(self, request: Request) -> Response:
        request.scope["session"] = state = {}
        try:
            response: Response = await self._provider.authorize_redirect(request, self._settings.team_url + CALLBACK)
        except _REFUSALS as error:
            return self._refuse(f"the provider of sign-ins does not answer ({type(error).__name__}): try again later")
        target = request.query_params.get("next", "")
        is_local = target.startswith("/") and not target.startswith(("//", "/\\", SIGN_IN))
        state["next"] = target if is_local else "/"
        secret = self._credentials.create("sign-in", json.dumps(state), SIGN_IN_SECONDS)
        # Not strict: the provider leads back here.
        self._set_cookie(response, f"{self._policy.cookie_name}-sign-in", secret, SIGN_IN_SECONDS, "lax")
        return response

    async def _complete(self, request: Request) -> Response:
        """Open a session for the person that the provider names; each state, and so each code, has one attempt."""
        cookie = f"{self._policy.cookie_name}-sign-in"
        state = self._credentials.end("sign-in", request.cookies.get(cookie, ""))
        if state is None:
            return self._refuse("this sign-in has expired or was completed before: sign in again")
        request.scope["session"] = session = json.loads(state)
        try:
            claims = await self._read_claims(request)
        except _REFUSALS as error:
            # The message may contain what a page put into the address.
            return self._refuse(f"the sign-in is not valid ({type(error).__name__}): sign in again")
        name = str(claims.get(self._settings.team_claim) or "")
        is_verified = self._settings.team_claim != "email" or claims.get("email_verified") is True
        person = self._policy.find_person(name) if is_verified else None
        if person is None:
            reason = "has no account here: ask an administrator" if is_verified else "is not verified by the provider"
            return self._refuse(f"{name[:200] or 'this person'} {reason}", HTTPStatus.FORBIDDEN)
        self._audit("sign in", person=person.name, owner=person.owner, outcome="done")
        lifetime = self._settings.team_session_hours * 3600
        # The page leads on: a strict cookie is not sent with a visit that another site began.
        page = make_page(HTTPStatus.OK, "You are signed in.", refresh=session["next"])
        self._set_cookie(
            page, self._policy.cookie_name, self._credentials.create("session", name, lifetime), lifetime, "strict"
        )
        page.delete_cookie(cookie, secure=self._policy.is_encrypted, httponly=True)
        return page

    async def _read_claims(self, request: Request) -> dict[str, Any]:
        """Exchange the code of a request, and return the checked claims of the person.

        Raises:
            AuthlibBaseError, JoseError: the code or the token is not valid.
            httpx2.HTTPError: the provider does not answer.
        """
        metadata = await self._provider.load_server_metadata()
        issuer = metadata.get("issuer", "")
        if issuer.rstrip("/") != self._settings.team_issuer.rstrip("/"):
            raise ValueError(f"the provider calls itself {issuer!r}")
        offered = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
        metadata["id_token_signing_alg_values_supported"] = [
            name for name in offered if name.startswith(_ALGORITHMS)
        ] or ["RS256"]
        expected = {
            "iss": {"essential": True, "value": issuer},
            "aud": {"essential": True, "value": self._settings.team_client_id},
        }
        token = await self._provider.authorize_access_token(request, claims_options=expected, leeway=LEEWAY_SECONDS)
        if "userinfo" not in token:
            raise ValueError("the provider sends no token that names the person")
        claims: dict[str, Any] = token["userinfo"]
        return claims

    async def _sign_out(self, request: Request) -> Response:
        self._credentials.end("session", request.cookies.get(self._policy.cookie_name, ""))
        self._audit("sign out", outcome="done")
        mark = PERSON.set(None)
        page = render("error.html.jinja", words="You are signed out.", phrase="Signed out", signs_in=True)
        PERSON.reset(mark)
        page.delete_cookie(self._policy.cookie_name, secure=self._policy.is_encrypted, httponly=True)
        return page

    async def _show_account(self, request: Request, secret: str = "") -> Response:
        person = _require_person()
        return render(
            "account.html.jinja",
            person=person,
            tokens=self._credentials.list_tokens(person.name),
            secret=secret,
            url=self._settings.team_url,
            signs_out=bool(self._settings.team_issuer),
        )

    async def _create_token(self, request: Request) -> Response:
        person, form = _require_person(), await read_form(request)
        if "authorization" in request.headers:
            return render_error("a token makes no other tokens: sign in with a browser", HTTPStatus.FORBIDDEN)
        if len(self._credentials.list_tokens(person.name)) >= MAX_TOKENS:
            return render_error(f"there are {MAX_TOKENS} tokens: end one of them first", HTTPStatus.CONFLICT)
        secret = self._credentials.create("token", person.name, TOKEN_SECONDS, form.get("label", "")[:80])
        self._audit("create token", outcome="done")
        return await self._show_account(request, secret)

    async def _end_token(self, request: Request) -> Response:
        self._credentials.end_token(_require_person().name, (await read_form(request)).get("id", ""))
        self._audit("end token", outcome="done")
        return redirect(ACCOUNT)

    def _refuse(self, words: str, status: HTTPStatus = HTTPStatus.UNAUTHORIZED) -> Response:
        self._audit("sign in", outcome=f"refused: {words}")
        return render("error.html.jinja", status, words=f"{words}.", phrase="No sign-in", signs_in=True)

    def _set_cookie(self, response: Response, name: str, value: str, seconds: float, same_site: Any) -> None:
        response.set_cookie(
            name, value, int(seconds), httponly=True, samesite=same_site, secure=self._policy.is_encrypted
        )


def _require_person() -> Person:
    person = PERSON.get()
    assert person is not None, "only the public paths have none"
    return person
