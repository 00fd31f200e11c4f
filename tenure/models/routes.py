"""Which model answers which role, and how: what is set for the role itself, else for all of its tier."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from tenure.roles.base import Tier
from tenure.settings import Effort, RoleSettings, Settings, variable

_TIERS: Mapping[Tier, str] = {"main": "model", "fast": "fast_model"}


@dataclass(frozen=True)
class Route:
    """How a role is answered."""

    model: str
    """The model."""
    temperature: float | None = None
    """Its temperature; None for the server's own."""
    reasoning_effort: Effort | None = None
    """How long it may think; None for the server's own."""
    max_output: int | None = None
    """Tokens an answer may have; None for the server's own limit."""
    own: frozenset[str] = frozenset()
    """Which of these are set for the role alone."""
    role: str = ""
    """The role."""
    tier: Tier = "main"
    """Its tier."""

    def setting(self, name: str = "model") -> str:
        """Return the variable to change where one of these does not suit the server."""
        if name in self.own:
            return f"{variable('roles')}__{self.role.upper()}__{name.upper()}"
        return variable(_TIERS[self.tier] if name == "model" else name)

    def output(self, allowed: int | None) -> int | None:
        """Return how many tokens an answer may have where a budget allows so many."""
        return min((limit for limit in (self.max_output, allowed) if limit is not None), default=None)


class Routes:
    """The routes of all roles."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Take the routes out of the settings."""
        return cls(settings)

    def models(self) -> tuple[str, ...]:
        """Return every model that may be asked."""
        return self._settings.chat_models

    def route(self, role: str, tier: Tier) -> Route:
        """Return how a role of a tier is answered."""
        common = self._settings
        own = self._own(role)
        everywhere = {
            "model": (common.fast_model if tier == "fast" else "") or common.model,
            "temperature": common.temperature,
            "reasoning_effort": common.reasoning_effort,
            "max_output": common.max_output,
        }
        return Route(**(everywhere | own), own=frozenset(own), role=role, tier=tier)

    def _own(self, role: str) -> dict[str, Any]:
        """Return what is set for a role alone."""
        chosen = next((chosen for name, chosen in self._settings.roles.items() if name == role), RoleSettings())
        return {name: value for name, value in chosen if value not in (None, "")}
