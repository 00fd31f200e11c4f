"""What models cost, from a TOML file that the user owns: a table per model, US dollars for a million tokens.

    [models."gpt-5"]
    input = 1.25
    output = 10.0
    cached_input = 0.125

Nobody else's list is built in: prices change, contracts differ, and a wrong price is worse than none.
"""

import tomllib
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, ValidationError

from tenure.contracts.run.budget import Price
from tenure.settings import Settings


class PricesError(ValueError):
    """The file of prices cannot be used; the message names the file and the place in it."""


class _Priced(Price):
    """A price in whose table a misspelt key is noticed."""

    model_config = ConfigDict(extra="forbid")


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    models: dict[str, _Priced] = {}


def load_prices(settings: Settings) -> dict[str, Price]:
    """Return the prices that are known, by the name of the model; none where there is no file.

    Raises:
        PricesError: the file is missing although a setting names it, or cannot be read.
    """
    path = settings.prices_file
    if settings.prices is None and not path.exists():
        return {}
    try:
        file = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise PricesError(f"{path} cannot be read ({error.strerror}): check TENURE_PRICES") from None
    except ValidationError as error:
        raise PricesError(f"{path}: {_fault(error)}") from None
    except ValueError as error:  # not TOML, with the line; or not even text
        raise PricesError(f"{path} is not TOML: {error}") from None
    return {model: Price(**priced.model_dump()) for model, priced in file.models.items()}


def unpriced(settings: Settings, prices: Mapping[str, Price]) -> tuple[str, ...]:
    """Return the models that may answer and have no known price."""
    return tuple(model for model in settings.chat_models if model not in prices) if settings.uses_model else ()


def dearest(settings: Settings, prices: Mapping[str, Price]) -> Price | None:
    """Return the highest prices among the models that may answer; None where none of them has one."""
    known = [prices[model] for model in settings.chat_models if model in prices]
    if not known:
        return None
    return Price(input=max(price.input for price in known), output=max(price.output for price in known))


def _fault(error: ValidationError) -> str:
    """Name the first key that is wrong, and how."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = Price.model_fields if len(first["loc"]) > 1 else _File.model_fields
        return f"{key} is not known; there are {', '.join(known)}"
    return f"{key}: {first['msg'][:1].lower()}{first['msg'][1:]}"
