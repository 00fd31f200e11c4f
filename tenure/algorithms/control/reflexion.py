"""Limit the revisions of a draft and detect repeated critiques (Shinn et al. 2023, "Reflexion").

Sections, reports and programs share this loop of draft, critique and revision; `transitions` defines its order.
"""

from collections.abc import Iterable

from tenure.algorithms.text.sentences import normalize_sentence


def compute_max_revisions(limit: int, revisions: int, *, has_new_feedback: bool, is_finishing: bool) -> int:
    """Return the maximum number of drafts; feedback that the latest revision does not consider allows another one."""
    return 0 if is_finishing else max(limit, revisions + 1 if has_new_feedback else 0)


def is_repeated_critique(critique: str, previous: Iterable[str]) -> bool:
    """Return whether a critique repeats an earlier one, so that another revision has no effect."""
    normalized = normalize_sentence(critique)
    return any(normalized == normalize_sentence(earlier) for earlier in previous)
