"""Compute a keyed hash of a worker's environment.

The hash shows whether a running worker still has the current settings. It is keyed with a random secret of the home,
so that `stack.json` cannot be used to check guesses of an API key.
"""

import hashlib
import hmac
import json
import os
from pathlib import Path

from pydantic import ValidationError

from tenure.contracts.run.run import RunLimits
from tenure.prices import load_prices
from tenure.private_files import read_or_create_secret
from tenure.settings import CHOSEN_SETTINGS, Settings, get_environment_variable, read_settings
from tenure.settings.description import serialize_setting
from tenure.settings.home import HomeSettings
from tenure.settings.team import TeamSettings

KEY_FILE = "stack.key"

_CLIENT_SETTINGS = {"owner", "owner_token", *(TeamSettings.model_fields.keys() - HomeSettings.model_fields.keys())}
"""Settings of commands and of the server of a team, which a worker must not know."""

_PLACE_SETTINGS = {"home", "temporal_port", "ui_port"}
"""Settings that name the home and its server."""

_STACK_SETTINGS = {*_PLACE_SETTINGS, "health_port", "local_model_port", "local_model_context"}

_IGNORED_SETTINGS = {*_STACK_SETTINGS, *_CLIENT_SETTINGS, *RunLimits.model_fields}
"""Settings that do not affect a worker: it has the URL of the local model, and each request the limits of its run."""


def build_worker_environment(settings: Settings, *, changed_only: bool = False) -> dict[str, str | None]:
    """Return all settings by the names of their environment variables, None for unset ones.

    With `changed_only`, settings with their default value are unset: a worker of other code has defaults of its own.
    """
    left_out = _CLIENT_SETTINGS | {
        name
        for name in Settings.model_fields
        if changed_only and name not in _PLACE_SETTINGS and _is_default(settings, name)
    }
    return {
        get_environment_variable(name): None if name in left_out else serialize_setting(getattr(settings, name))
        for name in Settings.model_fields
    }


def build_full_environment(settings: Settings) -> dict[str, str | None]:
    """Return all settings by the names of their environment variables, for a process that acts as this one."""
    return {
        get_environment_variable(name): serialize_setting(getattr(settings, name)) for name in Settings.model_fields
    }


def build_site_environment(settings: Settings) -> dict[str, str | None]:
    """Return the settings of the page by the names of their environment variables, None for unset ones.

    The page reads the file of the home, chooses a model of this machine and has defaults itself, so that it can change
    them: it gets what else the environment or a caller has set.
    """
    stored = Settings(home=settings.home)
    try:
        given = read_settings({}, settings.home)
    except ValidationError:  # the environment needs the file, as a provider that is one of its MCP servers
        given = stored
    from_file = {name for name in Settings.model_fields if getattr(given, name) != getattr(stored, name)}
    from_file |= stored.model_fields_set - given.model_fields_set
    environment: dict[str, str | None] = {}
    for name in Settings.model_fields:
        configured = settings.configured or settings
        source = given if name in from_file else configured if name in CHOSEN_SETTINGS else settings
        is_set = name in source.model_fields_set or name in _PLACE_SETTINGS
        environment[get_environment_variable(name)] = serialize_setting(getattr(source, name)) if is_set else None
    return environment


def compute_site_state(settings: Settings, address: str, source: str) -> str:
    """Return the keyed hash of the settings and the code of a page for this server address."""
    message = json.dumps([build_site_environment(settings), address, _list_outer_variables(), source], sort_keys=True)
    return _sign(settings.home, message)


def compute_fingerprint(settings: Settings, address: str) -> str:
    """Return the keyed hash of the environment of a worker for this server address.

    Only settings with another value than their default count: code that adds a setting leaves the hash as it is, so
    that the workers of earlier versions are not replaced.

    Raises:
        PricesError: the price file cannot be used.
    """
    variables = {
        name: serialize_setting(getattr(settings, name))
        for name in Settings.model_fields
        if name not in _IGNORED_SETTINGS and not _is_default(settings, name)
    }
    prices = {model: price.model_dump() for model, price in load_prices(settings).items()}
    outer = _list_outer_variables()
    return _sign(settings.home, json.dumps([variables, settings.knowledge_uri, prices, address, outer], sort_keys=True))


def _list_outer_variables() -> dict[str, str]:
    """Return the variables of Temporal and OpenTelemetry, which a process inherits."""
    return {name: value for name, value in os.environ.items() if name.startswith(("TEMPORAL_", "OTEL_"))}


def _sign(home: Path, message: str) -> str:
    """Return the hash of a text, keyed with the secret of the home."""
    return hmac.new(read_or_create_secret(home / KEY_FILE), message.encode(), hashlib.sha256).hexdigest()


def _is_default(settings: Settings, name: str) -> bool:
    """Return whether a setting has its default value."""
    default = Settings.model_fields[name].get_default(call_default_factory=True, validated_data={})
    return serialize_setting(getattr(settings, name)) == serialize_setting(default)
