"""Propose thoughts and hops for a line of reasoning without a model, from statements of the sources.

Arguments for and against are recognized by evaluative words. A thought continues another one if they share words beyond
the question (tree of thoughts, Yao et al. 2023); a hop continues through a name that the question does not contain.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Final, NamedTuple

from tenure.algorithms.reasoning.arguments import (
    StandaloneSentence,
    choose_min_similarity,
    compute_similarities,
    extract_standalone_sentences,
    extract_subject,
)
from tenure.algorithms.retrieval.bridge_entities import find_bridge_entities
from tenure.algorithms.retrieval.mmr import select_by_mmr
from tenure.algorithms.text.entities import extract_entity_spellings, normalize_name
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.sentences import normalize_sentence, stem_words
from tenure.contracts.evidence.reasoning import ArgumentStance

MIN_SHARED_STEMS: Final = 2
"""Minimum number of stems, beyond those of the question, that a thought shares with the previous one."""
DUPLICATE_SIMILARITY: Final = 0.85
"""Cosine similarity from which two thoughts are duplicates."""
MIN_ANSWER_OVERLAP: Final = 0.75
"""Minimum share of a question's words in the facts, to count as answered."""

_FOR = re.compile(
    r"\b(?:advantage\w*|benefit\w*|easier|simpler|faster|improve[sd]?|improvements?|clearer|safer|useful|helpful|better|"
    r"convenient|more\s+(?:readable|concise|efficient|reliable|flexible|robust|consistent|expressive|precise|secure)|"
    r"worthwhile)\b",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(?:disadvantage\w*|drawback\w*|downside\w*|costly|expensive|harder|difficult\w*|confus(?:es?|ing|ion)|slower|"
    r"worse|risks?|risky|breaks?|incompatib\w+|problematic|objections?|ambiguous|ambiguity|overhead|fragile|error-prone|"
    r"unsafe|verbose|unreadable|burdens?|penalty|more\s+(?:complex|complicated|expensive|difficult))\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:no|not|never|without|cannot|\w+n[’']t|less|fewer|hardly|little|neither|nor|unable|low|avoids?|reduces?|"
    r"eliminates?|if|whether)\b",
    re.IGNORECASE,
)


def classify_leaning(text: str) -> ArgumentStance:
    """Return whether a sentence is clearly for or against its subject; sentences with negations are neutral."""
    for_it, against_it = bool(_FOR.search(text)), bool(_AGAINST.search(text))
    if for_it == against_it or _DENIED.search(text):
        return "point"
    return "for" if for_it else "against"


class CandidateThought(NamedTuple):
    """Statement of a source as the next thought."""

    kind: ArgumentStance
    passage: int
    """Position of its passage, from 1."""
    text: str


def propose_thoughts(
    question: str, path: Sequence[str], passages: Sequence[Passage], breadth: int, encode: Encoder
) -> tuple[CandidateThought, ...]:
    """Return thoughts that start or continue a line of reasoning.

    Args:
        question: question of the reasoning.
        path: thoughts so far, in order.
        passages: evidence.
        breadth: maximum number of thoughts.
        encode: sentence encoder.
    """
    known = {normalize_sentence(thought) for thought in path}
    pool = [
        statement
        for statement in extract_standalone_sentences(passages)
        if normalize_sentence(statement.text) not in known
    ]
    if path:
        taken = set(stem_words(path[-1])) - set(stem_words(question))
        pool = [
            statement for statement in pool if len(taken.intersection(stem_words(statement.text))) >= MIN_SHARED_STEMS
        ]
    pool = [statement for statement in pool if classify_leaning(statement.text) != "point"]
    near, vectors = compute_similarities(
        extract_subject(question, passages), [statement.text for statement in pool], encode
    )
    chosen = (
        select_by_mmr(
            near, vectors, 4 * breadth, min_score=choose_min_similarity(near), max_similarity=DUPLICATE_SIMILARITY
        )
        if pool
        else []
    )
    return tuple(
        CandidateThought(classify_leaning(pool[n].text), *pool[n]) for n in _alternate_sides(pool, chosen)[:breadth]
    )


def _alternate_sides(pool: Sequence[StandaloneSentence], chosen: Sequence[int]) -> list[int]:
    """Return positions of arguments for and against, alternating."""
    sides = [[n for n in chosen if classify_leaning(pool[n].text) == side] for side in ("for", "against")]
    return [n for n in chain.from_iterable(zip_longest(*sides)) if n is not None]


class ThoughtEvaluation(NamedTuple):
    """Score of a thought with its reason."""

    score: float
    reason: str


def evaluate_thoughts(question: str, thoughts: Sequence[str], encode: Encoder) -> list[ThoughtEvaluation]:
    """Score each thought by its cosine similarity to the question; 0 for duplicates of earlier thoughts."""
    near, vectors = compute_similarities(question, thoughts, encode)
    found: list[ThoughtEvaluation] = []
    for n, cosine in enumerate(near):
        again = any(float(vectors[n] @ vectors[m]) >= DUPLICATE_SIMILARITY for m in range(n))
        score = 0.0 if again else round(min(1.0, max(0.0, cosine)), 3)
        found.append(
            ThoughtEvaluation(
                score, "it repeats another thought" if again else "it is not similar enough to the question"
            )
        )
    return found


class HopFinding(NamedTuple):
    """Fact of a hop, and the query of the next hop."""

    fact: StandaloneSentence | None = None
    link: str = ""
    query: str = ""
    is_complete: bool = True


def find_next_hop(question: str, facts: Sequence[str], link: str, passages: Sequence[Passage]) -> HopFinding:
    """Return the statement that contains most of the open words of a question, and the entity for the next hop.

    Args:
        question: whole question.
        facts: known facts.
        link: entity that led to this hop; empty for the first hop.
        passages: passages found, best first.
    """
    asked = set(stem_words(question))
    known = {stem for fact in facts for stem in stem_words(fact)}
    stated = {normalize_sentence(fact) for fact in facts}
    wanted = [set(stem_words(name)) for name in ([link] if link else extract_entity_spellings(question).values())]
    best, most = None, 0.0
    for statement in extract_standalone_sentences(passages):
        held = set(stem_words(f"{passages[statement.passage_number - 1].title} {statement.text}"))
        new = len((asked - known) & held) / statement.passage_number**0.25
        if (
            new > most
            and normalize_sentence(statement.text) not in stated
            and (not wanted or any(name <= held for name in wanted))
        ):
            best, most = statement, new
    if best is None:
        return HopFinding()
    left = asked - known - set(stem_words(f"{passages[best.passage_number - 1].title} {best.text}"))
    lead = _find_lead(question, best, passages[best.passage_number - 1], [*facts, link])
    if lead is None or len(left) <= (1 - MIN_ANSWER_OVERLAP) * len(asked):
        return HopFinding(best)
    return HopFinding(best, *lead, is_complete=False)


def _find_lead(
    question: str, fact: StandaloneSentence, passage: Passage, made: Sequence[str]
) -> tuple[str, str] | None:
    """Return an entity of a fact to search next, with its query."""
    names = extract_entity_spellings(fact.text)
    text = replace(passage, title="", text=fact.text)
    return next(
        ((b.name, b.query) for b in find_bridge_entities(question, [text], made) if normalize_name(b.name) in names),
        None,
    )
