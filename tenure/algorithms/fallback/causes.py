"""Build causal chains without a model, from sentences with causal connectives ("because", "leads to", "so that").

Two sentences are chained if the effect of one and the cause of the other share most of their content words.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tenure.algorithms.fallback.inferences import find_inferences
from tenure.algorithms.reasoning.arguments import (
    EMPTY_ARGUMENT,
    Argument,
    ArgumentStep,
    StandaloneSentence,
    choose_min_similarity,
    compute_confidence,
    compute_similarities,
    extract_standalone_sentences,
    extract_subject,
    find_shared_phrase,
)
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.sentences import stem_words

MAX_CHAIN_LENGTH: Final = 4
"""Maximum number of links of a chain."""
MAX_SENTENCES: Final = 40
"""Maximum number of sentences considered for a chain, the nearest to the question first."""
MIN_LINK_SIMILARITY: Final = 0.25
"""Minimum cosine similarity of a link to the question; one link must also exceed the floor of other reasoning steps."""
MIN_SHARED_STEMS: Final = 2
"""Minimum number of consecutive stems that the effect of one sentence shares with the cause of the next, and of stems
that a separate cause shares with the question.
"""
MIN_OVERLAP: Final = 0.75
"""Minimum share of common stems in the shorter of the two phrases; a common subject alone is not enough."""

_BACKWARD = re.compile(
    r",?\s+(?:(?:mainly|largely|partly|simply|precisely|only|just)\s+)?(?:because(?:\s+of)?|due\s+to|owing\s+to|"
    r"(?:is|are|was|were)\s+caused\s+by|as\s+a\s+(?:result|consequence)\s+of|results?\s+from|stems?\s+from)\s+",
    re.IGNORECASE,
)
_SINCE = re.compile(r",\s+(?:since|given\s+that)\s+(?!version\b|release\b|then\b|python\s+\d)", re.IGNORECASE)
_FORWARD = re.compile(
    r"(?:,?\s+(?:which|that|and|thus|thereby))?\s+(?:(?:can|could|may|might|will|would|often|also|usually)\s+)*"
    r"(?<!\bthe\s)(?<!\ba\s)(?<!\bno\s)(?<!\bany\s)(?<!\bits\s)(?:causes?|caused|causing|leads?\s+to|leading\s+to|led\s+to|results?\s+in|resulted\s+in|resulting\s+in|"
    r"gives?\s+rise\s+to|brings?\s+about|is\s+the\s+reason\s+(?:why|that|for)|are\s+the\s+reasons?\s+(?:why|that|for))\s+"
    r"|[,;]\s+(?:so(?:\s+that)?(?!\s+(?:as|called|far)\b)|therefore|thus|hence|consequently|which\s+means(?:\s+that)?|meaning(?:\s+that)?),?\s+"
    r"|\s+so\s+that\s+",
    re.IGNORECASE,
)
_FRONTED = re.compile(
    r"^(?:because(?:\s+of)?|due\s+to|owing\s+to|as\s+a\s+(?:result|consequence)\s+of|since|given\s+that)\s+"
    r"(?P<cause>[^,]+(?:,\s+(?:and|or|which)\s[^,]+)?),\s+(?P<effect>.+)$",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\breasons?\s+(?:for|that|why|to)\s+(?P<effect>.+?)\s+(?:is|are|was|were)\s+(?:that\s+|because\s+)?(?P<cause>.+)$",
    re.IGNORECASE,
)
_YEAR = re.compile(r"^(?:python\s+)?\d", re.IGNORECASE)
_EMPTY = re.compile(
    r"^(?:(?:and|but|so|that|then)\s+)*(?:this|that|it|they|these|those|he|she|we|you|there|here|what|which)\b",
    re.IGNORECASE,
)
MAX_STATEMENT_CHARACTERS = 1_000
"""Maximum characters of a statement whose cause is sought; patterns go back in it."""
_MIN_STEMS = 2


class CausalStatement(NamedTuple):
    """Sentence with its cause and effect."""

    statement: StandaloneSentence
    cause: str
    effect: str


def extract_causes(statements: Sequence[StandaloneSentence]) -> list[CausalStatement]:
    """Return the statements that name a cause and its effect."""
    found = ((statement, _split_cause(statement.text.rstrip(" ."))) for statement in statements)
    return [CausalStatement(statement, *parts) for statement, parts in found if parts]


def _split_cause(text: str) -> tuple[str, str] | None:
    """Return cause and effect of a sentence; None if one is missing or is only a pronoun."""
    parts = _match_cause(text) if len(text) <= MAX_STATEMENT_CHARACTERS else None
    return parts if parts and all(_has_content(part) for part in parts) else None


def _match_cause(text: str) -> tuple[str, str] | None:
    for pattern in (_FRONTED, _REASON):
        if (found := pattern.search(text)) and not _YEAR.match(found["cause"]):
            return found["cause"], found["effect"]
    for pattern, turned in ((_BACKWARD, True), (_SINCE, True), (_FORWARD, False)):
        if (found := pattern.search(text)) and not _YEAR.match(text[found.end() :]):
            left, right = text[: found.start()].strip(" ,;"), text[found.end() :].strip(" ,;")
            return (right, left) if turned else (left, right)
    return None


def _has_content(part: str) -> bool:
    return len(set(stem_words(part))) >= _MIN_STEMS and not _EMPTY.match(part)


def explain_causes(question: str, passages: Sequence[Passage], encode: Encoder) -> Argument:
    """Return the causal chain nearest to a question, else conclusions of the sources, else separate causes."""
    asked, found = extract_subject(question, passages), extract_causes(extract_standalone_sentences(passages))
    near, _ = compute_similarities(asked, [cause.statement.text for cause in found], encode)
    ranked = sorted((n for n, cosine in enumerate(near) if cosine >= MIN_LINK_SIMILARITY), key=lambda n: -near[n])[
        :MAX_SENTENCES
    ]
    links, cosines = [found[n] for n in ranked], [near[n] for n in ranked]
    path = _find_best_chain(links, cosines)
    least = choose_min_similarity(near)
    if len(path) > 1 and any(cosines[n] >= least for n in path):
        return _build_chain(links, cosines, path)
    drawn = find_inferences(question, passages, encode)
    if drawn.steps:
        return drawn
    about = [n for n, cosine in enumerate(cosines) if cosine >= least]
    return _list_separate_causes(asked, links, cosines, about)


def _find_best_chain(links: Sequence[CausalStatement], near: Sequence[float]) -> tuple[int, ...]:
    """Return the chain with the highest total similarity; only the best chain to each last link is extended."""
    following = {
        n: [m for m, other in enumerate(links) if m != n and find_connection(cause, other)]
        for n, cause in enumerate(links)
    }

    def worth(path: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        return sum(near[n] for n in path), path

    paths: list[tuple[int, ...]] = [(n,) for n in range(len(links))]
    best: tuple[int, ...] = ()
    for _ in range(MAX_CHAIN_LENGTH):
        best = max([best, *paths], key=worth)
        longer = sorted(((*path, m) for path in paths for m in following[path[-1]] if m not in path), key=worth)
        paths = list({path[-1]: path for path in longer}.values())
    return best


def find_connection(first: CausalStatement, second: CausalStatement) -> str:
    """Return the common words of the effect of one statement and the cause of another; empty if they are too few."""
    shared = find_shared_phrase(second.cause, set(stem_words(first.effect)))
    stems = set(stem_words(shared))
    whole = len(stems) >= max(
        MIN_SHARED_STEMS, MIN_OVERLAP * min(len(set(stem_words(part))) for part in (first.effect, second.cause))
    )
    return shared if whole and _is_contiguous(shared, first.effect) else ""


def _is_contiguous(words: str, text: str) -> bool:
    """Return whether the stems of some words are consecutive in a text."""
    wanted, given = stem_words(words), stem_words(text)
    return any(given[n : n + len(wanted)] == wanted for n in range(len(given)))


def _build_chain(links: Sequence[CausalStatement], near: Sequence[float], path: tuple[int, ...]) -> Argument:
    steps = [ArgumentStep("cause", links[path[0]].statement.text, links[path[0]].statement.passage_number)]
    for place, (before, n) in enumerate(pairwise(path), 1):
        statement = links[n].statement
        steps.append(
            ArgumentStep(
                "cause", statement.text, statement.passage_number, (place,), find_connection(links[before], links[n])
            )
        )
    return Argument(tuple(steps[:-1]), steps[-1], confidence=compute_confidence(near[n] for n in path))


def _list_separate_causes(
    asked: str, links: Sequence[CausalStatement], near: Sequence[float], among: Sequence[int]
) -> Argument:
    """Return causes from at least two statements; a single one is not an argument."""
    wanted = set(stem_words(asked))
    about = [n for n in among if len(wanted & set(stem_words(links[n].effect))) >= MIN_SHARED_STEMS][:MAX_CHAIN_LENGTH]
    if len(about) < 2:
        return EMPTY_ARGUMENT
    steps = tuple(ArgumentStep("cause", links[n].statement.text, links[n].statement.passage_number) for n in about)
    return Argument(steps, confidence=compute_confidence(near[n] for n in about))
