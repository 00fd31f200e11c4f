"""Model routes for tests, independent of the settings of the machine."""

from tenure.models.routes import ModelRoutes
from tenure.settings import Settings


def routes(model: str = "m", fast_model: str = "", **others: object) -> ModelRoutes:
    """Return routes to these models, with other routing settings."""
    unset: dict[str, object] = {"temperature": None, "reasoning_effort": None, "max_output": None, "roles": {}}
    chosen = {"model": model, "fast_model": fast_model, **unset, **others}
    return ModelRoutes(Settings.model_validate(chosen))
