"""Choose the best of several attempts at a task in a repository, by their proof."""

from collections.abc import Sequence
from typing import Final

from tenure.algorithms.coding.engineer_news import summarize_proof
from tenure.contracts.coding.repositories import RepositoryAttempt
from tenure.contracts.research.report import ReportDraft

VERDICT_ORDER: Final = ("proved", "unproved", "failed", "regressed", "nothing")
"""Verdicts, the best first. A change that breaks a test is worse than one that does not resolve the issue."""

CHOICE_RULE: Final = (
    "A proved change is better than an unproved one, and that is better than one that fails tests; among equal "
    "verdicts, the change that breaks fewer tests is chosen, then the smaller one, then the earlier attempt."
)

MAX_PATCH_CHARACTERS: Final = 100_000
"""Length of the patch of an attempt that is kept: eight of them are within the size of a result."""


def choose_attempt(drafts: Sequence[ReportDraft]) -> ReportDraft:
    """Return the result of the best attempt, with what the others have made; `drafts` are in order of the attempts.

    Fallbacks of all attempts are named, since all of them were paid.
    """
    best = min(range(len(drafts)), key=lambda n: _rank(drafts[n]))
    attempts = tuple(_describe(n, draft, is_chosen=n - 1 == best) for n, draft in enumerate(drafts, 1))
    chosen = drafts[best]
    change = chosen.repository and chosen.repository.model_copy(update={"attempts": attempts})
    fallbacks = tuple(dict.fromkeys(fallback for draft in drafts for fallback in draft.fallbacks))
    reason = f"Attempt {best + 1} of {len(drafts)} was chosen. {CHOICE_RULE}"
    decisions = (reason, *chosen.decisions)
    return chosen.model_copy(update={"repository": change, "fallbacks": fallbacks, "decisions": decisions})


def _rank(draft: ReportDraft) -> tuple[int, int, int]:
    """Return the position of a result among others: the lowest is the best."""
    change = draft.repository
    if change is None:
        return len(VERDICT_ORDER), 0, 0
    broken = len(change.proof.broken) if change.proof else 0
    return VERDICT_ORDER.index(change.verdict), broken, sum(file.added + file.removed for file in change.files)


def _describe(n: int, draft: ReportDraft, *, is_chosen: bool) -> RepositoryAttempt:
    change, end = draft.repository, " ".join(draft.decisions)
    if change is None:
        return RepositoryAttempt(n=n, is_chosen=is_chosen, end=end)
    return RepositoryAttempt.model_validate(
        {
            "n": n,
            "is_chosen": is_chosen,
            "verdict": change.verdict,
            "proof": summarize_proof(change.proof) if change.proof else "",
            "change": change.change,
            "patch": change.patch if len(change.patch) <= MAX_PATCH_CHARACTERS else "",
            "files": tuple(file.path for file in change.files),
            "added": sum(file.added for file in change.files),
            "removed": sum(file.removed for file in change.files),
            "end": end,
        }
    )
