"""Choose the model and its parameters for each role: the role's own settings, else those of its tier."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tenure.contracts.messages import Tier
from tenure.settings import get_environment_variable
from tenure.settings.models import ChatModelSettings, ReasoningEffort, RoleSettings

_TIERS: Mapping[Tier, str] = {"main": "model", "fast": "fast_model"}


run_model: ContextVar[str] = ContextVar("run_model", default="")
"""Model of the run that the current call belongs to, in place of `model`; empty for that of the settings."""


@dataclass(frozen=True)
class ModelRoute:
    """Model and parameters for one role."""

    model: str
    temperature: float | None = None
    """Sampling temperature; None for the server's default."""
    reasoning_effort: ReasoningEffort | None = None
    """Reasoning effort; None for the server's default."""
    max_output: int | None = None
    """Limit of an answer in tokens; None for the server's default."""
    role_specific: frozenset[str] = frozenset()
    role: str = ""
    tier: Tier = "main"

    def resolve_setting(self, name: str = "model") -> str:
        """Return the name of the environment variable that sets a parameter of this route."""
        if name in self.role_specific:
            return f"{get_environment_variable('roles')}__{self.role.upper()}__{name.upper()}"
        return get_environment_variable(_TIERS[self.tier] if name == "model" else name)

    def limit_output(self, allowed: int | None, needed: int | None = None) -> int | None:
        """Return the limit of an answer in tokens; None for no limit.

        Args:
            allowed: limit of a budget.
            needed: tokens that the longest answer needs, a limit only if the settings have none.
        """
        chosen = needed if self.max_output is None else self.max_output
        return min((limit for limit in (chosen, allowed) if limit is not None), default=None)


class ModelRoutes:
    """Routes of all roles."""

    def __init__(self, settings: ChatModelSettings) -> None:
        self._settings = settings

    def route(self, role: str, tier: Tier) -> ModelRoute:
        """Return the route of a role: its own settings, then those of the tier and of all models."""
        common = self._settings
        overrides = {name: value for name, value in common.roles.get(role, RoleSettings()) if value not in (None, "")}
        everywhere: dict[str, Any] = {
            "model": (common.fast_model if tier == "fast" else "") or run_model.get() or common.model,
            "temperature": common.temperature,
            "reasoning_effort": common.reasoning_effort,
            "max_output": common.max_output,
        }
        return ModelRoute(**(everywhere | overrides), role_specific=frozenset(overrides), role=role, tier=tier)
