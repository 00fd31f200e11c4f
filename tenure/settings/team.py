"""Settings of the server of a team."""

from ipaddress import ip_network
from typing import Self

from pydantic import Field, SecretStr, field_validator, model_validator

from tenure.settings.group import CommaSeparated, IdentifierName
from tenure.settings.home import HomeSettings


class TeamSettings(HomeSettings):
    """Server of a team.

    `serve --team` offers page, API and MCP to the owners of `TENURE_OWNERS` behind a proxy with TLS. People sign in at
    a provider of OpenID Connect, or at the proxy.
    """

    team_url: str = Field(default="", pattern=r"^(https://[A-Za-z0-9.-]+(:\d{1,5})?|http://127\.0\.0\.1:\d{1,5})?$")
    """URL under which people reach the server, such as `https://tenure.example`; `http` for an attempt on loopback."""
    team_host: str = "127.0.0.1"
    """Address on which it listens for the proxy, on the port `TENURE_SITE_PORT`; a container needs 0.0.0.0."""
    team_people: dict[str, IdentifierName] = {}
    """Owner of each person who may sign in, such as `{"ann@example.org": "ann"}`."""
    team_issuer: str = Field(default="", pattern=r"^(https://.+|http://127\.0\.0\.1:\d{1,5}.*)?$")
    """URL of the provider of OpenID Connect; `TENURE_TEAM_URL` with `/sign-in/callback` is the address to register."""
    team_client_id: str = ""
    """Id of this server at the provider."""
    team_client_secret: SecretStr | None = None
    """Secret of this server at the provider."""
    team_claim: str = "email"
    """Claim that names a person in `TENURE_TEAM_PEOPLE`; an `email` counts only if the provider has verified it."""
    team_session_hours: float = Field(default=12.0, gt=0, le=720)
    """Hours after which a person signs in again."""
    team_header: str = Field(default="", pattern=r"^[A-Za-z0-9-]*$")
    """Header by which a proxy names the person that it has signed in, such as `X-Forwarded-Email`."""
    team_proxies: CommaSeparated = ()
    """Addresses of the proxies that may send this header, such as `10.0.0.5` or `10.0.0.0/24`."""
    team_max_runs: int = Field(default=5, ge=1, le=1_000)
    """Runs and answers of an owner at the same time."""
    team_max_cost_usd: float | None = Field(default=None, gt=0)
    """Cost of an owner's runs and answers that are under way on one day (UTC), after which no other begins."""

    @field_validator("team_proxies")
    @classmethod
    def _check_proxies(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        """Reject what is no address or network."""
        for proxy in proxies:
            ip_network(proxy)
        return proxies

    @model_validator(mode="after")
    def _check_team(self) -> Self:
        """Reject a server whose people cannot sign in."""
        if not self.team_url:
            return self
        if missing := sorted(set(self.team_people.values()) - self.owners.keys()):
            raise ValueError(f"TENURE_TEAM_PEOPLE names the owner {missing[0]!r}, who is not in TENURE_OWNERS")
        if bool(self.team_header) != bool(self.team_proxies):
            raise ValueError("TENURE_TEAM_HEADER and TENURE_TEAM_PROXIES belong together: set both or neither")
        if self.team_issuer and not (self.team_client_id and self.team_client_secret):
            raise ValueError("TENURE_TEAM_ISSUER needs TENURE_TEAM_CLIENT_ID and TENURE_TEAM_CLIENT_SECRET")
        if not (self.team_people and (self.team_issuer or self.team_header)):
            raise ValueError("TENURE_TEAM_URL needs TENURE_TEAM_PEOPLE, and TENURE_TEAM_ISSUER or TENURE_TEAM_HEADER")
        return self
