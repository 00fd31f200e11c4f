"""Accounts of what a run used; pure, so that they live in workflow state and survive every crash."""

from collections.abc import Iterable

from tenure.contracts.run import RoleUsage, Usage


def counted(usage: Usage, role: str, model: str, tokens_in: int, tokens_out: int) -> Usage:
    """Return the account with one finished call of a role added."""
    before = usage.by_role.get(role, RoleUsage())
    after = RoleUsage(
        calls=before.calls + 1,
        tokens_in=before.tokens_in + tokens_in,
        tokens_out=before.tokens_out + tokens_out,
        models=tuple(dict.fromkeys([*before.models, model])),
    )
    return usage.model_copy(
        update={
            "calls": usage.calls + 1,
            "tokens_in": usage.tokens_in + tokens_in,
            "tokens_out": usage.tokens_out + tokens_out,
            "by_role": {**usage.by_role, role: after},
        }
    )


def searched(usage: Usage) -> Usage:
    """Return the account with one search added."""
    return usage.model_copy(update={"searches": usage.searches + 1})


def merged(accounts: Iterable[Usage]) -> Usage:
    """Return the sum of accounts."""
    total = Usage()
    for account in accounts:
        by_role = dict(total.by_role)
        for role, used in account.by_role.items():
            before = by_role.get(role, RoleUsage())
            by_role[role] = RoleUsage(
                calls=before.calls + used.calls,
                tokens_in=before.tokens_in + used.tokens_in,
                tokens_out=before.tokens_out + used.tokens_out,
                models=tuple(dict.fromkeys([*before.models, *used.models])),
            )
        total = Usage(
            calls=total.calls + account.calls,
            tokens_in=total.tokens_in + account.tokens_in,
            tokens_out=total.tokens_out + account.tokens_out,
            searches=total.searches + account.searches,
            pages=total.pages + account.pages,
            by_role=by_role,
        )
    return total
