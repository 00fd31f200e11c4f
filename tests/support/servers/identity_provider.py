"""Provider of OpenID Connect on loopback: signs in the person that the query names, with faults on request."""

import base64
import hashlib
import html
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlencode

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tenure.temporal.gate.http_server import serve_app

CLIENT_ID, CLIENT_SECRET = "tenure", "a secret of this server at the provider"


@dataclass
class IdentityProvider:
    """State of the provider.

    Attributes:
        claims: claims that take the place of those of a correct token.
        algorithm: algorithm of the signature.
        requests: requests for tokens.
        is_down: whether it answers with an error.
    """

    issuer: str
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "1"}))
    signs_with: RSAKey | OctKey | None = None
    algorithm: str = "RS256"
    claims: dict[str, Any] = field(default_factory=dict)
    grants: dict[str, dict[str, str]] = field(default_factory=dict)
    requests: int = 0
    is_down: bool = False

    def describe(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        }

    def authorize(self, query: dict[str, str], name: str) -> str:
        """Return the address that leads back, with a code for a person."""
        code = token_urlsafe()
        self.grants[code] = query | {"name": name}
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def sign(self, grant: dict[str, str]) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": grant["name"],
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "nonce": grant["nonce"],
            "email": grant["name"],
            "email_verified": True,
        } | self.claims
        present = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": self.algorithm, "kid": "1"}
        return jwt.encode(header, present, self.signs_with or self.key, algorithms=[self.algorithm])


def build_app(provider: IdentityProvider) -> Starlette:
    async def describe(request: Request) -> Response:
        return JSONResponse(provider.describe(), 503 if provider.is_down else 200)

    async def authorize(request: Request) -> Response:
        query = dict(request.query_params)
        if name := query.pop("name", ""):
            return RedirectResponse(provider.authorize(query, name))
        fields = "".join(f'<input type=hidden name="{key}" value="{html.escape(query[key])}">' for key in query)
        words = '<label>Address <input name="name"></label><button>Continue</button>'
        return HTMLResponse(f"<!doctype html><title>Provider</title><form>{fields}{words}</form>")

    async def grant(request: Request) -> Response:
        provider.requests += 1
        form = await request.form()
        found = provider.grants.pop(str(form["code"]), None)
        verifier = hashlib.sha256(str(form.get("code_verifier", "")).encode()).digest()
        sent = request.headers.get("authorization", "")
        is_client = sent == "Basic " + base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if not is_client:
            return JSONResponse({"error": "invalid_client"}, 401)
        if not found or base64.urlsafe_b64encode(verifier).decode().rstrip("=") != found["code_challenge"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse({"access_token": token_urlsafe(), "token_type": "Bearer", "id_token": provider.sign(found)})

    async def keys(request: Request) -> Response:
        return JSONResponse({"keys": [provider.key.as_dict(private=False)]})

    return Starlette(
        routes=[
            Route("/.well-known/openid-configuration", describe),
            Route("/authorize", authorize),
            Route("/token", grant, methods=["POST"]),
            Route("/keys", keys),
        ]
    )


@asynccontextmanager
async def run_identity_provider() -> AsyncIterator[IdentityProvider]:
    """Yield a provider that answers on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        provider = IdentityProvider(f"http://127.0.0.1:{listener.getsockname()[1]}")
        async with serve_app(build_app(provider), listener):
            yield provider
