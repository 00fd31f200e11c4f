"""Tests of the price file."""

from pathlib import Path

import pytest

from tenure.contracts.run.budget import Price
from tenure.prices import PricesError, load_prices
from tenure.settings import Settings

GOOD = '[models."gpt-5"]\ninput = 1.25\noutput = 10.0\ncached_input = 0.125\n\n[models.local]\ninput = 0\noutput = 0\n'


def settings(home: Path, prices: Path | None = None) -> Settings:
    """Return the settings of a home, with or without a price file."""
    return Settings(home=home, prices=prices)


def test_without_a_file_no_price_is_known(tmp_path: Path) -> None:
    """The file is optional."""
    assert load_prices(settings(tmp_path)) == {}


def test_the_file_of_the_home_is_read(tmp_path: Path) -> None:
    """Each model has its prices, and a price of cached tokens if one is given."""
    (tmp_path / "prices.toml").write_text(GOOD)

    assert load_prices(settings(tmp_path)) == {
        "gpt-5": Price(input=1.25, output=10.0, cached_input=0.125),
        "local": Price(input=0, output=0),
    }


def test_a_setting_overrides_the_file_of_the_home(tmp_path: Path) -> None:
    """The configured file is read instead of the file of the home."""
    (tmp_path / "prices.toml").write_text(GOOD)
    other = tmp_path / "other.toml"
    other.write_text("[models.m]\ninput = 1\noutput = 2\n")

    assert load_prices(settings(tmp_path, other)) == {"m": Price(input=1, output=2)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models.m\n", "line 1"),
        ('[models.m]\ninput = 1\noutput = "dear"\n', "models.m.output: input should be a valid number"),
        ("[models.m]\ninput = 1\n", "models.m.output: field required"),
        ("[models.m]\ninput = -1\noutput = 1\n", "models.m.input: input should be greater than or equal to 0"),
        (
            "[models.m]\ninput = 1\noutput = 1\nouput = 1\n",
            "models.m.ouput is not known; there are input, output, cached_input",
        ),
        ("[prices.m]\ninput = 1\noutput = 1\n", "prices is not known; there are models"),
        ("\udcff", "is not TOML"),
    ],
)
def test_errors_name_the_file_and_the_place(tmp_path: Path, text: str, said: str) -> None:
    """The error line names the file, and the line or the key in it."""
    path = tmp_path / "prices.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))

    with pytest.raises(PricesError) as refused:
        load_prices(settings(tmp_path))

    assert str(path) in str(refused.value)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_configured_file_must_exist(tmp_path: Path) -> None:
    """A missing configured file is an error, not a run without prices."""
    with pytest.raises(PricesError, match="TENURE_PRICES"):
        load_prices(settings(tmp_path, tmp_path / "none.toml"))
