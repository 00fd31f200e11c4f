"""How a report was made: the quiet last part, for the reader who wants to know what to trust."""

from collections import Counter
from collections.abc import Iterable, Iterator

from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Usage
from tenure.report.render.escaping import code, escape, flatten

MOST_SKIPPED = 20
"""Skipped files that are named one by one; the others are counted."""


def provenance(result: Result) -> str:
    """List models, stand-ins, skipped files, critiques, decisions, numbers and notes, a line each."""
    lines = [
        f"Run {code(result.id)}, ended as *{result.status.replace('_', ' ')}*.",
        *_models(result.usage),
        *_degraded(result),
        _numbers(result.usage),
        *_coverage(result),
        *_evaluation(result),
        *_skipped(result),
        *_web(result),
        *(_critique(record.topic, record.critique, record.outcome) for record in result.critiques),
        *(f"Decision: {escape(decision)}" for decision in result.decisions),
        *(escape(note) for note in result.notes),
    ]
    return "\n".join(f"- {line}" for line in lines)


def _models(usage: Usage) -> Iterator[str]:
    """Say in one line which model answered for which roles."""
    roles: dict[str, list[str]] = {}
    for role, used in usage.by_role.items():
        for model in used.models:
            roles.setdefault(model, []).append(role.replace("_", " "))
    if roles:
        yield "Who answered: " + "; ".join(
            f"{_model_name(model)} ({', '.join(escape(role) for role in names)})" for model, names in roles.items()
        )


def _model_name(model: str) -> str:
    return "the offline twins, no model" if model == "offline" else code(model)


def _degraded(result: Result) -> Iterator[str]:
    calls_by = Counter[tuple[str, str]]()
    for call in result.degraded:
        calls_by[call.role, call.reason] += call.times
    for (role, reason), times in calls_by.items():
        calls = "one call" if times == 1 else f"{times} calls"
        yield f"A twin stood in for the model in {calls} of {escape(role.replace('_', ' '))}: {escape(reason)}"


def _numbers(usage: Usage) -> str:
    figures = [_count(usage.calls, "role call"), _count(usage.searches, "search", "searches")]
    if usage.pages:
        figures.append(_count(usage.pages, "web page"))
    if usage.tokens_in or usage.tokens_out:
        figures.append(f"{usage.tokens_in} tokens in, {usage.tokens_out} out")
    if usage.model_calls:
        figures.append(_count(usage.model_calls, "answer") + " of the model")
    if usage.cost_usd is not None:
        figures.append(f"{usage.cost_usd:.4f} USD")
    return "Used: " + ", ".join([*figures, f"{usage.seconds:.1f} s"])


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def _coverage(result: Result) -> Iterator[str]:
    if result.coverage:
        yield "Coverage: " + ", ".join(f"{escape(topic)} {share:.0%}" for topic, share in result.coverage.items())


def _evaluation(result: Result) -> Iterator[str]:
    if scores := result.evaluation:
        named = ("consistency", "completeness", "factuality", "overall")
        yield "Self-evaluation: " + ", ".join(f"{name} {getattr(scores, name):.0%}" for name in named)
        yield from (f"Self-evaluation: {escape(issue)}" for issue in scores.issues)
        yield from (f"What would mend it: {escape(suggestion)}" for suggestion in scores.suggestions)


def _skipped(result: Result) -> Iterable[str]:
    named = [f"Not read: {code(file.path)} ({escape(file.reason)})" for file in result.skipped[:MOST_SKIPPED]]
    more = len(result.skipped) - len(named)
    return [*named, f"Not read: {_count(more, 'more file')}"] if more else named


def _web(result: Result) -> Iterator[str]:
    """Say who was asked about the web, and which of the pages they offered are no sources, and why."""
    if result.web is None:
        return
    for engine in result.web.engines:
        said = f"answered {engine.answered} of {engine.asked} searches" if engine.set_up else "was not asked"
        yield f"Search engine {code(engine.engine)} {said}" + (f": {escape(engine.note)}" if engine.note else "")
    others = [page for page in result.web.pages if page.status != "read"]
    yield from (f"Not a source: {code(page.address)} ({escape(page.note)})" for page in others[:MOST_SKIPPED])
    if more := max(0, len(others) - MOST_SKIPPED) + result.web.more:
        yield f"Not listed: {_count(more, 'more page')}"


def _critique(topic: str | None, critique: str, outcome: str) -> str:
    about = f" of {escape(topic)}" if topic else ""
    return f"Critique{about}: {escape(critique)} → {escape(flatten(outcome))}"
