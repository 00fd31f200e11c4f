"""Describe the cost of a run with a model: the estimate before it begins, and the total at its end."""

from tenure.algorithms.text.counts import format_count
from tenure.contracts.run.limits import EFFORT_COSTS, MAX_PICTURE_TOKENS, MAX_PICTURES
from tenure.contracts.run.run import RunLimits, Usage
from tenure.runs.start import describe_effort_cost
from tenure.settings.models import ChatModelSettings, TranscriptionSettings


def describe_estimate(limits: RunLimits) -> str:
    """Return the expected cost of a run, in one line; without an effort, that of each."""
    bounds = _describe_bounds(limits)
    if limits.effort:
        cost = EFFORT_COSTS[limits.effort]
        maximum = bounds or f"{cost.max_calls} calls and {cost.max_tokens:,} tokens"
        return (
            f"effort {limits.effort}: typically {describe_effort_cost(cost, limits.highest_price)}; at most {maximum}"
        )
    typical = "; ".join(
        f"{effort} {describe_effort_cost(cost, limits.highest_price)}" for effort, cost in EFFORT_COSTS.items()
    )
    return f"the question decides the effort, typically: {typical}" + (f"; at most {bounds}" if bounds else "")


def describe_pictures(settings: ChatModelSettings) -> str:
    """Return the maximum cost of reading pictures of the documents; empty if the model is shown none."""
    if not settings.model_images:
        return ""
    tokens = MAX_PICTURES * MAX_PICTURE_TOKENS
    return (
        f"pictures that the report needs: at most {MAX_PICTURES} calls and {tokens:,} tokens more, if the model sees "
        "pictures"
    )


def describe_transcription(settings: TranscriptionSettings) -> str:
    """Return the price of recordings among the documents, whose length is known only when they are transcribed."""
    if not settings.transcription_model or settings.transcription_price is None:
        return ""
    most = settings.transcription_max_minutes * settings.transcription_price
    return (
        f"new recordings among the documents: {settings.transcription_price:g} USD a minute, at most {most:.2f} USD "
        "for an ingestion (TENURE_TRANSCRIPTION_MAX_MINUTES)"
    )


def describe_cost(usage: Usage) -> str:
    """Return the total cost of a run, in one line."""
    tokens = f"{usage.tokens_in:,} + {usage.tokens_out:,} tokens"
    money = "" if usage.cost_usd is None else f", {usage.cost_usd:.4f} USD"
    chain = f"{usage.critical_path} of them one after the other"
    return f"it took {format_count(usage.model_calls, 'model call')}, {chain}, and {tokens}{money}"


def _describe_bounds(limits: RunLimits) -> str:
    """Return the limits that a person has set for the model; empty for none."""
    limits_in_words = (
        f"{limits.max_calls:,} calls" if limits.max_calls else "",
        f"{limits.max_tokens:,} tokens" if limits.max_tokens else "",
        f"{limits.max_cost_usd:g} USD" if limits.max_cost_usd else "",
    )
    return " and ".join(filter(None, limits_in_words))
