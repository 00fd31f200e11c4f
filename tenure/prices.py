"""Read the prices of models from a TOML file of the user: a table per model, in US dollars per million tokens.

    [models."gpt-5"]
    input = 1.25
    output = 10.0
    cached_input = 0.125

There is no built-in price list: prices change, contracts differ, and a wrong price is worse than none.
"""

import tomllib
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, ValidationError

from tenure.contracts.run.budget import Price
from tenure.settings.models import ChatModelSettings


class PricesError(ValueError):
    """The price file is invalid; the message names the file and the key."""


class _Priced(Price):
    """A price whose table may contain no unknown keys."""

    model_config = ConfigDict(extra="forbid")


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    models: dict[str, _Priced] = {}


def load_prices(settings: ChatModelSettings) -> dict[str, Price]:
    """Return the known prices by model name; empty if there is no file.

    Raises:
        PricesError: the configured file does not exist, or the file is invalid.
    """
    path = settings.prices_file
    if settings.prices is None and not path.exists():
        return {}
    try:
        file = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise PricesError(f"{path} cannot be read ({error.strerror}): check TENURE_PRICES") from None
    except ValidationError as error:
        raise PricesError(f"{path}: {_describe_error(error)}") from None
    except ValueError as error:  # invalid TOML, or not UTF-8
        raise PricesError(f"{path} is not TOML: {error}") from None
    return {model: Price(**priced.model_dump()) for model, priced in file.models.items()}


def find_unpriced_models(settings: ChatModelSettings, prices: Mapping[str, Price]) -> tuple[str, ...]:
    """Return the models that may answer and have no known price."""
    return tuple(model for model in settings.chat_models if model not in prices) if settings.has_model else ()


def find_highest_price(settings: ChatModelSettings, prices: Mapping[str, Price]) -> Price | None:
    """Return the highest known prices of the models that may answer, or None if no price is known."""
    candidates = [prices[model] for model in settings.chat_models if model in prices]
    if not candidates:
        return None
    return Price(input=max(price.input for price in candidates), output=max(price.output for price in candidates))


def _describe_error(error: ValidationError) -> str:
    """Describe the first invalid key."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        fields = Price.model_fields if len(first["loc"]) > 1 else _File.model_fields
        return f"{key} is not known; there are {', '.join(fields)}"
    return f"{key}: {first['msg'][:1].lower()}{first['msg'][1:]}"
