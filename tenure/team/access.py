"""Decide who sends a request to the server of a team: by a session, a token or the header of a proxy."""

from http import HTTPStatus
from ipaddress import ip_address, ip_network
from typing import Final
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tenure.settings.team import TeamSettings
from tenure.site.person import Person
from tenure.team.credentials import Credentials
from tenure.temporal.gate.access import AccessPolicy, check_form, get_header, get_target, make_page

PERSON_KEY: Final = "person"
"""Key of the scope of an admitted request with its `Person`."""

SIGN_IN: Final = "/sign-in"
CALLBACK: Final = "/sign-in/callback"
_PUBLIC: Final = (SIGN_IN, CALLBACK)


class TeamPolicy(AccessPolicy):
    """Rules of the server of a team: names of hosts and origins as for a home, and people in the place of its key."""

    def __init__(self, settings: TeamSettings, credentials: Credentials) -> None:
        super().__init__("", 0, url=settings.team_url)
        self._settings, self._credentials = settings, credentials
        self._proxies = [ip_network(proxy) for proxy in settings.team_proxies]
        # `__Host-`: only this host over TLS sets a cookie of such a name.
        self.is_encrypted = settings.team_url.startswith("https://")
        self.cookie_name = "__Host-tenure" if self.is_encrypted else "tenure_team"

    def check(self, request: Request) -> Response | None:
        """Return None for a request that may proceed, with its person in the scope, or else the response to it."""
        path: str = request.scope["path"]
        if request.method == "GET" and (path in _PUBLIC or path.startswith("/static/")):
            check_form(request)
            return self.check_host(request)
        return super().check(request)

    def enter(self, request: Request) -> Response | None:
        """Return None: a link admits no person here."""
        return None

    def is_from_program(self, request: Request) -> bool:
        """Return whether a request carries the token of a person."""
        scheme, _, secret = get_header(request, "authorization").partition(" ")
        is_token = scheme.lower() == "bearer"
        return is_token and self._admit(request, self._credentials.find("token", secret.strip()))

    def is_from_browser(self, request: Request) -> bool:
        """Return whether a request belongs to a session, or a proxy names its person."""
        if self._settings.team_header and (name := self._read_header(request)):
            return self._admit(request, name)
        secret = request.cookies.get(self.cookie_name, "")
        return self._admit(request, self._credentials.find("session", secret))

    def refuse(self, request: Request, reason: str = "Sign in first.") -> Response:
        """Return the way to the sign-in for a browser, and the missing token for a program."""
        if self._settings.team_issuer and request.method == "GET" and "text/html" in get_header(request, "accept"):
            return RedirectResponse(f"{SIGN_IN}?next={quote(get_target(request), safe='')}", HTTPStatus.SEE_OTHER)
        words = f"{reason} Programs send a token of {self.origin}/account as bearer token."
        refused = make_page(HTTPStatus.UNAUTHORIZED, words)
        refused.headers["www-authenticate"] = "Bearer"
        return refused

    def make_cookie(self) -> str:
        """Renew no cookie: a session ends after its hours."""
        return ""

    def find_person(self, name: str) -> Person | None:
        """Return the person of a name, or None if that person has no account here."""
        owner = self._settings.team_people.get(name)
        return Person(name, owner) if owner else None

    def _admit(self, request: Request, name: str | None) -> bool:
        person = self.find_person(name) if name else None
        if person is not None:
            request.scope[PERSON_KEY] = person
        return person is not None

    def _read_header(self, request: Request) -> str:
        """Return the name that the proxy gives.

        Raises:
            HTTPException: another program gives one.
        """
        name = get_header(request, self._settings.team_header)
        address = ip_address(request.client.host) if request.client else None
        if name and not (address and any(address in proxy for proxy in self._proxies)):
            raise HTTPException(HTTPStatus.FORBIDDEN, "only the proxy of this server may name a person")
        return name
