"""What a worker was started with: its environment, and a keyed hash of it.

The hash tells whether a running worker still has the settings of today. It is keyed with a random
secret of the home, so that `stack.json` does not give a guesser anything to check an API key against.
"""

import hashlib
import hmac
import json
import os
import secrets
from pathlib import Path

from pydantic import BaseModel, SecretStr

from tenure.contracts.run.run import Limits
from tenure.prices import load_prices
from tenure.settings import RoleSettings, Settings, variable

KEY_FILE = "stack.key"

_NOT_THE_WORKERS = {"home", "temporal_port", "ui_port"} | set(Limits.model_fields)
"""Settings whose change leaves a worker as it is: a run's limits travel with its request."""


def worker_environment(settings: Settings) -> dict[str, str | None]:
    """Return every setting by the name of its environment variable, None for one that is unset."""
    return {variable(name): _text(getattr(settings, name)) for name in Settings.model_fields}


def fingerprint(settings: Settings, address: str) -> str:
    """Return the keyed hash of what a worker for this server address would be started with.

    Raises:
        PricesError: the file of prices cannot be used.
    """
    known = {name: _text(getattr(settings, name)) for name in Settings.model_fields if name not in _NOT_THE_WORKERS}
    temporal = {name: value for name, value in os.environ.items() if name.startswith("TEMPORAL_")}
    prices = {model: price.model_dump() for model, price in load_prices(settings).items()}
    message = json.dumps([known, settings.knowledge_uri, prices, address, temporal], sort_keys=True).encode()
    return hmac.new(_key(settings.home), message, hashlib.sha256).hexdigest()


def _text(value: object) -> str | None:
    """Write a setting as an environment variable's value."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, Path):
        return str(value.absolute())
    if isinstance(value, BaseModel):
        return value.model_dump_json(exclude_unset=True)
    if isinstance(value, dict):
        return json.dumps(value, default=_inner)
    if isinstance(value, tuple):
        return ",".join(value)
    return None if value is None else str(value)


def _inner(value: SecretStr | RoleSettings) -> object:
    """Write what stands inside a setting that is a JSON object."""
    return value.get_secret_value() if isinstance(value, SecretStr) else value.model_dump()


def _key(home: Path) -> bytes:
    """Read the home's key, making one where there is none."""
    path = home / KEY_FILE
    if not path.exists():
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(32))
    return path.read_bytes()
