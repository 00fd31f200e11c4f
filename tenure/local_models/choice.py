"""Choose the model of a process: that of the settings, the home's own, or with `TENURE_MODEL=auto` one of this machine.

Every process that reads settings calls `choose_model` first. It returns settings that name the server and the model as
if a person had set them, so that a worker gets the choice of the command that starts it, and is replaced when another
model is chosen.
"""

from typing import Any, TypeVar

from pydantic import SecretStr

from tenure.contracts.run.role_calls import MAX_MODEL_TIMEOUT_SECONDS
from tenure.local_models.errors import LocalModelError
from tenure.local_models.model_file import LocalModel, load_local_model, load_model_key
from tenure.settings import ClientSettings
from tenure.settings.models import AUTO_MODEL, ChatModelSettings

_Settings = TypeVar("_Settings", bound=ClientSettings)


def choose_model(settings: _Settings) -> _Settings:
    """Return settings that name the model in use; `auto` remains if no server is found.

    Raises:
        LocalModelError: the record of the home's own model cannot be read.
    """
    if settings.has_model:
        return settings
    if model := load_local_model(settings.home):
        chosen = {
            "openai_base_url": get_local_url(settings.local_model_port),
            "openai_api_key": SecretStr(load_model_key(settings.home)),
            "model": model.name,
        }
        # The server of the stack has one slot.
        return _use(settings, chosen, model_concurrency=1)
    if settings.model != AUTO_MODEL:
        return settings
    # Imported when needed: every command calls this function.
    from tenure.local_models.servers import find_servers

    if not (servers := find_servers()):
        return settings
    return _use(settings, {"openai_base_url": servers[0].base_url, "model": servers[0].chat_models[0]})


def _use(settings: _Settings, chosen: dict[str, Any], **defaults: int) -> _Settings:
    """Return settings with a model of this machine, which may need minutes for an answer."""
    defaults |= {"model_timeout": MAX_MODEL_TIMEOUT_SECONDS}
    unset = {name: value for name, value in defaults.items() if name not in settings.model_fields_set}
    return settings.choose(chosen | unset)


def get_local_url(port: int) -> str:
    """Return the URL of the model that the home's stack serves."""
    return f"http://127.0.0.1:{port}/v1"


def find_served_model(settings: ClientSettings) -> LocalModel | None:
    """Return the model that the home's stack has to serve for settings that were chosen; None if it serves none."""
    own = settings.openai_base_url == get_local_url(settings.local_model_port)
    return load_local_model(settings.home) if own else None


def check_model_choice(settings: ChatModelSettings) -> None:
    """Check that a model was chosen, before anything is started."""
    if settings.model == AUTO_MODEL:
        from tenure.local_models.servers import PORTS

        ports = ", ".join(f"{kind}: port {port}" for kind, port in PORTS.items())
        raise LocalModelError(
            f"TENURE_MODEL=auto finds no model server with a chat model on this machine ({ports}): start one, or unset "
            "TENURE_MODEL"
        )
