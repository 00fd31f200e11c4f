"""Tests of what the command line says about the cost of a run."""

from tenure.cli.costs import describe_cost, describe_estimate, describe_pictures, describe_transcription
from tenure.contracts.run.budget import Price
from tenure.contracts.run.limits import EFFORT_COSTS
from tenure.contracts.run.run import RunLimits, Usage
from tenure.settings.models import ChatModelSettings, TranscriptionSettings


def test_the_estimate_of_an_effort_has_both_bounds() -> None:
    """The typical and the largest cost of an effort are part of the line, and money only if prices are known."""
    cost = EFFORT_COSTS["moderate"]
    line = describe_estimate(RunLimits(effort="moderate"))

    assert line.startswith(f"effort moderate: typically {cost.calls} calls and ")
    assert line.endswith(f"; at most {cost.max_calls} calls and {cost.max_tokens:,} tokens")
    assert "USD" not in line


def test_prices_give_the_money() -> None:
    """The price of a run is that of its typical tokens."""
    price = Price(input=1_000_000 / EFFORT_COSTS["simple"].tokens_in, output=0)

    assert "tokens, 1.00 USD;" in describe_estimate(RunLimits(effort="simple", highest_price=price))


def test_limits_of_people_replace_those_of_the_effort() -> None:
    """The largest cost is that of the limits that a person has set."""
    line = describe_estimate(RunLimits(effort="simple", max_calls=5, max_tokens=9000, max_cost_usd=0.5))

    assert line.endswith("; at most 5 calls and 9,000 tokens and 0.5 USD")


def test_without_an_effort_each_is_named() -> None:
    """The router decides, so the cost of every effort is part of the line."""
    line = describe_estimate(RunLimits())

    assert all(f"{effort} {cost.describe()}" in line for effort, cost in EFFORT_COSTS.items())
    assert "at most" not in line
    assert describe_estimate(RunLimits(max_calls=7)).endswith("; at most 7 calls")


def test_the_total_names_the_chain_of_calls() -> None:
    """Calls, the longest chain, tokens, and money if it is known."""
    usage = Usage(model_calls=21, critical_path=9, tokens_in=60_000, tokens_out=4_000)

    assert describe_cost(usage) == "it took 21 model calls, 9 of them one after the other, and 60,000 + 4,000 tokens"
    assert describe_cost(usage.model_copy(update={"cost_usd": 0.25})).endswith(" tokens, 0.2500 USD")


def test_the_cost_of_pictures_is_told_unless_they_are_off() -> None:
    """The line has the most that a run shows; with the setting off the model is shown none."""
    assert describe_pictures(ChatModelSettings()) == (
        "pictures that the report needs: at most 6 calls and 30,000 tokens more, if the model sees pictures"
    )
    assert describe_pictures(ChatModelSettings(model_images=False)) == ""


def test_the_price_of_recordings_is_told_if_it_is_known() -> None:
    """The line has the price of a minute and the most that one ingestion may cost."""
    settings = TranscriptionSettings(transcription_model="w", transcription_price=0.006, transcription_max_minutes=100)

    assert describe_transcription(settings) == (
        "new recordings among the documents: 0.006 USD a minute, at most 0.60 USD for an ingestion "
        "(TENURE_TRANSCRIPTION_MAX_MINUTES)"
    )
    assert describe_transcription(settings.model_copy(update={"transcription_price": None})) == ""
    assert describe_transcription(settings.model_copy(update={"transcription_model": ""})) == ""
