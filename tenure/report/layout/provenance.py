"""List how a report was made: models, fallbacks, skipped files and notes. The trace shows the whole course."""

from collections import Counter
from collections.abc import Iterable, Iterator

from tenure.algorithms.text.counts import format_count
from tenure.algorithms.text.printable import flatten
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.result.result import Result, ResultStatus
from tenure.contracts.run.budget import BudgetResource
from tenure.contracts.run.run import Usage
from tenure.report.layout.limits import UNCONFIRMED, list_all_claims
from tenure.report.layout.marks import STATUS_WORDS
from tenure.report.layout.text import make_code, make_line
from tenure.report.layout.tree import Line, TextSpan
from tenure.report.translation import format_number, join_list, mark_message, translate, translate_count, translate_note

MIN_SHARED_STEMS = 0.7
"""Minimum share of the words of a sentence that a remark contains if it repeats the sentence."""
MAX_SKIPPED_SHOWN = 20
"""Maximum number of skipped files that are named; the others are counted."""

_UNITS: dict[BudgetResource, str] = {
    "tokens": mark_message("tokens"),
    "money": mark_message("USD"),
    "calls": mark_message("model calls"),
    "searches": mark_message("searches"),
    "time": mark_message("s"),
}
_STATUSES: dict[ResultStatus, str] = {
    "done": mark_message("done"),
    "finished_early": mark_message("finished early"),
    "cancelled": mark_message("cancelled"),
    "no_evidence": mark_message("no evidence"),
    "failing_tests": mark_message("failing tests"),
    "unsupported": mark_message("unsupported"),
    "failed": mark_message("failed"),
}


def list_provenance(result: Result) -> Iterator[Line]:
    """Yield models, fallbacks, skipped files, numbers and notes, one line each.

    The decisions and critiques of a cycle are left out, since what was missing then may be in the report now.
    """
    ended = TextSpan(translate(_STATUSES[result.status]), "em")
    yield make_line(translate("Run "), make_code(result.id), translate(", ended as "), ended, translate("."))
    yield from _list_models(result.usage)
    yield from map(make_line, _list_fallbacks(result))
    yield make_line(_count_usage(result.usage))
    if result.limits:
        limits = (f"{format_number(limit)} {translate(_UNITS[resource])}" for resource, limit in result.limits.items())
        yield make_line(translate("Limits: ") + join_list(limits))
    yield from map(make_line, _describe_evaluation(result))
    yield from _list_skipped(result)
    yield from _list_web(result)
    if result.mode == "CODE":
        # Those of a coding run give the reason for a missing program, or for its failing tests.
        yield from (make_line(translate("Decision: ") + translate_note(decision)) for decision in result.decisions)
    yield from map(make_line, map(translate_note, result.notes))


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
        name = role.replace("_", " ")
        yield translate_count(
            f"The fallback answered instead of the model in {calls} of {name}: {reason}",
            "The fallback answered instead of the model: {role} ({times}): {reason}",
            role=name,
            times=times,
            reason=translate_note(reason),
        )


def _count_usage(usage: Usage) -> str:
    figures = [
        translate_count(format_count(usage.calls, "role call"), "role calls: {number}", number=usage.calls),
        translate_count(
            format_count(usage.searches, "search", "searches"), "searches: {number}", number=usage.searches
        ),
    ]
    if usage.pages:
        figures.append(
            translate_count(format_count(usage.pages, "web page"), "web pages: {number}", number=usage.pages)
        )
    if usage.tokens_in or usage.tokens_out:
        figures.append(translate("{read} tokens in, {written} out", read=usage.tokens_in, written=usage.tokens_out))
    if usage.model_calls:
        calls = format_count(usage.model_calls, "model call")
        chain = translate(" ({number} one after the other)", number=usage.critical_path) if usage.critical_path else ""
        figures.append(translate_count(calls, "model calls: {number}", number=usage.model_calls) + chain)
    if usage.cost_usd is not None:
        figures.append(f"{format_number(usage.cost_usd, 4)} {translate('USD')}")
    if saved := usage.saved.answers:
        cost = "" if usage.saved.cost_usd is None else f", {format_number(usage.saved.cost_usd, 4)} {translate('USD')}"
        tokens = usage.saved.tokens_in + usage.saved.tokens_out
        answers = translate_count(format_count(saved, "cached answer"), "cached answers: {number}", number=saved)
        figures.append(answers + translate(" (saved {tokens} tokens{cost})", tokens=tokens, cost=cost))
    return translate("Used: ") + join_list([*figures, f"{format_number(usage.seconds, 1)} {translate('s')}"])


def _mark_doubt(remarks: Iterable[str], result: Result) -> Iterator[str]:
    """Yield remarks of the evaluation, marked if they repeat a sentence that its sources do not support."""
    doubtful = [
        (set(stem_words(claim.statement)), f" [{translate(STATUS_WORDS[claim.status])}]")
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
        yield translate("By the verdict of the model: {remark}", remark=remark)


def _list_skipped(result: Result) -> Iterator[Line]:
    others = [file for file in result.skipped if not file.is_picture]
    for file in others[:MAX_SKIPPED_SHOWN]:
        yield make_line(translate("Not read: "), make_code(file.path), f" ({flatten(file.reason)})")
    if more := len(others[MAX_SKIPPED_SHOWN:]):
        yield make_line(
            translate_count(
                f"Not read: {format_count(more, 'more file')}", "Further files not read: {number}", number=more
            )
        )
    if pictures := len(result.skipped) - len(others):
        needless = "which a report does not need unless text is in them"
        yield make_line(
            translate_count(
                f"Not read: {format_count(pictures, 'picture')}, {needless}",
                "Pictures not read, which a report does not need unless text is in them: {number}",
                number=pictures,
            )
        )


def _list_web(result: Result) -> Iterator[Line]:
    """Yield the search providers, and the pages that did not become sources with the reasons."""
    if result.web is None:
        return
    for engine in result.web.providers:
        answers = (
            translate("answered {answered} of {searches} searches", answered=engine.answered, searches=engine.searches)
            if engine.configured
            else translate("was not asked")
        )
        note = f": {engine.note}" if engine.note else ""
        yield make_line(translate("Search provider "), make_code(engine.provider), f" {answers}{note}")
    others = [page for page in result.web.pages if page.status != "read"]
    for page in others[:MAX_SKIPPED_SHOWN]:
        yield make_line(translate("Not a source: "), make_code(page.url), f" ({flatten(page.note)})")
    if more := max(0, len(others) - MAX_SKIPPED_SHOWN) + result.web.omitted:
        yield make_line(
            translate_count(
                f"Not listed: {format_count(more, 'more page')}", "Further pages not listed: {number}", number=more
            )
        )
