"""Accounts of what a run used; pure, so that they live in workflow state and survive every crash."""

from collections.abc import Iterable
from typing import Any, TypeVar

from tenure.contracts.run.role_calls import RoleReply
from tenure.contracts.run.run import RoleUsage, Usage

U = TypeVar("U", Usage, RoleUsage)


def counted(usage: Usage, role: str, reply: RoleReply[Any]) -> Usage:
    """Return the account with one finished call of a role added."""
    figures: dict[str, Any] = {
        "calls": 1,
        "model_calls": reply.model_calls,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "tokens_cached": reply.tokens_cached,
        "cost_usd": reply.cost_usd,
    }
    streamed = reply.first_token_seconds is not None
    of_role = RoleUsage(
        **figures, models=(reply.model,), streamed=int(streamed), first_token_seconds=reply.first_token_seconds
    )
    return merged([usage, Usage(**figures, by_role={role: of_role})])


def searched(usage: Usage, embedded_share: float = 1.0) -> Usage:
    """Return the account with one search added, over chunks of which this share had a vector."""
    least = min(usage.embedded_share, embedded_share)
    return usage.model_copy(update={"searches": usage.searches + 1, "embedded_share": least})


def browsed(usage: Usage, pages: int) -> Usage:
    """Return the account with pages added that were read."""
    return usage.model_copy(update={"pages": usage.pages + pages})


def merged(accounts: Iterable[Usage]) -> Usage:
    """Return the sum of accounts."""
    total = Usage()
    for account in accounts:
        by_role = dict(total.by_role)
        for role, used in account.by_role.items():
            by_role[role] = _of_role(by_role.get(role, RoleUsage()), used)
        total = Usage(
            **_summed(total, account),
            searches=total.searches + account.searches,
            pages=total.pages + account.pages,
            embedded_share=min(total.embedded_share, account.embedded_share),
            by_role=by_role,
        )
    return total


def _of_role(a: RoleUsage, b: RoleUsage) -> RoleUsage:
    streamed = a.streamed + b.streamed
    seconds = sum(one.streamed * (one.first_token_seconds or 0.0) for one in (a, b))
    return RoleUsage(
        **_summed(a, b),
        models=tuple(dict.fromkeys([*a.models, *b.models])),
        streamed=streamed,
        first_token_seconds=seconds / streamed if streamed else None,
    )


def _summed(a: U, b: U) -> dict[str, Any]:
    figures = ("calls", "model_calls", "tokens_in", "tokens_out", "tokens_cached")
    return {name: getattr(a, name) + getattr(b, name) for name in figures} | {"cost_usd": _cost(a, b)}


def _cost(a: U, b: U) -> float | None:
    """Add what two accounts cost; unknown where one of them paid for something without a known price."""
    if any(one.cost_usd is None and one.model_calls for one in (a, b)):
        return None
    known = [one.cost_usd for one in (a, b) if one.cost_usd is not None]
    return sum(known) if known else None
