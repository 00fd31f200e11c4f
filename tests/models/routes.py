"""Routes for tests, without a setting of this machine."""

from tenure.models.routes import Routes
from tenure.settings import Settings


def routes(model: str = "m", fast_model: str = "", **others: object) -> Routes:
    """Return routes to these models, with other settings that concern routes."""
    unset: dict[str, object] = {"temperature": None, "reasoning_effort": None, "max_output": None, "roles": {}}
    chosen = {"model": model, "fast_model": fast_model, **unset, **others}
    return Routes.from_settings(Settings.model_validate(chosen))
