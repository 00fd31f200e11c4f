"""Choose the model of a process: that of the settings, or with `TENURE_MODEL=auto` one of a server on this machine.

Every process that reads settings calls `choose_model` first. It returns settings that name the server and the model as
if a person had set them, so that a worker gets the choice of the command that starts it, and is replaced when another
model is chosen.
"""

from tenure.contracts.run.role_calls import MAX_MODEL_TIMEOUT_SECONDS
from tenure.settings import AUTO_MODEL, Settings


class NoModelServer(Exception):
    """`TENURE_MODEL=auto` finds no server; the message says what to do."""


def choose_model(settings: Settings) -> Settings:
    """Return settings that name the model in use; `auto` remains if no server is found."""
    if settings.model != AUTO_MODEL:
        return settings
    # Imported when needed: every command calls this function.
    from tenure.local_models.servers import find_servers

    if not (servers := find_servers()):
        return settings
    # A model of this machine may need minutes for an answer.
    slow = {} if "model_timeout" in settings.model_fields_set else {"model_timeout": MAX_MODEL_TIMEOUT_SECONDS}
    chosen = {"openai_base_url": servers[0].base_url, "model": servers[0].chat_models[0]}
    return settings.model_copy(update=chosen | slow)


def check_model_choice(settings: Settings) -> None:
    """Check that a model was chosen, before anything is started.

    Raises:
        NoModelServer: `choose_model` has found no server.
    """
    if settings.model == AUTO_MODEL:
        from tenure.local_models.servers import PORTS

        ports = ", ".join(f"{kind}: port {port}" for kind, port in PORTS.items())
        raise NoModelServer(
            f"TENURE_MODEL=auto finds no model server with a chat model on this machine ({ports}): start one, or unset "
            "TENURE_MODEL"
        )
