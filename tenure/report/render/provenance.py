"""Render how a report was made: models, fallbacks, skipped files and notes. The trace shows the whole course."""

from collections import Counter
from collections.abc import Iterable, Iterator

from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Usage
from tenure.report.render.escaping import escape, format_code_span
from tenure.report.render.limits import BY_JUDGE, UNCONFIRMED, list_all_claims
from tenure.report.render.marks import STATUS_WORDS

MIN_SHARED_STEMS = 0.7
"""Minimum share of the words of a sentence that a remark contains if it repeats the sentence."""
MAX_SKIPPED_SHOWN = 20
"""Maximum number of skipped files that are named; the others are counted."""


def render_provenance(result: Result) -> str:
    """Return models, fallbacks, skipped files, numbers and notes, one line each.

    The decisions and critiques of a cycle are left out, since what was missing then may be in the report now.
    """
    lines = [
        f"Run {format_code_span(result.id)}, ended as *{result.status.replace('_', ' ')}*.",
        *_models(result.usage),
        *_degraded(result),
        _numbers(result.usage),
        *_coverage(result),
        *_evaluation(result),
        *_skipped(result),
        *_web(result),
        # Those of a coding run give the reason for a missing program, or for its failing tests.
        *(f"Decision: {escape(decision)}" for decision in result.decisions if result.mode == "CODE"),
        *(escape(note) for note in result.notes),
    ]
    return "\n".join(f"- {line}" for line in lines)


def _models(usage: Usage) -> Iterator[str]:
    """Return the models with their roles, in one line."""
    roles: dict[str, list[str]] = {}
    for role, used in usage.by_role.items():
        name = escape(role.replace("_", " "))
        for model in dict.fromkeys(used.models):
            roles.setdefault(model, []).append(name)
    if roles:
        yield "Models: " + "; ".join(f"{_model_name(model)} ({', '.join(names)})" for model, names in roles.items())


def _model_name(model: str) -> str:
    return "fallbacks without a model" if model == "offline" else format_code_span(model)


def _degraded(result: Result) -> Iterator[str]:
    calls_by = Counter[tuple[str, str]]()
    for call in result.fallbacks:
        calls_by[call.role, call.reason] += call.times
    for (role, reason), times in calls_by.items():
        calls = "one call" if times == 1 else f"{times} calls"
        name = escape(role.replace("_", " "))
        yield f"The fallback answered instead of the model in {calls} of {name}: {escape(reason)}"


def _numbers(usage: Usage) -> str:
    figures = [_count(usage.calls, "role call"), _count(usage.searches, "search", "searches")]
    if usage.pages:
        figures.append(_count(usage.pages, "web page"))
    if usage.tokens_in or usage.tokens_out:
        figures.append(f"{usage.tokens_in} tokens in, {usage.tokens_out} out")
    if usage.model_calls:
        chain = f" ({usage.critical_path} one after the other)" if usage.critical_path else ""
        figures.append(_count(usage.model_calls, "model call") + chain)
    if usage.cost_usd is not None:
        figures.append(f"{usage.cost_usd:.4f} USD")
    if saved := usage.saved.answers:
        cost = "" if usage.saved.cost_usd is None else f" and {usage.saved.cost_usd:.4f} USD"
        tokens = usage.saved.tokens_in + usage.saved.tokens_out
        figures.append(f"{_count(saved, 'cached answer')} (saved {tokens} tokens{cost})")
    return "Used: " + ", ".join([*figures, f"{usage.seconds:.1f} s"])


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def _coverage(result: Result) -> Iterator[str]:
    if result.coverage:
        shares = ", ".join(f"{escape(topic)} {share:.0%}" for topic, share in result.coverage.items())
        yield f"Coverage, by the number and relevance of the passages found on a topic: {shares}"


def _mark_doubt(remarks: Iterable[str], result: Result) -> Iterator[str]:
    """Yield remarks of the evaluation, marked if they repeat a sentence that its sources do not support."""
    doubtful = [
        (set(stem_words(claim.statement)), f" [{STATUS_WORDS[claim.status]}]")
        for claim in list_all_claims(result)
        if claim.status in UNCONFIRMED
    ]
    for text in remarks:
        stems = set(stem_words(text))
        marks = (mark for own, mark in doubtful if own and len(own & stems) >= MIN_SHARED_STEMS * len(own))
        yield text + next(marks, "")


def _evaluation(result: Result) -> Iterator[str]:
    if not (verdict := result.evaluation):
        return
    if verdict.parts:
        parts = "; ".join(f"“{escape(one.part)}”: {one.answered}" for one in verdict.parts)
        yield f"{BY_JUDGE}, these parts of the question are answered: {parts}"
    for remark in _mark_doubt(verdict.issues, result):
        yield f"{BY_JUDGE}: {escape(remark)}"


def _skipped(result: Result) -> Iterable[str]:
    others = [file for file in result.skipped if not file.is_picture]
    named = [f"Not read: {format_code_span(file.path)} ({escape(file.reason)})" for file in others[:MAX_SKIPPED_SHOWN]]
    if more := len(others) - len(named):
        named.append(f"Not read: {_count(more, 'more file')}")
    if pictures := len(result.skipped) - len(others):
        named.append(f"Not read: {_count(pictures, 'picture')}, which a report does not need unless text is in them")
    return named


def _web(result: Result) -> Iterator[str]:
    """Return the search providers, and the pages that did not become sources with the reasons."""
    if result.web is None:
        return
    for engine in result.web.providers:
        said = f"answered {engine.answered} of {engine.searches} searches" if engine.configured else "was not asked"
        yield f"Search provider {format_code_span(engine.provider)} {said}" + (
            f": {escape(engine.note)}" if engine.note else ""
        )
    others = [page for page in result.web.pages if page.status != "read"]
    yield from (
        f"Not a source: {format_code_span(page.url)} ({escape(page.note)})" for page in others[:MAX_SKIPPED_SHOWN]
    )
    if more := max(0, len(others) - MAX_SKIPPED_SHOWN) + result.web.omitted:
        yield f"Not listed: {_count(more, 'more page')}"
