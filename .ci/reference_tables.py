"""Tables of the manual from registries and constants: efforts, strategies, roles, activities, operations, metrics."""

import re
from datetime import timedelta
from typing import get_args

from temporalio.workflow import ActivityConfig

from tenure.algorithms.research.effort import EFFORT_WITH_MODEL, EFFORT_WITHOUT_MODEL
from tenure.contracts.choices import Complexity
from tenure.contracts.run.limits import EFFORT_COSTS
from tenure.metrics import ALL_METRICS
from tenure.roles.registry import load_roles
from tenure.site.api import OPERATIONS
from workflows.research.strategy_registry import STRATEGIES
from workflows.runtime.activity_options import ACTIVITY_OPTIONS, MODEL_CALL


def render_efforts() -> str:
    """Return the table of efforts with a model and without one as Markdown."""
    rows = []
    for effort in get_args(Complexity):
        cost, cycles = EFFORT_COSTS[effort], (EFFORT_WITH_MODEL[effort].cycles, EFFORT_WITHOUT_MODEL[effort].cycles)
        limit = f"{cost.max_calls} calls, {cost.max_tokens:,} tokens"
        tokens = round(cost.tokens_in + cost.tokens_out, -3)
        rows.append(f"| `{effort}` | {cost.calls} | {tokens:,} | {limit} | {cycles[0]} | {cycles[1]} |")
    head = "| effort | typical calls | typical tokens | ends at | cycles | cycles without a model |"
    return "\n".join([head, "|---|---:|---:|---|---:|---:|", *rows])


def render_strategies() -> str:
    """Return the table of retrieval strategies as Markdown."""
    rows = [f"| `{name}` | {strategy.description} |" for name, strategy in STRATEGIES.items()]
    return "\n".join(["| strategy | search |", "|---|---|", *rows])


def render_tiers() -> str:
    """Return the table of model tiers with their roles as Markdown."""
    roles = {tier: [name for name, role in load_roles().items() if role.tier == tier] for tier in ("main", "fast")}
    settings = {"main": "TENURE_MODEL", "fast": "TENURE_FAST_MODEL"}
    rows = [f"| {tier}, `{settings[tier]}` | {', '.join(f'`{name}`' for name in roles[tier])} |" for tier in roles]
    return "\n".join(["| tier | roles |", "|---|---|", *rows])


def render_operations() -> str:
    """Return the table of operations of the HTTP API as Markdown."""
    rows = [f"| `{one.method} {re.sub(':[a-z]+', '', one.path)}` | {one.summary} |" for one in OPERATIONS]
    return "\n".join(["| request | effect |", "|---|---|", *rows])


def render_metrics() -> str:
    """Return the table of metrics as Markdown."""
    rows = [
        f"| `{metric.exported_name}` | {', '.join(f'`{label}`' for label in metric.labels)} | {metric.description} |"
        for metric in ALL_METRICS
    ]
    return "\n".join(["| metric | labels | meaning |", "|---|---|---|", *rows])


def render_roles() -> str:
    """Return the table of roles with their decisions without a model as Markdown."""
    rows = []
    for name, role in load_roles().items():
        rule = (role.fallback.__doc__ or "Skipped.").partition("\n")[0]
        rows.append(f"| `{name}` | {role.tier} | {rule} |")
    return "\n".join(["| role | tier | without a model |", "|---|---|---|", *rows])


def render_activities() -> str:
    """Return the table of activities with their queues, timeouts and retries as Markdown."""
    names: dict[tuple[str, str, str, str], list[str]] = {}
    for name, options in {"(each role)": MODEL_CALL, **ACTIVITY_OPTIONS}.items():
        names.setdefault(describe_options(options), []).append(name)
    rows = [
        f"| {', '.join(f'`{name}`' for name in group)} | `{queue}` | {attempt} | {attempts} | {total} |"
        for (queue, attempt, attempts, total), group in names.items()
    ]
    head = "| activities | queue | one attempt | attempts | in total |"
    return "\n".join([head, "|---|---|---|---:|---|", *rows])


def describe_options(options: ActivityConfig) -> tuple[str, str, str, str]:
    """Return the queue of an activity, the time of one attempt, the number of attempts and the time in total."""
    attempt, policy = options["start_to_close_timeout"], options["retry_policy"]
    if attempt is None or policy is None:
        raise ValueError("an activity has a timeout and a retry policy")
    total, start = options.get("schedule_to_close_timeout"), options.get("schedule_to_start_timeout")
    waiting = f"{describe_duration(start)} for a worker" if start else ""
    return (
        str(options["task_queue"]),
        describe_duration(attempt),
        f"{policy.maximum_attempts}",
        describe_duration(total) if total else waiting,
    )


def describe_duration(duration: timedelta) -> str:
    """Return a duration in the largest unit that has a whole number of it, in days only for several."""
    seconds = round(duration.total_seconds())
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size and seconds % size == 0 and (unit != "days" or seconds > size):
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
