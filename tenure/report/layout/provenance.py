"""List how a report was made: models, fallbacks, skipped files and notes. The trace shows the whole course."""

from collections import Counter
from collections.abc import Iterable, Iterator

from tenure.algorithms.text.counts import format_count
from tenure.algorithms.text.printable import flatten
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.result.result import Result
from tenure.contracts.run.budget import BudgetResource
from tenure.contracts.run.run import Usage
from tenure.report.layout.limits import BY_JUDGE, UNCONFIRMED, list_all_claims
from tenure.report.layout.marks import STATUS_WORDS
from tenure.report.layout.text import make_code, make_line
from tenure.report.layout.tree import Line, TextSpan
from tenure.report.translation import translate

MIN_SHARED_STEMS = 0.7
"""Minimum share of the words of a sentence that a remark contains if it repeats the sentence."""
MAX_SKIPPED_SHOWN = 20
"""Maximum number of skipped files that are named; the others are counted."""

_UNITS: dict[BudgetResource, str] = {
    "tokens": "tokens",
    "money": "USD",
    "calls": "model calls",
    "searches": "searches",
    "time": "s",
}


def list_provenance(result: Result) -> Iterator[Line]:
    """Yield models, fallbacks, skipped files, numbers and notes, one line each.

    The decisions and critiques of a cycle are left out, since what was missing then may be in the report now.
    """
    ended = TextSpan(result.status.replace("_", " "), "em")
    yield make_line(translate("Run "), make_code(result.id), translate(", ended as "), ended, ".")
    yield from _list_models(result.usage)
    yield from map(make_line, _list_fallbacks(result))
    yield make_line(_count_usage(result.usage))
    if result.limits:
        limits = (f"{limit:,g} {_UNITS[resource]}" for resource, limit in result.limits.items())
        yield make_line("Limits: " + ", ".join(limits))
    yield from map(make_line, _describe_evaluation(result))
    yield from _list_skipped(result)
    yield from _list_web(result)
    if result.mode == "CODE":
        # Those of a coding run give the reason for a missing program, or for its failing tests.
        yield from (make_line(f"Decision: {decision}") for decision in result.decisions)
    yield from map(make_line, result.notes)


def _list_models(usage: Usage) -> Iterator[Line]:
    """Yield the models with their roles, in one line."""
    roles: dict[str, list[str]] = {}
    for role, used in usage.by_role.items():
        for model in dict.fromkeys(used.models):
            roles.setdefault(model, []).append(role.replace("_", " "))
    lines = [
        make_line(
            translate("fallbacks without a model") if model == "offline" else make_code(model), f" ({', '.join(names)})"
        )
        for model, names in roles.items()
    ]
    if lines:
        yield make_line(translate("Models: "), lines[0], *(piece for line in lines[1:] for piece in ("; ", line)))


def _list_fallbacks(result: Result) -> Iterator[str]:
    calls_by = Counter[tuple[str, str]]()
    for call in result.fallbacks:
        calls_by[call.role, call.reason] += call.times
    for (role, reason), times in calls_by.items():
        calls = "one call" if times == 1 else f"{times} calls"
        yield f"The fallback answered instead of the model in {calls} of {role.replace('_', ' ')}: {reason}"


def _count_usage(usage: Usage) -> str:
    figures = [format_count(usage.calls, "role call"), format_count(usage.searches, "search", "searches")]
    if usage.pages:
        figures.append(format_count(usage.pages, "web page"))
    if usage.tokens_in or usage.tokens_out:
        figures.append(f"{usage.tokens_in} tokens in, {usage.tokens_out} out")
    if usage.model_calls:
        chain = f" ({usage.critical_path} one after the other)" if usage.critical_path else ""
        figures.append(format_count(usage.model_calls, "model call") + chain)
    if usage.cost_usd is not None:
        figures.append(f"{usage.cost_usd:.4f} USD")
    if saved := usage.saved.answers:
        cost = "" if usage.saved.cost_usd is None else f" and {usage.saved.cost_usd:.4f} USD"
        tokens = usage.saved.tokens_in + usage.saved.tokens_out
        figures.append(f"{format_count(saved, 'cached answer')} (saved {tokens} tokens{cost})")
    return translate("Used: ") + ", ".join([*figures, f"{usage.seconds:.1f} s"])


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


def _describe_evaluation(result: Result) -> Iterator[str]:
    if not (verdict := result.evaluation):
        return
    for remark in _mark_doubt(verdict.issues, result):
        yield f"{BY_JUDGE}: {remark}"


def _list_skipped(result: Result) -> Iterator[Line]:
    others = [file for file in result.skipped if not file.is_picture]
    for file in others[:MAX_SKIPPED_SHOWN]:
        yield make_line(translate("Not read: "), make_code(file.path), f" ({flatten(file.reason)})")
    if more := len(others[MAX_SKIPPED_SHOWN:]):
        yield make_line(f"Not read: {format_count(more, 'more file')}")
    if pictures := len(result.skipped) - len(others):
        needless = "which a report does not need unless text is in them"
        yield make_line(f"Not read: {format_count(pictures, 'picture')}, {needless}")


def _list_web(result: Result) -> Iterator[Line]:
    """Yield the search providers, and the pages that did not become sources with the reasons."""
    if result.web is None:
        return
    for engine in result.web.providers:
        answers = f"answered {engine.answered} of {engine.searches} searches" if engine.configured else "was not asked"
        note = f": {engine.note}" if engine.note else ""
        yield make_line("Search provider ", make_code(engine.provider), f" {answers}{note}")
    others = [page for page in result.web.pages if page.status != "read"]
    for page in others[:MAX_SKIPPED_SHOWN]:
        yield make_line("Not a source: ", make_code(page.url), f" ({flatten(page.note)})")
    if more := max(0, len(others) - MAX_SKIPPED_SHOWN) + result.web.omitted:
        yield make_line(f"Not listed: {format_count(more, 'more page')}")
