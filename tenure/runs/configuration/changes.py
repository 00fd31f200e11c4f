"""Change the settings that a home stores, and restart its worker with them."""

import json
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock
from pydantic import ValidationError
from pydantic_settings import SettingsError

from tenure.contracts.run.budget import Price
from tenure.files.replacing import replace_file
from tenure.local_models.choice import choose_model
from tenure.local_models.errors import LocalModelError
from tenure.prices import PricesError
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.session.server_target import start_missing
from tenure.settings import (
    STORED_FILE,
    ClientSettings,
    Settings,
    describe_settings_error,
    load_stored_variables,
    read_settings,
)
from tenure.settings.models import ChatModelSettings
from tenure.temporal.connection import ServerUnreachable
from tenure.temporal.stack import local
from tenure.temporal.stack.errors import StackError


def load_settings(place: ClientSettings | None = None) -> Settings:
    """Return the present settings with the model in use, those of an open home with its place.

    Raises:
        LocalModelError: the record of the home's own model cannot be read.
    """
    kept = {} if place is None else {name: getattr(place, name) for name in ("home", "temporal_port", "ui_port")}
    return choose_model(Settings(**kept))


def is_configurable(settings: ClientSettings) -> bool:
    """Return whether a client may change the settings of its home; those of several owners belong to the operator."""
    return not (settings.owner or settings.owners)


def check_configurable(settings: ClientSettings) -> None:
    """Check that a client may change the settings of its home.

    Raises:
        TenureError: it may not.
    """
    if not is_configurable(settings):
        raise TenureError("this home has several owners: its operator changes the settings in the environment")


def save_variables(home: Path, changes: Mapping[str, str]) -> None:
    """Store variables in the file of the home, which only its owner may read; an empty value removes one.

    Raises:
        InvalidRequest: a value does not fit.
        TenureError: the file cannot be read or written.
    """
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(home / f"{STORED_FILE}.lock", mode=0o600):
            merged = {**load_stored_variables(home), **changes}
            stored = {name: value for name, value in sorted(merged.items()) if value}
            read_settings(stored, home)
            replace_file(home / STORED_FILE, json.dumps(stored, indent=1).encode() + b"\n", private=True)
    except (ValidationError, SettingsError) as error:
        raise InvalidRequest(describe_settings_error(error)) from None
    except OSError as error:
        raise TenureError(f"{home / STORED_FILE} cannot be written ({error.strerror})") from error


def save_prices(settings: ChatModelSettings, prices: Mapping[str, Price]) -> None:
    """Write the price file.

    Raises:
        TenureError: it cannot be written.
    """
    tables = (
        f"[models.{json.dumps(model)}]\n"
        + "".join(f"{name} = {value}\n" for name, value in price.model_dump(exclude_none=True).items())
        for model, price in prices.items()
    )
    try:
        replace_file(settings.prices_file, "\n".join(tables).encode())
    except OSError as error:
        raise TenureError(f"{settings.prices_file} cannot be written ({error.strerror})") from error


def restart_worker(settings: Settings) -> str:
    """Restart the worker of the home if its settings have changed, and return a sentence about it.

    Running calls end first, and interrupted steps are repeated by the new worker.
    """
    try:
        if local.get_status(settings).worker_pid is None:
            return "No worker of this home runs: the next one that is started has these settings."
        start_missing(settings)
    except (TenureError, StackError, ServerUnreachable, PricesError, LocalModelError) as error:
        return f"The worker was not restarted: {error}"
    return "The worker has these settings."
